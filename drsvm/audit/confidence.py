"""What the worst case of a sample says about the population that its rows were drawn from, independently.

A row becomes an error at a price d. With probability 1 − δ, for all t at once, the
share of the population with d ≤ t is at most that of the sample plus √(ln(1/δ)/2n)
(Dvoretzky, Kiefer and Wolfowitz, with Massart's constant). The worst case grows by no
more than this share, for all radii at once: the worst such population has it at d = 0,
taken from the largest d. If errors have K different costs, there is a band for the rows
of each cost or a higher one. The worst case grows by no more than a weighted mean of
the shares that the populations exceed these samples by. As its expectation under any
convex function is at most that of one of them, it exceeds t/√n with a probability of at
most e exp(−2t²): use (x − t + 1/4t)₊, with x² ≥ t² + 2t (x − t). So δ is divided by K
or by e, whichever is smaller.

If labels may be flipped, too, a row has several prices, of several costs, and their
joint distribution counts. But the worst case is the minimum over λ of λ ρ + E max_k
(c_k − λ p_k)₊, the expectation of numbers between 0 and the largest cost. For each λ of
a grid it is bounded by Chernoff's inequality, with an equal part of δ. This gains
without flips as well, where high costs are rare.
"""

import math

import numpy as np
from scipy.special import rel_entr

from drsvm.problem.backends import to_numpy

OF_BANDS = 0.8  # the part of δ that bands have where both bounds are tried
# Λ in units of the largest cost, fixed before any row is seen
PRICE_GRID = 2.0 ** np.arange(-12.0, 12.01, 0.25)
HALVINGS = 60


def check_confidence(confidence) -> float:
    """Return the confidence as a number."""
    if not 0.5 <= confidence < 1.0:
        raise ValueError(
            f"confidence must be at least 0.5 and less than 1, such as 0.95; got confidence={confidence}."
        )
    return float(confidence)


def band(confidence: float, n: float, n_bands: int = 1) -> float:
    """Return by how much shares of the population exceed those of n rows at most, or their mean in several bands."""
    return math.sqrt(math.log(min(n_bands, math.e) / (1.0 - confidence)) / (2.0 * n))


def rows_drawn(sample_weight, n: int) -> int:
    """Return how many rows of the population there are.

    Whole-number weights count as rows.
    """
    if sample_weight is None:
        return n
    weights = np.asarray(to_numpy(sample_weight), dtype=np.float64)
    uneven = weights[weights != np.floor(weights)]
    if len(uneven):
        raise ValueError(
            f"confidence needs rows that count once, or a whole number of times: sample_weight has {uneven[0]:g}, and "
            "how many rows of the population that stands for is not known. Leave out sample_weight or confidence."
        )
    return int(weights.sum())


def limits_of_means(means: np.ndarray, exponent: float) -> np.ndarray:
    """Return the largest expectations μ with kl(mean, μ) ≤ exponent, for means of numbers between 0 and 1."""
    low = means.copy()
    high = np.ones_like(means)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        likely = (
            rel_entr(means, middle) + rel_entr(1.0 - means, 1.0 - middle) <= exponent
        )
        low = np.where(likely, middle, low)
        high = np.where(likely, high, middle)
    return high
