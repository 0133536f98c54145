"""The best classifier and the best lower bound that a run has found so far."""

import math

import numpy as np

from drsvm.certificate.certificate import (
    SLIGHT,
    DualPoint,
    PrimalPoint,
    dual_point,
    primal_point,
)
from drsvm.certificate.dual_bound import uncharged_features
from drsvm.problem.problem import Problem
from drsvm.problem.result import Status
from drsvm.solvers.base import Candidate


class Incumbent:
    """The best classifier and the best bound so far.

    They may come from different iterations.
    """

    def __init__(self, problem: Problem, tol: float):
        self.problem = problem
        self.aim_at(tol)
        # w = 0 without multipliers: the objective is 1 for all parameters, the bound is
        # 0.
        self.primal = PrimalPoint(np.zeros(problem.n_features), 0.0, 0.0, 1.0)
        zeros = problem.rows.zeros()
        self.dual = DualPoint(zeros, zeros, 0.0)
        self.has_free_weights = bool(uncharged_features(problem)[0].any())

    def aim_at(self, tol: float) -> None:
        """Set the gap to be reached."""
        self.tol = tol
        # A bound may lose a share of the tolerance to what is only known in advance
        # about rounding errors.
        self.slight = max(SLIGHT, 0.05 * tol)

    @property
    def lower_bound(self) -> float:
        # Rounding may lift the bound above the objective.
        return min(self.dual.lower_bound, self.primal.objective)

    @property
    def gap(self) -> float:
        return self.primal.objective - self.lower_bound

    @property
    def candidate(self) -> Candidate:
        """The best classifier, as a start for another solver."""
        return Candidate(
            self.primal.weights,
            self.primal.intercept,
            self.dual.hinge_dual,
            self.dual.flip_dual,
        )

    def certify(self, candidate: Candidate) -> None:
        """Keep the classifier and the bound of a candidate, where they are better."""
        # An extreme candidate may overflow or give NaN; it then fails the comparisons
        # below and is ignored.
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(candidate.weights).all()
            if finite and math.isfinite(candidate.intercept):
                self._certify_classifier(candidate)
            if candidate.hinge_dual is not None or candidate.flip_dual is not None:
                dual = self._dual_point(candidate.hinge_dual, candidate.flip_dual)
                self.dual = max(self.dual, dual, key=self._rank)

    def _certify_classifier(self, candidate: Candidate) -> None:
        # Copied, because the state may keep modifying its array.
        weights = np.array(candidate.weights)
        primal = primal_point(self.problem, weights, candidate.intercept)
        if not primal.objective < self.primal.objective:
            return
        self.primal = primal
        # A bound for limited weights was proven for smaller ones only.
        limited = math.isfinite(self.dual.contribution_bound)
        if limited and not self.dual.covers(self.problem, primal.weights):
            self.prove_again()

    def prove_again(self) -> None:
        """State the bound that the multipliers prove now."""
        self.dual = self._dual_point(self.dual.hinge_dual, self.dual.flip_dual)

    def _dual_point(self, hinge_dual, flip_dual) -> DualPoint:
        return dual_point(
            self.problem,
            hinge_dual,
            flip_dual,
            reference=self.primal.weights,
            slight=self.slight,
            enough=self.primal.objective - self.tol,
        )

    def _rank(self, dual: DualPoint) -> tuple[float, bool, float]:
        """Prefer what is enough for all weights, then the larger bound.

        NaN is the worst.
        """
        bound = dual.lower_bound if dual.lower_bound >= 0.0 else 0.0
        enough = min(bound, self.primal.objective - self.tol)
        return enough, math.isinf(dual.contribution_bound), bound

    def status(self, tol: float) -> Status:
        """Return the status if the gap is at most the tolerance."""
        if math.isinf(self.dual.contribution_bound) or self.primal.objective <= tol:
            return Status.OPTIMAL
        return Status.OPTIMAL_WITHIN_BOUNDS
