"""The same problem solved by Clarabel, a general-purpose conic solver.

    minimise over w, b, λ, t (and u ≥ |v| for q = 1)    ε λ + Σ π_i t_i + (c/2) ‖w‖²
    subject to    1 − m_i ≤ t_i,   1 + m_i − κ_i λ ≤ t_i,   0 ≤ t_i,   ‖v‖_q ≤ λ,
                  s_j w_j ≥ 0

with the losses t_i and v = (w_1/a_1, …, w_d/a_d, b/a_0), without the entries of
infinite cost. It is the reference for tests and the baseline for benchmarks, and what
`auto` tries on few rows if its own methods fail. Clarabel's own status "Solved" is not
trusted: its multipliers go through the same certificate as those of all solvers.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.problem.norms import L1, L2, LInf
from drsvm.problem.problem import Problem
from drsvm.problem.row_sums import typical_row_norm
from drsvm.solvers.base import EVERY_CAPABILITY, Candidate, Limits, Solver, State
from drsvm.solvers.interior_point.cones import entries_with_cost
from drsvm.utils.lazy import optional

# Far more iterations than Clarabel takes where it succeeds
MAX_ITERATIONS = 200
# The unit of λ is 10 ε, and no less than this share of the typical norm of a row (see
# `_unit`).
RADII = 10
LEAST_UNIT = 1e-6


@dataclass(frozen=True)
class Conic(Solver):
    """A general-purpose conic solver, Clarabel, from the extra ``conic``.

    Parameters
    ----------
    backend : {"clarabel"}
        The general-purpose solver.
    accuracy : float
        Its tolerance for its own residuals.

    Notes
    -----
    Clarabel reports nothing before it ends, and notices a time limit or Ctrl-C between
    its iterations, each of which takes long if the data are large.

    References
    ----------
    .. [1] P. J. Goulart and Y. Chen, "Clarabel: An interior-point solver for conic
       programs with quadratic objectives", arXiv:2405.12762, 2024.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import Conic
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1)
    >>> result = solve(problem, Conic(accuracy=1e-9))
    >>> result.solver, str(result.status)
    ('conic', 'optimal')
    """

    name = "conic"
    default_tol = 1e-7
    default_max_iter = 1
    norms = L1, L2, LInf
    capabilities = EVERY_CAPABILITY

    backend: str = "clarabel"
    accuracy: float = 1e-11

    def __post_init__(self) -> None:
        if self.backend != "clarabel":
            raise ValueError(
                f"backend must be 'clarabel', got backend={self.backend!r}."
            )

    def start(self, problem: Problem, limits: Limits) -> "ConicState":
        return ConicState(problem, self, limits)


class ConicState(State):
    """One call of Clarabel."""

    def __init__(self, problem: Problem, settings: Conic, limits: Limits):
        self.problem = problem
        self.settings = settings
        self.limits = limits
        self.model = build_model(problem)
        # Before the only step: w = 0
        self.answer = Candidate(np.zeros(problem.n_features))
        self.report: dict[str, Any] = {}

    def step(self) -> None:
        """Run Clarabel to its end."""
        clarabel = optional("clarabel", "solver 'conic' needs")
        model = self.model
        accuracy = self.settings.accuracy
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = accuracy
        settings.tol_gap_rel = accuracy
        settings.tol_feas = accuracy
        settings.max_iter = MAX_ITERATIONS
        settings.time_limit = max(self.limits.time.left(), 1e-3)
        # 0 leaves the number of threads to Clarabel.
        settings.max_threads = self.limits.n_threads or 0
        cones = [clarabel.NonnegativeConeT(len(model.bound) - model.n_cone)]
        if model.n_cone:
            cones.append(clarabel.SecondOrderConeT(model.n_cone))
        P = sparse.csc_matrix(model.P)
        A = sparse.csc_matrix(model.A)
        with postponed_interrupt() as interrupted:
            solver = clarabel.DefaultSolver(
                P, model.cost, A, model.bound, cones, settings
            )
            solver.set_termination_callback(lambda _: interrupted.is_set())
            found = solver.solve()
        self.answer = _candidate(self.problem, model, found)
        self.report = {
            "backend": "clarabel",
            "backend_status": str(found.status),
            "backend_iterations": found.iterations,
        }
        self.finished = True

    def candidate(self) -> Candidate:
        return self.answer

    def info(self) -> dict[str, Any]:
        return self.report


@contextmanager
def postponed_interrupt() -> Iterator[threading.Event]:
    """Postpone Ctrl-C while code runs that no exception may propagate through.

    Yield an event that Ctrl-C sets.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        # Python delivers Ctrl-C only to the main thread.
        yield event
        return
    previous = signal.signal(signal.SIGINT, lambda number, frame: event.set())
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, previous)
    if event.is_set():
        raise KeyboardInterrupt


class Model(NamedTuple):
    """The problem in the form minimise ½ xᵀPx + costᵀx subject to Ax ≤ bound.

    The variables x are (w, b), λ, t and, for q = 1, u. For the last `n_cone` rows,
    bound − Ax is in the second-order cone instead.
    """

    P: sparse.csc_array
    cost: np.ndarray
    A: sparse.csc_array
    bound: np.ndarray
    n_cone: int
    unit: float
    """Features are divided by it, so that w and λ in x are multiplied by it."""


def build_model(problem: Problem) -> Model:
    """Return the matrices of the problem.

    They consist of blocks of columns for (w, b), λ, t and, for q = 1, u. A block that
    is None is 0.
    """
    n = problem.n_rows
    d = problem.n_features
    unit = _unit(problem)
    # y_i (x_i, 1), whose products with (w, b) are the margins m
    signs = problem.signs[:, None]
    signed = sparse.csr_array(problem.X.astype(np.float64)) * (signs / unit)
    if problem.fit_intercept:
        signed = sparse.hstack([signed, sparse.csr_array(signs)])
    signed = sparse.csr_array(signed)

    # 1. The losses: −m + rλ − t ≤ −1, m − κλ − t ≤ −1 and −t ≤ 0
    losses = -sparse.eye_array(n, format="csr")
    flips = np.flatnonzero(problem.can_flip)
    radii = np.broadcast_to(problem.row_radius, n)[:, None] / unit
    blocks: list[list[Any]] = [[-signed, sparse.csr_array(radii), losses]]
    if len(flips):
        costs = problem.flip_costs[flips, None] / unit
        blocks.append([signed[flips], -costs, losses[flips]])
    blocks.append([None, None, losses])

    # 2. The signs: −s w ≤ 0
    if problem.monotonic_cst is not None:
        held = np.flatnonzero(problem.monotonic_cst)
        signs = -problem.monotonic_cst[held]
        blocks.append([_picked(held, signs, signed.shape[1]), None, None])

    # 3. The norm, unless neither it nor λ plays a role
    n_cone = 0
    if problem.charges_norm or problem.flips_possible:
        norm_blocks, n_cone = _norm_rows(problem, unit)
        blocks += norm_blocks
    # Only the blocks of q = 1 have columns for u.
    widest = max(map(len, blocks))
    blocks = [block + [None] * (widest - len(block)) for block in blocks]
    A = sparse.block_array(blocks, format="csc")

    # 4. The bounds, the linear part of the objective, and the ridge
    bound = np.zeros(A.shape[0])
    bound[: n + len(flips)] = -1.0
    lam = signed.shape[1]
    cost = np.zeros(A.shape[1])
    cost[lam] = problem.radius / unit
    cost[lam + 1 : lam + 1 + n] = problem.sample_weight
    ridge = np.zeros(A.shape[1])
    ridge[:d] = problem.l2 / unit**2
    P = sparse.diags_array(ridge, format="csc")
    return Model(P, cost, A, bound, n_cone, unit)


def _unit(problem: Problem) -> float:
    """Return a unit of length in which λ is not far from 1.

    At the optimum ε λ ≤ 1 and (c/2) ‖w‖² ≤ 1. Without such a unit, Clarabel fails on
    small features, whose weights are large.
    """
    typical = typical_row_norm(problem)
    unit = max(RADII * problem.radius, problem.l2**0.5)
    if unit > 0:
        return float(np.clip(unit, LEAST_UNIT * typical, typical))
    return typical


def _picked(entries: np.ndarray, factors: np.ndarray, size: int) -> sparse.csr_array:
    """Return the matrix that picks entries of a vector, times factors."""
    places = (np.arange(len(entries)), entries)
    return sparse.csr_array((factors.astype(np.float64), places), (len(entries), size))


def _norm_rows(problem: Problem, unit: float) -> tuple[list[list[Any]], int]:
    """Return rows of blocks that state ‖v‖_q ≤ λ, and the size of a second-order cone.

    The blocks are for (w, b), λ, t and, for q = 1, u.
    """
    entries, costs = entries_with_cost(problem)
    d = problem.n_features
    n = len(entries)
    one = np.ones((1, 1))
    if n == 0:
        # Nothing has a cost: 0 ≤ λ.
        return [[None, -one, None]], 0
    # The unit is that of features, and the intercept has none.
    units = np.where(entries < d, 1.0, unit)
    v = _picked(entries, units / costs, d + problem.fit_intercept)
    if isinstance(problem.norm, L2):
        # (λ, v) in the second-order cone: minus it, since the cone is for bound − Ax
        return [[None, -one, None], [-v, None, None]], n + 1
    ones = np.ones((n, 1))
    if isinstance(problem.norm, LInf):
        # v ≤ λ and −v ≤ λ
        return [[v, -ones, None], [-v, -ones, None]], 0
    # q = 1: v ≤ u, −v ≤ u and Σ u ≤ λ
    minus_u = -sparse.eye_array(n)
    total = sparse.csr_array(ones.T)
    return [
        [v, None, None, minus_u],
        [-v, None, None, minus_u],
        [None, -one, None, total],
    ], 0


def _candidate(problem: Problem, model: Model, found) -> Candidate:
    """Return the classifier and the multipliers that Clarabel has found."""
    n = problem.n_rows
    d = problem.n_features
    x = np.array(found.x)
    multipliers = np.array(found.z)
    weights = x[:d] / model.unit
    if problem.monotonic_cst is not None:
        # Clarabel's tolerance may leave weights slightly beyond 0.
        weights[weights * problem.monotonic_cst < 0] = 0.0
    intercept = float(x[d]) if problem.fit_intercept else 0.0
    # The multipliers of the first constraint are α, those of the second β.
    flip_dual = None
    if problem.flips_possible:
        n_flips = np.count_nonzero(problem.can_flip)
        flip_dual = np.zeros(n)
        flip_dual[problem.can_flip] = multipliers[n : n + n_flips]
    return Candidate(weights, intercept, multipliers[:n], flip_dual)
