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

# The share of the tolerance that a bound may lose to limits of rounding errors, which
# are larger than the errors
SHARE_OF_ROUNDING = 0.05


class Incumbent:
    """The best classifier (`primal`) and the best bound (`dual`) so far.

    They may come from different iterations.
    """

    def __init__(self, problem: Problem, tol: float):
        self.problem = problem
        self.aim_at(tol)
        # w = 0 without multipliers: every hinge loss is 1, so the objective is 1, and
        # the bound is 0.
        self.primal = PrimalPoint(np.zeros(problem.n_features), 0.0, 0.0, 1.0)
        zeros = problem.rows.zeros()
        self.dual = DualPoint(zeros, zeros, 0.0)
        self.has_free_weights = bool(uncharged_features(problem)[0].any())

    def aim_at(self, tol: float) -> None:
        """Set the gap to be reached."""
        self.tol = tol
        self.slight = max(SLIGHT, SHARE_OF_ROUNDING * tol)

    @property
    def lower_bound(self) -> float:
        """The best bound, at most the objective: rounding may lift it above."""
        return min(self.dual.lower_bound, self.primal.objective)

    @property
    def gap(self) -> float:
        """Objective minus lower bound."""
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
            has_numbers = np.isfinite(candidate.weights).all()
            if has_numbers and math.isfinite(candidate.intercept):
                self._certify_classifier(candidate)
            if candidate.hinge_dual is not None or candidate.flip_dual is not None:
                dual = self._dual_point(candidate.hinge_dual, candidate.flip_dual)
                self.dual = max(self.dual, dual, key=self._rank)

    def _certify_classifier(self, candidate: Candidate) -> None:
        """Keep the classifier if its objective is the smallest so far."""
        # Copied, because the state may keep modifying its array.
        weights = np.array(candidate.weights)
        primal = primal_point(self.problem, weights, candidate.intercept)
        if not primal.objective < self.primal.objective:
            return
        self.primal = primal
        # A bound for limited weights may have been proven for smaller ones only.
        limited = math.isfinite(self.dual.contribution_bound)
        if limited and not self.dual.covers(self.problem, primal.weights):
            self.prove_again()

    def prove_again(self) -> None:
        """Compute again what the multipliers prove, for the classifier of now."""
        self.dual = self._dual_point(self.dual.hinge_dual, self.dual.flip_dual)

    def _dual_point(self, hinge_dual, flip_dual) -> DualPoint:
        """Return what multipliers prove, also about the best classifier."""
        return dual_point(
            self.problem,
            hinge_dual,
            flip_dual,
            reference=self.primal.weights,
            slight=self.slight,
            enough=self.primal.objective - self.tol,
        )

    def _rank(self, dual: DualPoint) -> tuple[float, bool, float]:
        """Return how good a bound is: compared by the first entry that differs.

        First, how far it goes towards the bound that the tolerance asks for; then, that
        it holds for all weights; then its value.
        """
        # NaN is as bad as no bound.
        bound = dual.lower_bound if dual.lower_bound >= 0.0 else 0.0
        enough = min(bound, self.primal.objective - self.tol)
        return enough, math.isinf(dual.contribution_bound), bound

    def status(self, tol: float) -> Status:
        """Return the status of a run whose gap is at most the tolerance.

        An objective below the tolerance needs no bound but 0, for all classifiers.
        """
        if math.isinf(self.dual.contribution_bound) or self.primal.objective <= tol:
            return Status.OPTIMAL
        return Status.OPTIMAL_WITHIN_BOUNDS
