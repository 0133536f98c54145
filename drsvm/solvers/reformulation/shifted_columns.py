"""Columns relative to an offset that the intercept absorbs.

With w·x + b = w·(x − c) + (b + w·c), rows x − c have the same decision values after the
intercept has grown by w·c. Columns whose values are far from 0 compared with their
spread would otherwise lose digits (see `problem/centring.py`).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drsvm.problem.centring import NEGLIGIBLE, offset_of_far_columns, shifted_intercept
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result, Status
from drsvm.solvers.reformulation.reformulation import (
    Classifier,
    Reformulation,
    Unchanged,
)


@dataclass(frozen=True, eq=False)
class ShiftedColumns(Reformulation):
    """A problem on the rows x − c instead of x.

    The rows are copied, except for large dense ones in a file, which are shifted
    whenever they are read.

    Attributes
    ----------
    problem : Problem
        That with the shifted rows.
    offset : array of shape (d,)
        c.
    """

    offset: np.ndarray

    def to_outer(self, found) -> Any:
        """Convert a result, or weights and intercept, to the outer problem.

        The figures of a result become those of the classifier with the intercept as it
        is now rounded; if they are no longer within the tolerance, the status changes.
        """
        outer = super().to_outer(found)
        if not isinstance(outer, Result):
            return outer
        # The way back tells what rounding has changed.
        weights, intercept = self._inner(outer.weights, outer.intercept)
        if abs(intercept - found.intercept) <= NEGLIGIBLE:
            return outer
        price, objective = self.problem.price_and_objective(weights, intercept)
        outer = replace(outer, radius_price=price, objective=objective)
        if outer.status.reached and not outer.gap <= outer.tol:
            return replace(outer, status=Status.STALLED)
        return outer

    def _inner(self, weights, intercept) -> Classifier:
        return weights, shifted_intercept(self.offset, weights, intercept)

    def _outer(self, weights, intercept) -> Classifier:
        return weights, shifted_intercept(-self.offset, weights, intercept)


def without_far_columns(problem: Problem) -> Reformulation:
    """Return a problem in which columns far from 0 are shifted, if there are any."""
    offset = offset_of_far_columns(problem)
    if offset is None:
        return Unchanged(problem)
    return ShiftedColumns(problem.shifted(offset), offset)
