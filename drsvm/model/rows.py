"""Rows of a problem, wherever they are: the protocol.

A problem has the parameters; its rows compute what depends on all of them. `ArrayRows` have vectors with an entry per
row as arrays of one library (numpy here, CuPy on a card), and everything in `row_operations` is computed from their
products; rows in parts (`engines/sharded`) add up the same functions over their parts.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from drsvm.model.multipliers import ArrayMultipliers, Multipliers
from drsvm.model.risk import expected_loss, smallest_best_price, worst_case_error, worst_case_hinge
from drsvm.model.validation import check_labels

NOISE = 1e-10  # what may be a rounding error of the mean of a column, in units of its size


class RowsLost(RuntimeError):
    """The rows are gone: the machines that had them do not answer, or have lost what cannot be computed again."""


class Rows(ABC):
    """The rows x_i of a problem. Methods that take a problem need its labels and weights as well."""

    shape: tuple[int, int]
    dtype: Any
    stored: int
    """Number of stored entries."""
    is_sparse: bool

    is_kernel: bool = False
    """Whether the rows are functions φ(x_i) of a kernel, and weights are coefficients of these functions."""
    own_solver: str | None = None
    """Name of the only solver that takes such rows; None: any may."""
    place: str = "in this process's memory"
    readable: bool = False
    """Whether single rows can be read in this process: methods that work row by row need this."""
    is_sharded: bool = False
    """Whether the rows are in parts that have a state of their own, on the machines of a cluster."""
    copyable: bool = False
    """Whether the rows are small enough, and near enough, to be copied."""
    selectable: bool = False
    """Whether a working set of the rows can be copied to where they are."""
    most_distinct: int | None = None
    """Most distinct flip costs that are collected from a part of the rows; None: any number."""

    @abstractmethod
    def query(self, problem, function, *arguments, once: bool = False) -> Any:
        """Return function(problem, *arguments), or the sum of its values over the parts of the rows.

        `once`: the result is small and does not depend on the radius, and may be kept.
        """

    def coordinates(self, w) -> Any:
        """Return the coordinates of weights, or of a sum of rows, in an orthonormal basis."""
        return w

    def weights_of(self, coordinates, along) -> Any:
        """Return the weights with these coordinates, in a basis where `along`, a sum of rows, has no others."""
        return coordinates

    @abstractmethod
    def shifted(self, offset) -> Any:
        """Return x − offset for every row."""

    @abstractmethod
    def on_features(self, features) -> "Rows":
        """Return the rows with some of the features (sorted indices)."""

    def mapped(self, problem, function) -> "Rows":
        """Return rows with other features for the same samples: a function of blocks of rows, which returns arrays."""
        raise TypeError(f"Rows that are {self.place} are not mapped to other features.")

    @abstractmethod
    def some(self, size: int) -> Any:
        """Return about so many rows at regular distances, as a matrix of numpy or scipy."""

    @abstractmethod
    def with_flip_costs(self, problem, flip_cost) -> dict[str, Any]:
        """Return the attributes of a problem that change with the flip costs, which are checked."""

    @abstractmethod
    def relabelled(self, problem, positive, sample_weight) -> dict[str, Any]:
        """Return the attributes of a problem that change with labels and weights."""

    @abstractmethod
    def counted(self, problem, counts) -> tuple[Any, Any, float | None]:
        """Return a problem, and how many rows its rows count for: an array, or the variance of a pull by weight."""

    @abstractmethod
    def drawn(self, problem, size: int) -> Any:
        """Return the problem on about so many rows, drawn by their contents, with weights that sum to 1."""

    @abstractmethod
    def drawn_by_class(self, problem, size: int) -> Any:
        """Return the problem on a random sample in which large classes have so many rows, but the same weight."""

    @abstractmethod
    def to_host(self, problem) -> Any:
        """Return the problem with all rows in this process's memory."""

    @abstractmethod
    def price_and_risk(self, problem, w, b: float, size: float) -> tuple[float, float]:
        """Return the smallest optimal λ ≥ size, and the worst-case risk with it."""

    @abstractmethod
    def worst_case(self, problem, loss: str, w, b: float, size: float, radii) -> np.ndarray:
        """Return the worst-case risk for every radius, where a unit of shift changes a decision by `size`."""

    @abstractmethod
    def multipliers(self, problem, hinge_dual, flip_dual) -> Multipliers:
        """Return multipliers, which may have any values, clipped to their bounds; None means 0."""

    @abstractmethod
    def zeros(self) -> Any:
        """Return a vector of zeros."""

    @abstractmethod
    def multiples_of_weights(self, problem, positive: float, negative: float) -> Any:
        """Return the vector of the weights, times one factor for each class."""

    @abstractmethod
    def multipliers_from(self, problem, values) -> Any:
        """Return the multipliers in a result for the kept rows, or None if they are those of other rows."""

    @abstractmethod
    def to_given_rows(self, problem, values) -> Any:
        """Expand values of the kept rows to all given rows, with 0 for rows with weight 0."""

    def engine(self, problem, n_threads: int | None) -> Any:
        """Return the interior point's engine where the rows are; None: that of this machine's cores."""
        return None


class ArrayRows(Rows):
    """Rows whose vectors, with an entry per row, are arrays of one library; other vectors are arrays of numpy."""

    selectable = True

    rounding: float
    """Bound on the error of `weighted_sum`, relative to Σ_i |c_i x_ij|."""

    @abstractmethod
    def vector(self, values) -> Any:
        """Return values as an array of floats of the rows' library."""

    @abstractmethod
    def dot(self, v, shift: float = 0.0) -> Any:
        """Return x_i·v + shift for every row."""

    @abstractmethod
    def weighted_sum(self, c) -> np.ndarray:
        """Return Σ_i c_i x_i."""

    @abstractmethod
    def sum_of_squares(self, c) -> np.ndarray:
        """Return Σ_i c_i x_ij² for every feature."""

    @abstractmethod
    def norms(self, p: float, factors=None) -> Any:
        """Return the p-norm of every row, whose entries are multiplied by factors of the features."""

    @abstractmethod
    def taken(self, rows) -> "ArrayRows":
        """Return copies of some rows (sorted indices)."""

    def content_keys(self, problem) -> Any:
        """Return numbers that depend on what rows contain, but on neither the order nor the signs of the columns."""
        factors = keys = problem.sample_weight * (problem.signs - float(problem.sample_weight @ problem.signs))
        for _ in range(2):  # once, columns of 0 and 1 that differ alike between the classes would count the same
            difference = self.weighted_sum(factors)
            keys = self.dot(np.where(np.abs(difference) > NOISE * problem.column_sizes, difference, 0.0))
            factors = factors * (1.0 + keys / (np.abs(keys).max() or 1.0))
        return keys

    @abstractmethod
    def checked_weights(self, sample_weight, n: int) -> Any:
        """Return weights of n given rows that sum to 1; by default they are equal."""

    def kept(self, rows) -> "ArrayRows":
        """Return the rows that have a weight (sorted indices), for the whole life of a problem."""
        return self.taken(rows)

    def data(self, y, sample_weight) -> dict[str, Any]:
        """Return the attributes of a problem with these rows, without those of weight 0."""
        n = self.shape[0]
        classes, signs = check_labels(y, n)
        rows, signs, weights, kept = self, self.vector(signs), self.checked_weights(sample_weight, n), None
        if not weights.all():
            kept = np.flatnonzero(weights)
            rows, signs, weights = self.kept(kept), signs[kept], weights[kept]
            if abs(float(signs.sum())) == len(signs):
                raise ValueError(
                    f"Only the label {classes.tolist()[int(signs[0] > 0)]!r} remains after removing the rows with "
                    "sample_weight 0: at least one row of each class needs a positive weight."
                )
        found = {"rows": rows, "signs": signs, "sample_weight": weights, "classes": classes}
        return found | {"kept": kept, "n_given": n}

    @cached_property
    def known(self) -> dict[Any, Any]:
        """Values of queries that are kept, with the vectors that they depend on."""
        return {}

    def query(self, problem, function, *arguments, once=False):
        if not once or any(isinstance(argument, np.ndarray) for argument in arguments):
            return function(problem, *arguments)
        costs = None if isinstance(problem.flip_cost, float) else problem.flip_cost
        vectors = problem.signs, problem.sample_weight, costs
        key = function, problem.norm, *map(id, vectors), arguments
        if key not in self.known:
            self.known[key] = vectors, function(problem, *arguments)  # the vectors must not make room for others
        return self.known[key][1]

    def relabelled(self, problem, positive, sample_weight):
        weights = self.checked_weights(sample_weight, problem.n_given)
        signs = np.where(self.vector(positive) > 0, 1.0, -1.0)
        kept = slice(None) if problem.kept is None else problem.kept
        return {"signs": signs[kept], "sample_weight": weights[kept], "classes": np.array([False, True])}

    def counted(self, problem, counts):
        return problem, self.multipliers_from(problem, counts), None

    def moments(self, weights) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted means and deviations of dense columns, computed relative to a row."""
        origin = self.some(1)[0].astype(np.float64)
        centred = self.seen_from(origin)
        means, squares = centred.weighted_sum(weights), centred.sum_of_squares(weights)
        return origin + means, np.sqrt(np.maximum(squares - means**2, 0.0))

    def seen_from(self, origin) -> "ArrayRows":
        """Return x − origin for every dense row, for one use."""
        return self.shifted(origin)

    def drawn(self, problem, size):
        return problem.subset(problem.drawn_rows(size))

    def drawn_by_class(self, problem, size):
        members = [np.flatnonzero(problem.signs == sign) for sign in (-1.0, 1.0)]
        drawn, weights = [], []
        for places, all_of_class in zip(drawn_members([len(one) for one in members], size), members, strict=True):
            few = all_of_class[np.asarray(places, like=all_of_class)]
            share = problem.sample_weight[few]
            drawn.append(few)
            weights.append(share * (problem.sample_weight[all_of_class].sum() / share.sum()))
        return problem.subset(np.concatenate(drawn), np.concatenate(weights))

    def careful_margins(self, problem, w, b: float) -> Any:
        """Return the margins, where large contributions of features may cancel."""
        return problem.margins(w, b)

    def price_and_risk(self, problem, w, b, size):
        margins = self.careful_margins(problem, w, b)
        price = float(smallest_best_price(margins, problem.sample_weight, size, problem.radius, problem.flip_cost))
        loss = expected_loss(margins, problem.sample_weight, price, problem.flip_cost)
        return price, problem.radius * price + loss

    def worst_case(self, problem, loss, w, b, size, radii):
        risk = {"hinge": worst_case_hinge, "zero-one": worst_case_error}[loss]
        return risk(problem.margins(w, b), problem.sample_weight, size, radii, problem.flip_cost)

    def multipliers(self, problem, hinge_dual, flip_dual):
        return ArrayMultipliers(problem, hinge_dual, flip_dual)

    def zeros(self):
        return np.broadcast_to(self.vector(0.0), self.shape[:1])

    def multiples_of_weights(self, problem, positive, negative):
        return np.where(problem.signs > 0, positive, negative) * problem.sample_weight

    def multipliers_from(self, problem, values):
        if len(values) != problem.n_given:
            return None
        values = self.vector(values)
        return values if problem.kept is None else values[problem.kept]

    def to_given_rows(self, problem, values):
        if problem.kept is None:
            return values
        expanded = np.zeros(problem.n_given, like=values)
        expanded[problem.kept] = values
        return expanded


def drawn_members(counts: list[int], size: int) -> list[np.ndarray]:
    """Return the places of some members of each class, drawn at random: so many of those with more, all of others."""
    random = np.random.default_rng(0)
    return [
        np.arange(count) if count <= size else np.sort(random.choice(count, size, replace=False)) for count in counts
    ]
