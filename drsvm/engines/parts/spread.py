"""How weighted numbers of all rows are spread: quantiles from histograms, without fetching the numbers.

Numbers are sorted into bins. The bin in which a sum over the first numbers exceeds a goal is sorted into bins again,
and so on, until few distinct numbers are left: these are fetched, so the answer is exact.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from drsvm.engines.parts.answers import Distinct

BINS = 4096
"""Number of bins of a histogram."""

FEW = 1 << 12
"""At most this many distinct numbers are fetched."""

MASS, MOMENT = 0, 1
"""Positions of Σ mass and of Σ mass · number in pairs of sums."""


class Level(NamedTuple):
    """Bins between two limits, from the low one up or from the high one down; `high` may be infinite."""

    low: float
    high: float
    unit: float  # with an infinite limit: half of the bins lie within this distance of `low`
    descending: bool = False

    def bins_of(self, numbers) -> np.ndarray:
        """Return the bins of numbers; a number beyond a limit is in the first or in the last one."""
        distance = numbers - self.low
        share = distance / (distance + self.unit) if math.isinf(self.high) else distance / (self.high - self.low)
        bins = np.fmin(np.maximum(share, 0.0) * BINS, BINS - 1).astype(np.int64)  # the share of infinity is NaN
        return BINS - 1 - bins if self.descending else bins

    def inside(self, number: int) -> "Level":
        """Return the bins between the limits of a bin, up to rounding."""
        first = BINS - 1 - number if self.descending else number
        low, high = self._edge(first), self._edge(first + 1)
        return Level(low, high, max(low - self.low, self.unit), self.descending)

    def _edge(self, number: int) -> float:
        if math.isfinite(self.high):
            return self.low + (self.high - self.low) * (number / BINS)
        return self.low + self.unit * number / (BINS - number) if number < BINS else math.inf


Path = tuple[tuple[Level, int], ...]
"""A bin at some levels, and a bin in it at the next …"""


@dataclass(frozen=True)
class Spread:
    """Sums of mass and of mass · number: before the bin at the end of a path, and in the bins inside it."""

    before: np.ndarray  # (2,)
    bins: np.ndarray  # (2, BINS)
    numbers: Distinct | None  # the numbers inside, if there are few

    @classmethod
    def of(cls, numbers, masses, path: Path, level: Level) -> "Spread":
        """Return how numbers are spread at the end of a path."""
        before = np.zeros(2)
        for outer, wanted in path:
            bins = outer.bins_of(numbers)
            early, inside = bins < wanted, bins == wanted
            before += masses[early].sum(), masses[early] @ numbers[early]
            numbers, masses = numbers[inside], masses[inside]
        found, moments = level.bins_of(numbers), masses * numbers
        sums = np.stack([np.bincount(found, values, minlength=BINS) for values in (masses, moments)])
        return cls(before, sums, _if_few(numbers, masses))

    def __add__(self, other: "Spread") -> "Spread":
        numbers = None
        if self.numbers is not None and other.numbers is not None:
            together = self.numbers + other.numbers
            numbers = together if len(together.numbers) <= FEW else None
        return Spread(self.before + other.before, self.bins + other.bins, numbers)

    @property
    def total(self) -> np.ndarray:
        """Sums over all numbers up to the end of the bin."""
        return self.before + self.bins.sum(axis=1)

    def first_above(self, goal: float, which: int) -> int:
        """Return the bin in which the sum over the first numbers exceeds the goal; at most the last that is used."""
        sums = self.before[which] + np.cumsum(self.bins[which])
        last = int(np.flatnonzero(self.bins[MASS])[-1])
        return min(int(np.searchsorted(sums, goal, side="right")), last)


def _if_few(numbers, masses) -> Distinct | None:
    if len(numbers) > FEW and numbers.min() < numbers.max():
        return None
    return Distinct.of(numbers, masses)


class Crossing(NamedTuple):
    """The number at which a sum over the first numbers exceeds a goal, and the sums over those before it."""

    number: float
    mass: float
    moment: float


def crossing(look: Callable[[Path, Level], Spread], level: Level, goal: float, which: int) -> Crossing:
    """Find where the sum of masses, or of moments, over the first numbers exceeds a goal; the total must exceed it.

    `look` returns how the numbers of all rows are spread.
    """
    path: Path = ()
    while True:
        spread = look(path, level)
        if spread.numbers is not None:
            break
        chosen = spread.first_above(goal, which)
        path, level = (*path, (level, chosen)), level.inside(chosen)
    numbers, masses = (values[::-1] if level.descending else values for values in spread.numbers)
    sums = spread.before[:, None] + np.cumsum([masses, masses * numbers], axis=1)
    first = min(int(np.searchsorted(sums[which], goal, side="right")), len(numbers) - 1)
    mass, moment = sums[:, first - 1] if first > 0 else spread.before
    return Crossing(float(numbers[first]), float(mass), float(moment))
