"""A run that the interior-point solver takes over if epochs do not pay off."""

import math
from dataclasses import replace
from typing import Any

from drsvm.problem.problem import Problem
from drsvm.solvers.base import DelegatingState, Limits, State
from drsvm.solvers.interior_point.interior_point_solver import InteriorPoint
from drsvm.solvers.selection import (
    epoch_seconds,
    interior_point_pays,
    interior_point_seconds,
)

# from this share of an interior-point solve to this multiple, the trend is trusted
FIRST_LOOK = 0.1
LAST_LOOK = 1.0


def can_take_over(problem: Problem) -> bool:
    """Return True if the interior-point solver accepts a problem and does not need hours for it."""
    return InteriorPoint().unsupported_reason(problem) is None and interior_point_pays(
        problem
    )


class Patience:
    """Ends when the proven gap hardly shrinks, or when most of the iterations are used up."""

    def __init__(self, first_look: int, limits: Limits):
        self.first_look = first_look
        self.tol = limits.tol
        self.latest = 0.75 * limits.max_iter
        self.gaps: dict[int, float] = {}

    def ends(self, iteration: int, gap: float) -> bool:
        """Record a proven gap; return whether another solver should take over."""
        self.gaps[iteration] = gap
        earlier = min(
            (gap for when, gap in self.gaps.items() if when <= iteration // 2),
            default=math.inf,
        )
        # The second half must have halved the gap
        unlikely = gap > max(0.5 * earlier, 10.0 * self.tol)
        late = iteration >= self.latest and gap > self.tol
        return iteration >= self.first_look and (late or unlikely)


class Trend:
    """The gaps of the epochs so far, and whether epochs will finish sooner than the interior-point solver would."""

    def __init__(self, problem: Problem, tol: float):
        self.tol = max(tol, 1e-12)
        if can_take_over(problem):
            self.budget = interior_point_seconds(problem) / epoch_seconds(problem)
        else:
            self.budget = math.inf
        # Whether the interior-point solver is an option at all
        self.has_fallback = self.budget < math.inf
        self.gaps = [math.inf]

    def hopeless(self, gap: float) -> bool:
        """Record the gap after one more epoch, proven or estimated.

        Return whether another solver should take over.
        """
        self.gaps.append(min(gap, self.gaps[-1]))
        epochs = len(self.gaps) - 1
        gap = max(self.gaps[-1], 1e-300)
        if gap <= self.tol or epochs < max(
            8, FIRST_LOOK * self.budget
        ):  # a shorter trend is meaningless
            return False
        earlier = self.gaps[epochs // 2]
        if math.isfinite(earlier):
            decades = math.log(earlier / gap)
        else:
            decades = 0.0
        missing = math.log(gap / self.tol) * (epochs - epochs // 2)
        return epochs > LAST_LOOK * self.budget or missing > decades * self.budget


class WithFallback(DelegatingState):
    """A run of one state and, once that gives up, of the interior-point solver."""

    def __init__(self, first: State, problem: Problem, limits: Limits):
        super().__init__(first)
        self.first = first
        self.problem = problem
        self.limits = limits

    def successor(self) -> State | None:
        """Return the interior-point state, if it can make progress in the remaining time."""
        if self.current is not self.first or not self.first.gives_up:
            return None
        if self.limits.time.left() < 0.5 * interior_point_seconds(self.problem):
            return None
        # A cold start: a point near the boundary is a poor start for an interior-point
        # method.
        return InteriorPoint().start(self.problem, replace(self.limits, start=None))

    @property
    def finished(self) -> bool:
        return super().finished and not (
            self.current is self.first and self.first.gives_up
        )

    def info(self) -> dict[str, Any]:
        if self.current is self.first:
            return self.first.info()
        first = {
            name: value for name, value in self.first.info().items() if name != "advice"
        }
        return {**first, "handed_over_to": InteriorPoint.name, **self.current.info()}
