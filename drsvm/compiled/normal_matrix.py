"""The symmetric system of a Newton step in (w, b, λ), for small matrices.

The matrix is in the upper triangle of a C-ordered array. Its Cholesky factor, of the
matrix scaled to a unit diagonal, is in a lower triangle: there all loops run along
rows.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.compiled.decorators import FAST, compiled
from drsvm.compiled.products import add_four_by_four
from drsvm.compiled.row_access import product

# Added to a unit diagonal; the smallest one that works is used
REGULARISATIONS = (
    1e-14,
    1e-12,
    1e-10,
    1e-8,
    1e-6,
)
# Relative increase of the diagonal that refinement does not remove: it keeps rounding
# noise out of flat directions; if rows range over many decades, directions that only
# light rows determine look flat too: see `OrthogonalSystem`.
DAMPING = 1e-13
# Limit on the refinements of a solution, which end at this relative accuracy. Far from
# the optimum the first solution has it, and with 1e-13 there would be a second one.
MAX_REFINEMENTS = 4
ACCURATE = 1e-11
# Rows of `columns`: sums over the samples for the λ column, the predictor and the
# column of the intercept; the diagonal, the λ column and the vector of the cone
LAM_COLUMN = 0
PREDICTOR = 1
BORDER = 2
CONE = 3
# Rows of `vectors`: the scale of the factor, the right-hand side, the solution, the
# parts of samples and cone in the right-hand side
SCALE = 0
RIGHT = 1
SOLUTION = 2
SAMPLES = 3
CONSTANT = 4
# From here on: memory for refinement, and for the factorisation
REFINEMENT = 5


class System(NamedTuple):
    """The matrix, its factorisation, and memory for vectors."""

    ridge: np.ndarray  # of (w, b)
    columns: np.ndarray  # (6, size of (w, b))
    matrix: np.ndarray  # at first only the sums over rows of the weights
    factor: np.ndarray
    vectors: np.ndarray  # (9, size of (w, b, λ))


@compiled(fastmath=FAST, inner=True)
def assemble(system, d, square, vector_lam, coefficient):
    """Add ridge, cone and damping to the samples' matrix, which has d features."""
    matrix = system.matrix
    columns = system.columns
    n = system.ridge.size
    vector = columns[CONE + 2]
    for i in range(n):
        of_cone = coefficient * vector[i]
        if d < n:
            matrix[i, d] = columns[BORDER, i]
        # As in `_multiply`
        row = matrix[i, i:n]
        others = vector[i:]
        for j in range(row.size):
            row[j] += of_cone * others[j]
        matrix[i, i] = (matrix[i, i] + system.ridge[i] + columns[CONE, i]) * (
            1.0 + DAMPING
        )
        matrix[i, n] = (
            columns[LAM_COLUMN, i] + columns[CONE + 1, i] + of_cone * vector_lam
        )
    matrix[n, n] = (square + coefficient * vector_lam * vector_lam) * (1.0 + DAMPING)


@compiled(inner=True)
def factorise(system):
    """Scale the diagonal to 1, and add as little to it as the factorisation needs.

    Return whether one works.
    """
    matrix = system.matrix
    scale = system.vectors[SCALE]
    factor = system.factor
    n = scale.size
    for i in range(n):
        scale[i] = 1.0
        if matrix[i, i] > 0.0:
            scale[i] = 1.0 / math.sqrt(matrix[i, i])
    for added in REGULARISATIONS:
        for i in range(n):
            for j in range(i):
                factor[i, j] = scale[i] * scale[j] * matrix[j, i]
            factor[i, i] = 1.0 + added
        if _cholesky(factor, system.vectors[REFINEMENT:]):
            return True
    return False


@compiled(fastmath=FAST, inner=True)
def _cholesky(factor, negative):
    """Replace the lower triangle by its factor; return whether it is positive definite.

    Four rows and four columns at a time: an entry that has been loaded is used four
    times. For 300 columns that takes 0.4 times as long as one entry after the other.

    Parameters
    ----------
    factor : array
        The matrix.
    negative : array with four rows
        Memory for the rows that are being computed, times −1.
    """
    whole = factor.shape[0] // 4 * 4
    for i in range(0, whole, 4):
        for k in range(0, i, 4):
            add_four_by_four(negative, factor, k, k, factor, i)
            for row in range(4):
                _divide(factor, i + row, k, k + 4)
                for j in range(k, k + 4):
                    negative[row, j] = -factor[i + row, j]
        add_four_by_four(negative, factor, i, i, factor, i)
        for row in range(i, i + 4):
            if not _finish_row(factor, row, i):
                return False
    works = True
    for i in range(whole, factor.shape[0]):
        works = works and _finish_row(factor, i, 0)
    return works


@compiled(fastmath=FAST, inner=True)
def _divide(factor, i, first, after):
    """Finish columns first … after − 1 of a row below the diagonal.

    Products with earlier columns have been subtracted.
    """
    for k in range(first, after):
        value = factor[i, k]
        for m in range(first, k):
            value -= factor[i, m] * factor[k, m]
        factor[i, k] = value / factor[k, k]


@compiled(fastmath=FAST, inner=True)
def _finish_row(factor, i, first):
    """Finish a row from a column on; return whether the diagonal is positive."""
    _divide(factor, i, first, i)
    value = factor[i, i]
    for m in range(first, i):
        value -= factor[i, m] * factor[i, m]
    if not value > 0.0:
        return False
    factor[i, i] = math.sqrt(value)
    return True


@compiled(fastmath=FAST, inner=True)
def _apply_inverse(factor, scale, right, out):
    """Write an approximate solution."""
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


@compiled(fastmath=FAST, inner=True)
def _multiply(matrix, x, out):
    """Write the product with a symmetric matrix, of which the upper half is given."""
    n = x.size
    for i in range(n):
        out[i] = 0.0
    for i in range(n):
        # Of slices, the compiler knows that no index is negative, and vectorises the
        # loop: it takes a quarter of the time.
        row = matrix[i, i + 1 :]
        others = x[i + 1 :]
        sums = out[i + 1 :]
        total = matrix[i, i] * x[i]
        for j in range(row.size):
            total += row[j] * others[j]
            sums[j] += row[j] * x[i]
        out[i] += total


@compiled(inner=True)
def _size(v):
    """Return the largest absolute value."""
    largest = 0.0
    for i in range(v.size):
        largest = max(largest, abs(v[i]))
    return largest


@compiled(inner=True)
def solve(system, rough):
    """Solve for the right-hand side by preconditioned conjugate gradients.

    A rough solution is that of the factor alone. It does the same as `solve_system` of
    `solvers/interior_point/newton.py`, which is for arrays of numpy and CuPy: with
    numpy's operations on 32 numbers, it takes twenty times as long.
    """
    scale = system.vectors[SCALE]
    residual = system.vectors[RIGHT]
    best = system.vectors[SOLUTION]
    memory = system.vectors[REFINEMENT:]
    solution = memory[0]
    step = memory[1]
    image = memory[2]
    correction = memory[3]
    wanted = ACCURATE * _size(residual)
    smallest = math.inf
    solution[:] = 0.0
    best[:] = 0.0
    if rough:
        _apply_inverse(system.factor, scale, residual, best)
        return
    _apply_inverse(system.factor, scale, residual, step)
    energy = product(residual, step)
    for _ in range(MAX_REFINEMENTS):
        _multiply(system.matrix, step, image)
        curvature = product(step, image)
        if not curvature > 0.0:
            return
        # Along the direction, to the minimum
        length = energy / curvature
        for i in range(step.size):
            solution[i] += length * step[i]
            residual[i] -= length * image[i]
        # Rounding errors may end the decrease: the best point so far is the solution
        error = _size(residual)
        if error < smallest:
            smallest = error
            for i in range(step.size):
                best[i] = solution[i]
        if error <= wanted:
            return
        _apply_inverse(system.factor, scale, residual, correction)
        # The next direction, conjugate to this one
        new_energy = product(residual, correction)
        for i in range(step.size):
            step[i] = correction[i] + (new_energy / energy) * step[i]
        energy = new_energy
