"""Errors that name the column of X that has no numbers, and the remedy."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta

import numpy as np

from drsvm.utils.annotations import Matrix

TEXT_REMEDY = "encode it first, for instance with OneHotEncoder in a ColumnTransformer"
DATE_REMEDY = (
    "convert them to numbers first, for instance days since the first one, in a step"
)


@contextmanager
def naming_columns(X: Matrix, place: str = "in front of the classifier"):
    """Name the column with text or dates, if X cannot be converted to numbers.

    Parameters
    ----------
    X : matrix or data frame
        What the block converts.
    place : str
        Where the remedy belongs.
    """
    check_distinct(getattr(X, "columns", ()))
    _, first = next(_columns(X), ("", None))
    if getattr(getattr(first, "dtype", None), "kind", "") in ("m", "M"):
        # Numpy would convert a table that has nothing but dates.
        _explain(X, place)
    try:
        yield
    except (TypeError, ValueError):
        _explain(X, place)
        raise


def check_distinct(names: Iterable[Hashable]) -> None:
    """Raise an error if columns of a table have the same name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(
                f"{count} columns are called {name!r}: rename them, or leave out all "
                "but one."
            )


def _columns(X: Matrix) -> Iterator[tuple[str, Matrix]]:
    """Yield the columns of a data frame with their names; anything else is one."""
    if hasattr(X, "columns"):
        for name in X.columns:
            yield f"column {name!r}", X[name]
    else:
        yield "X", X


def _explain(X: Matrix, place: str) -> None:
    """Raise an error that names the first cell with text or a date, if there is one."""
    for name, column in _columns(X):
        cells = np.asarray(column)
        if cells.dtype.kind not in "OUSmM":
            continue
        for cell in cells.flat:
            if isinstance(cell, str | np.bytes_):
                what = "text"
                remedy = TEXT_REMEDY
            elif isinstance(cell, date | timedelta | np.datetime64 | np.timedelta64):
                what = "dates"
                remedy = DATE_REMEDY
            else:
                continue
            raise ValueError(f"{name} has {what} ({str(cell)!r}): {remedy} {place}.")
