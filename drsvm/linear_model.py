"""Reading a linear classifier of any origin: the weights, the intercept and the signs of the labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from drsvm.validation import check_labels, check_rows, check_weight_vector, check_weights, row_blocks


@dataclass(frozen=True)
class AuditData:
    """A linear classifier with the data it is judged on."""

    X: Any
    signs: np.ndarray
    weights: np.ndarray
    margins: np.ndarray
    coef: np.ndarray
    intercept: float
    classes: np.ndarray


def audit_data(model, X, y, sample_weight) -> AuditData:
    """Check model and data against each other and compute the margins."""
    linear, X = _behind_pipeline(model, X)
    coef, intercept, classes = _read(linear)
    X = check_rows(X)
    n, d = X.shape
    coef = check_weight_vector(coef, d, "the model's coef")
    classes, signs = _signs(y, n, classes)
    weights = check_weights(sample_weight, n)
    weights = np.full(n, 1.0 / n) if weights is None else weights
    values = np.concatenate([X[block] @ coef for block in row_blocks(X)]) + intercept
    return AuditData(X, signs, weights, signs * values, coef, intercept, classes)


def _behind_pipeline(model, X):
    """Return the last step of a pipeline and X as that step sees it."""
    while hasattr(model, "steps"):
        X = model[:-1].transform(X) if len(model.steps) > 1 else X
        model = model[-1]
    return model, X


def _read(model):
    """Return coef, intercept and the two classes (None where the model does not know them)."""
    if isinstance(model, tuple | list) and len(model) == 2:
        return *_one_row(*model), None
    coef = getattr(model, "coef_", None)
    if coef is None:
        raise TypeError(
            f"model must be a fitted linear classifier, a Pipeline ending in one, or (coef, intercept); "
            f"{type(model).__name__} has no coef_ (is it fitted?)."
        )
    return *_one_row(coef, getattr(model, "intercept_", 0.0)), getattr(model, "classes_", None)


def _one_row(coef, intercept) -> tuple[np.ndarray, float]:
    """Return the weights as a vector and the intercept as a number; scikit-learn keeps both with one row more."""
    coef = coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef)
    if coef.ndim == 2 and coef.shape[0] != 1:
        raise ValueError(
            f"model separates {coef.shape[0]} classes; judge one class against the rest with "
            "(model.coef_[k], model.intercept_[k]) and y == model.classes_[k]."
        )
    intercept = np.ravel(intercept)
    if intercept.size != 1 or not np.isfinite(intercept).all():
        raise ValueError(f"the model's intercept must be one finite number, got {intercept.tolist()}.")
    return np.ravel(coef).astype(np.float64), float(intercept[0])


def _signs(y, n: int, classes):
    labels = np.asarray(y)
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.ravel()
    if classes is None and labels.shape == (n,) and np.isin(labels, [-1, 1]).all():
        classes = np.array([-1, 1])
    if classes is None:
        return check_labels(y, n)
    if labels.shape != (n,):
        raise ValueError(f"y must have one label per row of X: X has {n} rows, y has shape {labels.shape}.")
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise ValueError(
            f"y has the label {labels[unknown].tolist()[0]!r}, but the model knows {classes.tolist()} only."
        )
    return np.asarray(classes), np.where(labels == classes[1], 1.0, -1.0)
