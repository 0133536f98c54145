"""Costs as users state them, by class or as "auto", in the form that `Problem` takes.

The cost of the intercept puts it inside the norm, as if it came from a constant column
of that size. The automatic one is the size of a typical column, so that the scale of
the features does not matter.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from drsvm.problem import validation
from drsvm.problem.problem import Problem
from drsvm.problem.row_sums import column_moments, typical_row_norm
from drsvm.utils.annotations import Costs


def number_or_auto(value: float | str, name: str) -> float | None:
    """Return a parameter as a number; None for "auto"."""
    if not isinstance(value, str):
        return validation.check_number(value, name)
    _check_auto(value, name)
    return None


def intercept_cost_or_auto(value: float | str) -> float | str:
    """Return "auto" or the cost as a float."""
    if not isinstance(value, str):
        return validation.check_intercept_cost(value)
    _check_auto(value, "intercept_cost")
    return value


def _check_auto(value: str, name: str) -> None:
    """Raise an error unless a text is "auto"."""
    if value != "auto":
        raise ValueError(f"{name} must be a number or 'auto', got {name}={value!r}.")


def flip_costs_of_classes(flip_cost: Mapping[Any, float], classes) -> np.ndarray:
    """Return the flip costs of the classes, in their order, from a dict by class."""
    labels = classes.tolist()
    missing = [label for label in labels if label not in flip_cost]
    if missing:
        raise ValueError(
            f"flip_cost={dict(flip_cost)!r} has no price for the classes {missing!r}: "
            "add them, with inf where all labels are verified."
        )
    costs = [validation.check_flip_cost(flip_cost[label]) for label in labels]
    return np.array(costs)


def flip_costs_of_rows(flip_cost: Costs | Mapping[Any, float], y, classes) -> Costs:
    """Return one flip cost per row from a dict by class; anything else unchanged.

    Parameters
    ----------
    flip_cost : number, array or mapping
        One cost, one per row, or one per class.
    y : array of shape (n,)
        The labels of the rows.
    classes : array of shape (n_classes,)
        The classes, in order.

    Returns
    -------
    number or array of shape (n,)
        The costs.
    """
    if not isinstance(flip_cost, Mapping):
        return flip_cost
    return flip_costs_of_classes(flip_cost, classes)[np.searchsorted(classes, y)]


def with_intercept_cost(problem: Problem, cost: float | str) -> Problem:
    """Return the problem with a cost of the intercept.

    Parameters
    ----------
    problem : Problem
        The problem, without such a cost.
    cost : float or "auto"
        The cost. "auto" is the root mean square of the deviations of the columns that
        vary, in units of their costs; for the 1-norm, times the square root of their
        number. For sparse rows it is the size of a typical row.

    Returns
    -------
    Problem
        The problem with the cost.
    """
    if not problem.fit_intercept:
        return problem.replace(intercept_cost=math.inf)
    if cost != "auto":
        return problem.replace(intercept_cost=cost)

    # A free intercept, and a given cost, are done. Otherwise: the size of a column
    costs = np.ones(problem.n_features)
    if problem.feature_cost is not None:
        # A feature that cannot shift says nothing about the size of shifts.
        costs = np.where(np.isinf(problem.feature_cost), 0.0, problem.feature_cost)
    if problem.is_sparse:
        # Sparse rows are not moved to their centre: their sizes count, not deviations.
        typical = typical_row_norm(problem, costs) or 1.0
        return problem.with_checked(intercept_cost=typical)
    deviations = costs * column_moments(problem)[1]
    deviations = deviations[deviations > 0]
    if len(deviations) == 0:
        return problem.replace(intercept_cost=1.0)
    typical = math.sqrt(float(deviations @ deviations) / len(deviations))
    if problem.norm.p == 1:
        # The 1-norm of a row is that many times as large as its 2-norm, if its entries
        # have the same size.
        typical = math.sqrt(len(deviations)) * typical
    return problem.with_checked(intercept_cost=typical)
