"""The decision values of all classes on the rows of an audit, and their margins."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from drsvm.annotations import Matrix

Ball: TypeAlias = dict[str, Any]
"""Parameters of a ball by name, as `drsvm.Problem` takes them; `radius` may have several values."""

PAIR = np.array([-0.5, 0.5])
"""A decision with one value f, for two classes or one against the rest, has the values −f/2 and f/2."""


@dataclass(frozen=True, eq=False)
class DecisionValues:
    """The decision values f_k of all classes on the data to evaluate; the largest one decides."""

    X: Matrix
    codes: np.ndarray  # the place of each row's label among the classes
    weights: np.ndarray
    values: np.ndarray  # of shape (number of classes, n)
    coef: np.ndarray  # of shape (number of classes, d)
    intercept: np.ndarray
    classes: np.ndarray
    own_ball: Ball  # what a classifier of this library was trained with
    names: Sequence[str] | None  # of the features

    def at(self, X: Matrix) -> np.ndarray:
        """Return the decision values of other rows, of shape (number of classes, number of rows)."""
        return (X @ self.coef.T + self.intercept).T

    @cached_property
    def margins(self) -> np.ndarray:
        """m_i = f_y − max_{j ≠ y} f_j, by which the label of each row leads."""
        return margins_of(self.values, self.codes)

    @cached_property
    def flip_margins(self) -> np.ndarray:
        """The margins with which flips would gain as much if there were two classes.

        A flip to the lowest other class, which hurts most, turns the loss (1 − m)₊ into 1 + m′, where
        m′ = max_j f_j − min_{j ≠ y} f_j. With two classes and the margin g it would gain min(2g, 1 + g).
        """
        if len(self.values) == 2:
            return self.margins
        margins, flipped = self.margins, self.values.max(axis=0) + _largest_other(-self.values, self.codes)
        both = margins + flipped
        return np.where(margins > 1.0, flipped, np.maximum(0.5 * both, both - 1.0))

    def worst_flips(self, rows: np.ndarray) -> np.ndarray:
        """Return the lowest class of some rows other than that of the label: no other flip hurts more."""
        values = self.values[:, rows]
        values[self.codes[rows], np.arange(len(rows))] = np.inf
        return values.argmin(axis=0)


def values_at(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the value of the given class in every column."""
    return values[codes, np.arange(len(codes))]


def margins_of(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return by how much the value of the given class exceeds the largest other one, for every column."""
    return values_at(values, codes) - _largest_other(values, codes)


def _largest_other(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    largest = np.full(len(codes), -np.inf)
    for label, row in enumerate(values):
        np.maximum(largest, row, out=largest, where=codes != label)
    return largest
