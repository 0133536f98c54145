"""Costs as columns: the same problem, with finite costs in the rows.

With u_j = w_j/a_j and u_0 = b/a_0,

    w·x + b = Σ_j u_j (a_j x_j) + u_0 a_0,      ‖(w/a, b/a_0)‖_q = ‖(u, u_0)‖_q

so columns are multiplied by their costs, and the intercept is the weight of a constant
column of size a_0. Solvers that know no costs work on these rows; the loop certifies
their candidates on the original problem. A ridge term would be in other units: with
l2 > 0, a solver must exempt the constant column from it, and features must have no
costs.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from drsvm.problem.memory_rows import changed, scaled_columns
from drsvm.problem.problem import Problem
from drsvm.solvers.base import Capability
from drsvm.solvers.reformulation.reformulation import Classifier, Reformulation

# What solvers accept that work on these columns
AS_COLUMNS = Capability.FLIP_COSTS | Capability.INTERCEPT_COST | Capability.COLUMN_COSTS


@dataclass(frozen=True, eq=False)
class CostsAsColumns(Reformulation):
    """A problem without finite costs of features and intercept.

    Its rows are a copy, if there are such costs.

    Attributes
    ----------
    problem : Problem
        That with costs in the rows.
    feature_cost : array of shape (d,), optional
        Factors of the columns; features that cannot shift keep the factor 1.
    intercept_cost : float, optional
        The size of the constant column, which is the last one, or None without it.
    """

    feature_cost: np.ndarray | None = None
    intercept_cost: float | None = None

    @classmethod
    def of(cls, problem: Problem, intercept: bool = True) -> "CostsAsColumns":
        """Return a problem in units of its costs.

        Parameters
        ----------
        problem : Problem
        intercept : bool
            Whether a cost of the intercept becomes a column, too.

        Returns
        -------
        CostsAsColumns
        """
        factors = None
        constant = None
        if problem.feature_cost is not None:
            trusted = np.isinf(problem.feature_cost)
            factors = np.where(trusted, 1.0, problem.feature_cost)
            rows = changed(problem.X, lambda rows: scaled_columns(rows, factors))
            problem = problem.on_rows(rows)
            problem = problem.replace(feature_cost=np.where(trusted, np.inf, 1.0))
        if intercept and problem.has_intercept_cost:
            constant = problem.intercept_cost
            problem = _with_constant_column(problem, constant)
        return cls(problem, factors, constant)

    def _inner(self, weights, intercept) -> Classifier:
        if self.feature_cost is not None:
            weights = weights / self.feature_cost
        if self.intercept_cost is not None:
            weights = np.append(weights, intercept / self.intercept_cost)
            intercept = 0.0
        return weights, intercept

    def _outer(self, weights, intercept) -> Classifier:
        if self.intercept_cost is not None:
            intercept = float(self.intercept_cost * weights[-1])
            weights = weights[:-1]
        if self.feature_cost is not None:
            weights = weights * self.feature_cost
        return weights, intercept


def _with_constant_column(problem: Problem, size: float) -> Problem:
    """Return the problem whose last column stands for the intercept."""
    costs = problem.feature_cost
    signs = problem.monotonic_cst
    # Parameters of single features do not fit while the number of features changes.
    bare = problem.replace(feature_cost=None, monotonic_cst=None, fit_intercept=False)
    wider = bare.on_rows(with_constant(problem.X, size))
    if costs is not None:
        wider = wider.replace(feature_cost=np.append(costs, 1.0))
    if signs is not None:
        wider = wider.replace(monotonic_cst=np.append(signs, 0))
    return wider


def with_constant(X, size: float):
    """Return rows with one more column, of the given size in every row.

    Rows in single precision stay so if the size is exact in it.
    """
    dtype = X.dtype
    if float(dtype.type(size)) != size:
        dtype = np.float64
    if sparse.issparse(X):
        column = type(X)(np.full((X.shape[0], 1), size, dtype=dtype))
        return type(X)(sparse.hstack([X, column], format="csr"))

    def widened(rows):
        return np.hstack([rows, np.full((len(rows), 1), size, dtype=dtype)])

    # Large dense rows in a file are changed whenever they are read.
    return changed(X, widened)
