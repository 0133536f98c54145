"""The same classifier with other radii, fitted as if each of these were given."""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.base import clone

from drsvm.defaults.binary_problems import at_centre
from drsvm.estimators.checks import checked_data
from drsvm.estimators.linear import WassersteinSVC
from drsvm.estimators.parameters import feature_parameters
from drsvm.solvers.path.radius_max import radius_max
from drsvm.utils.annotations import Matrix
from drsvm.utils.clock import TimeLimit


def radii_to_try(
    classifier, X: Matrix, y: np.ndarray, count: int, time: TimeLimit
) -> list[float]:
    """Return radii at which to fit a classifier, in increasing order.

    Parameters
    ----------
    classifier : WassersteinSVC or WassersteinSVCCV
        The classifier, fitted to the same rows.
    X, y : matrix and array
        The rows and their labels.
    count : int
        The number of radii besides that of the classifier.
    time : TimeLimit
        The time for the search of the largest one.

    Returns
    -------
    list of float
        Radii up to the one at which all weights are 0, and that of the classifier; none
        if all weights are 0 at every radius.
    """
    model = _with_radius(classifier, 0.0)
    class_weights = [model.class_weight]
    if model.class_weight == "auto":
        # Where weights would be 0, a fit weighs the classes more equally.
        class_weights.append("balanced")
    largest = 0.0
    for class_weight in class_weights:
        data = checked_data(model, X, y, None, class_weight, model.flip_cost)
        model.classes_ = data.classes
        for problem in data.problems(model._problem_parameters(data.flip_cost)):
            found = radius_max(at_centre(problem).problem, max_time=time)
            largest = max(largest, found)
    if largest == 0.0:
        return []
    radii = {float(classifier.radius_)}
    # They span two and a half powers of ten. Rounded to the digits that are shown, so
    # that anyone can repeat the fits; the largest not down (by 0.5 % at most), since
    # just below it weights may be as large as anywhere.
    for radius in 1.005 * largest * np.logspace(-2.5, 0.0, count):
        radii.add(float(f"{radius:.3g}"))
    return sorted(radii)


def fitted_at(
    classifier,
    X: Matrix,
    y: np.ndarray,
    radii: Sequence[float],
    time: TimeLimit | None = None,
) -> Iterator:
    """Fit a classifier for each radius but its own.

    Parameters
    ----------
    classifier : WassersteinSVC or WassersteinSVCCV
        The classifier, fitted to the same rows.
    X, y : matrix and array
        The rows and their labels.
    radii : sequence of float
        The radii.
    time : TimeLimit, optional
        The time for all of them; by default, each fit has that of the classifier.

    Yields
    ------
    estimator or None
        The classifier for each radius; None if the time limit was reached.
    """
    for place, radius in enumerate(radii):
        limit = None
        if time is not None:
            limit = time.share(len(radii) - place)
        if radius == classifier.radius_:
            yield classifier
        elif limit is not None and limit.spent:
            yield None
        else:
            model = _with_radius(classifier, radius)
            if limit is not None:
                model.set_params(max_time=limit)
            # Large radii give constant classifiers, of which each fit would warn.
            with warnings.catch_warnings(action="ignore"):
                yield model.fit(X, y)


def _with_radius(classifier, radius: float) -> WassersteinSVC:
    """Return a classifier with the settings of a fitted one, but for its radius.

    They include those that a search has chosen.
    """
    # WassersteinSVCCV
    if hasattr(classifier, "_chosen_classifier"):
        model = classifier._chosen_classifier()
    else:
        model = clone(classifier)
    # Costs and signs as arrays: the rows to fit need not have names of features.
    of_features = feature_parameters(classifier)
    return model.set_params(radius=radius, calibration=None, verbose=0, **of_features)
