"""How threads form the Gram matrix Σ h_i x_i x_iᵀ, or that of few rows.

The fastest way depends on the kind of the rows and on the number of features.
"""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy import sparse

from drsvm.compiled import products
from drsvm.compiled.interior_point_passes import Share
from drsvm.problem.memory_rows import MemoryRows, must_stay, unsigned_parts
from drsvm.utils.annotations import Matrix
from drsvm.utils.parallel import over, slices

# Share of nonzeros above which BLAS on dense blocks is faster than the sparse loops
DENSE_FROM = 0.3
# A matrix with at most this many entries, zeros included, counts as dense: this needs
# no compilation
SMALL = 100_000
# Number of features up to which a loop over tiles forms a Gram matrix faster than BLAS;
# with fewer rows than this, it is not worth the second that it takes to compile.
FEW_FEATURES = 64
MANY_ROWS = 5000
# Size of a matrix, or of a part of one, that stays in a core's cache while rows are
# added to it
OWN_BYTES = 1 << 20
# Matrices of several groups of threads must together have at most one entry for this
# many stored entries of the rows
MATRIX_SHARE = 2
# Number of sparse rows that are added to all parts of a matrix before the next ones are
# read
ROWS_AT_A_TIME = 1 << 14
# Size of the scaled copies of rows that BLAS multiplies, and their least number
BLOCK_BYTES = 1 << 23
MIN_ROWS = 512
# Number of features that a thread adds to a Gram matrix of rows at a time
FEATURES_AT_A_TIME = 1024


def in_fastest_form(X: Matrix) -> MemoryRows:
    """Return the rows of a validated matrix.

    A sparse one that is small or has few zeros becomes dense. Large rows in a file stay
    as they are.
    """
    if sparse.issparse(X):
        size = X.shape[0] * X.shape[1]
        if size <= SMALL or (X.nnz > DENSE_FROM * size and not must_stay(X)):
            X = X.toarray()
    if isinstance(X, np.ndarray):
        X = X.view()
        # As in a problem: functions are compiled for read-only rows
        X.flags.writeable = False
    return MemoryRows(X)


# Calls work(k) for every share k of the rows, several at a time, and returns the
# results in this order.
InThreads = Callable[[Callable[[int], None]], list[None]]


class Matrices:
    """How the shares of the rows form a Gram matrix together.

    For every share k, a pass calls `begin` and then, for each range of its rows,
    `filled`, which names the arrays to fill, and `add`. After the pass, `result`
    returns the matrix. All memory is allocated once.

    This class forms no matrix: a system of the size of the rows needs their curvatures
    only.
    """

    def __init__(self, curvatures: Matrix):
        self.curvatures = curvatures

    def begin(self, k: int) -> None:
        """Prepare for a pass over share k."""

    def filled(
        self, k: int, rows: slice
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return what a pass over some rows of share k fills.

        A matrix and None, or None and an array for the curvatures of the rows.
        """
        return None, self.curvatures[rows]

    def add(self, k: int, rows: slice, share: Share) -> None:
        """Do what can be done after the pass over some rows of share k."""

    def result(self, in_threads: InThreads) -> np.ndarray:
        """Return the matrix after all passes, which the next may overwrite.

        Without a matrix, the curvatures.
        """
        return self.curvatures.copy()


class OwnMatrices(Matrices):
    """Every share of the rows has its own matrix, which is filled during the pass.

    The matrices are added in the end.
    """

    def __init__(self, n_features: int, n_shares: int, curvatures: Matrix = None):
        super().__init__(curvatures)
        self.parts = np.empty((n_shares, n_features, n_features))

    def begin(self, k):
        self.parts[k] = 0.0

    def filled(
        self, k: int, rows: slice
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        return self.parts[k], None

    def result(self, in_threads):
        first = self.parts[0]
        n_shares = len(self.parts)
        if n_shares == 1:
            return first
        # To add small matrices takes less time than to start threads.
        if first.nbytes < OWN_BYTES:
            return np.sum(self.parts, axis=0)
        total = np.empty_like(first)

        def add(k):
            """Add every n_shares-th row of all matrices, from row k on."""
            np.sum(self.parts[:, k::n_shares], axis=0, out=total[k::n_shares])

        in_threads(add)
        return total


class BlasMatrices(OwnMatrices):
    """Every share of dense rows has its own matrix, to which BLAS adds after the pass.

    The rows are multiplied by √h_i, so that the matrix is AᵀA for the scaled rows A.
    This is done block by block, as the scaled rows are a copy.
    """

    def __init__(self, n_features: int, n_shares: int, curvatures: np.ndarray):
        super().__init__(n_features, n_shares, curvatures)
        rows_of_share = math.ceil(len(curvatures) / n_shares)
        self.size = min(rows_of_share, max(MIN_ROWS, BLOCK_BYTES // (8 * n_features)))
        # Room for a scaled block and its product, one pair per thread: who needs one
        # takes it, and puts it back. `pop` and `append` are safe in several threads.
        self.spare: list[tuple[np.ndarray, np.ndarray]] = []

    def filled(self, k, rows):
        return None, self.curvatures[rows]

    def add(self, k, rows, share):
        h = self.curvatures[rows]
        total = self.parts[k]
        if self.spare:
            room, product = self.spare.pop()
        else:
            room = np.empty((self.size, len(total)))
            product = np.empty_like(total)
        for part in slices(len(h), self.size):
            scaled = room[: part.stop - part.start]
            roots = np.sqrt(h[part])
            np.multiply(share.data[part], roots[:, None], out=scaled)
            # numpy recognises the product of a matrix with itself, and does half of the
            # work.
            np.matmul(scaled.T, scaled, out=product)
            total += product
        self.spare.append((room, product))


class SharedMatrix(Matrices):
    """Threads form parts of one matrix, each for some features, from many sparse rows.

    A part, which is some rows of the matrix, stays in the cache of a core, where a
    whole matrix would not. If all threads worked on one matrix, each of them would read
    all rows; so groups of threads have a matrix and a range of the rows each, and the
    matrices are added in the end.
    """

    def __init__(self, X, n_threads: int, n_shares: int, curvatures: np.ndarray):
        super().__init__(curvatures)
        self.entries = unsigned_parts(X)
        self.n_shares = n_shares
        n, d = X.shape
        # With √n groups of √n threads, neither matrices nor reading cost much.
        room = X.nnz // (MATRIX_SHARE * d * d)
        n_groups = max(1, min(math.isqrt(n_threads), room))
        self.in_group = max(1, n_threads // n_groups)
        self.matrices = np.empty((n_groups, d, d))
        # The ranges of rows have about the same number of entries.
        ends = np.linspace(0, X.nnz, n_groups + 1)
        self.row_cuts = np.searchsorted(X.indptr, ends).tolist()
        # The upper triangle of a matrix must fit into the cache part by part, and each
        # thread of a group has the same number of parts.
        n_parts = self.in_group * math.ceil(4 * d * d / (OWN_BYTES * self.in_group))
        self.parts = _features_of_equal_work(X, n_parts)
        # A thread with several parts reads some rows for all of them, then the next.
        self.at_a_time = n
        if n_parts > self.in_group:
            self.at_a_time = ROWS_AT_A_TIME

    def result(self, in_threads):
        in_threads(self._form)
        if len(self.matrices) > 1:
            in_threads(self._add)
        return self.matrices[0]

    def _form(self, k: int) -> None:
        """Form the parts of thread k: those at its place in its group."""
        group, place = divmod(k, self.in_group)
        # There may be more shares of the rows than threads in groups.
        if group >= len(self.matrices):
            return
        matrix = self.matrices[group]
        parts = self.parts[place :: self.in_group]
        for begin, after in parts:
            matrix[begin:after] = 0.0
        last = self.row_cuts[group + 1]
        for start in range(self.row_cuts[group], last, self.at_a_time):
            rows = start, min(start + self.at_a_time, last)
            for features in parts:
                products.gram_of_features(
                    *self.entries, self.curvatures, *rows, *features, matrix
                )

    def _add(self, k: int) -> None:
        """Add some rows of the other groups' matrices to those of the first."""
        features = slice(k, None, self.n_shares)
        for other in self.matrices[1:]:
            self.matrices[0, features] += other[features]


def _features_of_equal_work(X, n_parts: int) -> list[tuple[int, int]]:
    """Return ranges of features whose parts of a Gram matrix take about equal work.

    In the upper triangle, an entry of X is multiplied by those of its row from its own
    feature on.
    """
    after = np.repeat(X.indptr[1:], np.diff(X.indptr)) - np.arange(X.nnz)
    d = X.shape[1]
    work = np.bincount(X.indices, after, minlength=d)
    ends = np.linspace(0, work.sum(), n_parts + 1)[1:-1]
    inner = np.searchsorted(np.cumsum(work), ends)
    return list(pairwise([0, *inner.tolist(), d]))


def matrices_for(
    rows: MemoryRows, n_shares: int, n_threads: int, *, wide: bool
) -> Matrices:
    """Return the fastest way for the rows, which are cut into shares.

    With `wide`, no matrix is formed.
    """
    n, d = rows.shape
    if wide:
        return Matrices(np.empty(n))
    if rows.is_sparse:
        if 8 * d * d <= OWN_BYTES:
            return OwnMatrices(d, n_shares)
        return SharedMatrix(rows.X, n_threads, n_shares, np.empty(n))
    if d <= FEW_FEATURES and n >= MANY_ROWS:
        return OwnMatrices(d, n_shares)
    return BlasMatrices(d, n_shares, np.empty(n))


class WideRows(MemoryRows):
    """All rows, and their Gram matrix for factors of the features: X diag(s²) Xᵀ.

    It is for Newton systems of the size of the rows (`is_wide` in `cpu.py`).
    """

    def __init__(self, X, n_threads: int = 1):
        super().__init__(X)
        self.n_threads = n_threads
        self.row_squares = self.norms(2.0) ** 2
        self.feature_squares = self.sum_of_squares(np.ones(self.shape[0]))
        self._plain_gram: np.ndarray | None = None

    def gram(self, scale) -> np.ndarray:
        """Return Σ_j s_j² x_ij x_kj for all pairs of rows, in the upper triangle."""
        # With the same scale for all features, the matrix is formed only once and then
        # multiplied.
        if scale.min() < scale.max():
            return self._form_gram(scale)
        if self._plain_gram is None:
            self._plain_gram = self._form_gram(np.ones(len(scale)))
        return self._plain_gram * float(scale[0]) ** 2

    def _form_gram(self, scale) -> np.ndarray:
        if self.is_sparse:
            # Slicing columns of a CSR array is expensive.
            scaled = self.X * scale[None, :]
            return (scaled @ scaled.T).toarray()
        n, d = self.shape
        chunks = slices(d, FEATURES_AT_A_TIME)
        n_shares = min(self.n_threads, len(chunks))

        def work(share):
            matrix = np.zeros((n, n))
            for features in share:
                scaled = self.X[:, features] * scale[features]
                matrix += scaled @ scaled.T
            return matrix

        shares = [chunks[k::n_shares] for k in range(n_shares)]
        return np.sum(over(shares, work), axis=0)

    def curvature_of_features(self, h) -> np.ndarray:
        """Return Σ_i h_i x_ij² for every feature, approximately.

        It would be exact if the rows differed only in length.
        """
        # If all rows are 0, so is the result.
        squares = max(float(self.row_squares.sum()), 1e-300)
        return self.feature_squares * (float(h @ self.row_squares) / squares)
