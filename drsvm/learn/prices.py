"""Prices as users state them, by class or by the name of a feature, in the form that `Problem` takes.

The intercept is priced at the centre x̄ of the data: b + w·x̄ is inside the norm instead of b, so that a shift of the
columns changes nothing. For that, dense columns are shifted by their weighted means before a problem is solved; with
several classes, the rows of one class weigh as much as all others, and every class has its own centre.
The automatic price of the intercept is the size of a typical column, so that the scale of the features does not matter.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.model.memory_rows import MemoryRows
from drsvm.model.norms import norm_for
from drsvm.model.problem import Problem
from drsvm.model.validation import (
    check_feature_costs,
    check_flip_cost,
    check_intercept_cost,
    check_monotonic_signs,
    in_order_of_features,
    row_blocks,
    row_norms,
)
from drsvm.solvers.transforms.centring import Centred

NEGLIGIBLE = 1e-6
"""Columns whose means are at most this many deviations from 0 are not shifted, which saves a copy of the rows."""


def flip_costs_of_classes(flip_cost: Mapping[Any, float], classes) -> np.ndarray:
    """Return the flip costs of the classes, in their order, from a dict."""
    missing = [label for label in classes.tolist() if label not in flip_cost]
    if missing:
        raise ValueError(
            f"flip_cost={dict(flip_cost)!r} has no price for the classes {missing!r}: add them, with inf where all "
            "labels are verified."
        )
    return np.array([check_flip_cost(flip_cost[label]) for label in classes.tolist()])


def flip_costs_of_rows(flip_cost, y, classes) -> Any:
    """Return one flip cost per row from a dict with a price for every class; return anything else unchanged."""
    if not isinstance(flip_cost, Mapping):
        return flip_cost
    return flip_costs_of_classes(flip_cost, classes)[np.searchsorted(classes, y)]


def feature_prices(estimator) -> dict[str, Any]:
    """Return the prices of the features and the signs as parameters of `Problem`; X has been checked."""
    return {"feature_cost": feature_costs(estimator), "monotonic_cst": _signs_for_two_classes(estimator)}


def feature_costs(estimator) -> np.ndarray | None:
    """Return one price per feature of an estimator that has seen X, or None if all are 1."""
    costs = _by_feature(estimator, "feature_cost", otherwise=1.0)
    return check_feature_costs(costs, estimator.n_features_in_)


def _monotonic_signs(estimator) -> np.ndarray | None:
    return check_monotonic_signs(_by_feature(estimator, "monotonic_cst", otherwise=0), estimator.n_features_in_)


def _signs_for_two_classes(estimator) -> np.ndarray | None:
    signs = _monotonic_signs(estimator)
    if signs is not None and len(estimator.classes_) > 2:
        raise ValueError(
            f"monotonic_cst needs two classes, got {len(estimator.classes_)}: leave it out, or fit one classifier per "
            "class, to y == label."
        )
    return signs


def _by_feature(estimator, parameter: str, otherwise: float) -> Any:
    """Return the values of a parameter in the order of the features if it is a dict by name, else unchanged."""
    names = getattr(estimator, "feature_names_in_", None)
    return in_order_of_features(getattr(estimator, parameter), names, parameter, otherwise)


# --- the centre of the data ---------------------------------------------------------------------------------------


def intercept_cost_or_auto(value) -> Any:
    """Return "auto" or the price as a float."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"intercept_cost must be a number or 'auto', got intercept_cost={value!r}.")
        return value
    return check_intercept_cost(value)


def with_intercept_cost(ball: Mapping[str, Any], X, weights) -> dict[str, Any]:
    """Return the parameters of a problem with the price of the intercept as a number."""
    cost = ball["intercept_cost"] if ball["fit_intercept"] else math.inf
    if cost == "auto":
        weights = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights / weights.sum()
        cost = (_typical_row if sparse.issparse(X) else _typical_column)(X, weights, ball)
    return {**ball, "intercept_cost": cost}


def typical_size(problem: Problem, ball: Mapping[str, Any]) -> float:
    """Return the automatic price of the intercept for a problem."""
    if not problem.is_sparse:
        return _typical_deviation(problem.moments()[1], ball)
    costs = ball["feature_cost"]
    return problem.typical_row_norm(np.ones(problem.n_features) if costs is None else _finite(costs)) or 1.0


def centre_of(X, weights) -> np.ndarray | None:
    """Return the weighted means of the columns; None for the origin.

    The origin it is for sparse rows, which stay sparse, and if the means are 0 anyway.
    """
    if sparse.issparse(X):
        return None
    weights = np.full(len(X), 1.0 / len(X)) if weights is None else weights / weights.sum()
    return _unless_negligible(*MemoryRows(X).moments(weights), X.dtype)


def _centre(problem: Problem) -> np.ndarray | None:
    return _unless_negligible(*problem.moments(), problem.rows.dtype)


def _unless_negligible(means, deviations, dtype) -> np.ndarray | None:
    if (np.abs(means) <= NEGLIGIBLE * deviations).all():
        return None
    # Rounded to the type of the rows, so that subtracting them leaves that type and is nearly exact.
    return means.astype(dtype).astype(np.float64)


def at_centre(problem: Problem) -> Centred:
    """Return the problem with rows relative to where the intercept is priced; copies if that is not the origin.

    Large rows in a file are not copied but shifted on the way.
    """
    centre = _centre(problem) if problem.prices_intercept and not problem.is_sparse else None
    if centre is None:
        return Centred(problem)
    offset = centre.astype(problem.rows.dtype)
    return Centred(problem.shifted(offset), centre)


def shared_centre(problem: Problem) -> Callable[[Problem], Centred]:
    """Return `at_centre` for problems that differ from a given one in the radius only: one copy of the rows for all."""
    first = at_centre(problem)
    return lambda other: Centred(first.problem.replace(radius=other.radius), first.offset)


def _typical_column(X, weights, ball: Mapping[str, Any]) -> float:
    """Return the root mean square of the deviations, √d times that for norm=1, whose weights are all of equal size."""
    return _typical_deviation(MemoryRows(X).moments(weights)[1], ball)


def _typical_deviation(deviations, ball: Mapping[str, Any]) -> float:
    costs = ball["feature_cost"]
    sizes = deviations if costs is None else deviations[np.isfinite(costs)] * costs[np.isfinite(costs)]
    sizes = sizes[sizes > 0]
    if len(sizes) == 0:
        return 1.0
    factor = math.sqrt(len(sizes)) if norm_for(ball["norm"]).p == 1 else 1.0
    return factor * math.sqrt(float(sizes @ sizes) / len(sizes))


def _typical_row(X, weights, ball: Mapping[str, Any]) -> float:
    """Return the mean norm of the rows: rows that cannot be centred leave their mean to the intercept."""
    costs, order = ball["feature_cost"], norm_for(ball["norm"]).p
    total = 0.0
    for block in row_blocks(X):
        rows = X[block] if costs is None else X[block] * _finite(costs)[None, :]
        total += float(weights[block] @ row_norms(rows, order))
    return total or 1.0


def _finite(costs) -> np.ndarray:
    """Return prices with 0 for features that cannot shift."""
    return np.where(np.isinf(costs), 0.0, costs)


# --- rows in blocks -----------------------------------------------------------------------------------------------


def refusal_of_blocks(estimator) -> str | None:
    """Return why `partial_fit` cannot use the prices of an estimator, with the remedy, or None if it can."""
    if feature_costs(estimator) is not None:
        return (
            "partial_fit does not support feature_cost: multiply the columns by their prices instead, which is the "
            "same for l2=0, or use fit."
        )
    if _monotonic_signs(estimator) is not None:
        return "partial_fit does not support monotonic_cst: use fit."
    return None
