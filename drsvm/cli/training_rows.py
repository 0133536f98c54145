"""The rows of a command: reading, splitting and preparation."""

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drsvm.cli.class_labels import (
    about_many_classes,
    check_labels,
    known_labels,
    positive_class,
)
from drsvm.cli.command_files import check_inputs, name_of, read_from
from drsvm.cli.screen import Screen
from drsvm.cli.settings import Settings
from drsvm.persistence.model_files import OpenModel, SavedModel
from drsvm.tables import DataFileError, Dataset, ReadOptions, Schema
from drsvm.tables.arrow_columns import Table, take_rows
from drsvm.tables.copies import about_copies, copies_of, held_out_rows
from drsvm.tables.values import in_order
from drsvm.utils.annotations import Matrix

if TYPE_CHECKING:
    # At run time, these would import scikit-learn.
    from sklearn.pipeline import Pipeline

    from drsvm.tables.preparation import Feature, Steps

# The share of the rows that are held out for a test by default
TEST_SHARE = 0.25
# With fewer rows of a class than this, nothing is held out by default: a quarter of
# them is too few.
MIN_CLASS_ROWS = 8


@dataclass(frozen=True)
class Split:
    """What to hold out for a test: a number or share of rows, unless there is a file.

    Without a size, it is a quarter of the rows. They are drawn at random, or else are
    the last ones of the file, or in the order of a column.
    """

    size: float | None
    test: Path | None
    seed: int
    last: float | None = None
    by: str | None = None

    def __post_init__(self):
        wanted = {
            "--test": self.test,
            "--test-size": self.size,
            self.in_time: self.in_time,
        }
        both = [option for option, value in wanted.items() if value is not None]
        if len(both) > 1:
            raise ValueError(f"use {both[0]} or {both[1]}, not both.")

    @property
    def in_time(self) -> str | None:
        """The option that holds out the last rows, if one was given."""
        if self.last is not None:
            return "--test-last"
        if self.by is not None:
            return "--test-by"
        return None


@dataclass(frozen=True, eq=False)
class Prepared:
    """Training and test rows as features, and the fitted preparation.

    Attributes
    ----------
    X, X_test : the features of the rows; without test rows, the latter is None
    steps : the fitted steps of a pipeline that made them
    features : name, column and kind of each feature; None if they have no names
    """

    X: Matrix
    X_test: Matrix
    steps: "Steps"
    features: "list[Feature] | None"

    @property
    def names(self) -> list[str] | None:
        """The names of the features."""
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
class TrainTestRows:
    """Training rows and test rows, if any.

    Attributes
    ----------
    data : what was read, with the rows that are held out
    X, y : the training rows: a table, or the matrix of an svmlight file, and labels
    training : which rows of the data these are
    X_test, y_test : the test rows
    positive : one of two classes
    moments : the place of each row of the data in time, if the last ones are held out
    preparation : what made the features, if they are on disk already
    """

    data: Dataset
    X: Table | Matrix
    y: np.ndarray
    # All of them by default. A slice cannot be a default itself: it has no hash.
    training: np.ndarray | slice = field(default_factory=partial(slice, None))
    X_test: Table | Matrix = None
    y_test: np.ndarray | None = None
    positive: object = None
    moments: np.ndarray | None = None
    preparation: "Pipeline | None" = None

    @property
    def has_test_file(self) -> bool:
        """Whether the test rows are not among those of the data."""
        return self.y_test is not None and len(self.y) == len(self.data.rows)

    @property
    def on_disk(self) -> bool:
        """Whether X has features, and no table that fits into memory is left."""
        return self.preparation is not None

    @property
    def row_numbers(self) -> np.ndarray:
        """The numbers of the training rows in the file, from 1."""
        return self.data.rows[self.training] + 1

    @property
    def verified(self) -> np.ndarray | None:
        """Which labels were verified."""
        verified = self.data.verified
        return None if verified is None else verified[self.training]

    @property
    def ids(self) -> dict[str, np.ndarray]:
        """Columns that name the training rows, where wanted."""
        ids = {}
        for name, texts in self.data.kept.items():
            ids[name] = np.array(texts, dtype=object)[self.training]
        return ids

    @property
    def side(self) -> int:
        """1 if decisions for the positive class are positive, -1 if it comes first."""
        if self.positive is not None and self.positive == np.unique(self.y).tolist()[0]:
            return -1
        return 1

    def with_positive(self, wanted: str | None) -> "TrainTestRows":
        """Return the rows with the positive one of two classes."""
        n_classes = len(np.unique(self.y))
        if n_classes == 2:
            return replace(self, positive=positive_class(self.y, wanted))
        if wanted is not None:
            raise ValueError(
                f"--positive is for two classes, and there are {n_classes}: omit it."
            )
        return self


def load_rows(
    file: Path, options: ReadOptions, screen: Screen, test: Path | None = None
) -> TrainTestRows:
    """Read a file, and the test file if there is one."""
    check_inputs(None, [file, test])
    tested = None
    with screen.progress(f"reading {name_of(file)}"):
        data = read_from(file, options)
        if test is not None:
            tested = read_from(test, options, data.schema)
    screen.note(*data.notes)
    y = check_labels(data)
    screen.note(*about_many_classes(data, y, options.label is not None))
    if tested is None:
        return TrainTestRows(data, data.X, y)
    screen.note(*tested.notes)
    return TrainTestRows(
        data, data.X, y, X_test=tested.X, y_test=known_labels(tested, y)
    )


def held_out(
    whole: TrainTestRows, split: Split, screen: Screen
) -> TrainTestRows | None:
    """Return the rows with some held out, a quarter by default of all but small tables.

    None without a split.
    """
    if whole.y_test is not None or split.size == 0:
        return None
    if split.in_time:
        return _last_held_out(whole, split, screen)
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
    # A share of the rows, or from 1 on their number
    share_or_number: float = size
    if size >= 1:
        share_or_number = int(size)
    # Copies of a row are either all held out or all trained on.
    copies = copies_of(whole.X)
    try:
        train, test = held_out_rows(whole.y, share_or_number, split.seed, copies)
    except ValueError as error:
        raise ValueError(f"--test-size {size:g}: {error}") from None
    screen.note(*about_copies(whole.y, copies))
    return _split(whole, train, test)


def _last_held_out(whole: TrainTestRows, split: Split, screen: Screen) -> TrainTestRows:
    """Return the rows with the last ones held out; equal moments stay together."""
    data = whole.data
    n = len(whole.y)
    moments = np.arange(n)
    where = "the file"
    texts = moments
    if split.by is not None:
        # The column of the order is the first of those that were kept.
        kept = dict(data.kept)
        where = next(iter(kept))
        texts = kept.pop(where)
        data = replace(data, kept=kept)
        moments = _moments(texts, where, data.rows)
    size = TEST_SHARE if split.last is None else split.last
    n_test = round(size * n) if size < 1 else int(size)
    if not 0 < n_test < n:
        raise ValueError(
            f"--test-last {size:g}: hold out a share below 1, or a number of rows "
            f"below {n:,}."
        )
    first = np.sort(moments)[-n_test]
    is_test = moments >= first
    if is_test.all():
        # The first moment has most rows: only later ones are held out.
        is_test = moments > first
    if not is_test.any():
        raise ValueError(f"--test-by {where}: has one value only; name another column.")
    n_test = int(is_test.sum())
    shares = {}
    for label in np.unique(whole.y).tolist():
        is_label = whole.y == label
        n_before = int(is_label[~is_test].sum())
        if n_before < 2:
            raise ValueError(
                f"{split.in_time}: before the last {n_test:,} rows, {label!r} is the "
                f"label of {n_before}, and a classifier needs two: hold out fewer, or "
                "draw rows at random with --test-size."
            )
        shares[label] = (is_label[~is_test].mean(), is_label[is_test].mean())
    # The class whose share has changed most
    label = max(shares, key=lambda label: abs(np.diff(shares[label])[0]))
    before, after = shares[label]
    since = ""
    if split.by is not None:
        since = f", from {texts[np.argmin(np.where(is_test, moments, n))]} on"
    screen.note(
        f"the last {n_test:,} of {n:,} rows are held out, in the order of "
        f"{where}{since}: {after:.1%} of them are {label}, of those before "
        f"{before:.1%}."
    )
    parts = _split(whole, np.flatnonzero(~is_test), np.flatnonzero(is_test))
    return replace(parts, data=data, moments=moments)


def _moments(texts: list[str], by: str, rows: np.ndarray) -> np.ndarray:
    """Return the places of rows in the order of their cells in a column."""
    if not all(texts):
        row = rows[list(map(bool, texts)).index(False)]
        raise ValueError(
            f"--test-by {by}: row {row + 1:,} has no value: fill it, or leave such "
            "rows out."
        )
    names = in_order(list(dict.fromkeys(texts)))
    if names is None:
        raise ValueError(
            f"--test-by {by}: its values have no order, such as {texts[0]!r}: name a "
            "column of numbers, dates, or months such as 2024-05."
        )
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[text] for text in texts])


def _split(whole: TrainTestRows, train: np.ndarray, test: np.ndarray) -> TrainTestRows:
    """Return the rows with some of them as test rows."""
    return replace(
        whole,
        X=rows_of(whole.X, train),
        y=whole.y[train],
        training=train,
        X_test=rows_of(whole.X, test),
        y_test=whole.y[test],
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


def names_of_features(schema: Schema) -> list[str]:
    """Return names for the features of an svmlight file, which has none."""
    return [f"feature {index}" for index in schema.names]


def rows_of(X: Table | Matrix, rows: np.ndarray) -> Table | Matrix:
    """Return some rows of a table or a matrix."""
    return take_rows(X, rows) if hasattr(X, "take") else X[rows]


def load_for_model(
    model: Path, file: Path, options: ReadOptions, screen: Screen
) -> tuple[SavedModel, Dataset]:
    """Load a model and read a file the way its training file was read."""
    check_inputs(model, [file])
    with screen.progress(f"reading {model.name} and {name_of(file)}"):
        # The file is read before the classifier is loaded, which imports scikit-learn:
        # errors in it come quickly.
        opened = OpenModel(model)
        schema = opened.metadata().get("schema")
        if not isinstance(schema, dict):
            raise ValueError(
                f"{model}: does not describe its data files; use a model saved by "
                "drsvm fit."
            )
        dataset = read_from(file, options, Schema(**schema))
        saved = opened.load()
    screen.note(*dataset.notes)
    return saved, dataset


def prepare(parts: TrainTestRows, *, standardise: bool) -> Prepared:
    """Return the rows after the preparation, which is fitted to the training rows."""
    from drsvm.tables.preparation import features_of, fitted_preparation

    schema = parts.data.schema
    X = parts.X
    X_test = parts.X_test
    pipeline = parts.preparation
    if pipeline is None:
        pipeline, X = fitted_preparation(schema, standardise, X)
        if pipeline is None:
            return Prepared(X, X_test, [], None)
        if X_test is not None:
            X_test = pipeline.transform(X_test)
    return Prepared(X, X_test, pipeline.steps, features_of(pipeline, schema))


def about_clipped(prepared: Prepared, parts: TrainTestRows) -> list[str]:
    """Return a note on cells of the training rows that the preparation clips."""
    from drsvm.tables.notes import what_was_clipped
    from drsvm.tables.preparation import cells_clipped

    if parts.on_disk:
        # It was noted when the features were written to disk.
        return []
    return what_was_clipped(cells_clipped(prepared.steps, parts.data.schema, parts.X))


def costs_and_signs(parts: TrainTestRows, prepared: Prepared) -> Settings:
    """Return ``feature_cost`` and ``monotonic_cst``, one entry per feature.

    They say what the options --trust-column, --increasing and --decreasing say about
    columns, of which those of text have several features.
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
        # Positive weights favour the second class, which need not be the positive one.
        sign = parts.side if role == "increasing" else -parts.side
        features = (columns == name) & is_value
        if (signs[features] == -sign).any():
            raise ValueError(
                f"{name}: a column cannot be both --increasing and --decreasing."
            )
        signs[features] = sign
    # A parameter that says nothing is not given: the fit need not look at it.
    settings: Settings = {}
    if np.isinf(costs).any():
        settings["feature_cost"] = costs
    if signs.any():
        settings["monotonic_cst"] = signs
    return settings
