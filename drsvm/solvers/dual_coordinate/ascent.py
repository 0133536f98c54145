"""Dual coordinate ascent: epochs that improve the multipliers of one row at a time, with all others fixed.

Around a centre, which moves to the current point after every epoch, the problem has
three additional terms: squared changes of w, λ (λ₀ in the centre) and b, times one half
of these factors (see the kernels). They make its dual smooth, and vanish in the limit:

    θ        q = 2: negligible if the ridge c + e/λ₀ is large enough. If flips use up the budget (e = ε − Σκβ = 0), and
             for q = 1 and ∞, it is the only ridge besides c
    1/τ      q = 2: 1/τ = e/λ₀ + the curvature of the dual due to flips. Without flips, w = u λ₀/e: the classifier of an
             SVM with the ridge coefficient ρ = e/λ₀ that the optimality conditions
             require
    1/f      with a free intercept, the multipliers satisfy an equality constraint; b is its multiplier. With a price,
             b = a₀ w₀ and w₀ is one more weight, but it has this factor instead of θ,
             because all rows contribute to it
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from drsvm.compiled.dual_ascent import NEAR, Flips, Intercept, Multipliers
from drsvm.compiled.dual_ascent_norm2 import RoundTerms, round_epoch
from drsvm.compiled.dual_ascent_separable import SeparableTerms, separable_epoch
from drsvm.compiled.row_access import room_for_row
from drsvm.problem.norms import euclidean
from drsvm.problem.problem import Problem
from drsvm.problem.risk import affordable_flips, expected_loss
from drsvm.problem.row_sums import gradient_of_classes, typical_row_norm
from drsvm.solvers.base import Candidate
from drsvm.solvers.paper.incremental.epochs import UNLIMITED, Samples
from drsvm.solvers.reformulation.priced_columns import PricedColumns
from drsvm.utils.parallel import elementwise

MIN_PROXIMITY = 0.01  # θ is at least this share of the ridge,
# And the sum of both at least this many times the change due to a typical multiplier
TYPICAL_CHANGE = 3.0
# shares of the curvature estimates that enter 1/τ
FLIP_STIFFNESS = 0.3
MIN_STIFFNESS = 0.5
# f in units of what a row's own features contribute to its margin, and its minimum
FREEDOM = 0.1
MIN_FREEDOM = 1.0
# Rows farther from a kink, in units of the largest violation of the previous epoch, are
# skipped
FIRM = 1.0
# first guesses of λ, in units of typical rows
SOME_ROWS = 1000
FIRST_PRICES = np.geomspace(1e-3, 1e6, 40)
WHOLE = 4  # until the next epoch over all rows, which is every fourth one


class Place(NamedTuple):
    """Where an epoch starts; it changes u and the sums (see the kernels)."""

    u: np.ndarray
    sums: np.ndarray
    terms: Any  # RoundTerms or SeparableTerms
    proximity: float  # θ


def epoch_kernel(terms: RoundTerms | SeparableTerms, samples: Samples) -> Callable:
    """Return the epoch for the terms of a norm."""
    if isinstance(terms, RoundTerms):
        return partial(round_epoch, samples.row_squares)
    return partial(separable_epoch, room_for_row(samples.rows))


def first_price(problem: Problem, sample: Problem) -> float:
    """Return the best λ for weights in the direction of a first proximal step, with the losses of a sample of rows."""
    if problem.radius == 0.0:
        return UNLIMITED
    mean, _ = gradient_of_classes(problem, 1.0, 1.0)
    direction = mean - problem.norm.dual.project_ball(mean, problem.radius)
    size = problem.norm.value(direction)
    if size == 0.0:
        return 1.0
    direction = direction / size
    lams = FIRST_PRICES / max(typical_row_norm(problem), 1e-300)
    [losses] = sample.query(losses_along, lams, [(direction, 0.0, 1.0)])
    ridges = 0.5 * problem.l2 * (euclidean(direction) * lams) ** 2
    return float(lams[np.argmin(problem.radius * lams + losses + ridges)])


def losses_along(problem: Problem, scales: np.ndarray, classifiers) -> np.ndarray:
    """Return the expected losses of multiples of classifiers (w, b, λ): a line for each of them."""
    weights = problem.sample_weight
    costs = problem.flip_cost

    def losses(w, b, lam) -> list[float]:
        # inf times 0 must not be NaN
        margins = problem.margins(w, b)
        prices = np.maximum(lam * scales, 1e-300)
        pairs = zip(scales, prices, strict=True)
        return [
            expected_loss(scale * margins, weights, price, costs)
            for scale, price in pairs
        ]

    return np.array([losses(*classifier) for classifier in classifiers])


class Ascent(ABC):
    """The current multipliers, the corresponding classifier, and epochs that improve them."""

    def __init__(
        self,
        problem: Problem,
        start: Candidate | None,
        rng: np.random.Generator,
        shrinking=True,
    ):
        self.columns = PricedColumns.of(problem, intercept=False)
        problem = self.columns.problem
        if start is None:
            start = None
        else:
            start = self.columns.to_inner(start)
        self.problem = problem
        self.rng = rng
        self.shrinking = shrinking
        self.flips = Flips(*affordable_flips(problem.flip_cost, problem.radius))
        self.samples = Samples(problem.X, problem.signs, problem.sample_weight)
        self.rows = self.samples.rows._replace(importance=self.samples.weights)
        self.square = self.samples.mean_square
        if problem.prices_intercept:
            self.unit = problem.intercept_cost
        else:
            self.unit = float(problem.fit_intercept)
        self.order = np.arange(problem.n_rows)
        self.active = problem.n_rows
        self.firm = math.inf
        self.count = 0
        self.estimate = math.inf
        self.near = 0.0
        self.margins = np.zeros(problem.n_rows)
        self.hinge = np.zeros(problem.n_rows)
        self.flip = np.zeros(problem.n_rows)
        self.v = np.zeros(problem.n_features)
        self.imbalance = 0.0
        self.w = np.zeros(problem.n_features)
        self.b = 0.0
        if (
            start is None or not start.weights.any()
        ):  # w = 0 tells nothing about the final length of the weights
            some = problem.subset(
                np.sort(self.rng.permutation(problem.n_rows)[:SOME_ROWS])
            )
            self.lam = first_price(problem, some)
            return
        self.w = np.array(start.weights)
        self.b = start.intercept
        if start.hinge_dual is not None and start.flip_dual is not None:
            self.hinge = np.clip(start.hinge_dual, 0.0, problem.sample_weight)
            if problem.flips_possible:
                self.flip = (
                    np.clip(start.flip_dual, 0.0, problem.sample_weight - self.hinge)
                    * problem.can_flip
                )
            self.v, imbalance = problem.weighted_sum(self.hinge - self.flip)
            self.imbalance = imbalance if problem.fit_intercept else 0.0
        self.lam = UNLIMITED
        if problem.radius > 0.0:
            self.lam = problem.radius_price(
                self.w, problem.margins(self.w, self.b), self.b
            )

    def epoch(self, whole: bool = False) -> None:
        """Improve the multipliers of all active rows, and move the centre to the new point."""
        self.count += 1
        if whole or not self.shrinking or self.count % WHOLE == 0:
            self.active = self.problem.n_rows
        self.order[: self.active] = self.rng.permutation(self.order[: self.active])
        gap, violation = self._move()
        self.firm = FIRM * violation
        self.estimate = self._estimated_gap(gap)

    def _move(self) -> tuple[float, float]:
        place = self._place()
        multipliers = Multipliers(
            place.u, place.sums, self.hinge, self.flip, self.margins
        )
        self.active, gap, self.near, violation, answer = epoch_kernel(
            place.terms, self.samples
        )(
            self.rows,
            self.order,
            self.active,
            self.firm,
            multipliers,
            self.flips,
            place.terms,
        )
        self._arrive(place, answer)
        return gap, violation

    @abstractmethod
    def _place(self) -> Place:
        """Return where an epoch starts."""

    @abstractmethod
    def _arrive(self, place: Place, answer) -> None:
        """Set the sums and the classifier after an epoch, which has changed u and the sums of the place."""

    def _plus_centre(self, vector, proximity: float) -> np.ndarray:
        """Return u = v + θw or, with −θ, v = u − θw."""
        w = self.w
        return elementwise(len(w), lambda part: vector[part] + proximity * w[part])

    @property
    def flipped_cost(self) -> float:
        """Part of the radius spent on flips, Σκβ."""
        return float(np.sum(self.flips.kappa * self.flip))

    @property
    def any_flips(self) -> bool:
        return bool(self.flip.any())

    @property
    def mass(self) -> float:
        return float(self.hinge.sum() + self.flip.sum())

    def _proximity(self, ridge: float, mass: float) -> float:
        typical = TYPICAL_CHANGE * self.square * mass / self.problem.n_rows
        return max(MIN_PROXIMITY * ridge, typical - ridge, 1e-12)

    def _intercept(self, ridge: float) -> tuple[Intercept, float]:
        """Return the terms of the intercept, and u₀ at the start of an epoch."""
        freedom = max(FREEDOM * self.square / ridge, MIN_FREEDOM)
        damping = self.unit**2 / freedom or 1.0
        inverse = 1.0 / damping if self.unit > 0.0 else 0.0
        u0 = self.unit * self.imbalance + (
            damping * self.b / self.unit if self.unit > 0.0 else 0.0
        )
        return Intercept(
            self.unit, damping, inverse, True if self.problem.prices_intercept else None
        ), u0

    def _settle_intercept(self, intercept: Intercept, u0: float, b: float) -> None:
        """Set b, and Σ (α − β) y from u₀, after an epoch."""
        if self.unit > 0.0:
            self.imbalance = (u0 - intercept.damping * self.b / self.unit) / self.unit
            self.b = b

    def _stiffness(self, natural: float) -> float:
        if self.lam >= UNLIMITED:
            return 1.0
        # The density of rows along the axis on which κλ moves the kink.
        stiffness = natural + FLIP_STIFFNESS * self.near / (2.0 * NEAR)
        return max(
            stiffness, MIN_STIFFNESS * self.problem.radius / max(self.lam, 1e-6), 1e-12
        )

    def _estimated_gap(self, gap: float) -> float:
        """Return the gap as if no row had changed since it was visited."""
        problem = self.problem
        flipped_cost = self.flipped_cost
        ball = self.problem.norm.dual
        left = max(problem.radius - flipped_cost, 0.0)
        norm_part = self._own_lam * left - float(self.v @ self.w)
        if problem.l2 > 0.0:
            norm_part += 0.5 * problem.l2 * euclidean(self.w) ** 2
        else:
            norm_part += 0.0
        fixed = 0.0
        unbalanced = abs(self.imbalance)
        if problem.prices_intercept:
            norm_part -= self.imbalance * self.b
            fixed = problem.intercept_cost * abs(self.imbalance)
            unbalanced = 0.0
        if problem.l2 > 0.0:
            outside = self.v - ball.project_ball(
                self.v, ball.remainder(left, min(fixed, left))[0] if fixed else left
            )
            norm_part += euclidean(outside) ** 2 / (2.0 * problem.l2)
            needed = flipped_cost + fixed
        else:
            needed = flipped_cost + ball.value(
                np.append(self.v, fixed) if fixed else self.v
            )
        if needed > 0.0:
            repair = self.mass * max(1.0 - problem.radius / needed, 0.0)
        else:
            repair = 0.0
        return max(gap + norm_part, 0.0) + repair + unbalanced

    @property
    def _own_lam(self) -> float:
        """λ or, if nothing limits it, the norm of the classifier."""
        if self.lam >= UNLIMITED:
            return self.problem.norm_of(self.w, self.b)
        return self.lam

    def candidate(self) -> Candidate:
        return self.columns.to_outer(Candidate(self.w, self.b, self.hinge, self.flip))
