"""What is around a classifier: pipelines, searches and decision thresholds."""

import math
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, TypeAlias

import numpy as np

from drsvm.utils.annotations import Classifier, Matrix
from drsvm.utils.arguments import about, check_single

# Parameters by name, as `drsvm.Problem` takes them; `radius` may have several values
AdversaryParameters: TypeAlias = dict[str, Any]


def layers(model: Classifier) -> Iterator[Any]:
    """Yield a model and what is inside it, down to the classifier.

    Pipelines, thresholds, frozen estimators and fitted searches are opened.
    """
    yield model
    if hasattr(model, "steps"):
        yield from layers(model[-1])
    elif has_threshold(model) or type(model).__name__ == "FrozenEstimator":
        # A threshold that was fitted has a fitted clone.
        yield from layers(getattr(model, "estimator_", model.estimator))
    elif hasattr(model, "best_estimator_"):
        yield from layers(model.best_estimator_)


def preparations(model: Classifier) -> list[Any]:
    """Return what is in front of the last step of each pipeline in a model."""
    parts = []
    for layer in layers(model):
        if len(getattr(layer, "steps", ())) > 1:
            parts.append(layer[:-1])
    return parts


def transformed(model: Classifier, X: Matrix) -> Matrix:
    """Return rows as the classifier in a model gets them."""
    # Pipelines may be within pipelines: the outermost comes first.
    for part in preparations(model):
        X = part.transform(X)
    return X


def final_classifier(model: Classifier) -> Any:
    """Return the classifier in a model, its intercept moved by any threshold."""
    *outer, classifier = layers(model)
    # A threshold moves the intercept: f > t is the same as f − t > 0.
    if not any(map(has_threshold, outer)):
        return classifier
    threshold = threshold_around(model)
    classifier = copy(classifier)
    if math.isinf(threshold):
        # All rows are decided alike: a function without weights does so, too.
        name = "dual_coef_" if hasattr(classifier, "dual_coef_") else "coef_"
        setattr(classifier, name, 0.0 * getattr(classifier, name))
        classifier.intercept_ = np.zeros(1)
        threshold = math.copysign(1.0, threshold)
    classifier.intercept_ = classifier.intercept_ - threshold
    return classifier


def last_step(model: Classifier, X: Matrix) -> tuple[Any, Matrix, Sequence[str] | None]:
    """Return the classifier in a model, the rows that it gets, and its feature names.

    The names are None if nothing gives them. A data frame with other columns than in
    the fit is rejected: the weights would apply to the wrong features.
    """
    classifier = final_classifier(model)
    X = transformed(model, X)
    expected = getattr(classifier, "feature_names_in_", None)
    columns = getattr(X, "columns", None)
    if expected is not None and columns is not None:
        _check_columns(list(columns), list(expected))
    names = columns
    if names is None:
        names = expected
    parts = preparations(model)
    if names is None and parts:
        # The outermost pipeline names them after its own columns.
        names = names_given_by(parts[0])
    return classifier, X, names


def _check_columns(columns: list, expected: list) -> None:
    """Raise an error unless columns are those expected, in the same order."""
    if columns == expected:
        return
    known = set(expected)
    unexpected = (name for name in columns if name not in known)
    example = next(unexpected, "(only their order differs)")
    raise ValueError(
        f"X has different columns from those the model was fitted with: {example!r} … "
        f"Pass the columns {expected[:3]} … in this order, for instance "
        "X[model.feature_names_in_]."
    )


def names_given_by(step: Any, names: list[str] | None = None) -> Sequence[str] | None:
    """Return the names of a step's features, given those of its columns.

    None if it, or a part of it, gives no names.
    """
    try:
        return step.get_feature_names_out(names)
    except (AttributeError, TypeError, ValueError):
        return None


def trained_parameters(classifier: Any) -> AdversaryParameters:
    """Return the ball that a classifier of this library was trained with, or {}."""
    if hasattr(classifier, "_trained_ball") and hasattr(classifier, "intercept_"):
        return classifier._trained_ball()
    return {}


def has_threshold(model: Classifier) -> bool:
    """Return whether a model is a FixedThreshold- or TunedThresholdClassifierCV."""
    return hasattr(model, "response_method") and hasattr(model, "estimator")


def threshold_around(model: Classifier) -> float:
    """Return the decision value above which a model predicts the second class.

    It is that of the outermost threshold around a classifier of two classes, 0 without
    one, and may be infinite.
    """
    *outer, classifier = layers(model)
    layer = next(filter(has_threshold, outer), None)
    if layer is None:
        return 0.0
    name = f"{type(layer).__name__} of {type(classifier).__name__}"
    if not hasattr(classifier, "intercept_"):
        raise TypeError(
            f"{name} cannot be audited: it is not fitted, or the classifier has no "
            "intercept_ to move."
        )
    of_probability = (
        hasattr(classifier, "predict_proba")
        and layer.response_method != "decision_function"
    )
    threshold = _value_of_threshold(layer, of_probability)
    of_second_class = _is_of_second_class(layer, classifier)
    if not of_probability:
        if of_second_class:
            # A row exactly at the threshold is predicted to have the second class.
            return float(np.nextafter(threshold, -math.inf))
        # The response is that of the first class: −f.
        return -threshold
    log_odds = _log_odds(threshold)
    if not of_second_class:
        log_odds = -log_odds
    # By name: importing scikit-learn's linear models takes long.
    kinds = [kind.__name__ for kind in type(classifier).__mro__]
    if "LogisticRegression" in kinds:
        return log_odds
    if hasattr(classifier, "_decision_at"):
        return classifier._decision_at(log_odds)
    raise TypeError(
        f"{name} cannot be audited by its probabilities: use "
        "response_method='decision_function'."
    )


def _value_of_threshold(layer: Any, of_probability: bool) -> float:
    """Return the threshold of a layer, in units of the response that it looks at."""
    if hasattr(layer, "threshold"):
        threshold = layer.threshold
    else:
        threshold = layer.best_threshold_
    if threshold == "auto":
        return 0.5 if of_probability else 0.0
    return float(threshold)


def _is_of_second_class(layer: Any, classifier: Any) -> bool:
    """Return whether large responses of a threshold speak for the second class."""
    if hasattr(layer, "_curve_scorer"):
        label = layer._curve_scorer._get_pos_label()
    else:
        label = layer.pos_label
    return label is None or index_of(label, classifier.classes_, "pos_label") == 1


def _log_odds(probability: float) -> float:
    """Return ln(p / (1 − p)); infinite for probabilities of 0 and 1, and beyond."""
    if 0.0 < probability < 1.0:
        return math.log(probability) - math.log1p(-probability)
    return math.copysign(math.inf, probability - 0.5)


def index_of(label: object, classes, name: str = "positive") -> int:
    """Return the place of a label among the classes."""
    check_single(**{name: label})
    with about(name):
        places = np.flatnonzero(np.asarray(classes) == label)
    if len(places) != 1:
        raise ValueError(
            f"{name}={label!r} is not one of the classes "
            f"{np.asarray(classes).tolist()}."
        )
    return int(places[0])
