"""What commands share: reading, splitting and preparation of tables of any size, prices of labels and features."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

import numpy as np

from drsvm.cli.files import STANDARD, check_inputs, name_of, read_from
from drsvm.cli.options import FileOptions, Settings, SplitOptions
from drsvm.cli.screen import Screen
from drsvm.persistence.model_files import OpenModel, SavedModel
from drsvm.tables import DataFileError, Dataset, ReadOptions, Schema, read, read_like
from drsvm.tables.arrow_tables import ArrowTable, Table, taken
from drsvm.tables.copies import about_copies, copies_of, held_out_rows
from drsvm.tables.files import files_of, format_of_name
from drsvm.tables.values import TRUTH_WORDS, level_of
from drsvm.utils.annotations import Matrix

if TYPE_CHECKING:  # at run time, this would import scikit-learn
    from drsvm.tables.preparation import Feature, Steps
    from drsvm.tables.streamed_tables import StreamedTable

TEST_SHARE = 0.25  # the share of the rows that ``fit`` holds out for a test by default
# With fewer rows of a class than this, nothing is held out by default: a quarter of
# them is too few
MIN_CLASS_ROWS = 8
# Memory that a cell takes while a table is read, prepared and used for training twice
BYTES_OF_CELL = 60
COPIES_OF_TEXT = 3  # a text file needs at least this many times its size


@dataclass(frozen=True, eq=False)
class Parts:
    """Training rows and test rows, if any."""

    X: Table | Matrix  # a table, or a sparse matrix of an svmlight file
    y: np.ndarray
    rows: np.ndarray  # their numbers in the file, from 0
    data: Dataset
    X_test: Table | Matrix = None
    y_test: np.ndarray | None = None
    verified: np.ndarray | None = None  # which labels were verified
    # Columns that name the training rows, where wanted
    ids: dict[str, np.ndarray] = field(default_factory=dict)
    positive: object = None  # one of two classes
    ready: "Prepared | None" = None  # features that are on disk already

    @property
    def side(self) -> int:
        """1 if decisions for the positive class are positive, -1 if it is the other way round: it comes first."""
        if self.positive is not None and self.positive == np.unique(self.y).tolist()[0]:
            return -1
        return 1


def load_parts(
    file: Path, options: ReadOptions, screen: Screen, test: Path | None = None
) -> Parts:
    """Read a file, and the test file if there is one."""
    check_inputs(None, [file, test])
    with screen.progress(f"reading {name_of(file)}"):
        dataset = read_from(file, lambda path: read(path, options))
        tested = test and read_from(
            test, lambda path: read_like(path, dataset.schema, options)
        )
    screen.note(*dataset.notes)
    labels = check_labels(dataset)
    ids = {name: np.array(texts, dtype=object) for name, texts in dataset.kept.items()}
    whole = Parts(
        dataset.X, labels, dataset.rows, dataset, verified=dataset.verified, ids=ids
    )
    if tested is None:
        return whole
    screen.note(*tested.notes)
    return replace(whole, X_test=tested.X, y_test=known_labels(tested, labels))


def held_out(whole: Parts, split: SplitOptions, screen: Screen) -> Parts | None:
    """Return the rows with some held out, a quarter by default of all but small tables.

    None without a split.
    """
    if whole.y_test is not None or split.test_size == 0:
        return None
    classes, counts = np.unique(whole.y, return_counts=True)
    rare = classes.tolist()[int(counts.argmin())]
    n = int(counts.min())
    if split.test_size is None and n < MIN_CLASS_ROWS:
        screen.note(
            f"no rows are held out for a test, because only {n} {'row has' if n == 1 else 'rows have'} the label "
            f"{rare!r}: the accuracy is that on the training rows, which is optimistic. Test with --test FILE, or "
            f"correct or remove {'the row if its label is a mistake' if n == 1 else 'the rows if they are mistakes'}."
        )
        return None
    if n < 2:
        raise DataFileError(
            f"only one row has the label {rare!r}; --test-size needs two of each.",
            whole.data.path,
        )
    size = split.test_size or TEST_SHARE
    copies = copies_of(whole.X)
    try:
        train, test = held_out_rows(
            whole.y, int(size) if size >= 1 else size, split.seed, copies
        )
    except ValueError as error:
        raise ValueError(f"--test-size {size:g}: {error}") from None
    screen.note(*about_copies(whole.y, copies))
    kept = {
        "X": rows_of(whole.X, train),
        "y": whole.y[train],
        "rows": whole.rows[train],
    }
    tested = {"X_test": rows_of(whole.X, test), "y_test": whole.y[test]}
    if whole.verified is None:
        verified = None
    else:
        verified = whole.verified[train]
    ids = {name: texts[train] for name, texts in whole.ids.items()}
    return replace(whole, **kept, **tested, verified=verified, ids=ids)


def check_labels(dataset: Dataset) -> np.ndarray:
    """Return the labels of a file, of which there must be at least two and not too many different ones."""
    labels = dataset.y
    if dataset.schema.label:
        column = f"column {dataset.schema.label!r}"
    else:
        column = "the first number of every line"
    if labels is None:
        raise DataFileError("no labels found.", dataset.path)
    classes = np.unique(labels)
    n = len(labels)
    if len(classes) < 2:
        what = f"all {n} rows have the label {classes.tolist()[0]!r} ({column}); a classifier needs at least two labels"
        remedy = "choose another column with --label, or add rows of another class."
        raise DataFileError(f"{what}: {remedy}", dataset.path)
    if labels.dtype.kind == "f" or (n > 20 and len(classes) > n / 2):
        some = ", ".join(str(label) for label in classes[:4].tolist())
        what = f"{column} has {len(classes)} different values in {n} rows ({some}, ...), too many for class labels"
        remedy = "choose a column with a few different values with --label, or turn its numbers into classes."
        raise DataFileError(f"{what}: {remedy}", dataset.path)
    return labels


def unknown_label(labels: np.ndarray, classes: np.ndarray) -> str | None:
    """Return a label that is not one of the classes, or None."""
    unknown = np.setdiff1d(labels.astype(str), classes.astype(str))
    return str(unknown[0]) if len(unknown) else None


def labels_for(classes: np.ndarray, data: Dataset) -> np.ndarray | None:
    """Return the labels of a file in the type of the classes.

    None without labels, or if some are unknown.
    """
    if data.y is None or unknown_label(data.y, classes):
        return None
    return data.y.astype(classes.dtype)


def known_labels(
    data: Dataset, labels: np.ndarray, purpose: str = "testing"
) -> np.ndarray:
    """Return the labels of a file, all of which must be among those of the training file, in their type."""
    if data.y is None:
        what = f"no label column {data.schema.label!r}; {purpose} needs labels: name it with --label."
        raise DataFileError(what, data.path)
    unknown = unknown_label(data.y, labels)
    if unknown is not None:
        known = ", ".join(map(str, np.unique(labels)[:10].tolist()))
        raise DataFileError(
            f"has the label {unknown!r}, which is not in the training file ({known}).",
            data.path,
        )
    return data.y.astype(labels.dtype)


def rows_of(X: Table | Matrix, rows: np.ndarray) -> Table | Matrix:
    """Return some rows of a table or a matrix."""
    return taken(X, rows) if hasattr(X, "take") else X[rows]


def load_for_model(
    model: Path, file: Path, options: FileOptions, screen, **further
) -> tuple[SavedModel, Dataset]:
    """Load a model and read a file the way its training file was read, with `further` options of reading."""
    check_inputs(model, [file])
    with screen.progress(f"reading {model.name} and {name_of(file)}"):
        opened = OpenModel(model)
        schema = opened.metadata().get("schema")
        if not isinstance(schema, dict):
            raise ValueError(
                f"{model}: does not describe its data files; use a model saved by drsvm fit."
            )
        wanted = options.read_options(**further)
        dataset = read_from(
            file, lambda path: read_like(path, Schema(**schema), wanted)
        )
        saved = opened.load()
    screen.note(*dataset.notes)
    return saved, dataset


@dataclass(frozen=True, eq=False)
class Prepared:
    """Training and test rows as features, the fitted preparation, and the features (None if they have no names)."""

    X: Matrix
    X_test: Matrix  # or None
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
        """Return a mask of the features in standard deviations: all of an svmlight file, the numbers of a table."""
        if self.features is None:
            return [standardise] * self.X.shape[1]
        return [standardise and feature.part == "numbers" for feature in self.features]


def prepared(parts: Parts, *, standardise: bool) -> Prepared:
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
    if parts.X_test is None:
        X_test = None
    else:
        X_test = pipeline.transform(parts.X_test)
    return Prepared(X, X_test, pipeline.steps, features_of(pipeline, parts.data.schema))


def about_clipped(prepared: Prepared, parts: Parts) -> list[str]:
    """Return a note on cells of the training rows that the preparation clips."""
    from drsvm.tables.notes import what_was_clipped
    from drsvm.tables.preparation import cells_clipped

    if parts.ready is not None:  # noted when they were written to disk
        return []
    return what_was_clipped(cells_clipped(prepared.steps, parts.data.schema, parts.X))


def label_called(labels: np.ndarray, name: str, option: str = "--positive") -> object:
    """Return the label whose text is `name`, or the only one that means the same, such as 0 for 0.0 or no for No."""
    known = np.unique(labels).tolist()
    for text in (str, level_of, lambda label: str(label).casefold()):
        found = [label for label in known if text(label) == text(name)]
        if len(found) == 1:
            return found[0]
    raise ValueError(
        f"{option} {name}: unknown label; the labels are {', '.join(map(str, known[:10]))}."
    )


def with_positive(whole: Parts, wanted: str | None) -> Parts:
    """Return the rows with the positive one of two classes."""
    classes = np.unique(whole.y).tolist()
    if len(classes) == 2:
        return replace(whole, positive=positive_class(whole.y, wanted))
    if wanted is not None:
        raise ValueError(
            f"--positive is for two classes, and there are {len(classes)}: omit it."
        )
    return whole


def positive_class(labels: np.ndarray, wanted: str | None) -> object:
    """Return the positive one of two classes: the one that is wanted, the yes of yes and no, otherwise the later."""
    if wanted is not None:
        return label_called(labels, wanted)
    classes = np.unique(labels).tolist()
    named = {str(label).lower(): label for label in classes}
    return next(
        (named[yes] for no, yes in TRUTH_WORDS if set(named) == {no, yes}), classes[-1]
    )


def feature_prices(parts: Parts, prepared: Prepared) -> Settings:
    """Return ``feature_cost`` and ``monotonic_cst``, one entry per feature.

    A text column has several features.
    """
    mentioned = parts.data.mentioned
    if not mentioned or prepared.features is None:
        return {}
    columns = np.array([feature.column for feature in prepared.features], dtype=object)
    # Being empty has no order
    values = np.array([feature.part != "gaps" for feature in prepared.features])
    costs = np.ones(len(columns))
    signs = np.zeros(len(columns), dtype=np.int8)
    for role, name in mentioned:
        if role == "trust_column":
            costs[columns == name] = np.inf
            continue
        sign = parts.side if role == "increasing" else -parts.side
        if (signs[(columns == name) & values] == -sign).any():
            raise ValueError(
                f"{name}: a column cannot be both --increasing and --decreasing."
            )
        signs[(columns == name) & values] = sign
    given = {
        "feature_cost": costs if np.isinf(costs).any() else None,
        "monotonic_cst": signs if signs.any() else None,
    }
    return {name: value for name, value in given.items() if value is not None}


def by_label(settings: Settings, labels: np.ndarray, screen: Screen) -> Settings:
    """Return settings with flip costs and costs of missing a class by their labels, in place of the texts of these."""
    settings = dict(settings)
    classes = np.unique(labels)
    for name, option in (("flip_cost", "--flip-cost"), ("threshold", "--costs")):
        if isinstance(costs := settings.get(name), dict):
            settings[name] = {
                label_called(labels, text, option): cost for text, cost in costs.items()
            }
    if isinstance(settings.get("threshold"), dict):
        from drsvm.defaults.threshold import goal_of

        # An error should not wait for a fit
        goal_of(settings["threshold"], classes, settings["fit_intercept"])
    elif "threshold" in settings and len(classes) > 2:
        what = f"--threshold is for two classes, and there are {len(classes)}: it changes nothing."
        screen.note(f"{what} See --class-weight.")
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
    return next(
        (
            1024.0 * int(line.split()[1])
            for line in lines
            if line.startswith("MemAvailable")
        ),
        float("inf"),
    )


def is_to_stream(file: Path, spool: Path | None) -> bool:
    """Return True for a file to be read in blocks: on request, or because it would not fit into memory."""
    if file == STANDARD or not file.exists():
        return False
    files = files_of(file)
    if format_of_name(files[0]) == "parquet":
        table = ArrowTable(file)
        return (
            spool is not None
            or BYTES_OF_CELL * table.n_rows * len(table.names) > available_memory()
        )
    if spool is not None:
        raise DataFileError(
            "--spool is for Parquet and Arrow files: convert it to Parquet first.", file
        )
    needed = COPIES_OF_TEXT * sum(each.stat().st_size for each in files)
    available = available_memory()
    if needed > available:
        what = f"needs at least {needed / 1e9:.1f} GB of memory, but only {available / 1e9:.1f} GB are available"
        remedy = (
            "convert it to Parquet, which is read in blocks, for instance with DuckDB"
        )
        command = f"COPY (FROM '{file.name}') TO '{file.stem}.parquet'."
        raise DataFileError(f"{what}: {remedy}: {command}", file)
    return False


@contextmanager
def rows_and_some_held_out(
    file: Path,
    options: ReadOptions,
    split: SplitOptions,
    spool: Path | None,
    standardise: bool,
    in_memory,
    screen,
) -> Iterator[tuple[Parts, Parts | None]]:
    """Yield all rows, and the same with some held out, or None.

    Prepared and on disk if they do not fit into memory.

    `in_memory` is an option that forbids that, if one was given.
    """
    if not is_to_stream(file, spool):
        whole = load_parts(file, options, screen, split.test)
        yield whole, held_out(whole, split, screen)
        return
    if in_memory is not None:
        raise ValueError(
            f"{file}: {in_memory} needs all rows in memory: omit it, or use it on a sample of the rows."
        )
    from drsvm.tables.preparation import features_of
    from drsvm.tables.streamed_tables import stream_table

    if split.test_size is None:
        size = TEST_SHARE
    else:
        size = split.test_size
    if split.test is not None:
        share = 0.0
    elif size >= 1:
        share = size / ArrowTable(file).n_rows
    else:
        share = size
    where = f"in {spool}" if spool else "in a temporary folder"
    screen.note(
        f"{file.name} is read in blocks, and its features are kept {where} while the classifier is trained."
    )
    with screen.progress(file.name):
        table = stream_table(
            file,
            options,
            standardise=standardise,
            test_share=share,
            seed=split.seed,
            folder=spool,
        )
    screen.note(*table.data.notes)
    try:
        data = table.data
        y = check_labels(table.data)
        ready = Prepared(
            table.rows.X, None, table.steps.steps, features_of(table.steps, data.schema)
        )
        whole = Parts(
            table.rows.X, y, data.rows, data, verified=data.verified, ready=ready
        )
        if split.test is not None:
            test = read_from(
                split.test, lambda path: read_like(path, data.schema, options)
            )
            ready = replace(ready, X_test=table.steps.transform(test.X))
            whole = replace(
                whole, X_test=ready.X_test, y_test=known_labels(test, y), ready=ready
            )
        yield whole, _last_held_out(table, whole, screen)
    except KeyboardInterrupt:  # nothing remains of an interrupted command
        rmtree(table.rows.folder, ignore_errors=True)
        raise
    finally:
        table.rows.close()


def _last_held_out(
    table: "StreamedTable", whole: Parts, screen: Screen
) -> Parts | None:
    """Return the rows with the last ones as a test, if there are any.

    Their preparation is that of all rows.
    """
    if table.n_test == 0:
        return None
    n = len(whole.y)
    y = whole.y
    first = n - table.n_test
    counts = np.unique(y[first:], return_counts=True)[1]
    if len(counts) < len(np.unique(y)) or counts.min() < 2:
        screen.note(
            "no rows are held out for a test, because too few rows of a class were drawn: see --test-size."
        )
        return None
    train = table.part(0, first)
    test = table.part(first, n)
    if whole.verified is None:
        verified = None
    else:
        verified = whole.verified[:first]
    ready = whole.ready and replace(whole.ready, X=train, X_test=test)
    return replace(
        whole,
        X=train,
        y=y[:first],
        X_test=test,
        y_test=y[first:],
        verified=verified,
        ready=ready,
    )
