"""Sums over all weights of magnitude above a limit that changes little from step to step.

Weights whose magnitude lies in a band around the limit are members and are summed one by one. Weights above the band
enter through their sum and number; those below contribute nothing. The band is rebuilt when the limit leaves it.
"""

from typing import NamedTuple

import numpy as np

from drsvm.kernels.compiling import FAST, kernel

LOW, HIGH, WIDTH, SIZE, SUM, NUMBER, STEPS, NUMBERS = range(8)
"""Ends of the band, its half width and number of members; sum and number above it; steps since it was built."""

BASE = np.uint64(NUMBERS)

MANY_MEMBERS, FEW_STEPS = 48, 32
"""A band with more members than this is narrowed; one that lasts fewer steps is widened."""


class Band(NamedTuple):
    """Weights with their band."""

    weights: np.ndarray  # NUMBERS figures about the band, then the weights: that of column j is at NUMBERS + j
    members: np.ndarray  # two rows: the members, and the position of each weight among them


@kernel(inner=True, allocates=True)
def make_band(w, width):
    """Return the band for given weights and an initial half width; it is built when first needed."""
    weights = np.zeros(NUMBERS + w.size)
    for j in range(w.size):  # numba takes seconds to compile an assignment to a slice
        weights[NUMBERS + j] = w[j]
    weights[WIDTH], weights[LOW], weights[HIGH] = width, -1.0, -1.0
    return Band(weights, np.empty((2, NUMBERS + w.size), np.uint64))


@kernel(inner=True, fastmath=FAST)
def _build(weights, members, limit):
    if weights[STEPS] < FEW_STEPS:
        weights[WIDTH] *= 2.0
    elif weights[SIZE] > MANY_MEMBERS:
        weights[WIDTH] *= 0.5
    low, high = max(limit - weights[WIDTH], 0.0), limit + weights[WIDTH]
    size = np.uint64(0)
    total = number = 0.0
    for j in range(BASE, np.uint64(weights.size)):
        value = abs(weights[j])
        if value > high:
            total += value
            number += 1.0
        elif value > low:
            members[0, size], members[1, j] = j, size
            size += np.uint64(1)
    weights[LOW], weights[HIGH], weights[SIZE], weights[STEPS] = low, high, float(size), 0.0
    weights[SUM], weights[NUMBER] = total, number


@kernel(inner=True, fastmath=FAST, forceinline=True)
def band_excess(band, limit):
    """Return Σ (|w_j| − limit)₊ and the number of positive terms."""
    weights, members = band
    if not (weights[LOW] <= limit <= weights[HIGH]):
        _build(weights, members, limit)
    total = max(weights[SUM] - weights[NUMBER] * limit, 0.0)
    count = weights[NUMBER]
    for m in range(np.uint64(weights[SIZE])):
        over = abs(weights[members[0, m]]) - limit
        total += max(over, 0.0)
        count += 1.0 if over > 0.0 else 0.0
    return total, count


@kernel(inner=True, fastmath=FAST, forceinline=True)
def take_out(band, j):
    """Return a weight and set it to 0."""
    weights, members = band
    value = weights[j]
    size = abs(value)
    weights[SUM] -= size if size > weights[HIGH] else 0.0  # no branch: it would be unpredictable
    weights[NUMBER] -= 1.0 if size > weights[HIGH] else 0.0
    if weights[LOW] < size <= weights[HIGH]:
        weights[SIZE] -= 1.0
        last = members[0, np.uint64(weights[SIZE])]
        members[0, members[1, j]], members[1, last] = last, members[1, j]
    weights[j] = 0.0
    return value


@kernel(inner=True, fastmath=FAST, forceinline=True)
def put_in(band, j, value):
    """Set a weight that is currently 0."""
    weights, members = band
    size = abs(value)
    weights[SUM] += size if size > weights[HIGH] else 0.0
    weights[NUMBER] += 1.0 if size > weights[HIGH] else 0.0
    if weights[LOW] < size <= weights[HIGH]:
        member = np.uint64(weights[SIZE])
        members[0, member], members[1, j] = j, member
        weights[SIZE] += 1.0
    weights[j] = value
