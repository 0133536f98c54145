"""Dual coordinate ascent for q = 2, where weights are a multiple of what the rows add up to."""

import numpy as np

from drsvm.kernels.dual_coordinate import dual_coordinate_epoch
from drsvm.solvers.ascent import Ascent
from drsvm.solvers.epochs import UNLIMITED


class RoundAscent(Ascent):
    """q = 2: weights are a multiple of u, and λ moves with every step."""

    def _move(self) -> tuple[float, float]:
        problem = self.problem
        left = max(problem.radius - self.flipped_cost, 0.0)
        natural = 0.0 if self.level >= UNLIMITED else left / max(self.level, 1e-6)
        proximity = self._proximity(problem.l2 + natural, self.mass)
        freedom = self._freedom(problem.l2 + natural + proximity)
        terms = (self.kappa, problem.radius, self.level, self._stiffness(natural), problem.l2 + proximity, freedom)
        u = self.v + proximity * self.w
        sums = np.array([float(self.flip.sum()), self.b + freedom * self.turn])
        scale, gap, violation = self._visit_rows(u, sums, terms)
        self.v = u - proximity * self.w
        self.w = scale * u
        self._settle_intercept(freedom, float(sums[1]))
        return gap, violation

    def _visit_rows(self, u, sums, terms) -> tuple[float, float, float]:
        """Change u, the sums and the multipliers; return w / u, the gap and the largest violation."""
        samples = self.samples
        data, indices, indptr, signs, _ = samples.arrays
        rows = (data, indices, indptr, signs, samples.row_squares, samples.weights)
        self.active, scale, self.level, gap, self.near, violation = dual_coordinate_epoch(
            *rows,
            self.order,
            self.active,
            self.firm,
            u,
            sums,
            self.hinge,
            self.flip,
            self.margins,
            tuple(map(float, terms)),
        )
        return scale, gap, violation
