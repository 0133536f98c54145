"""The constraints ‖t‖_q ≤ λ and t_j ≥ 0 in the interior-point method.

t are some entries of (w, b), divided by their costs or multiplied by their prescribed
signs. z is what the multipliers of these constraints add to the optimality conditions

    c w + Σ (β_i − α_i) y_i x_i + z_w = 0,        ε − κ Σ β_i + z_λ = 0,

and a Newton step changes z by  (a symmetric matrix) · (dw, db, dλ) + (a constant that
depends on the target μ, the value that the products of slack and multiplier aim at).

The constraints of the norms are

    InfNormCone       (q = ∞)   λ − t_j ≥ 0 and λ + t_j ≥ 0,
    OneNormCone       (q = 1)   u_j − t_j ≥ 0, u_j + t_j ≥ 0 and λ − Σ u_j ≥ 0, where
                                the bounds u are eliminated,
    SecondOrderCone   (q = 2)   (λ, t) in the second-order cone, with Nesterov–Todd
                                scaling and the full second-order correction.

Products of slack and multiplier of linear constraints are aimed at equal shares of the
target. Constraints of the norm come first, then those of the signs. A point that
rounding errors have moved out of the second-order cone gives NaN.

What differs between norms is chosen by the type of the constraints, so that only the
functions of one norm are compiled; compiling takes time in proportion to the operations
in the source.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.compiled.decorators import by_type, compiled
from drsvm.compiled.second_order_cone import (
    determinant,
    inner,
    rate,
    set_scaling_point,
    transform,
)
from drsvm.compiled.step_rules import larger

# Rows of `values`: shares of the target (of linear constraints), slacks, multipliers,
# their changes, multiplier / slack, corrections, and what the multipliers would become
# if the slacks did not change
SHARE, SLACK, DUAL, D_SLACK, D_DUAL, RATIO, CORRECTION, PUSH = range(8)
# Positions in `numbers`. q = 2: the factor of the Nesterov–Todd scaling; q = 1: k and
# k·(…) of the budget's multiplier (see `_push_one`)
STRETCH = 0
COEFFICIENT = 1
BUDGET = 2


class Constraints(NamedTuple):
    """The constraints of t = factors · (w, b)[entries]: the norm's, then t_j ≥ 0.

    The fewer arrays there are, the less time it takes to compile functions that pass
    them on.
    """

    entries: np.ndarray  # positions in (w, b)
    factors: np.ndarray
    n_signs: int  # the number of entries with a sign: the last ones
    has_norm: bool  # False if the radius is 0, where the norm costs nothing
    first_linear: int  # constraints before this one form a second-order cone
    values: np.ndarray  # (8, number of constraints)
    workspace: np.ndarray  # (5, number of the norm's entries + 1)
    numbers: np.ndarray

    is_linear = True  # otherwise the constraints of the norm form a second-order cone

    @staticmethod
    def slacks_at(t: np.ndarray, lam: float) -> np.ndarray:
        """Return the slacks of the norm's constraints for given t and λ."""
        raise NotImplementedError

    @staticmethod
    def central_duals(slacks: np.ndarray, mu: float) -> np.ndarray:
        """Return the multipliers of the norm's constraints on the central path of μ."""
        return mu / (len(slacks) * slacks)


class InfNormCone(Constraints):
    """q = ∞: first all λ − t_j, then all λ + t_j."""

    @staticmethod
    def slacks_at(t: np.ndarray, lam: float) -> np.ndarray:
        return np.concatenate([lam - t, lam + t])


class OneNormCone(Constraints):
    """q = 1: first all u_j − t_j, then all u_j + t_j, then λ − Σ u_j."""

    @staticmethod
    def slacks_at(t: np.ndarray, lam: float) -> np.ndarray:
        # All bounds are at the same distance.
        bounds = np.abs(t) + (lam - np.abs(t).sum()) / (len(t) + 1)
        return np.concatenate([bounds - t, bounds + t, [lam - bounds.sum()]])


class SecondOrderCone(Constraints):
    """q = 2: the vector (λ, t)."""

    is_linear = False

    @staticmethod
    def slacks_at(t: np.ndarray, lam: float) -> np.ndarray:
        return np.concatenate(((lam,), t))

    @staticmethod
    def central_duals(slacks: np.ndarray, mu: float) -> np.ndarray:
        length = math.sqrt(float(slacks[1:] @ slacks[1:]))
        reflected = -slacks
        reflected[0] = slacks[0]
        return reflected * (mu / ((slacks[0] - length) * (slacks[0] + length)))


# --- q = ∞


@compiled(inner=True)
def _scale_inf(cone, out):
    ratios = cone.values[RATIO]
    k = cone.workspace.shape[1] - 1
    square = 0.0
    for j in range(k):
        entry = cone.entries[j]
        factor = cone.factors[j]
        upper = ratios[j]
        lower = ratios[k + j]
        out[0, entry] += factor * factor * (upper + lower)
        out[1, entry] = factor * (lower - upper)
        square += upper + lower
    return square, 0.0, 0.0


@compiled(inner=True)
def _gather_pairs(cone, values, out):
    """Add z of given multipliers.

    For q = ∞ all constraints contain λ, for q = 1 only the last one does.
    """
    k = cone.workspace.shape[1] - 1
    m = values.size - cone.n_signs
    lam = 0.0
    for j in range(k):
        out[cone.entries[j]] += cone.factors[j] * (values[j] - values[k + j])
    first = 0
    if m > 2 * k:
        first = 2 * k
    for j in range(first, m):
        lam -= values[j]
    return lam


@compiled(inner=True)
def _follow_inf(cone, direction, dlam):
    changes = cone.values[D_SLACK]
    k = cone.workspace.shape[1] - 1
    for j in range(k):
        dt = cone.factors[j] * direction[cone.entries[j]]
        changes[j] = dlam - dt
        changes[k + j] = dlam + dt


# --- q = 1. A pair is the two constraints of one bound u_j, and the budget is that of
# λ − Σ u_j. With ratio = multiplier/slack and push = the multiplier after a step if the
# slack did not change, a multiplier becomes push − ratio · (change of the slack). The
# bounds are in no other term: both multipliers of a pair sum to ζ, that of the budget,
#
#     ζ = sum_j − total_j (du_j − tilt_j dt_j),      ζ = push − ratio · (dλ − Σ du_j)
#
# where sum_j and total_j are the sums of a pair's pushes and ratios, tilt_j is the
# relative difference of its ratios, and push and ratio are the budget's. The first
# equation gives du_j; inserted in the second, it gives
#
#     ζ = k (push/ratio + Σ sum_j/total_j − dλ + Σ tilt_j dt_j),
#     1/k = 1/ratio + Σ 1/total_j.
#
# Rows 0, 1 and 2 of the workspace are total, tilt and sum, and row 3 is dt.


@compiled(inner=True)
def _scale_one(cone, out):
    ratios = cone.values[RATIO]
    k = cone.workspace.shape[1] - 1
    inverses = 0.0
    for j in range(k):
        entry = cone.entries[j]
        factor = cone.factors[j]
        upper = ratios[j]
        lower = ratios[k + j]
        total = upper + lower
        tilt = (upper - lower) / total
        cone.workspace[0, j] = total
        cone.workspace[1, j] = tilt
        out[0, entry] += 4.0 * factor * factor * upper * lower / total
        out[2, entry] = factor * tilt
        inverses += 1.0 / total
    coefficient = ratios[2 * k] / (1.0 + ratios[2 * k] * inverses)
    cone.numbers[COEFFICIENT] = coefficient
    return 0.0, -1.0, coefficient


@compiled(inner=True)
def _push_one(cone, target, out):
    pushes = cone.values[PUSH]
    k = cone.workspace.shape[1] - 1
    totals = cone.workspace[0]
    tilts = cone.workspace[1]
    sums = cone.workspace[2]
    gather(cone, pushes, out)
    # ζ, except for its part in the changes
    budget = pushes[2 * k] / cone.values[RATIO, 2 * k]
    for j in range(k):
        sums[j] = pushes[j] + pushes[k + j]
        budget += sums[j] / totals[j]
    budget *= cone.numbers[COEFFICIENT]
    cone.numbers[BUDGET] = budget
    for j in range(k):
        out[cone.entries[j]] -= cone.factors[j] * tilts[j] * (sums[j] - budget)
    return -budget


@compiled(inner=True)
def _follow_one(cone, direction, dlam):
    changes = cone.values[D_SLACK]
    k = cone.workspace.shape[1] - 1
    totals = cone.workspace[0]
    tilts = cone.workspace[1]
    sums = cone.workspace[2]
    dt = cone.workspace[3]
    along = -dlam
    used = 0.0
    for j in range(k):
        dt[j] = cone.factors[j] * direction[cone.entries[j]]
        along += tilts[j] * dt[j]
    budget = cone.numbers[BUDGET] + cone.numbers[COEFFICIENT] * along
    for j in range(k):
        bound = (sums[j] - budget) / totals[j] + tilts[j] * dt[j]
        changes[j] = bound - dt[j]
        changes[k + j] = bound + dt[j]
        used += bound
    changes[2 * k] = dlam - used


# --- q = 2, in the notation of Vandenberghe (see `second_order_cone.py`). The scaling W
# takes multipliers, and its inverse takes slacks, to the same point a, in row 1 of the
# workspace; row 0 is the point that W is made of. The complementarity condition is
# a ∘ a = target · (1, 0, …) with the product u ∘ v = (u·v, u₀ v₁ + v₀ u₁) of the cone.


@compiled(inner=True)
def _scale_two(cone, out):
    point = cone.workspace[0]
    square = set_scaling_point(cone.values[SLACK], cone.values[DUAL], point)
    curvature = 1.0 / square
    cone.numbers[STRETCH] = math.sqrt(square)
    for j in range(1, point.size):
        entry = cone.entries[j - 1]
        factor = cone.factors[j - 1]
        out[0, entry] += factor * factor * curvature
        out[2, entry] = -factor * point[j]
    transform(point, cone.numbers[STRETCH], cone.values[DUAL], 1.0, cone.workspace[1])
    return -curvature, point[0], 2.0 * curvature


@compiled(inner=True)
def _gather_two(cone, values, out):
    for j in range(1, cone.workspace.shape[1]):
        out[cone.entries[j - 1]] -= cone.factors[j - 1] * values[j]
    return -values[0]


@compiled(inner=True)
def _push_two(cone, target, out):
    corrections = cone.values[CORRECTION]
    a = cone.workspace[1]
    x = cone.workspace[2]
    size = a.size
    # a ∘ x = target · (1, 0, …) − correction, solved for x
    x[0] = (
        a[0] * (target - corrections[0]) + inner(a, corrections, size)
    ) / determinant(a, size)
    for j in range(1, size):
        x[j] = (-corrections[j] - x[0] * a[j]) / a[0]
    transform(cone.workspace[0], cone.numbers[STRETCH], x, -1.0, cone.values[PUSH])
    return gather(cone, cone.values[PUSH], out)


@compiled(inner=True)
def _follow_two(cone, direction, dlam):
    point = cone.workspace[0]
    scaled = cone.workspace[2]
    image = cone.workspace[4]
    changes = cone.values[D_SLACK]
    changes[0] = dlam
    for j in range(1, point.size):
        changes[j] = cone.factors[j - 1] * direction[cone.entries[j - 1]]
    # The multipliers change by W⁻² times the change of the slacks
    transform(point, cone.numbers[STRETCH], changes, -1.0, scaled)
    transform(point, cone.numbers[STRETCH], scaled, -1.0, image)
    for j in range(point.size):
        cone.values[D_DUAL, j] = cone.values[PUSH, j] - cone.values[DUAL, j] - image[j]


@compiled(inner=True)
def _correct_two(cone):
    point = cone.workspace[0]
    a = cone.workspace[2]
    b = cone.workspace[3]
    corrections = cone.values[CORRECTION]
    # The product of both changes, after scaling
    transform(point, cone.numbers[STRETCH], cone.values[D_SLACK], -1.0, a)
    transform(point, cone.numbers[STRETCH], cone.values[D_DUAL], 1.0, b)
    corrections[0] = a[0] * b[0] + inner(a, b, point.size)
    for j in range(1, point.size):
        corrections[j] = a[0] * b[j] + b[0] * a[j]


@compiled(inner=True)
def _rates_two(cone):
    v = cone.values
    size = cone.workspace.shape[1]
    return rate(v[SLACK], v[D_SLACK], size), rate(v[DUAL], v[D_DUAL], size)


# --- all norms


# Add the norm's part to the matrix: see `scaling`
_scale_norm = by_type(
    {InfNormCone: _scale_inf, OneNormCone: _scale_one, SecondOrderCone: _scale_two}
)
# Add z of given multipliers to a vector in (w, b), and return its entry for λ; then the
# same for the multipliers after the step, except for their part in the changes
gather = by_type(
    {
        InfNormCone: _gather_pairs,
        OneNormCone: _gather_pairs,
        SecondOrderCone: _gather_two,
    }
)
_push_norm = by_type(
    {
        InfNormCone: lambda cone, target, out: gather(cone, cone.values[PUSH], out),
        OneNormCone: _push_one,
        SecondOrderCone: _push_two,
    }
)
# Compute the changes of the slacks and, if they are not linear, of the multipliers
_follow_norm = by_type(
    {
        InfNormCone: _follow_inf,
        OneNormCone: _follow_one,
        SecondOrderCone: _follow_two,
    }
)
_correct_norm = by_type(
    {
        InfNormCone: lambda cone: None,
        OneNormCone: lambda cone: None,
        SecondOrderCone: _correct_two,
    }
)
_norm_rates = by_type(
    {
        InfNormCone: lambda cone: (0.0, 0.0),
        OneNormCone: lambda cone: (0.0, 0.0),
        SecondOrderCone: _rates_two,
    }
)


@compiled(inner=True)
def _gather_signs(cone, values, out):
    for j in range(1, cone.n_signs + 1):
        out[cone.entries[cone.entries.size - j]] -= (
            cone.factors[cone.factors.size - j] * values[values.size - j]
        )


@compiled()
def multipliers(cone, out):
    """Write z in (w, b); return its entry for λ."""
    out[:] = 0.0
    _gather_signs(cone, cone.values[DUAL], out)
    if cone.has_norm:
        return gather(cone, cone.values[DUAL], out)
    return 0.0


@compiled()
def products_after(cone, primal, dual):
    """Return Σ multiplier · slack after steps of the given lengths."""
    v = cone.values
    total = 0.0
    for j in range(v.shape[1]):
        total += (v[SLACK, j] + primal * v[D_SLACK, j]) * (
            v[DUAL, j] + dual * v[D_DUAL, j]
        )
    return total


@compiled()
def move(cone, primal, dual):
    """Take steps of the given lengths."""
    v = cone.values
    for j in range(v.shape[1]):
        v[SLACK, j] += primal * v[D_SLACK, j]
        v[DUAL, j] += dual * v[D_DUAL, j]


@compiled()
def rates(cone):
    """Return the reciprocals of the longest primal and dual steps (0: no limit)."""
    v = cone.values
    primal = 0.0
    dual = 0.0
    if cone.has_norm:
        primal, dual = _norm_rates(cone)
    for j in range(cone.first_linear, v.shape[1]):
        primal = larger(primal, -v[D_SLACK, j] / v[SLACK, j])
        dual = larger(dual, -v[D_DUAL, j] / v[DUAL, j])
    return larger(primal, 0.0), larger(dual, 0.0)


@compiled()
def scaling(cone, out):
    """Write the matrix of a Newton step, a diagonal, a λ column and k·uuᵀ.

    The diagonal and the λ column of (w, b) go into rows 0 and 1 of `out`, u into row 2.
    Returns the λλ entry, the λ entry of u, and k.
    """
    v = cone.values
    m = v.shape[1]
    out[:] = 0.0
    for j in range(m):
        v[RATIO, j] = v[DUAL, j] / v[SLACK, j]
        v[CORRECTION, j] = 0.0
    for j in range(1, cone.n_signs + 1):
        out[0, cone.entries[cone.entries.size - j]] += v[RATIO, m - j]
    if cone.has_norm:
        return _scale_norm(cone, out)
    return 1.0, 0.0, 0.0  # λ plays no role, but must not make the matrix singular


@compiled()
def correct(cone):
    """Use the products of the last direction's changes as the correction.

    `scaling` resets it.
    """
    v = cone.values
    if cone.has_norm:
        _correct_norm(cone)
    for j in range(cone.first_linear, v.shape[1]):
        v[CORRECTION, j] = v[D_SLACK, j] * v[D_DUAL, j]


@compiled()
def constant(cone, target, out):
    """Write the constant part of z + dz for a target and the current correction.

    Return its entry for λ.
    """
    v = cone.values
    out[:] = 0.0
    for j in range(cone.first_linear, v.shape[1]):
        v[PUSH, j] = (target * v[SHARE, j] - v[CORRECTION, j]) / v[SLACK, j]
    _gather_signs(cone, v[PUSH], out)
    if cone.has_norm:
        return _push_norm(cone, target, out)
    return 0.0


@compiled()
def set_direction(cone, direction, dlam):
    """Compute all changes for those of (w, b) and λ."""
    v = cone.values
    m = v.shape[1]
    if cone.has_norm:
        _follow_norm(cone, direction, dlam)
    for j in range(1, cone.n_signs + 1):
        v[D_SLACK, m - j] = (
            cone.factors[cone.factors.size - j]
            * direction[cone.entries[cone.entries.size - j]]
        )
    for j in range(cone.first_linear, m):
        v[D_DUAL, j] = v[PUSH, j] - v[DUAL, j] - v[RATIO, j] * v[D_SLACK, j]
