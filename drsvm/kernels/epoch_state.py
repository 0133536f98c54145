"""Parameters and iterate of an epoch of the incremental methods."""

from typing import Any, NamedTuple

import numpy as np

from drsvm.kernels.compiling import kernel


class Terms(NamedTuple):
    """Parameters of the objective: the mean of g_i · max(1 − m_i, 1 + m_i − κλ, 0) + ελ + (c/2)‖w‖²; g_i = n π_i.

    `kappa` and `flips` are numbers or arrays with one entry per row.
    """

    radius: Any
    kappa: Any  # 0 where labels are trusted
    flips: Any  # False where labels are trusted
    l2: Any
    ridged: Any  # number of columns with a ridge; a constant column, which has none, comes last
    free: Any  # 0 without an intercept, otherwise the square of its unit: b moves by η · free times its gradient


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
