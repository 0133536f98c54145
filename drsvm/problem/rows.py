"""Rows of a problem, wherever they are: one class, whose methods are the protocol.

A problem has the labels, the weights and the parameters; its rows know nothing of it.
Vectors with an entry per row are arrays of one library (numpy here, CuPy on a GPU), and
everything that depends on all rows is computed from products with such vectors. Sharded
rows (`engines/sharded`) have no vectors in this process: they send functions to their
shards and add up the values.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from drsvm.problem.backends import to_numpy
from drsvm.problem.norms import Norm
from drsvm.problem.validation import check_labels, check_weights
from drsvm.utils.annotations import Costs, Labels, Matrix, Vector

# A deviation that is smaller, in units of the size of the column, may be a rounding
# error.
NOISE = 1e-10
# Keys are equal if they differ by no more, relative to the largest one.
SAME_KEY = 1e-12
# Keys are close if they differ by less than this share of the mean distance between
# the middle half of them.
CLOSE = 0.01
# The share of rows with nearly the key of a different row from which keys are refined.
MANY_COINCIDE = 0.05
# Differences of class means, in units of the deviation, below which there is none
NO_DIFFERENCE = 1e-4
# About how many rows are looked at for that, since sorting millions takes as long as
# an iteration of a solver
COMPARED = 5_000
# A factor that turns the size of a key into a pseudo-random fraction
SCRAMBLING = 1e6

# Attributes of a problem in their checked form, by name
Attributes: TypeAlias = dict[str, Any]


class RowsLost(RuntimeError):
    """The machines that had the rows do not respond, or have lost what they kept."""


class SumParameters(NamedTuple):
    """The parameters of a problem that functions of its rows in shards depend on."""

    radius: float
    flip_cost: Costs
    norm: Norm
    fit_intercept: bool
    row_radius: Costs


class Rows(ABC):
    """The rows x_i of a problem.

    Methods raise NotImplementedError where rows of a kind have no such thing: sharded
    ones have no vectors in this process.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    stored: int
    """Number of stored entries."""
    is_sparse: bool
    rounding: float
    """Bound on the error of `weighted_sum`, relative to Σ_i |c_i x_ij|."""

    place: str = "in this process's memory"
    is_kernel: bool = False
    """Whether rows are functions φ(x_i), and weights are their coefficients."""
    own_solver: str | None = None
    """Name of the only solver that takes such rows; None if any may."""
    readable: bool = False
    """Whether methods that work row by row can read single rows in this process."""
    is_small: bool = False
    """Whether products need neither parts nor threads."""
    is_sharded: bool = False
    """Whether the rows are in shards, on several machines, that keep a state."""
    copyable: bool = False
    """Whether the rows are small enough, and near enough, to be copied."""
    selectable: bool = True
    """Whether a working set of the rows can be copied to where they are."""
    most_distinct: int | None = None
    """Most distinct flip costs that are collected from a shard; None for any number."""

    # --- products, of rows whose vectors are arrays

    def vector(self, values) -> Vector:
        """Return values as an array of floats of the rows' library."""
        raise NotImplementedError

    def dot(self, v: Vector, shift: float = 0.0) -> Vector:
        """Return x_i·v + shift for every row."""
        raise NotImplementedError

    def weighted_sum(self, c: Vector) -> np.ndarray:
        """Return Σ_i c_i x_i."""
        raise NotImplementedError

    def sum_of_squares(self, c: Vector) -> np.ndarray:
        """Return Σ_i c_i x_ij² for every feature."""
        raise NotImplementedError

    def norms(self, p: float, factors: np.ndarray | None = None) -> Vector:
        """Return the p-norm of every row, with its entries multiplied by `factors`.

        Parameters
        ----------
        p : float
            1, 2 or inf.
        factors : array of shape (d,), optional
            Factors of the columns; by default 1.

        Returns
        -------
        array of shape (n,)
            The norms.
        """
        raise NotImplementedError

    def moments(self, weights: Vector) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted means and deviations of dense columns."""
        # Relative to one of the rows, squares of columns far from 0 lose no digits.
        origin = self.some(1)[0].astype(np.float64)
        centred = self.seen_from(origin)
        means = centred.weighted_sum(weights)
        squares = centred.sum_of_squares(weights)
        return origin + means, np.sqrt(np.maximum(squares - means**2, 0.0))

    # --- weights as vectors of a space with an inner product

    def coordinates(self, w: np.ndarray) -> np.ndarray:
        """Return the coordinates of weights, or of a sum, in an orthonormal basis."""
        return w

    def weights_of(self, coordinates: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return the weights with these coordinates.

        Parameters
        ----------
        coordinates : array
            Coordinates in a basis in which only the first coordinate of `along` is
            not 0.
        along : array
            A sum of rows.

        Returns
        -------
        array
            The weights.
        """
        return coordinates

    def sizes_of_weights(self, column_sizes: np.ndarray) -> np.ndarray:
        """Return how much a unit of each single weight changes decisions, typically."""
        return column_sizes

    def shiftable_columns(self) -> np.ndarray:
        """Return the columns that can be shifted without more entries to store."""
        return np.arange(self.shape[1])

    # --- what the rows contain

    def content_keys(self, signs: Vector, weights: Vector, sizes: np.ndarray) -> Vector:
        """Return a key for every row: equal for equal rows, and hardly otherwise.

        Folds, samples and the order of rows shall depend on what the rows contain, not
        on where they stand in X, and equal rows shall stay together. This takes a hash
        of the contents that tolerates rounding errors, so each row is projected on a
        direction that the data determine: the difference of the class means, with
        columns in units of their deviations. It depends on neither the order of the
        columns nor their origins, units and signs.

        Where the class means coincide, as in symmetric designs (grids, factorial
        designs, XOR), this direction is 0 or distinguishes some of the rows only. If
        many rows then have nearly the key of a row that differs from them, a projection
        on fixed pseudo-random numbers is added to the keys.

        Parameters
        ----------
        signs, weights : arrays of shape (n,)
            Labels ±1, and weights of the rows.
        sizes : array of shape (d,)
            Root mean squares of the columns.

        Returns
        -------
        array of shape (n,)
            The keys.
        """
        weights = weights / float(weights.sum())
        means, units = self._means_and_units(weights, sizes)
        keys = self._projections_on_difference(signs, weights, means, units)
        others = self.random_projections(units)
        order = _some_in_order(keys)
        share = _share_coinciding(to_numpy(keys[order]), to_numpy(others[order]))
        if share <= MANY_COINCIDE:
            return keys
        # An irrational factor, so that sums of the two hardly coincide
        largest = float(np.abs(keys).max()) or 1.0
        return keys / largest + math.sqrt(0.5) / float(np.abs(others).max()) * others

    def _means_and_units(
        self, weights: Vector, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the means of the columns, and 1 / deviation, 0 for constant ones."""
        if self.is_sparse:
            means = self.weighted_sum(weights)
            deviations = np.sqrt(np.maximum(sizes**2 - means**2, 0.0))
        else:
            # Columns whose squares overflow are rejected by what needs the squares.
            with np.errstate(over="ignore", invalid="ignore"):
                means, deviations = self.moments(weights)
        units = np.zeros(len(sizes))
        np.divide(1.0, deviations, out=units, where=deviations > NOISE * sizes)
        return means, units

    def _projections_on_difference(
        self, signs: Vector, weights: Vector, means: np.ndarray, units: np.ndarray
    ) -> Vector:
        """Return the products with the difference of the classes' means.

        Columns count in units of their deviations, so that neither their origins nor
        their scales matter.
        """
        factors = weights * (signs - float(weights @ signs))
        keys = factors
        # The second time, rows are weighted by their keys: otherwise columns of 0 and 1
        # that differ alike between the classes would count the same.
        for _ in range(2):
            difference = self.weighted_sum(factors) - float(factors.sum()) * means
            difference = difference * units
            # Smaller ones are those of symmetric rows, but for inexact cells.
            counts = np.abs(difference) > NO_DIFFERENCE
            keys = self.dot(np.where(counts, difference * units, 0.0))
            centred = keys - float(weights @ keys)
            largest = float(np.abs(centred).max()) or 1.0
            factors = factors * (1.0 + centred / largest)
        return keys

    def random_projections(self, units: np.ndarray) -> Vector:
        """Return the products of the scaled rows with fixed pseudo-random numbers."""
        return self.dot(np.random.default_rng(0).standard_normal(len(units)) * units)

    # --- vectors

    def zeros(self) -> Vector:
        """Return a vector of zeros."""
        return np.broadcast_to(self.vector(0.0), self.shape[:1])

    def multiples_of_weights(
        self, signs: Vector, weights: Vector, positive: float, negative: float
    ) -> Vector:
        """Return the vector of the weights, times one factor for each class."""
        return np.where(signs > 0, positive, negative) * weights

    def checked_labels(self, y: Labels, n: int) -> tuple[np.ndarray, Vector]:
        """Return the two classes, and the signs ±1 of n given rows."""
        classes, signs = check_labels(y, n)
        return classes, self.vector(signs)

    def checked_weights(self, sample_weight, n: int) -> Vector:
        """Return weights of n given rows that sum to 1; by default they are equal."""
        return self.vector(check_weights(sample_weight, n))

    def multipliers_from(self, values, n_given: int, kept) -> Vector | None:
        """Return the multipliers of the kept rows in a result for all given rows.

        Returns None if they are those of other rows.
        """
        if len(values) != n_given:
            return None
        values = self.vector(values)
        if kept is not None:
            values = values[kept]
        return values

    def to_given_rows(self, values, n_given: int, kept) -> Vector:
        """Expand values of the kept rows to all given rows, with 0 for the others."""
        if kept is None:
            return values
        expanded = np.zeros(n_given, like=values)
        expanded[kept] = values
        return expanded

    # --- what rows in other places than main memory do in their own way

    def engine(self, problem: Any, n_threads: int | None) -> Any:
        """Return the interior point's engine for a problem with these rows.

        Returns None for the engine of this machine's cores.
        """
        return None

    def multipliers(self, problem: Any, hinge_dual, flip_dual) -> Any:
        """Return multipliers of a problem with these rows, clipped to their bounds.

        Returns None if they are arrays with an entry per row (see `certificate`).
        """
        return None

    # --- other rows, labels and costs

    def data(self, y: Labels, sample_weight) -> Attributes:
        """Return a problem's attributes with these rows, without those of weight 0."""
        n = self.shape[0]
        classes, signs = self.checked_labels(y, n)
        rows = self
        weights = self.checked_weights(sample_weight, n)
        kept = None
        if sample_weight is not None and not weights.all():
            kept = np.flatnonzero(weights)
            rows = self.kept(kept)
            signs = signs[kept]
            weights = weights[kept]
            if abs(float(signs.sum())) == len(signs):
                label = classes.tolist()[int(signs[0] > 0)]
                raise ValueError(
                    f"Only the label {label!r} remains after removing the rows with "
                    "sample_weight 0: at least one row of each class needs a positive "
                    "weight."
                )
        return {
            "rows": rows,
            "signs": signs,
            "sample_weight": weights,
            "classes": classes,
            "kept": kept,
            "n_given": n,
        }

    def relabelled(
        self, positive, sample_weight, flip_cost: Costs, n_given: int, kept
    ) -> Attributes:
        """Return the attributes of a problem that change with labels and weights.

        Parameters
        ----------
        positive, sample_weight : arrays of shape (n_given,)
            Which of the given rows are positive, and their weights, None if equal.
        flip_cost, n_given, kept
            Attributes of the problem.

        Returns
        -------
        dict
            The attributes.
        """
        weights = self.checked_weights(sample_weight, n_given)
        signs = np.where(self.vector(positive) > 0, 1.0, -1.0)
        if kept is not None:
            signs = signs[kept]
            weights = weights[kept]
        return {
            "signs": signs,
            "sample_weight": weights,
            "classes": np.array([False, True]),
        }

    @abstractmethod
    def with_flip_costs(self, flip_cost: Costs, n_given: int, kept) -> Attributes:
        """Return the attributes of a problem that change with the flip costs.

        The costs are checked.
        """

    @abstractmethod
    def with_row_radius(self, row_radius: Costs, n_given: int, kept) -> Attributes:
        """Return the attributes of a problem that change with the radii of its rows.

        The radii are checked.
        """

    def taken(self, rows) -> "Rows":
        """Return copies of some rows (sorted indices)."""
        raise NotImplementedError

    def kept(self, rows) -> "Rows":
        """Return the rows that have a weight, for the whole life of a problem."""
        return self.taken(rows)

    @abstractmethod
    def shifted(self, offset: np.ndarray) -> "Rows":
        """Return x − offset for every row."""

    def seen_from(self, origin: np.ndarray) -> "Rows":
        """Return x − origin for every dense row, for one use."""
        return self.shifted(origin)

    @abstractmethod
    def on_features(self, features) -> "Rows":
        """Return the rows with some of the features (sorted indices)."""

    def mapped(self, function: Callable[[Matrix], Matrix], flip_cost: Costs) -> "Rows":
        """Return rows with other features: a function of blocks of the rows.

        The function returns arrays. The flip costs are those of the problem.
        """
        raise TypeError(f"Rows that are {self.place} are not mapped to other features.")

    @abstractmethod
    def some(self, size: int) -> Matrix:
        """Return about `size` evenly spaced rows, as a matrix of numpy or scipy."""

    def host_rows(self) -> "Rows":
        """Return the rows in this process's memory."""
        return self


def drawn_members(counts: list[int], sizes: list[int]) -> list[np.ndarray]:
    """Return the places of random members of each class, or of all if they are few."""
    random = np.random.default_rng(0)
    drawn = []
    for count, size in zip(counts, sizes, strict=True):
        if count <= size:
            drawn.append(np.arange(count))
        else:
            drawn.append(np.sort(random.choice(count, size, replace=False)))
    return drawn


def distance_of_close(ordered: Vector) -> float:
    """Return the distance below which sorted keys are much closer than usual.

    Copies do not change it: it depends on the keys that differ.
    """
    least = SAME_KEY * float(np.abs(ordered).max())
    distinct = ordered[np.flatnonzero(np.diff(ordered) > least)]
    n = len(distinct)
    if n < 4:
        return least
    middle = float(distinct[3 * n // 4] - distinct[n // 4])
    return max(least, CLOSE * middle / (n / 2))


def digits_of(keys: Vector) -> Vector:
    """Return a pseudo-random fraction for every key: the late digits of the key."""
    fractions = keys * (SCRAMBLING / (float(np.abs(keys).mean()) or 1.0))
    fractions -= np.floor(fractions)
    return fractions


def _share_coinciding(keys: np.ndarray, others: np.ndarray) -> float:
    """Return the share of rows with nearly the key of a row that differs from them.

    The rows are in the order of their keys; other keys tell whether they differ.
    """
    # Each row of a run has nearly the key of the one before: a tiny change of the rows
    # must not decide.
    ends = np.flatnonzero(np.diff(keys) > distance_of_close(keys)) + 1
    starts = np.append(0, ends)
    sizes = np.diff(np.append(starts, len(keys)))
    widths = np.maximum.reduceat(others, starts) - np.minimum.reduceat(others, starts)
    differ = widths > distance_of_close(np.sort(others))
    # One row of a run may have its key.
    return float((sizes[differ] - 1).sum()) / len(keys)


def _some_in_order(keys: Vector) -> Vector:
    """Return about `COMPARED` rows, in the order of their keys; all if they are few.

    Which ones depends on their keys only, so rows with equal keys stay together.
    """
    share = COMPARED / len(keys)
    if share >= 1.0:
        return np.argsort(keys)
    some = np.flatnonzero(digits_of(keys) < share)
    # With few distinct keys, all of them may be left out
    if len(some) < COMPARED / 2:
        return np.argsort(keys)
    return some[np.argsort(keys[some])]
