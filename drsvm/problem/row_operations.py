# pyright: reportGeneralTypeIssues=false
"""What is computed from all rows at once: functions whose values for shards of the rows can be added.

The functions are written for arrays of any library with numpy's functions
(`problem/rows.py`). The methods below belong to one class, so their self is a
`Problem`.
"""

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from drsvm.problem.backends import to_numpy
from drsvm.problem.reducers import Distinct, Largest, Moments, Sums
from drsvm.problem.risk import by_row
from drsvm.utils.annotations import Values, Vector
from drsvm.utils.parallel import total
from drsvm.utils.progress import report_progress

if TYPE_CHECKING:
    from drsvm.problem.problem import Problem

# equal rows have keys as close (of the largest); how close to 1 margins are open
SAME_KEY = 1e-12
NEAR_KINK = 0.05


class Decisions(NamedTuple):
    """Decisions on all rows."""

    lowest: float
    highest: float
    positive_mass: float  # weight of the rows that are decided positive


class GradientVariances(NamedTuple):
    """Sums over the active rows of the variances v_i of their pulls: Σ v x, Σ v x² and Σ v."""

    sums: np.ndarray
    squares: np.ndarray
    mass: float


# --- functions of a problem, or of a shard of its rows
# --------------------------------------------------------------


def _masses_of_classes(problem: "Problem") -> Sums:
    signs = problem.signs
    weights = problem.sample_weight
    return Sums(
        total(signs, lambda part, sign=sign: weights[part] @ (signs[part] == sign))
        for sign in (1.0, -1.0)
    )


def _costs_of_classes(problem: "Problem") -> Sums:
    masks = problem.signs > 0, problem.signs < 0
    return Sums(
        float(problem.sample_weight[mask] @ problem.flip_cost[mask]) for mask in masks
    )


def _masses_by_flip_cost(problem: "Problem", sign: float, most: int | None) -> Distinct:
    inside = problem.signs == sign
    costs = Distinct(
        *map(
            to_numpy,
            Distinct.of(problem.flip_cost[inside], problem.sample_weight[inside]),
        )
    )
    if most is not None and len(costs.numbers) > most:
        raise ValueError(
            f"flip_cost has {len(costs.numbers)} different values in a chunk, too many to collect: round them, for "
            "instance to two digits."
        )
    return costs


def _gradient_of_classes(problem: "Problem", positive: float, negative: float) -> Sums:
    return Sums(problem.weighted_sum(problem.multiples_of_weights(positive, negative)))


def _decisions(problem: "Problem", w, b: float) -> Sums:
    """Return the highest and the lowest decision value (with a minus sign), and the mass decided positive."""
    values = problem.decision_values(w, b)
    weights = problem.sample_weight
    positive = total(values, lambda part: weights[part] @ (values[part] > 0))
    return Sums((Largest(values.max()), Largest(-values.min()), positive))


def _flips_pay(problem: "Problem", w, b: float) -> Largest:
    return Largest((2.0 * problem.margins(w, b) > problem.flip_cost).any())


def _norms(problem: "Problem", factors) -> Sums:
    """Return Σ π ‖x‖, and Σ π over rows that are not 0."""
    norms = problem.rows.norms(problem.norm.p, factors)
    weights = problem.sample_weight
    return Sums((float(weights @ norms), float(weights @ (norms > 0))))


def _column_squares(problem: "Problem") -> np.ndarray:
    return problem.rows.sum_of_squares(problem.sample_weight)


def _moments(problem: "Problem") -> Moments:
    mass = float(problem.sample_weight.sum())
    means, deviations = problem.rows.moments(problem.sample_weight / mass)
    return Moments(mass, means, deviations**2)


def _gradient_variances(problem: "Problem", pilot, counts, scale: float | None) -> Sums:
    """Return the sums for the pull of rows with random labels.

    Without counts, variances may be in units of weights.
    """
    # A row that represents k rows contributes k independent pulls with a k-th of its
    # weight each.
    weights = problem.sample_weight
    if scale is not None:
        variances = weights * scale
    else:
        variances = weights**2 / (1.0 if counts is None else counts)
    if pilot is not None:
        # At the optimum many margins are 1, and which side they are on is a matter of
        # rounding.
        variances = variances * np.clip(
            0.5 + (1.0 - problem.margins(*pilot)) / (2.0 * NEAR_KINK), 0.0, 1.0
        )
    report_progress(0.3)
    sums = problem.rows.coordinates(problem.rows.weighted_sum(variances))
    report_progress(0.6)
    return Sums((sums, problem.rows.sum_of_squares(variances), float(variances.sum())))


class RowOperations:
    """Methods of a problem that depend on all rows, wherever these are."""

    def price_and_objective(
        self: "Problem", w: Vector, b: float = 0.0
    ) -> tuple[float, float]:
        """Return the smallest optimal λ ≥ ‖(w/a, b/a_0)‖_q for the given weights, and the objective with it."""
        price, risk = self.rows.price_and_risk(self, w, b, self.norm_of(w, b))
        return price, risk + self.ridge(w)

    def masses_of_classes(self: "Problem") -> tuple[float, float]:
        """Return the weights of the rows of label + and of label −."""
        return self.rows.query(self, _masses_of_classes, once=True)

    def flip_costs_of_classes(self: "Problem") -> tuple[float, float]:
        """Return the costs of flipping all rows of label +, and of label −."""
        if by_row(self.flip_cost):
            return self.rows.query(self, _costs_of_classes, once=True)
        one, other = self.masses_of_classes()
        return self.flip_cost * one, self.flip_cost * other

    def masses_by_flip_cost(
        self: "Problem", sign: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct flip costs of the rows with the given sign, in ascending order, and their weights."""
        if by_row(self.flip_cost):
            return self.rows.query(
                self, _masses_by_flip_cost, sign, self.rows.most_distinct, once=True
            )
        return np.array([self.flip_cost]), np.array(
            [self.masses_of_classes()[int(sign < 0)]]
        )

    def multiples_of_weights(
        self: "Problem", positive: float, negative: float
    ) -> Vector:
        """Return the vector of the weights, times one factor for each class."""
        return self.rows.multiples_of_weights(self, positive, negative)

    def gradient_of_classes(
        self: "Problem", positive: float = 1.0, negative: float = 1.0
    ) -> tuple[np.ndarray, float]:
        """Return Σ c_i π_i y_i x_i and Σ c_i π_i y_i, where c_i depends on the class."""
        return self.rows.query(
            self, _gradient_of_classes, positive, negative, once=True
        )

    def decisions(self: "Problem", w: Vector, b: float = 0.0) -> Decisions:
        """Return the range of the decision values, and the weight of the rows that are decided positive."""
        highest, lowest, mass = self.rows.query(self, _decisions, w, b)
        return Decisions(-float(lowest), float(highest), mass)

    def flips_pay(self: "Problem", w: Vector, b: float = 0.0) -> bool:
        """Return whether 2 m_i > κ_i for some row."""
        return self.rows.query(self, _flips_pay, w, b) > 0

    def typical_row_norm(self: "Problem", of_features: Values = None) -> float:
        """Return the mean p-norm of the rows, as a scale for shifts: of the nonzero ones (1 if there are none).

        With factors `of_features`, it is the mean over all rows.
        """
        norms, mass = self.rows.query(self, _norms, of_features, once=True)
        if of_features is not None:
            return norms
        return norms / mass if mass > 0 else 1.0

    @cached_property
    def column_sizes(self: "Problem") -> np.ndarray:
        """The root mean square of every feature.

        Σ_i (α_i + β_i) |x_ij| is at most this.
        """
        return np.sqrt(self.column_squares())

    def column_squares(self: "Problem") -> np.ndarray:
        """Return Σ_i π_i x_ij² for every feature."""
        return self.rows.query(self, _column_squares, once=True)

    def typical_flip_cost(self: "Problem") -> float:
        """Return the median of the costs of a flip that are finite and not 0.

        Inf if there are none.
        """
        if by_row(self.flip_cost):
            costs = self.flip_costs
        else:
            costs = np.array([self.flip_cost])
        costs = costs[np.isfinite(costs) & (costs > 0)]
        return float(np.median(costs)) if len(costs) else np.inf

    def moments(self: "Problem") -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted means and deviations of dense columns."""
        _, means, variances = self.rows.query(self, _moments, once=True)
        return means, np.sqrt(np.maximum(variances, 0.0))

    def gradient_variances(
        self: "Problem", pilot: Values = None, counts: Values = None
    ) -> GradientVariances:
        """Return the sums for the pull of rows with random labels (see `defaults/radius_rule.py`).

        They are over the rows that are active at a pilot solution, or over all.
        `counts` is the number of rows that each given row represents; by default one.
        """
        if counts is None:
            problem = self
            counts = None
            scale = None
        else:
            problem, counts, scale = self.rows.counted(self, counts)
        return GradientVariances(
            *problem.rows.query(problem, _gradient_variances, pilot, counts, scale)
        )

    def content_groups(self: "Problem") -> np.ndarray:
        """Return the number of the group of equal rows that each row is in, in the order of their keys."""
        keys = to_numpy(self.rows.content_keys(self))
        order = np.argsort(keys)
        groups = np.zeros(len(keys), dtype=np.intp)
        groups[order[1:]] = np.cumsum(
            np.diff(keys[order]) > SAME_KEY * np.abs(keys).max()
        )
        return groups

    def drawn(self: "Problem", size: int) -> "Problem":
        """Return the problem on about `size` rows, in any order, with weights that sum to 1."""
        return self.rows.drawn(self, size)

    def drawn_by_class(self: "Problem", size: int) -> "Problem":
        """Return the problem on a random sample: `size` rows of a larger class, and the same weight of each class."""
        return self.rows.drawn_by_class(self, size)

    def drawn_rows(self: "Problem", size: int) -> np.ndarray:
        """Draw rows by their contents, in the order of these, which is the same wherever the rows are."""
        contents = self.rows.content_keys(self)
        key = contents * self.signs
        key *= 1e6 / (float(np.abs(key).mean()) or 1.0)
        key -= np.floor(key)
        drawn = np.flatnonzero(key <= np.partition(key, size)[size])
        drawn = drawn[np.argsort(contents[drawn], kind="stable")]
        return drawn[:: max(1, len(drawn) // size)]  # equal rows can make this too many
