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
    tol = solver.default_tol if tol is None else tol
    if not isinstance(tol, numbers.Real) or not float(tol) >= 0:
        raise ValueError(f"tol must be a number ≥ 0, got tol={tol!r}.")
    steps = check_count(solver.default_max_iter if max_iter is None else max_iter, "max_iter")
    threads = None if n_threads is None else check_count(n_threads, "n_threads")
    first = _check_start(problem, start)
    return Limits(float(tol), steps, TimeLimit.of(max_time), threads, random_state, first, watched)


def check_count(value, name: str, allowed: str = "an integer ≥ 1") -> int:
    """Return an integer ≥ 1; reject anything else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name} must be {allowed}, got {name}={value!r}.")
    return int(value)


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
