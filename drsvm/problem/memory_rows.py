"""Rows in arrays of numpy or scipy, in memory or in memory-mapped files.

Large ones are processed in parts by threads. The parts depend on the rows only, and
their sums are added in order: the result is the same with any number of threads. What
methods return is documented in `Rows`.
"""

import math
import mmap
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.compiled import products
from drsvm.compiled.row_access import Rows as CompiledRows
from drsvm.problem.rows import Rows
from drsvm.problem.validation import check_flip_costs, check_row_radius
from drsvm.utils.annotations import Matrix
from drsvm.utils.compensated_sums import ULP, compensated_transposed_dot
from drsvm.utils.lazy import cached_property
from drsvm.utils.parallel import (
    PART,
    over,
    over_parts,
    parts_of,
    row_blocks,
    slices,
)

# Number of stored entries from which a matrix is processed in parts; a smaller one may
# be copied.
LARGE = 1 << 20
# Number of stored entries in a part of a product with sparse rows
PART_ENTRIES = 1 << 18
# Number of first rows in which full columns of sparse rows are looked for
FIRST_ROWS = 500
# Rounding errors of margins below this do not matter for a certificate.
MIN_NOISE = 1e-10


class RowView:
    """Rows that are computed from those of a dense matrix when needed, such as x_i − c.

    The matrix, an array or a view, is never copied as a whole; `change` turns a block
    of its rows into one of this view, which has the given `rows`, by default all of
    them.
    """

    ndim = 2

    def __init__(
        self, X: Matrix, change: Callable[[Matrix], np.ndarray] | None = None, rows=None
    ):
        self.X = X
        self.change = change
        self.rows = rows
        n = X.shape[0]
        if rows is not None:
            n = rows.shape[0]
        # An empty block shows the number of columns and the type after the change.
        empty = self[:0]
        self.shape = (n, empty.shape[1])
        self.size = self.shape[0] * self.shape[1]
        self.dtype = empty.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, wanted) -> np.ndarray:
        """Return rows as an array."""
        if self.rows is not None:
            wanted = self.rows[wanted]
        block = self.X[wanted]
        if self.change is None:
            return block
        return self.change(block)


def is_mapped(X: Matrix) -> bool:
    """Return whether a matrix, or the entries of a sparse one, lie in a mapped file."""
    part = X
    if sparse.issparse(X):
        part = X.data
    # A view has the array that it is a view of as its base; the last one is the file.
    while isinstance(part, np.ndarray):
        part = part.base
    return isinstance(part, mmap.mmap)


def stored_entries(X: Matrix) -> int:
    """Return the number of entries that are stored."""
    if sparse.issparse(X):
        return X.nnz
    return X.size


def dense(X: Matrix) -> np.ndarray:
    """Return rows as an array, which is no copy of dense ones."""
    if sparse.issparse(X):
        return X.toarray()
    return X


def must_stay(X) -> bool:
    """Return whether a matrix is large and in a file, and must not be copied."""
    return isinstance(X, RowView) or (stored_entries(X) >= LARGE and is_mapped(X))


def in_memory(X: Matrix) -> Matrix:
    """Return a matrix that compiled code can read: a view is copied."""
    if isinstance(X, RowView):
        return np.ascontiguousarray(X[:])
    return X


def changed(X: Matrix, change: Callable[[Matrix], Matrix]) -> Matrix:
    """Return the changed rows: a view if a dense matrix must not be copied."""
    if must_stay(X) and not sparse.issparse(X):
        return RowView(X, change)
    return change(X)


def _as_float64(rows: np.ndarray) -> np.ndarray:
    """Return rows in double precision, which is not a copy if they are already."""
    return rows.astype(np.float64, copy=False)


class HostRows(Rows):
    """Rows whose vectors are arrays of numpy."""

    def vector(self, values):
        return np.asarray(values, dtype=np.float64)

    def with_flip_costs(self, flip_cost, n_given, kept):
        return {"flip_cost": check_flip_costs(flip_cost, n_given, kept)}

    def with_row_radius(self, row_radius, n_given, kept):
        return {"row_radius": check_row_radius(row_radius, n_given, kept)}


class MemoryRows(HostRows):
    """Rows in a C-ordered array, a canonical CSR array or a view.

    Those of a large file are never copied.
    """

    readable = True

    def __init__(self, X: Matrix):
        self.X = X
        self.shape = X.shape
        self.dtype = X.dtype
        self.is_sparse = sparse.issparse(X)
        self.stored = stored_entries(X)
        # Products with single precision or a view need a copy of each part.
        is_plain = X.dtype == np.float64 and not isinstance(X, RowView)
        self.is_small = (self.is_sparse or is_plain) and self.stored < LARGE

    @property
    def copyable(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return not must_stay(self.X)

    selectable = copyable  # pyright: ignore[reportAssignmentType]

    def mapped(self, function, flip_cost):
        return MemoryRows(changed(self.X, function))

    @property
    def rounding(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Bound on the error of `weighted_sum`, relative to Σ_i |c_i x_ij|."""
        # Terms of a part are added one by one, and then the sums of the parts.
        n = self.shape[0]
        if self.is_small:
            longest = n
        elif self.is_sparse:
            longest = min(n, PART)
        else:
            longest = row_blocks(self.X)[0].stop
        return ULP * (longest + n // longest + 2)

    def dot(self, v, shift=0.0):
        if self.is_small:
            values = self.X @ v
            if shift != 0.0:
                values += shift
            return values
        n = self.shape[0]
        values = np.empty(n)
        if self.is_sparse:
            entries = unsigned_parts(self.X)
            # The number of rows that have about PART_ENTRIES
            size = max(1, n * PART_ENTRIES // self.stored)
            blocks = slices(n, size)
        else:
            entries = None
            blocks = row_blocks(self.X)

        def fill(part):
            if entries is None:
                np.dot(_as_float64(self.X[part]), v, out=values[part])
            else:
                products.dot(*entries, part.start, part.stop, v, values[part])
            if shift != 0.0:
                values[part] += shift

        over(blocks, fill)
        return values

    def compensated_dot(self, v, shift, sizes):
        """Return x_i·v + shift for few rows, also where large terms cancel.

        Sums are compensated if their rounding errors may matter, judged by the root
        mean squares of the columns.
        """
        if self.is_sparse:
            n_terms = int(np.diff(self.X.indptr).max(initial=0))
        else:
            n_terms = len(v)
        if ULP * n_terms * float(sizes @ np.abs(v)) <= MIN_NOISE:
            return self.dot(v, shift)
        # The shift is one more term: the weight of a column of ones.
        columns = [self.X.T, np.ones((1, self.shape[0]))]
        if self.is_sparse:
            columns = sparse.vstack(columns, format="csr")
        else:
            columns = np.vstack(columns)
        return compensated_transposed_dot(columns, np.append(v, shift))[0]

    @cached_property
    def _transposed(self) -> Matrix:
        """The transposed rows, in the same memory.

        To make this object takes as long as a product with few rows.
        """
        return self.X.T

    def weighted_sum(self, c):
        if self.is_small:
            return self._transposed @ c
        if self.is_sparse:
            return self._sparse_sum(c)
        # np.dot, because the operator @ holds the interpreter's lock for a vector and
        # a matrix.
        sums = over(
            row_blocks(self.X),
            lambda part: np.dot(c[part], _as_float64(self.X[part])),
        )
        return reduce(np.add, sums)

    def _sparse_sum(self, c) -> np.ndarray:
        """Return Σ_i c_i x_i of many sparse rows."""
        parts = parts_of(self.shape[0])
        entries = unsigned_parts(self.X)
        sums = np.zeros((len(parts), self.shape[1]))
        total = np.empty(self.shape[1])

        def add_rows(task):
            number, part = task
            products.add_rows(*entries, part.start, part.stop, c, sums[number])

        def add_sums(columns):
            np.add.reduce(sums[:, columns], axis=0, out=total[columns])

        # First every part by itself, then the sums of all parts, by columns
        over(enumerate(parts), add_rows)
        over_parts(total, add_sums)
        return total

    # An error names the entries that are too large.
    @np.errstate(over="ignore")
    def sum_of_squares(self, c):
        if self.is_sparse:
            squares = np.square(self.X.data, dtype=np.float64)
            entries = squares, self.X.indices, self.X.indptr
            return sparse.csr_array(entries, shape=self.shape).T @ c
        if self.is_small:
            return np.dot(c, np.square(self.X))
        squares = over(
            row_blocks(self.X),
            lambda part: np.dot(c[part], np.square(self.X[part], dtype=np.float64)),
        )
        return reduce(np.add, squares)

    def norms(self, p, factors=None):
        blocks = [slice(0, self.shape[0])]
        if not self.is_small:
            blocks = row_blocks(self.X)
        return np.concatenate([self._norms_of(part, p, factors) for part in blocks])

    def _norms_of(self, part: slice, p: float, factors) -> np.ndarray:
        """Return the norms of some rows."""
        if not self.is_sparse:
            rows = self.X[part]
            if factors is not None:
                rows = scaled_columns(rows, factors)
            return np.linalg.norm(rows.astype(np.float64, copy=False), ord=p, axis=1)
        # Slicing rows of a CSR array copies them twice.
        indptr = self.X.indptr[part.start : part.stop + 1]
        entries = slice(indptr[0], indptr[-1])
        sizes = np.abs(self.X.data[entries], dtype=np.float64)
        if factors is not None:
            sizes *= np.abs(factors)[self.X.indices[entries]]
        norms = np.zeros(len(indptr) - 1)
        filled = np.flatnonzero(np.diff(indptr))
        starts = indptr[filled] - indptr[0]
        if p == math.inf:
            norms[filled] = np.maximum.reduceat(sizes, starts)
        else:
            norms[filled] = np.add.reduceat(sizes**p, starts) ** (1.0 / p)
        return norms

    def shiftable_columns(self):
        if not self.is_sparse:
            return super().shiftable_columns()
        if not self.copyable:
            return np.zeros(0, dtype=np.intp)
        # A shift turns every 0 into an entry, so only columns with an entry in every
        # row are shifted. Few are left after the first rows.
        n, d = self.shape
        columns = np.zeros(0, dtype=np.intp)
        for size in (min(FIRST_ROWS, n), n):
            indices = self.X.indices[: self.X.indptr[size]]
            columns = np.flatnonzero(np.bincount(indices, minlength=d) == size)
            if len(columns) == 0:
                break
        return columns

    def shifted(self, offset):
        """Return x − offset for every row.

        Of sparse rows only stored entries are shifted: all others must have offset 0.
        """
        if self.is_sparse:
            return MemoryRows(
                _with_entries(self.X, self.X.data - offset[self.X.indices])
            )
        if self.is_small:
            return MemoryRows(self.X - offset)
        return MemoryRows(changed(self.X, lambda rows: rows - offset))

    def seen_from(self, origin):
        if self.is_small:
            return MemoryRows(self.X - origin)
        return MemoryRows(RowView(self.X, lambda rows: rows - origin))

    def on_features(self, features):
        return MemoryRows(changed(self.X, lambda rows: chosen_columns(rows, features)))

    def taken(self, rows):
        """Return copies of some rows, made in parallel if they are many and dense."""
        if not isinstance(self.X, np.ndarray) or len(rows) * self.shape[1] < LARGE:
            return MemoryRows(self.X[rows])
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)

        def copy(part):
            np.take(self.X, rows[part], axis=0, out=out[part], mode="clip")

        over_parts(rows, copy)
        return MemoryRows(out)

    def kept(self, rows):
        if must_stay(self.X) and not self.is_sparse:
            return MemoryRows(RowView(self.X, rows=rows))
        return self.taken(rows)

    def some(self, size):
        step = -(-self.shape[0] // size)
        return self.X[::step]

    def covariance(self, weights) -> np.ndarray:
        """Return the covariance of the columns, given weights that sum to 1."""
        # Of dense rows, those that are centred lose no digits.
        mean = weights @ self.X
        if self.is_sparse:
            return self.squares(weights) - np.outer(mean, mean)
        return MemoryRows(np.asarray(self.X, dtype=np.float64) - mean).squares(weights)

    def squares(self, c) -> np.ndarray:
        """Return Σ c_i x_i x_iᵀ, given c ≥ 0."""
        if not self.is_sparse:
            scaled = self.X * np.sqrt(c)[:, None]
            # A product of a matrix with itself takes half the time.
            return scaled.T @ scaled
        n, d = self.shape
        # The compiled function adds up one triangle and the whole diagonal.
        triangle = np.zeros((d, d))
        products.gram_of_features(*unsigned_parts(self.X), c, 0, n, 0, d, triangle)
        triangle.reshape(-1)[:: d + 1] *= 0.5
        return triangle + triangle.T

    def products_of_rows(self) -> np.ndarray:
        """Return x_i·x_j for all pairs of rows."""
        if self.is_sparse:
            return (self.X @ self.X.T).toarray()
        return np.asarray(self.X, dtype=np.float64) @ self.X.T


def _with_entries(X: Matrix, entries: np.ndarray) -> Matrix:
    """Return a CSR matrix with other entries in the same places."""
    return type(X)((entries, X.indices, X.indptr), shape=X.shape)


def scaled_columns(X: Matrix, factors: np.ndarray) -> Matrix:
    """Return dense or CSR rows with a factor for each column."""
    if sparse.issparse(X):
        return _with_entries(X, X.data * factors[X.indices])
    return X * factors


def chosen_columns(rows: Matrix, features) -> Matrix:
    """Return copies of some columns, in the layout of the rows."""
    chosen = rows[:, features]
    if sparse.issparse(chosen):
        return chosen
    return np.ascontiguousarray(chosen)


def compiled_rows(X: Matrix, signs: np.ndarray, importance: np.ndarray) -> CompiledRows:
    """Return rows in the layout that compiled functions read; nothing is copied.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
        The rows. Dense rows have no indices.
    signs, importance : arrays of shape (n,)
        Labels ±1, and weights of the rows.

    Returns
    -------
    CompiledRows
        A named tuple of read-only arrays.
    """
    if sparse.issparse(X):
        data, indices, indptr = unsigned_parts(X)
    else:
        data = read_only(X.reshape(-1))
        indices = indptr = None
    return CompiledRows(
        data, indices, indptr, X.shape[1], read_only(signs), read_only(importance)
    )


def read_only(array: np.ndarray, dtype: type | None = None) -> Any:
    """Return a read-only view, or a copy of another type.

    Functions would be compiled once more for writable arrays.
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def unsigned_parts(X: Matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the read-only entries, indices and row starts of a CSR matrix.

    Indices are unsigned, as compiled functions take them.
    """
    unsigned = np.uint64
    if X.indices.dtype == np.int32:
        unsigned = np.uint32
    indices = read_only(X.indices.view(unsigned))
    return read_only(X.data), indices, read_only(X.indptr.view(unsigned))
