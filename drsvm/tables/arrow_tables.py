"""Tables of pyarrow: Parquet and Arrow files, or folders of them.

Files are read with one thread: with several, a process that ends soon afterwards may
crash.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
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
else:  # pyarrow takes long to import, and may be missing
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
    """Return rows of a table or column.

    Without a copy if they are all of them, in order.
    """
    if len(rows) == len(table) and (np.diff(rows) == 1).all():
        return table
    return table.take(rows)


def cleaned(table: Table, empty: frozenset[str]) -> Table:
    """Return a table whose texts have no blanks around them, with nulls for texts that count as empty."""
    if not empty:
        return table
    import pyarrow  # pyright: ignore[reportMissingImports]
    from pyarrow import compute  # pyright: ignore[reportMissingImports]

    columns = columns_of(table)
    for name, column in columns.items():
        if str(column.type).startswith(("dictionary", "null")):
            column = column.cast("string")
        if is_text(column):
            column = compute.utf8_trim_whitespace(column)
            is_empty = compute.is_in(column, pyarrow.array(sorted(empty), column.type))
            columns[name] = compute.if_else(
                is_empty, pyarrow.scalar(None, column.type), column
            )
    return pyarrow.table(columns)


class ArrowTable:
    """A table in one file, or in all the files of a folder, which have the same columns; perhaps a sample of it.

    `CsvFile` explains the methods that both have.
    """

    def __init__(self, path: Path, sample_rows: int | None = None):
        self.path = path
        self.sample_rows = sample_rows
        self.files = files_of(path)
        self._stamps = [
            (file.stat().st_size, file.stat().st_mtime_ns) for file in self.files
        ]
        schemas, n_rows, _ = zip(*map(_opened, self.files), strict=True)
        self.schema = schemas[0]
        self.n_rows = sum(n_rows)
        self.names = list(self.schema.names)
        for name in self.names:
            if (count := self.names.count(name)) > 1:
                raise invalid(
                    path,
                    f"{count} columns are called {name!r}: rename them, or leave out all but one.",
                )
        self.notes: list[str] = []
        self.renamed: dict[str, str] = {}
        self.first = 0  # the row where the current block begins
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
            try:
                for batch in _opened(file)[2](columns):
                    table = pyarrow.Table.from_batches([batch]).select(columns)
                    for first in range(0, len(table), BLOCK_ROWS):
                        block = table.slice(first, BLOCK_ROWS)
                        yield block
                        # Pyarrow would keep more and more of it
                        pyarrow.default_memory_pool().release_unused()
                        self.first += len(block)
                        report_progress(self.first / self.n_rows)
            except (pyarrow.ArrowException, OSError) as error:
                raise invalid(file, DAMAGED.format(error)) from None
            if (
                not file.exists()
                or (file.stat().st_size, file.stat().st_mtime_ns) != stamp
            ):
                raise invalid(
                    file,
                    "changed while it was read: wait until it is complete, and try again.",
                )
        self.first = 0

    def _sample(self, columns: list[str]) -> Table:
        """Return a table of about `sample_rows` rows, from all of its blocks, or of all rows."""
        if self.sample_rows is None:
            share = 1.0
        else:
            share = min(1.0, self.sample_rows / self.n_rows)
        parts = []
        wanted = 0.0
        seen = 0
        for block in self.blocks(columns):
            seen += len(block)
            # Some rows of every block: tables are often sorted, by time or by label.
            take = round(seen * share - wanted)
            wanted += take
            step = len(block) / max(take, 1)
            parts.append(
                block
                if share == 1.0
                else block.take([int(step * number) for number in range(take)])
            )
        pyarrow = pyarrow_or_error()
        try:
            # Integers in one file, floats in another
            return pyarrow.concat_tables(parts, promote_options="permissive")
        except pyarrow.ArrowException as error:
            raise invalid(
                self.path,
                f"has a column whose type differs between files ({error}): convert one.",
            ) from None

    def read(
        self, wanted: list[str], as_text: str | None, empty: frozenset[str]
    ) -> Table:
        types = pyarrow_or_error().types
        kinds = {name: self.schema.field(name).type for name in wanted}
        odd = {
            name: kind
            for name, kind in kinds.items()
            if types.is_nested(kind) or types.is_binary(kind)
        }
        if odd:
            listed = " and ".join(
                f"column {name!r} has type {kind}" for name, kind in odd.items()
            )
            drops = [Parameter("drop", name) for name in odd]
            what = "{}: drop it with" + " {}" * len(drops) + "."
            raise invalid(self.path, Message(what, listed, *drops, fixes=drops))
        return with_text(self._sample(wanted), as_text, empty)

    def as_written(
        self, table: Table, names: list[str], empty: frozenset[str]
    ) -> Table:
        return table  # its numbers are not texts

    def swallowed(self, name: str, cell: str) -> bool:
        return False  # a cell has no quotes that could be missing

    def texts(self, wanted: list[str]) -> dict[str, list[str]]:
        columns = self._sample(wanted).columns if wanted else []
        lists = [
            ["" if value is None else _text(value) for value in column.to_pylist()]
            for column in columns
        ]
        return dict(zip(wanted, lists, strict=True))

    def place(self, row: int) -> str:
        return f"row {self.first + row + 1}{'' if self.sample_rows is None else ' of a sample'}"


def with_text(table: Table, name: str | None, empty: frozenset[str]) -> Table:
    """Return a table without blanks around texts, with one column, that of the labels, as text."""
    if name is not None:
        pyarrow = pyarrow_or_error()
        place = table.column_names.index(name)
        # Each label is converted once
        encoded = table.column(place).combine_chunks().dictionary_encode()
        words = [
            None if value is None else _text(value)
            for value in encoded.dictionary.to_pylist()
        ]
        table = table.set_column(
            place, name, pyarrow.array(words, "string").take(encoded.indices)
        )
    return cleaned(table, empty)


def _text(value: object) -> str:
    """Return the text that a CSV file would contain: 1 rather than 1.0, even in a column of floats."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _opened(
    path: Path,
) -> "tuple[pyarrow.Schema, int, Callable[[list[str]], Iterable[pyarrow.RecordBatch]]]":
    """Return the columns of a file, the number of its rows, and a function that reads some columns in batches."""
    pyarrow = pyarrow_or_error()
    if compression_of(path):
        raise invalid(
            path, "Parquet files are compressed internally: unpack this one first."
        )
    try:
        if path.suffix.lower() in ARROW:
            batches = pyarrow.ipc.open_file(pyarrow.memory_map(str(path)))
            every = range(batches.num_record_batches)
            n_rows = sum(batches.get_batch(k).num_rows for k in every)
            return batches.schema, n_rows, lambda columns: map(batches.get_batch, every)
        from pyarrow import parquet  # pyright: ignore[reportMissingImports]

        # Which saves copies of what is still compressed
        file = parquet.ParquetFile(path, memory_map=True)
        read = partial(file.iter_batches, BLOCK_ROWS, use_threads=False)
        return (
            file.schema_arrow,
            file.metadata.num_rows,
            lambda columns: read(columns=columns),
        )
    except (pyarrow.ArrowException, OSError) as error:
        raise invalid(path, DAMAGED.format(error)) from None
