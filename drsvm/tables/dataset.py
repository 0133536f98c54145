"""Options and results of the readers."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from drsvm.tables.arrow_columns import Table
from drsvm.tables.cell_styles import (
    MISSING,
    NUMBER_STYLES,
    STYLES_BY_SIGN,
    Style,
)
from drsvm.utils.annotations import Matrix


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; None means that it is detected.

    Columns are given by name or index (-1 is the last).
    """

    format: str | None = None  # svmlight, csv, parquet, json or excel
    label: str | None = None
    features: tuple[str, ...] = ()  # if empty, all other columns
    drop: tuple[str, ...] = ()
    id: tuple[str, ...] = ()  # columns that identify a row, and are not features
    categorical: tuple[str, ...] = ()
    # In these columns, cells that are not numbers count as empty.
    numeric: tuple[str, ...] = ()
    # For a saved model: columns to return as they are, besides the ids.
    keep: tuple[str, ...] = ()
    # For a saved model: whether to keep rows without a label.
    unlabelled: bool = False
    # Whether to return the ids, or all columns, of a training file as they are.
    name_rows: bool = False
    whole: bool = False
    # A column of batches, not a feature: the first of `Dataset.kept`.
    by: str | None = None
    # A column of the order of the rows, for the same.
    test_by: str | None = None
    # A yes/no column, not a feature: whether the label of the row was verified.
    verified: str | None = None
    # Parameters and columns that must be features: ("increasing", "age").
    mentioned: tuple[tuple[str, str], ...] = ()
    delimiter: str | None = None
    # Whether the first line of a CSV file contains the column names.
    header: bool | None = None
    decimal: str | None = None  # . or , (the other one separates thousands)
    # Rows with empty cells: fill, drop or error; by default fill, or for a saved model
    # as in its training.
    missing: str | None = None
    # Texts that count as empty, besides the usual ones.
    missing_values: tuple[str, ...] = ()
    index_base: int | None = None  # index of the first feature of an svmlight file
    # A larger index of an svmlight file counts as mistyped.
    max_features: int = 5_000_000

    @property
    def empty(self) -> frozenset[str]:
        """All texts that count as empty."""
        return MISSING | frozenset(self.missing_values)


@dataclass(frozen=True)
class Schema:
    """The structure of a training file, needed to read another file in the same way."""

    # "sparse" (an svmlight file), "table", or "array" for a model without names
    kind: str
    n_features: int  # of an svmlight file, or the number of columns that are used
    label: str | None = None
    columns: list[str] = field(default_factory=list)  # those that are used
    # The `Style` of their cells, if not PLAIN.
    styles: dict[str, str] = field(default_factory=dict)
    # Columns with a feature of their own for being empty.
    gaps: list[str] = field(default_factory=list)
    many_levels: bool = False  # whether the features are better stored sparsely
    rare: int = 1  # levels with fewer rows than this share one column
    # Columns that are not used, each with the reason.
    left_out: dict[str, str] = field(default_factory=dict)
    # Columns among them that identify a row.
    id: list[str] = field(default_factory=list)
    missing: str = "fill"
    missing_values: list[str] = field(default_factory=list)
    index_base: int = 1
    # How the file writes False and True, if these are the labels.
    truth_labels: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The columns, or the indices of the features of an svmlight file."""
        first = self.index_base
        return self.columns or list(map(str, range(first, first + self.n_features)))

    def style(self, column: str) -> str:
        """Return how the cells of a column are written: a `Style`."""
        return self.styles.get(column, Style.PLAIN)

    def with_decimal(self, sign: str | None) -> "Schema":
        """Return the schema of a file whose numbers have another decimal sign."""
        if sign is None:
            return self
        styles = dict(self.styles)
        for name in self.columns:
            style = self.style(name)
            kind = style.removesuffix(Style.OR_EMPTY)
            if kind in NUMBER_STYLES:
                styles[name] = style.replace(kind, STYLES_BY_SIGN[sign])
        return replace(self, styles=styles)

    def as_it_is(self, columns: list[str]) -> "Schema":
        """Return the schema with columns whose cells are not converted."""
        styles = dict.fromkeys(columns, Style.AS_IT_IS)
        return replace(self, columns=columns, styles=styles)

    def of_style(self, *styles: str) -> list[str]:
        """Return the columns whose cells have one of some styles.

        "date" stands for all forms of dates.
        """
        found = []
        for name in self.columns:
            kind = self.style(name).partition(" %")[0]
            if kind in styles:
                found.append(name)
        return found


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """The content of a file."""

    # Floats and texts, with nulls for empty cells; or a CSR array of an svmlight file.
    X: Table | Matrix
    y: np.ndarray | None  # whole numbers, truth values or texts
    schema: Schema
    notes: list[str]  # what was assumed and done, as sentences for the user
    path: Path
    rows: np.ndarray  # positions in the file, as rows may have been dropped
    # Which labels were verified, if a column contains that.
    verified: np.ndarray | None = None
    # `ReadOptions.mentioned`, with the columns by name.
    mentioned: list[tuple[str, str]] = field(default_factory=list)
    # Ids and other columns as text, where wanted.
    kept: dict[str, list[str]] = field(default_factory=dict)
    # A mask of the rows that have a label, if others are kept; y is shorter then.
    labelled: np.ndarray | None = None
    # Columns that determine the label by themselves.
    leaky_columns: list[str] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and of columns before the preparation."""
        return self.X.shape
