"""The solvers by name, and the choice of `auto`."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from drsvm.model.problem import Problem
from drsvm.solvers.base import Solver
from drsvm.solvers.selection import preferences, stored_entries

_REGISTRY = {
    "interior-point": ("drsvm.solvers.interior_point.solver", "InteriorPoint"),
    "admm": ("drsvm.solvers.admm.solver", "Admm"),
    "isg": ("drsvm.solvers.incremental.run", "Isg"),
    "ippa": ("drsvm.solvers.incremental.run", "Ippa"),
    "hybrid": ("drsvm.solvers.incremental.run", "Hybrid"),
    "dual-coordinate": ("drsvm.solvers.dual_coordinate.solver", "DualCoordinate"),
    "feature-working-set": ("drsvm.solvers.dual_coordinate.feature_working_set", "FeatureWorkingSet"),
    "federated": ("drsvm.solvers.federated.solver", "Federated"),
    "landmarks": ("drsvm.solvers.landmarks.solver", "Landmarks"),
    "conic": ("drsvm.solvers.conic.solver", "Conic"),
}


def solver_names() -> list[str]:
    """Return the names that `solve` accepts, but for those for kernels and clusters only, which "auto" picks there."""
    return ["auto", *(name for name in _REGISTRY if name not in ("landmarks", "federated"))]


def solver_classes() -> dict[str, str]:
    """Return the names of the solver classes, separated by spaces, by the modules that define them."""
    modules = dict.fromkeys(module for module, _ in _REGISTRY.values())
    return {module: " ".join(name for home, name in _REGISTRY.values() if home == module) for module in modules}


def make_solver(solver: str | Solver, problem: Problem, **settings) -> Solver:
    """Return the solver for a name and its settings, or a given object as is; raise if it rejects the problem."""
    if is_auto(solver) and not settings:
        return chosen_solver(problem)
    if not isinstance(solver, Solver):
        solver = _make(choose(problem) if is_auto(solver) else solver, settings)
    elif settings:
        raise TypeError(f"pass settings {sorted(settings)} to the {type(solver).__name__} object, not to solve.")
    check_taken(solver, problem)
    return solver


def _make(name: str, settings: dict[str, Any]) -> Solver:
    if not isinstance(name, str) or name not in _REGISTRY:
        raise ValueError(f"solver must be one of {', '.join(solver_names())}, got solver={name!r}.")
    chosen = _class_of(name)
    unknown = set(settings) - set(chosen.__dataclass_fields__)
    if unknown:
        known = ", ".join(chosen.__dataclass_fields__) or "none"
        raise TypeError(f"solver {name!r} has no setting {', '.join(sorted(unknown))}; its settings: {known}.")
    return chosen(**settings)


@cache
def _class_of(name: str) -> Any:
    module, class_name = _REGISTRY[name]
    return getattr(import_module(module), class_name)


def is_auto(solver: str | Solver) -> bool:
    """Return True if the choice of the solver is left to this library."""
    return isinstance(solver, str) and solver == "auto"


def check_taken(solver: Solver, problem: Problem) -> None:
    """Raise a ValueError if a solver rejects a problem."""
    if not (problem.rows.readable or solver.uses_sums_only):
        raise ValueError(
            f"solver {solver.name!r} reads the rows one by one, and these are {problem.rows.place}: use "
            "solver='auto', or bring them into this process's memory."
        )
    own = problem.rows.own_solver
    if own not in (None, solver.name):
        raise ValueError(f"solver {solver.name!r} does not take {problem.rows.place}: use solver='auto' or {own!r}.")
    reason = solver.unsupported_reason(problem)
    if reason is not None:
        raise ValueError(reason)


def accepts(solver: str | Solver, problem: Problem) -> bool:
    """Return whether a solver, or the one of a name, takes a problem."""
    try:
        make_solver(solver, problem)
    except ValueError:
        return False
    return True


def choose(problem: Problem) -> str:
    """Return the name of the solver that `auto` picks."""
    return chosen_solver(problem).name


def chosen_solver(problem: Problem) -> Solver:
    """Return the most promising solver that supports the problem."""
    reasons = []
    for name in preferences(problem):
        solver = _make(name, {})
        reason = solver.unsupported_reason(problem)
        if reason is None:
            return solver
        reasons.append(reason)
    raise ValueError(" ".join(["solver='auto' found no solver that accepts this problem:", *reasons]))


def alternatives(problem: Problem, failed: str) -> list[Solver]:
    """Return the solvers that `auto` tries if its first choice fails, with a general-purpose one on small data."""
    others = [name for name in preferences(problem) if name != failed]
    small = stored_entries(problem) <= 10_000  # a general-purpose solver takes a fraction of a second
    if others and "conic" not in others and small and find_spec("clarabel"):
        others.insert(0, "conic")
    return [solver for solver in (_make(name, {}) for name in others) if solver.unsupported_reason(problem) is None]


def default_tol(solver: str | Solver, tol: float | None) -> float | None:
    """Return the tolerance of a run: the given one, that of `auto`, or None for the solver's default."""
    return 1e-6 if tol is None and is_auto(solver) else tol
