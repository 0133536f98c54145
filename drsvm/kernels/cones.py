"""The constraints ‖t‖_q ≤ λ and t_j ≥ 0 in the interior-point method: slacks, multipliers and their Newton equations.

t are some entries of (w, b), divided by their prices or multiplied by their prescribed signs. With the multiplier part
z of the optimality conditions

    c w + Σ (β_i − α_i) y_i x_i + z_w = 0,        ε − κ Σ β_i + z_λ = 0,

a Newton step changes z by  (a symmetric matrix) · (dw, db, dλ) + (a constant that depends on the target μ).

The constraints of the norms are

    q = ∞ (BOX)     λ − t_j ≥ 0 and λ + t_j ≥ 0,
    q = 1 (CROSS)   u_j − t_j ≥ 0, u_j + t_j ≥ 0 and λ − Σ u_j ≥ 0, where the bounds u are eliminated,
    q = 2 (BALL)    (λ, t) in the second-order cone, with Nesterov–Todd scaling and the full second-order correction.

Products of slack and multiplier of linear constraints are aimed at equal shares of the target. Constraints of the norm
come first, then those of the signs. A point that rounding errors have moved out of the second-order cone gives NaN.

`solvers/interior_point/cones.py` has the same for large problems, where it costs nothing next to the rows; here it is
one compiled text for all norms. Compiling takes time in proportion to the operations in the source.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.kernels.compiling import FAST, kernel

NO_NORM, BOX, BALL, CROSS = 0, 1, 2, 3
"""The kinds of norms; NO_NORM if the radius is 0, where the norm costs nothing."""

SHARE, SLACK, DUAL, D_SLACK, D_DUAL, RATIO, CORRECTION, PUSH = range(8)
"""Rows of `all`: shares of the target (of linear constraints), slacks, multipliers, their changes, multiplier / slack,
corrections, and what the multipliers would become if the slacks did not change."""

STRETCH, COEFFICIENT, BUDGET = 0, 1, 2
"""Positions in `numbers`."""


class Cone(NamedTuple):
    """The constraints, and room for vectors of the norm's entries."""

    kind: int
    entries: np.ndarray  # positions in (w, b) that the norm measures
    factors: np.ndarray  # 1 / their prices
    sign_entries: np.ndarray  # positions with a prescribed sign
    signs: np.ndarray
    all: np.ndarray  # (8, number of constraints)
    room: np.ndarray  # (5, number of entries + 1)
    numbers: np.ndarray


@kernel(inner=True)
def larger(a, b):
    """Return the larger number, or NaN if one of them is."""
    return a if not a <= b and b == b else b


@kernel(inner=True)
def products_after(cone, primal, dual):
    """Return Σ multiplier · slack after steps of the given lengths."""
    v, total = cone.all, 0.0
    for j in range(v.shape[1]):
        total += (v[SLACK, j] + primal * v[D_SLACK, j]) * (v[DUAL, j] + dual * v[D_DUAL, j])
    return total


@kernel(inner=True)
def move(cone, primal, dual):
    """Take steps of the given lengths."""
    v = cone.all
    for j in range(v.shape[1]):
        v[SLACK, j] += primal * v[D_SLACK, j]
        v[DUAL, j] += dual * v[D_DUAL, j]


@kernel(inner=True)
def rates(cone):
    """Return the reciprocals of the longest primal and dual steps (0: no limit)."""
    v, primal, dual, first = cone.all, 0.0, 0.0, 0
    if cone.kind == BALL:
        first = cone.factors.size + 1
        primal, dual = _ball_rate(v[SLACK], v[D_SLACK], first), _ball_rate(v[DUAL], v[D_DUAL], first)
    for j in range(first, v.shape[1]):
        primal = larger(primal, -v[D_SLACK, j] / v[SLACK, j])
        dual = larger(dual, -v[D_DUAL, j] / v[DUAL, j])
    return larger(primal, 0.0), larger(dual, 0.0)


@kernel(inner=True)
def scaling(cone, out):
    """Write the matrix: diagonal and λ column of (w, b) into rows 0 and 1, and u of k·uuᵀ into row 2.

    Returns its λλ entry, the λ entry of u, and k.
    """
    v, room, numbers, k, kind = cone.all, cone.room, cone.numbers, cone.factors.size, cone.kind
    out[:] = 0.0
    for j in range(v.shape[1]):
        v[CORRECTION, j], v[RATIO, j] = 0.0, v[DUAL, j] / v[SLACK, j]
    for j in range(cone.signs.size):
        out[0, cone.sign_entries[j]] += v[RATIO, v.shape[1] - cone.signs.size + j]
    square, of_lam, coefficient, curvature = 0.0, 0.0, 0.0, 0.0
    if kind == BALL:
        _scale_ball(cone)
        curvature = 1.0 / (numbers[STRETCH] * numbers[STRETCH])
        square, of_lam, coefficient = -curvature, room[0, 0], 2.0 * curvature
    if kind == NO_NORM:
        square = 1.0  # λ plays no role, but must not make the matrix singular
    inverses = 0.0
    for j in range(k):
        entry, factor = cone.entries[j], cone.factors[j]
        if kind == BALL:
            out[0, entry] += factor * factor * curvature
            out[2, entry] = -factor * room[0, j + 1]
        else:
            upper, lower = v[RATIO, j], v[RATIO, k + j]
            total = upper + lower
            if kind == BOX:
                out[0, entry] += factor * factor * total
                out[1, entry] = factor * (lower - upper)
                square += total
            else:  # rows 0 and 1 of the room: the sums of the pairs' ratios, and their relative differences
                room[0, j], room[1, j] = total, (upper - lower) / total
                out[0, entry] += 4.0 * factor * factor * upper * lower / total
                out[2, entry] = factor * room[1, j]
                inverses += 1.0 / total
    if kind == CROSS:
        of_lam, coefficient = -1.0, v[RATIO, 2 * k] / (1.0 + v[RATIO, 2 * k] * inverses)
        numbers[COEFFICIENT] = coefficient
    return square, of_lam, coefficient


@kernel(inner=True)
def correct(cone):
    """Use the products of the last direction's changes as the correction; `scaling` resets it."""
    v, first = cone.all, 0
    if cone.kind == BALL:
        first, a, b = cone.factors.size + 1, cone.room[2], cone.room[3]
        _scale(cone, v[D_SLACK], -1.0, a)
        _scale(cone, v[D_DUAL], 1.0, b)
        v[CORRECTION, 0] = a[0] * b[0] + _inner(a, b, first)
        for j in range(1, first):
            v[CORRECTION, j] = a[0] * b[j] + b[0] * a[j]
    for j in range(first, v.shape[1]):
        v[CORRECTION, j] = v[D_SLACK, j] * v[D_DUAL, j]


@kernel(inner=True)
def constant(cone, target, out):
    """Write the constant part of z + dz for a target and the current correction; return its entry for λ."""
    v, room, numbers, k, kind = cone.all, cone.room, cone.numbers, cone.factors.size, cone.kind
    out[:] = 0.0
    first, lam = 0, 0.0
    if kind == BALL:
        first = k + 1
        _push_ball(cone, target)
        lam = -v[PUSH, 0]
    for j in range(first, v.shape[1]):
        v[PUSH, j] = (target * v[SHARE, j] - v[CORRECTION, j]) / v[SLACK, j]
    if kind == CROSS:
        # The multiplier of the budget after the step, except for its part in the changes; row 2: upper + lower.
        total = v[PUSH, 2 * k] / v[RATIO, 2 * k]
        for j in range(k):
            room[2, j] = v[PUSH, j] + v[PUSH, k + j]
            total += room[2, j] / room[0, j]
        numbers[BUDGET] = numbers[COEFFICIENT] * total
        lam = -numbers[BUDGET]
    for j in range(k):
        if kind == BALL:
            push = -v[PUSH, j + 1]
        else:
            push = v[PUSH, j] - v[PUSH, k + j]
            if kind == BOX:
                lam -= v[PUSH, j] + v[PUSH, k + j]
            else:
                push -= room[1, j] * (room[2, j] - numbers[BUDGET])
        out[cone.entries[j]] += cone.factors[j] * push
    for j in range(cone.signs.size):
        out[cone.sign_entries[j]] -= cone.signs[j] * v[PUSH, v.shape[1] - cone.signs.size + j]
    return lam


@kernel(inner=True)
def set_direction(cone, direction, dlam):
    """Compute all changes for those of (w, b) and λ."""
    v, room, numbers, k, kind = cone.all, cone.room, cone.numbers, cone.factors.size, cone.kind
    dt, first, used, budget = room[3], 0, 0.0, numbers[BUDGET] - numbers[COEFFICIENT] * dlam
    for j in range(k):
        dt[j] = cone.factors[j] * direction[cone.entries[j]]
        if kind == CROSS:
            budget += numbers[COEFFICIENT] * room[1, j] * dt[j]
    for j in range(k):
        if kind == BALL:
            v[D_SLACK, j + 1] = dt[j]
        else:
            bound = dlam if kind == BOX else (room[2, j] - budget) / room[0, j] + room[1, j] * dt[j]
            v[D_SLACK, j], v[D_SLACK, k + j] = bound - dt[j], bound + dt[j]
            used += bound
    if kind == CROSS:
        v[D_SLACK, 2 * k] = dlam - used
    for j in range(cone.signs.size):
        v[D_SLACK, v.shape[1] - cone.signs.size + j] = cone.signs[j] * direction[cone.sign_entries[j]]
    if kind == BALL:
        first, v[D_SLACK, 0] = k + 1, dlam
        _scale(cone, v[D_SLACK], -1.0, room[2])
        _scale(cone, room[2], -1.0, room[4])
        for j in range(first):
            v[D_DUAL, j] = v[PUSH, j] - v[DUAL, j] - room[4, j]
    for j in range(first, v.shape[1]):
        v[D_DUAL, j] = v[PUSH, j] - v[DUAL, j] - v[RATIO, j] * v[D_SLACK, j]


# --- the second-order cone: vectors of `size` entries, of which the first belongs to λ ------------------------------


@kernel(fastmath=FAST, inner=True)
def _inner(a, b, size):
    """Return a·b without the first entries."""
    total = 0.0
    for j in range(1, size):
        total += a[j] * b[j]
    return total


@kernel(inner=True)
def _determinant(v, size):
    """Return v₀² − ‖v₁‖², without cancellation of squares."""
    length = math.sqrt(_inner(v, v, size))
    return (v[0] - length) * (v[0] + length)


@kernel(inner=True)
def _scale(cone, v, sign, out):
    """Apply the scaling of Nesterov and Todd (sign 1) or its inverse (sign −1)."""
    point, size = cone.room[0], cone.factors.size + 1
    stretch = cone.numbers[STRETCH] if sign > 0.0 else 1.0 / cone.numbers[STRETCH]
    inner = _inner(point, v, size)
    along = inner / (1.0 + point[0]) + sign * v[0]
    out[0] = stretch * (point[0] * v[0] + sign * inner)
    for j in range(1, size):
        out[j] = stretch * (v[j] + along * point[j])


@kernel(inner=True)
def _scale_ball(cone):
    """Set the scaling point (row 0 of the room), the stretch, and the scaled multipliers (row 1)."""
    slacks, duals, size = cone.all[SLACK], cone.all[DUAL], cone.factors.size + 1
    root_x, root_z = math.sqrt(_determinant(slacks, size)), math.sqrt(_determinant(duals, size))
    both = (slacks[0] * duals[0] + _inner(slacks, duals, size)) / (root_x * root_z)
    unit = 1.0 / math.sqrt(2.0 * (1.0 + both))
    for j in range(size):
        cone.room[0, j] = unit * (slacks[j] / root_x + (duals[j] if j == 0 else -duals[j]) / root_z)
    cone.numbers[STRETCH] = math.sqrt(root_x / root_z)
    _scale(cone, duals, 1.0, cone.room[1])


@kernel(inner=True)
def _push_ball(cone, target):
    """Find the multipliers after the step, except for their part in the changes of the slacks."""
    correction, size, a, x = cone.all[CORRECTION], cone.factors.size + 1, cone.room[1], cone.room[2]
    x[0] = (a[0] * (target - correction[0]) + _inner(a, correction, size)) / _determinant(a, size)
    for j in range(1, size):
        x[j] = (-correction[j] - x[0] * a[j]) / a[0]
    _scale(cone, x, -1.0, cone.all[PUSH])


@kernel(inner=True)
def _ball_rate(x, dx, size):
    """Return the reciprocal of the longest t with x + t·dx in the cone (0: no limit)."""
    root = math.sqrt(_determinant(x, size))
    head = (x[0] * dx[0] - _inner(x, dx, size)) / root
    along, square = (head + dx[0]) / (1.0 + x[0] / root) / root, 0.0
    for j in range(1, size):
        tail = dx[j] - along * x[j]
        square += tail * tail
    return (math.sqrt(square) - head) / root
