"""Gram matrices of rows in a metric of the features, for the system of the rows if they are fewer than the features."""

import numpy as np

from drsvm.model.memory_rows import MemoryRows
from drsvm.parallel import over, slices

CHUNK = 1024
"""Number of features that a thread adds to a Gram matrix at a time."""


class WideRows(MemoryRows):
    """All rows, and their Gram matrix in a metric of the features."""

    def __init__(self, X, n_threads: int = 1):
        super().__init__(X)
        self.n_threads = n_threads
        self.row_squares, self.feature_squares = self.norms(2.0) ** 2, self.sum_of_squares(np.ones(self.shape[0]))
        self._plain_gram: np.ndarray | None = None

    def gram(self, scale) -> np.ndarray:
        """Return Σ_j s_j² x_ij x_kj for all pairs of rows, in the upper triangle."""
        # With the same scale for all features, the matrix is formed only once and then multiplied.
        if scale.min() < scale.max():
            return self._form_gram(scale)
        if self._plain_gram is None:
            self._plain_gram = self._form_gram(np.ones(len(scale)))
        return self._plain_gram * float(scale[0]) ** 2

    def _form_gram(self, scale) -> np.ndarray:
        if self.is_sparse:  # slicing columns of a CSR array is expensive
            scaled = self.X * scale[None, :]
            return (scaled @ scaled.T).toarray()
        n, d = self.shape
        chunks = slices(d, CHUNK)

        def work(share):
            matrix = np.zeros((n, n))
            for features in share:
                scaled = self.X[:, features] * scale[features]
                matrix += scaled @ scaled.T  # numpy recognises the symmetric product and does half of the work
            return matrix

        shares = [chunks[k :: self.n_threads] for k in range(min(self.n_threads, len(chunks)))]
        return np.sum(over(shares, work), axis=0)

    def curvature_of_features(self, h) -> np.ndarray:
        """Return approximately Σ_i h_i x_ij² for every feature, as if the rows differed only in length."""
        return self.feature_squares * (float(h @ self.row_squares) / max(float(self.row_squares.sum()), 1e-300))
