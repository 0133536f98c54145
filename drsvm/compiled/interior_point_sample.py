"""Per-sample operations of the interior-point method, on a few rows at a time.

`interior_point_passes.py` calls them, and `engines/gpu/cuda_translation.py` translates
them to C++.

Sample i has its own slack s and three constraints with multipliers,

    g₁ = s − (1 − m) ≥ 0  (α),    g₂ = s − (1 + m − κλ) ≥ 0  (β),    g₃ = s ≥ 0  (γ),
    α + β + γ = π,

where m stands for the margin or, if the row may shift by r on its own, for the margin
minus rλ,

and the Newton equations  α·dg₁ + g₁·dα = target·π − α g₁ − correction₁  and so on: the
products of multiplier and slack aim at target·π, and the correction is what products of
the changes would add to them, estimated from the predictor (Mehrotra 1992). With
D_k = multiplier/slack, D = ΣD_k and P_k = (target·π − correction_k)/g_k, eliminating
the slack gives

    ds = (ΣP − π − (D₁ − D₂) dm − κ D₂ dλ) / D
    dα = P₁ − α − D₁ (ds + dm),
    dβ = P₂ − β − D₂ (ds − dm + κ dλ),
    dγ = P₃ − γ − D₃ ds,

and a sample adds a multiple of its row to the equations for (w, λ). The array of the
correction has a fourth row, for the corrected direction's dm without the sign of the
label. `flips` is 1 or 0: if a label cannot be
flipped, β stays 0 and g₂ stays 1. λ enters the loss of a row through κ if its label can
be flipped, otherwise through r: `slopes` has the one that applies. `flips` and `slopes`
are numbers or arrays with one entry per row.

Two rules keep samples whose margin crosses a kink, where the linearisation is useless,
from limiting the step of all others. No correction is larger than MAX_CORRECTION times
the sample's own product; and a sample that cannot follow the common step stops short of
its boundary on its own: the next step removes the dual residual that this leaves.

The state of n samples has the rows α, β, γ, g₁, g₂, g₃. To allow vector instructions,
divisions must not raise (error_model), cases are factors 0 or 1 or selections rather
than branches, and rates of change are written to arrays: the compiler vectorises sums
but not maxima. It may take sums in any order: nothing small is added to a number that
is taken away again.
"""

from typing import Any, NamedTuple

import numpy as np

from drsvm.compiled.decorators import compiled, for_types
from drsvm.compiled.row_access import at

# FAST, also without NaN and with reciprocals for divisions
FASTEST = {
    "reassoc",
    "contract",
    "nsz",
    "nnan",
    "arcp",
}
# Largest second-order correction, relative to the product of multiplier and slack
MAX_CORRECTION = 2.0
BINS = 512  # number of bins for step lengths between 0 and 1


class Tile(NamedTuple):
    """A few rows: their state, weights and labels, and how λ enters their losses."""

    state: np.ndarray
    weights: np.ndarray
    signs: np.ndarray
    flips: float | np.ndarray
    slopes: float | np.ndarray


def flips_of(flips, slopes, first, last) -> Any:
    """Return the flips and slopes of some rows; numbers stay as they are."""
    if hasattr(flips, "__len__"):
        return (flips[first:last], slopes[first:last])
    return (flips, slopes)


@for_types(flips_of)
def _flips_of(flips, slopes, first, last):
    if hasattr(flips, "ndim"):
        return lambda flips, slopes, first, last: (
            flips[first:last],
            slopes[first:last],
        )
    return lambda flips, slopes, first, last: (flips, slopes)


@compiled(fastmath=FASTEST, inner=True)
def _slopes(flip, slope):
    """Return κ and r of a row, of which one is 0."""
    return flip * slope, (1.0 - flip) * slope


@compiled(fastmath=FASTEST, inner=True)
def _ratios(state, i):
    i1 = 1.0 / state[3, i]
    i2 = 1.0 / state[4, i]
    i3 = 1.0 / state[5, i]
    d1 = state[0, i] * i1
    d2 = state[1, i] * i2
    d3 = state[2, i] * i3
    return i1, i2, i3, d1, d2, d3, 1.0 / (d1 + d2 + d3)


@compiled(fastmath=FASTEST, inner=True)
def _direction(state, i, flip, d1, d2, d3, inverse, p1, p2, p3, pi, dm, kdl):
    """Return the changes of α, β, γ, g₁, g₂, g₃ for given P, dm and κdλ."""
    ds = (p1 + p2 + p3 - pi - (d1 - d2) * dm - d2 * kdl) * inverse
    g1 = ds + dm
    g2 = flip * (ds - dm + kdl)
    return (
        p1 - state[0, i] - d1 * g1,
        p2 - state[1, i] - d2 * g2,
        p3 - state[2, i] - d3 * ds,
        g1,
        g2,
        ds,
    )


@compiled(fastmath=FASTEST, inner=True)
def center(tile, margins, lam, mu):
    """Put every sample on the central path of μ for its margin and λ.

    There Σ_k μ/g_k = 1, and the multipliers are μπ/g_k. The sum decreases in s and is
    convex: Newton's method from the left needs no safeguard, and since s lies between μ
    and 3μ above the largest piece, the error after six steps is at most (2/3)⁶⁴ of
    that.
    """
    state, weights, _, flips, slopes = tile
    for i in range(weights.size):
        flip = at(flips, i)
        cost, radius = _slopes(flip, at(slopes, i))
        margin = margins[i] - radius * lam
        hinge = 1.0 - margin
        flipped = 1.0 + margin - cost * lam
        top = max(hinge, 0.0)
        flipped = flip * flipped + (1.0 - flip) * top
        top = max(top, flipped)
        above = mu  # s − top; all slacks are sums of numbers ≥ 0, without cancellation
        for _ in range(6):
            r1 = mu / (above + (top - hinge))
            r2 = flip * mu / (above + (top - flipped))
            r3 = mu / (above + top)
            above += (r1 + r2 + r3 - 1.0) * mu / (r1 * r1 + r2 * r2 + r3 * r3)
        g1 = above + (top - hinge)
        g2 = above + (top - flipped)
        g3 = above + top
        r1 = 1.0 / g1
        r2 = flip / g2
        r3 = 1.0 / g3
        share = weights[i] / (r1 + r2 + r3)
        state[0, i] = share * r1
        state[1, i] = share * r2
        state[2, i] = share * r3
        state[3, i] = g1
        state[4, i] = g2 if flip > 0.0 else 1.0
        state[5, i] = g3


@compiled(fastmath=FASTEST, inner=True)
def curvature(tile, h, coefficients):
    """Write the curvature h, and the coefficients of the λ column and the predictor.

    Returns Σ of the λλ entry and Σ of the predictor's λ entry.
    """
    state, weights, signs, flips, slopes = tile
    square = linear = 0.0
    for i in range(weights.size):
        cost, radius = _slopes(at(flips, i), at(slopes, i))
        _, _, _, d1, d2, d3, inverse = _ratios(state, i)
        h[i] = (4.0 * d1 * d2 + d3 * (d1 + d2)) * inverse
        in_lam = cost * d2 * (2.0 * d1 + d3) * inverse + radius * h[i]
        coefficients[0, i] = -signs[i] * in_lam
        coefficients[1, i] = signs[i] * (d2 - d1) * weights[i] * inverse
        square += cost * cost * d2 * (d1 + d3) * inverse + radius * radius * h[i]
        linear += (radius * (d1 - d2) - cost * d2) * weights[i] * inverse
    return square, linear


@compiled(fastmath=FASTEST, inner=True)
def _moderate(correction, product):
    most = MAX_CORRECTION * product
    return min(max(correction, -most), most)


@compiled(fastmath=FASTEST, inner=True)
def _right_hand_side(p1, p2, p3, d1, d2, inverse):
    """Return the contribution of P to the right-hand side.

    That is the coefficient of the row, and −1/κ times the λ entry.
    """
    share = (p1 + p2 + p3) * inverse
    return p2 - p1 + (d1 - d2) * share, p2 - d2 * share


@compiled(fastmath=FASTEST, inner=True)
def predict(tile, dm, dlam, correction, coefficients, rates):
    """Evaluate the predictor's direction.

    Write the correction and the coefficients of the corrector's right-hand side.

    Row 0 of the coefficients belongs to the correction, row 1 to the target (to be
    multiplied by it). `rates` receives the smallest dg/g and dmultiplier/multiplier of
    each sample. Returns Σ multiplier·dg, Σ g·dmultiplier, Σ dmultiplier·dg, and the λ
    entries of the two rows.
    """
    state, weights, signs, flips, slopes = tile
    slack = multiplier = both = corrected = targeted = 0.0
    for i in range(weights.size):
        pi = weights[i]
        flip = at(flips, i)
        cost, radius = _slopes(flip, at(slopes, i))
        i1, i2, i3, d1, d2, d3, inverse = _ratios(state, i)
        # 1. The direction: the target is 0, and there is no correction yet
        da, db, dc, e1, e2, e3 = _direction(
            state,
            i,
            flip,
            d1,
            d2,
            d3,
            inverse,
            0.0,
            0.0,
            0.0,
            pi,
            signs[i] * dm[i] - radius * dlam,
            cost * dlam,
        )
        # 2. How far it can go: without target and correction dα/α = −1 − dg₁/g₁
        r1 = e1 * i1
        r2 = e2 * i2
        r3 = e3 * i3
        rates[0, i] = min(r1, min(r2, r3))
        rates[1, i] = -1.0 - max(r1, max(r2, r3))
        # 3. What the products become along it
        slack += state[0, i] * e1 + state[1, i] * e2 + state[2, i] * e3
        multiplier += state[3, i] * da + state[4, i] * db + state[5, i] * dc
        both += da * e1 + db * e2 + dc * e3
        # 4. The second-order correction, and what it adds to the right-hand side
        c1 = _moderate(da * e1, state[0, i] * state[3, i])
        c2 = _moderate(db * e2, state[1, i] * state[4, i])
        c3 = _moderate(dc * e3, state[2, i] * state[5, i])
        correction[0, i] = c1
        correction[1, i] = c2
        correction[2, i] = c3
        row, lam = _right_hand_side(-c1 * i1, -c2 * i2, -c3 * i3, d1, d2, inverse)
        coefficients[0, i] = signs[i] * row
        corrected -= cost * lam + radius * row
        row, lam = _right_hand_side(pi * i1, flip * pi * i2, pi * i3, d1, d2, inverse)
        coefficients[1, i] = signs[i] * row
        targeted -= cost * lam + radius * row
    return slack, multiplier, both, corrected, targeted


@compiled(fastmath=FASTEST, inner=True)
def _corrected(tile, step, correction, i):
    """Return 1/g and the changes of the state in the corrected direction."""
    state, weights, signs, flips, slopes = tile
    pi = weights[i]
    flip = at(flips, i)
    cost, radius = _slopes(flip, at(slopes, i))
    kdl = cost * step.lam_change
    dm = signs[i] * correction[3, i] - radius * step.lam_change
    i1, i2, i3, d1, d2, d3, inverse = _ratios(state, i)
    goal = step.target * pi
    p1 = (goal - correction[0, i]) * i1
    p3 = (goal - correction[2, i]) * i3
    p2 = flip * (goal - correction[1, i]) * i2
    da, db, dc, e1, e2, e3 = _direction(
        state, i, flip, d1, d2, d3, inverse, p1, p2, p3, pi, dm, kdl
    )
    return i1, i2, i3, da, db, dc, e1, e2, e3


@compiled(fastmath=FASTEST, inner=True)
def longest_steps(tile, step, correction, rates):
    """Write the smallest dg/g and dmultiplier/multiplier of the corrected direction."""
    state = tile.state
    for i in range(tile.weights.size):
        i1, i2, i3, da, db, dc, e1, e2, e3 = _corrected(tile, step, correction, i)
        rates[0, i] = min(e1 * i1, min(e2 * i2, e3 * i3))
        # A sum with 1 − flip could be taken in another order
        beta = state[1, i] if at(tile.flips, i) > 0.0 else 1.0
        flip_rate = db / beta
        rates[1, i] = min(da / state[0, i], min(dc / state[2, i], flip_rate))


@compiled(inner=True)
def record_rates(rates, weights, smallest, bins):
    """Update the smallest rates, and the weights of the samples by their longest step.

    This is done for each row of rates. NaN counts as the shortest step, and cannot be
    left behind.
    """
    for k in range(2):
        low = max(smallest[k], -1.0)  # rates above it change nothing
        for i in range(weights.size):
            rate = rates[k, i]
            if not rate >= low:
                if rate != rate:
                    smallest[k] = -np.inf
                    bins[k, 0] = np.inf
                else:
                    smallest[k] = min(smallest[k], rate)
                    if rate < -1.0:
                        bins[k, int(-BINS / rate)] += weights[i]
                low = max(smallest[k], -1.0)


@compiled(fastmath=FASTEST, inner=True)
def _share_kept(alpha, beta, gamma, weight):
    """Return a factor for multipliers, so that the largest can absorb the excess."""
    total = alpha + beta + gamma
    if total - weight > 0.5 * max(alpha, max(beta, gamma)):
        return weight / total
    return 1.0


@compiled(fastmath=FASTEST, inner=True)
def move(tile, step, correction):
    """Take the given steps along the corrected direction; return Σ multiplier · slack.

    A sample that would keep less than the share `left` of a slack or multiplier stops
    there: its s is raised, or its multipliers are clipped. α + β + γ = π stays exact:
    the largest absorbs the difference, or all three shrink.
    """
    state, weights, _, flips, _ = tile
    primal = step.primal
    dual = step.dual
    left = step.left
    products = 0.0
    for i in range(weights.size):
        _, _, _, da, db, dc, e1, e2, e3 = _corrected(tile, step, correction, i)
        alpha = max(state[0, i] + dual * da, left * state[0, i])
        beta = max(state[1, i] + dual * db, left * state[1, i])
        gamma = max(state[2, i] + dual * dc, left * state[2, i])
        # The multipliers sum to π again: the largest absorbs the difference
        shrink = _share_kept(alpha, beta, gamma, weights[i])
        alpha = shrink * alpha
        beta = shrink * beta
        gamma = shrink * gamma
        excess = (alpha - weights[i]) + beta + gamma
        alpha_is_largest = alpha >= max(beta, gamma)
        beta_is_largest = beta > alpha and beta >= gamma
        alpha -= excess if alpha_is_largest else 0.0
        beta -= excess if beta_is_largest else 0.0
        gamma -= 0.0 if alpha_is_largest or beta_is_largest else excess
        g1 = state[3, i] + primal * e1
        g2 = state[4, i] + primal * e2
        g3 = state[5, i] + primal * e3
        # All three slacks contain s, which is raised until each keeps its share
        missing = max(
            left * state[3, i] - g1,
            max(left * state[4, i] - g2, left * state[5, i] - g3),
        )
        lift = max(missing, 0.0)
        g1 = g1 + lift
        g2 = g2 + at(flips, i) * lift
        g3 = g3 + lift
        state[0, i] = alpha
        state[1, i] = beta
        state[2, i] = gamma
        state[3, i] = g1
        state[4, i] = g2
        state[5, i] = g3
        products += alpha * g1 + beta * g2 + gamma * g3
    return products


@compiled(fastmath=FASTEST, inner=True)
def sides(tile, coefficients):
    """Write α and β by the side that an intercept balances.

    Return the sums of both sides, of multipliers and of κβ − rα.
    """
    state, _, signs, flips, slopes = tile
    one = other = cost_one = cost_other = 0.0
    for i in range(signs.size):
        positive = signs[i] > 0.0
        alpha = state[0, i]
        beta = state[1, i]
        first = alpha if positive else beta
        second = beta if positive else alpha
        coefficients[0, i] = first
        coefficients[1, i] = second
        one += first
        other += second
        cost, radius = _slopes(at(flips, i), at(slopes, i))
        of_flip = cost * beta
        of_shift = radius * alpha
        cost_one += -of_shift if positive else of_flip
        cost_other += of_flip if positive else -of_shift
    return one, other, cost_one, cost_other
