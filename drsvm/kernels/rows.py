"""Products with a range of rows of a CSR matrix. Threads call them in parallel, so they release the GIL.

Indices are unsigned, as in `entries.py`.
"""

import numpy as np

from drsvm.kernels import entries
from drsvm.kernels.compiling import FAST, kernel

TILE = 128


@kernel(fastmath=FAST)
def dot(data, indices, indptr, first, last, v, out):
    """Write x_i·v into out, for the rows first … last − 1."""
    for i in range(first, last):
        out[i - first] = entries.dot(data, indices, np.uint64(indptr[i]), np.uint64(indptr[i + 1]), v)


@kernel(fastmath=FAST)
def transposed_dot(data, indices, indptr, first, last, coefficients, out):
    """Add Σ_i c_i x_i to the columns of out, for the two rows of coefficients."""
    for i in range(first, last):
        c0, c1 = coefficients[0, i - first], coefficients[1, i - first]
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(indices[k])
            out[j, 0] += data[k] * c0
            out[j, 1] += data[k] * c1


@kernel(fastmath=FAST)
def gram(data, indices, indptr, first, last, h, coefficients, out, sums):
    """Add Σ_i h_i x_i x_iᵀ to the upper triangle of out, and Σ_i c_i x_i to the columns of sums; indices are sorted."""
    flat = out.reshape(-1)  # C-ordered
    width = np.uint64(out.shape[1])
    for i in range(first, last):
        scale, c0, c1 = h[i - first], coefficients[0, i - first], coefficients[1, i - first]
        end = np.uint64(indptr[i + 1])
        for a in range(np.uint64(indptr[i]), end):
            j = np.uint64(indices[a])
            sums[j, 0] += data[a] * c0
            sums[j, 1] += data[a] * c1
            x = scale * data[a]
            start = j * width
            for b in range(a, end):
                flat[start + np.uint64(indices[b])] += x * data[b]


@kernel()
def spread(data, indices, indptr, out):
    """Write the entries of all rows into an array of zeros."""
    for i in range(out.shape[0]):
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            out[i, np.uint64(indices[k])] = data[k]


@kernel(fastmath=FAST)
def dense_gram(rows, h, out):
    """Add Σ_i h_i x_i x_iᵀ to the upper triangle of out, for few features.

    Tiles of rows are transposed into a buffer that stays in the cache; every entry is then a sum over contiguous
    samples, four entries at a time.
    """
    n, d = rows.shape
    tile = np.empty((d, TILE))
    scaled = np.empty(TILE)
    for first in range(0, n, TILE):
        size = min(TILE, n - first)
        for i in range(size):
            for a in range(d):
                tile[a, i] = rows[first + i, a]
        for a in range(d):
            for i in range(size):
                scaled[i] = h[first + i] * tile[a, i]
            whole = a + (d - a) // 4 * 4
            for b in range(a, whole, 4):
                s0 = s1 = s2 = s3 = 0.0
                for i in range(size):
                    s0 += scaled[i] * tile[b, i]
                    s1 += scaled[i] * tile[b + 1, i]
                    s2 += scaled[i] * tile[b + 2, i]
                    s3 += scaled[i] * tile[b + 3, i]
                out[a, b] += s0
                out[a, b + 1] += s1
                out[a, b + 2] += s2
                out[a, b + 3] += s3
            for b in range(whole, d):
                total = 0.0
                for i in range(size):
                    total += scaled[i] * tile[b, i]
                out[a, b] += total
