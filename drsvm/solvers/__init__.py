"""The solvers by name, and `solve`."""

from importlib import import_module

from drsvm.problem import Problem
from drsvm.result import Result
from drsvm.solvers.base import Solver, run

_REGISTRY = {
    "interior-point": ("drsvm.solvers.interior_point", "InteriorPoint"),
    "conic": ("drsvm.solvers.conic", "Conic"),
}


def solver_names() -> list[str]:
    """Return the names that `solve` knows."""
    return ["auto", *_REGISTRY]


def make_solver(solver, **settings) -> Solver:
    """Return the solver object for a name and its settings; an object passes through."""
    if isinstance(solver, Solver):
        if settings:
            raise TypeError(f"settings {sorted(settings)} go into the {type(solver).__name__} object, not into solve.")
        return solver
    if solver == "auto":
        solver = "interior-point"
    if solver not in _REGISTRY:
        raise ValueError(f"solver must be one of {', '.join(solver_names())}, got solver={solver!r}.")
    module, name = _REGISTRY[solver]
    chosen = getattr(import_module(module), name)
    unknown = set(settings) - set(chosen.__dataclass_fields__)
    if unknown:
        known = ", ".join(chosen.__dataclass_fields__) or "none"
        raise TypeError(f"solver {solver!r} has no setting {', '.join(sorted(unknown))}; its settings: {known}.")
    return chosen(**settings)


def solve(
    problem: Problem,
    solver="auto",
    *,
    tol: float | None = None,
    max_iter: int | None = None,
    max_time: float | None = None,
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
        The run ends as soon as objective − lower bound ≤ tol; by default the solver's own tolerance.
    max_iter, max_time : int, float, optional
        Limits on iterations and seconds.
    start : Result or (weights, intercept), optional
        Where to start.
    callback : callable, optional
        Called with a `Progress` after every certificate; a true return value stops the run.
    random_state : int or Generator, optional
        Seed of solvers that draw at random.
    n_threads : int, optional
        Threads for the work over the rows; by default all cores.
    **settings
        Settings of the named solver.

    Returns
    -------
    Result
        Never a warning: the status says how the run ended. Ctrl-C ends it with the best point so far.
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"solve takes a drsvm.Problem, got {type(problem).__name__}: build one with Problem(X, y, ...).")
    chosen = make_solver(solver, **settings)
    return run(
        problem,
        chosen,
        tol=tol,
        max_iter=max_iter,
        max_time=max_time,
        start=start,
        callback=callback,
        random_state=random_state,
        n_threads=n_threads,
    )
