"""Epochs of dual coordinate ascent for q = 2: one row's multipliers at a time, at the cost of its nonzeros.

Around a centre (w₀, λ₀, b₀) the problem gets the terms (θ/2)‖w − w₀‖² + (1/2τ)(λ − λ₀)² + (1/2f)(b − b₀)². For given
multipliers the best classifier then follows from a few sums: with u = Σ (α_i − β_i) y_i x_i + θ w₀ and r = c + θ,

    maximise over ‖w‖ ≤ λ    u·w − (r/2)‖w‖² + (κ Σβ − ε) λ − (1/2τ)(λ − λ₀)²

has w = s·u, where (s, λ) depends on ‖u‖ and Σβ alone, and b = b₀ + f Σ (α_i − β_i) y_i. The dual function is smooth in
(α_i, β_i), which live in a triangle; it is maximised along the three edges of the triangle in turn.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.kernels.compiling import kernel

FAST = {"reassoc", "contract", "nsz"}

GOOD_ENOUGH, MOST_TRIALS = 0.01, 30
"""A line search ends when the slope is this much smaller; with many rows the first trial does it."""

NEAR = 0.25
"""A row whose two best losses differ by less is near the kink at which its label is flipped."""


class Terms(NamedTuple):
    """Parameters of the problem, and its terms around the centre."""

    kappa: float  # 0 where no label can be flipped
    radius: float
    centre: float  # λ₀
    stiffness: float  # 1/τ
    ridge: float  # r = c + θ
    freedom: float  # f, 0 without intercept


class Sums(NamedTuple):
    """All that the classifier depends on, beside the direction of u."""

    square: float  # ‖u‖²
    flipped: float  # Σ β
    bias: float  # b


class Row(NamedTuple):
    """A row: y_i, z·u and z·z for z = y_i x_i."""

    sign: float
    along: float
    square: float


class Edge(NamedTuple):
    """A direction of (α_i, β_i), and how far it leads."""

    hinge: float
    flip: float
    low: float
    high: float


@kernel()
def _answer(sums, terms):
    """Return s, λ and whether ‖w‖ = λ."""
    length = math.sqrt(sums.square)
    budget = terms.kappa * sums.flipped - terms.radius
    apart = terms.centre + budget / terms.stiffness
    if length <= terms.ridge * apart:
        return 1.0 / terms.ridge, apart, False
    level = max((terms.centre * terms.stiffness + length + budget) / (terms.stiffness + terms.ridge), 0.0)
    return (level / length if length > 0.0 else 0.0), level, True


@kernel()
def _moved(row, sums, edge, t, freedom):
    """Return row and sums after a move by t along an edge."""
    change = t * (edge.hinge - edge.flip)
    square = max(sums.square + change * (2.0 * row.along + change * row.square), 0.0)
    bias = sums.bias + freedom * row.sign * change
    return Row(row.sign, row.along + change * row.square, row.square), Sums(square, sums.flipped + edge.flip * t, bias)


@kernel()
def _slope(row, sums, edge, terms):
    """Return slope and curvature of the dual function along an edge."""
    scale, level, touching = _answer(sums, terms)
    margin = scale * row.along + row.sign * sums.bias
    slope = edge.hinge * (1.0 - margin) + edge.flip * (1.0 + margin - terms.kappa * level)
    turn, cost = edge.hinge - edge.flip, terms.kappa * edge.flip
    curvature = terms.freedom * turn * turn
    if not touching:
        curvature += scale * row.square * turn * turn + cost * cost / terms.stiffness
    elif level > 0.0:
        towards = row.along / math.sqrt(sums.square)
        across = max(row.square - towards * towards, 0.0)
        pull = towards * turn + cost
        curvature += scale * across * turn * turn + pull * pull / (terms.stiffness + terms.ridge)
    return slope, curvature


@kernel()
def _climb(row, sums, edge, terms):
    """Return how far to go along an edge: Newton's method, held by a bracket."""
    slope, curvature = _slope(row, sums, edge, terms)
    if (slope > 0.0 and edge.high <= 0.0) or (slope < 0.0 and edge.low >= 0.0) or slope == 0.0:
        return 0.0
    low, high = (0.0, edge.high) if slope > 0.0 else (edge.low, 0.0)
    untried = edge.high if slope > 0.0 else edge.low  # the end of the edge, as long as nobody has been there
    wanted, t = GOOD_ENOUGH * abs(slope), 0.0
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
        there, then = _moved(row, sums, edge, t, terms.freedom)
        slope, curvature = _slope(there, then, edge, terms)
        if abs(slope) <= wanted or (t == edge.high and slope > 0.0) or (t == edge.low and slope < 0.0):
            break
        if slope > 0.0:
            low = t
        else:
            high = t
    return t


@kernel()
def _ascend(row, sums, hinge, flip, weight, terms):
    """Improve (α_i, β_i) along the edges of its triangle; return both, and the sums."""
    edge = Edge(1.0, 0.0, -hinge, weight - hinge - flip)
    t = _climb(row, sums, edge, terms)
    if t != 0.0:
        hinge = 0.0 if t == edge.low else (weight - flip if t == edge.high else hinge + t)
        row, sums = _moved(row, sums, edge, t, terms.freedom)
    if terms.kappa == 0.0:
        return hinge, flip, sums
    edge = Edge(0.0, 1.0, -flip, weight - hinge - flip)
    t = _climb(row, sums, edge, terms)
    if t != 0.0:
        flip = 0.0 if t == edge.low else (weight - hinge if t == edge.high else flip + t)
        row, sums = _moved(row, sums, edge, t, terms.freedom)
    if hinge > 0.0 or flip > 0.0:
        edge = Edge(-1.0, 1.0, -flip, hinge)
        t = _climb(row, sums, edge, terms)
        if t != 0.0:
            both = hinge + flip
            flip = 0.0 if t == edge.low else (both if t == edge.high else flip + t)
            hinge = both - flip
            row, sums = _moved(row, sums, edge, t, terms.freedom)
    return hinge, flip, sums


@kernel(fastmath=FAST)
def _dot(data, indices, first, last, u):
    total = 0.0
    for k in range(first, last):
        total += data[k] * u[np.uint64(indices[k])]
    return total


@kernel(fastmath=FAST)
def _add(data, indices, first, last, factor, u):
    for k in range(first, last):
        u[np.uint64(indices[k])] += factor * data[k]


@kernel(fastmath=FAST)
def _square(u):
    total = 0.0
    for value in u:
        total += value * value
    return total


@kernel()
def dual_coordinate_epoch(
    data, indices, indptr, signs, squares, weights, order, active, firm, u, sums, hinge, flip, margins, terms
):
    """Visit the first `active` rows of `order`, and improve their multipliers.

    A row that sits at a corner of its triangle with more than `firm` between the losses is moved behind the active
    ones. Changed in place: order, u, sums = [Σβ, b], hinge, flip, and margins, as they were met.

    Returns
    -------
    tuple
        Number of active rows; s and λ of the classifier w = s·u; and of the visited rows, as they were met, the gap
        between losses and multipliers, the weight near the flipping kink and the largest violation.
    """
    terms = Terms(*terms)
    now = Sums(_square(u), sums[0], sums[1])
    scale, level, _ = _answer(now, terms)
    gap = near = violation = 0.0
    position = 0
    for _ in range(active):  # a row is left behind or taken out in every turn
        i = order[position]
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        weight, old_hinge, old_flip = weights[i], hinge[i], flip[i]
        row = Row(signs[i], signs[i] * _dot(data, indices, first, last, u), squares[i])
        margin = scale * row.along + row.sign * now.bias
        loss = 1.0 - margin
        flipped_loss = 1.0 + margin - terms.kappa * level if terms.kappa > 0.0 else -math.inf
        best = max(loss, flipped_loss, 0.0)
        if old_flip > 0.0:
            missing = weight * best - old_hinge * loss - old_flip * flipped_loss
        else:
            missing = weight * best - old_hinge * loss
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
            new_hinge, new_flip, now = _ascend(row, now, old_hinge, old_flip, weight, terms)
            change = (new_hinge - new_flip) - (old_hinge - old_flip)
            violation = max(violation, missing / weight)
            if change != 0.0:
                _add(data, indices, first, last, change * row.sign, u)
            if change != 0.0 or new_flip != old_flip:
                hinge[i], flip[i] = new_hinge, new_flip
                scale, level, _ = _answer(now, terms)
        position += 1
    sums[0], sums[1] = now.flipped, now.bias
    return active, scale, level, gap, near, violation
