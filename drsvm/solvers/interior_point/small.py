"""Runs on few rows: several steps are one compiled call, as Python would take ten times as long as the arithmetic.

The point, the samples and the cone are those of any other run; only the steps are taken in `kernels/small_run.py`.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.engines.cpu import CpuEngine
from drsvm.engines.engine import TIE
from drsvm.kernels import cones as kernel
from drsvm.kernels import passes, small_run
from drsvm.kernels.products import image_squares
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.problem import Problem
from drsvm.solvers.base import Candidate, Limits
from drsvm.solvers.interior_point import state as rules
from drsvm.solvers.interior_point.cones import BoxCone, Cone, CrossCone, SecondOrderCone
from drsvm.solvers.interior_point.memory import Memory
from drsvm.solvers.interior_point.newton import DAMPING, MAX_REFINEMENTS
from drsvm.solvers.interior_point.priced_cones import Part, ProductCone
from drsvm.solvers.interior_point.starts import Start
from drsvm.solvers.interior_point.state import InteriorPointState
from drsvm.solvers.selection import ITERATIONS, interior_point_seconds

MAX_ROWS, MAX_FEATURES, MAX_ENTRIES = 15_000, 400, 200_000
"""With more rows, threads and working sets gain more; with more features, BLAS does."""

AT_ONCE, TIME_FOR_MANY = 10, 1.0
"""Maximum number of steps in one call, if there are so many seconds: Ctrl-C is noticed in between, and the limit."""

MAX_STEPS = 100
"""Number of compiled steps, usually far fewer, after which a run starts again with more care."""

KINDS: dict[type[Cone], int] = {BoxCone: kernel.BOX, SecondOrderCone: kernel.BALL, CrossCone: kernel.CROSS}

_NO_ENTRIES, _NO_FACTORS = np.zeros(0, dtype=np.intp), np.zeros(0)


def is_small(problem: Problem) -> bool:
    """Return True if the rows are in memory, and few enough for compiled steps."""
    return isinstance(problem.rows, MemoryRows) and are_few(problem.rows.X)


def are_few(X) -> bool:
    """Return True if rows are few enough for compiled steps, and no view."""
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return False
    n, d = X.shape
    stored: Any = getattr(X, "nnz", n * d)
    return n <= MAX_ROWS and d <= MAX_FEATURES and stored <= MAX_ENTRIES


class SmallState(InteriorPointState):
    """An interior-point run whose steps are compiled."""

    def __init__(self, problem: Problem, settings: Any, limits: Limits, start: Start | None = None):
        self.problem, self.settings, self.limits = problem, settings, limits
        self.memory = Memory(problem)
        self.set_up(start)

    def set_up(self, start: Start | None = None) -> None:
        self.steps_of_all_starts = 0
        super().set_up(start)

    def again(self, problem: Problem, limits: Limits, start: Start | None = None) -> "SmallState":
        """Begin a run on a problem with other parameters or other rows, in the same memory."""
        vars(self).pop("engine", None)
        self.problem, self.limits, self.memory = problem, limits, self.memory.holding(problem)
        self.set_up(start)
        return self

    @cached_property
    def engine(self) -> CpuEngine:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The passes over the rows one by one; hardly any run needs them."""
        return CpuEngine(self.problem, 1, state=self.memory.share.state)

    @property
    def small(self) -> bool:
        return True

    @property
    def weight(self) -> float:
        return self.memory.weight

    @property
    def step_seconds(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return interior_point_seconds(self.problem) / ITERATIONS

    def to_the_end(self) -> bool:
        """Take steps until a certificate would be due; return False if that fails, or if there is no time."""
        while not (self.near_the_end or self.finished or self.limits.time.over):
            self.step()
        return self.near_the_end

    @property
    def classifier(self) -> tuple[np.ndarray, float]:
        """Weights, a view, and intercept."""
        d = self.problem.n_features
        return self.point[:d], float(self.point[d:].sum())

    def _few_rows(self) -> None:
        return None  # there are few

    def begin(self, point, lam: float, mu: float) -> None:
        super().begin(np.array(point), lam, mu)  # a copy: steps change it
        memory, room = self.memory, self.memory.room
        system = room.system._replace(ridge=self.ridge)
        self.arguments = memory.share, room.buffers, _compiled(self.cone), system, memory.work, self._task()

    def _center(self) -> None:
        self.fresh = not self.careful  # the first call will do it
        if self.careful:
            super()._center()

    def _task(self) -> small_run.Task:
        return small_run.Task(
            radius=self.problem.radius,
            l2=self.problem.l2,
            damping=DAMPING,
            most_refinements=MAX_REFINEMENTS,
            step_fraction=self.settings.step_fraction,
            behind=rules.LEFT_BEHIND * self.memory.mass,
            most_behind=rules.MAX_LEFT_BEHIND * self.memory.mass,
            tie=TIE,
            hindered=rules.HINDERED,
            more=rules.MORE,
            most_leeway=rules.MOST,
            total_weight=self.total_weight,
            goal=rules.CHEAP * max(self.limits.tol, rules.FINEST_TOL),
            short_step=rules.SHORT_STEP,
            most_short_steps=rules.MAX_SHORT_STEPS,
        )

    def step(self) -> None:
        """Take steps until a certificate is due, but only one if a callback wants to see it, or if time is short."""
        if self.careful:
            self.taken, self.steps_of_all_starts = 1, self.steps_of_all_starts + 1
            return super().step()
        one_by_one = self.limits.watched or self.limits.time.left() < TIME_FOR_MANY
        self._run(1 if one_by_one else min(AT_ONCE, self.limits.max_iter - self.steps_of_all_starts))

    def leverages(self) -> np.ndarray:
        """Return (x, 1)ᵀ H⁻¹ (x, 1) of every row for the matrix H at the point; that is the end of the run.

        They are 0 if rounding makes H singular.
        """
        self._run(0, invert=True)
        share, system, d = self.memory.share, self.memory.room.system, self.problem.n_features
        found = np.zeros(self.problem.n_rows)
        if self.finished:
            return found
        root = system.matrix[: d + 1]  # N for (w, b), with N Nᵀ = H⁻¹
        if not self.problem.fit_intercept:
            root[d] = 0.0
        if share.indices is None:
            images = share.data @ root[:d] + root[d]
            return np.einsum("ij,ij->i", images, images, out=found)
        image_squares(share.data, share.indices, share.indptr, root, system.solution, found)
        return found

    def _run(self, most: int, invert: bool = False) -> None:
        now = self.point, self.lam, self.mu, self.products, self.short_steps, self.leeway
        found = small_run.run(*self.arguments, *now, most, self.fresh, invert)
        self.taken, works, self.lam, self.mu, self.products, self.short_steps, self.leeway = found
        self.fresh = False
        self.steps_of_all_starts += self.taken
        hopeless = self.short_steps >= rules.MAX_SHORT_STEPS or self.steps_of_all_starts >= MAX_STEPS
        self.finished = not works or hopeless
        self.near_the_end = self._gap_may_be_small()

    def candidate(self) -> Candidate:
        if self.fresh:
            self._run(0)
        return super().candidate()

    def curvatures(self) -> tuple[np.ndarray, np.ndarray]:
        """Return multipliers and curvatures of the hinge losses of all rows, where labels cannot be flipped."""
        of_rows = self.memory.share.state.transpose(1, 0, 2).reshape(6, -1)[:, : self.problem.n_rows]
        alpha, _, gamma, g1, _, g3 = of_rows
        ratio, other = alpha / g1, gamma / g3
        return alpha, ratio * other / (ratio + other)

    def _multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        alpha, beta = np.empty((2, self.problem.n_rows))
        passes.multipliers(self.memory.share.state, alpha, beta)
        return alpha, beta


def _compiled(cone: Cone) -> kernel.Cone:
    """Return a cone for the kernels; it shares slacks and multipliers with the given one."""
    parts = cone.parts if isinstance(cone, ProductCone) else [_whole(cone)]
    sizes = [len(part.cone.slacks) for part in parts]
    constraints = np.empty((8, sum(sizes)))
    entries, factors, sign_entries, signs = _NO_ENTRIES, _NO_FACTORS, _NO_ENTRIES, _NO_FACTORS
    kind, first = kernel.NO_NORM, 0
    for (part, measured, by), size in zip(parts, sizes, strict=True):
        mine = constraints[:, first : first + size]
        mine[kernel.SHARE], mine[kernel.SLACK], mine[kernel.DUAL] = 1.0 / size, part.slacks, part.duals
        part.slacks, part.duals = mine[kernel.SLACK], mine[kernel.DUAL]
        first += size
        if type(part) in KINDS:
            kind, entries, factors = KINDS[type(part)], measured, by
        else:
            sign_entries, signs = measured, by
    room = np.empty((5, len(entries) + 1))
    return kernel.Cone(kind, entries, factors, sign_entries, signs, constraints, room, np.zeros(3))


def _whole(cone: Cone) -> Part:
    """Return a cone of all weights as a part."""
    d = len(cone.multipliers()[0])
    return Part(cone, np.arange(d), np.ones(d))
