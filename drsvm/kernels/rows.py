"""Products with the rows of a CSR matrix, for a range of rows. Threads call them side by side, so they hold no lock."""

from numba import njit

FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=FAST)
def dot(data, indices, indptr, first, last, v, out):
    """Write x_i·v into out, for the rows first … last − 1."""
    for i in range(first, last):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * v[indices[k]]
        out[i - first] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def transposed_dot(data, indices, indptr, first, last, coefficients, out):
    """Add Σ_i c_i x_i to out, for each column of coefficients; out has one row per feature."""
    width = coefficients.shape[1]
    for i in range(first, last):
        for k in range(indptr[i], indptr[i + 1]):
            x, j = data[k], indices[k]
            for c in range(width):
                out[j, c] += x * coefficients[i - first, c]


@njit(cache=True, nogil=True, fastmath=FAST)
def gram(data, indices, indptr, first, last, h, out):
    """Add Σ_i h_i x_i x_iᵀ to the upper triangle of out; the indices of a row are sorted."""
    for i in range(first, last):
        scale = h[i - first]
        for a in range(indptr[i], indptr[i + 1]):
            x = scale * data[a]
            row = out[indices[a]]
            for b in range(a, indptr[i + 1]):
                row[indices[b]] += x * data[b]
