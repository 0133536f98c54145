"""The same problem through a general-purpose solver: the reference for tests and the baseline for benchmarks.

    minimise over w, b, λ, t (and u ≥ |w| for q = 1)    ε λ + Σ π_i t_i + (c/2) ‖w‖²
    subject to    1 − m_i ≤ t_i,   1 + m_i − κλ ≤ t_i,   0 ≤ t_i,   ‖w‖_q ≤ λ

Clarabel takes every case, HiGHS the linear programs among them (q = 1 or ∞, c = 0). A solver's own "optimal" is not
believed: its multipliers go through the certificate like anyone else's.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.norms import L1, L2
from drsvm.problem import Problem
from drsvm.solvers.base import Candidate, Limits, Solver, State, postponed_interrupt


@dataclass(frozen=True)
class Conic(Solver):
    """A general-purpose conic solver.

    Attributes
    ----------
    backend : {"clarabel", "highs"}
        Clarabel (all cases) or HiGHS (norm 1 or inf with l2=0).
    accuracy : float
        Tolerance handed to the backend on its own residuals.
    """

    name = "conic"
    default_tol = 1e-7
    default_max_iter = 1

    backend: str = "clarabel"
    accuracy: float = 1e-11

    def start(self, problem: Problem, limits: Limits) -> "ConicState":
        """Build the model."""
        backends = {"clarabel": _clarabel, "highs": _highs}
        if self.backend not in backends:
            raise ValueError(f"backend must be 'clarabel' or 'highs', got backend={self.backend!r}.")
        model = build_model(problem)
        if self.backend == "highs" and (model.n_cone > 0 or problem.l2 > 0):
            raise ValueError("backend='highs' takes norm=1 or norm=inf with l2=0 only: use backend='clarabel'.")
        return ConicState(problem, model, backends[self.backend], self.accuracy, limits)


class ConicState(State):
    """One call of the backend."""

    def __init__(self, problem, model, backend, accuracy, limits):
        self._problem, self._model, self._limits = problem, model, limits
        self._backend, self._accuracy = backend, accuracy
        self._answer: Candidate | None = None
        self._info: dict[str, Any] = {}

    def step(self) -> None:
        """Solve the model."""
        x, multipliers, self._info = self._backend(self._model, self._accuracy, self._limits)
        self._answer = self._model.read(self._problem, x, multipliers)
        self.finished = True

    def candidate(self) -> Candidate:
        """Return the backend's answer."""
        assert self._answer is not None
        return self._answer

    def info(self) -> dict[str, Any]:
        """Return what the backend said of itself."""
        return self._info


@dataclass(frozen=True)
class Model:
    """minimise ½ xᵀPx + costᵀx subject to Ax ≤ bound; the last `n_cone` rows lie in a second-order cone instead.

    Features are measured in `unit`, because the backends fail on small features (large weights) otherwise.
    """

    P: sparse.csc_array
    cost: np.ndarray
    A: sparse.csc_array
    bound: np.ndarray
    n_cone: int
    flips: bool
    unit: float

    def read(self, problem: Problem, x, multipliers) -> Candidate:
        """Return the answer in the words of the problem."""
        n, d = problem.n_rows, problem.n_features
        intercept = float(x[d]) if problem.fit_intercept else 0.0
        flip_dual = multipliers[n : 2 * n] if self.flips else None
        return Candidate(x[:d] / self.unit, intercept, multipliers[:n], flip_dual)


def build_model(problem: Problem) -> Model:
    """Write the problem down as matrices; variables w, b, λ, t, u, without those a case does not need."""
    n, d = problem.n_rows, problem.n_features
    flips = problem.flips_possible
    with_norm = problem.radius > 0 or flips
    unit = _unit(problem)
    signed = sparse.csr_array(problem.X.astype(np.float64)) * (problem.signs / unit)[:, None]
    b = [problem.signs[:, None]] if problem.fit_intercept else []
    no_b = [np.zeros((1, 1))] if problem.fit_intercept else []
    u = d if with_norm and isinstance(problem.norm, L1) else 0
    losses = -sparse.eye_array(n)

    def row(w, b, level, t=None):
        return [w, *b, level, t] + ([None] if u else [])

    blocks = [row(-signed, [-column for column in b], sparse.csr_array((n, 1)), losses)]
    bounds = [-np.ones(n)]
    if flips:
        blocks.append(row(signed, b, np.full((n, 1), -problem.flip_cost / unit), losses))
        bounds.append(-np.ones(n))
    blocks.append(row(None, [None] * len(b), None, losses))
    bounds.append(np.zeros(n))
    n_cone = 0
    if with_norm:
        norm_rows, n_cone = _norm_rows(problem, no_b)
        blocks += norm_rows
        bounds.append(np.zeros(sum(_height(block) for block in norm_rows)))
    A = sparse.block_array(blocks, format="csc")
    cost = np.zeros(A.shape[1])
    cost[d + len(b)] = problem.radius / unit
    cost[d + len(b) + 1 : d + len(b) + 1 + n] = problem.weights
    P = sparse.diags_array(np.where(np.arange(A.shape[1]) < d, problem.l2 / unit**2, 0.0), format="csc")
    return Model(P, cost, A, np.concatenate(bounds), n_cone, flips, unit)


def _unit(problem: Problem) -> float:
    """Return a unit of length in which λ is not far from 1: at the optimum ε λ ≤ 1 and (c/2) ‖w‖² ≤ 1."""
    typical = problem.typical_row_norm()
    unit = max(10 * problem.radius, problem.l2**0.5)
    return float(np.clip(unit, 1e-6 * typical, typical)) if unit > 0 else typical


def _height(block) -> int:
    return next(part.shape[0] for part in block if part is not None)


def _norm_rows(problem: Problem, no_b) -> tuple[list[list[Any]], int]:
    """Return the rows for ‖w‖_q ≤ λ and how many of them form a second-order cone."""
    d = problem.n_features
    eye, gap = sparse.eye_array(d), [None] * len(no_b)
    if isinstance(problem.norm, L1):
        total = sparse.csr_array(np.ones((1, d)))
        return [
            [eye, *gap, None, None, -eye],
            [-eye, *gap, None, None, -eye],
            [None, *gap, -np.ones((1, 1)), None, total],
        ], 0
    if isinstance(problem.norm, L2):
        return [[None, *gap, -np.ones((1, 1)), None], [-eye, *gap, None, None]], d + 1
    ones = -np.ones((d, 1))
    return [[eye, *gap, ones, None], [-eye, *gap, ones, None]], 0


def _clarabel(model: Model, accuracy: float, limits: Limits):
    clarabel = _import("clarabel")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    settings.max_iter = 200
    settings.time_limit = max(limits.time_left(), 1e-3)
    settings.max_threads = limits.n_threads or 0
    linear = len(model.bound) - model.n_cone
    cones = [clarabel.NonnegativeConeT(linear)]
    if model.n_cone:
        cones.append(clarabel.SecondOrderConeT(model.n_cone))
    as_matrix = sparse.csc_matrix
    solver = clarabel.DefaultSolver(as_matrix(model.P), model.cost, as_matrix(model.A), model.bound, cones, settings)
    with postponed_interrupt() as interrupted:
        solver.set_termination_callback(lambda _: interrupted.is_set())
        answer = solver.solve()
    info = {"backend": "clarabel", "backend_status": str(answer.status), "backend_iterations": answer.iterations}
    return np.array(answer.x), np.array(answer.z), info


def _highs(model: Model, accuracy: float, limits: Limits):
    highspy = _import("highspy")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("time_limit", float(min(max(limits.time_left(), 1e-3), 1e30)))
    highs.setOptionValue("threads", limits.n_threads or 0)
    feasibility = max(accuracy, 1e-10)
    highs.setOptionValue("primal_feasibility_tolerance", feasibility)
    highs.setOptionValue("dual_feasibility_tolerance", feasibility)
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = model.A.shape
    lp.col_cost_ = model.cost
    lp.col_lower_ = np.full(lp.num_col_, -highspy.kHighsInf)
    lp.col_upper_ = np.full(lp.num_col_, highspy.kHighsInf)
    lp.row_lower_ = np.full(lp.num_row_, -highspy.kHighsInf)
    lp.row_upper_ = model.bound
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = model.A.indptr
    lp.a_matrix_.index_ = model.A.indices
    lp.a_matrix_.value_ = model.A.data
    highs.passModel(lp)
    with postponed_interrupt() as interrupted:
        highs.cbSimplexInterrupt += lambda event: event.interrupt(interrupted.is_set())
        highs.cbIpmInterrupt += lambda event: event.interrupt(interrupted.is_set())
        highs.run()
    solution = highs.getSolution()
    info = {"backend": "highs", "backend_status": highs.modelStatusToString(highs.getModelStatus())}
    return np.array(solution.col_value), -np.array(solution.row_dual), info


def _import(name: str):
    try:
        return __import__(name)
    except ImportError:
        raise ImportError(f"solver 'conic' needs {name}: pip install 'drsvm[conic]'.") from None


def cvxpy_model(problem: Problem):
    """Return the problem as a CVXPY model, for reading and for solvers of your own.

    Returns
    -------
    model : cvxpy.Problem
    variables : dict with the variables "weights", "intercept" (0.0 without one) and "radius_price"
    """
    cp = _import("cvxpy")
    w, price = cp.Variable(problem.n_features), cp.Variable()
    b = cp.Variable() if problem.fit_intercept else 0.0
    margins = cp.multiply(problem.signs, problem.X @ w + b)
    pieces = [1 - margins, np.zeros(problem.n_rows)]
    if np.isfinite(problem.flip_cost):
        pieces.append(1 + margins - problem.flip_cost * price)
    risk = problem.radius * price + problem.weights @ cp.maximum(*pieces)
    ridge = 0.5 * problem.l2 * cp.sum_squares(w)
    model = cp.Problem(cp.Minimize(risk + ridge), [cp.norm(w, problem.norm.q) <= price])
    return model, {"weights": w, "intercept": b, "radius_price": price}
