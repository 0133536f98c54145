"""Parameters of an estimator in the form that `Problem` takes."""

from typing import Any

import numpy as np

from drsvm.defaults.costs import intercept_cost_or_auto
from drsvm.problem import validation
from drsvm.utils.annotations import Costs
from drsvm.utils.arguments import check_single

# Parameters for which arrays are allowed, or that are checked elsewhere
MAY_BE_ARRAYS = (
    "cv",
    "feature_cost",
    "flip_costs",
    "intercept_costs",
    "l2",
    "landmarks",
    "monotonic_cst",
    "norms",
    "radii",
    "row_radius",
)


def check_single_parameters(estimator) -> None:
    """Raise an error that names a parameter that must not be an array."""
    # `get_params` would take 3 % of a small fit. What a fit has stored, perhaps of an
    # earlier one, has an underscore.
    for name, value in vars(estimator).items():
        if "_" not in (name[0], name[-1]) and name not in MAY_BE_ARRAYS:
            check_single(**{name: value})


def problem_parameters(estimator, flip_cost: Costs) -> dict[str, Any]:
    """Return the parameters of the problems of a fit that concern all its features.

    The radius is not among them, and an automatic ridge is 0 at first.
    """
    l2 = estimator.l2
    if isinstance(l2, str):
        l2 = 0.0
    return {
        "flip_cost": flip_cost,
        "l2": l2,
        "fit_intercept": bool(estimator.fit_intercept),
        "intercept_cost": intercept_cost_or_auto(estimator.intercept_cost),
    }


def feature_parameters(estimator) -> dict[str, Any]:
    """Return the costs of the features and the signs of their weights."""
    signs = monotonic_signs(estimator)
    if signs is not None and len(estimator.classes_) > 2:
        raise ValueError(
            f"monotonic_cst needs two classes, got {len(estimator.classes_)}: leave it "
            "out, or fit one classifier per class, to y == label."
        )
    return {"feature_cost": feature_costs(estimator), "monotonic_cst": signs}


def feature_costs(estimator) -> np.ndarray | None:
    """Return one cost per feature of an estimator that has seen X.

    None if all of them are 1.
    """
    costs = _by_feature(estimator, "feature_cost", otherwise=1.0)
    return validation.check_feature_costs(costs, estimator.n_features_in_)


def monotonic_signs(estimator) -> np.ndarray | None:
    """Return the prescribed signs of the weights of an estimator that has seen X.

    None if there are none.
    """
    signs = _by_feature(estimator, "monotonic_cst", otherwise=0)
    return validation.check_monotonic_signs(signs, estimator.n_features_in_)


def _by_feature(estimator, parameter: str, otherwise: float) -> Any:
    """Return a parameter that may be a dict by name, in the order of the features."""
    names = getattr(estimator, "feature_names_in_", None)
    given = getattr(estimator, parameter)
    return validation.in_order_of_features(given, names, parameter, otherwise)
