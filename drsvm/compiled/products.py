"""Products with consecutive rows of a matrix, dense or sparse, and Gram matrices.

Threads call them in parallel.

Dense rows are a C-ordered array, and their indices are None; sparse ones (CSR) have
indices, which are unsigned as in `row_access.py`. The compiler cannot remove a branch
for arrays, so functions are overloaded by type.

Dense loops take four rows at a time: that leaves enough independent sums for vector
instructions even if a row has few entries. The Gram matrix of dense rows is formed in
4 × 4 blocks of entries. The sixteen sums of a block stay in registers, and every number
that is loaded takes part in four products; this is how BLAS does it, too, but BLAS
needs more features than a few dozen to be fast.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from drsvm.compiled import row_access
from drsvm.compiled.decorators import FAST, compiled, for_types

# Number of rows that are processed together: they and everything about them stay in the
# fastest cache
TILE = 128


def by_storage(dense: Callable, sparse: Callable) -> Any:
    """Return a function for compiled code, that for dense or that for sparse rows."""

    def chosen(data, indices, indptr, first, last, *others):
        raise NotImplementedError("for compiled code only")

    @for_types(chosen)
    def choose(data, indices, indptr, first, last, *others):
        if not hasattr(indices, "ndim"):
            return lambda data, indices, indptr, first, last, *others: dense(
                data[first:last], *others
            )
        return lambda data, indices, indptr, first, last, *others: sparse(
            data, indices, indptr, first, last, *others
        )

    return chosen


@compiled(fastmath=FAST, inner=True)
def _dense_products(rows, v, out):
    n, d = rows.shape
    whole = n // 4 * 4
    for i in range(0, whole, 4):
        s0 = s1 = s2 = s3 = 0.0
        for j in range(d):
            s0 += rows[i, j] * v[j]
            s1 += rows[i + 1, j] * v[j]
            s2 += rows[i + 2, j] * v[j]
            s3 += rows[i + 3, j] * v[j]
        out[i] = s0
        out[i + 1] = s1
        out[i + 2] = s2
        out[i + 3] = s3
    for i in range(whole, n):
        total = 0.0
        for j in range(d):
            total += rows[i, j] * v[j]
        out[i] = total


@compiled(fastmath=FAST, inner=True)
def _sparse_products(data, indices, indptr, first, last, v, out):
    for i in range(first, last):
        out[i - first] = row_access.dot(
            data, indices, np.uint64(indptr[i]), np.uint64(indptr[i + 1]), v
        )


@compiled(fastmath=FAST, inner=True)
def _add_dense_sums(rows, c, out):
    n, d = rows.shape
    whole = n // 4 * 4
    for i in range(0, whole, 4):
        a0 = c[0, i]
        a1 = c[0, i + 1]
        a2 = c[0, i + 2]
        a3 = c[0, i + 3]
        b0 = c[1, i]
        b1 = c[1, i + 1]
        b2 = c[1, i + 2]
        b3 = c[1, i + 3]
        for j in range(d):
            x0 = rows[i, j]
            x1 = rows[i + 1, j]
            x2 = rows[i + 2, j]
            x3 = rows[i + 3, j]
            out[0, j] += (a0 * x0 + a1 * x1) + (a2 * x2 + a3 * x3)
            out[1, j] += (b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3)
    for i in range(whole, n):
        for j in range(d):
            out[0, j] += c[0, i] * rows[i, j]
            out[1, j] += c[1, i] * rows[i, j]


@compiled(fastmath=FAST, inner=True)
def _add_sparse_sums(data, indices, indptr, first, last, c, out):
    for i in range(first, last):
        c0 = c[0, i - first]
        c1 = c[1, i - first]
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(indices[k])
            x = data[k]
            out[0, j] += x * c0
            out[1, j] += x * c1


# Write x_i·v into out; add Σ_i c_i x_i to the rows of out, for the two rows of
# coefficients c
products = by_storage(_dense_products, _sparse_products)
add_sums = by_storage(_add_dense_sums, _add_sparse_sums)


@compiled()
def dot(data, indices, indptr, first, last, v, out):
    """Do `products`, for callers in Python."""
    products(data, indices, indptr, first, last, v, out)


@compiled(fastmath=FAST, inner=True)
def _position(indices, first, last, j):
    """Return the first position with an index of at least j; the indices increase."""
    while first < last:
        middle = (first + last) // np.uint64(2)
        if indices[middle] < j:
            first = middle + np.uint64(1)
        else:
            last = middle
    return first


@compiled(fastmath=FAST)
def add_rows(data, indices, indptr, first, last, c, out):
    """Add Σ_i c_i x_i to out for the sparse rows first … last − 1."""
    for i in range(first, last):
        row_access.add_row(
            data, indices, np.uint64(indptr[i]), np.uint64(indptr[i + 1]), c[i], out
        )


@compiled(fastmath=FAST, inner=True)
def _add_dense_gram(rows, h, tile, scaled, out):
    """The rows are transposed into a buffer, `tile`, eight at a time.

    Entries are then sums over contiguous samples. With rows transposed one by one, a
    fit to 2,000 × 50 would take 1.15 times as long.
    """
    n, d = rows.shape
    whole = n // 8 * 8
    for i in range(0, whole, 8):
        for a in range(d):
            for k in range(8):
                tile[a, i + k] = rows[i + k, a]
    for i in range(whole, n):
        for a in range(d):
            tile[a, i] = rows[i, a]
    # Four features at a time, scaled once for all products with others
    for a in range(0, d // 4 * 4, 4):
        for i in range(n):
            scaled[0, i] = h[i] * tile[a, i]
            scaled[1, i] = h[i] * tile[a + 1, i]
            scaled[2, i] = h[i] * tile[a + 2, i]
            scaled[3, i] = h[i] * tile[a + 3, i]
        _add_four_rows(tile, scaled, n, a, out)
    # The last few features
    for a in range(d // 4 * 4, d):
        for b in range(a, d):
            total = 0.0
            for i in range(n):
                total += h[i] * tile[a, i] * tile[b, i]
            out[a, b] += total


@compiled(fastmath=FAST, inner=True)
def _add_four_rows(tile, scaled, n, a, out):
    """Add to rows a … a + 3 of the Gram matrix, from column a on.

    Entries below the diagonal change to no effect.
    """
    d = tile.shape[0]
    whole = a + (d - a) // 4 * 4
    for b in range(a, whole, 4):
        add_four_by_four(scaled, tile, b, n, out, a)
    for b in range(whole, d):
        p0 = q0 = r0 = s0 = 0.0
        for i in range(n):
            p0 += scaled[0, i] * tile[b, i]
            q0 += scaled[1, i] * tile[b, i]
            r0 += scaled[2, i] * tile[b, i]
            s0 += scaled[3, i] * tile[b, i]
        out[a, b] += p0
        out[a + 1, b] += q0
        out[a + 2, b] += r0
        out[a + 3, b] += s0


@compiled(fastmath=FAST, inner=True)
def add_four_by_four(left, right, b, n, out, row):
    """Add left · rightᵀ to a 4 × 4 block of `out`.

    It takes the four rows of `left` and the rows b … b + 3 of `right`, over n columns.
    """
    p0 = p1 = p2 = p3 = q0 = q1 = q2 = q3 = 0.0
    r0 = r1 = r2 = r3 = s0 = s1 = s2 = s3 = 0.0
    for i in range(n):
        x = left[0, i]
        y = left[1, i]
        z = left[2, i]
        u = left[3, i]
        e = right[b, i]
        f = right[b + 1, i]
        g = right[b + 2, i]
        h = right[b + 3, i]
        p0 += x * e
        p1 += x * f
        p2 += x * g
        p3 += x * h
        q0 += y * e
        q1 += y * f
        q2 += y * g
        q3 += y * h
        r0 += z * e
        r1 += z * f
        r2 += z * g
        r3 += z * h
        s0 += u * e
        s1 += u * f
        s2 += u * g
        s3 += u * h
    _add_four(out, row, b, p0, p1, p2, p3)
    _add_four(out, row + 1, b, q0, q1, q2, q3)
    _add_four(out, row + 2, b, r0, r1, r2, r3)
    _add_four(out, row + 3, b, s0, s1, s2, s3)


@compiled(fastmath=FAST, inner=True)
def _add_four(matrix, row, first, a, b, c, d):
    matrix[row, first] += a
    matrix[row, first + 1] += b
    matrix[row, first + 2] += c
    matrix[row, first + 3] += d


@compiled(fastmath=FAST, inner=True)
def _add_sparse_row(data, indices, a, end, after, scale, flat, width):
    """Add one row's entries from `a` on to the Gram matrix: those of columns < `after`.

    Two entries at a time need fewer loads, and half as many loops whose end the
    processor has to guess.
    """
    while a + np.uint64(1) < end and np.uint64(indices[a + np.uint64(1)]) < after:
        x = scale * data[a]
        y = scale * data[a + np.uint64(1)]
        one = np.uint64(indices[a]) * width
        other = np.uint64(indices[a + np.uint64(1)]) * width
        flat[one + np.uint64(indices[a])] += x * data[a]
        for b in range(a + np.uint64(1), end):
            j = np.uint64(indices[b])
            z = data[b]
            flat[one + j] += x * z
            flat[other + j] += y * z
        a += np.uint64(2)
    if a < end and np.uint64(indices[a]) < after:
        x = scale * data[a]
        one = np.uint64(indices[a]) * width
        for b in range(a, end):
            flat[one + np.uint64(indices[b])] += x * data[b]


@compiled(inner=True)
def _add_sparse_gram(data, indices, indptr, first, last, h, tile, scaled, out):
    # C-ordered
    flat = out.reshape(-1)
    width = np.uint64(out.shape[1])
    for i in range(first, last):
        _add_sparse_row(
            data,
            indices,
            np.uint64(indptr[i]),
            np.uint64(indptr[i + 1]),
            width,
            h[i - first],
            flat,
            width,
        )


# Add Σ_i h_i x_i x_iᵀ to the upper triangle of out; the rest of it is unspecified.
# Sparse rows have sorted indices. Dense ones have few features and are at most TILE;
# they use two buffers.
add_gram = by_storage(_add_dense_gram, _add_sparse_gram)


@compiled()
def gram_of_features(data, indices, indptr, h, first, last, begin, after, out):
    """Add Σ h_i x_i x_iᵀ to the rows begin … after − 1 of the upper triangle of out.

    The sum is over the rows first … last − 1.
    """
    flat = out.reshape(-1)
    width = np.uint64(out.shape[1])
    for i in range(first, last):
        end = np.uint64(indptr[i + 1])
        low = _position(indices, np.uint64(indptr[i]), end, begin)
        _add_sparse_row(data, indices, low, end, np.uint64(after), h[i], flat, width)
