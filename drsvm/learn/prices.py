"""Prices as users state them, by class or by the name of a feature, in the form that `Problem` takes.

The intercept is priced at the centre x̄ of the data: b + w·x̄ is inside the norm instead of b, so that a shift of the
columns changes nothing. For that, dense columns are shifted by their weighted means before a problem is solved; with
several classes, the rows of one class weigh as much as all others, and every class has its own centre.
The automatic price of the intercept is the size of a typical column, so that the scale of the features does not matter.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from drsvm.model import validation
from drsvm.model.centring import Centred
from drsvm.model.problem import Problem
from drsvm.solvers.path.radius_path import RadiusPath, radius_path
from drsvm.solvers.transforms.span_of_rows import in_span_of_rows, span_pays

NEGLIGIBLE = 1e-6  # columns with means of at most so many deviations are not shifted, which saves a copy
MAX_COPIED = 20_000_000  # entries of the rows of all classes that are kept at the same time


def flip_costs_of_classes(flip_cost: Mapping[Any, float], classes) -> np.ndarray:
    """Return the flip costs of the classes, in their order, from a dict."""
    missing = [label for label in classes.tolist() if label not in flip_cost]
    if missing:
        raise ValueError(
            f"flip_cost={dict(flip_cost)!r} has no price for the classes {missing!r}: add them, with inf where all "
            "labels are verified."
        )
    return np.array([validation.check_flip_cost(flip_cost[label]) for label in classes.tolist()])


def flip_costs_of_rows(flip_cost, y, classes) -> Any:
    """Return one flip cost per row from a dict with a price for every class; return anything else unchanged."""
    if not isinstance(flip_cost, Mapping):
        return flip_cost
    return flip_costs_of_classes(flip_cost, classes)[np.searchsorted(classes, y)]


def feature_prices(estimator) -> dict[str, Any]:
    """Return the prices of the features and the signs as parameters of `Problem`; X has been checked."""
    signs = monotonic_signs(estimator)
    if signs is not None and len(estimator.classes_) > 2:
        raise ValueError(
            f"monotonic_cst needs two classes, got {len(estimator.classes_)}: leave it out, or fit one classifier per "
            "class, to y == label."
        )
    return {"feature_cost": feature_costs(estimator), "monotonic_cst": signs}


def feature_costs(estimator) -> np.ndarray | None:
    """Return one price per feature of an estimator that has seen X, or None if all are 1."""
    costs = _by_feature(estimator, "feature_cost", otherwise=1.0)
    return validation.check_feature_costs(costs, estimator.n_features_in_)


def monotonic_signs(estimator) -> np.ndarray | None:
    """Return the prescribed signs of the weights of an estimator that has seen X, or None."""
    signs = _by_feature(estimator, "monotonic_cst", otherwise=0)
    return validation.check_monotonic_signs(signs, estimator.n_features_in_)


def _by_feature(estimator, parameter: str, otherwise: float) -> Any:
    names = getattr(estimator, "feature_names_in_", None)
    return validation.in_order_of_features(getattr(estimator, parameter), names, parameter, otherwise)


def intercept_cost_or_auto(value) -> Any:
    """Return "auto" or the price as a float."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"intercept_cost must be a number or 'auto', got intercept_cost={value!r}.")
        return value
    return validation.check_intercept_cost(value)


def with_intercept_cost(problem: Problem, cost: Any) -> Problem:
    """Return the problem with a price of the intercept: a number, or "auto" as `WassersteinSVC` defines it."""
    if not problem.fit_intercept or cost != "auto":
        return problem.replace(intercept_cost=cost if problem.fit_intercept else math.inf)
    costs = np.ones(problem.n_features) if problem.feature_cost is None else problem.feature_cost
    costs = np.where(np.isinf(costs), 0.0, costs)
    if problem.is_sparse:
        return problem.replace(intercept_cost=problem.typical_row_norm(costs) or 1.0)
    sizes = costs * problem.moments()[1]
    sizes = sizes[sizes > 0]
    if len(sizes) == 0:
        return problem.replace(intercept_cost=1.0)
    factor = math.sqrt(len(sizes)) if problem.norm.p == 1 else 1.0
    return problem.replace(intercept_cost=factor * math.sqrt(float(sizes @ sizes) / len(sizes)))


def centre_of(problem: Problem) -> np.ndarray | None:
    """Return the weighted means of the columns, where the intercept is priced; None for sparse rows or means of 0."""
    if not problem.prices_intercept or problem.is_sparse:
        return None
    means, deviations = problem.moments()
    if (np.abs(means) <= NEGLIGIBLE * deviations).all():
        return None
    # Rounded to the type of the rows, so that subtracting them leaves that type and is nearly exact.
    return means.astype(problem.rows.dtype).astype(np.float64)


def at_centre(problem: Problem) -> Centred:
    """Return the problem with rows relative to the centre: copies, or large rows in a file shifted on the way."""
    centre = centre_of(problem)
    return Centred(problem) if centre is None else Centred(problem.shifted(centre.astype(problem.rows.dtype)), centre)


def centres(problems: list[Problem], *, in_span: bool) -> Callable[[Problem], Centred]:
    """Return `at_centre` for the problems of a fit at any radius and ridge; wide rows `in_span_of_rows` if allowed.

    Each of several classes has its own centre, and a copy of the rows for every use unless they are few.
    """
    if len(problems) == 1:
        return shared_centre(problems[0], in_span=in_span)
    entries = len(problems) * problems[0].n_rows * problems[0].n_features
    if not (in_span and entries <= MAX_COPIED and span_pays(problems[0])):
        return at_centre
    of_classes = {id(problem.signs): shared_centre(problem, in_span=True) for problem in problems}
    return lambda problem: of_classes[id(problem.signs)](problem)


def shared_centre(problem: Problem, *, in_span: bool = False) -> Callable[[Problem], Centred]:
    """Return `at_centre` for problems that differ from this one in radius and ridge: one copy of the rows for all."""
    first = in_span_of_rows(at_centre(problem)) if in_span else at_centre(problem)
    if first.problem is problem:
        return Centred
    return lambda other: first.with_ball(other.radius, other.l2)


def path_at_centre(problem: Problem, radii, **options: Any) -> RadiusPath:
    """Return the radius path of a problem whose intercept is priced at the centre of the data."""
    centred = at_centre(problem)
    path = radius_path(centred.problem, radii, **options)
    return replace(path, results=list(map(centred.from_centred, path.results, path.radii)))
