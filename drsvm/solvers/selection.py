"""The solvers by name, and the one that `auto` picks, based on the cost of an iteration of each.

The interior-point solver takes about the same number of iterations on any data, so its
cost is known in advance. Epochs over the rows are cheap, but their number is
unpredictable: if they may be faster they are tried first, and the interior-point solver
takes over as soon as they turn out not to be (`fallback.py`).
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from drsvm.engines.cpu import THREAD_WORK, free_features, is_wide
from drsvm.problem.memory_rows import RowView, is_mapped
from drsvm.problem.norms import L1, L2, LInf, Norm
from drsvm.problem.problem import Problem
from drsvm.solvers.base import Solver
from drsvm.utils.parallel import available_cores, memory_size

AUTO_TOL = 1e-6  # of `auto`, regardless of the solver it picks
ITERATIONS = 14  # usual number of iterations of the interior-point solver
QUICK = 0.075
QUICK_WIDE = 0.04
"""If a solve takes at most this many seconds, nothing else is tried.

The second is for more features than rows.
"""

MULTIPLICATION = 6e-11
SPARSE_MULTIPLICATION = 1e-9
"""Seconds per multiplication in a dense Gram matrix or factorisation, and in a sparse Gram matrix."""

DENSE_PASSES = 3e-9
SPARSE_PASSES = 1e-8
PER_ROW = 1e-7
PER_ENTRY_OF_THE_MATRIX = 1e-8
OVERHEAD = 1.5e-3
"""Seconds of the rest of an iteration per stored entry, per row and per entry of the matrix, and its fixed cost."""


class Rival(NamedTuple):
    """Solvers that may be faster than the interior-point solver for a norm, and the cost of their epochs.

    They are tried first if the interior-point solver takes as long as `least` epochs,
    or `least_wide` with more features than rows, where a few epochs may be enough.
    """

    solvers: tuple[str, ...]
    least: float
    least_wide: float
    per_entry: float  # seconds of an epoch per stored entry
    per_row: float  # and per row


RIVALS: dict[type[Norm], Rival] = {
    L1: Rival(("feature-working-set", "dual-coordinate"), 30.0, 45.0, 1e-8, 3e-7),
    L2: Rival(("dual-coordinate",), 40.0, 15.0, 5e-9, 1.5e-7),
    LInf: Rival(("dual-coordinate",), 20.0, 6.0, 1.8e-8, 4e-7),
}


def preferences(problem: Problem) -> list[str]:
    """Return the names of the solvers that `auto` may pick, most promising first.

    The first is the interior-point solver, unless its matrix is too large or epochs may
    be faster; otherwise dual coordinate ascent or, for norm=inf, working sets of
    features. They do not take all prices; with the others, a conic solver is left if
    the matrix is too large for memory.
    """
    if not problem.rows.readable:
        if problem.rows.own_solver:
            return [problem.rows.own_solver]
        many_features = problem.rows.is_sharded and not interior_point_pays(problem)
        if many_features:
            return ["federated", "interior-point"]
        return ["interior-point"]
    rival = RIVALS.get(type(problem.norm))
    wide = problem.n_rows < problem.n_features
    if rival is None:
        return ["interior-point"]
    seconds = interior_point_seconds(problem)
    if seconds <= (QUICK_WIDE if wide else QUICK) and interior_point_fits(problem):
        return ["interior-point", *rival.solvers]
    # Methods that do not read the rows in their order would copy those of a view, or
    # wait for those of a large file.
    too_large = (
        stored_entries(problem) * problem.rows.dtype.itemsize > 0.25 * memory_size()
    )
    streamed = isinstance(problem.X, RowView) or (too_large and is_mapped(problem.X))
    few_epochs = seconds / epoch_seconds(problem) < (
        rival.least_wide if wide else rival.least
    )
    if interior_point_pays(problem) and (streamed or few_epochs):
        return ["interior-point", *rival.solvers]
    if problem.has_prices and not interior_point_fits(problem):
        conic = ["conic"]
    else:
        conic = []
    return [*rival.solvers, *conic, "interior-point"]


def interior_point_fits(problem: Problem) -> bool:
    """Return True if the matrices of the interior-point solver fit into memory.

    It needs three copies of a matrix with one row per feature or, with more than a
    thousand features and fewer rows than features, one row per sample.
    """
    return 3 * 8 * system_size(problem) ** 2 <= 0.8 * memory_size()


def interior_point_pays(problem: Problem) -> bool:
    """Return True if the interior-point solver takes seconds rather than hours."""
    # Such a matrix is factorised in seconds
    return interior_point_fits(problem) and system_size(problem) <= 5000


def system_size(problem: Problem) -> int:
    """Return the number of rows of the interior-point solver's matrix."""
    n, d = problem.rows.shape
    if is_wide(problem) and not problem.rows.is_sharded:
        return n + len(free_features(problem))
    return d


def interior_point_seconds(problem: Problem) -> float:
    """Return the approximate seconds of an interior-point solve.

    Its threads share the work over the rows.
    """
    if not problem.rows.readable:
        return 0.0  # the costs below are those of this machine's cores
    (n, d) = problem.rows.shape
    stored = max(problem.rows.stored, 1)
    wide = is_wide(problem)
    size = system_size(problem) if wide else d
    passes = (
        SPARSE_PASSES if problem.is_sparse else DENSE_PASSES
    ) * stored + PER_ROW * n
    matrix = MULTIPLICATION * size**3 / 3.0 + PER_ENTRY_OF_THE_MATRIX * size**2
    if (
        wide
        and isinstance(problem.norm, L2)
        and problem.feature_cost is None
        and problem.monotonic_cst is None
    ):
        # The cone of q = 2 scales all features equally, so the matrix is formed once
        gram = 0.0
    elif problem.is_sparse:
        gram = SPARSE_MULTIPLICATION * stored**2 * (5.0 / d if wide else 0.5 / n)
    else:
        gram = MULTIPLICATION * n * d * size
    threads = max(1, min(available_cores(), stored // THREAD_WORK))
    # Measured speed-up
    return ITERATIONS * (OVERHEAD + matrix + (passes + gram) / threads**0.6)


def epoch_seconds(problem: Problem) -> float:
    """Return the approximate seconds of an epoch of the solvers that may be faster."""
    rival = RIVALS[type(problem.norm)]
    return (
        3e-4
        + rival.per_entry * stored_entries(problem)
        + rival.per_row * problem.n_rows
    )


def stored_entries(problem: Problem) -> int:
    """Return the number of entries that a pass over the rows reads, at least 1."""
    return max(problem.rows.stored, 1)


# --- solvers by name
# ---------------------------------------------------------------------------------------------

_REGISTRY = {
    "interior-point": (
        "drsvm.solvers.interior_point.interior_point_solver",
        "InteriorPoint",
    ),
    "admm": ("drsvm.solvers.paper.admm.gs_admm", "Admm"),
    "isg": ("drsvm.solvers.paper.incremental.run", "Isg"),
    "ippa": ("drsvm.solvers.paper.incremental.run", "Ippa"),
    "hybrid": ("drsvm.solvers.paper.incremental.run", "Hybrid"),
    "dual-coordinate": (
        "drsvm.solvers.dual_coordinate.dual_coordinate_solver",
        "DualCoordinate",
    ),
    "feature-working-set": (
        "drsvm.solvers.dual_coordinate.feature_working_set",
        "FeatureWorkingSet",
    ),
    "federated": ("drsvm.solvers.paper.federated.federated_solver", "Federated"),
    "landmarks": ("drsvm.solvers.landmarks.landmark_solver", "Landmarks"),
    "conic": ("drsvm.solvers.conic.conic_solver", "Conic"),
}


def solver_names() -> list[str]:
    """Return the names that `solve` accepts, but for those for kernels and clusters only, which "auto" picks there."""
    return [
        "auto",
        *(name for name in _REGISTRY if name not in ("landmarks", "federated")),
    ]


def solver_classes() -> dict[str, str]:
    """Return the names of the solver classes, separated by spaces, by the modules that define them."""
    modules = dict.fromkeys(module for module, _ in _REGISTRY.values())
    return {
        module: " ".join(name for home, name in _REGISTRY.values() if home == module)
        for module in modules
    }


def make_solver(solver: str | Solver, problem: Problem, **settings) -> Solver:
    """Return the solver for a name and its settings, or a given object as is.

    Raise if it rejects the problem.
    """
    if is_auto(solver) and not settings:
        return chosen_solver(problem)
    if not isinstance(solver, Solver):
        solver = _make(choose(problem) if is_auto(solver) else solver, settings)
    elif settings:
        raise TypeError(
            f"pass settings {sorted(settings)} to the {type(solver).__name__} object, not to solve."
        )
    check_taken(solver, problem)
    return solver


def _make(name: str, settings: dict[str, Any]) -> Solver:
    if not isinstance(name, str) or name not in _REGISTRY:
        raise ValueError(
            f"solver must be one of {', '.join(solver_names())}, got solver={name!r}."
        )
    module, class_name = _REGISTRY[name]
    chosen = getattr(import_module(module), class_name)
    unknown = set(settings) - set(chosen.__dataclass_fields__)
    if unknown:
        known = ", ".join(chosen.__dataclass_fields__) or "none"
        raise TypeError(
            f"solver {name!r} has no setting {', '.join(sorted(unknown))}; its settings: {known}."
        )
    return chosen(**settings)


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
        raise ValueError(
            f"solver {solver.name!r} does not take {problem.rows.place}: use solver='auto' or {own!r}."
        )
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
    raise ValueError(
        " ".join(["solver='auto' found no solver that accepts this problem:", *reasons])
    )


def alternatives(problem: Problem, failed: str) -> list[Solver]:
    """Return the solvers that `auto` tries if its first choice fails, with a general-purpose one on small data."""
    others = [name for name in preferences(problem) if name != failed]
    # A general-purpose solver takes a fraction of a second
    small = stored_entries(problem) <= 10_000
    if others and "conic" not in others and small and find_spec("clarabel"):
        others.insert(0, "conic")
    return [
        solver
        for solver in (_make(name, {}) for name in others)
        if solver.unsupported_reason(problem) is None
    ]
