"""Rows of tables that do not fit into memory: their features are written to disk.

Training reads them from there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

import numpy as np

from drsvm.cli.class_labels import check_labels, known_labels
from drsvm.cli.command_files import STANDARD, read_from
from drsvm.cli.screen import Screen
from drsvm.cli.training_rows import (
    TEST_SHARE,
    Split,
    TrainTestRows,
    held_out,
    load_rows,
)
from drsvm.tables import DataFileError, ReadOptions
from drsvm.tables.arrow_tables import ArrowTable
from drsvm.tables.files import files_of, format_of_name

if TYPE_CHECKING:
    # At run time, this would import scikit-learn.
    from drsvm.tables.streamed_tables import StreamedTable

# The memory that a cell takes while a table is read, prepared and used for training
# twice
BYTES_OF_CELL = 60
# A text file needs at least this many times its size.
COPIES_OF_TEXT = 3


def available_memory() -> float:
    """Return the bytes of memory that are free or can be freed.

    Infinite if the system does not tell.
    """
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return float("inf")
    for line in lines:
        if line.startswith("MemAvailable"):
            return 1024.0 * int(line.split()[1])
    return float("inf")


def is_to_stream(file: Path, spool: Path | None) -> bool:
    """Test if a file is to be read in blocks: on request, or if memory is too small."""
    if file == STANDARD or not file.exists():
        return False
    available = available_memory()
    files = files_of(file)
    # The number of cells is in the metadata of these files.
    if format_of_name(files[0]) == "parquet":
        table = ArrowTable(file)
        needed = BYTES_OF_CELL * table.n_rows * len(table.names)
        return spool is not None or needed > available
    if spool is not None:
        raise DataFileError(
            "--spool is for Parquet and Arrow files: convert it to Parquet first.", file
        )
    needed = COPIES_OF_TEXT * sum(each.stat().st_size for each in files)
    if needed > available:
        raise DataFileError(
            f"needs at least {needed / 1e9:.1f} GB of memory, but only "
            f"{available / 1e9:.1f} GB are available: convert it to Parquet, which is "
            "read in blocks, for instance with DuckDB: "
            f"COPY (FROM '{file.name}') TO '{file.stem}.parquet'.",
            file,
        )
    return False


@contextmanager
def rows_and_some_held_out(
    file: Path,
    options: ReadOptions,
    split: Split,
    screen: Screen,
    *,
    standardise: bool,
    spool: Path | None,
    in_memory: str | None,
) -> Iterator[tuple[TrainTestRows, TrainTestRows | None]]:
    """Yield all rows, and the same with some held out, or None.

    They are prepared and on disk if they do not fit into memory. `in_memory` is an
    option that forbids that, if one was given.
    """
    if not is_to_stream(file, spool):
        whole = load_rows(file, options, screen, split.test)
        yield whole, held_out(whole, split, screen)
        return
    if in_memory is not None:
        raise ValueError(
            f"{file}: {in_memory} needs all rows in memory: omit it, or use it on a "
            "sample of the rows."
        )
    table = _streamed(file, options, split, screen, standardise, spool)
    try:
        whole = _parts_on_disk(table, options, split)
        yield whole, _last_held_out(table, whole, screen)
    except KeyboardInterrupt:
        # Nothing remains of an interrupted command.
        rmtree(table.rows.folder, ignore_errors=True)
        raise
    finally:
        table.rows.close()


def _streamed(
    file: Path,
    options: ReadOptions,
    split: Split,
    screen: Screen,
    standardise: bool,
    spool: Path | None,
) -> "StreamedTable":
    """Write the features of a table to disk, those of the test at the end."""
    from drsvm.tables.streamed_tables import stream_table

    # Rows are drawn for the test one by one while they are read, so their share has to
    # be known.
    size = TEST_SHARE if split.size is None else split.size
    if split.test is not None:
        size = 0.0
    elif size >= 1:
        size /= ArrowTable(file).n_rows
    where = f"in {spool}" if spool else "in a temporary folder"
    screen.note(
        f"{file.name} is read in blocks, and its features are kept {where} while the "
        "classifier is trained."
    )
    with screen.progress(file.name):
        table = stream_table(
            file,
            options,
            standardise=standardise,
            test_share=size,
            seed=split.seed,
            folder=spool,
        )
    screen.note(*table.data.notes)
    return table


def _parts_on_disk(
    table: "StreamedTable", options: ReadOptions, split: Split
) -> TrainTestRows:
    """Return all rows of a table, with those of a test file if there is one."""
    data = table.data
    whole = TrainTestRows(
        data, table.rows.X, check_labels(data), preparation=table.steps
    )
    if split.test is None:
        return whole
    test = read_from(split.test, options, data.schema)
    return replace(
        whole, X_test=table.steps.transform(test.X), y_test=known_labels(test, whole.y)
    )


def _last_held_out(
    table: "StreamedTable", whole: TrainTestRows, screen: Screen
) -> TrainTestRows | None:
    """Return the rows with the last ones as a test, if there are any.

    Their preparation is that of all rows.
    """
    if table.n_test == 0:
        return None
    n = len(whole.y)
    n_train = n - table.n_test
    y_test = whole.y[n_train:]
    counts = np.unique(y_test, return_counts=True)[1]
    # They were drawn without a look at the classes.
    if len(counts) < len(np.unique(whole.y)) or counts.min() < 2:
        screen.note(
            "no rows are held out for a test, because too few rows of a class were "
            "drawn: see --test-size."
        )
        return None
    return replace(
        whole,
        X=table.part(0, n_train),
        y=whole.y[:n_train],
        training=slice(n_train),
        X_test=table.part(n_train, n),
        y_test=y_test,
    )
