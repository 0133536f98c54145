"""The same problem solved by a general-purpose solver: the reference for tests and the baseline for benchmarks.

    minimise over w, b, λ, t (and u ≥ |v| for q = 1)    ε λ + Σ π_i t_i + (c/2) ‖w‖²
    subject to    1 − m_i ≤ t_i,   1 + m_i − κ_i λ ≤ t_i,   0 ≤ t_i,   ‖v‖_q ≤ λ,   s_j w_j ≥ 0

with the priced weights v = (w_1/a_1, …, w_d/a_d, b/a_0), without those of price inf.

Clarabel solves all cases, HiGHS only the linear programs (q = 1 or ∞, c = 0). A
backend's own status "optimal" is not trusted: its multipliers go through the same
certificate as those of all solvers.
"""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.problem.norms import L1, L2, LInf
from drsvm.problem.problem import Problem
from drsvm.problem.row_sums import typical_row_norm
from drsvm.solvers.base import EVERY_CAPABILITY, Candidate, Limits, Solver, State
from drsvm.solvers.conic.backends import (
    BACKENDS,
    Answer,
    Model,
    answer_of_process,
    postponed_interrupt,
)
from drsvm.solvers.interior_point.cones import entries_with_cost

# Models with more entries are solved in a separate process, which takes tenths of a
# second to start
LARGE = 200_000


@dataclass(frozen=True)
class Conic(Solver):
    """A general-purpose conic solver.

    Attributes
    ----------
    backend : {"clarabel", "highs"}
        Clarabel (all cases) or HiGHS (norm 1 or inf with l2=0).
    accuracy : float
        Tolerance of the backend for its own residuals.

    Notes
    -----
    A backend reports nothing before it ends, and checks its time limit only occasionally. On large models it is
    terminated when the time is up, or by Ctrl-C, and then the only classifier is 0.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import Conic
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1, norm="inf")
    >>> result = solve(problem, Conic(backend="highs"))
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
        if self.backend not in BACKENDS:
            raise ValueError(
                f"backend must be 'clarabel' or 'highs', got backend={self.backend!r}."
            )

    def unsupported_reason(self, problem: Problem) -> str | None:
        is_round = isinstance(problem.norm, L2) and (
            problem.radius > 0 or problem.flips_possible
        )
        if self.backend != "highs" or not (problem.l2 > 0 or is_round):
            return super().unsupported_reason(problem)
        return (
            f"backend='highs' needs norm=1 or norm=inf with l2=0, got norm={problem.norm} and l2={problem.l2:g}: "
            "use backend='clarabel'."
        )

    def start(self, problem: Problem, limits: Limits) -> "ConicState":
        return ConicState(problem, self, limits)


class ConicState(State):
    """One call of the backend."""

    def __init__(self, problem: Problem, settings: Conic, limits: Limits):
        self._problem = problem
        self._model = build_model(problem)
        self._settings = settings
        self._limits = limits
        self._answer = Candidate(np.zeros(problem.n_features))
        self._info: dict = {}

    def step(self) -> None:
        backend = self._settings.backend
        accuracy = self._settings.accuracy
        limits = self._limits
        limited = {
            "n_threads": limits.n_threads or 0,
            "seconds": max(limits.time.left(), 1e-3),
        }
        model = self._model._replace(accuracy=accuracy, **limited)
        if (
            model.A.nnz > LARGE and sys.executable and not hasattr(sys, "frozen")
        ):  # else there is no Python to start
            answer = answer_of_process(backend, model, limits.time)
        else:
            with postponed_interrupt() as interrupted:
                answer = BACKENDS[backend](model, interrupted.is_set)
        if answer is None:
            self._info = {
                "backend": backend,
                "backend_status": "terminated at the time limit",
            }
        else:
            self._answer = _read(self._problem, answer, model.unit)
            self._info = answer.info
        self.finished = True

    def candidate(self) -> Candidate:
        return self._answer

    def info(self) -> dict:
        return self._info


def _read(problem: Problem, answer: Answer, unit: float) -> Candidate:
    n = problem.n_rows
    d = problem.n_features
    x = answer.x
    multipliers = answer.multipliers
    flip_dual = np.zeros(n)
    flip_dual[problem.can_flip] = multipliers[
        n : n + np.count_nonzero(problem.can_flip)
    ]
    weights = x[:d] / unit
    if (
        problem.monotonic_cst is not None
    ):  # the backend's tolerance may leave weights slightly beyond 0
        weights[weights * problem.monotonic_cst < 0] = 0.0
    intercept = float(x[d]) if problem.fit_intercept else 0.0
    return Candidate(
        weights,
        intercept,
        multipliers[:n],
        flip_dual if problem.flips_possible else None,
    )


def build_model(problem: Problem) -> Model:
    """Build the matrices of the problem.

    The variables are (w, b), λ, t and u, without those a case does not need.
    """
    n = problem.n_rows
    d = problem.n_features
    # A unit of length in which λ is not far from 1: at the optimum ε λ ≤ 1 and (c/2)
    # ‖w‖² ≤ 1.
    typical = typical_row_norm(problem)
    unit = max(10 * problem.radius, problem.l2**0.5)
    if unit > 0:
        unit = float(np.clip(unit, 1e-6 * typical, typical))
    else:
        unit = typical
    signed = (
        sparse.csr_array(problem.X.astype(np.float64)) * (problem.signs / unit)[:, None]
    )
    if problem.fit_intercept:
        signed = sparse.hstack([signed, sparse.csr_array(problem.signs[:, None])])
    signed = sparse.csr_array(signed)
    losses = -sparse.eye_array(n, format="csr")
    flips = np.flatnonzero(problem.can_flip)
    blocks = [[-signed, sparse.csr_array((n, 1)), losses], [None, None, losses]]
    if len(flips):
        blocks.insert(
            1, [signed[flips], -problem.flip_costs[flips, None] / unit, losses[flips]]
        )
    if problem.monotonic_cst is not None:
        held = np.flatnonzero(problem.monotonic_cst)
        blocks.append(
            [_picked(held, -problem.monotonic_cst[held], signed.shape[1]), None, None]
        )
    norm_blocks = []
    n_cone = 0
    if (
        problem.radius > 0 or problem.flips_possible
    ):  # otherwise neither λ nor the norm plays a role
        norm_blocks, n_cone = _norm_rows(problem, unit)
    # Additional variables of the norm
    others = [None] * (max(map(len, norm_blocks), default=3) - 3)
    A = sparse.block_array(
        [*([*block, *others] for block in blocks), *norm_blocks], format="csc"
    )
    bound = np.zeros(A.shape[0])
    cost = np.zeros(A.shape[1])
    lam = signed.shape[1]
    bound[: n + len(flips)] = -1.0
    cost[lam], cost[lam + 1 : lam + 1 + n] = (
        problem.radius / unit,
        problem.sample_weight,
    )
    P = sparse.diags_array(
        np.where(np.arange(A.shape[1]) < d, problem.l2 / unit**2, 0.0), format="csc"
    )
    return Model(P, cost, A, bound, n_cone, unit)


def _picked(entries: np.ndarray, factors: np.ndarray, size: int) -> sparse.csr_array:
    """Return the matrix that picks entries of a vector, times factors."""
    return sparse.csr_array(
        (factors.astype(np.float64), (np.arange(len(entries)), entries)),
        (len(entries), size),
    )


def _norm_rows(problem: Problem, unit: float) -> tuple[list[list[Any]], int]:
    """Return rows of blocks, for (w, b), λ, t and u, that state ‖v‖_q ≤ λ, and the size of a second-order cone."""
    entries, prices = entries_with_cost(problem)
    d = problem.n_features
    n = len(entries)
    if n == 0:  # nothing is priced: 0 ≤ λ
        return [[None, -np.ones((1, 1)), None]], 0
    v = _picked(
        entries, np.where(entries < d, 1.0, unit) / prices, d + problem.fit_intercept
    )
    if isinstance(problem.norm, L2):  # (λ, v) in the second-order cone
        return [[None, -np.ones((1, 1)), None], [-v, None, None]], n + 1
    if isinstance(problem.norm, LInf):  # v ≤ λ and −v ≤ λ
        return [[v, -np.ones((n, 1)), None], [-v, -np.ones((n, 1)), None]], 0
    # q = 1: v ≤ u, −v ≤ u and Σ u ≤ λ
    eye = sparse.eye_array(n)
    total = sparse.csr_array(np.ones((1, n)))
    return [
        [v, None, None, -eye],
        [-v, None, None, -eye],
        [None, -np.ones((1, 1)), None, total],
    ], 0
