"""What pyarrow reads: Parquet files, and CSV files quickly.

It reads with one thread only: with several, the process may crash when it ends soon afterwards.
"""

import codecs
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from drsvm.datasets.files import compression_of, opened, refuse
from drsvm.datasets.values import MISSING, Column, column_of_texts


def read_csv_columns(
    path: Path, names: list[str], has_header: bool, delimiter: str, wanted: list[str], as_text: set[str]
) -> dict[str, Column] | None:
    """Return columns of a CSV file; None where pyarrow is missing or finds something that it cannot place."""
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
        from pyarrow import csv  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None

    with opened(path) as stream:
        # Blank lines before the header would count as the header.
        content = stream.read().removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    if content.count(b'"') % 2:  # a quote that is not closed; the csv module says where
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

    # Most files hold numbers in all columns but that of the labels; else every column is looked at by itself.
    for numeric in ({name for name in wanted if name not in as_text}, set()):
        try:
            read = table(numeric)
        except pyarrow.ArrowInvalid:
            continue
        if b'"' in content and read.num_rows + has_header != sum(map(bool, content.splitlines())):
            return None  # a cell goes over several lines; the csv module is strict about the quotes around it
        return {name: _from_csv(read.column(name), name in numeric, name in as_text) for name in wanted}
    return None


def _from_csv(values, numeric: bool, keep_text: bool) -> Column:
    return _floats(values) if numeric else column_of_texts(values.to_pylist(), keep_text)


def _floats(values) -> Column:
    return np.array(values.cast("float64").to_numpy(), dtype=np.float64)  # missing values become NaN


class ParquetFile:
    """A Parquet file: the names of its columns at once, their values when asked for."""

    def __init__(self, path: Path):
        try:
            import pyarrow  # pyright: ignore[reportMissingImports]
            from pyarrow import compute, parquet  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise refuse(path, "Parquet files need pyarrow: pip install 'drsvm[data]'.") from None
        if compression_of(path):
            raise refuse(path, "Parquet files are compressed inside: unpack this one first.")
        self.path, self._pyarrow, self._compute = path, pyarrow, compute
        self.notes: list[str] = []
        try:
            self._file = parquet.ParquetFile(path)
        except (pyarrow.ArrowException, OSError) as error:
            raise refuse(path, f"is truncated or damaged ({error}): copy it again.") from None
        self.names: list[str] = self._file.schema_arrow.names

    def read(self, wanted: list[str], as_text: set[str]) -> dict[str, Column]:
        """Return columns by name; those of `as_text` are not turned into numbers."""
        if self._file.metadata.num_rows == 0:
            raise refuse(self.path, "has no rows.")
        try:
            table = self._file.read(columns=wanted, use_threads=False)
        except (self._pyarrow.ArrowException, OSError) as error:
            raise refuse(self.path, f"is truncated or damaged ({error}): copy it again.") from None
        return {name: self._column(name, table.column(name), name in as_text) for name in wanted}

    def place(self, row: int) -> str:
        """Return where a row is found in the file."""
        return f"row {row + 1}"

    def _column(self, name: str, values, keep_text: bool) -> Column:
        types, kind = self._pyarrow.types, values.type
        if types.is_nested(kind) or types.is_binary(kind):
            raise refuse(self.path, f"column {name!r} holds {kind}: leave it out with --drop {shlex.quote(name)}.")
        if types.is_boolean(kind) and not keep_text:
            return _floats(values.cast("int8"))
        if (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)) and not keep_text:
            return self._numbers(name, values)
        if types.is_integer(kind) or types.is_floating(kind):
            # Labels are few and rows are many: each number is written once.
            distinct = values.unique()
            codes = self._compute.index_in(values, value_set=distinct).to_numpy()
            return _column_of_values(distinct)[codes]
        return _column_of_values(values)

    def _numbers(self, name: str, values) -> Column:
        try:
            return _floats(values)
        except self._pyarrow.ArrowInvalid:
            raise refuse(
                self.path,
                f"column {name!r} holds whole numbers beyond 2^53, which floats cannot tell apart: leave it out with "
                f"--drop {shlex.quote(name)} if it is an id, or save it as floats.",
            ) from None


def _column_of_values(values) -> Column:
    return column_of_texts([None if value is None else _text(value) for value in values.to_pylist()], keep_text=True)


def _text(value) -> str:
    """Return what a CSV file would hold: 1, also where other rows have made the column one of floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
