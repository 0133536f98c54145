"""Dual coordinate ascent for q = 1 and q = ∞, where each weight depends on its u_j.

As in `dual_ascent_norm2.py`, the objective includes terms around a centre, with the
factors θ_j for the weights and θ₀ for that of the intercept. With u = Σ (α_i − β_i) y_i
x_i + θ (centre of w) and r = c + θ, and with h fixed during an epoch, entry by entry,

    q = 1    w = (u − clip(u, ±h)) / r    h: the cost of a unit of ‖w‖₁
    q = ∞    w = clip(u / r, ±h)          h: the limit λ of every weight

An intercept with a cost has the same with θ₀ instead of r, a free one w₀ = u₀/θ₀. λ
changes with the flips of the epoch: λ = λ₀ + τ Σ κ (β − β₀).
"""

from typing import NamedTuple

import numpy as np

from drsvm.compiled.decorators import FAST, compiled
from drsvm.compiled.dual_ascent import MOVES, SLOPES, Intercept, ascend, judged
from drsvm.compiled.row_access import at, bounds, column


class SeparableTerms(NamedTuple):
    """Parameters of the problem and of the terms around the centre."""

    # Whether w is the part of u inside the limits (q = ∞) or outside (q = 1)
    inside: bool
    limit: float  # h
    inverse: float | np.ndarray  # 1/r: one number, or one for each feature
    stiffness: float  # 1/τ
    intercept: Intercept
    # A line search ends when the slope has fallen to this fraction
    good_enough: float = 0.05


class SeparableSums(NamedTuple):
    """What the visits of an epoch keep up to date; b is that of u₀."""

    lam: float
    u0: float
    b: float


class SeparablePlace(NamedTuple):
    """What the dual function depends on along the edges of a row; z = y_i x_i."""

    row: np.ndarray  # u, z and 1/r at the entries of the row
    entries: np.integer
    shift: float  # multiple of z that was added to u
    u0: float  # times y_i
    lam: float
    kappa: float  # of the row
    line: tuple[float, float]  # z·w and its derivative, if the shift is 0


@compiled(inner=True, forceinline=True)
def _weight(value, inverse, limit, inside):
    """Return the weight for an entry of u, and whether it changes with it."""
    # Selections, not branches, let the compiler use vector instructions.
    if inside:
        value *= inverse
        weight = min(max(value, -limit), limit)
        return weight, weight == value
    weight = value - min(max(value, -limit), limit)
    return weight * inverse, weight != 0.0


@compiled(inner=True, fastmath=FAST)
def _line(row, entries, shift, limit, inside):
    """Return z·w and its derivative, after a shift of u along z."""
    margin = curvature = 0.0
    for k in range(np.uint64(entries)):
        z = row[1, k]
        inverse = row[2, k]
        weight, changes = _weight(row[0, k] + shift * z, inverse, limit, inside)
        margin += z * weight
        curvature += z * z * inverse if changes else 0.0
    return margin, curvature


@compiled(inner=True, fastmath=FAST)
def _copy(row, data, indices, first, last, sign, u, inverse):
    """Copy u, z and 1/r at the entries of a row, next to each other."""
    for k in range(first, last):
        j = column(indices, k, first)
        row[0, k - first] = u[j]
        row[1, k - first] = sign * data[k]
        row[2, k - first] = at(inverse, j)


@compiled(inner=True, forceinline=True)
def _intercept(has_cost, u0, terms):
    """Return b for a given u₀, and its derivative with respect to Σ (α_i − β_i) y_i.

    The type of `has_cost` selects the code.
    """
    unit, damping, inverse, _ = terms.intercept
    if has_cost is None:
        return inverse * u0, inverse
    limit = terms.limit
    if terms.inside:
        limit = terms.limit * damping
    clipped = min(max(u0, -limit), limit)
    value = u0 - clipped
    if terms.inside:
        value = clipped
    freedom = 0.0
    if (u0 == clipped) == terms.inside:
        freedom = unit * inverse * unit
    return unit * inverse * value, freedom


@compiled(inner=True)
def _moved(place, edge, t, terms):
    net = edge.hinge - edge.flip
    u0 = place.u0 + terms.intercept.unit * net * t
    lam = place.lam + place.kappa * edge.flip * t / terms.stiffness
    shift = place.shift + net * t
    return SeparablePlace(
        place.row, place.entries, shift, u0, lam, place.kappa, place.line
    )


@compiled(inner=True)
def _slope(start, edge, t, terms):
    place = _moved(start, edge, t, terms)
    margin, curvature = place.line
    if place.shift != 0.0:
        margin, curvature = _line(
            place.row, place.entries, place.shift, terms.limit, terms.inside
        )
    b, freedom = _intercept(terms.intercept.has_cost, place.u0, terms)
    margin += b
    slope = edge.hinge * (1.0 - margin) + edge.flip * (
        1.0 + margin - place.kappa * place.lam
    )
    net = edge.hinge - edge.flip
    cost = place.kappa * edge.flip
    curvature = (curvature + freedom) * net * net + cost * cost / terms.stiffness
    return slope, curvature


SLOPES[SeparablePlace] = _slope
MOVES[SeparablePlace] = _moved


@compiled(inner=True)
def separable_sums(terms, multipliers):
    """Return the sums at the start of an epoch: λ, u₀ and b."""
    lam = multipliers.sums[0]
    u0 = multipliers.sums[1]
    b, _ = _intercept(terms.intercept.has_cost, u0, terms)
    return SeparableSums(lam, u0, b)


@compiled(inner=True)
def separable_answer(sums, multipliers):
    """Write λ and u₀. The weights are computed from u: there is no answer to return."""
    multipliers.sums[0] = sums.lam
    multipliers.sums[1] = sums.u0


@compiled(inner=True)
def separable_visit(sums, i, row, rows, firm, multipliers, flips, terms):
    """Do the same as `norm2_visit`, with memory for the entries of a row."""
    data, indices, indptr, width, signs, weights = rows
    u, _, hinge, flip, margins = multipliers
    lam, u0, b = sums
    first, last = bounds(indptr, width, i)
    sign = signs[i]
    old_hinge = hinge[i]
    old_flip = flip[i]
    kappa = at(flips.kappa, i)
    can_flip = at(flips.possible, i)
    # All that follows reads these entries only.
    _copy(row, data, indices, first, last, sign, u, terms.inverse)
    entries = np.int64(last - first)
    line = _line(row, entries, 0.0, terms.limit, terms.inside)
    margins[i] = line[0] + sign * b
    verdict = judged(margins[i], lam, weights[i], old_hinge, old_flip, kappa, can_flip)
    if verdict.firmness <= firm and verdict.gap != 0.0:
        place = SeparablePlace(row, entries, 0.0, sign * u0, lam, kappa, line)
        hinge[i], flip[i], place = ascend(
            place, old_hinge, old_flip, weights[i], can_flip, terms
        )
        change = (hinge[i] - flip[i]) - (old_hinge - old_flip)
        if change != 0.0:
            for k in range(first, last):
                value = row[0, k - first] + change * row[1, k - first]
                u[column(indices, k, first)] = value
            u0 += terms.intercept.unit * sign * change
        lam += kappa * (flip[i] - old_flip) / terms.stiffness
        b, _ = _intercept(terms.intercept.has_cost, u0, terms)
        sums = SeparableSums(lam, u0, b)
    return sums, verdict
