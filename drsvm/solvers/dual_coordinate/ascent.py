"""Dual coordinate ascent: epochs that improve the multipliers of one row at a time.

Around a centre, which moves to the current point after every epoch, the problem has
three additional terms: squared changes of w, λ (λ₀ in the centre) and b, times one half
of these factors (see the compiled epochs). They make its dual smooth, and vanish in the
limit:

    θ        q = 2: negligible if the ridge c + e/λ₀ is large enough. If flips use up
             the budget (e = ε − Σκβ = 0), and for q = 1 and ∞, it is the only ridge
             besides c
    1/τ      q = 2: 1/τ = e/λ₀ + the curvature of the dual due to flips. Without flips,
             w = u λ₀/e: the classifier of an SVM with the ridge coefficient ρ = e/λ₀
             that the optimality conditions require
    1/f      with a free intercept, the multipliers satisfy an equality constraint; b is
             its multiplier. With a cost, b = a₀ w₀ and w₀ is one more weight, but it
             has this factor instead of θ, because all rows contribute to it

References
----------
C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan, A Dual Coordinate
Descent Method for Large-scale Linear SVM, ICML 2008: one row at a time, in random
order, and shrinking.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from drsvm.compiled.dual_ascent import NEAR, Flips, Intercept, Multipliers
from drsvm.compiled.dual_ascent_epochs import ascent_epoch
from drsvm.compiled.dual_ascent_norm2 import Norm2Terms
from drsvm.compiled.dual_ascent_separable import SeparableTerms
from drsvm.compiled.row_access import room_for_row
from drsvm.problem.norms import euclidean
from drsvm.problem.problem import Problem
from drsvm.problem.risk import affordable_flips, expected_loss
from drsvm.problem.row_sums import gradient_of_classes, typical_row_norm
from drsvm.solvers.base import Candidate
from drsvm.solvers.paper.incremental.epochs import UNLIMITED, Samples
from drsvm.solvers.reformulation.costs_as_columns import CostsAsColumns
from drsvm.utils.parallel import elementwise

# θ is at least this share of the ridge, and the sum of both at least this many times
# the change due to a typical multiplier.
MIN_PROXIMITY = 0.01
TYPICAL_CHANGE = 3.0
# Shares of the curvature estimates that enter 1/τ
FLIP_STIFFNESS = 0.3
MIN_STIFFNESS = 0.5
# f in units of what a row's own features contribute to its margin, and its minimum
FREEDOM = 0.1
MIN_FREEDOM = 1.0
# Rows farther from a kink, in units of the largest violation of the previous epoch, are
# skipped. Every WHOLE epochs all rows are visited.
FIRM = 1.0
WHOLE = 4
# The first λ is chosen from these, in units of typical rows, with the losses of a
# sample of this size.
SOME_ROWS = 1000
FIRST_PRICES = np.geomspace(1e-3, 1e6, 40)


class EpochStart(NamedTuple):
    """Where an epoch starts; the epoch changes u and the sums (see `Multipliers`)."""

    u: np.ndarray
    sums: np.ndarray
    terms: Any  # Norm2Terms or SeparableTerms
    proximity: float  # θ


def compiled_epoch(terms: Norm2Terms | SeparableTerms, samples: Samples) -> Callable:
    """Return the compiled epoch for the terms of a norm."""
    if isinstance(terms, Norm2Terms):
        return partial(ascent_epoch, samples.row_squares)
    return partial(ascent_epoch, room_for_row(samples.rows))


def first_price(problem: Problem, sample: Problem) -> float:
    """Return the best λ for weights along a first proximal step, on a sample."""
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
    """Return the expected losses of multiples of classifiers (w, b, λ).

    There is a line for each classifier.
    """
    weights = problem.sample_weight
    costs = problem.flip_cost
    losses = np.empty((len(classifiers), len(scales)))
    for k, (w, b, lam) in enumerate(classifiers):
        margins = problem.margins(w, b)
        # An infinite cost times 0 would be NaN.
        prices = np.maximum(lam * scales, 1e-300)
        for j, scale in enumerate(scales):
            losses[k, j] = expected_loss(scale * margins, weights, prices[j], costs)
    return losses


class Ascent(ABC):
    """The current multipliers, their classifier, and epochs that improve them."""

    def __init__(
        self,
        problem: Problem,
        start: Candidate | None,
        rng: np.random.Generator,
        shrinking=True,
    ):
        self.columns = CostsAsColumns.of(problem, intercept=False)
        problem = self.columns.problem
        n = problem.n_rows
        d = problem.n_features
        self.problem = problem
        self.rng = rng
        self.shrinking = shrinking
        self.flips = Flips(*affordable_flips(problem.flip_cost, problem.radius))
        self.samples = Samples(problem.X, problem.signs, problem.sample_weight)
        self.rows = self.samples.rows._replace(importance=self.samples.weights)
        self.square = self.samples.mean_square
        # The unit a₀ of the intercept
        self.unit = float(problem.fit_intercept)
        if problem.prices_intercept:
            self.unit = problem.intercept_cost
        # The first `active` rows of `order` are visited.
        self.order = np.arange(n)
        self.active = n
        self.firm = math.inf
        self.count = 0
        self.estimate = math.inf  # of the gap
        self.near = 0.0  # Σ πκ² of the rows near the kink at which they are flipped
        self.margins = np.zeros(n)
        self.hinge = np.zeros(n)
        self.flip = np.zeros(n)
        # v = Σ (α_i − β_i) y_i x_i, and Σ (α_i − β_i) y_i
        self.v = np.zeros(d)
        self.imbalance = 0.0
        self.w = np.zeros(d)
        self.b = 0.0
        # w = 0 says nothing about the final length of the weights.
        if start is None or not start.weights.any():
            chosen = np.sort(self.rng.permutation(n)[:SOME_ROWS])
            self.lam = first_price(problem, problem.subset(chosen))
        else:
            self._start_from(self.columns.to_inner(start))

    def _start_from(self, start: Candidate) -> None:
        problem = self.problem
        self.w = np.array(start.weights)
        self.b = start.intercept
        if start.hinge_dual is not None and start.flip_dual is not None:
            self.hinge = np.clip(start.hinge_dual, 0.0, problem.sample_weight)
            if problem.flips_possible:
                rest = problem.sample_weight - self.hinge
                self.flip = np.clip(start.flip_dual, 0.0, rest) * problem.can_flip
            self.v, imbalance = problem.weighted_sum(self.hinge - self.flip)
            if problem.fit_intercept:
                self.imbalance = imbalance
        self.lam = UNLIMITED
        if problem.radius > 0.0:
            margins = problem.margins(self.w, self.b)
            self.lam = problem.radius_price(self.w, margins, self.b)

    def epoch(self, whole: bool = False) -> None:
        """Improve the multipliers of the active rows, and move the centre there."""
        self.count += 1
        if whole or not self.shrinking or self.count % WHOLE == 0:
            self.active = self.problem.n_rows
        self.order[: self.active] = self.rng.permutation(self.order[: self.active])
        gap, violation = self._visit_rows()
        self.firm = FIRM * violation
        self.estimate = self._estimated_gap(gap)

    def _visit_rows(self) -> tuple[float, float]:
        """Return the gap between losses and multipliers, and the largest violation.

        Both are those of the rows when they were visited.
        """
        start = self._epoch_start()
        multipliers = Multipliers(
            start.u, start.sums, self.hinge, self.flip, self.margins
        )
        visit = compiled_epoch(start.terms, self.samples)
        self.active, gap, self.near, violation, answer = visit(
            self.rows,
            self.order,
            self.active,
            self.firm,
            multipliers,
            self.flips,
            start.terms,
        )
        self._finish_epoch(start, answer)
        return gap, violation

    @abstractmethod
    def _epoch_start(self) -> EpochStart:
        """Return where an epoch starts."""

    @abstractmethod
    def _finish_epoch(self, start: EpochStart, answer) -> None:
        """Set the sums and the classifier after an epoch, which changes its start."""

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
        """Σ (α + β)."""
        return float(self.hinge.sum() + self.flip.sum())

    def _proximity(self, ridge: float, mass: float) -> float:
        """Return θ."""
        typical = TYPICAL_CHANGE * self.square * mass / self.problem.n_rows
        return max(MIN_PROXIMITY * ridge, typical - ridge, 1e-12)

    def _intercept(self, ridge: float) -> tuple[Intercept, float]:
        """Return the terms of the intercept, and u₀ at the start of an epoch."""
        # None lets the compiler remove the code of the other kind.
        has_cost = True if self.problem.prices_intercept else None
        if self.unit == 0.0:
            return Intercept(0.0, 1.0, 0.0, has_cost), 0.0
        freedom = max(FREEDOM * self.square / ridge, MIN_FREEDOM)
        damping = self.unit**2 / freedom or 1.0
        u0 = self.unit * self.imbalance + damping * self.b / self.unit
        return Intercept(self.unit, damping, 1.0 / damping, has_cost), u0

    def _settle_intercept(self, intercept: Intercept, u0: float, b: float) -> None:
        """Set b, and Σ (α − β) y from u₀, after an epoch."""
        if self.unit > 0.0:
            self.imbalance = (u0 - intercept.damping * self.b / self.unit) / self.unit
            self.b = b

    def _stiffness(self, natural: float) -> float:
        """Return 1/τ."""
        if self.lam >= UNLIMITED:
            return 1.0
        # The density of rows along the axis on which κλ moves the kink
        stiffness = natural + FLIP_STIFFNESS * self.near / (2.0 * NEAR)
        lowest = MIN_STIFFNESS * self.problem.radius / max(self.lam, 1e-6)
        return max(stiffness, lowest, 1e-12)

    def _estimated_gap(self, gap: float) -> float:
        """Return the gap as if no row had changed since it was visited.

        It is the sum of the rows' own gaps, of λe − v·w and the ridge, which would
        vanish at the optimum, and of what the repair of the multipliers costs.
        """
        problem = self.problem
        flipped_cost = self.flipped_cost
        dual_norm = problem.norm.dual
        left = max(problem.radius - flipped_cost, 0.0)
        norm_part = self._own_lam * left - float(self.v @ self.w)
        if problem.l2 > 0.0:
            norm_part += 0.5 * problem.l2 * euclidean(self.w) ** 2
        # With a cost, the imbalance uses up budget; otherwise it has to be repaired.
        fixed = 0.0
        unbalanced = abs(self.imbalance)
        if problem.prices_intercept:
            norm_part -= self.imbalance * self.b
            fixed = problem.intercept_cost * abs(self.imbalance)
            unbalanced = 0.0
        if problem.l2 > 0.0:
            budget = left
            if fixed > 0.0:
                budget, _, _ = dual_norm.remainder(left, min(fixed, left))
            outside = self.v - dual_norm.project_ball(self.v, budget)
            norm_part += euclidean(outside) ** 2 / (2.0 * problem.l2)
            needed = flipped_cost + fixed
        else:
            vector = np.append(self.v, fixed) if fixed > 0.0 else self.v
            needed = flipped_cost + dual_norm.value(vector)
        repair = 0.0
        if needed > 0.0:
            repair = self.mass * max(1.0 - problem.radius / needed, 0.0)
        return max(gap + norm_part, 0.0) + repair + unbalanced

    @property
    def _own_lam(self) -> float:
        """λ or, if nothing limits it, the norm of the classifier."""
        if self.lam >= UNLIMITED:
            return self.problem.norm_of(self.w, self.b)
        return self.lam

    def candidate(self) -> Candidate:
        return self.columns.to_outer(Candidate(self.w, self.b, self.hinge, self.flip))
