"""Rows for ADMM: their Gram matrix around the mean row, which an intercept eliminates.

C = Σ π_i (x_i − x̄)(x_i − x̄)ᵀ,      x̄ = Σ π_i x_i, or 0 without an intercept
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from drsvm.model.problem import Problem
from drsvm.model.validation import row_blocks
from drsvm.solvers.selection import MULTIPLICATION, SPARSE_MULTIPLICATION, stored_entries

BLOCK_SECONDS = 0.2
"""Approximate time for one part of the Gram matrix, for which Ctrl-C may have to wait."""


class CentredRows:
    """The rows of a problem."""

    def __init__(self, problem: Problem):
        self.problem, self.stored = problem, stored_entries(problem)
        self.mean = np.zeros(problem.n_features)
        if problem.fit_intercept:
            self.mean += problem.weighted_sum(problem.sample_weight * problem.signs)[0]

    def gram_seconds(self) -> float:
        """Return about how many seconds the Gram matrix takes."""
        n, d = self.problem.X.shape
        if sparse.issparse(self.problem.X):
            return SPARSE_MULTIPLICATION * self.stored**2 / n
        return MULTIPLICATION * n * d * d

    def _gram_blocks(self) -> Iterator[slice]:
        most = max(1, int(self.problem.n_rows * BLOCK_SECONDS / max(self.gram_seconds(), 1e-9)))
        for block in row_blocks(self.problem.X):
            for first in range(block.start, block.stop, most):
                yield slice(first, min(first + most, block.stop))

    def gram(self) -> tuple[np.ndarray, float]:
        """Return C = Σ π (x − x̄)(x − x̄)ᵀ, with x̄ = 0 without an intercept, and the size of its rounding errors."""
        gram = np.zeros((self.problem.n_features,) * 2)
        for block in self._gram_blocks():
            rows, roots = self.problem.X[block], np.sqrt(self.problem.sample_weight[block])
            if sparse.issparse(rows):
                scaled = sparse.diags_array(roots) @ rows
                gram += (scaled.T @ scaled).toarray()
            else:
                scaled = rows * roots[:, None]
                gram += scaled.T @ scaled
        noise = 1e-14 * float(np.trace(gram)) or 1.0
        return gram - np.outer(self.mean, self.mean), noise

    def curvature(self, w) -> np.ndarray:
        """Return C w without forming C."""
        rows = self.problem.rows
        return rows.weighted_sum(self.problem.sample_weight * rows.dot(w)) - (self.mean @ w) * self.mean

    def largest_eigenvalue(self, product) -> float:
        """Estimate the largest eigenvalue of C, more likely too high than too low; `product` multiplies by C."""
        d = self.problem.n_features
        if d < 3:
            matrix, noise = self.gram()
            return max(float(np.linalg.eigvalsh(matrix)[-1]), noise)
        start = np.random.default_rng(0).normal(size=d)
        operator = sparse_linalg.LinearOperator((d, d), matvec=product, dtype=np.float64)
        largest = 1.02 * float(sparse_linalg.eigsh(operator, 1, tol=0.01, v0=start, return_eigenvectors=False)[0])
        return max(largest, 1e-280)
