# pyright: reportMissingImports=false
"""The Newton matrix on a graphics card: formed and factorised there or, with many features, only multiplied by."""

from typing import Any

import numpy as np

from drsvm.engines.engine import Curvature, Factorised
from drsvm.engines.gpu.device import cupy, on_device


class GpuFactorised(Factorised):
    """The matrix in (w, b, λ) of the samples' curvature, the ridge and the cone of the norm."""

    most_refinements, accurate = 4, 1e-13

    def __init__(self, samples: Curvature, cone: Any, ridge, damping: float, regularisations):
        xp = cupy()
        n, d = len(samples.column), len(samples.gram)
        matrix = xp.zeros((n + 1, n + 1))
        matrix[:d, :d] = samples.gram
        if n > d:
            matrix[:n, d] = on_device(samples.border)
        matrix[:n, n] = on_device(samples.column)
        matrix[n, n] = samples.square
        _add_cone(matrix, cone)
        diagonal = xp.arange(n)
        matrix[diagonal, diagonal] += on_device(ridge)
        matrix[xp.arange(n + 1), xp.arange(n + 1)] *= 1.0 + damping
        self.matrix = xp.triu(matrix) + xp.triu(matrix, 1).T
        self._factorise(regularisations)

    def _factorise(self, regularisations) -> None:
        from cupyx import errstate

        xp = cupy()
        diagonal = self.matrix.diagonal()
        self.scale = 1.0 / xp.sqrt(xp.where(diagonal > 0, diagonal, 1.0))
        scaled = self.matrix * self.scale * self.scale[:, None]
        for added in regularisations:
            xp.fill_diagonal(scaled, 1.0 + added)
            try:
                with errstate(linalg="raise"):
                    self.factor = xp.linalg.cholesky(scaled)
                return
            except np.linalg.LinAlgError:
                continue
        raise np.linalg.LinAlgError("the Newton matrix is numerically singular")

    def vector(self, values):
        return on_device(values)

    def multiply(self, x):
        return self.matrix @ x

    def apply_inverse(self, right):
        from cupyx.lapack import potrs

        return self.scale * potrs(self.factor, self.scale * right, True).ravel()


def _add_cone(matrix, cone: Any) -> None:
    """Add the matrix of the cone, whose first unknowns are w and whose last is λ."""
    xp = cupy()
    d = len(cone.diagonal)
    matrix[xp.arange(d), xp.arange(d)] += on_device(cone.diagonal)
    column, square = cone.column, cone.square
    if cone.vector is not None:
        vector = on_device(cone.vector)
        matrix[:d, :d] += cone.coefficient * vector[:, None] * vector
        column = column + cone.coefficient * cone.vector_level * cone.vector
        square = square + cone.coefficient * cone.vector_level**2
    matrix[:d, -1] += on_device(column)
    matrix[-1, -1] += square


class GpuMatrixFree(Factorised):
    """The same matrix with many features: it is never formed, and its diagonal preconditions conjugate gradients.

    Inexact directions stop short of a proof: the nearer the optimum, the more steps are needed. In trials with
    text-like rows, residuals of 1e-2, or at most 100 steps, ended at gaps above 1e-4.
    """

    most_refinements = 500

    def __init__(self, samples: Curvature, cone: Any, ridge, rows: Any, mu: float):
        self.accurate = min(1e-4, 0.1 * mu)
        n = len(samples.column)
        cone = cone.padded(n)
        self.rows, self.h, self.d, self.n = rows, samples.of_rows, rows.shape[1], n
        self.diagonal = on_device(ridge + cone.diagonal)
        self.column, self.square = on_device(samples.column + cone.column), samples.square + cone.square
        self.vectors = None if cone.vector is None else on_device(np.append(cone.vector, cone.vector_level))
        self.coefficient = cone.coefficient
        self.inverse = 1.0 / cupy().maximum(self._whole_diagonal(), 1e-300)

    def _whole_diagonal(self):
        diagonal = cupy().zeros(self.n + 1)
        diagonal[: self.d] = on_device(self.rows.sum_of_squares(self.h))
        if self.n > self.d:
            diagonal[self.d] = self.h.sum()
        diagonal[: self.n] += self.diagonal
        diagonal[self.n] = self.square
        return diagonal if self.vectors is None else diagonal + self.coefficient * self.vectors**2

    def vector(self, values):
        return on_device(values)

    def multiply(self, x):
        d, n = self.d, self.n
        shift = float(x[d]) if n > d else 0.0
        curved = self.h * self.rows.dot(x[:d], shift)
        product = cupy().empty(n + 1)
        product[:d] = self.rows.device_sums(curved[None])[0]
        if n > d:
            product[d] = curved.sum()
        product[:n] += self.diagonal * x[:n] + self.column * x[n]
        product[n] = self.column @ x[:n] + self.square * x[n]
        if self.vectors is not None:
            product += (self.coefficient * (self.vectors @ x)) * self.vectors
        return product

    def apply_inverse(self, right):
        return self.inverse * right
