"""Which cells of a table a `ClippedScaler` clips, in words."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.sparsefuncs import min_max_axis

from drsvm.estimators.clipped_scaler import ClippedScaler
from drsvm.utils.messages import counted


class ClippedCells(NamedTuple):
    """Which cells are clipped: far from all others, or in the tails of their column."""

    far: dict[str, str]
    """Such as "2 cells above 131, up to 9,999", by column, the farthest first."""

    in_tails: tuple[int, int]
    """The number of other cells, and of their columns."""


def clipped_cells(
    scaler: ClippedScaler, names: list[str], X, shown: Callable[[int, float], str]
) -> ClippedCells:
    """Describe the clipped cells of columns.

    Parameters
    ----------
    scaler : ClippedScaler
        A fitted scaler.
    names : list of str
        The names of the columns.
    X : array or sparse matrix
        The rows.
    shown : callable
        Turns a value of the column at a place into text.

    Returns
    -------
    ClippedCells
        The description.
    """
    below, above = scaler.count_clipped(X)
    X = check_array(
        X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan"
    )
    if sparse.issparse(X):
        lowest, highest = min_max_axis(X, axis=0, ignore_nan=True)
    else:
        lowest = np.fmin.reduce(X)
        highest = np.fmax.reduce(X)
    places = np.flatnonzero(below + above)
    lower = scaler.lower_[places]
    upper = scaler.upper_[places]
    # In units of the distance of the limits. A cell that is farther than that beyond
    # one of them hardly belongs to its column; others are in a heavy tail.
    beyond = np.maximum(lower - lowest[places], highest[places] - upper)
    beyond /= upper - lower
    in_tail = beyond < 1.0
    far = {}
    for index in np.argsort(-beyond, kind="stable"):
        if in_tail[index]:
            break
        place = int(places[index])
        words = []
        if below[place]:
            limit = shown(place, float(lower[index]))
            end = shown(place, float(lowest[place]))
            cells = counted(below[place], "cell")
            words.append(f"{cells} below {limit}, down to {end}")
        if above[place]:
            limit = shown(place, float(upper[index]))
            end = shown(place, float(highest[place]))
            cells = counted(above[place], "cell")
            words.append(f"{cells} above {limit}, up to {end}")
        far[names[place]] = ", ".join(words)
    n_in_tails = int((below + above)[places[in_tail]].sum())
    return ClippedCells(far, (n_in_tails, int(in_tail.sum())))
