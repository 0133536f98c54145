"""From features back to columns: where each comes from, and what shifts do.

The steps of a pipeline name their features after the columns that they are made of. One
that mixes columns (PCA, products) or names none ends the way back, and the table is the
one after it.
"""

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import FunctionTransformer

from drsvm.audit.model_layers import names_given_by, preparations
from drsvm.problem.memory_rows import dense
from drsvm.utils.annotations import Classifier, Matrix

# How often shifts of columns are tried until those of their features are right: linear
# steps need two or three trials, smooth ones such as logarithms about ten
TRIALS = 40
# A feature has changed as wanted but for this share, at which the search ends
CLOSE = 1e-9
# The first shift: less than most units, so that hardly any cell is clipped
FIRST_SHIFT = 1e-6


@dataclass(frozen=True, eq=False)
class Columns:
    """A table, and steps that make features of it, each of one column."""

    # An array, a sparse matrix or a data frame
    table: Any
    # Of the columns
    names: list[str]
    # The place of each feature's column
    sources: np.ndarray
    # Transformers from the table to the features; none if the table has the features
    steps: Sequence[Any]

    @property
    def by_column(self) -> sparse.csr_array:
        """The matrix that adds up features of the same column."""
        n = len(self.sources)
        places = (np.arange(n), self.sources)
        return sparse.csr_array((np.ones(n), places), shape=(n, len(self.names)))

    def shift_for(self, change: np.ndarray) -> np.ndarray | None:
        """Return the shift of the columns that changes the features as given.

        It is NaN in rows where no shift was found to do so, and None if a column has
        several features, or is no number.
        """
        if len(np.unique(self.sources)) < len(self.sources):
            # A column has several features.
            return None
        if not self.steps:
            return change
        try:
            with np.errstate(all="ignore"):
                shift, errors = self._searched(change)
        except (TypeError, ValueError):
            # The steps do not calculate with shifted cells, such as texts.
            return None
        rounding = 1e-12 + 1e-6 * np.abs(change).max(axis=1, keepdims=True)
        is_right = (errors <= rounding).all(axis=1, keepdims=True)
        return self._of_columns(np.where(is_right, shift, np.nan))

    def _searched(self, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the shift of each cell that changes its feature as given.

        What is wrong about the changes follows. The search is for a share of 1 of the
        change, between a shift that is too short and one that is too long: by secants,
        which are right at once for linear steps, or else by halves.
        """
        start = self._features_after(np.zeros_like(change))

        def share_after(shift: np.ndarray) -> np.ndarray:
            share = (self._features_after(shift) - start) / change
            return np.where(change == 0.0, 1.0, share)

        last = FIRST_SHIFT * np.sign(change)
        last_share = share_after(last)
        # An infinite growth: the shift was rounded away, or the cell is clipped.
        growth = np.nan_to_num(1.0 / last_share, nan=1.0, posinf=1e6, neginf=1e6)
        shift = last * growth
        short = np.zeros_like(change)
        long = np.sign(shift) * np.inf
        for _ in range(TRIALS):
            share = share_after(shift)
            is_close = np.abs(share - 1.0) <= CLOSE
            if is_close.all():
                break
            # A share that is NaN is that of a cell beyond the domain of a function.
            is_short = share < 1.0
            short = np.where(is_short, shift, short)
            long = np.where(is_short, long, shift)
            middle = np.where(np.isinf(long), 2.0 * shift, 0.5 * (short + long))
            slope = (share - last_share) / (shift - last)
            secant = shift + (1.0 - share) / slope
            is_inside = (secant - short) * (secant - long) < 0.0
            last = shift
            last_share = share
            following = np.where(is_inside, secant, middle)
            shift = np.where(is_close, shift, following)
        # Also of features that should not change
        return shift, np.abs(self._features_after(shift) - start - change)

    def _features_after(self, shift: np.ndarray) -> np.ndarray:
        """Return the features if the column of each is shifted."""
        if hasattr(self.table, "reindex"):
            # pandas, where columns that are not used may be texts
            moved = self.table.copy()
            used = self.table.columns[self.sources]
            moved[used] = moved[used] + shift
        else:
            moved = np.asarray(self.table + self._of_columns(shift))
        return np.asarray(dense(_transformed(moved, self.steps)))

    def _of_columns(self, shift: np.ndarray) -> np.ndarray:
        """Return shifts of all columns from those of the features' columns."""
        of_columns = np.zeros((len(shift), len(self.names)))
        of_columns[:, self.sources] = shift
        return of_columns


def columns_behind(
    model: Classifier,
    X: Matrix,
    features: Matrix,
    names: Sequence[str] | None,
) -> Columns:
    """Return the earliest table of which each feature comes from one column.

    It is X, a table between two steps of the pipeline, or the features themselves,
    which have the given names. Names of columns of X are those of X only.
    """
    steps = []
    for part in preparations(model):
        for _, step in part.steps:
            # "passthrough" and None do nothing.
            if hasattr(step, "transform"):
                steps.append(step)
    # From the last step back, as long as each feature comes from one column
    sources = np.arange(features.shape[1])
    first = len(steps)
    while first > 0:
        step = steps[first - 1]
        before = _sources(step, getattr(step, "n_features_in_", 0))
        if before is None:
            break
        sources = before[sources]
        first -= 1
    own = getattr(X, "columns", None)
    if first == len(steps):
        names = shown_names(names, features.shape[1])
        return Columns(features, named_after(steps, names, own), sources, [])
    table = _transformed(X, steps[:first])
    columns = getattr(table, "columns", None)
    names = getattr(steps[first], "feature_names_in_", columns)
    if hasattr(table, "reindex"):
        # The columns may be in another order, among others.
        table = table.reindex(columns=names)
    if not hasattr(table, "shape"):
        table = np.asarray(table)
    if names is None and first:
        names = names_given_by(steps[first - 1])
    names = shown_names(names, table.shape[1])
    names = named_after(steps[:first], names, own)
    return Columns(table, names, sources, steps[first:])


def named_after(
    steps: Sequence[Any], names: list[str], columns: Sequence | None
) -> list[str]:
    """Return names of what steps have made, other than those of the columns before.

    The units may differ, too: those of "age" and of "age after PolynomialFeatures".
    """
    # The features of a `TableReader` are the columns.
    if not steps or hasattr(steps[-1], "text_columns"):
        return names
    taken = set(shown_names(columns, len(names)))
    after = f" after {type(steps[-1]).__name__}"
    return [name + after * (name in taken) for name in names]


def shown_names(names: Sequence | None, d: int) -> list[str]:
    """Return the names of d features, or their numbers."""
    if names is None:
        return [f"feature {place}" for place in range(d)]
    return [str(name) for name in names]


def _transformed(X: Matrix, steps: Sequence[Any]) -> Matrix:
    """Return rows after some steps."""
    for step in steps:
        X = step.transform(X)
    return X


def _sources(step: Any, n: int) -> np.ndarray | None:
    """Return the place among n columns that each feature of a step comes from.

    None if one of them does not come from a single column.
    """
    if hasattr(step, "steps"):
        # A Pipeline: the sources of each part are features of the part before it.
        sources = np.arange(n)
        for _, part in step.steps:
            inner = _sources(part, len(sources))
            if inner is None:
                return None
            sources = sources[inner]
        return sources
    if hasattr(step, "transformers_"):
        return _sources_of_parts(step)
    is_function = isinstance(step, FunctionTransformer)
    # Functions such as numpy.log1p are of one cell each; they may give no names.
    of_cells = is_function and isinstance(step.func, np.ufunc | None)
    if step is None or step == "passthrough" or of_cells:
        return np.arange(n)
    # The step names its features after columns that are called by their numbers. The
    # zeros delimit them, so that no name can contain another.
    unnamed = copy(step)
    vars(unnamed).pop("feature_names_in_", None)
    found = names_given_by(unnamed, [f"\0{place}\0" for place in range(n)])
    if found is None:
        return None
    sources = []
    for name in found:
        places = set(re.findall("\0(\\d+)\0", str(name)))
        if len(places) != 1:
            return None
        sources.append(int(places.pop()))
    return np.array(sources, dtype=np.intp)


def _sources_of_parts(step: Any) -> np.ndarray | None:
    """Return the sources of the features of a ColumnTransformer."""
    # A part without columns or features has none.
    sources = [np.zeros(0, dtype=np.intp)]
    for name, part, _ in step.transformers_:
        places = np.asarray(step._transformer_to_input_indices[name], np.intp)
        made = step.output_indices_[name]
        width = made.stop - made.start
        if width == 0:
            continue
        if len(places) == 1:
            inner = np.zeros(width, np.intp)
        else:
            inner = _sources(part, len(places))
        if inner is None:
            return None
        sources.append(places[inner])
    return np.concatenate(sources)
