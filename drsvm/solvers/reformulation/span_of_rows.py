"""Fewer rows than features: the rows in coordinates of the space that they span.

With the Euclidean norm, a ridge and no prices of features, a problem depends on
products between rows only, and optimal weights are sums of rows. The products are K = L
Lᵀ. The rows of L have no more features than there are rows, and their problem has the
same optimum: v gives the weights w = Σ_i c_i x_i with Lᵀ c = v, over rows that span the
others, too. Products lose small differences between rows, so the answer is certified
with all features.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from drsvm.certificate.certificate import dual_point, primal_point
from drsvm.certificate.dual_bound import uncharged_features
from drsvm.problem.centring import Centred
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.norms import L2
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result
from drsvm.solvers.interior_point.small import MAX_FEATURES, is_small

# A row within this squared distance from the span of others, relative to the largest,
# is in it
DEPENDENT = 1e-13
# Coordinates of more rows take longer than the few entries of sparse ones
MAX_SPARSE = 300


@dataclass(frozen=True, eq=False)
class InSpan(Centred):
    """A problem in the span of its rows, and the conversion of classifiers to and from the original one."""

    whole: Any = None  # the problem with all features
    spanning: Any = None  # some rows,
    triangle: Any = None  # and their coordinates

    is_narrow = True

    def to_centred(self, start) -> Any:
        def coordinates(weights) -> np.ndarray:
            return solve_triangular(
                self.triangle,
                self.whole.rows.dot(np.asarray(weights))[self.spanning],
                lower=True,
            )

        return _with_weights(super().to_centred(start), coordinates)

    def _weights(self, coordinates) -> np.ndarray:
        coefficients = np.zeros(self.whole.n_rows)
        coefficients[self.spanning] = solve_triangular(
            self.triangle, coordinates, lower=True, trans=1
        )
        return self.whole.rows.weighted_sum(coefficients)

    def from_centred(self, result, radius: float | None = None) -> Any:
        found = _with_weights(result, self._weights)
        if isinstance(found, Result):
            duals = (
                self.whole.multipliers_from(of)
                for of in (found.hinge_dual, found.flip_dual)
            )
            primal = primal_point(self.whole, found.weights, found.intercept)
            dual = dual_point(self.whole, *duals)
            found = replace(
                found,
                lower_bound=min(dual.lower_bound, primal.objective),
                objective=primal.objective,
            )
            validity = {
                "weight_bound": dual.weight_bound,
                "contribution_bound": dual.contribution_bound,
            }
            found = replace(found, radius_price=primal.radius_price, **validity)
        return self.with_all_features().from_centred(found, radius)

    def with_all_features(self) -> Centred:
        return Centred(self.whole, self.offset)

    def with_regularisation(self, radius: float, l2: float) -> Centred:
        whole = self.whole.with_regularisation(radius, l2)
        if uncharged_features(whole)[1].any():
            return replace(self.with_all_features(), problem=whole)
        return replace(
            self, problem=self.problem.with_regularisation(radius, l2), whole=whole
        )


def in_span_of_rows(centred: Centred) -> Centred:
    """Return a problem in the span of its rows, if that makes its solution quick.

    Otherwise as it is.
    """
    problem = centred.problem
    if not span_pays(problem):
        return centred
    products = problem.rows.products_of_rows()
    largest = float(products.diagonal().max())
    factor, order, rank, _ = lapack.dpstrf(products, tol=DEPENDENT * largest, lower=1)
    if not (0.0 < largest < np.inf and rank > 0):
        return centred
    order = order - 1
    triangle = np.tril(factor)[:, :rank]
    coordinates = np.empty_like(triangle)
    coordinates[order] = triangle
    inside = problem.on_rows(np.ascontiguousarray(coordinates))
    return InSpan(inside, centred.offset, problem, order[:rank], triangle[:rank])


def span_pays(problem: Problem) -> bool:
    """Return whether rows are few and wide, and products between them are all that matters."""
    if (
        not isinstance(problem.rows, MemoryRows)
        or not problem.rows.copyable
        or is_small(problem)
    ):
        return False
    most = min(
        MAX_SPARSE if problem.is_sparse else MAX_FEATURES, problem.n_features - 1
    )
    is_priced = problem.feature_cost is not None or problem.monotonic_cst is not None
    if is_priced or problem.n_rows > most or not isinstance(problem.norm, L2):
        return False
    # Limits of such weights are stated per feature
    return not uncharged_features(problem)[1].any()


def _with_weights(classifier, change: Callable[[Any], np.ndarray]) -> Any:
    if classifier is None:
        return None
    if isinstance(classifier, Result):
        return replace(classifier, weights=change(classifier.weights))
    weights, intercept = classifier
    return change(weights), intercept
