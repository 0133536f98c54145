"""Tables that do not fit into memory, for ``drsvm fit``: their features are written to disk and read from there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

import numpy as np

from drsvm.cli import work
from drsvm.cli.files import STANDARD, read_from
from drsvm.cli.options import SplitOptions
from drsvm.cli.screen import Screen
from drsvm.cli.work import Parts, Prepared
from drsvm.datasets import DataFileError, ReadOptions, read_like
from drsvm.datasets.arrow_tables import ARROW, ArrowTable
from drsvm.datasets.files import format_of_name

if TYPE_CHECKING:
    from drsvm.datasets.streamed_tables import StreamedTable

BYTES_OF_CELL = 60  # memory that a cell takes while a table is read, prepared and used for training twice
COPIES_OF_TEXT = 3  # a text file needs at least this many times its size


def available_memory() -> float:
    """Return the bytes of memory that are free or can be freed; infinite if the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return float("inf")
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")), float("inf"))


def is_to_stream(file: Path, spool: Path | None) -> bool:
    """Return True for a file to be read in blocks: on request, or because it would not fit into memory."""
    if file == STANDARD or not file.exists():
        return False
    if file.is_dir() or file.suffix.lower() in ARROW:
        return True
    if format_of_name(file) == "parquet":
        table = ArrowTable(file)
        return spool is not None or BYTES_OF_CELL * table.n_rows * len(table.names) > available_memory()
    if spool is not None:
        raise DataFileError("--spool is for Parquet and Arrow files: convert it to Parquet first.", file)
    needed, available = COPIES_OF_TEXT * file.stat().st_size, available_memory()
    if needed > available:
        raise DataFileError(
            f"needs at least {needed / 1e9:.1f} GB of memory, but only {available / 1e9:.1f} GB are available: convert "
            "it to Parquet, which is read in blocks, for instance with DuckDB: "
            f"COPY (FROM '{file.name}') TO '{file.stem}.parquet'.",
            file,
        )
    return False


@contextmanager
def streamed(
    file: Path, options: ReadOptions, split: SplitOptions, spool: Path | None, standardise: bool, screen: Screen
) -> Iterator[tuple[Parts, Parts | None]]:
    """Write the features of a table to disk; yield all rows, and the same with some held out, or None."""
    from drsvm.datasets.preparation import features_of
    from drsvm.datasets.streamed_tables import stream_table

    size = work.TEST_SHARE if split.test_size is None else split.test_size
    share = 0.0 if split.test is not None else size / ArrowTable(file).n_rows if size >= 1 else size
    where = f"in {spool}" if spool else "in a temporary folder"
    screen.note(f"{file.name} is read in blocks, and its features are kept {where} while the classifier is trained.")
    with screen.progress(file.name):
        table = stream_table(file, options, standardise=standardise, test_share=share, seed=split.seed, folder=spool)
    screen.note(*table.data.notes)
    try:
        work.check_labels(replace(table.data, y=table.y))
        features = features_of(table.steps, table.data.schema)
        ready = Prepared(table.rows.X, None, table.steps.steps, features)
        whole = Parts(table.rows.X, table.y, table.data.rows, table.data, verified=table.verified, ready=ready)
        if split.test is not None:
            test = read_from(split.test, lambda path: read_like(path, table.data.schema, options))
            y_test, ready = work.known_labels(test, table.y), replace(ready, X_test=table.steps.transform(test.X))
            whole = replace(whole, X_test=ready.X_test, y_test=y_test, ready=ready)
        yield whole, _held_out(table, whole, screen)
    except KeyboardInterrupt:  # nothing remains of an interrupted command
        rmtree(table.rows.folder, ignore_errors=True)
        raise
    finally:
        table.rows.close()


def _held_out(table: "StreamedTable", whole: Parts, screen: Screen) -> Parts | None:
    """Return the rows with the last ones as a test, if there are any; their preparation is that of all rows."""
    if table.n_test == 0:
        return None
    n = len(table.y)
    first = n - table.n_test
    counts = np.unique(table.y[first:], return_counts=True)[1]
    if len(counts) < len(np.unique(table.y)) or counts.min() < 2:
        screen.note("no rows are held out for a test, because too few rows of a class were drawn: see --test-size.")
        return None
    train, test = table.part(0, first), table.part(first, n)
    return replace(
        whole,
        X=train,
        y=table.y[:first],
        X_test=test,
        y_test=table.y[first:],
        verified=None if table.verified is None else table.verified[:first],
        ready=whole.ready and replace(whole.ready, X=train, X_test=test),
    )
