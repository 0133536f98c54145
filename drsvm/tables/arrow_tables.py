"""Tables in files: what all formats have in common, and Parquet and Arrow files.

Files are read with one thread: with several, as in datasets of pyarrow, a process that
ends soon afterwards may crash.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from drsvm.tables.arrow_columns import (
    Table,
    as_texts,
    cleaned,
    columns_of,
    pyarrow_or_error,
    take_rows,
    text_of,
)
from drsvm.tables.files import ARROW, OTHER_COLUMNS, compression_of, files_of, invalid
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.progress import report_progress

if TYPE_CHECKING:
    import pyarrow

BLOCK_ROWS = 1 << 16  # number of rows that are read at a time
DAMAGED = (
    "is not a Parquet or Arrow file, or is truncated or damaged ({}): copy it again."
)


def with_text(table: Table, label: str, empty: frozenset[str]) -> Table:
    """Return a table with cleaned texts, in which the label is text."""
    columns = columns_of(table)
    for name, column in columns.items():
        if name == label:
            column = as_texts(column)
        columns[name] = cleaned(column, empty)
    return pyarrow_or_error().table(columns)


class TableFile:
    """A table in one file, or in all files of a folder with the same columns.

    Subclasses read the names of the columns at once, and the columns on demand.

    Attributes
    ----------
    path : Path
        The file or the folder.
    files : list of Path
        The files with its rows, in their order.
    names : list of str
        The names of the columns.
    notes : list of str
        What was assumed, as sentences for the user.
    renamed : dict
        The original name of every column that was renamed.
    """

    names: list[str]

    def __init__(self, path: Path):
        self.path = path
        self.files = files_of(path)
        self.notes: list[str] = []
        self.renamed: dict[str, str] = {}

    def stored(self, names: list[str]) -> Table:
        """Return columns as they are in the file."""
        raise NotImplementedError

    def place(self, row: int) -> str:
        """Return where a row is, for an error message."""
        raise NotImplementedError

    def read(self, names: list[str], label: str | None, empty: frozenset[str]) -> Table:
        """Return columns with nulls for empty cells, and with the label as text."""
        return with_text(self.stored(names), label or "", empty)

    def texts(self, names: list[str], rows: np.ndarray) -> dict[str, list[str]]:
        """Return some rows of columns as lists of texts, with "" for an empty cell."""
        # A column that is named twice is read once.
        names = list(dict.fromkeys(names))
        if not names:
            return {}
        texts = {}
        for name, column in columns_of(self.stored(names)).items():
            texts[name] = list(map(text_of, take_rows(column, rows).to_pylist()))
        return texts

    def contains_rows(self, name: str, cell: str) -> bool:
        """Return True for a cell that seems to contain other rows (CSV only)."""
        return False


class ArrowTable(TableFile):
    """A table in Parquet or Arrow files; perhaps a sample of its rows."""

    def __init__(self, path: Path, sample_rows: int | None = None):
        super().__init__(path)
        self.sample_rows = sample_rows
        self.first = 0  # the row where the current block begins
        self.n_rows = 0
        # What shows later whether a file has been changed meanwhile
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
                raise invalid(
                    path,
                    f"{count} columns are called {name!r}: rename them, or leave out "
                    "all but one.",
                )
        for file, schema in zip(self.files, schemas, strict=True):
            if sorted(schema.names) != sorted(self.names):
                raise invalid(file, OTHER_COLUMNS.format(self.files[0].name))
        if self.n_rows == 0:
            raise invalid(path, "no rows found.")

    def blocks(self, names: list[str]) -> Iterator[Table]:
        """Yield tables of consecutive rows, and report the progress.

        While a block is processed, `place` takes rows of this block.
        """
        pyarrow = pyarrow_or_error()
        for file, stamp in zip(self.files, self._stamps, strict=True):
            with _errors_of(file):
                for batch in _batches(file, names):
                    table = pyarrow.Table.from_batches([batch]).select(names)
                    for first in range(0, len(table), BLOCK_ROWS):
                        block = table.slice(first, BLOCK_ROWS)
                        yield block
                        # Otherwise, pyarrow would keep more and more memory.
                        pyarrow.default_memory_pool().release_unused()
                        self.first += len(block)
                        report_progress(self.first / self.n_rows)
            if not file.exists() or _stamp(file) != stamp:
                raise invalid(
                    file,
                    "changed while it was read: wait until it is complete, and try "
                    "again.",
                )
        self.first = 0

    def read(self, names: list[str], label: str | None, empty: frozenset[str]) -> Table:
        types = pyarrow_or_error().types
        odd = []
        drops = []
        for name in names:
            arrow_type = self.schema.field(name).type
            if types.is_nested(arrow_type) or types.is_binary(arrow_type):
                odd.append(f"column {name!r} has type {arrow_type}")
                drops.append(Parameter("drop", name))
        if odd:
            what = "{}: drop it with" + " {}" * len(drops) + "."
            message = Message(what, " and ".join(odd), *drops, fixes=drops)
            raise invalid(self.path, message)
        return super().read(names, label, empty)

    def stored(self, names: list[str]) -> Table:
        """Return columns of about `sample_rows` rows, or of all rows."""
        share = 1.0
        if self.sample_rows is not None:
            share = min(1.0, self.sample_rows / self.n_rows)
        parts = []
        n_seen = 0
        n_taken = 0
        for block in self.blocks(names):
            # Some rows of every block: tables are often sorted, by time or by label.
            n_seen += len(block)
            n_rows = round(n_seen * share) - n_taken
            n_taken += n_rows
            if n_rows < len(block):
                step = len(block) / max(n_rows, 1)
                block = block.take((step * np.arange(n_rows)).astype(np.int64))
            parts.append(block)
        pyarrow = pyarrow_or_error()
        try:
            # One file may have integers where another one has floats.
            return pyarrow.concat_tables(parts, promote_options="permissive")
        except pyarrow.ArrowException as error:
            what = f"has a column whose type differs between files ({error})"
            raise invalid(self.path, f"{what}: convert one.") from None

    def place(self, row: int) -> str:
        number = self.first + row + 1
        if self.sample_rows is None:
            return f"row {number}"
        return f"row {number} of a sample"


def _stamp(file: Path) -> tuple[int, int]:
    """Return the size of a file, and the time at which it was changed last."""
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
    """Return pyarrow's reader of a file.

    That is a ParquetFile, which alone has `iter_batches`, or a RecordBatchFileReader of
    an Arrow file.
    """
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
        # Arrow files do not state the number of their rows.
        return reader.schema, sum(map(len, _batches(path, [])))


def _batches(path: Path, columns: list[str]) -> "Iterator[pyarrow.RecordBatch]":
    """Yield the rows of a file.

    Those of a Parquet file have the given columns only, those of an Arrow file, which
    are views of the file, have all.
    """
    reader = _opened(path)
    if hasattr(reader, "iter_batches"):
        yield from reader.iter_batches(BLOCK_ROWS, columns=columns, use_threads=False)
        return
    for place in range(reader.num_record_batches):
        yield reader.get_batch(place)
