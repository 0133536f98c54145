"""Columns of pyarrow from arrays, and arrays from columns, through their buffers.

pyarrow's own conversions import pandas wherever it is installed, which takes longer than reading most tables.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from drsvm.extras import optional


def pyarrow_or_error() -> Any:
    """Return pyarrow; if it is missing, the error says how to install it."""
    return optional("pyarrow", "reading tables needs")


def in_one_piece(column: Any) -> Any:
    """Return a column without chunks."""
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def array_of(column: Any, kind: str, otherwise: float = 0) -> np.ndarray:
    """Return a column as an array, perhaps read-only, with the given value for empty cells."""
    whole = in_one_piece(column).cast("uint8" if kind == "bool" else kind, safe=False)
    values = np.frombuffer(whole.buffers()[1] if len(whole) else b"", dtype=kind)
    values = values[whole.offset : whole.offset + len(whole)]
    return np.where(array_of(whole.is_null(), "bool"), otherwise, values) if whole.null_count else values


def column_of(values: np.ndarray, valid: np.ndarray) -> Any:
    """Return an array of float64 or int64 as a column in which the cells that are not valid are empty."""
    pyarrow = pyarrow_or_error()
    kind = pyarrow.float64() if values.dtype == np.float64 else pyarrow.int64()
    bits = None if valid.all() else pyarrow.py_buffer(np.packbits(valid, bitorder="little"))
    data = pyarrow.py_buffer(np.ascontiguousarray(values))
    return pyarrow.Array.from_buffers(kind, len(values), [bits, data])


def texts(values: Sequence[str]) -> Any:
    """Return a column of texts."""
    pyarrow = pyarrow_or_error()
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(encoded))]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(encoded), buffers).cast(pyarrow.string())


def taken(table: Any, rows: np.ndarray) -> Any:
    """Return rows of a table or column; without a copy if they are all of them, in order."""
    if len(rows) == len(table) and (np.diff(rows) == 1).all():
        return table
    return table.take(column_of(np.asarray(rows, dtype=np.int64), np.ones(len(rows), dtype=bool)))
