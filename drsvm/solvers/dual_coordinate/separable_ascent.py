"""Dual coordinate ascent for q = 1 and q = ∞, where the weights are computed feature by feature."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from drsvm.kernels.dual_ascent_separable import SeparableTerms, separable_epoch
from drsvm.parallel import elementwise
from drsvm.solvers.base import Candidate
from drsvm.solvers.dual_coordinate.ascent import Ascent
from drsvm.solvers.incremental.epochs import UNLIMITED

FIRST_MASS, FADING = 0.5, 20.0
"""Assumed sum of the multipliers before there are any; and, for q = 1, the number of epochs without flips after which θ
is half of its usual value."""

MOST_NEWTON_STEPS = 50


class SeparableAscent(Ascent):
    """The weights are the part of u inside or outside limits ±h, over the ridge; h is fixed during an epoch."""

    inside: ClassVar[bool]
    """Whether the weights are the part inside the limits (q = ∞) rather than outside (q = 1)."""

    def _move(self) -> tuple[float, float]:
        problem = self.problem
        proximity = self._proximity(problem.l2, (self.mass or FIRST_MASS) / self._fading())
        ridge = problem.l2 + proximity
        intercept, stiffness = self._intercept(ridge), self._stiffness(0.0)
        excess = max(self.flipped_cost - problem.radius, 0.0)
        limit = float(self._limit(ridge))
        terms = SeparableTerms(self.inside, limit, float(ridge), float(stiffness), intercept)
        u = self._pulled(self.v, proximity)
        sums = np.array([self.level + excess / stiffness, self._pull_on_intercept(intercept)])
        _, gap, violation = self._improve(separable_epoch, u, sums, terms)
        self.v = self._pulled(u, -proximity)
        pull = float(sums[1])
        pulls = Pulls(np.abs(u), ridge, abs(pull) if intercept.priced else 0.0, intercept.damping)
        limit = self._new_limit(pulls, stiffness)
        self.w = elementwise(len(u), lambda part: self._weights(u[part], ridge, limit))
        weight = self._weights(pull, intercept.damping, limit) if intercept.priced else pull * intercept.inverse
        self._settle_intercept(intercept, pull, self.unit * float(weight))
        self._settle_level(limit, stiffness)
        return gap, violation

    def _weights(self, pulls, ridge: float, limit: float):
        """Return the weights for given pulls; the limit is h for q = 1, and λ = h/r for q = ∞."""
        if self.inside:
            return np.clip(pulls / ridge, -limit, limit)
        return (pulls - np.clip(pulls, -limit, limit)) / ridge

    def _fading(self) -> float:
        """Return the factor by which θ is smaller than usual."""
        return 1.0

    @abstractmethod
    def _limit(self, ridge: float) -> float:
        """Return the limit h of an epoch."""

    @abstractmethod
    def _new_limit(self, pulls: "Pulls", stiffness: float) -> float:
        """Return the best limit of the weights after an epoch."""

    @abstractmethod
    def _settle_level(self, limit: float, stiffness: float) -> None:
        """Set λ after the weights."""


class Pulls(NamedTuple):
    """Sizes of the pulls on the weights inside the norm, and what divides them."""

    of_features: np.ndarray  # |u_j|
    ridge: float  # r
    of_intercept: float  # |u₀|, 0 if it is free
    damping: float  # θ₀

    def beyond(self, limit: float, limit_of_intercept: float) -> tuple[float, int, float, bool]:
        """Return Σ (|u_j| − limit)₊ and the number of its terms, and the same for the intercept."""
        above = self.of_features[self.of_features > limit]
        rest = max(self.of_intercept - limit_of_intercept, 0.0)
        return float(above.sum()) - len(above) * limit, len(above), rest, rest > 0.0


class SparseAscent(SeparableAscent):
    """q = 1: the weights are the part outside ±e, with e = ε − Σκβ."""

    inside = False

    def _fading(self) -> float:
        return 1.0 if self.flip.any() else 1.0 + self.count / FADING

    def _limit(self, ridge: float) -> float:
        return max(self.problem.radius - self.flipped_cost, 0.0)

    @property
    def _flips_matter(self) -> bool:
        return self.near > 0.0 or bool(self.flip.any())

    def _settle_level(self, limit: float, stiffness: float) -> None:
        if self.level < UNLIMITED:
            own, left = self.problem.norm_of(self.w, self.b), self.problem.radius - self.flipped_cost
            self.level = max(own, self.level + (limit - left) / stiffness if self._flips_matter else 0.5 * self.level)

    def _new_limit(self, pulls: Pulls, stiffness: float) -> float:
        """Solve Σ (|u_j| − h)₊ / r + (|u₀| − h)₊ / θ₀ = λ₀ + (h − (ε − Σκβ)) / stiffness for h ≥ 0, from the left."""
        left = self.problem.radius - self.flipped_cost
        if not self._flips_matter:
            return max(left, 0.0)
        price = 0.0
        for _ in range(MOST_NEWTON_STEPS):
            total, number, rest, more = pulls.beyond(price, price)
            value = total / pulls.ridge + rest / pulls.damping - self.level - (price - left) / stiffness
            step = value / (number / pulls.ridge + more / pulls.damping + 1.0 / stiffness)
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
        current = [self.w, np.array([self.b]), self.hinge, self.flip]
        if self.average is None:
            self.average = [part.copy() for part in current]
        share = max(0.05, 1.0 / self.count)
        for mean, part in zip(self.average, current, strict=True):
            mean += share * (part - mean)
        return gap_and_violation

    def _limit(self, ridge: float) -> float:
        return ridge * self.level

    def _settle_level(self, limit: float, stiffness: float) -> None:
        self.level = limit

    def _new_limit(self, pulls: Pulls, stiffness: float) -> float:
        """Solve Σ (|u_j| − rλ)₊ + (|u₀| − θ₀λ)₊ − (ε − Σκβ) = k (λ − λ₀) for λ ≥ 0; k is the slope of both at λ₀."""
        if self.level >= UNLIMITED:
            return self.level
        left, centre, level = self.problem.radius - self.flipped_cost, self.level, self.level
        _, number, _, more = pulls.beyond(pulls.ridge * centre, pulls.damping * centre)
        k = pulls.ridge * number + pulls.damping * more + stiffness
        for _ in range(MOST_NEWTON_STEPS):
            total, number, rest, more = pulls.beyond(pulls.ridge * level, pulls.damping * level)
            value = total + rest - left - k * (level - centre)
            step = value / (pulls.ridge * number + pulls.damping * more + k)
            level = max(level + step, 0.0)
            if abs(step) <= 1e-12 * (1.0 + level):
                break
        return level

    def candidate(self) -> Candidate:
        """Return classifier and multipliers: the current ones and the averages in turn."""
        self.offer_average = not self.offer_average
        if self.average is None or self.offer_average or np.all(self.problem.flip_cost == 0):
            return super().candidate()
        w, b, hinge, flip = self.average
        return self.columns.from_columns(Candidate(w, float(b[0]), hinge, flip))
