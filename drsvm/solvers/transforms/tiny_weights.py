"""Weights of the size of rounding errors become 0, as far as the proven gap allows it.

Interior solutions have no weight that is exactly 0. With q = 1 most optimal weights are, so there larger ones are tried
too. The objective is computed again, so the certificate stays strict.
"""

import numpy as np

from drsvm.model.certificate import PrimalPoint, primal_point
from drsvm.model.problem import Problem

ROUNDING = 1e-9
"""Weights below this fraction of the largest one are rounding errors, and so is a smaller increase of the objective."""


def without_rounding(problem: Problem, point: PrimalPoint, lower_bound: float, tol: float) -> PrimalPoint:
    """Return an optimal classifier without the weights that do not matter; its gap is still at most tol."""
    sizes = np.abs(point.weights)
    largest = float(sizes.max(initial=0.0))
    if largest == 0.0:
        return point
    allowed = lower_bound + tol
    if problem.radius * problem.norm_of(point.weights) <= max(1e-5, 10.0 * tol):  # all together hardly cost anything
        for intercept in (0.0, float(np.sign(point.intercept)), point.intercept):  # a free one is −1, 0 or 1
            zero = primal_point(problem, np.zeros_like(point.weights), intercept)
            if zero.objective <= min(allowed, point.objective + ROUNDING):
                return zero
    if problem.rows.is_kernel:  # coefficients of functions, none of which is a feature
        return point
    for share in (1e-2, 1e-3, 1e-4, 1e-6, ROUNDING) if problem.norm.q == 1 else (ROUNDING,):
        small = (sizes > 0) & (sizes <= share * largest)
        if small.any():
            tidy = primal_point(problem, np.where(small, 0.0, point.weights), point.intercept)
            if tidy.objective <= allowed:
                return tidy
    return point
