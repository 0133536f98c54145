"""Prices as users state them, by class or by the name of a feature, in the form that `Problem` takes.

The automatic price of the intercept is the size of a typical column, so that the scale
of the features does not matter.
"""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from drsvm.problem import validation
from drsvm.problem.problem import Problem
from drsvm.problem.row_sums import column_moments, typical_row_norm
from drsvm.utils.annotations import Costs, Vector

if TYPE_CHECKING:
    from drsvm import WassersteinKernelSVC, WassersteinSVC, WassersteinSVCCV

    # Which has seen X and y
    Priced: TypeAlias = WassersteinSVC | WassersteinSVCCV | WassersteinKernelSVC


def problem_parameters(
    estimator: "WassersteinSVC | WassersteinKernelSVC",
    costs_by_class: Callable[[np.ndarray], Vector],
    flip_cost: Costs | None,
) -> dict[str, Any]:
    """Return the parameters that all problems of a fit share, except the radius.

    An automatic ridge is 0 at first.

    `costs_by_class` returns a cost for every row from one for every class; `flip_cost`
    are given ones of the rows.
    """
    if flip_cost is None:
        costs = estimator.flip_cost
    else:
        costs = flip_cost
    if isinstance(costs, Mapping):
        costs = costs_by_class(flip_costs_of_classes(costs, estimator.classes_))
    return {
        "flip_cost": costs,
        "l2": 0.0 if isinstance(estimator.l2, str) else estimator.l2,
        "fit_intercept": bool(estimator.fit_intercept),
        "intercept_cost": intercept_cost_or_auto(estimator.intercept_cost),
    }


def flip_costs_of_classes(flip_cost: Mapping[Any, float], classes) -> np.ndarray:
    """Return the flip costs of the classes, in their order, from a dict."""
    missing = [label for label in classes.tolist() if label not in flip_cost]
    if missing:
        raise ValueError(
            f"flip_cost={dict(flip_cost)!r} has no price for the classes {missing!r}: add them, with inf where all "
            "labels are verified."
        )
    return np.array(
        [validation.check_flip_cost(flip_cost[label]) for label in classes.tolist()]
    )


def flip_costs_of_rows(flip_cost: Costs | Mapping[Any, float], y, classes) -> Costs:
    """Return one flip cost per row from a dict with a price for every class.

    Return anything else unchanged.
    """
    if not isinstance(flip_cost, Mapping):
        return flip_cost
    return flip_costs_of_classes(flip_cost, classes)[np.searchsorted(classes, y)]


def feature_prices(estimator: "Priced") -> dict[str, Any]:
    """Return the prices of the features and the signs as parameters of `Problem`."""
    if getattr(estimator, "monotonic_cst", None) is None:
        signs = None
    else:
        signs = monotonic_signs(estimator)
    if signs is not None and len(estimator.classes_) > 2:
        raise ValueError(
            f"monotonic_cst needs two classes, got {len(estimator.classes_)}: leave it out, or fit one classifier per "
            "class, to y == label."
        )
    return {"feature_cost": feature_costs(estimator), "monotonic_cst": signs}


def feature_costs(estimator: "Priced") -> np.ndarray | None:
    """Return one price per feature of an estimator that has seen X, or None if all are 1."""
    if estimator.feature_cost is None:
        return None
    costs = _by_feature(estimator, "feature_cost", otherwise=1.0)
    return validation.check_feature_costs(costs, estimator.n_features_in_)


def monotonic_signs(estimator: "Priced") -> np.ndarray | None:
    """Return the prescribed signs of the weights of an estimator that has seen X, or None."""
    signs = _by_feature(estimator, "monotonic_cst", otherwise=0)
    return validation.check_monotonic_signs(signs, estimator.n_features_in_)


def _by_feature(estimator: "Priced", parameter: str, otherwise: float) -> Any:
    names = getattr(estimator, "feature_names_in_", None)
    return validation.in_order_of_features(
        getattr(estimator, parameter), names, parameter, otherwise
    )


def intercept_cost_or_auto(value: float | str) -> float | str:
    """Return "auto" or the price as a float."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(
                f"intercept_cost must be a number or 'auto', got intercept_cost={value!r}."
            )
        return value
    return validation.check_intercept_cost(value)


def with_intercept_cost(problem: Problem, cost: float | str) -> Problem:
    """Return the problem with a price of the intercept: a number, or "auto" as `WassersteinSVC` defines it."""
    if not problem.fit_intercept or cost != "auto":
        return problem.replace(
            intercept_cost=cost if problem.fit_intercept else math.inf
        )
    if problem.feature_cost is None:
        costs = np.ones(problem.n_features)
    else:
        costs = problem.feature_cost
    costs = np.where(np.isinf(costs), 0.0, costs)
    if problem.is_sparse:
        return problem.with_checked(
            intercept_cost=typical_row_norm(problem, costs) or 1.0
        )
    sizes = costs * column_moments(problem)[1]
    sizes = sizes[sizes > 0]
    if len(sizes) == 0:
        return problem.replace(intercept_cost=1.0)
    factor = math.sqrt(len(sizes)) if problem.norm.p == 1 else 1.0
    return problem.with_checked(
        intercept_cost=factor * math.sqrt(float(sizes @ sizes) / len(sizes))
    )
