"""Epochs of exact proximal steps, one row at a time.

The objective is the mean over the rows of

    f_i(w, b, λ) = g_i · max(1 − m_i, 1 + m_i − κλ, 0) + ελ + (c/2)‖w‖²,      g_i = n π_i,

over ‖w‖_q ≤ λ. A proximal step on f_i has the multipliers g_i·σ with σ in the triangle {σ₁, σ₂ ≥ 0, σ₁ + σ₂ ≤ 1}. With
δ = σ₁ − σ₂ and ρ = 1 + ηc it goes to the point of the cone that belongs to

    a = w + η g_i δ y_i x_i,      s = λ − ηε + η g_i κ σ₂,      b + η g_i δ y_i · free,

(over ρ; see `epigraph.py`). `free` is 0 without an intercept, and otherwise the square of the unit of the rows.
For q = 2 the whole step is arithmetic on a few scalars, and w is kept as scale × vector: a step costs as much as the
nonzeros of the row. For q = ∞ a plain step costs passes over all weights, which vector instructions make quick.

Steps with memory keep the pulls of all other rows: state is their sum before the projection onto the cone, which is
therefore sparse in what changes, and all norms cost as much as the nonzeros of the row. For q = 1 and ∞ the projection
is known through the entries of a whose size is within a band around the present threshold; entries above it by sum and
number.

Arrays travel as arguments of their own, and small functions are inlined: numba counts references to arrays whenever
they are called with or taken from a tuple, which would cost more than the arithmetic. `work` holds, one after another,
NUMBERS figures, the entries of w at the row, the row itself, and w; `index` holds the members of the band and the place
of each entry among them.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from drsvm.kernels.compiling import kernel

FAST = {"reassoc", "contract", "nsz"}

TOLERANCE = 1e-11
"""Duality gap of a step, relative to the size of the numbers in it, that counts as none."""

MOST_STEPS = 100
"""Newton steps on a piecewise linear function: it takes three or four."""

NARROW, MOST_TRIALS = 1e-15, 104
"""A bracket of multipliers that is no wider holds one number; one of width 2 is halved 51 times until it is as narrow,
which takes two trials each, after one at either end."""

SMALLEST_SCALE, CANCELLED = 1e-60, 1e-8
"""The vector is made plain when its scale is smaller; its norm is computed afresh when this little of it is left."""

HINGE, FLIPPED, MIXED, KINK = 0, 1, 2, 3
"""Edges of the triangle: from (0, 0) to σ₁ = 1, from (0, 0) to σ₂ = 1, and between these two; and its inside."""

STARTS = ((0.0, 0.0), (0.0, 0.0), (1.0, 0.0), (0.0, 0.0))
DIRECTIONS = ((1.0, 0.0), (-1.0, 1.0), (-2.0, 1.0), (1.0, 0.0))
"""The edges as lines t ↦ (δ, σ₂) for 0 ≤ t ≤ 1. In the inside λ is held at 2/κ, and t = δ from −1 to 1."""

LOW, HIGH, WIDTH, SIZE, SUM, NUMBER, STEPS, NUMBERS = range(8)
"""Ends of the band, its half width, its number of members; sum and number above it; steps since it was built."""

MANY_MEMBERS, FEW_STEPS = 48, 32
"""A band with more members than this becomes narrower, one that lasts for fewer steps wider."""


class Step(NamedTuple):
    """What a proximal step needs besides the weights."""

    length: float  # η g_i
    rho: float
    kappa: float  # 0 where labels are trusted
    flips: bool
    level: float  # λ − ηε
    guess: float  # about the λ to come
    bias: float  # y_i b
    free: float
    noise: float  # size of the numbers in the loss
    entries: Any  # number of entries of the row


class Euclidean(NamedTuple):
    """q = 2: scalars that stand for the weights."""

    along: float  # y_i w·x_i
    square: float  # x_i·x_i
    norm_square: float  # w·w


class Box(NamedTuple):
    """q = ∞: where in `work` the entries of the row (y_i x_ij) and the weights begin, and where they end."""

    row: Any
    others: Any  # 0 at the entries of the row
    end: Any


class BandedBox(NamedTuple):
    """q = ∞, with a band around λ."""

    row: Any
    others: Any
    end: Any


class BandedDiamond(NamedTuple):
    """q = 1, with a band around the threshold."""

    row: Any
    others: Any
    end: Any


# --- sums over the sizes of all weights ------------------------------------------------------------------------------


@kernel(fastmath=FAST)
def _excess(work, first, end, limit):
    """Return Σ (|w_j| − limit)₊ and the number of positive terms."""
    total = 0.0
    count = 0.0
    for j in range(np.uint64(first), np.uint64(end)):
        over = abs(work[j]) - limit
        total += max(over, 0.0)
        count += 1.0 if over > 0.0 else 0.0
    return total, count


@kernel(fastmath=FAST)
def _build_band(work, index, first, end, limit):
    if work[STEPS] < FEW_STEPS:
        work[WIDTH] *= 2.0
    elif work[SIZE] > MANY_MEMBERS:
        work[WIDTH] *= 0.5
    low, high = max(limit - work[WIDTH], 0.0), limit + work[WIDTH]
    place = np.uint64(index.size // 2) - np.uint64(first)
    size = np.uint64(0)
    number = 0.0
    total = 0.0
    for j in range(np.uint64(first), np.uint64(end)):
        value = abs(work[j])
        if value > high:
            total += value
            number += 1.0
        elif value > low:
            index[size], index[place + j] = j, size
            size += np.uint64(1)
    work[LOW], work[HIGH], work[SIZE], work[STEPS] = low, high, float(size), 0.0
    work[SUM], work[NUMBER] = total, number


@kernel(fastmath=FAST, inline="always")
def _band_excess(work, index, first, end, limit):
    """Return the same as `_excess`, from the band."""
    if not (work[LOW] <= limit <= work[HIGH]):
        _build_band(work, index, first, end, limit)
    total = max(work[SUM] - work[NUMBER] * limit, 0.0)
    count = work[NUMBER]
    for m in range(np.uint64(work[SIZE])):
        over = abs(work[index[m]]) - limit
        total += max(over, 0.0)
        count += 1.0 if over > 0.0 else 0.0
    return total, count


@kernel(fastmath=FAST, inline="always")
def _take_out(work, index, first, j):
    """Return an entry and set it to 0."""
    value = work[j]
    size = abs(value)
    work[SUM] -= size if size > work[HIGH] else 0.0  # no branch: nobody could foretell it
    work[NUMBER] -= 1.0 if size > work[HIGH] else 0.0
    if work[LOW] < size <= work[HIGH]:
        work[SIZE] -= 1.0
        place = np.uint64(index.size // 2) - first
        last = index[np.uint64(work[SIZE])]
        index[index[place + j]], index[place + last] = last, index[place + j]
    work[j] = 0.0
    return value


@kernel(fastmath=FAST, inline="always")
def _put_in(work, index, first, j, value):
    size = abs(value)
    work[SUM] += size if size > work[HIGH] else 0.0
    work[NUMBER] += 1.0 if size > work[HIGH] else 0.0
    if work[LOW] < size <= work[HIGH]:
        member = np.uint64(work[SIZE])
        index[member], index[np.uint64(index.size // 2) - first + j] = j, member
        work[SIZE] += 1.0
    work[j] = value


def _others_excess(weights, work, index, limit) -> Any:
    """Return Σ (|w_j| − limit)₊ and the number of positive terms over the entries outside the row."""
    raise NotImplementedError("for compiled code only")


@overload(_others_excess, inline="always")
def _others_excess_for(weights, work, index, limit):
    if weights.instance_class is Box:
        return lambda weights, work, index, limit: _excess(work, weights.others, weights.end, limit)
    return lambda weights, work, index, limit: _band_excess(work, index, weights.others, weights.end, limit)


@kernel(fastmath=FAST, inline="always")
def _all_excess(weights, work, index, count, shift, limit):
    """Return Σ (|a_j| − limit)₊ and the number of positive terms over all entries of a = w + shift·z."""
    total, above = _others_excess(weights, work, index, limit)
    row = np.uint64(weights.row)
    for k in range(np.uint64(NUMBERS), np.uint64(NUMBERS + count)):
        over = abs(work[k] + shift * work[k + row]) - limit
        total += max(over, 0.0)
        above += 1.0 if over > 0.0 else 0.0
    return total, above


# --- the point that belongs to given multipliers, and its derivatives along a direction ------------------------------


@kernel(fastmath=FAST)
def _euclidean_point(step, weights, work, index, delta, sigma2, towards, ball):
    """Return margin and λ at (δ, σ₂) and their slopes; with `ball` ≥ 0, λ is held at that value."""
    shift, rate = step.length * delta, step.length * towards[0]
    s, s_slope = step.level + step.length * step.kappa * sigma2, step.length * step.kappa * towards[1]
    inner = (weights.along + shift * weights.square) / step.rho
    inner_slope = rate * weights.square / step.rho
    square = weights.norm_square + shift * (2.0 * weights.along + shift * weights.square)
    norm = math.sqrt(max(square, 0.0)) / step.rho
    margin, margin_slope = step.bias + step.free * shift, step.free * rate
    limit = ball if ball >= 0.0 else s
    if norm <= limit:
        return margin + inner, limit, margin_slope + inner_slope, s_slope
    if ball < 0.0 and step.rho * norm <= -s:
        return margin, 0.0, margin_slope, 0.0
    norm_slope = rate * inner / (step.rho * norm)
    level, level_slope = ball, 0.0
    if ball < 0.0:
        level = (step.rho * norm + s) / (1.0 + step.rho)
        level_slope = (step.rho * norm_slope + s_slope) / (1.0 + step.rho)
    factor = level / norm
    factor_slope = (level_slope - factor * norm_slope) / norm
    return margin + factor * inner, level, margin_slope + factor * inner_slope + factor_slope * inner, level_slope


@kernel(fastmath=FAST)
def _box_level(weights, work, index, count, shift, s, rho, guess):
    """Return λ ≥ 0 with λ = s + Σ (|a_j| − ρλ)₊ (0 where there is none), and the number of clipped entries.

    The difference of the two sides is convex in λ: Newton's method comes from the left after one step, and then
    never turns back.
    """
    level = max(guess, s, 0.0)
    before, clipped = -1.0, 0.0
    for _ in range(MOST_STEPS):
        total, clipped = _all_excess(weights, work, index, count, shift, rho * level)
        new = max(level + (s + total - level) / (1.0 + rho * clipped), 0.0)
        if new in (level, before) or (before >= 0.0 and new <= level):
            break
        before, level = level, new
    return level, clipped


@kernel(fastmath=FAST)
def _box_point(step, weights, work, index, delta, sigma2, towards, ball):
    """Return margin and λ at (δ, σ₂) and their slopes; with `ball` ≥ 0, λ is held at that value."""
    shift, rate = step.length * delta, step.length * towards[0]
    s, s_slope = step.level + step.length * step.kappa * sigma2, step.length * step.kappa * towards[1]
    level, clipped = ball, 0.0
    if ball < 0.0:
        level, clipped = _box_level(weights, work, index, step.entries, shift, s, step.rho, step.guess)
    limit = step.rho * level
    row = np.uint64(weights.row)
    inner = signed = square = 0.0
    for k in range(np.uint64(NUMBERS), np.uint64(NUMBERS + step.entries)):
        z = work[k + row]
        value = work[k] + shift * z
        inner += min(max(value, -limit), limit) * z
        outwards = (z if value > limit else 0.0) - (z if value < -limit else 0.0)
        signed += outwards
        square += z * z - outwards * outwards
    level_slope = 0.0
    if ball < 0.0 and level > 0.0:
        level_slope = (s_slope + rate * signed) / (1.0 + step.rho * clipped)
    margin_slope = (step.free + square / step.rho) * rate + signed * level_slope
    return step.bias + step.free * shift + inner / step.rho, level, margin_slope, level_slope


@kernel(fastmath=FAST)
def _diamond_threshold(weights, work, index, count, shift, s, weight, guess):
    """Return τ ≥ 0 with Σ (|a_j| − τ)₊ = s + weight·τ (0 where Σ |a_j| is smaller than s), and the number above τ."""
    tau = max(guess, 0.0)
    before, above = -1.0, 0.0
    for _ in range(MOST_STEPS):
        total, above = _all_excess(weights, work, index, count, shift, tau)
        slope = weight + above
        new = max(tau + (total - s - weight * tau) / slope, 0.0) if slope > 0.0 else 0.0
        if new in (tau, before) or (before >= 0.0 and new <= tau):
            break
        before, tau = tau, new
    return tau, above


@kernel(fastmath=FAST)
def _diamond_point(step, weights, work, index, delta, sigma2, towards, ball):
    """Return margin and λ at (δ, σ₂) and their slopes; with `ball` ≥ 0, λ is held at that value."""
    shift, rate = step.length * delta, step.length * towards[0]
    s, s_slope = step.level + step.length * step.kappa * sigma2, step.length * step.kappa * towards[1]
    guess = step.guess - s
    if ball < 0.0:
        tau, above = _diamond_threshold(weights, work, index, step.entries, shift, step.rho * s, step.rho, guess)
        level = s + tau
    else:
        tau, above = _diamond_threshold(weights, work, index, step.entries, shift, step.rho * ball, 0.0, guess)
        level = ball
    row = np.uint64(weights.row)
    inner = signed = square = 0.0
    for k in range(np.uint64(NUMBERS), np.uint64(NUMBERS + step.entries)):
        z = work[k + row]
        value = work[k] + shift * z
        inner += (value - min(max(value, -tau), tau)) * z
        outwards = (z if value > tau else 0.0) - (z if value < -tau else 0.0)
        signed += outwards
        square += outwards * outwards
    tau_slope = 0.0
    if tau > 0.0:
        if ball < 0.0:
            tau_slope = (rate * signed - step.rho * s_slope) / (above + step.rho)
        elif above > 0.0:
            tau_slope = rate * signed / above
    margin_slope = step.free * rate + (rate * square - signed * tau_slope) / step.rho
    return step.bias + step.free * shift + inner / step.rho, level, margin_slope, s_slope + tau_slope


def _point(step, weights, work, index, delta, sigma2, towards, ball) -> Any:
    """Return margin and λ at (δ, σ₂) and their slopes: for each norm, by the type of the weights."""
    raise NotImplementedError("for compiled code only")


POINTS = {Euclidean: _euclidean_point, Box: _box_point, BandedBox: _box_point, BandedDiamond: _diamond_point}


@overload(_point, inline="always")
def _point_for(step, weights, work, index, delta, sigma2, towards, ball):
    chosen = POINTS[weights.instance_class]

    def compiled(step, weights, work, index, delta, sigma2, towards, ball):
        return chosen(step, weights, work, index, delta, sigma2, towards, ball)

    return compiled


# --- the multipliers of a step ---------------------------------------------------------------------------------------


@kernel(fastmath=FAST)
def _maximise(step, weights, work, index, line, t, low, high, ball):
    """Return t, margin and λ where the dual function is largest on a line, from a guess of t.

    Its slope is (1 − m, 2 − κλ)·(δ', σ₂'), which falls: Newton steps, within a bracket that shrinks by half at least
    in every second step. Either end of the line is tried once: where the slope bends, Newton steps may lead from one to
    the other and back.
    """
    start, towards = STARTS[line], DIRECTIONS[line]
    first, final, width = low, high, math.inf
    low_tried = high_tried = False
    margin = level = 0.0
    for _ in range(MOST_TRIALS):
        delta, sigma2 = start[0] + t * towards[0], start[1] + t * towards[1]
        margin, level, margin_slope, level_slope = _point(step, weights, work, index, delta, sigma2, towards, ball)
        slope = towards[0] * (1.0 - margin)
        curvature = -towards[0] * margin_slope
        if towards[1] != 0.0:
            slope += towards[1] * (2.0 - step.kappa * level)
            curvature -= towards[1] * step.kappa * level_slope
        if abs(slope) <= 0.1 * TOLERANCE * step.noise:
            break
        if (t == first and slope < 0.0) or (t == final and slope > 0.0) or not high - low > NARROW:
            break
        if slope > 0.0:
            low, low_tried = t, True
        else:
            high, high_tried = t, True
        new = t - slope / curvature if curvature < 0.0 else (high if slope > 0.0 else low)
        if new >= high:
            new = 0.5 * (low + high) if high_tried else high
        elif new <= low:
            new = 0.5 * (low + high) if low_tried else low
        elif high - low > 0.5 * width:
            new = 0.5 * (low + high)
        width = high - low
        if new == t:
            break
        t = new
    return t, margin, level


@kernel(fastmath=FAST)
def _gap(step, margin, level, delta, sigma2):
    """Return the duality gap of the multipliers."""
    hinge = 1.0 - margin
    if not step.flips:
        return max(hinge, 0.0) - delta * hinge
    flipped = 1.0 + margin - step.kappa * level
    return max(hinge, flipped, 0.0) - (delta + sigma2) * hinge - sigma2 * flipped


@kernel(fastmath=FAST)
def _raise_level(step, weights, work, index, delta, wanted):
    """Return the σ₂ within the triangle for which λ is nearest to the wanted one, with margin and λ.

    λ is linear in σ₂ as long as the same weights are clipped: Newton's method ends after one step, or a few.
    """
    low, high = max(0.0, -delta), 0.5 * (1.0 - delta)
    sigma2 = low
    margin, level = 0.0, 0.0
    for _ in range(MOST_STEPS):
        margin, level, _, level_slope = _point(step, weights, work, index, delta, sigma2, (0.0, 1.0), -1.0)
        lacking = wanted - level
        if abs(lacking) * step.kappa <= 0.1 * TOLERANCE * step.noise:
            break
        if lacking > 0.0:
            low = sigma2
        else:
            high = sigma2
        new = sigma2 + lacking / level_slope if level_slope > 0.0 else high
        new = min(max(new, low), high)
        if new == sigma2:
            break
        sigma2 = new
    return sigma2, margin, level


@kernel(fastmath=FAST)
def _first_line(step, delta, sigma2):
    """Return the edge, or the inside, that holds the given multipliers, and their place on it."""
    hinge = delta + sigma2
    if sigma2 > 0.0 and hinge > 0.0 and hinge + sigma2 < 1.0 and step.kappa > 0.0:
        return KINK, delta
    if sigma2 > 0.0:
        return FLIPPED if hinge <= 0.0 else MIXED, sigma2
    return HINGE, delta


@kernel(fastmath=FAST)
def _multipliers(step, weights, work, index, delta, sigma2):
    """Return δ, σ₂ and λ of the proximal step, from a guess of the first two.

    The dual function is concave on the triangle. Its largest values on the edges and in the inside are found one after
    the other, the likeliest first, until one of them shows no duality gap. In the inside lies the triple kink m = 1,
    κλ = 2: with λ held there, δ is the root of m = 1, and σ₂ makes up for what λ lacks.
    """
    line, t = _first_line(step, delta, sigma2)
    kink_left = step.kappa > 0.0
    edges_left = 3
    best_delta, best_sigma2, best_level, best_gap = 0.0, 0.0, 0.0, math.inf
    for _ in range(4):  # three edges and the inside
        low, ball = (-1.0, 2.0 / step.kappa) if line == KINK else (0.0, -1.0)
        t, margin, level = _maximise(step, weights, work, index, line, t, low, 1.0, ball)
        delta, sigma2 = STARTS[line][0] + t * DIRECTIONS[line][0], t * DIRECTIONS[line][1]
        if line == KINK:
            sigma2, margin, level = _raise_level(step, weights, work, index, delta, ball)
        gap = _gap(step, margin, level, delta, sigma2)
        if gap < best_gap:
            best_delta, best_sigma2, best_level, best_gap = delta, sigma2, level, gap
        kink_left &= line != KINK
        edges_left -= 0 if line == KINK else 1
        if gap <= TOLERANCE * step.noise or not step.flips or not (edges_left > 0 or kink_left):
            break
        if edges_left > 0:
            line, t = (HINGE if line == KINK else (line + 1) % 3), 0.5
        else:
            line, t = KINK, best_delta
    return best_delta, best_sigma2, best_level


# --- plain steps ------------------------------------------------------------------------------------------------------


@kernel(fastmath=FAST)
def _likely(margin, level, kappa, flips):
    """Return δ and σ₂ of the piece of the loss that is largest before the step."""
    if margin < 1.0:
        return 1.0, 0.0
    return (-1.0, 1.0) if flips and 1.0 + margin > kappa * level else (0.0, 0.0)


@kernel(fastmath=FAST)
def _row_sums(data, indices, first, last, v):
    """Return x·v and x·x."""
    inner = 0.0
    square = 0.0
    for k in range(first, last):
        x = float(data[k])
        inner += x * v[np.uint64(indices[k])]
        square += x * x
    return inner, square


@kernel(fastmath=FAST)
def _add_row(data, indices, first, last, factor, v):
    for k in range(first, last):
        v[np.uint64(indices[k])] += factor * data[k]


@kernel(fastmath=FAST)
def _square(v):
    total = 0.0
    for j in range(v.size):
        total += v[j] * v[j]
    return total


@kernel(fastmath=FAST)
def _clear_rows(indices, indptr, order, first, last, v):
    """Set v to 0, where only the given stretch of rows has touched it."""
    touched = np.uint64(0)
    for position in range(first, last):
        i = order[position]
        touched += indptr[i + 1] - indptr[i]
        if touched > v.size:
            v[:] = 0.0
            return
    for position in range(first, last):
        i = order[position]
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            v[np.uint64(indices[k])] = 0.0


@kernel(fastmath=FAST)
def _onto_cone(norm, s, rho):
    """Return λ and the factor of a for q = 2."""
    if norm <= s:
        return s, 1.0
    if rho * norm <= -s:
        return 0.0, 0.0
    level = (rho * norm + s) / (1.0 + rho)
    return level, level / norm


@kernel(fastmath=FAST)
def ippa_epoch_l2(
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
    free,
    hinge_mean,
    flip_mean,
    share,
):
    """Take a proximal step on every row in the given order, q = 2; w and scalars = [λ, b] are changed in place."""
    flips = not math.isinf(kappa)
    price = kappa if flips else 0.0
    rho = 1.0 + eta * l2
    level, b = scalars[0], scalars[1]
    scale, norm_square = 1.0, _square(w)
    nothing, nowhere = np.empty(0), np.empty(0, np.uint64)
    cleared = -1  # position since which w has been built up from 0
    for position in range(order.size):
        i = order[position]
        sign, length = signs[i], eta * importance[i]
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        inner, square = _row_sums(data, indices, first, last, w)
        along = sign * scale * inner
        bias = sign * b
        noise = 1.0 + abs(along) + abs(bias) + price * abs(level) + length * (square + free + price * price)
        step = Step(length, rho, price, flips, level - eta * radius, level, bias, free, noise, 0)
        delta, sigma2 = _likely(along + bias, level, price, flips)
        delta, sigma2, _ = _multipliers(step, Euclidean(along, square, norm_square), nothing, nowhere, delta, sigma2)
        shift = length * delta
        if shift != 0.0:
            _add_row(data, indices, first, last, shift * sign / scale, w)
        new_square = norm_square + shift * (2.0 * along + shift * square)
        if new_square < CANCELLED * (norm_square + shift * shift * square):
            new_square = scale * scale * _square(w)
        norm = math.sqrt(new_square) / rho
        level, factor = _onto_cone(norm, step.level + length * price * sigma2, rho)
        norm_square = (factor * norm) ** 2
        b += shift * sign * free
        scale *= factor / rho
        if factor == 0.0:
            if cleared < 0:
                w[:] = 0.0
            else:
                _clear_rows(indices, indptr, order, cleared, position + 1, w)
            cleared, scale, norm_square = position + 1, 1.0, 0.0
        elif scale < SMALLEST_SCALE:
            w *= scale
            scale, norm_square = 1.0, _square(w)
        hinge_mean[i] += share * (max(delta + sigma2, 0.0) - hinge_mean[i])
        flip_mean[i] += share * (sigma2 - flip_mean[i])
    w *= scale
    scalars[0], scalars[1] = level, b


@kernel(fastmath=FAST)
def _longest_row(indptr):
    longest = np.uint64(0)
    for i in range(indptr.size - 1):
        longest = max(longest, np.uint64(indptr[i + 1]) - np.uint64(indptr[i]))
    return np.int64(longest)


@kernel(fastmath=FAST)
def _clip_all(work, first, end, rho, level):
    inverse = 1.0 / rho
    for j in range(np.uint64(first), np.uint64(end)):
        work[j] = min(max(work[j] * inverse, -level), level)


@kernel(fastmath=FAST)
def ippa_epoch_linf(
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
    free,
    hinge_mean,
    flip_mean,
    share,
):
    """Take a proximal step on every row in the given order, q = ∞; w and scalars = [λ, b] are changed in place."""
    flips = not math.isinf(kappa)
    price = kappa if flips else 0.0
    rho = 1.0 + eta * l2
    level, b = scalars[0], scalars[1]
    longest = _longest_row(indptr)
    others = NUMBERS + 2 * longest
    box = Box(longest, others, others + w.size)
    work, nowhere = np.empty(others + w.size), np.empty(0, np.uint64)
    work[others:] = w
    row, base = np.uint64(longest), np.uint64(others)
    for position in range(order.size):
        i = order[position]
        sign, length = signs[i], eta * importance[i]
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        count = np.int64(last - first)
        along = square = 0.0
        to = np.uint64(NUMBERS)
        for k in range(first, last):
            z = sign * data[k]
            j = base + np.uint64(indices[k])
            work[to], work[to + row] = work[j], z
            along += z * work[j]
            square += z * z
            work[j] = 0.0
            to += np.uint64(1)
        bias = sign * b
        noise = 1.0 + abs(along) + abs(bias) + price * abs(level) + length * (square + free + price * price)
        step = Step(length, rho, price, flips, level - eta * radius, level, bias, free, noise, count)
        delta, sigma2 = _likely(along + bias, level, price, flips)
        delta, sigma2, _ = _multipliers(step, box, work, nowhere, delta, sigma2)
        shift = length * delta
        new_level, _ = _box_level(box, work, nowhere, count, shift, step.level + length * price * sigma2, rho, level)
        to = np.uint64(NUMBERS)
        for k in range(first, last):
            value = work[to] + shift * work[to + row]
            work[base + np.uint64(indices[k])] = min(max(value, -rho * new_level), rho * new_level)
            to += np.uint64(1)
        if rho != 1.0 or new_level < level:
            _clip_all(work, others, others + w.size, rho, new_level)
        level = new_level
        b += shift * sign * free
        hinge_mean[i] += share * (max(delta + sigma2, 0.0) - hinge_mean[i])
        flip_mean[i] += share * (sigma2 - flip_mean[i])
    w[:] = work[others:]
    scalars[0], scalars[1] = level, b


# --- steps with memory ------------------------------------------------------------------------------------------------


@kernel(fastmath=FAST)
def remembering_epoch_l2(
    data, indices, indptr, signs, importance, order, a, scalars, step_size, total_step, kappa, l2, free, hinge, flip
):
    """Take proximal steps that replace a row's last pull by its new one, q = 2.

    State is what the pulls of all rows add up to, a and scalars = [s, b, about λ], before the projection onto the cone.
    As the rows come round, the projected point tends to that of the proximal step on the whole objective, with the step
    `total_step` = n · `step_size`. State and multipliers are changed in place.
    """
    flips = not math.isinf(kappa)
    price = kappa if flips else 0.0
    rho = 1.0 + total_step * l2
    s, b = scalars[0], scalars[1]
    norm_square = _square(a)
    nothing, nowhere = np.empty(0), np.empty(0, np.uint64)
    for position in range(order.size):
        i = order[position]
        sign, length = signs[i], step_size * importance[i]
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        inner, square = _row_sums(data, indices, first, last, a)
        old_delta, old_sigma2 = hinge[i] - flip[i], flip[i]
        old = length * old_delta
        along = sign * inner
        weights = Euclidean(along - old * square, square, norm_square - old * (2.0 * along - old * square))
        bias = sign * b - free * old
        noise = 1.0 + abs(along) + abs(bias) + price * abs(s) + length * (square + free + price * price)
        step = Step(length, rho, price, flips, s - length * price * old_sigma2, 0.0, bias, free, noise, 0)
        delta, sigma2, _ = _multipliers(step, weights, nothing, nowhere, old_delta, old_sigma2)
        change = length * (delta - old_delta)
        if change != 0.0:
            _add_row(data, indices, first, last, change * sign, a)
            norm_square += change * (2.0 * along + change * square)
            b += change * sign * free
        s += length * price * (sigma2 - old_sigma2)
        hinge[i], flip[i] = max(delta + sigma2, 0.0), sigma2
    scalars[0], scalars[1] = s, b


def _level_of(weights, work, index, s, rho, guess) -> Any:
    """Return the λ that belongs to the present state."""
    raise NotImplementedError("for compiled code only")


@overload(_level_of, inline="always")
def _level_of_for(weights, work, index, s, rho, guess):
    if weights.instance_class is BandedBox:
        return lambda weights, work, index, s, rho, guess: _box_level(weights, work, index, 0, 0.0, s, rho, guess)[0]
    return lambda weights, work, index, s, rho, guess: (
        s + _diamond_threshold(weights, work, index, 0, 0.0, rho * s, rho, guess - s)[0]
    )


@kernel(fastmath=FAST)
def _clipped_margin(data, indices, first, last, sign, work, base, limit, inside):
    """Return z·w and Σ |z_j a_j|, for w = clip(a, ±limit) or, where not `inside`, w = a − clip(a, ±limit)."""
    clipped = whole = size = 0.0
    for k in range(first, last):
        value = work[base + np.uint64(indices[k])]
        x = data[k]
        clipped += x * min(max(value, -limit), limit)
        whole += x * value
        size += abs(x * value)
    return sign * (clipped if inside else whole - clipped), size


def _margin(weights, data, indices, first, last, sign, work, s, rho, level) -> Any:
    """Return the margin of a row without intercept at the present state, and the size of its terms."""
    raise NotImplementedError("for compiled code only")


@overload(_margin, inline="always")
def _margin_for(weights, data, indices, first, last, sign, work, s, rho, level):
    inside = weights.instance_class is BandedBox

    def compiled(weights, data, indices, first, last, sign, work, s, rho, level):
        limit = rho * level if inside else max(level - s, 0.0)
        base = np.uint64(weights.others)
        margin, size = _clipped_margin(data, indices, first, last, sign, work, base, limit, inside)
        return margin / rho, size / rho

    return compiled


@kernel(fastmath=FAST)
def _remembering_epoch(
    data,
    indices,
    indptr,
    signs,
    importance,
    order,
    weights,
    work,
    index,
    scalars,
    step_size,
    total_step,
    kappa,
    l2,
    free,
    hinge,
    flip,
):
    flips = not math.isinf(kappa)
    price = kappa if flips else 0.0
    rho = 1.0 + total_step * l2
    s, b = scalars[0], scalars[1]
    row, base = np.uint64(weights.row), np.uint64(weights.others)
    level = _level_of(weights, work, index, s, rho, scalars[2])
    for position in range(order.size):
        i = order[position]
        sign, length = signs[i], step_size * importance[i]
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        old_delta, old_sigma2 = hinge[i] - flip[i], flip[i]
        old = length * old_delta
        margin, size = _margin(weights, data, indices, first, last, sign, work, s, rho, level)
        margin += sign * b
        noise = 1.0 + size + abs(sign * b) + price * abs(s)
        now = Step(length, rho, price, flips, s, level, 0.0, free, noise, 0)
        if _gap(now, margin, level, old_delta, old_sigma2) <= TOLERANCE * noise:
            continue  # the last pull is still the right one
        square = 0.0
        to = np.uint64(NUMBERS)
        for k in range(first, last):
            z = sign * data[k]
            value = _take_out(work, index, base, base + np.uint64(indices[k]))
            work[to], work[to + row] = value - old * z, z
            square += z * z
            to += np.uint64(1)
        bias = sign * b - free * old
        noise += length * (square + free + price * price)
        rest = s - length * price * old_sigma2
        step = Step(length, rho, price, flips, rest, level, bias, free, noise, np.int64(last - first))
        delta, sigma2, level = _multipliers(step, weights, work, index, old_delta, old_sigma2)
        shift = length * delta
        to = np.uint64(NUMBERS)
        for k in range(first, last):
            _put_in(work, index, base, base + np.uint64(indices[k]), work[to] + shift * work[to + row])
            to += np.uint64(1)
        work[STEPS] += 1.0
        b += (shift - old) * sign * free
        s += length * price * (sigma2 - old_sigma2)
        hinge[i], flip[i] = max(delta + sigma2, 0.0), sigma2
    scalars[0], scalars[1], scalars[2] = s, b, level


@kernel(fastmath=FAST)
def _work_with_band(a, longest, width):
    work = np.zeros(NUMBERS + 2 * longest + a.size)
    work[NUMBERS + 2 * longest :] = a
    work[WIDTH], work[LOW], work[HIGH] = width, -1.0, -1.0  # the band is built when it is first needed
    return work, np.empty(2 * a.size, np.uint64)


@kernel(fastmath=FAST)
def remembering_epoch_l1(
    data, indices, indptr, signs, importance, order, a, scalars, step_size, total_step, kappa, l2, free, hinge, flip
):
    """Do the same for q = 1."""
    longest = _longest_row(indptr)
    work, index = _work_with_band(a, longest, step_size)
    others = NUMBERS + 2 * longest
    weights = BandedDiamond(longest, others, work.size)
    _remembering_epoch(
        data,
        indices,
        indptr,
        signs,
        importance,
        order,
        weights,
        work,
        index,
        scalars,
        step_size,
        total_step,
        kappa,
        l2,
        free,
        hinge,
        flip,
    )
    a[:] = work[others:]


@kernel(fastmath=FAST)
def remembering_epoch_linf(
    data, indices, indptr, signs, importance, order, a, scalars, step_size, total_step, kappa, l2, free, hinge, flip
):
    """Do the same for q = ∞."""
    longest = _longest_row(indptr)
    work, index = _work_with_band(a, longest, step_size)
    others = NUMBERS + 2 * longest
    weights = BandedBox(longest, others, work.size)
    _remembering_epoch(
        data,
        indices,
        indptr,
        signs,
        importance,
        order,
        weights,
        work,
        index,
        scalars,
        step_size,
        total_step,
        kappa,
        l2,
        free,
        hinge,
        flip,
    )
    a[:] = work[others:]
