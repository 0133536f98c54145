"""Dual coordinate ascent for sparse rows with very many features.

An iteration is an epoch, which improves the multipliers of one row at a time, at a cost
proportional to the row's nonzeros (`ascent.py`), as for a plain linear SVM. A
certificate costs about as much as an epoch, and is computed when an estimate predicts
that it will succeed.
"""

import math
from dataclasses import dataclass
from typing import Any

from drsvm.problem.problem import Problem
from drsvm.solvers.base import Candidate, Limits, Solver, State
from drsvm.solvers.dual_coordinate.ascent_by_norm import ASCENTS, L2Ascent
from drsvm.solvers.fallback import Patience, Trend
from drsvm.solvers.reformulation.costs_as_columns import AS_COLUMNS

# The ratio of proven to estimated gaps: the first guess, and its limits
FIRST_RATIO = 0.5
MIN_RATIO = 0.1
MAX_RATIO = 100.0
# Maximum number of epochs before the first certificate, and between later ones
FIRST_PROOF = 16
REGULAR_PROOF = 32
# The number of epochs from which the proven gaps must shrink
PATIENCE = 500


@dataclass(frozen=True)
class DualCoordinate(Solver):
    """Dual coordinate ascent, which works best for norm=2.

    Parameters
    ----------
    shrinking : bool
        Whether to skip rows that are firmly at a bound for a few epochs.
    hand_over : bool
        Whether the interior-point solver takes over if it is expected to be faster and
        its matrices are of moderate size.

    Notes
    -----
    Runs with the same `random_state` give bitwise identical results for any number of
    threads.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan, A Dual
    Coordinate Descent Method for Large-scale Linear SVM, ICML 2008.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import DualCoordinate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> problem = Problem(X, y, radius=0.1, norm=2)
    >>> result = solve(problem, DualCoordinate(hand_over=False))
    >>> result.solver, str(result.status)
    ('dual-coordinate', 'optimal')
    """

    name = "dual-coordinate"
    default_tol = 1e-6
    default_max_iter = 2000
    norms = ASCENTS
    capabilities = AS_COLUMNS
    polishes_quickly = True

    shrinking: bool = True
    hand_over: bool = True

    def start(self, problem: Problem, limits: Limits) -> State:
        run = DualCoordinateState(problem, limits, self.shrinking)
        run.has_fallback = self.hand_over
        return run


class StateWithEstimates(State):
    """A run whose ascent estimates the gap.

    A certificate costs as much as an epoch, so it is due when it may succeed: when the
    estimate, times the ratio that the last certificate has found, is small enough.
    """

    ascent: Any
    """What the epochs change: it has their `count` and an `estimate` of the gap."""

    def __init__(self, problem: Problem, limits: Limits, first_proof: int):
        self.problem = problem
        self.limits = limits
        self.ratio = FIRST_RATIO
        self.next_proof = first_proof

    @property
    def expected_gap(self) -> float:
        """The gap that a certificate is expected to prove."""
        return self.ratio * self.ascent.estimate

    def certificate_due(self) -> bool:
        promising = self.expected_gap <= self.limits.tol
        return self.limits.watched or promising or self.ascent.count >= self.next_proof

    def on_certificate(self, gap: float) -> None:
        epoch = self.ascent.count
        estimate = self.ascent.estimate
        if math.isfinite(estimate) and estimate > 0.0:
            self.ratio = min(max(gap / estimate, MIN_RATIO), MAX_RATIO)
        # Certificates are due after 16, 32, 64, 96, … epochs in any case.
        self.next_proof = epoch + min(epoch, REGULAR_PROOF)


class DualCoordinateState(StateWithEstimates):
    """One run: epochs, until a certificate succeeds or another solver is better."""

    def __init__(self, problem: Problem, limits: Limits, shrinking: bool = True):
        super().__init__(problem, limits, FIRST_PROOF)
        kind = ASCENTS[type(problem.norm)]
        if problem.n_features + problem.has_intercept_cost == 1:
            # All norms of a single weight are equal.
            kind = L2Ascent
        self.ascent = kind(problem, limits.start, limits.generator(), shrinking)
        self.trend = Trend(problem, limits.tol)
        self.patience = Patience(PATIENCE, limits)
        # Weights that nothing limits may grow without end.
        no_term_limits_the_weights = problem.radius == 0.0 and problem.l2 == 0.0
        self.gives_up = no_term_limits_the_weights and self.trend.can_take_over

    def step(self) -> None:
        # Shrinking ends when a certificate may succeed.
        self.ascent.epoch(whole=self.expected_gap <= self.limits.tol)
        if self.trend.hopeless(self.expected_gap):
            self.gives_up = True

    def candidate(self) -> Candidate:
        return self.ascent.candidate()

    def on_certificate(self, gap: float) -> None:
        """Give up, too, if proven gaps do not shrink.

        An estimate may be far too small.
        """
        super().on_certificate(gap)
        # The estimate is that of the last iterate.
        self.ascent.prefers_average = gap < self.ascent.estimate
        if self.trend.can_take_over and self.patience.ends(self.ascent.count, gap):
            self.gives_up = True

    def info(self) -> dict:
        return {"epochs": self.ascent.count}
