"""Labels, weights and predictions on a graphics card, for the estimator; `engines/dask/arrays.py` has the same."""

from importlib import import_module
from typing import Any

import numpy as np

from drsvm.engines.gpu.device import cupy, here, on_device
from drsvm.engines.gpu.given import gpu_rows
from drsvm.model.elsewhere import ForCard, fetched


def with_labels(X, y) -> tuple[Any, Any]:
    """Return X and y in the form that the other functions take: labels that are numbers are on the card."""
    if not hasattr(y, "__dlpack__") or isinstance(y, np.ndarray):
        y = np.asarray(y)
        y = on_device(y, y.dtype) if y.dtype.kind in "biuf" else y
    elif not isinstance(y, cupy().ndarray):
        y = cupy().from_dlpack(y)
    y = y.ravel() if y.ndim == 2 and 1 in y.shape else y
    if y.shape != (X.shape[0],):
        raise ValueError(f"y must have one label per row of X: X has {X.shape[0]} rows, y has shape {y.shape}.")
    return X, y


def n_features(X) -> int:
    """Return the number of columns."""
    return int(X.shape[1])


def named(X) -> Any:
    """Return something that has the names of the features, if they have any."""
    return X.given if isinstance(X, ForCard) else X


def classes_of(y) -> np.ndarray:
    """Return the distinct labels."""
    if isinstance(y, np.ndarray):
        return np.unique(y)
    if y.dtype.kind == "f" and not bool(cupy().isfinite(y).all()):
        raise ValueError("y has NaN or an infinite value among its labels: drop those rows.")
    return here(cupy().unique(y))


def _positions(y, classes):
    if isinstance(y, np.ndarray):
        return on_device(np.searchsorted(classes, y), np.int64)
    return cupy().searchsorted(on_device(classes, classes.dtype), y)


def by_class(y, classes, values, weights=None) -> Any:
    """Return the value of its class for every row, times its weight if there is one."""
    found = on_device(values, values.dtype)[_positions(y, classes)]
    return found if weights is None else found * on_device(weights)


def masses_of_classes(y, classes, weights=None) -> np.ndarray:
    """Return the number of rows of every class, or the sum of their weights."""
    weights = None if weights is None else on_device(weights)
    return here(cupy().bincount(_positions(y, classes), weights, minlength=len(classes))).astype(np.float64)


def counts_for_radius(problem, y, classes, positive, factors, sample_weight) -> Any:
    """Return how many rows each row counts for in the automatic radius: as many as its given weight says."""
    return on_device(sample_weight)


def decision_values(X, coef, intercept) -> Any:
    """Return x·w + b for every row and classifier, of the library that X comes from."""
    rows, coef, intercept = gpu_rows(X), np.atleast_2d(fetched(coef)), np.atleast_1d(fetched(intercept))
    values = [rows.dot(w, float(b)) for w, b in zip(coef, intercept, strict=True)]
    return like(X, values[0] if len(values) == 1 else cupy().stack(values, axis=1))


def labels(values, classes) -> Any:
    """Return the labels that decision values stand for, on the card if they are numbers."""
    scores = cupy().from_dlpack(values)
    chosen = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
    if classes.dtype.kind not in "biuf":
        return classes[here(chosen)]
    return like(values, on_device(classes, classes.dtype)[chosen])


def like(X, values) -> Any:
    """Return values as an array of the library that X comes from; a CSR matrix counts as one of CuPy."""
    if isinstance(X, ForCard):
        return here(values)
    values = on_device(values, values.dtype)
    if isinstance(X, cupy().ndarray) or not hasattr(X, "__dlpack__"):
        return values
    library = import_module(type(X).__module__.partition(".")[0])
    return library.from_dlpack(values)
