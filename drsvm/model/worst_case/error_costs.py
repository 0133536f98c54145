"""The largest expected cost of errors, where missing a row of class k costs c_k.

With the label k, which costs a flip unless it is the row's own, a row is an error at the price p_k: the cost of the
flip and of a shift to where k is not predicted. The adversary chooses for every row among these options (p_k, c_k).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from drsvm.model import validation
from drsvm.model.risk import knapsack
from drsvm.model.worst_case.adversary import Adversary
from drsvm.model.worst_case.confidence import OF_BANDS, PRICE_GRID, band, limits_of_means


def check_costs(costs, classes: np.ndarray) -> np.ndarray:
    """Return what missing a row of each class costs."""
    labels = classes.tolist()
    if costs is None:
        return np.ones(len(labels))
    given = costs if isinstance(costs, Mapping) else dict(zip(labels, costs, strict=False))
    if set(given) != set(labels) or len(costs) != len(labels):
        raise ValueError(f"costs must have one entry per class, {labels!r}, got costs={costs!r}.")
    values = np.array([validation.check_number(given[label], f"costs[{label!r}]") for label in labels])
    if not values.any():
        raise ValueError(f"costs={costs!r}: one of the costs must be above 0.")
    return values


@dataclass(frozen=True, eq=False)
class ErrorCosts:
    """The options of an adversary for every row, and what follows for the sample and the population."""

    adversary: Adversary
    costs: np.ndarray  # by class

    @cached_property
    def prices(self) -> np.ndarray:
        """p_k of all rows, of shape (number of classes, n)."""
        data = self.adversary.data
        predicted, rows = data.values.argmax(axis=0), np.arange(len(data.codes))
        prices = np.zeros(data.values.shape)
        prices[predicted, rows] = replace(self.adversary, data=replace(data, codes=predicted)).distances
        return prices + np.where(np.arange(len(prices))[:, None] == data.codes, 0.0, self.adversary.problem.flip_costs)

    @cached_property
    def levels(self) -> np.ndarray:
        """The different costs, from the lowest."""
        return np.unique(self.costs[self.costs > 0.0])

    def in_sample(self, radii: np.ndarray, limit: str) -> np.ndarray:
        """Return the largest expected cost, with rows shifted by the radii on average or at most."""
        return self._each_row(radii) if limit == "row" else self._on_average(radii)

    def _each_row(self, radii) -> np.ndarray:
        total = np.zeros(len(radii))
        for level, more in zip(self.levels, np.diff(self.levels, prepend=0.0), strict=True):
            cheapest = self.prices[self.costs >= level].min(axis=0)
            order = np.argsort(cheapest)
            masses = np.append(0.0, np.cumsum(self.adversary.data.weights[order]))
            total += more * masses[np.searchsorted(cheapest[order], radii, side="right")]
        return np.minimum(total, self.levels[-1])

    def _on_average(self, radii) -> np.ndarray:
        weights = self.adversary.data.weights
        steps = [np.stack([price, gain, weights]) for price, gain in self._envelopes()]
        prices, gains, weights = np.concatenate(steps, axis=1)
        return np.minimum(knapsack(prices, gains, weights, radii), self.levels[-1])

    def _envelopes(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the next step of every row on the concave envelope of its options: its price, and what it gains."""
        costs = self.costs[:, None]
        paid, gained = np.zeros(self.prices.shape[1]), np.where(self.prices == 0.0, costs, 0.0).max(axis=0)
        yield paid, gained
        for _ in self.levels:
            with np.errstate(divide="ignore", invalid="ignore"):
                slopes = np.where(costs > gained, (costs - gained) / (self.prices - paid), 0.0)
            best = slopes.argmax(axis=0), np.arange(len(gained))
            rises = slopes[best] > 0.0
            price, gain = np.where(rises, self.prices[best], paid), np.where(rises, self.costs[best[0]], gained)
            yield price - paid, gain - gained
            paid, gained = price, gain

    def in_population(self, radii: np.ndarray, limit: str, confidence: float, n: int) -> np.ndarray:
        """Return what the largest expected cost is below with this confidence, for all radii at once."""
        if len(self.levels) == 1 or limit == "row":
            return self._by_bands(radii, limit, confidence, n)
        if np.isfinite(self.adversary.problem.flip_costs).any():
            return self._by_prices_of_radius(radii, confidence, n)
        bands, prices = (1.0 - part * (1.0 - confidence) for part in (OF_BANDS, 1.0 - OF_BANDS))
        return np.minimum(self._by_bands(radii, limit, bands, n), self._by_prices_of_radius(radii, prices, n))

    def _by_bands(self, radii, limit: str, confidence: float, n: int) -> np.ndarray:
        extra = self.levels[-1] * band(confidence, n, len(self.levels))
        return np.minimum(self.in_sample(radii, limit) + extra, self.levels[-1])

    def _by_prices_of_radius(self, radii, confidence: float, n: int) -> np.ndarray:
        weights, shares = self.adversary.data.weights, self.costs[:, None] / self.levels[-1]
        net = [weights @ np.maximum(shares - price * self.prices, 0.0).max(axis=0) for price in PRICE_GRID]
        limits = limits_of_means(np.minimum(net, 1.0), np.log(len(PRICE_GRID) / (1.0 - confidence)) / n)
        return self.levels[-1] * np.minimum(np.multiply.outer(radii, PRICE_GRID) + limits, 1.0).min(axis=1)
