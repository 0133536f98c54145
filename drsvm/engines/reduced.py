"""An engine that iterates on a few rows, while all others have fixed multipliers."""

import numpy as np

from drsvm.engines.cpu import CpuEngine
from drsvm.model.multipliers import DualSums, dual_sums
from drsvm.model.problem import Problem


class ReducedEngine(CpuEngine):
    """Rows of a working set; the fixed multipliers α, β of the rest enter all sums as constants.

    `working` are the indices of the rows to iterate on, where the fixed multipliers are 0.
    """

    def __init__(self, problem: Problem, working, hinge_dual, flip_dual, n_threads: int | None = None):
        super().__init__(problem.subset(working, problem.sample_weight[working]), n_threads)
        self.small = False  # certificates need all rows
        self.working, self.fixed = working, (hinge_dual, flip_dual)
        self.fixed_sums = dual_sums(problem, hinge_dual, flip_dual)
        balance = [float(self.fixed_sums.mass @ (1.0, -1.0))] * problem.fit_intercept
        self.pull = np.append(self.fixed_sums.rows @ (1.0, -1.0), balance)

    def _curvature(self, step):
        moved, samples = super()._curvature(step)
        level = samples.predictor_level - float(self.fixed_sums.flip_cost.sum())
        return moved, samples._replace(predictor=samples.predictor - self.pull, predictor_level=level)

    def _dual_sums(self, step):
        moved, sums = super()._dual_sums(step)
        return moved, DualSums(*(own + fixed for own, fixed in zip(sums, self.fixed_sums, strict=True)))

    def multipliers(self):
        return self._of_all_rows(super().multipliers())

    def restored_multipliers(self, direction, level_change):
        return self._of_all_rows(super().restored_multipliers(direction, level_change))

    def _of_all_rows(self, own):
        hinge, flip = (fixed.copy() for fixed in self.fixed)
        hinge[self.working], flip[self.working] = own
        return hinge, flip
