"""Chunks of given data: each is checked where it is, before it becomes a shard.

First, a survey of every chunk says what is in it. The sum of all surveys shows whether
the data are valid, and what the shards must know of all rows (`Units`). Then each chunk
becomes a shard.
"""

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
    check_row_radius,
    check_rows,
    check_total,
    check_unscaled_weights,
    distinct_labels,
)
from drsvm.utils.annotations import Matrix

# Number of labels that are collected: more than two are an error that names a few
SHOWN_LABELS = 6
# Numbers of quantiles of the flip costs that a chunk reports, and that are kept
COSTS_OF_CHUNK = 64
COSTS_OF_ALL = 1024


class Chunk(NamedTuple):
    """Given rows with labels, weights, flip costs and radii, which have been checked.

    Weights, costs or radii are None if they are the same for all rows.
    """

    number: int
    X: Matrix
    labels: np.ndarray
    weights: np.ndarray | None = None
    costs: np.ndarray | None = None
    radii: np.ndarray | None = None

    @classmethod
    def checked(
        cls, number: int, X, y, weights=None, costs=None, radii=None
    ) -> "Chunk":
        """Return a chunk of valid data; an error names the chunk."""
        try:
            if isinstance(X, CheckedRows) or X.shape[0] > 0:
                rows = check_rows(X)
            else:
                # A problem needs rows, a chunk does not.
                rows = np.zeros(X.shape)
            n = rows.shape[0]
            labels = check_label_vector(y, n)
            if weights is not None:
                weights = check_unscaled_weights(weights, n)
            if n == 0:
                costs = None
                radii = None
            if costs is not None:
                costs = np.broadcast_to(check_flip_costs(costs, n), n)
                costs = costs.astype(np.float64)
            if radii is not None:
                radii = np.broadcast_to(check_row_radius(radii, n), n)
                radii = radii.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(f"In chunk {number}: {error}") from None
        return cls(number, rows, labels, weights, costs, radii)

    @property
    def used(self) -> slice | np.ndarray:
        """The rows that do not have weight 0."""
        if self.weights is None or (self.weights > 0).all():
            return slice(None)
        return np.flatnonzero(self.weights)

    @property
    def used_weights(self) -> np.ndarray:
        """The given weights of these rows, 1 by default."""
        if self.weights is None:
            return np.ones(len(self.labels))
        return self.weights[self.used]

    def shard(self, units: "Units") -> Shard:
        """Return the shard of the rows that do not have weight 0."""
        used = self.used
        X = self.X
        # Even a slice of all rows would be a copy of sparse ones.
        if not isinstance(used, slice):
            X = X[used]
        signs = np.where(self.labels[used] == units.positive, 1.0, -1.0)
        weights = self.used_weights / units.largest_weight / units.total
        costs = self.costs
        if costs is not None:
            costs = costs[used]
        radii = self.radii
        if radii is not None:
            radii = radii[used]
        return Shard(self.number, X, signs, weights, costs, radii)


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
    # Some of the flip costs in ascending order, the smallest and the largest among
    # them, and likewise the radii
    costs: np.ndarray | None
    radii: np.ndarray | None

    @classmethod
    def of(cls, chunk: Chunk) -> "Survey":
        """Return what is known about a chunk."""
        X = chunk.X
        is_sparse = sparse.issparse(X)
        stored = X.size  # of a sparse matrix, this is the number of stored entries
        used = chunk.used
        labels = chunk.labels[used]
        weights = chunk.used_weights
        largest = float(weights.max(initial=0.0))
        classes, codes = distinct_labels(labels, return_inverse=True)
        masses = np.bincount(
            codes.reshape(-1), weights / (largest or 1.0), minlength=len(classes)
        )
        costs = None
        if chunk.costs is not None:
            costs = _some(chunk.costs[used], COSTS_OF_CHUNK)
        radii = None
        if chunk.radii is not None:
            radii = _some(chunk.radii[used], COSTS_OF_CHUNK)
        return cls(
            lengths={chunk.number: len(chunk.labels)},
            used={chunk.number: len(labels)},
            n_features=X.shape[1],
            dtype=X.dtype,
            stored=stored,
            is_sparse=is_sparse,
            classes=classes[:SHOWN_LABELS],
            masses=masses[:SHOWN_LABELS],
            largest_weight=largest,
            costs=costs,
            radii=radii,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows that have a weight."""
        return sum(self.used.values())

    def __add__(self, other: "Survey") -> "Survey":
        self._check_alike(other)
        lengths = self.lengths | other.lengths
        used = self.used | other.used
        # Chunks without rows have neither a kind nor costs.
        if other.n_rows == 0:
            return replace(self, lengths=lengths, used=used)
        if self.n_rows == 0:
            return replace(other, lengths=lengths, used=used)
        largest = max(self.largest_weight, other.largest_weight)
        classes = distinct_labels(np.concatenate([self.classes, other.classes]))
        classes = classes[:SHOWN_LABELS]
        return replace(
            self,
            lengths=lengths,
            used=used,
            dtype=np.promote_types(self.dtype, other.dtype),
            stored=self.stored + other.stored,
            classes=classes,
            masses=self._masses_of(classes, largest)
            + other._masses_of(classes, largest),
            largest_weight=largest,
            costs=_some_of_both(self.costs, other.costs),
            radii=_some_of_both(self.radii, other.radii),
        )

    def _check_alike(self, other: "Survey") -> None:
        if self.n_features != other.n_features:
            raise ValueError(
                f"Chunk {min(other.lengths)} of X has {other.n_features} "
                f"columns, but chunk {min(self.lengths)} has "
                f"{self.n_features}: all chunks must have the same features."
            )
        if self.is_sparse != other.is_sparse and min(self.n_rows, other.n_rows) > 0:
            dense = other if self.is_sparse else self
            raise ValueError(
                f"Chunk {min(dense.lengths)} of X is dense and others are "
                "sparse: convert it, or the others."
            )

    def _masses_of(self, classes: np.ndarray, largest: float) -> np.ndarray:
        """Return the masses of some classes, divided by a larger weight."""
        masses = (self.classes == classes[:, None]) @ self.masses
        return masses * (self.largest_weight / largest)

    def units(self) -> Units:
        """Check the data as a whole, and return what shards must know of all rows."""
        check_total(self.largest_weight)
        check_classes(self.classes)
        return Units(self.classes[1], self.largest_weight, float(self.masses.sum()))


def _some_of_both(one, other) -> np.ndarray | None:
    """Return some of two arrays of costs or radii, None without them."""
    if one is None or other is None:
        return None
    return _some(np.concatenate([one, other]), COSTS_OF_ALL)


def _some(values: np.ndarray, count: int) -> np.ndarray:
    """Return some values in ascending order, the smallest and the largest of them."""
    ordered = np.sort(values)
    if len(ordered) <= count:
        return ordered
    return ordered[np.linspace(0, len(ordered) - 1, count).astype(int)]
