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

from drsvm.kernels.compiling import kernel

ONE, TWO, INFINITY = 1, 2, 3
"""Codes of the norm q: min(q, 3)."""

EPS = 2.0**-52

MOST_TRIALS = 2160
"""A bracket within [−1, 1] is halved 1076 times until there is no number left inside, even if it closes in on 0, which
takes two trials each, after one at either end. Roundings end all but the strangest searches after a few dozen."""


@kernel()
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
    for _ in range(sizes.size):  # every pass splits off one entry at least: its pivot
        if m == 0:
            break
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


@kernel()
def _keep_above(left, m, pivot):
    kept = 0
    for k in range(m):
        if left[k] > pivot:
            left[kept] = left[k]
            kept += 1
    return kept


@kernel()
def _keep_below(left, m, pivot):
    kept = 0
    for k in range(m):
        if left[k] < pivot:
            left[kept] = left[k]
            kept += 1
    return kept


@kernel()
def _root_of_active(sizes, s, r, lower):
    """Return (Σ active − s)/(number of active + r), the active entries being those above `lower`."""
    total, count = _sum_above(sizes, lower, 0.0)
    return (total - s) / (count + r) if count + r > 0.0 else lower


@kernel()
def _sum_above(sizes, lower, offset):
    """Return the compensated sum of sizes − offset over the entries above `lower`, and their number."""
    count = 0
    total = 0.0
    lost = 0.0
    for k in range(sizes.size):
        if sizes[k] > lower:
            item = (sizes[k] - offset) - lost
            new = total + item
            lost = (new - total) - item
            total = new
            count += 1
    return total, count


@kernel()
def nearest(q, a, s, rho):
    """Return θ (see the head of this file) and λ of the point of the epigraph nearest to (a, s).

    λ is not left to s + ρθ, whose terms may cancel.
    """
    if q == TWO:
        return l2_nearest(_euclidean(a), s, rho)
    sizes = np.abs(a)
    if q == ONE:
        if sizes.sum() <= s:
            return 0.0, s
        theta = max(threshold(sizes, s, rho), 0.0)
        return theta, _sum_above(sizes, theta, theta)[0]
    if sizes.max() <= s:
        return 0.0, s
    if sizes.sum() <= -s / rho:
        return -s / rho, 0.0  # the origin
    level = max(threshold(sizes, -s / rho, 1.0 / rho), 0.0)
    return (level - s) / rho, level


@kernel()
def l2_nearest(length, s, rho):
    """Return θ and λ for q = 2, from the length of a alone."""
    if length <= s:
        return 0.0, s
    if length <= -s / rho:
        return -s / rho, 0.0  # the origin
    return (length - s) / (1.0 + rho), (rho * length + s) / (1.0 + rho)


@kernel()
def _kept_share(theta, length):
    """Return the factor 1 − θ/length of q = 2, cut off at 0, where the point is the origin."""
    return 0.0 if theta >= length else (length - theta) / length


@kernel()
def _euclidean(a):
    scale = np.abs(a).max() if a.size else 0.0
    if scale == 0.0:
        return 0.0
    total = 0.0
    for k in range(a.size):
        total += (a[k] / scale) ** 2
    return scale * math.sqrt(total)


@kernel()
def shrink(q, a, theta, level, out):
    """Write the vector part w of the solution for given θ and λ into `out`."""
    if q == TWO:
        factor = _kept_share(theta, _euclidean(a))
        for k in range(a.size):
            out[k] = factor * a[k]
    elif q == ONE:
        for k in range(a.size):
            out[k] = math.copysign(max(abs(a[k]) - theta, 0.0), a[k])
    else:
        for k in range(a.size):
            out[k] = min(max(a[k], -level), level)


@kernel()
def project(q, x, s, rho, out):
    """Write the vector part of the nearest point of the epigraph into `out` and return λ."""
    theta, level = nearest(q, x, s, rho)
    shrink(q, x, theta, level, out)
    return level


# ---------------------------------------------------------------------------------------------------------------------
# The proximal step of one sample.
#
# The loss max(1 − m, 1 + m − κλ, 0) is the maximum over the triangle {σ₁, σ₂ ≥ 0, σ₁ + σ₂ ≤ 1} of
# σ₁ (1 − m) + σ₂ (1 + m − κλ). For given σ the rest is a projection onto the epigraph, and the dual function is smooth
# and concave in σ. It is maximised over the three edges of the triangle, and where no edge is optimal, in its inside
# (m = 1 and κλ = 2: the triple kink). Each of the four is one monotone equation in one variable t: with δ = σ₁ − σ₂,
#
#     0 = δ' (1 − m) + σ₂' (2 − κλ),      ' = d/dt,
#
# and the point of every candidate shows its own duality gap, which says whether it is the solution.
# The step is a function of δ and σ₂: both are carried, each to its own relative accuracy, because with long steps or
# rows a δ far below the rounding of σ₁ matters.
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


class Line(NamedTuple):
    """A line t ↦ (δ, σ₂) on which the dual function is maximised for low ≤ t ≤ high."""

    delta: float  # at t = 0
    delta_slope: float
    sigma2: float  # at t = 0
    sigma2_slope: float
    low: float
    high: float
    inside: bool  # λ is held at 2/κ, and σ₂ follows from it


class Point(NamedTuple):
    """Margin and λ at some σ, their derivatives along a line, and the multiplier θ of the norm."""

    margin: float
    level: float
    margin_slope: float
    level_slope: float
    theta: float


LINES = (
    Line(0.0, 1.0, 0.0, 0.0, 0.0, 1.0, False),  # σ₂ = 0
    Line(0.0, -1.0, 0.0, 1.0, 0.0, 1.0, False),  # σ₁ = 0
    # σ₁ + σ₂ = 1, in two parts: the variable is δ where δ may be small, and σ₂ where σ₂ may be small.
    Line(0.0, 1.0, 0.5, -0.5, -1.0, 0.5, False),
    Line(1.0, -2.0, 0.0, 1.0, 0.0, 0.25, False),
    Line(0.0, 1.0, 0.0, 0.0, -1.0, 1.0, True),
)
"""The edges of the triangle and its inside, in the order in which they are tried."""


@kernel()
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


@kernel()
def _evaluate(q, ball, sample, line, delta, sigma2):
    """Return the Point at (δ, σ₂), with derivatives along the line; with `ball` ≥ 0 the level is held at that value."""
    s = sample.level
    ds = 0.0
    if sigma2 != 0.0 or line.sigma2_slope != 0.0:
        s += sample.eta * sample.kappa * sigma2
        ds = sample.eta * sample.kappa * line.sigma2_slope
    shift = sample.eta * delta
    shift_slope = sample.eta * line.delta_slope
    if q == TWO:
        return _evaluate_l2(ball, sample, shift, shift_slope, s, ds)
    a = (sample.w_bar + shift * sample.z) / sample.rho
    if q == ONE:
        return _evaluate_l1(ball, sample, shift, shift_slope, s, ds, a)
    return _evaluate_linf(ball, sample, shift, shift_slope, s, ds, a)


@kernel()
def _evaluate_l2(ball, sample, shift, shift_slope, s, ds):
    rho = sample.rho
    inner = (sample.along + shift * sample.square) / rho
    inner_slope = shift_slope * sample.square / rho
    root = math.sqrt(sample.square)
    length = math.hypot(sample.across / rho, inner / root if root > 0.0 else 0.0)
    length_slope = shift_slope * (inner / length) / rho if length > 0.0 else 0.0
    if ball >= 0.0:
        theta, level = max(length - ball, 0.0), ball
        theta_slope = length_slope
    else:
        theta, level = l2_nearest(length, s, rho)
        theta_slope = -ds / rho if theta >= length else (length_slope - ds) / (1.0 + rho)
    bias = sample.bias + sample.free * shift
    bias_slope = sample.free * shift_slope
    if theta <= 0.0:
        return Point(inner + bias, level, inner_slope + bias_slope, ds, 0.0)
    factor = _kept_share(theta, length)
    factor_slope = (theta * length_slope / length - theta_slope) / length if factor > 0.0 else 0.0
    slope = factor_slope * inner + factor * inner_slope + bias_slope
    return Point(factor * inner + bias, level, slope, ds + rho * theta_slope, theta)


@kernel()
def _evaluate_l1(ball, sample, shift, shift_slope, s, ds, a):
    if ball < 0.0:
        theta, level = nearest(ONE, a, s, sample.rho)
    else:
        sizes = np.abs(a)
        theta, level = threshold(sizes, ball, 0.0) if sizes.sum() > ball else 0.0, ball
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
    rate = shift_slope / sample.rho
    theta_slope = 0.0
    if theta > 0.0 and ball < 0.0:
        theta_slope = (rate * signed - ds) / (active + sample.rho)
    elif theta > 0.0 and active > 0:
        theta_slope = rate * signed / active
    slope = rate * square - signed * theta_slope + sample.free * shift_slope
    bias = sample.bias + sample.free * shift
    return Point(margin + bias, level, slope, ds + sample.rho * theta_slope, theta)


@kernel()
def _evaluate_linf(ball, sample, shift, shift_slope, s, ds, a):
    theta, level = nearest(INFINITY, a, s, sample.rho) if ball < 0.0 else (0.0, ball)
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
        level_slope = (ds + shift_slope * signed) / (1.0 + sample.rho * clipped)
    slope = shift_slope / sample.rho * square + signed * level_slope + sample.free * shift_slope
    bias = sample.bias + sample.free * shift
    return Point(margin + bias, level, slope, level_slope, theta)


@kernel()
def _noise(sample, delta, sigma2):
    """Return the size on which the pieces of the loss are rounded."""
    noise = 1.0 + sample.size / sample.rho + abs(sample.bias)
    noise += sample.eta * abs(delta) * (sample.square / sample.rho + sample.free)
    if not math.isinf(sample.kappa):
        noise += sample.kappa * (abs(sample.level) + sample.eta * sample.kappa * sigma2)
    return noise


@kernel()
def _maximise(q, ball, sample, line):
    """Return δ, σ₂ and the point where the dual function is largest on the line.

    Newton steps on the exact slope, with a bracket that at least halves in every second step, until the slope is
    rounding noise or the bracket too narrow to hold anything else.
    """
    low, high = line.low, line.high
    width = high - low
    steepest = sample.eta * line.delta_slope**2 * (sample.square / sample.rho + sample.free)
    if line.sigma2_slope != 0.0:
        steepest += sample.eta * (sample.kappa * line.sigma2_slope) ** 2
    t = low
    delta, sigma2, point = 0.0, 0.0, Point(0.0, 0.0, 0.0, 0.0, 0.0)
    for _ in range(MOST_TRIALS):
        delta, sigma2 = line.delta + line.delta_slope * t, line.sigma2 + line.sigma2_slope * t
        point = _evaluate(q, ball, sample, line, delta, sigma2)
        slope, curvature = _slope_and_curvature(sample, line, point)
        if (t == line.low and slope <= 0.0) or (t == line.high and slope >= 0.0):
            break
        if t == line.low:
            t = line.high
            continue
        tolerance = 2.0 * EPS * _noise(sample, delta, sigma2)
        if abs(slope) <= tolerance or (high - low) * steepest <= tolerance:
            break
        if slope > 0.0:
            low = t
        else:
            high = t
        if curvature < 0.0:
            t -= slope / curvature
        if not (low < t < high) or (high - low) > 0.5 * width:
            t = 0.5 * (low + high)
        if not (low < t < high):
            break
        width = high - low
    return delta, sigma2, point


@kernel()
def _slope_and_curvature(sample, line, point):
    """Return the first and second derivative of the dual function along the line."""
    slope = line.delta_slope * (1.0 - point.margin)
    curvature = -line.delta_slope * point.margin_slope
    if line.sigma2_slope != 0.0:
        slope += line.sigma2_slope * (2.0 - sample.kappa * point.level)
        curvature -= line.sigma2_slope * sample.kappa * point.level_slope
    return slope, curvature


@kernel()
def _duality_gap(sample, point, delta, sigma2):
    """Return the duality gap of σ, relative to the rounding noise, at the point that belongs to σ."""
    hinge = 1.0 - point.margin
    loss = max(hinge, 0.0)
    bound = (sigma2 + delta) * hinge
    if not math.isinf(sample.kappa):
        flipped = 1.0 + point.margin - sample.kappa * point.level
        loss = max(loss, flipped)
        bound += sigma2 * flipped
    return (loss - bound) / _noise(sample, delta, sigma2)


@kernel()
def _candidate(q, sample, line):
    """Return δ, σ₂ and the point of the best σ on an edge, or of the triple kink moved into the triangle."""
    if not line.inside:
        return _maximise(q, -1.0, sample, line)
    level = 2.0 / sample.kappa
    delta, _, point = _maximise(q, level, sample, _shortened(sample, line, level))
    wanted = (level - sample.level - sample.rho * point.theta) / (sample.eta * sample.kappa)
    sigma2 = min(max(wanted, 0.0, -delta), 0.5 * (1.0 - delta))
    if sigma2 != wanted:  # the point is not that of σ
        point = _evaluate(q, -1.0, sample, line, delta, sigma2)
    return delta, sigma2, point


@kernel()
def _shortened(sample, line, level):
    """Return the part of the line where |w̄ + ηδz|/ρ ≤ λ + θ allows σ₂ ≥ 0: beyond it, w is lost in roundings."""
    longest = np.abs(sample.w_bar).max() + sample.rho * level + max(level - sample.level, 0.0)
    reach = 2.0 * longest / (sample.eta * np.abs(sample.z).max())
    if not reach < line.high:  # also where z = 0
        return line
    return Line(line.delta, line.delta_slope, line.sigma2, line.sigma2_slope, -reach, reach, True)


@kernel()
def solve_multipliers(q, sample):
    """Return δ, σ₂, the relative duality gap and the point of the proximal step."""
    best_delta, best_sigma2, best_gap, best_point = 0.0, 0.0, math.inf, Point(0.0, 0.0, 0.0, 0.0, 0.0)
    for line in LINES:
        flips = line.inside or line.sigma2_slope != 0.0
        if best_gap <= 8.0 * EPS or (flips and math.isinf(sample.kappa)) or (line.inside and sample.kappa == 0.0):
            break
        delta, sigma2, point = _candidate(q, sample, line)
        gap = _duality_gap(sample, point, delta, sigma2)
        if gap < best_gap:
            best_delta, best_sigma2, best_gap, best_point = delta, sigma2, gap, point
    return best_delta, best_sigma2, best_gap, best_point


@kernel()
def proximal(q, w_bar, z, level, bias, free, eta, rho, kappa, out):
    """Write w of the proximal step into `out`; return λ, δ = σ₁ − σ₂ (b moves by ηyδ), σ₂ and the relative gap."""
    sample = make_sample(w_bar, z, level, bias, free, eta, rho, kappa)
    delta, sigma2, gap, point = solve_multipliers(q, sample)
    a = (w_bar + (eta * delta) * z) / rho
    shrink(q, a, point.theta, point.level, out)
    return point.level, delta, sigma2, gap
