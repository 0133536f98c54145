"""Gross errors: cells more than FAR deviations away from the others of their column, which can hardly be meant."""

from typing import Any

import numpy as np

from drsvm.learn.clipped_scaler import NORMAL_RANGE, ROUNDING, TAIL, quantiles
from drsvm.learn.warning import warn_user
from drsvm.model.memory_rows import must_stay

FAR, NEAR = 50.0, 8.0  # deviations; mean absolute deviations up to which a column is not examined
ENOUGH, MAX_NAMED = 5000, 5  # rows that describe a column, and those that a warning names

NONE = np.zeros(0, dtype=int), np.zeros(0), np.zeros(0), 1.0


@np.errstate(over="ignore", invalid="ignore")  # numbers whose squares are too large are refused elsewhere
def far_columns(X: Any, weights=None) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return columns of dense rows in memory with gross errors, their middles and deviations, and what else is spread.

    A deviation is the range from the 10th to the 90th percentile, over that of a standard normal variable; columns
    where it is 0, such as rare indicators, are left alone. What is spread without gross errors is a share of what is
    spread with them, and the geometric mean over the columns: the worst one does not decide.
    """
    if not isinstance(X, np.ndarray) or must_stay(X):
        return NONE
    step, low, high = max(1, len(X) // ENOUGH), X.min(axis=0), X.max(axis=0)
    few, shares = X[::step], np.ones(len(X))[::step] if weights is None else weights[::step]
    few, shares = few[shares > 0.0], shares[shares > 0.0] / shares.sum()
    means = shares @ few
    suspect = np.maximum(high - means, means - low) > NEAR * (shares @ np.abs(few - means))
    if not suspect.any():
        return NONE
    common = np.minimum(shares @ (few > low), shares @ (few < high)) >= TAIL - ROUNDING  # or the percentiles are equal
    places = np.flatnonzero(suspect & common)
    first, middles, last = quantiles(few[:, places], shares)
    deviations = (last - first) / NORMAL_RANGE
    common[places[deviations == 0.0]] = False
    far = common[places] & (np.maximum(high[places] - middles, middles - low[places]) > FAR * deviations)
    places, middles, deviations = places[far], middles[far], deviations[far]
    distances = np.abs(few[:, places] - middles)
    near = np.where(distances <= FAR * deviations, distances, 0.0)
    ratios = np.sqrt((shares @ near**2) / (shares @ distances**2))
    return places, middles, deviations, float(np.prod(ratios ** (1.0 / max(1, common.sum()))))


def warn_of_far_rows(X: Any, weights, names) -> float:
    """Name the rows with gross errors, and the remedy; return what else is spread (see `far_columns`)."""
    places, middles, deviations, share = far_columns(X, weights)
    if not len(places):
        return share
    distances = np.abs(X[:, places] - middles) / deviations * (1.0 if weights is None else weights[:, None] > 0.0)
    rows, (row, worst) = np.flatnonzero(distances.max(axis=1) > FAR), divmod(distances.argmax(), len(places))
    named = ", ".join(map(str, rows[:MAX_NAMED])) + (", ..." if len(rows) > MAX_NAMED else "")
    column = places[worst] if names is None else repr(names[places[worst]])
    text = (
        f"Far-off rows: {len(rows)} of {len(X)} rows ({named}) are more than {FAR:g} deviations from the others, such "
        f"as row {row} with {X[row, places[worst]]:.4g} in column {column}, {distances.max():.2g} deviations. They may "
        "outweigh all others: put ClippedScaler() in front of the classifier, or correct the rows."
    )
    if len(rows):  # otherwise they have no weight
        warn_user(text)
    return share
