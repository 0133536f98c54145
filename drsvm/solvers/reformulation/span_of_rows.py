"""Fewer rows than features: the rows in coordinates of the space that they span.

With the Euclidean norm, a ridge and no costs of features, a problem depends on products
between rows only, and optimal weights are sums of rows (the representer theorem). The
products are K = L Lᵀ. The rows of L have no more features than there are rows, and
their problem has the same optimum: v gives the weights w = Σ_i c_i x_i with Lᵀ c = v.
Rows that span all others suffice for the sum. Products lose small differences between
rows, so the answer is certified with all features.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from drsvm.certificate.certificate import dual_point, primal_point
from drsvm.certificate.dual_bound import uncharged_features
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.norms import L2
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result
from drsvm.solvers.interior_point.small import MAX_FEATURES, is_small
from drsvm.solvers.reformulation.reformulation import Classifier, Reformulation

# A row within this squared distance from the span of others, relative to the largest
# x·x, is in it: this is a few hundred times the unit roundoff.
DEPENDENT = 1e-13
# Limit on the number of sparse rows: coordinates of more rows, which are dense, take
# longer than their few entries.
MAX_SPARSE = 300


@dataclass(frozen=True, eq=False)
class SpanOfRows(Reformulation):
    """A problem in the span of its rows.

    Attributes
    ----------
    problem : Problem
        That with the coordinates of the rows.
    all_features : Reformulation
        The problem with all features, which may have been reformulated before.
    spanning : array of integers
        Some rows that span all others.
    triangle : array of shape (k, k)
        The coordinates of these rows, a lower triangle.
    """

    all_features: Reformulation
    spanning: np.ndarray
    triangle: np.ndarray

    def to_inner(self, start) -> Any:
        """Convert a classifier for the outer problem, or None."""
        return super().to_inner(self.all_features.to_inner(start))

    def to_outer(self, found) -> Any:
        """Convert a classifier, with figures of the problem with all features."""
        whole = super().to_outer(found)
        if isinstance(whole, Result):
            whole = self._proven_with_all_features(whole)
        return self.all_features.to_outer(whole)

    def _proven_with_all_features(self, result: Result) -> Result:
        """Return a result with the certificate of the problem with all features."""
        problem = self.all_features.problem
        primal = primal_point(problem, result.weights, result.intercept)
        hinge = problem.multipliers_from(result.hinge_dual)
        flip = problem.multipliers_from(result.flip_dual)
        dual = dual_point(problem, hinge, flip)
        return replace(
            result,
            radius_price=primal.radius_price,
            objective=primal.objective,
            lower_bound=min(dual.lower_bound, primal.objective),
            weight_bound=dual.weight_bound,
            contribution_bound=dual.contribution_bound,
        )

    def with_checked(self, **attributes: Any) -> Reformulation:
        """Return the same for other radii or another ridge.

        It is the problem with all features where the span does not pay.
        """
        whole = self.all_features.with_checked(**attributes)
        if _some_weights_are_free(whole.problem):
            return whole
        inner = self.problem.with_checked(**attributes)
        return replace(self, problem=inner, all_features=whole)

    def _inner(self, weights, intercept) -> Classifier:
        # L v are the values w·x_i, here of the rows that span the others.
        rows = self.all_features.problem.rows
        values = rows.dot(weights)[self.spanning]
        return solve_triangular(self.triangle, values, lower=True), intercept

    def _outer(self, weights, intercept) -> Classifier:
        rows = self.all_features.problem.rows
        c = solve_triangular(self.triangle, weights, lower=True, trans=1)
        coefficients = np.zeros(rows.shape[0])
        coefficients[self.spanning] = c
        return rows.weighted_sum(coefficients), intercept


def in_span_of_rows(whole: Reformulation) -> Reformulation:
    """Return a problem in the span of its rows if that pays, otherwise as it is.

    Parameters
    ----------
    whole : Reformulation
        The problem with all features.

    Returns
    -------
    Reformulation
        A `SpanOfRows`, or `whole`.
    """
    problem = whole.problem
    if not span_pays(problem):
        return whole
    products = problem.rows.products_of_rows()
    largest = float(products.diagonal().max())
    # The Cholesky factorisation with pivoting puts rows that span all others first.
    factor, order, rank, _ = lapack.dpstrf(products, tol=DEPENDENT * largest, lower=1)
    # Only rows of zeros, or products that overflow
    if not (0.0 < largest < np.inf and rank > 0):
        return whole
    order = order - 1  # LAPACK counts from 1
    triangle = np.tril(factor)[:, :rank]
    coordinates = np.empty_like(triangle)
    coordinates[order] = triangle
    inside = problem.on_rows(np.ascontiguousarray(coordinates))
    return SpanOfRows(inside, whole, order[:rank], triangle[:rank])


def problem_with_all_features(reformulation: Reformulation) -> Problem:
    """Return the inner problem as it was before it was put into the span of rows."""
    if isinstance(reformulation, SpanOfRows):
        return reformulation.all_features.problem
    return reformulation.problem


def span_pays(problem: Problem) -> bool:
    """Return whether rows are few and wide, and only products between them matter."""
    if not isinstance(problem.rows, MemoryRows) or not problem.rows.copyable:
        return False
    if is_small(problem) or not isinstance(problem.norm, L2):
        return False
    if problem.feature_cost is not None or problem.monotonic_cst is not None:
        return False
    most = min(MAX_FEATURES, problem.n_features - 1)
    if problem.is_sparse:
        most = min(MAX_SPARSE, most)
    if problem.n_rows > most:
        return False
    return not _some_weights_are_free(problem)


def _some_weights_are_free(problem: Problem) -> bool:
    """Return whether norm and ridge hardly limit some weights.

    A bound then holds for limited weights only, and limits are stated per feature.
    """
    return bool(uncharged_features(problem)[1].any())
