"""Runs on few rows: several steps are one compiled call, as Python would take ten times as long as the arithmetic.

The point, the samples and the cone are those of any other run; only the steps are taken in `kernels/small_run.py`.
"""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from drsvm.engines.cpu import CpuEngine
from drsvm.kernels import small_run
from drsvm.kernels.newton import SCALE
from drsvm.kernels.products import image_squares
from drsvm.kernels.step_rules import MAX_SHORT_STEPS
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.problem import Problem
from drsvm.solvers.base import Candidate, Limits
from drsvm.solvers.interior_point.memory import Memory
from drsvm.solvers.interior_point.starts import Start, weights_and_intercept
from drsvm.solvers.interior_point.state import CHEAP, FINEST_TOL, InteriorPointState
from drsvm.solvers.selection import ITERATIONS, interior_point_seconds

if TYPE_CHECKING:
    from drsvm.solvers.interior_point.solver import InteriorPoint

MAX_ROWS, MAX_FEATURES, MAX_ENTRIES = 15_000, 400, 200_000
"""With more rows, threads and working sets gain more; with more features, BLAS does."""

AT_ONCE, TIME_FOR_MANY = 10, 1.0
"""Maximum number of steps in one call, if there are so many seconds: Ctrl-C is noticed in between, and the limit."""

MAX_STEPS = 100  # number of compiled steps, usually far fewer, after which a run starts again with more care


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


class SmallState(InteriorPointState):
    """An interior-point run whose steps are compiled."""

    small, draws_rows = True, False

    def __init__(self, problem: Problem, settings: "InteriorPoint", limits: Limits, start: Start | None = None):
        self.problem, self.settings, self.limits = problem, settings, limits
        self.memory = Memory(problem)
        self.set_up(start)

    def set_up(self, start: Start | None = None) -> None:
        self.steps_of_all_starts, self.weight = 0, self.memory.weight
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
        return weights_and_intercept(self.problem, self.point)

    def begin(self, point, lam: float, mu: float) -> None:
        super().begin(np.array(point), lam, mu)  # a copy: steps change it
        memory, workspace = self.memory, self.memory.workspace
        system = workspace.system._replace(ridge=self.ridge)
        task = small_run.Task(
            radius=self.problem.radius,
            l2=self.problem.l2,
            step_fraction=self.settings.step_fraction,
            mass=memory.mass,
            total_weight=self.total_weight,
            goal=CHEAP * max(self.limits.tol, FINEST_TOL),
        )
        self.arguments = memory.share, workspace.buffers, self.cone.constraints, system, memory.work, task

    def _center(self) -> None:
        self.fresh = not self.careful  # the first call will do it
        if self.careful:
            super()._center()

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
        self._run(0, halt=True)
        share, system, d = self.memory.share, self.memory.workspace.system, self.problem.n_features
        leverages = np.zeros(self.problem.n_rows)
        if self.finished:
            return leverages
        inverse, _ = lapack.dtrtri(system.factor.T)  # of the factor's transpose, in its upper triangle
        root = np.ascontiguousarray(system.vectors[SCALE][:, None] * np.triu(inverse))[: d + 1]  # root rootᵀ = H⁻¹
        if not self.problem.fit_intercept:
            root[d] = 0.0
        if share.indices is None:
            images = share.data @ root[:d] + root[d]
            return np.einsum("ij,ij->i", images, images, out=leverages)
        image_squares(share.data, share.indices, share.indptr, root, np.empty(len(inverse)), leverages)
        return leverages

    def _run(self, most: int, halt: bool = False) -> None:
        now = self.point, self.lam, self.mu, self.products, self.short_steps, self.leeway
        after = small_run.run(*self.arguments, *now, most, self.fresh, halt)
        self.taken, works, self.lam, self.mu, self.products, self.short_steps, self.leeway = after
        self.fresh = False
        self.steps_of_all_starts += self.taken
        hopeless = self.short_steps >= MAX_SHORT_STEPS or self.steps_of_all_starts >= MAX_STEPS
        self.finished = not works or hopeless
        self.near_the_end = self._gap_may_be_small()

    def candidate(self) -> Candidate:
        if self.fresh:
            self._run(0)
        return super().candidate()

    def curvatures(self) -> tuple[np.ndarray, np.ndarray]:
        """Return multipliers and curvatures of the hinge losses of all rows, where labels cannot be flipped."""
        alpha, _, gamma, g1, _, g3 = self._of_rows()
        ratio, other = alpha / g1, gamma / g3
        return alpha, ratio * other / (ratio + other)

    def _multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        alpha, beta = self._of_rows()[:2].copy()
        return alpha, beta

    def _of_rows(self) -> np.ndarray:
        """Return α, β, γ, g₁, g₂ and g₃ of all rows."""
        return self.memory.share.state.transpose(1, 0, 2).reshape(6, -1)[:, : self.problem.n_rows]
