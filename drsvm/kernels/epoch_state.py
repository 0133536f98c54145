"""What an epoch of the incremental methods works on."""

from typing import Any, NamedTuple

import numpy as np

from drsvm.kernels.compiling import kernel


class Terms(NamedTuple):
    """Parameters of the objective.

    It is the mean over the rows of g_i · max(1 − m_i, 1 + m_i − κλ, 0) + ελ + (c/2)‖w‖²,      g_i = n π_i.
    """

    radius: Any
    kappa: Any  # 0 where labels are trusted
    flips: Any  # False there
    l2: Any
    free: Any  # 0 without an intercept, otherwise the square of its unit: b moves by η · free times its gradient


class Iterate(NamedTuple):
    """The weights, [λ, b, an estimate of λ], and multipliers σ₁, σ₂ of the rows; epochs change all of them."""

    w: np.ndarray
    scalars: np.ndarray
    hinge: np.ndarray
    flip: np.ndarray


@kernel(inner=True, forceinline=True)
def stiffness(step_size, l2):
    """Return ρ = 1 + ηc, held below overflow."""
    return min(1.0 + step_size * l2, 1e100)


@kernel(inner=True, forceinline=True)
def note(hinge, flip, i, before, delta, sigma2, share):
    """Move the means of a row's multipliers, which are `before` now, towards the present ones by the given share.

    The means are fetched early in a step, because they are far from the cache.
    """
    hinge[i] = before[0] + share * (max(delta + sigma2, 0.0) - before[0])
    flip[i] = before[1] + share * (sigma2 - before[1])
