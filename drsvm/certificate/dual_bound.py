"""The best multiple of given multipliers: the factor t ∈ [0, 1] for which t·(α, β) proves the largest lower bound.

The multipliers enter only through their mass Σ(α + β), the cost Σ κβ of their flips,
and their sums v for the weights and v_0 for the intercept. `certificate` states the
dual problem.

Weights are free of charge if radius = l2 = 0 or, without ridge, if their features
cannot shift. A bound above 0 for all of them requires v_j = 0, which rounding rarely
gives. The bound is therefore stated, also where radius and ridge leave weights nearly
free and this makes it better, for classifiers with

    Σ_j s_j |w_j| ≤ B    (over the free weights),      so that    Σ_j w_j v_j ≤ B max_j |v_j| / s_j

where s_j is the root mean square of feature j, and B is a fixed number that is far
larger than any sensible classifier needs: the sum limits the typical size of decision
values, for which 1 is the natural scale. It does not depend on the units of the
features, nor on the classifier that was found, unless that is so large that it needs a
larger B.
"""

import math
from typing import TypeAlias

import numpy as np
from scipy import optimize

from drsvm.problem.norms import euclidean
from drsvm.problem.problem import Problem

# Weights that may contribute as much are nearly free: a rounding error of v_j can cost
# much
OUT_OF_SCALE = 1e9
# A bound for limited weights must be this much better than one for all weights
WORTHWHILE = 1e-7
# B, and the room left for the classifier: else B grows by powers of 10
LARGEST_CONTRIBUTION = 1e6
ROOM = 100.0
# A bound holds for all classifiers with Σ s_j |w_j| up to a limit, over the free
# weights, so with ‖w‖_q up to another.
EVERY_WEIGHT = math.inf, math.inf
# T, its bound, and these limits
Multiple: TypeAlias = tuple[float, float, tuple[float, float]]


def best_dual_scaling(
    problem: Problem, mass: float, cost: float, v, v0: float = 0.0, reference=None
) -> Multiple:
    """Return the t in [0, 1] that maximises the dual value of t·(α, β), that value, and for which classifiers it holds.

    `v0` counts if the intercept has a finite price; a free intercept requires balanced
    multipliers. Free weights are charged up to `largest_contribution`.
    """
    v = problem.with_signs(v)
    if problem.prices_intercept and v0 != 0.0:
        fixed = problem.intercept_cost * abs(v0)
    else:
        fixed = 0.0
    free, nearly_free = uncharged_features(problem)
    if not nearly_free.any():
        return *_scaled(
            problem, mass, cost, v, problem.feature_cost, fixed
        ), EVERY_WEIGHT
    if v[nearly_free].any():
        limit = largest_contribution(problem, reference)
    else:
        limit = math.inf
    best = _charging(problem, mass, cost, v, fixed, free, limit)
    if (nearly_free & ~free & (v != 0)).any():
        other = _charging(problem, mass, cost, v, fixed, nearly_free, limit)
        best = other if other[1] > best[1] + WORTHWHILE else best
    return best


def uncharged_features(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the features whose weights are free of charge, and of those that nearly are.

    Where the objective is at most 1, ε |w_j| ≤ a_j and c w_j² ≤ 2.
    """
    if problem.feature_cost is None:
        prices = np.ones(problem.n_features)
    else:
        prices = problem.feature_cost
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.minimum(prices / problem.radius, np.sqrt(np.divide(2.0, problem.l2)))
        # the weights of a kernel are charged as one
        if problem.rows.is_kernel:
            sizes = 0.0
        else:
            sizes = problem.column_sizes
        return np.isinf(most), np.isinf(most) | (sizes * most > OUT_OF_SCALE)


def largest_contribution(problem: Problem, reference) -> float:
    """Return B, given a classifier that it must leave room for."""
    if reference is None:
        needed = 0.0
    else:
        needed = ROOM * float(problem.column_sizes @ np.abs(reference))
    return LARGEST_CONTRIBUTION * 10.0 ** max(
        0, math.ceil(math.log10(max(needed / LARGEST_CONTRIBUTION, 1.0)))
    )


def _charging(problem, mass, cost, v, fixed, outside, limit) -> Multiple:
    """Charge the features `outside` the ball for weights up to the limit, and scale the others into the ball."""
    charged = outside & (v != 0)
    limits = EVERY_WEIGHT
    if charged.any():
        sizes = problem.column_sizes
        with np.errstate(divide="ignore"):  # the square of a tiny number may be 0
            mass = mass - limit * float((np.abs(v[charged]) / sizes[charged]).max())
            limits = limit, limit / problem.norm.dual.value(sizes[charged])
    inside = ~outside
    if problem.feature_cost is None:
        prices = None
    else:
        prices = problem.feature_cost[inside]
    scale, bound = _scaled(problem, mass, cost, v[inside], prices, fixed)
    return scale, bound, limits if bound > 0 else EVERY_WEIGHT


def _scaled(problem, mass, cost, v, prices, fixed) -> tuple[float, float]:
    """Return the best t ≤ 1, without ridge the largest for which t·v is in the ball, and the bound; 0 without mass."""
    radius = problem.radius
    l2 = problem.l2
    norm = problem.norm
    ball = norm.dual
    if l2 == 0.0:
        if mass <= 0:
            return 0.0, 0.0
        priced = v if prices is None else prices * v
        needed = (
            ball.value(priced if fixed == 0.0 else np.concatenate((priced, (fixed,))))
            + cost
        )
        scale = min(1.0, radius / needed) if needed > 0 else 1.0
        return scale, scale * mass

    def value_and_slope(t: float) -> tuple[float, float]:
        # what the flips and the intercept leave for u
        rest = max(radius - t * cost, 0.0)
        change = -cost
        if fixed != 0.0:
            rest, by_total, by_part = ball.remainder(rest, min(t * fixed, rest))
            change = by_part * fixed - by_total * cost
        # v − u for the u nearest to v with ‖a ⊙ u‖_p ≤ rest, and u_j = 0 where the
        # price is infinite
        outside = t * v
        if prices is None:
            outside = priced = outside - ball.project_ball(outside, rest)
        else:
            finite = np.isfinite(prices)
            outside[finite] -= ball.project_priced_ball(
                outside[finite], rest, prices[finite]
            )
            priced = outside / prices
        slope = (
            mass - (float(outside @ v) - max(change, -1e100) * norm.value(priced)) / l2
        )
        return t * mass - 0.5 / l2 * euclidean(outside) ** 2, slope

    if cost + fixed <= radius:
        scale = 1.0
    else:
        scale = radius / (cost + fixed)
    value, slope = value_and_slope(scale)
    if slope < 0 < value_and_slope(0.0)[1]:
        # The bound holds for every t, so an error in the root has only a second-order
        # effect.
        scale = float(
            optimize.brentq(
                lambda t: value_and_slope(t)[1], 0.0, scale, xtol=1e-14, rtol=1e-12
            )
        )
        value = value_and_slope(scale)[0]
    return (0.0, 0.0) if value < 0.0 else (scale, value)
