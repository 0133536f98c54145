"""The best multiple of given multipliers: the factor t ∈ [0, 1] for which t·(α, β) proves the largest lower bound.

The multipliers enter only through their mass Σ(α + β), the cost Σ κβ of their flips, and their pulls v on the weights
and v_0 on the intercept. `certificate` states the dual problem.
"""

import math

import numpy as np
from scipy import optimize

from drsvm.model.norms import euclidean
from drsvm.model.problem import Problem

VERY_HIGH = 1e6
"""Prices this many times higher than the lowest: even a rounding error of v_j can cost much of the budget."""

WORTHWHILE = 1e-12
"""A bound for limited weights must be this much better than one for all weights."""


def best_scale(problem: Problem, mass: float, cost: float, v, v0: float = 0.0, reference=None) -> tuple[float, float]:
    """Return the t in [0, 1] that maximises the dual value of t·(α, β), and that value.

    Requires radius > 0 or l2 > 0. `v0` counts if the intercept has a finite price; a free intercept requires balanced
    multipliers. Without ridge, features that cannot shift are charged for weights up to `largest_weights`.
    """
    return best_multiple(problem, mass, cost, v, v0, reference)[:2]


def best_multiple(problem: Problem, mass, cost, v, v0, reference) -> tuple[float, float, float]:
    """Return t, the bound that it proves, and the largest norm of the weights for which it does."""
    v = problem.with_signs(v)
    fixed = problem.intercept_cost * abs(v0) if problem.prices_intercept and v0 != 0.0 else 0.0
    if problem.l2 > 0:
        return *_with_ridge(problem, mass, cost, v, fixed), math.inf
    if problem.feature_cost is None:
        return *_scale_into_ball(problem, mass, cost, v, fixed), math.inf
    return _with_priced_features(problem, mass, cost, v, fixed, reference)


def largest_weights(problem: Problem, reference) -> float:
    """Return an R far larger than the data and the reference suggest for ‖w‖_q."""
    norm_of_reference = 0.0 if reference is None else problem.norm.value(reference)
    return max(2.0 * norm_of_reference, 100.0 / problem.typical_row_norm())


def _scale_into_ball(problem, mass, cost, v, fixed) -> tuple[float, float]:
    size = problem.norm.dual.value(v if fixed == 0.0 else np.append(v, fixed))
    needed = size + cost
    scale = min(1.0, problem.radius / needed) if needed > 0 else 1.0
    return scale, scale * mass


def _with_priced_features(problem, mass, cost, v, fixed, reference) -> tuple[float, float, float]:
    """Return t, bound and limit: trusted features are charged R |v_j|, the others by their price of a shift."""
    prices = problem.feature_cost
    trusted = np.isinf(prices)
    very_high = trusted | (prices > VERY_HIGH * prices.min())
    limit = largest_weights(problem, reference) if v[very_high].any() else math.inf
    best = _charging(problem, mass, cost, v, fixed, trusted, limit)
    if (very_high & ~trusted & (v != 0)).any():
        other = _charging(problem, mass, cost, v, fixed, very_high, limit)
        best = other if other[1] > best[1] + WORTHWHILE else best
    return best


def _charging(problem, mass, cost, v, fixed, outside, limit) -> tuple[float, float, float]:
    """Charge the features `outside` the ball for weights up to the limit, and scale the others into the ball."""
    charge = float(np.abs(v[outside]).sum())
    left = mass - (limit * charge if charge > 0 else 0.0)
    if left <= 0:
        return 0.0, 0.0, math.inf
    inside = ~outside
    scale, bound = _scale_into_ball(problem, left, cost, problem.feature_cost[inside] * v[inside], fixed)
    return scale, bound, limit if charge > 0 else math.inf


def _with_ridge(problem, mass, cost, v, fixed) -> tuple[float, float]:
    radius, l2, norm = problem.radius, problem.l2, problem.norm
    largest = 1.0 if cost + fixed <= radius else radius / (cost + fixed)

    def budget(t):
        """What the flips and the intercept leave for u, and its derivative."""
        left = max(radius - t * cost, 0.0)
        if fixed == 0.0:
            return left, -cost
        rest, by_total, by_part = norm.dual.remainder(left, min(t * fixed, left))
        return rest, by_part * fixed - by_total * cost

    def excess(t):
        return _outside_ball(problem, t * v, budget(t)[0])

    def value(t):
        return t * mass - 0.5 / l2 * euclidean(excess(t)) ** 2

    def slope(t):
        outside = excess(t)
        priced = outside if problem.feature_cost is None else outside / problem.feature_cost
        shrinking = -max(budget(t)[1], -1e100) * norm.value(priced)
        return mass - (float(outside @ v) + shrinking) / l2

    scale = largest
    if slope(largest) < 0 < slope(0.0):
        # The bound holds for every t, so an error in the root has only a second-order effect.
        scale = float(optimize.brentq(slope, 0.0, largest, xtol=1e-14, rtol=1e-12))
    return max(((scale, value(scale)), (0.0, 0.0)), key=lambda pair: pair[1])


def _outside_ball(problem, v, radius: float) -> np.ndarray:
    """Return v − u for the u nearest to v with ‖a ⊙ u‖_p ≤ radius, and u_j = 0 where the price is infinite."""
    ball, prices = problem.norm.dual, problem.feature_cost
    if prices is None:
        return v - ball.project_ball(v, radius)
    finite = np.isfinite(prices)
    outside = v.copy()
    outside[finite] -= ball.project_priced_ball(v[finite], radius, prices[finite])
    return outside
