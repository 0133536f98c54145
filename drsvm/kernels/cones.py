"""The constraints ‖t‖_q ≤ λ and t_j ≥ 0 in the interior-point method: slacks, multipliers and their Newton equations.

t are some entries of (w, b), divided by their prices or multiplied by their prescribed signs. With the multiplier part
z of the optimality conditions

    c w + Σ (β_i − α_i) y_i x_i + z_w = 0,        ε − κ Σ β_i + z_λ = 0,

a Newton step changes z by  (a symmetric matrix) · (dw, db, dλ) + (a constant that depends on the target μ).

The constraints of the norms are

    q = ∞ (BOX)     λ − t_j ≥ 0 and λ + t_j ≥ 0,
    q = 1 (CROSS)   u_j − t_j ≥ 0, u_j + t_j ≥ 0 and λ − Σ u_j ≥ 0, where the bounds u are eliminated,
    q = 2 (BALL)    (λ, t) in the second-order cone, with Nesterov–Todd scaling and the full second-order correction.

Linear constraints have products of slack and multiplier that are aimed at equal shares of the target. Those of the norm
come first, then those of the signs. A point that rounding errors have moved out of the second-order cone gives NaN.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.kernels.compiling import FAST, kernel

NO_NORM, BOX, BALL, CROSS = 0, 1, 2, 3
"""The kinds of norms; NO_NORM if the radius is 0, where the norm costs nothing."""

STRETCH, COEFFICIENT, BUDGET = 0, 1, 2
"""Positions in `numbers`."""


class Cone(NamedTuple):
    """Slacks, multipliers and their changes; what has five rows is room for vectors of the norm's entries."""

    kind: int
    entries: np.ndarray  # positions in (w, b) that the norm measures
    factors: np.ndarray  # 1 / their prices
    sign_entries: np.ndarray  # positions with a prescribed sign
    signs: np.ndarray
    shares: np.ndarray  # of the target, for linear constraints
    slacks: np.ndarray
    duals: np.ndarray
    d_slacks: np.ndarray
    d_duals: np.ndarray
    ratios: np.ndarray  # duals / slacks
    correction: np.ndarray
    pushes: np.ndarray  # what the multipliers would become if the slacks did not change
    room: np.ndarray  # (5, number of entries + 1)
    numbers: np.ndarray


@kernel(inner=True)
def larger(a, b):
    """Return the larger number, or NaN if one of them is."""
    return a if not a <= b and b == b else b


@kernel(inner=True)
def _linear(cone):
    """Return where the linear constraints begin and end."""
    return (cone.entries.size + 1 if cone.kind == BALL else 0), cone.slacks.size


@kernel(inner=True)
def _measured(cone, vector, out):
    """Write t of the entries of a vector in (w, b)."""
    for j in range(cone.entries.size):
        out[j] = cone.factors[j] * vector[cone.entries[j]]


@kernel(inner=True)
def _spread(cone, t, lam, out):
    """Write the slacks of the linear constraints of a norm, or their changes, for t and λ, or their changes."""
    k, used = cone.entries.size, 0.0
    for j in range(k):
        bound = lam if cone.kind == BOX else cone.room[4, j]
        out[j], out[k + j] = bound - t[j], bound + t[j]
        used += bound
    if cone.kind == CROSS:
        out[2 * k] = lam - used


@kernel(inner=True)
def _follow_signs(cone, point, vector):
    first = vector.size - cone.signs.size
    for j in range(cone.signs.size):
        vector[first + j] = cone.signs[j] * point[cone.sign_entries[j]]


# --- second-order cone ----------------------------------------------------------------------------------------------


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
    point, size = cone.room[0], cone.entries.size + 1
    stretch = cone.numbers[STRETCH] if sign > 0.0 else 1.0 / cone.numbers[STRETCH]
    inner = _inner(point, v, size)
    along = inner / (1.0 + point[0]) + sign * v[0]
    first = point[0] * v[0] + sign * inner
    for j in range(1, size):
        out[j] = stretch * (v[j] + along * point[j])
    out[0] = stretch * first


@kernel(inner=True)
def _ball_rate(x, dx, size):
    """Return the reciprocal of the longest t with x + t·dx in the cone (0: no limit)."""
    root = math.sqrt(_determinant(x, size))
    head = (x[0] * dx[0] - _inner(x, dx, size)) / root
    along = (head + dx[0]) / (1.0 + x[0] / root) / root
    square = 0.0
    for j in range(1, size):
        tail = dx[j] - along * x[j]
        square += tail * tail
    return (math.sqrt(square) - head) / root


@kernel(inner=True)
def _scale_ball(cone):
    """Set the scaling point (row 0 of the room), the stretch, and the scaled multipliers (row 1)."""
    size = cone.entries.size + 1
    root_x, root_z = math.sqrt(_determinant(cone.slacks, size)), math.sqrt(_determinant(cone.duals, size))
    both = (cone.slacks[0] * cone.duals[0] + _inner(cone.slacks, cone.duals, size)) / (root_x * root_z)
    unit = 1.0 / math.sqrt(2.0 * (1.0 + both))
    for j in range(size):
        z = cone.duals[j] / root_z
        cone.room[0, j] = unit * (cone.slacks[j] / root_x + (z if j == 0 else -z))
    cone.numbers[STRETCH] = math.sqrt(root_x / root_z)
    _scale(cone, cone.duals, 1.0, cone.room[1])


@kernel(inner=True)
def _correct_ball(cone):
    """The product of the changes, scaled; rows 2 and 3 of the room."""
    size, a, b = cone.entries.size + 1, cone.room[2], cone.room[3]
    _scale(cone, cone.d_slacks, -1.0, a)
    _scale(cone, cone.d_duals, 1.0, b)
    cone.correction[0] = a[0] * b[0] + _inner(a, b, size)
    for j in range(1, size):
        cone.correction[j] = a[0] * b[j] + b[0] * a[j]


@kernel(inner=True)
def _push_ball(cone, target):
    """The multipliers after the step, except for their part in the changes of the slacks."""
    size, a, x = cone.entries.size + 1, cone.room[1], cone.room[2]
    goal = target - cone.correction[0]
    first = (a[0] * goal + _inner(a, cone.correction, size)) / _determinant(a, size)
    x[0] = first
    for j in range(1, size):
        x[j] = (-cone.correction[j] - first * a[j]) / a[0]
    _scale(cone, x, -1.0, cone.pushes)


# --- all constraints ------------------------------------------------------------------------------------------------


@kernel(inner=True)
def products_after(cone, primal, dual):
    """Return Σ multiplier · slack after steps of the given lengths."""
    total = 0.0
    for j in range(cone.slacks.size):
        total += (cone.slacks[j] + primal * cone.d_slacks[j]) * (cone.duals[j] + dual * cone.d_duals[j])
    return total


@kernel(inner=True)
def move(cone, primal, dual):
    """Take steps of the given lengths."""
    for j in range(cone.slacks.size):
        cone.slacks[j] += primal * cone.d_slacks[j]
        cone.duals[j] += dual * cone.d_duals[j]


@kernel(inner=True)
def scaling(cone, diagonal, column, vector):
    """Set the matrix: diag(diagonal) on (w, b), arrow (column, square) with λ, plus k·uuᵀ for u = (vector, vector_lam).

    Returns square, vector_lam and k, and resets the correction.
    """
    diagonal[:] = 0.0
    column[:] = 0.0
    vector[:] = 0.0
    cone.correction[:] = 0.0
    first, last = _linear(cone)
    for j in range(first, last):
        cone.ratios[j] = cone.duals[j] / cone.slacks[j]
    sign_ratios = cone.ratios[last - cone.signs.size :]
    for j in range(cone.signs.size):
        diagonal[cone.sign_entries[j]] += sign_ratios[j]
    if cone.kind == BALL:
        return _scaling_of_ball(cone, diagonal, vector)
    if cone.kind == BOX:
        return _scaling_of_box(cone, diagonal, column)
    if cone.kind == CROSS:
        return _scaling_of_cross(cone, diagonal, vector)
    return 1.0, 0.0, 0.0  # λ plays no role, but must not make the matrix singular


@kernel(inner=True)
def _scaling_of_ball(cone, diagonal, vector):
    _scale_ball(cone)
    curvature = 1.0 / cone.numbers[STRETCH] ** 2
    for j in range(cone.entries.size):
        entry, factor = cone.entries[j], cone.factors[j]
        diagonal[entry] += factor * factor * curvature
        vector[entry] = -factor * cone.room[0, j + 1]
    return -curvature, cone.room[0, 0], 2.0 * curvature


@kernel(inner=True)
def _scaling_of_box(cone, diagonal, column):
    k, square = cone.entries.size, 0.0
    for j in range(k):
        entry, factor = cone.entries[j], cone.factors[j]
        total = cone.ratios[j] + cone.ratios[k + j]
        diagonal[entry] += factor * factor * total
        column[entry] = factor * (cone.ratios[k + j] - cone.ratios[j])
        square += total
    return square, 0.0, 0.0


@kernel(inner=True)
def _scaling_of_cross(cone, diagonal, vector):
    """Rows 0 and 1 of the room become the sums of a pair's ratios, and their relative difference."""
    k, inverses = cone.entries.size, 0.0
    for j in range(k):
        entry, factor = cone.entries[j], cone.factors[j]
        upper, lower = cone.ratios[j], cone.ratios[k + j]
        total = upper + lower
        cone.room[0, j], cone.room[1, j] = total, (upper - lower) / total
        diagonal[entry] += factor * factor * 4.0 * upper * lower / total
        vector[entry] = factor * cone.room[1, j]
        inverses += 1.0 / total
    budget = cone.ratios[2 * k]
    cone.numbers[COEFFICIENT] = budget / (1.0 + budget * inverses)
    return 0.0, -1.0, cone.numbers[COEFFICIENT]


@kernel(inner=True)
def correct(cone):
    """Use the products of the last direction's changes as the correction; `scaling` resets it."""
    first, last = _linear(cone)
    for j in range(first, last):
        cone.correction[j] = cone.d_slacks[j] * cone.d_duals[j]
    if cone.kind == BALL:
        _correct_ball(cone)


@kernel(inner=True)
def recorrect(cone, target, primal, dual):
    """Steer products of linear constraints that would be outliers after the given steps back to the target."""
    first, last = _linear(cone)
    for j in range(first, last):
        goal = target * cone.shares[j]
        product = (cone.slacks[j] + primal * cone.d_slacks[j]) * (cone.duals[j] + dual * cone.d_duals[j])
        too_small, too_large = min(product - 0.1 * goal, 0.0), max(product - 10.0 * goal, 0.0)
        cone.correction[j] += too_small + min(too_large, 10.0 * goal)


@kernel(inner=True)
def constant(cone, target, out):
    """Set the constant part of z + dz for a target and the current correction; return its entry for λ."""
    out[:] = 0.0
    first, last = _linear(cone)
    for j in range(first, last):
        cone.pushes[j] = (target * cone.shares[j] - cone.correction[j]) / cone.slacks[j]
    if cone.kind == BALL:
        _push_ball(cone, target)
    if cone.kind == CROSS:
        _share_budget(cone)
    k, lam = cone.entries.size, 0.0
    for j in range(cone.signs.size):
        out[cone.sign_entries[j]] -= cone.signs[j] * cone.pushes[last - cone.signs.size + j]
    for j in range(k):
        entry, factor = cone.entries[j], cone.factors[j]
        if cone.kind == BALL:
            out[entry] -= factor * cone.pushes[j + 1]
        else:
            lost = cone.room[1, j] * (cone.room[2, j] - cone.numbers[BUDGET]) if cone.kind == CROSS else 0.0
            out[entry] += factor * (cone.pushes[j] - cone.pushes[k + j] - lost)
            lam -= cone.pushes[j] + cone.pushes[k + j]
    return -cone.pushes[0] if cone.kind == BALL else -cone.numbers[BUDGET] if cone.kind == CROSS else lam


@kernel(inner=True)
def _share_budget(cone):
    """The multiplier of the budget after the step, except for its part in the changes; row 2: upper + lower."""
    k, total = cone.entries.size, 0.0
    for j in range(k):
        cone.room[2, j] = cone.pushes[j] + cone.pushes[k + j]
        total += cone.room[2, j] / cone.room[0, j]
    cone.numbers[BUDGET] = cone.numbers[COEFFICIENT] * (cone.pushes[2 * k] / cone.ratios[2 * k] + total)


@kernel(inner=True)
def set_direction(cone, direction, dlam):
    """Compute all changes for those of (w, b) and λ."""
    k, dt = cone.entries.size, cone.room[3]
    _measured(cone, direction, dt)
    if cone.kind == BALL:
        cone.d_slacks[0] = dlam
        for j in range(k):
            cone.d_slacks[j + 1] = dt[j]
        _scale(cone, cone.d_slacks, -1.0, cone.room[2])
        _scale(cone, cone.room[2], -1.0, cone.room[4])
        for j in range(k + 1):
            cone.d_duals[j] = cone.pushes[j] - cone.duals[j] - cone.room[4, j]
    elif cone.kind == CROSS:
        tilted = 0.0
        for j in range(k):
            tilted += cone.room[1, j] * dt[j]
        budget = cone.numbers[BUDGET] + cone.numbers[COEFFICIENT] * (tilted - dlam)
        for j in range(k):
            cone.room[4, j] = (cone.room[2, j] - budget) / cone.room[0, j] + cone.room[1, j] * dt[j]
    if cone.kind == BOX or cone.kind == CROSS:
        _spread(cone, dt, dlam, cone.d_slacks)
    _follow_signs(cone, direction, cone.d_slacks)
    first, last = _linear(cone)
    for j in range(first, last):
        cone.d_duals[j] = cone.pushes[j] - cone.duals[j] - cone.ratios[j] * cone.d_slacks[j]


@kernel(inner=True)
def rates(cone):
    """Return the reciprocals of the longest primal and dual steps (0: no limit)."""
    primal = dual = 0.0
    first, last = _linear(cone)
    for j in range(first, last):
        primal = larger(primal, -cone.d_slacks[j] / cone.slacks[j])
        dual = larger(dual, -cone.d_duals[j] / cone.duals[j])
    if cone.kind == BALL:
        primal = larger(primal, _ball_rate(cone.slacks, cone.d_slacks, first))
        dual = larger(dual, _ball_rate(cone.duals, cone.d_duals, first))
    return primal, dual
