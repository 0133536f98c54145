"""Exact quantiles of weighted numbers, one per row, from histograms of the shards.

Numbers are sorted into bins. The bin in which a sum over the first numbers exceeds a
goal is sorted into bins again, and so on, until few distinct numbers are left: these
are fetched, so the answer is exact.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from drsvm.problem.reducers import Distinct

N_BINS = 4096  # number of bins of a histogram: 64 kB for both sums
FEW = 1 << 12  # at most this many distinct numbers are fetched: as many bytes
# Positions of Σ mass and of Σ mass · number in pairs of sums
MASS = 0
MOMENT = 1


class Bins(NamedTuple):
    """Bins between two limits, from the low one up or from the high one down.

    `high` may be infinite.
    """

    low: float
    high: float
    # With an infinite limit: half of the bins lie within this distance of `low`
    unit: float
    descending: bool = False

    def bins_of(self, numbers) -> np.ndarray:
        """Return the bins of numbers.

        A number beyond a limit is in the first or in the last one.
        """
        distance = numbers - self.low
        if math.isinf(self.high):
            # This maps 0 … unit … ∞ to 0 … ½ … 1.
            share = distance / (distance + self.unit)
        else:
            share = distance / (self.high - self.low)
        # For the number infinity the share is NaN, which fmin puts into the last bin.
        bins = np.fmin(np.maximum(share, 0.0) * N_BINS, N_BINS - 1).astype(np.int64)
        if self.descending:
            return N_BINS - 1 - bins
        return bins

    def inside(self, number: int) -> "Bins":
        """Return the bins between the limits of a bin, up to rounding."""
        first = number
        if self.descending:
            first = N_BINS - 1 - number
        low = self._edge(first)
        high = self._edge(first + 1)
        return Bins(low, high, max(low - self.low, self.unit), self.descending)

    def _edge(self, number: int) -> float:
        """Return the number at which a share of number / N_BINS is reached."""
        if math.isfinite(self.high):
            return self.low + (self.high - self.low) * (number / N_BINS)
        if number < N_BINS:
            return self.low + self.unit * number / (N_BINS - number)
        return math.inf


# A bin, a bin of finer ones inside it, and so on
Path = tuple[tuple[Bins, int], ...]


@dataclass(frozen=True, eq=False)
class Histogram:
    """Sums of mass and of mass · number, at the end of a path of finer and finer bins.

    These are the sums over all numbers before the last bin of the path, and over those
    in each of the bins inside it.
    """

    before: np.ndarray  # (2,)
    bins: np.ndarray  # (2, N_BINS)
    numbers: Distinct | None  # the numbers inside, if there are few

    @classmethod
    def of(cls, numbers, masses, path: Path, bins: Bins) -> "Histogram":
        """Return the histogram of some rows.

        Limits of bins are rounded, so a number is followed along the path: that it is
        in the bin at its end is what puts it into one of the bins inside.
        """
        before = np.zeros(2)
        for outer, wanted in path:
            places = outer.bins_of(numbers)
            early = places < wanted
            inside = places == wanted
            before += masses[early].sum(), masses[early] @ numbers[early]
            numbers = numbers[inside]
            masses = masses[inside]
        places = bins.bins_of(numbers)
        sums = np.empty((2, N_BINS))
        sums[MASS] = np.bincount(places, masses, minlength=N_BINS)
        sums[MOMENT] = np.bincount(places, masses * numbers, minlength=N_BINS)
        distinct = None
        if len(numbers) <= FEW or numbers.min() == numbers.max():
            distinct = Distinct.of(numbers, masses)
        return cls(before, sums, distinct)

    def __add__(self, other: "Histogram") -> "Histogram":
        numbers = None
        if self.numbers is not None and other.numbers is not None:
            together = self.numbers + other.numbers
            if len(together.numbers) <= FEW:
                numbers = together
        return Histogram(self.before + other.before, self.bins + other.bins, numbers)

    @property
    def total(self) -> np.ndarray:
        """Sums over all numbers up to the end of the bin."""
        return self.before + self.bins.sum(axis=1)


def crossing(
    histogram_of: Callable[[Path, Bins], tuple[Histogram, Any]],
    bins: Bins,
    goal: float,
    which: int,
) -> tuple[float, float, float]:
    """Return the number at which a sum over the first numbers exceeds a goal.

    Parameters
    ----------
    histogram_of : callable
        Returns the histogram of all rows for a path and the bins inside it, and
        something else, which is ignored.
    bins : Bins
        The bins of the first histogram.
    goal : float
        What the sum must exceed.
    which : int
        Whether the sum is that of masses (MASS) or of mass · number (MOMENT).

    Returns
    -------
    number, mass, moment : float
        The number, and both sums over the numbers before it.
    """
    # 1. Refine the bin with the crossing until few distinct numbers are left in it.
    path: Path = ()
    histogram, _ = histogram_of(path, bins)
    while histogram.numbers is None:
        sums = histogram.before[which] + np.cumsum(histogram.bins[which])
        # With rounding errors, no sum may exceed the goal: then it is the last bin
        # with any number.
        last = int(np.flatnonzero(histogram.bins[MASS])[-1])
        chosen = min(int(np.searchsorted(sums, goal, side="right")), last)
        path = (*path, (bins, chosen))
        bins = bins.inside(chosen)
        histogram, _ = histogram_of(path, bins)
    # 2. Find the number among these, in the order of the bins.
    numbers, masses = histogram.numbers
    if bins.descending:
        numbers = numbers[::-1]
        masses = masses[::-1]
    sums = histogram.before[:, None] + np.cumsum([masses, masses * numbers], axis=1)
    first = min(int(np.searchsorted(sums[which], goal, side="right")), len(numbers) - 1)
    mass, moment = histogram.before
    if first > 0:
        mass, moment = sums[:, first - 1]
    return float(numbers[first]), float(mass), float(moment)
