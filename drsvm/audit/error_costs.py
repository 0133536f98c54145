"""The largest expected cost of errors, where missing a row of class k costs c_k.

With the label k, which costs a flip unless it is the row's own, a row is an error at
the price p_k: the cost of the flip and of a shift to where k is not predicted. The
adversary chooses for every row among these options (p_k, c_k).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from drsvm.audit.adversary import Adversary
from drsvm.audit.confidence import OF_BANDS, PRICE_GRID, band, limits_of_means
from drsvm.audit.decision_values import values_at
from drsvm.problem import validation
from drsvm.problem.risk import knapsack


def check_costs(costs, classes: np.ndarray) -> np.ndarray:
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
    values = np.array(
        [validation.check_number(given[label], f"costs[{label!r}]") for label in labels]
    )
    if not values.any():
        raise ValueError(f"costs={costs!r}: one of the costs must be above 0.")
    return values


def envelope(prices: np.ndarray, gains: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the options of all rows at the corners of the concave envelopes of gains over prices: both (options, n).

    The first ones cost nothing, and a row stays at its last corner.
    """
    now = None
    best = np.where(prices == 0.0, gains, -np.inf).argmax(axis=0)
    while now is None or (best != now).any():
        yield (now := best)
        dearer, better = (each - values_at(each, now) for each in (prices, gains))
        rates = np.divide(
            better,
            dearer,
            out=np.zeros(prices.shape),
            where=(dearer > 0.0) & (better > 0.0),
        )
        best = np.where(rates.any(axis=0), rates.argmax(axis=0), now)


@dataclass(frozen=True, eq=False)
class ErrorCosts:
    """The options of an adversary for every row, and what follows for the sample and the population."""

    adversary: Adversary
    costs: np.ndarray  # by class

    @cached_property
    def prices(self) -> np.ndarray:
        """p_k of all rows, of shape (number of classes, n)."""
        data = self.adversary.data
        predicted = data.values.argmax(axis=0)
        rows = np.arange(len(data.codes))
        prices = np.zeros(data.values.shape)
        prices[predicted, rows] = replace(
            self.adversary, data=replace(data, codes=predicted)
        ).distances
        return prices + np.where(
            np.arange(len(prices))[:, None] == data.codes,
            0.0,
            self.adversary.problem.flip_costs,
        )

    @cached_property
    def levels(self) -> np.ndarray:
        return np.unique(self.costs[self.costs > 0.0])

    def in_sample(self, radii: np.ndarray, limit: str) -> np.ndarray:
        """Return the largest expected cost, with rows shifted by the radii on average or at most."""
        if limit == "row":
            return self._each_row(radii)
        return self._on_average(radii)

    def _each_row(self, radii) -> np.ndarray:
        total = np.zeros(len(radii))
        for level, more in zip(
            self.levels, np.diff(self.levels, prepend=0.0), strict=True
        ):
            cheapest = self.prices[self.costs >= level].min(axis=0)
            order = np.argsort(cheapest)
            masses = np.append(0.0, np.cumsum(self.adversary.data.weights[order]))
            total += (
                more * masses[np.searchsorted(cheapest[order], radii, side="right")]
            )
        return np.minimum(total, self.levels[-1])

    def _on_average(self, radii) -> np.ndarray:
        # The first option is none
        prices = np.vstack([np.zeros_like(self.prices[:1]), self.prices])
        gains = np.broadcast_to(np.append(0.0, self.costs)[:, None], prices.shape)
        corners = np.array(list(envelope(prices, gains)))
        at_corners = (
            np.take_along_axis(each, corners, axis=0) for each in (prices, gains)
        )
        paid, won = (np.diff(each, axis=0, prepend=0.0).ravel() for each in at_corners)
        weights = np.tile(self.adversary.data.weights, len(corners))
        return np.minimum(knapsack(paid, won, weights, radii), self.levels[-1])

    def in_population(
        self, radii: np.ndarray, limit: str, confidence: float, n: int
    ) -> np.ndarray:
        """Return what the largest expected cost is below with this confidence, for all radii at once."""
        if len(self.levels) == 1 or limit == "row":
            return self._by_bands(radii, limit, confidence, n)
        if np.isfinite(self.adversary.problem.flip_costs).any():
            return self._by_prices_of_radius(radii, confidence, n)
        bands, prices = (
            1.0 - part * (1.0 - confidence) for part in (OF_BANDS, 1.0 - OF_BANDS)
        )
        return np.minimum(
            self._by_bands(radii, limit, bands, n),
            self._by_prices_of_radius(radii, prices, n),
        )

    def _by_bands(self, radii, limit: str, confidence: float, n: int) -> np.ndarray:
        extra = self.levels[-1] * band(confidence, n, len(self.levels))
        return np.minimum(self.in_sample(radii, limit) + extra, self.levels[-1])

    def _by_prices_of_radius(self, radii, confidence: float, n: int) -> np.ndarray:
        weights = self.adversary.data.weights
        shares = self.costs[:, None] / self.levels[-1]
        net = [
            weights @ np.maximum(shares - price * self.prices, 0.0).max(axis=0)
            for price in PRICE_GRID
        ]
        limits = limits_of_means(
            np.minimum(net, 1.0), np.log(len(PRICE_GRID) / (1.0 - confidence)) / n
        )
        return self.levels[-1] * np.minimum(
            np.multiply.outer(radii, PRICE_GRID) + limits, 1.0
        ).min(axis=1)
