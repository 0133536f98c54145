"""Options and results of the readers."""

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

MAX_FEATURES = 5_000_000
MAX_CATEGORIES = 100


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
    delimiter : str, optional
        Delimiter of the columns of a CSV file.
    header : bool, optional
        Whether the first line of a CSV file contains the column names.
    one_hot : bool
        Whether to encode text columns as indicator columns, one per category.
    missing : {"error", "drop", "median"}
        How to treat empty cells: raise an error, drop their rows, or keep them as NaN for an imputer.
    index_base : {0, 1}, optional
        Index of the first feature of an svmlight file.
    max_features : int
        Maximum number of features of an svmlight file; a larger index counts as mistyped.
    """

    format: str | None = None
    label: str | None = None
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    delimiter: str | None = None
    header: bool | None = None
    one_hot: bool = False
    missing: str = "error"
    index_base: int | None = None
    max_features: int = MAX_FEATURES


@dataclass(frozen=True)
class Schema:
    """The structure of a training file, needed to read another file in the same way.

    Attributes
    ----------
    kind : {"sparse", "table"}
        An svmlight file, or one with named columns.
    n_features : int
        Number of features after encoding.
    label : str, optional
        Name of the label column.
    columns : list of str
        Names of the feature columns in the file.
    categories : dict
        The categories of the text columns among them, in the order of their indicator columns.
    index_base : int
        Index of the first feature of an svmlight file.
    """

    kind: str
    n_features: int
    label: str | None = None
    columns: list[str] = field(default_factory=list)
    categories: dict[str, list[str]] = field(default_factory=dict)
    index_base: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Schema":
        """Return the schema from the result of `to_dict`."""
        known = {entry.name for entry in fields(cls)}
        return cls(**{name: value for name, value in plain.items() if name in known})

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features after encoding; None for svmlight files, which have no names."""
        if self.kind == "sparse":
            return None
        return [name for column in self.columns for name in self._names_of(column)]

    def _names_of(self, column: str) -> list[str]:
        if column not in self.categories:
            return [column]
        return [f"{column}={category}" for category in self.categories[column]]


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """The content of a file.

    Attributes
    ----------
    X : array or CSR array of shape (n_rows, n_features)
        Features.
    y : array of shape (n_rows,), optional
        Labels, as integers if all are whole numbers, otherwise as text; None if the file has none.
    schema : Schema
        The structure of the file.
    notes : list of str
        Assumptions made while reading, as sentences for the user.
    path : Path
        The file.
    rows : array of ints
        Positions of these rows in the file (rows may have been dropped).
    """

    X: Any
    y: np.ndarray | None
    schema: Schema
    notes: list[str]
    path: Path
    rows: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features."""
        return self.X.shape

    def __repr__(self) -> str:
        n, d = self.shape
        return f"Dataset({self.path.name}: {n} rows, {d} features)"
