# pyright: reportMissingImports=false
"""Rows on a GPU: dense and sparse matrices, and functions of a kernel.

Rows in single precision are multiplied and added up in double precision.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from drsvm.engines.gpu.cuda_kernels import (
    COLUMNS,
    SHORT_ROWS,
    THREADS,
    WARP,
    kernel,
    launch,
)
from drsvm.engines.gpu.device import (
    BFLOAT16,
    GpuError,
    add_square,
    cupy,
    free_memory,
    on_device,
    on_host,
)
from drsvm.engines.gpu.gpu_engine import GpuEngine
from drsvm.problem.backends import to_numpy
from drsvm.problem.kernel_rows import FunctionRows, KernelRows
from drsvm.problem.memory_rows import HostRows, MemoryRows, dense
from drsvm.problem.risk import by_row
from drsvm.problem.rows import Rows
from drsvm.problem.validation import check_flip_cost, check_row_radius
from drsvm.utils.annotations import Costs, Matrix, Vector
from drsvm.utils.compensated_sums import ULP
from drsvm.utils.lazy import cached_property
from drsvm.utils.parallel import slices

GRAM_BYTES = 1 << 29  # size of the scaled copies of rows that are multiplied
# Number of parts of dense rows, for each of which one block of threads forms sums. They
# have at least a number of rows.
SUM_BLOCKS = 1024
LEAST_ROWS = 256
# Number of entries of a column of sparse rows that one warp adds up. Most columns of
# text have few: with a block of threads for each, sums took 0.39 ms in place of 0.28.
ENTRIES_OF_SUM = 2048
# A Gram matrix of sparse rows is formed in parts of some of its rows, one for each
# block of threads, in the memory that the threads of a block share. These are the
# number of threads, the shared memory that a part should take, what it may take (that
# of one row, if there are many features), and the number of parts per multiprocessor.
GRAM_THREADS = 512
TILE_BYTES = 64 << 10
MAX_SHARED = 220 << 10
GRAM_PARTS = 16
# Average number of entries of a row up to which few threads multiply it: a product with
# 10,000,000 × 100 dense rows takes 2.3 ms in place of 2.8.
FEW_ENTRIES = 128
# Weights are far from the limits of numbers if their squares have a sum between these.
SQUARES = 1e-100, 1e100
# Tiles in which values of a kernel are computed and added: 1 GB. A thread adds up one
# in 32 columns of a row.
TILE_ROWS = 1 << 14
TILE_COLUMNS = 1 << 13


def checked_costs(flip_cost: Costs, n: int, kept: Vector | None) -> Costs:
    """Return the cost of a flip, or those of the kept rows, on the GPU."""
    if np.ndim(flip_cost) == 0:
        return check_flip_cost(float(flip_cost))
    costs = on_device(flip_cost)
    if costs.shape != (n,) or bool((~(costs >= 0)).any()):
        raise ValueError(
            f"flip_cost must have one entry ≥ 0 per row of X ({n}), got shape "
            f"{costs.shape}."
        )
    if kept is not None:
        costs = costs[kept]
    if bool((costs == costs[0]).all()):
        return float(costs[0])
    return costs


class CupyRows(Rows):
    """Rows whose vectors, with an entry per row, are arrays of CuPy."""

    place = "on a graphics card"

    def vector(self, values):
        return on_device(values)

    def checked_weights(self, sample_weight, n):
        if sample_weight is None:
            return cupy().full(n, 1.0 / n)
        if isinstance(sample_weight, cupy().ndarray) and sample_weight.shape == (n,):
            weights = on_device(sample_weight)
            # NaN is in no range.
            least, most = SQUARES
            are_sizable = least < float(weights @ weights) < most
            negative = (weights < 0.0).astype(np.float64)
            if are_sizable and float(negative @ negative) == 0.0:
                return weights / float(weights.sum())
        # What is wrong, or at the limits of numbers, is treated in main memory.
        return super().checked_weights(on_host(sample_weight), n)

    def with_flip_costs(self, flip_cost, n_given, kept):
        return {"flip_cost": checked_costs(flip_cost, n_given, kept)}

    def with_row_radius(self, row_radius, n_given, kept):
        if np.ndim(row_radius) > 0:
            row_radius = to_numpy(row_radius)
        radii = check_row_radius(row_radius, n_given, on_host(kept))
        if by_row(radii):
            radii = on_device(radii)
        return {"row_radius": radii}

    def checked_labels(self, y, n):
        # Whether each row is of a class is mostly known there already.
        if isinstance(y, cupy().ndarray) and y.dtype == bool and y.shape == (n,):
            signs = cupy().where(y, 1.0, -1.0)
            if abs(float(signs.sum())) < n:
                return np.array([False, True]), signs
        return super().checked_labels(on_host(y), n)

    @abstractmethod
    def host_rows(self) -> HostRows:
        """Return the rows in this process's memory."""


class GpuRows(CupyRows):
    """The rows of a matrix on the GPU."""

    def __init__(self, X: Matrix):
        self.X = X
        self.shape = X.shape
        self.dtype = X.dtype
        if self.is_sparse:
            self.stored = X.nnz
        else:
            self.stored = X.size
        # A sum has as many terms in a row as the rows of a part, then the parts.
        self.rounding = ULP * (SUM_BLOCKS + self.shape[0] / SUM_BLOCKS)

    def taken(self, rows) -> "GpuRows":
        return type(self)(self.X[rows])

    @abstractmethod
    def device_sums(self, c: Matrix) -> Matrix:
        """Return Σ_i c_i x_i for one, two or three rows of coefficients, on the GPU."""

    def weighted_sum(self, c):
        return to_numpy(self.device_sums(c[None])[0])

    @abstractmethod
    def gram_and_sums(
        self, h: Vector, c: Matrix, *, rough: bool = False
    ) -> tuple[Matrix, Matrix]:
        """Return Σ_i h_i x_i x_iᵀ and, for three rows of coefficients, Σ_i c_i x_i.

        Both are on the GPU, the matrix in the upper triangle. A rough one is correct to
        about three digits.
        """

    @property
    def lanes(self) -> int:
        """Return how many threads form the product of a row with a vector.

        In short rows, most of a warp would be idle.
        """
        if self.stored <= FEW_ENTRIES * self.shape[0]:
            return SHORT_ROWS
        return WARP

    def host_array(self) -> Matrix:
        """Return the rows as an array of numpy or scipy."""
        return to_numpy(self.X)

    def some(self, size):
        step = max(1, self.shape[0] // size)
        return self.taken(slice(0, step * size, step)).host_array()

    def host_rows(self):
        return MemoryRows(self.host_array())

    def engine(self, problem, n_threads):
        return GpuEngine(problem)


class DenseGpuRows(GpuRows):
    """A C-ordered array on the GPU."""

    is_sparse = False

    def blocks(self, row_bytes: int = 0) -> Iterator[tuple[slice, Matrix]]:
        """Yield parts of the rows, as large as possible.

        If a copy is made of them, `row_bytes` is its size per row.
        """
        n = self.shape[0]
        size = n
        if row_bytes:
            size = max(1, GRAM_BYTES // row_bytes)
        for part in slices(n, size):
            yield part, self.X[part]

    def dot(self, v, shift=0.0):
        n, d = self.shape
        out = cupy().empty(n)
        v = on_device(v)
        lanes = self.lanes
        dot = kernel("dense_dot", self.dtype, lanes)
        for part, rows in self.blocks():
            n_rows = len(rows)
            arguments = rows, n_rows, np.int32(d), v, float(shift), out[part]
            launch(dot, lanes * n_rows, *arguments)
        return out

    def device_sums(self, c):
        total = cupy().zeros((len(c), self.shape[1]))
        sums = kernel("dense_sums", self.dtype, len(c))
        for part, rows in self.blocks():
            some = c[:, part]
            total += self._add_rows(sums, len(c), rows, some, some.strides[0] // 8)
        return total

    def _add_rows(self, called, n_sums: int, rows: Matrix, *arguments) -> Matrix:
        """Call a kernel that adds up terms of rows; return the sums for all columns."""
        n, d = rows.shape
        # The threads of a block are a table: each has some of the columns of X and, if
        # there are fewer columns than that, one of several rows.
        columns = min(math.ceil(d / COLUMNS), THREADS)
        per_block = max(LEAST_ROWS, math.ceil(n / SUM_BLOCKS))
        grid = math.ceil(n / per_block), math.ceil(d / (COLUMNS * columns))
        partial = cupy().empty((grid[0], n_sums, d))
        first = rows, n, np.int32(d), np.int32(columns), per_block, partial
        called(grid, (THREADS,), (*first, *arguments), shared_mem=8 * THREADS)
        return partial.sum(axis=0)

    def gram_and_sums(self, h, c, *, rough=False):
        d = self.shape[1]
        matrix = cupy().zeros((d, d))
        total = cupy().zeros((3, d))
        roots = cupy().sqrt(h)
        kind = np.dtype(BFLOAT16 if rough else np.float64)
        scale = kernel("dense_scale", self.dtype, kind)
        for part, rows in self.blocks(kind.itemsize * d):
            scaled = cupy().empty(rows.shape, dtype=kind)
            some = c[:, part]
            arguments = some, some.strides[0] // 8, roots[part], scaled
            total += self._add_rows(scale, 3, rows, *arguments)
            add_square(scaled, matrix)
        return matrix, total

    def norms(self, p, factors=None):
        out = cupy().empty(self.shape[0])
        for part, rows in self.blocks():
            # 0 stands for the indices and starts that dense rows do not have.
            _row_norms((rows, 0, 0), rows.shape, self.dtype, p, factors, out[part])
        return out

    def sum_of_squares(self, c):
        return self._sums_of_squares(c, np.zeros(self.shape[1]))[1]

    def moments(self, weights):
        # Relative to one of the rows, squares of columns far from 0 lose no digits.
        origin = self.some(1)[0].astype(np.float64)
        means, squares = self._sums_of_squares(weights, origin)
        return origin + means, np.sqrt(np.maximum(squares - means**2, 0.0))

    def _sums_of_squares(self, c: Vector, origin: np.ndarray) -> np.ndarray:
        """Return Σ c_i x_i and Σ c_i x_i², for entries relative to an origin."""
        total = cupy().zeros((2, self.shape[1]))
        squares = kernel("dense_squares", self.dtype)
        origin = on_device(origin)
        for part, rows in self.blocks():
            total += self._add_rows(squares, 2, rows, c[part], origin)
        return to_numpy(total)

    def on_features(self, features):
        chosen = self.X[:, on_device(features, np.int64)]
        return DenseGpuRows(cupy().ascontiguousarray(chosen))

    def shifted(self, offset):
        return DenseGpuRows(self.X - on_device(offset, self.dtype))


def _row_norms(entries: tuple, shape, dtype, p: float, factors, out) -> None:
    """Write the p-norms of rows; their entries are multiplied by factors, if any.

    `entries` are the arrays of a CSR matrix; dense rows have no indices and starts.
    """
    n, d = shape
    # 0 stands for the norm inf, and for no factors.
    code = 0
    if p != np.inf:
        code = int(p)
    pointer = 0
    if factors is not None:
        pointer = on_device(factors)
    norms = kernel("row_norms", dtype)
    launch(norms, WARP * n, *entries, n, np.int32(d), pointer, np.int32(code), out)


def _entries(X: Matrix) -> tuple[Vector, Vector, Vector]:
    """Return the arrays of a CSR or CSC matrix, with the types that kernels take."""
    indices = X.indices.astype(np.int32, copy=False)
    return X.data, indices, X.indptr.astype(np.int64, copy=False)


class ColumnParts(NamedTuple):
    """Parts of the entries of a CSC matrix, one for each block of threads.

    The entries begin … end − 1 belong to the columns first … last − 1.
    """

    first: Vector
    last: Vector
    begin: Vector
    end: Vector

    @classmethod
    def of(
        cls, starts: np.ndarray, most_entries: int, most_columns: int
    ) -> "ColumnParts":
        """Return parts with at most a given number of entries, and of columns.

        `starts` are where the columns begin. Groups of `most_columns` columns are cut
        into pieces of `most_entries` entries.
        """
        n_columns = len(starts) - 1
        columns = np.append(np.arange(0, n_columns, most_columns), n_columns)
        starts = starts[columns]
        # The number of pieces of every group of columns, rounded up
        pieces = -(-np.diff(starts) // most_entries)
        # For every part, its group of columns, and its number in the group
        group = np.repeat(np.arange(len(pieces)), pieces)
        earlier = np.cumsum(pieces) - pieces
        number = np.arange(len(group)) - earlier[group]
        begin = starts[group] + most_entries * number
        end = np.minimum(begin + most_entries, starts[group + 1])
        return cls(
            on_device(columns[group], np.int32),
            on_device(columns[group + 1], np.int32),
            on_device(begin, np.int64),
            on_device(end, np.int64),
        )


class SparseGpuRows(GpuRows):
    """A CSR matrix on the GPU, and a copy by columns for sums and Gram matrices."""

    is_sparse = True

    @cached_property
    def entries(self) -> tuple[Vector, Vector, Vector]:
        """The entries by rows, the column of each, and the start of each row."""
        return _entries(self.X)

    @cached_property
    def columns(self) -> tuple[Vector, Vector, Vector]:
        """The entries by columns, the row of each, and the start of each column."""
        return _entries(self.X.tocsc())

    @cached_property
    def places(self) -> Vector:
        """For every entry of the copy by columns, its place among those of its row."""
        _, rows, _ = self.columns
        _, _, starts = self.entries
        # The same matrix, with the number of each entry as its value, becomes one by
        # columns: so the conversion sorts the numbers. CuPy has no sparse matrices of
        # integers; floats are exact up to 2⁵³.
        numbers = cupy().arange(float(self.stored))
        numbered = type(self.X)((numbers, self.X.indices, self.X.indptr), self.shape)
        return (numbered.tocsc().data - starts[rows]).astype(np.int32)

    @cached_property
    def parts_of_sums(self) -> ColumnParts:
        return ColumnParts.of(to_numpy(self.columns[2]), ENTRIES_OF_SUM, 1)

    @cached_property
    def rounded(self) -> "SparseGpuRows":
        """The same rows in single precision, for products that may be inexact.

        84,700 text-like rows take 1.57 s in place of 1.68.
        """
        if self.dtype == np.float32:
            return self
        rows = SparseGpuRows(self.X.astype(np.float32))
        values, indices, starts = self.columns
        rows.columns = values.astype(np.float32), indices, starts
        rows.parts_of_sums = self.parts_of_sums
        return rows

    @cached_property
    def parts_of_gram(self) -> ColumnParts:
        """Parts for a Gram matrix, several for each multiprocessor.

        The rows of the Gram matrix that belong to a part fit into shared memory.
        """
        n_parts = GRAM_PARTS * cupy().cuda.Device().attributes["MultiProcessorCount"]
        d = self.shape[1]
        most = max(ENTRIES_OF_SUM, self.stored // n_parts)
        # As many columns as have that many entries on average, or as there is room for
        columns = max(1, min(TILE_BYTES // (8 * d), most * d // self.stored))
        return ColumnParts.of(to_numpy(self.columns[2]), most, columns)

    def dot(self, v, shift=0.0):
        n = self.shape[0]
        lanes = self.lanes
        out = cupy().empty(n)
        dot = kernel("sparse_dot", self.dtype, lanes)
        launch(dot, lanes * n, *self.entries, n, on_device(v), float(shift), out)
        return out

    def device_sums(self, c):
        return self._sums_of(self.columns[0], c)

    def _sums_of(self, entries: Vector, c: Matrix) -> Matrix:
        """Return the sums of rows with other entries, which are given by columns."""
        d = self.shape[1]
        k = len(c)
        out = cupy().zeros((k, d))
        parts = self.parts_of_sums
        n_parts = len(parts.first)
        arguments = (
            entries,
            self.columns[1],
            n_parts,
            parts.first,
            parts.begin,
            parts.end,
            d,
            c,
            c.strides[0] // 8,
            out,
        )
        sums = kernel("sparse_sums", entries.dtype, k)
        sums((math.ceil(WARP * n_parts / THREADS),), (THREADS,), arguments)
        return out

    def gram_and_sums(self, h, c, *, rough=False):
        return self._gram(h), self.device_sums(c)

    def _gram(self, h: Vector) -> Matrix:
        """Return Σ_i h_i x_i x_iᵀ in the upper triangle."""
        d = self.shape[1]
        matrix = cupy().zeros((d, d))
        parts = self.parts_of_gram
        # Bytes for as many rows of the matrix as a part has at most
        room = 8 * d * int((parts.last - parts.first).max())
        if room > MAX_SHARED:
            raise GpuError(
                f"{d} features are too many for a Gram matrix of sparse rows "
                "on a GPU: use engine='cpu'."
            )
        form = kernel("sparse_gram", self.dtype)
        form.max_dynamic_shared_size_bytes = MAX_SHARED
        arguments = *self.entries, *self.columns, self.places, *parts, h, d, matrix
        form((len(parts.first),), (GRAM_THREADS,), arguments, shared_mem=room)
        return matrix

    def norms(self, p, factors=None):
        out = cupy().empty(self.shape[0])
        _row_norms(self.entries, self.shape, self.dtype, p, factors, out)
        return out

    def sum_of_squares(self, c):
        squares = self.columns[0].astype(np.float64) ** 2
        return to_numpy(self._sums_of(squares, c[None])[0])

    def on_features(self, features):
        return SparseGpuRows(self.X[:, on_device(features, np.int64)].tocsr())

    def shifted(self, offset):
        raise TypeError("Sparse rows on a graphics card are not shifted.")


class GpuKernelRows(FunctionRows, CupyRows):
    """Functions φ(x_i) of a kernel; the points x_i and its values are on the GPU."""

    place = "functions of a kernel, on a graphics card"

    def between(self, some, others):
        return self.function.values(some, others)

    def at(self, points, c):
        points = on_device(dense(points))
        c = self.vector(c)
        used = cupy().flatnonzero(c)
        c = c[used]
        landmarks = self.points[used]
        out = cupy().zeros(len(points))
        # For kernels exp(e), a product of two matrices is that of all exponents e.
        factors = self.function.exponents(points, landmarks)
        tiles = product(slices(len(points), TILE_ROWS), slices(len(c), TILE_COLUMNS))
        for rows, columns in tiles:
            some = c[columns]
            if factors is None:
                values = self.between(points[rows], landmarks[columns])
                out[rows] += DenseGpuRows(values).dot(some)
                continue
            # exp(min(e, 0)) is taken while the exponents e are added up, which saves
            # a pass over memory.
            left, right = factors
            exponents = left[rows] @ right[columns].T
            n, width = exponents.shape
            arguments = exponents, n, np.int32(width), some, out[rows]
            launch(kernel("exponential_dot"), WARP * n, *arguments)
        return out

    def _stored_products(self, columns):
        rows = DenseGpuRows(self.values)
        return [rows.dot(c) for c in columns]

    def with_features(self, X):
        return DenseGpuRows(cupy().ascontiguousarray(X))

    def room(self):
        return float(free_memory())

    def host_rows(self):
        points = to_numpy(self.points)
        return KernelRows(
            points, self.function, on_host(self.centre), on_host(self._values)
        )
