"""The decision values of all classes on the rows of an audit, and their margins."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class DecisionValues:
    """The decision values f_k of all classes on the data to evaluate; the largest one decides.

    A decision with one value f, for two classes or one against the rest, has the values −f/2 and f/2.
    """

    X: Any
    codes: np.ndarray  # the place of each row's label among the classes
    weights: np.ndarray
    values: np.ndarray  # of shape (number of classes, n)
    coef: np.ndarray  # of shape (number of classes, d)
    intercept: np.ndarray
    classes: np.ndarray
    own_ball: dict[str, Any]  # what a classifier of this library was trained with
    names: Any  # of the features, or None

    @cached_property
    def margins(self) -> np.ndarray:
        """m_i = f_y − max_{j ≠ y} f_j, by which the label of each row leads."""
        return margins_of(self.values, self.codes)

    @cached_property
    def worst_flips(self) -> np.ndarray:
        """The class with the lowest value other than that of the label: no flip to another class hurts more."""
        return _except(self.values, self.codes, np.inf).argmin(axis=0)

    @cached_property
    def flip_margins(self) -> np.ndarray:
        """The margins with which flips would gain as much if there were two classes.

        A flip turns the loss (1 − m)₊ into 1 + m′, where m′ = max_j f_j − min_{j ≠ y} f_j. With two classes and the
        margin g it would gain min(2g, 1 + g); where it gains something, m′ = m = g then.
        """
        lowest = self.values[self.worst_flips, np.arange(len(self.codes))]
        margins, flipped = self.margins, self.values.max(axis=0) - lowest
        both = margins + flipped
        return np.where(margins > 1.0, flipped, np.maximum(0.5 * both, both - 1.0))


def margins_of(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return by how much the value of the given class exceeds the largest other one, for every column."""
    return values[codes, np.arange(len(codes))] - _except(values, codes, -np.inf).max(axis=0)


def _except(values: np.ndarray, codes: np.ndarray, replacement: float) -> np.ndarray:
    others = values.copy()
    others[codes, np.arange(len(codes))] = replacement
    return others
