"""What the worst case of a sample says about the population that it was drawn from.

A row becomes an error at a cost d. With probability 1 − δ, for all t at once, the share
of the population with d ≤ t is at most that of the sample plus √(ln(1/δ)/2n) [1]_,
[2]_. The worst case grows by no more than this share, for all radii at once: the worst
such population has it at d = 0, taken from the largest d.

If errors have K different costs, there is a band for the rows of each cost or a higher
one. The worst case grows by no more than a weighted mean of the shares that the
populations exceed these samples by. As its expectation under any convex function is at
most that of one of them, it exceeds t/√n with a probability of at most e exp(−2t²): use
(x − t + 1/4t)₊, with x² ≥ t² + 2t (x − t). So δ is divided by K or by e, whichever is
smaller.

If labels may be flipped, too, a row can become an error in several ways, of several
costs, and their joint distribution counts. But the worst case is the minimum over λ of
λ ρ + E max_k (c_k − λ p_k)₊, the expectation of numbers between 0 and the largest cost.
For each λ of a grid it is bounded by Chernoff's inequality [3]_, [4]_ with an equal
part of δ. This gains without flips as well, where high costs are rare.

References
----------
.. [1] A. Dvoretzky, J. Kiefer and J. Wolfowitz, "Asymptotic minimax character of the
   sample distribution function and of the classical multinomial estimator", Annals of
   Mathematical Statistics 27, 1956.
.. [2] P. Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality",
   Annals of Probability 18, 1990. The constant 1 of the one-sided inequality.
.. [3] H. Chernoff, "A measure of asymptotic efficiency for tests of a hypothesis based
   on the sum of observations", Annals of Mathematical Statistics 23, 1952.
.. [4] W. Hoeffding, "Probability inequalities for sums of bounded random variables",
   Journal of the American Statistical Association 58, 1963. For numbers in [0, 1].
"""

import math

import numpy as np
from scipy.special import rel_entr

from drsvm.problem.backends import to_numpy
from drsvm.problem.validation import check_number
from drsvm.utils.annotations import Values

# Bisection steps for a limit: more than double precision can tell apart
HALVINGS = 60


def check_confidence(confidence: float) -> float:
    """Return the confidence as a number."""
    if not 0.5 <= check_number(confidence, "confidence") < 1.0:
        raise ValueError(
            "confidence must be at least 0.5 and less than 1, such as 0.95; got "
            f"confidence={confidence}."
        )
    return float(confidence)


def band(confidence: float, n: float, n_bands: int = 1) -> float:
    """Return by how much shares of the population exceed those of n rows at most.

    Of several bands, it is the mean of what they are exceeded by.
    """
    # δ = 1 − confidence is divided by the number of bands, or by e (see above).
    factor = min(n_bands, math.e)
    exponent = math.log(factor / (1.0 - confidence))
    return math.sqrt(exponent / (2.0 * n))


def rows_drawn(sample_weight: Values, n: int) -> int:
    """Return the number of rows drawn; whole-number weights count as rows."""
    if sample_weight is None:
        return n
    weights = np.asarray(to_numpy(sample_weight), dtype=np.float64)
    uneven = weights[weights != np.floor(weights)]
    if len(uneven):
        raise ValueError(
            "confidence needs rows that count once, or a whole number of times: "
            f"sample_weight has {uneven[0]:g}, and how many rows of the population "
            "that stands for is not known. Leave out sample_weight or confidence."
        )
    return int(weights.sum())


def limits_of_means(means: np.ndarray, exponent: float) -> np.ndarray:
    """Return the largest μ with kl(mean, μ) ≤ exponent for means in [0, 1]."""
    low = means.copy()
    high = np.ones_like(means)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        # kl, the divergence of coins with these means, grows with the second one.
        divergence = rel_entr(means, middle)
        divergence += rel_entr(1.0 - means, 1.0 - middle)
        likely = divergence <= exponent
        low = np.where(likely, middle, low)
        high = np.where(likely, high, middle)
    return high
