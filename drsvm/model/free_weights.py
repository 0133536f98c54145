"""Multipliers with v_j = 0 at weights which are free of charge.

Where weights cost nothing, any v_j other than 0 makes a bound worse, however small (`dual_scale`). With the multipliers
of most methods it is small. The smallest change that makes it 0, measured in units of what every multiplier can change
by, costs no more than about v·w.
"""

import numpy as np
from scipy import sparse

from drsvm.model.careful_sums import careful_transposed_dot

MAX_FEATURES, MAX_WORK = 500, 2e7
"""Limits of the number of free features, and of its square times the number of multipliers that change."""

ROUNDS, NEGLIGIBLE = 3, 1e-12
"""Number of corrections, and the share of the largest singular value below which directions are not corrected."""


def released(problem, alpha, beta, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return multipliers near α and β whose v at the free features, and v_0 of a free intercept, are 0 up to rounding.

    They are the given ones if there are too many features, or if none of the multipliers can change.
    """
    columns = np.flatnonzero(free & (problem.column_sizes > 0))
    balanced = problem.fit_intercept and not (problem.prices_intercept and problem.radius > 0)
    width = len(columns) + balanced
    if not 0 < len(columns) <= MAX_FEATURES:
        return alpha, beta
    # α alone, or part of β in exchange for as much of α.
    rooms = np.minimum(alpha, problem.sample_weight - alpha - beta), np.minimum(alpha, beta)
    rows = [_widest(room, int(max(4 * width, MAX_WORK / width**2))) for room in rooms]
    if not sum(map(len, rows)):
        return alpha, beta
    units = [room[chosen] for room, chosen in zip(rooms, rows, strict=True)]
    scale = problem.column_sizes[columns]
    effects = [_signed_rows(problem, chosen, columns, balanced) for chosen in rows]
    matrix = np.vstack([effects[0] * units[0][:, None], 2.0 * effects[1] * units[1][:, None]])
    matrix[:, : len(columns)] /= scale
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    kept = values > NEGLIGIBLE * values[0]
    for _ in range(ROUNDS):
        signed = (alpha - beta) * problem.signs
        v = careful_transposed_dot(problem.X, signed)[0][columns] / scale
        target = np.append(v, signed.sum()) if balanced else v
        step = -left[:, kept] @ ((right[kept] @ target) / values[kept])
        alpha, beta = _moved(problem, alpha, beta, rows, np.split(np.concatenate(units) * step, [len(units[0])]))
    return alpha, beta


def _widest(room, most: int) -> np.ndarray:
    """Return the rows with the most room, of those that have any."""
    rows = np.flatnonzero(room > 0)
    return rows if len(rows) <= most else np.sort(rows[np.argpartition(-room[rows], most)[:most]])


def _signed_rows(problem, rows, columns, balanced: bool) -> np.ndarray:
    """Return y_i x_ij for some rows and columns, and y_i in a last column if the intercept is free."""
    chosen = problem.X[rows][:, columns]
    chosen = chosen.toarray() if sparse.issparse(chosen) else chosen
    constant = np.ones((len(rows), int(balanced)))
    return problem.signs[rows][:, None] * np.hstack([chosen.astype(np.float64), constant])


def _moved(problem, alpha, beta, rows, steps) -> tuple[np.ndarray, np.ndarray]:
    alpha, beta = alpha.copy(), beta.copy()
    alpha[rows[0]] += steps[0]
    alpha[rows[1]] += steps[1]
    beta[rows[1]] -= steps[1]
    beta = np.clip(beta, 0.0, problem.sample_weight)
    return np.clip(alpha, 0.0, problem.sample_weight - beta), beta
