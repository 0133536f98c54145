"""What all machines know: sums over all rows, and how far to go along changes of them.

The sums V change by s D, where D is what blocks propose together, or one of them, and 0
≤ s ≤ 1 maximises the dual value along D: with the classifier (w, λ, b) of V + s D, its
slope is

    D_mass − w·D_v − λ D_cost − b D_imbalance.

The dual value around a centre thus never falls, however bold the proposals are, and
however old: those of slow machines may be for sums that have changed since. Multipliers
stay within their bounds, because these are convex.

The current sums are the `place` of an ascent. After every round the centre of the terms
that make the dual smooth (see `dual_coordinate/ascent.py`) moves to the classifier of
these sums.
"""

import math
from abc import abstractmethod

import numpy as np

from drsvm.compiled.dual_ascent_norm2 import classifier_of_sums
from drsvm.problem.norms import L1, L2, LInf, Norm, euclidean
from drsvm.problem.problem import Problem
from drsvm.problem.reducers import Sums
from drsvm.solvers.base import Candidate
from drsvm.solvers.dual_coordinate.ascent import (
    Ascent,
    EpochStart,
    first_price,
    losses_along,
)
from drsvm.solvers.dual_coordinate.ascent_by_norm import (
    L1Ascent,
    L2Ascent,
    LInfAscent,
    SeparableAscent,
)
from drsvm.solvers.paper.federated.federated_block import (
    MIN_NEWS,
    SENT,
    Proposal,
    Work,
    sums_along,
)
from drsvm.solvers.paper.incremental.epochs import UNLIMITED

# Number of bisections of a step; most steps are whole
TRIALS = 12
# Factors of the number of times for which a block counts itself, after a whole step and
# after a shorter one.
BOLDER = 0.95
MORE_CAREFUL = 1.5
# Multiples of the classifier, around 1, of which the best is offered: early in a run,
# all margins may be slightly too small. Near the optimum, many margins are 1, and the
# best multiple is 1.
STEPS = 0.25 * 0.7 ** np.arange(17)
SCALES = np.concatenate([1.0 - STEPS, [1.0], 1.0 + STEPS[::-1]])
# Share of the usual θ that is best for q = ∞: its rounds are many and short
NEARER = 1.0 / 3.0


class GlobalAscent(Ascent):
    """The part of an ascent that does not need the rows.

    The classes for the norms inherit from this one first, then from the ascent of their
    norm, whose epochs they do not call.
    """

    # Whether late proposals do harm, so that every round waits for all blocks
    waits_for_all = False
    # Averages of classifiers over the last rounds have at least this share of the
    # latest one
    news = 0.25
    # Whether averages of the multipliers are offered for a certificate
    averaged = False
    # Whether a block may count itself for less than the number of blocks
    proposes_boldly = True

    def __init__(self, problem: Problem, start: Candidate | None, n_blocks: int):
        self.problem = problem
        # How many times a block counts itself, and the maximum, which is always safe
        self.factor = float(n_blocks)
        self.most = float(n_blocks)
        if problem.has_intercept_cost:
            self.unit = problem.intercept_cost
        else:
            self.unit = float(problem.fit_intercept)
        self.count = 0
        self.near = 0.0
        d = problem.n_features
        self.v = np.zeros(d)
        self.cost = 0.0
        self.imbalance = 0.0
        self.all_mass = 0.0
        self.w = np.zeros(d)
        self.b = 0.0
        self.estimate = math.inf
        # The mean of x·x
        self.square = float(problem.column_squares().sum()) or 1.0
        # The centre (w, λ, b)
        if start is None or not start.weights.any():
            self.lam = first_price(problem, problem)
        else:
            self.w = np.array(start.weights)
            self.b = start.intercept
            if problem.radius == 0.0:
                self.lam = UNLIMITED
            else:
                self.lam = problem.price_and_objective(self.w, self.b)[0]
        # Averages of w, b and λ over the last rounds
        self.means = self.w, self.b, 0.0
        # The sums for this centre; proposals change them
        self.place: EpochStart = self._epoch_start()

    @property
    def flipped_cost(self) -> float:
        return self.cost

    @property
    def mass(self) -> float:
        return self.all_mass

    @property
    def any_flips(self) -> bool:
        return self.cost > 0.0

    def work(
        self, number: int, accepted: dict[int, float], restart: bool, share: float = 1.0
    ) -> Work:
        """Return what a block is asked at the current sums; see `Work`."""
        return Work(
            u=self.place.u.astype(SENT),
            sums=self.place.sums,
            terms=self.place.terms,
            factor=self.factor,
            number=number,
            accepted=accepted,
            restart=restart,
            share=share,
        )

    def absorb(self, proposal: Proposal, share: float = 1.0) -> float:
        """Change the sums along a proposal, and return how far, from 0 to 1.

        `share` is that of the blocks that take part in the proposal.
        """
        step = self.best_step(proposal, share)
        self.cost = self.cost + step * proposal.cost
        self.all_mass = self.all_mass + step * proposal.mass
        self.place = self._along(self.place, proposal, step)
        return step

    def best_step(self, proposal: Proposal, share: float = 1.0) -> float:
        """Return how far to go along a proposal, from 0 to 1.

        The next ones are bolder if this is all the way, otherwise more careful.
        """
        step = 1.0
        change = BOLDER
        if self._slope(proposal, 1.0) < 0.0:
            step = self._top(proposal)
            change = MORE_CAREFUL
        least = 1.0 if self.proposes_boldly else self.most
        self.factor = min(max(self.factor * change**share, least), self.most)
        return step

    def _top(self, proposal: Proposal) -> float:
        """Return, by bisection, where the dual value is largest between 0 and 1."""
        low = 0.0
        high = 1.0
        for _ in range(TRIALS):
            middle = 0.5 * (low + high)
            # The slope decreases: the maximum is where it is 0.
            if self._slope(proposal, middle) < 0.0:
                high = middle
            else:
                low = middle
        return 0.5 * (low + high)

    def _slope(self, proposal: Proposal, step: float) -> float:
        """Return the slope of the dual value along a proposal (see above)."""
        w, lam, b = self._classifier(self._along(self.place, proposal, step))
        return (
            proposal.mass
            - float(w @ proposal.v)
            - lam * proposal.cost
            - b * proposal.imbalance
        )

    def _along(self, place: EpochStart, proposal: Proposal, step: float) -> EpochStart:
        """Return the sums after a step along a proposal."""
        u, sums = sums_along(place.u, place.sums, place.terms, proposal, step)
        return place._replace(u=u, sums=sums)

    def move(self, seen: Proposal) -> None:
        """Move the centre to the classifier of the current sums.

        `seen` is what all blocks have seen last.
        """
        self.count += 1
        self.near = seen.near
        self._finish_epoch(self.place, self._answer(self.place))
        self.place = self._epoch_start()
        news = max(self.news, 1.0 / self.count)
        w, b, lam = self.means
        self.means = (
            w + news * (self.w - w),
            b + news * (self.b - b),
            lam + news * (self._own_lam - lam),
        )
        self.estimate = self._estimated_gap(seen.gap)

    def lose(self, sums: Sums) -> None:
        """Take away what blocks that were lost contributed."""
        self._finish_epoch(self.place, self._answer(self.place))
        v, cost, imbalance, mass = sums
        self.cost = max(self.cost - cost, 0.0)
        self.v = self.v - v
        self.all_mass = max(self.all_mass - mass, 0.0)
        self.imbalance = self.imbalance - imbalance
        self.place = self._epoch_start()

    @abstractmethod
    def _answer(self, place: EpochStart) -> tuple[float, float, float] | None:
        """Return what `_finish_epoch` needs besides the sums."""

    @abstractmethod
    def _classifier(self, place: EpochStart) -> tuple[np.ndarray, float, float]:
        """Return (w, λ, b) at a place."""

    def classifier(self) -> tuple[np.ndarray, float]:
        """Return the best multiple of the current classifier or of the average.

        The average is over the last rounds.
        """
        # Blocks see the margins of their rows while they improve them, and are too
        # optimistic: one more round computes the losses.
        radius = self.problem.radius
        l2 = self.problem.l2
        offers = [(self.w, self.b, self._own_lam), self.means]
        values = self.problem.query(losses_along, SCALES, offers)
        for k, (w, _, lam) in enumerate(offers):
            ridge = 0.5 * l2 * (euclidean(w) * SCALES) ** 2
            values[k] += radius * lam * SCALES + ridge
        best, multiple = np.unravel_index(np.argmin(values), values.shape)
        w, b, _ = offers[best]
        return SCALES[multiple] * w, float(SCALES[multiple] * b)


class GlobalL2Ascent(GlobalAscent, L2Ascent):
    """q = 2."""

    def _answer(self, place: EpochStart) -> tuple[float, float, float]:
        """Return (s, λ, b) of the classifier w = s·u, which only needs ‖u‖."""
        cost, u0 = place.sums
        return classifier_of_sums(euclidean(place.u), cost, u0, place.terms)

    def _classifier(self, place):
        scale, lam, b = self._answer(place)
        return scale * place.u, lam, b


class GlobalSeparableAscent(GlobalAscent, SeparableAscent):
    """q = 1 and q = ∞: the limits ±h are those of the epoch."""

    # Moves that become longer sooner do harm where blocks are late: 589 rounds, not 61.
    fading = 20.0

    def _answer(self, place) -> None:
        return None

    def _classifier(self, place):
        terms = place.terms
        lam, u0 = place.sums
        intercept = terms.intercept
        limit = terms.limit
        if intercept.has_cost:
            weight = self._weights(u0, intercept.inverse, limit)
        else:
            weight = u0 * intercept.inverse
        w = self._weights(place.u, terms.inverse, limit)
        return w, lam, self.unit * float(weight)


class GlobalL1Ascent(GlobalSeparableAscent, L1Ascent):
    """q = 1."""


class GlobalLInfAscent(GlobalSeparableAscent, LInfAscent):
    """q = ∞. Iterates may circle the optimum, so averages are offered in turn."""

    news = MIN_NEWS
    waits_for_all = True
    proposes_boldly = False  # bold proposals make the circles wider

    def _proximity(self, ridge: float, mass: float) -> float:
        return super()._proximity(ridge, NEARER * mass)

    def classifier(self) -> tuple[np.ndarray, float]:
        self.averaged = not self.averaged
        return super().classifier()


GLOBAL_ASCENTS: dict[type[Norm], type[GlobalAscent]] = {
    L1: GlobalL1Ascent,
    L2: GlobalL2Ascent,
    LInf: GlobalLInfAscent,
}


def global_ascent_for(
    problem: Problem, start: Candidate | None, n_blocks: int
) -> GlobalAscent:
    """Return the ascent for the norm of a problem."""
    # With one weight all norms are equal.
    if problem.n_features + problem.has_intercept_cost == 1:
        return GlobalL2Ascent(problem, start, n_blocks)
    return GLOBAL_ASCENTS[type(problem.norm)](problem, start, n_blocks)
