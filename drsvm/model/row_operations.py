"""What is asked of all rows at once: sums and other numbers, and vectors that only the rows' keeper looks into.

Certificates, the interior point, and everything around a fit need no more than this of the rows. A problem whose rows
are elsewhere (`engines/remote.py`) answers the same questions there; vectors with an entry per row stay there too.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.model.multipliers import LocalMultipliers, Multipliers
from drsvm.model.validation import row_blocks, row_norms
from drsvm.parallel import over, over_parts, total
from drsvm.progress import tell


class Decisions(NamedTuple):
    """Decisions on all rows."""

    lowest: float
    highest: float
    positive_mass: float  # weight of the rows that are decided positive


class PullVariances(NamedTuple):
    """Sums over the active rows of the variances v_i of their pulls: Σ v x, Σ v x² and Σ v."""

    sums: np.ndarray
    squares: np.ndarray
    mass: float


def moments(X, weights) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted means and deviations of dense columns, computed relative to the first row."""
    origin = X[:1][0].astype(np.float64)
    sums, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for block in row_blocks(X):
        rows = X[block] - origin
        sums += weights[block] @ rows
        squares += weights[block] @ (rows * rows)
    return origin + sums, np.sqrt(np.maximum(squares - sums**2, 0.0))


def drawn_members(counts: list[int], size: int) -> list[np.ndarray]:
    """Return the places of some members of each class, drawn at random: so many of those with more, all of others."""
    random = np.random.default_rng(0)
    return [
        np.arange(count) if count <= size else np.sort(random.choice(count, size, replace=False)) for count in counts
    ]


class RowOperations:
    """Questions to the rows of a problem that has them in arrays."""

    # --- certificates -----------------------------------------------------------------------------------------------

    def price_and_objective(self: Any, w, b: float = 0.0) -> tuple[float, float]:
        """Return the smallest optimal λ ≥ ‖(w/a, b/a_0)‖_q for the given weights, and the objective with it."""
        margins = self.margins(w, b)
        price = self.radius_price(w, margins, b)
        return price, self.objective_at(w, margins, price)

    def feasible(self: Any, hinge_dual, flip_dual) -> Multipliers:
        """Return multipliers, which may have any values, clipped to their bounds; None means 0."""
        return LocalMultipliers(self, hinge_dual, flip_dual)

    def no_multipliers(self: Any) -> Any:
        """Return a vector of zeros, one per row."""
        return np.broadcast_to(0.0, self.n_rows)

    # --- classes ----------------------------------------------------------------------------------------------------

    def masses_of_classes(self: Any) -> tuple[float, float]:
        """Return the weights of the rows of label + and of label −."""
        positive = total(self.n_rows, lambda part: self.sample_weight[part] @ (self.signs[part] > 0))
        return positive, total(self.n_rows, lambda part: self.sample_weight[part] @ (self.signs[part] < 0))

    def flip_costs_of_classes(self: Any) -> tuple[float, float]:
        """Return what it costs to flip all rows of label +, and of label −."""
        if not isinstance(self.flip_cost, np.ndarray):
            one, other = self.masses_of_classes()
            return self.flip_cost * one, self.flip_cost * other
        masks = self.signs > 0, self.signs < 0
        one, other = (float(self.sample_weight[mask] @ self.flip_cost[mask]) for mask in masks)
        return one, other

    def masses_by_flip_cost(self: Any, sign: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct flip costs of the rows with the given sign, in ascending order, and their weights."""
        inside = self.signs == sign
        costs, places = np.unique(self.flip_costs[inside], return_inverse=True)
        return costs, np.bincount(places, self.sample_weight[inside], minlength=len(costs))

    def multiples_of_weights(self: Any, positive: float, negative: float) -> Any:
        """Return the vector of the weights, times one factor for each class."""
        return np.where(self.signs > 0, positive, negative) * self.sample_weight

    def pull_of_classes(self: Any, positive: float = 1.0, negative: float = 1.0) -> tuple[np.ndarray, float]:
        """Return Σ c_i π_i y_i x_i and Σ c_i π_i y_i, where c_i depends on the class."""
        return self.weighted_sum(self.multiples_of_weights(positive, negative))

    # --- decisions --------------------------------------------------------------------------------------------------

    def decisions(self: Any, w, b: float = 0.0) -> Decisions:
        """Return the range of the decision values, and the weight of the rows that are decided positive."""
        values = self.decision_values(w, b)
        positive = total(len(values), lambda part: self.sample_weight[part] @ (values[part] > 0))
        return Decisions(float(values.min()), float(values.max()), positive)

    def flips_pay(self: Any, w, b: float = 0.0) -> bool:
        """Return whether 2 m_i > κ_i for some row."""
        return bool(np.any(2.0 * self.margins(w, b) > self.flip_cost))

    # --- sizes ------------------------------------------------------------------------------------------------------

    def typical_row_norm(self: Any, of_features=None) -> float:
        """Return the mean p-norm of the rows, as a scale for shifts: of the nonzero ones (1 if there are none).

        With factors `of_features`, it is the mean over all rows.
        """
        norms = self.row_norms(of_features)
        if of_features is not None:
            return float(self.sample_weight @ norms)
        positive = norms > 0
        return float(np.average(norms[positive], weights=self.sample_weight[positive])) if positive.any() else 1.0

    def row_norms(self: Any, of_features=None) -> np.ndarray:
        """Return the p-norm of every row, whose entries are multiplied by factors `of_features`."""
        blocks = (self.X[part] for part in row_blocks(self.X))
        scaled = blocks if of_features is None else (block * of_features[None, :] for block in blocks)
        return np.concatenate([row_norms(block, self.norm.p) for block in scaled])

    @cached_property
    def column_sizes(self: Any) -> np.ndarray:
        """The root mean square of every feature; Σ_i (α_i + β_i) |x_ij| is at most this."""
        return np.sqrt(self.column_squares())

    def column_squares(self: Any) -> np.ndarray:
        """Return Σ_i π_i x_ij² for every feature."""
        if sparse.issparse(self.X):
            entries = self.X.data.astype(np.float64) ** 2 * np.repeat(self.sample_weight, np.diff(self.X.indptr))
            return np.bincount(self.X.indices, entries, minlength=self.n_features)

        def squares(block):
            rows = np.asarray(self.X[block], dtype=np.float64)
            return np.einsum("ij,ij,i->j", rows, rows, self.sample_weight[block])

        return np.sum(over(row_blocks(self.X), squares), axis=0)

    def typical_flip_cost(self: Any) -> float:
        """Return the median of the costs of a flip that are finite and not 0; inf if there are none."""
        costs = np.atleast_1d(self.flip_cost)
        costs = costs[np.isfinite(costs) & (costs > 0)]
        return float(np.median(costs)) if len(costs) else np.inf

    def moments(self: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted means and deviations of dense columns."""
        return moments(self.X, self.sample_weight / self.sample_weight.sum())

    def pull_variances(self: Any, pilot=None, counts=None) -> "PullVariances":
        """Return the sums for the pull of rows with random labels (see `learn/radius_rule.py`).

        They are over the rows that are active at a pilot solution, or over all. `counts` says how many rows each given
        row represents; by default one.
        """
        # A row that represents k rows contributes k independent pulls with a k-th of its weight each.
        counts = 1.0 if counts is None else self.to_kept_rows(np.asarray(counts, dtype=np.float64))
        variances = self.sample_weight**2 / counts
        if pilot is not None:
            variances = np.where(self.margins(*pilot) < 1.0, variances, 0.0)
        sums, squares = np.zeros(self.n_features), np.zeros(self.n_features)
        for block in row_blocks(self.X):
            rows = self.X[block].astype(np.float64)
            sums += rows.T @ variances[block]
            squares += (rows.multiply(rows) if sparse.issparse(rows) else rows * rows).T @ variances[block]
            tell(block.stop / self.n_rows)
        return PullVariances(sums, squares, float(variances.sum()))

    # --- samples ----------------------------------------------------------------------------------------------------

    def drawn(self: Any, size: int) -> Any:
        """Return the problem on about so many rows, with weights that sum to 1; the order of the rows does not matter.

        Its rows are in arrays, here.
        """
        return self.subset(self.drawn_rows(size))

    def drawn_by_class(self: Any, size: int) -> Any:
        """Return the problem on a random sample in which large classes have so many rows, but the same weight."""
        members = [np.flatnonzero(self.signs == sign) for sign in (-1.0, 1.0)]
        drawn, weights = [], []
        for places, all_of_class in zip(drawn_members([len(one) for one in members], size), members, strict=True):
            few = all_of_class[places]
            share = self.sample_weight[few]
            drawn.append(few)
            weights.append(share * (self.sample_weight[all_of_class].sum() / share.sum()))
        return self.subset(np.concatenate(drawn), np.concatenate(weights))

    def drawn_rows(self: Any, size: int) -> np.ndarray:
        """Draw rows by their contents."""
        key = self.margins(np.random.default_rng(0).normal(size=self.n_features))
        n = len(key)
        scale = 1e6 / (total(n, lambda part: np.abs(key[part]).sum()) / n or 1.0)

        def small(part):
            """Replace the keys by numbers from 0 to 1, and return the rows of those that are small."""
            key[part] *= scale
            key[part] -= np.floor(key[part])
            return part.start + np.flatnonzero(key[part] <= 4.0 * size / n)

        few = np.concatenate(over_parts(n, small))
        few = few if len(few) > size else np.arange(n)  # with many equal rows the keys are not uniform
        drawn = few[key[few] <= np.partition(key[few], size)[size]]
        return drawn[:: max(1, len(drawn) // size)]  # equal rows can make this too many
