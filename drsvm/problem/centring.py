"""Columns far from 0: a free intercept absorbs any shift of the columns.

    w·x + b = w·(x − c) + (b + w·c)

A column around 480 ± 40 costs every method digits or iterations; its shifted copy costs
nothing. Columns are shifted by one of their own entries, so a constant column becomes
exactly 0. An intercept far from 0 has fewer digits after its point: what is certified
is the classifier with the intercept as it is returned.
"""

import numpy as np
from scipy import sparse

from drsvm.problem.problem import Problem
from drsvm.utils.compensated_sums import ULP, compensated_transposed_dot

# The number of rows used to determine where the columns lie
SAMPLE = 500
# A column is far from 0 if its mean is more than this number of deviations away.
FAR = 3.0
# An intercept that differs by no more is the same: objectives differ by at most twice
# as much.
NEGLIGIBLE = 1e-12


def offset_of_far_columns(problem: Problem) -> np.ndarray | None:
    """Return the offset of the columns that are far from 0.

    A sparse matrix stays as sparse as it is: only columns without zeros are shifted,
    and a column with many zeros is not far from 0. A sparse matrix in a file cannot be
    shifted.

    Parameters
    ----------
    problem : Problem
        The problem.

    Returns
    -------
    array of shape (d,) or None
        The offset c, 0 for other columns. None if there are none, or if the intercept
        has a cost, which a shift would change.
    """
    if not problem.fit_intercept or problem.has_intercept_cost:
        return None
    columns = problem.rows.shiftable_columns()
    if len(columns) == 0:
        return None
    rows = problem.rows.some(SAMPLE)
    if sparse.issparse(rows):
        rows = rows[:, columns].toarray()
    rows = rows.astype(np.float64, copy=False)
    far = np.flatnonzero(np.abs(rows.mean(axis=0)) > FAR * rows.std(axis=0))
    if len(far) == 0:
        return None
    # The median of a column is one of its entries: a constant column becomes exactly 0.
    medians = np.sort(rows[:, far], axis=0)[len(rows) // 2]
    offset = np.zeros(problem.n_features)
    offset[columns[far]] = medians
    # All medians may be 0.
    if not offset.any():
        return None
    return offset


def shifted_intercept(offset: np.ndarray, weights, intercept: float) -> float:
    """Return the intercept for rows that are not shifted.

    Parameters
    ----------
    offset, weights : arrays of shape (d,)
        The offset c, and the weights w.
    intercept : float
        The intercept b for rows x − c.

    Returns
    -------
    float
        b + w·c, with a negligible error or that of one rounding.
    """
    # The error of a plain sum is at most this: terms, times a rounding, times sizes.
    size = float(np.abs(offset) @ np.abs(weights))
    if ULP * (len(weights) + 2) * size <= 0.1 * NEGLIGIBLE:
        return intercept + float(offset @ weights)
    terms = np.append(offset, 1.0)[:, None]
    values = np.append(weights, intercept)
    return float(compensated_transposed_dot(terms, values)[0][0])
