"""Gross errors: cells that are more than FAR deviations away from their column."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from drsvm.problem.memory_rows import must_stay
from drsvm.problem.validation import check_entries
from drsvm.utils.annotations import Matrix, Values
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.user_warnings import warn_user

# The robust deviation comes from the range without this share of the cells at either
# end: they may be wrong
TAIL = 0.1
# That range of a normal distribution, in standard deviations
NORMAL_RANGE = float(norm.isf(TAIL) - norm.ppf(TAIL))
# Shares of rows that differ by this are equal: doubles add up to no less
ROUNDING = 1e-12
# Deviations of a gross error; most of those in benchmarks/gross_errors.py are at 100 or
# more
FAR = 50.0
# A column that varies this number of times as much as others hides them
WIDE = 100.0
# A column that varies by this share of the widest one is constant but for rounding, if
# the widest is no wider than this: such columns are from a scaler, or are principal
# components. Beside wider ones, such as times in nanoseconds, they are columns.
NEARLY_CONSTANT = 1e-12
WIDEST_SCALED = 1e3
# Ratios from here on are powers of ten
LONG_RATIO = 1e9
# This number of rows describes a column
SAMPLE_ROWS = 5000
MAX_NAMED = 5  # rows or columns that a warning names, to stay short


class FarColumns(NamedTuple):
    """Columns with gross errors."""

    places: np.ndarray
    """Their indices."""

    middles: np.ndarray
    """Their medians."""

    deviations: np.ndarray
    """Their robust standard deviations."""

    spread_share: float
    """What is spread without gross errors, as a share of what is spread with them."""

    sizes: np.ndarray
    """Mean absolute deviations of all columns; empty if the rows were not looked at."""


# Numbers whose squares are too large are refused elsewhere.
@np.errstate(over="ignore", invalid="ignore")
def far_columns(X: Matrix, weights: Values = None) -> FarColumns:
    """Return the columns of dense rows in memory that have gross errors.

    A deviation is the range from the 10th to the 90th percentile, over that of a
    standard normal variable. Columns where it is 0, such as rare indicators, are left
    alone. The share of the spread is the geometric mean over the columns: the worst one
    does not decide.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows; any other matrix has no such columns.
    weights : array of shape (n,), optional
        Their weights.

    Returns
    -------
    FarColumns
        The columns.
    """
    nothing = np.array([])
    none = FarColumns(np.array([], dtype=int), nothing, nothing, 1.0, nothing)
    if not isinstance(X, np.ndarray) or must_stay(X):
        return none
    # 1. The mean absolute deviation of every column, from some rows that count
    step = max(1, len(X) // SAMPLE_ROWS)
    few = X[::step]
    shares = np.ones(len(few))
    if weights is not None:
        shares = weights[::step]
    few = few[shares > 0.0]
    shares = shares[shares > 0.0] / shares.sum()
    means = shares @ few
    sizes = shares @ np.abs(few - means)

    # 2. To save time, percentiles are left to columns with a cell that is 1 / TAIL of
    # these away from the mean: a gross error is, unless one cell in twenty is wrong.
    low = X.min(axis=0)
    high = X.max(axis=0)
    suspect = TAIL * np.maximum(high - means, means - low) > sizes
    if not suspect.any():
        return none._replace(sizes=sizes)
    # If fewer than TAIL are above the lowest value, or below the highest, the 10th and
    # the 90th percentile are equal.
    above = shares @ (few > low)
    below = shares @ (few < high)
    varies = np.minimum(above, below) >= TAIL - ROUNDING
    places = np.flatnonzero(suspect & varies)
    first, middles, last = quantiles(few[:, places], shares)
    deviations = (last - first) / NORMAL_RANGE
    varies[places[deviations == 0.0]] = False

    # 3. Columns with a cell that is too many deviations away
    farthest = np.maximum(high[places] - middles, middles - low[places])
    far = varies[places] & (farthest > FAR * deviations)
    places = places[far]
    middles = middles[far]
    deviations = deviations[far]

    # 4. What is left of their spread without these cells; that of the other columns
    # that vary does not change, which is a factor of 1 in the geometric mean.
    distances = np.abs(few[:, places] - middles)
    near = np.where(distances <= FAR * deviations, distances, 0.0)
    ratios = np.sqrt((shares @ near**2) / (shares @ distances**2))
    spread_share = float(np.prod(ratios ** (1.0 / max(1, varies.sum()))))
    return FarColumns(places, middles, deviations, spread_share, sizes)


def warn_of_far_cells(
    X: Matrix,
    weights: Values,
    *,
    names: Sequence[str] | None,
    costs: np.ndarray | None,
    classifier: str,
) -> float:
    """Warn of rows with gross errors, or of columns on another scale.

    Parameters
    ----------
    X, weights : array of shape (n, d), array of shape (n,) or None
        The rows and their weights.
    names : sequence of str, optional
        The names of the columns.
    costs : array of shape (d,), optional
        The costs of shifts of the columns, which change their scales.
    classifier : str
        The name of the classifier, for the remedy.

    Returns
    -------
    float
        The share of the spread that is not due to gross errors.
    """
    far = far_columns(X, weights)
    if len(far.places):
        _warn_of_far_rows(X, weights, far, names)
    elif len(far.sizes):
        sizes = far.sizes
        if costs is not None:
            sizes = sizes * np.where(np.isinf(costs), 0.0, costs)
        if sizes.max() > WIDE * sizes.min():
            _warn_of_scales(X, sizes, names, classifier)
    return far.spread_share


def _warn_of_far_rows(
    X: np.ndarray, weights: Values, far: FarColumns, names: Sequence[str] | None
) -> None:
    distances = np.abs(X[:, far.places] - far.middles) / far.deviations
    if weights is not None:
        distances *= weights[:, None] > 0.0
    rows = np.flatnonzero(distances.max(axis=1) > FAR)
    # The rows that are far may have no weight.
    if not len(rows):
        return
    row, worst = divmod(distances.argmax(), len(far.places))
    column = far.places[worst]
    cell = X[row, column]
    warn_user(
        f"Far-off rows: {len(rows)} of {len(X)} rows ({_listed(rows, None)}) are more "
        f"than {FAR:g} deviations from the others, such as row {row} with {cell:.4g} "
        f"in column {_name(column, names)}, {distances.max():.2g} deviations. They may "
        "outweigh all others: put ClippedScaler() in front of the classifier, or "
        "correct the rows."
    )


def _name(column: int, names: Sequence[str] | None) -> str:
    if names is None:
        return str(column)
    return repr(names[column])


def _listed(places: Sequence[int] | np.ndarray, names: Sequence[str] | None) -> str:
    """Return the names of the first of some rows or columns."""
    named = [_name(place, names) for place in places[:MAX_NAMED]]
    if len(places) > MAX_NAMED:
        named.append("...")
    return ", ".join(named)


def _warn_of_scales(
    X: np.ndarray, sizes: np.ndarray, names: Sequence[str] | None, classifier: str
) -> None:
    """Name columns that are spread much wider than others, which they may hide.

    The others are a quarter of the columns, or more: few columns may be tiny, such as
    the last principal components or pixels at an edge. Constant and 0/1 columns do not
    count.
    """
    # Entries that are too large for anything are an error, not a matter of scales.
    check_entries(X)
    # A value between the lowest and the highest one
    has_third_value = ((X.min(axis=0) < X) & (X.max(axis=0) > X)).any(axis=0)
    # Behind a scaler, a constant column may vary by rounding errors.
    varies = sizes > NEARLY_CONSTANT * min(sizes.max(), WIDEST_SCALED)
    # The columns that count, the widest one first
    order = np.argsort(-sizes)
    order = order[(has_third_value & varies)[order]]
    if not len(order):
        return
    last = len(order) - 1
    usual = sizes[order[last - last // 4]]
    wide = np.sort(order[sizes[order] > WIDE * usual])
    if not len(wide):
        return
    if len(wide) > 1:
        who = f"columns {_listed(wide, names)} vary up to"
    else:
        who = f"column {_listed(wide, names)} varies"
    ratio = sizes[order[0]] / usual
    times = f"{ratio:,.0f}"
    if ratio >= LONG_RATIO:
        times = f"{ratio:.0e}"
    remedy = Parameter(f"make_pipeline(ClippedScaler(), {classifier}())")
    text = (
        "Different scales: {} {} times as much as others, which hardly count then, "
        "because shifts and distances are measured in the units of the columns: use {}."
    )
    warn_user(Message(text, who, times, remedy))


def quantiles(cells: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the 10th, 50th and 90th percentile of every column.

    Where a range of values qualifies, it is their middle. So the percentiles of −X are
    those of X with the other sign, and a weight of 2 is the same as two equal rows.
    `numpy.quantile` takes the lower end if there are weights.

    Parameters
    ----------
    cells : array of shape (n, d)
        The columns; NaN is an empty cell.
    weights : array of shape (n,)
        Their weights.

    Returns
    -------
    array of shape (3, d)
        The percentiles; 0 for an empty column.
    """
    # Masses are the sums of the weights up to each value.
    n = len(cells)
    if (weights == weights[0]).all() and not np.isnan(cells).any():
        ordered = np.sort(cells, axis=0)
        masses = np.arange(1.0, n + 1.0)[:, None]
    else:
        # Empty cells come last, and count nothing.
        order = np.argsort(cells, axis=0)
        ordered = np.take_along_axis(cells, order, 0)
        masses = np.cumsum(np.where(np.isnan(ordered), 0.0, weights[order]), axis=0)
    ends = []
    for share in (TAIL, 0.5, 1.0 - TAIL):
        # The lower and the upper end of the values that qualify: they differ where the
        # mass up to a value is the share itself, but for rounding.
        for nearby in (share - ROUNDING, share + ROUNDING):
            place = (masses < nearby * masses[-1]).sum(axis=0)
            place = np.minimum(np.broadcast_to(place, cells.shape[1:]), n - 1)
            ends.append(np.take_along_axis(ordered, place[None], 0)[0])
    return np.nan_to_num(0.5 * np.array(ends[::2]) + 0.5 * np.array(ends[1::2]))
