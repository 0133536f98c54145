"""A working set of rows: those that are far from every kink of their loss need no iterations.

While the largest of 1 − m, 1 + m − κλ and 0 stays the same, the loss of a row is
linear, with the multipliers α = π, β = π or none. With a set F of such rows and W of
all others,

    minimise  (ε − Σ_F κβ) λ + Σ_F (α + β) − Σ_F (α − β) m + Σ_W π max(1 − m, 1 + m −
    κλ, 0) + (c/2) ‖w‖²

has the optimum of the whole problem if its solution leaves every row of F on its piece.
The multipliers of F and W together are then optimal too, so that one certificate on all
rows proves the result, and shows if a row has left.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drsvm.engines.cpu import WorkingSetEngine
from drsvm.problem.problem import Problem
from drsvm.problem.sampling import draw_sample
from drsvm.solvers.base import DelegatingState, Limits
from drsvm.solvers.interior_point.starts import (
    Start,
    weights_and_intercept,
    with_room_for_signs,
)
from drsvm.solvers.interior_point.state import InteriorPointState
from drsvm.utils.parallel import over_parts

if TYPE_CHECKING:
    from drsvm.solvers.interior_point.interior_point_solver import InteriorPoint

# With fewer rows than this, too many of them lie at a kink, and the others move too
# much
ROWS_PER_FEATURE = 50
# The first μ, divided by the possible error of a margin: no row is decided that the
# error leaves open
START = 0.1
# ratio of assumed to measured errors, and the smallest error assumed of a margin
CAUTION = 1.5
MIN_ERROR = 0.02
SAMPLE = 4000  # number of rows on which errors of margins are measured
# A run on all rows turns to a working set once this is no larger a share of the rows,
# unless μ has fallen below LATE times the smallest one that a working set starts from:
# the few iterations that are left cost less.
SCREENED = 0.4
LATE = 0.01
MAX_WIDENINGS = 2  # after this many, a working set is given up


def screening_pays(problem: Problem) -> bool:
    """Return True if there are enough rows for most of them to need no iterations, and working ones may be copied."""
    return (
        problem.rows.selectable
        and problem.n_rows >= ROWS_PER_FEATURE * problem.n_features
    )


class Estimate(NamedTuple):
    """An expected solution, and how far margins and λ may be from it."""

    point: np.ndarray
    lam: float
    margin_error: float
    lam_error: float


class Pieces(NamedTuple):
    """Rows whose piece is uncertain, and the multipliers of the others, with 0 for the former."""

    uncertain: np.ndarray
    hinge_dual: np.ndarray
    flip_dual: np.ndarray

    @property
    def share(self) -> float:
        """Share of the rows that is uncertain."""
        return len(self.uncertain) / len(self.hinge_dual)

    def useful_for(self, problem: Problem, most: float = 0.5) -> bool:
        """Return True if few rows, but not none, are uncertain, and the flips of the others are affordable.

        If they cost more than the radius, λ is too small, and nothing bounds it from
        above.
        """
        return (
            0.0 < self.share <= most
            and problem.cost_of_flips(self.flip_dual) < problem.radius
        )

    def left(self, now: "Pieces") -> np.ndarray:
        """Return the rows that are on another piece now."""
        moved = (self.hinge_dual != now.hinge_dual) | (self.flip_dual != now.flip_dual)
        moved[self.uncertain] = False
        return np.flatnonzero(moved)


def pieces_at(problem: Problem, estimate: Estimate) -> Pieces:
    """Return the piece of its loss that every row is on, unless the errors of the estimate leave this open."""
    margins = problem.margins(*weights_and_intercept(problem, estimate.point))
    if np.ndim(problem.flip_cost):
        costs = np.where(problem.can_flip, problem.flip_costs, np.inf)
    else:
        costs = problem.flip_cost
    alpha, beta = np.zeros((2, problem.n_rows), like=margins)
    lams = (
        max(estimate.lam - estimate.lam_error, 1e-3 * estimate.lam),
        estimate.lam + estimate.lam_error,
    )

    def split(part):
        m = margins[part]
        cost = costs[part] if np.ndim(costs) else costs
        low, high = (np.multiply(cost, lam) for lam in lams)
        hinge = m <= np.minimum(1.0, 0.5 * low) - estimate.margin_error
        flip = m >= np.maximum(high - 1.0, 0.5 * high) + estimate.margin_error
        neither = (m >= 1.0 + estimate.margin_error) & (
            m <= low - 1.0 - estimate.margin_error
        )
        np.copyto(alpha[part], problem.sample_weight[part], where=hinge)
        np.copyto(beta[part], problem.sample_weight[part], where=flip)
        return part.start + np.flatnonzero(~(hinge | flip | neither))

    return Pieces(np.concatenate(over_parts(margins, split)), alpha, beta)


class WorkingSetState(InteriorPointState):
    """An interior-point run on a working set, from an estimate of the solution."""

    # The expected gap costs little here and a certificate, on all rows, a lot
    promising = 1.0

    def __init__(
        self,
        problem: Problem,
        settings: "InteriorPoint",
        limits: Limits,
        estimate: Estimate,
        pieces: Pieces,
    ):
        self.estimate = estimate
        self.pieces = pieces
        self.share = pieces.share
        engine: Any = WorkingSetEngine(problem, *pieces, limits.n_threads)
        # The start is about as far inside the cone as the central path: λ − ‖w‖ ≈ μ /
        # (ε − Σκβ).
        mu = START * estimate.margin_error
        point = with_room_for_signs(problem, estimate.point, estimate.lam)
        norm = problem.norm_of(*weights_and_intercept(problem, point))
        budget = max(
            problem.radius - float(engine.fixed_sums.flip_cost.sum()),
            0.1 * problem.radius,
        )
        start = Start(point, max(estimate.lam, norm + min(mu / budget, 0.1 * norm)), mu)
        super().__init__(problem, settings, limits, engine, start)
        self.step_seconds *= self.share
        # If λ grows beyond, the rows of the working set do not bound the problem
        self.most_lam = 3.0 * start.lam
        self.doubtful = False  # some rows may have left their pieces
        self.cold_starts = iter(())  # a run that breaks down is not worth another start

    def step(self) -> None:
        super().step()
        self.finished |= not self.lam <= self.most_lam

    def on_certificate(self, gap: float) -> None:
        """Record whether the working set is solved to the tolerance, but the problem is not."""
        super().on_certificate(gap)
        self.doubtful |= self.near_the_end and gap > self.limits.tol

    def wider(self) -> "tuple[Estimate, Pieces] | None":
        """Return the current point with larger errors and its pieces, or None if no row has left its piece."""
        left = self.pieces.left(
            pieces_at(self.problem, Estimate(self.point, self.lam, 0.0, 0.0))
        )
        if len(left) == 0:
            return None
        errors = 2.0 * self.estimate.margin_error, 2.0 * self.estimate.lam_error
        estimate = Estimate(self.point, self.lam, *errors)
        uncertain, hinge_dual, flip_dual = pieces_at(self.problem, estimate)
        uncertain = np.union1d(uncertain, np.append(self.pieces.uncertain, left))
        hinge_dual[uncertain] = flip_dual[uncertain] = 0.0
        return estimate, Pieces(uncertain, hinge_dual, flip_dual)


class WorkingSetRun(DelegatingState):
    """A run on all rows until these are screened, then on a working set.

    Back on all rows if that fails.

    Screening: near the central path, margins are about linear in μ, so that the last
    step tells how much they will still change until μ = 0.
    """

    current: InteriorPointState

    def __init__(self, first: InteriorPointState):
        super().__init__(first)
        # Errors of margins are measured on a sample of its rows
        problem = first.problem
        self.sample = first.drawn or (
            problem if problem.n_rows <= SAMPLE else draw_sample(problem, SAMPLE)
        )
        self.screened_at: Start | None = None
        self.last: Start | None = None
        self.screens = first.problem.radius > 0
        self.widenings = 0
        self.row_iterations = 0.0

    @property
    def on_working_set(self) -> WorkingSetState | None:
        """The current run, if it is on a working set."""
        if isinstance(self.current, WorkingSetState):
            return self.current
        return None

    def step(self) -> None:
        if self.on_working_set:
            following = self._wider(self.on_working_set)
        else:
            following = self._screened(self.current)
        if following is not None:
            # Another run takes over, on a working set or, without one, on all rows. The
            # last one frees its memory.
            problem = self.current.problem
            settings = self.current.settings
            limits = self.current.limits
            first_gap = self.current.first_gap  # the way is that of the whole run
            self.current.release()
            estimate, pieces = following
            if estimate is None or pieces is None:
                self.screens = False
                self.current = InteriorPointState(
                    problem, settings, limits, start=self.screened_at
                )
            else:
                self.current = WorkingSetState(
                    problem, settings, limits, estimate, pieces
                )
            self.current.first_gap = first_gap
        self.last = Start(self.current.point, self.current.lam, self.current.mu)
        self.current.step()
        if self.on_working_set:
            self.row_iterations += self.on_working_set.share
        else:
            self.row_iterations += 1.0

    def _wider(
        self, state: WorkingSetState
    ) -> "tuple[Estimate | None, Pieces | None] | None":
        """Return the working set that must replace the current one, or no set if all rows are needed."""
        if state.finished:
            return None, None
        wider = state.wider() if state.doubtful else None
        state.doubtful = False
        if wider is None:
            return None
        self.widenings += 1
        if self.widenings > MAX_WIDENINGS or not wider[1].useful_for(state.problem):
            return None, None
        return wider

    def _screened(self, state: InteriorPointState) -> tuple[Estimate, Pieces] | None:
        """Return a working set, if the last step of a run on all rows tells that it is small."""
        last = self.last
        if last is None or not self.screens or state.finished or state.near_the_end:
            return None
        if not LATE * START * MIN_ERROR < state.mu < last.mu:
            return None
        # Margins may change with μ twice as fast as measured
        ahead = 2.0 * state.mu / (last.mu - state.mu)
        change = self.sample.decision_values(
            *weights_and_intercept(state.problem, state.point - last.point)
        )
        margin_error = max(
            CAUTION * ahead * float(np.abs(change).max()), MIN_ERROR, state.mu / START
        )
        lam_error = CAUTION * ahead * abs(state.lam - last.lam)
        estimate = Estimate(state.point, state.lam, margin_error, lam_error)
        for problem in (
            self.sample.replace(radius=state.problem.radius),
            state.problem,
        ):
            pieces = pieces_at(problem, estimate)
            if not pieces.useful_for(problem, SCREENED):
                return None
        self.screened_at = Start(state.point, state.lam, state.mu)
        return estimate, pieces

    @property
    def finished(self) -> bool:
        return self.current.finished and not self.on_working_set

    def info(self) -> dict[str, Any]:
        return {"row_iterations": self.row_iterations}
