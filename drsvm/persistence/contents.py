"""The models that files may contain: a fitted classifier of this library, also at the end of a pipeline.

What is loaded is checked as a whole, because a malformed classifier would only fail when it predicts. The attributes of
scikit-learn's transformers are not checked.
"""

from collections.abc import Iterator
from dataclasses import MISSING, fields
from numbers import Integral, Real
from typing import Any, get_origin

import numpy as np

from drsvm.model.result import Result
from drsvm.persistence.archives import RejectedError


def check_given(model: Any) -> None:
    """Raise an error if a model is not one that can be saved, or not fitted."""
    for last in classifiers(model):
        kind = type(last).__name__
        if hasattr(last, "best_estimator_"):
            raise RejectedError(f"{kind} is a search: save its best_estimator_.")
        if not isinstance(last, our_classes()) and kind != "CalibratedClassifierCV":
            raise RejectedError(f"it does not end in a WassersteinSVC or WassersteinSVCCV, but in {kind}.")
        if not hasattr(last, "coef_"):
            raise RejectedError(f"{kind} is not fitted: call fit first.")


def classifiers(model: Any) -> Iterator[Any]:
    """Yield the classifiers at the end of a model: several in a fitted CalibratedClassifierCV."""
    inner = [model.estimator] if type(model).__name__ == "FrozenEstimator" else []
    if hasattr(model, "calibrated_classifiers_"):
        inner = [one.estimator for one in model.calibrated_classifiers_]
    if hasattr(model, "steps"):
        _check_steps(model.steps)
        inner = [model.steps[-1][1]]
    for each in inner:
        yield from classifiers(each)
    if not inner:
        yield model


def our_classes() -> tuple[type, ...]:
    """Return the classifiers of this library; importing them takes a while."""
    from drsvm import WassersteinSVC, WassersteinSVCCV

    return WassersteinSVC, WassersteinSVCCV


def check_loaded(content: Any) -> None:
    """Raise an error if the content of a file is not a whole model with its metadata."""
    parts = content if isinstance(content, dict) else {}
    if not isinstance(parts.get("metadata"), dict):
        raise RejectedError("it has no metadata.")
    for last in classifiers(parts.get("model")):
        if not isinstance(last, our_classes()):
            raise RejectedError("it does not end in a WassersteinSVC or WassersteinSVCCV.")
        _check_classifier(vars(last))
        results = vars(last).get("result_")  # None after partial_fit
        for result in results if isinstance(results, list) else [] if results is None else [results]:
            _check_result(result)


def _check_steps(steps: Any) -> None:
    pairs = steps if isinstance(steps, list | tuple) else ()
    if not pairs or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise RejectedError("the steps of its Pipeline are not pairs of a name and a step.")
    for name, step in pairs[:-1]:
        if step not in (None, "passthrough") and not hasattr(step, "transform"):
            raise RejectedError(f"step {name!r} of its Pipeline is not a transformer.")


def _check_classifier(state: dict[str, Any]) -> None:
    coef: Any = state.get("coef_")
    intercept: Any = state.get("intercept_")
    classes: Any = state.get("classes_")
    if not _are_numbers(coef, 2):
        raise RejectedError("coef_ is not an array of numbers with one row per decision.")
    if not _are_numbers(intercept, 1) or intercept.shape != coef.shape[:1]:
        raise RejectedError("intercept_ is not an array with one number per row of coef_.")
    n_classes = 2 if coef.shape[0] == 1 else coef.shape[0]
    if not isinstance(classes, np.ndarray) or classes.shape != (n_classes,):
        raise RejectedError(f"classes_ is not an array of {n_classes} labels.")
    if state.get("n_features_in_") != coef.shape[1]:
        raise RejectedError(f"n_features_in_ is not the number of columns of coef_, {coef.shape[1]}.")


def _are_numbers(values: Any, ndim: int) -> bool:
    return getattr(values, "ndim", None) == ndim and getattr(values, "dtype", np.dtype(object)).kind == "f"


def _check_result(result: Any) -> None:
    """Check that a result has all its parts, of the right types; files of older versions lack some with a default."""
    known = {entry.name for entry in fields(Result)}
    needed = {entry.name for entry in fields(Result) if entry.default is MISSING}
    if not isinstance(result, Result) or not needed <= set(vars(result)) <= known:
        raise RejectedError("the result in it is incomplete.")
    for entry in fields(Result):
        kind: Any = {float: Real, int: Integral}.get(entry.type, get_origin(entry.type) or entry.type)  # pyright: ignore
        if not isinstance(getattr(result, entry.name), kind):
            raise RejectedError(f"{entry.name} of the result in it is not of type {kind.__name__}.")
