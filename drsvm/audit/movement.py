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

# The largest number of random splits: with the observed one they are 1,000, of which
# the usual quantiles are whole ranks
MOST_SPLITS = 999
# The largest number of values in all splits, which limits the time for many rows
MOST_VALUES = 10_000_000
# Of sums of masses, and of distances that are equal
ROUNDING = 1e-12


class Pooled:
    """Rows before and after, in the order of their numbers.

    Parameters
    ----------
    before, after : arrays of shape (number of classes, number of rows)
        The numbers of the rows, one for each class.

    Attributes
    ----------
    order : array of shape (number of classes, number of all rows)
        For each class, the places of all rows in the order of its numbers.
    gaps : array of shape (number of classes, number of all rows − 1)
        The differences of neighbours in this order.
    """

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
        """Return ∫ |F − G| for every class, with the masses of all rows."""
        # F − G between each number and the next
        differences = np.cumsum(masses[self.order], axis=1)
        moved = np.abs(differences[:, :-1])
        # Gaps may be infinite: where no mass crosses them, they do not count.
        with np.errstate(invalid="ignore"):
            costs = moved * self.gaps
        return np.where(moved > ROUNDING, costs, 0.0).sum(axis=1)


def by_chance(
    statistic: Callable[[np.ndarray], float],
    masses: np.ndarray,
    n_values: int,
    confidence: float,
    random: Generator,
) -> float:
    """Return what a statistic of the masses exceeds with probability 1 − confidence.

    This is a permutation test: rows are split at random. With rows drawn from one
    population, the statistic of a new sample exceeds the value no more often, since the
    split that was observed counts as one of the random ones [1]_.

    Parameters
    ----------
    statistic : callable
        A function of masses, positive for rows before and negative for those after.
    masses : array of shape (number of all rows,)
        Those of the split that was observed.
    n_values : int
        The number of values that the statistic looks at, which limits the splits.
    confidence : float
        The probability that the statistic does not exceed the value.
    random : Generator
        Of the random splits.

    Returns
    -------
    float
        The value.

    References
    ----------
    .. [1] B. Phipson and G. K. Smyth, "Permutation P-values should never be zero",
       Statistical Applications in Genetics and Molecular Biology 9, 2010.
    """
    affordable = min(MOST_SPLITS, MOST_VALUES // n_values)
    # With fewer splits than that, not even the largest statistic is rare enough.
    needed = math.ceil(1.0 / (1.0 - confidence))
    n_splits = max(affordable, needed)
    found = np.zeros(n_splits)
    for split in range(n_splits):
        found[split] = statistic(random.permuted(masses))
    rank = min(math.ceil(confidence * (n_splits + 1)), n_splits)
    # An equal statistic must not exceed it by a rounding error.
    return float(np.sort(found)[rank - 1] * (1.0 + ROUNDING))


def expected_errors(before: np.ndarray, codes: np.ndarray, after: np.ndarray) -> float:
    """Return the share of errors if rows moved as little as possible, in their order.

    The least movement on a line is the monotone coupling: the lowest share of the rows
    before becomes the lowest share of those after. Rows keep their labels. A row of
    class k is an error where its distance from the boundary of k arrives at or below 0.

    Parameters
    ----------
    before : array of shape (number of classes, n)
        The signed distances of the rows before.
    codes : array of shape (n,)
        Their classes.
    after : array of shape (number of classes, number of new rows)
        The signed distances of the rows after.

    Returns
    -------
    float
        The share of errors.
    """
    n = len(codes)
    mass = np.arange(1, n + 1) / n
    total = 0.0
    for code, (old, new) in enumerate(zip(before, after, strict=True)):
        order = np.argsort(old)
        of_class = np.cumsum(codes[order] == code) / n
        # Equal numbers share alike where they arrive: up to the last of them, the mass
        # of the class grows evenly.
        ranked = old[order]
        last = np.append(np.flatnonzero(ranked[1:] > ranked[:-1]), n - 1)
        # The lowest rows of this share arrive at or below 0. How much of that mass is
        # of the class?
        arrived = np.mean(new <= 0.0)
        known = np.append(0.0, mass[last])
        shares = np.append(0.0, of_class[last])
        total += float(np.interp(arrived, known, shares))
    return min(total, 1.0)
