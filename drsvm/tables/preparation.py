"""From a table to features: scikit-learn's own transformers, behind a `TableReader`.

Numbers are clipped and standardised. Categories and truth values stay 0/1 columns:
dividing them by their standard deviation would make rare categories the largest
features, which costs 0.3 and 0.8 points of accuracy on adult and titanic.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from drsvm.estimators.clipped_scaler import ClippedScaler
from drsvm.estimators.column_errors import check_distinct
from drsvm.tables.arrow_columns import Column, Table, columns_of
from drsvm.tables.cell_styles import MISSING, Style
from drsvm.tables.clipped_cells import ClippedCells, clipped_cells
from drsvm.tables.columns import absent_columns
from drsvm.tables.dataset import Schema
from drsvm.tables.values import (
    EMPTY,
    NotANumber,
    coded,
    levels_of,
    numbers_of,
    shown,
)
from drsvm.utils.annotations import Matrix
from drsvm.utils.messages import number

# A column has at most this many levels of its own: the most frequent ones.
MAX_LEVELS = 1000
RARE_NAME = "(rare)"

# Of a pipeline: transformers have no common class
Steps: TypeAlias = list[tuple[str, Any]]


@dataclass(eq=False, repr=False)
class TableReader(TransformerMixin, BaseEstimator):
    """Read the columns of a raw table: numbers as floats, categories as text.

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

    @property
    def text_columns(self) -> list[str]:
        """The columns that are read as text."""
        styles = self.styles or {}
        return [name for name in self.columns if styles.get(name) == Style.CATEGORY]

    def fit(self, X, y=None):
        """Do nothing: the columns are known."""
        return self

    def transform(self, X) -> np.ndarray:
        """Return the columns of a table as an array.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow) or array
            The table. An array has the columns in the order of `columns`.

        Returns
        -------
        array of shape (n_rows, n_columns)
            Floats, or floats and texts if there are categories. Empty cells are NaN, or
            the category "(empty)".
        """
        styles = self.styles or {}
        missing = MISSING | frozenset(self.missing_values)
        dtype = np.float64
        if self.text_columns:
            dtype = object
        cells = np.empty((X.shape[0], len(self.columns)), dtype=dtype)
        for place, (name, column) in enumerate(self._columns_of(X).items()):
            style = styles.get(name, Style.PLAIN)
            if style == Style.CATEGORY:
                levels = levels_of(column, missing)
                cells[:, place] = levels.mapped(levels.values, EMPTY, object)
                continue
            try:
                cells[:, place] = numbers_of(column, style, missing)
            except NotANumber as wrong:
                raise ValueError(
                    f"column {name!r} contains {shown(wrong.text)} (row "
                    f"{wrong.row + 1}), but the model needs {wrong.needed}: correct "
                    "it, or empty the cell."
                ) from None
        return cells

    def _columns_of(self, X) -> dict[str, Column]:
        """Return the columns of a table, by name or, without names, in their order."""
        # A table of pyarrow has `column_names`, one of pandas or polars `columns`.
        names = getattr(X, "column_names", getattr(X, "columns", None))
        if names is None:
            n_columns = len(self.columns)
            if X.ndim != 2 or X.shape[1] != n_columns:
                raise ValueError(
                    f"X has shape {X.shape}, but the model was trained on the "
                    f"{n_columns} columns {list(self.columns[:5])} …: pass a data "
                    "frame, or an array with these columns."
                )
            return dict(zip(self.columns, X.T, strict=True))
        check_distinct(names)
        # Names count without blanks around them, as those of files do.
        known = {str(name).strip(): name for name in names}
        absent = absent_columns(list(known), list(self.columns))
        if absent:
            raise ValueError(f"X does not fit the model: {absent}")
        # Pyarrow would search for every name in a list.
        columns = columns_of(X) if hasattr(X, "column_names") else X
        return {name: columns[known[name]] for name in self.columns}

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the names of the columns."""
        return np.array(self.columns, dtype=object)


def preparation(schema: Schema, standardise: bool = True) -> Steps:
    """Return unfitted steps of a pipeline from the table of a schema to features.

    Parameters
    ----------
    schema : Schema
        The columns of the table, or the features of an svmlight file.
    standardise : bool
        Whether to clip and standardise numbers.

    Returns
    -------
    list of pairs of a name and a transformer
        First the `TableReader`, then a ColumnTransformer with the parts "numbers",
        "flags" (truth values), "gaps" (a feature for being empty) and "categories". Of
        a sparse file only a scaler, if any.
    """
    if schema.kind == "sparse":
        # Its features are not centred, to stay sparse.
        return [("scaler", ClippedScaler())] if standardise else []
    categories = schema.of_style(Style.CATEGORY)
    flags = schema.of_style(Style.TRUTH)
    others = {*categories, *flags}
    numbers = [name for name in schema.columns if name not in others]
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    scale: TransformerMixin = fill
    if standardise:
        scale = make_pipeline(fill, ClippedScaler())
    encoder = OneHotEncoder(
        # A new level is rare; all zeros would be a row of no known kind.
        handle_unknown="infrequent_if_exist",
        # A level of one row is rare in any table (see `fitted_preparation`).
        min_frequency=max(schema.rare, 2),
        max_categories=MAX_LEVELS,
        sparse_output=schema.many_levels,
    )
    place_of = {name: place for place, name in enumerate(schema.columns)}
    transformers = []
    for name, step, columns in (
        ("numbers", scale, numbers),
        ("flags", fill, flags),
        ("gaps", MissingIndicator(features="all"), schema.gaps),
        ("categories", encoder, categories),
    ):
        if columns:
            # By position, since the reader returns an array
            places = [place_of[column] for column in columns]
            transformers.append((name, step, places))
    joined = ColumnTransformer(transformers, sparse_threshold=float(schema.many_levels))
    reader = TableReader(
        list(schema.columns), dict(schema.styles), list(schema.missing_values)
    )
    return [("reader", reader), ("preparation", joined)]


class Feature(NamedTuple):
    """A feature after the preparation."""

    name: str
    column: str  # of the table, from which it comes
    part: str  # of the ColumnTransformer, which makes it


def features_of(steps: Pipeline, schema: Schema) -> list[Feature] | None:
    """Return the features of a fitted preparation.

    None for svmlight files, which have no names.
    """
    if schema.kind == "sparse":
        return None
    features = []
    for part, step, places in steps[-1].transformers_:
        for index, place in enumerate(places):
            column = schema.columns[place]
            if part == "gaps":
                features.append(Feature(f"{column}={EMPTY}", column, part))
            elif part == "categories":
                for level in _levels(step, index):
                    features.append(Feature(f"{column}={level}", column, part))
            else:
                features.append(Feature(column, column, part))
    return features


def _levels(encoder: OneHotEncoder, index: int) -> list[str]:
    """Return the levels of a column that have a feature; the rare ones share one."""
    levels = encoder.categories_[index]
    rare = encoder.infrequent_categories_[index]
    if rare is None:
        return list(levels)
    # A set: numpy compares objects with each other in turn, which takes minutes.
    shared = set(rare)
    return [*(level for level in levels if level not in shared), RARE_NAME]


def fitted_preparation(
    schema: Schema, standardise: bool, X: Table | Matrix
) -> tuple[Pipeline | None, Matrix]:
    """Return a preparation that is fitted to rows, and their features.

    It does not know the levels that occur once: such a level may be the name of a
    person, and the preparation is part of model files. They count as rare.

    Parameters
    ----------
    schema, standardise : Schema, bool
        As for `preparation`.
    X : Table or CSR array
        The rows.

    Returns
    -------
    Pipeline or None, and matrix
        None if the features are the rows themselves.
    """
    steps = preparation(schema, standardise)
    if not steps:
        return None, X
    pipeline = Pipeline(steps)
    categories = schema.of_style(Style.CATEGORY)
    if not categories:
        return pipeline, pipeline.fit_transform(X)
    reader, joined = pipeline
    cells = reader.transform(X)
    known = []
    for name in categories:
        known.append(_repeated_levels(cells[:, schema.columns.index(name)]))
    features = joined.set_params(categories__categories=known).fit_transform(cells)
    # For fits to other rows
    joined.set_params(categories__categories="auto")
    part_of(joined, "categories")[0].set_params(categories="auto")
    return pipeline, features


def _repeated_levels(cells: np.ndarray) -> np.ndarray:
    """Return the levels of a column in their order, without those of one cell."""
    counts = Counter(cells)
    levels = {level for level, count in counts.items() if count > 1}
    if len(levels) < len(counts):
        # Without a level that is rare, an unknown one would be no level at all.
        levels.add(RARE_NAME)
    return np.array(sorted(levels), dtype=object)


def part_of(preparation: ColumnTransformer, wanted: str) -> tuple[Any, list[int]]:
    """Return a fitted transformer, or None, and the places of its columns."""
    for name, step, places in preparation.transformers_:
        if name == wanted:
            return step, places
    return None, []


def unseen_levels(model: Pipeline, schema: Schema, X: Table | Matrix) -> dict[str, int]:
    """Return the number of cells with a level that was not seen in training.

    There is an entry for each column that has any.
    """
    if schema.kind == "sparse":
        return {}
    encoder, places = part_of(model[1], "categories")
    counts = {}
    columns = columns_of(X)
    for index, place in enumerate(places):
        name = schema.columns[place]
        cells = coded(columns[name])
        known = set(encoder.categories_[index])
        is_new = [level not in known for level in cells.values]
        count = int(cells.mapped(is_new, False, bool).sum())
        if count:
            counts[name] = count
    return counts


def cells_clipped(steps: Steps, schema: Schema, X: Table | Matrix) -> ClippedCells:
    """Return which cells of a table a fitted preparation clips.

    Parameters
    ----------
    steps : list of pairs of a name and a transformer
        The fitted steps that `preparation` returns; others may follow.
    schema : Schema
        The columns of the table.
    X : Table or CSR array
        The rows.
    """
    none = ClippedCells({}, (0, 0))
    if not steps:
        return none
    if schema.kind == "sparse":
        scaler = steps[0][1]
        cells = X
        names = schema.names
    else:
        (_, reader), (_, joined) = steps[:2]
        step, places = part_of(joined, "numbers")
        if not isinstance(step, Pipeline):
            return none
        scaler = step[-1]
        names = [schema.columns[place] for place in places]
        # The others need not be read again.
        cells = clone(reader).set_params(columns=names).transform(X)
    if not isinstance(scaler, ClippedScaler):
        return none

    def as_text(place: int, value: float) -> str:
        return as_in_file(schema, names[place], value)

    return clipped_cells(scaler, names, cells, as_text)


def as_in_file(schema: Schema, column: str, value: float) -> str:
    """Return a number of a table after its `TableReader` as text."""
    style = schema.style(column)
    if style.startswith("date"):
        return str(np.datetime64(round(value), "D"))
    if style == Style.TRUTH:
        return "yes" if round(value) else "no"
    return number(value)
