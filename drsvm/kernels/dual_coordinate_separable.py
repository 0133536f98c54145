"""Epochs of dual coordinate ascent for q = 1 and q = ∞, where weights follow from sums feature by feature.

As in `drsvm.kernels.dual_coordinate`, around a centre the problem has the terms (θ/2)‖w − w₀‖² and (1/2f)(b − b₀)².
With u = Σ (α_i − β_i) y_i x_i + θ w₀ and r = c + θ, and with one number held fixed for an epoch,

    q = 1    w = (u − clip(u, ±h)) / r    h: the price of a unit of ‖w‖₁
    q = ∞    w = clip(u, ±h) / r          h/r: the limit λ of every weight

λ moves with the flips of the epoch: λ = λ₀ + κ (Σβ − Σβ₀) τ. A row's (α_i, β_i) is improved along the edges of its
triangle by exact line searches over the row's nonzeros.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.kernels.compiling import kernel

FAST = {"reassoc", "contract", "nsz"}

GOOD_ENOUGH, MOST_TRIALS = 0.05, 30
NEAR = 0.25
"""See `drsvm.kernels.dual_coordinate`."""


class Terms(NamedTuple):
    """Parameters of the problem, and its terms around the centre."""

    inside: bool  # w is what is inside the limits (q = ∞) or what is outside (q = 1)
    limit: float  # h
    ridge: float  # r
    kappa: float  # 0 where no label can be flipped
    stiffness: float  # 1/τ
    freedom: float  # f, 0 without intercept


class Edge(NamedTuple):
    """A direction of (α_i, β_i), and how far it leads."""

    hinge: float
    flip: float
    low: float
    high: float


@kernel(fastmath=FAST)
def _row_product(data, indices, first, last, u, limit, inside):
    """Return x·clip(u) or x·(u − clip(u))."""
    clipped = whole = 0.0
    for k in range(first, last):
        value = u[np.uint64(indices[k])]
        clipped += data[k] * min(max(value, -limit), limit)
        whole += data[k] * value
    return clipped if inside else whole - clipped


@kernel(fastmath=FAST)
def _line(values, z, count, shift, limit, inside):
    """Return z·r w and its derivative, after a shift of u along z."""
    clipped = whole = square = inner_square = 0.0
    for k in range(count):
        value = values[k] + shift * z[k]
        clipped += z[k] * min(max(value, -limit), limit)
        whole += z[k] * value
        square += z[k] * z[k]
        if abs(value) < limit:
            inner_square += z[k] * z[k]
    return (clipped, inner_square) if inside else (whole - clipped, square - inner_square)


@kernel()
def _slope(values, z, count, shift, bias, level, edge, terms):
    """Return slope and curvature of the dual function along an edge; `bias` is y_i b."""
    product, square = _line(values, z, count, shift, terms.limit, terms.inside)
    margin = product / terms.ridge + bias
    slope = edge.hinge * (1.0 - margin) + edge.flip * (1.0 + margin - terms.kappa * level)
    turn, cost = edge.hinge - edge.flip, terms.kappa * edge.flip
    return slope, (square / terms.ridge + terms.freedom) * turn * turn + cost * cost / terms.stiffness


@kernel()
def _climb(values, z, count, shift, bias, level, edge, terms):
    """Return how far to go along an edge: Newton's method, held by a bracket."""
    slope, curvature = _slope(values, z, count, shift, bias, level, edge, terms)
    if (slope > 0.0 and edge.high <= 0.0) or (slope < 0.0 and edge.low >= 0.0) or slope == 0.0:
        return 0.0
    low, high = (0.0, edge.high) if slope > 0.0 else (edge.low, 0.0)
    untried = edge.high if slope > 0.0 else edge.low  # the end of the edge, as long as nobody has been there
    wanted, t, turn = GOOD_ENOUGH * abs(slope), 0.0, edge.hinge - edge.flip
    for trial in range(MOST_TRIALS):
        step = slope / curvature if curvature > 0.0 else math.copysign(math.inf, slope)
        new = min(max(t + step, low), high)
        if trial > 0 and new in (low, high) and new != untried:
            new = 0.5 * (low + high)
        if new == t:
            break
        t = new
        if t == untried:
            untried = math.nan
        then_bias = bias + terms.freedom * turn * t
        then_level = level + terms.kappa * edge.flip * t / terms.stiffness
        slope, curvature = _slope(values, z, count, shift + turn * t, then_bias, then_level, edge, terms)
        if abs(slope) <= wanted or (t == edge.high and slope > 0.0) or (t == edge.low and slope < 0.0):
            break
        if slope > 0.0:
            low = t
        else:
            high = t
    return t


@kernel()
def _ascend(values, z, count, bias, level, hinge, flip, weight, terms):
    """Improve (α_i, β_i) along the edges of its triangle, and return both."""
    edge = Edge(1.0, 0.0, -hinge, weight - hinge - flip)
    shift = _climb(values, z, count, 0.0, bias, level, edge, terms)
    if shift != 0.0:
        hinge = 0.0 if shift == edge.low else (weight - flip if shift == edge.high else hinge + shift)
    if terms.kappa == 0.0:
        return hinge, flip
    edge = Edge(0.0, 1.0, -flip, weight - hinge - flip)
    then = bias + terms.freedom * shift
    t = _climb(values, z, count, shift, then, level, edge, terms)
    if t != 0.0:
        flip = 0.0 if t == edge.low else (weight - hinge if t == edge.high else flip + t)
        shift -= t
        level += terms.kappa * t / terms.stiffness
    if hinge > 0.0 or flip > 0.0:
        edge = Edge(-1.0, 1.0, -flip, hinge)
        then = bias + terms.freedom * shift
        t = _climb(values, z, count, shift, then, level, edge, terms)
        if t != 0.0:
            both = hinge + flip
            flip = 0.0 if t == edge.low else (both if t == edge.high else flip + t)
            hinge = both - flip
    return hinge, flip


@kernel()
def separable_epoch(data, indices, indptr, signs, weights, order, active, firm, u, sums, hinge, flip, margins, terms):
    """Visit the first `active` rows of `order`, and improve their multipliers.

    A row that sits at a corner of its triangle with more than `firm` between the losses is moved behind the active
    ones. Changed in place: order, u, sums = [λ, b], hinge, flip, and margins, as they were met.

    Returns
    -------
    tuple
        Number of active rows; and of the visited rows, as they were met, the gap between losses and multipliers, the
        weight near the flipping kink and the largest violation.
    """
    terms = Terms(*terms)
    level, b = sums[0], sums[1]
    longest = 0
    for i in range(indptr.size - 1):
        longest = max(longest, np.int64(indptr[i + 1] - indptr[i]))
    values, z = np.empty(longest), np.empty(longest)
    gap = near = violation = 0.0
    position = 0
    for _ in range(active):  # a row is left behind or taken out in every turn
        i = order[position]
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        sign, weight, old_hinge, old_flip = signs[i], weights[i], hinge[i], flip[i]
        product = _row_product(data, indices, first, last, u, terms.limit, terms.inside)
        margin = sign * (product / terms.ridge + b)
        loss = 1.0 - margin
        flipped_loss = 1.0 + margin - terms.kappa * level if terms.kappa > 0.0 else -math.inf
        best = max(loss, flipped_loss, 0.0)
        missing = weight * best - old_hinge * loss
        if old_flip > 0.0:
            missing -= old_flip * flipped_loss
        margins[i] = margin
        gap += missing
        if abs(flipped_loss - max(loss, 0.0)) < NEAR:
            near += weight
        if missing == 0.0:
            second = max(min(loss, flipped_loss), min(max(loss, flipped_loss), 0.0))
            if best - second > firm:
                active -= 1
                order[position], order[active] = order[active], i
                continue
        else:
            count = np.int64(last - first)
            for k in range(count):
                at = first + np.uint64(k)
                values[k], z[k] = u[np.uint64(indices[at])], sign * data[at]
            new_hinge, new_flip = _ascend(values, z, count, sign * b, level, old_hinge, old_flip, weight, terms)
            change = (new_hinge - new_flip) - (old_hinge - old_flip)
            violation = max(violation, missing / weight)
            if change != 0.0:
                for k in range(count):
                    u[np.uint64(indices[first + np.uint64(k)])] = values[k] + change * z[k]
                b += terms.freedom * sign * change
            level += terms.kappa * (new_flip - old_flip) / terms.stiffness
            hinge[i], flip[i] = new_hinge, new_flip
        position += 1
    sums[0], sums[1] = level, b
    return active, gap, near, violation
