"""Dual coordinate ascent: epochs that improve the multipliers of one row at a time.

The dual of the problem is not smooth: single multipliers cannot always improve it where
all of them together could. An epoch therefore works on the dual of another problem,
whose objective has three more terms around a centre (w̄, λ₀, b̄), the point at which the
last epoch ended:

    (θ/2) ‖w − w̄‖² + (1/2τ) (λ − λ₀)² + (1/2f) (b − b̄)²

With them, the classifier is a smooth function of the multipliers (see the compiled
epochs); as the centre comes to rest, they vanish. The factors are

    θ        `proximity`. q = 2: negligible if the ridge c + e/λ₀ is large enough. If
             flips use up the budget (e = ε − Σκβ = 0), and for q = 1 and ∞, it is the
             only ridge besides c; there, each weight has its own
    1/τ      `stiffness`. q = 2: 1/τ = e/λ₀ + the curvature of the dual due to flips.
             Without flips, w = u λ₀/e, where u = v + θw̄: the classifier of an SVM with
             the ridge coefficient e/λ₀ that the optimality conditions require
    1/f      f is `freedom`. With a free intercept, the multipliers satisfy an equality
             constraint; b is its multiplier. With a cost, b = a₀ w₀ and w₀ is one more
             weight, but it has the factor θ₀ = a₀²/f (`damping`) instead of θ, because
             all rows contribute to it

References
----------
.. [1] C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan, "A dual
   coordinate descent method for large-scale linear SVM", ICML 2008: one row at a time,
   in random order, and shrinking.
.. [2] R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point
   algorithm in convex programming", Mathematics of Operations Research 1(2), 97-116,
   1976: terms around a centre that follows the solution.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

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

# The factors of the terms around the centre. The number of epochs depends on them, the
# optimum does not.
#
# θ is at least MIN_PROXIMITY times the ridge. A typical multiplier, Σ(α + β)/n, changes
# the margin of its own row by ‖x‖² times itself over the ridge and θ: by no more than
# 1 / TYPICAL_CHANGE.
MIN_PROXIMITY = 0.01
TYPICAL_CHANGE = 2.0
# The share of the curvature due to flips that enters 1/τ, and the least 1/τ as a share
# of ε/λ₀
FLIP_STIFFNESS = 0.3
MIN_STIFFNESS = 0.5
# f in units of what a row's own features contribute to its margin, and its minimum
FREEDOM = 0.1
MIN_FREEDOM = 1.0
# Smallest λ₀ that is divided by
MIN_LAM = 1e-6

# The best multiple of a classifier is between 1/RANGE and RANGE, and is found by this
# number of bisections.
RANGE = 10.0
BISECTIONS = 20

# Rows whose losses are farther from a kink than the largest violation of the previous
# epoch are skipped (shrinking). Every WHOLE epochs all rows are visited.
WHOLE = 4
# Epochs read RUN rows that are next to each other in memory at STREAMS places in turn.
RUN = 8
STREAMS = 4
# The first λ is one of these, in units of 1 / typical norm of a row: the best one on a
# sample of SOME_ROWS rows.
SOME_ROWS = 1000
FIRST_PRICES = np.geomspace(1e-3, 1e6, 40)


class EpochStart(NamedTuple):
    """Where an epoch starts; the epoch changes u and the sums in place."""

    u: np.ndarray
    """v + θ times the weights of the centre."""
    sums: np.ndarray
    """Two scalars: Σκβ for q = 2, otherwise λ, and the u₀ of the intercept."""
    terms: Any
    """Norm2Terms or SeparableTerms: the factors around the centre."""
    proximity: Any
    """θ: one number, or one for each weight."""


def compiled_epoch(terms: Norm2Terms | SeparableTerms, samples: Samples) -> Callable:
    """Return the compiled epoch for the terms of a norm, with the memory it needs.

    That is the squared norm of every row for q = 2, otherwise room for one row.
    """
    if isinstance(terms, Norm2Terms):
        return partial(ascent_epoch, samples.row_squares)
    return partial(ascent_epoch, room_for_row(samples.rows))


def first_price(problem: Problem, sample: Problem) -> float:
    """Return a first λ: that of the best classifier along one direction.

    The direction is that of a first proximal step, the gradient at w = 0 less what the
    norm takes of it. Losses are those of a sample of the rows.
    """
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
    """Return the expected losses of multiples of classifiers.

    Parameters
    ----------
    problem : Problem
        The problem, which may be a shard of another one.
    scales : array of shape (k,)
        The factors.
    classifiers : sequence of (w, b, λ)
        The classifiers; a factor applies to all three.

    Returns
    -------
    array of shape (number of classifiers, k)
        The losses, without the terms of radius and ridge.
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


class Multiples(NamedTuple):
    """The objective of the multiples s of a classifier.

    Weights lag behind the multipliers. With a small radius hardly longer ones, which
    cost little, would bring nearly all margins to 1: the best multiple saves more than
    half of the epochs for q = ∞ on text (20,000 × 60,000, a thousandth of the largest
    radius, to a gap of 1e-5). For q = 2 it saves epochs, but no time.
    """

    margins: np.ndarray
    gains: np.ndarray | None
    """m_i − κ_i λ, −inf if the label cannot be flipped; None if none can."""
    weights: np.ndarray
    cost: float
    """ε λ."""
    ridge: float
    """c ‖w‖²."""

    def _pieces(self, s: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses, and their slopes, at a multiple."""
        losses = 1.0 - s * self.margins
        slopes = -self.margins
        if self.gains is not None:
            flipped = 1.0 + s * self.gains
            slopes = np.where(flipped > losses, self.gains, slopes)
            losses = np.maximum(losses, flipped)
        return losses, slopes

    def value(self, s: float) -> float:
        """Return the objective."""
        losses, _ = self._pieces(s)
        loss = float(self.weights @ np.maximum(losses, 0.0))
        return s * self.cost + loss + 0.5 * self.ridge * s**2

    def best(self) -> float:
        """Return the best multiple, by bisection of the slope."""
        low = 1.0 / RANGE
        high = RANGE
        for _ in range(BISECTIONS):
            s = math.sqrt(low * high)
            losses, slopes = self._pieces(s)
            fall = float(self.weights @ (slopes * (losses > 0.0)))
            if self.cost + fall + self.ridge * s > 0.0:
                high = s
            else:
                low = s
        # The classifier itself may be better by less than the last interval.
        return min(math.sqrt(low * high), 1.0, key=self.value)


class Ascent(ABC):
    """The current multipliers, their classifier, and epochs that improve them.

    Subclasses for the norms (`ascent_by_norm.py`) choose the factors of the terms
    around the centre before an epoch, and compute the classifier after it.
    """

    # Whether the best multiple of a classifier is offered, or the classifier itself
    offers_multiples: ClassVar[bool] = False
    # Whether an average of the iterates is offered, if there is one
    prefers_average = True

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
        if problem.has_intercept_cost:
            self.unit = problem.intercept_cost
        # The first `active` rows of `order` are visited.
        self.order = np.arange(n)
        self.active = n
        # Rows farther than this from a kink are skipped.
        self.firm = math.inf
        # The number of epochs, and an estimate of the gap after the last one
        self.count = 0
        self.estimate = math.inf
        # Σ πκ² of the rows near the kink at which they are flipped
        self.near = 0.0
        # Those of each row at its last visit
        self.margins = np.zeros(n)
        self.hinge = np.zeros(n)
        self.flip = np.zeros(n)
        # v = Σ (α_i − β_i) y_i x_i, and Σ (α_i − β_i) y_i
        self.v = np.zeros(d)
        self.imbalance = 0.0
        self.w = np.zeros(d)
        self.b = 0.0
        # A start at w = 0 says nothing about the final length of the weights.
        if start is None or not start.weights.any():
            chosen = np.sort(self.rng.permutation(n)[:SOME_ROWS])
            self.lam = first_price(problem, problem.subset(chosen))
        else:
            self._start_from(self.columns.to_inner(start))

    def _start_from(self, start: Candidate) -> None:
        """Take the classifier of a start, and its multipliers, if any, clipped."""
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
        self._shuffle()
        self.estimate = self._estimated_gap(self._visit_rows())

    def _shuffle(self) -> None:
        """Put the active rows in an order for an epoch.

        Rows in random order come from memory one by one, which takes longer than the
        arithmetic. Runs of neighbours, which the processor reads ahead, save 12 % of a
        solve for q = 2 on text (20,000 × 60,000). Several runs take turns: with rows
        sorted by label, it took 42 epochs without turns, and 32 with them.
        """
        rows = np.sort(self.order[: self.active])
        whole = len(rows) // (RUN * STREAMS) * (RUN * STREAMS)
        runs = self.rng.permutation(rows[:whole].reshape(-1, RUN))
        in_turn = runs.reshape(-1, STREAMS, RUN).swapaxes(1, 2)
        self.order[:whole] = in_turn.ravel()
        self.order[whole : self.active] = self.rng.permutation(rows[whole:])

    def _visit_rows(self) -> float:
        """Return the gap between losses and multipliers, of each row at its visit."""
        start = self._epoch_start()
        multipliers = Multipliers(
            start.u, start.sums, self.hinge, self.flip, self.margins
        )
        visit = compiled_epoch(start.terms, self.samples)
        self.active, gap, self.near, self.firm, answer = visit(
            self.rows,
            self.order,
            self.active,
            self.firm,
            multipliers,
            self.flips,
            start.terms,
        )
        self._finish_epoch(start, answer)
        return gap

    @abstractmethod
    def _epoch_start(self) -> EpochStart:
        """Choose the factors around the centre, and return where the epoch starts."""

    @abstractmethod
    def _finish_epoch(self, start: EpochStart, answer) -> None:
        """Set v and the classifier after an epoch.

        The epoch has changed its start; `answer` is (scale, λ, b) for q = 2.
        """

    def _plus_centre(self, vector, proximity: float) -> np.ndarray:
        """Return u = v + θw̄ or, with −θ, v = u − θw̄; w is still the centre."""
        w = self.w
        return elementwise(len(w), lambda part: vector[part] + proximity * w[part])

    @property
    def flipped_cost(self) -> float:
        """Part of the radius spent on flips, Σκβ."""
        return float(np.sum(self.flips.kappa * self.flip))

    @property
    def any_flips(self) -> bool:
        """Whether any β is positive."""
        return bool(self.flip.any())

    @property
    def mass(self) -> float:
        """Σ (α + β)."""
        return float(self.hinge.sum() + self.flip.sum())

    def _proximity(self, ridge: float, mass: float) -> float:
        """Return θ, for the ridge without it and Σ (α + β)."""
        typical = TYPICAL_CHANGE * self.square * mass / self.problem.n_rows
        return max(MIN_PROXIMITY * ridge, typical - ridge, 1e-12)

    def _intercept(self, ridge: float) -> tuple[Intercept, float]:
        """Return the terms of the intercept, and u₀ at the start of an epoch.

        u₀ = a₀ Σ (α − β) y + θ₀ b̄/a₀ is for the intercept what u is for the weights.
        """
        # None, not False: the compiler removes the code of the other kind by type.
        has_cost = True if self.problem.has_intercept_cost else None
        if self.unit == 0.0:
            return Intercept(0.0, 1.0, 0.0, has_cost), 0.0
        freedom = max(FREEDOM * self.square / ridge, MIN_FREEDOM)
        damping = self.unit**2 / freedom or 1.0
        u0 = self.unit * self.imbalance + damping * self.b / self.unit
        return Intercept(self.unit, damping, 1.0 / damping, has_cost), u0

    def _settle_intercept(self, intercept: Intercept, u0: float, b: float) -> None:
        """Set Σ (α − β) y from u₀, and then b, after an epoch."""
        if self.unit > 0.0:
            self.imbalance = (u0 - intercept.damping * self.b / self.unit) / self.unit
            self.b = b

    def _stiffness(self, natural: float) -> float:
        """Return 1/τ, given its part that is not due to flips."""
        if self.lam >= UNLIMITED:
            # λ plays no role.
            return 1.0
        # The second derivative of the losses in λ is the density of rows at the kink,
        # with weights πκ²: `near` is their sum within NEAR on both sides of it.
        stiffness = natural + FLIP_STIFFNESS * self.near / (2.0 * NEAR)
        lowest = MIN_STIFFNESS * self.problem.radius / max(self.lam, MIN_LAM)
        return max(stiffness, lowest, 1e-12)

    def _estimated_gap(self, gap: float) -> float:
        """Return the gap as if no row had changed since it was visited.

        `gap` is the sum of the rows' own gaps. To it come λe − v·w + (c/2) ‖w‖² and the
        distance term of the dual, which together vanish at the optimum, and what the
        repair of the multipliers costs: scaling and, for a free intercept, balancing.
        """
        problem = self.problem
        flipped_cost = self.flipped_cost
        dual_norm = problem.norm.dual

        # 1. The norm and the ridge of the primal objective
        left = max(problem.radius - flipped_cost, 0.0)
        norm_part = self._own_lam * left - float(self.v @ self.w)
        if problem.l2 > 0.0:
            norm_part += 0.5 * problem.l2 * euclidean(self.w) ** 2

        # 2. The intercept. With a cost, the imbalance uses up budget; otherwise it has
        # to be repaired.
        v0_cost = 0.0
        unbalanced = abs(self.imbalance)
        if problem.has_intercept_cost:
            norm_part -= self.imbalance * self.b
            v0_cost = problem.intercept_cost * abs(self.imbalance)
            unbalanced = 0.0

        # 3. The distance term of the dual, and what of the radius its constraint needs
        if problem.l2 > 0.0:
            budget = left
            if v0_cost > 0.0:
                budget, _, _ = dual_norm.remainder(left, min(v0_cost, left))
            outside = self.v - dual_norm.project_ball(self.v, budget)
            norm_part += euclidean(outside) ** 2 / (2.0 * problem.l2)
            needed = flipped_cost + v0_cost
        else:
            vector = np.append(self.v, v0_cost) if v0_cost > 0.0 else self.v
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

    def _multiples(self, w: np.ndarray, margins: np.ndarray, lam: float) -> Multiples:
        """Return the multiples of a classifier with these margins and price."""
        problem = self.problem
        gains = None
        if problem.flips_possible:
            costs = lam * self.flips.kappa
            gains = np.where(self.flips.possible, margins - costs, -np.inf)
        ridge = problem.l2 * euclidean(w) ** 2
        return Multiples(
            margins, gains, problem.sample_weight, problem.radius * lam, ridge
        )

    def candidate(self) -> Candidate:
        """Return the classifier and the multipliers, in the units of the user."""
        return self._offer(self.w, self.b, self.hinge, self.flip)

    def _offer(self, w, b: float, hinge, flip) -> Candidate:
        """Return a classifier, or its best multiple, with multipliers."""
        problem = self.problem
        if not self.offers_multiples:
            return self.columns.to_outer(Candidate(w, b, hinge, flip))
        margins = problem.margins(w, b)
        lam = problem.norm_of(w, b)
        if problem.flips_possible:
            lam = problem.radius_price(w, margins, b)
        s = self._multiples(w, margins, lam).best()
        return self.columns.to_outer(Candidate(s * w, s * b, hinge, flip))
