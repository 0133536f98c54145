"""The symmetric system of a Newton step in (w, b, λ), for small matrices: assembled, factorised and solved.

The matrix is in the upper triangle of a C-ordered array. Its Cholesky factor, of the matrix scaled to a unit diagonal,
is in a lower triangle: there all loops run along rows.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.kernels.compiling import FAST, kernel

REGULARISATIONS = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
"""Values to add to a unit diagonal; the smallest one that works is used."""

ACCURATE = 1e-13
"""Relative accuracy of the solution."""


class System(NamedTuple):
    """The matrix, its factorisation, and room for vectors."""

    ridge: np.ndarray  # of (w, b)
    sums: np.ndarray  # (3, size of (w, b)): the λ column, the predictor, and the column of the intercept
    cone: np.ndarray  # likewise: diagonal, λ column and vector of the cone
    matrix: np.ndarray  # at first only the sums over rows of the weights
    factor: np.ndarray
    scale: np.ndarray
    right: np.ndarray
    solution: np.ndarray
    room: np.ndarray  # (5, size of (w, b, λ))


@kernel(fastmath=FAST, inner=True)
def assemble(system, d, square, cone_square, vector_lam, coefficient, damping):
    """Complete the matrix, which has the products of d features: samples, ridge and cone; add damping to its diagonal.

    The diagonal becomes 1 + damping times as large.
    """
    matrix, n = system.matrix, system.ridge.size
    vector = system.cone[2]
    for i in range(n):
        of_cone = coefficient * vector[i]
        if d < n:
            matrix[i, d] = system.sums[2, i]
        for j in range(i, n):
            matrix[i, j] += of_cone * vector[j]
        matrix[i, i] = (matrix[i, i] + system.ridge[i] + system.cone[0, i]) * (1.0 + damping)
        matrix[i, n] = system.sums[0, i] + system.cone[1, i] + of_cone * vector_lam
    matrix[n, n] = (square + cone_square + coefficient * vector_lam * vector_lam) * (1.0 + damping)


@kernel(inner=True)
def factorise(system):
    """Scale the diagonal to 1, and add as little to it as the factorisation needs; return whether one works."""
    matrix, scale, factor = system.matrix, system.scale, system.factor
    n = scale.size
    for i in range(n):
        scale[i] = 1.0 / math.sqrt(matrix[i, i]) if matrix[i, i] > 0.0 else 1.0
    for added in REGULARISATIONS:
        for i in range(n):
            for j in range(i + 1, n):
                factor[j, i] = scale[i] * scale[j] * matrix[i, j]
            factor[i, i] = 1.0 + added
        if _cholesky(factor):
            return True
    return False


@kernel(fastmath=FAST, inner=True)
def _cholesky(factor):
    """Replace the lower triangle by its factor, four columns at a time; return whether it is positive definite."""
    n = factor.shape[0]
    for first in range(0, n, 4):
        last = min(first + 4, n)
        for i in range(first, n, 4):
            after = min(i + 4, n)
            _subtract_products(factor, i, after, first, last)
            for row in range(i, after):
                for k in range(first, min(last, row + 1)):
                    value = factor[row, k]
                    for m in range(first, k):
                        value -= factor[row, m] * factor[k, m]
                    if k < row:
                        factor[row, k] = value / factor[k, k]
                    elif value > 0.0:
                        factor[row, row] = math.sqrt(value)
                    else:
                        return False
    return True


@kernel(fastmath=FAST, inner=True)
def _subtract_products(factor, i, after, first, last):
    """Subtract from the entries first … last − 1 of up to four rows their products with those rows, columns before.

    Entries above the diagonal change too, to no effect. Sixteen sums at a time leave the fewest loads for each product.
    """
    if last - first < 4 or after - i < 4:
        for row in range(i, after):
            for k in range(first, last):
                total = 0.0
                for m in range(first):
                    total += factor[row, m] * factor[k, m]
                factor[row, k] -= total
        return
    p0 = p1 = p2 = p3 = q0 = q1 = q2 = q3 = 0.0
    r0 = r1 = r2 = r3 = s0 = s1 = s2 = s3 = 0.0
    for m in range(first):
        x, y, z, u = factor[i, m], factor[i + 1, m], factor[i + 2, m], factor[i + 3, m]
        a, b, c, d = factor[first, m], factor[first + 1, m], factor[first + 2, m], factor[first + 3, m]
        p0, p1, p2, p3 = p0 + x * a, p1 + x * b, p2 + x * c, p3 + x * d
        q0, q1, q2, q3 = q0 + y * a, q1 + y * b, q2 + y * c, q3 + y * d
        r0, r1, r2, r3 = r0 + z * a, r1 + z * b, r2 + z * c, r3 + z * d
        s0, s1, s2, s3 = s0 + u * a, s1 + u * b, s2 + u * c, s3 + u * d
    _subtract_four(factor, i, first, p0, p1, p2, p3)
    _subtract_four(factor, i + 1, first, q0, q1, q2, q3)
    _subtract_four(factor, i + 2, first, r0, r1, r2, r3)
    _subtract_four(factor, i + 3, first, s0, s1, s2, s3)


@kernel(fastmath=FAST, inner=True)
def _subtract_four(factor, row, first, a, b, c, d):
    factor[row, first] -= a
    factor[row, first + 1] -= b
    factor[row, first + 2] -= c
    factor[row, first + 3] -= d


@kernel(fastmath=FAST, inner=True)
def _apply_inverse(system, right, out):
    """Write an approximate solution."""
    factor, scale = system.factor, system.scale
    n = scale.size
    for i in range(n):
        value = scale[i] * right[i]
        for j in range(i):
            value -= factor[i, j] * out[j]
        out[i] = value / factor[i, i]
    for i in range(n - 1, -1, -1):
        value = out[i] / factor[i, i]
        out[i] = value * scale[i]
        for j in range(i):
            out[j] -= factor[i, j] * value


@kernel(fastmath=FAST, inner=True)
def invert(system):
    """Replace the matrix by N, an upper triangle with N Nᵀ = its inverse, and the factor by its inverse."""
    factor, scale, row = system.factor, system.scale, system.room[0]
    n = scale.size
    for i in range(n):
        inverse = 1.0 / factor[i, i]
        for k in range(i):
            row[k] = -inverse * factor[i, k]
            factor[i, k] = 0.0
        whole = i // 4 * 4
        for k in range(0, whole, 4):
            a, b, c, d = row[k], row[k + 1], row[k + 2], row[k + 3]
            for j in range(k + 4):
                products = (a * factor[k, j] + b * factor[k + 1, j]) + (c * factor[k + 2, j] + d * factor[k + 3, j])
                factor[i, j] += products
        for k in range(whole, i):
            for j in range(k + 1):
                factor[i, j] += row[k] * factor[k, j]
        factor[i, i] = inverse
        for j in range(i + 1, min(i + 4, n)):  # the products of four rows read them
            factor[i, j] = 0.0
    for i in range(n):
        for j in range(i):
            system.matrix[i, j] = 0.0
        for j in range(i, n):
            system.matrix[i, j] = scale[i] * factor[j, i]


@kernel(fastmath=FAST, inner=True)
def _multiply(matrix, x, out):
    n = x.size
    for i in range(n):
        out[i] = 0.0
    for i in range(n):
        value, total = x[i], matrix[i, i] * x[i]
        for j in range(i + 1, n):
            total += matrix[i, j] * x[j]
            out[j] += matrix[i, j] * value
        out[i] += total


@kernel(fastmath=FAST, inner=True)
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel(inner=True)
def _size(v):
    largest = 0.0
    for i in range(v.size):
        largest = max(largest, abs(v[i]))
    return largest


@kernel(inner=True)
def copy(values, out):
    """Copy a vector."""
    for i in range(values.size):
        out[i] = values[i]


@kernel(inner=True)
def solve(system, most_refinements):
    """Solve for the right-hand side of the system.

    Conjugate gradients, preconditioned with the factorisation, remove the errors of regularisation and rounding.
    """
    residual, best = system.right, system.solution
    solution, step, image, correction = system.room[0], system.room[1], system.room[2], system.room[3]
    wanted, smallest = ACCURATE * _size(residual), math.inf
    solution[:] = 0.0
    best[:] = 0.0
    _apply_inverse(system, residual, step)
    energy = _dot(residual, step)
    for _ in range(most_refinements):
        _multiply(system.matrix, step, image)
        curvature = _dot(step, image)
        if not curvature > 0.0:
            return
        length = energy / curvature
        for i in range(step.size):
            solution[i] += length * step[i]
            residual[i] -= length * image[i]
        error = _size(residual)
        if error < smallest:
            copy(solution, best)
            smallest = error
        if error <= wanted:
            return
        _apply_inverse(system, residual, correction)
        new_energy = _dot(residual, correction)
        for i in range(step.size):
            step[i] = correction[i] + (new_energy / energy) * step[i]
        energy = new_energy
