"""Up to which size decision values are known, and what is smaller: noise.

What is proven is the objective, up to the gap g, or the tolerance if it is more. It
changes near its minimum like the square of a distance, so decision values are taken to
be known up to √g, where margins are of size 1.
"""

import math

import numpy as np
from scipy import sparse

from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.result import Result
from drsvm.utils.annotations import Matrix

# What `are_noise` finds, for the user
NOISE = (
    "decision values differ by less than the accuracy of the solution; ranks, ROC AUC "
    "and probabilities are noise"
)


def resolution(gap: float, tol: float) -> float:
    """Return up to which size decision values are known."""
    return math.sqrt(max(gap, tol))


def weights_that_count(result: Result, deviations: np.ndarray) -> np.ndarray:
    """Return a mask of all weights but the smallest ones.

    Together, those change decisions by less than is known.

    Parameters
    ----------
    result : Result
        A solution.
    deviations : array of shape (n_features,)
        The `column_deviations` of the rows.

    Returns
    -------
    array of bool of shape (n_features,)
        The mask.
    """
    # By how much each weight changes decisions, in standard deviations
    moves = np.abs(result.weights) * deviations
    order = np.argsort(moves, kind="stable")
    known = resolution(result.gap, result.tol)
    counts = np.empty(len(moves), dtype=bool)
    counts[order] = np.cumsum(moves[order]) > known
    return counts


def column_deviations(X: Matrix) -> np.ndarray:
    """Return the standard deviations of the columns of dense or sparse rows."""
    if not sparse.issparse(X):
        n = X.shape[0]
        _, deviations = MemoryRows(X).moments(np.full(n, 1.0 / n))
        return deviations
    # Only sparse rows need scikit-learn.
    from sklearn.utils.sparsefuncs import mean_variance_axis

    return np.sqrt(mean_variance_axis(X.tocsr(), axis=0)[1])


def are_noise(
    decisions: np.ndarray, precisions: list[tuple[float, float]]
) -> list[bool]:
    """Return for each classifier whether its decision values hardly vary.

    Parameters
    ----------
    decisions : array of shape (n,) or (n, n_classifiers)
        Decision values.
    precisions : list of tuples
        The gap and the tolerance of each of them.

    Returns
    -------
    list of bool
        Whether decision values are constant as far as they are known.
    """
    columns = decisions.reshape(len(decisions), -1)
    known = [resolution(gap, tol) for gap, tol in precisions]
    return (columns.std(axis=0) <= known).tolist()
