"""Rows too large to copy: matrices in memory-mapped files, and views of them that are computed block by block."""

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.parallel import over_parts

LARGE = 1 << 20
"""Number of stored entries from which a matrix is processed in parts; a smaller one may be copied."""


class RowView:
    """Rows that are computed from those of a dense matrix when they are asked for, such as x_i − c.

    Parameters
    ----------
    X : array or RowView of shape (n, d)
        The matrix, which is never copied as a whole.
    change : callable, optional
        Turns a block of its rows into a block of this view.
    rows : array of ints, optional
        The rows of the view; by default all of them.
    """

    ndim = 2

    def __init__(self, X, change: Callable[[Any], np.ndarray] | None = None, rows=None):
        self.X, self.change, self.rows = X, change, rows
        nothing = self[:0]
        self.shape = (X.shape[0] if rows is None else len(rows), nothing.shape[1])
        self.size = self.shape[0] * self.shape[1]
        self.dtype = nothing.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, wanted) -> np.ndarray:
        """Return rows as an array."""
        block = self.X[wanted if self.rows is None else self.rows[wanted]]
        return block if self.change is None else self.change(block)


def is_mapped(X) -> bool:
    """Return whether a matrix, or the entries of a sparse one, lie in a memory-mapped file."""
    part: Any = X.data if sparse.issparse(X) else X
    while isinstance(part, np.ndarray):
        part = part.base
    return isinstance(part, mmap.mmap)


def must_stay(X) -> bool:
    """Return whether a matrix is large and in a file, so that it must not be copied into memory."""
    if isinstance(X, RowView):
        return True
    return (X.nnz if sparse.issparse(X) else X.size) >= LARGE and is_mapped(X)


def changed(X, change: Callable[[Any], Any]) -> Any:
    """Return the changed rows: a copy, or a view if a dense matrix must not be copied."""
    return RowView(X, change) if must_stay(X) and not sparse.issparse(X) else change(X)


def selected(X, rows) -> Any:
    """Return some rows (sorted indices): a copy, or a view if a dense matrix must not be copied."""
    return RowView(X, rows=rows) if must_stay(X) and not sparse.issparse(X) else X[rows]


def copied(X, rows) -> Any:
    """Return a copy of some rows (indices), made in parallel parts if they are many and dense."""
    if not isinstance(X, np.ndarray) or len(rows) * X.shape[1] < LARGE:
        return X[rows]
    out = np.empty((len(rows), X.shape[1]), dtype=X.dtype)
    over_parts(len(rows), lambda part: np.take(X, rows[part], axis=0, out=out[part], mode="clip"))
    return out


def in_memory(X) -> Any:
    """Return a matrix that compiled code can read: a copy of a view, anything else as it is."""
    return np.ascontiguousarray(X[:]) if isinstance(X, RowView) else X


def shifted_rows(X, offset) -> Any:
    """Return x − offset for every row: a copy, or a view if a dense matrix must not be copied.

    In sparse rows only stored entries are shifted: the offset is 0 in all columns that have others.
    """
    if not sparse.issparse(X):
        return changed(X, lambda rows: rows - offset)
    return type(X)((X.data - offset[X.indices], X.indices, X.indptr), shape=X.shape)
