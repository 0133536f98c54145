"""Projection onto the epigraph {‖w‖_q ≤ λ}, and the exact proximal step of one sample built on it.

Everything here minimises over the epigraph a function of the form

    (ρ/2η) ‖w − a‖² + (1/2η) (λ − s)²,

whose solution is, with one scalar θ ≥ 0 (the multiplier of the norm, over ρ),

    q = 1:  w = soft(a, θ),               λ = s + ρ θ
    q = 2:  w = (1 − θ/‖a‖) a,            λ = s + ρ θ
    q = ∞:  w = clip(a, ±λ),              λ = s + ρ θ,   θ = Σ (|a_j| − λ)₊
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

ONE, TWO, INFINITY = 1, 2, 3
"""Codes of the norm q: min(q, 3)."""

EPS = 2.0**-52


@njit(cache=True)
def threshold(sizes, s, r):
    """Return θ with Σ_j (sizes_j − θ)₊ = s + r θ, for sizes ≥ 0 and Σ sizes > s; expected linear time.

    Pivots are drawn at random and split off all values equal to them, so ties cost nothing. The sum over the final
    active set is taken afresh, compensated, in the order of the entries.
    """
    left = sizes.copy()
    m = left.size
    total = 0.0
    count = 0
    lower = 0.0  # the root lies above it: in the end the active entries are those above `lower`
    state = np.uint64(88172645463325252)
    while m > 0:
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        pivot = left[int(state % np.uint64(m))]
        above_sum = 0.0
        above = 0
        equal = 0
        for k in range(m):
            if left[k] > pivot:
                above_sum += left[k]
                above += 1
            elif left[k] == pivot:
                equal += 1
        if total + above_sum - (count + above) * pivot > s + r * pivot:
            m = _keep_above(left, m, pivot)  # the root lies above the pivot
            lower = pivot
        else:
            total += above_sum + equal * pivot
            count += above + equal
            m = _keep_below(left, m, pivot)
    return _root_of_active(sizes, s, r, lower)


@njit(cache=True)
def _keep_above(left, m, pivot):
    kept = 0
    for k in range(m):
        if left[k] > pivot:
            left[kept] = left[k]
            kept += 1
    return kept


@njit(cache=True)
def _keep_below(left, m, pivot):
    kept = 0
    for k in range(m):
        if left[k] < pivot:
            left[kept] = left[k]
            kept += 1
    return kept


@njit(cache=True)
def _root_of_active(sizes, s, r, lower):
    """Return (Σ active − s)/(number of active + r), the active entries being those above `lower`."""
    count = 0
    total = 0.0
    lost = 0.0
    for k in range(sizes.size):
        if sizes[k] > lower:
            item = sizes[k] - lost
            new = total + item
            lost = (new - total) - item
            total = new
            count += 1
    if count + r == 0.0:
        return lower
    return (total - s) / (count + r)


@njit(cache=True)
def norm_excess(q, a, s, rho):
    """Return θ (see the head of this file) of the point of the epigraph nearest to (a, s)."""
    if q == TWO:
        return l2_excess(_euclidean(a), s, rho)
    sizes = np.abs(a)
    if q == ONE:
        if sizes.sum() <= s:
            return 0.0
        return threshold(sizes, s, rho)
    if sizes.max() <= s:
        return 0.0
    if sizes.sum() <= -s / rho:
        return -s / rho  # the origin: λ = 0
    level = threshold(sizes, -s / rho, 1.0 / rho)
    return (level - s) / rho


@njit(cache=True)
def l2_excess(length, s, rho):
    """Return θ for q = 2, from the length of a alone."""
    if length <= s:
        return 0.0
    if rho * length <= -s:
        return -s / rho  # the origin: λ = 0
    return (length - s) / (1.0 + rho)


@njit(cache=True)
def _euclidean(a):
    scale = np.abs(a).max() if a.size else 0.0
    if scale == 0.0:
        return 0.0
    total = 0.0
    for k in range(a.size):
        total += (a[k] / scale) ** 2
    return scale * math.sqrt(total)


@njit(cache=True)
def shrink(q, a, theta, level, out):
    """Write the vector part w of the solution for given θ and λ into `out`."""
    if q == TWO:
        length = _euclidean(a)
        factor = max(0.0, 1.0 - theta / length) if theta > 0.0 else 1.0
        for k in range(a.size):
            out[k] = factor * a[k]
    elif q == ONE:
        for k in range(a.size):
            out[k] = math.copysign(max(abs(a[k]) - theta, 0.0), a[k])
    else:
        for k in range(a.size):
            out[k] = min(max(a[k], -level), level)


@njit(cache=True)
def project(q, x, s, rho, out):
    """Write the vector part of the nearest point of the epigraph into `out` and return λ."""
    theta = norm_excess(q, x, s, rho)
    level = max(s + rho * theta, 0.0)
    shrink(q, x, theta, level, out)
    return level


# ---------------------------------------------------------------------------------------------------------------------
# The proximal step of one sample.
#
# The loss max(1 − m, 1 + m − κλ, 0) is the maximum over the triangle {σ₁, σ₂ ≥ 0, σ₁ + σ₂ ≤ 1} of
# σ₁ (1 − m) + σ₂ (1 + m − κλ). For given σ the rest is a projection onto the epigraph, and the dual function is smooth
# and concave in σ. It is maximised over the three edges of the triangle, and where no edge is optimal, in its inside
# (m = 1 and κλ = 2: the triple kink). Each of the four is one monotone equation in δ = σ₁ − σ₂,
#
#     0 = (1 + 2t) − m − t κλ,      t = dσ₂/dδ:   0 (σ₂ = 0),   −1 (σ₁ = 0),   −1/2 (σ₁ + σ₂ = 1),   0 (inside)
#
# and the point of every candidate shows its own duality gap, which says whether it is the solution.
# ---------------------------------------------------------------------------------------------------------------------


class Sample(NamedTuple):
    """What the step needs: z = y·x, the centre (w̄, b̄, λ̄ − ηε), and sums over them."""

    z: np.ndarray
    w_bar: np.ndarray
    level: float  # λ̄ − ηε
    bias: float  # y·b̄
    free: float  # 1 with an intercept, 0 without
    eta: float
    rho: float  # 1 + ηc
    kappa: float
    along: float  # w̄·z
    square: float  # z·z
    across: float  # length of the part of w̄ orthogonal to z
    size: float  # Σ |w̄_j z_j|: the scale on which w̄·z is rounded


class Point(NamedTuple):
    """Margin and λ at some σ, their derivatives along δ, and the multiplier θ of the norm."""

    margin: float
    level: float
    margin_slope: float
    level_slope: float
    theta: float


@njit(cache=True)
def make_sample(w_bar, z, level, bias, free, eta, rho, kappa):
    """Gather the sums of a step."""
    along = 0.0
    square = 0.0
    size = 0.0
    for k in range(z.size):
        along += w_bar[k] * z[k]
        size += abs(w_bar[k] * z[k])
        square += z[k] * z[k]
    share = along / square if square > 0.0 else 0.0
    across = _euclidean(w_bar - share * z)
    return Sample(z, w_bar, level, bias, free, eta, rho, kappa, along, square, across, size)


@njit(cache=True)
def _evaluate(q, ball, sample, delta, sigma2, slope2):
    """Return the Point at (δ, σ₂) moving with dσ₂/dδ = slope2; with `ball` ≥ 0 the level is held at that value."""
    s = sample.level
    ds = 0.0
    if sigma2 != 0.0 or slope2 != 0.0:
        s += sample.eta * sample.kappa * sigma2
        ds = sample.eta * sample.kappa * slope2
    if q == TWO:
        return _evaluate_l2(ball, sample, delta, s, ds)
    a = (sample.w_bar + (sample.eta * delta) * sample.z) / sample.rho
    if q == ONE:
        return _evaluate_l1(ball, sample, delta, s, ds, a)
    return _evaluate_linf(ball, sample, delta, s, ds, a)


@njit(cache=True)
def _evaluate_l2(ball, sample, delta, s, ds):
    rho = sample.rho
    inner = (sample.along + sample.eta * delta * sample.square) / rho
    root = math.sqrt(sample.square)
    length = math.hypot(sample.across / rho, inner / root if root > 0.0 else 0.0)
    length_slope = sample.eta * inner / (rho * length) if length > 0.0 else 0.0
    if ball >= 0.0:
        theta = max(length - ball, 0.0)
        theta_slope = length_slope
    else:
        theta = l2_excess(length, s, rho)
        theta_slope = -ds / rho if theta >= length else (length_slope - ds) / (1.0 + rho)
    bias = sample.bias + sample.free * sample.eta * delta
    bias_slope = sample.free * sample.eta
    inner_slope = sample.eta * sample.square / rho
    if theta <= 0.0:
        return Point(inner + bias, s, inner_slope + bias_slope, ds, 0.0)
    factor = max(0.0, 1.0 - theta / length)
    factor_slope = (theta * length_slope / length - theta_slope) / length if factor > 0.0 else 0.0
    slope = factor_slope * inner + factor * inner_slope + bias_slope
    return Point(factor * inner + bias, s + rho * theta, slope, ds + rho * theta_slope, theta)


@njit(cache=True)
def _evaluate_l1(ball, sample, delta, s, ds, a):
    if ball < 0.0:
        theta = norm_excess(ONE, a, s, sample.rho)
    else:
        sizes = np.abs(a)
        theta = threshold(sizes, ball, 0.0) if sizes.sum() > ball else 0.0
    margin = 0.0
    signed = 0.0
    square = 0.0
    active = 0
    for k in range(a.size):
        over = abs(a[k]) - theta
        if over > 0.0:
            sign = math.copysign(1.0, a[k])
            margin += sign * over * sample.z[k]
            signed += sign * sample.z[k]
            square += sample.z[k] * sample.z[k]
            active += 1
    rate = sample.eta / sample.rho
    theta_slope = 0.0
    if theta > 0.0 and ball < 0.0:
        theta_slope = (rate * signed - ds) / (active + sample.rho)
    elif theta > 0.0 and active > 0:
        theta_slope = rate * signed / active
    bias = sample.bias + sample.free * sample.eta * delta
    slope = rate * square - signed * theta_slope + sample.free * sample.eta
    return Point(margin + bias, s + sample.rho * theta, slope, ds + sample.rho * theta_slope, theta)


@njit(cache=True)
def _evaluate_linf(ball, sample, delta, s, ds, a):
    theta = 0.0
    level = ball
    if ball < 0.0:
        theta = norm_excess(INFINITY, a, s, sample.rho)
        level = max(s + sample.rho * theta, 0.0)
    margin = 0.0
    signed = 0.0
    square = 0.0
    clipped = 0
    excess = 0.0
    for k in range(a.size):
        if abs(a[k]) > level:
            sign = math.copysign(1.0, a[k])
            margin += sign * level * sample.z[k]
            signed += sign * sample.z[k]
            excess += abs(a[k]) - level
            clipped += 1
        else:
            margin += a[k] * sample.z[k]
            square += sample.z[k] * sample.z[k]
    level_slope = 0.0
    if ball >= 0.0:
        theta = excess
    elif level > 0.0:
        level_slope = (ds + sample.eta * signed) / (1.0 + sample.rho * clipped)
    bias = sample.bias + sample.free * sample.eta * delta
    slope = sample.eta / sample.rho * square + signed * level_slope + sample.free * sample.eta
    return Point(margin + bias, level, slope, level_slope, theta)


@njit(cache=True)
def _residual(point, slope2, kappa):
    flipped = slope2 * kappa * point.level if slope2 != 0.0 else 0.0
    return (1.0 + 2.0 * slope2) - point.margin - flipped


@njit(cache=True)
def _noise(sample, delta, sigma2):
    """Return the size on which the pieces of the loss are rounded."""
    noise = 1.0 + sample.size / sample.rho + abs(sample.bias)
    noise += sample.eta * abs(delta) * (sample.square / sample.rho + sample.free)
    if not math.isinf(sample.kappa):
        noise += sample.kappa * (abs(sample.level) + sample.eta * sample.kappa * sigma2)
    return noise


@njit(cache=True)
def _solve_edge(q, ball, sample, low, high, constant, slope2):
    """Return the root δ in [low, high] of the decreasing residual, σ₂ = constant + slope2·δ; or the nearer end.

    Newton steps on the exact slope, with a bracket that at least halves in every second step, until the residual is
    rounding noise or the bracket too narrow to hold anything else. It needs no limit on the number of steps.
    """
    if _residual(_evaluate(q, ball, sample, low, constant + slope2 * low, slope2), slope2, sample.kappa) <= 0.0:
        return low
    if _residual(_evaluate(q, ball, sample, high, constant + slope2 * high, slope2), slope2, sample.kappa) >= 0.0:
        return high
    steepest = sample.eta * (sample.square / sample.rho + sample.free)
    if slope2 != 0.0:
        steepest += sample.eta * (sample.kappa * slope2) ** 2
    delta = 0.5 * (low + high)
    width = high - low
    while True:
        sigma2 = constant + slope2 * delta
        point = _evaluate(q, ball, sample, delta, sigma2, slope2)
        residual = _residual(point, slope2, sample.kappa)
        tolerance = 2.0 * EPS * _noise(sample, delta, abs(sigma2))
        if abs(residual) <= tolerance or (high - low) * steepest <= tolerance:
            return delta
        if residual > 0.0:
            low = delta
        else:
            high = delta
        slope = -point.margin_slope
        if slope2 != 0.0:
            slope -= slope2 * sample.kappa * point.level_slope
        previous = delta
        if slope < 0.0:
            delta = previous - residual / slope
        if not (low < delta < high) or (high - low) > 0.5 * width:
            delta = 0.5 * (low + high)
        width = high - low
        if delta <= low or delta >= high:
            return previous


@njit(cache=True)
def _duality_gap(q, sample, sigma1, sigma2):
    """Return the duality gap of σ relative to the rounding noise, and the point."""
    point = _evaluate(q, -1.0, sample, sigma1 - sigma2, sigma2, 0.0)
    hinge = 1.0 - point.margin
    loss = max(hinge, 0.0)
    bound = sigma1 * hinge
    if not math.isinf(sample.kappa):
        flipped = 1.0 + point.margin - sample.kappa * point.level
        loss = max(loss, flipped)
        bound += sigma2 * flipped
    return (loss - bound) / _noise(sample, sigma1 - sigma2, sigma2), point


@njit(cache=True)
def _inside(q, sample):
    """Return (σ₁, σ₂) for the triple kink m = 1, κλ = 2, moved into the triangle."""
    level = 2.0 / sample.kappa
    delta = _solve_edge(q, level, sample, -1.0, 1.0, 0.0, 0.0)
    point = _evaluate(q, level, sample, delta, 0.0, 0.0)
    sigma2 = (level - sample.level - sample.rho * point.theta) / (sample.eta * sample.kappa)
    sigma2 = min(max(sigma2, 0.0, -delta), 0.5 * (1.0 - delta))
    return max(sigma2 + delta, 0.0), sigma2


@njit(cache=True)
def solve_multipliers(q, sample):
    """Return σ₁, σ₂, the relative duality gap and the point of the proximal step."""
    hinge = _solve_edge(q, -1.0, sample, 0.0, 1.0, 0.0, 0.0)
    best1, best2 = hinge, 0.0
    best_gap, best_point = _duality_gap(q, sample, best1, best2)
    if math.isinf(sample.kappa):
        return best1, best2, best_gap, best_point
    for candidate in range(1, 4):
        if best_gap <= 8.0 * EPS:
            break
        if candidate == 1:
            sigma1, sigma2 = 0.0, -_solve_edge(q, -1.0, sample, -1.0, 0.0, 0.0, -1.0)
        elif candidate == 2:
            delta = _solve_edge(q, -1.0, sample, -1.0, 1.0, 0.5, -0.5)
            sigma1, sigma2 = 0.5 * (1.0 + delta), 0.5 * (1.0 - delta)
        elif sample.kappa > 0.0:
            sigma1, sigma2 = _inside(q, sample)
        else:
            break
        gap, point = _duality_gap(q, sample, sigma1, sigma2)
        if gap < best_gap:
            best1, best2, best_gap, best_point = sigma1, sigma2, gap, point
    return best1, best2, best_gap, best_point


@njit(cache=True)
def proximal(q, w_bar, z, level, bias, free, eta, rho, kappa, out):
    """Write w of the proximal step into `out`; return λ, δ = σ₁ − σ₂ (b moves by ηyδ), σ₁, σ₂ and the relative gap."""
    sample = make_sample(w_bar, z, level, bias, free, eta, rho, kappa)
    sigma1, sigma2, gap, point = solve_multipliers(q, sample)
    a = (w_bar + (eta * (sigma1 - sigma2)) * z) / rho
    new_level = max(point.level, 0.0)
    shrink(q, a, point.theta, new_level, out)
    return new_level, sigma1, sigma2, gap
