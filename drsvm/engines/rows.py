"""Products with a block of rows, dense or sparse, behind one interface."""

from abc import ABC, abstractmethod

import numpy as np
from scipy import sparse

from drsvm.kernels import rows as kernel

DENSE_FROM = 0.3
"""Share of nonzeros from which BLAS on dense blocks is quicker than the sparse kernels."""


class Rows(ABC):
    """A matrix, used through blocks of consecutive rows."""

    def __init__(self, X):
        self.X = X

    @abstractmethod
    def dot(self, first: int, last: int, v, out) -> None:
        """Write x_i·v into out."""

    @abstractmethod
    def transposed_dot(self, first: int, last: int, coefficients, out) -> None:
        """Add Σ_i c_i x_i to out (d × k), for every column of coefficients (rows × k)."""

    @abstractmethod
    def gram(self, first: int, last: int, h, out) -> None:
        """Add Σ_i h_i x_i x_iᵀ to out, at least to its upper triangle; h ≥ 0."""

    @abstractmethod
    def block(self, first: int, last: int) -> np.ndarray:
        """Return rows as a dense float64 array."""


class DenseRows(Rows):
    """Rows of a C-ordered array; float32 is widened block by block."""

    def block(self, first, last):
        return self.X[first:last].astype(np.float64, copy=False)

    def dot(self, first, last, v, out):
        np.dot(self.block(first, last), v, out=out)

    def transposed_dot(self, first, last, coefficients, out):
        out += self.block(first, last).T @ coefficients

    def gram(self, first, last, h, out):
        scaled = self.block(first, last) * np.sqrt(h)[:, None]
        out += scaled.T @ scaled


class SparseRows(Rows):
    """Rows of a canonical CSR array."""

    def block(self, first, last):
        return self.X[first:last].toarray().astype(np.float64, copy=False)

    def _parts(self):
        return self.X.data, self.X.indices, self.X.indptr

    def dot(self, first, last, v, out):
        kernel.dot(*self._parts(), first, last, v, out)

    def transposed_dot(self, first, last, coefficients, out):
        kernel.transposed_dot(*self._parts(), first, last, coefficients, out)

    def gram(self, first, last, h, out):
        kernel.gram(*self._parts(), first, last, h, out)


def rows_of(X) -> Rows:
    """Return the rows of a checked matrix; a sparse one with few zeros is turned into a dense one."""
    if not sparse.issparse(X):
        return DenseRows(X)
    if X.nnz > DENSE_FROM * X.shape[0] * X.shape[1]:
        return DenseRows(X.toarray())
    return SparseRows(X)
