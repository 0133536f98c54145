"""Dual coordinate ascent: epochs that improve every row's multipliers in turn, with all others held fixed.

Around a centre (w₀, λ₀, b₀), which moves to the point reached after every epoch, the problem has three more terms (see
the kernels); they keep its dual smooth, and vanish in the limit:

    (θ/2)‖w − w₀‖²     q = 2: next to nothing where c + e/λ₀ is ridge enough; where flips use up the budget
                       (e = ε − κΣβ = 0) and c = 0, and for q = 1 and ∞, it is all there is
    (1/2τ)(λ − λ₀)²    q = 2: 1/τ = e/λ₀ + the curvature that flips give the dual. Where no label flips, w = u λ₀/e: the
                       classifier of an SVM with the ridge coefficient ρ = e/λ₀ that the optimality conditions call for
    (1/2f)(b − b₀)²    multipliers of an intercept obey an equality; b is its multiplier
"""

import math
from abc import ABC, abstractmethod

import numpy as np

from drsvm.kernels.dual_ascent import NEAR, Multipliers
from drsvm.kernels.dual_ascent_round import RoundTerms, round_epoch
from drsvm.kernels.dual_ascent_separable import SeparableTerms, separable_epoch
from drsvm.model.norms import euclidean
from drsvm.model.problem import Problem
from drsvm.solvers.base import Candidate
from drsvm.solvers.epochs import UNLIMITED, Samples

LEAST_PROXIMITY, TYPICAL_PULL = 0.01, 3.0
"""θ is at least this share of the ridge; and together they are this multiple of what a typical multiplier moves."""

FIRST_MASS, FADING = 0.5, {1: 20.0, math.inf: math.inf}
"""q = 1 and ∞: sum of the multipliers before there are any, and after how many epochs without flips θ is half of what
it would be."""

FLIP_STIFFNESS, LEAST_STIFFNESS = 0.3, 0.5
"""Shares of the curvature estimates that go into 1/τ."""

MOST_NEWTON_STEPS = 50

SHARE_OF_AVERAGE = 0.05
"""Weight of the latest epoch in averages."""

FREEDOM, LEAST_FREEDOM = 0.1, 1.0
"""f in units of what a row's own features give its margin, and its least value."""

SCALES, SCALE_ACCURACY = (0.8, 1.25), 2e-3
"""Multiples of the classifier among which the best one is judged, and how exactly it is found."""

WITHIN_REACH, LEAST_SHARE = 30.0, 0.02
"""The best multiple is looked for when the estimated gap is at most so many tolerances; and the estimate is never
reduced to less by it, because margins as met are not quite those of one classifier."""

ROWS_OF_FIRST_GUESS = 1000
"""Rows on which the length of the first weights is chosen."""

FIRM, WHOLE = 1.0, 4
"""Rows rest when they are farther from a kink than so many of the largest violations of the epoch before, until the
next epoch over all rows: one in so many."""


FIRST_RATIO, FIRST_PROOF, REGULAR_PROOF = 0.5, 16, 32
"""First guess at gap over estimate, and the number of epochs after which a certificate is due whatever the estimate."""


class Proofs:
    """When to take a certificate, which costs about as much as an epoch: when it is likely to succeed."""

    def __init__(self, tol: float):
        self.tol, self.ratio, self.next = tol, FIRST_RATIO, FIRST_PROOF

    def expected_gap(self, estimate: float) -> float:
        """Return the gap that a certificate would prove, to judge by its estimate."""
        return self.ratio * estimate

    def promising(self, estimate: float) -> bool:
        """Say whether the gap will be small enough."""
        return self.expected_gap(estimate) <= self.tol

    def due(self, epoch: int, estimate: float) -> bool:
        """Say whether a certificate is due."""
        return self.promising(estimate) or epoch >= self.next

    def learn(self, epoch: int, estimate: float, gap: float) -> None:
        """Compare an estimate with the proven gap."""
        if math.isfinite(estimate) and estimate > 0.0:
            self.ratio = min(max(gap / estimate, 0.1), 100.0)
        self.next = epoch + min(epoch, REGULAR_PROOF)


class Ascent(ABC):
    """The present multipliers, the classifier that belongs to them, and epochs that improve them."""

    def __init__(self, problem: Problem, start: Candidate | None, rng: np.random.Generator, tol: float, shrinking=True):
        self.problem, self.rng, self.tol, self.shrinking = problem, rng, tol, shrinking
        self.kappa = problem.flip_cost if problem.flips_possible else 0.0
        self.samples = Samples(problem.X, np.array(problem.signs, dtype=np.float64), np.array(problem.sample_weight))
        self.rows = self.samples.rows._replace(importance=self.samples.weights)
        self.square = self.samples.mean_square
        self.order = np.arange(problem.n_rows)
        self.active, self.firm = problem.n_rows, math.inf
        self.count, self.estimate, self.near, self.scale = 0, math.inf, 0.0, 1.0
        self.margins = np.zeros(problem.n_rows)
        self.hinge, self.flip = np.zeros(problem.n_rows), np.zeros(problem.n_rows)
        self.v, self.turn = np.zeros(problem.n_features), 0.0
        self.w, self.b = np.zeros(problem.n_features), 0.0
        # w = 0 says nothing of the length that weights will have.
        self.level = self._first_level() if start is None or not start.weights.any() else self._go_to(start)

    # --- start ------------------------------------------------------------------------------------------------------

    def _go_to(self, start: Candidate) -> float:
        problem = self.problem
        self.w, self.b = np.array(start.weights), start.intercept
        if start.hinge_dual is not None and start.flip_dual is not None:
            self.hinge = np.clip(start.hinge_dual, 0.0, problem.sample_weight)
            if problem.flips_possible:
                self.flip = np.clip(start.flip_dual, 0.0, problem.sample_weight - self.hinge)
            self.v, turn = problem.weighted_sum(self.hinge - self.flip)
            self.turn = turn if problem.fit_intercept else 0.0
        if problem.radius == 0.0:
            return UNLIMITED
        return problem.radius_price(self.w, problem.margins(self.w, self.b))

    def _first_level(self) -> float:
        """Return the λ that is best for weights in the direction of a first proximal step, judged on some rows."""
        problem = self.problem
        if problem.radius == 0.0:
            return UNLIMITED
        mean, _ = problem.weighted_sum(problem.sample_weight)
        direction = mean - problem.norm.project_dual_ball(mean, problem.radius)
        size = problem.norm.value(direction)
        if size == 0.0:
            return 1.0
        rows = self.rng.permutation(problem.n_rows)[:ROWS_OF_FIRST_GUESS]
        margins = problem.signs[rows] * (problem.X[rows] @ (direction / size))
        weights = problem.sample_weight[rows] / problem.sample_weight[rows].sum()
        ridge = 0.5 * problem.l2 * (euclidean(direction) / size) ** 2

        def value(level):
            losses = np.maximum(np.maximum(1.0 - level * margins, 1.0 + level * (margins - problem.flip_cost)), 0.0)
            return problem.radius * level + float(weights @ losses) + ridge * level**2

        return min(np.geomspace(1e-3, 1e6, 40) / math.sqrt(self.square), key=value)

    # --- an epoch ---------------------------------------------------------------------------------------------------

    def epoch(self, whole: bool = False) -> None:
        """Improve the multipliers of all rows that do not rest, and move the centre to the point reached."""
        self.count += 1
        if whole or not self.shrinking or self.count % WHOLE == 0:
            self.active = self.problem.n_rows
        self.order[: self.active] = self.rng.permutation(self.order[: self.active])
        gap, violation = self._move()
        self.firm = FIRM * violation
        unscaled = self._estimated_gap(gap)
        near_the_end = unscaled <= WITHIN_REACH * self.tol
        self.scale, gain = self._best_scale() if near_the_end else (1.0, 0.0)
        self.estimate = max(unscaled - gain, LEAST_SHARE * unscaled)

    @abstractmethod
    def _move(self) -> tuple[float, float]:
        """Do an epoch; return the gap and the largest violation that it met."""

    @property
    def flipped_cost(self) -> float:
        """Share of the radius that goes into flips, κ Σβ."""
        return self.kappa * float(self.flip.sum())

    @property
    def mass(self) -> float:
        """Sum of the multipliers."""
        return float(self.hinge.sum() + self.flip.sum())

    def _proximity(self, ridge: float, mass: float) -> float:
        typical = TYPICAL_PULL * self.square * mass / self.problem.n_rows
        return max(LEAST_PROXIMITY * ridge, typical - ridge, 1e-12)

    def _freedom(self, ridge: float) -> float:
        return max(FREEDOM * self.square / ridge, LEAST_FREEDOM) if self.problem.fit_intercept else 0.0

    def _stiffness(self, natural: float) -> float:
        if self.level >= UNLIMITED:
            return 1.0
        # The density of rows along the axis on which κλ moves the kink; in this order nothing overflows to no number.
        flips = FLIP_STIFFNESS * self.kappa * (self.kappa * self.near / (2.0 * NEAR)) if self.near > 0.0 else 0.0
        stiffness = natural + flips
        return max(stiffness, LEAST_STIFFNESS * self.problem.radius / max(self.level, 1e-6), 1e-12)

    def _settle_intercept(self, freedom: float, b: float) -> None:
        if self.problem.fit_intercept:
            self.turn, self.b = (b - self.b) / freedom, b

    def _best_scale(self) -> tuple[float, float]:
        """Return the multiple of (w, b) with the least objective, and what it gains, to judge by the margins as met.

        Early in a run all margins may be a little too small at once, which costs much and is mended at no price.
        """
        problem, margins = self.problem, self.margins
        level = problem.norm.value(self.w) if self.level >= UNLIMITED else self.level
        ridge = problem.l2 * float(self.w @ self.w)
        pulls = problem.sample_weight * margins
        flips = (margins - self.kappa * level, pulls - problem.sample_weight * (self.kappa * level))

        def slope_and_losses(scale):
            losses = np.maximum(1.0 - scale * margins, 0.0)
            slope = problem.radius * level + ridge * scale - float(pulls @ (losses > 0.0))
            if self.kappa > 0.0:
                flipped = 1.0 + scale * flips[0]
                above = flipped > losses
                slope += float(flips[1] @ above) + float(pulls @ (above & (losses > 0.0)))
                losses = np.maximum(losses, flipped)
            return slope, losses

        def value(scale):
            price = problem.radius * level * scale + 0.5 * ridge * scale**2
            return price + float(problem.sample_weight @ slope_and_losses(scale)[1])

        low, high = SCALES
        while high - low > SCALE_ACCURACY:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if slope_and_losses(middle)[0] > 0.0 else (middle, high)
        best = 0.5 * (low + high)
        gain = value(1.0) - value(best)
        return (best, gain) if gain > 0.0 else (1.0, 0.0)

    def _estimated_gap(self, gap: float) -> float:
        """Return the gap as it would be if no row had changed since it was visited."""
        problem, flipped_cost = self.problem, self.flipped_cost
        left = max(problem.radius - flipped_cost, 0.0)
        level = problem.norm.value(self.w) if self.level >= UNLIMITED else self.level
        norm_part = level * left - float(self.v @ self.w) + 0.5 * problem.l2 * float(self.w @ self.w)
        needed = flipped_cost
        if problem.l2 > 0.0:
            outside = self.v - problem.norm.project_dual_ball(self.v, left)
            norm_part += euclidean(outside) ** 2 / (2.0 * problem.l2)
        else:
            needed += problem.norm.dual_value(self.v)
        repair = self.mass * max(1.0 - problem.radius / needed, 0.0) if needed > 0.0 else 0.0
        return max(gap + norm_part, 0.0) + repair + abs(self.turn)

    def candidate(self) -> Candidate:
        """Return classifier and multipliers."""
        if self.problem.flip_cost == 0.0:  # flips are free: every classifier has the worst-case risk 1
            half = 0.5 * self.problem.sample_weight
            return Candidate(np.zeros(self.problem.n_features), 0.0, half, half)
        return Candidate(self.scale * self.w, self.scale * self.b, self.hinge, self.flip)


class RoundAscent(Ascent):
    """q = 2: weights are a multiple of u, and λ moves with every step."""

    def _move(self) -> tuple[float, float]:
        problem = self.problem
        left = max(problem.radius - self.flipped_cost, 0.0)
        natural = 0.0 if self.level >= UNLIMITED else left / max(self.level, 1e-6)
        proximity = self._proximity(problem.l2 + natural, self.mass)
        freedom = self._freedom(problem.l2 + natural + proximity)
        terms = (self.kappa, problem.radius, self.level, self._stiffness(natural), problem.l2 + proximity, freedom)
        u = self.v + proximity * self.w
        sums = np.array([float(self.flip.sum()), self.b + freedom * self.turn])
        multipliers = Multipliers(u, sums, self.hinge, self.flip, self.margins)
        self.active, scale, self.level, gap, self.near, violation = round_epoch(
            self.rows,
            self.samples.row_squares,
            self.order,
            self.active,
            self.firm,
            multipliers,
            RoundTerms(*map(float, terms)),
        )
        self.v = u - proximity * self.w
        self.w = scale * u
        self._settle_intercept(freedom, float(sums[1]))
        return gap, violation


class SeparableAscent(Ascent):
    """q = 1 and q = ∞: weights follow feature by feature, with one number held fixed for an epoch.

    For q = ∞ that number is λ itself, and the points may go round the optimum: their averages are offered in turn.
    """

    average: list[np.ndarray] | None = None
    offer_average = False

    @property
    def inside(self) -> bool:
        """Whether weights are what is inside of limits (q = ∞), not what is outside (q = 1)."""
        return self.problem.norm.q == math.inf

    def _move(self) -> tuple[float, float]:
        problem = self.problem
        fading = 1.0 if self.flip.any() else 1.0 + self.count / FADING[problem.norm.q]
        proximity = self._proximity(problem.l2, (self.mass or FIRST_MASS) / fading)
        ridge = problem.l2 + proximity
        freedom, stiffness = self._freedom(ridge), self._stiffness(0.0)
        excess = self.flipped_cost - problem.radius
        limit = ridge * self.level if self.inside else max(-excess, 0.0)
        terms = SeparableTerms(self.inside, *map(float, (limit, ridge, self.kappa, stiffness, freedom)))
        u = self.v + proximity * self.w
        sums = np.array([self.level + max(excess, 0.0) / stiffness, self.b + freedom * self.turn])
        multipliers = Multipliers(u, sums, self.hinge, self.flip, self.margins)
        self.active, gap, self.near, violation = separable_epoch(
            self.rows, self.order, self.active, self.firm, multipliers, terms
        )
        self.v = u - proximity * self.w
        self._settle_weights(u, ridge, stiffness)
        self._settle_intercept(freedom, float(sums[1]))
        if self.inside:
            self._take_average()
        return gap, violation

    def _take_average(self) -> None:
        present = [self.w, np.array([self.b]), self.hinge, self.flip]
        if self.average is None:
            self.average = [part.copy() for part in present]
        share = max(SHARE_OF_AVERAGE, 1.0 / self.count)
        for mean, part in zip(self.average, present, strict=True):
            mean += share * (part - mean)

    def candidate(self) -> Candidate:
        """Return classifier and multipliers: for q = ∞ the present ones and averages in turn."""
        self.offer_average = not self.offer_average
        if self.average is None or self.offer_average or self.problem.flip_cost == 0.0:
            return super().candidate()
        w, b, hinge, flip = self.average
        return Candidate(w, float(b[0]), hinge, flip)

    def _settle_weights(self, u, ridge: float, stiffness: float) -> None:
        """Set w and λ from what the rows add up to."""
        left = self.problem.radius - self.flipped_cost
        if self.inside:
            if self.level < UNLIMITED:
                self.level = self._best_limit(np.abs(u), ridge, left, stiffness)
            self.w = np.clip(u / ridge, -self.level, self.level)
            return
        flips_matter = self.near > 0.0 or self.flip.any()
        price = self._best_price(np.abs(u), ridge, left, stiffness) if flips_matter else max(left, 0.0)
        self.w = (u - np.clip(u, -price, price)) / ridge
        if self.level < UNLIMITED:
            own = self.problem.norm.value(self.w)
            self.level = max(own, self.level + (price - left) / stiffness if flips_matter else 0.5 * self.level)

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


def ascent_for(problem: Problem, start: Candidate | None, rng, tol: float, shrinking: bool = True) -> Ascent:
    """Return the ascent that suits the norm."""
    alike = problem.n_features == 1  # all norms are
    return (RoundAscent if problem.norm.q == 2 or alike else SeparableAscent)(problem, start, rng, tol, shrinking)
