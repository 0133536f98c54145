"""95 % intervals of figures on rows that are new to a classifier, and of leads in them.

A lead is a figure of one classifier minus that of another on the same rows. Intervals
are those of Wilson for a rate [1]_, of Zou and Donner (MOVER) for the mean of several
rates [2]_, of Bonett and Price for a lead in rates [3]_, and of DeLong, DeLong and
Clarke-Pearson for the area under the ROC curve [4]_.

They hold for independent rows that all count the same, and for fixed classifiers: what
other training rows would change is not in them.

References
----------
.. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical
   inference", Journal of the American Statistical Association 22, 1927.
.. [2] G. Y. Zou and A. Donner, "Construction of confidence limits about effect
   measures: a general approach", Statistics in Medicine 27, 2008.
.. [3] D. G. Bonett and R. M. Price, "Adjusted Wald confidence interval for a difference
   of binomial proportions based on paired data", Journal of Educational and Behavioral
   Statistics 37, 2012.
.. [4] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under
   two or more correlated receiver operating characteristic curves: a nonparametric
   approach", Biometrics 44, 1988.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri, stdtrit

from drsvm.defaults.roc_auc import MIN_VARIANCE

# Of the quantiles for both ends: intervals of 95 %
LEVEL = 0.975
Z = float(ndtri(LEVEL))

# The lower and the upper end
Interval: TypeAlias = tuple[float, float]
Lead: TypeAlias = tuple[float, Interval]


def rate_interval(share: float, n: float) -> Interval:
    """Return Wilson's interval for a share of n rows.

    They need not be a whole number, as those of scipy.stats must.
    """
    scale = 1 + Z**2 / n
    centre = (share + Z**2 / (2 * n)) / scale
    variance = share * (1 - share) / n + (Z / (2 * n)) ** 2
    half = Z * math.sqrt(variance) / scale
    # Of shares 0 and 1, rounding errors must not exclude the share itself.
    low = min(centre - half, share)
    high = max(centre + half, share)
    return max(0.0, low), min(1.0, high)


def mean_interval(
    values: Sequence[float] | np.ndarray, limits: list[Interval] | np.ndarray
) -> Interval:
    """Return the interval for a mean of independent figures.

    The squares of the distances to their limits add up.
    """
    lows, highs = zip(*limits, strict=True)
    mean = float(np.mean(values))
    n = len(values)
    return mean - math.dist(lows, values) / n, mean + math.dist(highs, values) / n


def lead_in_rates(
    gains: np.ndarray,
    losses: np.ndarray,
    counts: np.ndarray,
    weights: np.ndarray | float = 1.0,
) -> Lead:
    """Return the mean over classes of a lead in the rate of correct rows.

    Parameters
    ----------
    gains, losses : arrays of shape (n_classes,)
        The number of rows that only the first classifier gets right, and that only
        the second does.
    counts : array of shape (n_classes,)
        The number of rows. For the accuracy there is one class, which has all of them.
    weights : array of shape (n_classes,), optional
        What the leads of the classes are multiplied by.

    Returns
    -------
    tuple of float and Interval
        The lead and its interval.
    """
    leads = weights * (gains - losses) / counts
    limits = np.array(list(map(_interval_of_lead, gains, losses, counts)))
    limits *= np.reshape(weights, (-1, 1))
    return float(np.mean(leads)), mean_interval(leads, limits)


def _interval_of_lead(gains: int, losses: int, n: int) -> Interval:
    """Return the interval of Bonett and Price, who add one gain and one loss."""
    up = (gains + 1) / (n + 2)
    down = (losses + 1) / (n + 2)
    lead = up - down
    variance = (up + down - lead**2) / (n + 2)
    half = Z * math.sqrt(variance)
    return max(-1.0, lead - half), min(1.0, lead + half)


def auc_interval(parts: np.ndarray, codes: np.ndarray) -> Interval:
    """Return the interval for a ROC AUC, of which rows have the `auc_parts`.

    It is Wilson's, for as many rows as give a rate DeLong's variance. This number is at
    least that of the rows of the smallest class, which is enough for every
    distribution, and at most that of all rows: where hardly any pair is out of order,
    DeLong's variance is close to 0 by chance.
    """
    area = min(float(parts.sum()), 1.0)
    smallest = len(codes)
    # DeLong's variance is the sum of var(V)/n over the classes, and the parts of a
    # class of n rows are V/2n.
    variance = 0.0
    for code in np.unique(codes):
        own = parts[codes == code]
        smallest = min(smallest, len(own))
        if len(own) > 1:
            variance += 4 * len(own) * float(own.var(ddof=1))
    # The rate `area` of that many rows has the variance area (1 − area) / n.
    n = 0.0
    if smallest > 1 and variance > MIN_VARIANCE:
        n = area * (1 - area) / variance
    n = min(max(n, smallest), len(codes))
    return rate_interval(area, n)


def lead_in_auc(first: np.ndarray, second: np.ndarray, codes: np.ndarray) -> Lead:
    """Return the lead in ROC AUC of one classifier over another, and its interval.

    It has DeLong's covariances. A row per class on which the classifiers agree is
    added, and Student's quantile is that of Welch: few rows prove little.

    Parameters
    ----------
    first, second : arrays of shape (n,)
        The `auc_parts` of the classifiers.
    codes : array of shape (n,)
        The classes of the rows.

    Returns
    -------
    tuple of float and Interval
        The lead and its interval.
    """
    lead = float(first.sum() - second.sum())
    smallest = len(codes)
    variance = 0.0
    # Welch's number of degrees of freedom is variance² / errors.
    errors = 0.0
    for code in np.unique(codes):
        own = 2 * (first - second)[codes == code]
        n = len(own)
        smallest = min(smallest, n)
        own_variance = (n + 1) * float(np.append(own, 0.0).var(ddof=1))
        variance += own_variance
        errors += own_variance**2 / n
    if variance < MIN_VARIANCE:
        # No pair tells them apart: like rates that agree on all rows of the smallest
        # class
        return lead, _interval_of_lead(0, 0, smallest)
    quantile = float(stdtrit(variance**2 / errors, LEVEL))
    half = quantile * math.sqrt(variance)
    return lead, (max(-1.0, lead - half), min(1.0, lead + half))
