"""Epochs of dual coordinate ascent for q = 2: one row's multipliers at a time, at the cost of its nonzeros.

The objective includes the terms (θ/2)‖w − w₀‖² + (1/2τ)(λ − λ₀)² + (1/2f)(b − b₀)² around a centre (w₀, λ₀, b₀). For
given multipliers, a few sums determine the best classifier: with u = Σ (α_i − β_i) y_i x_i + θ w₀ and r = c + θ,

    maximise over ‖w‖ ≤ λ    u·w − (r/2)‖w‖² + (κ Σβ − ε) λ − (1/2τ)(λ − λ₀)²

has the solution w = s·u, where (s, λ) depends only on ‖u‖ and Σβ, and b = b₀ + f Σ (α_i − β_i) y_i.
"""

import math
from typing import NamedTuple

from drsvm.kernels.compiling import kernel
from drsvm.kernels.dual_ascent import PLACES, ascend, judged
from drsvm.kernels.entries import add_row, bounds, dot, square_of


class RoundTerms(NamedTuple):
    """Parameters of the problem and of the terms around the centre."""

    kappa: float  # 0 if labels cannot be flipped
    radius: float
    centre: float  # λ₀
    stiffness: float  # 1/τ
    ridge: float  # r = c + θ
    freedom: float  # f, 0 without intercept
    good_enough: float = 0.01  # a line search ends when the slope has fallen to this fraction


class RoundPlace(NamedTuple):
    """What the dual function depends on along the edges of a row; z = y_i x_i."""

    sign: float
    along: float  # z·u
    row_square: float  # z·z
    square: float  # ‖u‖²
    flipped: float  # Σ β
    bias: float  # b


@kernel(inner=True)
def _answer(square, flipped, terms):
    """Return s, λ and whether ‖w‖ = λ."""
    length = math.sqrt(square)
    budget = terms.kappa * flipped - terms.radius
    apart = terms.centre + budget / terms.stiffness
    if length <= terms.ridge * apart:
        return 1.0 / terms.ridge, apart, False
    level = max((terms.centre * terms.stiffness + length + budget) / (terms.stiffness + terms.ridge), 0.0)
    return (level / length if length > 0.0 else 0.0), level, True


@kernel(inner=True)
def _moved(place, edge, t, terms):
    sign, along, row_square, square, flipped, bias = place
    change = t * (edge.hinge - edge.flip)
    square = max(square + change * (2.0 * along + change * row_square), 0.0)
    bias += terms.freedom * sign * change
    return RoundPlace(sign, along + change * row_square, row_square, square, flipped + edge.flip * t, bias)


@kernel(inner=True)
def _slope(start, edge, t, terms):
    place = _moved(start, edge, t, terms)
    scale, level, touching = _answer(place.square, place.flipped, terms)
    margin = scale * place.along + place.sign * place.bias
    slope = edge.hinge * (1.0 - margin) + edge.flip * (1.0 + margin - terms.kappa * level)
    turn, cost = edge.hinge - edge.flip, terms.kappa * edge.flip
    curvature = terms.freedom * turn * turn
    if not touching:
        curvature += scale * place.row_square * turn * turn + cost * cost / terms.stiffness
    elif level > 0.0:
        towards = place.along / math.sqrt(place.square)
        across = max(place.row_square - towards * towards, 0.0)
        pull = towards * turn + cost
        curvature += scale * across * turn * turn + pull * pull / (terms.stiffness + terms.ridge)
    return slope, curvature


PLACES[RoundPlace] = _slope, _moved


@kernel()
def round_epoch(rows, squares, order, active, firm, multipliers, terms):
    """Visit the first `active` rows of `order` and improve their multipliers.

    A row that sits at a corner of its triangle, with more than `firm` between its losses, is moved behind the active
    ones. `order` and the multipliers, with sums = [Σβ, b], are updated in place. Returns the number of active rows; s
    and λ of the classifier w = s·u; and over the visited rows, each at its visit, the gap between losses and
    multipliers, the weight near the flipping kink, and the largest violation.
    """
    data, indices, indptr, width, signs, weights = rows
    u, sums, hinge, flip, margins = multipliers
    square, flipped, bias = square_of(u), sums[0], sums[1]
    scale, level, _ = _answer(square, flipped, terms)
    gap = near = violation = 0.0
    position = 0
    for _ in range(active):  # every iteration passes or deactivates one row
        i = order[position]
        first, last = bounds(indptr, width, i)
        weight, old_hinge, old_flip = weights[i], hinge[i], flip[i]
        place = RoundPlace(signs[i], signs[i] * dot(data, indices, first, last, u), squares[i], square, flipped, bias)
        margins[i] = scale * place.along + place.sign * bias
        missing, firmness, is_near = judged(margins[i], level, weight, old_hinge, old_flip, terms.kappa)
        gap += missing
        near += weight if is_near else 0.0
        if firmness > firm:
            active -= 1
            order[position], order[active] = order[active], i
            continue
        if missing != 0.0:
            hinge[i], flip[i], place = ascend(place, old_hinge, old_flip, weight, terms)
            square, flipped, bias = place.square, place.flipped, place.bias
            change = (hinge[i] - flip[i]) - (old_hinge - old_flip)
            violation = max(violation, missing / weight)
            if change != 0.0:
                add_row(data, indices, first, last, change * place.sign, u)
            if change != 0.0 or flip[i] != old_flip:
                scale, level, _ = _answer(square, flipped, terms)
        position += 1
    sums[0], sums[1] = flipped, bias
    return active, scale, level, gap, near, violation
