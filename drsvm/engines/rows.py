"""Products with a block of rows, dense or sparse, behind one interface."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.kernels import rows as kernel
from drsvm.model.memory_rows import RowView, must_stay, unsigned_parts

DENSE_FROM = 0.3
"""Share of nonzeros above which BLAS on dense blocks is faster than the sparse kernels."""

SMALL = 100_000
"""A matrix with at most this many entries, zeros included, is treated as dense: this needs no compilation."""


class Rows(ABC):
    """A matrix, used through blocks of consecutive rows."""

    def __init__(self, X):
        self.X = X

    @abstractmethod
    def dot(self, first: int, last: int, v, out) -> None:
        """Write x_i·v into out."""

    @abstractmethod
    def transposed_dot(self, first: int, last: int, coefficients, out) -> None:
        """Add Σ_i c_i x_i to the columns of out (d × 2), for the two rows of coefficients."""

    @abstractmethod
    def share(self, first: int, last: int) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
        """Return entries, indices and row starts of some rows for the kernels; dense rows have only entries.

        A view is returned whole: slicing it would compute its rows.
        """

    @abstractmethod
    def squares(self) -> Iterable[np.ndarray]:
        """Return the sums of squares of every row and of every feature."""

    @abstractmethod
    def add_row_gram(self, features: slice, scale, out) -> None:
        """Add Σ_j s_j² x_ij x_kj over some features to the upper triangle of out; the rest is unspecified."""

    @abstractmethod
    def cut_features(self, parts: int) -> list[slice]:
        """Split the features into at most this many parts, for `add_row_gram`."""

    @abstractmethod
    def block(self, first: int, last: int) -> np.ndarray:
        """Return rows as a dense float64 array."""


class DenseRows(Rows):
    """Rows of a C-ordered array; float32 is widened block by block."""

    def __init__(self, X):
        if isinstance(X, np.ndarray):
            X = X.view()
            X.flags.writeable = False  # as in a problem: kernels are compiled for read-only rows
        super().__init__(X)

    def block(self, first, last):
        return self.X[first:last].astype(np.float64, copy=False)

    def dot(self, first, last, v, out):
        np.dot(self.block(first, last), v, out=out)

    def transposed_dot(self, first, last, coefficients, out):
        out += (coefficients @ self.block(first, last)).T

    def share(self, first, last):
        return self.X if isinstance(self.X, RowView) else self.X[first:last], None, None

    def squares(self):
        return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64), np.einsum(
            "ij,ij->j", self.X, self.X, dtype=np.float64
        )

    def add_row_gram(self, features, scale, out):
        add_gram((self.X[:, features] * scale[features]).T, out)

    def cut_features(self, parts):
        cuts = np.linspace(0, self.X.shape[1], parts + 1).astype(int).tolist()
        return [slice(first, last) for first, last in pairwise(cuts)]


class SparseRows(Rows):
    """Rows of a canonical CSR array."""

    def __init__(self, X):
        super().__init__(X)
        self.parts = unsigned_parts(X)

    def dense(self) -> DenseRows:
        """Return the same rows in a dense array."""
        array = np.zeros(self.X.shape, dtype=self.X.dtype)
        kernel.to_dense(*self.parts, array)
        return DenseRows(array)

    def block(self, first, last):
        return self.X[first:last].toarray().astype(np.float64, copy=False)

    def dot(self, first, last, v, out):
        kernel.dot(*self.parts, first, last, v, out)

    def transposed_dot(self, first, last, coefficients, out):
        kernel.transposed_dot(*self.parts, first, last, coefficients, out.T)

    def share(self, first, last):
        data, indices, indptr = self.parts
        return data, indices, indptr[first : last + 1]

    def squares(self):
        squares = self.X.multiply(self.X)
        return (np.asarray(squares.sum(axis=axis, dtype=np.float64)).ravel() for axis in (1, 0))

    def add_row_gram(self, features, scale, out):
        scaled = self.X * scale[None, features]
        out += (scaled @ scaled.T).toarray()

    def cut_features(self, parts):
        return [slice(None)]  # slicing columns of a CSR array is expensive


def add_gram(A, out) -> None:
    """Add AᵀA. numpy recognises the symmetric product, does half of the work and releases the GIL."""
    out += A.T @ A


def rows_of(X) -> Rows:
    """Return the rows of a validated matrix; a sparse one that is small or has few zeros becomes dense.

    Large rows in a file stay as they are.
    """
    if not sparse.issparse(X):
        return DenseRows(X)
    size = X.shape[0] * X.shape[1]
    if size <= SMALL:
        return DenseRows(X.toarray())
    rows = SparseRows(X)
    return rows.dense() if X.nnz > DENSE_FROM * size and not must_stay(X) else rows
