"""Rough solutions of kernel problems: in the span of few functions they are linear problems, and need no proof.

Without some of the rows, an optimal f is close to a multiple of Σ_i u_i φ(x_i) over the others, with the multipliers u
of the solution for all rows. What changes are mostly coefficients that are between their bounds. So the sum and a few
such rows span what is needed; where no solution is known, more rows take their place.
"""

from copy import copy
from typing import Any

import numpy as np

from drsvm.model.backends import fetched
from drsvm.model.problem import Problem
from drsvm.model.result import Result
from drsvm.solvers.base import Solver
from drsvm.solvers.landmarks.solver import BETWEEN, WIDER, Landmarks, share_between
from drsvm.solvers.landmarks.span import Span

ROUGH, NEAR_A_SOLUTION = 200, 80
"""Landmarks of a rough solution, and of one close to a solution that is known."""


def rough_solver(problem: Problem) -> str | Solver:
    """Return a solver for a solution that needs no proof: of a kernel, with as many landmarks as do for a rough one."""
    return Landmarks(min(problem.n_rows, ROUGH), proves=False) if problem.rows.is_kernel else "auto"


def linear_problems(
    problem: Problem, trained: list[np.ndarray], solution: Result | None
) -> list[tuple[Problem, tuple[np.ndarray, float] | None]]:
    """Return a linear problem with the same rows for each of several sets of rows to train on, and where to start.

    The sets are masks. A linear problem is returned as it is, at its solution.
    """
    if not problem.rows.is_kernel:
        return [(problem, None if solution is None else (solution.weights, solution.intercept))] * len(trained)
    rows, common, signed = problem.rows, Span(problem.rows), None
    if solution is None or rows.values is None:  # a sum would take a pass over all pairs of rows
        common.add_landmarks(_drawn(problem, WIDER * ROUGH), ROUGH)
    else:
        alpha, beta = (problem.multipliers_from(of) for of in (solution.hinge_dual, solution.flip_dual))
        signed, between = (alpha - beta) * problem.signs, share_between(problem, alpha, beta)
        free = np.argsort(-between, kind="stable")[: np.count_nonzero(between > BETWEEN)]
        candidates = np.union1d(free[: WIDER * NEAR_A_SOLUTION], _drawn(problem, NEAR_A_SOLUTION))
        common.add_landmarks(candidates, NEAR_A_SOLUTION)
    found = []
    for mask in trained:
        span, start = copy(common), None
        if signed is not None:
            span.add_sum(rows.weighted_sum(np.where(rows.vector(mask), signed, 0.0)))
        if solution is not None:
            start = fetched(span.features.T @ rows.vector(solution.weights)), solution.intercept
        found.append((span.linear(problem), start))
    return found


def _drawn(problem: Problem, size: int) -> Any:
    return np.arange(problem.n_rows) if size >= problem.n_rows else np.sort(fetched(problem.drawn_rows(size)))
