"""Solutions along a grid of radii, each warm-started from the previous one."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from drsvm.problem.problem import Problem, check_problem
from drsvm.problem.result import Result, Status
from drsvm.solvers.base import Solver
from drsvm.solvers.interior_point.interior_point_solver import InteriorPoint
from drsvm.solvers.loop import run
from drsvm.solvers.path.radius_max import radius_max
from drsvm.solvers.reformulation.shifted_columns import without_far_columns
from drsvm.solvers.selection import AUTO_TOL, check_taken, is_auto, make_solver
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

    Examples
    --------
    >>> from drsvm import Problem, radius_path
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], fit_intercept=True)
    >>> path = radius_path(problem, [0.4, 0.2, 0.1])
    >>> path.weights.shape, path[0].gap <= 1e-6
    ((3, 1), True)
    """

    radii: np.ndarray
    results: list[Result] = field(repr=False)

    @property
    def weights(self) -> np.ndarray:
        """The weights, one row per radius."""
        return np.stack([result.weights for result in self.results])

    @property
    def intercepts(self) -> np.ndarray:
        """The intercepts."""
        return np.array([result.intercept for result in self.results])

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the path."""
        return any(result.status is Status.INTERRUPTED for result in self.results)

    def table(self) -> dict[str, np.ndarray]:
        """Return the columns radius, objective, lower_bound, gap, radius_price, n_nonzero, n_iter, time and status."""
        columns: dict[str, Any] = {"radius": self.radii}
        for name in ("objective", "lower_bound", "gap", "radius_price"):
            columns[name] = np.array([getattr(result, name) for result in self.results])
        columns["n_nonzero"] = np.array(
            [np.count_nonzero(result.weights) for result in self.results]
        )
        columns["n_iter"] = np.array([result.n_iter for result in self.results])
        columns["time"] = np.array([result.time for result in self.results])
        columns["status"] = np.array([str(result.status) for result in self.results])
        return columns

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, index: int) -> Result:
        return self.results[index]

    def __str__(self) -> str:
        lines = [
            "    radius   objective       gap  radius price  nonzero  iterations  status"
        ]
        lines += [
            f"{radius:10.4g}  {r.objective:10.8f}  {r.gap:8.1e}  {r.radius_price:12.5g}  "
            f"{np.count_nonzero(r.weights):7d}  {r.n_iter:10d}  {r.status}"
            for radius, r in zip(self.radii, self.results, strict=True)
        ]
        return "\n".join(lines)


def radius_path(
    problem: Problem,
    radii: Sequence[float] | np.ndarray | None = None,
    *,
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
        Its own radius is ignored.
    radii : sequence of floats, optional
        The radii; by default `n_radii` of them, log-spaced from `radius_max(problem)`
        down to `smallest` times it. They are solved from the largest down and returned
        in the order given.
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

    Examples
    --------
    >>> from drsvm import Problem, radius_path
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], fit_intercept=True)
    >>> path = radius_path(problem, n_radii=5)
    >>> len(path), bool((path.table()["gap"] <= 1e-6).all())
    (5, True)
    """
    check_problem(problem, "radius_path")
    time = TimeLimit.of(max_time)
    shifted = without_far_columns(problem)
    problem = shifted.problem
    chosen = make_solver(solver, problem, **settings)
    if radii is None:
        # In a quarter of the time
        largest = radius_max(problem, max_time=time.share(4), n_threads=n_threads)
        if largest == 0.0:
            raise ValueError(
                "w = 0 is optimal for every radius, so there is no path: pass radii or check flip_cost and X."
            )
        radii = largest * np.logspace(0.0, math.log10(smallest), n_radii)
    radii = np.asarray(radii, dtype=np.float64)
    if radii.ndim != 1 or len(radii) == 0:
        raise ValueError(
            f"radii must be a non-empty list of numbers, got an array of shape {radii.shape}."
        )
    problems = [problem.replace(radius=float(radius)) for radius in radii]
    for each in problems:
        check_taken(chosen, each)
    order = np.argsort(-radii, kind="stable")
    limits = {
        "tol": AUTO_TOL if tol is None and is_auto(solver) else tol,
        "max_iter": max_iter,
    }
    limits |= {"random_state": random_state, "n_threads": n_threads}
    results = dict[int, Result]()
    last = None
    with single_threaded_blas():  # once, not for every radius
        for done, index in enumerate(order):
            last = _next(
                chosen, problems[index], last, time.share(len(order) - done), limits
            )
            at_radius = replace(shifted, problem=problems[index])
            result = at_radius.to_outer(last)
            results[int(index)] = result
            stopped = callback is not None and callback(int(index), result)
            if stopped or result.status in (Status.INTERRUPTED, Status.LOST):
                break
    solved = sorted(results)
    return RadiusPath(radii[solved], [results[index] for index in solved])


def _next(
    solver: Solver,
    problem: Problem,
    last: Result | None,
    time: TimeLimit,
    limits: dict[str, Any],
) -> Result:
    """Start from the previous solution; if that stalls, solve from scratch."""
    # On few rows, the certificate of another start takes longer than the step that it
    # saves.
    anew = isinstance(solver, InteriorPoint) and (
        problem.radius == 0 or solver.takes_compiled_steps(problem)
    )
    start = None if anew and not time.spent else last
    result = run(problem, solver, start=start, max_time=time, **limits)
    if (
        isinstance(solver, InteriorPoint)
        and result.status is Status.STALLED
        and start is not None
    ):
        result = run(problem, solver, max_time=time, **limits)
    return result
