"""Phases of the incremental methods: sequences of epochs of one kind.

    subgradient    projected subgradient steps on batches of rows
    proximal       exact proximal steps on single rows
    batches        proximal steps on batches of rows
    memory         exact proximal steps on single rows that keep the last contributions of all other rows

The first two need decreasing step sizes; averages of their multipliers prove a bound.
Memory works with a constant step size: with a fixed centre its epochs converge to the
proximal step on the whole objective with step size nη, and after each epoch the centre
moves to the point reached. Its multipliers are those of the dual problem, so its bounds
are good.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

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
    sensible,
)
from drsvm.solvers.reformulation.priced_columns import PricedColumns
from drsvm.utils.clock import Stopwatch

if TYPE_CHECKING:
    from drsvm.solvers.paper.incremental.run import Incremental

# weights of the latest epoch in the averages of points and of multipliers
SHARE = 0.2
SHARE_OF_MULTIPLIERS = 0.1
# First steps, in natural ones (of subgradients over the root of the batch size, of
# batches over it), and of memory
FIRST_SUBGRADIENT = 0.1
FIRST_PROXIMAL = 0.1
FIRST_OF_BATCHES = 0.3
MEMORY_STEP = 0.3
# usual batch size, and the minimum number of batches per epoch for which it is used
BATCH = 32
BATCHES = 256
# Steps on batches may be inexact by this fraction of the tolerance
SHARE_OF_TOLERANCE = 0.25
# over a batch, at first and later: few pay off before the optimum is close
FEW_PASSES = 8
MAX_PASSES = 512
MANY_ROWS = 2000  # with fewer rows an epoch has few steps, so they are longer
# ratios of first steps that are tried, and of objectives for which the longer is better
LONGER = 8.0
CLEARLY = 0.9
# An opening continues while an epoch lowers the objective by this fraction, with this
# ratio of steps, up to so many
MIN_DECREASE = 0.02
COOLING = 0.3
LONGEST_OPENING = 8

Pair = tuple[np.ndarray, np.ndarray]  # multipliers of the hinges and of the flips


class Track:
    """The point that the phases move in turn, the epochs that move it, and the common settings."""

    def __init__(self, problem: Problem, limits: Limits, settings: "Incremental"):
        self.problem = problem
        self.limits = limits
        self.settings = settings
        self.columns = PricedColumns.of(problem)
        order = settings.order
        has_constant = self.columns.intercept_cost is not None
        self.epochs = Epochs.of(
            self.columns.problem, order, limits.generator(), has_constant, limits.time
        )
        # By which steps are longer than usual
        self.few_rows_factor = max(1.0, math.sqrt(MANY_ROWS / problem.n_rows))
        self.point = self.epochs.origin()
        start = limits.start
        if start is None:
            return
        point = self.point
        inner = self.columns.to_inner(start)
        margins = problem.margins(start.weights, start.intercept)
        price = problem.radius_price(start.weights, margins, start.intercept)
        lam = price if problem.radius > 0.0 else UNLIMITED
        point.w[:] = inner.weights
        point.scalars[:] = lam, inner.intercept, lam
        if start.hinge_dual is not None and start.flip_dual is not None:
            point.hinge[:] = np.clip(start.hinge_dual / problem.sample_weight, 0.0, 1.0)
            point.flip[:] = (
                np.clip(start.flip_dual / problem.sample_weight, 0.0, 1.0 - point.hinge)
                * problem.can_flip
            )

    def classifier(self, point: Iterate, *multipliers: np.ndarray) -> Candidate:
        return self.columns.to_outer(
            Candidate(point.w, float(point.scalars[1]), *multipliers)
        )

    def value(self, point: Iterate) -> float:
        """Return the objective of a point with its own λ."""
        classifier = self.classifier(point)
        w = classifier.weights
        b = classifier.intercept
        with np.errstate(over="ignore", invalid="ignore"):
            margins = self.problem.margins(w, b)
            lam = self.problem.norm_of(w, b)
            if self.problem.flips_possible and self.problem.radius > 0.0:
                lam = max(point.scalars[0], lam)
            value = self.problem.objective_at(w, margins, lam)
        return value if math.isfinite(value) else math.inf

    def better(self, one: Pair, other: Pair, point: Iterate) -> Pair:
        """Return the multipliers, as fractions of the weights, that prove the higher bound."""
        problem = self.problem
        reference = self.classifier(point).weights

        def bound(pair) -> float:
            hinge, flip = (problem.sample_weight * shares for shares in pair)
            return dual_point(problem, hinge, flip, reference=reference).lower_bound

        return max(one, other, key=bound)


class Phase(ABC):
    """A sequence of epochs of one kind, which move the point of a track."""

    name: str
    finished: bool = False

    def __init__(self, track: Track):
        self.track = track

    @abstractmethod
    def epoch(self) -> None:
        """Do one epoch."""

    def point(self) -> Iterate:
        return self.track.point

    def multipliers(self) -> Pair:
        """Return the multipliers to be judged, as fractions of the weights."""
        return self.track.point.hinge, self.track.point.flip


class Memory(Phase):
    """Proximal steps that keep the last contributions of all other rows, with a constant step size."""

    name = "memory"

    def __init__(self, track: Track, point: Iterate | None = None):
        super().__init__(track)
        self.own = track.point if point is None else point
        self.step = MEMORY_STEP * track.epochs.natural_step * track.few_rows_factor
        self.count = 0
        self.hinge, self.flip = self.own.hinge.copy(), self.own.flip.copy()

    def epoch(self) -> None:
        point = self.own
        self.track.epochs.memory(point, self.step)
        self.count += 1
        share = max(SHARE_OF_MULTIPLIERS, 1.0 / self.count)
        self.hinge += share * (point.hinge - self.hinge)
        self.flip += share * (point.flip - self.flip)

    def multipliers(self) -> Pair:
        """Return those of the last epoch or averages over the last few, which lag behind but are more consistent."""
        return self.track.better(
            (self.own.hinge, self.own.flip), (self.hinge, self.flip), self.own
        )


class Averaging(Phase):
    """Epochs with decreasing step sizes.

    The averages of points and multipliers discount old ones.
    """

    def __init__(self, track: Track, first: float = FIRST_PROXIMAL):
        super().__init__(track)
        settings = track.settings
        natural = track.epochs.natural_step
        first *= track.few_rows_factor
        first = sensible(
            first * natural if settings.first_step is None else settings.first_step,
            natural,
        )
        self.schedule: Cycles | Schedule | Descent = Schedule(
            settings.steps, first, settings.decay
        )
        if settings.steps == "auto":
            self.schedule = Cycles(first, track.limits.max_iter, first)
        self.average = track.point.copy()
        self.count = 0
        self.polish: Memory | None = None

    @abstractmethod
    def move(self, step: float, share: float) -> None:
        """Do one epoch with the given step size."""

    def epoch(self) -> None:
        if (
            self.count == 0
            and isinstance(self.schedule, Cycles)
            and self.track.settings.first_step is None
        ):
            self.schedule = replace(
                self.schedule, first=self._longest_good_step(self.schedule.first)
            )
        self.count += 1
        step = sensible(self.schedule.step(self.count), self.track.epochs.natural_step)
        self.move(step, max(SHARE_OF_MULTIPLIERS, 1.0 / self.count))
        share = max(SHARE, 1.0 / self.count)
        # In place, without temporaries: there may be very many features
        blas.dscal(1.0 - share, self.average.w)
        blas.daxpy(self.track.point.w, self.average.w, a=share)
        self.average.scalars[:] += share * (
            self.track.point.scalars - self.average.scalars
        )

    def _longest_good_step(self, step: float) -> float:
        """Try longer and longer steps for the first epoch, as long as they lower the objective clearly."""
        limits = self.track.limits
        start = self.track.point
        best = step
        lowest = math.inf
        reached = start
        watch = Stopwatch()
        # Each trial is eight times longer, so a few dozen at most lead from the
        # smallest to the largest step.
        while (
            step <= LARGEST * self.track.epochs.natural_step and limits.time.left() > 0
        ):
            watch = Stopwatch()
            self.track.point = start.copy()
            self.move(step, 1.0)
            value = self.track.value(self.track.point)
            if not value < CLEARLY * lowest:
                break
            best = step
            lowest = value
            reached = self.track.point
            step *= LONGER
        # If there is no time for another epoch of this kind, keep the best trial.
        if limits.time.left() > watch.elapsed():
            self.track.point = start
        else:
            self.track.point = reached
        return best

    def best(self) -> tuple[float, Iterate]:
        """Return the objective of the better of the last point and the average, and that point."""
        values = [
            (self.track.value(point), point)
            for point in (self.track.point, self.average)
        ]
        return min(values, key=lambda pair: pair[0])

    def point(self) -> Iterate:
        return self.best()[1]

    def multipliers(self) -> Pair:
        """Return averaged multipliers or, with `polish_dual`, those of steps with memory on a copy of the point."""
        if not self.track.settings.polish_dual:
            return super().multipliers()
        if self.polish is None:
            self.polish = Memory(self.track, self.track.point.copy())
        self.polish.epoch()
        return self.polish.multipliers()


class Subgradient(Averaging):
    """Projected subgradient steps on batches."""

    name = "subgradient"

    def __init__(self, track: Track, batch_size: int | None):
        usual = max(1, min(BATCH, track.problem.n_rows // BATCHES))
        self.batch_size = min(batch_size or usual, track.problem.n_rows)
        super().__init__(track, FIRST_SUBGRADIENT * math.sqrt(self.batch_size))

    def move(self, step: float, share: float) -> None:
        self.track.epochs.subgradient(self.track.point, step, share, self.batch_size)


class Proximal(Averaging):
    """Exact proximal steps on single rows."""

    name = "proximal"

    def move(self, step: float, share: float) -> None:
        self.track.epochs.proximal(self.track.point, step, share)


class Batches(Averaging):
    """Proximal steps on batches of rows.

    With the batch of all rows, the proximal point method.
    """

    name = "batches"

    def __init__(self, track: Track, batch_size: int | None):
        self.batch_size = min(batch_size or track.problem.n_rows, track.problem.n_rows)
        self.has_all_rows = self.batch_size == track.problem.n_rows
        super().__init__(track, FIRST_OF_BATCHES * self.batch_size)
        self.latest = np.stack([track.point.hinge, track.point.flip])
        self.limit = SHARE_OF_TOLERANCE * track.limits.tol
        self.passes = FEW_PASSES
        if isinstance(self.schedule, Cycles):
            ratio = 1.0 if self.has_all_rows else COOLING
            self.schedule = Descent(
                self.schedule.first, self.limit, track.value(track.point), ratio
            )

    def move(self, step: float, share: float) -> None:
        batching = Batching(self.batch_size, self.latest, self.limit, self.passes)
        self.track.epochs.batches(self.track.point, batching, step, share)

    def epoch(self) -> None:
        super().epoch()
        if isinstance(self.schedule, Descent):
            value = self.track.value(self.track.point)
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
        point = self.track.point
        return self.track.better(
            (self.latest[0], self.latest[1]), (point.hinge, point.flip), point
        )


class Opening(Phase):
    """The first epochs of a phase with decreasing step sizes, as long as each lowers the objective substantially."""

    def __init__(self, inner: Averaging):
        super().__init__(inner.track)
        self.inner = inner
        self.lowest = math.inf
        self.name = inner.name
        inner.schedule = Schedule("geometric", inner.schedule.step(1), COOLING)

    def epoch(self) -> None:
        self.inner.epoch()
        value, best = self.inner.best()
        worthwhile = value < (1.0 - MIN_DECREASE) * self.lowest
        self.lowest = min(self.lowest, value)
        if not worthwhile or self.inner.count >= LONGEST_OPENING:
            self.finished = True  # at the best point
            self.track.point.w[:], self.track.point.scalars[:] = best.w, best.scalars

    def point(self) -> Iterate:
        return self.inner.point()
