"""Solutions along a grid of radii, each warm-started from the previous ones.

The interior-point solver extrapolates them in the logarithm of the radius. Where the last extrapolation was good, a
working set of rows is enough for the next run (`working_set.py`); otherwise it starts from scratch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from drsvm.clock import TimeLimit
from drsvm.model.centring import Centred
from drsvm.model.problem import Problem, check_problem
from drsvm.model.result import Result, Status
from drsvm.parallel import single_threaded_blas
from drsvm.solvers.base import EVERY_PRICE, Candidate, Limits, Solver, State
from drsvm.solvers.interior_point.solver import InteriorPoint
from drsvm.solvers.interior_point.starts import start_at
from drsvm.solvers.interior_point.state import InteriorPointState
from drsvm.solvers.interior_point.working_set import (
    Estimate,
    Sample,
    WorkingSetRun,
    WorkingSetState,
    pieces_at,
    screening_pays,
)
from drsvm.solvers.loop import run
from drsvm.solvers.path.radius_max import radius_max
from drsvm.solvers.selection import AUTO_TOL, check_taken, is_auto, make_solver


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
        columns["n_nonzero"] = np.array([np.count_nonzero(result.weights) for result in self.results])
        columns["n_iter"] = np.array([result.n_iter for result in self.results])
        columns["time"] = np.array([result.time for result in self.results])
        columns["status"] = np.array([str(result.status) for result in self.results])
        return columns

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, index: int) -> Result:
        return self.results[index]

    def __str__(self) -> str:
        lines = ["    radius   objective       gap  radius price  nonzero  iterations  status"]
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
    callback=None,
    random_state=None,
    n_threads: int | None = None,
    **settings,
) -> RadiusPath:
    """Solve a problem for many radii, each warm-started from the previous ones.

    With the interior-point solver and many rows per feature, the previous solutions tell which rows the next one needs
    (`screening`): a radius then costs little more than its certificate, which is on all rows.

    Parameters
    ----------
    problem : Problem
        Its own radius is ignored.
    radii : sequence of floats, optional
        The radii; by default `n_radii` of them, log-spaced from `radius_max(problem)` down to `smallest` times it.
        They are solved from the largest down and returned in the order given.
    n_radii, smallest : int, float
        Size of the default grid, and ratio of its smallest to its largest radius.
    solver, tol, max_iter, random_state, n_threads, **settings
        As in `drsvm.solve`, for every radius.
    max_time : float, optional
        Time limit for the whole path, in seconds. The radii share it evenly, and unused time is passed on to the next
        ones. A radius that is reached after the time is up keeps the classifier of the previous one, with its own
        certificate and the status TIME_LIMIT.
    callback : callable, optional
        Called with the index and the Result after every radius; a true return value ends the path. Ctrl-C ends it
        too, and the last result then has the status INTERRUPTED; the loss of rows on a cluster likewise, with LOST.
        While the default grid is being computed, Ctrl-C raises KeyboardInterrupt.

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
    time, centred = TimeLimit.of(max_time), Centred.of(problem)
    problem = centred.problem
    chosen = make_solver(solver, problem, **settings)
    if radii is None:
        largest = radius_max(problem, max_time=time.share(4), n_threads=n_threads)  # in a quarter of the time
        if largest == 0.0:
            raise ValueError(
                "w = 0 is optimal for every radius, so there is no path: pass radii or check flip_cost and X."
            )
        radii = largest * np.logspace(0.0, math.log10(smallest), n_radii)
    radii = np.asarray(radii, dtype=np.float64)
    if radii.ndim != 1 or len(radii) == 0:
        raise ValueError(f"radii must be a non-empty list of numbers, got an array of shape {radii.shape}.")
    problems = [problem.replace(radius=float(radius)) for radius in radii]
    for each in problems:
        check_taken(chosen, each)
    order = np.argsort(-radii, kind="stable")
    limits = {"tol": AUTO_TOL if tol is None and is_auto(solver) else tol, "max_iter": max_iter}
    limits |= {"random_state": random_state, "n_threads": n_threads}
    results: dict[int, Result] = {}
    walk = _Walk(chosen, problem, limits)
    with single_threaded_blas():  # once, not for every radius
        for done, index in enumerate(order):
            result = walk.solve(problems[index], time.share(len(order) - done))
            result = results[int(index)] = centred.from_centred(result, problems[index].radius)
            stopped = callback is not None and callback(int(index), result)
            if stopped or result.status in (Status.INTERRUPTED, Status.LOST):
                break
    solved = sorted(results)
    return RadiusPath(radii[solved], [results[index] for index in solved])


class _Walk:
    """Solves a sequence of problems with decreasing radii."""

    def __init__(self, solver: Solver, problem: Problem, limits: dict[str, Any]):
        self.solver, self.limits, self.last = solver, limits, None
        self.warm: Forecasting | None = None  # starts from the previous solutions
        self.is_interior_point = isinstance(solver, InteriorPoint)
        # On few rows, the certificate of another start takes longer than the step that it saves.
        self.starts_anew = isinstance(solver, InteriorPoint) and solver.takes_compiled_steps(problem)
        if isinstance(solver, InteriorPoint) and not self.starts_anew and solver.screening and screening_pays(problem):
            self.warm = Forecasting(solver)

    def solve(self, problem: Problem, time: TimeLimit) -> Result:
        """Start from the previous solutions; if that stalls, solve from scratch."""
        solver, start = self.solver, self.last
        if self.is_interior_point and not time.spent:
            if self.warm is not None and problem.radius > 0:
                solver, start = self.warm, None
            elif problem.radius == 0 or self.starts_anew:
                start = None
        result = run(problem, solver, start=start, max_time=time, **self.limits)
        cold = solver is self.solver and start is None
        if self.is_interior_point and result.status is Status.STALLED and not cold:
            result = run(problem, self.solver, max_time=time, **self.limits)
        self.last = result
        return result


class Forecasting(Solver):
    """An interior-point solver whose runs, one radius after the other, start from a prediction by the previous ones."""

    prices = EVERY_PRICE
    uses_sums_only = True

    def __init__(self, solver: InteriorPoint):
        self.name, self.default_tol, self.default_max_iter = solver.name, solver.default_tol, solver.default_max_iter
        self.solver = solver
        self.forecast: Forecast | None = None
        self.run: WorkingSetRun | None = None

    def start(self, problem: Problem, limits: Limits) -> State:
        forecast = self.forecast = self.forecast or Forecast(Sample(problem))
        if self.run is not None:
            last = self.run.current
            forecast.add(last.problem.radius, last.point, last.lam)
        estimate = forecast.at(problem.radius)
        pieces = None if estimate is None else pieces_at(problem, estimate)
        if estimate is not None and pieces is not None and pieces.useful_for(problem):
            first = WorkingSetState(problem, self.solver, limits, forecast.sample, estimate, pieces)
        else:
            start, last = None, forecast.last
            if last is not None:
                d = problem.n_features
                start = start_at(problem, Candidate(last.point[:d], float(last.point[d:].sum())))
            first = InteriorPointState(problem, self.solver, limits, start=start)
        self.run = WorkingSetRun(first, forecast.sample)
        return self.run


class Solution(NamedTuple):
    """The solution at a radius."""

    log_radius: float
    point: np.ndarray
    lam: float


class Forecast:
    """The last two solutions, what was expected of the last one, and how wrong that was."""

    def __init__(self, sample: Sample):
        self.sample = sample
        self.before: Solution | None = None
        self.last: Solution | None = None
        self.expected: Solution | None = None
        self.errors: tuple[float, float] | None = None

    def add(self, radius: float, point, lam: float) -> None:
        self.before, self.last = self.last, Solution(math.log(radius), point, lam)
        self.errors = None
        if self.expected is not None:
            self.errors = self.sample.error(point - self.expected.point), abs(lam - self.expected.lam)

    def at(self, radius: float) -> Estimate | None:
        """Return the expected solution at the next radius, or None if too little is known."""
        last, before, log_radius = self.last, self.before, math.log(radius)
        self.expected = last
        if last is None or before is None:
            return None
        self.expected = None
        ahead, known = log_radius - last.log_radius, last.log_radius - before.log_radius
        if known == 0.0 or abs(ahead) > 2.0 * abs(known):  # more than twice the distance of the last two radii
            return None
        ratio = ahead / known  # on the line through the last two solutions
        point, lam = last.point + ratio * (last.point - before.point), last.lam + ratio * (last.lam - before.lam)
        self.expected = Solution(log_radius, point, lam)
        if self.errors is None or not lam > 0.0:
            return None
        return Estimate.with_errors(self.expected.point, self.expected.lam, *self.errors)
