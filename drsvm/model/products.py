"""Products of all rows with a vector, in parallel parts, in float64; the same with any number of threads."""

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise, product

import numpy as np
from scipy import sparse

from drsvm.model.large_rows import LARGE, RowView
from drsvm.model.validation import row_blocks
from drsvm.parallel import PART, over, over_parts, parts_of, usable_threads

PART_ENTRIES = 1 << 18
"""Number of stored entries in a part of a product with sparse rows."""

ULP = 2.0**-53
"""Largest relative error of one rounding."""

ENTRIES_OF_SAMPLE = 10_000
"""Number of entries from which the frequencies of the columns are estimated."""


def dot(X, v) -> np.ndarray:
    """Return x_i·v for every row."""
    if is_small(X):
        return X @ v
    out = np.empty(X.shape[0])
    if sparse.issparse(X):
        from drsvm.kernels import rows as kernel

        parts = unsigned_parts(X)
        over(_row_parts(X), lambda part: kernel.dot(*parts, part.start, part.stop, v, out[part]))
    else:
        over(row_blocks(X), lambda part: np.dot(X[part].astype(np.float64, copy=False), v, out=out[part]))
    return out


def transposed_dot(X, c) -> np.ndarray:
    """Return Σ_i c_i x_i."""
    if is_small(X):
        return X.T @ c
    if not sparse.issparse(X):
        # np.dot, because the operator @ holds the interpreter's lock for a vector and a matrix.
        return np.sum(over(row_blocks(X), lambda part: np.dot(c[part], X[part].astype(np.float64, copy=False))), axis=0)
    sums = _sparse_sums(X, c)

    def add(columns):
        for more in sums[1:]:
            sums[0, columns] += more[columns]

    over_parts(X.shape[1], add)
    return sums[0]


def rounding_of_sums(X) -> float:
    """Return a bound on the error of `transposed_dot`, relative to Σ_i |c_i x_ij|: terms are added one by one."""
    n = X.shape[0]
    in_parts = PART if sparse.issparse(X) else next(row_blocks(X)).stop
    longest = n if is_small(X) else min(n, in_parts)
    return ULP * (longest + n // longest + 2)


def is_small(X) -> bool:
    """Return whether products need neither parts nor threads."""
    if sparse.issparse(X):
        return X.nnz < LARGE
    return X.size < LARGE and X.dtype == np.float64 and not isinstance(X, RowView)


def _row_parts(X) -> Iterator[slice]:
    """Yield parts of the rows of a sparse matrix with about PART_ENTRIES entries each."""
    n = X.shape[0]
    size = max(1, n * PART_ENTRIES // X.nnz)
    return (slice(first, min(first + size, n)) for first in range(0, n, size))


def _sparse_sums(X, c) -> np.ndarray:
    """Return Σ_i c_i x_i over each part of the rows; a thread adds the rows of a part in a range of the columns."""
    from drsvm.kernels import rows as kernel

    parts, entries = list(parts_of(X.shape[0])), unsigned_parts(X)
    sums = np.zeros((len(parts), X.shape[1]))

    def add(task):
        (number, part), (low, high) = task
        kernel.add_columns(*entries, part.start, part.stop, c, low, high, sums[number])

    over(product(enumerate(parts), _column_ranges(X, len(parts))), add)
    return sums


def _column_ranges(X, n_parts: int) -> Iterable[tuple[int, int]]:
    """Return ranges of the columns with about as many entries each, so many that no thread is idle."""
    n_ranges = math.ceil(usable_threads() / n_parts)
    if n_ranges < 2 or not X.has_sorted_indices:
        return [(0, X.shape[1])]
    some = np.sort(X.indices[:: max(1, X.nnz // ENTRIES_OF_SAMPLE)])
    inner = some[np.arange(1, n_ranges) * len(some) // n_ranges].tolist()
    return pairwise([0, *inner, X.shape[1]])


def unsigned_parts(X) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return entries, indices and row starts of a CSR matrix as the kernels take them."""
    unsigned = np.uint32 if X.indices.dtype == np.int32 else np.uint64
    return X.data, X.indices.view(unsigned), X.indptr.view(unsigned)
