"""The solvers by name, and the choice of `auto` by the cost of their iterations.

The interior-point solver takes about the same number of iterations on any data, so its
cost is known in advance. Epochs over the rows are cheap, but their number is
unpredictable: if they may be faster they are tried first, and the interior-point solver
takes over as soon as they turn out not to be (`fallback.py`).
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from drsvm.engines.cpu import THREAD_WORK, free_features, is_wide
from drsvm.problem.memory_rows import MemoryRows, RowView, is_mapped
from drsvm.problem.norms import L1, L2, LInf, Norm
from drsvm.problem.problem import Problem
from drsvm.solvers.base import Solver
from drsvm.utils.parallel import available_cores, memory_size

# The tolerance of `auto`, regardless of the solver it picks
AUTO_TOL = 1e-6

# All seconds below are those of one core of an ordinary server. Other machines are
# faster or slower in about the same proportion for all solvers, so that the choice
# hardly changes; `benchmarks/auto.py` compares it with every solver by name.

# The usual number of iterations of the interior-point solver
ITERATIONS = 14
# If a solve takes at most this many seconds, nothing else is tried. The second number
# is for more features than rows.
QUICK = 0.075
QUICK_WIDE = 0.04
# Seconds per multiplication in a dense Gram matrix or factorisation, and in a sparse
# Gram matrix
MULTIPLICATION = 6e-11
SPARSE_MULTIPLICATION = 1e-9
# Seconds of the rest of an iteration per stored entry, per row and per entry of the
# matrix, and its fixed cost
DENSE_PASSES = 3e-9
SPARSE_PASSES = 1e-8
PER_ROW = 1e-7
PER_ENTRY_OF_THE_MATRIX = 1e-8
OVERHEAD = 1.5e-3
# The fixed seconds of an epoch
EPOCH_OVERHEAD = 3e-4
# With several threads, the work over the rows is done faster by this power of their
# number, as measured.
SPEED_UP = 0.6
# The order up to which the interior-point solver's matrix is factorised in seconds
MAX_ORDER = 5000
# The share of main memory that its matrices may take
SHARE_OF_MEMORY = 0.8
# Rows from a file of more than this share of main memory are not kept in it.
LARGE_FILE = 0.25
# The number of stored entries up to which a general-purpose solver takes a fraction of
# a second
FEW_ENTRIES = 10_000


class Rival(NamedTuple):
    """Solvers that may be faster than the interior-point solver for a norm.

    They are tried first if an interior-point solve takes at least as long as some
    number of their epochs: they then have about this number to succeed.
    """

    solvers: tuple[str, ...]
    least: float
    """The least number of epochs."""
    least_wide: float
    """The same with more features than rows, where a few epochs may be enough."""
    per_entry: float
    """Seconds of an epoch per stored entry."""
    per_row: float
    """Seconds of an epoch per row."""


RIVALS: dict[type[Norm], Rival] = {
    L1: Rival(("feature-working-set", "dual-coordinate"), 30.0, 45.0, 1e-8, 3e-7),
    L2: Rival(("dual-coordinate",), 40.0, 15.0, 5e-9, 1.5e-7),
    LInf: Rival(("dual-coordinate",), 20.0, 6.0, 1.8e-8, 4e-7),
}


def preferences(problem: Problem) -> list[str]:
    """Return the names of the solvers that `auto` may pick, most promising first.

    The first is the interior-point solver, unless its matrix is too large or epochs may
    be faster; otherwise dual coordinate ascent or, for norm=inf, working sets of
    features. They do not take all costs; with the others, a conic solver is left if the
    matrix is too large for memory.
    """
    # 1. Rows that not every solver can work with
    rows = problem.rows
    if rows.own_solver:
        return [rows.own_solver]
    if rows.is_sharded and not interior_point_pays(problem):
        return ["federated", "interior-point"]
    rival = RIVALS.get(type(problem.norm))
    if rival is None or not rows.readable:
        return ["interior-point"]

    # 2. The interior-point solver where it is quick, or quicker than a few epochs
    quick = QUICK
    least_epochs = rival.least
    if problem.n_rows < problem.n_features:
        quick = QUICK_WIDE
        least_epochs = rival.least_wide
    seconds = interior_point_seconds(problem)
    fits = interior_point_fits(problem)
    if fits and seconds <= quick:
        return ["interior-point", *rival.solvers]
    few_epochs = seconds < least_epochs * epoch_seconds(problem)
    if interior_point_pays(problem) and (few_epochs or _is_streamed(rows)):
        return ["interior-point", *rival.solvers]

    # 3. Epochs
    if problem.has_prices and not fits:
        return [*rival.solvers, "conic", "interior-point"]
    return [*rival.solvers, "interior-point"]


def _is_streamed(rows: MemoryRows) -> bool:
    """Return whether the rows are computed, or come from a large file.

    Methods that do not read the rows in their order would copy those of a view, or wait
    for those of the file.
    """
    is_large = rows.stored * rows.dtype.itemsize > LARGE_FILE * memory_size()
    return isinstance(rows.X, RowView) or (is_large and is_mapped(rows.X))


def interior_point_fits(problem: Problem) -> bool:
    """Return True if the matrices of the interior-point solver fit into memory.

    It needs three copies of a matrix of the order `system_size`.
    """
    bytes_needed = 3 * 8 * system_size(problem) ** 2
    return bytes_needed <= SHARE_OF_MEMORY * memory_size()


def interior_point_pays(problem: Problem) -> bool:
    """Return True if the interior-point solver takes seconds rather than hours."""
    return interior_point_fits(problem) and system_size(problem) <= MAX_ORDER


def system_size(problem: Problem) -> int:
    """Return the order of the interior-point solver's matrix.

    It has a row per feature or, for wide rows in memory, a row per sample and free
    weight (see `WideSystem`).
    """
    n, d = problem.rows.shape
    if is_wide(problem) and not problem.rows.is_sharded:
        return n + len(free_features(problem))
    return d


def interior_point_seconds(problem: Problem) -> float:
    """Return the approximate seconds of an interior-point solve.

    Its threads share the work over the rows. For rows that are not in this process's
    memory, 0 is returned.
    """
    rows = problem.rows
    if not rows.readable:
        return 0.0
    # 1. The work over the rows of an iteration
    per_entry = SPARSE_PASSES if rows.is_sparse else DENSE_PASSES
    of_rows = (
        per_entry * rows.stored + PER_ROW * problem.n_rows + _gram_seconds(problem)
    )
    threads = max(1, min(available_cores(), rows.stored // THREAD_WORK))
    # 2. That on the matrix: a Cholesky factorisation takes n³/3 multiplications.
    size = system_size(problem)
    matrix = MULTIPLICATION * size**3 / 3.0 + PER_ENTRY_OF_THE_MATRIX * size**2
    return ITERATIONS * (OVERHEAD + matrix + of_rows / threads**SPEED_UP)


def _gram_seconds(problem: Problem) -> float:
    """Return the approximate seconds of the Gram matrix of an iteration."""
    n, d = problem.rows.shape
    wide = is_wide(problem)
    has_costs = problem.feature_cost is not None or problem.monotonic_cst is not None
    if wide and isinstance(problem.norm, L2) and not has_costs:
        # The cone of q = 2 scales all features equally, so the matrix is formed once.
        return 0.0
    if not problem.is_sparse:
        return MULTIPLICATION * n * d * system_size(problem)
    # With the stored entries spread evenly, a sum of n outer products takes stored² / n
    # multiplications, and half of that for one triangle. The n × n matrix of wide rows
    # takes stored² / d, and more if some columns are fuller than others, as in text.
    stored = problem.rows.stored
    products = stored**2 * (5.0 / d if wide else 0.5 / n)
    return SPARSE_MULTIPLICATION * products


def epoch_seconds(problem: Problem) -> float:
    """Return the approximate seconds of an epoch of the solvers that may be faster."""
    rival = RIVALS[type(problem.norm)]
    of_entries = rival.per_entry * problem.rows.stored
    return EPOCH_OVERHEAD + of_entries + rival.per_row * problem.n_rows


# --- solvers by name

# The names of classes in `drsvm.solvers`, which imports them on first use: most fits
# need one.
_CLASSES = {
    "interior-point": "InteriorPoint",
    "admm": "Admm",
    "isg": "Isg",
    "ippa": "Ippa",
    "hybrid": "Hybrid",
    "dual-coordinate": "DualCoordinate",
    "feature-working-set": "FeatureWorkingSet",
    "conic": "Conic",
}
# Those for clusters and for kernels, which `auto` picks there
_CLASSES_ELSEWHERE = {"federated": "Federated", "landmarks": "Landmarks"}


def solver_names() -> list[str]:
    """Return the names that `solve` accepts for rows in memory."""
    return ["auto", *_CLASSES]


def make_solver(solver: str | Solver, problem: Problem, **settings) -> Solver:
    """Return the solver for a name and its settings, or a given object as is.

    Raise if it rejects the problem.
    """
    if isinstance(solver, Solver):
        if settings:
            raise TypeError(
                f"pass settings {sorted(settings)} to the {type(solver).__name__} "
                "object, not to solve."
            )
    elif is_auto(solver):
        solver = _most_promising(problem)
        if not settings:
            return solver
        solver = _make(solver.name, settings)
    else:
        solver = _make(solver, settings)
    check_taken(solver, problem)
    return solver


def _make(name: str, settings: dict[str, Any]) -> Solver:
    """Return the solver of a name; raise if there is no such name or setting."""
    classes = _CLASSES | _CLASSES_ELSEWHERE
    if not isinstance(name, str) or name not in classes:
        raise ValueError(
            f"solver must be one of {', '.join(solver_names())}, got solver={name!r}."
        )
    chosen = getattr(import_module("drsvm.solvers"), classes[name])
    unknown = set(settings) - set(chosen.__dataclass_fields__)
    if unknown:
        known = ", ".join(chosen.__dataclass_fields__) or "none"
        raise TypeError(
            f"solver {name!r} has no setting {', '.join(sorted(unknown))}; its "
            f"settings: {known}."
        )
    return chosen(**settings)


def is_auto(solver: str | Solver) -> bool:
    """Return True if the choice of the solver is left to this library."""
    return isinstance(solver, str) and solver == "auto"


def check_taken(solver: Solver, problem: Problem) -> None:
    """Raise a ValueError if a solver rejects a problem."""
    rows = problem.rows
    if not (rows.readable or solver.uses_sums_only):
        raise ValueError(
            f"solver {solver.name!r} reads the rows one by one, and these are "
            f"{rows.place}: use solver='auto', or bring them into this process's "
            "memory."
        )
    if rows.own_solver not in (None, solver.name):
        raise ValueError(
            f"solver {solver.name!r} does not take {rows.place}: use solver='auto' or "
            f"{rows.own_solver!r}."
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
    return _most_promising(problem).name


def _most_promising(problem: Problem) -> Solver:
    """Return the most promising solver that takes the problem."""
    reasons = []
    for name in preferences(problem):
        solver = _make(name, {})
        reason = solver.unsupported_reason(problem)
        if reason is None:
            return solver
        reasons.append(reason)
    raise ValueError(
        "solver='auto' found no solver that accepts this problem: " + " ".join(reasons)
    )


def alternatives(problem: Problem, failed: str) -> list[Solver]:
    """Return the solvers that `auto` tries if its first choice fails.

    On small data, a general-purpose one is the first.
    """
    names = [name for name in preferences(problem) if name != failed]
    is_small = problem.rows.stored <= FEW_ENTRIES
    # It is an optional dependency.
    if names and "conic" not in names and is_small and find_spec("clarabel"):
        names.insert(0, "conic")
    others = [_make(name, {}) for name in names]
    return [other for other in others if other.unsupported_reason(problem) is None]
