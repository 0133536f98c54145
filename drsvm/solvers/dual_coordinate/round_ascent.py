"""Dual coordinate ascent for q = 2, where the weights are a multiple of a sum over the rows."""

from functools import partial

import numpy as np

from drsvm.kernels.dual_ascent_round import RoundTerms, round_epoch
from drsvm.parallel import elementwise
from drsvm.solvers.dual_coordinate.ascent import Ascent
from drsvm.solvers.incremental.epochs import UNLIMITED


class RoundAscent(Ascent):
    """q = 2: the weights are a multiple of u, and λ changes with every step."""

    def _move(self) -> tuple[float, float]:
        problem = self.problem
        left = max(problem.radius - self.flipped_cost, 0.0)
        natural = 0.0 if self.level >= UNLIMITED else left / max(self.level, 1e-6)
        proximity = self._proximity(problem.l2 + natural, self.mass)
        intercept = self._intercept(problem.l2 + natural + proximity)
        scalars = map(float, (problem.radius, self.level, self._stiffness(natural), problem.l2 + proximity))
        terms = RoundTerms(*scalars, intercept=intercept)
        u = self._pulled(self.v, proximity)
        sums = np.array([self.flipped_cost, self._pull_on_intercept(intercept)])
        kernel = partial(round_epoch, self.samples.row_squares)
        (scale, self.level, b), gap, violation = self._improve(kernel, u, sums, terms)
        self.v = self._pulled(u, -proximity)
        self.w = elementwise(len(u), lambda part: scale * u[part])
        self._settle_intercept(intercept, float(sums[1]), b)
        return gap, violation
