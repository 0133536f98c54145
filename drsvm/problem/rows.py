"""Rows of a problem, wherever they are: one class, whose methods are the protocol.

A problem has the parameters; its rows compute what depends on all of them. Vectors with
an entry per row are arrays of one library (numpy here, CuPy on a GPU), and everything
in `row_operations` is computed from their products. Sharded rows (`engines/sharded`)
have no such vectors here: they add up the same functions over their shards.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from drsvm.certificate.multipliers import ArrayMultipliers, Multipliers
from drsvm.problem.reducers import Summable
from drsvm.problem.risk import (
    expected_loss,
    smallest_best_price,
    worst_case_error,
    worst_case_hinge,
)
from drsvm.problem.validation import check_labels, check_weights
from drsvm.utils.annotations import Costs, Labels, Matrix, Vector

if TYPE_CHECKING:
    from drsvm.problem.problem import Problem

# What may be a rounding error of the mean of a column, in units of its size
NOISE = 1e-10

# Attributes of a problem in their checked form, by name
Attributes: TypeAlias = dict[str, Any]


class RowsLost(RuntimeError):
    """The rows are gone: the machines that had them do not respond, or have lost what cannot be computed again."""


class Rows(ABC):
    """The rows x_i of a problem.

    Methods that take a problem need its labels and weights as well.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    stored: int  # number of stored entries
    is_sparse: bool
    rounding: float  # bound on the error of `weighted_sum`, relative to Σ_i |c_i x_ij|

    # Whether the rows are functions φ(x_i) of a kernel, and weights are their
    # coefficients
    is_kernel: bool = False
    # Name of the only solver that takes such rows; None: any may
    own_solver: str | None = None
    place: str = "in this process's memory"
    # Whether single rows can be read in this process: methods that work row by row need
    # this
    readable: bool = False
    # Whether the rows are in shards that have a state of their own, on several machines
    is_sharded: bool = False
    # Whether the rows are small enough, and near enough, to be copied
    copyable: bool = False
    # Whether a working set of the rows can be copied to where they are
    selectable: bool = True
    most_distinct: int | None = (
        # Most distinct flip costs that are collected from a shard; None: any number
        None
    )

    # --- products, of rows whose vectors are arrays
    # -----------------------------------------------------------------

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
        """Return the p-norm of every row, whose entries are multiplied by factors of the features."""
        raise NotImplementedError

    def taken(self, rows) -> "Rows":
        """Return copies of some rows (sorted indices)."""
        raise NotImplementedError

    def checked_weights(self, sample_weight, n: int) -> Vector:
        """Return weights of n given rows that sum to 1; by default they are equal."""
        return self.vector(check_weights(sample_weight, n))

    def coordinates(self, w: np.ndarray) -> np.ndarray:
        """Return the coordinates of weights, or of a sum of rows, in an orthonormal basis."""
        return w

    def weights_of(self, coordinates: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return the weights with these coordinates, in a basis where `along`, a sum of rows, has no others."""
        return coordinates

    def moments(self, weights: Vector) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted means and deviations of dense columns, computed relative to a row."""
        origin = self.some(1)[0].astype(np.float64)
        centred = self.seen_from(origin)
        means = centred.weighted_sum(weights)
        squares = centred.sum_of_squares(weights)
        return origin + means, np.sqrt(np.maximum(squares - means**2, 0.0))

    def compensated_margins(
        self, problem: "Problem", w: np.ndarray, b: float
    ) -> Vector:
        """Return the margins, where large contributions of features may cancel."""
        return problem.margins(w, b)

    def content_keys(self, problem: "Problem") -> Vector:
        """Return numbers that depend on what rows contain, but on neither the order nor the signs of the columns."""
        factors = keys = problem.sample_weight * (
            problem.signs - float(problem.sample_weight @ problem.signs)
        )
        for _ in range(2):
            # Once, columns of 0 and 1 that differ alike between the classes would count
            # the same
            difference = self.weighted_sum(factors)
            keys = self.dot(
                np.where(
                    np.abs(difference) > NOISE * problem.column_sizes, difference, 0.0
                )
            )
            factors = factors * (1.0 + keys / (np.abs(keys).max() or 1.0))
        return keys

    # --- functions of all rows
    # --------------------------------------------------------------------------------------

    @cached_property
    def known(self) -> dict[Any, Any]:
        """Values of queries that are kept, with the vectors that they depend on."""
        return {}

    def query(
        self,
        problem: "Problem",
        function: Callable[..., Summable],
        *arguments,
        once: bool = False,
    ) -> Summable:
        """Return function(problem, *arguments), or the sum of its values over the shards.

        `once`: the result is small and does not depend on the radius, and may be kept.
        """
        if not once or np.ndarray in map(type, arguments):
            return function(problem, *arguments)
        if isinstance(problem.flip_cost, float):
            costs = None
        else:
            costs = problem.flip_cost
        vectors = problem.signs, problem.sample_weight, costs
        key = function, problem.norm, *map(id, vectors), arguments
        if key not in self.known:
            # The vectors must not make room for others
            self.known[key] = (
                vectors,
                function(problem, *arguments),
            )
        return self.known[key][1]

    def price_and_risk(
        self, problem: "Problem", w: np.ndarray, b: float, size: float
    ) -> tuple[float, float]:
        """Return the smallest optimal λ ≥ size, and the worst-case risk with it."""
        margins = self.compensated_margins(problem, w, b)
        price = float(
            smallest_best_price(
                margins, problem.sample_weight, size, problem.radius, problem.flip_cost
            )
        )
        loss = expected_loss(margins, problem.sample_weight, price, problem.flip_cost)
        return price, problem.radius * price + loss

    def worst_case(
        self, problem: "Problem", loss: str, w: np.ndarray, b: float, size: float, radii
    ) -> np.ndarray:
        """Return the worst-case risk for every radius, where a unit of shift changes a decision by `size`."""
        risk = {"hinge": worst_case_hinge, "zero-one": worst_case_error}[loss]
        return risk(
            problem.margins(w, b), problem.sample_weight, size, radii, problem.flip_cost
        )

    def engine(self, problem: "Problem", n_threads: int | None) -> Any:
        """Return the interior point's engine where the rows are.

        None: that of this machine's cores.
        """
        return None

    # --- vectors
    # ----------------------------------------------------------------------------------------------------

    def multipliers(self, problem: "Problem", hinge_dual, flip_dual) -> Multipliers:
        """Return multipliers, which may have any values, clipped to their bounds.

        None means 0.
        """
        return ArrayMultipliers(problem, hinge_dual, flip_dual)

    def zeros(self) -> Vector:
        """Return a vector of zeros."""
        return np.broadcast_to(self.vector(0.0), self.shape[:1])

    def multiples_of_weights(
        self, problem: "Problem", positive: float, negative: float
    ) -> Vector:
        """Return the vector of the weights, times one factor for each class."""
        return np.where(problem.signs > 0, positive, negative) * problem.sample_weight

    def multipliers_from(self, problem: "Problem", values) -> Vector | None:
        """Return the multipliers in a result for the kept rows, or None if they are those of other rows."""
        if len(values) != problem.n_given:
            return None
        values = self.vector(values)
        if problem.kept is None:
            return values
        return values[problem.kept]

    def to_given_rows(self, problem: "Problem", values) -> Vector:
        """Expand values of the kept rows to all given rows, with 0 for rows with weight 0."""
        if problem.kept is None:
            return values
        expanded = np.zeros(problem.n_given, like=values)
        expanded[problem.kept] = values
        return expanded

    # --- other rows, labels and costs
    # -------------------------------------------------------------------------------

    def data(self, y: Labels, sample_weight) -> Attributes:
        """Return the attributes of a problem with these rows, without those of weight 0."""
        n = self.shape[0]
        classes, signs = check_labels(y, n)
        rows = self
        signs = self.vector(signs)
        weights = self.checked_weights(sample_weight, n)
        kept = None
        if not weights.all():
            kept = np.flatnonzero(weights)
            rows = self.kept(kept)
            signs = signs[kept]
            weights = weights[kept]
            if abs(float(signs.sum())) == len(signs):
                raise ValueError(
                    f"Only the label {classes.tolist()[int(signs[0] > 0)]!r} remains after removing the rows with "
                    "sample_weight 0: at least one row of each class needs a positive weight."
                )
        vectors = {"signs": signs, "sample_weight": weights, "classes": classes}
        return {"rows": rows, **vectors, "kept": kept, "n_given": n}

    def kept(self, rows) -> "Rows":
        """Return the rows that have a weight (sorted indices), for the whole life of a problem."""
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

    def mapped(
        self, problem: "Problem", function: Callable[[Matrix], Matrix]
    ) -> "Rows":
        """Return rows with other features for the same samples: a function of blocks of rows, which returns arrays."""
        raise TypeError(f"Rows that are {self.place} are not mapped to other features.")

    @abstractmethod
    def with_flip_costs(self, problem: "Problem", flip_cost: Costs) -> Attributes:
        """Return the attributes of a problem that change with the flip costs, which are checked."""

    def relabelled(self, problem: "Problem", positive, sample_weight) -> Attributes:
        """Return the attributes of a problem that change with labels and weights."""
        weights = self.checked_weights(sample_weight, problem.n_given)
        signs = np.where(self.vector(positive) > 0, 1.0, -1.0)
        kept = slice(None) if problem.kept is None else problem.kept
        return {
            "signs": signs[kept],
            "sample_weight": weights[kept],
            "classes": np.array([False, True]),
        }

    def counted(
        self, problem: "Problem", counts
    ) -> "tuple[Problem, Vector | None, float | None]":
        """Return a problem, and how many rows its rows count for: an array, or the variance of a pull by weight."""
        return problem, self.multipliers_from(problem, counts), None

    # --- samples
    # ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def some(self, size: int) -> Matrix:
        """Return roughly `size` evenly spaced rows, as a matrix of numpy or scipy."""

    def drawn(self, problem: "Problem", size: int) -> "Problem":
        """Return the problem on about `size` rows with weights that sum to 1.

        In memory they are drawn by contents.
        """
        return problem.subset(problem.drawn_rows(size))

    def drawn_by_class(self, problem: "Problem", size: int) -> "Problem":
        """Return the problem on a random sample: `size` rows of a larger class, and the same weight of each class."""
        members = [np.flatnonzero(problem.signs == sign) for sign in (-1.0, 1.0)]
        drawn = []
        weights = []
        for places, all_of_class in zip(
            drawn_members(list(map(len, members)), [size, size]), members, strict=True
        ):
            few = all_of_class[np.asarray(places, like=all_of_class)]
            share = problem.sample_weight[few]
            drawn.append(few)
            weights.append(
                share * (problem.sample_weight[all_of_class].sum() / share.sum())
            )
        return problem.subset(np.concatenate(drawn), np.concatenate(weights))

    @abstractmethod
    def to_host(self, problem: "Problem") -> "Problem":
        """Return the problem with all rows in this process's memory."""


def drawn_members(counts: list[int], sizes: list[int]) -> list[np.ndarray]:
    """Return the places of so many random members of each class, or of all if it has fewer."""
    random = np.random.default_rng(0)
    return [
        np.arange(count)
        if count <= size
        else np.sort(random.choice(count, size, replace=False))
        for count, size in zip(counts, sizes, strict=True)
    ]
