"""Radius and ridge of a fit: given, or by rules that unseen rows may contradict."""

from dataclasses import replace

import numpy as np

from drsvm.defaults.binary_problems import BinaryProblems
from drsvm.defaults.costs import number_or_auto
from drsvm.defaults.fit_data import FitData
from drsvm.defaults.radius_rule import Automatic, automatic, automatic_ridge
from drsvm.defaults.select_by_folds import scaled_by_folds
from drsvm.solvers.base import Solver
from drsvm.solvers.selection import accepts
from drsvm.utils.clock import TimeLimit
from drsvm.utils.progress import part, stage

# Choices before a fit may take one of this number of parts of its time
PILOT_PARTS = 4


def regularised(
    problems: BinaryProblems,
    radius: float | str,
    l2: float | str,
    solver: str | Solver,
    data: FitData,
    time: TimeLimit,
) -> BinaryProblems:
    """Return the problems with radius and ridge.

    Parameters
    ----------
    problems : BinaryProblems
        The problems of a fit.
    radius, l2 : float or "auto"
        What is given. "auto" is what the rules say (`radius_rule`), or less if rows out
        of fold are then ranked clearly better (`select_by_folds`).
    solver : str or Solver
        The solver, which may take no ridge.
    data : FitData
        The data of the problems.
    time : TimeLimit
        The time of the fit.

    Returns
    -------
    BinaryProblems
        The problems, with the rough solutions that have been found.
    """
    problems = regularised_by_rule(problems, radius, l2, solver, data, time)
    may_shrink = isinstance(radius, str), isinstance(l2, str) and problems.l2 > 0.0
    if not any(may_shrink):
        return problems
    with stage("choosing the radius"):
        if time.over:
            return problems
        judged = data.rows_to_judge(problems)
        # Few rows prove nothing.
        if judged is None:
            return problems
        return scaled_by_folds(problems, judged, may_shrink, pilot_time(time))


def pilot_time(time: TimeLimit) -> TimeLimit:
    """Return the time for choices.

    It is a limit of its own rather than a share of that of the fit, which may then take
    its first step even if no time is left.
    """
    return TimeLimit(time.left() / PILOT_PARTS, within=time)


def regularised_by_rule(
    problems: BinaryProblems,
    radius: float | str,
    l2: float | str,
    solver: str | Solver,
    data: FitData,
    time: TimeLimit,
) -> BinaryProblems:
    """Return the problems with radius and ridge as they are given, or by rule.

    Parameters
    ----------
    problems, radius, l2, solver, data, time
        As for `regularised`.

    Returns
    -------
    BinaryProblems
        The problems, with the rough solutions that have been found.
    """
    given_radius = number_or_auto(radius, "radius")
    given_l2 = number_or_auto(l2, "l2")
    if given_radius is not None and given_l2 is not None:
        return problems.with_regularisation(given_radius, given_l2)

    # All classes have the same radius, the smallest of theirs, and the same ridge, the
    # mean of theirs. The rules are proportional to the spread of the rows and to its
    # square. What gross errors add to it is taken out: a radius for far-off rows would
    # leave no others apart.
    found = _by_rule(problems, given_radius is None, data, time)
    if given_radius is None:
        smallest = min(one.radius for one in found)
        chosen_radius = data.spread_share * smallest
    else:
        chosen_radius = given_radius
    if given_l2 is None:
        mean = float(np.mean([one.ridge for one in found]))
        chosen_l2 = data.spread_share**2 * mean
        # Some solvers take no ridge. If they do not take the problem without one
        # either, the error explains why.
        first = problems.given[0].replace(l2=chosen_l2)
        if not accepts(solver, first):
            chosen_l2 = 0.0
    else:
        chosen_l2 = given_l2
    # Problems for which there was no time have no rough solution.
    solutions = [one.solution for one in found]
    solutions += [None] * (len(problems.given) - len(found))
    problems = problems.with_regularisation(chosen_radius, chosen_l2)
    return replace(problems, rough_solutions=solutions)


def _by_rule(
    problems: BinaryProblems, with_radius: bool, data: FitData, time: TimeLimit
) -> list[Automatic]:
    """Return radius and ridge for as many problems as the time allows, at least one."""
    rule = automatic_ridge
    if with_radius:
        rule = automatic
    limit = pilot_time(time)
    n = len(problems.given)
    found: list[Automatic] = []
    with stage("choosing the radius"):
        for index in range(n):
            max_time = limit.share(n - index)
            if found and max_time.spent:
                break
            with part(index / n, (index + 1) / n):
                counts = data.counts_for_radius(problems.given, index)
                centred = problems.centred(index)
                one = rule(centred.problem, counts=counts, max_time=max_time)
                solution = centred.to_outer(one.solution)
                found.append(one._replace(solution=solution))
    return found
