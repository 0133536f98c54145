"""The smallest radius at which w = 0 is optimal: the natural scale of a radius."""

import math
from dataclasses import dataclass

import numpy as np

from drsvm.problem.problem import Problem, check_problem
from drsvm.problem.result import Result, Status
from drsvm.problem.risk import typical_flip_cost
from drsvm.problem.row_sums import (
    flips_pay,
    gradient_of_classes,
    masses_by_flip_cost,
    masses_of_classes,
)
from drsvm.problem.rows import RowsLost
from drsvm.solvers.api import solve
from drsvm.solvers.interior_point.starts import typical_row_cost
from drsvm.solvers.reformulation.shifted_columns import without_far_columns
from drsvm.solvers.selection import choose
from drsvm.utils.clock import TimeLimit

# Limit on the radii that are tried; Newton's method needs a few, bisection some dozens
MAX_SOLVES = 60
# With features that cannot shift: the relative accuracy, and the largest ratio of a
# guess to the radius before
ENCLOSED = 1e-4
MAX_GROWTH = 10.0
# In units of typical rows, a smaller radius is 0.
SMALLEST = 1e-12
# Objectives are accurate to this, at best.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Solves:
    """How rough problems are solved on the way: the limits for all of them together."""

    time: TimeLimit
    n_threads: int | None

    def at(self, problem: Problem, radius: float) -> Result:
        """Return an accurate solution at a radius.

        Raises
        ------
        TimeIsUp
            With this radius, if the time limit was reached.
        """
        problem = problem.replace(radius=radius)
        solver = choose(problem)
        tol = 1e-9 if solver == "interior-point" else 1e-6
        result = solve(
            problem, solver, tol=tol, max_time=self.time, n_threads=self.n_threads
        )
        _raise_if_ended(result)
        if result.status is Status.TIME_LIMIT:
            raise TimeIsUp(radius)
        return result


class TimeIsUp(Exception):
    """The time limit was reached at a radius."""

    def __init__(self, radius: float):
        super().__init__(radius)
        self.radius = radius


def radius_max(
    problem: Problem,
    *,
    max_time: float | TimeLimit | None = None,
    n_threads: int | None = None,
) -> float:
    """Return the smallest radius at which w = 0 is optimal, the scale of a radius.

    It does not depend on `l2`, and shifts of single rows (`row_radius`) are left out:
    with them, w = 0 is optimal at smaller radii, too (`row_radius_max`). Without an
    intercept and with trusted labels it is ‖Σ π_i y_i x_i‖_p; the same holds if labels
    are too expensive to flip, at a cost of twice the largest margin of the best
    direction or more.

    In general the optimum f is a concave function of the radius ε with slope λ, and the
    best constant classifier has the objective V(ε) = min(1, 2·(share of the smaller
    class) + 2ε/flip_cost), the second only with an intercept. Newton's method for f = V
    converges to the answer from below, in a few solves.

    With costs, it is the smallest radius at which all weights with a cost are 0, and
    the intercept too if it has a cost. Features that cannot shift keep their weights: V
    is then the optimum with these features alone, l2 matters, and a radius is returned
    at which the others become useless, if there is more than one not always the
    smallest.

    With an intercept and classes of unequal size, w = 0 may be optimal at one radius
    but not at a larger one; the answer is the smallest radius at which it is.

    Parameters
    ----------
    problem : Problem
        Its radius is ignored, and its l2 too unless there are features that cannot
        shift.
    max_time : float, optional
        Time limit for all solves together, in seconds.
    n_threads : int, optional
        Threads for the solves.

    Returns
    -------
    float
        The radius, to a relative accuracy of about 1e-7 (1e-4 if there are too many
        features for the interior-point solver, or features that cannot shift). If the
        time is up before that, the radius reached so far, which is too small. Ctrl-C
        raises KeyboardInterrupt.

    Examples
    --------
    >>> import math
    >>> from drsvm import Problem, radius_max
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> problem = Problem(X, [-1, -1, 1, 1], flip_cost=math.inf)
    >>> round(radius_max(problem), 6)
    1.0
    """
    check_problem(problem, "radius_max")
    problem = problem.replace(row_radius=0.0)
    time = TimeLimit.of(max_time)
    # Half of every label is flipped: w = 0 is optimal at every radius.
    if np.all(problem.flip_cost == 0):
        return 0.0
    problem = without_far_columns(problem).problem
    decisive = _decisive_gradient(problem)
    if decisive is not None:
        return decisive
    trusted = np.flatnonzero(problem.trusted_features)
    if len(trusted) == problem.n_features:
        return 0.0
    if len(trusted) == 0:
        problem = problem.replace(l2=0.0)
    unit = typical_row_cost(problem)
    solves = Solves(time, n_threads)
    try:
        if len(trusted) == 0:
            return _climb(problem, unit, solves)
        # What is left without features and intercept that have a cost
        free = problem.on_features(trusted)
        free = free.replace(fit_intercept=_has_free_intercept(problem))
        return _enclose(problem, free, unit, solves)
    except TimeIsUp as reached:
        return reached.radius


def row_radius_max(
    problem: Problem,
    *,
    max_time: float | TimeLimit | None = None,
    n_threads: int | None = None,
) -> float:
    """Return the smallest common radius of all rows at which w = 0 is optimal.

    Every row may then shift by this much, beyond the average shift by `radius`. It is
    (`radius_max` − radius) / V or 0, with the objective V of the best constant
    classifier: 1 or, with an intercept outside the norm, twice the share of the smaller
    class. Multipliers of a constant optimum add up to V, so that a radius r of all rows
    adds r V to the budget of the dual problem, and nothing else changes.

    .. versionadded:: 1.0.0rc2

    Parameters
    ----------
    problem : Problem
        Its labels must be trusted (flip_cost=inf), and all features be able to shift.
        Its row_radius is ignored, and its l2 does not matter.
    max_time, n_threads
        As in `radius_max`.

    Returns
    -------
    float
        The radius, as accurate as `radius_max`.

    Examples
    --------
    >>> import math
    >>> from drsvm import Problem, row_radius_max
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> problem = Problem(X, [-1, -1, 1, 1], radius=0.1, flip_cost=math.inf)
    >>> round(row_radius_max(problem), 6)
    0.9
    """
    check_problem(problem, "row_radius_max")
    if not np.isinf(problem.flip_cost).all():
        raise ValueError(
            "row_radius_max needs flip_cost=inf: rows that shift one by one are "
            "supported for trusted labels only."
        )
    if problem.trusted_features.any():
        raise ValueError(
            "row_radius_max needs features that can all shift, and some have "
            "feature_cost=inf: their weights do not become 0 at any radius."
        )
    largest = radius_max(problem, max_time=max_time, n_threads=n_threads)
    best_constant = float(_constant_classifiers(problem)[0].min())
    return max(largest - problem.radius, 0.0) / best_constant


def is_useful(
    problem: Problem,
    radius: float,
    *,
    max_time: float | TimeLimit | None = None,
    n_threads: int | None = None,
) -> bool:
    """Return whether a rough solution proves that w = 0 is not optimal at a radius.

    Parameters are those of `radius_max`.
    """
    problem = problem.replace(radius=radius)
    result = solve(problem, tol=1e-4, max_time=max_time, n_threads=n_threads)
    _raise_if_ended(result)
    return _distance(_constant_classifiers(problem), radius, result) is not None


def _decisive_gradient(problem: Problem) -> float | None:
    """Return the norm of the gradient at 0, or None if it does not decide.

    It decides if no weight is free of cost and no flip pays in the direction of
    steepest descent: from 0, the objective changes by at least ε‖w‖ − gradient·w in
    every direction, and by exactly that in this one.
    """
    if problem.trusted_features.any() or _has_free_intercept(problem):
        return None
    costs, gradient = _scaled_gradient(problem)
    size = float(problem.norm.dual.value(gradient))
    if np.min(problem.flip_cost) == math.inf:
        # No flip ever pays.
        return size
    # Whether a flip pays in the direction of steepest descent, in the user's units
    worst = problem.norm.dual.worst_direction(gradient)
    direction = costs * np.where(gradient == 0, 0.0, worst)
    n_weights = len(direction) - problem.has_intercept_cost
    along = gradient_of_classes(problem)[0]
    weights = problem.rows.weights_of(direction[:n_weights], along)
    if flips_pay(problem, weights, float(direction[n_weights:].sum())):
        return None
    return size


def _scaled_gradient(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the costs of the weights and intercept, and the gradient at 0 times them.

    The cost is 0 here for a feature that cannot shift.
    """
    gradient, of_intercept = gradient_of_classes(problem)
    gradient = problem.rows.coordinates(problem.with_signs(gradient))
    costs = np.ones(len(gradient))
    if problem.feature_cost is not None:
        costs = np.where(problem.trusted_features, 0.0, problem.feature_cost)
    if problem.has_intercept_cost:
        costs = np.append(costs, problem.intercept_cost)
        gradient = np.append(gradient, of_intercept)
    return costs, costs * gradient


def _has_free_intercept(problem: Problem) -> bool:
    """Return whether there is an intercept without a cost."""
    return problem.fit_intercept and not problem.has_intercept_cost


def _enclose(problem: Problem, trusted: Problem, unit: float, solves: Solves) -> float:
    """Return the smallest radius at which the features that can shift are useless.

    It is approached along tangents of the difference of both optima, then by bisection.

    Parameters
    ----------
    problem, trusted : Problem
        The problem, and the same with the trusted features alone.
    unit : float
        Typical norm of a row.
    solves : Solves
    """
    # Radii at which these features are known to be useful and useless
    useful = 0.0
    useless = math.inf
    radius = 0.1 * unit
    bisect = False
    for _ in range(MAX_SOLVES):
        result = solves.at(problem, radius)
        best = solves.at(trusted, radius)
        missing = best.objective - result.objective
        if missing > max(2.0 * (result.gap + best.gap), ROUNDING):
            useful = radius
            bend = result.radius_price - best.radius_price
            guess = radius + missing / max(bend, 1e-300)
        else:
            # Either the answer, and the features are useful just below it, or too far
            guess = (1.0 - ENCLOSED) * radius
            bisect = bisect or useless < math.inf
            useless = radius
        if useless <= useful * (1.0 + 2.0 * ENCLOSED):
            return useless
        if useless <= SMALLEST * unit:
            return 0.0
        outside = min(useless, MAX_GROWTH * max(useful, unit))
        if not bisect and useful < guess < outside:
            radius = guess
        elif useful > 0:
            radius = 0.5 * (useful + outside)
        else:
            radius = 0.1 * useless
    return useless


def _climb(problem: Problem, unit: float, solves: Solves) -> float:
    """Return the smallest radius at which a constant classifier is optimal.

    Newton's method approaches it from below.
    """
    lines = _constant_classifiers(problem)
    # With one line the first tangent should be a good one; with two, the lower line
    # must not be missed.
    radius = 1e-3 * unit
    if lines.shape[1] == 1:
        gradient = problem.norm.dual.value(_scaled_gradient(problem)[1])
        radius = 0.2 * min(gradient, typical_flip_cost(problem.flip_cost))
    radius = radius or 1e-2 * unit
    climbing = False
    for _ in range(MAX_SOLVES):
        result = solves.at(problem, radius)
        step = _distance(lines, radius, result)
        if step is not None:
            radius = radius + step
            climbing = True
        elif climbing:
            return radius
        else:
            # The first radius was too large.
            radius *= 0.1
            if radius <= SMALLEST * unit:
                return 0.0
    return radius


def _raise_if_ended(result: Result) -> None:
    """Raise what has ended a run before its time: Ctrl-C, or the loss of the rows."""
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if result.status is Status.LOST:
        raise RowsLost(result.info["lost"])


def _distance(lines: np.ndarray, radius: float, result: Result) -> float | None:
    """Return the distance at which the optimum's tangent meets the first line.

    None if w = 0 is optimal.
    """
    heights, slopes = lines
    # How far the optimum, which is concave in the radius, is below each line
    missing = heights + slopes * radius - result.objective
    if missing.min() <= max(2.0 * result.gap, ROUNDING):
        return None
    # Only lines that are less steep than f can be reached; a tangent never leads beyond
    # the answer.
    reached = result.radius_price > slopes
    distances = missing[reached] / (result.radius_price - slopes[reached])
    return float(distances.min())


def _constant_classifiers(problem: Problem) -> np.ndarray:
    """Return the objectives of constant classifiers as lines in the radius.

    The classifiers are 0 and, with a free intercept, ±1. The lines are the heights at 0
    and the slopes, of shape (2, number of lines).
    """
    lines = [(1.0, 0.0)]
    if _has_free_intercept(problem):
        lines += _lines_of_constant(problem, 1.0) + _lines_of_constant(problem, -1.0)
    ordered = np.array(sorted(lines, key=lambda line: line[::-1])).T
    # A steeper one must be lower at 0.
    heights = ordered[0]
    useful = heights < np.minimum.accumulate(np.append(np.inf, heights[:-1]))
    return ordered[:, useful]


def _lines_of_constant(problem: Problem, sign: float) -> list[tuple[float, float]]:
    """Return the objective of b = ±1 for every λ at which it may be optimal.

    These are 0, and those at which flipping some row ceases to pay, 2/κ_i.
    """
    wrong = 2.0 * masses_of_classes(problem)[int(sign > 0)]
    costs, weights = masses_by_flip_cost(problem, sign)
    # 0 where a flip is impossible, inf where it is free
    with np.errstate(divide="ignore"):
        lams = 2.0 / costs
    candidates = np.unique(np.append(lams[np.isfinite(lams)], 0.0))
    # The weight of the first rows, whose flips are the cheapest, and what these cost
    mass = np.append(0.0, np.cumsum(weights))
    spent = np.cumsum(weights * np.where(costs < math.inf, costs, 0.0))
    spent = np.append(0.0, spent)
    n_paying = len(lams) - np.searchsorted(lams[::-1], candidates, side="right")
    heights = wrong + 2.0 * mass[n_paying] - candidates * spent[n_paying]
    return list(zip(heights.tolist(), candidates.tolist(), strict=True))
