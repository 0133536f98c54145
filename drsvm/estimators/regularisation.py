"""Radius and ridge of a fit: given, or chosen by rule and by evidence against the rule."""

from collections.abc import Callable

import numpy as np

from drsvm.defaults.binary_problems import BinaryProblems, Regularisation
from drsvm.defaults.radius_rule import Automatic, automatic, automatic_ridge
from drsvm.defaults.select_by_folds import ball_by_evidence
from drsvm.estimators.fit_data import FitData
from drsvm.problem.validation import check_number
from drsvm.solvers.base import Solver
from drsvm.solvers.selection import accepts
from drsvm.utils.clock import TimeLimit
from drsvm.utils.progress import part, stage

# The pilot solutions of radius="auto" may take one in this many parts of the time
PILOT_PARTS = 4


def number_or_auto(value: float | str, name: str) -> float | None:
    """Return a parameter as a number; None for "auto"."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(
                f"{name} must be a number or 'auto', got {name}={value!r}."
            )
        return None
    return check_number(value, name)


def choose_ball(
    posed: BinaryProblems,
    radius: float | str,
    l2: float | str,
    solver: str | Solver,
    data: FitData,
    time: TimeLimit,
) -> Regularisation:
    """Return the given radius and ridge, or those of the rules, or less where unseen rows clearly favour it."""
    ball = ball_by_rule(posed, radius, l2, solver, data.counts, time, data.share)
    shrinks = isinstance(radius, str), isinstance(l2, str) and ball.l2 > 0.0
    if not any(shrinks):
        return ball
    with stage("choosing the radius"):
        judged = None if time.over else data.judged(posed)
        if judged is None:
            return ball
        return ball_by_evidence(ball, judged, shrinks, pilot_time(time))


def pilot_time(time: TimeLimit) -> TimeLimit:
    """Return the time for choices: no share of it, since a fit may then take its first step even if no time is left."""
    return TimeLimit(time.left() / PILOT_PARTS, within=time)


def ball_by_rule(
    posed: BinaryProblems,
    radius: float | str,
    l2: float | str,
    solver: str | Solver,
    counts: Callable[[int], np.ndarray | None],
    time: TimeLimit,
    share: float = 1.0,
) -> Regularisation:
    """Return the given radius and ridge, or those of the rules.

    `counts(index)` are the numbers of rows that rows of a problem stand for (None: 1),
    and `share` is the part of the spread that is not due to gross errors: a ball for
    far rows would leave no others apart.
    """
    given_radius = number_or_auto(radius, "radius")
    given_l2 = number_or_auto(l2, "l2")
    if given_radius is not None and given_l2 is not None:
        return Regularisation(given_radius, given_l2, [None] * len(posed.problems))

    rule = automatic if given_radius is None else automatic_ridge
    found = list[Automatic]()
    n = len(posed.problems)
    limit = pilot_time(time)
    with stage("choosing the radius"):
        for index in range(n):  # as many as the time allows, at least one
            mine = limit.share(n - index)
            if found and mine.spent:
                break
            with part(index / n, (index + 1) / n):
                centred = posed.centred(index)
                one = rule(centred.problem, counts=counts(index), max_time=mine)
                found.append(one._replace(solution=centred.to_outer(one.solution)))
    solutions = [one.solution for one in found] + [None] * (n - len(found))
    if given_radius is None:
        chosen_radius = share * min(one.radius for one in found)
    else:
        chosen_radius = given_radius
    if given_l2 is None:
        chosen_l2 = share**2 * float(np.mean([one.ridge for one in found]))
    else:
        chosen_l2 = given_l2
    if given_l2 is None and not accepts(
        solver, posed.problems[0].replace(l2=chosen_l2)
    ):
        chosen_l2 = 0.0  # if that is not supported either, the error explains why
    return Regularisation(chosen_radius, chosen_l2, solutions)
