"""Weights that do not matter: interior solutions have no weight that is exactly 0."""

from collections.abc import Iterator

import numpy as np

from drsvm.certificate.certificate import PrimalPoint, primal_point
from drsvm.problem.problem import Problem

# Weights below this fraction of the largest one are rounding errors, and so is a
# smaller increase of the objective.
ROUNDING = 1e-9
# With q = 1 most optimal weights are 0, so larger ones are tried first.
SHARES_OF_SPARSE_WEIGHTS = (1e-2, 1e-3, 1e-4, 1e-6, ROUNDING)
# If the norm of all weights costs less than this, they may all be 0.
CHEAP_NORM = 1e-5


def without_rounding(
    problem: Problem, point: PrimalPoint, lower_bound: float, tol: float
) -> PrimalPoint:
    """Return an optimal classifier without the weights that do not matter.

    Its gap is still at most `tol`: the objective is computed again, so the certificate
    stays strict.
    """
    sizes = np.abs(point.weights)
    largest = float(sizes.max(initial=0.0))
    if largest == 0.0:
        return point
    allowed = lower_bound + tol

    # 1. All of them, if together they hardly cost anything
    cost_of_norm = problem.radius * problem.norm_of(point.weights)
    if cost_of_norm <= max(CHEAP_NORM, 10.0 * tol):
        for constant in _constant_classifiers(problem, point):
            if constant.objective <= min(allowed, point.objective + ROUNDING):
                return constant

    # 2. Those that are small compared with the largest. The weights of a kernel are
    # coefficients of functions, none of which is a feature.
    if problem.rows.is_kernel:
        return point
    if problem.norm.q == 1:
        shares = SHARES_OF_SPARSE_WEIGHTS
    else:
        shares = (ROUNDING,)
    for share in shares:
        small = (sizes > 0) & (sizes <= share * largest)
        if not small.any():
            continue
        weights = np.where(small, 0.0, point.weights)
        sparser = primal_point(problem, weights, point.intercept)
        if sparser.objective <= allowed:
            return sparser
    return point


def _constant_classifiers(
    problem: Problem, point: PrimalPoint
) -> Iterator[PrimalPoint]:
    """Yield w = 0 with the intercepts that may be optimal; a free one is −1, 0 or 1."""
    zeros = np.zeros_like(point.weights)
    for intercept in (0.0, float(np.sign(point.intercept)), point.intercept):
        yield primal_point(problem, zeros, intercept)
