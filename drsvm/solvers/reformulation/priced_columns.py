"""Prices as columns: the same problem, in which finite prices of features and intercept are part of the rows.

With u_j = w_j/a_j and u_0 = b/a_0,

    w·x + b = Σ_j u_j (a_j x_j) + u_0 a_0,      ‖(w/a, b/a_0)‖_q = ‖(u, u_0)‖_q

so columns are multiplied by their prices, and the intercept is the weight of a constant
column of size a_0. Solvers that know no prices work on these rows; the loop certifies
their candidates on the original problem. A ridge term would be in other units: with l2
> 0, a solver must exempt the constant column from it, and features must have no prices.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from drsvm.problem.memory_rows import changed, scaled_columns
from drsvm.problem.problem import Problem
from drsvm.solvers.base import Candidate, Price

# Of solvers that work on these columns
AS_COLUMNS = Price.FLIPS | Price.INTERCEPT | Price.COLUMNS


@dataclass(frozen=True, eq=False)
class PricedColumns:
    """A problem without finite prices of features and intercept, and the conversion of classifiers to and from it."""

    problem: Problem  # with a copy of the rows, if there are such prices
    # Factors of the columns; features that cannot shift keep the factor 1
    prices: np.ndarray | None = None
    # Size of the constant column, the last one; None: there is none
    intercept_cost: float | None = None

    @classmethod
    def of(cls, problem: Problem, intercept: bool = True) -> "PricedColumns":
        """Return a problem in units of its prices.

        Without `intercept`, that of the intercept stays as it is.
        """
        prices = None
        constant = None
        if problem.feature_cost is not None:
            trusted = np.isinf(problem.feature_cost)
            prices = np.where(trusted, 1.0, problem.feature_cost)
            problem = problem.on_rows(
                changed(problem.X, lambda rows: scaled_columns(rows, prices))
            )
            problem = problem.replace(feature_cost=np.where(trusted, np.inf, 1.0))
        if intercept and problem.prices_intercept:
            constant = problem.intercept_cost
            of_features = {"feature_cost": 1.0, "monotonic_cst": 0}
            of_problem = {
                name: getattr(problem, name)
                for name in of_features
                if getattr(problem, name) is not None
            }
            more = {
                name: np.append(values, of_features[name])
                for name, values in of_problem.items()
            }
            rows = with_constant(problem.X, constant)
            problem = (
                problem.replace(**dict.fromkeys(of_problem), fit_intercept=False)
                .on_rows(rows)
                .replace(**more)
            )
        return cls(problem, prices, constant)

    def to_columns(self, start: Candidate) -> Candidate:
        """Convert a classifier for the original problem to one for the problem without prices."""
        if self.prices is None:
            weights = start.weights
        else:
            weights = start.weights / self.prices
        intercept = start.intercept
        if self.intercept_cost is not None:
            weights = np.append(weights, intercept / self.intercept_cost)
            intercept = 0.0
        return Candidate(weights, intercept, start.hinge_dual, start.flip_dual)

    def from_columns(self, candidate: Candidate) -> Candidate:
        """Convert a classifier for the problem without prices to one for the original problem."""
        weights = candidate.weights
        intercept = candidate.intercept
        if self.intercept_cost is not None:
            intercept = float(self.intercept_cost * weights[-1])
            weights = weights[:-1]
        if self.prices is not None:
            weights = weights * self.prices
        return Candidate(weights, intercept, candidate.hinge_dual, candidate.flip_dual)


def with_constant(X, size: float):
    """Return rows with one more column, of the given size in every row.

    Float32 rows stay so if it can be exact.
    """
    exact = float(X.dtype.type(size)) == size
    dtype = X.dtype if exact else np.float64
    if not sparse.issparse(X):
        return changed(
            X,
            lambda rows: np.hstack([rows, np.full((len(rows), 1), size, dtype=dtype)]),
        )
    column = np.full((X.shape[0], 1), size, dtype=dtype)
    return type(X)(sparse.hstack([X, type(X)(column)], format="csr"))
