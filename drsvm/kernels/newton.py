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

    gram: np.ndarray  # (d, d)
    ridge: np.ndarray  # of (w, b)
    sums: np.ndarray  # (3, size of (w, b)): the λ column, the predictor, and the column of the intercept
    cone: np.ndarray  # likewise: diagonal, λ column and vector of the cone
    matrix: np.ndarray
    factor: np.ndarray
    scale: np.ndarray
    right: np.ndarray
    solution: np.ndarray
    room: np.ndarray  # (5, size of (w, b, λ))


@kernel(fastmath=FAST, inner=True)
def assemble(system, square, cone_square, vector_lam, coefficient, damping):
    """Set the matrix: samples, ridge and cone. The diagonal is 1 + damping times as large."""
    matrix, d, n = system.matrix, system.gram.shape[0], system.ridge.size
    vector = system.cone[2]
    for i in range(n):
        of_cone = coefficient * vector[i]
        for j in range(i, n):
            of_rows = system.gram[i, j] if j < d else system.sums[2, i]
            matrix[i, j] = of_rows + of_cone * vector[j]
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
        for i in range(first, n, 2):
            other = min(i + 1, n - 1)
            _subtract_products(factor, i, other, first, last)
            for row in range(i, other + 1):
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
def _subtract_products(factor, i, other, first, last):
    """Subtract from the entries first … last − 1 of two rows their products with those rows, over the columns before.

    Entries above the diagonal change too, to no effect.
    """
    if last - first < 4 or other == i:
        for row in range(i, other + 1):
            for k in range(first, last):
                total = 0.0
                for m in range(first):
                    total += factor[row, m] * factor[k, m]
                factor[row, k] -= total
        return
    s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = 0.0
    for m in range(first):
        x, y = factor[i, m], factor[other, m]
        a, b, c, d = factor[first, m], factor[first + 1, m], factor[first + 2, m], factor[first + 3, m]
        s0 += x * a
        s1 += x * b
        s2 += x * c
        s3 += x * d
        t0 += y * a
        t1 += y * b
        t2 += y * c
        t3 += y * d
    factor[i, first] -= s0
    factor[i, first + 1] -= s1
    factor[i, first + 2] -= s2
    factor[i, first + 3] -= s3
    factor[other, first] -= t0
    factor[other, first + 1] -= t1
    factor[other, first + 2] -= t2
    factor[other, first + 3] -= t3


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
