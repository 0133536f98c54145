"""How threads form the Gram matrix Σ h_i x_i x_iᵀ, whichever way is fastest for the rows at hand."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from drsvm.engines.rows import DenseRows, Rows, SparseRows
from drsvm.kernels import rows as kernel
from drsvm.kernels.passes import Share

FEW_FEATURES, MANY_ROWS = 64, 5000
"""Number of features up to which a loop over tiles forms a Gram matrix faster than BLAS; with fewer rows than this, it
is not worth the second that it takes to compile."""

OWN_BYTES = 1 << 20
"""Size of a matrix, or of a part of one, that stays in a core's cache while sparse rows are added to it."""

ROWS_AT_A_TIME = 1 << 14
"""Number of sparse rows that are added to all parts of a matrix before the next ones are read."""

BLOCK_BYTES, LEAST_ROWS = 1 << 22, 512
"""Size of the scaled copies of rows that BLAS multiplies, and their smallest number: each adds to a d × d matrix."""

InThreads = Callable[[Callable[[int], Any]], list[Any]]
"""Calls work(k) for every thread k, each in its own thread, and returns the results in this order."""


class Matrices(ABC):
    """What the threads need to form a Gram matrix; all memory is allocated once."""

    def begin(self, k: int) -> None:
        """Prepare for a pass of thread k over its rows."""

    @abstractmethod
    def filled(self, k: int, rows: slice) -> tuple[Any, Any]:
        """Return what thread k's pass over some rows fills: a matrix or None, and an array of curvatures or None."""

    def add(self, k: int, rows: slice, share: Share) -> None:
        """Do what thread k can do after its pass over some rows."""

    @abstractmethod
    def result(self, in_threads: InThreads) -> np.ndarray:
        """Return the matrix after all passes; it may be overwritten by the next."""


class OwnMatrices(Matrices):
    """Every thread adds to its own matrix during the pass."""

    def __init__(self, n_features: int, n_threads: int):
        self.parts = np.empty((n_threads, n_features, n_features))

    def begin(self, k):
        self.parts[k] = 0.0

    def filled(self, k, rows) -> tuple[Any, Any]:
        return self.parts[k], None

    def result(self, in_threads):
        n_threads, d, _ = self.parts.shape
        if n_threads == 1:
            return self.parts[0]
        total = np.empty((d, d))
        cuts = np.linspace(0, d, n_threads + 1).astype(int)

        def add(k):
            mine = slice(cuts[k], cuts[k + 1])
            np.sum(self.parts[:, mine], axis=0, out=total[mine])

        _ = [add(k) for k in range(n_threads)] if total.nbytes < OWN_BYTES else in_threads(add)
        return total


class BlasMatrices(OwnMatrices):
    """Every thread multiplies scaled blocks of its dense rows; numpy recognises the symmetric product."""

    def __init__(self, n_features: int, n_threads: int, curvatures: np.ndarray):
        super().__init__(n_features, n_threads)
        self.products = np.empty_like(self.parts)
        self.curvatures = curvatures
        size = min(-(-len(curvatures) // n_threads), max(LEAST_ROWS, BLOCK_BYTES // (8 * n_features)))
        self.scaled = np.empty((n_threads, size, n_features))

    def filled(self, k, rows):
        return None, self.curvatures[rows]

    def add(self, k, rows, share):
        h = self.curvatures[rows]
        size = self.scaled.shape[1]
        for first in range(0, len(h), size):
            part = slice(first, min(first + size, len(h)))
            scaled = self.scaled[k, : part.stop - part.start]
            kernel.scale_rows(share.data[part], h[part], scaled)
            np.matmul(scaled.T, scaled, out=self.products[k])
            self.parts[k] += self.products[k]


class SharedMatrix(Matrices):
    """Every thread forms the parts of one matrix that belong to its features, from all sparse rows.

    A part stays in the cache of a core, where a whole matrix would not; besides, those of several threads would have to
    be added up.
    """

    def __init__(self, rows: SparseRows, n_threads: int, curvatures: np.ndarray):
        self.rows, self.curvatures = rows, curvatures
        n, d = rows.X.shape
        self.matrix = np.empty((d, d))
        counts = np.zeros(d, dtype=np.int64)
        kernel.count_pairs(*rows.parts[1:], 0, n, counts)
        self.n_parts = n_threads * math.ceil(4 * d * d / (OWN_BYTES * n_threads))  # of the upper triangle
        inner = np.searchsorted(np.cumsum(counts), np.linspace(0, counts.sum(), self.n_parts + 1)[1:-1])
        self.cuts = [0, *inner.tolist(), d]
        self.n_threads = n_threads

    def filled(self, k, rows):
        return None, self.curvatures[rows]

    def result(self, in_threads):
        n = len(self.curvatures)
        at_a_time = ROWS_AT_A_TIME if self.n_parts > self.n_threads else n

        def form(k):
            mine = list(pairwise(self.cuts))[k :: self.n_threads]
            for first, last in mine:
                self.matrix[first:last] = 0.0
            for start in range(0, n, at_a_time):
                rows = start, min(start + at_a_time, n)
                for features in mine:
                    kernel.gram_of_features(*self.rows.parts, self.curvatures, *rows, *features, self.matrix)

        in_threads(form)
        return self.matrix


class NoMatrix(Matrices):
    """The wide system needs the curvatures of the rows only."""

    def __init__(self, curvatures: np.ndarray):
        self.curvatures = curvatures

    def filled(self, k, rows):
        return None, self.curvatures[rows]

    def result(self, in_threads):
        return self.curvatures.copy()


def matrices_for(rows: Rows, n_threads: int, *, wide: bool) -> Matrices:
    """Return the fastest way for the rows."""
    n, d = rows.X.shape
    dense = isinstance(rows, DenseRows)
    own = d <= FEW_FEATURES and n >= MANY_ROWS if dense else 8 * d * d <= OWN_BYTES
    if own and not wide:
        return OwnMatrices(d, n_threads)
    curvatures = np.empty(n)
    if wide:
        return NoMatrix(curvatures)
    if isinstance(rows, SparseRows):
        return SharedMatrix(rows, n_threads, curvatures)
    return BlasMatrices(d, n_threads, curvatures)
