"""What to expect at the next radius of a path: the last solutions, extrapolated in the logarithm of the radius."""

import math
from typing import NamedTuple

import numpy as np

from drsvm.model.problem import Problem
from drsvm.solvers.working_set import Estimate

SAMPLE = 4000
"""Number of rows on which errors of margins are measured."""

CAUTION = 1.5
"""Ratio of the errors to be expected at the next radius to those at the last one."""

LEAST_ERROR = 0.02
"""Errors of margins are never assumed to be smaller."""

REACH = 2.0
"""No solution is extrapolated by more than this many times the distance of the last two radii."""


class Solution(NamedTuple):
    """The solution at a radius."""

    log_radius: float
    point: np.ndarray
    level: float


class Forecast:
    """Solutions so far, the expectation for the next one, and how wrong the last expectation was."""

    def __init__(self, problem: Problem):
        self.sample = problem.X[:: max(1, problem.n_rows // SAMPLE)]
        self.before: Solution | None = None
        self.last: Solution | None = None
        self.expected: tuple[np.ndarray, float] | None = None
        self.errors: tuple[float, float] | None = None

    def add(self, radius: float, point, level: float) -> None:
        """Add the solution at the next radius."""
        self.before, self.last = self.last, Solution(math.log(radius), point, level)
        self.errors = None
        if self.expected is not None:
            d = self.sample.shape[1]
            change = point - self.expected[0]
            margins = self.sample @ change[:d] + float(change[d:].sum())
            self.errors = float(np.abs(margins).max()), abs(level - self.expected[1])

    def at(self, problem: Problem) -> Estimate | None:
        """Return what to expect at the radius of a problem, or None if too little is known."""
        last, before = self.last, self.before
        self.expected = None
        if last is None:
            return None
        if before is None:
            self.expected = last.point, last.level
            return None
        reach, known = math.log(problem.radius) - last.log_radius, last.log_radius - before.log_radius
        if not abs(reach) <= REACH * abs(known) or known == 0.0:
            return None
        ratio = reach / known
        point, level = (
            last.point + ratio * (last.point - before.point),
            last.level + ratio * (last.level - before.level),
        )
        self.expected = point, level
        if self.errors is None or not level > 0.0:
            return None
        margin_error, level_error = (CAUTION * max(1.0, ratio) * error for error in self.errors)
        return Estimate(point, level, max(margin_error, LEAST_ERROR), level_error)
