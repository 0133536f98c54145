"""How far rows have moved along a line: optimal transport between distributions of numbers, which is exact by sorting.

A row has a number for every class, such as its signed distance from where that class
begins. Rows before and after have masses of opposite signs, so that any two groups of
rows are compared by a vector of masses.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.random import Generator

# random splits of few rows, and numbers in all the splits of many
MOST_SPLITS = 999
VALUES = 10_000_000

ROUNDING = 1e-12  # of sums of masses, and of distances that are equal


class Pooled:
    """The numbers of rows before and after, of shape (number of classes, n), in their order."""

    def __init__(self, before: np.ndarray, after: np.ndarray):
        pooled = np.concatenate([before, after], axis=1)
        self.order = np.argsort(pooled, axis=1)
        ranked = np.take_along_axis(pooled, self.order, axis=1)
        with np.errstate(invalid="ignore"):  # of equal numbers, which may be infinite
            self.gaps = np.where(
                ranked[:, 1:] > ranked[:, :-1], np.diff(ranked, axis=1), 0.0
            )
        self.n_before = before.shape[1]
        self.n_after = after.shape[1]

    def masses(self) -> np.ndarray:
        """Return equal masses of the rows before, and of those after with a minus, which sum to 1 and −1."""
        return np.repeat(
            [1.0 / self.n_before, -1.0 / self.n_after], [self.n_before, self.n_after]
        )

    def distances(self, masses: np.ndarray) -> np.ndarray:
        """Return ∫ |F − G| for every class."""
        moved = np.abs(np.cumsum(masses[self.order], axis=1)[:, :-1])
        with np.errstate(invalid="ignore"):
            # Gaps may be infinite
            return np.where(moved > ROUNDING, moved * self.gaps, 0.0).sum(axis=1)


def by_chance(
    statistic: Callable[[np.ndarray], float],
    masses: np.ndarray,
    cost: int,
    confidence: float,
    random: Generator,
) -> float:
    """Return what a statistic of the masses exceeds with probability 1 − confidence if rows are split at random.

    With rows drawn from one population, the statistic of a new sample exceeds it no
    more often. `cost` is how many numbers a split takes.
    """
    n_splits = max(
        min(MOST_SPLITS, VALUES // cost), math.ceil(1.0 / (1.0 - confidence))
    )
    found = np.sort([statistic(random.permuted(masses)) for _ in range(n_splits)])
    return float(
        found[min(math.ceil(confidence * (n_splits + 1)), n_splits) - 1]
        * (1.0 + ROUNDING)
    )


def expected_errors(before: np.ndarray, codes: np.ndarray, after: np.ndarray) -> float:
    """Return the share of errors after rows have moved as little as possible, in their order, and kept their labels.

    A row of class k is an error where its distance from the boundary of k arrives at or
    below 0. Equal numbers share alike where they arrive.
    """
    total = 0.0
    for code, (old, new) in enumerate(zip(before, after, strict=True)):
        order = np.argsort(old)
        # Of equal numbers
        last = np.append(
            np.flatnonzero(old[order][1:] > old[order][:-1]), len(order) - 1
        )
        mass = np.arange(1, len(order) + 1) / len(order)
        of_class = np.cumsum(codes[order] == code) / len(order)
        arrived = np.mean(new <= 0.0)
        total += float(
            np.interp(
                arrived, np.append(0.0, mass[last]), np.append(0.0, of_class[last])
            )
        )
    return min(total, 1.0)
