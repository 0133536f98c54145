"""The interior point along decreasing radii: every run goes on from a snapshot of the one before.

A snapshot is taken on the way down the central path, where the gap is still larger than what the next change of the
radius costs: nearer to the optimum the point would be too close to the boundary to go on from.
"""

from collections.abc import Iterable
from itertools import pairwise

from drsvm.model.problem import Problem
from drsvm.solvers.base import Limits, Solver, State
from drsvm.solvers.interior_point import InteriorPoint, InteriorPointState

SNAPSHOT = 8.0
"""A snapshot is taken where the gap is this many times what the next change of the radius costs."""


class Continuation(Solver):
    """An interior point that goes on from the run before, with the rows where they are.

    Each of the radii, largest first, is solved by a call of `solve`; `close` ends the last of them.
    """

    def __init__(self, solver: InteriorPoint, radii: Iterable[float]):
        self.name, self.default_tol, self.default_max_iter = solver.name, solver.default_tol, solver.default_max_iter
        self.solver = solver
        self.next_radius = dict(pairwise(radii))
        self.state: InteriorPointState | None = None

    def start(self, problem: Problem, limits: Limits) -> State:
        """Start afresh for the first radius, go on for the others."""
        if self.state is None:
            self.state = InteriorPointState(problem, self.solver, limits)
        else:
            self.state.go_on_with(problem, limits)
        change = abs(self.next_radius.get(problem.radius, problem.radius) - problem.radius)
        return _KeptOpen(self.state, SNAPSHOT * change)

    def close(self) -> None:
        """Give the engine back."""
        if self.state is not None:
            self.state.close()


class _KeptOpen(State):
    """A run that leaves its engine open, and takes a snapshot on its way for the next radius."""

    def __init__(self, state: InteriorPointState, change_of_radius: float):
        self.state, self.change_of_radius = state, change_of_radius
        self.certificate_due, self.judged, self.info = state.certificate_due, state.judged, state.info

    @property
    def finished(self) -> bool:  # type: ignore[override]
        return self.state.finished

    def step(self) -> None:
        self.state.snapshot_mu = self.change_of_radius * self.state.level / self.state.total_weight
        self.state.step()

    def candidate(self):
        return self.state.candidate()
