"""The geometry of each norm in the proximal step: its point for given multipliers.

With a = w̄ + shift·z, z = y x, the point (w, λ) minimises (ρ/2)‖w − a/ρ‖² + ½ (λ − s)²
over the cone {‖w‖_q ≤ λ}:

    Diamond    q = 1   w = soft(a, τ) / ρ          Σ (|a_j| − τ)₊ = ρ (s + τ), λ = s + τ
    Euclidean  q = 2   w = a / ρ, shortened to λ   λ = (ρ‖a/ρ‖ + s) / (1 + ρ)
    Box        q = ∞   w = clip(a / ρ, ±λ)         Σ (|a_j| − ρλ)₊ = λ − s

For q = 2 this takes a few scalar operations. For q = 1 and ∞, `row` contains w̄ and z
at the entries of the row. The other entries do not change and enter only through Σ
(|w̄_j| − limit)₊ and the number of its terms. `rest` provides these sums: None (there
are no other entries), all weights, a band of them, or a band of weights that share a
soft threshold. Functions are selected by the types of a geometry at compile time.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from drsvm.compiled import lazy_threshold as bands
from drsvm.compiled.decorators import FAST, SCALAR, by_type, compiled

# Limit on Newton steps for a piecewise linear function, which usually takes three or
# four.
MAX_STEPS = 100


class Euclidean(NamedTuple):
    """q = 2: w̄·z, and the squared norm of the part of w̄ that is orthogonal to z."""

    along: float
    across_square: float


class Box(NamedTuple):
    """q = ∞."""

    # w̄ and z at the entries of the row; None if there is no row
    row: np.ndarray | None
    entries: int | np.integer  # their number
    rest: Any  # provides the sums over all other entries; None if there are none


class Diamond(Box):
    """q = 1: the same data."""


class AllWeights(NamedTuple):
    """All weights, with 0 at the entries of the row."""

    weights: np.ndarray


class Point(NamedTuple):
    """The margin and λ for given multipliers, and their derivatives along a line."""

    margin: float
    lam: float
    margin_slope: float
    lam_slope: float
    tau: float  # q = 1: the threshold
    rest: float  # q = 1: Σ |w_j| outside the row


@compiled(inner=True)
def _weights_excess(rest, limit):
    weights = rest.weights
    total = count = 0.0
    for j in range(weights.size):
        over = abs(weights[j]) - limit
        total += max(over, 0.0)
        count += 1.0 if over > 0.0 else 0.0
    return total, count


# Return Σ (|w̄_j| − limit)₊ and the number of positive terms over the entries outside
# the row.
rest_excess = by_type(
    {
        None: lambda rest, limit: (0.0, 0.0),
        AllWeights: _weights_excess,
        bands.Band: bands.excess,
        bands.Shrunk: bands.shrunk_excess,
    },
    forceinline=True,
    fastmath=FAST,
)


@compiled(inner=True, forceinline=True, fastmath=FAST)
def _row_excess(row, entries, shift, limit):
    """Return the same as `rest_excess` for the entries of the row."""
    total = above = 0.0
    if row is None:
        return total, above
    for k in range(np.uint64(entries)):
        over = abs(row[0, k] + shift * row[1, k]) - limit
        total += max(over, 0.0)
        above += 1.0 if over > 0.0 else 0.0
    return total, above


@compiled(inner=True, forceinline=True, fastmath=SCALAR)
def threshold(geometry, shift, factor, target, slack, guess):
    """Return x ≥ 0 with Σ_j (|a_j| − factor·x)₊ = target + slack·x; 0 if there is none.

    Here a_j = w̄_j + shift·z_j, and `guess` is where the search starts. Also returns the
    sum, its part outside the row, and the number of positive terms. The difference of
    the two sides is convex in x: after one step Newton's method approaches the root
    from the left, and it has converged when the same terms are positive as one step
    before.
    """
    x = max(guess, 0.0)
    before = -1.0
    number_before = -1.0
    total = rest = number = 0.0
    for _ in range(MAX_STEPS):
        rest, number = rest_excess(geometry.rest, factor * x)
        own, above = _row_excess(geometry.row, geometry.entries, shift, factor * x)
        total = own + rest
        number = number + above
        slope = slack + factor * number
        new = 0.0
        if slope > 0.0:
            new = max(x + (total - target - slack * x) / slope, 0.0)
        # The last piece is linear: with the same terms, a further step changes nothing
        if new == x or number == number_before or (before >= 0.0 and new <= x):
            break
        before = x
        number_before = number
        x = new
    return x, total, rest, number


@compiled(inner=True, forceinline=True, fastmath=FAST)
def _row_sums(row, entries, shift, limit):
    """Return z·clip(a) and z·(a − clip(a)).

    Also returns Σ ±z_j and Σ z_j² over the entries outside the limits.
    """
    clipped = outside = signed = square = 0.0
    if row is None:
        return clipped, outside, signed, square
    for k in range(np.uint64(entries)):
        z = row[1, k]
        value = row[0, k] + shift * z
        inside = min(max(value, -limit), limit)
        clipped += inside * z
        outside += (value - inside) * z
        outwards = (z if value > limit else 0.0) - (z if value < -limit else 0.0)
        signed += outwards
        square += outwards * outwards
    return clipped, outside, signed, square


# --- the points; rates and slopes are derivatives in the direction `towards` of (δ, σ₂)


@compiled(inner=True)
def _euclidean_point(geometry, step, delta, sigma2, towards, ball):
    shift = step.length * delta
    rate = step.length * towards[0]
    s = step.lam + step.length * step.kappa * sigma2
    s_slope = step.length * step.kappa * towards[1]
    inner = geometry.along + shift * step.square
    along_square = 0.0
    if step.square > 0.0:
        along_square = inner / step.square * inner
    norm = math.sqrt(geometry.across_square + along_square) / step.rho
    inner /= step.rho
    inner_slope = rate * step.square / step.rho
    # Inside the cone nothing is projected: the factor is 1, and λ = s
    margin = step.bias + step.free * shift
    margin_slope = step.free * rate
    lam = s
    lam_slope = s_slope
    factor = 1.0
    factor_slope = 0.0
    if ball >= 0.0:
        lam = ball
        lam_slope = 0.0
    # Outside, w is shortened to λ, which is 0 in the polar cone
    if norm > lam:
        norm_slope = 0.0
        if norm > 0.0:
            norm_slope = rate * (inner / norm) / step.rho
        if ball < 0.0:
            lam = 0.0
            lam_slope = 0.0
            if step.rho * norm > -s:
                lam = (step.rho * norm + s) / (1.0 + step.rho)
                lam_slope = (step.rho * norm_slope + s_slope) / (1.0 + step.rho)
        factor = 0.0
        if lam > 0.0:
            factor = lam / norm
            factor_slope = (lam_slope - factor * norm_slope) / norm
    slope = margin_slope + factor * inner_slope + factor_slope * inner
    return Point(margin + factor * inner, lam, slope, lam_slope, 0.0, 0.0)


@compiled(inner=True)
def _box_point(geometry, step, delta, sigma2, towards, ball):
    shift = step.length * delta
    rate = step.length * towards[0]
    s = step.lam + step.length * step.kappa * sigma2
    s_slope = step.length * step.kappa * towards[1]
    lam = ball
    clipped = 0.0
    if ball < 0.0:
        guess = max(step.guess, s)
        lam, _, _, clipped = threshold(geometry, shift, step.rho, -s, 1.0, guess)
    inner, _, signed, square = _row_sums(
        geometry.row, geometry.entries, shift, step.rho * lam
    )
    lam_slope = 0.0
    if ball < 0.0 and lam > 0.0:
        lam_slope = (s_slope + rate * signed) / (1.0 + step.rho * clipped)
    margin = step.bias + step.free * shift + inner / step.rho
    margin_slope = (
        step.free + (step.square - square) / step.rho
    ) * rate + signed * lam_slope
    return Point(margin, lam, margin_slope, lam_slope, 0.0, 0.0)


@compiled(inner=True)
def _diamond_point(geometry, step, delta, sigma2, towards, ball):
    shift = step.length * delta
    rate = step.length * towards[0]
    s = step.lam + step.length * step.kappa * sigma2
    s_slope = step.length * step.kappa * towards[1]
    lam = ball
    lam_slope = 0.0
    slack = 0.0
    if ball < 0.0:
        lam = s
        lam_slope = s_slope
        slack = step.rho
    target = step.rho * lam
    tau, total, rest, above = threshold(
        geometry, shift, 1.0, target, slack, step.guess - s
    )
    _, inner, signed, square = _row_sums(geometry.row, geometry.entries, shift, tau)
    tau_slope = 0.0
    if tau > 0.0:
        tau_slope = (rate * signed - slack * s_slope) / max(above + slack, 1.0)
        if ball < 0.0:
            lam = total / step.rho
            lam_slope = s_slope + tau_slope
    margin = step.bias + step.free * shift + inner / step.rho
    margin_slope = step.free * rate + (rate * square - signed * tau_slope) / step.rho
    return Point(margin, lam, margin_slope, lam_slope, tau, rest / step.rho)


# Return the point at (δ, σ₂), with derivatives in the direction `towards`; `ball` ≥ 0
# fixes λ at that value.
point_at = by_type(
    {Euclidean: _euclidean_point, Box: _box_point, Diamond: _diamond_point},
    forceinline=True,
    fastmath=SCALAR,
)
