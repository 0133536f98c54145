"""Runs on few rows: several steps are one compiled call.

Calls from Python would take several times as long as the arithmetic. The point, the
samples and the cone are those of any other run; only the steps are taken in
`compiled/small_interior_point.py`, in the sequence of `engines/engine.py`.
"""

import math

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
from drsvm.problem.memory_rows import (
    MemoryRows,
    read_only,
    stored_entries,
    unsigned_parts,
)
from drsvm.problem.problem import Problem
from drsvm.solvers.base import Candidate, Limits
from drsvm.solvers.interior_point.starts import Start, weights_and_intercept
from drsvm.solvers.interior_point.state import (
    CHEAP,
    FINEST_TOL,
    InteriorPointState,
    StepSettings,
)
from drsvm.solvers.selection import ITERATIONS, interior_point_seconds
from drsvm.utils.lazy import cached_property

# Steps are compiled up to these sizes. With more rows, threads and working sets gain
# more; with more features, BLAS does.
MAX_ROWS = 15_000
MAX_FEATURES = 400
MAX_ENTRIES = 200_000
# The number of steps in one call, if at least TIME_FOR_MANY seconds are left, otherwise
# 1. Ctrl-C is noticed in between.
AT_ONCE = 10
TIME_FOR_MANY = 1.0
# Number of compiled steps, usually far fewer, after which a run starts again with more
# care
MAX_STEPS = 100


def is_small(problem: Problem) -> bool:
    """Return True if the rows of a problem are in memory, and few enough."""
    return isinstance(problem.rows, MemoryRows) and are_few(problem.rows.X)


def are_few(X) -> bool:
    """Return True if rows are few enough for compiled steps, and no view."""
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return False
    n, d = X.shape
    return n <= MAX_ROWS and d <= MAX_FEATURES and stored_entries(X) <= MAX_ENTRIES


class CompiledRows:
    """The rows in the one form that the steps are compiled for, and memory for steps.

    The form is float64, one number for each row, dense or with 32-bit indices: every
    other form would be compiled separately, which takes longer than most fits.
    """

    def __init__(self, problem: Problem):
        rows = problem.rows
        if rows.is_sparse:
            rows = in_fastest_form(problem.X)
        n, d = rows.shape
        size = d + problem.fit_intercept
        n_tiles = math.ceil(n / TILE)

        # 1. The rows. One number for all of them is repeated.
        slopes = np.empty(n)
        flips = np.empty(n)
        slopes[:], flips[:] = problem.price_slopes
        weights = read_only(problem.sample_weight, np.float64)
        self.mass = float(weights.sum())
        # Σ of complementarity targets, divided by μ
        self.weight = 2.0 * self.mass + float(weights @ flips)
        self.share = Share(
            *_entries(rows),
            d,
            read_only(problem.signs, np.float64),
            weights,
            flips,
            slopes,
            np.empty((n_tiles, 6, TILE)),
        )

        # 2. Memory, in the shapes that `System` and `Work` describe
        n_transposed = 0 if rows.is_sparse else d
        self.buffers: Buffers = buffers_for(size, n_transposed, sparse=rows.is_sparse)
        self.system = System(
            np.empty(size),
            np.empty((6, size)),
            np.empty((size + 1, size + 1)),
            np.empty((size + 1, size + 1)),
            np.empty((9, size + 1)),
        )
        self.work = small_run.Work(
            np.empty((0, 4, TILE)),
            np.empty((n_tiles, 4, TILE)),
            np.empty(2),
            np.empty((2, BINS + 1)),
            np.empty((2, size)),
        )


def _entries(
    rows: MemoryRows,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return entries, indices and starts of the rows."""
    if not rows.is_sparse:
        return read_only(rows.X, np.float64), None, None
    data, indices, indptr = unsigned_parts(rows.X)
    return (
        read_only(data, np.float64),
        read_only(indices, np.uint32),
        read_only(indptr, np.uint32),
    )


class SmallState(InteriorPointState):
    """An interior-point run whose steps are compiled.

    If a run breaks down, it restarts with `compensated` steps, which are those of
    `InteriorPointState`.
    """

    small = True
    draws_rows = False

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        start: Start | None = None,
        settings: StepSettings | None = None,
    ):
        self.limits = limits
        self.settings = settings or StepSettings()
        self._begin_problem(problem, CompiledRows(problem), start)

    def restart(self, problem: Problem, start: Start | None) -> None:
        """Begin a run for another radius or ridge, in the same memory."""
        # The cached property is computed again, if it is needed.
        vars(self).pop("engine", None)
        rows = self.rows
        if (problem.radius > 0.0) != (self.problem.radius > 0.0):
            # Other flips are affordable.
            rows = CompiledRows(problem)
        self._begin_problem(problem, rows, start)

    def _begin_problem(
        self, problem: Problem, rows: CompiledRows, start: Start | None
    ) -> None:
        """Begin a run on rows that are in the compiled form already."""
        self.problem = problem
        self.rows = rows
        self.weight = rows.weight
        self.steps_of_all_starts = 0
        self.set_up(start)

    @cached_property
    def engine(self) -> CpuEngine:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The passes over the rows one by one; hardly any run needs them."""
        return CpuEngine(self.problem, 1, state=self.rows.share.state)

    @property
    def step_seconds(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return interior_point_seconds(self.problem) / ITERATIONS

    def run_to_the_end(self) -> bool:
        """Take steps until a certificate would be due.

        Return False if that fails, or if the time limit is reached.
        """
        while not (self.near_the_end or self.finished or self.limits.time.over):
            self.step()
        return self.near_the_end

    @property
    def classifier(self) -> tuple[np.ndarray, float]:
        """Weights, a view, and intercept."""
        return weights_and_intercept(self.problem, self.point)

    def begin(self, point, lam: float, mu: float) -> None:
        # Compiled steps change the point in place, so it is a copy.
        super().begin(np.array(point), lam, mu)
        rows = self.rows
        task = small_run.Task(
            radius=self.problem.radius,
            l2=self.problem.l2,
            step_fraction=self.settings.step_fraction,
            mass=rows.mass,
            total_weight=self.total_weight,
            goal=CHEAP * max(self.limits.tol, FINEST_TOL),
        )
        self.arguments = (
            rows.share,
            rows.buffers,
            self.cone.constraints,
            rows.system._replace(ridge=self.ridge),
            rows.work,
            task,
        )

    def _center(self) -> None:
        # The first compiled call does it: a run is `fresh` before that.
        self.fresh = not self.compensated
        if self.compensated:
            super()._center()

    def step(self) -> None:
        """Take steps until a certificate is due, at most `AT_ONCE`.

        It is one step if a callback follows them, or if time is short.
        """
        if self.compensated:
            self.taken = 1
            self.steps_of_all_starts += 1
            super().step()
            return
        if self.limits.watched or self.limits.time.left() < TIME_FOR_MANY:
            most = 1
        else:
            most = min(AT_ONCE, self.limits.max_iter - self.steps_of_all_starts)
        self._run(most)

    def _run(self, most: int, halt: bool = False) -> None:
        """Take at most this number of steps; with `halt`, form the matrix and stop."""
        (
            self.taken,
            works,
            self.lam,
            self.mu,
            self.products,
            self.short_steps,
            self.leeway,
        ) = small_run.run(
            *self.arguments,
            self.point,
            self.lam,
            self.mu,
            self.products,
            self.short_steps,
            self.leeway,
            most,
            self.fresh,
            halt,
        )
        self.fresh = False
        self.steps_of_all_starts += self.taken
        hopeless = (
            self.short_steps >= MAX_SHORT_STEPS or self.steps_of_all_starts >= MAX_STEPS
        )
        self.finished = not works or hopeless
        self.near_the_end = self._gap_may_be_small()

    def leverages(self) -> tuple[np.ndarray, np.ndarray]:
        """Return zᵀ H⁻¹ z and (x, 1, 0)ᵀ H⁻¹ z of every row for the matrix H.

        It is z = (x, 1, −y r) with the row radius r. H is the Newton matrix in
        (w, b, λ) at the point. That is the end of the run. The leverages are 0 if
        rounding makes H singular.
        """
        self._run(0, halt=True)
        if self.finished:
            nothing = np.zeros(self.problem.n_rows)
            return nothing, nothing
        system = self.rows.system
        d = self.problem.n_features
        # H = D⁻¹ L Lᵀ D⁻¹ with the factor L and the scale D: the root D L⁻ᵀ has
        # root · rootᵀ = H⁻¹. LAPACK sees the transpose of the C-ordered factor.
        inverse, _ = lapack.dtrtri(system.factor.T)
        root = np.ascontiguousarray(system.vectors[SCALE][:, None] * np.triu(inverse))
        images = self.problem.X @ root[:d]
        if self.problem.fit_intercept:
            images = images + root[d]
        if not self.problem.has_row_radius:
            leverages = np.einsum("ij,ij->i", images, images)
            return leverages, leverages
        slopes = self.problem.signs * self.problem.row_radius
        shifted = images - np.outer(slopes, root[-1])
        leverages = np.einsum("ij,ij->i", shifted, shifted)
        return leverages, np.einsum("ij,ij->i", images, shifted)

    def curvatures(self) -> tuple[np.ndarray, np.ndarray]:
        """Return multipliers and curvatures of the hinge losses of all rows.

        They are for labels that cannot be flipped: with two constraints per row, the
        curvature in the margin is D₁D₃ / (D₁ + D₃), D_k = multiplier / slack.
        """
        alpha, _, gamma, g1, _, g3 = self._of_rows()
        ratio = alpha / g1
        other = gamma / g3
        return alpha, ratio * other / (ratio + other)

    def candidate(self) -> Candidate:
        if self.fresh:
            # An interrupt came before the first step: the rows are centred now.
            self._run(0)
        return super().candidate()

    def _multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        alpha, beta = self._of_rows()[:2].copy()
        return alpha, beta

    def _of_rows(self) -> np.ndarray:
        """Return α, β, γ, g₁, g₂ and g₃ of all rows."""
        of_tiles = self.rows.share.state.transpose(1, 0, 2)
        return of_tiles.reshape(6, -1)[:, : self.problem.n_rows]
