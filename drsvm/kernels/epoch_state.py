"""Parameters and iterate of an epoch of the incremental methods, and weights as scale × vector.

For q = 2 the norm of the weights is tracked, too: shrinking all of them then costs nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.kernels.compiling import FAST, kernel
from drsvm.kernels.entries import clear_rows, square_of

SMALLEST_SCALE, CANCELLED = 1e-60, 1e-8
"""Below this scale the vector is rescaled; below this share of its terms the squared norm is recomputed."""


class Terms(NamedTuple):
    """Parameters of the objective: the mean of g_i · max(1 − m_i, 1 + m_i − κλ, 0) + ελ + (c/2)‖w‖²; g_i = n π_i.

    `kappa` and `flips` are numbers or arrays with one entry per row.
    """

    radius: float
    kappa: float | np.ndarray  # 0 where labels are trusted
    flips: bool | np.ndarray  # False where labels are trusted
    l2: float
    ridged: int  # number of columns with a ridge; a constant column, which has none, comes last
    free: float  # 0 without an intercept, otherwise the square of its unit: b moves by η · free times its gradient


class Iterate(NamedTuple):
    """The weights, [λ, b, an estimate of λ], and the multipliers σ₁, σ₂ of the rows; epochs update all of them."""

    w: np.ndarray
    scalars: np.ndarray
    hinge: np.ndarray
    flip: np.ndarray

    def copy(self) -> "Iterate":
        """Return a copy that shares no memory with this one."""
        return Iterate(*(part.copy() for part in self))

    def separate(self) -> "Iterate":
        """Return a copy that shares the multipliers."""
        return Iterate(self.w.copy(), self.scalars.copy(), self.hinge, self.flip)


@kernel(inner=True, forceinline=True)
def stiffness(step_size, l2):
    """Return ρ = 1 + ηc, capped to avoid overflow."""
    return min(1.0 + step_size * l2, 1e100)


@kernel(inner=True, forceinline=True)
def note(hinge, flip, i, before, delta, sigma2, share):
    """Move the means of a row's multipliers from `before` towards the current multipliers by the given share."""
    # Callers read `before` early in a step because it is rarely in the cache.
    hinge[i] = before[0] + share * (max(delta + sigma2, 0.0) - before[0])
    flip[i] = before[1] + share * (sigma2 - before[1])


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
def settled(w, scale, norm_square, indices, indptr, order, cleared, end):
    """Return the scale, ‖scale·w‖² and the position in the order of rows since which w has accumulated from 0."""
    if scale == 0.0:
        clear_rows(indices, indptr, order, cleared, end, w)
        scale, norm_square, cleared = 1.0, 0.0, end
    elif scale < SMALLEST_SCALE:
        w *= scale
        scale, norm_square = 1.0, square_of(w)
    return scale, norm_square, cleared
