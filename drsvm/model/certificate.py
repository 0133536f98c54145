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
from drsvm.model.problem import Problem
from drsvm.model.validation import check_weight_vector
from drsvm.parallel import elementwise, over_parts, total


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


SIGN_SLACK = 1e-9
"""A weight of the wrong sign is set to 0 if it is at most this share of the largest weight, and refused otherwise."""


def primal_point(problem: Problem, weights, intercept: float = 0.0) -> PrimalPoint:
    """Return the classifier with its smallest optimal λ and its objective."""
    weights = _with_signs(problem, check_weight_vector(weights, problem.n_features))
    intercept = float(intercept)
    if not math.isfinite(intercept) or (intercept != 0.0 and not problem.fit_intercept):
        raise ValueError(f"intercept must be finite, and 0 if fit_intercept=False, got intercept={intercept}.")
    margins = problem.margins(weights, intercept)
    price = problem.radius_price(weights, margins, intercept)
    return PrimalPoint(weights, intercept, price, problem.objective_at(weights, margins, price))


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
    """Make multipliers feasible and return them with the bound they prove.

    `reference` is a weight vector that sets the scale of a finite `weight_bound`.
    """
    given = _check(problem, hinge_dual, "hinge_dual"), _check(problem, flip_dual, "flip_dual")
    alpha, beta = _clip(problem, *given)
    unbalanced = None
    if problem.prices_intercept and problem.radius > 0:
        unbalanced = _best_multiple(problem, alpha, beta, reference, balanced=False)
    if problem.fit_intercept:
        _balance(problem, alpha, beta)
    if problem.radius == 0 and problem.l2 == 0:
        return _bound_for_limited_weights(problem, alpha, beta, reference)
    best = _best_multiple(problem, alpha, beta, reference, balanced=True)
    if unbalanced is not None and unbalanced[1] >= best[1]:
        del alpha, beta  # the memory is needed, so they are clipped again rather than kept
        best, (alpha, beta) = unbalanced, _clip(problem, *given)
    scale, bound, limit = best
    for multipliers in (alpha, beta):
        over_parts(len(alpha), lambda part, values=multipliers: np.multiply(values[part], scale, out=values[part]))
    return DualPoint(alpha, beta, bound, limit)


def _best_multiple(problem, alpha, beta, reference, *, balanced: bool) -> tuple[float, float, float]:
    """Return factor, bound and limit of the weights; balanced multipliers have v_0 = 0 up to rounding."""
    v, v0 = _pulls(problem, alpha, beta)
    cost = problem.cost_of_flips(beta)
    return best_multiple(problem, _mass(alpha, beta), cost, v, 0.0 if balanced else v0, reference)


def _pulls(problem, alpha, beta) -> tuple[np.ndarray, float]:
    """Return v and v_0."""
    return problem.signed_sum(elementwise(len(alpha), lambda part: (alpha[part] - beta[part]) * problem.signs[part]))


def _mass(alpha, beta) -> float:
    return total(len(alpha), lambda part: alpha[part].sum() + beta[part].sum())


def _check(problem, values, name) -> np.ndarray:
    if values is None:
        return np.zeros(problem.n_rows)
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (problem.n_rows,):
        raise ValueError(f"{name} must have one entry per row of the problem ({problem.n_rows}), got {values.shape}.")
    if any(over_parts(len(values), lambda part: np.isnan(values[part]).any())):
        raise ValueError(f"{name} has NaN at row {int(np.argmax(np.isnan(values)))}: multipliers must be numbers.")
    return values


def _clip(problem, alpha, beta):
    """Return copies clipped to their bounds; later steps modify these in place to save memory."""
    clipped = np.empty_like(alpha), np.empty_like(beta)
    flips_possible = problem.flips_possible
    can_flip = problem.can_flip if isinstance(problem.flip_cost, np.ndarray) else None

    def clip(part):
        weights = problem.sample_weight[part]
        hinge, flip = clipped[0][part], clipped[1][part]
        np.clip(alpha[part], 0.0, weights, out=hinge)
        np.clip(beta[part], 0.0, weights if flips_possible else 0.0, out=flip)
        if can_flip is not None:
            flip[~can_flip[part]] = 0.0
        shrink = weights / np.maximum(hinge + flip, weights)
        hinge *= shrink
        flip *= shrink

    over_parts(len(alpha), clip)
    return clipped


def _balance(problem, alpha, beta) -> None:
    """Shrink the heavier of {α of label +, β of label −} and {α of label −, β of label +} to the other's total."""

    def sides(part):
        positive = problem.signs[part] > 0
        return np.where(positive, alpha[part], beta[part]).sum(), np.where(positive, beta[part], alpha[part]).sum()

    one, other = np.sum(over_parts(len(alpha), sides), axis=0)
    light = min(one, other)
    factor_one = light / one if one > light else 1.0
    factor_other = light / other if other > light else 1.0

    def shrink(part):
        positive = problem.signs[part] > 0
        alpha[part] *= np.where(positive, factor_one, factor_other)
        beta[part] *= np.where(positive, factor_other, factor_one)

    over_parts(len(alpha), shrink)


def _bound_for_limited_weights(problem, alpha, beta, reference) -> DualPoint:
    """Return a bound over ‖w‖_q ≤ R, with R far larger than the data and the reference suggest."""
    mass, v = _mass(alpha, beta), problem.with_signs(_pulls(problem, alpha, beta)[0])
    if not np.any(v):
        return DualPoint(alpha, beta, mass)
    largest = largest_weights(problem, reference)
    bound = mass - largest * problem.norm.dual.value(v)
    if bound <= 0:
        return DualPoint(0.0 * alpha, 0.0 * beta, 0.0)
    return DualPoint(alpha, beta, bound, largest)
