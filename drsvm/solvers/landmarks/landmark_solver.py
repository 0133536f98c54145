"""Kernel problems in a growing span of functions, until the full problem is proven.

In the feature space of a kernel, rows are functions φ(x_i) and the weights are a
function f (`problem/kernel_rows.py`). An optimal f is a multiple of v = Σ_i u_i φ(x_i),
u = (α − β) y. Most rows have α at one of its bounds, 0 or π: if these were known, f
would be in the span of their sum and of the other rows, which are few. So each
iteration solves the problem in a span with the interior-point solver, and adds v and
the rows whose multipliers are between the bounds, as **landmarks**. Multipliers of the
small problem bound the full one from below, where v is measured with its part outside
the span.

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

# The number of landmarks to start with, and the least number to add
FIRST = 100
# Up to this number of rows, all are landmarks: the path to the answer then depends on
# their contents only.
ALL_AT_ONCE = 300
# The share of the span that must be needed for all of it to be kept
NEEDED = 0.7
# A multiplier within this share of its bounds is at one of them.
BETWEEN = 1e-3
# The tolerance in a span: at most LOOSEST, ACCURACY times the gap that was proven last,
# and towards the end SHARE times the tolerance asked for, at least MIN_SHARE times that
LOOSEST = 1e-4
ACCURACY = 0.03
SHARE = 0.3
MIN_SHARE = 0.01
# A run ends after this number of steps that do not halve the gap: what is left are
# rounding errors.
PATIENCE = 10
# How much of the memory the features in a span may take, and how many copies of them
# there are in a solve
SHARE_OF_MEMORY = 0.4
COPIES = 4
# Seconds of a solve per row and squared size of the span, as measured
SOLVING = 1.5e-9
# There is another step only if there is time for a span this many times as large.
MORE = 1.1
# The interior point is preferred for a rough solution up to this number of seconds.
QUICK = 1.0
# The number of landmarks of a rough solution
ROUGH = 200
# Close to a known solution there are fewer: as many as leave the rows few enough for
# compiled steps, but at least this number.
NEAR_A_SOLUTION = 80


@dataclass(frozen=True)
class Landmarks(Solver):
    """Settings of the solver for kernels.

    Parameters
    ----------
    n_landmarks : int, optional
        Number of rows whose span contains the answer; by default as many rows, and sums
        of rows, as the tolerance needs.
    proves : bool
        Whether to prove a lower bound, which takes a pass over all values of the
        kernel. Without, a run ends with the first function.

    References
    ----------
    .. [1] B. Schölkopf, R. Herbrich and A. J. Smola, "A generalized representer
       theorem", COLT 2001 (an optimal function is a sum over the rows).
    .. [2] S. Fine and K. Scheinberg, "Efficient SVM training using low-rank kernel
       representations", Journal of Machine Learning Research 2, 243-264, 2001 (the
       interior-point method in a span of few functions, chosen by a pivoted Cholesky
       factorisation).
    """

    name = "landmarks"
    default_tol = 1e-6
    default_max_iter = 100
    capabilities = (
        Capability.FLIP_COSTS | Capability.INTERCEPT_COST | Capability.ROW_RADIUS
    )
    uses_sums_only = True

    n_landmarks: int | None = None
    proves: bool = True

    def unsupported_reason(self, problem: Problem) -> str | None:
        if problem.rows.own_solver != self.name:
            return (
                "solver 'landmarks' takes problems of a kernel only: use solver='auto'."
            )
        if not problem.charges_norm and problem.l2 == 0.0:
            return (
                "a kernel needs radius > 0 or l2 > 0, got radius=0 and l2=0: weights "
                "would cost nothing."
            )
        return super().unsupported_reason(problem)

    def start(self, problem: Problem, limits: Limits) -> State:
        return LandmarkState(problem, self, limits)


class LandmarkState(State):
    """A run: each step but the first extends the span, and solves the problem there."""

    def __init__(self, problem: Problem, settings: Landmarks, limits: Limits):
        self.problem = problem
        self.settings = settings
        self.limits = limits
        n = problem.n_rows
        # The largest span that fits into memory
        fitting = SHARE_OF_MEMORY * problem.rows.room() / (8 * COPIES * n)
        self.most = int(min(n, fitting))
        # The gap that was proven last, the result of the last step in its span, and its
        # candidate for the full problem
        self.gap = 1.0
        self.smallest_gap = np.inf
        self.steps_without = 0
        self.result: Any = None
        self.offered = Candidate(np.zeros(n))
        # What a radius is reduced by because of rounding errors (see `_add_v`)
        self.reserve = 0.0
        # What has limited the span, for the user
        self.reason = ""

        # 1. The first span
        size = settings.n_landmarks or (FIRST if n > ALL_AT_ONCE else n)
        in_time = functions_in_time(problem, limits.time)
        size = max(1, int(min(size, self.most, in_time)))
        if not settings.proves:
            self.span = copy(rough_span(problem, size))
        else:
            rows = np.arange(n)
            if size < n:
                rows = limits.generator().permutation(n)
            self.span = Span(problem.rows)
            self.span.add_landmarks(np.sort(rows[: WIDER * size]), size)

        # 2. The tolerance in the span, and where to start. In the span of all rows, one
        # solve should be enough.
        self.tol = SHARE * limits.tol
        self.start = None
        if settings.n_landmarks is None:
            if size < n:
                self.tol = LOOSEST
            if limits.start is not None:
                self.span.add_sum(limits.start.weights)
                self.start = self._in_span(limits.start)

    def _in_span(self, classifier: Candidate) -> tuple[np.ndarray, float]:
        """Return the projection of a classifier on the span, as linear weights."""
        return self.span.products(classifier.weights), classifier.intercept

    def step(self) -> None:
        """Extend the span, except at first, and solve the problem in it."""
        if self.result is not None and self.settings.n_landmarks is None:
            self._change_span()
        problem = self.problem.replace(radius=self.problem.radius - self.reserve)
        self.result = run(
            self.span.linear(problem),
            InteriorPoint(),
            tol=self.tol,
            start=self.start,
            max_time=self.limits.time,
            n_threads=self.limits.n_threads,
        )
        # Ctrl-C has ended the inner run only.
        if self.result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        # No further step is started without time for a larger span.
        in_time = functions_in_time(self.problem, self.limits.time)
        self.step_seconds = 0.0
        if in_time < MORE * self.span.size:
            self.step_seconds = np.inf

    def _change_span(self) -> None:
        """Add v and the rows between their bounds, and set the next tolerance.

        Of a span that is far larger than that, keep only what is needed.
        """
        signed, order, n_free = between_bounds(self.problem, self.result)
        most = max(FIRST, self.span.size // 2)
        changed = self._keep_needed(order, n_free)
        changed |= self._add_landmarks(order[:n_free], most)
        # Without multipliers, there was no time for the norm of v.
        if self.offered.hinge_dual is not None:
            changed |= self._add_v(signed, changed)
        self.start = self._in_span(self.offered)
        self._set_tolerance(changed)

    def _keep_needed(self, order: np.ndarray, n_free: int) -> bool:
        """Begin another span if much of this one is not needed; return whether it is.

        What is needed are the last function, so that the next one is no worse, and the
        landmarks that are near the first in the order.
        """
        old = self.span
        if n_free >= NEEDED * old.size:
            return False
        self.span = Span(self.problem.rows)
        needed = np.intersect1d(old.landmarks, order[: 2 * n_free])
        self.span.add_landmarks(needed, old.size)
        self.span.add_sum(self.offered.weights)
        return True

    def _add_landmarks(self, free: np.ndarray, most: int) -> bool:
        """Add rows between their bounds, and return whether any is new."""
        in_time = functions_in_time(self.problem, self.limits.time)
        room = min(self.most, in_time) - self.span.size
        most = int(min(most, room))
        new = np.setdiff1d(free, self.span.landmarks, assume_unique=True)
        return self.span.add_landmarks(new[: WIDER * most], most) > 0

    def _add_v(self, signed: np.ndarray, changed: bool) -> bool:
        """Add v, and return whether it is new.

        If nothing is new in the span, rounding errors are all that is between the norm
        of v there and its norm in the full problem. Multipliers for a radius that is
        less by this need not be scaled down in the repair, which would cost far more.
        """
        problem = self.problem
        v = problem.rows.weighted_sum(signed)
        added = self.span.add_sum(v) > 0
        self.reserve = 0.0
        if not (changed or added):
            norm = float(problem.rows.coordinates(v)[0])
            rounding = norm - float(np.linalg.norm(self.span.products(v)))
            self.reserve = min(max(rounding, 0.0), 0.5 * problem.radius)
        return added

    def _set_tolerance(self, changed: bool) -> None:
        """Set the tolerance of the next step, and whether it is the last one."""
        finest = MIN_SHARE * self.limits.tol
        usual = SHARE * self.limits.tol
        self.finished = not changed and self.tol <= finest
        if changed:
            self.tol = min(self.tol, max(ACCURACY * self.gap, usual))
        else:
            # In the same span, only accuracy can help.
            self.tol = finest
        if self.span.size >= self.most:
            self.finished = True
            self.reason = "memory"
            self.tol = min(self.tol, usual)

    def candidate(self) -> Candidate:
        """Return the function as coefficients of the rows.

        It comes with its multipliers if there is time to compute the norm of their v.
        """
        result = self.result
        if result is None:
            return self.offered
        problem = self.problem
        rows = problem.rows
        weights = self.span.coefficients(result.weights)
        # What the span knows saves another pass over all values.
        if not self.settings.proves or rows.values is None:
            rows.remember(weights, self.span.features @ rows.vector(result.weights))
        alpha = problem.multipliers_from(result.hinge_dual)
        beta = problem.multipliers_from(result.flip_dual)
        signed = (alpha - beta) * problem.signs
        self.offered = Candidate(weights, result.intercept)
        if self.settings.proves and rows.prepare(weights, signed, self.limits.time):
            self.offered = Candidate(weights, result.intercept, alpha, beta)
        return self.offered

    def on_certificate(self, gap: float) -> None:
        """Keep the gap; landmarks chosen beforehand cannot prove a smaller one."""
        self.gap = gap if self.offered.hinge_dual is not None else 0.0
        self.steps_without += 1
        if self.gap < 0.5 * self.smallest_gap:
            self.smallest_gap = self.gap
            self.steps_without = 0
        if self.steps_without >= PATIENCE:
            self.finished = True
        if self.settings.n_landmarks is not None or not self.settings.proves:
            self.finished = True

    def info(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "landmarks": self.span.landmarks,
            "functions": self.span.size,
        }
        if self.offered.hinge_dual is None:
            found["bound_in_span"] = getattr(self.result, "lower_bound", -np.inf)
        if self.reason:
            found["limit"] = self.reason
        return found


def between_bounds(
    problem: Problem, result: Result | Candidate
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (α − β) y, the rows in an order, and how many are between their bounds.

    The first rows are those whose multipliers are the farthest from their bounds, as
    shares of their weights.

    Parameters
    ----------
    problem : Problem
        The problem.
    result : Result or Candidate
        Its solution, with multipliers.

    Returns
    -------
    signed, order, n_free : array of shape (n,), array of shape (n,), int
        The coefficients u, all rows, and how many of the first rows are free to change.
    """
    alpha = problem.multipliers_from(result.hinge_dual)
    beta = problem.multipliers_from(result.flip_dual)
    weights = problem.sample_weight
    room = np.minimum(alpha + beta, weights - np.abs(alpha - beta))
    between = to_numpy(room / weights)
    order = np.argsort(-between, kind="stable")
    return (alpha - beta) * problem.signs, order, int((between > BETWEEN).sum())


def functions_in_time(problem: Problem, time: TimeLimit, n_solves: int = 1) -> float:
    """Return the number of functions of a kernel for which there is time.

    Solves in their span, and values, are likely to take half of the time that is left.
    It is infinite without a time limit, and for linear problems.
    """
    if not (time.limited and problem.rows.is_kernel):
        return np.inf
    # m functions take n (each·m + n_solves·SOLVING·m²) seconds: the positive root m of
    # c m² + 2·each·m = left / n
    each = problem.rows.seconds_per_value
    left = max(time.left(), 0.0)
    c = 2.0 * n_solves * SOLVING
    return ((each**2 + c * left / problem.n_rows) ** 0.5 - each) / c


def rough_solver(problem: Problem) -> str | Solver:
    """Return a solver for a solution that needs no proof.

    For a kernel, its landmarks are as many as are enough for that.
    """
    if problem.rows.is_kernel:
        return Landmarks(min(problem.n_rows, ROUGH), proves=False)
    # With norm=1, epochs are rarely faster overall, and what they find depends on
    # rounding errors.
    if problem.norm.p == 1 and 0.0 < interior_point_seconds(problem) <= QUICK:
        return "interior-point"
    return "auto"


def linear_problems(
    problem: Problem, trained: list[np.ndarray], solution: Result | Candidate | None
) -> list[tuple[Problem, tuple[np.ndarray, float] | None]]:
    """Return a linear problem for each of several masks of rows to train on.

    Parameters
    ----------
    problem : Problem
        A linear problem, which is returned as it is, or one of a kernel.
    trained : list of boolean arrays of shape (n,)
        The masks.
    solution : Result, Candidate or None
        The solution of the problem, if it is known.

    Returns
    -------
    list of (Problem, start)
        For each mask, a linear problem with all rows, of which those of the mask are to
        be taken, and the weights and intercept to start from, or None.
    """
    rows = problem.rows
    start = None
    if not rows.is_kernel:
        # The problem as it is, at its solution
        if solution is not None:
            start = (solution.weights, solution.intercept)
        return [(problem, start)] * len(trained)

    # 1. The functions that all spans have in common, and one more for each. Without
    # stored values, that sum would take a pass over all pairs of rows.
    if solution is None or rows.values is None:
        common = rough_span(problem, ROUGH)
        sums = [None] * len(trained)
    else:
        common = Span(rows)
        signed, order, n_free = between_bounds(problem, solution)
        size = min(ROUGH, max(NEAR_A_SOLUTION, MAX_ENTRIES // problem.n_rows))
        free = order[: min(n_free, WIDER * size)]
        common.add_landmarks(np.union1d(free, drawn_rows(problem, size)), size)
        parts = [np.where(rows.vector(mask), signed, 0.0) for mask in trained]
        sums = rows.weighted_sums(parts)

    # 2. The spans, and the problems there
    found = []
    for coefficients in sums:
        span = copy(common)
        if coefficients is not None:
            span.add_sum(coefficients)
        if solution is not None:
            start = span.products(solution.weights), solution.intercept
        found.append((span.linear(problem), start))
    return found
