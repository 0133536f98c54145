"""Gross errors: cells so far from the others of their column that they can hardly be meant.

Deviations are measured without them: the range between the 10th and the 90th percentile, divided by that of a standard
normal variable. Columns where it is 0, such as rare indicators, are left alone.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from drsvm.learn.warning import warn_user
from drsvm.model.memory_rows import must_stay

FAR = 50.0  # deviations
TAIL, NORMAL_RANGE = 0.1, 2.563
NEAR = 8.0  # mean absolute deviations; if no cell is farther off, nothing more is computed
ENOUGH = 5000  # rows that describe a column
MOST_NAMED = 5
ROUNDING = 1e-12


class FarColumns(NamedTuple):
    """Columns with cells that are far off, their middles and deviations, and how much they spread without these cells.

    That is a share of what they spread with them, and the mean over all columns (geometric: the worst does not decide).
    """

    places: np.ndarray
    middles: np.ndarray
    deviations: np.ndarray
    share_of_spread: float


@np.errstate(over="ignore", invalid="ignore")  # numbers whose squares are too large are refused elsewhere
def far_columns(X: Any, weights=None) -> FarColumns | None:
    """Return the columns of dense rows in memory with cells that are far off; None if there are none."""
    if not isinstance(X, np.ndarray) or must_stay(X):
        return None
    step = max(1, len(X) // ENOUGH)
    few, low, high = X[::step], X.min(axis=0), X.max(axis=0)
    shares = np.ones(len(few)) if weights is None else weights[::step]
    shares = shares / shares.sum()
    means = shares @ few
    suspect = np.maximum(high - means, means - low) > NEAR * (shares @ np.abs(few - means))
    if not suspect.any():
        return None
    # Fewer cells than that above the lowest value, or below the highest one, do not reach a percentile.
    common = np.minimum(shares @ (few > low), shares @ (few < high)) >= TAIL - ROUNDING
    places = np.flatnonzero(suspect & common)
    order = few[:, places].argsort(axis=0)
    below = np.cumsum(shares[order], axis=0) + ROUNDING
    ends = [few[order[(below < share).sum(axis=0), range(len(places))], places] for share in (TAIL, 1.0 - TAIL)]
    middles, deviations = 0.5 * (ends[0] + ends[1]), (ends[1] - ends[0]) / NORMAL_RANGE
    far = (np.maximum(high[places] - middles, middles - low[places]) > FAR * deviations) & (deviations > 0.0)
    if not far.any():
        return None
    common[places[deviations == 0.0]] = False
    places, middles, deviations = places[far], middles[far], deviations[far]
    ratios, distances = np.ones(X.shape[1]), np.abs(few[:, places] - middles)
    near = np.where(distances <= FAR * deviations, distances, 0.0)
    ratios[places] = np.sqrt((shares @ near**2) / (shares @ distances**2))
    return FarColumns(places, middles, deviations, math.exp(float(np.log(ratios[common]).mean())))


def warn_of_far_rows(X: Any, weights, names) -> None:
    """Name the rows with cells that are far off, and the remedy."""
    found, worst = far_columns(X, weights), (0.0, 0, 0)
    if found is None:
        return
    far = np.zeros(len(X), dtype=bool)
    for column, middle, deviation in zip(*found[:3], strict=True):
        distances = np.abs(X[:, column] - middle) / deviation
        distances *= 1.0 if weights is None else weights > 0.0
        far |= distances > FAR
        worst = max(worst, (float(distances.max()), int(distances.argmax()), int(column)))
    rows, (distance, row, column) = np.flatnonzero(far), worst
    if len(rows) == 0:  # they have no weight
        return
    named = ", ".join(map(str, rows[:MOST_NAMED])) + (", ..." if len(rows) > MOST_NAMED else "")
    name = column if names is None else repr(names[column])
    warn_user(
        f"Far-off rows: {len(rows)} of {len(X)} rows ({named}) are more than {FAR:g} deviations away from the others, "
        f"such as row {row} with {X[row, column]:.4g} in column {name}, {distance:.2g} deviations. A few such rows may "
        "outweigh all others: put ClippedScaler() in front of the classifier, or correct the rows."
    )
