"""Kernel problems, in a growing span of functions, until the answer of the full problem is proven.

An optimal f is a multiple of v = Σ_i u_i φ(x_i), u = (α − β) y. Most rows have α at one
of its bounds, 0 or π: if these were known, f would be in the span of their sum and of
the other rows, which are few. So each iteration solves the problem in a span with the
interior-point solver, and adds v and the rows whose multipliers are between the bounds.
Multipliers of the small problem bound the full one from below, where v is measured with
its part outside the span.

Rough solutions, without proof, are linear problems in the span of few functions.
Without some of the rows, an optimal f is close to a multiple of v over the others. What
changes are mostly coefficients between their bounds: v and a few such rows span what is
needed; where no solution is known, more rows take their place.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from drsvm.problem.backends import to_numpy
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result, Status
from drsvm.solvers.base import Candidate, Capability, Limits, Solver, State
from drsvm.solvers.interior_point.interior_point_solver import InteriorPoint
from drsvm.solvers.interior_point.small import MAX_ENTRIES
from drsvm.solvers.landmarks.span import WIDER, Span, drawn_rows, rough_span
from drsvm.solvers.loop import run
from drsvm.solvers.selection import interior_point_seconds
from drsvm.utils.clock import TimeLimit

FIRST = 100  # landmarks to start with, and at least to add
# Up to so many rows, all are landmarks: the path to the answer then depends on their
# contents only
ALL_AT_ONCE = 300
NEEDED = 0.7  # share of the span that must be needed for all of it to be kept
BETWEEN = 1e-3  # A multiplier within this share of its bounds is at one of them
# tolerance in a span: the largest, and as a share of the gap that was proven last
LOOSEST = 1e-4
ACCURACY = 0.03
# its usual and smallest value towards the end, as shares of the tolerance asked for
SHARE = 0.3
MIN_SHARE = 0.01
# how much the features in a span may take, and how many copies of them there are
SHARE_OF_MEMORY = 0.4
COPIES = 4
# seconds of a solve per row and squared size, and how much larger the next span should
# be
SOLVING = 1.5e-9
MORE = 1.1
# Seconds of the interior point, in which it is preferred for a rough solution
QUICK = 1.0
ROUGH = 200  # landmarks of a rough solution
# Least of one close to a known solution; or as many as leave rows few enough for
# compiled steps
NEAR_A_SOLUTION = 80


@dataclass(frozen=True)
class Landmarks(Solver):
    """Settings of the solver for kernels.

    Attributes
    ----------
    n_landmarks : int, optional
        Number of rows whose span contains the answer; by default as many rows, and sums
        of rows, as the tolerance needs.
    proves : bool
        Whether to prove a lower bound, which takes a pass over all values of the
        kernel. Without, a run ends with the first function.
    """

    name = "landmarks"
    default_tol = 1e-6
    default_max_iter = 100
    capabilities = Capability.FLIP_COSTS | Capability.INTERCEPT_COST
    uses_sums_only = True

    n_landmarks: int | None = None
    proves: bool = True

    def unsupported_reason(self, problem: Problem) -> str | None:
        if problem.rows.own_solver != self.name:
            return (
                "solver 'landmarks' takes problems of a kernel only: use solver='auto'."
            )
        if problem.radius == 0.0 and problem.l2 == 0.0:
            return "a kernel needs radius > 0 or l2 > 0, got radius=0 and l2=0: weights would cost nothing."
        return super().unsupported_reason(problem)

    def start(self, problem: Problem, limits: Limits) -> State:
        return LandmarkState(problem, self, limits)


class LandmarkState(State):
    """A run: one step solves the problem in the span, and extends the span before the next."""

    def __init__(self, problem: Problem, settings: Landmarks, limits: Limits):
        self.problem = problem
        self.settings = settings
        self.limits = limits
        self.span = Span(problem.rows)
        self.gap = 1.0
        self.result: Any = None  # of the last step
        self.most = int(
            min(
                problem.n_rows,
                SHARE_OF_MEMORY * problem.rows.room() / (8 * COPIES * problem.n_rows),
            )
        )
        self.reason = ""
        self.first = None
        self.reserve = 0.0
        self.offered = Candidate(np.zeros(problem.n_rows))
        first = settings.n_landmarks or (
            FIRST if problem.n_rows > ALL_AT_ONCE else problem.n_rows
        )
        first = max(
            1, int(min(first, self.most, functions_in_time(problem, self.limits.time)))
        )
        if settings.proves:
            if first < problem.n_rows:
                rows = limits.generator().permutation(problem.n_rows)
            else:
                rows = np.arange(first)
            self.span.add_landmarks(np.sort(rows[: WIDER * first]), first)
        else:
            self.span = copy(rough_span(problem, first))
        if first < problem.n_rows and settings.n_landmarks is None:
            self.tol = LOOSEST
        else:
            self.tol = SHARE * limits.tol
        if limits.start is not None and settings.n_landmarks is None:
            self.span.add_sum(limits.start.weights)
            self.first = (
                self.span.products(limits.start.weights),
                limits.start.intercept,
            )

    def step(self) -> None:
        if self.result is not None and self.settings.n_landmarks is None:
            self._change_span()
        limits = {"max_time": self.limits.time, "n_threads": self.limits.n_threads}
        problem = self.span.linear(
            self.problem.replace(radius=self.problem.radius - self.reserve)
        )
        self.result = run(
            problem, InteriorPoint(), tol=self.tol, start=self.first, **limits
        )
        if self.result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if functions_in_time(self.problem, self.limits.time) < MORE * self.span.size:
            self.step_seconds = np.inf
        else:
            self.step_seconds = 0.0

    def _change_span(self) -> None:
        """Add v and rows between the bounds.

        Of a span that is far larger than that, keep only what is needed.
        """
        problem = self.problem
        candidate = self.offered
        old = self.span
        signed, order, n_free = between_bounds(problem, self.result)
        free = order[:n_free]
        small = len(free) < NEEDED * old.size
        if small:
            self.span = Span(problem.rows)
            self.span.add_landmarks(
                np.intersect1d(old.landmarks, order[: 2 * len(free)]), old.size
            )
            # So that the next function is no worse
            self.span.add_sum(candidate.weights)
        room = (
            min(self.most, functions_in_time(problem, self.limits.time))
            - self.span.size
        )
        most = int(min(max(FIRST, old.size // 2), room))
        new = np.setdiff1d(free, self.span.landmarks, assume_unique=True)
        added = self.span.add_landmarks(new[: WIDER * most], most)
        if candidate.hinge_dual is not None:  # otherwise it takes too long
            v = problem.rows.weighted_sum(signed)
            added += self.span.add_sum(v)
            self.reserve = 0.0
            if not (added or small):
                # By how much rounding errors may increase the norm of a sum in the
                # span: multipliers that use up less of the radius need not be scaled
                # down, which would cost far more.
                rounding = float(problem.rows.coordinates(v)[0]) - float(
                    np.linalg.norm(self.span.products(v))
                )
                self.reserve = min(max(rounding, 0.0), 0.5 * problem.radius)
        self.first = self.span.products(candidate.weights), candidate.intercept
        self.finished = not (added or small) and self.tol <= MIN_SHARE * self.limits.tol
        aim = max(ACCURACY * self.gap, SHARE * self.limits.tol)
        if added or small:
            self.tol = min(self.tol, aim)
        else:
            self.tol = MIN_SHARE * self.limits.tol
        if self.span.size >= self.most:
            self.finished = True
            self.reason = "memory"
            self.tol = min(self.tol, SHARE * self.limits.tol)  # there is no next time

    def candidate(self) -> Candidate:
        """Return the function as coefficients of the rows, and the multipliers if there is time to measure their v."""
        if self.result is None:
            return self.offered
        weights = self.span.coefficients(self.result.weights)
        rows = self.problem.rows
        alpha, beta = (
            self.problem.multipliers_from(of)
            for of in (self.result.hinge_dual, self.result.flip_dual)
        )
        if (
            not self.settings.proves or rows.values is None
        ):  # what the span knows saves another pass over all values
            rows.remember(
                weights, self.span.features @ rows.vector(self.result.weights)
            )
        proven = self.settings.proves and rows.prepare(
            weights, (alpha - beta) * self.problem.signs, self.limits.time
        )
        self.offered = Candidate(
            weights, self.result.intercept, *((alpha, beta) if proven else ())
        )
        return self.offered

    def on_certificate(self, gap: float) -> None:
        """Keep the gap; landmarks that were chosen beforehand cannot prove a smaller one."""
        self.gap = gap if self.offered.hinge_dual is not None else 0.0
        self.finished = (
            self.finished
            or self.settings.n_landmarks is not None
            or not self.settings.proves
        )

    def info(self) -> dict:
        found: dict = {"landmarks": self.span.landmarks, "functions": self.span.size}
        if self.offered.hinge_dual is None:
            found["bound_in_span"] = getattr(self.result, "lower_bound", -np.inf)
        return found | ({"limit": self.reason} if self.reason else {})


def between_bounds(
    problem: Problem, result: Result | Candidate
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (α − β) y, the rows by the distance of their multipliers from bounds, and how many are between these."""
    alpha, beta = (
        problem.multipliers_from(of) for of in (result.hinge_dual, result.flip_dual)
    )
    between = to_numpy(
        np.minimum(alpha + beta, problem.sample_weight - np.abs(alpha - beta))
        / problem.sample_weight
    )
    return (
        (alpha - beta) * problem.signs,
        np.argsort(-between, kind="stable"),
        int((between > BETWEEN).sum()),
    )


def functions_in_time(problem: Problem, time: TimeLimit, n_solves: int = 1) -> float:
    """Return in how many functions of a kernel solves, and values, are likely to take half of the time that is left."""
    if not (time.limited and problem.rows.is_kernel):
        return np.inf
    each = problem.rows.seconds_per_value
    left = max(time.left(), 0.0)
    c = 2.0 * n_solves * SOLVING
    return ((each**2 + c * left / problem.n_rows) ** 0.5 - each) / c


def rough_solver(problem: Problem) -> str | Solver:
    """Return a solver for a solution that needs no proof: of a kernel, with as many landmarks as do for a rough one."""
    if problem.rows.is_kernel:
        return Landmarks(min(problem.n_rows, ROUGH), proves=False)
    # With norm=1, epochs are rarely faster overall, and rounding errors change what
    # they find.
    if problem.norm.p == 1 and 0.0 < interior_point_seconds(problem) <= QUICK:
        return "interior-point"
    return "auto"


def linear_problems(
    problem: Problem, trained: list[np.ndarray], solution: Result | Candidate | None
) -> list[tuple[Problem, tuple[np.ndarray, float] | None]]:
    """Return a linear problem with the same rows for each of several masks of rows to train on, and where to start."""
    if not problem.rows.is_kernel:  # as it is, at its solution
        return [
            (
                problem,
                None if solution is None else (solution.weights, solution.intercept),
            )
        ] * len(trained)
    rows = problem.rows
    signed = None
    if (
        solution is None or rows.values is None
    ):  # a sum would take a pass over all pairs of rows
        common = rough_span(problem, ROUGH)
    else:
        common = Span(rows)
        signed, order, n_free = between_bounds(problem, solution)
        size = min(ROUGH, max(NEAR_A_SOLUTION, MAX_ENTRIES // problem.n_rows))
        common.add_landmarks(
            np.union1d(order[: min(n_free, WIDER * size)], drawn_rows(problem, size)),
            size,
        )
    sums = [None] * len(trained)
    if signed is not None:
        sums = rows.weighted_sums(
            [np.where(rows.vector(mask), signed, 0.0) for mask in trained]
        )
    found = []
    for coefficients in sums:
        span = copy(common)
        start = None
        if coefficients is not None:
            span.add_sum(coefficients)
        if solution is not None:
            start = span.products(solution.weights), solution.intercept
        found.append((span.linear(problem), start))
    return found
