"""Tables that do not fit into memory: read in blocks, and written to disk as features.

They are prepared like others. What the columns contain, medians, limits and categories
come from a sample of the rows; means, deviations and labels come from all of them. Test
rows are drawn at random and lie behind the training rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.tables.arrow_columns import Table, take_rows
from drsvm.tables.arrow_tables import BLOCK_ROWS, ArrowTable, with_text
from drsvm.tables.columns import choose_columns
from drsvm.tables.conversion import converted, truth_of, unused_rows
from drsvm.tables.dataset import Dataset, ReadOptions
from drsvm.tables.files import invalid
from drsvm.tables.reading import read_table
from drsvm.tables.row_files import RowsOnDisk, opened_folder
from drsvm.tables.row_writer import RowWriter, new_folder
from drsvm.tables.values import Coded, coded, labels_of
from drsvm.utils.annotations import Matrix
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.progress import part, stage

# Number of rows from which it is determined what the columns contain.
SAMPLE_ROWS = 200_000
# The share of the preparation that is done when the sample, and then means and
# deviations, are known.
SAMPLED = 0.15
MEASURED = 0.5
# By the size of the features of this many rows, that of all is estimated.
MEASURED_ROWS = 1000


@dataclass(frozen=True, eq=False)
class StreamedTable:
    """A table whose features are on disk."""

    data: Dataset  # with all labels, but without cells
    steps: Any  # the fitted pipeline from cells to features
    rows: RowsOnDisk
    n_test: int  # the last rows, this many, are for a test

    def part(self, first: int, last: int) -> Matrix:
        """Return some rows without copying them."""
        X = self.rows.X
        if not sparse.issparse(X):
            return X[first:last]
        # Slices of scipy's arrays are copies, those of their parts are not.
        begin = int(X.indptr[first])
        end = int(X.indptr[last])
        starts = X.indptr[first : last + 1] - X.indptr[first]
        entries = (X.data[begin:end], X.indices[begin:end], starts)
        return sparse.csr_array(entries, shape=(last - first, X.shape[1]))


def stream_table(
    path: Path,
    options: ReadOptions,
    *,
    standardise: bool,
    test_share: float,
    seed: int,
    folder: Path | None,
) -> StreamedTable:
    """Read, prepare and write a table of any size.

    Parameters
    ----------
    path : Path
        A Parquet or Arrow file, or a folder of them.
    options : ReadOptions
        How to read it.
    standardise : bool
        Whether to clip and standardise numbers.
    test_share : float
        The share of the rows for a test.
    seed : int
        For the choice of the test rows.
    folder : Path or None
        Where to write the features and keep them; None for a temporary folder.

    Returns
    -------
    StreamedTable
    """
    table = ArrowTable(path)
    with stage("preparing"):
        with part(0.0, SAMPLED):
            data = read_table(ArrowTable(path, SAMPLE_ROWS), options)
        # Two passes over all rows
        stream = _Stream(table, data, options)
        with part(SAMPLED, MEASURED):
            steps = stream.prepared(standardise)
        bytes_per_row = _bytes_per_row(steps.transform(data.X.slice(0, MEASURED_ROWS)))
        # Test rows are written twice.
        needed = int(table.n_rows * bytes_per_row * (1.0 + test_share))
        with new_folder(folder, needed) as where, part(MEASURED, 1.0):
            n_test = stream.write(steps, where, test_share, seed)
            y = labels_of(Coded(list(stream.codes), np.load(where / "y.npy")))
            if y.dtype.kind == "i":
                # One byte per row instead of eight, if the labels are small.
                y = y.astype(np.min_scalar_type(-int(np.abs(y).max())))
            # Labels in place of their codes.
            np.save(where / "y.npy", y)
            verified = None
            if stream.verified:
                verified = np.load(where / "verified.npy")
            rows = opened_folder(where, remove=folder is None)
    # The sample is no longer needed.
    none = data.rows[:0].copy()
    empty = data.X.schema.empty_table()
    data = replace(data, X=empty, y=y, rows=none, verified=verified)
    return StreamedTable(data, steps, rows, n_test)


def _bytes_per_row(X: Matrix) -> float:
    """Return the bytes that a row takes on disk, with its label."""
    size = 8 * X.shape[0] * X.shape[1]
    if sparse.issparse(X):
        # An entry has a number of 8 bytes and an index of 4, a row a start of 8.
        size = 12 * X.nnz + 8 * X.shape[0]
    return size / X.shape[0] + 16


class _Stream:
    """The passes over a table: one for means and deviations, one to write features."""

    def __init__(self, table: ArrowTable, data: Dataset, options: ReadOptions):
        self.table = table
        self.data = data
        self.options = options
        self.label = data.schema.label or ""
        self.verified = choose_columns(table.names, options).roles["verified"]
        # The codes of the labels, which are numbered as they occur
        self.codes: dict[str, int] = {}

    def prepared(self, standardise: bool) -> Any:
        """Return the fitted pipeline from cells to features."""
        from sklearn.preprocessing import StandardScaler

        from drsvm.tables.notes import what_was_clipped
        from drsvm.tables.preparation import (
            cells_clipped,
            fitted_preparation,
            part_of,
        )

        data = self.data
        steps: Any = fitted_preparation(data.schema, standardise, data.X)[0]
        numbers, places = part_of(steps[-1], "numbers")
        if not standardise or numbers is None:
            return steps
        # The limits of the clipped scaler come from the sample. Means and deviations
        # come from all rows: it gets an inner scaler that is fitted block by block.
        fill, scaler = numbers
        scaler.scaler_ = StandardScaler()
        for cells, _ in self._blocks():
            read = steps[0].transform(cells)[:, places].astype(np.float64)
            scaler.partial_fit(fill.transform(read))
        clipped = cells_clipped(steps.steps, data.schema, data.X)
        data.notes.extend(what_was_clipped(clipped))
        return steps

    def write(self, steps: Any, folder: Path, test_share: float, seed: int) -> int:
        """Write the features of all rows, and return the number of test rows.

        These are written to a folder of their own first, and then behind the others.
        """
        # A stream of random numbers of its own: that of the seed alone may have drawn
        # the labels.
        random = np.random.default_rng([seed, self.table.n_rows])
        with (
            RowWriter(folder) as train,
            TemporaryDirectory(dir=folder, prefix="test-") as name,
        ):
            beside = Path(name)
            with RowWriter(beside) as test:
                for cells, vectors in self._blocks():
                    X = steps.transform(cells)
                    is_test = random.random(len(cells)) < test_share
                    _add(train, X, vectors, ~is_test)
                    _add(test, X, vectors, is_test)
            if test.n_rows:
                names = ["y", "verified"] if self.verified else ["y"]
                vectors = {name: np.load(beside / f"{name}.npy") for name in names}
                X = opened_folder(beside).X
                for first in range(0, test.n_rows, BLOCK_ROWS):
                    _add(train, X, vectors, slice(first, first + BLOCK_ROWS))
        if train.n_rows == 0:
            what = "no row has a label and all its cells: see {} and {}."
            roles = (Parameter("label"), Parameter("missing"))
            raise invalid(self.table.path, Message(what, *roles))
        return test.n_rows

    def _blocks(self) -> Iterator[tuple[Table, dict[str, np.ndarray]]]:
        """Yield the cells of the rows that are used, with vectors of their labels.

        These are the codes of the labels (y), and which of them were verified.
        """
        table = self.table
        schema = self.data.schema
        empty = self.options.empty
        wanted = [self.label, *schema.columns, *self.verified]
        for block in table.blocks(wanted):
            block = with_text(block, self.label, empty)
            unused = unused_rows(table, block, self.label, schema, self.options)
            if unused.all():
                continue
            block = take_rows(block, np.flatnonzero(~unused))
            labels = coded(block.column(self.label))
            codes = []
            for text in labels.values:
                codes.append(self.codes.setdefault(str(text), len(self.codes)))
            vectors = {"y": np.array(codes, dtype=np.int32)[labels.codes]}
            for name in self.verified:
                vectors["verified"] = truth_of(table, block, name, self.options)
            yield converted(table, block, schema, empty), vectors


def _add(
    writer: RowWriter,
    X: Matrix,
    vectors: dict[str, np.ndarray],
    rows: np.ndarray | slice,
) -> None:
    """Write some rows of a block."""
    chosen = X[rows]
    if chosen.shape[0]:
        parts = {name: values[rows] for name, values in vectors.items()}
        writer.add(chosen, **parts)
