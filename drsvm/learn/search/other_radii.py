"""The same classifier with other radii, each fitted as it would be if that radius were given."""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.base import BaseEstimator, clone

from drsvm.annotations import Matrix
from drsvm.clock import TimeLimit
from drsvm.learn.estimators import WassersteinSVC
from drsvm.learn.fitting import prices
from drsvm.learn.fitting.data import FitData
from drsvm.learn.fitting.problems import at_centre
from drsvm.solvers.path.radius_max import radius_max


def radii_to_try(classifier, X: Matrix, y: np.ndarray, count: int, index: int, time: TimeLimit) -> list[float]:
    """Return radii up to the one at which a decision has no weights any more, and that of a fitted classifier.

    They are rounded to the digits that are shown, so that everybody can repeat the fits. Without any weights, whatever
    the radius, there are none.
    """
    model = _with_radius(classifier, 0.0)
    data = FitData(model, X, y, None, model.class_weight)
    model.classes_ = data.classes

    def limit() -> float:
        problem = data.problems(model._problem_parameters(data.costs_by_class, None))[index]
        return radius_max(at_centre(problem).problem, max_time=time)

    largest = limit()
    if model.class_weight == "auto":  # a fit weighs the classes more equally before it has no weights
        data.equalise(1.0)
        largest = max(largest, limit())
    # Just below the largest radius, weights may be as large as anywhere: it must not be rounded down.
    tried = {float(f"{radius:.3g}") for radius in 1.005 * largest * np.logspace(-2.5, 0.0, count)}
    return sorted(tried | {float(classifier.radius_)}) if largest > 0.0 else []


def fitted_at(classifier, X: Matrix, y: np.ndarray, radii: Sequence[float], time: TimeLimit | None = None) -> Iterator:
    """Fit a classifier for each radius but its own; it has been fitted to the same rows. None: there was no time."""
    for place, radius in enumerate(radii):
        model, share = _with_radius(classifier, radius), time and time.share(len(radii) - place)
        if radius == classifier.radius_:
            yield classifier
        elif share is not None and share.spent:
            yield None
        else:
            model = model if share is None else model.set_params(max_time=share)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # large radii give constant classifiers
                yield model.fit(X, y)


def _with_radius(classifier, radius: float) -> WassersteinSVC:
    """Return a classifier with the settings of a fitted one, those that a search has chosen included."""
    search = hasattr(classifier, "_chosen_classifier")
    model: BaseEstimator = classifier._chosen_classifier() if search else clone(classifier)
    of_features = prices.feature_prices(classifier)  # X need not have names
    return model.set_params(radius=radius, calibration=None, verbose=0, **of_features)
