"""What depends on the norm: where an epoch starts, and the classifier after it.

For q = 2, λ and the length of w follow from two sums, which every visit of a row keeps
up to date. For q = 1 and ∞, w is a function of u entry by entry, given one limit; the
limit is fixed in an epoch and found again after it, as a root of a piecewise linear
equation. `ascent` defines the terms around the centre.
"""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from drsvm.compiled.dual_ascent_norm2 import Norm2Terms
from drsvm.compiled.dual_ascent_separable import SeparableTerms
from drsvm.problem.norms import L1, L2, LInf, Norm
from drsvm.solvers.base import Candidate
from drsvm.solvers.dual_coordinate.ascent import MIN_LAM, Ascent, EpochStart
from drsvm.solvers.paper.incremental.epochs import UNLIMITED
from drsvm.utils.parallel import elementwise

# The sum of the multipliers that is assumed before there are any
FIRST_MASS = 0.5
# For q = 1, the number of epochs without flips after which θ is half of its usual value
FADING = 20.0
# A bound on Newton's method, which needs far fewer steps
MAX_NEWTON_STEPS = 50
# Least share of the latest classifier in the average for q = ∞
LEAST_SHARE = 0.05


class L2Ascent(Ascent):
    """q = 2: the weights are a multiple of u, and λ changes with every step."""

    def _epoch_start(self) -> EpochStart:
        problem = self.problem
        # The ridge e/λ₀ that the norm amounts to
        natural = 0.0
        if self.lam < UNLIMITED:
            left = max(problem.radius - self.flipped_cost, 0.0)
            natural = left / max(self.lam, MIN_LAM)
        proximity = self._proximity(problem.l2 + natural, self.mass)
        intercept, u0 = self._intercept(problem.l2 + natural + proximity)
        terms = Norm2Terms(
            radius=float(problem.radius),
            centre=float(self.lam),
            stiffness=float(self._stiffness(natural)),
            ridge=float(problem.l2 + proximity),
            intercept=intercept,
        )
        sums = np.array([self.flipped_cost, u0])
        return EpochStart(self._plus_centre(self.v, proximity), sums, terms, proximity)

    def _finish_epoch(self, start: EpochStart, answer) -> None:
        scale, self.lam, b = answer
        u = start.u
        self.v = self._plus_centre(u, -start.proximity)
        self.w = elementwise(len(u), lambda part: scale * u[part])
        self._settle_intercept(start.terms.intercept, float(start.sums[1]), b)


class SeparableAscent(Ascent):
    """q = 1 and q = ∞: w is the part of u outside or inside ±h, over the ridge.

    The limit h is fixed in an epoch.
    """

    # Whether the weights are the part inside the limits (q = ∞)
    inside: ClassVar[bool]

    def _epoch_start(self) -> EpochStart:
        problem = self.problem
        mass = self.mass or FIRST_MASS
        # Without flips the limit for q = 1 is the radius and does not move: θ may fade.
        if not self.inside and not self.any_flips:
            mass /= 1.0 + self.count / FADING
        proximity = self._proximity(problem.l2, mass)
        ridge = problem.l2 + proximity
        intercept, u0 = self._intercept(ridge)
        stiffness = self._stiffness(0.0)
        if self.inside:
            limit = ridge * self.lam
        else:
            limit = max(problem.radius - self.flipped_cost, 0.0)
        terms = SeparableTerms(
            self.inside, float(limit), float(ridge), float(stiffness), intercept
        )
        # Flips that cost more than the radius push λ up.
        excess = max(self.flipped_cost - problem.radius, 0.0)
        sums = np.array([self.lam + excess / stiffness, u0])
        return EpochStart(self._plus_centre(self.v, proximity), sums, terms, proximity)

    def _finish_epoch(self, start: EpochStart, answer) -> None:
        u = start.u
        u0 = float(start.sums[1])
        terms = start.terms
        ridge = terms.ridge
        intercept = terms.intercept
        # 1. The sums, and the limit that fits them
        self.v = self._plus_centre(u, -start.proximity)
        size = abs(u0) if intercept.has_cost else 0.0
        limit = self._new_limit(
            np.abs(u), ridge, size, intercept.damping, terms.stiffness
        )
        # 2. The classifier
        self.w = elementwise(len(u), lambda part: self._weights(u[part], ridge, limit))
        if intercept.has_cost:
            weight = self._weights(u0, intercept.damping, limit)
        else:
            weight = u0 * intercept.inverse
        self._settle_intercept(intercept, u0, self.unit * float(weight))
        self._settle_lam(limit, terms.stiffness)

    def _settle_lam(self, limit: float, stiffness: float) -> None:
        """Set λ after an epoch, from the new limit of the weights."""
        if self.inside:
            self.lam = limit
        elif self.lam < UNLIMITED:
            # q = 1: λ is free above the norm, and falls, unless flips hold it.
            lam = 0.5 * self.lam
            if self._flips_matter:
                left = self.problem.radius - self.flipped_cost
                lam = self.lam + (limit - left) / stiffness
            self.lam = max(self.problem.norm_of(self.w, self.b), lam)

    @property
    def _flips_matter(self) -> bool:
        """Whether rows are flipped, or near the kink at which they are."""
        return self.near > 0.0 or self.any_flips

    def _weights(self, u, ridge: float, limit: float):
        """Return the weights for given u.

        The limit is h for q = 1, and λ = h/r for q = ∞.
        """
        if self.inside:
            return np.clip(u / ridge, -limit, limit)
        return (u - np.clip(u, -limit, limit)) / ridge

    @abstractmethod
    def _new_limit(
        self,
        sizes: np.ndarray,
        ridge: float,
        size: float,
        damping: float,
        stiffness: float,
    ) -> float:
        """Return the best limit of the weights after an epoch: h for q = 1, λ for ∞.

        Parameters
        ----------
        sizes : array of shape (d,)
            The |u_j|.
        ridge : float
            r = c + θ.
        size : float
            |u₀| of an intercept with a cost, 0 for another one.
        damping : float
            θ₀.
        stiffness : float
            1/τ.
        """


def crossing(
    sizes: np.ndarray,
    rate: float,
    own: tuple[float, float],
    line: tuple[float, float],
    x: float,
) -> float:
    """Solve Σ (size_j − rate x)₊ + (s − r x)₊ = slope x + offset for x ≥ 0.

    The left-hand side falls and is piecewise linear, so Newton's method ends on the
    piece of the solution.

    Parameters
    ----------
    sizes, rate : array, float
        The terms of the weights.
    own : (s, r)
        The term of the intercept.
    line : (slope, offset)
        The right-hand side, which rises.
    x : float
        Where to begin.
    """
    size, own_rate = own
    slope, offset = line
    for _ in range(MAX_NEWTON_STEPS):
        above = sizes[sizes > rate * x]
        rest = max(size - own_rate * x, 0.0)
        value = float(above.sum()) - rate * x * len(above) + rest - slope * x - offset
        fall = rate * len(above)
        if rest > 0.0:
            fall += own_rate
        last = x
        x = max(x + value / (fall + slope), 0.0)
        if abs(x - last) <= 1e-12 * x:
            break
    return x


class L1Ascent(SeparableAscent):
    """q = 1: the weights are the part outside ±e, with e = ε − Σκβ."""

    inside = False

    def _new_limit(self, sizes, ridge, size, damping, stiffness):
        """Solve Σ (|u_j| − h)₊/r + (|u₀| − h)₊/θ₀ = λ₀ + (h − e) τ for h ≥ 0.

        Here, e = ε − Σκβ.
        """
        left = self.problem.radius - self.flipped_cost
        if not self._flips_matter:
            return max(left, 0.0)
        share = ridge / damping
        slope = ridge / stiffness
        line = slope, ridge * self.lam - slope * left
        return crossing(sizes, 1.0, (share * size, share), line, 0.0)


class LInfAscent(SeparableAscent):
    """q = ∞: the weights are the part inside ±λ.

    Iterates may circle the optimum, so every other candidate is an average of them.
    """

    inside = True
    average: list[np.ndarray] | None = None
    offer_average = False

    def _visit_rows(self) -> tuple[float, float]:
        gap_and_violation = super()._visit_rows()
        current = [self.w, np.array([self.b]), self.hinge, self.flip]
        if self.average is None:
            self.average = [part.copy() for part in current]
        # The mean of all iterates, and later one that forgets
        share = max(LEAST_SHARE, 1.0 / self.count)
        for mean, part in zip(self.average, current, strict=True):
            mean += share * (part - mean)
        return gap_and_violation

    def _new_limit(self, sizes, ridge, size, damping, stiffness):
        """Solve Σ (|u_j| − rλ)₊ + (|u₀| − θ₀λ)₊ − (ε − Σκβ) = k (λ − λ₀) for λ ≥ 0.

        k is the slope of both sides at λ₀.
        """
        lam = self.lam
        if lam >= UNLIMITED:
            return lam
        k = ridge * np.count_nonzero(sizes > ridge * lam)
        if size > damping * lam:
            k += damping
        k += stiffness
        line = k, self.problem.radius - self.flipped_cost - k * lam
        return crossing(sizes, ridge, (size, damping), line, lam)

    def candidate(self) -> Candidate:
        self.offer_average = not self.offer_average
        if self.average is None or self.offer_average:
            return super().candidate()
        w, b, hinge, flip = self.average
        return self.columns.to_outer(Candidate(w, float(b[0]), hinge, flip))


ASCENTS: dict[type[Norm], type[Ascent]] = {
    L1: L1Ascent,
    L2: L2Ascent,
    LInf: LInfAscent,
}
