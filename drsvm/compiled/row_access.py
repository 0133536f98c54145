"""Operations on the entries of one row, dense or sparse.

All rows are stored in one flat array of entries. Sparse rows also have the column of
every entry and the start of each row. Dense rows have neither (None), and the compiler
removes the branches that do not apply. Indices are unsigned: signed ones would be
checked for negative values at every access, which doubles the time.
"""

from typing import Any, NamedTuple

import numpy as np

from drsvm.compiled.decorators import FAST, compiled, for_types, sum_over_row


class Rows(NamedTuple):
    """Rows of a matrix, with the label and the weight of each."""

    data: np.ndarray
    indices: np.ndarray | None
    indptr: np.ndarray | None
    width: int  # number of columns
    signs: np.ndarray
    importance: np.ndarray  # weights; n times as large in incremental methods


def at(value, i) -> Any:
    """Return entry i of an array, or a number as it is: one for all rows."""
    if hasattr(value, "__len__"):
        return value[i]
    return value


@for_types(at)
def _at_for(value, i):
    if hasattr(value, "ndim"):
        return lambda value, i: value[i]
    return lambda value, i: value


@compiled(inner=True, forceinline=True)
def bounds(indptr, width, i):
    """Return where the entries of row i start and end."""
    if indptr is None:
        return np.uint64(i) * np.uint64(width), np.uint64(i + 1) * np.uint64(width)
    return np.uint64(indptr[i]), np.uint64(indptr[i + 1])


@compiled(inner=True, forceinline=True)
def column(indices, k, first):
    """Return the column of entry k, in a row that starts at `first`."""
    if indices is None:
        return k - first
    return np.uint64(indices[k])


def room_for_row(rows: Rows) -> np.ndarray:
    """Return memory for three numbers for each entry of the longest row."""
    length = rows.width
    if rows.indptr is not None:
        length = int(np.diff(rows.indptr).max(initial=0))
    return np.empty((3, length))


@sum_over_row
def dot(data, indices, first, last, v):
    """Return x·v."""
    total = 0.0
    for k in range(first, last):
        total += np.float64(data[k]) * v[column(indices, k, first)]
    return total


@sum_over_row
def dot_and_square(data, indices, first, last, v):
    """Return x·v and x·x."""
    inner = square = 0.0
    for k in range(first, last):
        # Numba's float() would leave single precision, and x·x would overflow
        x = np.float64(data[k])
        inner += x * v[column(indices, k, first)]
        square += x * x
    return inner, square


@sum_over_row
def clipped_dots(data, indices, first, last, v, offset, limit):
    """Return x·clip(v, ±limit), x·(v − clip(v, ±limit)) and Σ |x_j v_j|.

    Entry j of v is at j + offset.
    """
    clipped = outside = size = 0.0
    for k in range(first, last):
        value = v[column(indices, k, first) + offset]
        inside = min(max(value, -limit), limit)
        x = np.float64(data[k])
        clipped += x * inside
        outside += x * (value - inside)
        size += abs(x * value)
    return clipped, outside, size


@compiled(inner=True, fastmath=FAST)
def add_row(data, indices, first, last, factor, v):
    """Add factor·x to v."""
    for k in range(first, last):
        v[column(indices, k, first)] += factor * data[k]


@compiled(inner=True, fastmath=FAST)
def product(a, b):
    """Return a·b."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total
