"""Columns of pyarrow from arrays, and arrays from columns, through their buffers.

pyarrow's own conversions import pandas wherever it is installed, which takes longer than reading most tables.
"""

import re
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from drsvm.lazy import optional

if TYPE_CHECKING:
    import pyarrow

    Column: TypeAlias = pyarrow.Array | pyarrow.ChunkedArray
    Table: TypeAlias = pyarrow.Table
else:  # pyarrow takes long to import, and may be missing
    Column = Table = Any


def pyarrow_or_error() -> ModuleType:
    """Return pyarrow, or raise an error that explains how to install it."""
    return optional("pyarrow", "reading tables needs")


def in_one_piece(column: Column) -> Column:
    """Return a column without chunks."""
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def array_of(column: Column, kind: str, otherwise: float = 0) -> np.ndarray:
    """Return a column as an array, perhaps read-only, with the given value for empty cells."""
    whole = in_one_piece(column).cast("uint8" if kind == "bool" else kind, safe=False)
    values = np.frombuffer(whole.buffers()[1] if len(whole) else b"", dtype=kind)
    values = values[whole.offset : whole.offset + len(whole)]
    return np.where(is_null(whole), otherwise, values) if whole.null_count else values


def is_null(column: Column) -> np.ndarray:
    """Return a mask of the empty cells of a column."""
    return array_of(column.is_null(), "bool")


def column_of(values: np.ndarray, valid: np.ndarray) -> Column:
    """Return an array of float64 or int64 as a column in which the cells that are not valid are empty."""
    pyarrow = pyarrow_or_error()
    kind = pyarrow.float64() if values.dtype == np.float64 else pyarrow.int64()
    bits = None if valid.all() else pyarrow.py_buffer(np.packbits(valid, bitorder="little"))
    data = pyarrow.py_buffer(np.ascontiguousarray(values))
    return pyarrow.Array.from_buffers(kind, len(values), [bits, data])


def texts(values: Sequence[str]) -> Column:
    """Return a column of texts."""
    pyarrow = pyarrow_or_error()
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(encoded))]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(encoded), buffers).cast(pyarrow.string())


def is_text(column: Column) -> bool:
    """Return True for a column of texts."""
    return str(column.type) in ("string", "large_string")


def columns_of(table: Table) -> dict[str, Column]:
    """Return the columns of a table by name."""
    return dict(zip(table.column_names, table.columns, strict=True))


def with_columns(table: Table, others: Table) -> Table:
    """Return a table in which those columns of another table replace its own that have the same names."""
    return pyarrow_or_error().table(columns_of(table) | columns_of(others))


def taken(table: Table, rows: np.ndarray) -> Table:
    """Return rows of a table or column; without a copy if they are all of them, in order."""
    if len(rows) == len(table) and (np.diff(rows) == 1).all():
        return table
    return table.take(column_of(np.asarray(rows, dtype=np.int64), np.ones(len(rows), dtype=bool)))


def cleaned(table: Table, empty: frozenset[str]) -> Table:
    """Return a table whose texts have no blanks around them, with nulls for texts that count as empty."""
    if not empty:
        return table
    from pyarrow import compute, nulls, string, types  # pyright: ignore[reportMissingImports]

    # A pattern, not an array of words, and nulls, not a scalar: pyarrow would import pandas to build them.
    pattern = f"^({'|'.join(re.escape(text) for text in sorted(empty))})$"
    columns = columns_of(table)
    for name, column in columns.items():
        if types.is_dictionary(column.type) or types.is_null(column.type):
            column = column.cast(string())
        if types.is_string(column.type) or types.is_large_string(column.type):
            column = compute.utf8_trim_whitespace(column)
            known = compute.match_substring_regex(column, pattern)
            columns[name] = compute.if_else(known, nulls(len(column), column.type), column)
    return pyarrow_or_error().table(columns)
