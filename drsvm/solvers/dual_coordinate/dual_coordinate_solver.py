"""Dual coordinate ascent for sparse rows with very many features, at about the cost of a plain linear SVM.

The ascent of each norm comes first, then the solver. An iteration is an epoch, which
improves the multipliers of one row at a time, at a cost proportional to the row's
nonzeros (`ascent.py`). A certificate costs about as much as an epoch, and is computed
when an estimate predicts that it will succeed.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from drsvm.compiled.dual_ascent_norm2 import RoundTerms
from drsvm.compiled.dual_ascent_separable import SeparableTerms
from drsvm.problem.norms import L1, L2, LInf, Norm
from drsvm.problem.problem import Problem
from drsvm.solvers.base import Candidate, Limits, Solver, State
from drsvm.solvers.dual_coordinate.ascent import Ascent, Place
from drsvm.solvers.fallback import Patience, Trend, with_fallback
from drsvm.solvers.paper.incremental.epochs import UNLIMITED
from drsvm.solvers.reformulation.constant import optimum_of_free_flips
from drsvm.solvers.reformulation.priced_columns import AS_COLUMNS
from drsvm.utils.parallel import elementwise

FIRST_MASS = 0.5  # assumed sum of the multipliers before there are any
# For q = 1, the number of epochs without flips after which θ is half of its usual value
FADING = 20.0
MAX_NEWTON_STEPS = 50
FIRST_RATIO = 0.5  # initial guess of gap / estimate
# maximum number of epochs before the first certificate, and between later ones
FIRST_PROOF = 16
REGULAR_PROOF = 32
PATIENCE = 500  # number of epochs from which the proven gaps must shrink


class RoundAscent(Ascent):
    """q = 2: the weights are a multiple of u, and λ changes with every step."""

    def _place(self) -> Place:
        problem = self.problem
        left = max(problem.radius - self.flipped_cost, 0.0)
        if self.lam >= UNLIMITED:
            natural = 0.0
        else:
            natural = left / max(self.lam, 1e-6)
        proximity = self._proximity(problem.l2 + natural, self.mass)
        intercept, u0 = self._intercept(problem.l2 + natural + proximity)
        scalars = map(
            float,
            (
                problem.radius,
                self.lam,
                self._stiffness(natural),
                problem.l2 + proximity,
            ),
        )
        terms = RoundTerms(*scalars, intercept=intercept)
        return Place(
            self._plus_centre(self.v, proximity),
            np.array([self.flipped_cost, u0]),
            terms,
            proximity,
        )

    def _arrive(self, place: Place, answer) -> None:
        scale, self.lam, b = answer
        u = place.u
        self.v = self._plus_centre(u, -place.proximity)
        self.w = elementwise(len(u), lambda part: scale * u[part])
        self._settle_intercept(place.terms.intercept, float(place.sums[1]), b)


class SeparableAscent(Ascent):
    """q = 1 and q = ∞: the weights are the part of u inside or outside limits ±h, fixed in an epoch, over the ridge."""

    # Whether the weights are the part inside the limits (q = ∞) rather than outside (q
    # = 1)
    inside: ClassVar[bool]

    def _place(self) -> Place:
        problem = self.problem
        if self.inside or self.any_flips:
            fading = 1.0
        else:
            fading = 1.0 + self.count / FADING
        proximity = self._proximity(problem.l2, (self.mass or FIRST_MASS) / fading)
        ridge = problem.l2 + proximity
        (intercept, u0) = self._intercept(ridge)
        stiffness = self._stiffness(0.0)
        excess = max(self.flipped_cost - problem.radius, 0.0)
        # h
        if self.inside:
            limit = ridge * self.lam
        else:
            limit = max(problem.radius - self.flipped_cost, 0.0)
        terms = SeparableTerms(
            self.inside, float(limit), float(ridge), float(stiffness), intercept
        )
        sums = np.array([self.lam + excess / stiffness, u0])
        return Place(self._plus_centre(self.v, proximity), sums, terms, proximity)

    def _arrive(self, place: Place, answer) -> None:
        u = place.u
        u0 = float(place.sums[1])
        terms = place.terms
        intercept = place.terms.intercept
        self.v = self._plus_centre(u, -place.proximity)
        size = abs(u0) if intercept.priced else 0.0
        limit = self._new_limit(
            np.abs(u), terms.ridge, size, intercept.damping, terms.stiffness
        )
        self.w = elementwise(
            len(u), lambda part: self._weights(u[part], terms.ridge, limit)
        )
        if intercept.priced:
            weight = self._weights(u0, intercept.damping, limit)
        else:
            weight = u0 * intercept.inverse
        self._settle_intercept(intercept, u0, self.unit * float(weight))
        if self.inside:
            self.lam = limit
        elif self.lam < UNLIMITED:
            own = self.problem.norm_of(self.w, self.b)
            left = self.problem.radius - self.flipped_cost
            flips_matter = self.near > 0.0 or self.any_flips
            self.lam = max(
                own,
                self.lam + (limit - left) / terms.stiffness
                if flips_matter
                else 0.5 * self.lam,
            )

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
        """Return the best limit of the weights after an epoch.

        `size` is |u₀| of an intercept inside the norm.
        """


def crossing(
    sizes, rate: float, own: tuple[float, float], line: tuple[float, float], x: float
) -> float:
    """Solve Σ (size_j − rate x)₊ + (s − r x)₊ = slope x + offset for x ≥ 0, with own = s, r; Newton's method from x."""
    (size, own_rate) = own
    (slope, offset) = line
    for _ in range(MAX_NEWTON_STEPS):
        above = sizes[sizes > rate * x]
        rest = max(size - own_rate * x, 0.0)
        value = float(above.sum()) - rate * x * len(above) + rest - slope * x - offset
        last = x
        x = max(x + value / (rate * len(above) + own_rate * (rest > 0.0) + slope), 0.0)
        if abs(x - last) <= 1e-12 * x:
            break
    return x


class SparseAscent(SeparableAscent):
    """q = 1: the weights are the part outside ±e, with e = ε − Σκβ."""

    inside = False

    def _new_limit(self, sizes, ridge, size, damping, stiffness):
        """Solve Σ (|u_j| − h)₊ / r + (|u₀| − h)₊ / θ₀ = λ₀ + (h − (ε − Σκβ)) / stiffness for h ≥ 0, from the left."""
        left = self.problem.radius - self.flipped_cost
        if not (self.near > 0.0 or self.any_flips):
            return max(left, 0.0)
        share = ridge / damping
        slope = ridge / stiffness
        return crossing(
            sizes,
            1.0,
            (share * size, share),
            (slope, ridge * self.lam - slope * left),
            0.0,
        )


class BoxAscent(SeparableAscent):
    """q = ∞: the weights are the part inside ±λ.

    Iterates may circle the optimum, so averages are offered in turn.
    """

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

    def _new_limit(self, sizes, ridge, size, damping, stiffness):
        """Solve Σ (|u_j| − rλ)₊ + (|u₀| − θ₀λ)₊ − (ε − Σκβ) = k (λ − λ₀) for λ ≥ 0.

        K is the slope of both at λ₀.
        """
        lam = self.lam
        if lam >= UNLIMITED:
            return lam
        k = (
            ridge * np.count_nonzero(sizes > ridge * lam)
            + damping * (size > damping * lam)
            + stiffness
        )
        line = k, self.problem.radius - self.flipped_cost - k * lam
        return crossing(sizes, ridge, (size, damping), line, lam)

    def candidate(self) -> Candidate:
        self.offer_average = not self.offer_average
        if self.average is None or self.offer_average:
            return super().candidate()
        w, b, hinge, flip = self.average
        return self.columns.to_outer(Candidate(w, float(b[0]), hinge, flip))


ASCENTS: dict[type[Norm], type[Ascent]] = {
    L1: SparseAscent,
    L2: RoundAscent,
    LInf: BoxAscent,
}


@dataclass(frozen=True)
class DualCoordinate(Solver):
    """Settings of dual coordinate ascent, which works best for norm=2.

    Attributes
    ----------
    shrinking : bool
        Whether to skip rows that are firmly at a bound for a few epochs.
    hand_over : bool
        Whether the interior-point solver takes over if it is expected to be faster and
        its matrices are of moderate size.

    Notes
    -----
    Runs with the same `random_state` give bitwise identical results for any number of threads.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import DualCoordinate
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1, norm=2)
    >>> result = solve(problem, DualCoordinate(hand_over=False))
    >>> result.solver, str(result.status)
    ('dual-coordinate', 'optimal')
    """

    name = "dual-coordinate"
    default_tol = 1e-6
    default_max_iter = 2000
    norms = ASCENTS
    capabilities = AS_COLUMNS
    polishes_quickly = True

    shrinking: bool = True
    hand_over: bool = True

    def start(self, problem: Problem, limits: Limits) -> State:
        run = optimum_of_free_flips(problem) or DualCoordinateState(
            problem, limits, self.shrinking
        )
        if self.hand_over:
            return with_fallback(run)
        return run


class StateWithEstimates(State):
    """A run whose ascent estimates the gap: a certificate costs as much as an epoch, and is due when it may succeed."""

    ascent: Any  # counts its epochs, and has an estimate

    def __init__(self, problem: Problem, limits: Limits, first_proof: int):
        self.problem = problem
        self.limits = limits
        self.ratio = FIRST_RATIO
        self.next_proof = first_proof

    @property
    def expected_gap(self) -> float:
        """The gap that a certificate is expected to prove."""
        return self.ratio * self.ascent.estimate

    def certificate_due(self) -> bool:
        promising = self.expected_gap <= self.limits.tol
        return self.limits.watched or promising or self.ascent.count >= self.next_proof

    def on_certificate(self, gap: float) -> None:
        epoch = self.ascent.count
        estimate = self.ascent.estimate
        if math.isfinite(estimate) and estimate > 0.0:
            self.ratio = min(max(gap / estimate, 0.1), 100.0)
        self.next_proof = epoch + min(epoch, REGULAR_PROOF)


class DualCoordinateState(StateWithEstimates):
    """One run."""

    def __init__(self, problem: Problem, limits: Limits, shrinking: bool = True):
        super().__init__(problem, limits, FIRST_PROOF)
        # Then all norms are equal
        single = problem.n_features + problem.prices_intercept == 1
        kind = RoundAscent if single else ASCENTS[type(problem.norm)]
        self.ascent = kind(problem, limits.start, limits.generator(), shrinking)
        self.trend = Trend(problem, limits.tol)
        self.patience = Patience(PATIENCE, limits)
        no_term_limits_the_weights = problem.radius == 0.0 and problem.l2 == 0.0
        self.gives_up = no_term_limits_the_weights and self.trend.has_fallback

    def step(self) -> None:
        self.ascent.epoch(whole=self.expected_gap <= self.limits.tol)
        self.gives_up |= self.trend.hopeless(self.expected_gap)

    def candidate(self) -> Candidate:
        return self.ascent.candidate()

    def on_certificate(self, gap: float) -> None:
        """Give up, too, if the proven gaps do not shrink: an estimate may be far too small."""
        super().on_certificate(gap)
        self.gives_up |= self.trend.has_fallback and self.patience.ends(
            self.ascent.count, gap
        )

    def info(self) -> dict:
        return {"epochs": self.ascent.count}
