"""Problems in parts, in this process."""

from functools import reduce
from itertools import pairwise
from operator import add

from drsvm.engines.parts.chunks import Chunk, Survey
from drsvm.engines.parts.keeper import PartsHere
from drsvm.engines.parts.problem import PartedProblem
from drsvm.engines.remote import BALL


def in_parts(X, y, cuts, sample_weight=None, flip_costs=None, **ball):
    """Return the problem on rows that are cut before some of them."""
    columns = X, y, sample_weight, flip_costs
    ends = pairwise([0, *cuts, len(y)])
    chunks = [
        Chunk.checked(number, *(None if column is None else column[first:last] for column in columns))
        for number, (first, last) in enumerate(ends)
    ]
    survey = reduce(add, map(Survey.of, chunks))
    units = survey.units()
    parts = [chunk.part(units) for chunk in chunks if survey.used[chunk.number] > 0]
    return PartedProblem(PartsHere(parts), survey, **{"flip_cost": None, **ball})


def parted(problem, cuts):
    """Return a problem with its rows in parts."""
    ball = {name: getattr(problem, name) for name in BALL}
    costs = ball.pop("flip_cost")
    costs = {"flip_costs": costs} if getattr(costs, "ndim", 0) else {"flip_cost": costs}
    return in_parts(problem.X, problem.signs, cuts, problem.sample_weight, **costs, **ball)
