"""How soon samples reach their boundaries along a direction."""

import numpy as np

from drsvm.kernels.interior_point import BINS

TIE = 1.0 + 1e-9
"""Samples whose weights sum to exactly the share, such as 2 of 40, are left behind however their sum is rounded."""


class Rates:
    """How soon samples reach their boundaries: the largest rates, and the weight of samples by longest step.

    A rate is 1 / the longest step; row 0 is for the slacks, row 1 for the multipliers.
    """

    def __init__(self):
        self.smallest_change = np.zeros(2)
        self.bins = np.zeros((2, BINS + 1))

    def clear(self) -> "Rates":
        self.smallest_change[:] = 0.0
        self.bins[:] = 0.0
        return self

    def __add__(self, other: "Rates") -> "Rates":
        both = Rates()
        np.minimum(self.smallest_change, other.smallest_change, out=both.smallest_change)
        np.add(self.bins, other.bins, out=both.bins)
        return both

    def tolerating(self, share: float) -> tuple[float, float]:
        """Return the primal and dual rates that only samples with the given share of the weight exceed."""
        rates = (-self.smallest_change).tolist()
        for k, rate in enumerate(rates):
            if rate > 1.0:
                behind = self.bins[k].cumsum()
                steps = behind.searchsorted(share * TIE, side="right")  # the first bin that must not be left behind
                rates[k] = min(rate, BINS / steps) if steps > 0 else rate
        return rates[0], rates[1]
