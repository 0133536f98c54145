"""The runs of a fit: one per binary problem, some in parallel."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from drsvm.defaults.binary_problems import BinaryProblems, Solved, Start
from drsvm.defaults.outliers import FAR, far_columns
from drsvm.estimators.callbacks import FitCallbacks
from drsvm.problem.backends import to_numpy
from drsvm.problem.result import Result, Status
from drsvm.solvers.api import solve_reformulated
from drsvm.solvers.base import Solver
from drsvm.utils.clock import TimeLimit
from drsvm.utils.progress import part, report_progress, stage


def solve_problems(
    problems: BinaryProblems,
    starts: Sequence[Start],
    solver: str | Solver,
    limits: dict[str, Any],
    n_jobs: int | None,
    callbacks: FitCallbacks,
    time: TimeLimit,
) -> list[Result]:
    """Solve the problems of all classes.

    Parameters
    ----------
    problems : BinaryProblems
        The problems, with radius and ridge.
    starts : sequence
        Where each run starts, None: at 0.
    solver : str or Solver
        The solver.
    limits : dict
        Tolerance, iteration limit and seed, as options of `solve`.
    n_jobs : int, optional
        The number of problems that are solved in parallel.
    callbacks : FitCallbacks
        What is told of the runs.
    time : TimeLimit
        The time of the fit, which the runs share. Ctrl-C stops all of them.

    Returns
    -------
    list of Result
        The results, those of interrupted runs included.
    """
    n = len(problems.given)
    # The one problem of two classes uses all cores. Of several, each has one thread,
    # and as many as there are jobs run at the same time.
    n_threads = None if n == 1 else 1
    at_once = 1
    if n > 1 or n_jobs is not None:
        at_once = min(effective_n_jobs(n_jobs), n)

    def solve_one(index: int) -> Result:
        # What is left is for this problem and those that come after it on its thread.
        max_time = time.share((n - index) / at_once)
        with part(index / n, (index + 1) / n), callbacks.run(index) as callback:
            result = solve_reformulated(
                problems.centred(index),
                solver,
                start=starts[index],
                callback=callback,
                max_time=max_time,
                n_threads=n_threads,
                polish=True,
                **limits,
            )
        # Ctrl-C during one problem ends all of them.
        if result.status is Status.INTERRUPTED:
            time.stop()
        return result

    with stage("solving"):
        if at_once == 1:
            return [solve_one(index) for index in range(n)]
        return _in_threads(solve_one, n, at_once, time)


def _in_threads(
    solve_one: Callable[[int], Result], n: int, n_threads: int, time: TimeLimit
) -> list[Result]:
    """Return the results of n problems that are solved in threads."""
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(solve_one, index) for index in range(n)]
        results = []
        try:
            for future in futures:
                results.append(future.result())
                report_progress(len(results) / n)
            return results
        except KeyboardInterrupt:
            # The runs end soon, with the best that they have.
            time.stop()
            best = [future.result() for future in futures]
            return [replace(result, status=Status.INTERRUPTED) for result in best]
        except BaseException:
            time.stop()
            raise


def optimum_is_constant(solved: Solved) -> bool:
    """Return whether two classes have an optimum that decides alike for all rows.

    Rows that are far off do not count: a few of them can give weights to a feature that
    say nothing about the others.
    """
    problem = solved.problems.given[0]
    result = solved.results[0]
    if len(solved.results) > 1 or not result.status.reached:
        return False
    if not np.any(result.weights):
        return True
    if not problem.rows.copyable:
        return False
    # Decision values are a column, and a row is far off if its value is more than FAR
    # robust deviations from the median. If FAR deviations are less than a margin, which
    # is 1, all other rows hardly differ.
    values = to_numpy(problem.decision_values(result.weights, result.intercept))
    far = far_columns(values[:, None], to_numpy(problem.sample_weight))
    return bool((far.deviations < 1.0 / FAR).any())
