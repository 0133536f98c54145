"""95 % intervals for figures on rows that are new to a classifier, and for its lead over another one on the same rows.

They hold for independent rows that all count the same, and say how far the figure on all rows of this kind may be from
the one on these rows. The classifiers are fixed: what other training rows would change is not in them.

Rates have Wilson's interval, the mean of several rates combines theirs (MOVER), and pairs of rates have that of Bonett
and Price. The area under the ROC curve has DeLong's variance, and for few rows what it lacks; see `auc`.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

Z = 1.959963984540054  # the normal quantile of 97.5 %
ROUNDING = 1e-24  # a smaller variance of a ROC AUC counts as 0


class Interval(NamedTuple):
    """Both ends of an interval."""

    low: float
    high: float


def rate(share: float, n: float) -> Interval:
    """Return Wilson's interval for a share of n rows."""
    scale = 1 + Z**2 / n
    centre = (share + Z**2 / (2 * n)) / scale
    half = Z * math.sqrt(share * (1 - share) / n + (Z / (2 * n)) ** 2) / scale
    return Interval(max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share)))


def mean_of_rates(rates: Sequence[tuple[float, int]]) -> Interval:
    """Return the interval for the mean of independent rates, given as shares and numbers of rows."""
    return _mean_of([share for share, _ in rates], [rate(*one) for one in rates])


def lead_in_rates(gains: Sequence[int], losses: Sequence[int], counts: Sequence[int]) -> Interval:
    """Return the interval for the mean over classes of a lead in the rate of correct rows.

    For every class of `counts` rows, `gains` are those that only the first classifier gets right, `losses` those that
    only the second does. (The accuracy is the mean over one class, which has all rows.)
    """
    limits = [_paired(*one) for one in zip(gains, losses, counts, strict=True)]
    return _mean_of(np.subtract(gains, losses) / np.array(counts), limits)


def _paired(gains: int, losses: int, n: int) -> Interval:
    """Return the interval of Bonett and Price, who add one gain and one loss."""
    up, down = (gains + 1) / (n + 2), (losses + 1) / (n + 2)
    return _around(up - down, Z * math.sqrt((up + down - (up - down) ** 2) / (n + 2)))


def _mean_of(values: Any, limits: list[Interval]) -> Interval:
    """Return the interval for a mean of independent figures: the distances to their limits add up as squares."""
    down, up = (math.dist(ends, values) / len(values) for ends in zip(*limits, strict=True))
    mean = float(np.mean(values))
    return Interval(mean - down, mean + up)


def auc_parts(decisions: np.ndarray, codes: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray | None:
    """Return how much each row contributes to the ROC AUC, which is their sum; None if the AUC does not exist.

    A pair that is in order counts half for each of its rows, an equal one a quarter. The AUC of several classes is the
    mean of those of each one against the rest. Decisions are values for class 1, or a column for every class; codes are
    the classes of the rows. If rows stand for several ones, the AUC is the sum of these counts times contributions.
    """
    columns, parts = decision_columns(decisions, codes), np.zeros(len(codes))
    counts = np.ones(len(codes)) if counts is None else counts
    for side, column in columns:
        for mine, sign in ((side, 1.0), (~side, -1.0)):
            others = sign * column[~mine], counts[~mine]
            parts[mine] += _shares_of_pairs(sign * column[mine], *others) / counts[mine].sum()
    return parts / (2 * len(columns)) if columns else None


def decision_columns(decisions: np.ndarray, codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows of each class that is told from the rest, and the values for it; none if a side has no rows."""
    columns = enumerate(np.atleast_2d(decisions.T), start=2 - decisions.ndim)
    found = [(codes == code, column) for code, column in columns]
    return found if all(0 < side.sum() < len(codes) for side, _ in found) else []


def _shares_of_pairs(values: np.ndarray, others: np.ndarray, counts: np.ndarray) -> np.ndarray:
    order = np.argsort(values)
    shares = np.empty(len(values))
    shares[order] = shares_below(values[order], others, counts)
    return shares


def shares_below(values: np.ndarray, others: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """Return for every value the share of others below it, equal ones half; it is fast for sorted values."""
    order = np.argsort(others)
    left, right = (np.searchsorted(others[order], values, side) for side in ("left", "right"))
    if counts is None:
        return (left + right) / (2.0 * len(others))
    below = np.append(0.0, np.cumsum(counts[order]))
    return (below[left] + below[right]) / (2.0 * below[-1])


def auc(parts: np.ndarray, codes: np.ndarray) -> Interval:
    """Return the interval for a ROC AUC: Wilson's, for as many rows as give a rate DeLong's variance.

    This number is at least that of the rows of the smallest class, which is enough for every distribution, and at most
    that of all rows: where hardly any pair is out of order, DeLong's variance is close to 0 by chance.
    """
    strata = _strata(parts, codes)
    value, smallest = min(float(parts.sum()), 1.0), min(map(len, strata))
    variance = 4 * sum(len(one) * float(one.var(ddof=1)) for one in strata) if smallest > 1 else math.inf
    n = value * (1 - value) / variance if variance > ROUNDING else 0.0
    return rate(value, min(max(n, smallest), len(codes)))


def lead_in_auc(first: np.ndarray, second: np.ndarray, codes: np.ndarray) -> Interval:
    """Return the interval for the lead in ROC AUC of one classifier over another, by DeLong's covariances.

    A row per class on which they agree is added, and Student's quantile is that of Welch: few rows prove little.
    """
    strata = [np.append(one, 0.0) for one in _strata(2 * (first - second), codes)]
    degrees = np.array([len(one) - 1 for one in strata])
    variances = np.array([len(one) * one.var(ddof=1) for one in strata])
    lead, variance = float(first.sum() - second.sum()), float(variances.sum())
    if variance < ROUNDING:  # no pair tells them apart: like rates that agree on all rows of the smallest class
        return _paired(0, 0, int(degrees.min()))
    quantile = stdtrit(variance**2 / (variances**2 / degrees).sum(), 0.975)
    return _around(lead, float(quantile) * math.sqrt(variance))


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
    return float(counts @ (first - second)) / math.sqrt(variance) if variance > ROUNDING else 0.0


def _strata(parts: np.ndarray, codes: np.ndarray) -> list[np.ndarray]:
    """Return the parts of the rows of each class."""
    return [parts[codes == code] for code in np.unique(codes)]


def _around(centre: float, half: float) -> Interval:
    return Interval(max(-1.0, centre - half), min(1.0, centre + half))
