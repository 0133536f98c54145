"""`TableReader`: the first step of a pipeline that was trained on a table."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from drsvm.datasets.columns import absent_columns
from drsvm.datasets.values import CATEGORY, EMPTY, MISSING, PLAIN, NotANumber, levels_of, numbers_of, shown


class TableReader(TransformerMixin, BaseEstimator):
    """Reads the columns of a raw table: numbers as floats, categories as text.

    A data frame may contain what the file contained: text such as "1,234", "yes" or "2024-05-31", words for missing
    values, further columns, in any order.

    Parameters
    ----------
    columns : list of str
        Names of the columns, in the order of the result.
    styles : dict
        What the cells of a column look like: "number" (the default), "decimal comma", "thousands separators",
        "true or false", "date", "date %d.%m.%Y", "time of day" or "category".
    missing_values : list of str
        Texts that count as empty, besides the usual ones (``?``, ``NA``, ``null``, ...).
    """

    def __init__(self, columns: Any = (), styles: Any = None, missing_values: Any = ()):
        self.columns = columns
        self.styles = styles
        self.missing_values = missing_values

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X, y=None):
        """Do nothing: the columns are known."""
        return self

    def transform(self, X) -> np.ndarray:
        """Return the columns of a table as an array: of floats, or of floats and texts if there are categories.

        The table is a data frame (pandas, polars, pyarrow), or an array with the columns in the order of `columns`.
        Empty cells are NaN, or the category "(empty)".
        """
        found = self._found(X)
        styles = self.styles or {}
        kind = object if CATEGORY in styles.values() else np.float64
        read = np.empty((X.shape[0], len(self.columns)), dtype=kind)
        missing = MISSING | frozenset(self.missing_values)
        for place, (name, column) in enumerate(zip(self.columns, found, strict=True)):
            read[:, place] = _cells(name, column, styles.get(name, PLAIN), missing)
        return read

    def _found(self, X) -> list[Any]:
        """Return the columns of a table, by name or, without names, in their order."""
        names = getattr(X, "column_names", getattr(X, "columns", None))  # pyarrow, or pandas and polars
        if names is None:
            array = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
            if len(array.shape) != 2 or array.shape[1] != len(self.columns):
                raise ValueError(
                    f"X has shape {tuple(array.shape)}, but the model was trained on the {len(self.columns)} columns "
                    f"{list(self.columns[:5])} …: pass a data frame, or an array with these columns."
                )
            return [array[:, place] for place in range(len(self.columns))]
        known = {str(name).strip(): name for name in names}
        absent = absent_columns(list(known), list(self.columns))
        if absent:
            raise ValueError(f"X does not fit the model: {absent}")
        if hasattr(X, "column_names"):  # pyarrow looks a name up in a list
            places = {name: place for place, name in enumerate(names)}
            return [X.column(places[known[name]]) for name in self.columns]
        return [X[known[name]] for name in self.columns]

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the names of the columns."""
        return np.array(self.columns, dtype=object)


def _cells(name: str, column: Any, style: str, missing: frozenset[str]) -> np.ndarray:
    if style == CATEGORY:
        levels = levels_of(column, missing)
        return levels.mapped(levels.values, EMPTY, object)
    try:
        return numbers_of(column, style, missing)
    except NotANumber as wrong:
        raise ValueError(
            f"column {name!r} contains {shown(wrong.text)} (row {wrong.row + 1}), but the model needs cells of the "
            f"kind {style!r}: correct it, or empty the cell."
        ) from None
