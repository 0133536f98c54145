# pyright: reportMissingImports=false
"""The Newton matrix on a graphics card: formed, scaled, regularised and factorised there."""

from typing import Any

import numpy as np

from drsvm.engines.engine import Curvature, Factorised
from drsvm.engines.gpu_device import cupy, here, on_device


class GpuFactorised(Factorised):
    """The matrix in (w, b, λ) of the samples' curvature, the ridge and the cone of the norm."""

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

    def multiply(self, x) -> np.ndarray:
        return here(self.matrix @ on_device(x))

    def apply_inverse(self, right) -> np.ndarray:
        from cupyx.lapack import potrs

        return here(self.scale * potrs(self.factor, self.scale * on_device(right), True).ravel())


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
