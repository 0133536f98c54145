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

# The trend of the gaps is trusted from this share of an interior-point solve on; after
# this multiple of it, epochs have taken too long anyway.
FIRST_LOOK = 0.1
LAST_LOOK = 1.0
# A shorter trend is meaningless.
MIN_EPOCHS = 8


def can_take_over(problem: Problem) -> bool:
    """Return whether the interior-point solver accepts a problem and needs no hours."""
    return accepts("interior-point", problem) and interior_point_pays(problem)


class Patience:
    """Ends when the proven gap hardly shrinks, or when most iterations are used up."""

    def __init__(self, first_look: int, limits: Limits):
        self.first_look = first_look
        self.tol = limits.tol
        self.latest = 0.75 * limits.max_iter
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
        return gap > max(expected, 10.0 * self.tol)


class Trend:
    """The gaps of the epochs so far.

    It tells whether epochs will finish sooner than the interior-point solver would.
    """

    def __init__(self, problem: Problem, tol: float):
        self.tol = max(tol, 1e-12)
        self.has_fallback = can_take_over(problem)
        self.gaps = [math.inf]
        # An interior-point solve takes as long as this number of epochs.
        self.budget = math.inf
        if self.has_fallback:
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
        # If the gap goes on shrinking as in the second half of the epochs, how many
        # more are needed?
        earlier = self.gaps[epochs // 2]
        gained = 0.0
        if math.isfinite(earlier):
            gained = math.log(earlier / gap)
        missing = math.log(gap / self.tol)
        return missing * (epochs - epochs // 2) > gained * self.budget
