"""Dual coordinate ascent: sparse rows with very many features, at about the price of a plain linear SVM.

An iteration is an epoch: every row's multipliers are improved in turn, at the cost of the row's nonzeros (`ascent.py`).
Certificates cost about as much as an epoch, and are taken when an estimate says that they will succeed.
"""

import math
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from drsvm.engines.threads import single_threaded_blas
from drsvm.problem import Problem
from drsvm.solvers.ascent import Proofs, ascent_for
from drsvm.solvers.base import Candidate, Limits, Solver, State
from drsvm.solvers.incremental import generator
from drsvm.solvers.interior_point import InteriorPoint
from drsvm.solvers.selection import interior_point_pays

PATIENCE, WORTHWHILE, MOST_EPOCHS = 64, 0.25, 512
"""After so many epochs, the second half of them must have reduced the gap to this share; otherwise, and after so many
in all, the interior point takes over."""


@dataclass(frozen=True)
class DualCoordinate(Solver):
    """Settings of dual coordinate ascent. It is at its best for norm=2.

    Attributes
    ----------
    shrinking : bool
        Whether rows that sit firmly at a bound rest for a few epochs.
    hand_over : bool
        Whether the interior point takes over where progress is slow and its matrices are of a modest size.
    """

    name = "dual-coordinate"
    default_tol = 1e-6
    default_max_iter = 2000

    shrinking: bool = True
    hand_over: bool = True

    def start(self, problem: Problem, limits: Limits) -> State:
        """Prepare a run."""
        return DualCoordinateState(problem, self, limits)


class DualCoordinateState(State):
    """One run."""

    def __init__(self, problem: Problem, settings: DualCoordinate, limits: Limits):
        self.problem, self.settings, self.limits = problem, settings, limits
        self.resources = ExitStack()
        self.resources.enter_context(single_threaded_blas())
        rng = generator(limits.random_state)
        self.ascent = ascent_for(problem, limits.start, rng, limits.tol, settings.shrinking)
        self.proofs = Proofs(limits.tol)
        self.gaps: dict[int, float] = {}
        self.successor: State | None = None
        no_term_holds_the_weights = problem.radius == 0.0 and problem.l2 == 0.0
        self.give_up = no_term_holds_the_weights and self._may_hand_over

    @property
    def _may_hand_over(self) -> bool:
        return self.settings.hand_over and interior_point_pays(self.problem)

    def step(self) -> None:
        """Do an epoch."""
        if self.give_up and self.successor is None:
            self._hand_over()
        if self.successor is not None:
            self.successor.step()
        else:
            self.ascent.epoch(whole=self.proofs.promising(self.ascent.estimate))

    def certificate_due(self) -> bool:
        """Say whether a certificate is due."""
        if self.successor is not None:
            return self.successor.certificate_due()
        return self.limits.watched or self.proofs.due(self.ascent.count, self.ascent.estimate)

    def candidate(self) -> Candidate:
        """Return classifier and multipliers."""
        return (self.ascent if self.successor is None else self.successor).candidate()

    def judged(self, gap: float) -> None:
        """Plan to hand over where epochs do not pay any more."""
        if self.successor is not None:
            self.successor.judged(gap)
            return
        epoch = self.ascent.count
        self.proofs.learn(epoch, self.ascent.estimate, gap)
        self.gaps[epoch] = gap
        earlier = min((gap for past, gap in self.gaps.items() if past <= epoch // 2), default=math.inf)
        slow = epoch >= MOST_EPOCHS or (epoch >= PATIENCE and gap > WORTHWHILE * earlier)
        self.give_up = slow and gap > self.limits.tol and self._may_hand_over

    def _hand_over(self) -> None:
        # It starts afresh: a point near the boundary is no good start for an interior point.
        self.successor = InteriorPoint().start(self.problem, replace(self.limits, start=None))

    @property
    def finished(self) -> bool:  # type: ignore[override]
        """Whether further steps would change nothing."""
        return self.successor is not None and self.successor.finished

    def close(self) -> None:
        """Give back what the run holds."""
        if self.successor is not None:
            self.successor.close()
        self.resources.close()

    def info(self) -> dict[str, Any]:
        """Return the number of epochs, and who went on after them."""
        info: dict[str, Any] = {"epochs": self.ascent.count}
        if self.successor is not None:
            info |= {"handed_over_to": InteriorPoint.name, **self.successor.info()}
        return info
