"""Rows in arrays of numpy or scipy, in memory or in memory-mapped files.

Large ones are processed in parts by threads.

The parts depend on the rows only, and their sums are added in order: the result is the
same with any number of threads.
"""

import mmap
from collections.abc import Callable
from functools import cached_property, reduce
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import norm as sparse_norm

from drsvm.compiled import products as kernel
from drsvm.compiled.row_access import Rows as CompiledRows
from drsvm.problem.rows import Rows
from drsvm.problem.validation import check_flip_costs
from drsvm.utils.annotations import Matrix
from drsvm.utils.compensated_sums import ULP, compensated_transposed_dot
from drsvm.utils.parallel import PART, over, over_parts, parts_of, row_blocks, slices

# Number of stored entries from which a matrix is processed in parts; a smaller one may
# be copied
LARGE = 1 << 20
# Number of stored entries in a part of a product with sparse rows
PART_ENTRIES = 1 << 18
MIN_NOISE = 1e-10  # rounding errors of margins that matter, for a certificate


class RowView:
    """Rows that are computed from those of a dense matrix when they are needed, such as x_i − c.

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


def is_mapped(X: Matrix) -> bool:
    """Return whether a matrix, or the entries of a sparse one, lie in a memory-mapped file."""
    part = X.data if sparse.issparse(X) else X
    while isinstance(part, np.ndarray):
        part = part.base
    return isinstance(part, mmap.mmap)


def must_stay(X) -> bool:
    """Return whether a matrix is large and in a file, so that it must not be copied into memory."""
    return isinstance(X, RowView) or (
        (X.nnz if sparse.issparse(X) else X.size) >= LARGE and is_mapped(X)
    )


def in_memory(X: Matrix) -> Matrix:
    """Return a matrix that compiled code can read: a copy of a view, anything else as it is."""
    if isinstance(X, RowView):
        return np.ascontiguousarray(X[:])
    return X


def changed(X: Matrix, change: Callable[[Matrix], Matrix]) -> Matrix:
    """Return the changed rows: a copy, or a view if a dense matrix must not be copied."""
    if must_stay(X) and not sparse.issparse(X):
        return RowView(X, change)
    return change(X)


class HostRows(Rows):
    """Rows whose vectors are arrays of numpy."""

    def vector(self, values):
        return np.asarray(values, dtype=np.float64)

    def with_flip_costs(self, problem, flip_cost):
        return {"flip_cost": check_flip_costs(flip_cost, problem.n_given, problem.kept)}

    def to_host(self, problem):
        return problem


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
        self.stored = X.nnz if self.is_sparse else X.size
        unchanged = self.is_sparse or (
            X.dtype == np.float64 and not isinstance(X, RowView)
        )
        # Products need neither parts nor threads
        self.is_small = unchanged and self.stored < LARGE

    @property
    def copyable(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return not must_stay(self.X)

    selectable = copyable  # pyright: ignore[reportAssignmentType]

    def mapped(self, problem, function):
        return MemoryRows(changed(self.X, function))

    @property
    def rounding(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Terms are added one by one."""
        n = longest = self.shape[0]
        if not self.is_small:
            longest = min(n, PART if self.is_sparse else row_blocks(self.X)[0].stop)
        return ULP * (longest + n // longest + 2)

    def dot(self, v, shift=0.0):
        X = self.X
        if self.is_small:
            values = X @ v
        elif self.is_sparse:
            entries = unsigned_parts(X)
            values = np.empty(self.shape[0])
            parts = slices(
                self.shape[0], max(1, self.shape[0] * PART_ENTRIES // self.stored)
            )
            over(
                parts,
                lambda part: kernel.dot(
                    *entries, part.start, part.stop, v, values[part]
                ),
            )
        else:
            values = np.empty(self.shape[0])
            over(
                row_blocks(X),
                lambda part: np.dot(
                    X[part].astype(np.float64, copy=False), v, out=values[part]
                ),
            )
        if shift != 0.0 and not self.is_small:
            over_parts(
                values, lambda part: np.add(values[part], shift, out=values[part])
            )
        elif shift != 0.0:
            values += shift
        return values

    def compensated_margins(self, problem, w, b):
        if self.is_sparse:
            terms = int(np.diff(self.X.indptr).max(initial=0))
        else:
            terms = len(w)
        if (
            not self.is_small
            or ULP * terms * float(problem.column_sizes @ np.abs(w)) <= MIN_NOISE
        ):
            return problem.margins(w, b)
        columns = self.X.T, np.ones((1, self.shape[0]))
        if self.is_sparse:
            columns = sparse.vstack(columns, format="csr")
        else:
            columns = np.vstack(columns)
        return problem.signs * compensated_transposed_dot(columns, np.append(w, b))[0]

    @cached_property
    def _transposed(self) -> Matrix:
        """The transposed rows, which share their memory: to make this object takes as long as a product."""
        return self.X.T

    def weighted_sum(self, c):
        X = self.X
        if self.is_small:
            return self._transposed @ c
        if not self.is_sparse:
            # np.dot, because the operator @ holds the interpreter's lock for a vector
            # and a matrix.
            rows = over(
                row_blocks(X),
                lambda part: np.dot(c[part], X[part].astype(np.float64, copy=False)),
            )
            return reduce(np.add, rows)
        parts = parts_of(self.shape[0])
        entries = unsigned_parts(X)
        sums = np.zeros((len(parts), self.shape[1]))
        total = np.empty(self.shape[1])

        def add(task):
            number, part = task
            kernel.add_rows(*entries, part.start, part.stop, c, sums[number])

        over(enumerate(parts), add)
        over_parts(
            total,
            lambda columns: np.add.reduce(sums[:, columns], axis=0, out=total[columns]),
        )
        return total

    def sum_of_squares(self, c):
        if self.is_sparse:
            entries = self.X.data.astype(np.float64) ** 2 * np.repeat(
                c, np.diff(self.X.indptr)
            )
            sums = np.bincount(self.X.indices, entries, minlength=self.shape[1])
            # Without any entries, numpy counts in integers
            return sums.astype(np.float64, copy=False)
        if self.is_small:
            return np.dot(c, np.square(self.X))
        squares = over(
            row_blocks(self.X),
            lambda part: np.dot(c[part], np.square(self.X[part], dtype=np.float64)),
        )
        return reduce(np.add, squares)

    def norms(self, p, factors=None):
        if self.is_small:
            blocks = [self.X]
        else:
            blocks = map(self.X.__getitem__, row_blocks(self.X))
        norm = sparse_norm if self.is_sparse else np.linalg.norm
        norms = []
        for block in blocks:
            if factors is None:
                rows = block
            else:
                rows = scaled_columns(block, factors)
            norms.append(
                np.asarray(
                    norm(rows.astype(np.float64, copy=False), ord=p, axis=1)
                ).ravel()
            )
        return np.concatenate(norms)

    def shifted(self, offset):
        """Return x − offset for every row.

        Of sparse rows only stored entries, all others must have offset 0.
        """
        X = self.X
        if not self.is_sparse:
            return MemoryRows(
                X - offset if self.is_small else changed(X, lambda rows: rows - offset)
            )
        return MemoryRows(
            type(X)((X.data - offset[X.indices], X.indices, X.indptr), shape=X.shape)
        )

    def seen_from(self, origin):
        return MemoryRows(
            self.X - origin
            if self.is_small
            else RowView(self.X, lambda rows: rows - origin)
        )

    def on_features(self, features):
        return MemoryRows(changed(self.X, lambda rows: chosen_columns(rows, features)))

    def taken(self, rows):
        """Return copies of some rows, made in parallel parts if they are many and dense."""
        if not isinstance(self.X, np.ndarray) or len(rows) * self.shape[1] < LARGE:
            return MemoryRows(self.X[rows])
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        over_parts(
            rows,
            lambda part: np.take(
                self.X, rows[part], axis=0, out=out[part], mode="clip"
            ),
        )
        return MemoryRows(out)

    def kept(self, rows):
        if must_stay(self.X) and not self.is_sparse:
            return MemoryRows(RowView(self.X, rows=rows))
        return self.taken(rows)

    def some(self, size):
        return self.X[:: -(-self.shape[0] // size)]

    def covariance(self, weights) -> np.ndarray:
        """Return the covariance of the columns, given weights that sum to 1."""
        mean = weights @ self.X
        if self.is_sparse:
            return self.squares(weights) - np.outer(mean, mean)
        return MemoryRows(np.asarray(self.X, dtype=np.float64) - mean).squares(weights)

    def squares(self, c) -> np.ndarray:
        """Return Σ c_i x_i x_iᵀ, given c ≥ 0."""
        if not self.is_sparse:
            scaled = self.X * np.sqrt(c)[:, None]
            # A product of a matrix with itself takes half the time
            return scaled.T @ scaled
        (n, d) = self.shape
        once = np.zeros((self.shape[1], self.shape[1]))
        kernel.gram_of_features(*unsigned_parts(self.X), c, 0, n, 0, d, once)
        once.reshape(-1)[:: d + 1] *= 0.5
        return once + once.T

    def products_of_rows(self) -> np.ndarray:
        """Return x_i·x_j for all pairs of rows."""
        if self.is_sparse:
            return (self.X @ self.X.T).toarray()
        return np.asarray(self.X, dtype=np.float64) @ self.X.T


def scaled_columns(X: Matrix, factors: np.ndarray) -> Matrix:
    """Return dense or CSR rows with a factor for each column."""
    if not sparse.issparse(X):
        return X * factors
    return type(X)((X.data * factors[X.indices], X.indices, X.indptr), shape=X.shape)


def chosen_columns(rows: Matrix, features) -> Matrix:
    """Return copies of some columns, in the layout of the rows."""
    chosen = rows[:, features]
    if sparse.issparse(chosen):
        return chosen
    return np.ascontiguousarray(chosen)


def compiled_rows(X: Matrix, signs: np.ndarray, importance: np.ndarray) -> CompiledRows:
    """Return rows in the layout that kernels read; nothing is copied."""
    if sparse.issparse(X):
        entries = unsigned_parts(X)
    else:
        entries = (X.reshape(-1), None, None)
    data, indices, indptr = map(_read_only, entries)
    return CompiledRows(
        data, indices, indptr, X.shape[1], _read_only(signs), _read_only(importance)
    )


def _read_only(array: np.ndarray | None) -> Any:
    """Return a read-only view of an array (None for None): kernels are compiled separately for writable arrays."""
    if array is None:
        return None
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def unsigned_parts(X: Matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return entries, indices and row starts of a CSR matrix as kernels are compiled for them: read-only."""
    if X.indices.dtype == np.int32:
        unsigned = np.uint32
    else:
        unsigned = np.uint64
    parts = X.data.view(), X.indices.view(unsigned), X.indptr.view(unsigned)
    for part in parts:
        part.flags.writeable = False
    return parts
