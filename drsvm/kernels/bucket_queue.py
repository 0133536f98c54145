"""Weights that share a soft threshold, for steps whose cost does not depend on the number of weights.

The weights are stored as w_j = scale · sign(u_j) (|u_j| − offset)₊, with u_j = 0 where w_j = 0, so a threshold changes
only two scalars. The sum and number of nonzero weights are tracked. A queue, made of buckets of equal width over |u_j|,
finds the weights that a threshold sets to zero. A coordinate may lie in a bucket below its own, so growing costs
nothing. A threshold opens the buckets below it; their coordinates are pending until the step is decided, and those that
stay nonzero are put back. When the offset has passed all buckets, or rounding errors may matter, the queue is folded:
offset 0, scale 1, a fresh sum, and a bucket width that matches the pace of the offset.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.kernels.compiling import FAST, kernel
from drsvm.kernels.entries import bounds, column, longest_row

EPS = 2.0**-52
BUCKETS = 32768  # at most
PENDING, FIRST = np.uint64(1), np.uint64(2)  # slots: of a pending coordinate, and of the first bucket
CHUNK = np.uint64(16)  # size of a chunk of a bucket: the end of the previous chunk, and fifteen coordinates
# `numbers`: Σ|w_j|; offset and scale of the weights; buckets per unit of |u|, and the last bucket, of all larger ones;
# since the last fold: largest Σ|w_j|, largest threshold
TOTAL, OFFSET, SCALE, DENSITY, FAR, PEAK, ASKED = range(7)
# `counts`: nonzero weights, pending ones, open buckets; first free chunk, first chunk never used; since the last
# fold: steps, entries of rows put back, and pending coordinates put back
ACTIVE, WAITING, OPENED, UNUSED, TOP, STEPS, MOVED, RETURNED = range(8)


class Queue(NamedTuple):
    """The weights with their queue."""

    w: np.ndarray  # u_j of each coordinate
    slot: np.ndarray  # of each coordinate: bucket + FIRST, PENDING, or 0: none; entries in other buckets are stale
    tails: np.ndarray  # end of each bucket in `chunks`; 0: empty
    chunks: np.ndarray  # coordinates; a chunk starts with the end of its bucket's previous chunk, or the next free one
    pending: np.ndarray  # coordinates
    sizes: np.ndarray  # |w_j| of the pending coordinates
    numbers: np.ndarray
    counts: np.ndarray


class Pending(NamedTuple):
    """Sums over the weights, computed from the pending ones; for thresholds up to which all weights are pending."""

    sizes: np.ndarray
    waiting: int
    total: float  # Σ |w_j|
    active: float  # number of nonzero weights


@kernel(inner=True, allocates=True)
def make_queue(data, indptr, width, w, eta, radius):
    """Return the queue of given weights, for steps of size η on the given rows."""
    slot = np.zeros(w.size, np.uint16)
    tails = np.zeros(BUCKETS + 1, np.uint32)
    longest = longest_row(indptr, width)
    chunks = np.empty(4 * 16 * ((w.size + longest) // 15 + BUCKETS + 8), np.uint32)  # four times what is needed
    pending = np.empty(w.size + 1, np.uint32)  # one extra: entries are written before they are checked
    sizes = np.empty(w.size + 1)
    numbers = np.zeros(7)
    counts = np.zeros(8, np.int64)
    for j in range(w.size):
        pending[counts[WAITING]] = j
        counts[WAITING] += np.int64(w[j] != 0.0)
        numbers[TOTAL] += abs(w[j])
    rows = min(data.size // max(width, 1) if indptr is None else indptr.size - 1, 64)
    total = 0.0
    for k in range(bounds(indptr, width, rows - 1)[1] if rows > 0 else np.uint64(0)):
        total += abs(data[k])
    typical = total / max(rows, 1) / (counts[WAITING] + 1)  # Σ|x_j| of a typical row, over the number of weights
    queue = Queue(w, slot, tails, chunks, pending, sizes, numbers, counts)
    _fill(queue, 0.25 * eta * min(max(radius, 0.01), typical))
    return queue


@kernel(inner=True)
def _fill(queue, bucket_width):
    """Put the pending coordinates, all nonzero weights, into an empty queue with offset 0, scale 1 and new buckets."""
    w, slot, tails, chunks, pending, _, numbers, counts = queue
    waiting = counts[WAITING]
    counts[:] = 0
    numbers[OFFSET], numbers[SCALE], numbers[PEAK], numbers[ASKED] = 0.0, 1.0, numbers[TOTAL], 0.0
    numbers[DENSITY] = density = 1.0 / max(bucket_width, EPS * numbers[TOTAL], 1e-100)
    numbers[FAR] = far = min(max(1024.0, float(waiting)), float(BUCKETS))  # about one per weight: a fold visits both
    unused, top = CHUNK, CHUNK
    for k in range(np.uint64(waiting)):
        j = np.uint64(pending[k])
        unused, top = push(slot, tails, chunks, unused, top, j, bucket_of(density, far, abs(w[j])))
    counts[ACTIVE], counts[UNUSED], counts[TOP] = waiting, unused, top


@kernel(inner=True, forceinline=True)
def bucket_of(density, far, value):
    """Return the bucket of |u| = value; `far` is the bucket of all larger values."""
    position = value * density
    return np.uint64(np.int64(position if position < far else far))


@kernel(inner=True, forceinline=True)
def is_missing(slot, bucket):
    """Return whether a coordinate is neither pending nor in this bucket or one below."""
    return np.uint64(slot) - PENDING > bucket + FIRST - PENDING  # slot 0 wraps around


@kernel(inner=True, forceinline=True)
def push(slot, tails, chunks, unused, top, j, bucket):
    """Put a coordinate into a bucket; return the next `unused` chunk and `top`."""
    position = np.uint64(tails[bucket])
    if position % CHUNK == 0:  # no chunk yet, or the last one is full
        following = np.uint64(chunks[unused]) if unused < top else unused + CHUNK
        top = max(top, unused + CHUNK)
        chunks[unused] = position
        position = unused + np.uint64(1)
        unused = following
    chunks[position] = j
    tails[bucket] = position + np.uint64(1)
    slot[j] = bucket + FIRST
    return unused, top


@kernel(inner=True)
def open_buckets(queue, tau):
    """Make all weights of magnitude up to τ pending; return the magnitude up to which all weights are pending now."""
    w, slot, tails, chunks, pending, sizes, numbers, counts = queue
    offset, scale = numbers[OFFSET], numbers[SCALE]
    last = bucket_of(numbers[DENSITY], numbers[FAR], offset + tau / scale)
    waiting = np.uint64(counts[WAITING])
    unused = np.uint64(counts[UNUSED])
    for bucket in range(np.uint64(counts[OPENED]), last + np.uint64(1)):
        position = np.uint64(tails[bucket])
        tails[bucket] = 0
        while position != np.uint64(0):  # frees a chunk each time, of at most d / 15 plus one per bucket
            begin = (position - np.uint64(1)) // CHUNK * CHUNK
            for k in range(begin + np.uint64(1), position):
                j = np.uint64(chunks[k])
                held = np.uint64(np.uint64(slot[j]) == bucket + FIRST)
                pending[waiting] = j
                sizes[waiting] = scale * (abs(w[j]) - offset)
                waiting += held * np.uint64(w[j] != 0.0)  # zeros belong to the current row
                slot[j] = np.uint64(slot[j]) * (np.uint64(1) - held)
            position = np.uint64(chunks[begin])
            chunks[begin] = unused
            unused = begin
    counts[WAITING], counts[UNUSED] = waiting, unused
    counts[OPENED] = max(np.uint64(counts[OPENED]), last + np.uint64(1))
    numbers[ASKED] = max(numbers[ASKED], tau)
    edge = counts[OPENED] / numbers[DENSITY] * (1.0 - 4.0 * EPS)
    return max(scale * (edge - offset), tau) if last < numbers[FAR] else math.inf


@kernel(inner=True)
def shrink_all(queue, tau, rho):
    """Shrink all weights outside the current row by τ, divide them by ρ and settle the pending ones."""
    w, slot, tails, chunks, pending, sizes, numbers, counts = queue
    numbers[OFFSET] += tau / numbers[SCALE]
    numbers[SCALE] /= rho
    if counts[OPENED] > 0:
        counts[OPENED] = bucket_of(numbers[DENSITY], numbers[FAR], numbers[OFFSET])
    counts[STEPS] += 1
    returned = 0
    density, far, unused, top = numbers[DENSITY], numbers[FAR], np.uint64(counts[UNUSED]), np.uint64(counts[TOP])
    for k in range(np.uint64(counts[WAITING])):
        j = np.uint64(pending[k])
        if sizes[k] > tau:
            unused, top = push(slot, tails, chunks, unused, top, j, bucket_of(density, far, abs(w[j])))
            returned += 1
        else:
            w[j] = 0.0
    counts[UNUSED], counts[TOP] = unused, top
    counts[ACTIVE] -= counts[WAITING] - returned
    counts[RETURNED] += returned
    counts[WAITING] = 0


@kernel(inner=True)
def fold_if_due(queue):
    """Fold the queue if this is due; nothing may be pending, and Σ|w_j| must be up to date."""
    chunks, numbers, counts = queue.chunks, queue.numbers, queue.counts
    total, active = numbers[TOTAL], counts[ACTIVE]
    numbers[PEAK] = peak = max(numbers[PEAK], total)
    # Due when the offset has passed all buckets, buckets are too wide or too full, or rounding errors may matter. The
    # operator | avoids the branches of `or`.
    due = (counts[OPENED] >= numbers[FAR]) | (counts[RETURNED] > 4 * active + 2 * counts[MOVED] + 64)
    due |= (numbers[OFFSET] * numbers[SCALE] * active > 1e4 * total) | (total < 0.01 * peak) | (numbers[SCALE] < 1e-50)
    if due | (2 * counts[TOP] > chunks.size) | (counts[STEPS] > 8192):
        _fold(queue)


@kernel(inner=True)
def _fold(queue):
    """Store the plain weights (offset 0, scale 1), with fresh sums and a bucket width that matches the pace."""
    w, _, _, _, pending, sizes, numbers, counts = queue
    pace = numbers[OFFSET] * numbers[SCALE] / max(counts[STEPS], 1)
    asked = numbers[ASKED]
    open_buckets(queue, math.inf)
    total = 0.0
    waiting = np.uint64(0)
    for k in range(np.uint64(counts[WAITING])):
        j = np.uint64(pending[k])
        size = max(sizes[k], 0.0)
        w[j] = math.copysign(size, w[j]) if size > 0.0 else 0.0
        total += size
        pending[waiting] = j
        waiting += np.uint64(size > 0.0)
    numbers[TOTAL], counts[WAITING] = total, waiting
    _fill(queue, max(0.25 * pace, asked / 64.0))


@kernel(inner=True)
def flush(queue):
    """Store the plain weights."""
    w, numbers = queue.w, queue.numbers
    offset, scale = numbers[OFFSET], numbers[SCALE]
    for j in range(w.size):
        w[j] = math.copysign(scale * max(abs(w[j]) - offset, 0.0), w[j]) if w[j] != 0.0 else 0.0


@kernel(inner=True, fastmath=FAST, forceinline=True)
def pending_excess(rest, tau):
    """Return Σ (|w_j| − τ)₊ and the number of positive terms; `rest` is a Pending."""
    sizes = rest.sizes
    smaller = gone = 0.0
    for k in range(np.uint64(rest.waiting)):
        small = 1.0 if sizes[k] <= tau else 0.0
        smaller += small * sizes[k]
        gone += small
    left = rest.active - gone
    return (max(rest.total - smaller - left * tau, 0.0) if left > 0.0 else 0.0), left


@kernel(inner=True, fastmath=FAST)
def draw_row(data, indices, first, last, sign, row, queue):
    """Move a row's weights into `row`, with its entries; return x·x, Σ |w_j x_j|, the largest |x_j| and Σ |w_j|."""
    w, _, _, _, pending, sizes, numbers, counts = queue
    offset, scale = numbers[OFFSET], numbers[SCALE]
    square = size = largest = total = 0.0
    active = 0
    for k in range(last - first):
        j = column(indices, first + k, first)
        u = w[j]
        x = sign * data[first + k]
        value = scale * (u - min(max(u, -offset), offset))
        w[j] = 0.0
        row[0, k], row[1, k] = value, x
        square += x * x
        size += abs(value * x)
        largest = max(largest, abs(x))
        total += abs(value)
        active += np.int64(u != 0.0)
    waiting = np.uint64(0)
    for k in range(np.uint64(counts[WAITING])):
        j = np.uint64(pending[k])
        pending[waiting] = j
        sizes[waiting] = sizes[k]
        waiting += np.uint64(w[j] != 0.0)  # the row's weights are no longer pending
    counts[WAITING] = waiting
    counts[ACTIVE] -= active
    return square, size, largest, total


@kernel(inner=True)
def put_row_back(indices, first, last, shift, tau, rho, row, queue):
    """Put a row, moved by shift·z and thresholded, back into the weights; return its Σ |w_j|."""
    w, slot, tails, chunks, _, _, numbers, counts = queue
    offset, density, far = numbers[OFFSET], numbers[DENSITY], numbers[FAR]
    unused, top = np.uint64(counts[UNUSED]), np.uint64(counts[TOP])
    factor = 1.0 / (rho * numbers[SCALE])
    total = 0.0
    active = 0
    for k in range(last - first):
        a = row[0, k] + shift * row[1, k]
        over = abs(a) - tau
        value = over * factor + offset
        if over > 0.0 and value > 0.0:
            total += over
            active += 1
            j = column(indices, first + k, first)
            w[j] = math.copysign(value, a)
            bucket = bucket_of(density, far, value)
            if is_missing(slot[j], bucket):
                unused, top = push(slot, tails, chunks, unused, top, j, bucket)
    counts[UNUSED], counts[TOP] = unused, top
    counts[ACTIVE] += active
    counts[MOVED] += last - first
    return total / rho


@kernel(inner=True)
def add_to_queue(data, indices, first, last, factor, queue):
    """Add factor·x to the weights; those that are new, or too small for their bucket, become pending."""
    w, slot, _, _, pending, _, numbers, counts = queue
    offset, scale, density, far = numbers[OFFSET], numbers[SCALE], numbers[DENSITY], numbers[FAR]
    waiting = np.uint64(counts[WAITING])
    factor /= scale
    total = 0.0
    active = 0
    for k in range(first, last):
        j = column(indices, k, first)
        u = w[j]
        before = u - min(max(u, -offset), offset)
        after = before + factor * data[k]
        size = abs(after)
        total += size - abs(before)
        active += np.int64(size > 0.0) - np.int64(u != 0.0)
        w[j] = math.copysign(size + offset, after) if size > 0.0 else 0.0
        if is_missing(slot[j], bucket_of(density, far, size + offset)):
            pending[waiting] = j
            waiting += np.uint64(1)
            slot[j] = PENDING
    counts[WAITING] = waiting
    numbers[TOTAL] += scale * total
    counts[ACTIVE] += active
    counts[MOVED] += last - first


@kernel(inner=True)
def stretch(queue, first, factor):
    """Multiply the weights from `first` on by a factor of at least 1; growing weights may stay in their buckets."""
    w, numbers = queue.w, queue.numbers
    for j in range(first, w.size):
        more = (factor - 1.0) * max(abs(w[j]) - numbers[OFFSET], 0.0)
        w[j] = math.copysign(abs(w[j]) + more, w[j])
        numbers[TOTAL] += numbers[SCALE] * more


@kernel(inner=True)
def measure_pending(queue):
    """Write the magnitudes of the pending weights; drop those that have become zero."""
    w, slot, _, _, pending, sizes, numbers, counts = queue
    offset, scale = numbers[OFFSET], numbers[SCALE]
    waiting = np.uint64(0)
    for k in range(np.uint64(counts[WAITING])):
        j = np.uint64(pending[k])
        slot[j] = 0
        pending[waiting] = j
        sizes[waiting] = scale * (abs(w[j]) - offset)
        waiting += np.uint64(w[j] != 0.0)
    counts[WAITING] = waiting
