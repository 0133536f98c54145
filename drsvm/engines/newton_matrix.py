"""The Newton matrix in (w, b, λ), for arrays of numpy or CuPy.

It is the sum of the samples' part, with their slacks eliminated (`Curvature`), of the
ridge, and of the norm's part, the scaling matrix of its cone (`Scaling`).
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from drsvm.utils.annotations import Matrix
from drsvm.utils.parallel import over, row_blocks


class Curvature(NamedTuple):
    """The samples' part of the Newton equations.

    These are the blocks of the matrix in (w, b, λ), and the predictor's right-hand
    side. With h_i, the curvature of sample i in its margin, the first block is
    Σ h_i x_i x_iᵀ.
    """

    # w × w, in the upper triangle; None if the matrix is not formed
    gram: Matrix
    column: np.ndarray  # (w, b) × λ
    square: float  # λ × λ
    predictor: np.ndarray  # (w, b)
    predictor_lam: float  # λ
    border: np.ndarray  # (w, b) × b
    h: Any = None  # the curvature h_i of every row, if no matrix is formed


class Scaling(NamedTuple):
    """The part of the cone of the norm: a symmetric matrix in (w, b, λ).

    It is the sum of diag(`diagonal`) on (w, b), of `column` and `square`, its last
    column and the entry of λ, and of `coefficient` · u uᵀ.
    """

    diagonal: np.ndarray
    column: np.ndarray
    square: float
    vector: np.ndarray | None = None  # u without its λ entry
    vector_lam: float = 0.0
    coefficient: float = 0.0
    # Features without norm and ridge, where others have them
    outside: np.ndarray = np.zeros(0, dtype=np.intp)


class Factorised(ABC):
    """The Newton matrix and an approximate inverse, such as a Cholesky factorisation.

    Both are where the engine is. Conjugate gradients, which the inverse preconditions,
    refine the solution.
    """

    # Maximum number of steps of conjugate gradients, which the approximation
    # preconditions
    most_refinements: int
    accurate: float = 1e-13  # relative accuracy of the solution
    # An array of the library whose vectors the methods take and return
    like: Any = np.empty(0)

    @abstractmethod
    def multiply(self, x) -> Any:
        """Return the matrix times x = (w, b, λ)."""

    @abstractmethod
    def apply_inverse(self, right) -> Any:
        """Return an approximate solution."""

    def solve(self, right) -> Any:
        """Return the solution for a right-hand side.

        Conjugate gradients, preconditioned with the factorisation, remove the errors of
        regularisation and rounding. If rounding stops the convergence, the solution is
        the one with the smallest residual.
        """
        residual = right
        wanted = self.accurate * _size(residual)
        solution = np.zeros_like(residual)
        step = self.apply_inverse(residual)
        energy = float(residual @ step)
        best = solution
        smallest = np.inf
        for _ in range(self.most_refinements):
            # 1. To the minimum along the step
            image = self.multiply(step)
            curvature = float(step @ image)
            if not curvature > 0.0:
                # Rounding: the matrix is positive definite.
                break
            length = energy / curvature
            solution = solution + length * step
            residual = residual - length * image
            error = _size(residual)
            if error < smallest:
                best = solution
                smallest = error
            if error <= wanted:
                break
            # 2. The next step, conjugate to those before
            correction = self.apply_inverse(residual)
            new_energy = float(residual @ correction)
            step = correction + (new_energy / energy) * step
            energy = new_energy
        return best


def _size(v) -> float:
    """Return the largest absolute value, also of an array on a GPU."""
    return float(abs(v).max())


def newton_matrix(
    samples: Curvature, cone: Scaling, ridge: np.ndarray, damping: float
) -> Any:
    """Return the Newton matrix, formed in its upper triangle; the rest is unspecified.

    Parameters
    ----------
    samples : Curvature
        The samples' part.
    cone : Scaling
        The part of the cone of the norm.
    ridge : array
        The ridge of every weight, and 0 for the intercept.
    damping : float
        The diagonal is 1 + damping times as large.

    Returns
    -------
    matrix : array
        A row and a column for each of (w, b, λ), of the library of the Gram matrix.
    """
    gram = samples.gram
    n = len(samples.column)
    d = len(gram)
    matrix = np.empty((n + 1, n + 1), like=gram)
    # Whatever was in memory below the triangle could overflow.
    matrix[d:] = 0.0
    if isinstance(gram, np.ndarray):
        # Large matrices are copied by several threads.
        over(row_blocks(gram), lambda rows: np.copyto(matrix[rows, :d], gram[rows]))
    else:
        matrix[:d, :d] = gram
    if n > d:
        matrix[:n, d] = np.asarray(samples.border, like=gram)
    matrix[:n, n] = np.asarray(samples.column + cone.column, like=gram)
    matrix[n, n] = samples.square + cone.square
    diagonal = matrix.reshape(-1)[:: n + 2]  # a view
    diagonal[:n] += np.asarray(ridge + cone.diagonal, like=gram)
    if cone.vector is not None:
        vector = np.asarray(np.append(cone.vector, cone.vector_lam), like=gram)
        matrix += np.outer(cone.coefficient * vector, vector)
    diagonal *= 1.0 + damping
    return matrix


class MatrixFree(Factorised):
    """A Newton matrix that is never formed: products with it pass over the rows."""

    def __init__(self, samples: Curvature, cone: Scaling, ridge: np.ndarray, rows: Any):
        like = samples.h
        self.like = like
        self.h = like
        self.rows = rows
        self.d = rows.shape[1]
        self.n = len(ridge)
        self.diagonal = np.asarray(ridge + cone.diagonal, like=like)
        self.column = np.asarray(samples.column + cone.column, like=like)
        self.square = samples.square + cone.square
        self.coefficient = cone.coefficient
        self.rank_one = None
        if cone.vector is not None:
            vector = np.append(cone.vector, cone.vector_lam)
            self.rank_one = np.asarray(vector, like=like)

    def _weighted_sum(self, c) -> Any:
        """Return Σ_i c_i x_i, in the library of the other vectors."""
        return self.rows.weighted_sum(c)

    def multiply(self, x):
        d = self.d
        n = self.n
        intercept = 0.0
        if n > d:
            intercept = float(x[d])
        # The samples' part is Σ h_i (x_i, 1) (x_i, 1)ᵀ.
        curved = self.h * self.rows.dot(x[:d], intercept)
        product = np.empty_like(x)
        product[:d] = self._weighted_sum(curved)
        product[d:n] = curved.sum()
        product[:n] += self.diagonal * x[:n] + self.column * x[n]
        product[n] = self.column @ x[:n] + self.square * x[n]
        if self.rank_one is not None:
            product += (self.coefficient * (self.rank_one @ x)) * self.rank_one
        return product
