"""From a table to features: scikit-learn's own transformers, behind a `TableReader`.

Numbers are clipped and standardised. Categories and truth values stay 0/1 columns:
dividing them by their standard deviation would make rare categories the largest
features, which costs 0.3 and 0.8 points of accuracy on adult and titanic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from drsvm.estimators.clipped_scaler import ClippedCells, ClippedScaler, clipped_cells
from drsvm.estimators.column_errors import check_distinct
from drsvm.tables.arrow_tables import Column, Table, columns_of
from drsvm.tables.columns import absent_columns
from drsvm.tables.dataset import Schema
from drsvm.tables.values import (
    EMPTY,
    MISSING,
    NotANumber,
    Style,
    coded,
    levels_of,
    numbers_of,
    shown,
)
from drsvm.utils.annotations import Matrix
from drsvm.utils.messages import number

# A column has at most this many levels of its own: the most frequent ones
MAX_LEVELS = 1000
RARE_NAME = "(rare)"

# Of a pipeline: transformers have no common class
Steps: TypeAlias = list[tuple[str, Any]]


@dataclass(eq=False, repr=False)
class TableReader(TransformerMixin, BaseEstimator):
    """Reads the columns of a raw table: numbers as floats, categories as text.

    A data frame may contain what the file contained: text such as "1,234", "yes" or
    "2024-05-31", words for missing values, further columns, in any order.

    Parameters
    ----------
    columns : list of str
        Names of the columns, in the order of the result.
    styles : dict
        What the cells of a column look like: "number" (the default), "decimal comma",
        "thousands separators", "true or false", "date", "date %d.%m.%Y", "time of day"
        or "category".
    missing_values : list of str
        Texts that count as empty, besides the usual ones (``?``, ``NA``, ``null``,
        ...).
    """

    columns: Sequence[str] = ()
    styles: dict | None = None
    missing_values: Sequence[str] = ()

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X, y=None):
        """Do nothing: the columns are known."""
        return self

    def transform(self, X) -> np.ndarray:
        """Return the columns of a table as an array: of floats, or of floats and texts if there are categories.

        The table is a data frame (pandas, polars, pyarrow), or an array with the
        columns in the order of `columns`. Empty cells are NaN, or the category
        "(empty)".
        """
        styles = self.styles or {}
        if Style.CATEGORY in styles.values():
            kind = object
        else:
            kind = np.float64
        read = np.empty((X.shape[0], len(self.columns)), dtype=kind)
        missing = MISSING | frozenset(self.missing_values)
        for place, (name, column) in enumerate(
            zip(self.columns, self._columns_of(X), strict=True)
        ):
            style = styles.get(name, Style.PLAIN)
            if style == Style.CATEGORY:
                levels = levels_of(column, missing)
                read[:, place] = levels.mapped(levels.values, EMPTY, object)
                continue
            try:
                read[:, place] = numbers_of(column, style, missing)
            except NotANumber as wrong:
                raise ValueError(
                    f"column {name!r} contains {shown(wrong.text)} (row {wrong.row + 1}), but the model needs "
                    f"{wrong.needed}: correct it, or empty the cell."
                ) from None
        return read

    def _columns_of(self, X) -> list[Column]:
        """Return the columns of a table, by name or, without names, in their order."""
        # Pyarrow, or pandas and polars
        names = getattr(X, "column_names", getattr(X, "columns", None))
        if names is None:
            if hasattr(X, "shape"):
                array = X
            else:
                array = np.asarray(X, dtype=object)
            if len(array.shape) != 2 or array.shape[1] != len(self.columns):
                raise ValueError(
                    f"X has shape {tuple(array.shape)}, but the model was trained on the {len(self.columns)} columns "
                    f"{list(self.columns[:5])} …: pass a data frame, or an array with these columns."
                )
            return [array[:, place] for place in range(len(self.columns))]
        check_distinct(names)
        known = {str(name).strip(): name for name in names}
        absent = absent_columns(list(known), list(self.columns))
        if absent:
            raise ValueError(f"X does not fit the model: {absent}")
        # Pyarrow looks a name up in a list
        given = columns_of(X) if hasattr(X, "column_names") else X
        return [given[known[name]] for name in self.columns]

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the names of the columns."""
        return np.array(self.columns, dtype=object)


def preparation(schema: Schema, standardise: bool = True) -> Steps:
    """Return unfitted steps of a pipeline from the table of a schema to features."""
    if schema.kind == "sparse":  # not centred, to stay sparse
        return [("scaler", ClippedScaler())] if standardise else []
    places = {name: place for place, name in enumerate(schema.columns)}
    categories = schema.of_style(Style.CATEGORY)
    flags = schema.of_style(Style.TRUTH)
    numbers = [name for name in schema.columns if name not in {*categories, *flags}]
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    encoder = OneHotEncoder(
        # A new level is rare; all zeros would be a row of no known kind
        handle_unknown="infrequent_if_exist",
        min_frequency=schema.rare,
        max_categories=MAX_LEVELS,
        sparse_output=schema.many_levels,
    )
    parts = {
        "numbers": (
            make_pipeline(fill, ClippedScaler()) if standardise else fill,
            numbers,
        ),
        "flags": (fill, flags),
        "gaps": (MissingIndicator(features="all"), schema.gaps),
        "categories": (encoder, categories),
    }
    columns = ColumnTransformer(
        [
            (name, step, [places[column] for column in used])
            for name, (step, used) in parts.items()
            if used
        ],
        sparse_threshold=1.0 if schema.many_levels else 0.0,
    )
    reader = TableReader(
        list(schema.columns), dict(schema.styles), list(schema.missing_values)
    )
    return [("reader", reader), ("preparation", columns)]


class Feature(NamedTuple):
    """A feature after the preparation: its name, and the column it comes from."""

    name: str
    column: str
    part: str


def features_of(steps: Pipeline, schema: Schema) -> list[Feature] | None:
    """Return the features of a fitted preparation.

    None for svmlight files, which have no names.
    """
    if schema.kind == "sparse":
        return None
    features = []
    for part, step, places in steps[-1].transformers_:
        columns = [schema.columns[place] for place in places]
        rare_levels = getattr(step, "infrequent_categories_", [None] * len(columns))
        for place, column in enumerate(columns):
            names = [f"{column}={EMPTY}"] if part == "gaps" else [column]
            if part == "categories":
                if rare_levels[place] is None:
                    rare = set()
                else:
                    rare = set(rare_levels[place])
                names = [
                    f"{column}={level}"
                    for level in step.categories_[place]
                    if level not in rare
                ]
                names += [f"{column}={RARE_NAME}"] if rare else []
            features += [Feature(name, column, part) for name in names]
    return features


def unseen_levels(model: Pipeline, schema: Schema, X: Table | Matrix) -> dict[str, int]:
    """Return the number of cells with a level that the rows in training lack, for each column that has any."""
    if schema.kind == "sparse":
        return {}
    counts = {}
    columns = columns_of(X)
    for _, step, places in model[1].transformers_:
        for place, known in zip(places, getattr(step, "categories_", ()), strict=False):
            cells = coded(columns[schema.columns[place]])
            new = [
                code
                for code, level in enumerate(cells.values)
                if level not in set(known)
            ]
            counts[schema.columns[place]] = int(np.isin(cells.codes, new).sum())
    return {name: count for name, count in counts.items() if count}


def cells_clipped(steps: Steps, schema: Schema, X: Table | Matrix) -> ClippedCells:
    """Return which cells of a table a fitted preparation clips."""
    if schema.kind == "sparse":
        scaler = steps[0][1] if steps else None
        cells = X
        names = [str(schema.index_base + place) for place in range(schema.n_features)]
    else:
        fitted = {
            name: (step, places) for name, step, places in steps[1][1].transformers_
        }
        numbers, places = fitted.get("numbers", (None, []))
        if isinstance(numbers, Pipeline):
            scaler = numbers[-1]
        else:
            scaler = None
        names = [schema.columns[k] for k in places]
        if scaler is None:
            cells = X
        else:
            cells = steps[0][1].transform(X)[:, places].astype(np.float64)
    if not isinstance(scaler, ClippedScaler):
        return ClippedCells({}, (0, 0))
    return clipped_cells(
        scaler,
        names,
        cells,
        lambda place, value: as_in_file(schema, names[place], value),
    )


def as_in_file(schema: Schema, column: str, value: float) -> str:
    """Return a number of a table after its `TableReader` as text."""
    if schema.style(column).startswith("date"):
        return str(np.datetime64(round(value), "D"))
    if schema.style(column) == Style.TRUTH:
        return ("no", "yes")[round(value)]
    return number(value)
