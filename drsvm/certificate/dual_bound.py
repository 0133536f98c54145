"""The best multiple t·(α, β) of given multipliers, for a factor t ∈ [0, 1].

The multipliers enter only through their mass Σ(α + β), the cost Σ κβ of their flips,
and their sums v for the weights and v_0 for the intercept. `certificate` states the
dual problem. Without ridge, the largest t for which t·v is in the ball is the best;
with a ridge, the dual value is a concave function of t with a known slope.

A weight is **free** if neither the norm nor the ridge limits it: if radius = l2 = 0 or,
without ridge, if its feature cannot shift (a_j = ∞). A bound above 0 for all values of
a free weight requires v_j = 0, which rounding rarely gives. The bound is therefore
stated, also where radius and ridge leave weights nearly free and this makes it better,
for classifiers with

    Σ_j s_j |w_j| ≤ B,    so that    Σ_j w_j v_j ≤ B max_j |v_j| / s_j

over the free weights (over all, where row radii alone charge them, but leave part of v
outside the ball). Here s_j is the root mean square of feature j, and B is a fixed
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

# A weight is nearly free if s_j |w_j| may be this large, far above B: a rounding error
# of v_j can then change a bound much.
OUT_OF_SCALE = 1e9
# A bound for limited weights must be this much better than one for all weights.
WORTHWHILE = 1e-7
# B, and how many times the classifier's own sum it must be: otherwise B grows by powers
# of 10
LARGEST_CONTRIBUTION = 1e6
ROOM = 100.0
# The limits of a bound that holds for all classifiers: of Σ s_j |w_j| over the free
# weights, and of ‖w‖_q
EVERY_WEIGHT = (math.inf, math.inf)


class DualScaling(NamedTuple):
    """A factor t for multipliers, the bound that they then prove, and its limits."""

    scale: float
    bound: float
    limits: tuple[float, float] = EVERY_WEIGHT


class _Sums(NamedTuple):
    """Sums of the multipliers, over the features that are in the ball."""

    mass: float
    """Σ (α + β)."""
    flip_cost: float
    """Σ κ β − Σ r α."""
    v: np.ndarray
    """v⁺: Σ (α − β) y x, with 0 where its sign is opposite to the prescribed one."""
    feature_cost: np.ndarray | None
    """a, or None if all costs are 1."""
    v0_cost: float
    """a_0 |v_0|."""


def best_dual_scaling(
    problem: Problem, mass: float, flip_cost: float, v, v0: float = 0.0, reference=None
) -> DualScaling:
    """Return the t in [0, 1] that maximises the dual value of t·(α, β), and that value.

    Parameters
    ----------
    problem : Problem
        The problem.
    mass, flip_cost : float, float
        Σ (α + β) and Σ κβ − Σ rα.
    v, v0 : array of shape (d,), float
        The sums of the multipliers. v_0 counts if the intercept has a finite cost; a
        free intercept requires balanced multipliers.
    reference : array of shape (d,), optional
        Weights for which the bound must hold.

    Returns
    -------
    DualScaling
        The factor, the bound, and for which classifiers it holds.
    """
    v = problem.with_signs(v)
    v0_cost = 0.0
    if problem.has_intercept_cost and v0 != 0.0:
        v0_cost = problem.intercept_cost * abs(v0)
    sums = _Sums(mass, flip_cost, v, problem.feature_cost, v0_cost)
    free, nearly_free = uncharged_features(problem)
    if nearly_free.any():
        best = _best_with_limit(problem, sums, free, nearly_free, reference)
    else:
        best = _scaled(problem, sums)
    if best.bound == 0.0 and problem.radius == problem.l2 == 0.0:
        return _scaled_without_radius(problem, sums, reference)
    return best


def _best_with_limit(
    problem: Problem, sums: _Sums, free, nearly_free, reference
) -> DualScaling:
    """Return the best factor if some weights are free, or nearly free."""
    limit = math.inf
    if sums.v[nearly_free].any():
        limit = largest_contribution(problem, reference)
    best = _scaled_with_limit(problem, sums, free, limit)
    # Nearly free weights are in the ball or limited, whichever proves more.
    if (nearly_free & ~free & (sums.v != 0)).any():
        other = _scaled_with_limit(problem, sums, nearly_free, limit)
        if other.bound > best.bound + WORTHWHILE:
            return other
    return best


def uncharged_features(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the features whose weights are free, and free or nearly free.

    An optimal w has an objective of at most 1, so that ε |w_j| ≤ a_j and c w_j² ≤ 2.
    """
    costs = problem.feature_cost
    if costs is None:
        costs = np.ones(problem.n_features)
    with np.errstate(divide="ignore", invalid="ignore"):
        if problem.radius > 0.0 or not problem.has_row_radius:
            most = costs / problem.radius
        else:
            # The norm costs something, and only the multipliers tell how much.
            most = np.where(np.isinf(costs), math.inf, 0.0)
        most = np.minimum(most, np.sqrt(np.divide(2.0, problem.l2)))
        contributions = problem.rows.sizes_of_weights(problem.column_sizes) * most
        free = np.isinf(most)
        return free, free | (contributions > OUT_OF_SCALE)


def largest_contribution(problem: Problem, reference) -> float:
    """Return B, which is at least ROOM times the sum of given weights.

    Without weights, it is the usual one.
    """
    limit = LARGEST_CONTRIBUTION
    if reference is None:
        return limit
    coordinates = problem.rows.coordinates(reference)
    needed = ROOM * float(problem.column_sizes @ np.abs(coordinates))
    if needed > limit:
        limit *= 10.0 ** math.ceil(math.log10(needed / limit))
    return limit


def _scaled_with_limit(
    problem: Problem, sums: _Sums, outside: np.ndarray, limit: float
) -> DualScaling:
    """Return the best factor for classifiers whose weights `outside` are limited.

    These weights can reduce a bound by at most B max_j |v_j| / s_j; the others are
    scaled into the ball.
    """
    v = sums.v
    mass = sums.mass
    counted = outside & (v != 0)
    limits = EVERY_WEIGHT
    if counted.any():
        sizes = problem.column_sizes[counted]
        # Sizes are roots of sums of squares, and the square of a tiny number may be 0.
        with np.errstate(divide="ignore"):
            mass = mass - limit * float((np.abs(v[counted]) / sizes).max())
            limits = limit, limit / problem.norm.dual.value(sizes)
    inside = ~outside
    costs = sums.feature_cost
    if costs is not None:
        costs = costs[inside]
    scaling = _scaled(
        problem, sums._replace(mass=mass, v=v[inside], feature_cost=costs)
    )
    if scaling.bound > 0:
        return scaling._replace(limits=limits)
    # 0 is a bound for all classifiers.
    return scaling


def _scaled_without_radius(problem: Problem, sums: _Sums, reference) -> DualScaling:
    """Return the bound if the radius is 0, and v outside the ball ‖·‖_p ≤ Σ r α.

    No factor takes it into this ball, which is scaled alike. But a part of it is
    inside, and the rest, often a rounding error, can be charged to limited weights.
    """
    every = np.ones(len(sums.v), dtype=bool)
    charged = every
    v = sums.v
    if sums.feature_cost is not None:
        charged = np.isfinite(sums.feature_cost)
        v = sums.feature_cost[charged] * v[charged]
    size = problem.norm.dual.value(v)
    outside = sums.v.copy()
    if size > 0.0:
        outside[charged] *= max(1.0 + sums.flip_cost / size, 0.0)
    limit = largest_contribution(problem, reference)
    return _scaled_with_limit(
        problem, sums._replace(flip_cost=0.0, v=outside), every, limit
    )


def _scaled(problem: Problem, sums: _Sums) -> DualScaling:
    """Return the best factor and its bound, both 0 if nothing better is proven."""
    if problem.l2 == 0.0:
        return _scaled_without_ridge(problem, sums)

    # Multiples with a larger factor are infeasible.
    scale = 1.0
    needed = sums.flip_cost + sums.v0_cost
    if needed > problem.radius:
        scale = problem.radius / needed
    value, slope = _value_and_slope(scale, problem, sums)
    if slope < 0 < _value_and_slope(0.0, problem, sums)[1]:
        # The bound holds for every t, so an error in the root has only a second-order
        # effect.
        root = optimize.brentq(
            lambda t: _value_and_slope(t, problem, sums)[1],
            0.0,
            scale,
            xtol=1e-14,
            rtol=1e-12,
        )
        scale = float(root)
        value, _ = _value_and_slope(scale, problem, sums)
    if value < 0.0:
        return DualScaling(0.0, 0.0)
    return DualScaling(scale, value)


def _scaled_without_ridge(problem: Problem, sums: _Sums) -> DualScaling:
    """Return the largest t for which t·v is in the ball."""
    if sums.mass <= 0:
        return DualScaling(0.0, 0.0)
    v = sums.v
    if sums.feature_cost is not None:
        v = sums.feature_cost * v
    if sums.v0_cost != 0.0:
        v = np.append(v, sums.v0_cost)
    needed = problem.norm.dual.value(v) + sums.flip_cost
    scale = 1.0
    if needed > 0:
        scale = min(1.0, problem.radius / needed)
    return DualScaling(scale, scale * sums.mass)


def _value_and_slope(t: float, problem: Problem, sums: _Sums) -> tuple[float, float]:
    """Return the dual value with ridge of t·(α, β), and its derivative in t.

    The value is t·mass − ‖t·v − u‖² / 2c for the nearest u with ‖a ⊙ u‖_p ≤ rest and
    u_j = 0 where a_j = ∞. The rest is what the flips and the intercept leave of the
    radius.
    """
    norm = problem.norm
    ball = norm.dual
    costs = sums.feature_cost

    # 1. The rest
    rest = max(problem.radius - t * sums.flip_cost, 0.0)
    change_of_rest = -sums.flip_cost
    if sums.v0_cost != 0.0:
        rest, by_total, by_part = ball.remainder(rest, min(t * sums.v0_cost, rest))
        change_of_rest = by_part * sums.v0_cost - by_total * sums.flip_cost

    # 2. The part of t·v outside the ball, and its dual norm
    outside = t * sums.v
    if costs is None:
        outside = outside - ball.project_ball(outside, rest)
        size = norm.value(outside)
    else:
        finite = np.isfinite(costs)
        outside[finite] -= ball.project_scaled_ball(
            outside[finite], rest, costs[finite]
        )
        size = norm.value(outside / costs)

    # 3. The derivative of half the squared distance, by the envelope theorem: the
    # multiplier of the ball's constraint is the dual norm of what is outside. That norm
    # may be 0 where the rest changes infinitely fast; a bound avoids NaN.
    change = float(outside @ sums.v) - max(change_of_rest, -1e100) * size
    value = t * sums.mass - 0.5 / problem.l2 * euclidean(outside) ** 2
    return value, sums.mass - change / problem.l2
