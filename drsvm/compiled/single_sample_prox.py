"""The proximal step of one sample and its multipliers, for every norm.

It minimises g · loss + ελ + (c/2)‖w‖² + (1/2η) · (squared distance from the centre
(w̄, b̄, λ̄)) over ‖w‖_q ≤ λ: one iteration of IPPA [1, equation 6].

The loss max(1 − m, 1 + m − κλ, 0) is the maximum over the triangle {σ₁, σ₂ ≥ 0, σ₁ + σ₂
≤ 1} of σ₁ (1 − m) + σ₂ (1 + m − κλ). For given σ the rest of the step is a projection
onto {‖w‖_q ≤ λ}, which a geometry computes (`geometry.py`): with δ = σ₁ − σ₂ and ρ = 1
+ ηc, it is the point for

    a = w̄ + η g δ y x,      s = λ̄ − ηε + η g κ σ₂,      b̄ + η g δ y · free.

The dual function is smooth and concave in σ. It is maximised along the edges of the
triangle and, if no edge is optimal, inside it (m = 1 and κλ = 2: the triple kink), the
most likely line first, until the duality gap is closed. Each of these searches solves
one monotone equation in one variable t,

    0 = δ' (1 − m) + σ₂' (2 − κλ),      ' = d/dt.

Both δ and σ₂ are computed, each to its own relative accuracy: with long steps or rows,
a δ far below the rounding errors of σ₁ matters.

The paper [1, section 3 and appendix A] goes through the subsets of pieces that may be
largest at the solution, with a formula or a modified secant search for each. The lines
here are these subsets: an edge of the triangle is two pieces, a corner one, and the
inside is all three.

References
----------
[1] J. Li, C. Chen, A. M.-C. So, Fast Epigraphical Projection-based Incremental
Algorithms for Wasserstein Distributionally Robust Support Vector Machine, NeurIPS 2020.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.compiled.decorators import SCALAR, compiled
from drsvm.compiled.epigraph import ONE, TWO, euclidean, shrink
from drsvm.compiled.geometry import Box, Diamond, Euclidean, Point, point_at

EPS = 2.0**-52
# A bracket in [−1, 1] contains no more numbers after 1076 halvings of two trials each,
# even if it converges to 0, and one trial at either end. Rounding ends almost all
# searches after a few dozen trials.
MAX_TRIALS = 2160


class Bracket(NamedTuple):
    """An interval that contains the zero.

    `tried`: whether the function was evaluated at that end.
    """

    low: float
    high: float
    low_tried: bool
    high_tried: bool
    width: float  # of the previous bracket


@compiled(inner=True, forceinline=True)
def between(low, high):
    """Return the initial bracket for the zero of a decreasing function."""
    return Bracket(low, high, False, False, math.inf)


@compiled(inner=True, forceinline=True)
def next_trial(bracket, t, value, slope):
    """Return the next t, and the bracket, after value and slope at t.

    If t does not change, the search is over. The next t is that of a Newton step, or
    the midpoint of the bracket if that step would leave it through an end already
    tried, or if the bracket has not halved: where the slope jumps, Newton's method may
    cycle.
    """
    low, high, low_tried, high_tried, width = bracket
    if value > 0.0:
        low = t
        low_tried = True
        new = high
    else:
        high = t
        high_tried = True
        new = low
    if slope < 0.0:
        new = t - value / slope
    middle = 0.5 * (low + high)
    if new >= high:
        new = middle if high_tried else high
    elif new <= low:
        new = middle if low_tried else low
    elif high - low > 0.5 * width:
        new = middle
    return new, Bracket(low, high, low_tried, high_tried, high - low)


class ProximalStep(NamedTuple):
    """The data of a proximal step, except for the weights."""

    length: float  # η g
    rho: float
    kappa: float  # 0 if labels are trusted
    flips: bool
    lam: float  # λ̄ − ηε
    guess: float  # an estimate of the new λ
    bias: float  # y b̄
    free: float  # 0 without an intercept, otherwise the square of its unit
    square: float  # x·x
    size: float  # Σ |w̄_j x_j|, the scale of rounding errors in w̄·x
    tolerance: float  # slope of the dual function that counts as 0, in units of `noise`


class Line(NamedTuple):
    """A line t ↦ (δ, σ₂) on which the dual function is maximised for low ≤ t ≤ high."""

    delta: float  # at t = 0
    delta_slope: float
    sigma2: float  # at t = 0
    sigma2_slope: float
    low: float
    high: float


NOWHERE = Point(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
# The lines: the edges in order around the triangle, one of them in two parts, and its
# inside, where λ is fixed at 2/κ
HINGE, MOSTLY_HINGE, BOTH, FLIPPED, INSIDE = range(5)
LINES = (
    Line(0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
    # σ₁ + σ₂ = 1: the variable is σ₂ where σ₂ may be small, and δ where δ may be small,
    # so that each keeps its relative accuracy.
    Line(1.0, -2.0, 0.0, 1.0, 0.0, 0.25),
    Line(0.0, 1.0, 0.5, -0.5, -1.0, 0.5),
    Line(0.0, -1.0, 0.0, 1.0, 0.0, 1.0),
    Line(0.0, 1.0, 0.0, 0.0, -1.0, 1.0),
)


@compiled(inner=True, fastmath=SCALAR)
def noise(step, delta, sigma2):
    """Return the scale of rounding errors in the pieces of the loss."""
    own = 1.0 + step.size / step.rho + abs(step.bias)
    moved = step.length * abs(delta) * (step.square / step.rho + step.free)
    return (
        own + moved + step.kappa * (abs(step.lam) + step.length * step.kappa * sigma2)
    )


@compiled(inner=True, fastmath=SCALAR)
def duality_gap(step, margin, lam, delta, sigma2):
    """Return the duality gap of the multipliers at their point."""
    hinge = 1.0 - margin
    gap = max(hinge, 0.0) - delta * hinge
    if step.flips:
        flipped = 1.0 + margin - step.kappa * lam
        gap = max(hinge, flipped, 0.0) - (delta + sigma2) * hinge - sigma2 * flipped
    return gap


@compiled(inner=True, fastmath=SCALAR)
def _maximise(step, geometry, line, t, ball):
    """Return δ, σ₂ and the point that maximise the dual function on a line, from t."""
    bracket = between(line.low, line.high)
    # A bound on the curvature of the dual function along the line
    curved = (
        line.delta_slope**2 * (step.square / step.rho + step.free)
        + (step.kappa * line.sigma2_slope) ** 2
    )
    curved *= step.length
    towards = line.delta_slope, line.sigma2_slope
    delta = 0.0
    sigma2 = 0.0
    point = NOWHERE
    for _ in range(MAX_TRIALS):
        delta = line.delta + line.delta_slope * t
        sigma2 = line.sigma2 + line.sigma2_slope * t
        point = point_at(geometry, step, delta, sigma2, towards, ball)
        slope = line.delta_slope * (1.0 - point.margin)
        curvature = -line.delta_slope * point.margin_slope
        if line.sigma2_slope != 0.0:
            slope += line.sigma2_slope * (2.0 - step.kappa * point.lam)
            curvature -= line.sigma2_slope * step.kappa * point.lam_slope
        # Done where the slope is rounding noise, or leads out of the triangle
        close = step.tolerance * noise(step, delta, sigma2)
        if (
            abs(slope) <= close
            or (t <= line.low and slope < 0.0)
            or (t >= line.high and slope > 0.0)
        ):
            break
        new, bracket = next_trial(bracket, t, slope, curvature)
        narrow = (
            bracket.low_tried
            and bracket.high_tried
            and (bracket.high - bracket.low) * curved <= close
        )
        if new == t or narrow:
            break
        t = new
    return delta, sigma2, point


@compiled(inner=True, fastmath=SCALAR)
def _triple_kink(step, geometry, delta):
    """Return δ, σ₂ and the point inside the triangle at, or near, m = 1 and κλ = 2.

    With λ fixed, δ is the root of m = 1; then σ₂ corrects λ, which is linear in σ₂
    while the same weights are clipped.
    """
    wanted = 2.0 / step.kappa
    delta, _, point = _maximise(step, geometry, LINES[INSIDE], delta, wanted)
    sigma2 = low = max(0.0, -delta)
    high = 0.5 * (1.0 - delta)
    bracket = between(low, high)
    for _ in range(MAX_TRIALS):
        point = point_at(geometry, step, delta, sigma2, (0.0, 1.0), -1.0)
        lacking = wanted - point.lam
        if step.kappa * abs(lacking) <= step.tolerance * noise(step, delta, sigma2):
            break
        if (sigma2 <= low and lacking < 0.0) or (sigma2 >= high and lacking > 0.0):
            break
        new, bracket = next_trial(bracket, sigma2, lacking, -point.lam_slope)
        if new == sigma2:
            break
        sigma2 = new
    return delta, sigma2, point


@compiled(inner=True, fastmath=SCALAR)
def _line_through(delta, sigma2, inside):
    """Return the line that contains given multipliers, and their position on it.

    It is an edge if not `inside`.
    """
    hinge = delta + sigma2
    line = HINGE
    t = delta
    if sigma2 > 0.0:
        if hinge <= 0.0:
            line = FLIPPED
            t = sigma2
        elif inside and hinge + sigma2 < 1.0:
            line = INSIDE
        elif sigma2 < 0.25:
            line = MOSTLY_HINGE
            t = sigma2
        else:
            line = BOTH
    return line, t


@compiled(inner=True, fastmath=SCALAR)
def _next_line(line, delta, sigma2):
    """Return the line to search next, and a position on it.

    It is for a line whose best point is not the solution. From a corner: the other
    edge there; from within an edge: straight across the triangle, to the edge opposite;
    from inside: the edge reached.
    """
    if line == INSIDE:
        return _line_through(delta, sigma2, False)
    t = sigma2
    if LINES[line].sigma2_slope <= 0.0:
        t = delta
    if LINES[line].low < t < LINES[line].high:
        opposite = max(0.0, -delta)
        if line in (HINGE, FLIPPED):
            opposite = 0.5 * (1.0 - delta)
        return _line_through(delta, opposite, False)
    # At an end: the neighbour around the triangle. Along the edges in their order, t
    # increases on the first two and decreases on the others: this tells which neighbour
    # it is, and from which end to search it.
    turn = -1
    if (t >= LINES[line].high) == (line <= MOSTLY_HINGE):
        turn = 1
    edge = (line + turn) % 4
    if (edge <= MOSTLY_HINGE) == (turn > 0):
        return edge, LINES[edge].low
    return edge, LINES[edge].high


@compiled(inner=True, fastmath=SCALAR)
def multipliers(step, geometry, delta, sigma2):
    """Return δ, σ₂, the point of the proximal step and its duality gap.

    The search starts from a guess of δ and σ₂; the best of all lines is returned if
    rounding errors keep the gap open.
    """
    # A bit for each line that has not been searched; without flip costs λ is in no
    # piece of the loss, and there is no inside to search
    untried = 0b01111
    if step.kappa > 0.0:
        untried = 0b11111
    line, t = _line_through(delta, sigma2, step.kappa > 0.0)
    best = 0.0, 0.0, NOWHERE, math.inf
    for _ in range(len(LINES)):
        if line == INSIDE:
            delta, sigma2, point = _triple_kink(step, geometry, t)
        else:
            delta, sigma2, point = _maximise(step, geometry, LINES[line], t, -1.0)
        gap = duality_gap(step, point.margin, point.lam, delta, sigma2)
        if gap < best[3]:
            best = delta, sigma2, point, gap
        untried &= ~(1 << line)
        # Without flips there is one line only
        done = (
            gap <= 4.0 * step.tolerance * noise(step, delta, sigma2) or not step.flips
        )
        if done or untried == 0:
            break
        # The likely next line, or else any that has not been searched
        line, t = _next_line(line, delta, sigma2)
        if not untried >> line & 1:
            line = INSIDE
            t = best[0]
            while not untried >> line & 1:
                line = line - 1
                t = 0.0
    return best


@compiled(allocates=True)
def proximal(q, w_bar, z, lam, bias, free, eta, rho, kappa, out):
    """Take a proximal step on one row.

    Parameters
    ----------
    q : {1, 2, 3}
        Code of the norm of the weights (see `epigraph.py`).
    w_bar, z : arrays of shape (d,)
        w̄, and the row times its label, y·x.
    lam, bias : float
        λ̄ − ηε and y·b̄.
    free : float
        1 with an intercept, 0 without.
    eta, rho, kappa : float
        η, 1 + ηc and the flip cost κ, which may be inf.
    out : array of shape (d,)
        Receives w.

    Returns
    -------
    tuple of float
        λ, δ = σ₁ − σ₂ (b changes by ηyδ), σ₂ and the relative gap.
    """
    along = square = size = 0.0
    for k in range(z.size):
        along += w_bar[k] * z[k]
        size += abs(w_bar[k] * z[k])
        square += z[k] * z[k]
    flips = not math.isinf(kappa)
    if not flips:
        kappa = 0.0
    step = ProximalStep(
        eta,
        rho,
        kappa,
        flips,
        lam,
        lam,
        bias,
        free,
        square,
        size,
        2.0 * EPS,
    )
    row = np.stack((w_bar, z))
    if q == TWO:
        share = 0.0
        if square > 0.0:
            share = along / square
        geometry = Euclidean(along, euclidean(w_bar - share * z) ** 2)
        delta, sigma2, point, gap = multipliers(step, geometry, 1.0, 0.0)
    elif q == ONE:
        delta, sigma2, point, gap = multipliers(
            step, Diamond(row, z.size, None), 1.0, 0.0
        )
    else:
        delta, sigma2, point, gap = multipliers(step, Box(row, z.size, None), 1.0, 0.0)
    shrink(q, (w_bar + (eta * delta) * z) / rho, point.tau / rho, point.lam, out)
    return point.lam, delta, sigma2, gap / noise(step, delta, sigma2)
