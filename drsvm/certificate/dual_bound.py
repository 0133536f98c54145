"""The best multiple t·(α, β) of given multipliers, for a factor t ∈ [0, 1].

The multipliers enter only through their mass Σ(α + β), the cost Σ κβ of their flips,
and their sums v for the weights and v_0 for the intercept. `certificate` states the
dual problem. Without ridge, the largest t for which t·v is in the ball is the best;
with a ridge, the dual value is a concave function of t with a known slope.

Weights are free of charge if radius = l2 = 0 or, without ridge, if their features
cannot shift. A bound above 0 for all of them requires v_j = 0, which rounding rarely
gives. The bound is therefore stated, also where radius and ridge leave weights nearly
free and this makes it better, for classifiers with

    Σ_j s_j |w_j| ≤ B,    so that    Σ_j w_j v_j ≤ B max_j |v_j| / s_j

over the free weights, where s_j is the root mean square of feature j, and B is a fixed
number that is far larger than any sensible classifier needs: the sum limits the typical
size of decision values, for which 1 is the natural scale. It does not depend on the
units of the features, nor on the classifier that was found, unless that is so large
that it needs a larger B.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import optimize

from drsvm.problem.norms import euclidean
from drsvm.problem.problem import Problem

# Weights that may contribute as much are nearly free: a rounding error of v_j can cost
# much.
OUT_OF_SCALE = 1e9
# A bound for limited weights must be this much better than one for all weights.
WORTHWHILE = 1e-7
# B, and the room left for the classifier: otherwise B grows by powers of 10.
LARGEST_CONTRIBUTION = 1e6
ROOM = 100.0
# A bound holds for all classifiers with Σ s_j |w_j| up to a limit, over the free
# weights, and so with ‖w‖_q up to another.
EVERY_WEIGHT = (math.inf, math.inf)


class DualScaling(NamedTuple):
    """A factor t for multipliers, the bound that they then prove, and its limits."""

    scale: float
    bound: float
    limits: tuple[float, float] = EVERY_WEIGHT


def best_dual_scaling(
    problem: Problem, mass: float, cost: float, v, v0: float = 0.0, reference=None
) -> DualScaling:
    """Return the t in [0, 1] that maximises the dual value of t·(α, β), and that value.

    Parameters
    ----------
    problem : Problem
        The problem.
    mass, cost : float, float
        Σ (α + β) and Σ κβ.
    v, v0 : array of shape (d,), float
        The sums of the multipliers. v_0 counts if the intercept has a finite cost; a
        free intercept requires balanced multipliers.
    reference : array of shape (d,), optional
        Weights for which the bound must hold: free weights are charged up to
        `largest_contribution`.

    Returns
    -------
    DualScaling
        The factor, the bound, and for which classifiers it holds.
    """
    v = problem.with_signs(v)
    fixed = 0.0
    if problem.prices_intercept and v0 != 0.0:
        fixed = problem.intercept_cost * abs(v0)
    free, nearly_free = uncharged_features(problem)
    if not nearly_free.any():
        return _scaled(problem, mass, cost, v, problem.feature_cost, fixed)
    limit = math.inf
    if v[nearly_free].any():
        limit = largest_contribution(problem, reference)
    best = _charging(problem, mass, cost, v, fixed, free, limit)
    if (nearly_free & ~free & (v != 0)).any():
        other = _charging(problem, mass, cost, v, fixed, nearly_free, limit)
        if other.bound > best.bound + WORTHWHILE:
            return other
    return best


def uncharged_features(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the features whose weights are free, and nearly free, of charge.

    Where the objective is at most 1, ε |w_j| ≤ a_j and c w_j² ≤ 2.
    """
    costs = problem.feature_cost
    if costs is None:
        costs = np.ones(problem.n_features)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.minimum(costs / problem.radius, np.sqrt(np.divide(2.0, problem.l2)))
        contributions = problem.rows.sizes_of_weights(problem.column_sizes) * most
        free = np.isinf(most)
        return free, free | (contributions > OUT_OF_SCALE)


def largest_contribution(problem: Problem, reference) -> float:
    """Return B, given a classifier that it must leave room for."""
    limit = LARGEST_CONTRIBUTION
    if reference is None:
        return limit
    needed = ROOM * float(problem.column_sizes @ np.abs(reference))
    if needed > limit:
        limit *= 10.0 ** math.ceil(math.log10(needed / limit))
    return limit


def _charging(problem, mass, cost, v, fixed, outside, limit) -> DualScaling:
    """Charge the features `outside` the ball for weights up to the limit.

    The others are scaled into the ball.
    """
    charged = outside & (v != 0)
    limits = EVERY_WEIGHT
    if charged.any():
        sizes = problem.column_sizes
        # The square of a tiny number may be 0.
        with np.errstate(divide="ignore"):
            mass = mass - limit * float((np.abs(v[charged]) / sizes[charged]).max())
            limits = limit, limit / problem.norm.dual.value(sizes[charged])
    inside = ~outside
    costs = problem.feature_cost
    if costs is not None:
        costs = costs[inside]
    scaling = _scaled(problem, mass, cost, v[inside], costs, fixed)
    if scaling.bound > 0:
        return scaling._replace(limits=limits)
    return scaling


def _scaled(problem, mass, cost, v, feature_cost, fixed) -> DualScaling:
    """Return the best t ≤ 1 and the bound; 0 without mass.

    `fixed` is a_0 |v_0|.
    """
    if problem.l2 == 0.0:
        return _scaled_without_ridge(problem, mass, cost, v, feature_cost, fixed)

    def value_and_slope(t: float) -> tuple[float, float]:
        return _value_and_slope(problem, mass, cost, v, feature_cost, fixed, t)

    # Multiples with a larger factor are infeasible.
    scale = 1.0
    if cost + fixed > problem.radius:
        scale = problem.radius / (cost + fixed)
    value, slope = value_and_slope(scale)
    if slope < 0 < value_and_slope(0.0)[1]:
        # The bound holds for every t, so an error in the root has only a second-order
        # effect.
        root = optimize.brentq(
            lambda t: value_and_slope(t)[1], 0.0, scale, xtol=1e-14, rtol=1e-12
        )
        scale = float(root)
        value = value_and_slope(scale)[0]
    if value < 0.0:
        return DualScaling(0.0, 0.0)
    return DualScaling(scale, value)


def _scaled_without_ridge(problem, mass, cost, v, feature_cost, fixed) -> DualScaling:
    """Return the largest t for which t·v is in the ball."""
    if mass <= 0:
        return DualScaling(0.0, 0.0)
    if feature_cost is not None:
        v = feature_cost * v
    if fixed != 0.0:
        v = np.concatenate((v, (fixed,)))
    needed = problem.norm.dual.value(v) + cost
    scale = 1.0
    if needed > 0:
        scale = min(1.0, problem.radius / needed)
    return DualScaling(scale, scale * mass)


def _value_and_slope(
    problem, mass, cost, v, feature_cost, fixed, t: float
) -> tuple[float, float]:
    """Return the dual value with ridge of t·(α, β), and its derivative in t.

    The value is t·mass − ‖t·v − u‖² / 2c for the nearest u with ‖a ⊙ u‖_p ≤ rest and
    u_j = 0 where a_j = ∞. The rest is what the flips and the intercept leave of the
    radius.
    """
    norm = problem.norm
    ball = norm.dual
    rest = max(problem.radius - t * cost, 0.0)
    change_of_rest = -cost
    if fixed != 0.0:
        rest, by_total, by_part = ball.remainder(rest, min(t * fixed, rest))
        change_of_rest = by_part * fixed - by_total * cost
    outside = t * v
    if feature_cost is None:
        outside = outside - ball.project_ball(outside, rest)
        size = norm.value(outside)
    else:
        finite = np.isfinite(feature_cost)
        outside[finite] -= ball.project_scaled_ball(
            outside[finite], rest, feature_cost[finite]
        )
        size = norm.value(outside / feature_cost)
    # The derivative of the distance follows the multiplier of the ball's constraint,
    # which is the dual norm of what is outside; an infinite change is bounded for the
    # sake of a size of 0.
    change = float(outside @ v) - max(change_of_rest, -1e100) * size
    value = t * mass - 0.5 / problem.l2 * euclidean(outside) ** 2
    return value, mass - change / problem.l2
