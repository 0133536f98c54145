"""Data on a graphics card: rows for a problem, labels and predictions for an estimator."""

from importlib import import_module
from typing import Any

import numpy as np

from drsvm.engines.gpu.checks import gpu_data, gpu_rows
from drsvm.engines.gpu.device import cupy, on_device
from drsvm.engines.gpu.kernel_rows import gpu_kernel_rows
from drsvm.model.backends import Backend, ForCard, to_numpy


class GpuBackend(Backend):
    """Arrays of CuPy, or of any library that shares arrays on the card (DLPack), CSR matrices, and rows for a card."""

    def data(self, X, y, sample_weight, flip_cost):
        return gpu_data(X, y, sample_weight, flip_cost)

    def kernel_rows(self, points, function):
        return gpu_kernel_rows(points, function)

    def with_labels(self, X, y):
        if not hasattr(y, "__dlpack__") or isinstance(y, np.ndarray):
            y = np.asarray(y)
            y = on_device(y, y.dtype) if y.dtype.kind in "biuf" else y
        elif not isinstance(y, cupy().ndarray):
            y = cupy().from_dlpack(y)
        y = y.ravel() if y.ndim == 2 and 1 in y.shape else y
        if y.shape != (X.shape[0],):
            raise ValueError(f"y must have one label per row of X: X has {X.shape[0]} rows, y has shape {y.shape}.")
        return X, y

    def n_features(self, X):
        return int(X.shape[1])

    def named(self, X):
        return X.original if isinstance(X, ForCard) else X

    def sample(self, X, size):
        return gpu_rows(X).some(size)

    def mapped(self, X, function, parameters):
        rows: Any = X.tocsr() if hasattr(X, "tocsr") else gpu_rows(X)
        rows = getattr(rows, "X", rows)
        found = function(rows, *(on_device(values, rows.dtype) for values in parameters))
        return found if hasattr(X, "tocsr") else self.like(X, found)

    def classes_of(self, y):
        if isinstance(y, np.ndarray):
            return np.unique(y)
        if y.dtype.kind == "f" and not bool(cupy().isfinite(y).all()):
            raise ValueError("y has NaN or an infinite value among its labels: drop those rows.")
        return to_numpy(cupy().unique(y))

    def by_class(self, y, classes, values, weights=None):
        found = on_device(values, values.dtype)[_positions(y, classes)]
        return found if weights is None else found * on_device(weights)

    def masses_of_classes(self, y, classes, weights=None):
        weights = None if weights is None else on_device(weights)
        return to_numpy(cupy().bincount(_positions(y, classes), weights, minlength=len(classes))).astype(np.float64)

    def counts_for_radius(self, problem, y, classes, positive, factors, sample_weight):
        return on_device(sample_weight)

    def decision_values(self, X, coef, intercept):
        rows, coef, intercept = gpu_rows(X), np.atleast_2d(to_numpy(coef)), np.atleast_1d(to_numpy(intercept))
        values = [rows.dot(w, float(b)) for w, b in zip(coef, intercept, strict=True)]
        return self.like(X, values[0] if len(values) == 1 else cupy().stack(values, axis=1))

    def labels(self, values, classes):
        scores = cupy().from_dlpack(values)
        chosen = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        if classes.dtype.kind not in "biuf":
            return classes[to_numpy(chosen)]
        return self.like(values, on_device(classes, classes.dtype)[chosen])

    def by_row(self, function, values, parameters, n_columns):
        return self.like(values, function(to_numpy(cupy().from_dlpack(values)), parameters))

    def like(self, X, values):
        if isinstance(X, ForCard):
            return to_numpy(values)
        values = on_device(values, values.dtype)
        if isinstance(X, cupy().ndarray) or not hasattr(X, "__dlpack__"):
            return values
        library = import_module(type(X).__module__.partition(".")[0])
        return library.from_dlpack(values)


def _positions(y, classes):
    if isinstance(y, np.ndarray):
        return on_device(np.searchsorted(classes, y), np.int64)
    return cupy().searchsorted(on_device(classes, classes.dtype), y)
