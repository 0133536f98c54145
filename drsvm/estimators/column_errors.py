"""Errors that name the column of X that has no numbers, and the remedy."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any

import numpy as np

from drsvm.utils.annotations import Matrix

# Cells that are not numbers: kinds of arrays, types of objects, and what to do with
# them.
TEXT = (
    "text",
    "US",
    str,
    "encode it first, for instance with OneHotEncoder in a ColumnTransformer",
)
REMEDY_FOR_DATES = (
    "convert them to numbers first, for instance days since the first one, in a step"
)
DATES = "dates", "mM", date | timedelta, REMEDY_FOR_DATES


@contextmanager
def naming_columns(X: Matrix, place: str = "in front of the classifier"):
    """Name the column with text or dates, and the remedy, if X cannot be converted to numbers in the block."""
    check_distinct(getattr(X, "columns", ()))
    first = next((column for _, column in _columns(X)), None)
    if getattr(getattr(first, "dtype", None), "kind", "") in ("m", "M"):
        # Numpy would convert a table that has nothing but dates
        _explain(X, DATES, place)
    try:
        yield
    except (TypeError, ValueError):
        _explain(X, TEXT, place)
        _explain(X, DATES, place)
        raise


def check_distinct(names: Iterable[Hashable]) -> None:
    """Raise an error if columns of a table have the same name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(
                f"{count} columns are called {name!r}: rename them, or leave out all but one."
            )


def _columns(X: Matrix) -> Iterator[tuple[str, Matrix]]:
    """Return the columns of a data frame with their names.

    Anything else counts as one.
    """
    if hasattr(X, "columns"):
        return ((f"column {name!r}", X[name]) for name in X.columns)
    return iter([("X", X)])


def _explain(X: Matrix, cells: tuple[str, str, Any, str], place: str) -> None:
    """Raise an error that names the first such cell, if there is one."""
    what, kinds, types, remedy = cells
    for name, column in _columns(X):
        column = np.asarray(column)
        for cell in column.flat if column.dtype.kind in kinds + "O" else ():
            if column.dtype.kind != "O" or isinstance(cell, types):
                raise ValueError(
                    f"{name} has {what} ({str(cell)!r}): {remedy} {place}."
                )
