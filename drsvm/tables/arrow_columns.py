"""Columns of pyarrow's tables: texts without blanks, or as numbers.

pyarrow takes long to import and may be missing: it is imported where it is used.
"""

from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from drsvm.utils.lazy import optional

if TYPE_CHECKING:
    import pyarrow

    Column: TypeAlias = pyarrow.Array | pyarrow.ChunkedArray
    Table: TypeAlias = pyarrow.Table
else:
    Column = Table = Any


def pyarrow_or_error() -> ModuleType:
    """Return pyarrow, or raise an error that explains how to install it."""
    return optional("pyarrow", "reading tables needs")


def columns_of(table: Table) -> dict[str, Column]:
    """Return the columns of a table by name."""
    return dict(zip(table.column_names, table.columns, strict=True))


def is_text(column: Column) -> bool:
    """Return True for a column of texts."""
    return str(column.type) in ("string", "large_string")


def take_rows(table: Table, rows: np.ndarray) -> Table:
    """Return the rows of a table or column that have the given positions."""
    # All rows in their order: nothing to copy.
    if len(rows) == len(table) and (np.diff(rows) == 1).all():
        return table
    return table.take(rows)


def cleaned(column: Column, empty: frozenset[str]) -> Column:
    """Return a column without blanks around texts, and with nulls for empty cells."""
    from pyarrow import compute  # pyright: ignore[reportMissingImports]

    # Categories count as text; a column without any value has the type "null".
    if str(column.type).startswith(("dictionary", "null")):
        column = column.cast("string")
    if not is_text(column):
        return column
    column = compute.utf8_trim_whitespace(column)
    texts, null = _empty_cells(empty, column.type)
    return compute.if_else(compute.is_in(column, texts), null, column)


@cache
def _empty_cells(empty: frozenset[str], kind: Any) -> tuple[Column, Any]:
    """Return the texts that count as empty, and what takes their place."""
    pyarrow = pyarrow_or_error()
    return pyarrow.array(sorted(empty), kind), pyarrow.scalar(None, kind)


def as_texts(column: Column) -> Column:
    """Return a column as texts."""
    if is_text(column):
        return column
    # Each distinct value is converted once.
    encoded = column.combine_chunks().dictionary_encode()
    texts = list(map(text_of, encoded.dictionary.to_pylist()))
    return pyarrow_or_error().array(texts, "string").take(encoded.indices)


def text_of(value: object) -> str:
    """Return a cell as a CSV file would contain it: 1 rather than 1.0 for a float."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def as_numbers(column: Column) -> Column | None:
    """Return texts as integers or floats, or None if one of them is not a number."""
    import pyarrow  # pyright: ignore[reportMissingImports]

    try:
        floats = column.cast("double")
    except pyarrow.ArrowInvalid:
        return None
    # The conversion to integers takes long where it fails. Empty cells are NaN, which
    # is not above anything.
    sizes = np.abs(np.asarray(floats))
    if (sizes > np.trunc(sizes)).any():
        return floats
    with suppress(pyarrow.ArrowInvalid):
        return column.cast("int64")
    return floats
