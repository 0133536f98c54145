"""Starting points of the interior-point solver."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from drsvm.certificate.certificate import PrimalPoint
from drsvm.problem.problem import Problem
from drsvm.problem.risk import typical_flip_cost
from drsvm.problem.row_sums import typical_row_norm
from drsvm.solvers.base import Candidate

SUBSET = 2000  # minimum number of rows from which a starting point is computed


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
    return point[:d], float(point[d:].sum())


def cold_starts(problem: Problem) -> Iterator[Start]:
    """Yield the origin with values of λ in the units of the data, most promising first.

    Margins of about 1 need weights of at least 1 / row norm, and if flips bind, λ is
    near 2 / flip_cost; as the optimum is at most 1, λ is at most 1 / radius. The
    geometric mean of these limits is a good guess.
    """
    origin = np.zeros(problem.n_features + problem.fit_intercept)
    # 0 also if all of them are free
    if problem.flips_possible:
        of_flips = 1.0 / typical_flip_cost(problem.flip_cost)
    else:
        of_flips = 0.0
    lam = max(3.0 / typical_row_price(problem), of_flips)
    if problem.radius > 0:
        largest = 1.0 / problem.radius
        lam = min(lam, largest)
        lams = math.sqrt(lam) * math.sqrt(largest), largest, lam
    else:
        lams = lam, 1e6 * lam
    for guess in (*lams, lams[0]):  # once more, with more care
        yield Start(with_room_for_signs(problem, origin, guess), guess, 1.0)


def typical_row_price(problem: Problem) -> float:
    """Return the mean norm of the rows (x, 1) at their prices: what margins of about 1 cost is its reciprocal."""
    costs = problem.feature_cost
    if costs is None and not problem.prices_intercept:
        return typical_row_norm(problem)
    typical = typical_row_norm(
        problem, None if costs is None else np.where(np.isinf(costs), 0.0, costs)
    )
    if problem.prices_intercept:
        of_intercept = [problem.intercept_cost]
    else:
        of_intercept = []
    return float(np.linalg.norm([typical, *of_intercept], problem.norm.p)) or 1.0


def with_room_for_signs(problem: Problem, point, lam: float) -> np.ndarray:
    """Return the point moved to where all weights with a prescribed sign have it, well inside ‖·‖ < lam.

    Together they are at least 0.1 away from 0, in units of λ and of 1 / size of the
    feature.
    """
    if problem.monotonic_cst is None:
        return point
    if problem.feature_cost is None:
        prices = np.ones(problem.n_features)
    else:
        prices = problem.feature_cost
    signs = problem.monotonic_cst
    sizes = np.maximum(problem.column_sizes, 1e-9 * problem.column_sizes.max() or 1.0)
    least = 0.1 / np.count_nonzero(signs) * np.minimum(lam * prices, 1.0 / sizes)
    moved = point.copy()
    weights = moved[: problem.n_features]
    np.copyto(weights, signs * np.maximum(signs * weights, least), where=signs != 0)
    return moved


def start_at(problem: Problem, classifier: Candidate) -> Start | None:
    """Return a start at a given classifier, or None if that is no better than w = 0."""
    weights = classifier.weights
    intercept = classifier.intercept
    return start_beside(
        problem,
        PrimalPoint(
            weights, intercept, *problem.price_and_objective(weights, intercept)
        ),
    )


def start_beside(problem: Problem, known: PrimalPoint) -> Start | None:
    """Return a start at a classifier of this problem, or of one that differs little from it."""
    weights = known.weights
    intercept = known.intercept
    price = known.radius_price
    objective = known.objective
    lam = max(price, 1.1 * problem.norm_of(weights, intercept))
    if lam == 0.0 or not objective < 1.0:
        return None
    point = with_room_for_signs(
        problem, np.append(weights, [intercept] * problem.fit_intercept), lam
    )
    lam = max(lam, 1.1 * problem.norm_of(point[: problem.n_features], intercept))
    return Start(point, lam, 0.1 * max(objective, 0.1))


def rows_to_begin_with(problem: Problem) -> int | None:
    """Return the number of rows from which to compute a start.

    None if there are too few rows to save time.
    """
    size = max(SUBSET, 10 * problem.n_features)
    return size if problem.n_rows >= 5 * size else None
