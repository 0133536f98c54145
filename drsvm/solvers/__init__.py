"""The solvers by name, and `solve`."""

from importlib import import_module
from typing import Any

from drsvm.clock import TimeLimit
from drsvm.model.problem import Problem
from drsvm.model.result import Result
from drsvm.solvers.base import Solver
from drsvm.solvers.centring import Centred
from drsvm.solvers.loop import run
from drsvm.solvers.selection import choose

_REGISTRY = {
    "interior-point": ("drsvm.solvers.interior_point", "InteriorPoint"),
    "admm": ("drsvm.solvers.admm", "Admm"),
    "isg": ("drsvm.solvers.isg", "Isg"),
    "ippa": ("drsvm.solvers.ippa", "Ippa"),
    "hybrid": ("drsvm.solvers.hybrid", "Hybrid"),
    "dual-coordinate": ("drsvm.solvers.dual_coordinate", "DualCoordinate"),
    "feature-working-set": ("drsvm.solvers.feature_working_set", "FeatureWorkingSet"),
    "conic": ("drsvm.solvers.conic", "Conic"),
}

AUTO_TOL = 1e-6
"""Default tolerance of `auto`, whichever solver it stands for."""


def solver_names() -> list[str]:
    """Return the names that `solve` knows."""
    return ["auto", *_REGISTRY]


def make_solver(solver: Any, problem: Problem, **settings) -> Solver:
    """Return the solver object for a name and its settings; an object passes through."""
    if isinstance(solver, Solver):
        if settings:
            raise TypeError(f"settings {sorted(settings)} go into the {type(solver).__name__} object, not into solve.")
        return solver
    name = choose(problem) if isinstance(solver, str) and solver == "auto" else solver
    if not isinstance(name, str) or name not in _REGISTRY:
        raise ValueError(f"solver must be one of {', '.join(solver_names())}, got solver={solver!r}.")
    module, class_name = _REGISTRY[name]
    chosen = getattr(import_module(module), class_name)
    unknown = set(settings) - set(chosen.__dataclass_fields__)
    if unknown:
        known = ", ".join(chosen.__dataclass_fields__) or "none"
        raise TypeError(f"solver {name!r} has no setting {', '.join(sorted(unknown))}; its settings: {known}.")
    return chosen(**settings)


def default_tol(solver: Any, tol: float | None) -> float | None:
    """Return the tolerance of a run: what is given, that of `auto`, or None, which is the solver's own."""
    return AUTO_TOL if tol is None and isinstance(solver, str) and solver == "auto" else tol


def solve(
    problem: Problem,
    solver: str | Solver = "auto",
    *,
    tol: float | None = None,
    max_iter: int | None = None,
    max_time: float | TimeLimit | None = None,
    start=None,
    callback=None,
    random_state=None,
    n_threads: int | None = None,
    **settings,
) -> Result:
    """Solve a problem and prove how good the answer is.

    Parameters
    ----------
    problem : Problem
        Data and parameters.
    solver : str or Solver
        Name of a solver, or an object with its settings.
    tol : float, optional
        The run ends as soon as objective − lower bound ≤ tol. By default 1e-6 for "auto", whatever it picks, and
        otherwise the named solver's own tolerance: 1e-8 for "interior-point", 1e-6 for "dual-coordinate" and
        "feature-working-set", 1e-4 for "isg", "ippa", "hybrid" and "admm", 1e-7 for "conic".
    max_iter, max_time : int, float or TimeLimit, optional
        Limits on iterations and seconds; a `drsvm.clock.TimeLimit` is one that several calls share. No step is begun
        that is expected to end too late, but there is always a first one. Compiling the kernels, the first time that
        they are needed, does not count.
    start : Result or (weights, intercept), optional
        Where to start.
    callback : callable, optional
        Called with a `Progress` after every certificate; a true return value stops the run. The interior point proves
        its gap in every iteration when there is a callback, otherwise only towards the end.
    random_state : int or Generator, optional
        Seed of solvers that draw at random.
    n_threads : int, optional
        Threads for the work over the rows; by default all cores.
    **settings
        Settings of the named solver.

    Returns
    -------
    Result
        Never a warning: the status says how the run ended. Ctrl-C ends it with the best point so far and the status
        INTERRUPTED.
    """
    if not isinstance(problem, Problem):
        given = type(problem).__name__
        raise TypeError(f"solve takes a drsvm.Problem, got {given}: build one with Problem(X, y, ...).")
    centred = Centred.of(problem)
    result = run(
        centred.problem,
        make_solver(solver, problem, **settings),
        tol=default_tol(solver, tol),
        max_iter=max_iter,
        max_time=max_time,
        start=centred.there(start),
        callback=callback,
        random_state=random_state,
        n_threads=n_threads,
    )
    return centred.back(result)
