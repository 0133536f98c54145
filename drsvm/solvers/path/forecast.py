"""The interior-point solver along decreasing radii: the last solutions predict the next one.

Solutions are extrapolated in the logarithm of the radius. Where the last extrapolation was good, a working set of rows
is enough for the next run (`working_set.py`); otherwise it starts from scratch.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.model.problem import Problem
from drsvm.solvers.base import EVERY_PRICE, Candidate, Limits, Solver, State
from drsvm.solvers.interior_point.solver import InteriorPoint
from drsvm.solvers.interior_point.starts import Start, start_at
from drsvm.solvers.interior_point.state import InteriorPointState
from drsvm.solvers.interior_point.working_set import Estimate, Sample, WorkingSetRun, WorkingSetState, pieces_at


class Forecasting(Solver):
    """An interior-point solver whose runs, one radius after the other, start from a prediction by the previous ones."""

    prices = EVERY_PRICE
    uses_sums_only = True

    def __init__(self, solver: InteriorPoint):
        self.name, self.default_tol, self.default_max_iter = solver.name, solver.default_tol, solver.default_max_iter
        self.solver = solver
        self.forecast: Forecast | None = None
        self.run: WorkingSetRun | None = None

    def start(self, problem: Problem, limits: Limits) -> State:
        forecast = self.forecast = self.forecast or Forecast(Sample(problem))
        if self.run is not None:
            last = self.run.current
            forecast.add(last.problem.radius, last.point, last.lam)
        estimate = forecast.at(problem.radius)
        pieces = None if estimate is None else pieces_at(problem, estimate)
        if estimate is not None and pieces is not None and pieces.useful_for(problem):
            first = WorkingSetState(problem, self.solver, limits, forecast.sample, estimate, pieces)
        else:
            first = InteriorPointState(problem, self.solver, limits, start=forecast.near_last(problem))
        self.run = WorkingSetRun(first, forecast.sample)
        return self.run


class Solution(NamedTuple):
    """The solution at a radius."""

    log_radius: float
    point: np.ndarray
    lam: float

    def beyond(self, before: "Solution", log_radius: float) -> "Solution | None":
        """Return the line through an earlier solution and this one at another radius, or None if that is too far."""
        ahead, known = log_radius - self.log_radius, self.log_radius - before.log_radius
        if known == 0.0 or abs(ahead) > 2.0 * abs(known):  # more than twice the distance of the last two radii
            return None
        ratio = ahead / known
        point = self.point + ratio * (self.point - before.point)
        return Solution(log_radius, point, self.lam + ratio * (self.lam - before.lam))


class Forecast:
    """The last two solutions, what was expected of the last one, and how wrong that was."""

    def __init__(self, sample: Sample):
        self.sample = sample
        self.before: Solution | None = None
        self.last: Solution | None = None
        self.expected: Solution | None = None
        self.errors: tuple[float, float] | None = None

    def add(self, radius: float, point, lam: float) -> None:
        self.before, self.last = self.last, Solution(math.log(radius), point, lam)
        self.errors = None
        if self.expected is not None:
            self.errors = self.sample.error(point - self.expected.point), abs(lam - self.expected.lam)

    def near_last(self, problem: Problem) -> Start | None:
        """Return a start at the last solution, or None if there is none or it is no good."""
        if self.last is None:
            return None
        d = problem.n_features
        return start_at(problem, Candidate(self.last.point[:d], float(self.last.point[d:].sum())))

    def at(self, radius: float) -> Estimate | None:
        """Return the expected solution at the next radius, or None if too little is known."""
        self.expected = self.last
        if self.last is None or self.before is None:
            return None
        self.expected = self.last.beyond(self.before, math.log(radius))
        if self.expected is None or self.errors is None or not self.expected.lam > 0.0:
            return None
        return Estimate.with_errors(self.expected.point, self.expected.lam, *self.errors)
