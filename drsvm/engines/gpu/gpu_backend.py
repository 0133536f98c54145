# pyright: reportMissingImports=false
"""Data on a GPU: rows for a problem, labels and predictions for an estimator."""

import math
from importlib import import_module

import numpy as np
from scipy import sparse

from drsvm.engines.gpu.device import GpuError, cupy, free_memory, on_device
from drsvm.engines.gpu.gpu_rows import (
    DenseGpuRows,
    GpuKernelRows,
    GpuRows,
    SparseGpuRows,
    checked_costs,
)
from drsvm.engines.gpu.streaming import StreamedGpuRows
from drsvm.problem.backends import Backend, ForGpu, to_numpy
from drsvm.problem.memory_rows import dense
from drsvm.utils.annotations import Matrix
from drsvm.utils.parallel import slices

# Bytes per row beyond its features: the state of a run, its corrections, and vectors of
# one pass
STATE_BYTES = 160
# Size of the blocks in which rows that do not fit onto the GPU are sent there
BLOCK_BYTES = 1 << 30
NUMBERS = "biuf"  # kinds of the data types that the GPU takes


class GpuBackend(Backend):
    """Data on a GPU, or for one.

    Arrays of CuPy, or of any library that shares arrays on the GPU (DLPack), CSR
    matrices of CuPy, and data in main memory that are to be copied (`ForGpu`).
    """

    def data(self, X, y, sample_weight, flip_cost):
        attributes = gpu_rows(X).data(y, sample_weight)
        n = attributes["n_given"]
        attributes["flip_cost"] = checked_costs(flip_cost, n, attributes["kept"])
        return attributes

    def kernel_rows(self, points, function):
        if not function.proven:
            raise ValueError(
                "A kernel that is a table or a function of yours needs "
                "engine='cpu', with X in main memory."
            )
        if isinstance(points, ForGpu):
            points = points.X
        return GpuKernelRows(on_device(dense(points)), function)

    def with_labels(self, X, y):
        if not hasattr(y, "__dlpack__"):
            y = np.asarray(y)
        # Labels that are texts stay in main memory.
        if not isinstance(y, np.ndarray) or y.dtype.kind in NUMBERS:
            y = on_device(y, None)
        if y.ndim == 2 and 1 in y.shape:
            y = y.ravel()
        if y.shape != (X.shape[0],):
            raise ValueError(
                f"y must have one label per row of X: X has {X.shape[0]} "
                f"rows, y has shape {y.shape}."
            )
        return X, y

    def n_features(self, X):
        return int(X.shape[1])

    def named(self, X):
        return X.original if isinstance(X, ForGpu) else X

    def sample(self, X, size):
        return gpu_rows(X).some(size)

    def mapped(self, X, function, parameters):
        is_sparse = hasattr(X, "tocsr")
        if is_sparse:
            rows = X.tocsr()
        else:
            rows = gpu_rows(X).X
        there = [on_device(values, rows.dtype) for values in parameters]
        mapped = function(rows, *there)
        if is_sparse:
            return mapped
        return self.like(X, mapped)

    def classes_of(self, y):
        if isinstance(y, np.ndarray):
            return np.unique(y)
        if y.dtype.kind == "f" and not bool(cupy().isfinite(y).all()):
            raise ValueError(
                "y has NaN or an infinite value among its labels: drop those rows."
            )
        return to_numpy(cupy().unique(y))

    def by_class(self, y, classes, values, weights=None):
        by_row = on_device(values, None)[_codes(y, classes)]
        if weights is None:
            return by_row
        return by_row * on_device(weights)

    def masses_of_classes(self, y, classes, weights=None):
        if weights is not None:
            weights = on_device(weights)
        masses = cupy().zeros(len(classes))
        cupy().add.at(masses, _codes(y, classes), 1.0 if weights is None else weights)
        return to_numpy(masses)

    def counts_for_radius(self, problem, y, classes, positive, factors, sample_weight):
        return on_device(sample_weight)

    def decision_values(self, X, coef, intercept):
        rows = gpu_rows(X)
        coef = np.atleast_2d(to_numpy(coef))
        intercept = np.atleast_1d(to_numpy(intercept))
        columns = [rows.dot(w, float(b)) for w, b in zip(coef, intercept, strict=True)]
        if len(columns) == 1:
            return self.like(X, columns[0])
        return self.like(X, cupy().stack(columns, axis=1))

    def labels(self, values, classes):
        scores = on_device(values, None)
        if scores.ndim == 1:
            chosen = (scores > 0).astype(np.int64)
        else:
            chosen = scores.argmax(axis=1)
        if classes.dtype.kind not in NUMBERS:
            return classes[to_numpy(chosen)]
        return self.like(values, on_device(classes, None)[chosen])

    def by_row(self, function, values, parameters, n_columns):
        here = to_numpy(on_device(values, None))
        return self.like(values, function(here, parameters))

    def like(self, X, values):
        if isinstance(X, ForGpu):
            return to_numpy(values)
        values = on_device(values, None)
        # Sparse matrices of CuPy do not have DLPack.
        if isinstance(X, cupy().ndarray) or not hasattr(X, "__dlpack__"):
            return values
        # Such as a tensor of PyTorch on the same GPU, without a copy
        library = import_module(type(X).__module__.partition(".")[0])
        return library.from_dlpack(values)


def _codes(y, classes):
    """Return the place of every label among the classes, on the GPU."""
    if isinstance(y, np.ndarray):
        return on_device(np.searchsorted(classes, y), np.int64)
    return cupy().searchsorted(on_device(classes, None), y)


def gpu_rows(X: Matrix) -> GpuRows:
    """Return rows for the GPU.

    Rows that are on the GPU already are not copied. Others are or, if there is no room
    for them, stay in main memory and are sent to the GPU in every pass.
    """
    if isinstance(X, ForGpu):
        X = X.X
    if hasattr(X, "tocsr"):
        return _sparse_rows(X)
    if not isinstance(X, np.ndarray):
        X = on_device(X, None)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(
            f"X must have rows and columns, got an array of shape {X.shape}."
        )
    dtype = _float_type(X)
    needed = X.nbytes + len(X) * STATE_BYTES
    if isinstance(X, np.ndarray) and needed > free_memory():
        return _streamed_rows(np.ascontiguousarray(X, dtype=dtype))
    xp = cupy()
    X = xp.ascontiguousarray(xp.asarray(X, dtype=dtype))
    rows = DenseGpuRows(X)
    # An infinite number times 0 is NaN, as are then all sums with it. This takes a
    # third of the time of a test of every number.
    zeros = rows.dot(np.zeros(X.shape[1]))
    if not math.isfinite(float(zeros @ zeros)):
        _check_finite(X)
    return rows


def _float_type(X: Matrix) -> np.dtype:
    """Return the type of the entries on the GPU: float32 or float64 as given."""
    if X.dtype in (np.float32, np.float64):
        return np.dtype(X.dtype)
    return np.dtype(np.float64)


def _streamed_rows(X: np.ndarray) -> StreamedGpuRows:
    """Return rows that stay in main memory; their state must fit onto the GPU."""
    block = min(BLOCK_BYTES, free_memory() // 8)
    _check_room(len(X) * STATE_BYTES + 4 * block, X.shape)
    for rows in slices(len(X), max(1, block // X[0].nbytes)):
        _check_finite(on_device(X[rows], X.dtype), rows.start)
    return StreamedGpuRows(X, block)


def _sparse_rows(X: Matrix) -> SparseGpuRows:
    """Return the rows of a sparse matrix of scipy or CuPy."""
    from cupyx.scipy import sparse as gpu_sparse

    dtype = _float_type(X)
    if sparse.issparse(X):
        # Every entry is there twice, by rows and by columns, perhaps in single
        # precision as well, with the index of its column or row, and its place in its
        # row: three integers of 4 bytes.
        needed = X.nnz * (2 * dtype.itemsize + 20) + X.shape[0] * STATE_BYTES
        _check_room(needed, X.shape)
    X = gpu_sparse.csr_matrix(X, dtype=dtype)
    if not X.has_canonical_format:
        X = X.copy()  # the given one is not modified
        X.sum_duplicates()  # sorts the indices too
    _check_finite(X.data)
    return SparseGpuRows(X)


def _check_room(needed: int, shape: tuple[int, int]) -> None:
    """Raise an error if the GPU does not have this many bytes free."""
    free = free_memory()
    if needed > free:
        raise GpuError(
            f"{shape[0]} × {shape[1]} rows and their state take "
            f"{needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB of the GPU are "
            "free: use float32, fewer rows, or engine='cpu'."
        )


def _check_finite(values: Matrix, first_row: int = 0) -> None:
    """Raise an error if there is a value that is not finite.

    values[0] belongs to the given row.
    """
    finite = cupy().isfinite(values)
    if bool(finite.all()):
        return
    at = ""
    if values.ndim == 2:
        row, column = np.unravel_index(int(finite.argmin()), values.shape)
        at = f" at row {first_row + int(row)}, column {int(column)}"
    raise ValueError(f"X has NaN or an infinite value{at}: remove or impute it.")
