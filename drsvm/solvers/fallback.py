"""When another solver should go on, for methods that take an unknown number of epochs.

A state that sets `gives_up` leaves the rest of its run to the interior-point solver, if
it has been given this `has_fallback`; the loop does the change (`loop.py`).
"""

import math

from drsvm.problem.problem import Problem
from drsvm.solvers.base import Limits
from drsvm.solvers.selection import (
    accepts,
    epoch_seconds,
    interior_point_pays,
    interior_point_seconds,
)

# In units of the time of an interior-point solve: from FIRST_LOOK on, the trend of the
# gaps is trusted; after LAST_LOOK, epochs have taken too long anyway.
FIRST_LOOK = 0.1
LAST_LOOK = 1.0
# Fewer epochs show no trend.
MIN_EPOCHS = 8
# Patience is over when this share of the iterations is used up.
MOST_ITERATIONS = 0.75
# A gap below this multiple of the tolerance is near enough: no other solver takes over.
NEARLY_DONE = 10.0


def can_take_over(problem: Problem) -> bool:
    """Return whether the interior-point solver accepts a problem and needs no hours."""
    return accepts("interior-point", problem) and interior_point_pays(problem)


class Patience:
    """The proven gaps so far.

    Patience ends when they hardly shrink, or when most iterations are used up.

    Parameters
    ----------
    first_look : int
        The number of iterations from which gaps must shrink.
    limits : Limits
        The limits of the run.
    """

    def __init__(self, first_look: int, limits: Limits):
        self.first_look = first_look
        self.tol = limits.tol
        self.latest = MOST_ITERATIONS * limits.max_iter
        # By the iteration in which they were proven
        self.gaps: dict[int, float] = {}

    def ends(self, iteration: int, gap: float) -> bool:
        """Record a proven gap; return whether another solver should take over."""
        self.gaps[iteration] = gap
        if iteration < self.first_look:
            return False
        if iteration >= self.latest and gap > self.tol:
            return True
        # The second half of the iterations must have halved the gap.
        earlier = [old for when, old in self.gaps.items() if when <= iteration // 2]
        expected = 0.5 * min(earlier, default=math.inf)
        return gap > max(expected, NEARLY_DONE * self.tol)


class Trend:
    """The gaps of the epochs so far, proven or estimated.

    Their trend tells whether epochs will finish sooner than the interior-point solver.
    """

    def __init__(self, problem: Problem, tol: float):
        # Smaller gaps are out of reach, and a logarithm of 0 undefined.
        self.tol = max(tol, 1e-12)
        self.can_take_over = can_take_over(problem)
        # The smallest gap up to each epoch, and none before the first
        self.gaps = [math.inf]
        # An interior-point solve takes as long as this number of epochs.
        self.budget = math.inf
        if self.can_take_over:
            self.budget = interior_point_seconds(problem) / epoch_seconds(problem)

    def hopeless(self, gap: float) -> bool:
        """Record the gap after one more epoch, proven or estimated.

        Return whether another solver should take over.
        """
        self.gaps.append(min(gap, self.gaps[-1]))
        epochs = len(self.gaps) - 1
        gap = max(self.gaps[-1], 1e-300)
        if gap <= self.tol or epochs < max(MIN_EPOCHS, FIRST_LOOK * self.budget):
            return False
        if epochs > LAST_LOOK * self.budget:
            return True
        # If the logarithm of the gap goes on falling as in the second half of the
        # epochs, missing / (gained per epoch) more are needed: are they too many?
        middle = epochs // 2
        gained = 0.0
        if math.isfinite(self.gaps[middle]):
            gained = math.log(self.gaps[middle] / gap)
        missing = math.log(gap / self.tol)
        return missing * (epochs - middle) > gained * self.budget
