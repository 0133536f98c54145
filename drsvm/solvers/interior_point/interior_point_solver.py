"""Interior-point solver: proven optima, with one small factorisation per iteration."""

from dataclasses import dataclass
from pathlib import Path

from drsvm.problem.problem import Problem
from drsvm.solvers.base import EVERY_CAPABILITY, Limits, Solver, State
from drsvm.solvers.interior_point.small import SmallState, is_small
from drsvm.solvers.interior_point.state import (
    STEP_FRACTION,
    InteriorPointState,
    StepSettings,
)
from drsvm.solvers.interior_point.working_set import WorkingSetRun, screening_pays
from drsvm.solvers.selection import interior_point_fits


@dataclass(frozen=True)
class InteriorPoint(Solver):
    """The interior-point solver: a primal-dual predictor-corrector method.

    It solves ::

        minimise    ε λ + Σ π_i s_i + (c/2) ‖w‖²
        subject to  s_i ≥ 1 − m_i,   s_i ≥ 1 + m_i − κ_i λ,   s_i ≥ 0,
                    ‖(w/a, b/a_0)‖_q ≤ λ,   signs of weights

    on all rows or, where there are many, on a working set.

    Parameters
    ----------
    step_fraction : float
        Fraction of the distance to the boundary of the cone that a step may cover,
        below 1.
    screening : bool
        Whether to iterate on a working set of rows where there are many: those far from
        every kink of their loss are left out, but not of the certificate. The rows of
        the working set, a few per cent to 40 %, are copied.
    compiled_steps : bool
        Whether several steps on few rows are one compiled call. The steps are the same.
    state_folder : str, optional
        Folder for temporary files with the state of the rows, 80 to 112 bytes per row;
        by default it is in memory.

    References
    ----------
    .. [1] S. Mehrotra, "On the implementation of a primal-dual interior point method",
       SIAM Journal on Optimization 2(4), 575-601, 1992.
    .. [2] Y. E. Nesterov and M. J. Todd, "Self-scaled barriers and interior-point
       methods for convex programming", Mathematics of Operations Research 22(1), 1-42,
       1997 (the scaling of the second-order cone, for norm=2).

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import InteriorPoint
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1)
    >>> result = solve(problem, InteriorPoint(screening=False))
    >>> result.solver, str(result.status)
    ('interior-point', 'optimal')
    """

    name = "interior-point"
    default_tol = 1e-8
    default_max_iter = 200
    capabilities = EVERY_CAPABILITY
    reads_views = True
    uses_sums_only = True
    polishes_quickly = True

    step_fraction: float = STEP_FRACTION
    screening: bool = True
    compiled_steps: bool = True
    state_folder: str | None = None

    def __post_init__(self):
        if self.state_folder is not None and not Path(self.state_folder).is_dir():
            raise ValueError(
                f"state_folder={self.state_folder!r} is not a folder: create it first."
            )

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Reject rows on a cluster that have too many features.

        The matrix of an iteration must fit into the memory of each machine.
        """
        if not problem.rows.is_sharded or interior_point_fits(problem):
            return super().unsupported_reason(problem)
        d = problem.n_features
        return (
            f"solver 'interior-point' needs matrices of {d:,} × {d:,} numbers "
            f"({8e-9 * d**2:.0f} GB each) here and on every worker, which do not fit: "
            "use solver='auto' or 'federated', which send vectors only. They support "
            "neither feature_cost nor monotonic_cst; with these, use fewer features."
        )

    def takes_compiled_steps(self, problem: Problem) -> bool:
        """Return whether several steps are one compiled call."""
        return self.compiled_steps and self.state_folder is None and is_small(problem)

    def start(self, problem: Problem, limits: Limits) -> State:
        settings = StepSettings(self.step_fraction, self.state_folder)
        if self.takes_compiled_steps(problem):
            return SmallState(problem, limits, settings=settings)
        state = InteriorPointState(problem, limits, settings=settings)
        if self.screening and not state.engine.small and screening_pays(problem):
            return WorkingSetRun(state)
        return state
