"""The exact proximal step of one sample on plain vectors."""

import math

import numpy as np

from drsvm.kernels.compiling import kernel
from drsvm.kernels.epigraph import ONE, TWO, euclidean, shrink
from drsvm.kernels.geometry import Box, Diamond, Euclidean
from drsvm.kernels.triangle import EPS, limited, make_step, multipliers, noise


@kernel()
def proximal(q, w_bar, z, level, bias, free, eta, rho, kappa, out):
    """Write w of the proximal step into `out`; return λ, δ = σ₁ − σ₂ (b changes by ηyδ), σ₂ and the relative gap.

    The row is z = y·x, and (w̄, λ̄ − ηε, y·b̄) = (w_bar, level, bias).
    """
    along = square = size = 0.0
    for k in range(z.size):
        along += w_bar[k] * z[k]
        size += abs(w_bar[k] * z[k])
        square += z[k] * z[k]
    flips = not math.isinf(kappa)
    step = make_step(eta, rho, kappa if flips else 0.0, flips, level, level, bias, free, square, size, 2.0 * EPS)
    step = limited(step, level, np.abs(w_bar).max(), np.abs(z).max(), math.inf)
    row = np.stack((w_bar, z))
    if q == TWO:
        share = along / square if square > 0.0 else 0.0
        geometry = Euclidean(along, euclidean(w_bar - share * z) ** 2)
        delta, sigma2, point, gap = multipliers(step, geometry, 1.0, 0.0)
    elif q == ONE:
        delta, sigma2, point, gap = multipliers(step, Diamond(row, z.size, None), 1.0, 0.0)
    else:
        delta, sigma2, point, gap = multipliers(step, Box(row, z.size, None), 1.0, 0.0)
    shrink(q, (w_bar + (eta * delta) * z) / rho, point.tau / rho, point.level, out)
    return point.level, delta, sigma2, gap / noise(step, delta, sigma2)
