"""Options and results of the readers."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from drsvm.datasets.values import CATEGORY, MISSING, PLAIN

MAX_FEATURES = 5_000_000


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; None means that it is detected.

    Attributes
    ----------
    format : {"svmlight", "csv", "parquet"}, optional
        Format of the file; detected from its content by default.
    label : str, optional
        Name or index (0 is the first, -1 the last) of the label column.
    features, drop : tuple of str
        Names or indices of the columns to use (if empty, all others), and of those to drop.
    id : tuple of str
        Columns that identify a row: no features.
    categorical, numeric : tuple of str
        Columns that contain categories, or numbers: cells of the latter that are no numbers count as empty.
    keep : tuple of str
        For a saved model: columns to return as they are, besides the ids.
    unlabelled : bool
        For a saved model: whether rows without a label are kept.
    name_rows : bool
        Whether to return the ids of a training file too.
    verified : str, optional
        A column that says whether the label of a row was verified: no feature.
    mentioned : tuple of pairs
        Further parameters and columns they name, which must be features: ``("increasing", "age")``.
    delimiter : str, optional
        Delimiter of the columns of a CSV file.
    header : bool, optional
        Whether the first line of a CSV file contains the column names.
    decimal : {".", ","}, optional
        The decimal sign of a CSV file; the other one separates thousands.
    missing : {"fill", "drop", "error"}, optional
        Whether to fill empty cells, drop their rows, or reject them; by default they are filled, or for a saved model
        treated as in its training.
    missing_values : tuple of str
        Texts that count as empty, besides the usual ones.
    index_base : {0, 1}, optional
        Index of the first feature of an svmlight file.
    max_features : int
        Maximum number of features of an svmlight file; a larger index counts as mistyped.
    """

    format: str | None = None
    label: str | None = None
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    id: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    unlabelled: bool = False
    name_rows: bool = False
    verified: str | None = None
    mentioned: tuple[tuple[str, str], ...] = ()
    delimiter: str | None = None
    header: bool | None = None
    decimal: str | None = None
    missing: str | None = None
    missing_values: tuple[str, ...] = ()
    index_base: int | None = None
    max_features: int = MAX_FEATURES

    @property
    def empty(self) -> frozenset[str]:
        """All texts that count as empty."""
        return MISSING | frozenset(self.missing_values)


@dataclass(frozen=True)
class Schema:
    """The structure of a training file, needed to read another file in the same way.

    Attributes
    ----------
    kind : {"sparse", "table"}
        An svmlight file, or one with named columns.
    n_features : int
        Number of features of an svmlight file, or of columns that are used.
    label : str, optional
        Name of the label column.
    columns : list of str
        Names of the columns that are used.
    styles : dict
        What their cells look like (see `values`). Without an entry the column has plain numbers.
    gaps : list of str
        Columns with so many empty cells that being empty is a feature of its own.
    many_levels : bool
        Whether the categories are so many that the features are better stored sparsely.
    rare : int
        Levels with fewer rows than this share one column.
    left_out : dict
        Columns that are not used, each with the reason.
    id : list of str
        Columns among them that identify a row.
    missing : str
        How empty cells are treated (see `ReadOptions`).
    missing_values : list of str
        Texts that count as empty, besides the usual ones.
    categories : dict
        Only in files of version 0.1.0: the categories of the text columns, in the order of their indicator columns.
    index_base : int
        Index of the first feature of an svmlight file.
    truth_labels : list of str
        What False and True are called in the file, if the labels are truth values.
    """

    kind: str
    n_features: int
    label: str | None = None
    columns: list[str] = field(default_factory=list)
    styles: dict[str, str] = field(default_factory=dict)
    gaps: list[str] = field(default_factory=list)
    many_levels: bool = False
    rare: int = 1
    left_out: dict[str, str] = field(default_factory=dict)
    id: list[str] = field(default_factory=list)
    missing: str = "fill"
    missing_values: list[str] = field(default_factory=list)
    categories: dict[str, list[str]] = field(default_factory=dict)
    index_base: int = 1
    truth_labels: list[str] = field(default_factory=list)

    def style(self, column: str) -> str:
        """Return what the cells of a column look like."""
        return CATEGORY if column in self.categories else self.styles.get(column, PLAIN)

    def of_style(self, wanted: Callable[[str], bool]) -> list[str]:
        """Return the columns whose style satisfies a condition."""
        return [name for name in self.columns if wanted(self.style(name))]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Schema":
        """Return the schema from the result of `to_dict`."""
        known = {entry.name for entry in fields(cls)}
        return cls(**{name: value for name, value in plain.items() if name in known})


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """The content of a file.

    Attributes
    ----------
    X : pyarrow table or CSR array of shape (n_rows, n_features)
        The columns that are used: numbers as floats, categories as text, empty cells as nulls. Or the features of an
        svmlight file.
    y : array of shape (n_rows,), optional
        Labels, as integers if all are whole numbers, as booleans if they are true and false, otherwise as text; None
        if the file has none.
    schema : Schema
        The structure of the file.
    notes : list of str
        What was assumed and done while reading, as sentences for the user.
    path : Path
        The file.
    rows : array of ints
        Positions of these rows in the file (rows may have been dropped).
    verified : array of bools, optional
        Which labels were verified, if a column says so.
    mentioned : list of pairs
        The options and columns of `ReadOptions.mentioned`, with the columns by their names.
    kept : dict from str to list
        The ids of the rows and the columns of `ReadOptions.keep`, as text, where they are wanted.
    labelled : array of bools, optional
        Which rows have a label, if rows without one are kept; `y` is shorter then.
    tell_tales : list of str
        Columns that determine the label by themselves.
    """

    X: Any
    y: np.ndarray | None
    schema: Schema
    notes: list[str]
    path: Path
    rows: np.ndarray
    verified: np.ndarray | None = None
    mentioned: list[tuple[str, str]] = field(default_factory=list)
    kept: dict[str, list[str]] = field(default_factory=dict)
    labelled: np.ndarray | None = None
    tell_tales: list[str] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.X.shape

    def __repr__(self) -> str:
        n, d = self.shape
        return f"Dataset({self.path.name}: {n} rows, {d} columns)"
