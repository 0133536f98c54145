"""Weights that do not matter are set to 0.

Iterates of interior-point methods are in the interior of the cone, where no weight is
exactly 0.
"""

from collections.abc import Iterator

import numpy as np

from drsvm.certificate.certificate import PrimalPoint, primal_point
from drsvm.problem.problem import Problem

# Weights below this share of the largest one are rounding errors, and so is an increase
# of the objective, which is on a scale of 1, by less than this.
ROUNDING = 1e-9
# The shares of the largest weight below which weights are tried as 0. With q = 1 most
# optimal weights are 0, so large shares are tried first.
SHARES_OF_SPARSE_WEIGHTS = (1e-2, 1e-3, 1e-4, 1e-6, ROUNDING)
# If the norm of all weights adds less than this to the objective, all may be 0.
CHEAP_NORM = 1e-5


def without_rounding(
    problem: Problem, point: PrimalPoint, lower_bound: float, tol: float
) -> PrimalPoint:
    """Return an optimal classifier without the weights that do not matter.

    Parameters
    ----------
    problem : Problem
        The problem.
    point : PrimalPoint
        A classifier whose objective is at most lower_bound + tol.
    lower_bound : float
        The proven lower bound on the optimum.
    tol : float
        The tolerance.

    Returns
    -------
    PrimalPoint
        A classifier whose gap is still at most `tol`: its objective is computed, not
        assumed.
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
    """Yield w = 0 with the intercepts that may be optimal.

    One of −1, 0 and 1 is an optimal free intercept; one with a cost may be elsewhere.
    """
    zeros = np.zeros_like(point.weights)
    for intercept in (0.0, float(np.sign(point.intercept)), point.intercept):
        yield primal_point(problem, zeros, intercept)
