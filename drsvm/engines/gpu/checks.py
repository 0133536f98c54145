# pyright: reportMissingImports=false
"""Rows, labels and weights as users give them, checked and brought to a graphics card."""

from typing import Any

import numpy as np
from scipy import sparse

from drsvm.engines.gpu.device import GpuError, cupy, free_memory, on_device, on_host
from drsvm.engines.gpu.rows import DenseGpuRows, GpuRows, SparseGpuRows, checked_costs
from drsvm.engines.gpu.streaming import StreamedGpuRows
from drsvm.model.backends import ForCard

STATE_BYTES = 160
"""Bytes per row beyond its features: the state of a run, its corrections, and vectors of one pass."""

BLOCK_BYTES = 1 << 30
"""Size of the blocks in which rows cross that do not fit onto the card."""


def gpu_rows(X: Any) -> GpuRows:
    """Return rows for the card: those that are there stay as they are, others are copied, or cross in every pass."""
    xp = cupy()
    X = X.X if isinstance(X, ForCard) else X
    from cupyx.scipy import sparse as gpu_sparse

    if gpu_sparse.issparse(X) or sparse.issparse(X):
        return _sparse_rows(X, gpu_sparse)
    if hasattr(X, "__dlpack__") and not isinstance(X, np.ndarray | xp.ndarray):
        X = xp.from_dlpack(X)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must have rows and columns, got an array of shape {X.shape}.")
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    if isinstance(X, np.ndarray) and X.nbytes + len(X) * STATE_BYTES > free_memory():
        return _streamed_rows(np.ascontiguousarray(X, dtype=dtype))
    X = xp.ascontiguousarray(xp.asarray(X, dtype=dtype))
    _check_finite(X)
    return DenseGpuRows(X)


def _streamed_rows(X: np.ndarray) -> StreamedGpuRows:
    """Return rows that stay in main memory; their state must fit onto the card."""
    block = min(BLOCK_BYTES, free_memory() // 8)
    _check_room(len(X) * STATE_BYTES + 4 * block, X.shape)
    for first in range(0, len(X), max(1, block // X[0].nbytes)):
        _check_finite(on_device(X[first : first + max(1, block // X[0].nbytes)], X.dtype), first)
    return StreamedGpuRows(X, block)


def _sparse_rows(X: Any, gpu_sparse) -> SparseGpuRows:
    dtype = np.dtype(X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
    if sparse.issparse(X):
        _check_room(X.nnz * (2 * dtype.itemsize + 12) + X.shape[0] * STATE_BYTES, X.shape)
    X = gpu_sparse.csr_matrix(X, dtype=dtype)
    if not X.has_canonical_format:
        X = X.copy()  # the given one is not modified
        X.sum_duplicates()  # sorts the indices too
    _check_finite(X.data)
    return SparseGpuRows(X)


def _check_room(needed: int, shape) -> None:
    free = free_memory()
    if needed > free:
        raise GpuError(
            f"{shape[0]} × {shape[1]} rows and their state take {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB of the "
            "card are free: use float32, fewer rows, or engine='cpu'."
        )


def _check_finite(values, first_row: int = 0) -> None:
    """Raise an error if there is a value that is not finite; values[0] belongs to the given row."""
    if not bool(cupy().isfinite(values).all()):
        where = [int(k) for k in np.unravel_index(int(cupy().isfinite(values).argmin()), values.shape)]
        at = f" at row {first_row + where[0]}, column {where[1]}" if values.ndim == 2 else ""
        raise ValueError(f"X has NaN or an infinite value{at}: remove or impute it.")


def gpu_data(X, y, sample_weight, flip_cost) -> dict[str, Any]:
    """Return the attributes of a problem whose rows are on the card; its vectors are there too."""
    found = gpu_rows(X).data(on_host(y), sample_weight)
    return found | {"flip_cost": checked_costs(flip_cost, found["n_given"], found["kept"])}
