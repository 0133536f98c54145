"""Weights for q = 2, stored as scale × vector with a known norm, so that shrinking all of them costs nothing."""

import math

from drsvm.kernels.compiling import FAST, kernel
from drsvm.kernels.entries import clear_rows, square_of

SMALLEST_SCALE, CANCELLED = 1e-60, 1e-8
"""Below this scale the vector is rescaled; below this share of its terms the squared norm is recomputed."""


@kernel(inner=True, fastmath=FAST)
def norm_of(w, scale, norm_square, terms_square):
    """Return the norm of scale·w from its square, a sum whose terms may have cancelled."""
    if norm_square < CANCELLED * terms_square:
        norm_square = scale * scale * square_of(w)
    return math.sqrt(norm_square)


@kernel(inner=True, fastmath=FAST)
def stretched(w, scale, norm_square, first, factor):
    """Multiply the weights from `first` on by a factor; return the new ‖scale·w‖²."""
    for j in range(first, w.size):
        norm_square += (factor * factor - 1.0) * (scale * w[j]) ** 2
        w[j] *= factor
    return norm_square


@kernel(inner=True, fastmath=FAST)
def onto_cone(norm, s, rho):
    """Return λ and the factor that projects a vector of the given norm onto the cone."""
    if norm <= s:
        return s, 1.0
    if rho * norm <= -s:
        return 0.0, 0.0
    lam = (rho * norm + s) / (1.0 + rho)
    return lam, lam / norm


@kernel(inner=True, fastmath=FAST)
def settled(w, scale, norm_square, indices, indptr, order, cleared, end):
    """Return the scale, ‖scale·w‖² and the position in the order of rows since which w has accumulated from 0."""
    if scale == 0.0:
        clear_rows(indices, indptr, order, cleared, end, w)
        scale, norm_square, cleared = 1.0, 0.0, end
    elif scale < SMALLEST_SCALE:
        w *= scale
        scale, norm_square = 1.0, square_of(w)
    return scale, norm_square, cleared
