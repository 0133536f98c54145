"""Weights, intercepts and labels of any linear classifier.

A model with more than two classes has one row of weights per class. Either all classes
are compared, and the largest decision value decides, or one class is evaluated against
the rest.
"""

import math
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from drsvm.audit.adversary import PAIR, AdversaryParameters, DecisionValues
from drsvm.problem import validation
from drsvm.problem.backends import to_numpy
from drsvm.problem.kernel_functions import dense
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.result import Result
from drsvm.utils.annotations import Labels, Matrix

# Signs that pairs of classes vote
OF_PAIRS = (
    "support_vectors_",
    "decision_function_shape",
    "pairwise_indices_",
)
PREDICTED: Any = object()  # in place of labels: those that the model predicts


class Functions(NamedTuple):
    """The decision functions of a model: one for two classes, or for a class against the rest, otherwise one per class.

    For a kernel, the weights are those of its landmarks.
    """

    coef: np.ndarray  # of shape (number of functions, d)
    intercept: np.ndarray
    classes: np.ndarray | None  # the labels that the model knows
    trained_parameters: AdversaryParameters
    names: Sequence[str] | None  # of the features


def functions_for(model, X: Matrix, positive=None) -> tuple[Functions, Matrix]:
    """Return the linear decision functions of a model, and X as transformed for it.

    The rows are not looked at.
    """
    linear, X, names = last_step(model, X)
    name = type(linear).__name__
    classes = getattr(linear, "classes_", None)
    n_classes = 0 if classes is None else len(classes)
    several = n_classes > 2
    if several and any(hasattr(linear, sign) for sign in OF_PAIRS):
        if positive is None:
            wanted = "each class"
        else:
            wanted = f"{positive!r} against the rest"
        raise ValueError(
            f"{name} compares pairs of classes and has no decision function for {wanted}: "
            "use LinearSVC, or wrap the model in a OneVsRestClassifier."
        )
    coef, intercept = _weights(linear)
    if several and len(coef) != n_classes:
        raise ValueError(
            f"{name} has {n_classes} classes but coef_ of shape {coef.shape}: without one row per class, no class "
            "can be evaluated against the rest. Pass (coef, intercept) of one decision function."
        )
    if len(intercept) not in (1, len(coef)) or not np.isfinite(intercept).all():
        each = " per class" if len(coef) > 1 else ""
        raise ValueError(
            f"the model's intercept must be one finite number{each}, got {intercept.tolist()}."
        )
    intercept = np.broadcast_to(intercept, len(coef))
    if several and positive is not None:
        index = index_of(positive, classes)
        coef = coef[[index]]
        intercept = intercept[[index]]
    elif (
        len(coef) > 1 and not several and (classes is not None or positive is not None)
    ):
        raise ValueError(
            f"model separates {len(coef)} classes: pass one row, (coef[k], intercept[k]), and its label as positive=."
        )
    return Functions(coef, intercept, classes, trained_parameters(linear), names), X


def decision_values(
    model, X: Matrix, y: Labels, sample_weight=None, positive=None
) -> DecisionValues:
    """Check that model and data match.

    Compute the values of all classes, or of one of several against the rest.
    """
    functions, X = functions_for(model, X, positive)
    X = validation.check_rows(X)
    coef = [
        validation.check_weight_vector(weights, X.shape[1], "the model's coef")
        for weights in functions.coef
    ]
    values = np.array(
        [
            MemoryRows(X).dot(w) + b
            for w, b in zip(coef, functions.intercept, strict=True)
        ]
    )
    return compared(
        functions._replace(coef=np.array(coef)), X, y, values, sample_weight, positive
    )


def compared(
    functions: Functions,
    X: Matrix,
    y: Labels,
    values: np.ndarray,
    sample_weight=None,
    positive=None,
) -> DecisionValues:
    """Return the decision values of classes from those of functions, of shape (number of functions, n)."""
    coef, intercept, classes, trained_parameters, names = functions
    if len(coef) == 1:
        values, coef, intercept = (
            PAIR[:, None] * each for each in (values, coef, intercept[:, None])
        )
        classes, codes = codes_of_two(y, values, classes, positive)
    else:
        classes, codes = codes_of_labels(y, values, classes)
    weights = validation.check_weights(sample_weight, X.shape[0])
    return DecisionValues(
        X,
        codes,
        weights,
        values,
        coef,
        np.ravel(intercept),
        classes,
        trained_parameters,
        names,
    )


def trained_parameters(model) -> AdversaryParameters:
    """Return the radius and the prices that a fitted classifier of this library was trained with; {} for any other."""
    if hasattr(model, "_trained_ball") and hasattr(model, "intercept_"):
        return model._trained_ball()
    return {}


def layers(model) -> Iterator[Any]:
    """Yield a model and what is inside of it, down to the classifier: of pipelines, thresholds, searches."""
    yield model
    if hasattr(model, "steps"):
        yield from layers(model[-1])
    elif has_threshold(model) or type(model).__name__ == "FrozenEstimator":
        yield from layers(getattr(model, "estimator_", model.estimator))
    elif hasattr(model, "best_estimator_"):
        yield from layers(model.best_estimator_)


def behind_pipeline(model, X=None):
    """Return the classifier in a model, with the intercept of a threshold around it, and X as transformed for it."""
    *outer, classifier = layers(model)
    for layer in outer:
        if X is not None and len(getattr(layer, "steps", ())) > 1:
            X = layer[:-1].transform(X)
        else:
            X = X
    if not any(map(has_threshold, outer)):
        return classifier, X
    threshold = threshold_around(model)
    classifier = copy(classifier)
    if math.isinf(threshold):  # all rows are decided alike
        if hasattr(classifier, "dual_coef_"):
            name = "dual_coef_"
        else:
            name = "coef_"
        threshold = math.copysign(1.0, threshold)
        vars(classifier).update(
            {name: 0.0 * getattr(classifier, name), "intercept_": np.zeros(1)}
        )
    classifier.intercept_ = classifier.intercept_ - threshold
    return classifier, X


def has_threshold(model) -> bool:
    """Return whether a model is scikit-learn's FixedThresholdClassifier or TunedThresholdClassifierCV."""
    return hasattr(model, "response_method") and hasattr(model, "estimator")


def threshold_around(model) -> float:
    """Return above which decision the outermost threshold predicts the second of two classes; it may be infinite."""
    *outer, classifier = layers(model)
    if (layer := next(filter(has_threshold, outer), None)) is None:
        return 0.0
    name = f"{type(layer).__name__} of {type(classifier).__name__}"
    if not hasattr(classifier, "intercept_"):
        raise TypeError(
            f"{name} cannot be audited: it is not fitted, or the classifier has no intercept_ to move."
        )
    by_chance = (
        hasattr(classifier, "predict_proba")
        and layer.response_method != "decision_function"
    )
    if hasattr(layer, "threshold"):
        place = layer.threshold
    else:
        place = layer.best_threshold_
    place = 0.5 * by_chance if place == "auto" else float(place)
    if hasattr(layer, "_curve_scorer"):
        label = layer._curve_scorer._get_pos_label()
    else:
        label = layer.pos_label
    if label is None or index_of(label, classifier.classes_, "pos_label") == 1:
        sign = 1.0
    else:
        sign = -1.0
    if not by_chance:
        # a score at the threshold is positive
        if sign > 0.0:
            return float(np.nextafter(place, -math.inf))
        return -place
    odds = sign * (
        math.log(place) - math.log1p(-place)
        if 0.0 < place < 1.0
        else math.copysign(math.inf, place - 0.5)
    )
    if any(kind.__name__ == "LogisticRegression" for kind in type(classifier).__mro__):
        return odds
    if hasattr(classifier, "_decision_at"):
        return classifier._decision_at(odds)
    raise TypeError(
        f"{name} cannot be audited by its probabilities: use response_method='decision_function'."
    )


def last_step(model, X: Matrix) -> tuple[Any, Matrix, Sequence[str] | None]:
    """Return the last step of a pipeline, X as transformed for it, and the names of its features if there are any.

    A data frame with other columns than in the fit is rejected: the weights would apply
    to the wrong features.
    """
    last, X = behind_pipeline(model, X)
    expected = getattr(last, "feature_names_in_", None)
    columns = getattr(X, "columns", None)
    if expected is not None and columns is not None and list(expected) != list(columns):
        unexpected = [name for name in columns if name not in set(expected)] or [
            "(only their order differs)"
        ]
        raise ValueError(
            f"X has different columns from those the model was fitted with: {unexpected[0]!r} … Pass the columns "
            f"{list(expected[:3])} … in this order, for instance X[model.feature_names_in_]."
        )
    names = expected if columns is None else columns
    pipeline = next(
        (layer for layer in layers(model) if len(getattr(layer, "steps", ())) > 1), None
    )
    if names is None and pipeline is not None:
        try:
            names = pipeline[:-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step that gives no names
            names = None
    return last, X, names


def _weights(model) -> tuple[np.ndarray, np.ndarray]:
    """Return a row of weights and an intercept for every decision function."""
    if hasattr(model, "label_binarizer_"):  # OneVsRestClassifier
        coef, intercept = map(
            np.concatenate, zip(*map(_weights, model.estimators_), strict=True)
        )
    elif isinstance(model, tuple | list) and len(model) == 2:
        coef, intercept = model
    elif isinstance(model, Result):
        coef = model.weights
        intercept = model.intercept
    else:
        coef = getattr(model, "coef_", None)
        intercept = getattr(model, "intercept_", 0.0)
    if coef is None:
        raise TypeError(
            f"model must be a fitted linear classifier, a Pipeline ending in one, or (coef, intercept): "
            f"{type(model).__name__} has no coef_. It is not fitted, or not linear, and cannot be audited."
        )
    coef = to_numpy(dense(coef))
    intercept = to_numpy(intercept)
    return np.atleast_2d(coef).astype(np.float64), np.ravel(intercept).astype(
        np.float64
    )


def codes_of_two(
    y: Labels, values: np.ndarray, classes: np.ndarray | None, positive
) -> tuple[np.ndarray, np.ndarray]:
    """Return two labels, or False and True for a class against the rest, and the place of each row's among them."""
    mask = np.array([False, True])
    if y is PREDICTED:
        if classes is None:
            known = np.array([-1, 1])
        else:
            known = np.asarray(classes)
        return known if len(known) == 2 else mask, values.argmax(axis=0)
    labels = validation.check_label_vector(y, values.shape[1])
    if classes is not None:
        check_known(labels, classes)
        if len(classes) > 2:
            return mask, (labels == positive).astype(int)
        if positive is not None:
            # With two classes, either choice gives the same decisions
            index_of(positive, classes)
        return np.asarray(classes), (labels == classes[1]).astype(int)
    if positive is not None:
        others = np.unique(labels[labels != positive])
        if len(others) == len(np.unique(labels)):
            raise ValueError(
                f"positive={positive!r} is not among the labels of y ({others.tolist()[:5]} …)."
            )
        return np.array([others[0], positive]) if len(others) == 1 else mask, (
            labels == positive
        ).astype(int)
    if np.isin(labels, [-1, 1]).all():
        return np.array([-1, 1]), (labels == 1).astype(int)
    two_labels, signs = validation.check_labels(labels, values.shape[1])
    return two_labels, (signs > 0).astype(int)


def codes_of_labels(
    y: Labels, values: np.ndarray, classes
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in the order of the weights, by default sorted, and the place of each label among them."""
    n_classes, n = values.shape
    if y is PREDICTED:
        return np.arange(n_classes) if classes is None else np.asarray(
            classes
        ), values.argmax(axis=0)
    labels = validation.check_label_vector(y, n)
    if classes is None:
        classes = validation.distinct_labels(labels)
        if len(classes) != n_classes:
            raise ValueError(
                f"model separates {n_classes} classes, but y has {len(classes)} labels: which weights belong to which "
                "label is not known. Pass rows of all classes, or one row (coef[k], intercept[k]) and its label as "
                "positive=."
            )
    check_known(labels, classes)
    order = np.argsort(classes)
    return np.asarray(classes), order[np.searchsorted(classes, labels, sorter=order)]


def index_of(label, classes, name: str = "positive") -> int:
    """Return the place of a label among the classes."""
    places = np.flatnonzero(np.asarray(classes) == label)
    if len(places) != 1:
        raise ValueError(
            f"{name}={label!r} is not one of the classes {np.asarray(classes).tolist()}."
        )
    return int(places[0])


def check_known(labels: np.ndarray, classes) -> None:
    """Raise an error if a label is not among the classes of a model."""
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise ValueError(
            f"y has the label {labels[unknown].tolist()[0]!r}, but the model only knows {classes.tolist()}."
        )
