"""Certificates: any multipliers are made feasible for the dual, and their dual value is a proven lower bound.

    maximise    Σ_i (α_i + β_i) − (1/2c) dist₂(v, e·B_p)²          (c = 0: ‖v‖_p ≤ e instead)
    subject to  α, β ≥ 0,  α_i + β_i ≤ π_i,  e = ε − κ Σ β ≥ 0,  v = Σ (α_i − β_i) y_i x_i,
                and with an intercept Σ (α_i − β_i) y_i = 0

These functions certify the results of every solver.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from drsvm.model.norms import euclidean
from drsvm.model.problem import Problem
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

    The bound holds for all classifiers with ‖w‖_q ≤ `weight_bound`. This is infinite unless radius = l2 = 0, where no
    bound above 0 can be proven for all classifiers.
    """

    hinge_dual: np.ndarray
    flip_dual: np.ndarray
    lower_bound: float
    weight_bound: float = math.inf


@dataclass(frozen=True)
class Certificate:
    """What is proven about a classifier: its objective, a lower bound on the optimum and the gap between them."""

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
    """
    primal = primal_point(problem, weights, intercept)
    return Certificate(primal, dual_point(problem, hinge_dual, flip_dual, reference=primal.weights))


def primal_point(problem: Problem, weights, intercept: float = 0.0) -> PrimalPoint:
    """Return the classifier with its smallest optimal λ and its objective."""
    weights = check_weight_vector(weights, problem.n_features)
    intercept = float(intercept)
    if not math.isfinite(intercept) or (intercept != 0.0 and not problem.fit_intercept):
        raise ValueError(f"intercept must be finite, and 0 if fit_intercept=False, got intercept={intercept}.")
    margins = problem.margins(weights, intercept)
    price = problem.radius_price(weights, margins)
    return PrimalPoint(weights, intercept, price, problem.objective_at(weights, margins, price))


def dual_point(problem: Problem, hinge_dual=None, flip_dual=None, *, reference=None) -> DualPoint:
    """Make multipliers feasible and return them with the bound they prove.

    `reference` is a weight vector that sets the scale of a finite `weight_bound`.
    """
    alpha, beta = _clip(problem, _check(problem, hinge_dual, "hinge_dual"), _check(problem, flip_dual, "flip_dual"))
    if problem.fit_intercept:
        _balance(problem, alpha, beta)
    v, _ = problem.weighted_sum(alpha - beta)
    mass = float(alpha.sum() + beta.sum())
    cost = problem.flip_cost * float(beta.sum()) if problem.flips_possible else 0.0
    if problem.radius == 0 and problem.l2 == 0:
        return _bound_for_limited_weights(problem, alpha, beta, mass, v, reference)
    scale, bound = best_scale(problem, mass, cost, v)
    alpha *= scale
    beta *= scale
    return DualPoint(alpha, beta, bound)


def _check(problem, values, name) -> np.ndarray:
    if values is None:
        return np.zeros(problem.n_rows)
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (problem.n_rows,):
        raise ValueError(f"{name} must have one entry per row of the problem ({problem.n_rows}), got {values.shape}.")
    if np.isnan(values).any():
        raise ValueError(f"{name} has NaN at row {int(np.argmax(np.isnan(values)))}: multipliers must be numbers.")
    return values


def _clip(problem, alpha, beta):
    """Return copies clipped to their bounds; later steps modify these in place to save memory."""
    alpha = np.clip(alpha, 0.0, problem.sample_weight)
    beta = np.clip(beta, 0.0, problem.sample_weight) if problem.flips_possible else np.zeros_like(alpha)
    shrink = alpha + beta
    np.divide(problem.sample_weight, np.maximum(shrink, problem.sample_weight, out=shrink), out=shrink)
    alpha *= shrink
    beta *= shrink
    return alpha, beta


def _balance(problem, alpha, beta) -> None:
    """Shrink the heavier of {α of label +, β of label −} and {α of label −, β of label +} to the other's total."""
    positive = problem.signs > 0
    one = alpha.sum(where=positive) + beta.sum(where=~positive)
    other = alpha.sum(where=~positive) + beta.sum(where=positive)
    light = min(one, other)
    factor_one = light / one if one > light else 1.0
    factor_other = light / other if other > light else 1.0
    alpha *= np.where(positive, factor_one, factor_other)
    beta *= np.where(positive, factor_other, factor_one)


def best_scale(problem: Problem, mass: float, cost: float, v) -> tuple[float, float]:
    """Return the t in [0, 1] that maximises the dual value of t·(α, β), and that value.

    Requires radius > 0 or l2 > 0. The multipliers enter only through Σ(α + β), κΣβ and v.
    """
    if problem.l2 > 0:
        return _best_scale_with_ridge(problem, mass, cost, v)
    needed = problem.norm.dual.value(v) + cost
    scale = min(1.0, problem.radius / needed) if needed > 0 else 1.0
    return scale, scale * mass


def _best_scale_with_ridge(problem, mass, cost, v) -> tuple[float, float]:
    radius, l2, norm = problem.radius, problem.l2, problem.norm
    largest = 1.0 if cost <= radius else radius / cost

    def excess(t):
        scaled = t * v
        return scaled - norm.dual.project_ball(scaled, max(radius - t * cost, 0.0))

    def value(t):
        return t * mass - 0.5 / l2 * euclidean(excess(t)) ** 2

    def slope(t):
        outside = excess(t)
        return mass - (float(outside @ v) + cost * norm.value(outside)) / l2

    scale = largest
    if slope(largest) < 0 < slope(0.0):
        # The bound holds for every t, so an error in the root has only a second-order effect.
        scale = float(optimize.brentq(slope, 0.0, largest, xtol=1e-14, rtol=1e-12))
    return max(((scale, value(scale)), (0.0, 0.0)), key=lambda pair: pair[1])


def _bound_for_limited_weights(problem, alpha, beta, mass, v, reference) -> DualPoint:
    """Return a bound over ‖w‖_q ≤ R, with R far larger than the data and the reference suggest."""
    if not np.any(v):
        return DualPoint(alpha, beta, mass)
    norm_of_reference = 0.0 if reference is None else problem.norm.value(reference)
    largest = max(2.0 * norm_of_reference, 100.0 / problem.typical_row_norm())
    bound = mass - largest * problem.norm.dual.value(v)
    if bound <= 0:
        return DualPoint(0.0 * alpha, 0.0 * beta, 0.0)
    return DualPoint(alpha, beta, bound, largest)
