"""Files read with pyarrow: Parquet, and CSV for speed.

It reads with one thread: with several, a process that ends soon afterwards may crash.
"""

import codecs
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from drsvm.datasets.files import compression_of, invalid, opened
from drsvm.datasets.values import MISSING, Column, column_of_texts


def read_csv_columns(
    path: Path, names: list[str], has_header: bool, delimiter: str, wanted: list[str], as_text: set[str]
) -> dict[str, Column] | None:
    """Return columns of a CSV file, or None if pyarrow is missing or cannot parse the file."""
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
        from pyarrow import csv  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None

    with opened(path) as stream:
        # pyarrow would take blank lines before the header for the header.
        content = stream.read().removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    if content.count(b'"') % 2:  # a missing closing quote; the csv module locates it
        return None

    def table(numeric: set[str]) -> Any:
        types = {name: pyarrow.float64() if name in numeric else pyarrow.string() for name in wanted}
        return csv.read_csv(
            pyarrow.BufferReader(content),
            csv.ReadOptions(column_names=names, skip_rows_after_names=int(has_header), use_threads=False),
            csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            csv.ConvertOptions(
                include_columns=wanted, column_types=types, null_values=sorted(MISSING), strings_can_be_null=True
            ),
        )

    # Most files have numbers in all columns except the labels; otherwise every column is converted separately.
    for numeric in ({name for name in wanted if name not in as_text}, set()):
        try:
            read = table(numeric)
        except pyarrow.ArrowInvalid:
            continue
        if b'"' in content and read.num_rows + has_header != sum(map(bool, content.splitlines())):
            return None  # a cell spans several lines; the csv module is strict about its quotes
        return {name: _from_csv(read.column(name), name in numeric, name in as_text) for name in wanted}
    return None


def _from_csv(values, numeric: bool, keep_text: bool) -> Column:
    return _floats(values) if numeric else column_of_texts(values.to_pylist(), keep_text)


def _floats(values) -> Column:
    return np.array(values.cast("float64").to_numpy(), dtype=np.float64)  # missing values become NaN


class ParquetFile:
    """A Parquet file: reads the column names at once, their values on demand."""

    def __init__(self, path: Path):
        try:
            import pyarrow  # pyright: ignore[reportMissingImports]
            from pyarrow import compute, parquet  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise invalid(path, "Parquet files need pyarrow: pip install 'drsvm[data]'.") from None
        if compression_of(path):
            raise invalid(path, "Parquet files are compressed internally: unpack this one first.")
        self.path, self._pyarrow, self._compute = path, pyarrow, compute
        self.notes: list[str] = []
        try:
            self._file = parquet.ParquetFile(path)
        except (pyarrow.ArrowException, OSError) as error:
            raise invalid(path, f"is truncated or damaged ({error}): copy it again.") from None
        self.names: list[str] = self._file.schema_arrow.names

    def read(self, wanted: list[str], as_text: set[str]) -> dict[str, Column]:
        """Return columns by name; those in `as_text` are not converted to numbers."""
        if self._file.metadata.num_rows == 0:
            raise invalid(self.path, "no rows found.")
        table = self._table(wanted)
        return {name: self._column(name, table.column(name), name in as_text) for name in wanted}

    def cells(self) -> list[tuple[str, ...]]:
        """Return the text of all cells, row by row."""
        columns = [column.to_pylist() for column in self._table(self.names).columns]
        return [tuple("" if value is None else _text(value) for value in row) for row in zip(*columns, strict=True)]

    def _table(self, wanted: list[str]) -> Any:
        try:
            return self._file.read(columns=wanted, use_threads=False)
        except (self._pyarrow.ArrowException, OSError) as error:
            raise invalid(self.path, f"is truncated or damaged ({error}): copy it again.") from None

    def place(self, row: int) -> str:
        """Return the position of a row in the file."""
        return f"row {row + 1}"

    def _column(self, name: str, values, keep_text: bool) -> Column:
        types, kind = self._pyarrow.types, values.type
        if types.is_nested(kind) or types.is_binary(kind):
            raise invalid(self.path, f"column {name!r} has type {kind}: drop it with --drop {shlex.quote(name)}.")
        if types.is_boolean(kind) and not keep_text:
            return _floats(values.cast("int8"))
        if (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)) and not keep_text:
            return self._numbers(name, values)
        if types.is_integer(kind) or types.is_floating(kind):
            # Labels are few and rows are many: convert each distinct number once.
            distinct = values.unique()
            codes = self._compute.index_in(values, value_set=distinct).to_numpy()
            return _column_of_values(distinct)[codes]
        return _column_of_values(values)

    def _numbers(self, name: str, values) -> Column:
        try:
            return _floats(values)
        except self._pyarrow.ArrowInvalid:
            raise invalid(
                self.path,
                f"column {name!r} has integers beyond 2^53, which floats cannot represent exactly: drop it with "
                f"--drop {shlex.quote(name)} if it is an id, or save it as floats.",
            ) from None


def _column_of_values(values) -> Column:
    return column_of_texts([None if value is None else _text(value) for value in values.to_pylist()], keep_text=True)


def _text(value) -> str:
    """Return the text that a CSV file would contain: 1 rather than 1.0, even in a column of floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
