"""How finely a solution is known: which of its weights count, and when its decision values are noise.

What is proven is the objective, up to the gap g. It hardly changes near its minimum, so decision values may be farther
from the optimal ones than g. Here they are taken to be known up to 100 g (or 100 tolerances, if these are more), where
margins are of size 1: what is smaller is not distinguished from 0.
"""

import numpy as np
from scipy import sparse

from drsvm.model.memory_rows import MemoryRows
from drsvm.model.result import Result

GAPS, COARSEST = 100.0, 0.1  # decision values are known up to so many gaps, or of a run cut short to 0.1


def resolution(gap: float, tol: float) -> float:
    """Return up to which size decision values are known."""
    return min(GAPS * max(gap, tol), COARSEST)


def weights_that_count(result: Result, deviations: np.ndarray) -> np.ndarray:
    """Return a mask of all weights but the smallest ones, which together change decisions by less than is known."""
    moves = np.abs(result.weights) * deviations
    order = np.argsort(moves, kind="stable")
    counts = np.empty(len(moves), dtype=bool)
    counts[order] = np.cumsum(moves[order]) > resolution(result.gap, result.tol)
    return counts


def column_deviations(X) -> np.ndarray:
    """Return the standard deviations of the columns of dense or sparse rows."""
    if not sparse.issparse(X):
        return MemoryRows(X).moments(np.full(X.shape[0], 1.0 / X.shape[0]))[1]
    from sklearn.utils.sparsefuncs import mean_variance_axis

    return np.sqrt(mean_variance_axis(X.tocsr(), axis=0)[1])


def are_noise(decisions, certificates) -> list[bool]:
    """Return for each classifier whether its decision values are constant within the accuracy of its (gap, tol)."""
    spreads = np.reshape(decisions, (len(decisions), -1)).std(axis=0).tolist()
    return [spread <= resolution(*known) for spread, known in zip(spreads, certificates, strict=True)]
