"""Dual coordinate ascent for q = 2, where the weights are a multiple of a sum over the rows."""

import numpy as np

from drsvm.kernels.dual_ascent import Multipliers
from drsvm.kernels.dual_ascent_round import Answer, RoundTerms, round_epoch
from drsvm.solvers.ascent import Ascent
from drsvm.solvers.epochs import UNLIMITED


class RoundAscent(Ascent):
    """q = 2: the weights are a multiple of u, and λ changes with every step."""

    def _move(self) -> tuple[float, float]:
        problem = self.problem
        left = max(problem.radius - self.flipped_cost, 0.0)
        natural = 0.0 if self.level >= UNLIMITED else left / max(self.level, 1e-6)
        proximity = self._proximity(problem.l2 + natural, self.mass)
        intercept = self._intercept(problem.l2 + natural + proximity)
        scalars = map(float, (problem.radius, self.level, self._stiffness(natural), problem.l2 + proximity))
        terms = RoundTerms(self.kappa, self.flips, *scalars, intercept)
        u = self.v + proximity * self.w
        sums = np.array([self.flipped_cost, self._pull_on_intercept(intercept)])
        answer, gap, violation = self._visit_rows(u, sums, terms)
        self.v = u - proximity * self.w
        self.w, self.level = answer.scale * u, answer.level
        self._settle_intercept(intercept, float(sums[1]), answer.intercept_scale * float(sums[1]))
        return gap, violation

    def _visit_rows(self, u, sums, terms) -> tuple[Answer, float, float]:
        """Update u, the sums and the multipliers; return the answer, the gap and the largest violation."""
        self.active, answer, gap, self.near, violation = round_epoch(
            self.rows,
            self.samples.row_squares,
            self.order,
            self.active,
            self.firm,
            Multipliers(u, sums, self.hinge, self.flip, self.margins),
            terms,
        )
        return answer, gap, violation
