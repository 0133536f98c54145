"""Epochs of dual coordinate ascent for q = 1 and q = ∞, where sums determine the weights feature by feature.

As in `dual_ascent_round.py`, the objective includes terms around a centre, with the
factor θ for the weights and θ₀ for that of the intercept. With u = Σ (α_i − β_i) y_i
x_i + θ (centre of w) and r = c + θ, and with h fixed during an epoch,

    q = 1    w = (u − clip(u, ±h)) / r    h: the price of a unit of ‖w‖₁
    q = ∞    w = clip(u, ±h) / r          h/r: the limit λ of every weight

An intercept with a price has w₀ = (u₀ − clip(u₀, ±h)) / θ₀ or w₀ = clip(u₀/θ₀, ±h/r), a
free one w₀ = u₀/θ₀. λ changes with the flips of the epoch: λ = λ₀ + τ Σ κ (β − β₀).
"""

from typing import NamedTuple

import numpy as np

from drsvm.compiled.compiling import FAST, compiled
from drsvm.compiled.dual_ascent import MOVES, SLOPES, Intercept, ascend, judged
from drsvm.compiled.row_access import at, bounds, clipped_dots, column

NO_OFFSET = np.uint64(0)


class SeparableTerms(NamedTuple):
    """Parameters of the problem and of the terms around the centre."""

    # Whether w is the part of u inside the limits (q = ∞) or outside (q = 1)
    inside: bool
    limit: float  # h
    ridge: float  # r
    stiffness: float  # 1/τ
    intercept: Intercept
    # A line search ends when the slope has fallen to this fraction
    good_enough: float = 0.05


class SeparablePlace(NamedTuple):
    """What the dual function depends on along the edges of a row; z = y_i x_i."""

    row: np.ndarray  # u and z at the entries of the row
    entries: np.integer
    shift: float  # multiple of z that was added to u
    u0: float  # times y_i
    lam: float
    kappa: float  # of the row


@compiled(inner=True, fastmath=FAST)
def _line(row, entries, shift, limit, inside):
    """Return z·r w and its derivative, after a shift of u along z."""
    clipped = outside = square = inner_square = 0.0
    for k in range(np.uint64(entries)):
        z = row[1, k]
        value = row[0, k] + shift * z
        clip = min(max(value, -limit), limit)
        clipped += z * clip
        outside += z * (value - clip)
        square += z * z
        inner_square += z * z if abs(value) < limit else 0.0
    if inside:
        return (clipped, inner_square)
    return (outside, square - inner_square)


@compiled(inner=True, forceinline=True)
def _intercept(priced, u0, terms):
    """Return b for a given u₀, and its derivative with respect to Σ (α_i − β_i) y_i.

    `priced` selects the code.
    """
    unit, damping, inverse, _ = terms.intercept
    if priced is None:
        return inverse * u0, inverse
    if terms.inside:
        limit = terms.limit * damping / terms.ridge
    else:
        limit = terms.limit
    clipped = min(max(u0, -limit), limit)
    value = clipped if terms.inside else u0 - clipped
    return unit * inverse * value, unit * inverse * unit if (
        u0 == clipped
    ) == terms.inside else 0.0


@compiled(inner=True)
def _moved(place, edge, t, terms):
    net = edge.hinge - edge.flip
    u0 = place.u0 + terms.intercept.unit * net * t
    lam = place.lam + place.kappa * edge.flip * t / terms.stiffness
    return SeparablePlace(
        place.row, place.entries, place.shift + net * t, u0, lam, place.kappa
    )


@compiled(inner=True)
def _slope(start, edge, t, terms):
    place = _moved(start, edge, t, terms)
    product, square = _line(
        place.row, place.entries, place.shift, terms.limit, terms.inside
    )
    b, freedom = _intercept(terms.intercept.priced, place.u0, terms)
    margin = product / terms.ridge + b
    slope = edge.hinge * (1.0 - margin) + edge.flip * (
        1.0 + margin - place.kappa * place.lam
    )
    net = edge.hinge - edge.flip
    cost = place.kappa * edge.flip
    return slope, (
        square / terms.ridge + freedom
    ) * net * net + cost * cost / terms.stiffness


SLOPES[SeparablePlace] = _slope
MOVES[SeparablePlace] = _moved


@compiled(inner=True, forceinline=True)
def _visit(i, rows, firm, multipliers, flips, terms, lam, u0, b, row):
    """Do the same as in `dual_ascent_round.py`.

    `row` is filled with u and z of the row if it may move.
    """
    data, indices, indptr, width, signs, weights = rows
    u, _, hinge, flip, margins = multipliers
    first, last = bounds(indptr, width, i)
    sign = signs[i]
    weight = weights[i]
    old_hinge = hinge[i]
    old_flip = flip[i]
    kappa = at(flips.kappa, i)
    can_flip = at(flips.possible, i)
    clipped, outside, _ = clipped_dots(
        data, indices, first, last, u, NO_OFFSET, terms.limit
    )
    margins[i] = sign * ((clipped if terms.inside else outside) / terms.ridge + b)
    missing, firmness, is_near = judged(
        margins[i], lam, weight, old_hinge, old_flip, kappa, can_flip
    )
    place = SeparablePlace(row, np.int64(last - first), 0.0, sign * u0, lam, kappa)
    change = 0.0
    if firmness <= firm and missing != 0.0:
        for k in range(first, last):
            row[0, k - first], row[1, k - first] = (
                u[column(indices, k, first)],
                sign * data[k],
            )
        hinge[i], flip[i], place = ascend(
            place, old_hinge, old_flip, weight, can_flip, terms
        )
        change = (hinge[i] - flip[i]) - (old_hinge - old_flip)
    return change, kappa, kappa * (flip[i] - old_flip), missing, firmness, is_near


@compiled()
def separable_epoch(row, rows, order, active, firm, multipliers, flips, terms):
    """Do the same as `round_epoch`, with memory for a row and sums = [λ, u₀].

    There is no answer to return.
    """
    _, indices, indptr, width, signs, weights = rows
    u = multipliers.u
    sums = multipliers.sums
    lam = sums[0]
    u0 = sums[1]
    b, _ = _intercept(terms.intercept.priced, u0, terms)
    gap = near = violation = 0.0
    position = 0
    for _ in range(active):  # every iteration passes or deactivates one row
        i = order[position]
        visit = _visit(i, rows, firm, multipliers, flips, terms, lam, u0, b, row)
        change, kappa, cost, missing, firmness, is_near = visit
        gap += missing
        near += weights[i] * kappa * kappa if is_near else 0.0
        if firmness > firm:
            active -= 1
            order[position] = order[active]
            order[active] = i
            continue
        violation = max(violation, missing / weights[i])
        if change != 0.0:
            first, last = bounds(indptr, width, i)
            for k in range(first, last):
                u[column(indices, k, first)] = (
                    row[0, k - first] + change * row[1, k - first]
                )
            u0 += terms.intercept.unit * signs[i] * change
        lam += cost / terms.stiffness
        b, _ = _intercept(terms.intercept.priced, u0, terms)
        position += 1
    sums[0] = lam
    sums[1] = u0
    return active, gap, near, violation, None
