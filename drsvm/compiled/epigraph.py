"""Projection onto the epigraph {‖w‖_q ≤ λ} of a norm.

It minimises (ρ/2η) ‖w − a‖² + (1/2η) (λ − s)² over the epigraph. With a scalar θ ≥ 0,
the multiplier of the norm divided by ρ, the solution is

    q = 1:  w = soft(a, θ),               λ = s + ρ θ
    q = 2:  w = (1 − θ/‖a‖) a,            λ = s + ρ θ
    q = ∞:  w = clip(a, ±λ),              λ = s + ρ θ,   θ = Σ (|a_j| − λ)₊
"""

import math

import numpy as np

from drsvm.compiled import geometry
from drsvm.compiled.decorators import FAST, compiled
from drsvm.compiled.geometry import AllWeights, Diamond

# codes of the norm q: min(q, 3)
ONE = 1
TWO = 2
INFINITY = 3


@compiled()
def threshold(sizes, s, r):
    """Return θ ≥ 0 with Σ_j (sizes_j − θ)₊ = s + r θ, for sizes ≥ 0 and Σ sizes > s.

    The sum over the entries above it is computed again with compensation.
    """
    theta, _, _, _ = geometry.threshold(
        Diamond(None, 0, AllWeights(sizes)), 0.0, 1.0, s, r, 0.0
    )
    total, above = _sum_above(sizes, theta, 0.0)
    if above + r > 0.0:
        return (total - s) / (above + r)
    return theta


@compiled(inner=True)
def _sum_above(sizes, lower, offset):
    """Return Σ (sizes − offset) over the entries above `lower`, and their number.

    The sum is compensated (Kahan): `lost` is what rounding has added to the total, and
    it is subtracted from the next item.
    """
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


@compiled(inner=True, fastmath=FAST)
def onto_cone(norm, s, rho):
    """Return λ and the factor that projects a vector of a given norm onto the cone."""
    if norm <= s:
        return s, 1.0
    # In the polar cone: the apex is nearest
    if rho * norm <= -s:
        return 0.0, 0.0
    lam = (rho * norm + s) / (1.0 + rho)
    return lam, lam / norm


@compiled(inner=True, allocates=True)
def nearest(q, a, s, rho):
    """Return θ (only for q = 1) and λ of the point nearest to (a, s).

    The latter is not computed as s + ρθ, which may cancel.
    """
    if q == TWO:
        return 0.0, onto_cone(euclidean(a), s, rho)[0]
    sizes = np.empty(a.size)
    total = 0.0
    largest = 0.0
    for k in range(a.size):  # numba takes seconds to compile numpy's functions
        sizes[k] = abs(a[k])
        total += sizes[k]
        largest = max(largest, sizes[k])
    if q == ONE:
        if total <= s:
            return 0.0, s
        theta = max(threshold(sizes, s, rho), 0.0)
        return theta, _sum_above(sizes, theta, theta)[0]
    if largest <= s:
        return 0.0, s
    if total <= -s / rho:
        return 0.0, 0.0  # the origin
    return 0.0, max(threshold(sizes, -s / rho, 1.0 / rho), 0.0)


@compiled(inner=True)
def euclidean(a):
    """Return the Euclidean norm of a without overflow or underflow."""
    scale = total = 0.0
    for k in range(a.size):
        scale = max(scale, abs(a[k]))
    if scale == 0.0:
        return 0.0
    for k in range(a.size):
        total += (a[k] / scale) ** 2
    return scale * math.sqrt(total)


@compiled(inner=True)
def shrink(q, a, theta, lam, out):
    """Write the vector part w of the solution for given θ and λ into `out`."""
    if q == TWO:
        length = euclidean(a)
        factor = 1.0
        if length > lam:
            factor = lam / length
        for k in range(a.size):
            out[k] = factor * a[k]
    elif q == ONE:
        for k in range(a.size):
            out[k] = math.copysign(max(abs(a[k]) - theta, 0.0), a[k])
    else:
        for k in range(a.size):
            out[k] = min(max(a[k], -lam), lam)


@compiled(allocates=True)
def project(q, x, s, rho, out):
    """Write w of the nearest point of the epigraph into `out`, and return λ."""
    theta, lam = nearest(q, x, s, rho)
    shrink(q, x, theta, lam, out)
    return lam
