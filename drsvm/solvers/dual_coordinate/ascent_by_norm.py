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
from drsvm.problem.problem import Problem
from drsvm.solvers.base import Candidate
from drsvm.solvers.dual_coordinate.ascent import MIN_LAM, Ascent, EpochStart
from drsvm.solvers.paper.incremental.epochs import UNLIMITED
from drsvm.utils.parallel import elementwise

# The sum of the multipliers that is assumed before there are any
FIRST_MASS = 0.5
# The number of epochs before averages are offered and, for q = 1, in which all θ_j are
# equal
EARLY = 30
# θ fades no more after FADED epochs, where weights would hardly settle: for q = 1 at a
# thousandth of the largest radius, a gap of 1e-5 takes 750 epochs instead of 1,300.
FADED = 60
# A bound on Newton's method, which needs far fewer steps
MAX_NEWTON_STEPS = 50
# The share of iterate k in the average is proportional to about this power of k.
POWER = 4.0


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
    """q = 1 and q = ∞: w is the part of u outside or inside limits, over the ridge.

    The limit h is fixed in an epoch.

    Each weight has its own θ_j, proportional to √Σ π_i x_ij²: in text, a rare word
    changes few margins, and may move farther in an epoch. Iterates circle the optimum,
    so late candidates are averages, in which early ones count little, unless they prove
    less than an iterate would. On text with q = ∞ and a hundredth of the largest
    radius, 100 epochs prove a gap of 1.6e-4 without both, 7e-5 with the θ_j, and 2.7e-5
    with averages, too.
    """

    offers_multiples = True
    # Whether the weights are the part inside the limits (q = ∞)
    inside: ClassVar[bool]
    # For q = 1, the number of epochs without flips after which θ is half of its usual
    # value
    fading: ClassVar[float] = 8.0
    average: list[np.ndarray] | None = None
    # θ_j / θ
    shape: float | np.ndarray = 1.0

    def __init__(self, problem: Problem, *arguments, **settings):
        super().__init__(problem, *arguments, **settings)
        sizes = self.problem.column_sizes
        squares = float(sizes @ sizes)
        if squares > 0.0:
            # A typical row has the same Σ x_ij² / θ_j as with equal θ.
            self.shape = np.where(sizes > 0.0, sizes * (sizes.sum() / squares), 1.0)

    def _visit_rows(self) -> float:
        gap = super()._visit_rows()
        current = [self.w, np.array([self.b]), self.hinge, self.flip]
        if self.average is None:
            self.average = [part.copy() for part in current]
        share = (POWER + 1.0) / (POWER + self.count)
        for mean, part in zip(self.average, current, strict=True):
            mean += share * (part - mean)
        return gap

    def candidate(self) -> Candidate:
        if self.average is None or self.count <= EARLY or not self.prefers_average:
            return super().candidate()
        w, b, hinge, flip = self.average
        return self._offer(w, float(b[0]), hinge, flip)

    def _epoch_start(self) -> EpochStart:
        problem = self.problem
        mass = self.mass or FIRST_MASS
        # Without flips the limit for q = 1 is the radius and does not move: θ may fade.
        if not self.inside and not self.any_flips:
            mass /= 1.0 + min(self.count, FADED) / self.fading
        proximity = self._proximity(problem.l2, mass)
        intercept, u0 = self._intercept(problem.l2 + proximity)
        stiffness = self._stiffness(0.0)
        if self.inside:
            limit = self.lam
        else:
            limit = max(problem.radius - self.flipped_cost, 0.0)
        # For q = 1, a few frequent words carry the first classifiers, and all of them
        # where the radius is large.
        proximities = proximity * self.shape
        if not self.inside and self.count <= EARLY:
            proximities = np.full_like(self.shape, proximity)
        terms = SeparableTerms(
            self.inside,
            float(limit),
            1.0 / (problem.l2 + proximities),
            float(stiffness),
            intercept,
        )
        # Flips that cost more than the radius push λ up.
        excess = max(self.flipped_cost - problem.radius, 0.0)
        sums = np.array([self.lam + excess / stiffness, u0])
        u = self.v + proximities * self.w
        return EpochStart(u, sums, terms, proximities)

    def _finish_epoch(self, start: EpochStart, answer) -> None:
        u = start.u
        u0 = float(start.sums[1])
        terms = start.terms
        intercept = terms.intercept
        # 1. The sums, and the limit that fits them
        self.v = u - start.proximity * self.w
        size = abs(u0) if intercept.has_cost else 0.0
        rates = np.broadcast_to(1.0 / terms.inverse, u.shape)
        limit = self._new_limit(
            np.abs(u), rates, size, intercept.damping, terms.stiffness
        )
        # 2. The classifier
        self.w = self._weights(u, terms.inverse, limit)
        if intercept.has_cost:
            weight = self._weights(u0, intercept.inverse, limit)
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

    def _weights(self, u, inverse, limit: float):
        """Return the weights for given u and 1/r; the limit is h."""
        if self.inside:
            return np.clip(u * inverse, -limit, limit)
        return (u - np.clip(u, -limit, limit)) * inverse

    @abstractmethod
    def _new_limit(
        self,
        sizes: np.ndarray,
        ridges: np.ndarray,
        size: float,
        damping: float,
        stiffness: float,
    ) -> float:
        """Return the best limit h of the weights after an epoch: λ for q = ∞.

        Parameters
        ----------
        sizes : array of shape (d,)
            The |u_j|.
        ridges : array of shape (d,)
            The r_j = c + θ_j.
        size : float
            |u₀| of an intercept with a cost, 0 for another one.
        damping : float
            θ₀.
        stiffness : float
            1/τ.
        """


def crossing(
    sizes: np.ndarray,
    rates: np.ndarray,
    own: tuple[float, float],
    line: tuple[float, float],
    x: float,
) -> float:
    """Solve Σ (size_j − rate_j x)₊ + (s − r x)₊ = slope x + offset for x ≥ 0.

    The left-hand side falls and is piecewise linear, so Newton's method ends on the
    piece of the solution.

    Parameters
    ----------
    sizes, rates : arrays
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
        above = 1.0 * (sizes > rates * x)
        fall = float(rates @ above)
        rest = max(size - own_rate * x, 0.0)
        value = float(sizes @ above) - fall * x + rest - slope * x - offset
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

    def _new_limit(self, sizes, ridges, size, damping, stiffness):
        """Solve Σ (|u_j| − h)₊/r_j + (|u₀| − h)₊/θ₀ = λ₀ + (h − e) τ for h ≥ 0.

        Here, e = ε − Σκβ.
        """
        left = self.problem.radius - self.flipped_cost
        if not self._flips_matter:
            return max(left, 0.0)
        own = size / damping, 1.0 / damping
        line = 1.0 / stiffness, self.lam - left / stiffness
        return crossing(sizes / ridges, 1.0 / ridges, own, line, 0.0)


class LInfAscent(SeparableAscent):
    """q = ∞: the weights are the part inside ±λ."""

    inside = True

    def _new_limit(self, sizes, ridges, size, damping, stiffness):
        """Solve Σ (|u_j| − r_j λ)₊ + (|u₀| − θ₀λ)₊ − (ε − Σκβ) = k (λ − λ₀) for λ ≥ 0.

        k is the slope of both sides at λ₀.
        """
        lam = self.lam
        if lam >= UNLIMITED:
            return lam
        k = float(ridges[sizes > ridges * lam].sum())
        if size > damping * lam:
            k += damping
        k += stiffness
        line = k, self.problem.radius - self.flipped_cost - k * lam
        return crossing(sizes, ridges, (size, damping), line, lam)


ASCENTS: dict[type[Norm], type[Ascent]] = {
    L1: L1Ascent,
    L2: L2Ascent,
    LInf: LInfAscent,
}
