"""Dual coordinate ascent for q = 2: a visit of one row costs as much as its nonzeros.

The objective includes terms around a centre: θ/2 times the squared change of w, 1/2τ
times that of λ, and θ₀/2 times that of the weight w₀ of the intercept. For given
multipliers, a few sums determine the best classifier: with u = Σ (α_i − β_i) y_i x_i +
θ (centre of w) and r = c + θ,

    maximise over ‖w‖ ≤ λ    u·w − (r/2)‖w‖² + (Σκβ − ε) λ − (1/2τ)(λ − λ₀)²

has the solution w = s·u, where (s, λ) depends only on ‖u‖ and Σκβ; a free intercept has
w₀ = u₀/θ₀. An intercept with a cost is part of the norm: with A = λ₀/τ + Σκβ − ε, if
the constraint is active, λ is the largest root of

    ‖u‖²/((r + 1/τ) λ − A)² + u₀²/((θ₀ + 1/τ) λ − A)² = 1.
"""

import math
from typing import NamedTuple

from drsvm.compiled.decorators import SCALAR, compiled
from drsvm.compiled.dual_ascent import MOVES, SLOPES, Intercept, ascend, judged
from drsvm.compiled.row_access import add_row, at, bounds, dot, product

# Newton's steps, and the relative step that is the last: its square is the error that
# it leaves
MAX_STEPS = 20
ENOUGH = 1e-5


class Norm2Terms(NamedTuple):
    """Parameters of the problem and of the terms around the centre."""

    radius: float
    centre: float  # λ₀
    stiffness: float  # 1/τ
    ridge: float  # r = c + θ
    intercept: Intercept
    # A line search ends when the slope has fallen to this fraction
    good_enough: float = 0.01


class Answer(NamedTuple):
    """The best classifier for given sums: w = scale · u, λ and b."""

    scale: float
    lam: float
    touching: bool  # whether the norm is λ
    bias: float  # b
    freedom: float  # derivative of b with respect to Σ (α_i − β_i) y_i, with λ fixed


class Norm2Sums(NamedTuple):
    """What the visits of an epoch keep up to date, and the classifier for it."""

    square: float  # ‖u‖²
    cost: float  # Σ κβ
    u0: float
    answer: Answer


class Norm2Place(NamedTuple):
    """What the dual function depends on along the edges of a row; z = y_i x_i."""

    sign: float
    along: float  # z·u
    row_square: float  # z·z
    square: float  # ‖u‖²
    cost: float  # Σ κβ
    u0: float
    kappa: float  # of the row
    answer: Answer  # the classifier


@compiled(inner=True, forceinline=True)
def _answer(has_cost, square, cost, u0, terms, guess):
    """Return the best classifier for given sums, from a guess of λ.

    The type of `has_cost`, of the intercept, selects the code.
    """
    if has_cost is not None:
        return _answer_inside(square, cost, u0, terms, guess)
    length = math.sqrt(square)
    freedom = terms.intercept.inverse
    budget = cost - terms.radius
    apart = terms.centre + budget / terms.stiffness
    # Inside the ball the ridge alone limits w; otherwise ‖w‖ = λ
    if length <= terms.ridge * apart:
        return Answer(1.0 / terms.ridge, apart, False, freedom * u0, freedom)
    total = terms.centre * terms.stiffness + length + budget
    lam = max(total / (terms.stiffness + terms.ridge), 0.0)
    scale = 0.0
    if length > 0.0:
        scale = lam / length
    return Answer(scale, lam, True, freedom * u0, freedom)


@compiled(inner=True, fastmath=SCALAR)
def _answer_inside(square, cost, u0, terms, lam):
    """Return the answer with the intercept inside the norm, from a guess of λ.

    Newton's method is applied to a concave function that is nearly linear: with a good
    guess one step is enough.
    """
    stiffness = terms.stiffness
    ridge = terms.ridge
    unit = terms.intercept.unit
    damping = terms.intercept.damping
    total = terms.centre * stiffness + cost - terms.radius
    u0_square = u0 * u0
    if (
        total > 0.0
        and square / (ridge * ridge) + (u0 / damping) ** 2 <= (total / stiffness) ** 2
    ):
        return Answer(
            1.0 / ridge,
            total / stiffness,
            False,
            unit / damping * u0,
            unit / damping * unit,
        )
    if total <= 0.0 and square + u0_square <= total * total:
        return Answer(0.0, 0.0, True, 0.0, 0.0)
    # On the boundary: Newton for 1/size = 1, where size is the root of the left side of
    # the equation at the top of this file
    ridge += stiffness
    damping += stiffness
    one = two = 0.0
    for _ in range(MAX_STEPS):
        if not (ridge * lam > total and damping * lam > total and lam > 0.0):
            # At most the root
            lam = max((total + math.sqrt(square)) / ridge, (total + abs(u0)) / damping)
        one = 1.0 / (ridge * lam - total)
        two = 1.0 / (damping * lam - total)
        first = square * one * one
        second = u0_square * two * two
        size = math.sqrt(first + second)
        step = (
            size * size * (size - 1.0) / (first * ridge * one + second * damping * two)
        )
        lam += step
        # To first order, so that no division is needed
        one = one * (1.0 - step * ridge * one)
        two = two * (1.0 - step * damping * two)
        if abs(step) <= ENOUGH * lam:
            break
    return Answer(lam * one, lam, True, unit * lam * two * u0, unit * lam * two * unit)


@compiled(inner=True)
def _moved(place, edge, t, terms):
    sign, along, row_square, square, cost, u0, kappa, answer = place
    change = t * (edge.hinge - edge.flip)
    square = max(square + change * (2.0 * along + change * row_square), 0.0)
    u0 += terms.intercept.unit * sign * change
    cost += kappa * edge.flip * t
    answer = _answer(terms.intercept.has_cost, square, cost, u0, terms, answer.lam)
    return Norm2Place(
        sign, along + change * row_square, row_square, square, cost, u0, kappa, answer
    )


@compiled(inner=True)
def _slope(start, edge, t, terms):
    place = start
    if t != 0.0:
        place = _moved(start, edge, t, terms)
    scale, lam, touching, bias, freedom = place.answer
    margin = scale * place.along + place.sign * bias
    slope = edge.hinge * (1.0 - margin) + edge.flip * (1.0 + margin - place.kappa * lam)
    net = edge.hinge - edge.flip
    cost = place.kappa * edge.flip
    curvature = freedom * net * net
    if not touching:
        curvature += (
            scale * place.row_square * net * net + cost * cost / terms.stiffness
        )
    elif lam > 0.0:
        # w changes along u, which changes λ, and across it
        towards = 0.0
        if place.square > 0.0:
            towards = place.along / math.sqrt(place.square)
        across = max(place.row_square - towards * towards, 0.0)
        change = towards * net + cost
        curvature += scale * across * net * net + change * change / (
            terms.stiffness + terms.ridge
        )
    return slope, curvature


SLOPES[Norm2Place] = _slope
MOVES[Norm2Place] = _moved


@compiled(inner=True)
def norm2_sums(terms, multipliers):
    """Return the sums at the start of an epoch."""
    u = multipliers.u
    square = product(u, u)
    cost = multipliers.sums[0]
    u0 = multipliers.sums[1]
    answer = _answer(terms.intercept.has_cost, square, cost, u0, terms, terms.centre)
    return Norm2Sums(square, cost, u0, answer)


@compiled(inner=True)
def norm2_answer(sums, multipliers):
    """Write Σκβ and u₀, and return the scale, λ and b of the answer."""
    multipliers.sums[0] = sums.cost
    multipliers.sums[1] = sums.u0
    answer = sums.answer
    return answer.scale, answer.lam, answer.bias


@compiled()
def classifier_of_sums(length, cost, u0, terms):
    """Return the scale, λ and b of the classifier for given ‖u‖, Σκβ and u₀."""
    answer = _answer(
        terms.intercept.has_cost, length * length, cost, u0, terms, terms.centre
    )
    return answer.scale, answer.lam, answer.bias


@compiled(inner=True)
def norm2_visit(sums, i, squares, rows, firm, multipliers, flips, terms):
    """Improve the multipliers of row i, unless it is firmly at a corner.

    `squares` are the x_i·x_i. Returns the new sums and the verdict on the row before.
    """
    data, indices, indptr, width, signs, weights = rows
    u, _, hinge, flip, margins = multipliers
    square, cost, u0, answer = sums
    first, last = bounds(indptr, width, i)
    old_hinge = hinge[i]
    old_flip = flip[i]
    kappa = at(flips.kappa, i)
    can_flip = at(flips.possible, i)
    along = signs[i] * dot(data, indices, first, last, u)
    margins[i] = answer.scale * along + signs[i] * answer.bias
    verdict = judged(
        margins[i], answer.lam, weights[i], old_hinge, old_flip, kappa, can_flip
    )
    if verdict.firmness <= firm and verdict.gap != 0.0:
        place = Norm2Place(signs[i], along, squares[i], square, cost, u0, kappa, answer)
        hinge[i], flip[i], place = ascend(
            place, old_hinge, old_flip, weights[i], can_flip, terms
        )
        sums = Norm2Sums(place.square, place.cost, place.u0, place.answer)
        change = ((hinge[i] - flip[i]) - (old_hinge - old_flip)) * signs[i]
        if change != 0.0:
            add_row(data, indices, first, last, change, u)
    return sums, verdict
