"""Reduction to binary problems: one problem for two classes, otherwise one per class, against the rest."""

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from drsvm.defaults.binary_problems import NEGLIGIBLE
from drsvm.defaults.outliers import ROUNDING
from drsvm.defaults.prices import with_intercept_cost
from drsvm.estimators.column_errors import naming_columns
from drsvm.problem.backends import is_remote
from drsvm.problem.problem import Problem
from drsvm.problem.row_sums import masses_of_classes
from drsvm.problem.sampling import in_content_order
from drsvm.problem.validation import CheckedRows, as_rows, check_that_labels_are_given
from drsvm.solvers.interior_point.small import is_small

# Such are not copied
ROWS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "order": "C",
}
# Few rows, but as many per feature, have an optimum that is found to many digits in any
# order
CLEAR = 3
# Of an equal share of the weight, for a rare class; fixed on the data sets on which the
# study decides
MIN_SHARE = 0.6


def checked_rows(estimator, X, y, *, reset: bool = True) -> tuple[Any, np.ndarray]:
    """Validate X and y, once per fit.

    Return the rows in the form that problems use, and the labels.
    """
    if is_remote(X):
        raise TypeError(
            f"{type(estimator).__name__} needs rows in this process's memory here, got X of type {type(X).__name__}: "
            "use WassersteinSVC().fit, or bring a sample of the rows here."
        )
    is_plain = type(X) is np.ndarray and X.dtype.kind in "fiub"
    try:
        with nullcontext() if is_plain else naming_columns(X):
            X, y = validate_data(estimator, X, y, reset=reset, **ROWS)
        # Few whole numbers are classes: scikit-learn's check would take as long as a
        # small fit.
        labels = np.unique(y) if y.dtype.kind in "biuf" else ()
        if not 0 < 2 * len(labels) <= len(y) or np.any(labels != np.round(labels)):
            check_classification_targets(y)
    except (TypeError, ValueError):
        check_that_labels_are_given(y)
        raise
    return as_rows(X), y


def is_constant(decisions: np.ndarray) -> bool:
    """Whether decision values hardly differ between the rows."""
    return float(np.ptp(decisions, axis=0).max()) <= NEGLIGIBLE


def classes_of(labels, estimator) -> np.ndarray:
    """Return the classes, at least two of them."""
    classes = np.unique(labels)
    if len(classes) < 2:
        only = classes.tolist()[0]
        name = type(estimator).__name__
        raise ValueError(
            f"{name} needs samples of at least two classes, got one class: {only!r}."
        )
    return classes


def positive_labels(classes) -> np.ndarray:
    """Return the label that is positive in each of the problems."""
    return classes[1:] if len(classes) == 2 else classes


def name_of(index: int, classes) -> str:
    """Return a name for one of the problems."""
    if len(classes) == 2:
        return "all"
    return f"{classes[index]} against the rest"


def factors_of_classes(class_weight, classes, y, sample_weight) -> np.ndarray:
    """Return the factors of the classes.

    "auto" is half-way to balanced ones, and more for rare classes.
    """
    if not isinstance(class_weight, str):
        return compute_class_weight(class_weight, classes=classes, y=y)
    if class_weight not in ("auto", "balanced"):
        raise ValueError(
            f"class_weight must be 'auto', 'balanced', a dict or None, got class_weight={class_weight!r}."
        )
    masses = np.bincount(
        np.searchsorted(classes, y), sample_weight, minlength=len(classes)
    )
    balanced = masses.sum() / (len(classes) * masses)
    if class_weight == "balanced":
        return balanced
    # And more for classes with too small a share of the weight
    roots = np.sqrt(balanced)
    shares = (1.0 / roots) / (1.0 / roots).sum()
    least = MIN_SHARE / len(roots)
    return roots * np.maximum(1.0, least / (1.0 - least) * (1.0 - shares) / shares)


def check_that_every_class_counts(y, classes, weights) -> None:
    """Raise an error if all rows of a class have weight 0."""
    for label in classes.tolist():
        if weights is not None and not weights[y == label].any():
            remedy = "give one of them a positive weight, or leave the class out"
            raise ValueError(f"All samples of class {label!r} have weight 0: {remedy}.")


def side_weights(y, label, classes, weights) -> np.ndarray | None:
    """Return the weights of the rows in the problem of one class (see the notes of `WassersteinSVC`)."""
    n_classes = len(classes)
    if n_classes == 2:
        return weights
    factors = np.where(y == label, n_classes / 2, n_classes / (2 * (n_classes - 1)))
    return factors if weights is None else factors * weights


def binary_problems(
    X, y, classes, weights, *, intercept_cost: Any = math.inf, **ball: Any
) -> list[Problem]:
    """Return one problem per class, or one for two classes.

    "auto" is the same price of the intercept for all.
    """
    first = Problem(
        CheckedRows(X), y == positive_labels(classes)[0], sample_weight=weights, **ball
    )
    if not (is_small(first) and first.n_rows >= CLEAR * first.n_features):
        first = in_content_order(first)
    return for_every_class(
        with_intercept_cost(first, intercept_cost), y, classes, weights
    )


def for_every_class(first: Problem, y, classes, weights) -> list[Problem]:
    """Return one problem per class, or one for two classes, given the first of them with the weights of all rows."""
    if len(classes) == 2:
        return [first]
    labels = positive_labels(classes)
    return [
        first.relabelled(y == label, side_weights(y, label, classes, weights))
        for label in labels
    ]


def towards_majority(
    problems: list[Problem], coefs: np.ndarray, intercepts: np.ndarray
) -> np.ndarray:
    """Return the intercepts.

    Where they and all weights are 0, a tiny one for the larger class by weight.
    """
    undecided = (intercepts == 0) & ~coefs.any(axis=-1)
    if not undecided.any():
        return intercepts
    shares = [masses_of_classes(problem)[0] for problem in problems]
    return np.where(undecided, ROUNDING * (np.array(shares) - 0.5), intercepts)
