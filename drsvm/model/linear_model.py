"""Extract the weights, the intercept and the signs of the labels from any linear classifier.

A model with more than two classes has one row of weights per class; one class is then evaluated against the rest.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from drsvm.model.backends import fetched
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.result import Result
from drsvm.model.validation import check_label_vector, check_labels, check_rows, check_weight_vector, check_weights


@dataclass(frozen=True)
class AuditData:
    """A linear classifier and the data to evaluate it on, as transformed for its last step.

    `classes` are the labels for the signs −1 and +1: two labels, or False and True for a class against the rest.
    """

    X: Any
    signs: np.ndarray
    weights: np.ndarray
    margins: np.ndarray
    coef: np.ndarray
    intercept: float
    classes: np.ndarray
    own_ball: dict[str, Any]  # what a classifier of this library was trained with
    names: Any  # of the features, or None


class LinearClassifier(NamedTuple):
    """One linear decision function of a model."""

    coef: np.ndarray
    intercept: float
    classes: np.ndarray | None  # the labels that the model knows
    mask_label: Any  # the label for positive decision values against all others; None: the larger one of two
    own_ball: dict[str, Any]
    names: Any  # of the features, or None


def linear_classifier_for(model, X, positive=None) -> tuple[LinearClassifier, Any]:
    """Return the decision function of a model, and X as transformed for it; the rows are not looked at."""
    linear, X = behind_pipeline(model, X)
    _check_feature_names(linear, X)
    classes = getattr(linear, "classes_", None)
    if isinstance(linear, Result):
        pair = linear.weights, linear.intercept
    elif isinstance(linear, tuple | list) and len(linear) == 2:
        pair = linear
    elif classes is not None and len(classes) > 2:
        pair = _row_of_class(linear, classes, positive)
    else:
        pair = _coef_and_intercept(linear)
    mask_label = positive if classes is None or len(classes) > 2 else None
    return LinearClassifier(*_one_row(*pair), classes, mask_label, own_ball(linear), _names(model, linear, X)), X


def _names(model, linear, X):
    """Return the names of the features of a model's last step, or None."""
    for names in (getattr(X, "columns", None), getattr(linear, "feature_names_in_", None)):
        if names is not None:
            return names
    model = getattr(model, "best_estimator_", model)
    try:
        return model[:-1].get_feature_names_out() if len(getattr(model, "steps", ())) > 1 else None
    except (AttributeError, ValueError):  # a step that gives no names
        return None


def audit_data(model, X, y, sample_weight=None, positive=None) -> AuditData:
    """Check that model and data match, and compute the margins."""
    classifier, X = linear_classifier_for(model, X, positive)
    X = check_rows(X)
    n, d = X.shape
    coef, intercept = check_weight_vector(classifier.coef, d, "the model's coef"), classifier.intercept
    classes, signs = _signs(y, n, classifier.classes, positive)
    weights = check_weights(sample_weight, n)
    weights = np.full(n, 1.0 / n) if weights is None else weights
    values = MemoryRows(X).dot(coef) + intercept
    return AuditData(X, signs, weights, signs * values, coef, intercept, classes, classifier.own_ball, classifier.names)


def own_ball(linear) -> dict[str, Any]:
    """Return the radius and the prices that a fitted classifier of this library was trained with; {} for any other."""
    return linear._trained_ball() if hasattr(linear, "_trained_ball") and hasattr(linear, "coef_") else {}


def behind_pipeline(model, X=None):
    """Return the last step of a pipeline, or of the best estimator of a search, and X as transformed for it."""
    while hasattr(model, "steps") or hasattr(model, "best_estimator_"):
        if not hasattr(model, "steps"):
            model = model.best_estimator_
            continue
        X = model[:-1].transform(X) if X is not None and len(model.steps) > 1 else X
        model = model[-1]
    return model, X


def _coef_and_intercept(model):
    if len(getattr(model, "estimators_", ())) == 1 and not hasattr(model, "coef_"):  # OneVsRestClassifier, two classes
        model = model.estimators_[0]
    coef = getattr(model, "coef_", None)
    if coef is None:
        raise TypeError(
            f"model must be a fitted linear classifier, a Pipeline ending in one, or (coef, intercept): "
            f"{type(model).__name__} has no coef_. It is not fitted, or not linear, and cannot be audited."
        )
    return coef, fetched(getattr(model, "intercept_", 0.0))


def _row_of_class(model, classes, positive) -> tuple[Any, Any]:
    """Return coef and intercept for one class against the rest, for a model with more than two classes."""
    name = type(model).__name__
    if positive is None:
        raise ValueError(
            f"{name} separates {len(classes)} classes: choose the one to evaluate against the rest with positive=, "
            f"for instance positive={classes.tolist()[0]!r}."
        )
    index = _index_of(positive, classes)
    if hasattr(model, "support_vectors_"):
        raise ValueError(
            f"{name} compares pairs of classes and has no decision function for {positive!r} against the rest: "
            "use LinearSVC, or wrap the model in a OneVsRestClassifier."
        )
    if len(getattr(model, "estimators_", ())) == len(classes):  # OneVsRestClassifier
        return _coef_and_intercept(model.estimators_[index])
    coef, intercept = _coef_and_intercept(model)
    coef = _as_array(coef)
    if coef.ndim != 2 or len(coef) != len(classes):
        raise ValueError(
            f"{name} has {len(classes)} classes but coef_ of shape {coef.shape}: without one row per class, no class "
            "can be evaluated against the rest. Pass (coef, intercept) of one decision function."
        )
    return coef[index], np.broadcast_to(np.ravel(intercept), len(classes))[index]


def _index_of(positive, classes) -> int:
    found = np.flatnonzero(np.asarray(classes) == positive)
    if len(found) != 1:
        raise ValueError(f"positive={positive!r} is not one of the classes {np.asarray(classes).tolist()}.")
    return int(found[0])


def _as_array(coef) -> np.ndarray:
    return coef.toarray() if hasattr(coef, "toarray") else fetched(coef)


def _one_row(coef, intercept) -> tuple[np.ndarray, float]:
    """Return the weights as a vector and the intercept as a number; scikit-learn adds a dimension to both."""
    coef = _as_array(coef)
    if coef.ndim == 2 and coef.shape[0] != 1:
        raise ValueError(
            f"model separates {coef.shape[0]} classes: pass one row, (coef[k], intercept[k]), and its label as "
            "positive=."
        )
    intercept = np.ravel(intercept)
    if intercept.size != 1 or not np.isfinite(intercept).all():
        raise ValueError(f"the model's intercept must be one finite number, got {intercept.tolist()}.")
    return np.ravel(coef).astype(np.float64), float(intercept[0])


def _check_feature_names(model, X) -> None:
    """Reject a data frame with other columns than in the fit: the weights would apply to the wrong features."""
    expected, found = getattr(model, "feature_names_in_", None), getattr(X, "columns", None)
    if expected is None or found is None or list(expected) == list(found):
        return
    strange = [name for name in found if name not in set(expected)] or ["(only their order differs)"]
    raise ValueError(
        f"X has different columns from those the model was fitted with: {strange[0]!r} … Pass the columns "
        f"{list(expected[:3])} … in this order, for instance X[model.feature_names_in_]."
    )


def _signs(y, n: int, classes, positive) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels for the signs −1 and +1, and the signs."""
    labels = check_label_vector(y, n)
    if classes is None:
        return _signs_of_unknown_classes(labels, n, positive)
    check_known(labels, classes)
    if len(classes) > 2:
        return np.array([False, True]), np.where(labels == positive, 1.0, -1.0)
    if positive is not None:
        _index_of(positive, classes)  # with two classes, either choice gives the same decisions
    return np.asarray(classes), np.where(labels == classes[1], 1.0, -1.0)


def check_known(labels, classes) -> None:
    """Raise an error if a label is not among the classes of a model."""
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise ValueError(
            f"y has the label {labels[unknown].tolist()[0]!r}, but the model only knows {classes.tolist()}."
        )


def _signs_of_unknown_classes(labels: np.ndarray, n: int, positive) -> tuple[np.ndarray, np.ndarray]:
    if positive is None:
        if np.isin(labels, [-1, 1]).all():
            return np.array([-1, 1]), np.where(labels == 1, 1.0, -1.0)
        return check_labels(labels, n)
    others = np.unique(labels[labels != positive])
    if len(others) == len(np.unique(labels)):
        raise ValueError(f"positive={positive!r} is not among the labels of y ({others.tolist()[:5]} …).")
    classes = np.array([others[0], positive]) if len(others) == 1 else np.array([False, True])
    return classes, np.where(labels == positive, 1.0, -1.0)
