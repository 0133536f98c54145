"""The largest expected cost of errors, where missing a row of class k costs c_k.

With the label k, which costs a flip unless it is the row's own, a row is an error at
the cost p_k: that of the flip and of a shift to where k is not predicted. The adversary
chooses for every row among these options (p_k, c_k). As mass can be divided, the best
choice is a fractional knapsack [1]_: what gains most for its cost comes first.

References
----------
.. [1] G. B. Dantzig, "Discrete-variable extremum problems", Operations Research 5,
   1957.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from drsvm.audit.adversary import Adversary
from drsvm.audit.confidence import band, limits_of_means
from drsvm.audit.decision_values import values_at
from drsvm.problem import validation
from drsvm.problem.risk import knapsack
from drsvm.utils.annotations import Values
from drsvm.utils.lazy import cached_property

# The part of δ that the bands have where both bounds are tried: they are the better
# ones unless high costs are rare
PART_OF_BANDS = 0.8
# λ in units of the largest cost, fixed before any row is seen: Chernoff's inequality
# holds for each λ, and δ is divided by their number
RADIUS_PRICES = 2.0 ** np.arange(-12.0, 12.01, 0.25)


def check_costs(costs: Values, classes: np.ndarray) -> np.ndarray:
    """Return what missing a row of each class costs."""
    labels = classes.tolist()
    if costs is None:
        return np.ones(len(labels))
    if isinstance(costs, Mapping):
        given = costs
    else:
        given = dict(zip(labels, costs, strict=False))
    if set(given) != set(labels) or len(costs) != len(labels):
        raise ValueError(
            f"costs must have one entry per class, {labels!r}, got costs={costs!r}."
        )
    values = np.zeros(len(labels))
    for place, label in enumerate(labels):
        values[place] = validation.check_number(given[label], f"costs[{label!r}]")
    if not values.any():
        raise ValueError(f"costs={costs!r}: one of the costs must be above 0.")
    return values


def envelope(costs: np.ndarray, gains: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the options at the corners of the concave envelopes of gains over costs.

    Both are arrays (options, n), with an envelope for each column. The first options
    cost nothing, and a row stays at its last corner.
    """
    corner = np.where(costs == 0.0, gains, -np.inf).argmax(axis=0)
    while True:
        yield corner
        # The next corner is the option with the steepest way up from this one.
        dearer = costs - values_at(costs, corner)
        better = gains - values_at(gains, corner)
        is_up = (dearer > 0.0) & (better > 0.0)
        rates = np.zeros(costs.shape)
        np.divide(better, dearer, out=rates, where=is_up)
        following = np.where(rates.any(axis=0), rates.argmax(axis=0), corner)
        if (following == corner).all():
            return
        corner = following


def largest_gains(
    costs: np.ndarray,
    gains: np.ndarray,
    weights: np.ndarray,
    radii: np.ndarray,
) -> np.ndarray:
    """Return the largest expected gain for every radius, with one option for each row.

    It is the value of a knapsack over the steps of all rows' envelopes. As these are
    concave, no step of a row comes before the steps on the way to it.
    """
    corners = np.array(list(envelope(costs, gains)))
    costs_of_corners = np.take_along_axis(costs, corners, axis=0)
    gains_of_corners = np.take_along_axis(gains, corners, axis=0)
    paid = np.diff(costs_of_corners, axis=0, prepend=0.0)
    won = np.diff(gains_of_corners, axis=0, prepend=0.0)
    weights = np.tile(weights, len(corners))
    return knapsack(paid.ravel(), won.ravel(), weights, radii)


@dataclass(frozen=True, eq=False)
class ErrorCosts:
    """The options of an adversary for every row, and the largest expected costs."""

    adversary: Adversary
    # c_k, by class
    costs: np.ndarray

    @cached_property
    def attack_costs(self) -> np.ndarray:
        """p_k of all rows, of shape (number of classes, n)."""
        data = self.adversary.data
        n_classes, n = data.values.shape
        predicted = data.values.argmax(axis=0)
        # With any label but the predicted one, a row is an error without a shift. With
        # that one, it costs the way to the nearest boundary.
        shifts = np.zeros((n_classes, n))
        as_predicted = replace(self.adversary, data=replace(data, codes=predicted))
        beyond = as_predicted.distances - self.adversary.row_radii
        shifts[predicted, np.arange(n)] = np.maximum(beyond, 0.0)
        is_own = np.arange(n_classes)[:, None] == data.codes
        return shifts + np.where(is_own, 0.0, self.adversary.problem.flip_costs)

    @cached_property
    def levels(self) -> np.ndarray:
        """The different costs of errors above 0, in increasing order."""
        return np.unique(self.costs[self.costs > 0.0])

    @property
    def weights(self) -> np.ndarray:
        """The masses of the rows."""
        return self.adversary.data.weights

    def in_sample(self, radii: np.ndarray, limit: str) -> np.ndarray:
        """Return the largest expected cost for all radii.

        Rows are shifted by a radius on average, or, with the limit "row", at most.
        """
        if limit == "row":
            risks = self._each_row(radii)
        else:
            # The first option is to do nothing.
            costs = np.insert(self.attack_costs, 0, 0.0, axis=0)
            gains = np.insert(self.costs, 0, 0.0)
            gains = np.broadcast_to(gains[:, None], costs.shape)
            risks = largest_gains(costs, gains, self.weights, radii)
        # Rounding errors of sums must not exceed what an error can cost.
        return np.minimum(risks, self.levels[-1])

    def _each_row(self, radii: np.ndarray) -> np.ndarray:
        """Return the expected costs if every row may be shifted by a radius.

        They are a sum over the levels: the mass of rows that can be made to cost a
        level or more, times the step from the level below.
        """
        total = np.zeros(len(radii))
        steps = np.diff(self.levels, prepend=0.0)
        for level, step in zip(self.levels, steps, strict=True):
            cheapest = self.attack_costs[self.costs >= level].min(axis=0)
            order = np.argsort(cheapest)
            masses = np.append(0.0, np.cumsum(self.weights[order]))
            reached = np.searchsorted(cheapest[order], radii, side="right")
            total += step * masses[reached]
        return total

    def in_population(
        self,
        radii: np.ndarray,
        limit: str,
        confidence: float,
        n: int,
    ) -> np.ndarray:
        """Return bounds on the largest expected cost in the population of n rows.

        They hold with this confidence, for all radii at once.
        """
        if len(self.levels) == 1 or limit == "row":
            return self._by_bands(radii, limit, confidence, n)
        delta = 1.0 - confidence
        if np.isfinite(self.adversary.problem.flip_costs).any():
            return self._by_radius_prices(radii, delta, n)
        # Both bounds hold: each has a part of the probability of an error.
        of_bands = PART_OF_BANDS * delta
        by_bands = self._by_bands(radii, limit, 1.0 - of_bands, n)
        by_radius_prices = self._by_radius_prices(radii, delta - of_bands, n)
        return np.minimum(by_bands, by_radius_prices)

    def at_least(
        self,
        radii: np.ndarray,
        limit: str,
        confidence: float,
        n: int,
    ) -> np.ndarray:
        """Return what the largest expected cost in the population is at least.

        This holds with this confidence, for all radii at once.
        """
        flips = np.isfinite(self.adversary.problem.flip_costs).any()
        if flips and len(self.levels) > 1 and limit == "average":
            # Bands do not bound it, and nothing costs less than 0.
            return np.zeros(len(radii))
        extra = self._width_of_bands(confidence, n)
        return np.maximum(self.in_sample(radii, limit) - extra, 0.0)

    def _width_of_bands(self, confidence: float, n: int) -> float:
        """Return by how much sample and population differ at most, to one side."""
        return self.levels[-1] * band(confidence, n, len(self.levels))

    def _by_bands(
        self,
        radii: np.ndarray,
        limit: str,
        confidence: float,
        n: int,
    ) -> np.ndarray:
        """Return bounds by bands around the distributions of costs, for each level."""
        extra = self._width_of_bands(confidence, n)
        return np.minimum(self.in_sample(radii, limit) + extra, self.levels[-1])

    def _by_radius_prices(self, radii: np.ndarray, delta: float, n: int) -> np.ndarray:
        """Return bounds by Chernoff's inequality for every price of the radius.

        One of them is exceeded with a probability of at most delta.
        """
        largest = self.levels[-1]
        shares = self.costs[:, None] / largest
        # E max_k (c_k − λ p_k)₊ in the sample, in units of the largest cost
        means = np.zeros(len(RADIUS_PRICES))
        for place, radius_price in enumerate(RADIUS_PRICES):
            net = np.maximum(shares - radius_price * self.attack_costs, 0.0)
            means[place] = self.weights @ net.max(axis=0)
        exponent = np.log(len(RADIUS_PRICES) / delta) / n
        limits = limits_of_means(np.minimum(means, 1.0), exponent)
        bounds = np.multiply.outer(radii, RADIUS_PRICES) + limits
        return largest * np.minimum(bounds, 1.0).min(axis=1)
