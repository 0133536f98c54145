"""Weights of which a step needs Σ (|w_j| − limit)₊ at a limit that changes little.

A sum over all weights at every step would cost O(d), where the rest of a step costs as
much as the nonzeros of one row. So the weights with magnitudes near the limit, a band,
are listed. Those above the band enter through their sum and number, those below
contribute nothing, and only the members of the band are looked at.

**The lazy threshold.** A proximal step with q = 1 subtracts the same threshold from the
magnitudes of all weights and divides all of them by ρ. That is not done either: a
weight is stored as u_j with

    w_j = scale · sign(u_j) (|u_j| − offset)₊,

so a step changes the two scalars only, and the band is one of the u_j. The offset
grows: a weight below it stays 0. From time to time the weights are stored again with
offset 0 and scale 1 (`fold_if_due`), because what is left after the subtraction has the
rounding errors of both numbers.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.compiled.decorators import FAST, compiled

# The band is built again, and narrower, after this many looks at its members for each
# listed weight
MOST_LOOKS = 4.0
# Positions of figures about a band: its ends, half width and number of members; the sum
# and the number of the weights above it; how often members were looked at since it was
# built; the number of listed weights; the offset and the scale of weights that share a
# threshold, and the steps since they were last stored with offset 0 and scale 1
LOW, HIGH, WIDTH, SIZE, SUM, NUMBER, LOOKS, LISTED, OFFSET, SCALE, STEPS, NUMBERS = (
    range(12)
)
BASE = np.uint64(NUMBERS)
# Weights that share a threshold are stored again if the threshold is this many times
# their mean, at a small scale, or after many steps
MOST_SHRUNK = 1e4
SMALLEST_SCALE = 1e-50
MANY_STEPS = 8192


class Band(NamedTuple):
    """Weights with a band of magnitudes around a limit.

    Weights in the band are members and are summed one by one. Those above it enter
    through their sum and number; those below contribute nothing. The band is rebuilt
    when the limit leaves it, and so wide that this takes about as long as looking at
    its members.
    """

    # NUMBERS figures about the band, then the weights, that of column j at NUMBERS + j
    weights: np.ndarray
    # Three rows: the members; a list of all weights that are not 0, and of some that
    # are; and for each weight 0 if it is not listed, else 1 + its position among the
    # members, if it is one
    members: np.ndarray


class Shrunk(NamedTuple):
    """Weights that share a threshold, with a band of the u_j."""

    band: Band


def of(w: np.ndarray, width: float) -> Band:
    """Return the band for given weights and an initial half width.

    Kernels `renew` it, and build it when needed.
    """
    weights = np.concatenate((np.zeros(NUMBERS), w))
    weights[WIDTH] = width
    weights[SCALE] = 1.0
    return Band(weights, np.empty((3, weights.size), np.uint32))


@compiled(inner=True)
def renew(band):
    """Let the band be built again when it is needed, as wide as before."""
    weights, members = band
    weights[LOW] = -1.0
    weights[HIGH] = -1.0
    weights[LISTED] = 0.0
    for j in range(BASE, np.uint64(weights.size)):
        members[2, j] = 0
        _enlist(band, j)


@compiled(inner=True, forceinline=True)
def _enlist(band, j):
    """Add a weight to the list of those that may not be 0."""
    weights, members = band
    if weights[j] != 0.0 and members[2, j] == 0:
        members[1, np.uint64(weights[LISTED])] = j
        members[2, j] = 1
        weights[LISTED] += 1.0


@compiled(inner=True, fastmath=FAST)
def _build(weights, members, limit):
    """Build the band around a limit, in one pass over the listed weights."""
    # The last band was too wide if its members were looked at more often than there
    # are weights, otherwise too narrow: the limit left it early
    if weights[LOW] >= 0.0:
        if weights[LOOKS] > weights[LISTED]:
            weights[WIDTH] *= 0.5
        else:
            weights[WIDTH] *= 2.0
    low = max(limit - weights[WIDTH], weights[OFFSET])
    high = limit + weights[WIDTH]
    size = np.uint64(0)
    kept = np.uint64(0)
    total = number = 0.0
    for k in range(np.uint64(weights[LISTED])):
        j = members[1, k]
        value = abs(weights[j])
        if value <= weights[OFFSET]:
            weights[j] = 0.0
            members[2, j] = 0
            continue
        members[1, kept] = j
        kept += np.uint64(1)
        if value > high:
            total += value
            number += 1.0
        elif value > low:
            members[2, j] = size + np.uint64(1)
            members[0, size] = j
            size += np.uint64(1)
    weights[LOW] = low
    weights[HIGH] = high
    weights[SIZE] = size
    weights[LOOKS] = 0.0
    weights[LISTED] = kept
    weights[SUM] = total
    weights[NUMBER] = number


@compiled(inner=True, fastmath=FAST, forceinline=True)
def excess(band, limit):
    """Return Σ (|w_j| − limit)₊ and the number of positive terms."""
    weights, members = band
    if not (
        weights[LOW] <= limit <= weights[HIGH]
        and weights[LOOKS] <= MOST_LOOKS * weights[LISTED]
    ):
        _build(weights, members, limit)
    total = max(weights[SUM] - weights[NUMBER] * limit, 0.0)
    count = weights[NUMBER]
    weights[LOOKS] += weights[SIZE]
    for m in range(np.uint64(weights[SIZE])):
        over = abs(weights[members[0, m]]) - limit
        total += max(over, 0.0)
        count += 1.0 if over > 0.0 else 0.0
    return total, count


@compiled(inner=True, fastmath=FAST, forceinline=True)
def take_out(band, j):
    """Return a weight and set it to 0."""
    weights, members = band
    value = weights[j]
    size = abs(value)
    # Selections, not a branch, which the processor could not predict
    weights[SUM] -= size if size > weights[HIGH] else 0.0
    weights[NUMBER] -= 1.0 if size > weights[HIGH] else 0.0
    # The last member takes the place of this one
    if weights[LOW] < size <= weights[HIGH]:
        weights[SIZE] -= 1.0
        last = members[0, np.uint64(weights[SIZE])]
        place = np.uint64(members[2, j])
        members[0, place - np.uint64(1)] = last
        members[2, last] = place
    weights[j] = 0.0
    return value


@compiled(inner=True, fastmath=FAST, forceinline=True)
def put_in(band, j, value):
    """Set a weight that is currently 0."""
    weights, members = band
    size = abs(value)
    weights[SUM] += size if size > weights[HIGH] else 0.0
    weights[NUMBER] += 1.0 if size > weights[HIGH] else 0.0
    weights[j] = value
    _enlist(band, j)
    if weights[LOW] < size <= weights[HIGH]:
        members[0, np.uint64(weights[SIZE])] = j
        weights[SIZE] += 1.0
        members[2, j] = np.uint64(weights[SIZE])


# --- weights that share a threshold


@compiled(inner=True, fastmath=FAST, forceinline=True)
def shrunk_excess(rest, limit):
    """Return what `excess` does for Shrunk weights."""
    numbers = rest.band.weights
    total, count = excess(rest.band, numbers[OFFSET] + limit / numbers[SCALE])
    return numbers[SCALE] * total, count


@compiled(inner=True, fastmath=FAST, forceinline=True)
def _plain(numbers, u):
    """Return w_j for a u_j."""
    return numbers[SCALE] * (u - min(max(u, -numbers[OFFSET]), numbers[OFFSET]))


@compiled(inner=True, fastmath=FAST, forceinline=True)
def take_shrunk(band, j):
    """Return a weight and set it to 0."""
    return _plain(band.weights, take_out(band, j))


@compiled(inner=True, fastmath=FAST, forceinline=True)
def put_shrunk(band, j, weight):
    """Set a weight that is currently 0."""
    size = abs(weight)
    if size > 0.0:
        u = math.copysign(size / band.weights[SCALE] + band.weights[OFFSET], weight)
    else:
        u = 0.0
    put_in(band, j, u)


@compiled(inner=True)
def stretch(band, first, factor):
    """Multiply the weights from `first` on by a factor."""
    for j in range(BASE + np.uint64(first), np.uint64(band.weights.size)):
        put_shrunk(band, j, factor * take_shrunk(band, j))


@compiled(inner=True)
def shrink(band, tau, rho):
    """Shrink all weights by τ and divide them by ρ."""
    numbers = band.weights
    numbers[OFFSET] += tau / numbers[SCALE]
    numbers[SCALE] /= rho
    numbers[STEPS] += 1.0


@compiled(inner=True)
def fold_if_due(band, total):
    """Store the weights again, with offset 0 and scale 1, where rounding may matter.

    `total` is Σ |w_j|.
    """
    numbers = band.weights
    offset = numbers[OFFSET]
    scale = numbers[SCALE]
    active = numbers[NUMBER] + numbers[SIZE]
    # The operator | avoids the branches of `or`.
    if (
        (offset * scale * active > MOST_SHRUNK * total)
        | (scale < SMALLEST_SCALE)
        | (numbers[STEPS] > MANY_STEPS)
    ):
        _fold(band)


@compiled(inner=True)
def _fold(band):
    numbers = band.weights
    for k in range(np.uint64(numbers[LISTED])):
        j = band.members[1, k]
        numbers[j] = _plain(numbers, numbers[j])
    numbers[WIDTH] *= numbers[SCALE]
    numbers[OFFSET] = 0.0
    numbers[SCALE] = 1.0
    numbers[STEPS] = 0.0
    numbers[LOW] = -1.0
    numbers[HIGH] = -1.0


@compiled(inner=True)
def read_back(band, w):
    """Write the weights into w."""
    _fold(band)
    # numba takes seconds to compile an assignment to all of an array
    for j in range(w.size):
        w[j] = band.weights[BASE + np.uint64(j)]
