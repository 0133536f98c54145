"""The symmetric system of a Newton step in (w, b, λ): scaled, regularised, factorised, refined."""

import numpy as np
from scipy import linalg

from drsvm.engines.cpu import Curvature
from drsvm.solvers.cones import Scaling

REGULARISATIONS = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
"""What may be added to a diagonal of ones, the smallest that works."""

REFINEMENTS = 2


class NewtonSystem:
    """One factorisation, for several right-hand sides."""

    def __init__(self, samples: Curvature, cone: Scaling, ridge):
        n = len(samples.column)
        self.matrix = np.empty((n + 1, n + 1))
        self.matrix[:n, :n] = samples.gram
        self.matrix[:n, n] = self.matrix[n, :n] = samples.column
        self.matrix[n, n] = samples.square
        self.matrix[np.arange(n), np.arange(n)] += ridge
        cone.add_to(self.matrix)
        self._factorise()

    def _factorise(self) -> None:
        """Scale the diagonal to 1 and add as little to it as the Cholesky factorisation needs."""
        diagonal = self.matrix.diagonal()
        self.scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        scaled = self.matrix * self.scale[:, None] * self.scale
        for added in REGULARISATIONS:
            np.fill_diagonal(scaled, 1.0 + added)
            try:
                self.factor = linalg.cho_factor(scaled, lower=True, check_finite=False)
                return
            except linalg.LinAlgError:
                continue
        raise linalg.LinAlgError("the Newton matrix has lost its meaning")

    def solve(self, right, right_level: float) -> tuple[np.ndarray, float]:
        """Return (dw, db) and dλ; refinement takes the regularisation out again."""
        wanted = np.append(right, right_level)
        solution = self._apply(wanted)
        for _ in range(REFINEMENTS):
            solution += self._apply(wanted - self.matrix @ solution)
        return solution[:-1], float(solution[-1])

    def _apply(self, wanted) -> np.ndarray:
        return self.scale * linalg.cho_solve(self.factor, self.scale * wanted, check_finite=False)
