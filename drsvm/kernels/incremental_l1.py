"""Epochs of the incremental methods for the weight norm q = 1, at a cost per sample that does not depend on d.

Every step ends in a soft threshold that all weights share. So the weights are kept as

    w_j = scale · sign(u_j) (|u_j| − offset)₊,      u_j = 0 where w_j = 0,

and a step writes the two scalars and the coordinates of its row. With s the level before the threshold, ρ = 1 + ηc and
a the vector before it, the threshold τ (ρ times the θ of the proximal step) solves

    Σ_j (|a_j| − τ)₊ = ρ (s + τ),      w = soft(a, τ) / ρ,      λ = s + τ.

Sum and number of the nonzero weights are tracked. Which weights a threshold turns to zero is read from a queue: buckets
of equal width over |u_j|. A coordinate may lie in a bucket below its own, so that growing costs
nothing. A threshold opens the buckets below it; what they hold is pending until the step is decided, and what survives
goes back. When the offset has run through all buckets, or roundings might show, the queue is folded: offset 0, scale 1,
a fresh sum, and a bucket width that suits the pace of the offset.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.kernels.compiling import kernel

EPS = 2.0**-52
FAST = {"reassoc", "contract", "nsz"}

BUCKETS = 32768
"""The largest number of buckets of equal width."""
PENDING, FIRST = np.uint64(1), np.uint64(2)
"""Slots of a coordinate that waits for the end of the step, and of the first bucket."""
CHUNK = np.uint64(16)
"""A chunk of a bucket: where the chunk before it ends, and fifteen coordinates."""
MOST_OPENINGS = 64
"""Buckets are opened so many times for a threshold that turned out larger. One time is the rule; then all that are left
are opened at once, and no threshold is too large any more."""
MOST_TRIALS = 2160
"""A bracket within [−1, 1] is halved 1076 times until there is no number left inside, even if it closes in on 0, which
takes two trials each, after the first few. Roundings end all but the strangest searches after a few dozen."""

# The queue is these arrays, passed one by one, and functions leave at their end only: else numba counts references at
# every call, which takes longer than a step.
#
#   w        u_j of each coordinate
#   slot     of each coordinate: its bucket + FIRST, PENDING, or 0: none; what another bucket holds is stale
#   tails    end of each bucket in `chunks`; 0: empty
#   chunks   coordinates, in chunks that begin with the end of the bucket's chunk before, or with the next unused chunk
#   pending  coordinates
WEIGHTS, Z, SIZES = range(3)
"""Rows of `work`: w̄ and z = y·x at the coordinates of the present row; |w_j| of the pending coordinates."""
TOTAL, OFFSET, SCALE, DENSITY, FAR, PEAK, ASKED = range(7)
"""`numbers`: Σ|w_j|; offset and scale of the weights; buckets per unit of |u|, and the bucket of all larger ones; since
the last fold: largest Σ|w_j|, largest threshold."""
ACTIVE, WAITING, OPENED, UNUSED, TOP, STEPS, MOVED, RETURNED = range(8)
"""`counts`: nonzero weights, pending ones, open buckets; the first chunk out of use, the first one never used; since
the last fold: steps, entries of rows put back, and pending coordinates put back."""


@kernel()
def _make_queue(data, indptr, w, eta, radius):
    """Return the other arrays of the queue."""
    slot = np.zeros(w.size, np.uint16)
    tails = np.zeros(BUCKETS + 1, np.uint32)
    longest, typical = _row_sizes(data, indptr)
    chunks = np.empty(4 * 16 * ((w.size + longest) // 15 + BUCKETS + 8), np.uint32)  # four times what is needed
    pending = np.empty(w.size + 1, np.uint32)  # one to spare: entries are written before they are judged
    work = np.empty((3, max(w.size + 1, longest)))
    numbers = np.zeros(7)
    counts = np.zeros(8, np.int64)
    numbers[SCALE] = 1.0
    for j in range(w.size):
        numbers[TOTAL] += abs(w[j])
        counts[ACTIVE] += np.int64(w[j] != 0.0)
    numbers[PEAK] = numbers[TOTAL]
    _set_buckets(numbers, counts, 0.25 * eta * min(max(radius, 0.01), typical / (counts[ACTIVE] + 1)))
    density, far, unused, top = numbers[DENSITY], numbers[FAR], CHUNK, CHUNK
    for j in range(w.size):
        if w[j] != 0.0:
            unused, top = _push(slot, tails, chunks, unused, top, np.uint64(j), _bucket(density, far, abs(w[j])))
    counts[UNUSED] = unused
    counts[TOP] = top
    return slot, tails, chunks, pending, work, numbers, counts


@kernel()
def _row_sizes(data, indptr):
    """Return the length of the longest row, and a typical Σ|x_j|."""
    longest = np.uint64(0)
    rows = indptr.size - 1
    for i in range(rows):
        longest = max(longest, np.uint64(indptr[i + 1]) - np.uint64(indptr[i]))
    looked_at = min(rows, 64)
    total = 0.0
    for k in range(np.uint64(indptr[0]), np.uint64(indptr[looked_at])):
        total += abs(data[k])
    return np.int64(longest), total / max(looked_at, 1)


@kernel()
def _set_buckets(numbers, counts, width):
    """Choose the buckets: as many as nonzero weights, within limits, since a fold passes through both."""
    numbers[DENSITY] = 1.0 / max(width, EPS * numbers[TOTAL], 1e-100)
    numbers[FAR] = min(max(1024, counts[ACTIVE]), BUCKETS)


@kernel(forceinline=True)
def _bucket(density, far, value):
    """Return the bucket of |u| = value; `far` is the one of all that is larger."""
    position = value * density
    return np.uint64(np.int64(position if position < far else far))


@kernel(forceinline=True)
def _is_missing(slot, bucket):
    """Tell whether a coordinate is neither pending nor in this bucket nor in one below."""
    return np.uint64(slot) - PENDING > bucket + FIRST - PENDING  # slot 0 wraps around


@kernel(forceinline=True)
def _push(slot, tails, chunks, unused, top, j, bucket):
    """Put the coordinate into the bucket; return the next `unused` chunk and `top`."""
    position = np.uint64(tails[bucket])
    if position % CHUNK == 0:  # no chunk yet, or a full one
        following = np.uint64(chunks[unused]) if unused < top else unused + CHUNK
        top = max(top, unused + CHUNK)
        chunks[unused] = position
        position = unused + np.uint64(1)
        unused = following
    chunks[position] = j
    tails[bucket] = position + np.uint64(1)
    slot[j] = bucket + FIRST
    return unused, top


@kernel()
def _open(w, slot, tails, chunks, pending, work, numbers, counts, tau):
    """Make all weights up to τ in size pending, and return the size up to which they now are.

    Zeros in the queue belong to the present row.
    """
    offset, scale = numbers[OFFSET], numbers[SCALE]
    last = _bucket(numbers[DENSITY], numbers[FAR], offset + tau / scale)
    waiting = np.uint64(counts[WAITING])
    unused = np.uint64(counts[UNUSED])
    for bucket in range(np.uint64(counts[OPENED]), last + np.uint64(1)):
        position = np.uint64(tails[bucket])
        tails[bucket] = 0
        while position != np.uint64(0):  # each chunk is freed, and there are no more than d / 15 and one per bucket
            begin = (position - np.uint64(1)) // CHUNK * CHUNK
            for k in range(begin + np.uint64(1), position):
                j = np.uint64(chunks[k])
                held = np.uint64(np.uint64(slot[j]) == bucket + FIRST)
                pending[waiting] = j
                work[SIZES, waiting] = scale * (abs(w[j]) - offset)
                waiting += held * np.uint64(w[j] != 0.0)
                slot[j] = np.uint64(slot[j]) * (np.uint64(1) - held)
            position = np.uint64(chunks[begin])
            chunks[begin] = unused
            unused = begin
    counts[WAITING] = waiting
    counts[UNUSED] = unused
    counts[OPENED] = max(np.uint64(counts[OPENED]), last + np.uint64(1))
    numbers[ASKED] = max(numbers[ASKED], tau)
    edge = counts[OPENED] / numbers[DENSITY] * (1.0 - 4.0 * EPS)
    return max(scale * (edge - offset), tau) if last < numbers[FAR] else math.inf


@kernel()
def _shrink(w, slot, tails, chunks, pending, work, numbers, counts, tau, rho):
    """Shrink all weights outside the present row by τ, divide by ρ and settle what is pending."""
    numbers[OFFSET] += tau / numbers[SCALE]
    numbers[SCALE] /= rho
    if counts[OPENED] > 0:
        counts[OPENED] = _bucket(numbers[DENSITY], numbers[FAR], numbers[OFFSET])
    counts[STEPS] += 1
    returned = 0
    density, far, unused, top = numbers[DENSITY], numbers[FAR], np.uint64(counts[UNUSED]), np.uint64(counts[TOP])
    for k in range(np.uint64(counts[WAITING])):
        j = np.uint64(pending[k])
        if work[SIZES, k] > tau:
            unused, top = _push(slot, tails, chunks, unused, top, j, _bucket(density, far, abs(w[j])))
            returned += 1
        else:
            w[j] = 0.0
    counts[UNUSED] = unused
    counts[TOP] = top
    counts[ACTIVE] -= counts[WAITING] - returned
    counts[RETURNED] += returned
    counts[WAITING] = 0


@kernel(forceinline=True)
def _fold_is_due(chunks, numbers, counts):
    """Tell whether all buckets are behind the offset, roundings may show, or the buckets are too wide or too full."""
    total, active = numbers[TOTAL], counts[ACTIVE]
    peak = max(numbers[PEAK], total)
    numbers[PEAK] = peak
    # Not `or`, which would be branches.
    due = (counts[OPENED] >= numbers[FAR]) | (counts[RETURNED] > 4 * active + 2 * counts[MOVED] + 64)
    due |= (numbers[OFFSET] * numbers[SCALE] * active > 1e4 * total) | (total < 0.01 * peak) | (numbers[SCALE] < 1e-50)
    return due | (2 * counts[TOP] > chunks.size) | (counts[STEPS] > 8192)


@kernel()
def _fold(w, slot, tails, chunks, pending, work, numbers, counts):
    """Store the plain weights: offset 0 and scale 1, with fresh sums and buckets of a width that suits the pace."""
    pace = numbers[OFFSET] * numbers[SCALE] / max(counts[STEPS], 1)
    asked = numbers[ASKED]
    _open(w, slot, tails, chunks, pending, work, numbers, counts, math.inf)
    total = 0.0
    active = 0
    for k in range(np.uint64(counts[WAITING])):
        j = np.uint64(pending[k])
        size = max(work[SIZES, k], 0.0)
        w[j] = math.copysign(size, w[j]) if size > 0.0 else 0.0
        total += size
        active += size > 0.0
    numbers[TOTAL] = numbers[PEAK] = total
    numbers[OFFSET] = numbers[ASKED] = 0.0
    numbers[SCALE] = 1.0
    counts[ACTIVE] = active
    _set_buckets(numbers, counts, max(0.25 * pace, asked / 64.0))
    counts[STEPS] = counts[MOVED] = counts[RETURNED] = counts[OPENED] = 0
    density, far, unused, top = numbers[DENSITY], numbers[FAR], CHUNK, CHUNK
    for k in range(np.uint64(counts[WAITING])):
        j = np.uint64(pending[k])
        if w[j] != 0.0:
            unused, top = _push(slot, tails, chunks, unused, top, j, _bucket(density, far, abs(w[j])))
    counts[UNUSED] = unused
    counts[TOP] = top
    counts[WAITING] = 0


@kernel()
def _flush(w, numbers):
    """Store the plain weights."""
    offset, scale = numbers[OFFSET], numbers[SCALE]
    for j in range(w.size):
        w[j] = math.copysign(scale * max(abs(w[j]) - offset, 0.0), w[j]) if w[j] != 0.0 else 0.0


@kernel(fastmath=FAST)
def _dot(data, indices, start, end, w, offset):
    """Return x·soft(u, offset)."""
    total = 0.0
    for k in range(start, end):
        u = w[np.uint64(indices[k])]
        total += data[k] * (u - min(max(u, -offset), offset))
    return total


@kernel(fastmath=FAST, forceinline=True)
def _pending_up_to(work, waiting, tau):
    """Return sum and number of the pending weights up to τ in size."""
    total = 0.0
    number = 0.0
    for k in range(np.uint64(waiting)):
        size = work[SIZES, k]
        small = 1.0 if size <= tau else 0.0
        total += small * size
        number += small
    return total, number


@kernel()
def _threshold(work, waiting, total, active, level, rho):
    """Return the threshold τ for weights that no sample moves, and the sum of what it leaves, before ρ.

    If not all weights up to τ are pending, τ is too small. Newton's method comes from below: every step passes one
    pending weight at least, or is the last.
    """
    tau = 0.0
    others, left, before = total, active, math.inf
    while left < before and others - left * tau > rho * (level + tau):
        before = left
        tau += (others - left * tau - rho * (level + tau)) / (left + rho)
        smaller, gone = _pending_up_to(work, waiting, tau)
        others = total - smaller
        left = active - gone
    return tau, (max(others - left * tau, 0.0) if left > 0.0 else 0.0)


# ---------------------------------------------------------------------------------------------------------------------
# The proximal step. Its multipliers are found as in `epigraph.py`: the loss is the largest σ₁ (1 − m) + σ₂ (1 + m − κλ)
# over a triangle; a concave dual function of σ is maximised along the edges of the triangle and, for the triple kink
# m = 1, κλ = 2, in its inside, until one candidate has no duality gap.
# ---------------------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """A line t ↦ (δ, σ₂), δ = σ₁ − σ₂, on which the dual function is maximised for low ≤ t ≤ high."""

    delta: float  # at t = 0
    delta_slope: float
    sigma2: float  # at t = 0
    sigma2_slope: float
    low: float
    high: float


class Row(NamedTuple):
    """What the step needs beside the entries of the row, which are in `work`, and the pending weights."""

    length: np.int64
    level: float  # λ̄ − ηε
    bias: float  # y·b̄
    free: float  # 1 with an intercept, 0 without
    step: float  # η times the importance
    rho: float
    kappa: float
    square: float  # z·z
    size: float  # Σ |w̄_j z_j|: the scale on which margins are rounded
    largest: float  # |z_j|
    total: float  # Σ |w̄_j|
    others: float  # Σ |w̄_j| outside the row
    active: float  # and the number of nonzeros there


class Point(NamedTuple):
    """Margin and λ at some σ, their derivatives along a line, the threshold, and what is left of all weights."""

    margin: float
    level: float
    margin_slope: float
    level_slope: float
    tau: float
    total: float  # outside the row


HINGE_EDGE = Line(0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
FLIP_EDGE = Line(0.0, -1.0, 0.0, 1.0, 0.0, 1.0)
# σ₁ + σ₂ = 1, in two parts: the variable is δ where δ may be small, and σ₂ where σ₂ may be small.
BOTH = Line(0.0, 1.0, 0.5, -0.5, -1.0, 0.5)
MOSTLY_HINGE = Line(1.0, -2.0, 0.0, 1.0, 0.0, 0.25)
INSIDE = Line(0.0, 1.0, 0.0, 0.0, -1.0, 1.0)
HINGE_FIRST = ((HINGE_EDGE, 0.0), (MOSTLY_HINGE, 0.0), (BOTH, 0.5), (FLIP_EDGE, 1.0))
FLIP_FIRST = ((FLIP_EDGE, 0.0), (BOTH, -1.0), (MOSTLY_HINGE, 0.25), (HINGE_EDGE, 1.0))
"""Edges in the order in which they are tried, and where the search begins."""


@kernel(fastmath=FAST, forceinline=True)
def _row_sums(work, length, shift, tau):
    """Return sums over the entries of w̄ + shift·z above τ: number, Σ(|a| − τ), z·soft(a, τ), Σ ±z and Σ z²."""
    count = 0.0
    over = 0.0
    margin = 0.0
    signed = 0.0
    square = 0.0
    for k in range(np.uint64(length)):
        x = work[Z, k]
        a = work[WEIGHTS, k] + shift * x
        excess = abs(a) - tau
        kept = 1.0 if excess > 0.0 else 0.0
        excess *= kept
        x *= kept
        count += kept
        over += excess
        square += x * x
        x = math.copysign(1.0, a) * x
        signed += x
        margin += x * excess
    return count, over, margin, signed, square


@kernel(forceinline=True)
def _evaluate(work, waiting, limit, guess, row, ball, line, delta, sigma2):
    """Return the Point at (δ, σ₂), with derivatives along the line; with `ball` ≥ 0 the level is held at that value.

    If its threshold is above `limit`, not all weights below it are pending, and the point is void.
    """
    rho = row.rho
    s, ds = row.level, 0.0
    if sigma2 != 0.0 or line.sigma2_slope != 0.0:
        s += row.step * row.kappa * sigma2
        ds = row.step * row.kappa * line.sigma2_slope
    shift = row.step * delta
    slack, target = (rho, rho * s) if ball < 0.0 else (0.0, rho * ball)
    tau, before, moved = guess, -1.0, True
    count = over = margin = signed = square = active = rest = 0.0
    # Newton's method: after one step it comes from below, and the active set shrinks to the right one. Every further
    # step takes one entry out of it at least, or is the last.
    while moved:
        total, gone = _pending_up_to(work, waiting, tau)
        others, active = row.others - total, row.active - gone
        count, over, margin, signed, square = _row_sums(work, row.length, shift, tau)
        rest = max(others - active * tau, 0.0) if active > 0.0 else 0.0
        excess = over + rest - target - slack * tau
        moved = count + active != before and (excess > 0.0 or (before < 0.0 and tau > 0.0))
        if moved:
            before = count + active
            tau = max(tau + excess / (before + slack), 0.0) if before + slack > 0.0 else 0.0
            moved = not tau > limit
    level = (over + rest) / rho if ball < 0.0 and tau > 0.0 else target / rho
    rate = row.step * line.delta_slope
    tau_slope = 0.0
    if tau > 0.0:
        tau_slope = (rate * signed - (rho * ds if ball < 0.0 else 0.0)) / max(count + active + slack, 1.0)
    slope = (rate * square - signed * tau_slope) / rho + row.free * rate
    return Point(margin / rho + row.bias + row.free * shift, level, slope, ds + tau_slope, tau, rest / rho)


@kernel()
def _noise(row, delta, sigma2):
    """Return the size on which the pieces of the loss are rounded."""
    noise = 1.0 + row.size / row.rho + abs(row.bias)
    noise += row.step * abs(delta) * (row.square / row.rho + row.free)
    if not math.isinf(row.kappa):
        noise += row.kappa * (abs(row.level) + row.step * row.kappa * sigma2)
    return noise


@kernel()
def _steepest(row, line):
    """Return a bound of the curvature of the dual function along the line."""
    steepest = row.step * line.delta_slope**2 * (row.square / row.rho + row.free)
    if line.sigma2_slope != 0.0:
        steepest += row.step * (row.kappa * line.sigma2_slope) ** 2
    return steepest


@kernel()
def _short_of_maximum(row, line, slope):
    """Return a point at or before the maximum, from the slope at t = 0, the lower end of the line."""
    steepest = _steepest(row, line)
    return slope / steepest if slope < steepest else 1.0


@kernel()
def _maximise(work, waiting, limit, guess, row, ball, line, start):
    """Return δ, σ₂ and the point where the dual function is largest on the line.

    The first step uses a bound of the curvature, so that it stops short of the maximum: thresholds far beyond it would
    open many buckets. Then Newton steps on the exact slope, with a bracket that in the end halves in every second step.
    """
    low, high = line.low, line.high
    low_known = high_known = False
    width = math.inf
    steepest = _steepest(row, line)
    t = start
    tries = 0
    delta, sigma2, point = 0.0, 0.0, Point(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    while tries < MOST_TRIALS:
        delta, sigma2 = line.delta + line.delta_slope * t, line.sigma2 + line.sigma2_slope * t
        point = _evaluate(work, waiting, limit, guess, row, ball, line, delta, sigma2)
        if point.tau > limit:
            break
        slope = line.delta_slope * (1.0 - point.margin)
        curvature = line.delta_slope * point.margin_slope
        if line.sigma2_slope != 0.0:
            slope += line.sigma2_slope * (2.0 - row.kappa * point.level)
            curvature += line.sigma2_slope * row.kappa * point.level_slope
        if (t == line.low and slope <= 0.0) or (t == line.high and slope >= 0.0):
            break
        tolerance = 2.0 * EPS * _noise(row, delta, sigma2)
        if abs(slope) <= tolerance:
            break
        if slope > 0.0:
            low, low_known = t, True
        else:
            high, high_known = t, True
        if low_known and high_known and (high - low) * steepest <= tolerance:
            break
        step = slope / (curvature if low < start < high or tries > 0 else steepest)
        t = t + step if abs(step) < 4.0 else math.copysign(4.0, slope)
        if (t >= high and high_known) or (t <= low and low_known) or (tries > 6 and high - low > 0.5 * width):
            t = 0.5 * (low + high)
        t = min(max(t, low), high)
        if (t == low and low_known) or (t == high and high_known):
            break
        width = high - low
        tries += 1
    return delta, sigma2, point


@kernel()
def _duality_gap(row, point, delta, sigma2):
    """Return the duality gap of σ, relative to the rounding noise, at the point that belongs to σ."""
    hinge = 1.0 - point.margin
    loss = max(hinge, 0.0)
    bound = (sigma2 + delta) * hinge
    if not math.isinf(row.kappa):
        flipped = 1.0 + point.margin - row.kappa * point.level
        loss = max(loss, flipped)
        bound += sigma2 * flipped
    return (loss - bound) / _noise(row, delta, sigma2)


@kernel()
def _triple_kink(work, waiting, limit, guess, row):
    """Return δ, σ₂ and the point with κλ = 2, moved into the triangle."""
    level = 2.0 / row.kappa
    longest = row.total + row.rho * level + max(level - row.level, 0.0)
    reach = 2.0 * longest / (row.step * row.largest)  # beyond it, σ₂ < 0
    line = INSIDE
    if reach < 1.0:
        line = Line(0.0, 1.0, 0.0, 0.0, -reach, reach)
    delta, _, point = _maximise(work, waiting, limit, guess, row, level, line, 0.0)
    wanted = (level - row.level - point.tau) / (row.step * row.kappa)
    sigma2 = min(max(wanted, 0.0, -delta), 0.5 * (1.0 - delta))
    if sigma2 != wanted and point.tau <= limit:  # the point is not that of σ
        point = _evaluate(work, waiting, limit, guess, row, -1.0, line, delta, sigma2)
    return delta, sigma2, point


@kernel()
def _solve(work, waiting, limit, guess, row, hinge, flipped):
    """Return δ, σ₂ and the point of the proximal step; `hinge` and `flipped` are the pieces at σ = 0.

    A point whose threshold is above `limit` is void, as in `_evaluate`.
    """
    best_gap = math.inf
    best = (0.0, 0.0, Point(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    edges = 1 if math.isinf(row.kappa) else 4
    for place in range(edges):
        line, start = HINGE_FIRST[place] if hinge > 0.0 else FLIP_FIRST[place]
        if place == 0:
            start = _short_of_maximum(row, line, hinge if hinge > 0.0 else flipped)
        candidate = _maximise(work, waiting, limit, guess, row, -1.0, line, start)
        gap = _duality_gap(row, candidate[2], candidate[0], candidate[1])
        void = candidate[2].tau > limit
        if gap < best_gap or void:
            best_gap, best = gap, candidate
        if gap <= 8.0 * EPS or void:
            best_gap = 0.0
            break
    if best_gap > 0.0 and row.kappa > 0.0 and edges > 1:
        candidate = _triple_kink(work, waiting, limit, guess, row)
        gap = _duality_gap(row, candidate[2], candidate[0], candidate[1])
        if gap < best_gap or candidate[2].tau > limit:
            best = candidate
    return best


@kernel(fastmath=FAST)
def _draw(data, indices, start, end, sign, w, pending, work, numbers, counts):
    """Take the row out of the weights, and out of what is pending, and put it into `work`.

    Returns z·z, Σ |w_j z_j|, the largest |z_j|, and Σ |w_j|.
    """
    offset, scale = numbers[OFFSET], numbers[SCALE]
    square = size = largest = total = 0.0
    active = 0
    for k in range(end - start):
        j = np.uint64(indices[start + k])
        u = w[j]
        x = sign * data[start + k]
        value = scale * (u - min(max(u, -offset), offset))
        w[j] = 0.0
        work[WEIGHTS, k] = value
        work[Z, k] = x
        square += x * x
        size += abs(value * x)
        largest = max(largest, abs(x))
        total += abs(value)
        active += np.int64(u != 0.0)
    waiting = np.uint64(0)
    for k in range(np.uint64(counts[WAITING])):
        j = np.uint64(pending[k])
        pending[waiting] = j
        work[SIZES, waiting] = work[SIZES, k]
        waiting += np.uint64(w[j] != 0.0)
    counts[WAITING] = waiting
    counts[ACTIVE] -= active
    return square, size, largest, total


@kernel()
def _put_back(indices, start, end, shift, tau, rho, w, slot, tails, chunks, work, numbers, counts):
    """Put the row, moved by shift·z and thresholded, back among the weights, and return its Σ |w_j|."""
    offset, density, far = numbers[OFFSET], numbers[DENSITY], numbers[FAR]
    unused, top = np.uint64(counts[UNUSED]), np.uint64(counts[TOP])
    factor = 1.0 / (rho * numbers[SCALE])
    total = 0.0
    active = 0
    for k in range(end - start):
        a = work[WEIGHTS, k] + shift * work[Z, k]
        over = abs(a) - tau
        value = over * factor + offset
        if over > 0.0 and value > 0.0:
            total += over
            active += 1
            j = np.uint64(indices[start + k])
            w[j] = math.copysign(value, a)
            bucket = _bucket(density, far, value)
            if _is_missing(slot[j], bucket):
                unused, top = _push(slot, tails, chunks, unused, top, j, bucket)
    counts[UNUSED] = unused
    counts[TOP] = top
    counts[ACTIVE] += active
    counts[MOVED] += end - start
    return total / rho


@kernel()
def ippa_epoch(
    data,
    indices,
    indptr,
    signs,
    importance,
    order,
    w,
    scalars,
    eta,
    radius,
    kappa,
    l2,
    with_intercept,
    hinge_mean,
    flip_mean,
    share,
):
    """Take the exact proximal step of each sample in turn.

    Parameters
    ----------
    data, indices, indptr : arrays
        Rows in CSR form, without repeated columns; indices and indptr of an unsigned type.
    signs, importance : arrays of shape (n,)
        Labels ±1, and weights of the samples' losses; a weight of 0 leaves the rest of the step.
    order : int64 array
        The samples to visit, one after another.
    w, scalars : arrays of shape (d,) and (2,)
        The weights, and λ and b; changed in place.
    eta, radius, kappa, l2 : float
        Step size η, and ε, κ (may be inf) and c of the problem.
    with_intercept : float
        1, or 0 to leave b as it is.
    hinge_mean, flip_mean : arrays of shape (n,)
        Running means of the multipliers, as shares of the importance: each moves by `share` towards the present one.
    share : float
        See above.
    """
    rho = min(1.0 + eta * l2, 1e100)
    lam, b = scalars[0], scalars[1]
    slot, tails, chunks, pending, work, numbers, counts = _make_queue(data, indptr, w, eta, radius)
    flips = not math.isinf(kappa)
    usual = 0.0  # threshold of a step with a loss
    for n in range(order.size):
        i = np.uint64(order[n])
        start, end = np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])
        sign, step, level = signs[i], eta * importance[i], lam - eta * radius
        hinge_before, flip_before = hinge_mean[i], flip_mean[i]  # fetched early: they are far from the cache
        total, active = numbers[TOTAL], float(counts[ACTIVE])
        tau, left = _threshold(work, 0, total, active, level, rho)
        limit = -1.0
        while tau > limit:  # each time one more bucket is opened at least, or nothing changes and τ is at the limit
            limit = _open(w, slot, tails, chunks, pending, work, numbers, counts, tau)
            tau, left = _threshold(work, counts[WAITING], total, active, level, rho)
        offset = numbers[OFFSET] + tau / numbers[SCALE]
        margin = sign * (numbers[SCALE] / rho * _dot(data, indices, start, end, w, offset) + b)
        new = left / rho if tau > 0.0 else level
        flipped = 1.0 + margin - kappa * new if flips else 0.0
        delta = sigma2 = row_total = 0.0
        left /= rho
        loss = step > 0.0 and (margin < 1.0 or flipped > 0.0)
        if loss:
            square, size, largest, drawn = _draw(data, indices, start, end, sign, w, pending, work, numbers, counts)
            kept = float(counts[ACTIVE])
            others = max(total - drawn, 0.0) if kept > 0.0 else 0.0
            length = np.int64(end - start)
            row = Row(
                length, level, sign * b, with_intercept, step, rho, kappa, square, size, largest, total, others, kept
            )
            limit = _open(w, slot, tails, chunks, pending, work, numbers, counts, max(tau, 1.1 * usual))
            tau = max(tau, usual)
            delta, sigma2, point = _solve(work, counts[WAITING], limit, tau, row, 1.0 - margin, flipped)
            for opening in range(MOST_OPENINGS + 1):
                if not point.tau > limit:
                    break
                tau = point.tau
                asked = 1.1 * tau if opening < MOST_OPENINGS else math.inf
                limit = _open(w, slot, tails, chunks, pending, work, numbers, counts, asked)
                delta, sigma2, point = _solve(work, counts[WAITING], limit, tau, row, 1.0 - margin, flipped)
            usual += 0.1 * (point.tau - usual)
            new, tau, left = point.level, point.tau, point.total
        _shrink(w, slot, tails, chunks, pending, work, numbers, counts, tau, rho)
        if loss:
            row_total = _put_back(
                indices, start, end, step * delta, tau, rho, w, slot, tails, chunks, work, numbers, counts
            )
            b += with_intercept * step * delta * sign
        lam = new
        numbers[TOTAL] = left + row_total
        if _fold_is_due(chunks, numbers, counts):
            _fold(w, slot, tails, chunks, pending, work, numbers, counts)
        hinge_mean[i] = hinge_before + share * (max(sigma2 + delta, 0.0) - hinge_before)
        flip_mean[i] = flip_before + share * (sigma2 - flip_before)
    _flush(w, numbers)
    scalars[0], scalars[1] = lam, b


@kernel()
def _add(data, indices, start, end, factor, w, slot, pending, numbers, counts):
    """Add factor·x to the weights. Those that are new, or too small for their bucket, become pending."""
    offset, scale, density, far = numbers[OFFSET], numbers[SCALE], numbers[DENSITY], numbers[FAR]
    waiting = np.uint64(counts[WAITING])
    factor /= scale
    total = 0.0
    active = 0
    for k in range(start, end):
        j = np.uint64(indices[k])
        u = w[j]
        before = u - min(max(u, -offset), offset)
        after = before + factor * data[k]
        size = abs(after)
        total += size - abs(before)
        active += np.int64(size > 0.0) - np.int64(u != 0.0)
        w[j] = math.copysign(size + offset, after) if size > 0.0 else 0.0
        if _is_missing(slot[j], _bucket(density, far, size + offset)):
            pending[waiting] = j
            waiting += np.uint64(1)
            slot[j] = PENDING
    counts[WAITING] = waiting
    numbers[TOTAL] += scale * total
    counts[ACTIVE] += active
    counts[MOVED] += end - start


@kernel()
def _measure(w, slot, pending, work, numbers, counts):
    """Write the sizes of the pending weights, and drop those that became zero again."""
    offset, scale = numbers[OFFSET], numbers[SCALE]
    waiting = np.uint64(0)
    for k in range(np.uint64(counts[WAITING])):
        j = np.uint64(pending[k])
        slot[j] = 0
        pending[waiting] = j
        work[SIZES, waiting] = scale * (abs(w[j]) - offset)
        waiting += np.uint64(w[j] != 0.0)
    counts[WAITING] = waiting


@kernel()
def _project(w, slot, tails, chunks, pending, work, numbers, counts, level):
    """Project the weights and the level onto the epigraph; return the new level."""
    total, active = max(numbers[TOTAL], 0.0), float(counts[ACTIVE])
    _measure(w, slot, pending, work, numbers, counts)
    tau, left = _threshold(work, counts[WAITING], total, active, level, 1.0)
    limit = -1.0
    while tau > limit:  # as in `ippa_epoch`
        limit = _open(w, slot, tails, chunks, pending, work, numbers, counts, 1.1 * tau)
        tau, left = _threshold(work, counts[WAITING], total, active, level, 1.0)
    _shrink(w, slot, tails, chunks, pending, work, numbers, counts, tau, 1.0)
    numbers[TOTAL] = left
    if _fold_is_due(chunks, numbers, counts):
        _fold(w, slot, tails, chunks, pending, work, numbers, counts)
    return left if tau > 0.0 else level


@kernel()
def isg_epoch(
    data,
    indices,
    indptr,
    signs,
    importance,
    order,
    w,
    scalars,
    eta,
    radius,
    kappa,
    l2,
    with_intercept,
    hinge_mean,
    flip_mean,
    share,
    batch_size,
):
    """Take one projected subgradient step for each batch of samples.

    The gradient is the mean over the batch (the last one may be smaller). The ridge term is taken implicitly: w shrinks
    by 1/(1 + ηc) before the projection, for any η. The active pieces of the losses count as multipliers. Parameters as
    in `ippa_epoch`; `batch_size` ≥ 1.
    """
    rho = min(1.0 + eta * l2, 1e100)
    lam, b = scalars[0], scalars[1]
    slot, tails, chunks, pending, work, numbers, counts = _make_queue(data, indptr, w, eta, radius)
    pulls = np.empty(batch_size)
    for first in range(0, order.size, batch_size):
        size = min(batch_size, order.size - first)
        push = shift = 0.0
        for n in range(size):
            i = np.uint64(order[first + n])
            hinge_before, flip_before = hinge_mean[i], flip_mean[i]  # fetched early: they are far from the cache
            start, end = np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])
            margin = signs[i] * (numbers[SCALE] * _dot(data, indices, start, end, w, numbers[OFFSET]) + b)
            hinge = 1.0 - margin
            flipped = 1.0 + margin - kappa * lam if kappa < math.inf else -math.inf
            on_hinge = 1.0 if hinge > 0.0 and hinge >= flipped else 0.0
            on_flip = 1.0 if flipped > 0.0 and flipped > hinge else 0.0
            step = eta * importance[i] / size
            pulls[n] = step * (on_hinge - on_flip) * signs[i]
            shift += pulls[n]
            push += step * on_flip
            hinge_mean[i] = hinge_before + share * (on_hinge - hinge_before)
            flip_mean[i] = flip_before + share * (on_flip - flip_before)
        for n in range(size):
            i = np.uint64(order[first + n])
            start, end = np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])
            if pulls[n] != 0.0:
                _add(data, indices, start, end, pulls[n], w, slot, pending, numbers, counts)
        numbers[SCALE] /= rho
        numbers[TOTAL] /= rho
        level = lam - eta * radius + (kappa * push if push > 0.0 else 0.0)
        lam = _project(w, slot, tails, chunks, pending, work, numbers, counts, level)
        b += with_intercept * shift
    _flush(w, numbers)
    scalars[0], scalars[1] = lam, b
