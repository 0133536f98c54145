"""Problems in parts, in this process."""

import math
from functools import reduce
from itertools import pairwise
from operator import add

from drsvm.engines.sharded.chunks import Chunk, Survey
from drsvm.engines.sharded.coordinator import Coordinator, Talk, total
from drsvm.engines.sharded.rows import PartedRows
from drsvm.model.problem import PARAMETERS, Problem


class PartsHere(Coordinator):
    """Parts in this process."""

    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def round(self, message):
        return total(part.reply(message) for part in self.parts)

    def post(self, message):
        for part in self.parts:
            part.reply(message)

    def talk(self):
        return TalkHere(self)

    def forget(self, run):
        for part in self.parts:
            part.runs.pop(run, None)


class TalkHere(Talk):
    """Every part is a group, and replies in turn."""

    def __init__(self, coordinator):
        self.coordinator, self.waiting = coordinator, {}
        self.groups = [(part.number,) for part in coordinator.parts]

    def send(self, group, message):
        self.waiting[group] = message

    def receive(self, seconds=math.inf):
        group = next(iter(self.waiting))
        message = self.waiting.pop(group)
        [part] = [part for part in self.coordinator.parts if part.number == group[0]]
        return group, part.reply(message)

    def stopwatch(self):
        return Still()


class Still:
    """A watch that stands still: replies take no time."""

    def elapsed(self):
        return 0.0


def in_parts(X, y, cuts, sample_weight=None, flip_costs=None, coordinator=PartsHere, **ball):
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
    problem = object.__new__(Problem)
    problem._set(**PartedRows(coordinator(parts), survey).attributes(ball.pop("flip_cost", None)))
    defaults = {"radius": 0.1, "norm": 2, "l2": 0.0, "fit_intercept": False, "intercept_cost": math.inf}
    problem._set_parameters(**defaults | {"feature_cost": None, "monotonic_cst": None} | ball)
    return problem


def parted(problem, cuts, coordinator=PartsHere):
    """Return a problem with its rows in parts."""
    ball = {name: getattr(problem, name) for name in PARAMETERS}
    costs = ball.pop("flip_cost")
    costs = {"flip_costs": costs} if getattr(costs, "ndim", 0) else {"flip_cost": costs}
    return in_parts(problem.X, problem.signs, cuts, problem.sample_weight, coordinator=coordinator, **costs, **ball)
