"""Dual coordinate ascent for sparse rows with very many features, at about the cost of a plain linear SVM.

An iteration is an epoch, which improves the multipliers of one row at a time, at a cost proportional to the row's
nonzeros (`ascent.py`). A certificate costs about as much as an epoch, and is computed when an estimate predicts that it
will succeed.
"""

import math
from dataclasses import dataclass
from typing import Any

from drsvm.model.norms import L1, L2, LInf, Norm
from drsvm.model.problem import Problem
from drsvm.solvers.base import Candidate, Limits, Solver, State
from drsvm.solvers.dual_coordinate.ascent import Ascent
from drsvm.solvers.dual_coordinate.ascents import BoxAscent, RoundAscent, SparseAscent
from drsvm.solvers.transforms.constant import constant_optimum
from drsvm.solvers.transforms.fallback import Patience, Trend, WithFallback
from drsvm.solvers.transforms.priced_columns import AS_COLUMNS

ASCENTS: dict[type[Norm], type[Ascent]] = {L1: SparseAscent, L2: RoundAscent, LInf: BoxAscent}
FIRST_RATIO = 0.5  # initial guess of gap / estimate
FIRST_PROOF, REGULAR_PROOF = 16, 32  # maximum number of epochs before the first certificate, and between later ones
PATIENCE = 500  # number of epochs from which the proven gaps must shrink


@dataclass(frozen=True)
class DualCoordinate(Solver):
    """Settings of dual coordinate ascent, which works best for norm=2.

    Attributes
    ----------
    shrinking : bool
        Whether to skip rows that are firmly at a bound for a few epochs.
    hand_over : bool
        Whether the interior-point solver takes over if it is expected to be faster and its matrices are of moderate
        size.

    Notes
    -----
    Runs with the same `random_state` give bitwise identical results for any number of threads.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import DualCoordinate
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1, norm=2)
    >>> result = solve(problem, DualCoordinate(hand_over=False))
    >>> result.solver, str(result.status)
    ('dual-coordinate', 'optimal')
    """

    name = "dual-coordinate"
    default_tol = 1e-6
    default_max_iter = 2000
    prices = AS_COLUMNS
    polishes_quickly = True

    shrinking: bool = True
    hand_over: bool = True

    def unsupported_reason(self, problem: Problem) -> str | None:
        if type(problem.norm) in ASCENTS:
            return super().unsupported_reason(problem)
        return f"solver 'dual-coordinate' does not support norm={problem.norm}: use solver='interior-point'."

    def start(self, problem: Problem, limits: Limits) -> State:
        run = constant_optimum(problem) or DualCoordinateState(problem, limits, self.shrinking)
        return WithFallback(run, problem, limits) if self.hand_over else run


class StateWithEstimates(State):
    """A run whose ascent estimates the gap: a certificate costs as much as an epoch, and is due when it may succeed."""

    ascent: Any  # counts its epochs, and has an estimate

    def __init__(self, problem: Problem, limits: Limits, first_proof: int):
        self.problem, self.limits = problem, limits
        self.ratio, self.next_proof = FIRST_RATIO, first_proof

    @property
    def expected_gap(self) -> float:
        """The gap that a certificate is expected to prove."""
        return self.ratio * self.ascent.estimate

    def certificate_due(self) -> bool:
        promising = self.expected_gap <= self.limits.tol
        return self.limits.watched or promising or self.ascent.count >= self.next_proof

    def on_certificate(self, gap: float) -> None:
        epoch, estimate = self.ascent.count, self.ascent.estimate
        if math.isfinite(estimate) and estimate > 0.0:
            self.ratio = min(max(gap / estimate, 0.1), 100.0)
        self.next_proof = epoch + min(epoch, REGULAR_PROOF)


class DualCoordinateState(StateWithEstimates):
    """One run."""

    def __init__(self, problem: Problem, limits: Limits, shrinking: bool = True):
        super().__init__(problem, limits, FIRST_PROOF)
        self.ascent = ascent_for(problem, limits, shrinking)
        self.trend, self.patience = Trend(problem, limits.tol), Patience(PATIENCE, limits)
        no_term_limits_the_weights = problem.radius == 0.0 and problem.l2 == 0.0
        self.gives_up = no_term_limits_the_weights and self.trend.has_fallback

    def step(self) -> None:
        self.ascent.epoch(whole=self.expected_gap <= self.limits.tol)
        self.gives_up |= self.trend.hopeless(self.expected_gap)

    def candidate(self) -> Candidate:
        return self.ascent.candidate()

    def on_certificate(self, gap: float) -> None:
        """Give up, too, if the proven gaps do not shrink: an estimate may be far too small."""
        super().on_certificate(gap)
        self.gives_up |= self.trend.has_fallback and self.patience.ends(self.ascent.count, gap)

    def info(self) -> dict:
        return {"epochs": self.ascent.count}


def ascent_for(problem: Problem, limits: Limits, shrinking: bool = True) -> Ascent:
    """Return the ascent for the norm; with one feature all norms are equal."""
    single = problem.n_features + problem.prices_intercept == 1
    kind = RoundAscent if single else ASCENTS[type(problem.norm)]
    return kind(problem, limits.start, limits.generator(), limits.tol, shrinking)
