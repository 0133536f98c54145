"""Phases of the incremental methods: sequences of epochs of one kind.

    subgradient    projected subgradient steps on batches of rows
    proximal       exact proximal steps on single rows
    batches        proximal steps on batches of rows
    memory         exact proximal steps on single rows that keep the last contributions
                   of all other rows

The first two need decreasing step sizes; averages of their multipliers prove a bound.
Memory works with a constant step size: with a fixed centre its epochs converge to the
proximal step on the whole objective with step size nη, and after each epoch the centre
moves to the point reached. Its multipliers are those of the dual problem, so its bounds
are good.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
from scipy.linalg import blas

from drsvm.certificate.certificate import dual_point
from drsvm.compiled.memory_epochs import Batching
from drsvm.compiled.proximal_epochs import Iterate
from drsvm.problem.problem import Problem
from drsvm.solvers.base import Candidate, Limits
from drsvm.solvers.paper.incremental.epochs import UNLIMITED, Epochs
from drsvm.solvers.paper.incremental.step_sizes import (
    LARGEST,
    Cycles,
    Descent,
    Schedule,
    StepSizes,
    sensible,
)
from drsvm.solvers.reformulation.costs_as_columns import CostsAsColumns
from drsvm.utils.clock import Stopwatch

# Weights of the latest epoch in the averages of points and of multipliers
SHARE = 0.2
SHARE_OF_MULTIPLIERS = 0.1
# First step sizes, and that of memory, in natural steps. A batch of b rows takes √b
# times the first if it takes subgradient steps (their noise falls like 1/√b), and b
# times the first if it takes proximal steps.
FIRST_SUBGRADIENT = 0.1
FIRST_PROXIMAL = 0.1
FIRST_OF_BATCHES = 0.3
MEMORY_STEP = 0.3
# Usual batch size, and the minimum number of batches per epoch for which it is used
BATCH = 32
BATCHES = 256
# Steps on batches may be inexact by this fraction of the tolerance
SHARE_OF_TOLERANCE = 0.25
# Limits on passes over a batch, at first and later: few pay off before the optimum is
# close
FEW_PASSES = 8
MAX_PASSES = 512
MANY_ROWS = 2000  # with fewer rows an epoch has few steps, so they are longer
# Ratios of first steps that are tried, and of objectives for which the longer is better
LONGER = 8.0
CLEARLY = 0.9
# The first epochs continue while each lowers the objective by this fraction; the ratio
# of their step sizes, and the largest number of them
MIN_DECREASE = 0.02
COOLING = 0.3
MAX_FIRST_EPOCHS = 8

Pair = tuple[np.ndarray, np.ndarray]  # multipliers of the hinges and of the flips


class Workspace:
    """What the phases of a run share: the point that they move, and the epochs.

    `order`, `step_sizes` and `polish_dual` are settings of the run (see
    `run.Incremental`). The point is one of the problem in which costs are columns.
    """

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        order: str,
        step_sizes: StepSizes,
        polish_dual: bool,
    ):
        self.problem = problem
        self.limits = limits
        self.step_sizes = step_sizes
        self.polish_dual = polish_dual
        self.columns = CostsAsColumns.of(problem)
        has_constant = self.columns.intercept_cost is not None
        self.epochs = Epochs.of(
            self.columns.problem, order, limits.generator(), has_constant, limits.time
        )
        # By which steps are longer than usual
        self.few_rows_factor = max(1.0, math.sqrt(MANY_ROWS / problem.n_rows))
        self.point = self.epochs.origin()
        if limits.start is not None:
            self._move_to(limits.start)

    def _move_to(self, start: Candidate) -> None:
        """Move the point to a classifier, with its multipliers if it has any."""
        problem = self.problem
        point = self.point
        inner = self.columns.to_inner(start)
        lam = UNLIMITED
        if problem.radius > 0.0:
            margins = problem.margins(start.weights, start.intercept)
            lam = problem.radius_price(start.weights, margins, start.intercept)
        point.w[:] = inner.weights
        point.scalars[:] = lam, inner.intercept, lam
        if start.hinge_dual is not None and start.flip_dual is not None:
            point.hinge[:] = np.clip(start.hinge_dual / problem.sample_weight, 0.0, 1.0)
            flip = start.flip_dual / problem.sample_weight
            flip = np.clip(flip, 0.0, 1.0 - point.hinge)
            point.flip[:] = flip * problem.can_flip

    def classifier(self, point: Iterate, *multipliers: np.ndarray) -> Candidate:
        """Return the classifier of a point, and multipliers if they are given."""
        return self.columns.to_outer(
            Candidate(point.w, float(point.scalars[1]), *multipliers)
        )

    def value(self, point: Iterate) -> float:
        """Return the objective of a point with its own λ, or inf if it overflows."""
        classifier = self.classifier(point)
        w = classifier.weights
        b = classifier.intercept
        with np.errstate(over="ignore", invalid="ignore"):
            margins = self.problem.margins(w, b)
            lam = self.problem.norm_of(w, b)
            if self.problem.flips_possible and self.problem.radius > 0.0:
                lam = max(point.scalars[0], lam)
            value = self.problem.objective_at(w, margins, lam)
        # A comparison with NaN would be False.
        if not math.isfinite(value):
            return math.inf
        return value

    def better(self, one: Pair, other: Pair, point: Iterate) -> Pair:
        """Return the multipliers that prove the higher bound.

        They are fractions of the weights of the rows. Where a bound holds for limited
        weights only, those of `point` tell how large they are.
        """
        reference = self.classifier(point).weights
        if self._bound(one, reference) >= self._bound(other, reference):
            return one
        return other

    def _bound(self, pair: Pair, reference: np.ndarray) -> float:
        """Return the lower bound that multipliers prove."""
        hinge = self.problem.sample_weight * pair[0]
        flip = self.problem.sample_weight * pair[1]
        proof = dual_point(self.problem, hinge, flip, reference=reference)
        return proof.lower_bound


class Phase(ABC):
    """A sequence of epochs of one kind, which move the point of a workspace."""

    name: str
    finished: bool = False

    def __init__(self, shared: Workspace):
        self.shared = shared

    @abstractmethod
    def epoch(self) -> None:
        """Do one epoch."""

    def point(self) -> Iterate:
        """Return the point to be judged."""
        return self.shared.point

    def multipliers(self) -> Pair:
        """Return the multipliers to be judged, as fractions of the weights."""
        return self.shared.point.hinge, self.shared.point.flip


class Memory(Phase):
    """Proximal steps that keep the last contributions of all other rows.

    The step size is constant. The point that moves is that of the workspace, or a given
    one.
    """

    name = "memory"

    def __init__(self, shared: Workspace, point: Iterate | None = None):
        super().__init__(shared)
        self.own = shared.point if point is None else point
        self.step = MEMORY_STEP * shared.epochs.natural_step * shared.few_rows_factor
        self.count = 0
        # Averages of the multipliers
        self.hinge = self.own.hinge.copy()
        self.flip = self.own.flip.copy()

    def epoch(self) -> None:
        point = self.own
        self.shared.epochs.memory(point, self.step)
        self.count += 1
        share = max(SHARE_OF_MULTIPLIERS, 1.0 / self.count)
        self.hinge += share * (point.hinge - self.hinge)
        self.flip += share * (point.flip - self.flip)

    def multipliers(self) -> Pair:
        """Return those of the last epoch, or averages over the last few.

        Averages lag behind but are more consistent.
        """
        return self.shared.better(
            (self.own.hinge, self.own.flip), (self.hinge, self.flip), self.own
        )


class Averaging(Phase):
    """Epochs with decreasing step sizes.

    The averages of points and multipliers discount old ones.
    """

    def __init__(self, shared: Workspace, first: float = FIRST_PROXIMAL):
        super().__init__(shared)
        natural = shared.epochs.natural_step
        usual = first * shared.few_rows_factor * natural
        self.schedule: Cycles | Schedule | Descent = shared.step_sizes.schedule(
            usual, natural, shared.limits.max_iter
        )
        self.average = shared.point.copy()
        self.count = 0
        self.polish: Memory | None = None

    @abstractmethod
    def move(self, step: float, share: float) -> None:
        """Do one epoch with the given step size.

        `share` is that of the new multipliers in their averages.
        """

    def epoch(self) -> None:
        # 1. The step size; only a first one that the user has not set may become longer
        is_default = self.shared.step_sizes.first is None
        if self.count == 0 and is_default and isinstance(self.schedule, Cycles):
            first = self._longest_good_step(self.schedule.first)
            self.schedule = replace(self.schedule, first=first)
        self.count += 1
        step = sensible(self.schedule.step(self.count), self.shared.epochs.natural_step)
        # 2. The epoch
        self.move(step, max(SHARE_OF_MULTIPLIERS, 1.0 / self.count))
        # 3. The average, in place and without temporaries: there may be very many
        # features
        share = max(SHARE, 1.0 / self.count)
        blas.dscal(1.0 - share, self.average.w)
        blas.daxpy(self.shared.point.w, self.average.w, a=share)
        self.average.scalars[:] += share * (
            self.shared.point.scalars - self.average.scalars
        )

    def _longest_good_step(self, step: float) -> float:
        """Return the longest first step that lowers the objective clearly.

        Longer and longer steps are tried, each for one epoch from the same point.
        """
        limits = self.shared.limits
        start = self.shared.point
        best = step
        lowest = math.inf
        reached = start
        watch = Stopwatch()
        # Each trial is eight times longer, so a few dozen at most lead from the
        # smallest to the largest step.
        while (
            step <= LARGEST * self.shared.epochs.natural_step and limits.time.left() > 0
        ):
            watch = Stopwatch()
            self.shared.point = start.copy()
            self.move(step, 1.0)
            value = self.shared.value(self.shared.point)
            if not value < CLEARLY * lowest:
                break
            best = step
            lowest = value
            reached = self.shared.point
            step *= LONGER
        # If there is no time for another epoch of this kind, keep the best trial.
        if limits.time.left() > watch.elapsed():
            self.shared.point = start
        else:
            self.shared.point = reached
        return best

    def best(self) -> tuple[float, Iterate]:
        """Return the better of the last point and the average, after its objective."""
        last = self.shared.value(self.shared.point)
        of_average = self.shared.value(self.average)
        if last <= of_average:
            return last, self.shared.point
        return of_average, self.average

    def point(self) -> Iterate:
        return self.best()[1]

    def multipliers(self) -> Pair:
        """Return averaged multipliers, or polished ones.

        With `polish_dual` they are those of steps with memory on a copy of the point.
        """
        if not self.shared.polish_dual:
            return super().multipliers()
        if self.polish is None:
            self.polish = Memory(self.shared, self.shared.point.copy())
        self.polish.epoch()
        return self.polish.multipliers()


class Subgradient(Averaging):
    """Projected subgradient steps on batches."""

    name = "subgradient"

    def __init__(self, shared: Workspace, batch_size: int | None):
        n = shared.problem.n_rows
        usual = max(1, min(BATCH, n // BATCHES))
        self.batch_size = min(batch_size or usual, n)
        super().__init__(shared, FIRST_SUBGRADIENT * math.sqrt(self.batch_size))

    def move(self, step: float, share: float) -> None:
        self.shared.epochs.subgradient(self.shared.point, step, share, self.batch_size)


class Proximal(Averaging):
    """Exact proximal steps on single rows."""

    name = "proximal"

    def move(self, step: float, share: float) -> None:
        self.shared.epochs.proximal(self.shared.point, step, share)


class Batches(Averaging):
    """Proximal steps on batches of rows.

    With the batch of all rows, the proximal point method.
    """

    name = "batches"

    def __init__(self, shared: Workspace, batch_size: int | None):
        n = shared.problem.n_rows
        self.batch_size = min(batch_size or n, n)
        self.has_all_rows = self.batch_size == n
        super().__init__(shared, FIRST_OF_BATCHES * self.batch_size)
        # The last multipliers of all rows; those of the point are averages.
        self.latest = np.stack([shared.point.hinge, shared.point.flip])
        self.limit = SHARE_OF_TOLERANCE * shared.limits.tol
        self.passes = FEW_PASSES
        if isinstance(self.schedule, Cycles):
            # A batch of all rows has no noise: its steps need not become shorter.
            ratio = 1.0 if self.has_all_rows else COOLING
            self.schedule = Descent(
                self.schedule.first, self.limit, shared.value(shared.point), ratio
            )

    def move(self, step: float, share: float) -> None:
        batching = Batching(self.batch_size, self.latest, self.limit, self.passes)
        self.shared.epochs.batches(self.shared.point, batching, step, share)

    def epoch(self) -> None:
        super().epoch()
        if isinstance(self.schedule, Descent):
            value = self.shared.value(self.shared.point)
            # Without noise step sizes do not decrease: if an epoch does not lower the
            # objective, steps are more exact.
            if self.has_all_rows and value > self.schedule.lowest - self.limit:
                self.passes = min(2 * self.passes, MAX_PASSES)
            self.schedule.judge(value)

    def multipliers(self) -> Pair:
        """Return the last multipliers or the averages of a batch of all rows.

        Those of smaller batches are polished.
        """
        if not self.has_all_rows:
            return super().multipliers()
        point = self.shared.point
        return self.shared.better(
            (self.latest[0], self.latest[1]), (point.hinge, point.flip), point
        )


class FirstEpochs(Phase):
    """The first epochs of a phase with decreasing step sizes.

    The phase ends when one of them does not lower the objective substantially.
    """

    def __init__(self, inner: Averaging):
        super().__init__(inner.shared)
        self.inner = inner
        self.lowest = math.inf
        self.name = inner.name
        inner.schedule = Schedule("geometric", inner.schedule.step(1), COOLING)

    def epoch(self) -> None:
        self.inner.epoch()
        value, best = self.inner.best()
        worthwhile = value < (1.0 - MIN_DECREASE) * self.lowest
        self.lowest = min(self.lowest, value)
        if not worthwhile or self.inner.count >= MAX_FIRST_EPOCHS:
            self.finished = True
            # The next phase starts from the best point.
            self.shared.point.w[:] = best.w
            self.shared.point.scalars[:] = best.scalars

    def point(self) -> Iterate:
        return self.inner.point()
