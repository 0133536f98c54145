"""How far rows have moved along a line: optimal transport, exact by sorting.

A row has a number for every class, such as its signed distance from where that class
begins. The distance of two distributions F and G on the line is ∫ |F − G| [1]_. Rows
before and after have masses of opposite signs, so that any two groups of rows are
compared by a vector of masses, whose cumulative sums are F − G.

References
----------
.. [1] S. S. Vallender, "Calculation of the Wasserstein distance between probability
   distributions on the line", Theory of Probability and Its Applications 18, 1974.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.random import Generator

# The largest number of random splits, and of numbers in all splits of many rows
MOST_SPLITS = 999
MOST_VALUES = 10_000_000
# Of sums of masses, and of distances that are equal
ROUNDING = 1e-12


class Pooled:
    """Numbers of rows before and after, (number of classes, n), in their order."""

    def __init__(self, before: np.ndarray, after: np.ndarray):
        pooled = np.concatenate([before, after], axis=1)
        self.order = np.argsort(pooled, axis=1)
        ranked = np.take_along_axis(pooled, self.order, axis=1)
        # The difference of equal infinite numbers is NaN, but there is no gap.
        with np.errstate(invalid="ignore"):
            gaps = np.diff(ranked, axis=1)
        self.gaps = np.where(ranked[:, 1:] > ranked[:, :-1], gaps, 0.0)
        self.n_before = before.shape[1]
        self.n_after = after.shape[1]

    def masses(self) -> np.ndarray:
        """Return equal masses of sum 1 for the rows before, and −1 for those after."""
        before = np.full(self.n_before, 1.0 / self.n_before)
        return np.append(before, np.full(self.n_after, -1.0 / self.n_after))

    def distances(self, masses: np.ndarray) -> np.ndarray:
        """Return ∫ |F − G| for every class."""
        differences = np.cumsum(masses[self.order], axis=1)
        moved = np.abs(differences[:, :-1])
        # Gaps may be infinite: where no mass crosses them, they do not count.
        with np.errstate(invalid="ignore"):
            costs = moved * self.gaps
        return np.where(moved > ROUNDING, costs, 0.0).sum(axis=1)


def by_chance(
    statistic: Callable[[np.ndarray], float],
    masses: np.ndarray,
    cost: int,
    confidence: float,
    random: Generator,
) -> float:
    """Return what a statistic of the masses exceeds with probability 1 − confidence.

    This is a permutation test: rows are split at random. With rows drawn from one
    population, the statistic of a new sample exceeds the value no more often, since the
    split that was observed counts as one of the random ones [1]_. `cost` is the number
    of values that a split takes.

    References
    ----------
    .. [1] B. Phipson and G. K. Smyth, "Permutation P-values should never be zero",
       Statistical Applications in Genetics and Molecular Biology 9, 2010.
    """
    affordable = min(MOST_SPLITS, MOST_VALUES // cost)
    n_splits = max(affordable, math.ceil(1.0 / (1.0 - confidence)))
    found = np.zeros(n_splits)
    for split in range(n_splits):
        found[split] = statistic(random.permuted(masses))
    rank = min(math.ceil(confidence * (n_splits + 1)), n_splits)
    # An equal statistic must not exceed it by a rounding error.
    return float(np.sort(found)[rank - 1] * (1.0 + ROUNDING))


def expected_errors(before: np.ndarray, codes: np.ndarray, after: np.ndarray) -> float:
    """Return the share of errors if rows moved as little as possible, in their order.

    They keep their labels. A row of class k is an error where its distance from the
    boundary of k arrives at or below 0. Equal numbers share alike where they arrive.
    """
    n = len(codes)
    mass = np.arange(1, n + 1) / n
    total = 0.0
    for code, (old, new) in enumerate(zip(before, after, strict=True)):
        order = np.argsort(old)
        of_class = np.cumsum(codes[order] == code) / n
        # The last of equal numbers: the mass in between is shared by all of them.
        ranked = old[order]
        last = np.append(np.flatnonzero(ranked[1:] > ranked[:-1]), n - 1)
        arrived = np.mean(new <= 0.0)
        # Of the rows that are now at or below 0, this share is of the class.
        known = np.append(0.0, mass[last])
        shares = np.append(0.0, of_class[last])
        total += float(np.interp(arrived, known, shares))
    return min(total, 1.0)
