"""The interior-point solver along decreasing radii: each run continues from a snapshot of the previous one.

A snapshot is taken on the central path while the gap is still larger than the cost of the next change of the radius:
nearer to the optimum the point would be too close to the boundary to continue from it.
"""

from collections.abc import Iterable
from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from drsvm.model.problem import Problem
from drsvm.solvers.base import EVERY_PRICE, Limits, Solver, State
from drsvm.solvers.interior_point.solver import InteriorPoint
from drsvm.solvers.interior_point.state import InteriorPointState

SNAPSHOT = 8.0
"""A snapshot is taken when the gap is this many times the cost of the next change of the radius."""


class Continuation(Solver):
    """An interior-point solver that continues from the previous run, with the rows kept in the engine.

    Each radius, largest first, is solved by a call of `solve`; `close` ends the last run.
    """

    prices = EVERY_PRICE
    uses_sums_only = True

    def __init__(self, solver: InteriorPoint, radii: Iterable[float]):
        self.name, self.default_tol, self.default_max_iter = solver.name, solver.default_tol, solver.default_max_iter
        self.solver = solver
        self.next_radius = dict(pairwise(radii))
        self.state: ContinuedState | None = None

    def start(self, problem: Problem, limits: Limits) -> State:
        """Start from scratch for the first radius, continue for the others."""
        if self.state is None:
            self.state = ContinuedState(problem, self.solver, limits)
        else:
            self.state.continue_with(problem, limits)
        self.state.next_change = abs(self.next_radius.get(problem.radius, problem.radius) - problem.radius)
        return self.state

    def close(self) -> None:
        """Release the engine."""
        if self.state is not None:
            self.state.end()


class Snapshot(NamedTuple):
    """A point on the central path, with the state of the cone and of all samples."""

    point: np.ndarray
    level: float
    mu: float
    products: float
    cone: Any
    samples: Any


class ContinuedState(InteriorPointState):
    """Successive runs on the same rows; each leaves the engine open and a snapshot for the next."""

    next_change: float = 0.0
    """Size of the next change of the radius; 0: there is none, and no snapshot is needed."""

    snapshot: Snapshot | None = None

    def begin(self, point, level: float, mu: float) -> None:
        super().begin(point, level, mu)
        self.snapshot = None

    def continue_with(self, problem: Problem, limits: Limits) -> None:
        """Continue with another radius, from the snapshot if there is one."""
        self.set_problem(problem, limits)
        if self.snapshot is None:
            self.begin(*self.first_point())
            return
        self.point, self.level, self.mu, self.products, self.cone, samples = self.snapshot
        self.snapshot = None
        self.engine.load(samples)
        self.reset()
        self.recentre = True

    def step(self) -> None:
        """Do one step, and take the snapshot when it is due."""
        enough = SNAPSHOT * self.next_change * self.level / self.total_weight
        super().step()
        if self.snapshot is None and self.mu <= enough and not self.finished:
            samples = self.engine.save()
            self.snapshot = Snapshot(self.point, self.level, self.mu, self.products, copy(self.cone), samples)

    def close(self) -> None:
        """Leave the engine open for the next run."""

    def end(self) -> None:
        """Stop the engine's threads."""
        super().close()
