"""Starting points of the interior-point solver: (w, b), λ and μ.

A point must be inside the cone, ‖w‖ < λ, and well inside: from near the boundary, steps
are short.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from drsvm.certificate.certificate import PrimalPoint
from drsvm.problem.problem import Problem
from drsvm.problem.risk import typical_flip_cost
from drsvm.problem.row_sums import typical_row_norm
from drsvm.solvers.base import Candidate

# A starting point is computed on this number of rows, or on ROWS_PER_FEATURE times as
# many as features, if there are at least WORTHWHILE times as many.
SUBSET = 2000
ROWS_PER_FEATURE = 10
WORTHWHILE = 5
# λ of a start is at least this many times the norm of its weights.
MARGIN_OF_LAM = 1.1


class Start(NamedTuple):
    """A point (w, b), λ, and the μ at which the samples are centred there."""

    point: np.ndarray
    lam: float
    mu: float


def weights_and_intercept(
    problem: Problem, point: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the parts of (w, b); the weights are a view."""
    d = problem.n_features
    # Without an intercept, the sum of nothing is 0.
    return point[:d], float(point[d:].sum())


def point_of(problem: Problem, weights: np.ndarray, intercept: float) -> np.ndarray:
    """Return (w, b), or w without an intercept."""
    if problem.fit_intercept:
        return np.append(weights, intercept)
    return weights


def cold_starts(problem: Problem) -> Iterator[Start]:
    """Yield the origin with values of λ in the units of the data, most promising first.

    Margins of about 1 need weights of at least 1 / row norm (three times that is
    usual), and if flips bind, λ is near 2 / flip_cost (of which half is a lower limit);
    as the optimum is at most 1, λ is at most 1 / radius. Where rows shift on their own,
    it is rarely above 1 / (radius + their mean radius). The geometric mean of these
    limits is a good guess.
    """
    origin = np.zeros(problem.n_features + problem.fit_intercept)
    least = 3.0 / typical_row_cost(problem)
    if problem.flips_possible:
        least = max(least, 1.0 / typical_flip_cost(problem.flip_cost))
    budget = problem.radius
    if problem.has_row_radius:
        budget += float(np.mean(problem.row_radius))
    if budget > 0.0:
        most = 1.0 / budget
        least = min(least, most)
        lams = [math.sqrt(least) * math.sqrt(most), most, least]
    else:
        lams = [least, 1e6 * least]
    # The first guess comes once more, since restarts are with more care.
    for lam in [*lams, lams[0]]:
        yield Start(with_room_for_signs(problem, origin, lam), lam, 1.0)


def typical_row_cost(problem: Problem) -> float:
    """Return the mean norm of the rows (x, 1), multiplied by the costs a and a_0.

    Its reciprocal is what margins of about 1 cost.
    """
    costs = problem.feature_cost
    if costs is not None:
        costs = np.where(np.isinf(costs), 0.0, costs)
    typical = typical_row_norm(problem, costs)
    if problem.has_intercept_cost:
        entries = [typical, problem.intercept_cost]
        typical = float(np.linalg.norm(entries, problem.norm.p))
    return typical or 1.0


def with_room_for_signs(problem: Problem, point, lam: float) -> np.ndarray:
    """Return the point with all prescribed signs, well inside ‖·‖ < lam.

    The weights that have such a sign are moved at least a little away from 0. Together
    they are at least 0.1 away from 0, in units of λ and of 1 / size of the feature.
    """
    signs = problem.monotonic_cst
    if signs is None:
        return point
    costs = problem.feature_cost
    if costs is None:
        costs = np.ones(problem.n_features)
    smallest = 1e-9 * problem.column_sizes.max() or 1.0
    sizes = np.maximum(problem.column_sizes, smallest)
    least = 0.1 / np.count_nonzero(signs) * np.minimum(lam * costs, 1.0 / sizes)
    moved = point.copy()
    weights = moved[: problem.n_features]
    np.copyto(weights, signs * np.maximum(signs * weights, least), where=signs != 0)
    return moved


def start_at(problem: Problem, classifier: Candidate) -> Start | None:
    """Return a start at a given classifier, or None if that is no better than w = 0."""
    weights = classifier.weights
    intercept = classifier.intercept
    price, objective = problem.price_and_objective(weights, intercept)
    return start_beside(problem, PrimalPoint(weights, intercept, price, objective))


def start_beside(problem: Problem, known: PrimalPoint) -> Start | None:
    """Return a start at a classifier of this problem, or of one that differs little.

    None if that is no better than w = 0.
    """
    weights = known.weights
    intercept = known.intercept
    lam = max(known.radius_price, MARGIN_OF_LAM * problem.norm_of(weights, intercept))
    # The objective of w = 0 is 1.
    if lam == 0.0 or not known.objective < 1.0:
        return None
    point = point_of(problem, weights, intercept)
    point = with_room_for_signs(problem, point, lam)
    norm = problem.norm_of(point[: problem.n_features], intercept)
    # A tenth of the objective, on whose scale μ is, and not much less: from a small μ a
    # run cannot move far.
    mu = 0.1 * max(known.objective, 0.1)
    return Start(point, max(lam, MARGIN_OF_LAM * norm), mu)


def rows_to_begin_with(problem: Problem) -> int | None:
    """Return the number of rows from which to compute a start.

    None if there are too few rows to save time.
    """
    size = max(SUBSET, ROWS_PER_FEATURE * problem.n_features)
    return size if problem.n_rows >= WORTHWHILE * size else None
