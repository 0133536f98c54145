"""Solutions along a grid of radii, each warm-started from the previous one."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from drsvm.problem.problem import Problem, check_problem
from drsvm.problem.result import Result, Status
from drsvm.problem.validation import check_number
from drsvm.solvers.base import Solver, check_count
from drsvm.solvers.interior_point.interior_point_solver import InteriorPoint
from drsvm.solvers.loop import run
from drsvm.solvers.path.radius_max import radius_max
from drsvm.solvers.reformulation.shifted_columns import without_far_columns
from drsvm.solvers.selection import AUTO_TOL, check_taken, is_auto, make_solver
from drsvm.utils.arguments import about
from drsvm.utils.clock import TimeLimit
from drsvm.utils.parallel import single_threaded_blas


@dataclass(frozen=True, eq=False)
class RadiusPath:
    """Solutions for decreasing radii.

    Attributes
    ----------
    radii : array
        The radii, in the order given.
    results : list of Result
        One per radius.
    parameter : {"radius", "row_radius"}
        Whose values the radii are.

    Examples
    --------
    >>> from drsvm import Problem, radius_path
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> problem = Problem(X, [-1, -1, 1, 1], fit_intercept=True)
    >>> path = radius_path(problem, [0.4, 0.2, 0.1])
    >>> path.weights.shape, path[0].gap <= 1e-6
    ((3, 1), True)
    """

    radii: np.ndarray
    results: list[Result] = field(repr=False)
    parameter: str = "radius"

    @property
    def weights(self) -> np.ndarray:
        """The weights, one row per radius."""
        return np.stack([result.weights for result in self.results])

    @property
    def intercepts(self) -> np.ndarray:
        """The intercepts, one per radius."""
        return np.array([result.intercept for result in self.results])

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the path."""
        return any(result.status is Status.INTERRUPTED for result in self.results)

    def table(self) -> dict[str, np.ndarray]:
        """Return one column for each figure of the results.

        Returns
        -------
        dict of arrays
            The columns radius or row_radius, objective, lower_bound, gap, radius_price,
            n_nonzero, n_iter, time and status.
        """
        columns: dict[str, Any] = {self.parameter: self.radii}
        rows = [_figures(result) for result in self.results]
        for name in rows[0]:
            columns[name] = np.array([row[name] for row in rows])
        return columns

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, index: int) -> Result:
        return self.results[index]

    def __str__(self) -> str:
        lines = [f"{self.parameter:>10}{_HEAD}"]
        for radius, result in zip(self.radii, self.results, strict=True):
            lines.append(_LINE.format(radius=radius, **_figures(result)))
        return "\n".join(lines)


_HEAD = "   objective       gap  radius price  nonzero  iterations  status"
_LINE = (
    "{radius:10.4g}  {objective:10.8f}  {gap:8.1e}  {radius_price:12.5g}  "
    "{n_nonzero:7d}  {n_iter:10d}  {status}"
)


def _figures(result: Result) -> dict[str, Any]:
    """Return what a table shows of a result."""
    return {
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "radius_price": result.radius_price,
        "n_nonzero": np.count_nonzero(result.weights),
        "n_iter": result.n_iter,
        "time": result.time,
        "status": str(result.status),
    }


def radius_path(
    problem: Problem,
    radii: Sequence[float] | np.ndarray | None = None,
    *,
    row_radii: Sequence[float] | np.ndarray | None = None,
    n_radii: int = 30,
    smallest: float = 1e-3,
    solver: str | Solver = "auto",
    tol: float | None = None,
    max_iter: int | None = None,
    max_time: float | TimeLimit | None = None,
    callback: Callable[[int, Result], object] | None = None,
    random_state: int | np.random.Generator | None = None,
    n_threads: int | None = None,
    **settings: Any,
) -> RadiusPath:
    """Solve a problem for many radii, each warm-started from the previous one.

    With the interior-point solver and many rows per feature, the previous solutions
    tell which rows the next one needs (`screening`): a radius then costs little more
    than its certificate, which is on all rows.

    Parameters
    ----------
    problem : Problem
        Its own radius is ignored, or its own row_radius where `row_radii` are given.
    radii : sequence of floats, optional
        The radii; by default `n_radii` of them, log-spaced from `radius_max(problem)`
        down to `smallest` times it. They are solved from the largest down and returned
        in the order given.
    row_radii : sequence of floats, optional
        Radii by which every row may shift on its own, in place of `radii`; the radius
        is that of the problem. `row_radius_max` is their scale.

        .. versionadded:: 1.0.0rc2
    n_radii, smallest : int, float
        Size of the default grid, and ratio of its smallest to its largest radius.
    solver, tol, max_iter, random_state, n_threads, **settings
        As in `drsvm.solve`, for every radius.
    max_time : float, optional
        Time limit for the whole path, in seconds. The radii share it evenly, and unused
        time is passed on to the next ones. A radius that is reached after the time is
        up keeps the classifier of the previous one, with its own certificate and the
        status TIME_LIMIT.
    callback : callable, optional
        Called with the index and the Result after every radius; a true return value
        ends the path. Ctrl-C ends it too, and the last result then has the status
        INTERRUPTED; the loss of rows on a cluster likewise, with LOST. While the
        default grid is being computed, Ctrl-C raises KeyboardInterrupt.

    Returns
    -------
    RadiusPath
        The radii that were solved, and their results.

    Examples
    --------
    >>> from drsvm import Problem, radius_path
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> problem = Problem(X, [-1, -1, 1, 1], fit_intercept=True)
    >>> path = radius_path(problem, n_radii=5)
    >>> len(path), bool((path.table()["gap"] <= 1e-6).all())
    (5, True)
    """
    check_problem(problem, "radius_path")
    time = TimeLimit.of(max_time)
    parameter = "radius"
    if row_radii is not None:
        if radii is not None:
            raise ValueError("Pass radii or row_radii, not both of them.")
        parameter = "row_radius"
        radii = row_radii
        # What the solver must be able to work with
        problem = problem.replace(row_radius=1.0)
    shifted = without_far_columns(problem)
    problem = shifted.problem
    chosen = make_solver(solver, problem, **settings)
    if radii is None:
        # In a quarter of the time
        largest = radius_max(problem, max_time=time.share(4), n_threads=n_threads)
        if largest == 0.0:
            raise ValueError(
                "w = 0 is optimal for every radius, so there is no path: pass radii or "
                "check flip_cost and X."
            )
        smallest = check_number(smallest, "smallest")
        check_count(n_radii, "n_radii")
        with about("smallest", "n_radii"):
            ratios = np.logspace(0.0, math.log10(smallest), n_radii)
        radii = largest * ratios
    radii = _checked_radii(radii)
    problems = []
    for radius in radii:
        at_radius = problem.replace(**{parameter: float(radius)})
        check_taken(chosen, at_radius)
        problems.append(at_radius)
    if tol is None and is_auto(solver):
        tol = AUTO_TOL
    limits = {
        "tol": tol,
        "max_iter": max_iter,
        "random_state": random_state,
        "n_threads": n_threads,
    }

    results: dict[int, Result] = {}
    last = None
    # From the largest radius down
    order = np.argsort(-radii, kind="stable").tolist()
    # BLAS is limited once, not for every radius.
    with single_threaded_blas():
        for done, index in enumerate(order):
            share = time.share(len(order) - done)
            last = _next(chosen, problems[index], last, share, limits)
            result = replace(shifted, problem=problems[index]).to_outer(last)
            results[index] = result
            stopped = callback is not None and callback(index, result)
            if stopped or result.status in (Status.INTERRUPTED, Status.LOST):
                break
    # In the order given
    solved = sorted(results)
    solutions = [results[index] for index in solved]
    return RadiusPath(radii[solved], solutions, parameter)


def _checked_radii(radii) -> np.ndarray:
    """Return a list of radii as an array, or raise if it is none."""
    with about("radii"):
        radii = np.asarray(radii, dtype=np.float64)
    if radii.ndim != 1 or len(radii) == 0:
        raise ValueError(
            "radii must be a non-empty list of numbers, got an array of shape "
            f"{radii.shape}."
        )
    return radii


def _next(
    solver: Solver,
    problem: Problem,
    last: Result | None,
    time: TimeLimit,
    limits: dict[str, Any],
) -> Result:
    """Start from the previous solution; if that stalls, solve from scratch."""
    if isinstance(solver, InteriorPoint) and not time.spent:
        # On few rows, the certificate of another start takes longer than the step that
        # it saves.
        starts_cold = solver.takes_compiled_steps(problem)
        if starts_cold or not problem.charges_norm:
            last = None
    result = run(problem, solver, start=last, max_time=time, **limits)
    has_stalled = last is not None and result.status is Status.STALLED
    if has_stalled and isinstance(solver, InteriorPoint):
        result = run(problem, solver, max_time=time, **limits)
    return result
