"""An engine that iterates on a few rows, while all others have fixed multipliers."""

from typing import Any

import numpy as np

from drsvm.annotations import Vector
from drsvm.engines.cpu import engine_for
from drsvm.engines.engine import Curvature
from drsvm.model.multipliers import DualSums, dual_sums
from drsvm.model.problem import Problem


class WorkingSetEngine:
    """An engine for the rows of a working set; the fixed multipliers α, β of the rest enter all sums as constants.

    `working` are the indices of the rows to iterate on, where the fixed multipliers are 0. Everything that does not
    depend on the other rows is done by the engine of these rows.
    """

    def __init__(
        self, problem: Problem, working: Vector, hinge_dual: Vector, flip_dual: Vector, n_threads: int | None = None
    ):
        self.inner = engine_for(problem.subset(working, problem.sample_weight[working]), n_threads)
        self.inner.small = False  # certificates need all rows
        self.working, self.fixed = working, (hinge_dual, flip_dual)
        self.fixed_sums = dual_sums(problem, hinge_dual, flip_dual)
        balance = [float(self.fixed_sums.mass @ (1.0, -1.0))] * problem.fit_intercept
        self.pull = np.append(self.fixed_sums.rows @ (1.0, -1.0), balance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def curvature(self) -> Curvature:
        return self._with_fixed(self.inner.curvature())

    def advance(self, *steps) -> tuple[float, Curvature]:
        moved, samples = self.inner.advance(*steps)
        return moved, self._with_fixed(samples)

    def _with_fixed(self, samples: Curvature) -> Curvature:
        lam = samples.predictor_lam - float(self.fixed_sums.flip_cost.sum())
        return samples._replace(predictor=samples.predictor - self.pull, predictor_lam=lam)

    def dual_sums(self) -> DualSums:
        return self._plus_fixed(self.inner.dual_sums())

    def arrive(self, *steps) -> tuple[float, DualSums]:
        moved, sums = self.inner.arrive(*steps)
        return moved, self._plus_fixed(sums)

    def _plus_fixed(self, sums: DualSums) -> DualSums:
        return DualSums(*(own + fixed for own, fixed in zip(sums, self.fixed_sums, strict=True)))

    def multipliers(self):
        return self._of_all_rows(self.inner.multipliers())

    def restored_multipliers(self, direction, lam_change):
        return self._of_all_rows(self.inner.restored_multipliers(direction, lam_change))

    def _of_all_rows(self, own):
        hinge, flip = (fixed.copy() for fixed in self.fixed)
        hinge[self.working], flip[self.working] = own
        return hinge, flip
