"""Starting points of the interior-point solver."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from drsvm.model.problem import Problem
from drsvm.solvers.base import Candidate

COLD_LEVEL = 3.0
"""Smallest λ at the start, in units of 1 / row norm."""

SUBSET = 2000
"""Minimum number of rows from which a starting point is computed."""


class Start(NamedTuple):
    """A point (w, b), λ, and the μ at which the samples are centred there."""

    point: np.ndarray
    level: float
    mu: float


def cold_starts(problem: Problem) -> Iterator[Start]:
    """Yield the origin with values of λ in the units of the data, most promising first.

    Margins of about 1 need weights of at least 1 / row norm, and if flips bind, λ is near 2 / flip_cost; as the optimum
    is at most 1, λ is at most 1 / radius. The geometric mean of these limits is a good guess.
    """
    origin = np.zeros(problem.n_features + problem.fit_intercept)
    level = COLD_LEVEL / problem.typical_row_norm()
    if problem.flips_possible and problem.flip_cost > 0:
        level = max(level, 1.0 / problem.flip_cost)
    if problem.radius > 0:
        largest = 1.0 / problem.radius
        level = min(level, largest)
        levels = math.sqrt(level) * math.sqrt(largest), largest, level
    else:
        levels = level, 1e6 * level
    for guess in levels:
        yield Start(origin, guess, 1.0)


def start_at(problem: Problem, given: Candidate) -> Start | None:
    """Return a start at a given classifier, or None if that is no better than w = 0."""
    margins = problem.margins(given.weights, given.intercept)
    price = problem.radius_price(given.weights, margins)
    objective = problem.objective_at(given.weights, margins, price)
    level = max(price, 1.1 * problem.norm.value(given.weights))
    if level == 0.0 or not objective < 1.0:
        return None
    point = np.append(given.weights, [given.intercept] * problem.fit_intercept)
    return Start(point, level, 0.1 * max(objective, 0.1))


def rows_to_begin_with(problem: Problem) -> int | None:
    """Return the number of rows from which to compute a start; None if there are too few rows to save time."""
    size = max(SUBSET, 10 * problem.n_features)
    return size if problem.n_rows >= 5 * size else None


def drawn_rows(problem: Problem, size: int) -> np.ndarray:
    """Draw rows by their contents, so that their order does not matter."""
    key = problem.margins(np.random.default_rng(0).normal(size=problem.n_features))
    key *= 1e6 / (np.abs(key).mean() or 1.0)
    key -= np.floor(key)
    drawn = np.flatnonzero(key <= np.partition(key, size)[size])
    return drawn[:: max(1, len(drawn) // size)]  # equal rows can make this too many
