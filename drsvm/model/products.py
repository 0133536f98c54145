"""Products of all rows with a vector, in parallel parts, in float64."""

import numpy as np
from scipy import sparse

from drsvm.model.large_rows import LARGE, RowView
from drsvm.model.validation import row_blocks
from drsvm.parallel import over, parts_of


def dot(X, v) -> np.ndarray:
    """Return x_i·v for every row."""
    if _is_small(X):
        return X @ v
    out = np.empty(X.shape[0])
    if sparse.issparse(X):
        from drsvm.kernels import rows as kernel

        parts = unsigned_parts(X)
        over(parts_of(X.shape[0]), lambda part: kernel.dot(*parts, part.start, part.stop, v, out[part]))
    else:
        over(row_blocks(X), lambda part: np.dot(X[part].astype(np.float64, copy=False), v, out=out[part]))
    return out


def transposed_dot(X, c) -> np.ndarray:
    """Return Σ_i c_i x_i."""
    if _is_small(X):
        return X.T @ c
    if sparse.issparse(X):
        return np.sum(over(parts_of(X.shape[0]), lambda part: _sparse_sum(X, part, c[part])), axis=0)
    return np.sum(over(row_blocks(X), lambda part: c[part] @ X[part].astype(np.float64, copy=False)), axis=0)


def _is_small(X) -> bool:
    if sparse.issparse(X):
        return X.nnz < LARGE
    return X.size < LARGE and X.dtype == np.float64 and not isinstance(X, RowView)


def _sparse_sum(X, part: slice, c) -> np.ndarray:
    from drsvm.kernels import rows as kernel

    out = np.zeros((2, X.shape[1]))
    kernel.transposed_dot(*unsigned_parts(X), part.start, part.stop, np.stack([c, np.zeros_like(c)]), out)
    return out[0]


def unsigned_parts(X) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return entries, indices and row starts of a CSR matrix as the kernels take them."""
    unsigned = np.uint32 if X.indices.dtype == np.int32 else np.uint64
    return X.data, X.indices.view(unsigned), X.indptr.view(unsigned)
