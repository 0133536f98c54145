"""What the incremental methods share: their settings, and runs made of phases.

    minimise over ‖w‖_q ≤ λ    (1/n) Σ_i f_i(w, b, λ),     f_i = nπ_i max(1 − m_i, 1 + m_i − κλ, 0) + ελ + (c/2)‖w‖²

An iteration is an epoch, one pass over the rows. Every method is a sequence of phases:

    subgradient    projected subgradient steps on batches of rows
    proximal       exact proximal steps on single rows
    memory         exact proximal steps on single rows that keep the last pulls of all other rows

The first two need steps that shrink; averages of their multipliers prove a bound. Memory needs no shrinking steps: with
a fixed centre its epochs tend to the proximal step on the whole objective with the step nη, and after each of them the
centre moves to the point reached. Its multipliers are those of the dual problem, so its bounds are good ones.

Columns of very different sizes make all of them slow. Where epochs do not pay, the interior point takes over.
"""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import blas

from drsvm.clock import Stopwatch
from drsvm.model.certificate import dual_point
from drsvm.model.problem import Problem
from drsvm.solvers.base import Candidate, Limits, Solver, State
from drsvm.solvers.epochs import ORDERS, UNLIMITED, Cone, Epochs, Point, Samples
from drsvm.solvers.hand_over import HandOver
from drsvm.solvers.selection import interior_point_pays
from drsvm.solvers.steps import LARGEST, Cycles, Schedule, check_steps, sensible

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

PATIENCE, PROGRESS, NEAR, LATEST = 64, 0.5, 10.0, 0.75
"""After so many epochs, the second half of them must have reduced the gap to this share, or it must be within this
multiple of the tolerance; otherwise, and after this share of all iterations, the interior point takes over."""

ADVICE = "epochs hardly narrow the gap: scale the features to a common size, or choose solver='auto'"


@dataclass(frozen=True)
class Incremental(Solver):
    """Settings that the incremental methods share.

    Attributes
    ----------
    steps : {"auto", "geometric", "harmonic", "root"}
        Scheme of the step sizes; "auto" needs no tuning, the others are those of the theory.
    first_step : float, optional
        Step size of the first epoch; None: from the data.
    decay : float
        Ratio of the steps of two epochs, for "geometric".
    order : {"shuffled", "cyclic", "with-replacement"}
        Order of the rows in an epoch.
    polish : bool
        Whether multipliers are improved by an epoch of steps with memory for every certificate; these change nothing
        about the classifier, but averages of plain multipliers prove much less.
    hand_over : bool
        Whether, with steps="auto", the interior point takes over where progress is slow and its matrices are of a
        modest size. With tol=0 there is nothing to reach, and epochs go on.
    """

    default_tol = 1e-4
    default_max_iter = 500

    steps: str = "auto"
    first_step: float | None = None
    decay: float = 0.97
    order: str = "shuffled"
    polish: bool = True
    hand_over: bool = True

    def __post_init__(self) -> None:
        check_steps(self.steps, self.first_step, self.decay)
        if self.order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}, got order={self.order!r}.")

    def start(self, problem: Problem, limits: Limits) -> State:
        """Prepare a run."""
        run = IncrementalState(problem, self, limits)
        may_hand_over = limits.tol > 0.0 and not self.is_pure and interior_point_pays(problem)
        return HandOver(run, problem, limits) if may_hand_over else run

    @property
    def is_pure(self) -> bool:
        """Whether the method must remain what its name says."""
        return not self.hand_over or self.steps != "auto"

    @abstractmethod
    def phases(self, run: "IncrementalState") -> Iterator["Phase"]:
        """Yield the phases of a run; the last one goes on for ever."""


def check_batch_size(batch_size) -> None:
    """Refuse what is no number of rows."""
    if batch_size is None:
        return
    if isinstance(batch_size, bool) or not isinstance(batch_size, numbers.Integral) or batch_size < 1:
        raise ValueError(f"batch_size must be an integer ≥ 1 or None, got batch_size={batch_size!r}.")


class IncrementalState(State):
    """One run: the present point, the averages, and the phase that changes them."""

    def __init__(self, problem: Problem, settings: Incremental, limits: Limits):
        self.problem, self.settings, self.limits = problem, settings, limits
        samples = Samples(problem.X, np.array(problem.signs, dtype=np.float64), np.array(problem.sample_weight))
        rng = limits.generator()
        self.epochs = Epochs(samples, Cone.of(problem), settings.order, rng, time=limits.time)
        self.point = self.epochs.origin()
        if limits.start is not None:
            self._go_to(limits.start)
        self.epoch, self.next_certificate = 0, 1
        self.seen: dict[str, int] = {}
        self.gaps: dict[int, float] = {}
        self._phases = settings.phases(self)
        self.phase = next(self._phases)

    def _go_to(self, start: Candidate) -> None:
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

    def step(self) -> None:
        """Do an epoch of the present phase."""
        self.epoch += 1
        if self.phase.finished:
            self.phase = next(self._phases)
        name = self.phase.name
        self.seen[name] = self.seen.get(name, 0) + 1
        self.phase.epoch()

    def candidate(self) -> Candidate:
        """Return the best point at hand, with multipliers."""
        self.next_certificate = self.epoch + max(1, self.epoch // 10)
        if self.problem.flip_cost == 0:  # flips are free: every classifier has the worst-case risk 1
            half = 0.5 * self.problem.sample_weight
            return Candidate(np.zeros(self.problem.n_features), 0.0, half, half)
        point, multipliers = self.phase.point(), self.phase.multipliers()
        hinge, flip = (self.problem.sample_weight * shares for shares in multipliers)
        return Candidate(point.w, float(point.scalars[1]), hinge, flip)

    def certificate_due(self) -> bool:
        """Say whether a certificate is due: after every epoch at first, later after more and more of them."""
        return self.limits.watched or self.epoch >= self.next_certificate

    def judged(self, gap: float) -> None:
        """Find out whether epochs still pay."""
        self.gaps[self.epoch] = gap
        earlier = min((gap for epoch, gap in self.gaps.items() if epoch <= self.epoch // 2), default=math.inf)
        unlikely = gap > max(PROGRESS * earlier, NEAR * self.limits.tol)
        late = self.epoch >= LATEST * self.limits.max_iter and gap > self.limits.tol
        self.gives_up = self.epoch >= PATIENCE and (late or unlikely)

    def info(self) -> dict[str, Any]:
        """Return the number of epochs of each phase, and what would help where they hardly do."""
        return {"epochs": dict(self.seen)} | ({"advice": ADVICE} if self.gives_up and self.limits.tol > 0.0 else {})


class Phase(ABC):
    """A stretch of epochs of one kind, on the point of a run."""

    name: str
    finished: bool = False

    def __init__(self, run: IncrementalState):
        self.run = run

    @abstractmethod
    def epoch(self) -> None:
        """Do one epoch."""

    def point(self) -> Point:
        """Return the point to be judged."""
        return self.run.point

    def multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers to be judged, as shares of the weights."""
        return self.run.point.hinge, self.run.point.flip


class Memory(Phase):
    """Proximal steps that keep the last pulls of all other rows; the step stays as it is.

    Multipliers are those of the last epoch or averages over the last few, which lag behind, but fit together better.
    """

    name = "memory"

    def __init__(self, run: IncrementalState, point: Point | None = None):
        super().__init__(run)
        self.own = run.point if point is None else point
        self.step = MEMORY_STEP * run.epochs.natural_step * few_rows_factor(run.problem)
        self.count = 0
        self.hinge, self.flip = self.own.hinge.copy(), self.own.flip.copy()

    def epoch(self) -> None:
        """Do one epoch."""
        point = self.own
        self.run.epochs.memory(self.run.problem, point, self.step)
        self.count += 1
        share = max(SHARE_OF_MULTIPLIERS, 1.0 / self.count)
        self.hinge += share * (point.hinge - self.hinge)
        self.flip += share * (point.flip - self.flip)

    def multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers of the last epoch or averages, whichever prove more."""
        choices = (self.own.hinge, self.own.flip), (self.hinge, self.flip)
        return max(choices, key=lambda pair: _bound(self.run.problem, self.own, *pair))


def _bound(problem: Problem, point: Point, hinge, flip) -> float:
    return dual_point(
        problem, problem.sample_weight * hinge, problem.sample_weight * flip, reference=point.w
    ).lower_bound


def few_rows_factor(problem: Problem) -> float:
    """Return by how much steps are longer than usual, because an epoch has few of them."""
    return max(1.0, math.sqrt(MANY_ROWS / problem.n_rows))


class Averaging(Phase):
    """Epochs with steps that shrink. The averages of points and multipliers forget those of long ago."""

    def __init__(self, run: IncrementalState, first: float):
        super().__init__(run)
        settings, natural = run.settings, run.epochs.natural_step
        first *= few_rows_factor(run.problem)
        first = sensible(first * natural if settings.first_step is None else settings.first_step, natural)
        self.schedule: Cycles | Schedule = Schedule(settings.steps, first, settings.decay)
        if settings.steps == "auto":
            self.schedule = Cycles(first, run.limits.max_iter, first)
        self.average, self.count = run.point.copy(), 0
        self.polish: Memory | None = None

    @abstractmethod
    def move(self, step: float, share: float) -> None:
        """Do one epoch with the given step."""

    def epoch(self) -> None:
        """Do one epoch, and take it into the averages."""
        if self.count == 0 and isinstance(self.schedule, Cycles) and self.run.settings.first_step is None:
            self.schedule = replace(self.schedule, first=self._longest_good_step(self.schedule.first))
        self.count += 1
        step = sensible(self.schedule.step(self.count), self.run.epochs.natural_step)
        self.move(step, max(SHARE_OF_MULTIPLIERS, 1.0 / self.count))
        share = max(SHARE, 1.0 / self.count)
        blas.dscal(1.0 - share, self.average.w)  # in place, without temporaries: there may be very many features
        blas.daxpy(self.run.point.w, self.average.w, a=share)
        self.average.scalars += share * (self.run.point.scalars - self.average.scalars)

    def _longest_good_step(self, step: float) -> float:
        """Try longer and longer steps for the first epoch, as long as the objective falls much lower with them."""
        limits, start = self.run.limits, self.run.point
        best, lowest, reached, watch = step, math.inf, start, Stopwatch()
        # Eight times longer every time: a few dozen trials at the most lead from the smallest to the largest step.
        while step <= LARGEST * self.run.epochs.natural_step and limits.time_left() > 0:
            watch = Stopwatch()
            self.run.point = start.copy()
            self.move(step, 1.0)
            value = self.run.value(self.run.point)
            if not value < CLEARLY * lowest:
                break
            best, lowest, reached = step, value, self.run.point
            step *= LONGER
        # Without the time for another epoch of this kind, the best trial is all there is.
        self.run.point = start if limits.time_left() > watch.elapsed() else reached
        return best

    def best(self) -> tuple[float, Point]:
        """Return the objective of the better one of the last point and the average, and that point."""
        choices = self.run.point, self.average
        return min(((self.run.value(point), point) for point in choices), key=lambda pair: pair[0])

    def point(self) -> Point:
        """Return the better one of the last point and the average."""
        return self.best()[1]

    def multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return averaged multipliers, or what steps with memory on a copy of the run have made of them so far."""
        if not self.run.settings.polish:
            return self.run.point.hinge, self.run.point.flip
        if self.polish is None:
            self.polish = Memory(self.run, self.run.point.copy())
        self.polish.epoch()
        return self.polish.multipliers()


class Subgradient(Averaging):
    """Projected subgradient steps on batches."""

    name = "subgradient"

    def __init__(self, run: IncrementalState, batch_size: int | None, first: float = FIRST_SUBGRADIENT):
        usual = max(1, min(BATCH, run.problem.n_rows // BATCHES))
        self.batch_size = min(usual if batch_size is None else batch_size, run.problem.n_rows)
        super().__init__(run, first * math.sqrt(self.batch_size))

    def move(self, step: float, share: float) -> None:
        """Do one epoch with the given step."""
        self.run.epochs.subgradient(self.run.point, step, share, self.batch_size)


class Proximal(Averaging):
    """Exact proximal steps on single rows."""

    name = "proximal"

    def __init__(self, run: IncrementalState, first: float = FIRST_PROXIMAL):
        super().__init__(run, first)

    def move(self, step: float, share: float) -> None:
        """Do one epoch with the given step."""
        self.run.epochs.proximal(self.run.point, step, share)


class Opening(Phase):
    """The first epochs of a phase with shrinking steps, as long as each lowers the objective by a good share."""

    def __init__(self, inner: Averaging):
        super().__init__(inner.run)
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
            self.run.point.w[:], self.run.point.scalars[:] = best.w, best.scalars

    def point(self) -> Point:
        """Return the point to be judged."""
        return self.inner.point()
