"""The solver that `auto` picks, based on the cost of an iteration of each.

The interior-point solver takes about the same number of iterations on any data, so its cost is known in advance. Epochs
over the rows are cheap, but their number is unpredictable: if they may be faster they are tried first, and the
interior-point solver takes over as soon as they turn out not to be (`fallback.py`).
"""

from typing import NamedTuple

from drsvm.engines.cpu import THREAD_WORK, free_features, is_wide
from drsvm.model.memory_rows import RowView, is_mapped
from drsvm.model.norms import L1, L2, LInf, Norm
from drsvm.model.problem import Problem
from drsvm.parallel import available_cores, memory_size

ITERATIONS = 14
"""Usual number of iterations of the interior-point solver."""

QUICK, QUICK_WIDE = 0.075, 0.04
"""If a solve takes at most this many seconds, nothing else is tried; the second is for more features than rows."""

MULTIPLICATION, SPARSE_MULTIPLICATION = 6e-11, 1e-9
"""Seconds per multiplication in a dense Gram matrix or factorisation, and in a sparse Gram matrix."""

DENSE_PASSES, SPARSE_PASSES, PER_ROW, PER_ENTRY_OF_THE_MATRIX, OVERHEAD = 3e-9, 1e-8, 1e-7, 1e-8, 1.5e-3
"""Seconds of the rest of an iteration per stored entry, per row and per entry of the matrix, and its fixed cost."""


class Rival(NamedTuple):
    """Solvers that may be faster than the interior-point solver for a norm, and the cost of their epochs.

    They are tried first if the interior-point solver takes as long as `least` epochs, or `least_wide` with more
    features than rows, where a few epochs may be enough.
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

    The first is the interior-point solver, unless its matrix is too large or epochs may be faster; otherwise dual
    coordinate ascent or, for norm=inf, working sets of features. They do not take all prices; with the others, a conic
    solver is left if the matrix is too large for memory.
    """
    if not problem.rows.readable:
        return [problem.rows.own_solver] if problem.rows.own_solver else _preferences_elsewhere(problem)
    rival, wide = RIVALS.get(type(problem.norm)), problem.n_rows < problem.n_features
    if rival is None:
        return ["interior-point"]
    least = rival.least_wide if wide else rival.least
    quick = interior_point_seconds(problem) <= (QUICK_WIDE if wide else QUICK)
    # Methods that do not read the rows in their order would copy those of a view, or wait for those of a large file.
    too_large = stored_entries(problem) * problem.rows.dtype.itemsize > 0.25 * memory_size()
    streamed = isinstance(problem.X, RowView) or (too_large and is_mapped(problem.X))
    if interior_point_pays(problem) and (quick or streamed or interior_point_epochs(problem) < least):
        return ["interior-point", *rival.solvers]
    conic = ["conic"] if problem.has_prices and not interior_point_fits(problem) else []
    return [*rival.solvers, *conic, "interior-point"]


def _preferences_elsewhere(problem: Problem) -> list[str]:
    """Return the names of the solvers for rows that are not in this process's memory."""
    many_features = problem.rows.is_sharded and not interior_point_pays(problem)
    return ["federated", "interior-point"] if many_features else ["interior-point"]


def interior_point_fits(problem: Problem) -> bool:
    """Return True if the matrices of the interior-point solver fit into memory.

    It needs three copies of a matrix with one row per feature or, with more than a thousand features and fewer rows
    than features, one row per sample.
    """
    return 3 * 8 * system_size(problem) ** 2 <= 0.8 * memory_size()


def interior_point_pays(problem: Problem) -> bool:
    """Return True if the interior-point solver takes seconds rather than hours."""
    return interior_point_fits(problem) and system_size(problem) <= 5000  # such a matrix is factorised in seconds


def system_size(problem: Problem) -> int:
    """Return the number of rows of the interior-point solver's matrix."""
    n, d = problem.rows.shape
    return n + len(free_features(problem)) if is_wide(problem) and not problem.rows.is_sharded else d


def interior_point_seconds(problem: Problem) -> float:
    """Return the approximate seconds of an interior-point solve; its threads share the work over the rows."""
    if not problem.rows.readable:
        return 0.0  # the costs below are those of this machine's cores
    n, _ = problem.rows.shape
    size = system_size(problem)
    passes = (SPARSE_PASSES if problem.is_sparse else DENSE_PASSES) * stored_entries(problem) + PER_ROW * n
    matrix = MULTIPLICATION * size**3 / 3.0 + PER_ENTRY_OF_THE_MATRIX * size**2
    threads = max(1, min(available_cores(), stored_entries(problem) // THREAD_WORK))
    return ITERATIONS * (OVERHEAD + matrix + (passes + _gram_seconds(problem)) / threads**0.6)  # measured speed-up


def _gram_seconds(problem: Problem) -> float:
    n, d = problem.rows.shape
    wide = is_wide(problem)
    uniform = isinstance(problem.norm, L2) and problem.feature_cost is None and problem.monotonic_cst is None
    if wide and uniform:
        return 0.0  # the cone of q = 2 scales all features equally, so the matrix is formed once
    if problem.is_sparse:
        return SPARSE_MULTIPLICATION * stored_entries(problem) ** 2 * (5.0 / d if wide else 0.5 / n)
    return MULTIPLICATION * n * d * system_size(problem)


def interior_point_epochs(problem: Problem) -> float:
    """Return the number of epochs that take about as long as the interior-point solver."""
    rival = RIVALS[type(problem.norm)]
    epoch = 3e-4 + rival.per_entry * stored_entries(problem) + rival.per_row * problem.n_rows
    return interior_point_seconds(problem) / epoch


def stored_entries(problem: Problem) -> int:
    """Return the number of entries that a pass over the rows reads, at least 1."""
    return max(problem.rows.stored, 1)
