"""Tables read with pyarrow: Parquet and CSV. Text is stripped of blanks, and empty cells are nulls.

It reads with one thread: with several, a process that ends soon afterwards may crash.
"""

import codecs
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from drsvm.datasets.arrow_arrays import pyarrow_or_error
from drsvm.datasets.files import Problem, compression_of, invalid, opened
from drsvm.messages import Message, Parameter

LARGEST_BLOCK = (1 << 31) - 1
"""pyarrow guesses the types of columns from one block; this is the largest one it can read."""


def csv_table(
    path: Path, names: list[str], has_header: bool, delimiter: str, wanted: list[str], as_text: list[str], empty
) -> Any:
    """Return columns of a CSV file, those in `as_text` as text; None if pyarrow cannot parse the file."""
    pyarrow = pyarrow_or_error()
    from pyarrow import csv  # pyright: ignore[reportMissingImports]

    with opened(path) as stream:
        # pyarrow would take blank lines before the header for the header.
        content = stream.read().removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    if content.count(b'"') % 2:  # a missing closing quote; the csv module locates it
        return None

    def table(columns: list[str], texts: Iterable[str]) -> Any:
        return csv.read_csv(
            pyarrow.BufferReader(content),
            csv.ReadOptions(
                column_names=names,
                skip_rows_after_names=int(has_header),
                use_threads=False,
                block_size=min(max(len(content), 1), LARGEST_BLOCK),
            ),
            csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in content),
            csv.ConvertOptions(
                include_columns=columns,
                column_types=dict.fromkeys(texts, pyarrow.string()),
                null_values=sorted(empty),
                strings_can_be_null=True,
            ),
        )

    try:
        read = _read_as_written(table, wanted, as_text)
    except pyarrow.ArrowInvalid:
        return None
    if b'"' in content and read.num_rows + has_header != _number_of_lines(content, read.num_rows + has_header):
        return None  # a cell spans several lines; the csv module is strict about its quotes
    return cleaned(read, empty)


def _number_of_lines(content: bytes, expected: int) -> int:
    """Return the number of lines that are not empty; if there are as many line breaks as expected, none is."""
    breaks = content.count(b"\n") + (not content.endswith(b"\n"))
    return breaks if breaks == expected and b"\r" not in content else sum(map(bool, content.splitlines()))


def _read_as_written(table, wanted: list[str], texts: list[str]) -> Any:
    """Return the columns; dates and times as text, since Python reads them from data frames as such, too."""
    from pyarrow import types  # pyright: ignore[reportMissingImports]

    read = table(wanted, texts)
    temporal = [field.name for field in read.schema if types.is_temporal(field.type)]
    if not temporal:
        return read
    columns = dict(zip(read.column_names, read.columns, strict=True))
    again = table(temporal, temporal)
    columns |= dict(zip(temporal, again.columns, strict=True))
    return pyarrow_or_error().table(columns)


def cleaned(table: Any, empty: frozenset[str]) -> Any:
    """Return a table whose texts have no blanks around them, with nulls for texts that count as empty."""
    # A pattern, not an array of words, and nulls, not a scalar: pyarrow would import pandas to build them.
    if not empty:
        return table
    pattern = f"^({'|'.join(re.escape(text) for text in sorted(empty))})$"
    columns = [_cleaned(column, pattern) for column in table.columns]
    return pyarrow_or_error().table(dict(zip(table.column_names, columns, strict=True)))


def _cleaned(column: Any, empty: str) -> Any:
    from pyarrow import compute, nulls, string, types  # pyright: ignore[reportMissingImports]

    if types.is_dictionary(column.type) or types.is_null(column.type):
        column = column.cast(string())
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return column
    column = compute.utf8_trim_whitespace(column)
    known = compute.match_substring_regex(column, empty)
    return compute.if_else(known, nulls(len(column), column.type), column) if compute.any(known).as_py() else column


class ParquetFile:
    """A Parquet file: reads the column names at once, their values on demand."""

    def __init__(self, path: Path):
        try:
            self._pyarrow = pyarrow_or_error()
        except ImportError as error:
            raise invalid(path, str(error)) from None
        from pyarrow import parquet  # pyright: ignore[reportMissingImports]

        if compression_of(path):
            raise invalid(path, "Parquet files are compressed internally: unpack this one first.")
        self.path = path
        self.notes: list[str] = []
        self.renamed: dict[str, str] = {}
        try:
            self._file = parquet.ParquetFile(path)
        except (self._pyarrow.ArrowException, OSError) as error:
            raise invalid(path, f"is truncated or damaged ({error}): copy it again.") from None
        self.schema, self.n_rows = self._file.schema_arrow, self._file.metadata.num_rows
        self.names: list[str] = self.schema.names
        self.delimiter = None

    def read(self, wanted: list[str], as_text: str | None, empty: frozenset[str]) -> Any:
        """Return columns as a table; `as_text` is not converted to numbers."""
        if self.n_rows == 0:
            raise invalid(self.path, "no rows found.")
        self._check_types(wanted)
        table = self._table(wanted)
        if as_text is not None:
            place = wanted.index(as_text)
            table = table.set_column(place, as_text, self._texts(table.column(place)))
        return cleaned(table, empty)

    def as_written(self, table: Any, names: list[str], empty: frozenset[str]) -> Any:
        """Return a table of this file as it is: its numbers are no texts."""
        return table

    def cells(self) -> list[tuple[str, ...]]:
        """Return the text of all cells, row by row."""
        columns = [column.to_pylist() for column in self._table(self.names).columns]
        return [tuple("" if value is None else _text(value) for value in row) for row in zip(*columns, strict=True)]

    def texts(self, wanted: list[str]) -> dict[str, list[str]]:
        """Return the text of some columns."""
        columns = self._table(wanted).columns if wanted else []
        return {
            name: ["" if value is None else _text(value) for value in column.to_pylist()]
            for name, column in zip(wanted, columns, strict=True)
        }

    def _table(self, wanted: list[str]) -> Any:
        try:
            return self._file.read(columns=wanted, use_threads=False)
        except (self._pyarrow.ArrowException, OSError) as error:
            raise invalid(self.path, f"is truncated or damaged ({error}): copy it again.") from None

    def swallowed(self, name: str, cell: str) -> bool:
        """Return False: a cell of Parquet has no quotes that could be missing."""
        return False

    def place(self, row: int) -> str:
        """Return the position of a row in the file."""
        return f"row {row + 1}"

    def _check_types(self, wanted: list[str]) -> None:
        types = self._pyarrow.types
        kinds = {name: self.schema.field(name).type for name in wanted}
        odd = {name: kind for name, kind in kinds.items() if types.is_nested(kind) or types.is_binary(kind)}
        if odd:
            listed = " and ".join(f"column {name!r} has type {kind}" for name, kind in odd.items())
            drops = [Parameter("drop", name) for name in odd]
            what = Message("{}: drop it with" + " {}" * len(drops) + ".", listed, *drops)
            raise invalid(self.path, Problem(what, drops))

    def _texts(self, values: Any) -> Any:
        """Return labels as text: few are distinct, so that each is converted once."""
        encoded = values.combine_chunks().dictionary_encode()
        texts = [None if value is None else _text(value) for value in encoded.dictionary.to_pylist()]
        return self._pyarrow.array(texts, self._pyarrow.string()).take(encoded.indices)


def _text(value) -> str:
    """Return the text that a CSV file would contain: 1 rather than 1.0, even in a column of floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
