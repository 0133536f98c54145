"""Rough solutions of kernel problems: in the span of few functions they are linear problems, and need no proof.

Without some of the rows, an optimal f is close to a multiple of Σ_i u_i φ(x_i) over the others, with the multipliers u
of the solution for all rows. What changes are mostly coefficients that are between their bounds. So the sum and a few
such rows span what is needed; where no solution is known, more rows take their place.
"""

from copy import copy

import numpy as np

from drsvm.model.problem import Problem
from drsvm.model.result import Result
from drsvm.solvers.base import Candidate, Solver
from drsvm.solvers.interior_point.small import MAX_ENTRIES
from drsvm.solvers.landmarks.solver import BETWEEN, Landmarks, share_between
from drsvm.solvers.landmarks.span import WIDER, Span, drawn_rows, rough_span
from drsvm.solvers.selection import interior_point_seconds

QUICK = 1.0  # seconds of the interior point
ROUGH = 200  # landmarks of a rough solution
NEAR_A_SOLUTION = 80  # least of one close to a known solution; or as many as leave rows few enough for compiled steps


def rough_solver(problem: Problem) -> str | Solver:
    """Return a solver for a solution that needs no proof: of a kernel, with as many landmarks as do for a rough one."""
    if problem.rows.is_kernel:
        return Landmarks(min(problem.n_rows, ROUGH), proves=False)
    # With norm=1, epochs are hardly ever quicker in the end, and rounding errors change what they find.
    return "interior-point" if problem.norm.p == 1 and 0.0 < interior_point_seconds(problem) <= QUICK else "auto"


def linear_problems(
    problem: Problem, trained: list[np.ndarray], solution: Result | Candidate | None
) -> list[tuple[Problem, tuple[np.ndarray, float] | None]]:
    """Return a linear problem with the same rows for each of several sets of rows to train on, and where to start.

    The sets are masks. A linear problem is returned as it is, at its solution.
    """
    if not problem.rows.is_kernel:
        return [(problem, None if solution is None else (solution.weights, solution.intercept))] * len(trained)
    rows, signed = problem.rows, None
    if solution is None or rows.values is None:  # a sum would take a pass over all pairs of rows
        common = rough_span(problem, ROUGH)
    else:
        common = Span(rows)
        alpha, beta = (problem.multipliers_from(of) for of in (solution.hinge_dual, solution.flip_dual))
        signed, between = (alpha - beta) * problem.signs, share_between(problem, alpha, beta)
        free = np.argsort(-between, kind="stable")[: np.count_nonzero(between > BETWEEN)]
        size = min(ROUGH, max(NEAR_A_SOLUTION, MAX_ENTRIES // problem.n_rows))
        common.add_landmarks(np.union1d(free[: WIDER * size], drawn_rows(problem, size)), size)
    sums = [None] * len(trained)
    if signed is not None:
        sums = rows.weighted_sums([np.where(rows.vector(mask), signed, 0.0) for mask in trained])
    found = []
    for coefficients in sums:
        span, start = copy(common), None
        if coefficients is not None:
            span.add_sum(coefficients)
        if solution is not None:
            start = span.products(solution.weights), solution.intercept
        found.append((span.linear(problem), start))
    return found
