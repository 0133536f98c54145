"""Gross errors: cells that lie so far from the others of their column that they can hardly be meant.

The deviation of a column is measured without them: the range between its 10th and 90th percentile, which is NORMAL
standard deviations of a normal distribution. Columns where that is 0, such as rare indicators, are left alone.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from drsvm.learn.warning import warn_user

FAR = 50.0  # robust deviations
TAIL, NORMAL = 0.1, 2.563
NEAR = 8.0  # mean absolute deviations; where no cell is farther off, nothing more is computed
ENOUGH = 5000  # rows from which a column is described
MOST_NAMED = 5
ROUNDING = 1e-12


class FarOff(NamedTuple):
    """Columns with gross errors, their middles and robust deviations, and the share of all spread that is robust."""

    columns: np.ndarray
    middles: np.ndarray
    deviations: np.ndarray
    share_of_spread: float


def far_off(X: np.ndarray, weights=None) -> FarOff | None:
    """Return the columns with cells beyond FAR robust deviations; None if there are none."""
    step = max(1, len(X) // ENOUGH)
    some, weights = X[::step], np.ones(len(X[::step])) if weights is None else weights[::step]
    weights, low, high = weights / weights.sum(), X.min(axis=0), X.max(axis=0)
    means = weights @ some
    distances = some - means
    suspect = np.maximum(high - means, means - low) > NEAR * (weights @ np.abs(distances))
    if not suspect.any():
        return None
    common = np.minimum(weights @ (some > low), weights @ (some < high)) > TAIL  # otherwise the percentiles are equal
    columns = np.flatnonzero(suspect & common)
    order = np.argsort(some[:, columns], axis=0)
    masses = np.cumsum(weights[order], axis=0) + ROUNDING
    places = [(masses < share).sum(axis=0) for share in (TAIL, 1.0 - TAIL)]
    ends = [some[order[place, np.arange(len(columns))], columns] for place in places]
    middles, deviations = 0.5 * (ends[0] + ends[1]), (ends[1] - ends[0]) / NORMAL
    far = np.maximum(high[columns] - middles, middles - low[columns]) > FAR * deviations
    far &= deviations > 0.0
    if not far.any():
        return None
    ratios, common[columns[deviations == 0.0]] = np.ones(X.shape[1]), False
    ratios[columns[far]] = deviations[far] / np.sqrt(weights @ np.square(distances[:, columns[far]]))
    share = math.exp(float(np.log(ratios[common]).mean()))  # the typical column decides, not the worst one
    return FarOff(columns[far], middles[far], deviations[far], share)


def share_of_spread(X: Any, weights) -> float:
    """Return how large the deviations of dense rows are without gross errors, as a share of what they are with them."""
    found = far_off(X, weights) if isinstance(X, np.ndarray) else None
    return 1.0 if found is None else found.share_of_spread
