"""Certificates: any multipliers are made feasible for the dual, and their dual value is a proven lower bound.

    maximise    Σ_i (α_i + β_i) − (1/2c) min {‖v⁺ − u‖₂² : ‖(a ⊙ u, a_0 v_0)‖_p ≤ e}
    subject to  α, β ≥ 0,  α_i + β_i ≤ π_i,  e = ε − Σ κ_i β_i ≥ 0

with v = Σ (α_i − β_i) y_i x_i, v_0 = Σ (α_i − β_i) y_i, and v⁺ equal to v except for 0 where v_j has the opposite of
the sign prescribed for w_j. Without ridge (c = 0), u = v⁺. A free intercept (a_0 = ∞) requires v_0 = 0.

These functions certify the results of every solver.
"""

import math
from dataclasses import dataclass

import numpy as np

from drsvm.model.dual_scale import best_multiple, largest_weights
from drsvm.model.dual_scale import best_scale as best_scale
from drsvm.model.multipliers import Multipliers, Totals
from drsvm.model.problem import Problem, check_problem
from drsvm.model.validation import check_weight_vector


@dataclass(frozen=True)
class PrimalPoint:
    """A classifier with its exact optimal λ and its objective."""

    weights: np.ndarray
    intercept: float
    radius_price: float
    objective: float


@dataclass(frozen=True)
class DualPoint:
    """Feasible multipliers and the lower bound they prove.

    The bound holds for all classifiers with ‖w‖_q ≤ `weight_bound`. This is infinite unless weights are free of charge,
    where no bound above 0 can be proven for all classifiers: if radius = l2 = 0, or, without ridge, where features
    cannot shift (or hardly, at a very high price). Only the weights of those features then need to be bounded.
    """

    hinge_dual: np.ndarray
    flip_dual: np.ndarray
    lower_bound: float
    weight_bound: float = math.inf


@dataclass(frozen=True)
class Certificate:
    """What is proven about a classifier: its objective, a lower bound on the optimum and the gap between them.

    Examples
    --------
    >>> from drsvm import Problem, certify
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1, fit_intercept=True)
    >>> certificate = certify(problem, [0.5], -0.75)
    >>> certificate.objective > certificate.lower_bound >= 0
    True
    """

    primal: PrimalPoint
    dual: DualPoint

    @property
    def objective(self) -> float:
        """Objective of the classifier."""
        return self.primal.objective

    @property
    def lower_bound(self) -> float:
        """Proven lower bound on the optimum, capped at the objective because rounding may lift it above."""
        return min(self.dual.lower_bound, self.objective)

    @property
    def gap(self) -> float:
        """Objective minus lower bound."""
        return self.objective - self.lower_bound


def certify(problem: Problem, weights, intercept: float = 0.0, hinge_dual=None, flip_dual=None) -> Certificate:
    """Certify a classifier with multipliers from any source.

    Parameters
    ----------
    problem : Problem
        The problem.
    weights, intercept : array of shape (d,), float
        The classifier.
    hinge_dual, flip_dual : arrays of shape (n,), optional
        Multipliers α and β, one per row of positive weight; they need not be feasible. None means 0.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from drsvm import Problem, certify, solve
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1, fit_intercept=True)
    >>> result = solve(problem)
    >>> certify(problem, result.weights, result.intercept, result.hinge_dual, result.flip_dual).gap <= 1e-6
    True
    >>> certify(problem, [0.0]).objective
    1.0
    """
    check_problem(problem, "certify")
    primal = primal_point(problem, weights, intercept)
    for name, values in (("hinge_dual", hinge_dual), ("flip_dual", flip_dual)):
        if values is not None and np.isnan(values).any():
            raise ValueError(f"{name} has NaN at row {int(np.argmax(np.isnan(values)))}: multipliers must be numbers.")
    return Certificate(primal, dual_point(problem, hinge_dual, flip_dual, reference=primal.weights))


SIGN_SLACK = 1e-9
"""A weight of the wrong sign is set to 0 if it is at most this share of the largest weight, and refused otherwise."""


def primal_point(problem: Problem, weights, intercept: float = 0.0) -> PrimalPoint:
    """Return the classifier with its smallest optimal λ and its objective."""
    weights = _with_signs(problem, check_weight_vector(weights, problem.n_features))
    intercept = float(intercept)
    if not math.isfinite(intercept) or (intercept != 0.0 and not problem.fit_intercept):
        raise ValueError(f"intercept must be finite, and 0 if fit_intercept=False, got intercept={intercept}.")
    return PrimalPoint(weights, intercept, *problem.price_and_objective(weights, intercept))


def _with_signs(problem, weights) -> np.ndarray:
    if problem.monotonic_cst is None:
        return weights
    signed = problem.with_signs(weights)
    wrong = np.abs(weights - signed)
    if wrong.max() > SIGN_SLACK * np.abs(weights).max():
        j = int(np.argmax(wrong))
        raise ValueError(
            f"weights has {weights[j]:g} at feature {j}, where monotonic_cst={problem.monotonic_cst[j]} requires "
            f"{'at least' if problem.monotonic_cst[j] > 0 else 'at most'} 0: pass problem.with_signs(weights)."
        )
    return signed


def dual_point(problem: Problem, hinge_dual=None, flip_dual=None, *, reference=None) -> DualPoint:
    """Make multipliers feasible and return them with the bound they prove; NaN among them proves a bound of NaN.

    `reference` is a weight vector that sets the scale of a finite `weight_bound`.
    """
    multipliers = problem.feasible(hinge_dual, flip_dual)
    unbalanced = None
    if problem.prices_intercept and problem.radius > 0:
        unbalanced = _best_multiple(problem, multipliers.totals(), reference)
    if problem.fit_intercept:
        multipliers.balance()
    totals = multipliers.totals()
    if problem.fit_intercept:
        totals = totals._replace(turn=0.0)  # up to rounding
    if problem.radius == 0 and problem.l2 == 0:
        return _bound_for_limited_weights(problem, multipliers, totals, reference)
    best = _best_multiple(problem, totals, reference)
    if unbalanced is not None and unbalanced[1] >= best[1]:
        del multipliers  # the memory is needed, so they are clipped again rather than kept
        best, multipliers = unbalanced, problem.feasible(hinge_dual, flip_dual)
    scale, bound, limit = best
    multipliers.shrink(scale, scale)
    return DualPoint(*multipliers.vectors(), bound, limit)


def _best_multiple(problem, totals: Totals, reference) -> tuple[float, float, float]:
    """Return factor, bound and limit of the weights."""
    return best_multiple(problem, totals.mass, totals.flip_cost, totals.pull, totals.turn, reference)


def _bound_for_limited_weights(problem, multipliers: Multipliers, totals: Totals, reference) -> DualPoint:
    """Return a bound over ‖w‖_q ≤ R, with R far larger than the data and the reference suggest."""
    v = problem.with_signs(totals.pull)
    if not np.any(v):
        return DualPoint(*multipliers.vectors(), totals.mass)
    largest = largest_weights(problem, reference)
    bound = totals.mass - largest * problem.norm.dual.value(v)
    if bound <= 0:
        multipliers.shrink(0.0, 0.0)
        return DualPoint(*multipliers.vectors(), 0.0)
    return DualPoint(*multipliers.vectors(), bound, largest)
