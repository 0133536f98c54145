"""A problem in other coordinates, with a way there and a way back.

A solver sees the inner problem, a user the outer one. Both have the same optimum, the
same rows in the same order, and the same multipliers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drsvm.problem.problem import Problem
from drsvm.problem.result import Result
from drsvm.solvers.base import Candidate

Classifier = tuple[np.ndarray, float]  # weights and intercept


@dataclass(frozen=True, eq=False)
class Reformulation(ABC):
    """An inner problem, and the conversion of classifiers from and to the outer one.

    A classifier is a `Result`, a `Candidate` or a pair of weights and intercept. What
    else it has, such as multipliers, is the same inside and outside.

    Attributes
    ----------
    problem : Problem
        The inner problem.
    """

    problem: Problem

    def to_inner(self, start) -> Any:
        """Convert a classifier for the outer problem, or None."""
        return _converted(start, self._inner)

    def to_outer(self, found) -> Any:
        """Convert a classifier for the inner problem, or None."""
        return _converted(found, self._outer)

    @abstractmethod
    def _inner(self, weights: np.ndarray, intercept: float) -> Classifier:
        """Convert weights and intercept for the outer problem to the inner one."""

    @abstractmethod
    def _outer(self, weights: np.ndarray, intercept: float) -> Classifier:
        """Convert weights and intercept for the inner problem to the outer one."""

    def with_checked(self, **attributes: Any) -> "Reformulation":
        """Return the same conversion of a problem with other radii or another ridge."""
        return replace(self, problem=self.problem.with_checked(**attributes))


class Unchanged(Reformulation):
    """A problem as it is."""

    def _inner(self, weights, intercept):
        return weights, intercept

    _outer = _inner


def _converted(classifier, convert: Callable[..., Classifier]) -> Any:
    """Return a classifier with other weights and intercept; None stays None."""
    if classifier is None:
        return None
    if isinstance(classifier, Result | Candidate):
        weights, intercept = convert(classifier.weights, classifier.intercept)
        return replace(classifier, weights=weights, intercept=intercept)
    weights, intercept = classifier
    return convert(np.asarray(weights), intercept)
