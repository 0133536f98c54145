"""Solutions along a grid of radii, each started from the one before, and the natural scale of such a grid."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from drsvm.clock import TimeLimit
from drsvm.model.norms import norm_for
from drsvm.model.problem import Problem
from drsvm.model.result import Result, Status
from drsvm.solvers import default_tol, make_solver, solve
from drsvm.solvers.base import Limits, Solver, State
from drsvm.solvers.centring import Centred
from drsvm.solvers.interior_point import InteriorPoint, InteriorPointState
from drsvm.solvers.selection import choose

MOST_SOLVES = 60

SNAPSHOT = 8.0
"""A snapshot is taken where the gap is this many times what the next change of the radius costs."""

GRID_PARTS = 4
"""The search for the largest radius of a grid may take this part of the time."""


def radius_max(problem: Problem, *, max_time: float | TimeLimit | None = None, n_threads: int | None = None) -> float:
    """Return the smallest radius at which w = 0 is optimal: the natural scale of a radius.

    It does not depend on `l2`. Without an intercept and with trusted labels it is ‖Σ π_i y_i x_i‖_p; so it is where
    labels are too dear to be flipped, at twice the largest margin of the best direction. In general the
    optimum f is a concave function of the radius ε with slope λ, and the best constant classifier has the objective
    V(ε) = min(1, 2·(share of the smaller class) + 2ε/flip_cost), the second only with an intercept. Newton's method for
    f = V climbs to the answer from below, in a few solves.

    With an intercept and classes of unequal size, w = 0 may be optimal for some radii, and a larger one may again call
    for another classifier; the answer is the smallest of all.

    Parameters
    ----------
    problem : Problem
        Its radius and l2 are ignored.
    max_time : float, optional
        Limit on the seconds of all solves together.
    n_threads : int, optional
        Threads for the solves.

    Returns
    -------
    float
        The radius, to a relative accuracy of about 1e-7 (1e-4 where there are too many features for the interior
        point). Where the time is over before that, the radius reached so far, which is too small; Ctrl-C raises
        KeyboardInterrupt.
    """
    time = TimeLimit.of(max_time)
    if problem.flip_cost == 0:
        return 0.0
    problem = Centred.of(problem).problem
    total, _ = problem.weighted_sum(problem.sample_weight)
    if not problem.fit_intercept:
        direction = norm_for(problem.norm.q).worst_direction(total)
        if 2.0 * problem.margins(direction).max() <= problem.flip_cost:
            return problem.norm.dual_value(total)
    lines = _constant_classifiers(problem)
    unit = problem.typical_row_norm()
    # With one line the first tangent should be a good one; with two, the lower of them must not be missed.
    radius = 0.5 * min(problem.norm.dual_value(total), problem.flip_cost) if len(lines) == 1 else 1e-3 * unit
    radius, climbing = radius or 1e-2 * unit, False
    solver = choose(problem)
    tol = 1e-9 if solver == "interior-point" else 1e-6
    for _ in range(MOST_SOLVES):
        result = solve(problem.replace(radius=radius, l2=0.0), solver, tol=tol, max_time=time, n_threads=n_threads)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if result.status is Status.TIME_LIMIT:
            return radius
        missing = [(height + slope * radius - result.objective, slope) for height, slope in lines]
        if min(missing)[0] > max(2.0 * result.gap, 1e-9):
            # A line that is less steep than f is never reached; and a tangent never leads beyond the answer.
            steps = [gap / (result.radius_price - slope) for gap, slope in missing if result.radius_price > slope]
            radius, climbing = radius + min(steps), True
        elif climbing:
            return radius
        else:
            radius *= 0.1
            if radius <= 1e-12 * unit:
                return 0.0
    return radius


def _constant_classifiers(problem: Problem) -> list[tuple[float, float]]:
    """Return the objectives of the best constant classifiers as lines (height, slope) in the radius."""
    share = float(problem.sample_weight[problem.signs > 0].sum())
    smaller = 2.0 * min(share, 1.0 - share)
    if math.isinf(problem.flip_cost):
        return [(smaller, 0.0)]
    undecided = (1.0, 0.0)
    return [undecided, (smaller, 2.0 / problem.flip_cost)] if problem.fit_intercept else [undecided]


@dataclass(frozen=True)
class RadiusPath:
    """Solutions for decreasing radii.

    Attributes
    ----------
    radii : array
        The radii, in the order given.
    results : list of Result
        One per radius.
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
        """Whether Ctrl-C has ended the path."""
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
    """Solve a problem for many radii, each from where the one before has led.

    Parameters
    ----------
    problem : Problem
        Its own radius is ignored.
    radii : sequence of floats, optional
        The radii; by default `n_radii` of them, log-spaced from `radius_max(problem)` down to `smallest` times it.
        They are solved from the largest down and returned in the order given.
    n_radii, smallest : int, float
        The default grid.
    solver, tol, max_iter, random_state, n_threads, **settings
        As in `drsvm.solve`, for every radius.
    max_time : float, optional
        Limit on the seconds of the whole path. The radii share it evenly, and what one does not use is left for those
        after it. A radius whose turn comes when the time is over keeps the classifier of the one before, with a
        certificate of its own and the status TIME_LIMIT.
    callback : callable, optional
        Called with the index and the Result after every radius; a true return value ends the path there, as does
        Ctrl-C: its last result has the status INTERRUPTED then. While the default grid is being found, Ctrl-C raises
        KeyboardInterrupt.

    Returns
    -------
    RadiusPath
    """
    time, centred = TimeLimit.of(max_time), Centred.of(problem)
    problem = centred.problem
    radii = _grid(problem, n_radii, smallest, time, n_threads) if radii is None else np.asarray(radii, dtype=np.float64)
    if radii.ndim != 1 or len(radii) == 0:
        raise ValueError(f"radii must be a non-empty list of numbers, got an array of shape {radii.shape}.")
    problems = [problem.replace(radius=float(radius)) for radius in radii]
    order = np.argsort(-radii, kind="stable")
    limits = {"tol": default_tol(solver, tol), "max_iter": max_iter}
    limits |= {"random_state": random_state, "n_threads": n_threads}
    results: dict[int, Result] = {}
    with _Walk(make_solver(solver, problem, **settings), [problems[index] for index in order], limits) as walk:
        for done, index in enumerate(order):
            result = walk.solve(problems[index], time.share(len(order) - done))
            result = results[int(index)] = centred.back(result)
            stopped = callback is not None and callback(int(index), result)
            if stopped or result.status is Status.INTERRUPTED:
                break
    solved = sorted(results)
    return RadiusPath(radii[solved], [results[index] for index in solved])


class _Walk:
    """Solves one problem after another, with decreasing radii."""

    def __init__(self, solver: Solver, problems: list[Problem], limits: dict[str, Any]):
        self.solver, self.limits = solver, limits
        self.chained = _Chained(solver, problems) if isinstance(solver, InteriorPoint) else None
        self.last: Result | None = None

    def __enter__(self) -> "_Walk":
        return self

    def __exit__(self, *error) -> None:
        if self.chained is not None:
            self.chained.close()

    def solve(self, problem: Problem, time: TimeLimit) -> Result:
        """Go on from the problem before; where that does not lead to the end, start afresh."""
        self.last = self._chained_result(problem, time) or self._fresh_result(problem, time)
        return self.last

    def _chained_result(self, problem: Problem, time: TimeLimit) -> Result | None:
        if self.chained is None or time.spent or problem.radius == 0:
            return None
        result = solve(problem, self.chained, max_time=time, **self.limits)
        return None if result.status is Status.STALLED else result

    def _fresh_result(self, problem: Problem, time: TimeLimit) -> Result:
        # An interior point that starts afresh does so from its own start; but without time, the last point is all.
        start = self.last if self.chained is None or time.spent else None
        return solve(problem, self.solver, start=start, max_time=time, **self.limits)


def _grid(problem: Problem, n_radii: int, smallest: float, time: TimeLimit, n_threads) -> np.ndarray:
    largest = radius_max(problem, max_time=time.share(GRID_PARTS), n_threads=n_threads)
    if largest == 0.0:
        raise ValueError("w = 0 is optimal for every radius: there is no path. Give radii, or check flip_cost and X.")
    return largest * np.logspace(0.0, math.log10(smallest), n_radii)


class _Chained(Solver):
    """An interior point that goes on from the run before, with the rows where they are."""

    def __init__(self, solver: InteriorPoint, problems: list[Problem]):
        self.name, self.default_tol, self.default_max_iter = solver.name, solver.default_tol, solver.default_max_iter
        self.solver = solver
        self.next_radius = {id(a): b.radius for a, b in pairwise(problems)}
        self.state: InteriorPointState | None = None

    def start(self, problem: Problem, limits: Limits) -> "State":
        """Start afresh for the first radius, go on for the others."""
        if self.state is None:
            self.state = InteriorPointState(problem, self.solver, limits)
        else:
            self.state.go_on_with(problem, limits)
        change = abs(self.next_radius.get(id(problem), problem.radius) - problem.radius)
        return _KeptOpen(self.state, SNAPSHOT * change)

    def close(self) -> None:
        """Give the engine back."""
        if self.state is not None:
            self.state.close()


class _KeptOpen(State):
    """A run that leaves its engine open, and takes a snapshot on its way for the next radius."""

    def __init__(self, state: InteriorPointState, change_of_radius: float):
        self.state, self.change_of_radius = state, change_of_radius
        self.certificate_due, self.judged, self.info = state.certificate_due, state.judged, state.info

    @property
    def finished(self) -> bool:  # type: ignore[override]
        return self.state.finished

    def step(self) -> None:
        self.state.snapshot_mu = self.change_of_radius * self.state.level / self.state.total_weight
        self.state.step()

    def candidate(self):
        return self.state.candidate()
