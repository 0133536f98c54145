"""Chunks of given data: each is checked where it is, what is found is put together, and shards are made of them."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.engines.sharded.shard import Shard
from drsvm.problem.validation import (
    CheckedRows,
    check_classes,
    check_flip_costs,
    check_label_vector,
    check_rows,
    check_total,
    check_unscaled_weights,
    distinct_labels,
)
from drsvm.utils.annotations import Matrix

# At most so many labels are collected: more than two are an error that names a few
SHOWN_LABELS = 6
# quantiles of the flip costs that a chunk reports, and that are kept
COSTS_OF_CHUNK = 64
COSTS_OF_ALL = 1024


class Chunk(NamedTuple):
    """Given rows with labels, weights and flip costs, in a form that has been checked.

    None: all the same.
    """

    number: int
    X: Matrix
    labels: np.ndarray
    weights: np.ndarray | None = None
    costs: np.ndarray | None = None

    @classmethod
    def checked(cls, number: int, X, y, weights=None, costs=None) -> "Chunk":
        try:
            if isinstance(X, CheckedRows) or X.shape[0] > 0:
                rows = check_rows(X)
            else:
                rows = np.zeros(X.shape)
            n = rows.shape[0]
            labels = check_label_vector(y, n)
            if weights is None:
                weights = None
            else:
                weights = check_unscaled_weights(weights, n)
            if costs is None:
                costs = None
            else:
                costs = np.broadcast_to(check_flip_costs(costs, n), n).astype(
                    np.float64
                )
        except (TypeError, ValueError) as error:
            raise type(error)(f"In chunk {number}: {error}") from None
        return cls(number, rows, labels, weights, costs)

    @property
    def used(self) -> slice | np.ndarray:
        """The rows that do not have weight 0."""
        if self.weights is None or (self.weights > 0).all():
            return slice(None)
        return np.flatnonzero(self.weights)

    def shard(self, units: "Units") -> Shard:
        """Return the shard of the rows that do not have weight 0."""
        used = self.used
        n = len(self.labels)
        signs = np.where(self.labels[used] == units.positive, 1.0, -1.0)
        if self.weights is None:
            weights = np.full(n, 1.0)
        else:
            weights = self.weights[used] / units.largest_weight
        X = self.X if isinstance(used, slice) else self.X[used]
        costs = None if self.costs is None else self.costs[used]
        return Shard(self.number, X, signs, weights / units.total, costs)


class Units(NamedTuple):
    """What a shard must know of all rows."""

    positive: Any  # the label of the positive class
    largest_weight: float
    # In units of the largest weight, so that huge weights cannot overflow and tiny ones
    # cannot vanish
    total: float


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known about the rows of one chunk, or of several."""

    lengths: dict[int, int]  # rows of each chunk, those of weight 0 included
    used: dict[int, int]  # rows of each chunk that have a weight
    n_features: int
    dtype: np.dtype
    stored: int
    is_sparse: bool
    classes: np.ndarray
    masses: np.ndarray  # by class, divided by the largest weight
    largest_weight: float
    # Some of the flip costs in ascending order, the smallest and the largest among them
    costs: np.ndarray | None

    @classmethod
    def of(cls, chunk: Chunk) -> "Survey":
        X = chunk.X
        used = chunk.used
        labels = chunk.labels[used]
        if chunk.weights is None:
            weights = np.ones(len(labels))
        else:
            weights = chunk.weights[used]
        largest = float(weights.max(initial=0.0))
        classes, codes = distinct_labels(labels, return_inverse=True)
        masses = np.bincount(
            codes.reshape(-1), weights / (largest or 1.0), minlength=len(classes)
        )
        return cls(
            lengths={chunk.number: len(chunk.labels)},
            used={chunk.number: len(labels)},
            n_features=X.shape[1],
            dtype=X.dtype,
            stored=X.nnz if sparse.issparse(X) else X.size,
            is_sparse=sparse.issparse(X),
            classes=classes[:SHOWN_LABELS],
            masses=masses[:SHOWN_LABELS],
            largest_weight=largest,
            costs=None
            if chunk.costs is None
            else _some(chunk.costs[used], COSTS_OF_CHUNK),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows that have a weight."""
        return sum(self.used.values())

    def __add__(self, other: "Survey") -> "Survey":
        if self.n_features != other.n_features:
            raise ValueError(
                f"Chunk {min(other.lengths)} of X has {other.n_features} columns, but chunk {min(self.lengths)} has "
                f"{self.n_features}: all chunks must have the same features."
            )
        if self.is_sparse != other.is_sparse and min(self.n_rows, other.n_rows) > 0:
            dense = min((other if self.is_sparse else self).lengths)
            raise ValueError(
                f"Chunk {dense} of X is dense and others are sparse: convert it, or the others."
            )
        sizes = {
            "lengths": self.lengths | other.lengths,
            "used": self.used | other.used,
        }
        if self.n_rows == 0 or other.n_rows == 0:
            return replace(other if self.n_rows == 0 else self, **sizes)
        largest = max(self.largest_weight, other.largest_weight)
        classes = distinct_labels(np.concatenate([self.classes, other.classes]))[
            :SHOWN_LABELS
        ]
        costs = [survey.costs for survey in (self, other) if survey.costs is not None]
        masses = [
            (survey.classes == classes[:, None])
            @ survey.masses
            * (survey.largest_weight / largest)
            for survey in (self, other)
        ]
        return replace(
            self,
            **sizes,
            dtype=np.promote_types(self.dtype, other.dtype),
            stored=self.stored + other.stored,
            classes=classes,
            masses=masses[0] + masses[1],
            largest_weight=largest,
            costs=_some(np.concatenate(costs), COSTS_OF_ALL)
            if len(costs) == 2
            else None,
        )

    def units(self) -> Units:
        """Check what only all chunks together show, and return what shards must know of it."""
        check_total(self.largest_weight)
        check_classes(self.classes)
        return Units(self.classes[1], self.largest_weight, float(self.masses.sum()))


def _some(costs: np.ndarray, count: int) -> np.ndarray:
    """Return some of the costs in ascending order, the smallest and the largest among them."""
    ordered = np.sort(costs)
    if len(ordered) <= count:
        return ordered
    return ordered[np.linspace(0, len(ordered) - 1, count).astype(int)]
