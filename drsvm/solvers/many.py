"""Many problems in one call, small ones several at a time."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from drsvm.certificate.certificate import PrimalPoint
from drsvm.problem.problem import Problem, check_problem
from drsvm.problem.result import Result, Status
from drsvm.problem.row_sums import masses_of_classes
from drsvm.solvers.api import solve
from drsvm.solvers.base import Solver, check_count, check_limits, check_start
from drsvm.solvers.interior_point.interior_point_solver import InteriorPoint
from drsvm.solvers.interior_point.small import SmallState, is_small
from drsvm.solvers.interior_point.starts import Start, start_at, start_beside
from drsvm.solvers.interior_point.state import CHEAP
from drsvm.solvers.landmarks.landmark_solver import rough_solver
from drsvm.solvers.tiny_weights import ROUNDING, without_rounding
from drsvm.utils.clock import Stopwatch, TimeLimit
from drsvm.utils.parallel import (
    over,
    single_threaded_blas,
    spare_cores,
    threads_limited,
)

# Entries times features of all problems from which threads save more time than they
# take
WORTH_THREADS = 5_000_000


def solve_many(
    problems: Iterable[Problem],
    solver: str | Solver = "auto",
    *,
    max_time: float | TimeLimit | None = None,
    n_threads: int | None = None,
    **options: Any,
) -> list[Result]:
    """Solve many problems, such as one set of rows with other radii, weights or labels.

    On few rows much of the work is compiled, and threads solve several problems at a
    time. Problems with many rows are solved one after the other, each with all threads.
    `Problem.replace` and `Problem.relabelled` return problems that share their rows;
    for a fold, pass sample weights that are 0 elsewhere.

    Parameters
    ----------
    problems : iterable of Problem
        The problems.
    solver, **options
        As in `drsvm.solve`, for every problem; a callback may be called by several
        threads.
    max_time : float or TimeLimit, optional
        Time limit for all problems together, in seconds.
    n_threads : int, optional
        Threads; by default one per core, and one in a worker of joblib. The results do
        not depend on it if all problems have few rows.

    Returns
    -------
    list of Result
        In the order of the problems. Ctrl-C ends the running ones with the status
        INTERRUPTED, and the others with TIME_LIMIT.

    Examples
    --------
    >>> from drsvm import Problem
    >>> from drsvm.solvers import solve_many
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], fit_intercept=True)
    >>> results = solve_many(problem.replace(radius=radius) for radius in (0.4, 0.2, 0.1))
    >>> [result.gap <= 1e-6 for result in results]
    [True, True, True]
    """
    problems = list(problems)
    time = TimeLimit.of(max_time)
    for problem in problems:
        check_problem(problem, "solve_many")
    if n_threads is None:
        threads = spare_cores()
    else:
        threads = check_count(n_threads, "n_threads")
    few_rows = all(is_small(problem) for problem in problems)

    def solve_one(problem: Problem) -> Result:
        result = solve(
            problem,
            solver,
            max_time=time,
            n_threads=1 if few_rows else n_threads,
            **options,
        )
        if result.status is Status.INTERRUPTED:
            time.stop()
        return result

    with threads_limited(threads if few_rows else 1), single_threaded_blas():
        return over(problems, solve_one)


Classifier = tuple[np.ndarray, float]
# What is known about the solution of a problem, with or without a proof
Solution = Result | Classifier | None


def rough_classifiers(
    problems: Sequence[Problem],
    starts: Sequence[Solution],
    *,
    tol: float,
    max_time: TimeLimit,
    n_threads=None,
) -> list[Classifier | None]:
    """Return classifiers that need no proof, for problems that are much like one whose solution is known, or None.

    They are as if the gap were about `tol`. None: there was no time. Ctrl-C raises
    KeyboardInterrupt.
    """
    if not all(is_small(problem) for problem in problems):
        limits = {"tol": tol, "max_time": max_time, "n_threads": n_threads}
        return [
            _classifier(result)
            for result in solve_many(problems, rough_solver(problems[0]), **limits)
        ]
    settings = InteriorPoint()
    begins = dict[int, Start | None]()
    limits = check_limits(
        problems[0], settings, tol=tol, max_time=max_time, n_threads=1
    )
    for problem, start in zip(problems, starts, strict=True):
        if id(start) not in begins:  # it may be the same for all
            first = check_start(problem, start)
            if first is None:
                begins[id(start)] = None
            else:
                begins[id(start)] = start_at(problem, first)

    # One per thread: runs that have ended leave their memory to the next ones
    spare = list[SmallState]()

    def classifier_of(index: int) -> Classifier | None:
        problem = problems[index]
        start = begins[id(starts[index])]
        if spare:
            run = spare.pop().again(problem, limits, start)
        else:
            run = SmallState(problem, settings, limits, start)
        found = run.classifier if run.to_the_end() else None
        spare.append(run)
        return found or _classifier(
            solve(problem, tol=tol, max_time=max_time, n_threads=1)
        )

    work = sum(problem.n_rows * problem.n_features**2 for problem in problems)
    with (
        threads_limited(spare_cores() if work > WORTH_THREADS else 1),
        single_threaded_blas(),
    ):
        return over(range(len(problems)), classifier_of)


def _classifier(result: Result) -> Classifier | None:
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if result.status is Status.TIME_LIMIT:
        return None
    return (result.weights, result.intercept)


class Rough(NamedTuple):
    """A classifier without a proof: its gap is that on the central path."""

    weights: np.ndarray
    intercept: float
    gap: float
    time: float


def rough_path(
    problem: Problem, radii: Iterable[float], *, tol: float, max_time: TimeLimit
) -> list[Rough]:
    """Return classifiers of few rows for decreasing radii, which need no proof.

    Fewer if the time is up.

    Where steps fail, the gap is proven. Ctrl-C raises KeyboardInterrupt.
    """
    settings = InteriorPoint()
    path = list[Rough]()
    run = None
    start = None
    limits = check_limits(
        problem, settings, tol=tol / CHEAP, max_time=max_time, n_threads=1
    )
    # Objective of constant classifiers
    least_constant = 2.0 * min(masses_of_classes(problem))
    for radius in radii:
        if max_time.over:
            break
        watch = Stopwatch()
        here = problem.replace(radius=float(radius))
        if run is None:
            run = SmallState(here, settings, limits)
        else:
            run = run.again(here, limits, start)
        if run.to_the_end():
            weights = run.point[: here.n_features].copy()
            intercept = run.classifier[1]
            margins = here.margins(weights, intercept)
            # In simple arithmetic: it proves nothing here
            price = here.radius_price(weights, margins, intercept)
            point = PrimalPoint(
                weights, intercept, price, here.objective_at(weights, margins, price)
            )
            # A score cannot tell whether single weights are 0 or tiny, except that
            # there are many with q = 1.
            if point.objective >= least_constant - ROUNDING or here.norm.q == 1:
                point = without_rounding(
                    here, point, point.objective - run.central_gap, tol
                )
            path.append(
                Rough(point.weights, point.intercept, run.central_gap, watch.elapsed())
            )
            start = start_beside(here, point)
        else:
            result = solve(here, tol=tol, max_time=max_time, n_threads=1)
            start = None
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            path.append(
                Rough(result.weights, result.intercept, result.gap, result.time)
            )
    return path
