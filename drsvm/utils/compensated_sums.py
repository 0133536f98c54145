"""Sums over the rows whose errors do not grow with the number of rows.

Bounds for free weights need them: such a bound multiplies v_j of these weights, a small
difference of large sums, by a large number (`dual_scale`).
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy import sparse

from drsvm.problem.validation import row_blocks
from drsvm.utils.parallel import over

ULP = 2.0**-53  # largest relative error of one rounding
# Rows up to which sums that seem to be 0 are computed without rounding
MAX_FRACTIONS = 2000


def compensated_transposed_dot(X, c) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ_i c_i x_i and bounds on its errors: little more than one rounding, and 0 if a sum is exactly 0."""
    parts = np.array(over(row_blocks(X), lambda part: _sums(X[part], c[part])))
    high, low, sizes = parts.transpose(1, 0, 2)
    if not np.isfinite(parts).all():
        return high.sum(axis=0) + low.sum(axis=0), np.full(X.shape[1], np.inf)
    sums = np.array([math.fsum(column) for column in np.concatenate((high, low)).T])
    errors = ULP * np.abs(sums) + (X.shape[0] + 3.0) * ULP * sizes.sum(axis=0)
    if X.shape[0] <= MAX_FRACTIONS:
        for j in np.flatnonzero(sums == 0.0):
            column = X[:][:, [j]]
            column = (
                (column.toarray() if sparse.issparse(column) else column)
                .ravel()
                .tolist()
            )
            exact = sum(
                Fraction(x) * Fraction(factor)
                for x, factor in zip(column, c.tolist(), strict=True)
                if x
            )
            errors[j] = 0.0 if exact == 0 else errors[j]
    return sums, errors


def _sums(rows, c) -> tuple[np.ndarray, ...]:
    """Return a sum of large parts without any error, a sum of small ones, and the sum of their sizes."""
    n, d = rows.shape
    if not sparse.issparse(rows):
        high, low = _split(rows, c[:, None], lambda sizes: sizes.max(axis=0), n)
        return high.sum(axis=0), low.sum(axis=0), np.abs(low).sum(axis=0)

    def largest_of_column(sizes):
        largest = np.zeros(d)
        np.maximum.at(largest, rows.indices, sizes)
        return largest[rows.indices]

    high, low = _split(
        rows.data, np.repeat(c, np.diff(rows.indptr)), largest_of_column, n
    )
    return tuple(
        np.bincount(rows.indices, values, minlength=d)
        for values in (high, low, np.abs(low))
    )


def _split(
    x, c, largest: Callable[[np.ndarray], np.ndarray], n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Split products so that the high parts add up exactly: in each column they are multiples of one number.

    This is the splitting of AccSum (Rump, Ogita and Oishi 2008), with a power of 2
    above 2n of the largest terms. The low parts include the roundings of the products,
    as Dekker (1971) computes them.
    """
    products = x * c
    (x_high, x_low) = _halves(x.astype(np.float64, copy=False))
    (c_high, c_low) = _halves(c)
    rounding = (
        (x_high * c_high - products) + x_high * c_low + x_low * c_high
    ) + x_low * c_low
    grid = np.exp2(
        np.frexp(largest(np.abs(products)))[1] + math.ceil(math.log2(n)) + 2.0
    )
    high = (products + grid) - grid
    return high, (products - high) + rounding


def _halves(values) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of 26 digits each, whose sum is exact and whose products are."""
    scaled = (2.0**27 + 1.0) * values
    high = scaled - (scaled - values)
    return high, values - high
