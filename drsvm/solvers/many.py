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

Classifier = tuple[np.ndarray, float]
# What is known about the solution of a problem, with or without a proof
Solution = Result | Classifier | None

# The number of entries times features, of all problems together, from which threads
# save more time than it takes to start them
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
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> problem = Problem(X, [-1, -1, 1, 1], fit_intercept=True)
    >>> results = solve_many(problem.replace(radius=r) for r in (0.4, 0.2, 0.1))
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
            # Once the time is up, the problems that are left take no steps.
            max_time=time.share(1.0),
            n_threads=1 if few_rows else n_threads,
            **options,
        )
        if result.status is Status.INTERRUPTED:
            time.stop()
        return result

    # Few rows: threads share the problems; many: they share the rows of each.
    with threads_limited(threads if few_rows else 1), single_threaded_blas():
        return over(problems, solve_one)


def rough_classifiers(
    problems: Sequence[Problem],
    starts: Sequence[Solution],
    *,
    tol: float,
    max_time: TimeLimit,
    n_threads=None,
) -> list[Classifier | None]:
    """Return classifiers that need no proof, as if the gap were about `tol`.

    Parameters
    ----------
    problems : sequence of Problem
        The problems, such as one per fold.
    starts : sequence of Result, (weights, intercept) or None
        For each of them, the known solution of a similar problem, if there is one. It
        is used for few rows only.
    tol : float
        The gap on the central path at which a run ends.
    max_time : TimeLimit
        Time limit for all problems together.
    n_threads : int, optional
        Threads for problems with many rows.

    Returns
    -------
    list of (weights, intercept) or None
        In the order of the problems, None if the time limit was reached. Ctrl-C raises
        KeyboardInterrupt.
    """
    # 1. Many rows: full runs, one after the other
    if not all(is_small(problem) for problem in problems):
        results = solve_many(
            problems,
            rough_solver(problems[0]),
            tol=tol,
            max_time=max_time,
            n_threads=n_threads,
        )
        return [_classifier(result) for result in results]

    # 2. Few rows: compiled steps until the gap is `tol` on the central path
    limits = check_limits(
        problems[0], InteriorPoint(), tol=tol, max_time=max_time, n_threads=1
    )
    points = list[Start | None]()
    for k, (problem, start) in enumerate(zip(problems, starts, strict=True)):
        # Folds usually have one start, whose objective is then computed once.
        if k > 0 and start is starts[k - 1]:
            points.append(points[-1])
        else:
            points.append(_point_of(problem, start))

    def classifier_of(index: int) -> Classifier | None:
        """Return the classifier of the problem at a position."""
        problem = problems[index]
        run = SmallState(problem, limits, points[index])
        if run.run_to_the_end():
            return run.classifier
        if max_time.over:
            return None
        # The compiled steps have failed: `solve` has other ways.
        return _classifier(solve(problem, tol=tol, max_time=max_time, n_threads=1))

    work = sum(problem.n_rows * problem.n_features**2 for problem in problems)
    threads = 1
    if work > WORTH_THREADS:
        threads = spare_cores()
    with threads_limited(threads), single_threaded_blas():
        return over(range(len(problems)), classifier_of)


def _point_of(problem: Problem, start: Solution) -> Start | None:
    """Return a known solution as a point to start from, or None if it is of no use."""
    candidate = check_start(problem, start)
    if candidate is None:
        return None
    return start_at(problem, candidate)


def _classifier(result: Result) -> Classifier | None:
    """Return the classifier of a run, or None if the time limit was reached."""
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if result.status is Status.TIME_LIMIT:
        return None
    return (result.weights, result.intercept)


class Rough(NamedTuple):
    """A classifier without a proof, its approximate gap, and the seconds it took.

    The gap is that on the central path of the interior point or, where compiled steps
    fail, the proven one of `solve`.
    """

    weights: np.ndarray
    intercept: float
    gap: float
    time: float


def rough_path(
    problem: Problem, radii: Iterable[float], *, tol: float, max_time: TimeLimit
) -> list[Rough]:
    """Return classifiers of few rows for decreasing radii, which need no proof.

    Parameters
    ----------
    problem : Problem
        A problem with few rows (`is_small`); its own radius plays no role.
    radii : iterable of float
        The radii, from large to small: each run starts at the solution before it.
    tol : float
        The gap on the central path at which a run ends.
    max_time : TimeLimit
        Time limit for all radii together.

    Returns
    -------
    list of Rough
        In the order of the radii; fewer if the time limit is reached. Ctrl-C raises
        KeyboardInterrupt.
    """
    path = list[Rough]()
    run = None
    start = None
    # Runs end at a gap of CHEAP times the tolerance of their limits.
    limits = check_limits(
        problem, InteriorPoint(), tol=tol / CHEAP, max_time=max_time, n_threads=1
    )
    # The objective of the best constant classifier
    constant = 2.0 * min(masses_of_classes(problem))
    for radius in radii:
        if max_time.over:
            break
        watch = Stopwatch()
        here = problem.replace(radius=float(radius))
        # One run, for all radii: the rows are converted once.
        if run is None:
            run = SmallState(here, limits)
        else:
            run.restart(here, start)
        if run.run_to_the_end():
            point = _rough_point(here, run, tol, constant)
            rough = Rough(
                point.weights, point.intercept, run.central_gap, watch.elapsed()
            )
            start = start_beside(here, point)
        else:
            # The compiled steps have failed: `solve` has other ways.
            result = solve(here, tol=tol, max_time=max_time, n_threads=1)
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            rough = Rough(result.weights, result.intercept, result.gap, result.time)
            start = None
        path.append(rough)
    return path


def _rough_point(
    problem: Problem, run: SmallState, tol: float, constant: float
) -> PrimalPoint:
    """Return the classifier of a run, without weights that do not matter."""
    weights, intercept = run.classifier
    weights = weights.copy()
    price, objective = problem.price_and_objective(weights, intercept)
    point = PrimalPoint(weights, intercept, price, objective)
    # Whether single weights are 0 or tiny makes no difference to a score, except where
    # there are many of them (q = 1), or where they all may be 0.
    if objective >= constant - ROUNDING or problem.norm.q == 1:
        return without_rounding(problem, point, objective - run.central_gap, tol)
    return point
