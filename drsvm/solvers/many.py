"""Many problems in one call, small ones several at a time."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from drsvm.clock import TimeLimit
from drsvm.engines.threads import single_threaded_blas
from drsvm.model.problem import Problem, check_problem
from drsvm.model.result import Result, Status
from drsvm.parallel import over, spare_cores, threads_limited
from drsvm.solvers import solve
from drsvm.solvers.base import Solver, check_count, check_limits
from drsvm.solvers.interior_point.small import is_small, stepped
from drsvm.solvers.interior_point.solver import InteriorPoint

WORTH_THREADS = 5_000_000
"""Entries times features of all problems together from which threads save more time than they take."""


def solve_many(
    problems: Iterable[Problem],
    solver: str | Solver = "auto",
    *,
    max_time: float | TimeLimit | None = None,
    n_threads: int | None = None,
    **options: Any,
) -> list[Result]:
    """Solve many problems, such as one set of rows with other radii, weights or labels.

    On few rows much of the work is compiled, and threads solve several problems at a time. Problems with many rows are
    solved one after the other, each with all threads. `Problem.replace` and `Problem.relabelled` return problems that
    share their rows; for a fold, pass sample weights that are 0 elsewhere.

    Parameters
    ----------
    problems : iterable of Problem
        The problems.
    solver, **options
        As in `drsvm.solve`, for every problem; a callback may be called by several threads.
    max_time : float or TimeLimit, optional
        Time limit for all problems together, in seconds.
    n_threads : int, optional
        Threads; by default one per core, and one in a worker of joblib. The results do not depend on it if all problems
        have few rows.

    Returns
    -------
    list of Result
        In the order of the problems. Ctrl-C ends the running ones with the status INTERRUPTED, and the others with
        TIME_LIMIT.

    Examples
    --------
    >>> from drsvm import Problem
    >>> from drsvm.solvers import solve_many
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], fit_intercept=True)
    >>> results = solve_many(problem.replace(radius=radius) for radius in (0.4, 0.2, 0.1))
    >>> [result.gap <= 1e-6 for result in results]
    [True, True, True]
    """
    problems, time = list(problems), TimeLimit.of(max_time)
    for problem in problems:
        check_problem(problem, "solve_many")
    threads = spare_cores() if n_threads is None else check_count(n_threads, "n_threads")
    few_rows = all(is_small(problem) for problem in problems)

    def solve_one(problem: Problem) -> Result:
        result = solve(problem, solver, max_time=time, n_threads=1 if few_rows else n_threads, **options)
        if result.status is Status.INTERRUPTED:
            time.stop()
        return result

    with threads_limited(threads if few_rows else 1), single_threaded_blas():
        return over(problems, solve_one)


Classifier = tuple[np.ndarray, float]


def rough_classifiers(
    problems: list[Problem], starts: Sequence[Any], *, tol: float, max_time: TimeLimit
) -> list[Classifier | None]:
    """Return classifiers for problems that are much like one whose solution is known, and need no proof.

    They are as if the gap were about `tol`. None: there was no time. Ctrl-C raises KeyboardInterrupt.
    """
    if not all(is_small(problem) for problem in problems):
        return [_found(one) for one in solve_many(problems, tol=tol, max_time=max_time)]
    settings = InteriorPoint()

    def one(index: int) -> Classifier | None:
        problem, start = problems[index], starts[index]
        limits = check_limits(problem, settings, tol=tol, max_time=max_time, start=start, n_threads=1)
        found = stepped(problem, settings, limits)
        return found or _found(solve(problem, tol=tol, max_time=max_time, n_threads=1))

    work = sum(problem.n_rows * problem.n_features**2 for problem in problems)
    with threads_limited(spare_cores() if work > WORTH_THREADS else 1), single_threaded_blas():
        return over(range(len(problems)), one)


def _found(result: Result) -> Classifier | None:
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return None if result.status is Status.TIME_LIMIT else (result.weights, result.intercept)
