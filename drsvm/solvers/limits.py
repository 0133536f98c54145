"""Checks of the arguments of a run: its limits and its start."""

import math
import numbers

from drsvm.clock import TimeLimit
from drsvm.model.problem import Problem
from drsvm.model.result import Result
from drsvm.model.validation import check_weight_vector
from drsvm.solvers.base import Candidate, Limits, Solver


def check_limits(
    problem: Problem,
    solver: Solver,
    *,
    tol: float | None = None,
    max_iter: int | None = None,
    max_time: float | TimeLimit | None = None,
    start=None,
    random_state=None,
    n_threads: int | None = None,
    watched: bool = False,
) -> Limits:
    """Return the limits of a run; those that are not given are the solver's defaults."""
    return Limits(
        tol=_check_tol(solver.default_tol if tol is None else tol),
        max_iter=_check_max_iter(solver.default_max_iter if max_iter is None else max_iter),
        time=TimeLimit.of(max_time),
        n_threads=_check_threads(n_threads),
        random_state=random_state,
        start=_check_start(problem, start),
        watched=watched,
    )


def _check_tol(tol) -> float:
    if not isinstance(tol, numbers.Real) or not float(tol) >= 0:
        raise ValueError(f"tol must be a number ≥ 0, got tol={tol!r}.")
    return float(tol)


def _check_max_iter(max_iter) -> int:
    if isinstance(max_iter, bool) or not isinstance(max_iter, numbers.Integral) or max_iter < 1:
        raise ValueError(f"max_iter must be an integer ≥ 1, got max_iter={max_iter!r}.")
    return int(max_iter)


def _check_threads(n_threads) -> int | None:
    if n_threads is None:
        return None
    if not isinstance(n_threads, numbers.Integral) or n_threads < 1:
        raise ValueError(f"n_threads must be an integer ≥ 1, got n_threads={n_threads!r}.")
    return int(n_threads)


def _check_start(problem: Problem, start) -> Candidate | None:
    """Return the start as a candidate; multipliers are kept if they match the rows of this problem."""
    if start is None:
        return None
    if not isinstance(start, Result):
        try:
            weights, intercept = start
        except (TypeError, ValueError):
            raise TypeError(f"start must be a Result or (weights, intercept), got {type(start).__name__}.") from None
        alpha = beta = None
    else:
        weights, intercept, alpha, beta = start.weights, start.intercept, start.hinge_dual, start.flip_dual
        alpha, beta = problem.multipliers_from(alpha), problem.multipliers_from(beta)
    weights = check_weight_vector(weights, problem.n_features, "start")
    if not isinstance(intercept, numbers.Real) or not math.isfinite(intercept):
        raise ValueError(f"start must have a finite intercept, got {intercept!r}.")
    return Candidate(weights, float(intercept) if problem.fit_intercept else 0.0, alpha, beta)
