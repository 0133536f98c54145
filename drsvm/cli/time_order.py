"""Rows in the order of time: what a file shows of it, and what follows.

Time is given by --test-by or --test-last. Otherwise it is that of the first column of
dates or, if blocks of rows differ by more than chance explains, the order of the file.
"""

import shlex

import numpy as np
from scipy import sparse
from scipy.stats import betabinom

from drsvm.cli.training_rows import TEST_SHARE, Prepared, TrainTestRows
from drsvm.tables.row_order import BLOCKS, columns_in_order
from drsvm.utils.annotations import Matrix

# A note lists this many columns.
LISTED = 5
# The share of rows outside of the range of others from which on a note is worth it, and
# the probability that it is by chance
OUTSIDE = 0.1
CHANCE = 1e-3


def time_order(
    parts: TrainTestRows, prepared: Prepared
) -> tuple[np.ndarray | None, list[str]]:
    """Return the training rows from the earliest to the latest, and notes on that.

    None for the rows if no order is known.
    """
    if parts.on_disk:
        return None, []
    # Where the test is given, there is nothing to propose.
    proposes = parts.moments is None and not parts.has_test_file
    in_file = np.argsort(np.arange(len(parts.data.rows))[parts.training])
    order = None
    notes = []
    dates = parts.data.schema.of_style("date")
    if dates:
        # Dates are numbers in the table; empty cells come last.
        moments = parts.X.column(dates[0]).to_numpy()
        order = np.argsort(moments, kind="stable")
        notes.append(_about_dates(dates, proposes))
    elif parts.moments is None:
        found = columns_in_order(prepared.X[in_file], parts.y[in_file])
        if found is not None:
            order = in_file
            notes.append(_about_order(*found, columns_of(parts, prepared), proposes))
    if parts.moments is not None:
        order = np.argsort(parts.moments[parts.training], kind="stable")
    return order, notes


def columns_of(parts: TrainTestRows, prepared: Prepared) -> list[str]:
    """Return the column of the file that each feature comes from."""
    return prepared.columns or parts.data.schema.names


def _about_dates(dates: list[str], proposes: bool) -> str:
    """Return a note on columns of dates."""
    options = ["--drop", ",".join(dates)]
    test = ""
    if proposes:
        test = ", and test on the last rows"
        options += ["--test-by", dates[0]]
    return (
        f"dates: {', '.join(dates)}; if rows to come have later ones, leave them out"
        f"{test}: {shlex.join(options)}."
    )


def _about_order(
    differing: np.ndarray, growing: np.ndarray, columns: list[str], proposes: bool
) -> str:
    """Return a note on an order of the rows that the user may not know of."""
    names = _some(columns, differing) or "the shares of the classes"
    note = (
        f"the rows are in an order: {names} differ between {BLOCKS} blocks of them by "
        "more than chance explains."
    )
    if not proposes:
        return note
    note += f" If that is time, test on the last rows: --test-last {TEST_SHARE}."
    names = _some(columns, growing)
    if names:
        note += f" What grows from row to row is best left out: {names} (--drop)."
    return note


def about_outside(parts: TrainTestRows, prepared: Prepared) -> list[str]:
    """Return a note for a kernel on test rows outside of the range of training rows."""
    if prepared.X_test is None or parts.on_disk:
        return []
    outside = columns_outside(prepared.X, prepared.X_test, columns_of(parts, prepared))
    if not outside:
        return []
    return [
        f"a kernel does not extrapolate, and in {outside} {OUTSIDE:.0%} or more of the "
        "test rows are outside of the range of the training rows."
    ]


def columns_outside(X: Matrix, X_new: Matrix, columns: list[str]) -> str:
    """Return columns in which many new rows are outside of the range of others."""
    if sparse.issparse(X):
        # Sparse rows are 0 nearly everywhere, and have no such range.
        return ""
    is_outside = (X_new < X.min(axis=0)) | (X_new > X.max(axis=0))
    counts = is_outside.sum(axis=0)
    n_new = len(X_new)
    # How many of them are outside of the range of n others if all are drawn from one
    # population: the share outside has the distribution Beta(2, n − 1).
    chance = betabinom.sf(counts - 1, n_new, 2, len(X) - 1)
    is_certain = chance * len(counts) < CHANCE
    return _some(columns, is_certain & (counts >= OUTSIDE * n_new))


def _some(columns: list[str], chosen: np.ndarray) -> str:
    """Return the names of some columns, each once."""
    names = list(dict.fromkeys(np.array(columns, dtype=object)[chosen]))
    listed = ", ".join(names[:LISTED])
    if len(names) > LISTED:
        listed += f" and {len(names) - LISTED} more"
    return listed
