"""The rows of a command: reading, splitting and preparation of tables of any size."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

import numpy as np

from drsvm.cli.class_labels import (
    check_labels,
    known_labels,
    positive_class,
)
from drsvm.cli.command_files import STANDARD, check_inputs, name_of, read_from
from drsvm.cli.options import Settings
from drsvm.cli.screen import Screen
from drsvm.persistence.model_files import OpenModel, SavedModel
from drsvm.tables import DataFileError, Dataset, ReadOptions, Schema, read, read_like
from drsvm.tables.arrow_columns import Table, taken
from drsvm.tables.arrow_tables import ArrowTable
from drsvm.tables.copies import about_copies, copies_of, held_out_rows
from drsvm.tables.files import files_of, format_of_name
from drsvm.utils.annotations import Matrix

if TYPE_CHECKING:
    # At run time, this would import scikit-learn.
    from drsvm.tables.preparation import Feature, Steps
    from drsvm.tables.streamed_tables import StreamedTable

# The share of the rows that are held out for a test by default
TEST_SHARE = 0.25
# With fewer rows of a class than this, nothing is held out by default: a quarter of
# them is too few.
MIN_CLASS_ROWS = 8
# The memory that a cell takes while a table is read, prepared and used for training
# twice
BYTES_OF_CELL = 60
# A text file needs at least this many times its size.
COPIES_OF_TEXT = 3


@dataclass(frozen=True)
class Split:
    """What to hold out for a test: a number or share of rows, unless there is a file.

    Without a size, it is a quarter of the rows.
    """

    size: float | None
    test: Path | None
    seed: int

    def __post_init__(self):
        if self.test is not None and self.size is not None:
            raise ValueError("use --test or --test-size, not both.")


@dataclass(frozen=True, eq=False)
class Prepared:
    """Training and test rows as features, and the fitted preparation.

    `X_test` may be None, and so may `features`, if they have no names.
    """

    X: Matrix
    X_test: Matrix
    steps: "Steps"
    features: "list[Feature] | None"

    @property
    def names(self) -> list[str] | None:
        if self.features is None:
            return None
        return [feature.name for feature in self.features]

    @property
    def columns(self) -> list[str] | None:
        """The column of the table that each feature comes from."""
        if self.features is None:
            return None
        return [feature.column for feature in self.features]

    def scaled(self, standardise: bool) -> list[bool]:
        """Return a mask of the features in standard deviations.

        These are all of an svmlight file, and the numbers of a table.
        """
        if self.features is None:
            return [standardise] * self.X.shape[1]
        return [standardise and feature.part == "numbers" for feature in self.features]


@dataclass(frozen=True, eq=False)
class Parts:
    """Training rows and test rows, if any."""

    # A table, or the matrix of an svmlight file
    X: Table | Matrix
    y: np.ndarray
    # The numbers of the rows in the file, from 0
    rows: np.ndarray
    data: Dataset
    X_test: Table | Matrix = None
    y_test: np.ndarray | None = None
    # Which labels were verified
    verified: np.ndarray | None = None
    # Columns that name the training rows, where wanted
    ids: dict[str, np.ndarray] = field(default_factory=dict)
    # One of two classes
    positive: object = None
    # Features that are on disk already
    ready: Prepared | None = None

    @property
    def side(self) -> int:
        """1 if decisions for the positive class are positive, -1 if it comes first."""
        if self.positive is not None and self.positive == np.unique(self.y).tolist()[0]:
            return -1
        return 1

    def with_positive(self, wanted: str | None) -> "Parts":
        """Return the rows with the positive one of two classes."""
        n_classes = len(np.unique(self.y))
        if n_classes == 2:
            return replace(self, positive=positive_class(self.y, wanted))
        if wanted is not None:
            raise ValueError(
                f"--positive is for two classes, and there are {n_classes}: omit it."
            )
        return self


def load_parts(
    file: Path, options: ReadOptions, screen: Screen, test: Path | None = None
) -> Parts:
    """Read a file, and the test file if there is one."""
    check_inputs(None, [file, test])
    tested = None
    with screen.progress(f"reading {name_of(file)}"):
        data = read_from(file, lambda path: read(path, options))
        if test is not None:
            tested = read_from(test, lambda path: read_like(path, data.schema, options))
    screen.note(*data.notes)
    y = check_labels(data)
    ids = {name: np.array(texts, dtype=object) for name, texts in data.kept.items()}
    whole = Parts(data.X, y, data.rows, data, verified=data.verified, ids=ids)
    if tested is None:
        return whole
    screen.note(*tested.notes)
    return replace(whole, X_test=tested.X, y_test=known_labels(tested, y))


def held_out(whole: Parts, split: Split, screen: Screen) -> Parts | None:
    """Return the rows with some held out, a quarter by default of all but small tables.

    None without a split.
    """
    if whole.y_test is not None or split.size == 0:
        return None
    classes, counts = np.unique(whole.y, return_counts=True)
    rare = classes.tolist()[int(counts.argmin())]
    n = int(counts.min())
    if split.size is None and n < MIN_CLASS_ROWS:
        screen.note(_why_nothing_is_held_out(n, rare))
        return None
    if n < 2:
        raise DataFileError(
            f"only one row has the label {rare!r}; --test-size needs two of each.",
            whole.data.path,
        )
    size = split.size or TEST_SHARE
    copies = copies_of(whole.X)
    try:
        train, test = held_out_rows(
            whole.y, int(size) if size >= 1 else size, split.seed, copies
        )
    except ValueError as error:
        raise ValueError(f"--test-size {size:g}: {error}") from None
    screen.note(*about_copies(whole.y, copies))
    return replace(
        whole,
        X=rows_of(whole.X, train),
        y=whole.y[train],
        rows=whole.rows[train],
        X_test=rows_of(whole.X, test),
        y_test=whole.y[test],
        verified=None if whole.verified is None else whole.verified[train],
        ids={name: texts[train] for name, texts in whole.ids.items()},
    )


def _why_nothing_is_held_out(n: int, rare: object) -> str:
    if n == 1:
        have = "row has"
        remedy = "correct or remove the row if its label is a mistake"
    else:
        have = "rows have"
        remedy = "correct or remove the rows if they are mistakes"
    return (
        f"no rows are held out for a test, because only {n} {have} the label {rare!r}: "
        "the accuracy is that on the training rows, which is optimistic. Test with "
        f"--test FILE, or {remedy}."
    )


def rows_of(X: Table | Matrix, rows: np.ndarray) -> Table | Matrix:
    """Return some rows of a table or a matrix."""
    return taken(X, rows) if hasattr(X, "take") else X[rows]


def load_for_model(
    model: Path, file: Path, options: ReadOptions, screen: Screen
) -> tuple[SavedModel, Dataset]:
    """Load a model and read a file the way its training file was read."""
    check_inputs(model, [file])
    with screen.progress(f"reading {model.name} and {name_of(file)}"):
        opened = OpenModel(model)
        schema = opened.metadata().get("schema")
        if not isinstance(schema, dict):
            raise ValueError(
                f"{model}: does not describe its data files; use a model saved by "
                "drsvm fit."
            )
        dataset = read_from(
            file, lambda path: read_like(path, Schema(**schema), options)
        )
        saved = opened.load()
    screen.note(*dataset.notes)
    return saved, dataset


def prepare(parts: Parts, *, standardise: bool) -> Prepared:
    """Return the rows after the preparation, which is fitted to the training rows."""
    if parts.ready is not None:
        return parts.ready
    from sklearn.pipeline import Pipeline

    from drsvm.tables.preparation import features_of, preparation

    steps = preparation(parts.data.schema, standardise)
    if not steps:
        return Prepared(parts.X, parts.X_test, [], None)
    pipeline = Pipeline(steps)
    X = pipeline.fit_transform(parts.X)
    X_test = None
    if parts.X_test is not None:
        X_test = pipeline.transform(parts.X_test)
    return Prepared(X, X_test, pipeline.steps, features_of(pipeline, parts.data.schema))


def about_clipped(prepared: Prepared, parts: Parts) -> list[str]:
    """Return a note on cells of the training rows that the preparation clips."""
    from drsvm.tables.notes import what_was_clipped
    from drsvm.tables.preparation import cells_clipped

    if parts.ready is not None:
        # It was noted when the features were written to disk.
        return []
    return what_was_clipped(cells_clipped(prepared.steps, parts.data.schema, parts.X))


def costs_and_signs(parts: Parts, prepared: Prepared) -> Settings:
    """Return ``feature_cost`` and ``monotonic_cst``, one entry per feature.

    A text column has several features.
    """
    if not parts.data.mentioned or prepared.features is None:
        return {}
    columns = np.array(prepared.columns, dtype=object)
    # Being empty has no order.
    is_value = np.array([feature.part != "gaps" for feature in prepared.features])
    costs = np.ones(len(columns))
    signs = np.zeros(len(columns), dtype=np.int8)
    for role, name in parts.data.mentioned:
        if role == "trust_column":
            costs[columns == name] = np.inf
            continue
        sign = parts.side if role == "increasing" else -parts.side
        features = (columns == name) & is_value
        if (signs[features] == -sign).any():
            raise ValueError(
                f"{name}: a column cannot be both --increasing and --decreasing."
            )
        signs[features] = sign
    settings: Settings = {}
    if np.isinf(costs).any():
        settings["feature_cost"] = costs
    if signs.any():
        settings["monotonic_cst"] = signs
    return settings


# --- tables that do not fit into memory: their features are written to disk and read
# from there ---


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
) -> Iterator[tuple[Parts, Parts | None]]:
    """Yield all rows, and the same with some held out, or None.

    They are prepared and on disk if they do not fit into memory. `in_memory` is an
    option that forbids that, if one was given.
    """
    if not is_to_stream(file, spool):
        whole = load_parts(file, options, screen, split.test)
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


def _parts_on_disk(table: "StreamedTable", options: ReadOptions, split: Split) -> Parts:
    """Return all rows of a table, with those of a test file if there is one."""
    from drsvm.tables.preparation import features_of

    data = table.data
    X = table.rows.X
    y = check_labels(data)
    features = features_of(table.steps, data.schema)
    ready = Prepared(X, None, table.steps.steps, features)
    whole = Parts(X, y, data.rows, data, verified=data.verified, ready=ready)
    if split.test is None:
        return whole
    test = read_from(split.test, lambda path: read_like(path, data.schema, options))
    X_test = table.steps.transform(test.X)
    return replace(
        whole,
        X_test=X_test,
        y_test=known_labels(test, y),
        ready=replace(ready, X_test=X_test),
    )


def _last_held_out(
    table: "StreamedTable", whole: Parts, screen: Screen
) -> Parts | None:
    """Return the rows with the last ones as a test, if there are any.

    Their preparation is that of all rows.
    """
    if table.n_test == 0:
        return None
    y = whole.y
    first = len(y) - table.n_test
    counts = np.unique(y[first:], return_counts=True)[1]
    if len(counts) < len(np.unique(y)) or counts.min() < 2:
        screen.note(
            "no rows are held out for a test, because too few rows of a class were "
            "drawn: see --test-size."
        )
        return None
    X = table.part(0, first)
    X_test = table.part(first, len(y))
    assert whole.ready is not None
    return replace(
        whole,
        X=X,
        y=y[:first],
        X_test=X_test,
        y_test=y[first:],
        verified=None if whole.verified is None else whole.verified[:first],
        ready=replace(whole.ready, X=X, X_test=X_test),
    )
