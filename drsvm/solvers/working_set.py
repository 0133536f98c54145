"""A working set of rows: those that are far from every kink of their loss need no iterations.

While the largest of 1 − m, 1 + m − κλ and 0 stays the same, the loss of a row is linear, with the multipliers α = π,
β = π or none. With a set F of such rows and W of all others,

    minimise  (ε − Σ_F κβ) λ + Σ_F (α + β) − Σ_F (α − β) m + Σ_W π max(1 − m, 1 + m − κλ, 0) + (c/2) ‖w‖²

has the optimum of the whole problem if its solution leaves every row of F on its piece. The multipliers of F and W
together are then optimal too, so that one certificate on all rows proves the result, and shows if a row has left.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from drsvm.engines.reduced import ReducedEngine
from drsvm.model.problem import Problem
from drsvm.parallel import over_parts
from drsvm.solvers.base import Limits, Relay, State
from drsvm.solvers.interior_point import InteriorPoint, InteriorPointState
from drsvm.solvers.starts import Start, with_room_for_signs

MOST_WORKING = 0.5
"""With a larger share of the rows in the working set, all rows are iterated on."""

START = 0.1
"""The first μ, divided by the possible error of a margin: no row is decided that the error leaves open."""

LOST = 3.0
"""If λ grows by this factor, the rows of the working set do not bound the problem."""


class Estimate(NamedTuple):
    """An expected solution, and how far margins and λ may be from it."""

    point: np.ndarray
    level: float
    margin_error: float
    level_error: float


class Pieces(NamedTuple):
    """Rows whose piece is uncertain, and the multipliers of the others, with 0 for the former."""

    uncertain: np.ndarray
    hinge_dual: np.ndarray
    flip_dual: np.ndarray

    @property
    def few(self) -> bool:
        """Whether few enough rows are uncertain for a working set."""
        return len(self.uncertain) <= MOST_WORKING * len(self.hinge_dual)

    def left(self, now: "Pieces") -> np.ndarray:
        """Return the rows that are on another piece now."""
        moved = (self.hinge_dual != now.hinge_dual) | (self.flip_dual != now.flip_dual)
        moved[self.uncertain] = False
        return np.flatnonzero(moved)

    def with_uncertain(self, rows) -> "Pieces":
        """Return the pieces with more rows in the working set."""
        uncertain = np.union1d(self.uncertain, rows)
        hinge_dual, flip_dual = self.hinge_dual.copy(), self.flip_dual.copy()
        hinge_dual[uncertain] = flip_dual[uncertain] = 0.0
        return Pieces(uncertain, hinge_dual, flip_dual)


def pieces_at(problem: Problem, estimate: Estimate) -> Pieces:
    """Return which piece of its loss every row is on, unless the errors of the estimate leave this open."""
    d = problem.n_features
    margins = problem.margins(estimate.point[:d], float(estimate.point[d:].sum()))
    costs = np.where(problem.can_flip, problem.flip_costs, np.inf) if np.ndim(problem.flip_cost) else problem.flip_cost
    alpha, beta = np.zeros((2, problem.n_rows))

    def split(part):
        m, cost = margins[part], costs[part] if np.ndim(costs) else costs
        low, high = (np.multiply(cost, level) for level in _around(estimate.level, estimate.level_error))
        hinge = m <= np.minimum(1.0, 0.5 * low) - estimate.margin_error
        flip = m >= np.maximum(high - 1.0, 0.5 * high) + estimate.margin_error
        neither = (m >= 1.0 + estimate.margin_error) & (m <= low - 1.0 - estimate.margin_error)
        np.copyto(alpha[part], problem.sample_weight[part], where=hinge)
        np.copyto(beta[part], problem.sample_weight[part], where=flip)
        return part.start + np.flatnonzero(~(hinge | flip | neither))

    return Pieces(np.concatenate(over_parts(problem.n_rows, split)), alpha, beta)


def _around(level: float, error: float) -> tuple[float, float]:
    return max(level - error, 1e-3 * level), level + error


class WorkingSetState(InteriorPointState):
    """An interior-point run on a working set, from an estimate of the solution."""

    promising = 1.0  # the expected gap costs little here and a certificate, on all rows, a lot

    def __init__(self, problem: Problem, settings: InteriorPoint, limits: Limits, estimate: Estimate, pieces: Pieces):
        self.estimate, self.pieces = estimate, pieces
        self.share = len(pieces.uncertain) / problem.n_rows
        engine = ReducedEngine(problem, *pieces, limits.n_threads)
        start = _start(problem, estimate, float(engine.fixed_sums.flip_cost.sum()))
        super().__init__(problem, settings, limits, engine, start)
        self.step_seconds *= self.share
        self.most_level = LOST * start.level
        self.doubtful = False  # solved, but the whole problem is not

    def set_problem(self, problem: Problem, limits: Limits) -> None:
        super().set_problem(problem, limits)
        self.cold_starts = iter(())  # a run that breaks down is not worth another start

    def step(self) -> None:
        super().step()
        self.finished |= not self.level <= self.most_level

    def judged(self, gap: float) -> None:
        """Record whether the working set is solved to the tolerance, but the problem is not."""
        super().judged(gap)
        self.doubtful = self.near_the_end and gap > self.limits.tol

    def wider(self) -> Pieces | None:
        """Return the pieces at the current point, with all rows that have left theirs uncertain; None if none has."""
        now = self.estimate._replace(point=self.point, level=self.level)
        left = self.pieces.left(pieces_at(self.problem, now._replace(margin_error=0.0, level_error=0.0)))
        if len(left) == 0:
            return None
        return pieces_at(self.problem, now).with_uncertain(np.append(self.pieces.uncertain, left))


def _start(problem: Problem, estimate: Estimate, cost_of_flips: float) -> Start:
    """Return a start at the estimate, about as far inside the cone as the central path: λ − ‖w‖ ≈ μ / (ε − Σκβ)."""
    mu = START * estimate.margin_error
    point = with_room_for_signs(problem, estimate.point, estimate.level)
    d = problem.n_features
    norm = problem.norm_of(point[:d], float(point[d:].sum()))
    budget = max(problem.radius - cost_of_flips, 0.1 * problem.radius)
    return Start(point, max(estimate.level, norm + min(mu / budget, 0.1 * norm)), mu)


class WorkingSetRun(Relay):
    """Runs on working sets, each wider than the one before; if that fails, a run on all rows."""

    def __init__(self, first: WorkingSetState, on_all_rows: Callable[[], State]):
        super().__init__(first)
        self.on_all_rows = on_all_rows
        self.row_iterations = 0.0

    def successor(self) -> State | None:
        state = self.current
        if not isinstance(state, WorkingSetState) or not (state.finished or state.doubtful):
            return None
        if state.finished:
            return self.on_all_rows()
        state.doubtful = False
        wider = state.wider()
        if wider is None:
            return None
        if not wider.few:
            return self.on_all_rows()
        estimate = state.estimate._replace(point=state.point, level=state.level)
        return WorkingSetState(state.problem, state.settings, state.limits, estimate, wider)

    def step(self) -> None:
        super().step()
        self.row_iterations += self.current.share if isinstance(self.current, WorkingSetState) else 1.0

    @property
    def finished(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.current.finished and not isinstance(self.current, WorkingSetState)

    def info(self) -> dict[str, Any]:
        return {"row_iterations": self.row_iterations}
