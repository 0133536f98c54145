"""Dual coordinate ascent on the multipliers (α_i, β_i) of one row, for every norm.

The multipliers lie in the triangle {α, β ≥ 0, α + β ≤ π}. The dual function, which the
terms around a centre make smooth, is maximised along its three edges in turn. A place
is what the dual function depends on at the current multipliers of a row. Each norm has
its own type of place and computes the slope there (`dual_ascent_norm2.py` and
`dual_ascent_separable.py`). The function is selected by the type of the place at
compile time, so that the compiled code has no branch for the norm.
`dual_ascent_epochs.py` visits the rows.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from drsvm.compiled.decorators import by_type, compiled
from drsvm.compiled.single_sample_prox import between, next_trial

# Of a line search, which usually ends after one to three
MAX_TRIALS = 30
# A row whose losses with and without the flip differ by less is near the kink at which
# it is flipped.
NEAR = 0.25


class Edge(NamedTuple):
    """A direction of (α_i, β_i), and the limits of a move along it."""

    hinge: float
    flip: float
    low: float
    high: float


class Flips(NamedTuple):
    """What flips cost: numbers, or arrays with one entry per row."""

    kappa: float | np.ndarray  # 0 where the label cannot be flipped
    possible: bool | np.ndarray  # False where it cannot


class Intercept(NamedTuple):
    """The intercept b = a₀ w₀; w₀ has no ridge, and with a cost it is in the norm."""

    unit: float  # a₀: the cost, 1 if it is free, 0 without an intercept
    damping: float  # θ₀ of the term around its centre
    inverse: float  # 1/θ₀, 0 without an intercept
    # None if it is free: the type, not the value, lets the compiler remove a branch
    has_cost: Literal[True] | None


class Multipliers(NamedTuple):
    """Sums and multipliers of a run; epochs update all of them."""

    u: np.ndarray  # Σ (α_i − β_i) y_i x_i + θ w₀
    # Two scalars: see the epochs, and u₀ = Σ (α_i − β_i) y_i a₀ + θ₀ w₀
    sums: np.ndarray
    hinge: np.ndarray
    flip: np.ndarray
    margins: np.ndarray  # at the last visit


class Verdict(NamedTuple):
    """What a visit finds about a row before it changes its multipliers."""

    gap: float  # between its loss and what its multipliers earn
    # How much the active piece of the loss exceeds the others, if the multipliers are
    # optimal for it; otherwise 0
    firmness: float
    is_near: bool  # whether it is near the kink at which it is flipped


# By the type of the place; the norms' files fill them.
SLOPES: dict[type, Callable] = {}
MOVES: dict[type, Callable] = {}
# Return the slope and curvature of the dual function, and the place, after a move by t
# along an edge
slope_at = by_type(SLOPES)
moved = by_type(MOVES)


@compiled(inner=True)
def _climb(place, edge, terms):
    """Return how far to move along an edge.

    This is a safeguarded Newton search for a zero of the slope; with many rows the
    first trial is good enough.
    """
    slope, curvature = slope_at(place, edge, 0.0, terms)
    t = 0.0
    if not (
        (slope > 0.0 and edge.high <= 0.0)
        or (slope < 0.0 and edge.low >= 0.0)
        or slope == 0.0
    ):
        if slope > 0.0:
            bracket = between(0.0, edge.high)
        else:
            bracket = between(edge.low, 0.0)
        wanted = terms.good_enough * abs(slope)
        for _ in range(MAX_TRIALS):
            new, bracket = next_trial(bracket, t, slope, -curvature)
            if new == t:
                break
            t = new
            slope, curvature = slope_at(place, edge, t, terms)
            if (
                abs(slope) <= wanted
                or (t == edge.high and slope > 0.0)
                or (t == edge.low and slope < 0.0)
            ):
                break
    return t


@compiled(inner=True, forceinline=True)
def _landed(value, t, edge, most):
    """Return a multiplier after a move by t, exactly 0 or `most` at the ends."""
    if t == edge.low:
        return 0.0
    if t == edge.high:
        return most
    return value + t


@compiled(inner=True)
def ascend(place, hinge, flip, weight, flips, terms):
    """Improve (α_i, β_i) along the edges of the triangle.

    Return both and the new place.
    """
    # 1. α alone
    edge = Edge(1.0, 0.0, -hinge, weight - hinge - flip)
    t = _climb(place, edge, terms)
    if t != 0.0:
        hinge = _landed(hinge, t, edge, weight - flip)
        place = moved(place, edge, t, terms)
    if flips:
        # 2. β alone
        edge = Edge(0.0, 1.0, -flip, weight - hinge - flip)
        t = _climb(place, edge, terms)
        if t != 0.0:
            flip = _landed(flip, t, edge, weight - hinge)
            place = moved(place, edge, t, terms)
        # 3. From one to the other, with α + β fixed
        if hinge > 0.0 or flip > 0.0:
            edge = Edge(-1.0, 1.0, -flip, hinge)
            t = _climb(place, edge, terms)
            if t != 0.0:
                both = hinge + flip
                flip = _landed(flip, t, edge, both)
                place = moved(place, edge, t, terms)
                hinge = both - flip
    return hinge, flip, place


@compiled(inner=True)
def judged(margin, lam, weight, hinge, flip, kappa, flips):
    """Return the verdict on a row with a margin and multipliers at a given λ."""
    loss = 1.0 - margin
    flipped = -math.inf
    if flips:
        flipped = 1.0 + margin - kappa * lam
    best = max(loss, flipped, 0.0)
    missing = weight * best - hinge * loss
    if flip > 0.0:
        missing -= flip * flipped
    # At a corner, the multipliers of the largest piece are π and the others are 0
    firmness = 0.0
    if missing == 0.0:
        firmness = best - max(min(loss, flipped), min(max(loss, flipped), 0.0))
    return Verdict(missing, firmness, abs(flipped - max(loss, 0.0)) < NEAR)
