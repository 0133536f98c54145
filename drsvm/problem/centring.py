"""Columns far from 0: a free intercept absorbs any shift of the columns, so solvers can work on shifted ones.

    w·x + b = w·(x − c) + (b + w·c)

A column around 480 ± 40 costs every method digits or iterations; its shifted copy costs
nothing. Columns are shifted by one of their own entries, so a constant column becomes
exactly 0. An intercept far from 0 has fewer digits after its point: what is certified
is the classifier with the intercept as it is returned.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from drsvm.problem.problem import Problem
from drsvm.problem.result import Result, Status
from drsvm.utils.compensated_sums import ULP, compensated_transposed_dot

SAMPLE = 500  # number of rows used to determine where the columns lie
# An intercept that differs by no more is the same: objectives differ by at most twice
# as much
NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class Centred:
    """A problem, with shifted columns if needed, and the conversion of classifiers to and from the original one."""

    problem: Problem
    offset: np.ndarray | None = None

    is_narrow: ClassVar[bool] = False
    """Whether there are fewer features than in the original problem."""

    @classmethod
    def of(cls, problem: Problem) -> "Centred":
        """Shift the columns that lie 3 deviations from 0 or more.

        Rows are copied (as float64) if there are any.

        Large rows in a file are not copied: dense ones are shifted whenever they are
        read, sparse ones not at all. A sparse matrix stays as sparse as it is: only
        columns without zeros are shifted, and a column with many zeros is not far from
        0.
        """
        if (
            not problem.fit_intercept
            or problem.prices_intercept
            or problem.rows.is_kernel
        ):
            return cls(problem)
        if problem.is_sparse and not problem.rows.copyable:
            return cls(problem)
        columns = np.arange(problem.n_features)
        if (
            problem.is_sparse
        ):  # those with an entry in every row; few are left after the first rows
            indices = problem.X.indices
            starts = problem.X.indptr
            n = problem.n_rows
            for size in (min(SAMPLE, n), n):
                counts = np.bincount(
                    indices[: starts[size]], minlength=problem.n_features
                )
                columns = np.flatnonzero(counts == size)
                if len(columns) == 0:
                    return cls(problem)
        rows = problem.rows.some(SAMPLE)
        rows = (rows[:, columns].toarray() if sparse.issparse(rows) else rows).astype(
            np.float64, copy=False
        )
        far = np.flatnonzero(np.abs(rows.mean(axis=0)) > 3.0 * rows.std(axis=0))
        offset = np.zeros(problem.n_features)
        # The medians
        offset[columns[far]] = np.sort(rows[:, far], axis=0)[len(rows) // 2]
        if offset.any():
            return cls(problem.shifted(offset), offset)
        return cls(problem)

    def to_centred(self, start) -> Any:
        """Convert a start for the original problem to one for the shifted problem."""
        return self._moved(start, 1.0)

    def from_centred(self, result, radius: float | None = None) -> Any:
        """Convert a result, or weights and intercept, for the shifted problem to one for the original problem.

        The figures of a result, which may be for another radius, become those of the
        classifier with the intercept as it is now rounded; if they are no longer within
        the tolerance, the status changes.
        """
        found = self._moved(result, -1.0)
        if self.offset is None or not isinstance(found, Result):
            return found
        intercept = self._shifted_intercept(found.weights, found.intercept, 1.0)
        if abs(intercept - result.intercept) <= NEGLIGIBLE:
            return found
        if radius is None:
            problem = self.problem
        else:
            problem = self.problem.replace(radius=float(radius))
        price, objective = problem.price_and_objective(found.weights, intercept)
        found = replace(found, radius_price=price, objective=objective)
        if found.status.reached and not found.gap <= found.tol:
            return replace(found, status=Status.STALLED)
        return found

    def with_all_features(self) -> "Centred":
        """Return this without any change of features."""
        return self

    def with_regularisation(self, radius: float, l2: float) -> "Centred":
        """Return this for a problem that differs in radius and ridge."""
        return replace(self, problem=self.problem.with_regularisation(radius, l2))

    def _moved(self, classifier, sign: float) -> Any:
        if classifier is None or self.offset is None:
            return classifier
        if isinstance(classifier, Result):
            intercept = self._shifted_intercept(
                classifier.weights, classifier.intercept, sign
            )
            return replace(classifier, intercept=intercept)
        weights, intercept = classifier
        return weights, self._shifted_intercept(np.asarray(weights), intercept, sign)

    def _shifted_intercept(self, weights, intercept: float, sign: float) -> float:
        """Return b ± w·c, with an error that does not matter or is that of one rounding."""
        assert self.offset is not None
        if (
            ULP * (len(weights) + 2) * float(np.abs(self.offset) @ np.abs(weights))
            <= 0.1 * NEGLIGIBLE
        ):
            return intercept + sign * float(self.offset @ weights)
        terms = (
            np.append(sign * self.offset, 1.0)[:, None],
            np.append(weights, intercept),
        )
        return float(compensated_transposed_dot(*terms)[0][0])
