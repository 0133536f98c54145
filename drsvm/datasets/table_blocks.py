"""Parquet and Arrow files, or folders of them, read block by block."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drsvm.datasets.arrow_files import pyarrow_or_error
from drsvm.datasets.files import invalid
from drsvm.progress import tell

BLOCK_ROWS = 1 << 16
"""Number of rows that are read at a time."""

PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
"""Suffixes of the files that are read from a folder."""


class TableBlocks:
    """A table in one file, or in all the files of a folder, which have the same columns.

    It is read with one thread (see `arrow_files.py`).

    Parameters
    ----------
    path : Path
        A Parquet or Arrow file, or a folder.
    """

    def __init__(self, path: Path):
        pyarrow_or_error()
        self.path = path
        self.files = _files(path)
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
        """Yield tables of consecutive rows, and tell how far this is."""
        pool, done = pyarrow_or_error().default_memory_pool(), 0
        for file in self.files:
            for block in _opened(file).blocks(columns):
                yield block
                pool.release_unused()  # pyarrow would keep more and more of it
                done += len(block)
                tell(done / self.n_rows)
        self.check_unchanged()

    def sample(self, columns: list[str], n_rows: int) -> Any:
        """Return a table of about so many rows, from blocks that are spread over the whole table."""
        pyarrow = pyarrow_or_error()
        share = min(1.0, n_rows / self.n_rows)
        parts, wanted, seen = [], 0.0, 0
        for block in self.blocks(columns):
            seen += len(block)
            # Some rows of every block: tables are often sorted, by time or by label.
            take = round(seen * share - wanted)
            wanted += take
            if take:
                step = len(block) / take
                parts.append(block.take([int(step * number) for number in range(take)]))
        return pyarrow.concat_tables(parts)

    def check_unchanged(self) -> None:
        """Raise an error if a file has changed since it was opened."""
        for file, stamp in zip(self.files, self._stamps, strict=True):
            if _stamp(file) != stamp:
                raise invalid(file, "changed while it was read: wait until it is complete, and try again.")


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
    try:
        return _ArrowBlocks(path) if path.suffix.lower() in ARROW else _ParquetBlocks(path)
    except FileNotFoundError:
        raise invalid(path, "no such file.") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise invalid(path, f"is no Parquet or Arrow file, or damaged ({error}): copy it again.") from None


def _files(path: Path) -> list[Path]:
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
    try:
        status = path.stat()
    except FileNotFoundError:
        raise invalid(path, "no such file.") from None
    return status.st_size, status.st_mtime_ns
