"""What a reader is told and what it returns."""

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

MAX_FEATURES = 5_000_000
MAX_CATEGORIES = 100


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read; None means: find out.

    Attributes
    ----------
    format : {"svmlight", "csv", "parquet"}, optional
        Format of the file; by default from its content.
    label : str, optional
        Name or index (0 is the first, -1 the last) of the label column.
    features, drop : tuple of str
        Names or indices of the columns to use (none given: all others), and of those to leave out.
    delimiter : str, optional
        What separates the columns of a CSV file.
    header : bool, optional
        Whether the first line of a CSV file holds the names of the columns.
    one_hot : bool
        Whether text columns become indicator columns, one per category.
    missing : {"error", "drop", "median"}
        What to do with empty cells: refuse the file, leave out their rows, or keep them as NaN for an imputer.
    index_base : {0, 1}, optional
        Number of the first feature of an svmlight file.
    max_features : int
        Features of an svmlight file beyond which an index counts as mistyped.
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
    """What a model must know of its training file to read another one in the same way.

    Attributes
    ----------
    kind : {"sparse", "table"}
        An svmlight file, or one with named columns.
    n_features : int
        Number of features after encoding.
    label : str, optional
        Name of the label column.
    columns : list of str
        Names of the feature columns as they are in the file.
    categories : dict
        The categories of the text columns among them, in the order of their indicator columns.
    index_base : int
        Number of the first feature of an svmlight file.
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
        """Return the schema that `to_dict` has described."""
        known = {entry.name for entry in fields(cls)}
        return cls(**{name: value for name, value in plain.items() if name in known})

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features after encoding; None for svmlight files, which have none."""
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
        Labels, integers where they are whole numbers, else texts; None where the file has none.
    schema : Schema
        How X and y came from the file.
    notes : list of str
        What was taken for granted, in sentences for the user.
    path : Path
        The file.
    rows : array of ints
        Which rows of the file these are (rows may have been left out).
    """

    X: Any
    y: np.ndarray | None
    schema: Schema
    notes: list[str]
    path: Path
    rows: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.X.shape

    def __repr__(self) -> str:
        n, d = self.shape
        return f"Dataset({self.path.name}: {n} rows, {d} features)"
