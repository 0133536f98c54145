"""Values that can be added: that of all rows is the sum of those of their shards.

For what is no sum, such as a maximum, addition is defined as what combines two values.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

# What a query returns: something with `+`, such as a number or one of the classes below
Summable: TypeAlias = Any


class Sums(tuple):
    """Numbers, arrays and other values that are added entry by entry.

    None stays None.
    """

    def __add__(self, other):
        sums = []
        for one, two in zip(self, other, strict=True):
            if one is None:
                sums.append(None)
            else:
                sums.append(self.added(one, two))
        return type(self)(sums)

    @staticmethod
    def added(one, two):
        """Return the sum of two entries."""
        return one + two


class Joined(Sums):
    """Arrays with an entry or row for each of a few samples, put below each other."""

    @staticmethod
    def added(one, two):
        """Return both arrays, one below the other."""
        if sparse.issparse(one):
            return sparse.vstack([one, two], format="csr")
        return np.concatenate([one, two])


class Largest(float):
    """The largest of some numbers."""

    def __add__(self, other):
        return Largest(max(self, other))


class Distinct(NamedTuple):
    """Distinct numbers in ascending order, and the mass of each."""

    numbers: np.ndarray
    masses: np.ndarray

    @classmethod
    def of(cls, numbers, masses) -> "Distinct":
        """Return the distinct ones of some numbers."""
        distinct, places = np.unique(numbers, return_inverse=True)
        return cls(distinct, np.bincount(places, masses, minlength=len(distinct)))

    def __add__(self, other) -> "Distinct":  # pyright: ignore[reportIncompatibleMethodOverride]
        numbers = np.concatenate((self.numbers, other.numbers))
        masses = np.concatenate((self.masses, other.masses))
        return Distinct.of(numbers, masses)


class Moments(NamedTuple):
    """Mass, weighted means and weighted variances of columns."""

    mass: float
    means: np.ndarray
    variances: np.ndarray

    def __add__(self, other) -> "Moments":  # pyright: ignore[reportIncompatibleMethodOverride]
        # The variance of a mixture: the mean of the variances, and that of the means
        mass = self.mass + other.mass
        share = other.mass / mass
        apart = other.means - self.means
        variances = (1.0 - share) * self.variances + share * other.variances
        variances = variances + share * (1.0 - share) * apart**2
        return Moments(mass, self.means + share * apart, variances)
