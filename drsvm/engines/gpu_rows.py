"""Rows on a graphics card, dense or sparse: products, sums and Gram matrices. Sums are in double precision."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from drsvm.engines.gpu_device import add_square, cupy, here, on_device
from drsvm.engines.gpu_kernels import THREADS, blocks_for, kernel

GRAM_BYTES = 1 << 29
"""Size of the scaled copies of rows that are multiplied."""

SUM_BLOCKS = 1024
"""Number of parts of the rows whose sums are formed separately."""


class GpuRows(ABC):
    """Rows on the card; vectors with an entry per row are arrays of CuPy, all others of numpy."""

    shape: tuple[int, int]
    dtype: np.dtype
    stored: int
    is_sparse: bool

    @abstractmethod
    def dot(self, v, shift: float = 0.0) -> Any:
        """Return x_i·v + shift for every row."""

    @abstractmethod
    def sums(self, c) -> np.ndarray:
        """Return Σ_i c_i x_i for one, two or three rows of coefficients."""

    @abstractmethod
    def gram(self, h, *, rough: bool = False) -> np.ndarray:
        """Return Σ_i h_i x_i x_iᵀ in the upper triangle; a rough one is correct to about three digits."""

    @abstractmethod
    def norms(self, p: float, factors=None) -> Any:
        """Return the p-norm of every row, times factors of the features."""

    @abstractmethod
    def sums_of_squares(self, c) -> np.ndarray:
        """Return Σ_i c_i x_ij² for every feature."""

    @abstractmethod
    def taken(self, rows) -> "GpuRows":
        """Return some rows."""

    @abstractmethod
    def shifted(self, offset) -> "GpuRows":
        """Return x − offset for every row."""

    @abstractmethod
    def to_host(self) -> Any:
        """Return the rows as an array of numpy or scipy."""


class DenseGpuRows(GpuRows):
    """A C-ordered array on the card."""

    is_sparse = False

    def __init__(self, X):
        self.X = X
        self.shape, self.dtype, self.stored = X.shape, X.dtype, X.size

    def blocks(self, row_bytes: int, most_bytes: int) -> Iterator[tuple[slice, Any]]:
        """Yield parts of the rows, so that `row_bytes` for each of them are at most `most_bytes`."""
        n = self.shape[0]
        size = max(1, min(n, most_bytes // row_bytes))
        for first in range(0, n, size):
            part = slice(first, min(first + size, n))
            yield part, self.X[part]

    def whole(self) -> Iterator[tuple[slice, Any]]:
        """Yield the rows in parts that are as large as possible."""
        yield slice(0, self.shape[0]), self.X

    def dot(self, v, shift=0.0):
        n, d = self.shape
        out, v = cupy().empty(n), on_device(v)
        for part, rows in self.whole():
            arguments = rows, len(rows), np.int32(d), v, float(shift), out[part]
            kernel("dense_dot", self.dtype)((blocks_for(32 * len(rows)),), (THREADS,), arguments)
        return out

    def sums(self, c):
        (_, d), k = self.shape, len(c)
        total = np.zeros((k, d))
        columns = min(d, THREADS)
        for part, rows in self.whole():
            n = len(rows)
            per_block = max(64, -(-n // SUM_BLOCKS))
            n_blocks = -(-n // per_block)
            partial = cupy().empty((n_blocks, k, d))
            coefficients = c[:, part]
            grid = n_blocks, -(-d // columns)
            stride = coefficients.strides[0] // 8
            arguments = rows, n, np.int32(d), np.int32(columns), coefficients, stride, per_block, partial
            kernel("dense_sums", self.dtype, k)(grid, (THREADS,), arguments, shared_mem=8 * THREADS)
            total += here(partial.sum(axis=0))
        return total

    def gram(self, h, *, rough=False):
        d = self.shape[1]
        matrix = cupy().zeros((d, d))
        kind = np.float32 if rough else np.float64
        for part, rows in self.blocks(np.dtype(kind).itemsize * d, GRAM_BYTES):
            scaled = cupy().empty(rows.shape, dtype=kind)
            arguments = rows, len(rows), np.int32(d), h[part], scaled
            kernel("scale_rows", self.dtype, scaled.dtype)((blocks_for(rows.size),), (THREADS,), arguments)
            add_square(scaled, matrix)
        return here(matrix)

    def norms(self, p, factors=None):
        out = cupy().empty(self.shape[0])
        for part, rows in self.whole():
            _row_norms(rows, None, None, rows.shape, self.dtype, p, factors, out[part])
        return out

    def sums_of_squares(self, c):
        total = np.zeros(self.shape[1])
        for part, rows in self.blocks(8 * self.shape[1], GRAM_BYTES):
            wide = rows.astype(np.float64)
            total += here(c[part] @ (wide * wide))
        return total

    def taken(self, rows):
        return DenseGpuRows(self.X[rows])

    def shifted(self, offset):
        return DenseGpuRows(self.X - on_device(offset, self.dtype))

    def to_host(self):
        return here(self.X)


def _row_norms(data, indices, indptr, shape, dtype, p: float, factors, out) -> None:
    n, d = shape
    code = 0 if p == np.inf else int(p)
    factors = 0 if factors is None else on_device(factors)
    pointers = 0 if indices is None else indices, 0 if indptr is None else indptr
    arguments = data, *pointers, n, np.int32(d), factors, np.int32(code), out
    kernel("row_norms", dtype)((blocks_for(32 * n),), (THREADS,), arguments)


def _entries(X) -> tuple[Any, Any, Any]:
    """Return entries, indices and starts of a compressed matrix, with the types that the kernels take."""
    return X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64, copy=False)


class SparseGpuRows(GpuRows):
    """A CSR matrix on the card, with a copy of it by columns for sums, in order that these need no atomic additions."""

    is_sparse = True

    def __init__(self, X):
        self.X = X
        self.shape, self.dtype, self.stored = X.shape, X.dtype, X.nnz
        self.entries = _entries(X)
        self.by_column: Any = None

    def _columns(self):
        if self.by_column is None:
            self.by_column = _entries(self.X.tocsc())
        return self.by_column

    def dot(self, v, shift=0.0):
        n = self.shape[0]
        lanes = 8 if self.stored <= 64 * n else 32
        out = cupy().empty(n)
        arguments = *self.entries, n, on_device(v), float(shift), out
        kernel("sparse_dot", self.dtype, lanes)((blocks_for(lanes * n),), (THREADS,), arguments)
        return out

    def sums(self, c):
        d, k = self.shape[1], len(c)
        out = cupy().empty((k, d))
        threads = THREADS if self.stored > 256 * d else 32
        arguments = *self._columns(), np.int32(d), c, c.strides[0] // 8, out
        kernel("sparse_sums", self.dtype, k)((min(d, 1 << 16),), (threads,), arguments)
        return here(out)

    def gram(self, h, *, rough=False):
        n, d = self.shape
        matrix = cupy().zeros((d, d))
        arguments = *self.entries, n, h, d, matrix
        kernel("sparse_gram", self.dtype)((blocks_for(32 * n),), (THREADS,), arguments)
        return here(matrix)

    def norms(self, p, factors=None):
        out = cupy().empty(self.shape[0])
        _row_norms(*self.entries, self.shape, self.dtype, p, factors, out)
        return out

    def sums_of_squares(self, c):
        squared = self.X.astype(np.float64)
        squared.data **= 2
        return SparseGpuRows(squared).sums(c[None])[0]

    def taken(self, rows):
        return SparseGpuRows(self.X[rows])

    def shifted(self, offset):
        raise TypeError("Sparse rows on a graphics card are not shifted.")

    def to_host(self):
        return self.X.get()
