"""Runs on few rows: several steps are one compiled call, as Python would take ten times as long as the arithmetic.

The point, the samples and the cone are those of any other run; only the steps are taken
in `compiled/small_interior_point.py`.
"""

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from drsvm.compiled import small_interior_point as small_run
from drsvm.compiled.interior_point_passes import Buffers, Share
from drsvm.compiled.interior_point_sample import BINS
from drsvm.compiled.normal_matrix import SCALE, System
from drsvm.compiled.products import TILE
from drsvm.compiled.step_rules import MAX_SHORT_STEPS
from drsvm.engines.cpu import CpuEngine, buffers_for
from drsvm.engines.matrices import in_fastest_form
from drsvm.problem.memory_rows import MemoryRows, unsigned_parts
from drsvm.problem.problem import Problem
from drsvm.problem.risk import affordable_flips
from drsvm.solvers.base import Candidate, Limits
from drsvm.solvers.interior_point.starts import Start, weights_and_intercept
from drsvm.solvers.interior_point.state import CHEAP, FINEST_TOL, InteriorPointState
from drsvm.solvers.selection import ITERATIONS, interior_point_seconds

if TYPE_CHECKING:
    from drsvm.solvers.interior_point.interior_point_solver import InteriorPoint

# With more rows, threads and working sets gain more; with more features, BLAS does.
MAX_ROWS = 15_000
MAX_FEATURES = 400
MAX_ENTRIES = 200_000
# steps in one call, if there are so many seconds: Ctrl-C is noticed in between
AT_ONCE = 10
TIME_FOR_MANY = 1.0
# Number of compiled steps, usually far fewer, after which a run starts again with more
# care
MAX_STEPS = 100
# What must be the same for a run to find everything in place; with the radius 0, other
# flips are affordable.
KEPT = ("rows", "signs", "sample_weight", "flip_cost", "fit_intercept")


def is_small(problem: Problem) -> bool:
    """Return True if the rows are in memory, and few enough for compiled steps."""
    return isinstance(problem.rows, MemoryRows) and are_few(problem.rows.X)


def are_few(X) -> bool:
    """Return True if rows are few enough for compiled steps, and no view."""
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return False
    n, d = X.shape
    stored = getattr(X, "nnz", n * d)
    return n <= MAX_ROWS and d <= MAX_FEATURES and stored <= MAX_ENTRIES


class Memory:
    """The rows of a problem in the one form that the steps are compiled for, and memory for the steps."""

    def __init__(self, problem: Problem, workspace: "Workspace | None" = None):
        if problem.is_sparse:
            rows = in_fastest_form(problem.X)
        else:
            rows = problem.rows
        n, d = rows.shape
        kappa, flips = np.empty((2, n))
        kappa[:], flips[:] = affordable_flips(problem.flip_cost, problem.radius)
        signs = _read_only(problem.signs, np.float64)
        weights = _read_only(problem.sample_weight, np.float64)
        self.mass = float(weights.sum())
        # Σ of complementarity targets, divided by μ
        self.weight = 2.0 * self.mass + float(weights @ flips)
        size = (d, d + problem.fit_intercept, rows.is_sparse)
        n_tiles = math.ceil(n / TILE)
        fits = (
            workspace is not None
            and workspace.size == size
            and n_tiles <= len(workspace.state)
        )
        if workspace is not None and fits:
            self.workspace = workspace
        else:
            self.workspace = Workspace(size, n_tiles)
        self.share = Share(
            *_entries(rows),
            d,
            signs,
            weights,
            flips,
            kappa,
            self.workspace.state[:n_tiles],
        )
        self.work = self.workspace.work._replace(
            correction=self.workspace.work.correction[:n_tiles]
        )


class Workspace:
    """Memory for runs on problems with d features, n entries of (w, b) and at most so many tiles of rows."""

    def __init__(self, size: tuple[int, int, bool], n_tiles: int):
        d, n, is_sparse = self.size = size
        self.state = np.empty((n_tiles, 6, TILE))
        self.buffers: Buffers = buffers_for(n, 0 if is_sparse else d, sparse=is_sparse)
        matrix, factor = np.empty((2, n + 1, n + 1))
        self.system = System(
            np.empty(n), np.empty((6, n)), matrix, factor, np.empty((9, n + 1))
        )
        rates = np.empty(2), np.empty((2, BINS + 1))
        self.work = small_run.Work(
            np.empty((0, 4, TILE)),
            np.empty((n_tiles, 4, TILE)),
            *rates,
            np.empty((2, n)),
        )


def _entries(
    rows: MemoryRows,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return entries, indices and starts of the rows."""
    if not rows.is_sparse:
        return _read_only(rows.X, np.float64), None, None
    data, indices, indptr = unsigned_parts(rows.X)
    return (
        _read_only(data, np.float64),
        _read_only(indices, np.uint32),
        _read_only(indptr, np.uint32),
    )


def _read_only(values: np.ndarray, dtype: type) -> np.ndarray:
    values = np.ascontiguousarray(values, dtype=dtype).view()
    values.flags.writeable = False
    return values


class SmallState(InteriorPointState):
    """An interior-point run whose steps are compiled."""

    small = True
    draws_rows = False

    def __init__(
        self,
        problem: Problem,
        settings: "InteriorPoint",
        limits: Limits,
        start: Start | None = None,
    ):
        self.problem = problem
        self.settings = settings
        self.limits = limits
        self.memory = Memory(problem)
        self.steps_of_all_starts = 0
        self.weight = self.memory.weight
        self.set_up(start)

    def again(
        self, problem: Problem, limits: Limits, start: Start | None = None
    ) -> "SmallState":
        """Begin a run on a problem with other parameters or other rows, in the same memory."""
        vars(self).pop("engine", None)
        last = self.problem
        self.problem = problem
        self.limits = limits
        same = all(getattr(problem, name) is getattr(last, name) for name in KEPT)
        if not same or (problem.radius > 0.0) != (last.radius > 0.0):
            self.memory = Memory(problem, self.memory.workspace)
        self.steps_of_all_starts = 0
        self.weight = self.memory.weight
        self.set_up(start)
        return self

    @cached_property
    def engine(self) -> CpuEngine:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The passes over the rows one by one; hardly any run needs them."""
        return CpuEngine(self.problem, 1, state=self.memory.share.state)

    @property
    def step_seconds(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return interior_point_seconds(self.problem) / ITERATIONS

    def to_the_end(self) -> bool:
        """Take steps until a certificate would be due.

        Return False if that fails, or if there is no time.
        """
        while not (self.near_the_end or self.finished or self.limits.time.over):
            self.step()
        return self.near_the_end

    @property
    def classifier(self) -> tuple[np.ndarray, float]:
        """Weights, a view, and intercept."""
        return weights_and_intercept(self.problem, self.point)

    def begin(self, point, lam: float, mu: float) -> None:
        super().begin(np.array(point), lam, mu)  # a copy: steps change it
        memory = self.memory
        workspace = self.memory.workspace
        system = workspace.system._replace(ridge=self.ridge)
        task = small_run.Task(
            radius=self.problem.radius,
            l2=self.problem.l2,
            step_fraction=self.settings.step_fraction,
            mass=memory.mass,
            total_weight=self.total_weight,
            goal=CHEAP * max(self.limits.tol, FINEST_TOL),
        )
        self.arguments = (
            memory.share,
            workspace.buffers,
            self.cone.constraints,
            system,
            memory.work,
            task,
        )

    def _center(self) -> None:
        self.fresh = not self.compensated  # the first call will do it
        if self.compensated:
            super()._center()

    def step(self) -> None:
        """Take steps until a certificate is due, but only one if a callback follows them, or if time is short."""
        if self.compensated:
            self.taken = 1
            self.steps_of_all_starts = self.steps_of_all_starts + 1
            return super().step()
        one_by_one = self.limits.watched or self.limits.time.left() < TIME_FOR_MANY
        self._run(
            1
            if one_by_one
            else min(AT_ONCE, self.limits.max_iter - self.steps_of_all_starts)
        )

    def leverages(self) -> np.ndarray:
        """Return (x, 1)ᵀ H⁻¹ (x, 1) of every row for the matrix H at the point.

        That is the end of the run.

        They are 0 if rounding makes H singular.
        """
        self._run(0, halt=True)
        system = self.memory.workspace.system
        d = self.problem.n_features
        if self.finished:
            return np.zeros(self.problem.n_rows)
        # Of the factor's transpose, in its upper triangle
        inverse, _ = lapack.dtrtri(system.factor.T)
        # Root rootᵀ = H⁻¹
        root = np.ascontiguousarray(system.vectors[SCALE][:, None] * np.triu(inverse))
        images = self.problem.X @ root[:d] + (
            root[d] if self.problem.fit_intercept else 0.0
        )
        return np.einsum("ij,ij->i", images, images)

    def _run(self, most: int, halt: bool = False) -> None:
        now = (
            self.point,
            self.lam,
            self.mu,
            self.products,
            self.short_steps,
            self.leeway,
        )
        after = small_run.run(*self.arguments, *now, most, self.fresh, halt)
        (
            self.taken,
            works,
            self.lam,
            self.mu,
            self.products,
            self.short_steps,
            self.leeway,
        ) = after
        self.fresh = False
        self.steps_of_all_starts += self.taken
        hopeless = (
            self.short_steps >= MAX_SHORT_STEPS or self.steps_of_all_starts >= MAX_STEPS
        )
        self.finished = not works or hopeless
        self.near_the_end = self._gap_may_be_small()

    def candidate(self) -> Candidate:
        if self.fresh:
            self._run(0)
        return super().candidate()

    def curvatures(self) -> tuple[np.ndarray, np.ndarray]:
        """Return multipliers and curvatures of the hinge losses of all rows, where labels cannot be flipped."""
        alpha, _, gamma, g1, _, g3 = self._of_rows()
        ratio = alpha / g1
        other = gamma / g3
        return alpha, ratio * other / (ratio + other)

    def _multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        alpha, beta = self._of_rows()[:2].copy()
        return alpha, beta

    def _of_rows(self) -> np.ndarray:
        """Return α, β, γ, g₁, g₂ and g₃ of all rows."""
        return self.memory.share.state.transpose(1, 0, 2).reshape(6, -1)[
            :, : self.problem.n_rows
        ]
