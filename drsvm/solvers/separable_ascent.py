"""Dual coordinate ascent for q = 1 and q = ∞, where the weights are computed feature by feature."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from drsvm.kernels.dual_ascent import Multipliers
from drsvm.kernels.dual_ascent_separable import SeparableTerms, separable_epoch
from drsvm.solvers.ascent import Ascent
from drsvm.solvers.base import Candidate
from drsvm.solvers.epochs import UNLIMITED

FIRST_MASS, FADING = 0.5, 20.0
"""Assumed sum of the multipliers before there are any; and, for q = 1, the number of epochs without flips after which θ
is half of its usual value."""

SHARE_OF_AVERAGE = 0.05
"""Weight of the latest epoch in the averages."""

MOST_NEWTON_STEPS = 50


class SeparableAscent(Ascent):
    """The weights are the part of u inside or outside limits ±h, over the ridge; h is fixed during an epoch."""

    inside: ClassVar[bool]
    """Whether the weights are the part inside the limits (q = ∞) rather than outside (q = 1)."""

    def _move(self) -> tuple[float, float]:
        problem = self.problem
        proximity = self._proximity(problem.l2, (self.mass or FIRST_MASS) / self._fading())
        ridge = problem.l2 + proximity
        freedom, stiffness = self._freedom(ridge), self._stiffness(0.0)
        excess = max(self.flipped_cost - problem.radius, 0.0)
        terms = SeparableTerms(self.inside, *map(float, (self._limit(ridge), ridge, self.kappa, stiffness, freedom)))
        u = self.v + proximity * self.w
        sums = np.array([self.level + excess / stiffness, self.b + freedom * self.turn])
        gap, violation = self._visit_rows(u, sums, terms)
        self.v = u - proximity * self.w
        self._settle_weights(u, ridge, stiffness)
        self._settle_intercept(freedom, float(sums[1]))
        return gap, violation

    def _visit_rows(self, u, sums, terms) -> tuple[float, float]:
        """Update u, the sums and the multipliers; return the gap and the largest violation."""
        multipliers = Multipliers(u, sums, self.hinge, self.flip, self.margins)
        self.active, gap, self.near, violation = separable_epoch(
            self.rows, self.order, self.active, self.firm, multipliers, terms
        )
        return gap, violation

    def _fading(self) -> float:
        """Return the factor by which θ is smaller than usual."""
        return 1.0

    @abstractmethod
    def _limit(self, ridge: float) -> float:
        """Return the limit h of an epoch."""

    @abstractmethod
    def _settle_weights(self, u, ridge: float, stiffness: float) -> None:
        """Set w and λ from the sum u over the rows."""


class SparseAscent(SeparableAscent):
    """q = 1: the weights are the part outside ±e, with e = ε − κΣβ."""

    inside = False

    def _fading(self) -> float:
        return 1.0 if self.flip.any() else 1.0 + self.count / FADING

    def _limit(self, ridge: float) -> float:
        return max(self.problem.radius - self.flipped_cost, 0.0)

    def _settle_weights(self, u, ridge: float, stiffness: float) -> None:
        left = self.problem.radius - self.flipped_cost
        flips_matter = self.near > 0.0 or self.flip.any()
        price = self._best_price(np.abs(u), ridge, left, stiffness) if flips_matter else max(left, 0.0)
        self.w = (u - np.clip(u, -price, price)) / ridge
        if self.level < UNLIMITED:
            own = self.problem.norm.value(self.w)
            self.level = max(own, self.level + (price - left) / stiffness if flips_matter else 0.5 * self.level)

    def _best_price(self, size, ridge: float, left: float, stiffness: float) -> float:
        """Solve Σ (|u_j| − h)₊ / r = λ₀ + (h − (ε − κΣβ)) / stiffness for h ≥ 0, from the left."""
        price = 0.0
        for _ in range(MOST_NEWTON_STEPS):
            above = size[size > price]
            value = (float(above.sum()) - len(above) * price) / ridge - self.level - (price - left) / stiffness
            step = value / (len(above) / ridge + 1.0 / stiffness)
            price = max(price + step, 0.0)
            if step <= 1e-12 * (abs(left) + price):
                break
        return price


class BoxAscent(SeparableAscent):
    """q = ∞: the weights are the part inside ±λ. Iterates may circle the optimum, so averages are offered in turn."""

    inside = True

    average: list[np.ndarray] | None = None
    offer_average = False

    def _move(self) -> tuple[float, float]:
        gap_and_violation = super()._move()
        self._update_average()
        return gap_and_violation

    def _limit(self, ridge: float) -> float:
        return ridge * self.level

    def _settle_weights(self, u, ridge: float, stiffness: float) -> None:
        if self.level < UNLIMITED:
            left = self.problem.radius - self.flipped_cost
            self.level = self._best_limit(np.abs(u), ridge, left, stiffness)
        self.w = np.clip(u / ridge, -self.level, self.level)

    def _best_limit(self, size, ridge: float, left: float, stiffness: float) -> float:
        """Solve Σ (|u_j| − rλ)₊ − (ε − κΣβ) = k (λ − λ₀) for λ ≥ 0; k is the slope of the sum at λ₀."""
        centre = level = self.level
        k = ridge * np.count_nonzero(size > ridge * centre) + stiffness
        for _ in range(MOST_NEWTON_STEPS):
            above = size[size > ridge * level]
            value = float(above.sum()) - len(above) * ridge * level - left - k * (level - centre)
            step = value / (ridge * len(above) + k)
            level = max(level + step, 0.0)
            if abs(step) <= 1e-12 * (1.0 + level):
                break
        return level

    def _update_average(self) -> None:
        current = [self.w, np.array([self.b]), self.hinge, self.flip]
        if self.average is None:
            self.average = [part.copy() for part in current]
        share = max(SHARE_OF_AVERAGE, 1.0 / self.count)
        for mean, part in zip(self.average, current, strict=True):
            mean += share * (part - mean)

    def candidate(self) -> Candidate:
        """Return classifier and multipliers: the current ones and the averages in turn."""
        self.offer_average = not self.offer_average
        if self.average is None or self.offer_average or self.problem.flip_cost == 0.0:
            return super().candidate()
        w, b, hinge, flip = self.average
        return Candidate(w, float(b[0]), hinge, flip)
