"""How rows vary: the size of chance effects, the directions on which they act, and the ridge that follows.

Chance acts on all directions in which the rows vary, and the classifier uses few of them. With k such directions
(effective ones: k = (Σ λ)² / Σ λ² for the eigenvalues λ of the covariance) and k ≪ n, the radius is smaller than the
size F of chance effects (`radius_rule`) by the factor s = min(1, 2.5·√(k/n)). The ridge keeps a direction where many
others are as good, and where the radius would lose it: GENERAL_RIDGE · a⁴ · s² times the mean squared distance of the
rows from their centre, where a is the share of the rows that are active in the pilot solution. With correct labels
there are few of them; with wrong ones, nearly all. Those with a margin close to 1 count in part. With many rows the
ridge is at least MIN_RIDGE_OF_ONE / n times that square: what rows leave open shrinks, too. Where rows speak clearly
for a smaller s, classifiers take it (`evidence`). In the feature space of a kernel there are as many directions as
rows: s is SHARE_OF_KERNEL there, and the ridge is KERNEL_RIDGE · a⁴ / √n.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.learn.fitting.gross_errors import ROUNDING
from drsvm.model.memory_rows import scaled_columns
from drsvm.model.problem import Problem
from drsvm.model.row_operations import PullVariances

CHANCE_DIRECTIONS = 2.5  # before √(k/n)
GENERAL_RIDGE = 0.04  # in units of the mean squared distance of a row from the centre
MIN_RIDGE, MIN_RIDGE_OF_ONE = 3e-4, 0.1  # in these units; the latter is divided by the number of rows
SHARE_OF_KERNEL, KERNEL_RIDGE = 0.5, 0.25  # the factor s, and the ridge times √n, for kernels
ROWS_FOR_DIRECTIONS = 1500  # from so many rows the effective directions are estimated


class Spread(NamedTuple):
    """How the rows vary: their mean squared distance from the centre, the factor s of the radius, and the ridge."""

    square: float
    factor: float
    largest_ridge: float = 0.0  # in units of the square, if all rows are active
    least_ridge: float = 0.0

    @classmethod
    def of(cls, problem: Problem, counts=None) -> "Spread":
        """Measure rows that are drawn by their contents."""
        n_rows = problem.n_rows if counts is None else float(counts.sum())
        if problem.rows.is_kernel:
            square = _square_of_functions(problem)
            return cls(square, SHARE_OF_KERNEL, KERNEL_RIDGE / math.sqrt(n_rows)) if square > 0.0 else cls(0.0, 1.0)
        few = problem.drawn(ROWS_FOR_DIRECTIONS) if problem.n_rows > ROWS_FOR_DIRECTIONS else problem
        few = few.to_host(math.inf)
        square, sum_of_squares = _spectrum(few, few.rows)
        total = square
        if not square > 0.0:
            return cls(0.0, 1.0)
        if few.feature_cost is not None:  # shifts of dear features are small
            prices = np.where(np.isinf(few.feature_cost), 0.0, few.feature_cost)
            total, sum_of_squares = _spectrum(few, few.on_rows(scaled_columns(few.X, prices)).rows)
        directions = total**2 / (sum_of_squares or 1.0)
        factor = min(1.0, CHANCE_DIRECTIONS * math.sqrt(directions / n_rows))
        return cls(square, factor, GENERAL_RIDGE * factor**2, min(MIN_RIDGE, MIN_RIDGE_OF_ONE / n_rows))

    def ridge(self, active: float) -> float:
        """Return the automatic ridge, given the share of active rows."""
        return max(self.largest_ridge * active**4, self.least_ridge) * self.square


def _spectrum(problem: Problem, rows) -> tuple[float, float]:
    """Return Σ λ and Σ λ² for the eigenvalues λ of the rows' covariance, from products of columns or of rows."""
    weights, (n, d) = problem.sample_weight, rows.shape
    if rows.readable and d < n:
        covariance = rows.covariance(weights)
        return float(covariance.trace()), float(np.square(covariance).sum())
    products = rows.products_of_rows()
    with_mean = products @ weights
    products = products - with_mean[:, None] - with_mean[None, :] + float(weights @ with_mean)
    return float(weights @ products.diagonal()), float(weights @ np.square(products) @ weights)


def _square_of_functions(problem: Problem) -> float:
    """Return the mean squared distance of the rows of a kernel from their centre: Σ w ‖φ‖² − ‖Σ w φ‖²."""
    weights = problem.sample_weight
    if problem.n_rows > ROWS_FOR_DIRECTIONS:
        drawn = problem.drawn_rows(ROWS_FOR_DIRECTIONS)
        weights = np.zeros_like(weights)
        weights[drawn] = problem.sample_weight[drawn]
    weights = weights / weights.sum()
    centre = problem.rows.coordinates(problem.rows.weighted_sum(weights))
    return float(problem.rows.sum_of_squares(weights)[0]) - float(centre @ centre)


def chance_gradient(problem: Problem, active: PullVariances) -> float:
    """Return the typical norm of the active rows' gradient with random labels; an intercept absorbs its mean."""
    deviations = deviations_of(problem, active)
    if problem.feature_cost is not None:  # a feature that cannot shift does not count
        can_shift = ~problem.trusted_features
        deviations = deviations[can_shift] * problem.feature_cost[can_shift]
    deviations = deviations[deviations > 0]
    return problem.norm.typical_value(deviations) if len(deviations) else 0.0


def deviations_of(problem: Problem, active: PullVariances) -> np.ndarray:
    """Return the standard deviation of the active rows' total gradient with random labels, by feature."""
    if active.mass == 0.0:
        return np.zeros(problem.n_features)
    variances = active.squares.copy()
    if problem.fit_intercept:
        variances -= active.sums**2 / active.mass
        variances[variances <= ROUNDING * active.squares] = 0.0
    return np.sqrt(variances)
