"""General-purpose solvers, called with as little overhead as possible.

A rival has variants: a formulation (see `_formulations`) and settings of its own.
`prepare` does everything that may be done in advance and returns a Run. Its `solve` is
timed: from matrices in the solver's own format to its answer, including ordering and
factorisation, excluding modelling.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from _common import version_of
from _formulations import FORMULATIONS, Program, cvxpy_margins, cvxpy_model
from scipy import sparse

TIME_LIMIT = 60.0


class Run(NamedTuple):
    """One call of a solver: `solve()` returns its raw answer.

    `weights(answer)` is the classifier in it, `multipliers(answer)` are α and β, or
    None where they cannot be read.
    """

    solve: Callable[[], Any]
    weights: Callable[[Any], np.ndarray]
    multipliers: Callable[[Any], tuple[np.ndarray, np.ndarray] | None] = lambda answer: (
        None
    )


@dataclass(frozen=True)
class Variant:
    """A formulation with settings; formulations called "cvxpy…" use CVXPY."""

    formulation: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([self.formulation, *map(str, self.settings.values())])


@dataclass(frozen=True)
class Rival:
    """A solver, the cases it supports and the variants that are worth trying, the most
    promising first.
    """

    name: str
    package: str
    takes: Callable[[float, float], bool]
    variants: list[Variant]
    direct: Callable[[Program, dict[str, Any]], Run]
    settings: Callable[[float, int], dict[str, Any]]
    cvxpy_name: str = ""

    def version(self) -> str | None:
        """Return the version of the package, or None if it is missing."""
        return version_of(self.package)

    def prepare(
        self, problem, variant: Variant, tolerance: float, n_threads: int
    ) -> Run:
        """Return the call that solves a problem in a variant to a tolerance."""
        settings = {**self.settings(tolerance, n_threads), **variant.settings}
        if variant.formulation.startswith("cvxpy"):
            return _through_cvxpy(
                problem, variant.formulation, self.cvxpy_name, settings
            )
        return self.direct(FORMULATIONS[variant.formulation](problem), settings)


# --- PIQP: interior point for quadratic programs
# ------------------------------------------------------------------


def _piqp_settings(tolerance: float, n_threads: int) -> dict[str, Any]:
    names = ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel")
    return dict.fromkeys(names, tolerance)


def _piqp(program: Program, settings) -> Run:
    import piqp

    P = _diagonal(program.curvature)
    equalities = (
        (program.equal, program.equal_to) if len(program.equal_to) else (None, None)
    )
    settings = {
        **settings,
        "kkt_solver": getattr(piqp, settings.get("kkt_solver", "sparse_ldlt")),
    }

    def solve():
        solver = piqp.SparseSolver()
        for name, value in settings.items():
            setattr(solver.settings, name, value)
        # Fmt: skip
        solver.setup(
            P,
            program.cost,
            *equalities,
            program.below,
            None,
            program.below_at,
            program.lower,
            program.upper,
        )
        solver.solve()
        return solver.result

    return Run(
        solve,
        lambda result: program.read(result.x, result.y),
        lambda result: program.multipliers(result.x, np.r_[result.y, result.z_u]),
    )


# --- conic solvers: everything is a row of one matrix
# -------------------------------------------------------------


class _Rows(NamedTuple):
    """Ax + s = b with s in: zeros, nonnegative numbers, second-order cones."""

    A: sparse.csc_matrix
    b: np.ndarray
    n_zero: int
    n_linear: int
    n_cone: int


def _as_rows(program: Program) -> _Rows:
    eye = sparse.eye_array(len(program.cost), format="csr")
    low = np.isfinite(program.lower)
    high = np.isfinite(program.upper)
    parts = [program.equal, program.below, -eye[low], eye[high], -eye[program.cone]]
    sides = [
        program.equal_to,
        program.below_at,
        -program.lower[low],
        program.upper[high],
        np.zeros(len(program.cone)),
    ]
    n_linear = len(program.below_at) + int(low.sum() + high.sum())
    A = _int32(sparse.csc_matrix(sparse.vstack(parts, format="csc")))
    return _Rows(
        A, np.concatenate(sides), len(program.equal_to), n_linear, len(program.cone)
    )


def _int32(matrix):
    matrix.sort_indices()
    matrix.indices, matrix.indptr = (
        matrix.indices.astype(np.int32),
        matrix.indptr.astype(np.int32),
    )
    return matrix


def _diagonal(values) -> sparse.csc_matrix:
    matrix = _int32(sparse.csc_matrix(sparse.diags_array(values, format="csc")))
    matrix.eliminate_zeros()
    return matrix


def _clarabel_settings(tolerance: float, n_threads: int) -> dict[str, Any]:
    limits = {"max_threads": n_threads, "time_limit": TIME_LIMIT, "max_iter": 500}
    return {
        "tol_gap_abs": tolerance,
        "tol_gap_rel": tolerance,
        "tol_feas": tolerance,
        **limits,
    }


def _clarabel(program: Program, settings) -> Run:
    import clarabel

    rows = _as_rows(program)
    P = _diagonal(program.curvature)
    cones = [clarabel.ZeroConeT(rows.n_zero)] if rows.n_zero else []
    cones.append(clarabel.NonnegativeConeT(rows.n_linear))
    cones += [clarabel.SecondOrderConeT(rows.n_cone)] if rows.n_cone else []
    chosen = clarabel.DefaultSettings()
    for name, value in {**settings, "verbose": False}.items():
        setattr(chosen, name, value)

    def solve():
        return clarabel.DefaultSolver(
            P, program.cost, rows.A, rows.b, cones, chosen
        ).solve()

    return Run(
        solve,
        lambda answer: program.read(answer.x, answer.z),
        lambda answer: program.multipliers(answer.x, answer.z),
    )


def _scs_settings(tolerance: float, n_threads: int) -> dict[str, Any]:
    return {
        "eps_abs": tolerance,
        "eps_rel": tolerance,
        "max_iters": 1_000_000,
        "time_limit_secs": TIME_LIMIT,
    }


def _scs(program: Program, settings) -> Run:
    import scs

    rows = _as_rows(program)
    data = {
        "P": _diagonal(program.curvature),
        "A": rows.A,
        "b": rows.b,
        "c": program.cost,
    }
    cone = {
        "z": rows.n_zero,
        "l": rows.n_linear,
        "q": [rows.n_cone] if rows.n_cone else [],
    }
    return Run(
        lambda: scs.SCS(data, cone, verbose=False, **settings).solve(),
        lambda answer: program.read(answer["x"], answer["y"]),
        lambda answer: program.multipliers(answer["x"], answer["y"]),
    )


def _ecos_settings(tolerance: float, n_threads: int) -> dict[str, Any]:
    return {
        "abstol": tolerance,
        "reltol": tolerance,
        "feastol": tolerance,
        "max_iters": 500,
    }


def _ecos(program: Program, settings) -> Run:
    import ecos

    rows = _as_rows(program)
    cost = program.cost
    G = rows.A[rows.n_zero :]
    h = rows.b[rows.n_zero :]
    A = rows.A[: rows.n_zero]
    cones = []
    cones = [rows.n_cone] if rows.n_cone else []
    if program.curvature.any():
        # ECOS has no quadratic objectives: ½ Σ curvature x² ≤ τ is the cone
        # ‖(√(2·curvature) x, 1 − τ)‖ ≤ 1 + τ.
        square, side = _rotated_cone(program.curvature)
        G = sparse.vstack([sparse.hstack([G, sparse.csc_array((len(h), 1))]), square])
        A = sparse.hstack([A, sparse.csc_array((rows.n_zero, 1))])
        cost = np.append(cost, 1.0)
        h = np.append(h, side)
        cones = [*cones, len(side)]
    G = _int32(sparse.csc_matrix(G))
    A = _int32(sparse.csc_matrix(A))
    equalities = (A, program.equal_to) if rows.n_zero else (None, None)
    dims = {"l": rows.n_linear, "q": cones}
    return Run(
        lambda: ecos.solve(cost, G, h, dims, *equalities, verbose=False, **settings),
        lambda answer: program.read(answer["x"], answer["y"]),
        lambda answer: program.multipliers(
            answer["x"], np.r_[answer["y"], answer["z"]]
        ),
    )


def _rotated_cone(curvature):
    """Return rows G and sides h with h − G(x, τ) in a second-order cone exactly when ½
    Σ curvature x² ≤ τ.
    """
    used = np.flatnonzero(curvature)
    n = len(curvature)
    scaled = sparse.csr_array(
        (np.sqrt(2.0 * curvature[used]), (np.arange(len(used)), used)),
        shape=(len(used), n + 1),
    )
    tau = sparse.csr_array(([1.0], ([0], [n])), shape=(1, n + 1))
    return sparse.vstack([-tau, tau, -scaled]), np.r_[1.0, 1.0, np.zeros(len(used))]


# --- QOCO: interior point for quadratic programs with cones
# --------------------------------------------------------


def _qoco_settings(tolerance: float, n_threads: int) -> dict[str, Any]:
    return {"abstol": tolerance, "reltol": tolerance, "max_iters": 500}


def _qoco(program: Program, settings) -> Run:
    import qoco

    rows = _as_rows(program)
    cost = program.cost
    P = _diagonal(program.curvature) if program.curvature.any() else None
    G = _int32(rows.A[rows.n_zero :])
    h = rows.b[rows.n_zero :]
    A = _int32(rows.A[: rows.n_zero]) if rows.n_zero else None
    b = program.equal_to if rows.n_zero else None
    cones = [rows.n_cone] if rows.n_cone else []

    def solve():
        solver = qoco.QOCO()
        # Fmt: skip
        solver.setup(
            len(cost),
            len(h),
            rows.n_zero,
            P,
            cost,
            A,
            b,
            G,
            h,
            rows.n_linear,
            len(cones),
            cones,
            **settings,
        )
        return solver.solve()

    return Run(
        solve,
        lambda answer: program.read(answer.x, answer.y),
        lambda answer: program.multipliers(answer.x, np.r_[answer.y, answer.z]),
    )


# --- Moreau: interior point for conic programs, also many alike and on GPUs
# ----------------------------------------


def _moreau_settings(tolerance: float, n_threads: int) -> dict[str, Any]:
    return {"tol_gap_abs": tolerance, "tol_gap_rel": tolerance, "tol_feas": tolerance}


def _moreau(program: Program, settings) -> Run:
    import moreau

    rows = _as_rows(program)
    A = sparse.csr_array(rows.A)
    P = sparse.csr_array(_diagonal(program.curvature))
    cones = moreau.Cones(
        num_zero_cones=rows.n_zero,
        num_nonneg_cones=rows.n_linear,
        so_cone_dims=[rows.n_cone] if rows.n_cone else [],
    )
    # Looser than ours, its "reduced" tolerances would end a run too early.
    reduced = {f"reduced_{name}": settings[name] for name in settings if "tol" in name}
    chosen = moreau.Settings(
        device="cpu",
        solver="ipm",
        max_iter=500,
        time_limit=TIME_LIMIT,
        ipm_settings=moreau.IPMSettings(**settings, **reduced),
    )
    return Run(
        lambda: moreau.Solver(P, program.cost, A, rows.b, cones, chosen).solve(),
        lambda answer: program.read(answer.x, answer.z),
        lambda answer: program.multipliers(answer.x, answer.z),
    )


# --- HiGHS: simplex, interior point, first-order
# ------------------------------------------------------------------


def _highs_settings(tolerance: float, n_threads: int) -> dict[str, Any]:
    # kkt_tolerance replaces all separate tolerances. A vertex is not needed, so
    # crossover is off.
    return {
        "kkt_tolerance": tolerance,
        "threads": n_threads,
        "time_limit": TIME_LIMIT,
        "run_crossover": "off",
    }


def _highs(program: Program, settings) -> Run:
    import highspy

    A = _int32(
        sparse.csc_matrix(sparse.vstack([program.equal, program.below], format="csc"))
    )
    lowest = np.concatenate([program.equal_to, np.full(len(program.below_at), -np.inf)])
    highest = np.concatenate([program.equal_to, program.below_at])

    def solve():
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        for name, value in settings.items():
            highs.setOptionValue(name, value)
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = A.shape
        lp.col_cost_ = program.cost
        lp.col_lower_ = program.lower
        lp.col_upper_ = program.upper
        lp.row_lower_ = lowest
        lp.row_upper_ = highest
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = A.indptr
        lp.a_matrix_.index_ = A.indices
        lp.a_matrix_.value_ = A.data
        highs.passModel(lp)
        if program.curvature.any():
            highs.passHessian(_highs_hessian(highspy, program.curvature))
        highs.run()
        return highs.getSolution()

    return Run(
        solve,
        lambda found: program.read(found.col_value, -np.array(found.row_dual)),
        lambda found: program.multipliers(found.col_value, -np.array(found.row_dual)),
    )


def _highs_hessian(highspy, curvature):
    used = np.flatnonzero(curvature)
    hessian = highspy.HighsHessian()
    hessian.dim_ = len(curvature)
    hessian.format_ = highspy.HessianFormat.kTriangular
    hessian.start_ = np.searchsorted(used, np.arange(len(curvature) + 1)).astype(
        np.int32
    )
    hessian.index_ = used.astype(np.int32)
    hessian.value_ = curvature[used]
    return hessian


# --- through CVXPY
# ------------------------------------------------------------------------------------------------


def _through_cvxpy(problem, formulation: str, solver: str, settings) -> Run:
    model, variables = {"cvxpy": cvxpy_model, "cvxpy-margins": cvxpy_margins}[
        formulation
    ](problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data, chain, inverse = model.get_problem_data(solver, solver_opts={})

    def weights(raw):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.unpack_results(raw, chain, inverse)
        return variables["weights"].value

    def multipliers(raw):
        weights(raw)  # unpacks the answer
        return (
            None
            if formulation == "cvxpy"
            else (model.constraints[1].dual_value, model.constraints[2].dual_value)
        )

    return Run(
        lambda: chain.solve_via_data(model, data, solver_opts=dict(settings)),
        weights,
        multipliers,
    )


# --- the rivals
# ---------------------------------------------------------------------------------------------------


def _anything(q: float, c: float) -> bool:
    return True


def _no_cone(q: float, c: float) -> bool:
    return q != 2


def _linear(q: float, c: float) -> bool:
    return q != 2 and c == 0


def _quadratic(q: float, c: float) -> bool:
    return q != 2 and c > 0


def _all(formulations: str, **settings) -> list[Variant]:
    return [Variant(name, settings) for name in formulations.split()]


EVERY = "margins excess dual pieces cvxpy cvxpy-margins"

# PIQP's other ways to condense the system (…_eq_cond, …_cond) took minutes or did not
# converge.
PIQP_VARIANTS = _all(EVERY) + _all(
    "excess dual margins", kkt_solver="sparse_ldlt_ineq_cond"
)
# Two factorisations: one thread, several threads.
# Fmt: skip
CLARABEL_VARIANTS = [
    variant
    for method in ("qdldl", "faer")
    for variant in _all(EVERY, direct_solve_method=method)
]
# An SCS built with MKL uses it by default, which is slower here; both are tried.
SCS_VARIANTS = _all(EVERY, linear_solver="qdldl") + _all("margins excess dual pieces")
HIGHS_VARIANTS = _all("excess dual pieces", solver="ipm") + _all(
    "excess dual pieces", solver="simplex"
)
# The dual is convex too, but HiGHS reports it as unbounded.
HIGHS_QP_VARIANTS = _all("pieces excess margins")
PDLP_VARIANTS = _all("excess dual margins pieces", solver="pdlp")

# QOCO takes as long in all of them (6.1 to 8.2 s on a9a, q = 1), if it does not break down.
QOCO_VARIANTS = _all("excess cvxpy")
MOREAU_VARIANTS = [
    variant
    for method in ("faer-1t", "qdldl")
    for variant in _all("margins excess dual pieces", direct_solve_method=method)
]

RIVALS = [
    Rival("PIQP", "piqp", _no_cone, PIQP_VARIANTS, _piqp, _piqp_settings, "PIQP"),
    Rival("ECOS", "ecos", _anything, _all(EVERY), _ecos, _ecos_settings, "ECOS"),
    Rival(
        "Clarabel",
        "clarabel",
        _anything,
        CLARABEL_VARIANTS,
        _clarabel,
        _clarabel_settings,
        "CLARABEL",
    ),
    Rival("QOCO", "qoco", _anything, QOCO_VARIANTS, _qoco, _qoco_settings, "QOCO"),
    Rival("Moreau", "moreau", _anything, MOREAU_VARIANTS, _moreau, _moreau_settings),
    Rival("SCS", "scs", _anything, SCS_VARIANTS, _scs, _scs_settings, "SCS"),
    Rival("HiGHS", "highspy", _linear, HIGHS_VARIANTS, _highs, _highs_settings),
    Rival("HiGHS PDLP", "highspy", _linear, PDLP_VARIANTS, _highs, _highs_settings),
    Rival(
        "HiGHS QP", "highspy", _quadratic, HIGHS_QP_VARIANTS, _highs, _highs_settings
    ),
]
