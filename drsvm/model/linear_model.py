"""Extract weights, intercepts and labels from any linear classifier.

A model with more than two classes has one row of weights per class. Either all classes are compared, and the largest
decision value decides, or one class is evaluated against the rest.
"""

from typing import Any, NamedTuple

import numpy as np

from drsvm.model.backends import to_numpy
from drsvm.model.decision_values import DecisionValues
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.result import Result
from drsvm.model.validation import (
    check_label_vector,
    check_labels,
    check_rows,
    check_weight_vector,
    check_weights,
    distinct_labels,
)


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
    check_feature_names(linear, X)
    classes = getattr(linear, "classes_", None)
    if isinstance(linear, Result):
        pair = linear.weights, linear.intercept
    elif _is_pair(linear):
        pair = linear
    elif classes is not None and len(classes) > 2:
        pair = _row_of_class(linear, classes, positive)
    else:
        pair = _coef_and_intercept(linear)
    mask_label = positive if classes is None or len(classes) > 2 else None
    return LinearClassifier(*_one_row(*pair), classes, mask_label, own_ball(linear), feature_names(model, linear, X)), X


def feature_names(model, linear, X):
    """Return the names of the features of a model's last step, or None."""
    for names in (getattr(X, "columns", None), getattr(linear, "feature_names_in_", None)):
        if names is not None:
            return names
    model = getattr(model, "best_estimator_", model)
    try:
        return model[:-1].get_feature_names_out() if len(getattr(model, "steps", ())) > 1 else None
    except (AttributeError, ValueError):  # a step that gives no names
        return None


def decision_values(model, X, y, sample_weight=None, positive=None) -> DecisionValues:
    """Check that model and data match; compute the values of all classes, or of one of several against the rest."""
    linear = behind_pipeline(model)[0]
    if positive is not None or not _compares_classes(linear):
        return _values_of_two(model, X, y, sample_weight, positive)
    X = behind_pipeline(model, X)[1]
    check_feature_names(linear, X)
    names, X = feature_names(model, linear, X), check_rows(X)
    n, d = X.shape
    coef, intercept = _weights_of_classes(linear)
    coef = np.array([check_weight_vector(weights, d, "the model's coef") for weights in coef])
    classes, codes = codes_of_labels(check_label_vector(y, n), getattr(linear, "classes_", None), len(coef))
    values = np.array([MemoryRows(X).dot(w) + b for w, b in zip(coef, intercept, strict=True)])
    weights = row_weights(sample_weight, n)
    return DecisionValues(X, codes, weights, values, coef, intercept, classes, own_ball(linear), names)


def _values_of_two(model, X, y, sample_weight, positive) -> DecisionValues:
    """Return the values of one decision: two labels, or False and True for a class against the rest, are compared."""
    classifier, X = linear_classifier_for(model, X, positive)
    X = check_rows(X)
    n, d = X.shape
    coef, intercept = check_weight_vector(classifier.coef, d, "the model's coef"), classifier.intercept
    classes, signs = signs_of_labels(y, n, classifier.classes, positive)
    pair, values = np.array([-0.5, 0.5]), MemoryRows(X).dot(coef) + intercept
    weights = row_weights(sample_weight, n)
    found = np.outer(pair, values), np.outer(pair, coef), pair * intercept
    return DecisionValues(X, (signs > 0).astype(int), weights, *found, classes, classifier.own_ball, classifier.names)


def row_weights(sample_weight, n: int) -> np.ndarray:
    """Return the checked weights, by default equal ones."""
    weights = check_weights(sample_weight, n)
    return np.full(n, 1.0 / n) if weights is None else weights


def own_ball(linear) -> dict[str, Any]:
    """Return the radius and the prices that a fitted classifier of this library was trained with; {} for any other."""
    return linear._trained_ball() if hasattr(linear, "_trained_ball") and hasattr(linear, "intercept_") else {}


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
    return coef, to_numpy(getattr(model, "intercept_", 0.0))


def _compares_classes(linear) -> bool:
    """Return whether a model has several decision values; (coef, intercept) may have those of two classes."""
    if _is_pair(linear):
        return np.ndim(linear[0]) == 2 and len(_as_array(linear[0])) > 1
    return len(getattr(linear, "classes_", ())) > 2


def _is_pair(linear) -> bool:
    return isinstance(linear, tuple | list) and len(linear) == 2


def _row_of_class(model, classes, positive) -> tuple[Any, Any]:
    """Return coef and intercept for one class against the rest, for a model with more than two classes."""
    if positive is None:
        raise ValueError(
            f"{type(model).__name__} separates {len(classes)} classes: choose the one to evaluate against the rest "
            f"with positive=, for instance positive={classes.tolist()[0]!r}."
        )
    index = index_of(positive, classes)
    coef, intercept = _weights_of_classes(model, f"{positive!r} against the rest")
    return coef[index], intercept[index]


def _weights_of_classes(model, wanted: str = "each class") -> tuple[np.ndarray, np.ndarray]:
    """Return the weights and the intercept of every class; with more than two, other models have none per class."""
    name = type(model).__name__
    if any(hasattr(model, sign) for sign in ("support_vectors_", "decision_function_shape", "pairwise_indices_")):
        raise ValueError(
            f"{name} compares pairs of classes and has no decision function for {wanted}: "
            "use LinearSVC, or wrap the model in a OneVsRestClassifier."
        )
    if hasattr(model, "label_binarizer_"):  # OneVsRestClassifier
        rows = [_one_row(*_coef_and_intercept(one)) for one in model.estimators_]
        return np.array([coef for coef, _ in rows]), np.array([intercept for _, intercept in rows])
    coef, intercept = model if _is_pair(model) else _coef_and_intercept(model)
    coef, intercept = _as_array(coef), np.ravel(to_numpy(intercept)).astype(np.float64)
    n_classes = len(getattr(model, "classes_", coef))
    if coef.ndim != 2 or len(coef) != n_classes:
        raise ValueError(
            f"{name} has {n_classes} classes but coef_ of shape {coef.shape}: without one row per class, no class "
            "can be evaluated against the rest. Pass (coef, intercept) of one decision function."
        )
    if len(intercept) not in (1, len(coef)) or not np.isfinite(intercept).all():
        raise ValueError(f"the model's intercept must be one finite number per class, got {intercept.tolist()}.")
    return coef, np.broadcast_to(intercept, len(coef))


def index_of(positive, classes) -> int:
    """Return the place of a label among the classes."""
    found = np.flatnonzero(np.asarray(classes) == positive)
    if len(found) != 1:
        raise ValueError(f"positive={positive!r} is not one of the classes {np.asarray(classes).tolist()}.")
    return int(found[0])


def _as_array(coef) -> np.ndarray:
    return coef.toarray() if hasattr(coef, "toarray") else to_numpy(coef)


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


def check_feature_names(model, X) -> None:
    """Reject a data frame with other columns than in the fit: the weights would apply to the wrong features."""
    expected, found = getattr(model, "feature_names_in_", None), getattr(X, "columns", None)
    if expected is None or found is None or list(expected) == list(found):
        return
    strange = [name for name in found if name not in set(expected)] or ["(only their order differs)"]
    raise ValueError(
        f"X has different columns from those the model was fitted with: {strange[0]!r} … Pass the columns "
        f"{list(expected[:3])} … in this order, for instance X[model.feature_names_in_]."
    )


def signs_of_labels(y, n: int, classes, positive) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels for the signs −1 and +1, and the signs."""
    labels = check_label_vector(y, n)
    if classes is None:
        return _signs_of_unknown_classes(labels, n, positive)
    check_known(labels, classes)
    if len(classes) > 2:
        return np.array([False, True]), np.where(labels == positive, 1.0, -1.0)
    if positive is not None:
        index_of(positive, classes)  # with two classes, either choice gives the same decisions
    return np.asarray(classes), np.where(labels == classes[1], 1.0, -1.0)


def codes_of_labels(labels: np.ndarray, classes, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in the order of the weights, by default sorted, and the place of each label among them."""
    if classes is None:
        classes = distinct_labels(labels)
        if len(classes) != n_classes:
            raise ValueError(
                f"model separates {n_classes} classes, but y has {len(classes)} labels: which weights belong to which "
                "label is not known. Pass rows of all classes, or one row (coef[k], intercept[k]) and its label as "
                "positive=."
            )
    check_known(labels, classes)
    order = np.argsort(classes)
    return np.asarray(classes), order[np.searchsorted(classes, labels, sorter=order)]


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
