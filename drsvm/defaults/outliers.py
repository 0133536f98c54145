"""Gross errors: cells more than FAR deviations away from the others of their column, which can hardly be meant."""

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from drsvm.defaults.prices import feature_costs
from drsvm.problem.memory_rows import must_stay
from drsvm.problem.validation import check_entries
from drsvm.utils.annotations import Matrix
from drsvm.utils.user_warnings import warn_user

if TYPE_CHECKING:
    from drsvm.defaults.prices import Priced

# The robust deviation comes from the range without this share of the cells at either
# end: they may be wrong
TAIL = 0.1
# That range of a normal distribution, in standard deviations
NORMAL_RANGE = float(norm.isf(TAIL) - norm.ppf(TAIL))
# Numbers, scores and shares of rows that differ by this share are equal: doubles add up
# to no less
ROUNDING = 1e-12
# Deviations of a gross error; most of those in benchmarks/gross_errors.py are at 100 or
# more
FAR = 50.0
# So many describe a column; up to as many, every row is judged by a classifier of other
# rows
FEW_ROWS = 5000
MAX_NAMED = 5  # rows or classes that a warning names, to stay short


@np.errstate(
    over="ignore", invalid="ignore"
)  # numbers whose squares are too large are refused elsewhere
def far_columns(
    X: Matrix, weights=None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, np.ndarray]:
    """Return columns of dense rows in memory with gross errors, their middles and deviations, and what else is spread.

    The last entry is the mean absolute deviation of every column.

    A deviation is the range from the 10th to the 90th percentile, over that of a
    standard normal variable; columns where it is 0, such as rare indicators, are left
    alone, and to save time those whose cells are all within 1 / TAIL mean absolute
    deviations, as if one in twenty is wrong. What is spread without gross errors is a
    share of what is spread with them, and the geometric mean over the columns: the
    worst one does not decide.
    """
    nothing = np.array([], dtype=int), np.array([]), np.array([]), 1.0
    if not isinstance(X, np.ndarray) or must_stay(X):
        return *nothing, np.array([])
    step = max(1, len(X) // FEW_ROWS)
    low = X.min(axis=0)
    high = X.max(axis=0)
    few = X[::step]
    if weights is None:
        shares = np.ones(len(X))[::step]
    else:
        shares = weights[::step]
    few = few[shares > 0.0]
    shares = shares[shares > 0.0] / shares.sum()
    means = shares @ few
    sizes = shares @ np.abs(few - means)
    suspect = TAIL * np.maximum(high - means, means - low) > sizes
    if not suspect.any():
        return *nothing, sizes
    # Or the percentiles are equal
    common = np.minimum(shares @ (few > low), shares @ (few < high)) >= TAIL - ROUNDING
    places = np.flatnonzero(suspect & common)
    first, middles, last = quantiles(few[:, places], shares)
    deviations = (last - first) / NORMAL_RANGE
    common[places[deviations == 0.0]] = False
    far = common[places] & (
        np.maximum(high[places] - middles, middles - low[places]) > FAR * deviations
    )
    places = places[far]
    middles = middles[far]
    deviations = deviations[far]
    distances = np.abs(few[:, places] - middles)
    near = np.where(distances <= FAR * deviations, distances, 0.0)
    ratios = np.sqrt((shares @ near**2) / (shares @ distances**2))
    return (
        places,
        middles,
        deviations,
        float(np.prod(ratios ** (1.0 / max(1, common.sum())))),
        sizes,
    )


def warn_of_far_cells(X: Matrix, weights, estimator: "Priced") -> float:
    """Name rows with gross errors, or columns on another scale.

    Return what else is spread (see `far_columns`).
    """
    names = getattr(estimator, "feature_names_in_", None)
    places, middles, deviations, share, sizes = far_columns(X, weights)
    if not len(places):
        if len(sizes):  # the columns are here
            if estimator.feature_cost is None:
                costs = None
            else:
                costs = feature_costs(estimator)
            if costs is None:
                sizes = sizes
            else:
                sizes = sizes * np.where(np.isinf(costs), 0.0, costs)
            if sizes.max() > 2.0 * FAR * sizes.min():
                _warn_of_scales(X, sizes, names, type(estimator).__name__)
        return share
    distances = (
        np.abs(X[:, places] - middles)
        / deviations
        * (1.0 if weights is None else weights[:, None] > 0.0)
    )
    rows = np.flatnonzero(distances.max(axis=1) > FAR)
    (row, worst) = divmod(distances.argmax(), len(places))
    named = ", ".join(map(str, rows[:MAX_NAMED])) + (
        ", ..." if len(rows) > MAX_NAMED else ""
    )
    if names is None:
        column = places[worst]
    else:
        column = repr(names[places[worst]])
    text = (
        f"Far-off rows: {len(rows)} of {len(X)} rows ({named}) are more than {FAR:g} deviations from the others, such "
        f"as row {row} with {X[row, places[worst]]:.4g} in column {column}, {distances.max():.2g} deviations. They may "
        "outweigh all others: put ClippedScaler() in front of the classifier, or correct the rows."
    )
    if len(rows):  # otherwise they have no weight
        warn_user(text)
    return share


def _warn_of_scales(X: np.ndarray, sizes: np.ndarray, names, classifier: str) -> None:
    """Name columns that are spread so much wider than a quarter of the others, or more, that they may hide them.

    Few columns may be tiny, such as the last principal components or pixels at an edge.
    Constant and 0/1 columns aside.
    """
    check_entries(X)  # which may be too large for anything
    several = ((X.min(axis=0) < X) & (X.max(axis=0) > X)).any(axis=0)
    least = ROUNDING * sizes.max()  # a constant column is not quite so behind a scaler
    order = [
        place
        for place in np.argsort(-sizes).tolist()
        if several[place] and sizes[place] > least
    ]
    if order:
        usual = order[len(order) - 1 - (len(order) - 1) // 4]
    else:
        usual = 0
    wide = sorted(place for place in order if sizes[place] > 2.0 * FAR * sizes[usual])
    if not wide:
        return
    named = [
        str(place) if names is None else repr(names[place])
        for place in wide[:MAX_NAMED]
    ]
    named += ["..."] if len(wide) > MAX_NAMED else []
    if len(wide) > 1:
        who = f"columns {', '.join(named)} vary up to"
    else:
        who = f"column {named[0]} varies"
    warn_user(
        f"Different scales: {who} {sizes[order[0]] / sizes[usual]:,.0f} times as much as others, which hardly count "
        "then, because shifts and distances are measured in the units of the columns: use "
        f"make_pipeline(ClippedScaler(), {classifier}())."
    )


def quantiles(cells: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the 10th, 50th and 90th percentile of every column.

    Where a range of values qualifies, it is their middle: negative columns have
    negative quantiles, and weights count as copies. With weights, numpy's quantiles
    take the lower end, which rounding may move, one column at a time.
    """
    n = len(cells)
    empty = np.isnan(cells)
    if (weights == weights[0]).all() and not empty.any():
        ordered = np.sort(cells, axis=0)
        masses = np.arange(1.0, n + 1.0)[:, None]
    else:
        order = np.argsort(cells, axis=0)  # empty cells last
        ordered = np.take_along_axis(cells, order, 0)
        masses = np.cumsum(np.where(np.isnan(ordered), 0.0, weights[order]), axis=0)
    goals = [
        (share + near) * masses[-1]
        for share in (TAIL, 0.5, 1.0 - TAIL)
        for near in (-ROUNDING, ROUNDING)
    ]
    places = [
        np.broadcast_to((masses < goal).sum(axis=0), cells.shape[1:]) for goal in goals
    ]
    found = np.take_along_axis(ordered, np.minimum(places, n - 1), 0)
    # NaN: the column is empty
    return np.nan_to_num(0.5 * found[::2] + 0.5 * found[1::2])
