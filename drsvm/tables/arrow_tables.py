"""Tables of pyarrow: Parquet and Arrow files, or folders of them.

Files are read with one thread: with several, as in datasets of pyarrow, a process that
ends soon afterwards may crash.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from drsvm.tables.files import ARROW, OTHER_COLUMNS, compression_of, files_of, invalid
from drsvm.utils.lazy import optional
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.progress import report_progress

if TYPE_CHECKING:
    import pyarrow

    Column: TypeAlias = pyarrow.Array | pyarrow.ChunkedArray
    Table: TypeAlias = pyarrow.Table
else:
    # pyarrow takes long to import, and may be missing.
    Column = Table = Any

BLOCK_ROWS = 1 << 16  # number of rows that are read at a time
DAMAGED = (
    "is not a Parquet or Arrow file, or is truncated or damaged ({}): copy it again."
)


def pyarrow_or_error() -> ModuleType:
    """Return pyarrow, or raise an error that explains how to install it."""
    return optional("pyarrow", "reading tables needs")


def is_text(column: Column) -> bool:
    """Return True for a column of texts."""
    return str(column.type) in ("string", "large_string")


def columns_of(table: Table) -> dict[str, Column]:
    """Return the columns of a table by name."""
    return dict(zip(table.column_names, table.columns, strict=True))


def taken(table: Table, rows: np.ndarray) -> Table:
    """Return rows of a table or column, without a copy if all of them are in order."""
    if len(rows) == len(table) and (np.diff(rows) == 1).all():
        return table
    return table.take(rows)


def cleaned(column: Column, empty: frozenset[str]) -> Column:
    """Return a column without blanks around texts, and with nulls for empty cells."""
    import pyarrow  # pyright: ignore[reportMissingImports]
    from pyarrow import compute  # pyright: ignore[reportMissingImports]

    if str(column.type).startswith(("dictionary", "null")):
        column = column.cast("string")
    if not is_text(column):
        return column
    column = compute.utf8_trim_whitespace(column)
    is_empty = compute.is_in(column, pyarrow.array(sorted(empty), column.type))
    return compute.if_else(is_empty, pyarrow.scalar(None, column.type), column)


def with_text(table: Table, name: str | None, empty: frozenset[str]) -> Table:
    """Return a table with cleaned texts; one column, that of the labels, is text."""
    columns = columns_of(table)
    if name is not None:
        # Each label is converted once.
        encoded = columns[name].combine_chunks().dictionary_encode()
        words = [_text(value) for value in encoded.dictionary.to_pylist()]
        texts = pyarrow_or_error().array(words, "string")
        columns[name] = texts.take(encoded.indices)
    for other, column in columns.items():
        columns[other] = cleaned(column, empty)
    return pyarrow_or_error().table(columns)


class ArrowTable:
    """A table in one file, or in all files of a folder; perhaps a sample of its rows.

    The files of a folder have the same columns. `CsvFile` has the same methods.
    """

    def __init__(self, path: Path, sample_rows: int | None = None):
        self.path = path
        self.sample_rows = sample_rows
        self.files = files_of(path)
        self.notes: list[str] = []
        self.renamed: dict[str, str] = {}
        self.first = 0  # the row where the current block begins
        self.n_rows = 0
        self._stamps = []
        schemas = []
        for file in self.files:
            self._stamps.append(_stamp(file))
            schema, n_rows = _schema_and_rows(file)
            schemas.append(schema)
            self.n_rows += n_rows
        self.schema = schemas[0]
        self.names = list(self.schema.names)
        for name in self.names:
            count = self.names.count(name)
            if count > 1:
                what = f"{count} columns are called {name!r}: rename them, or leave out"
                raise invalid(path, f"{what} all but one.")
        for file, schema in zip(self.files, schemas, strict=True):
            if sorted(schema.names) != sorted(self.names):
                raise invalid(file, OTHER_COLUMNS.format(self.files[0].name))
        if self.n_rows == 0:
            raise invalid(path, "no rows found.")

    def blocks(self, columns: list[str]) -> Iterator[Table]:
        """Yield tables of consecutive rows, and report the progress.

        `place` counts from the current one.
        """
        pyarrow = pyarrow_or_error()
        for file, stamp in zip(self.files, self._stamps, strict=True):
            with _errors_of(file):
                for batch in _batches(file, columns):
                    table = pyarrow.Table.from_batches([batch]).select(columns)
                    for first in range(0, len(table), BLOCK_ROWS):
                        block = table.slice(first, BLOCK_ROWS)
                        yield block
                        # Otherwise, pyarrow would keep more and more memory.
                        pyarrow.default_memory_pool().release_unused()
                        self.first += len(block)
                        report_progress(self.first / self.n_rows)
            if not file.exists() or _stamp(file) != stamp:
                what = "changed while it was read: wait until it is complete, and try"
                raise invalid(file, f"{what} again.")
        self.first = 0

    def read(
        self, wanted: list[str], label: str | None, empty: frozenset[str]
    ) -> Table:
        """Return columns as a table, in which the label is text."""
        types = pyarrow_or_error().types
        odd = []
        drops = []
        for name in wanted:
            kind = self.schema.field(name).type
            if types.is_nested(kind) or types.is_binary(kind):
                odd.append(f"column {name!r} has type {kind}")
                drops.append(Parameter("drop", name))
        if odd:
            what = "{}: drop it with" + " {}" * len(drops) + "."
            message = Message(what, " and ".join(odd), *drops, fixes=drops)
            raise invalid(self.path, message)
        return with_text(self._sample(wanted), label, empty)

    def as_written(
        self, table: Table, names: list[str], empty: frozenset[str]
    ) -> Table:
        """Return the table: its numbers are not written as text."""
        return table

    def texts(self, wanted: list[str]) -> dict[str, list[str]]:
        """Return columns as lists of texts, with "" for an empty cell."""
        if not wanted:
            return {}
        lists = {}
        for name, column in columns_of(self._sample(wanted)).items():
            lists[name] = [_text(value) or "" for value in column.to_pylist()]
        return lists

    def swallowed(self, name: str, cell: str) -> bool:
        """Return False: a cell has no quotes that could be missing."""
        return False

    def place(self, row: int) -> str:
        """Return where a row is, for an error message."""
        sample = "" if self.sample_rows is None else " of a sample"
        return f"row {self.first + row + 1}{sample}"

    def _sample(self, columns: list[str]) -> Table:
        """Return a table of about `sample_rows` rows, or of all rows."""
        share = 1.0
        if self.sample_rows is not None:
            share = min(1.0, self.sample_rows / self.n_rows)
        parts = []
        taken = 0
        seen = 0
        for block in self.blocks(columns):
            # Some rows of every block: tables are often sorted, by time or by label.
            seen += len(block)
            n_rows = round(seen * share) - taken
            taken += n_rows
            if n_rows < len(block):
                step = len(block) / max(n_rows, 1)
                block = block.take([int(step * number) for number in range(n_rows)])
            parts.append(block)
        pyarrow = pyarrow_or_error()
        try:
            # One file may have integers where another one has floats.
            return pyarrow.concat_tables(parts, promote_options="permissive")
        except pyarrow.ArrowException as error:
            what = f"has a column whose type differs between files ({error})"
            raise invalid(self.path, f"{what}: convert one.") from None


def _text(value: object) -> str | None:
    """Return the text that a CSV file would contain: 1 rather than 1.0 for a float."""
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _stamp(file: Path) -> tuple[int, int]:
    """Return the size of a file and when it was changed."""
    state = file.stat()
    return state.st_size, state.st_mtime_ns


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Turn errors of pyarrow into one that names the file."""
    try:
        yield
    except (pyarrow_or_error().ArrowException, OSError) as error:
        raise invalid(path, DAMAGED.format(error)) from None


def _opened(path: Path) -> Any:
    """Return pyarrow's reader of a Parquet or Arrow file."""
    pyarrow = pyarrow_or_error()
    if compression_of(path):
        what = "Parquet files are compressed internally: unpack this one first."
        raise invalid(path, what)
    # A memory map saves copies of what is still compressed.
    if path.suffix.lower() in ARROW:
        return pyarrow.ipc.open_file(pyarrow.memory_map(str(path)))
    from pyarrow import parquet  # pyright: ignore[reportMissingImports]

    return parquet.ParquetFile(path, memory_map=True)


def _schema_and_rows(path: Path) -> "tuple[pyarrow.Schema, int]":
    """Return the columns of a file, and the number of its rows."""
    with _errors_of(path):
        reader = _opened(path)
        if hasattr(reader, "iter_batches"):
            return reader.schema_arrow, reader.metadata.num_rows
        return reader.schema, sum(len(batch) for batch in _batches(path, []))


def _batches(path: Path, columns: list[str]) -> "Iterator[pyarrow.RecordBatch]":
    """Yield the rows of a file: of a Parquet file, only some columns."""
    reader = _opened(path)
    if hasattr(reader, "iter_batches"):
        yield from reader.iter_batches(BLOCK_ROWS, columns=columns, use_threads=False)
        return
    for place in range(reader.num_record_batches):
        yield reader.get_batch(place)
