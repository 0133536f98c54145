"""95 % intervals for figures on rows that are new to a classifier, and for its lead over another one on the same rows.

They hold for independent rows that all count the same, and say how far the figure on all rows of this kind may be from
the one on these rows. The classifiers are fixed: what other training rows would change is not in them.

Rates have Wilson's interval, the mean of several rates combines theirs (MOVER), and pairs of rates have that of Bonett
and Price. The area under the ROC curve has DeLong's variance, and for few rows what it lacks; see `auc`.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri, stdtrit

LEVEL = 0.975  # of the quantiles for both ends
Z = float(ndtri(LEVEL))
MIN_VARIANCE = 1e-24  # of a ROC AUC: less is a rounding error

Interval = tuple[float, float]


def rate(share: float, n: float) -> Interval:
    """Return Wilson's interval for a share of n rows, which need not be a whole number (that of scipy.stats must)."""
    scale = 1 + Z**2 / n
    centre = (share + Z**2 / (2 * n)) / scale
    half = Z * math.sqrt(share * (1 - share) / n + (Z / (2 * n)) ** 2) / scale
    return max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share))


def mean_of_rates(rates: Sequence[tuple[float, int]]) -> Interval:
    """Return the interval for the mean of independent rates, given as shares and numbers of rows."""
    return _mean_of([share for share, _ in rates], [rate(*one) for one in rates])


def lead_in_rates(gains: np.ndarray, losses: np.ndarray, counts: np.ndarray) -> tuple[float, Interval]:
    """Return the mean over classes of a lead in the rate of correct rows, and its interval.

    For every class of `counts` rows, `gains` are those that only the first classifier gets right, `losses` those that
    only the second does. (The accuracy is the mean over one class, which has all rows.)
    """
    values, limits = (gains - losses) / counts, [_paired(*one) for one in zip(gains, losses, counts, strict=True)]
    return float(np.mean(values)), _mean_of(values, limits)


def _paired(gains: int, losses: int, n: int) -> Interval:
    """Return the interval of Bonett and Price, who add one gain and one loss."""
    up, down = (gains + 1) / (n + 2), (losses + 1) / (n + 2)
    return _around(up - down, Z * math.sqrt((up + down - (up - down) ** 2) / (n + 2)))


def _mean_of(values: Sequence[float] | np.ndarray, limits: list[Interval]) -> Interval:
    """Return the interval for a mean of independent figures: the distances to their limits add up as squares."""
    down, up = (math.dist(ends, values) / len(values) for ends in zip(*limits, strict=True))
    mean = float(np.mean(values))
    return mean - down, mean + up


def auc_parts(decisions: np.ndarray, codes: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray | None:
    """Return how much each row contributes to the ROC AUC, which is their sum; None if the AUC does not exist.

    A pair that is in order counts half for each of its rows, an equal one a quarter. The AUC of several classes is the
    mean of those of each one against the rest. Decisions are values for class 1, or a column for every class; codes are
    the classes of the rows. If rows stand for several ones, the AUC is the sum of these counts times contributions.
    """
    counts = np.ones(len(codes)) if counts is None else counts
    columns = np.atleast_2d(decisions.T)
    sides = [codes == code for code in range(2 - decisions.ndim, 2 - decisions.ndim + len(columns))]
    if not all(0 < side.sum() < len(codes) for side in sides):
        return None
    parts = np.zeros(len(codes))
    for side, column in zip(sides, columns, strict=True):
        values, places = np.unique(column, return_inverse=True)
        for mine, is_higher in ((side, True), (~side, False)):
            others = np.bincount(places[~mine], counts[~mine], len(values))
            up_to = np.cumsum(others)
            below = (up_to - 0.5 * others) / up_to[-1]
            parts[mine] += (below if is_higher else 1.0 - below)[places[mine]] / counts[mine].sum()
    return parts / (2 * len(columns))


def auc(parts: np.ndarray, codes: np.ndarray) -> Interval:
    """Return the interval for a ROC AUC: Wilson's, for as many rows as give a rate DeLong's variance.

    This number is at least that of the rows of the smallest class, which is enough for every distribution, and at most
    that of all rows: where hardly any pair is out of order, DeLong's variance is close to 0 by chance.
    """
    strata = _strata(parts, codes)
    value, smallest = min(float(parts.sum()), 1.0), min(map(len, strata))
    variance = 4 * sum(len(one) * float(one.var(ddof=1)) for one in strata) if smallest > 1 else math.inf
    n = value * (1 - value) / variance if variance > MIN_VARIANCE else 0.0
    return rate(value, min(max(n, smallest), len(codes)))


def lead_in_auc(first: np.ndarray, second: np.ndarray, codes: np.ndarray) -> tuple[float, Interval]:
    """Return the lead in ROC AUC of one classifier over another, and its interval by DeLong's covariances.

    A row per class on which they agree is added, and Student's quantile is that of Welch: few rows prove little.
    """
    strata = [np.append(one, 0.0) for one in _strata(2 * (first - second), codes)]
    degrees = np.array([len(one) - 1 for one in strata])
    variances = np.array([len(one) * one.var(ddof=1) for one in strata])
    lead, variance = float(first.sum() - second.sum()), float(variances.sum())
    if variance < MIN_VARIANCE:  # no pair tells them apart: like rates that agree on all rows of the smallest class
        return lead, _paired(0, 0, int(degrees.min()))
    quantile = stdtrit(variance**2 / (variances**2 / degrees).sum(), LEVEL)
    return lead, _around(lead, float(quantile) * math.sqrt(variance))


def errors_ahead(first: np.ndarray, second: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> float:
    """Return the lead in ROC AUC of one classifier over another, in standard errors by DeLong's covariances.

    `first` and `second` are their `auc_parts`. A class of one row or less tells nothing.
    """
    variance = 0.0
    for code in np.unique(codes):
        lead, count = 2 * (first - second)[codes == code], counts[codes == code]
        total = float(count.sum())
        if total <= 1.0:
            return 0.0
        variance += total * float(count @ (lead - count @ lead / total) ** 2) / (total - 1.0)
    return float(counts @ (first - second)) / math.sqrt(variance) if variance > MIN_VARIANCE else 0.0


def _strata(parts: np.ndarray, codes: np.ndarray) -> list[np.ndarray]:
    """Return the parts of the rows of each class."""
    return [parts[codes == code] for code in np.unique(codes)]


def _around(centre: float, half: float) -> Interval:
    return max(-1.0, centre - half), min(1.0, centre + half)
