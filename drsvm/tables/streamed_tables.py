"""Tables that do not fit into memory: read in blocks, prepared like others, and written to disk as features.

What the columns contain, medians, limits and categories come from a sample of the rows;
means, deviations and labels come from all of them. Test rows are drawn at random and
lie behind the training rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from drsvm.tables.arrow_tables import BLOCK_ROWS, ArrowTable, Table, taken, with_text
from drsvm.tables.columns import choose_columns
from drsvm.tables.dataset import Dataset, ReadOptions
from drsvm.tables.files import invalid
from drsvm.tables.reading import converted, empty_rows, read_table, truth_of
from drsvm.tables.row_files import RowsOnDisk, RowWriter, new_folder, opened_folder
from drsvm.tables.values import Coded, coded, labels_of
from drsvm.utils.annotations import Matrix
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.progress import part, stage

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

# Number of rows from which it is determined what the columns contain
SAMPLE_ROWS = 200_000
# shares of the preparation done when the sample, and means and deviations, are known
SAMPLED = 0.15
MEASURED = 0.5


@dataclass(frozen=True, eq=False)
class StreamedTable:
    """A table whose `data` have labels, but no cells: features are on disk.

    The last `n_test` rows are for a test.
    """

    data: Dataset
    steps: "Pipeline"
    rows: RowsOnDisk
    n_test: int

    def part(self, first: int, last: int) -> Matrix:
        """Return some rows without copying them."""
        X = self.rows.X
        if not sparse.issparse(X):
            return X[first:last]
        begin = int(X.indptr[first])
        end = int(X.indptr[last])
        starts = X.indptr[first : last + 1] - X.indptr[first]
        return sparse.csr_array(
            (X.data[begin:end], X.indices[begin:end], starts),
            shape=(last - first, X.shape[1]),
        )


def stream_table(
    path: Path,
    options: ReadOptions,
    *,
    standardise: bool,
    test_share: float,
    seed: int,
    folder: Path | None,
) -> StreamedTable:
    """Read, prepare and write a table of any size."""
    table = ArrowTable(path)
    with stage("preparing"):
        with part(0.0, SAMPLED):
            data = read_table(ArrowTable(path, SAMPLE_ROWS), options)
        stream = _Stream(table, data, options)
        with part(SAMPLED, MEASURED):
            steps = stream.prepared(standardise)
        # By whose size that of all rows on disk is estimated
        few = steps.transform(data.X.slice(0, 1000))
        if sparse.issparse(few):
            stored = 12 * few.nnz + 8 * few.shape[0]
        else:
            stored = 8 * few.size
        needed = int(table.n_rows * (stored / few.shape[0] + 16) * (1.0 + test_share))
        with new_folder(folder, needed) as where, part(MEASURED, 1.0):
            n_test = stream.write(steps, where, test_share, seed)
            y = labels_of(Coded(list(stream.codes), np.load(where / "y.npy")))
            if (
                y.dtype.kind == "i"
            ):  # one byte per row instead of eight, if the labels are small
                y = y.astype(np.min_scalar_type(-int(np.abs(y).max())))
            np.save(where / "y.npy", y)  # in place of their codes
            if stream.verified:
                verified = np.load(where / "verified.npy")
            else:
                verified = None
            rows = opened_folder(where, remove=folder is None)
    # The sample is no longer needed.
    data = replace(
        data,
        X=data.X.schema.empty_table(),
        y=y,
        rows=data.rows[:0].copy(),
        verified=verified,
    )
    return StreamedTable(data, steps, rows, n_test)


class _Stream:
    """The passes over a table: one for means and deviations, one that writes the features."""

    def __init__(self, table: ArrowTable, data: Dataset, options: ReadOptions):
        self.table = table
        self.data = data
        self.options = options
        self.label: str = data.schema.label or ""
        self.verified = choose_columns(table.names, options).verified
        self.codes: dict[str, int] = {}

    def prepared(self, standardise: bool) -> "Pipeline":
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import StandardScaler

        from drsvm.tables.notes import what_was_clipped
        from drsvm.tables.preparation import cells_clipped, preparation

        steps = Pipeline(preparation(self.data.schema, standardise)).fit(self.data.X)
        if standardise:
            numbers = steps[-1].named_transformers_.get("numbers")
        else:
            numbers = None
        if numbers is None:
            return steps
        # Means and deviations come from all rows instead of the sample.
        places = next(
            places for name, _, places in steps[-1].transformers_ if name == "numbers"
        )
        numbers[-1].scaler_ = StandardScaler()
        for cells, _ in self._blocks():
            numbers[-1].partial_fit(
                numbers[0].transform(
                    steps[0].transform(cells)[:, places].astype(np.float64)
                )
            )
        self.data.notes.extend(
            what_was_clipped(cells_clipped(steps.steps, self.data.schema, self.data.X))
        )
        return steps

    def write(
        self, steps: "Pipeline", folder: Path, test_share: float, seed: int
    ) -> int:
        """Write the features of all rows, test rows at the end, and return how many these are."""
        # A stream of its own: that of the seed alone may have drawn the labels.
        random = np.random.default_rng([seed, self.table.n_rows])
        with (
            RowWriter(folder) as train,
            TemporaryDirectory(dir=folder, prefix="test-") as beside,
        ):
            with RowWriter(Path(beside)) as test:
                for cells, vectors in self._blocks():
                    features = steps.transform(cells)
                    is_test = random.random(len(cells)) < test_share
                    for writer, mine in ((train, ~is_test), (test, is_test)):
                        if mine.any():
                            writer.add(
                                features[mine],
                                **{
                                    name: values[mine]
                                    for name, values in vectors.items()
                                },
                            )
            if test.n_rows:
                names = ("y", "verified") if self.verified else ("y",)
                vectors = {
                    name: np.load(Path(beside) / f"{name}.npy") for name in names
                }
                X = opened_folder(Path(beside)).X
                for first in range(0, test.n_rows, BLOCK_ROWS):
                    block = slice(first, first + BLOCK_ROWS)
                    train.add(
                        X[block],
                        **{name: values[block] for name, values in vectors.items()},
                    )
        if train.n_rows == 0:
            what = "no row has a label and all its cells: see {} and {}."
            raise invalid(
                self.table.path, Message(what, Parameter("label"), Parameter("missing"))
            )
        return test.n_rows

    def _blocks(self) -> Iterator[tuple[Table, dict[str, np.ndarray]]]:
        """Yield the cells of the rows that are used, with the codes of their labels (y), and which were verified."""
        wanted = [
            self.label,
            *self.data.schema.columns,
            *([self.verified] if self.verified else []),
        ]
        for table in self.table.blocks(wanted):
            cells = with_text(table, self.label, self.options.empty)
            kept = np.flatnonzero(
                ~empty_rows(
                    self.table, cells, self.label, self.data.schema, self.options
                )
            )
            if not len(kept):
                continue
            cells = taken(cells, kept)
            texts = coded(cells.column(self.label))
            known = [
                self.codes.setdefault(str(text), len(self.codes))
                for text in texts.values
            ]
            vectors = {"y": np.array(known, dtype=np.int32)[texts.codes]}
            if self.verified:
                vectors["verified"] = truth_of(
                    self.table, cells, self.verified, self.options
                )
            yield (
                converted(self.table, cells, self.data.schema, self.options.empty),
                vectors,
            )
