"""Sums over the rows whose errors do not grow with the number of rows.

Each product c_i x_ij is the sum of a floating-point number and its rounding error. The
former is split into a high part and a low part, such that the high parts of all rows
add up without rounding; what is rounded in the sum of the rest is of second order.

Bounds for free weights need them: such a bound multiplies v_j of these weights, a small
difference of large sums, by a large number (`dual_bound`).

References
----------
S. M. Rump, T. Ogita and S. Oishi, Accurate floating-point summation part I: faithful
rounding, SIAM Journal on Scientific Computing 31 (2008).

T. J. Dekker, A floating-point technique for extending the available precision,
Numerische Mathematik 18 (1971).
"""

import math
from fractions import Fraction

import numpy as np
from scipy import sparse

from drsvm.utils.parallel import over, row_blocks

# The largest relative error of one rounding, half a unit in the last place
ULP = 2.0**-53
# The number of rows up to which sums that seem to be 0 are computed without rounding
MAX_FRACTIONS = 2000


def compensated_transposed_dot(X, c) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ_i c_i x_i and bounds on its errors.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
        The rows.
    c : array of shape (n,)
        Their factors.

    Returns
    -------
    sums : array of shape (d,)
        The sums, rounded.
    errors : array of shape (d,)
        What they differ from the exact ones by, at most: little more than one rounding,
        0 if a sum is exactly 0, and infinite if something overflows.
    """
    n, d = X.shape
    blocks = over(row_blocks(X), lambda block: _split_sums(X[block], c[block]))
    high, low, sizes = np.array(blocks).transpose(1, 0, 2)
    # The splitting of large numbers may overflow although the sums do not.
    if not np.isfinite(blocks).all():
        return high.sum(axis=0) + low.sum(axis=0), np.full(d, np.inf)

    # The sums of all blocks' high and low parts, by column, with one rounding.
    terms = np.concatenate((high, low)).T
    sums = np.array(list(map(math.fsum, terms)))
    errors = ULP * np.abs(sums) + (n + 3.0) * ULP * sizes.sum(axis=0)
    if n <= MAX_FRACTIONS:
        for j in np.flatnonzero(sums == 0.0):
            if _is_exactly_zero(X[:][:, [j]], c):
                errors[j] = 0.0
    return sums, errors


def _is_exactly_zero(column, c: np.ndarray) -> bool:
    """Return True if Σ_i c_i x_i = 0 for one column, in rational numbers."""
    if sparse.issparse(column):
        column = column.toarray()
    total = Fraction(0)
    for value, factor in zip(column.ravel().tolist(), c.tolist(), strict=True):
        if value:
            total += Fraction(value) * Fraction(factor)
    return total == 0


def _split_sums(rows, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sums of high parts, of low parts, and of the sizes of low parts.

    Each is an array of shape (d,). Those of the high parts are exact.
    """
    n, d = rows.shape
    if not sparse.issparse(rows):
        products, rounding = _products(rows, c[:, None])
        high, low = _split(products, rounding, np.abs(products).max(axis=0), n)
        return high.sum(axis=0), low.sum(axis=0), np.abs(low).sum(axis=0)

    columns = rows.indices
    products, rounding = _products(rows.data, np.repeat(c, np.diff(rows.indptr)))
    largest = np.zeros(d)
    np.maximum.at(largest, columns, np.abs(products))
    high, low = _split(products, rounding, largest[columns], n)
    return (
        np.bincount(columns, high, minlength=d),
        np.bincount(columns, low, minlength=d),
        np.bincount(columns, np.abs(low), minlength=d),
    )


def _products(x: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x c and what rounding took from it: Dekker's (1971) product."""
    products = x * c
    x_high, x_low = _halves(x.astype(np.float64, copy=False))
    c_high, c_low = _halves(c)
    # The order of these operations makes each of them exact.
    rounding = x_high * c_high - products
    rounding = rounding + x_high * c_low
    rounding = rounding + x_low * c_high
    return products, rounding + x_low * c_low


def _halves(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two numbers of 26 binary digits each whose sum is a given one.

    The products of such numbers are exact (Veltkamp's splitting, in Dekker 1971).
    """
    scaled = (2.0**27 + 1.0) * values
    high = scaled - (scaled - values)
    return high, values - high


def _split(
    products: np.ndarray, rounding: np.ndarray, largest: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Split products so that the high parts add up exactly.

    This is the splitting of AccSum (Rump, Ogita and Oishi 2008). In each column the
    high parts are multiples of one number, since all are rounded alike by adding and
    subtracting a power of 2 that is more than 2n times the largest term.

    Parameters
    ----------
    products, rounding : arrays
        The products, and what rounding took from them.
    largest : array
        The largest size of a product in each column.
    n : int
        The number of rows.
    """
    exponents = np.frexp(largest)[1]
    grid = np.exp2(exponents + math.ceil(math.log2(n)) + 2.0)
    high = (products + grid) - grid
    return high, (products - high) + rounding
