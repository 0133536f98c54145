"""Prices as users state them, by class or by the name of a feature, in the form that `Problem` takes.

The intercept is priced at the centre x̄ of the data: b + w·x̄ is inside the norm instead of b, so that a shift of the
columns changes nothing. For that, dense columns are shifted by their weighted means before the problem is built.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.model.validation import (
    check_feature_costs,
    check_flip_cost,
    check_intercept_cost,
    check_monotonic_signs,
    row_blocks,
)


def flip_costs_of_rows(flip_cost, y, classes) -> Any:
    """Return one flip cost per row from a dict with a price for every class; return anything else unchanged."""
    if not isinstance(flip_cost, Mapping):
        return flip_cost
    missing = [label for label in classes.tolist() if label not in flip_cost]
    if missing:
        raise ValueError(
            f"flip_cost={dict(flip_cost)!r} has no price for the classes {missing!r}: add them, with inf where all "
            "labels are verified."
        )
    costs = np.array([check_flip_cost(flip_cost[label]) for label in classes.tolist()])
    return costs[np.searchsorted(classes, y)]


def feature_prices(estimator) -> dict[str, Any]:
    """Return the prices of features and intercept, and the signs, as parameters of `Problem`; X has been checked."""
    return {
        "intercept_cost": check_intercept_cost(estimator.intercept_cost),
        "feature_cost": feature_costs(estimator),
        "monotonic_cst": _signs_for_two_classes(estimator),
    }


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
    given = getattr(estimator, parameter)
    if not isinstance(given, Mapping):
        return given
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            f"{parameter}={dict(given)!r} names features, but X has no names: pass a data frame, or {parameter} as an "
            "array with one entry per feature."
        )
    unknown = [name for name in given if name not in set(names)]
    if unknown:
        raise ValueError(f"{parameter} names {unknown[0]!r}, which is not among the features {_shown(names)}.")
    return [given.get(name, otherwise) for name in names]


def _shown(names, most: int = 5) -> str:
    return ", ".join(map(str, names[:most])) + (", …" if len(names) > most else "")


# --- the centre of the data ---------------------------------------------------------------------------------------


def centre_of(X, weights, ball: Mapping[str, Any]) -> np.ndarray | None:
    """Return the weighted column means if the intercept is priced there; None for sparse rows, which stay sparse."""
    if sparse.issparse(X) or not ball["fit_intercept"] or math.isinf(ball["intercept_cost"]):
        return None
    weights = np.ones(len(X)) if weights is None else weights / weights.max()
    total = np.zeros(X.shape[1])
    for block in row_blocks(X):
        total += weights[block] @ X[block].astype(np.float64, copy=False)
    # Rounded to the type of the rows, so that subtracting it from them leaves that type and is nearly exact.
    return (total / weights.sum()).astype(X.dtype).astype(np.float64)


def shifted(X, centre: np.ndarray | None):
    """Return the rows relative to the centre; a copy if there is one."""
    return X if centre is None else X - centre.astype(X.dtype)


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
