"""A working set of rows: those far from every kink of their loss need no iterations.

The loss max(1 − m, 1 + m − κλ, 0) of a row has three linear **pieces**, with the
multipliers α = π, β = π, or none. As long as a row stays on its piece, its loss is
linear. With a set F of rows that are expected to stay, and W of all others, the working
set,

    minimise  (ε − Σ_F κβ) λ + Σ_F (α + β) − Σ_F (α − β) m
              + Σ_W π max(1 − m, 1 + m − κλ, 0) + (c/2) ‖w‖²

has the optimum of the whole problem if its solution leaves every row of F on its piece.
The multipliers of F and W together are then optimal too, so that one certificate on all
rows proves the result, and shows if a row has left.

This is the safe screening of samples for SVMs without its safety: a rule that may err
leaves out more rows, and the certificate tells if it did.

References
----------
K. Ogawa, Y. Suzuki and I. Takeuchi, "Safe screening of non-support vectors in pathwise
SVM computation", ICML 2013.
"""

from typing import Any, NamedTuple

import numpy as np

from drsvm.engines.cpu import WorkingSetEngine
from drsvm.problem.problem import Problem
from drsvm.problem.risk import by_row
from drsvm.problem.sampling import draw_sample
from drsvm.solvers.base import DelegatingState, Limits
from drsvm.solvers.interior_point.starts import (
    Start,
    weights_and_intercept,
    with_room_for_signs,
)
from drsvm.solvers.interior_point.state import InteriorPointState, StepSettings
from drsvm.utils.parallel import over_parts

# With fewer rows per feature, too many of them lie at a kink, and the others move too
# much.
ROWS_PER_FEATURE = 50
# The μ at which a run on a working set starts, as a share of the possible error of a
# margin. Kinks are smoothed over a width of about μ, so the error decides which rows
# are uncertain.
START = 0.1
# The ratio of assumed to measured errors, and the smallest error assumed of a margin,
# on a scale where pieces are about 1 wide
CAUTION = 1.5
MIN_ERROR = 0.02
# The number of rows on which errors of margins are measured
SAMPLE = 4000
# A run on all rows turns to a working set once this has at most the share SCREENED of
# the rows, unless μ has fallen below LATE times the smallest one that a working set
# starts from: the few iterations that are left cost less.
SCREENED = 0.4
LATE = 0.01
# A working set with a larger share of the rows is not worth widening.
WIDEST = 0.5
# After this many changes, a working set is given up.
MAX_WIDENINGS = 2
# A run on a working set ends if λ grows by more than this factor: its rows do not bound
# the problem.
MOST_GROWTH_OF_LAM = 3.0


def screening_pays(problem: Problem) -> bool:
    """Return whether there are enough rows for most of them to need no iterations."""
    enough = problem.n_rows >= ROWS_PER_FEATURE * problem.n_features
    return enough and problem.rows.selectable


class Estimate(NamedTuple):
    """An expected solution, and how far margins and λ may be from it."""

    point: np.ndarray
    lam: float
    margin_error: float
    lam_error: float


class Pieces(NamedTuple):
    """Rows whose piece is uncertain, and the multipliers of all others."""

    uncertain: np.ndarray
    """Indices of the working set W."""
    hinge_dual: np.ndarray
    """α of all rows: π or 0, and 0 of the uncertain ones."""
    flip_dual: np.ndarray
    """β of all rows: π or 0, and 0 of the uncertain ones."""

    @property
    def share(self) -> float:
        """Share of the rows that is uncertain."""
        return len(self.uncertain) / len(self.hinge_dual)

    def useful_for(self, problem: Problem, most: float = WIDEST) -> bool:
        """Return True if few rows, but not none, are uncertain.

        The flips of the others must be affordable: if they cost more than the radius, λ
        is too small, and nothing bounds it from above.
        """
        if not 0.0 < self.share <= most:
            return False
        cost = problem.cost_of_multipliers(self.hinge_dual, self.flip_dual)
        return cost < problem.radius

    def left(self, now: "Pieces") -> np.ndarray:
        """Return the rows that are on another piece now."""
        moved = (self.hinge_dual != now.hinge_dual) | (self.flip_dual != now.flip_dual)
        moved[self.uncertain] = False
        return np.flatnonzero(moved)


def pieces_at(problem: Problem, estimate: Estimate) -> Pieces:
    """Return the piece of its loss that every row is on.

    Rows are uncertain where the errors of the estimate leave it open: where a margin
    less than `margin_error` away, or a λ less than `lam_error` away, is on another one.
    """
    margins = problem.margins(*weights_and_intercept(problem, estimate.point))
    error = estimate.margin_error
    low_lam = max(estimate.lam - estimate.lam_error, 1e-3 * estimate.lam)
    high_lam = estimate.lam + estimate.lam_error
    costs = problem.flip_cost
    if by_row(costs):
        costs = np.where(problem.can_flip, costs, np.inf)
    radii = problem.row_radius
    alpha = np.zeros(problem.n_rows, like=margins)
    beta = np.zeros(problem.n_rows, like=margins)

    def split(part: slice) -> np.ndarray:
        """Set the multipliers of a part of the rows, and return its uncertain ones."""
        m = margins[part]
        cost = costs[part] if by_row(costs) else costs
        # The pieces meet at m = 1, κλ/2 and κλ − 1, of which some exist for a given κλ.
        low = np.multiply(cost, low_lam)
        high = np.multiply(cost, high_lam)
        # A row that shifts on its own has the margin m − r λ.
        radius = radii[part] if by_row(radii) else radii
        least = m - radius * high_lam
        most = m - radius * low_lam
        hinge = most <= np.minimum(1.0, 0.5 * low) - error
        flip = m >= np.maximum(high - 1.0, 0.5 * high) + error
        neither = (least >= 1.0 + error) & (m <= low - 1.0 - error)
        np.copyto(alpha[part], problem.sample_weight[part], where=hinge)
        np.copyto(beta[part], problem.sample_weight[part], where=flip)
        return part.start + np.flatnonzero(~(hinge | flip | neither))

    return Pieces(np.concatenate(over_parts(margins, split)), alpha, beta)


class WorkingSetState(InteriorPointState):
    """An interior-point run on a working set, from an estimate of the solution."""

    # The expected gap costs little here, and a certificate, on all rows, a lot.
    promising = 1.0

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        estimate: Estimate,
        pieces: Pieces,
        settings: StepSettings | None = None,
    ):
        self.estimate = estimate
        self.pieces = pieces
        self.share = pieces.share
        engine: Any = WorkingSetEngine(problem, *pieces, limits.n_threads)
        fixed_flips = float(engine.fixed_sums.flip_cost.sum())
        start = self._start_at(problem, estimate, fixed_flips)
        super().__init__(problem, limits, start, settings, engine)
        self.step_seconds *= self.share
        self.most_lam = MOST_GROWTH_OF_LAM * start.lam
        # Whether the working set is solved but the whole problem is not: some rows may
        # have left their pieces
        self.doubtful = False
        # A run that breaks down is not worth another start.
        self.cold_starts = iter(())

    @staticmethod
    def _start_at(problem: Problem, estimate: Estimate, fixed_flips: float) -> Start:
        """Return a start about as far inside the cone as the central path.

        That is λ − ‖w‖ ≈ μ / (ε − Σκβ).
        """
        mu = START * estimate.margin_error
        point = with_room_for_signs(problem, estimate.point, estimate.lam)
        norm = problem.norm_of(*weights_and_intercept(problem, point))
        budget = max(problem.radius - fixed_flips, 0.1 * problem.radius)
        inside = norm + min(mu / budget, 0.1 * norm)
        return Start(point, max(estimate.lam, inside), mu)

    def step(self) -> None:
        super().step()
        self.finished |= not self.lam <= self.most_lam

    def on_certificate(self, gap: float) -> None:
        """Record whether only the working set is solved to the tolerance."""
        super().on_certificate(gap)
        self.doubtful |= self.near_the_end and gap > self.limits.tol

    def wider(self) -> tuple[Estimate, Pieces] | None:
        """Return a larger working set, from the current point with twice the errors.

        It includes the old one. None if no row has left its piece.
        """
        exact = Estimate(self.point, self.lam, 0.0, 0.0)
        left = self.pieces.left(pieces_at(self.problem, exact))
        if len(left) == 0:
            return None
        estimate = Estimate(
            self.point,
            self.lam,
            2.0 * self.estimate.margin_error,
            2.0 * self.estimate.lam_error,
        )
        uncertain, hinge_dual, flip_dual = pieces_at(self.problem, estimate)
        uncertain = np.union1d(uncertain, np.append(self.pieces.uncertain, left))
        hinge_dual[uncertain] = 0.0
        flip_dual[uncertain] = 0.0
        return estimate, Pieces(uncertain, hinge_dual, flip_dual)


class WorkingSetRun(DelegatingState):
    """A run on all rows until these are screened, then on a working set.

    If that fails, on all rows again, from where they were screened.

    Screening: near the central path, margins are about linear in μ, so that the last
    step tells how much they will still change until μ = 0.

    Parameters
    ----------
    first : InteriorPointState
        A run on all rows, at its start.
    """

    current: InteriorPointState

    def __init__(self, first: InteriorPointState):
        super().__init__(first)
        problem = first.problem
        # Errors of margins are measured on this sample of the rows.
        if first.drawn is not None:
            self.sample = first.drawn
        elif problem.n_rows <= SAMPLE:
            self.sample = problem
        else:
            self.sample = draw_sample(problem, SAMPLE, quickly=True)
        # Where the rows were screened, and the point before the last step
        self.screened_at: Start | None = None
        self.last: Start | None = None
        # Whether a working set may still take over: something must bound λ.
        self.screens = problem.charges_norm
        self.widenings = 0
        # The sum over the iterations of the share of the rows that took part
        self.row_iterations = 0.0

    @property
    def on_working_set(self) -> WorkingSetState | None:
        """The current run, if it is on a working set."""
        if isinstance(self.current, WorkingSetState):
            return self.current
        return None

    def step(self) -> None:
        # 1. Another run, if one is due
        working = self.on_working_set
        if working is None:
            screened = self._screened(self.current)
            if screened is not None:
                self._change_to(screened)
        elif working.finished:
            self._change_to(None)
        elif working.doubtful:
            working.doubtful = False
            self._widen(working)

        # 2. Its next step
        self.last = Start(self.current.point, self.current.lam, self.current.mu)
        self.current.step()
        working = self.on_working_set
        self.row_iterations += 1.0 if working is None else working.share

    def _widen(self, state: WorkingSetState) -> None:
        """Change to a wider working set if rows have left their pieces.

        Change to all rows if too many have.
        """
        wider = state.wider()
        if wider is None:
            return
        self.widenings += 1
        if self.widenings > MAX_WIDENINGS or not wider[1].useful_for(state.problem):
            wider = None
        self._change_to(wider)

    def _change_to(self, working_set: tuple[Estimate, Pieces] | None) -> None:
        """Let a run on a working set take over, or one on all rows."""
        last = self.current
        problem = last.problem
        # The next run takes the memory of the last one.
        last.release()
        if working_set is None:
            self.screens = False
            self.current = InteriorPointState(
                problem, last.limits, self.screened_at, last.settings
            )
        else:
            self.current = WorkingSetState(
                problem, last.limits, *working_set, last.settings
            )
        # Progress is that of the whole run.
        self.current.first_gap = last.first_gap

    def _screened(self, state: InteriorPointState) -> tuple[Estimate, Pieces] | None:
        """Return a working set, if the last step on all rows tells that it is small."""
        last = self.last
        if last is None or not self.screens or state.finished or state.near_the_end:
            return None
        if not LATE * START * MIN_ERROR < state.mu < last.mu:
            return None

        # 1. How far margins and λ will still move. Margins may change with μ twice as
        # fast as measured.
        ahead = 2.0 * state.mu / (last.mu - state.mu)
        step = weights_and_intercept(state.problem, state.point - last.point)
        change = float(np.abs(self.sample.decision_values(*step)).max())
        margin_error = max(CAUTION * ahead * change, MIN_ERROR, state.mu / START)
        lam_error = CAUTION * ahead * abs(state.lam - last.lam)
        estimate = Estimate(state.point, state.lam, margin_error, lam_error)

        # 2. The pieces. The sample tells at little cost whether all rows are worth
        # looking at.
        sample = self.sample.replace(radius=state.problem.radius)
        if not pieces_at(sample, estimate).useful_for(sample, SCREENED):
            return None
        pieces = pieces_at(state.problem, estimate)
        if not pieces.useful_for(state.problem, SCREENED):
            return None
        self.screened_at = Start(state.point, state.lam, state.mu)
        return estimate, pieces

    @property
    def finished(self) -> bool:
        # A run on a working set that is finished is followed by one on all rows.
        return self.current.finished and not self.on_working_set

    def info(self) -> dict[str, Any]:
        return {"row_iterations": self.row_iterations}
