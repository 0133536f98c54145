"""From features back to columns: which column of a table each feature comes from, and what shifts of columns do.

The steps of a pipeline name their features after the columns that they are made of. One
that mixes columns (PCA, products) or names none ends the way back, and the table is the
one after it.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.audit.model_layers import layers
from drsvm.problem.kernel_functions import dense
from drsvm.utils.annotations import Matrix

NAMELESS = (AttributeError, TypeError, ValueError)  # from steps that cannot tell names
# Of shifts of the columns; linear steps need two, and more where rounding is coarse
TRIALS = 5


@dataclass(frozen=True, eq=False)
class Columns:
    """A table, and steps that make features of it, each of one column."""

    table: Any
    names: list[str]
    sources: np.ndarray  # the place of each feature's column
    steps: Sequence[Any]

    @property
    def by_column(self) -> sparse.csr_array:
        """The matrix that adds up features of the same column."""
        entries = np.arange(len(self.sources)), self.sources
        return sparse.csr_array(
            (np.ones(len(self.sources)), entries),
            shape=(len(self.sources), len(self.names)),
        )

    def shift_for(self, change: np.ndarray) -> np.ndarray | None:
        """Return the shift of the columns that changes the features by the given amounts; NaN in rows where none does.

        None if a column has several features, or is no number.
        """
        if len(np.unique(self.sources)) < len(self.sources):
            return None
        if not self.steps:
            return change
        # Less than most units, so that hardly any cell is clipped
        shift = 1e-6 * np.sign(change)
        try:
            with np.errstate(all="ignore"):
                start = self._features_after(0.0 * change)
                for _ in range(TRIALS):
                    growth = change / (self._features_after(shift) - start)
                    # Inf: it was rounded away
                    shift = shift * np.nan_to_num(
                        growth, nan=1.0, posinf=1e6, neginf=1e6
                    )
                errors = np.abs(self._features_after(shift) - start - change)
        except (TypeError, ValueError):
            return None
        rounding = 1e-12 + 1e-6 * np.abs(change).max(axis=1, keepdims=True)
        return self._scattered(
            np.where((errors <= rounding).all(axis=1, keepdims=True), shift, np.nan)
        )

    def _features_after(self, shift: np.ndarray) -> np.ndarray:
        if hasattr(
            self.table, "reindex"
        ):  # pandas, where columns that are not used may be texts
            moved = self.table.copy()
            used = self.table.columns[self.sources]
            moved[used] = moved[used] + shift
        else:
            moved = np.asarray(self.table + self._scattered(shift))
        return np.asarray(dense(_transformed(moved, self.steps)))

    def _scattered(self, shift: np.ndarray) -> np.ndarray:
        scattered = np.zeros((len(shift), len(self.names)))
        scattered[:, self.sources] = shift
        return scattered


def columns_behind(model, X, features: Matrix, names: Sequence[str] | None) -> Columns:
    """Return the earliest table in a pipeline of which each feature comes from one column: X, or the features."""
    steps = [
        step for layer in layers(model) for _, step in getattr(layer, "steps", [])[:-1]
    ]
    steps = [step for step in steps if hasattr(step, "transform")]
    sources = np.arange(features.shape[1])
    first = len(steps)
    while (
        first
        and (
            before := _sources(
                steps[first - 1], getattr(steps[first - 1], "n_features_in_", 0)
            )
        )
        is not None
    ):
        sources = before[sources]
        first = first - 1
    if first == len(steps):
        table = features
    else:
        table = _transformed(X, steps[:first])
        names = getattr(
            steps[first], "feature_names_in_", getattr(table, "columns", None)
        )
        if hasattr(table, "reindex"):
            # They may be in another order, among others
            table = table.reindex(columns=names)
        if hasattr(table, "shape"):
            table = table
        else:
            table = np.asarray(table)
        if names is None and first:
            with suppress(*NAMELESS):
                names = steps[first - 1].get_feature_names_out()
    return Columns(table, shown_names(names, table.shape[1]), sources, steps[first:])


def shown_names(names: Sequence | None, d: int) -> list[str]:
    """Return the names of d features, or their numbers."""
    if names is None:
        return [f"feature {place}" for place in range(d)]
    return [str(name) for name in names]


def _transformed(X, steps: Sequence[Any]):
    for step in steps:
        X = step.transform(X)
    return X


def _sources(step, n: int) -> np.ndarray | None:
    """Return the place of the one of n columns that each feature after a step comes from; None if not one alone."""
    if hasattr(step, "steps"):
        sources = np.arange(n)
        for _, part in step.steps:
            inner = _sources(part, len(sources))
            if inner is None:
                return None
            sources = sources[inner]
        return sources
    if hasattr(step, "transformers_"):
        return _sources_of_parts(step)
    if step is None or step == "passthrough":
        return np.arange(n)
    unnamed = copy(step)
    vars(unnamed).pop("feature_names_in_", None)
    try:
        found = unnamed.get_feature_names_out([f"\0{place}\0" for place in range(n)])
    except NAMELESS:
        return None
    places = [set(re.findall("\0(\\d+)\0", str(name))) for name in found]
    if {len(one) for one in places} == {1}:
        return np.array([int(one.pop()) for one in places])
    return None


def _sources_of_parts(step) -> np.ndarray | None:
    """Return the sources of the features of a ColumnTransformer."""
    parts = [np.zeros(0, dtype=np.intp)]
    for name, part, _ in step.transformers_:
        places = np.asarray(step._transformer_to_input_indices[name], np.intp)
        made = step.output_indices_[name]
        width = made.stop - made.start
        if len(places) == 1 or width == 0:
            inner = np.zeros(width, np.intp)
        else:
            inner = _sources(part, len(places))
        if inner is None:
            return None
        parts.append(places[inner] if width else parts[0])
    return np.concatenate(parts)
