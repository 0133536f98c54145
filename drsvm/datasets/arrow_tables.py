"""Parquet and Arrow files, or folders of them, read block by block or as a whole.

They are read with one thread: with several, a process that ends soon afterwards may crash.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drsvm.datasets.arrow_arrays import cleaned, pyarrow_or_error
from drsvm.datasets.files import DataFileError, Problem, compression_of, invalid
from drsvm.messages import Parameter
from drsvm.progress import tell

BLOCK_ROWS = 1 << 16  # number of rows that are read at a time
PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")  # suffixes of files that are read from a folder


class TableBlocks:
    """A table in one file, or in all the files of a folder, which have the same columns."""

    def __init__(self, path: Path):
        self.path, self.files = path, _files(path)
        self._stamps = [_stamp(file) for file in self.files]
        opened = [_opened(file) for file in self.files]
        self.schema = opened[0].schema
        self.names: list[str] = self.schema.names
        for file, other in zip(self.files, opened, strict=True):
            if other.schema.names != self.names:
                raise invalid(file, f"has other columns than {self.files[0].name}: move it to another folder.")
        self.n_rows = sum(file.n_rows for file in opened)
        if self.n_rows == 0:
            raise invalid(path, "no rows found.")

    def blocks(self, columns: list[str]) -> Iterator[Any]:
        """Yield tables of consecutive rows, and report the progress."""
        pyarrow, done = pyarrow_or_error(), 0
        for file, stamp in zip(self.files, self._stamps, strict=True):
            try:
                for block in _opened(file).blocks(columns):
                    yield block
                    pyarrow.default_memory_pool().release_unused()  # pyarrow would keep more and more of it
                    done += len(block)
                    tell(done / self.n_rows)
            except (pyarrow.ArrowException, OSError) as error:
                raise _damaged(file, error) from None
            if not file.exists() or _stamp(file) != stamp:
                raise invalid(file, "changed while it was read: wait until it is complete, and try again.")

    def sample(self, columns: list[str], n_rows: int | None) -> Any:
        """Return a table of about so many rows, from blocks that are spread over the whole table, or of all rows."""
        share = 1.0 if n_rows is None else min(1.0, n_rows / self.n_rows)
        parts, wanted, seen = [], 0.0, 0
        for block in self.blocks(columns):
            seen += len(block)
            # Some rows of every block: tables are often sorted, by time or by label.
            take = round(seen * share - wanted)
            wanted += take
            step = len(block) / max(take, 1)
            parts.append(block if share == 1.0 else block.take([int(step * number) for number in range(take)]))
        return pyarrow_or_error().concat_tables(parts)


class ArrowTable:
    """A table whose columns are read on demand, perhaps only a sample of its rows; see `CsvFile` for the methods."""

    def __init__(self, path: Path, sample_rows: int | None = None):
        try:
            self._table = TableBlocks(path)
        except ImportError as error:
            raise invalid(path, str(error)) from None
        self.path, self.names, self._sample_rows = path, self._table.names, sample_rows
        self.notes: list[str] = []
        self.renamed: dict[str, str] = {}

    def read(self, wanted: list[str], as_text: str | None, empty: frozenset[str]) -> Any:
        types = pyarrow_or_error().types
        kinds = {name: self._table.schema.field(name).type for name in wanted}
        odd = {name: kind for name, kind in kinds.items() if types.is_nested(kind) or types.is_binary(kind)}
        if odd:
            listed = " and ".join(f"column {name!r} has type {kind}" for name, kind in odd.items())
            drops = [Parameter("drop", name) for name in odd]
            what = "{}: drop it with" + " {}" * len(drops) + "."
            raise invalid(self.path, Problem(what, listed, *drops, fixes=drops))
        return with_text(self._table.sample(wanted, self._sample_rows), as_text, empty)

    def as_written(self, table: Any, names: list[str], empty: frozenset[str]) -> Any:
        return table  # its numbers are not texts

    def texts(self, wanted: list[str]) -> dict[str, list[str]]:
        columns = self._table.sample(wanted, self._sample_rows).columns if wanted else []
        return {
            name: ["" if value is None else _text(value) for value in column.to_pylist()]
            for name, column in zip(wanted, columns, strict=True)
        }

    def swallowed(self, name: str, cell: str) -> bool:
        return False  # a cell has no quotes that could be missing

    def place(self, row: int) -> str:
        return f"row {row + 1}" if self._sample_rows is None else f"row {row + 1} of a sample"


def with_text(table: Any, name: str | None, empty: frozenset[str]) -> Any:
    """Return a table without blanks around texts, with one column, that of the labels, as text."""
    if name is not None:
        pyarrow, place = pyarrow_or_error(), table.column_names.index(name)
        encoded = table.column(place).combine_chunks().dictionary_encode()  # each label is converted once
        texts = [None if value is None else _text(value) for value in encoded.dictionary.to_pylist()]
        table = table.set_column(place, name, pyarrow.array(texts, pyarrow.string()).take(encoded.indices))
    return cleaned(table, empty)


def _text(value) -> str:
    """Return the text that a CSV file would contain: 1 rather than 1.0, even in a column of floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class _ParquetBlocks:
    def __init__(self, path: Path):
        from pyarrow import parquet  # pyright: ignore[reportMissingImports]

        self.file = parquet.ParquetFile(path, memory_map=True)  # which saves copies of what is still compressed
        self.schema, self.n_rows = self.file.schema_arrow, self.file.metadata.num_rows

    def blocks(self, columns: list[str]) -> Iterator[Any]:
        table = pyarrow_or_error().Table
        for batch in self.file.iter_batches(BLOCK_ROWS, columns=columns, use_threads=False):
            yield table.from_batches([batch]).select(columns)


class _ArrowBlocks:
    def __init__(self, path: Path):
        pyarrow = pyarrow_or_error()
        self.file = pyarrow.ipc.open_file(pyarrow.memory_map(str(path)))
        self.schema = self.file.schema
        self.n_rows = sum(self.file.get_batch(k).num_rows for k in range(self.file.num_record_batches))

    def blocks(self, columns: list[str]) -> Iterator[Any]:
        table = pyarrow_or_error().Table
        for k in range(self.file.num_record_batches):
            batch = table.from_batches([self.file.get_batch(k)]).select(columns)
            for first in range(0, len(batch), BLOCK_ROWS):
                yield batch.slice(first, BLOCK_ROWS)


def _opened(path: Path) -> Any:
    pyarrow = pyarrow_or_error()
    if compression_of(path):
        raise invalid(path, "Parquet files are compressed internally: unpack this one first.")
    try:
        return _ArrowBlocks(path) if path.suffix.lower() in ARROW else _ParquetBlocks(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> DataFileError:
    return invalid(path, f"is not a Parquet or Arrow file, or is truncated or damaged ({error}): copy it again.")


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise invalid(path, "no such file.")
    if not path.is_dir():
        return [path]
    hidden = (".", "_")  # other programs put notes such as _SUCCESS beside the data
    files = sorted(
        file for file in path.rglob("*") if file.suffix.lower() in PARQUET + ARROW and not file.name.startswith(hidden)
    )
    if not files:
        raise invalid(path, f"contains no files ending in {', '.join(PARQUET + ARROW)}: give the folder of the data.")
    return files


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
