"""Runs on few rows: several steps are one compiled call, because Python would take ten times as long as the arithmetic.

The point, the samples and the cone are the same objects as in any other run; only the steps are taken elsewhere.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.engines.cpu import CpuEngine, is_wide
from drsvm.engines.engine import TIE
from drsvm.kernels import cones as kernel
from drsvm.kernels import small_run
from drsvm.kernels.interior_point import BINS
from drsvm.kernels.newton import System
from drsvm.kernels.products import TILE
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.problem import Problem
from drsvm.solvers.base import Candidate, Limits
from drsvm.solvers.interior_point import state as rules
from drsvm.solvers.interior_point.cones import BoxCone, Cone, CrossCone, SecondOrderCone
from drsvm.solvers.interior_point.newton import DAMPING
from drsvm.solvers.interior_point.priced_cones import Part, ProductCone, SignCone
from drsvm.solvers.interior_point.state import InteriorPointState

MOST_ENTRIES, MOST_FEATURES = 200_000, 400
"""Stored entries up to which threads gain nothing, and features up to which the matrix needs no BLAS."""

AT_ONCE = 10
"""Maximum number of steps in one call: Ctrl-C and limits of time are noticed in between."""

KINDS: dict[type[Cone], int] = {BoxCone: kernel.BOX, SecondOrderCone: kernel.BALL, CrossCone: kernel.CROSS}


def is_small(problem: Problem) -> bool:
    """Return True if the rows are in memory and few enough for compiled steps."""
    rows = problem.rows
    if not isinstance(rows, MemoryRows) or rows.stored > MOST_ENTRIES or problem.n_features > MOST_FEATURES:
        return False
    return isinstance(rows.X, np.ndarray) or sparse.issparse(rows.X)


class SmallState(InteriorPointState):
    """An interior-point run whose steps are compiled."""

    def __init__(self, problem: Problem, settings: Any, limits: Limits):
        self.taken = 0
        super().__init__(problem, settings, limits, CpuEngine(problem, 1))

    def _first_point(self):
        if self.limits.start is None:
            return next(self.cold_starts)
        return super()._first_point()

    def begin(self, point, lam: float, mu: float) -> None:
        super().begin(np.array(point), lam, mu)
        self.arguments = self._arguments()

    def _center(self) -> None:
        self.fresh = True

    def _arguments(self) -> tuple:
        share, buffers = self.engine.shares[0]
        n, d = self.engine.n_linear, self.problem.n_features
        dense = share.indices is None
        cone = _compiled(self.cone, n)
        system = System(
            np.empty((d, d)),
            self.ridge,
            np.empty((3, n)),
            np.empty((3, n)),
            np.empty((n + 1, n + 1)),
            np.empty((n + 1, n + 1)),
            np.empty(n + 1),
            np.empty(n + 1),
            np.empty(n + 1),
            np.empty((5, n + 1)),
        )
        tiles = len(share.state)
        work = small_run.Work(
            np.empty((0, 4, TILE)),
            np.empty((tiles, 4, TILE)),
            np.empty((tiles, 4, TILE)),
            np.empty(2),
            np.empty((2, BINS + 1)),
            np.empty((2, n)),
            np.empty(n),
            np.empty(n),
            np.empty(n + 1),
            np.empty((2, len(cone.slacks))),
        )
        buffers = buffers._replace(transposed=np.empty((d if dense else 0, TILE)))
        task = small_run.Task(
            self.problem.radius,
            self.problem.l2,
            self.damping,
            4 if self.damping == DAMPING else 12,
            self.settings.step_fraction,
            rules.LEFT_BEHIND,
            rules.MOST_LEFT_BEHIND,
            self.engine.mass,
            self.total_weight,
            rules.CHEAP * max(self.limits.tol, rules.FINEST_TOL),
            self.easy,
            self.settings.correctors,
            rules.LONG_STEP,
            rules.LONGER,
            rules.LEAST_GAIN,
            rules.SHORT_STEP,
            rules.MOST_SHORT_STEPS,
            TIE,
        )
        return share, buffers, cone, system, work, task

    def step(self) -> None:
        """Take steps until a certificate is due."""
        most = 1 if self.limits.watched else min(AT_ONCE, self.limits.max_iter - self.taken)
        self._run(most)

    def _run(self, most: int) -> None:
        now = self.point, self.lam, self.mu, self.products, self.steps, self.short_steps
        found = small_run.run(*self.arguments, *now, most, self.fresh)
        self.iterations, works, self.lam, self.mu, self.products, self.short_steps = found
        self.fresh, self.samples, self.sums = False, None, None
        self.steps += self.iterations
        self.taken += self.iterations
        self.finished = not works or self.short_steps >= rules.MOST_SHORT_STEPS
        self.near_the_end = self._gap_may_be_small()

    def candidate(self) -> Candidate:
        if self.fresh:
            self._run(0)
        return super().candidate()


def _compiled(cone: Cone, n_linear: int) -> kernel.Cone:
    """Return a cone for the kernels; it and the given one share their slacks and multipliers."""
    nothing = Part(SignCone(np.ones(1), 1.0), np.zeros(0, dtype=np.intp), np.zeros(0))
    parts = cone.parts if isinstance(cone, ProductCone) else [Part(cone, np.arange(len(cone.multipliers()[0])), None)]
    norm = next((part for part in parts if type(part.cone) in KINDS), None)
    signs = next((part for part in parts if isinstance(part.cone, SignCone)), None)
    used = [part for part in (norm, signs) if part is not None]
    slacks, duals = (np.concatenate([np.zeros(0), *(getattr(part.cone, name) for part in used)]) for name in ("slacks", "duals"))
    first = 0
    shares = np.empty(len(slacks))
    for part in used:
        last = first + len(part.cone.slacks)
        part.cone.slacks, part.cone.duals = slacks[first:last], duals[first:last]
        shares[first:last] = 1.0 / max(last - first, 1)
        first = last
    kind = kernel.NO_NORM if norm is None else KINDS[type(norm.cone)]
    norm, signs = norm or nothing, signs or nothing
    factors = np.ones(len(norm.entries)) if norm.factors is None else norm.factors
    room = np.empty((5, len(slacks)))
    return kernel.Cone(
        kind, norm.entries, factors, signs.entries, signs.factors, shares, slacks, duals, *room, np.empty((5, len(norm.entries) + 1)), np.zeros(3)
    )
