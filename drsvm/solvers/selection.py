"""Which solver `auto` stands for, from what an iteration of each costs.

The interior point takes about as many iterations whatever the data, so what a solve costs is known beforehand. Epochs
over the rows cost little, but nobody knows how many it takes: where they may be the quicker way they get a try, and the
interior point takes over as soon as they are not (`hand_over.py`).
"""

import os
from typing import NamedTuple

from scipy import sparse

from drsvm.engines.cpu import THREAD_WORK, is_wide
from drsvm.engines.threads import available_cores
from drsvm.model.norms import L1, L2, LInf, Norm
from drsvm.model.problem import Problem
from drsvm.solvers.cones import uniform_scaling

MODEST_SIZE = 5000
"""A matrix of this size is factorised in seconds."""

ITERATIONS = 14
"""Usual number of iterations of the interior point."""

QUICK, QUICK_WIDE = 0.075, 0.04
"""A solve of so many seconds is not worth a try of anything else; the second is for more features than rows."""

MULTIPLICATION, SPARSE_MULTIPLICATION = 6e-11, 1e-9
"""Seconds for a multiplication of a dense Gram matrix or factorisation, and of a sparse Gram matrix."""

DENSE_PASSES, SPARSE_PASSES, PER_ROW, PER_ENTRY_OF_THE_MATRIX, OVERHEAD = 1e-8, 3e-8, 1e-7, 1e-8, 2e-3
"""Seconds that the rest of an iteration takes per stored entry, per row, per entry of the matrix, and in any case."""

GAIN_OF_THREADS = 0.6
"""Exponent with which the work over the rows gets quicker with their number."""

OVERHEAD_OF_EPOCH = 3e-4
"""Seconds that an epoch takes in any case."""


class Rival(NamedTuple):
    """What may be quicker than the interior point for a norm, if anything: epochs, and what these cost.

    They get a try where the interior point takes as long as `least` epochs. With more features than rows a few of them
    may be enough.
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
    """Return the names of the solvers that `auto` may stand for, most promising first.

    The interior point, unless its matrix is too large or epochs may be quicker; otherwise dual coordinate ascent or,
    for norm=inf, working sets of features.
    """
    rival, wide = RIVALS.get(type(problem.norm)), problem.n_rows < problem.n_features
    if rival is None:
        return ["interior-point"]
    least = rival.least_wide if wide else rival.least
    quick = interior_point_seconds(problem) <= (QUICK_WIDE if wide else QUICK)
    if interior_point_pays(problem) and (quick or interior_point_epochs(problem) < least):
        return ["interior-point", *rival.solvers]
    return [*rival.solvers, "interior-point"]


def interior_point_fits(problem: Problem) -> bool:
    """Say whether the interior point's matrices fit into memory.

    It factorises a matrix of the size of the features or, for more than a thousand of them, of the rows where these
    are fewer, and needs three of them.
    """
    return 3 * 8 * system_size(problem) ** 2 <= 0.8 * memory_size()


def interior_point_pays(problem: Problem) -> bool:
    """Say whether the interior point takes seconds rather than hours."""
    return interior_point_fits(problem) and system_size(problem) <= MODEST_SIZE


def system_size(problem: Problem) -> int:
    """Return the number of rows of the interior point's matrix."""
    n, d = problem.X.shape
    return n if is_wide(n, d) else d


def interior_point_seconds(problem: Problem) -> float:
    """Return about how long the interior point takes; its threads share the work over the rows."""
    n, _ = problem.X.shape
    size = system_size(problem)
    passes = (SPARSE_PASSES if sparse.issparse(problem.X) else DENSE_PASSES) * stored_entries(problem) + PER_ROW * n
    matrix = MULTIPLICATION * size**3 / 3.0 + PER_ENTRY_OF_THE_MATRIX * size**2
    threads = max(1, min(available_cores(), stored_entries(problem) // THREAD_WORK))
    return ITERATIONS * (OVERHEAD + matrix + (passes + _gram_seconds(problem)) / threads**GAIN_OF_THREADS)


def _gram_seconds(problem: Problem) -> float:
    n, d = problem.X.shape
    wide = is_wide(n, d)
    if wide and uniform_scaling(problem.norm):
        return 0.0  # formed once
    if sparse.issparse(problem.X):
        return SPARSE_MULTIPLICATION * stored_entries(problem) ** 2 * (5.0 / d if wide else 0.5 / n)
    return MULTIPLICATION * n * d * system_size(problem)


def interior_point_epochs(problem: Problem) -> float:
    """Return how many epochs take about as long as the interior point."""
    rival = RIVALS[type(problem.norm)]
    epoch = OVERHEAD_OF_EPOCH + rival.per_entry * stored_entries(problem) + rival.per_row * problem.n_rows
    return interior_point_seconds(problem) / epoch


def stored_entries(problem: Problem) -> int:
    """Return the number of entries that a pass over the rows looks at, at least 1."""
    return max(problem.X.nnz if sparse.issparse(problem.X) else problem.X.size, 1)


def memory_size() -> float:
    """Return the bytes of main memory (8 GB where the system does not tell)."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return 8e9
