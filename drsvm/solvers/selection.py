"""Which solver `auto` stands for."""

import math
import os

from drsvm.engines.cpu import is_wide
from drsvm.problem import Problem

MODEST_SIZE = 5000
"""A matrix of this size is factorised in seconds."""

MOST_PRODUCTS, SMALL_WORK = 300.0, 5e6
"""With more multiplications per entry in an iteration of the interior point, methods for many features are quicker;
and so many in all are done in milliseconds."""


def choose(problem: Problem) -> str:
    """Return the name of the solver that `auto` stands for.

    The interior point, as long as its matrix is of a modest size and an iteration costs no more than some hundred
    passes over the rows; otherwise dual coordinate ascent or, for norm=inf, working sets of features. For norm=1 there
    is nothing as good as these, so only the size counts.
    """
    q = problem.norm.q
    if interior_point_pays(problem) and (q == math.inf or _takes_little_work(problem)):
        return "interior-point"
    return "feature-working-set" if q == 1 else "dual-coordinate"


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


def _takes_little_work(problem: Problem) -> bool:
    per_entry = products_per_entry(problem)
    return per_entry <= MOST_PRODUCTS or per_entry * _stored(problem) <= SMALL_WORK


def products_per_entry(problem: Problem) -> float:
    """Return the multiplications in an iteration of the interior point, per stored entry of the rows."""
    n, d = problem.X.shape
    stored = _stored(problem)
    gram = 0.5 * n * stored if is_wide(n, d) else 0.5 * stored**2 / n
    return (gram + system_size(problem) ** 3 / 3.0) / stored


def _stored(problem: Problem) -> int:
    return max(problem.X.nnz if hasattr(problem.X, "nnz") else problem.X.size, 1)


def memory_size() -> float:
    """Return the bytes of main memory (8 GB where the system does not tell)."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return 8e9
