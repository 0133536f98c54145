"""Products with all rows, for the system of the rows if there are fewer rows than features."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from drsvm.engines.rows import Rows
from drsvm.parallel import over

CHUNK = 1024
"""Number of features that a thread adds to a Gram matrix at a time."""


class WideRows:
    """Products with all rows, and their Gram matrix in a metric of the features."""

    def __init__(self, rows: Rows, n_threads: int = 1):
        self.rows, self.n_threads = rows, n_threads
        self.n, self.d = rows.X.shape
        self.row_squares, self.feature_squares = rows.squares()
        self._plain_gram: np.ndarray | None = None

    def _in_parallel(self, work: Callable[..., Any], parts: list) -> list[Any]:
        return [work(part) for part in parts] if self.n_threads == 1 else over(parts, work)

    @property
    def _row_parts(self) -> list[slice]:
        cuts = np.linspace(0, self.n, self.n_threads + 1).astype(int).tolist()
        return [slice(first, last) for first, last in pairwise(cuts)]

    def dot(self, v) -> np.ndarray:
        """Return x_i·v for every row."""
        out = np.empty(self.n)
        self._in_parallel(lambda part: self.rows.dot(part.start, part.stop, v, out[part]), self._row_parts)
        return out

    def transposed_dot(self, c) -> np.ndarray:
        """Return Σ_i c_i x_i."""
        coefficients = np.stack([c, np.zeros(self.n)])

        def work(part):
            sums = np.zeros((self.d, 2))
            self.rows.transposed_dot(part.start, part.stop, coefficients[:, part], sums)
            return sums[:, 0]

        return np.sum(self._in_parallel(work, self._row_parts), axis=0)

    def gram(self, scale) -> np.ndarray:
        """Return Σ_j s_j² x_ij x_kj for all pairs of rows, in the upper triangle."""
        # With the same scale for all features, the matrix is formed only once and then multiplied.
        if scale.min() < scale.max():
            return self._form_gram(scale)
        if self._plain_gram is None:
            self._plain_gram = self._form_gram(np.ones(self.d))
        return self._plain_gram * float(scale[0]) ** 2

    def _form_gram(self, scale) -> np.ndarray:
        def work(features):
            matrix = np.zeros((self.n, self.n))
            for part in features:
                self.rows.add_row_gram(part, scale, matrix)
            return matrix

        parts = self.rows.cut_features(-(-self.d // CHUNK))
        shares = [parts[k :: self.n_threads] for k in range(min(self.n_threads, len(parts)))]
        return np.sum(self._in_parallel(work, shares), axis=0)

    def curvature_of_features(self, h) -> np.ndarray:
        """Return approximately Σ_i h_i x_ij² for every feature, as if the rows differed only in length."""
        return self.feature_squares * (float(h @ self.row_squares) / max(float(self.row_squares.sum()), 1e-300))
