# pyright: reportMissingImports=false
"""The Newton matrix on a graphics card: formed and factorised there or, with many features, only multiplied by."""

from typing import Any

import numpy as np

from drsvm.engines.engine import Curvature
from drsvm.engines.gpu.device import cupy, on_device
from drsvm.engines.newton import Factorised, MatrixFree, Scaling
from drsvm.kernels.newton import REGULARISATIONS


class GpuFactorised(Factorised):
    """A matrix, of which the upper triangle is given, and its Cholesky factorisation."""

    most_refinements = 4

    def __init__(self, matrix: Any):
        from cupyx import errstate

        xp = cupy()
        self.matrix = xp.triu(matrix) + xp.triu(matrix, 1).T
        diagonal = self.matrix.diagonal()
        self.scale = 1.0 / xp.sqrt(xp.where(diagonal > 0, diagonal, 1.0))
        scaled = self.matrix * self.scale * self.scale[:, None]
        for added in REGULARISATIONS:
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


class GpuMatrixFree(MatrixFree):
    """The matrix with many features: its diagonal preconditions conjugate gradients."""

    # Inexact directions stop short of a proof: the nearer the optimum, the more steps are needed. In trials with
    # text-like rows, residuals of 1e-2, or at most 100 steps, ended at gaps above 1e-4.
    most_refinements = 500

    def __init__(self, samples: Curvature, cone: Scaling, ridge: np.ndarray, rows: Any, mu: float):
        super().__init__(samples, cone, ridge, rows)
        self.accurate = min(1e-4, 0.1 * mu)
        self.inverse = 1.0 / cupy().maximum(self._whole_diagonal(), 1e-300)

    def _whole_diagonal(self):
        diagonal = cupy().empty(self.n + 1)
        diagonal[: self.d] = on_device(self.rows.sum_of_squares(self.h))
        diagonal[self.d : self.n] = self.h.sum()
        diagonal[: self.n] += self.diagonal
        diagonal[self.n] = self.square
        return diagonal if self.rank_one is None else diagonal + self.coefficient * self.rank_one**2

    def vector(self, values):
        return on_device(values)

    def _weighted_sum(self, c):
        return self.rows.device_sums(c[None])[0]

    def apply_inverse(self, right):
        return self.inverse * right
