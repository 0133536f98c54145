"""The phases of the incremental methods: stretches of epochs of one kind.

    subgradient    projected subgradient steps on batches of rows
    proximal       exact proximal steps on single rows
    memory         exact proximal steps on single rows that keep the last pulls of all other rows

The first two need steps that shrink; averages of their multipliers prove a bound. Memory needs no shrinking steps: with
a fixed centre its epochs tend to the proximal step on the whole objective with the step nη, and after each of them the
centre moves to the point reached. Its multipliers are those of the dual problem, so its bounds are good ones.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
from scipy.linalg import blas

from drsvm.clock import Stopwatch
from drsvm.model.certificate import dual_point
from drsvm.model.problem import Problem
from drsvm.solvers.base import Candidate, Limits
from drsvm.solvers.epochs import UNLIMITED, Epochs, Point
from drsvm.solvers.steps import LARGEST, Cycles, Schedule, StepRule, sensible

SHARE, SHARE_OF_MULTIPLIERS = 0.2, 0.1
"""Weights of the latest epoch in the averages of points and of multipliers."""

FIRST_SUBGRADIENT, FIRST_PROXIMAL, MEMORY_STEP = 0.1, 0.1, 0.3
"""First steps (times the root of the batch size for subgradients) and the step of memory, in natural steps."""

BATCH, BATCHES = 32, 256
"""Usual size of a batch, and the least number of batches in an epoch for which it is chosen."""

MANY_ROWS = 2000
"""With fewer rows an epoch has few steps, and these are longer."""

LONGER, CLEARLY = 8.0, 0.9
"""Ratio of the first steps that are tried, and ratio of the objectives that makes the longer one the better one."""

WORTHWHILE, COOLING, LONGEST_OPENING = 0.02, 0.3, 8
"""An opening phase goes on while an epoch lowers the objective by this share, with steps that shrink by this ratio."""


class Track:
    """The point that phases move in turn, with what moves it and the settings that they share."""

    def __init__(self, problem: Problem, epochs: Epochs, limits: Limits, rule: StepRule, polish: bool):
        self.problem, self.epochs, self.limits, self.rule, self.polish = problem, epochs, limits, rule, polish
        self.point = epochs.origin()
        if limits.start is not None:
            self.go_to(limits.start)

    def go_to(self, start: Candidate) -> None:
        """Move the point to a given classifier, with its multipliers where it has them."""
        point, weights = self.point, self.problem.sample_weight
        point.w[:] = start.weights
        price = self.problem.radius_price(point.w, self.problem.margins(point.w, start.intercept))
        level = price if self.epochs.cone.limits_weights else UNLIMITED
        point.scalars[:] = level, start.intercept, level
        if start.hinge_dual is not None and start.flip_dual is not None:
            point.hinge[:] = np.clip(start.hinge_dual / weights, 0.0, 1.0)
            point.flip[:] = np.clip(start.flip_dual / weights, 0.0, 1.0 - point.hinge)

    def value(self, point: Point) -> float:
        """Return the objective of a point with its own λ."""
        with np.errstate(over="ignore", invalid="ignore"):
            margins = self.problem.margins(point.w, point.scalars[1])
            level = self.problem.norm.value(point.w)
            if self.problem.flips_possible and self.epochs.cone.limits_weights:
                level = max(point.scalars[0], level)
            value = self.problem.objective_at(point.w, margins, level)
        return value if math.isfinite(value) else math.inf


class Phase(ABC):
    """A stretch of epochs of one kind, which move the point of a track."""

    name: str
    finished: bool = False

    def __init__(self, track: Track):
        self.track = track

    @abstractmethod
    def epoch(self) -> None:
        """Do one epoch."""

    def point(self) -> Point:
        """Return the point to be judged."""
        return self.track.point

    def multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers to be judged, as shares of the weights."""
        return self.track.point.hinge, self.track.point.flip


class Memory(Phase):
    """Proximal steps that keep the last pulls of all other rows; the step stays as it is.

    Multipliers are those of the last epoch or averages over the last few, which lag behind, but fit together better.
    """

    name = "memory"

    def __init__(self, track: Track, point: Point | None = None):
        super().__init__(track)
        self.own = track.point if point is None else point
        self.step = MEMORY_STEP * track.epochs.natural_step * few_rows_factor(track.problem)
        self.count = 0
        self.hinge, self.flip = self.own.hinge.copy(), self.own.flip.copy()

    def epoch(self) -> None:
        """Do one epoch."""
        point = self.own
        self.track.epochs.memory(self.track.problem, point, self.step)
        self.count += 1
        share = max(SHARE_OF_MULTIPLIERS, 1.0 / self.count)
        self.hinge += share * (point.hinge - self.hinge)
        self.flip += share * (point.flip - self.flip)

    def multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers of the last epoch or averages, whichever prove more."""
        choices = (self.own.hinge, self.own.flip), (self.hinge, self.flip)
        return max(choices, key=lambda pair: _bound(self.track.problem, self.own, *pair))


def _bound(problem: Problem, point: Point, hinge, flip) -> float:
    return dual_point(
        problem, problem.sample_weight * hinge, problem.sample_weight * flip, reference=point.w
    ).lower_bound


def few_rows_factor(problem: Problem) -> float:
    """Return by how much steps are longer than usual, because an epoch has few of them."""
    return max(1.0, math.sqrt(MANY_ROWS / problem.n_rows))


class Averaging(Phase):
    """Epochs with steps that shrink. The averages of points and multipliers forget those of long ago."""

    def __init__(self, track: Track, first: float):
        super().__init__(track)
        first *= few_rows_factor(track.problem)
        self.schedule = track.rule.schedule(first, track.epochs.natural_step, track.limits.max_iter)
        self.average, self.count = track.point.copy(), 0
        self.polish: Memory | None = None

    @abstractmethod
    def move(self, step: float, share: float) -> None:
        """Do one epoch with the given step."""

    def epoch(self) -> None:
        """Do one epoch, and take it into the averages."""
        if self.count == 0 and isinstance(self.schedule, Cycles) and self.track.rule.first is None:
            self.schedule = replace(self.schedule, first=self._longest_good_step(self.schedule.first))
        self.count += 1
        step = sensible(self.schedule.step(self.count), self.track.epochs.natural_step)
        self.move(step, max(SHARE_OF_MULTIPLIERS, 1.0 / self.count))
        share = max(SHARE, 1.0 / self.count)
        blas.dscal(1.0 - share, self.average.w)  # in place, without temporaries: there may be very many features
        blas.daxpy(self.track.point.w, self.average.w, a=share)
        self.average.scalars[:] += share * (self.track.point.scalars - self.average.scalars)

    def _longest_good_step(self, step: float) -> float:
        """Try longer and longer steps for the first epoch, as long as the objective falls much lower with them."""
        limits, start = self.track.limits, self.track.point
        best, lowest, reached, watch = step, math.inf, start, Stopwatch()
        # Eight times longer every time: a few dozen trials at the most lead from the smallest to the largest step.
        while step <= LARGEST * self.track.epochs.natural_step and limits.time_left() > 0:
            watch = Stopwatch()
            self.track.point = start.copy()
            self.move(step, 1.0)
            value = self.track.value(self.track.point)
            if not value < CLEARLY * lowest:
                break
            best, lowest, reached = step, value, self.track.point
            step *= LONGER
        # Without the time for another epoch of this kind, the best trial is all there is.
        self.track.point = start if limits.time_left() > watch.elapsed() else reached
        return best

    def best(self) -> tuple[float, Point]:
        """Return the objective of the better one of the last point and the average, and that point."""
        choices = self.track.point, self.average
        return min(((self.track.value(point), point) for point in choices), key=lambda pair: pair[0])

    def point(self) -> Point:
        """Return the better one of the last point and the average."""
        return self.best()[1]

    def multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return averaged multipliers, or what steps with memory on a copy of the point have made of them so far."""
        if not self.track.polish:
            return self.track.point.hinge, self.track.point.flip
        if self.polish is None:
            self.polish = Memory(self.track, self.track.point.copy())
        self.polish.epoch()
        return self.polish.multipliers()


class Subgradient(Averaging):
    """Projected subgradient steps on batches."""

    name = "subgradient"

    def __init__(self, track: Track, batch_size: int | None, first: float = FIRST_SUBGRADIENT):
        usual = max(1, min(BATCH, track.problem.n_rows // BATCHES))
        self.batch_size = min(usual if batch_size is None else batch_size, track.problem.n_rows)
        super().__init__(track, first * math.sqrt(self.batch_size))

    def move(self, step: float, share: float) -> None:
        """Do one epoch with the given step."""
        self.track.epochs.subgradient(self.track.point, step, share, self.batch_size)


class Proximal(Averaging):
    """Exact proximal steps on single rows."""

    name = "proximal"

    def __init__(self, track: Track, first: float = FIRST_PROXIMAL):
        super().__init__(track, first)

    def move(self, step: float, share: float) -> None:
        """Do one epoch with the given step."""
        self.track.epochs.proximal(self.track.point, step, share)


class Opening(Phase):
    """The first epochs of a phase with shrinking steps, as long as each lowers the objective by a good share."""

    def __init__(self, inner: Averaging):
        super().__init__(inner.track)
        self.inner, self.lowest, self.name = inner, math.inf, inner.name
        inner.schedule = Schedule("geometric", inner.schedule.step(1), COOLING)

    def epoch(self) -> None:
        """Do one epoch; the phase ends at its best point."""
        self.inner.epoch()
        value, best = self.inner.best()
        worthwhile = value < (1.0 - WORTHWHILE) * self.lowest
        self.lowest = min(self.lowest, value)
        if not worthwhile or self.inner.count >= LONGEST_OPENING:
            self.finished = True
            self.track.point.w[:], self.track.point.scalars[:] = best.w, best.scalars

    def point(self) -> Point:
        """Return the point to be judged."""
        return self.inner.point()
