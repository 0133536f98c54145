"""Landmarks that are not training rows: means of groups, and random points around them.

A classifier of a kernel is a sum over its landmarks, so whoever has the classifier has
these. A mean of several different people is none of them.

The groups are made by halving: the group with the largest sum of squared distances from
its centre is divided along its principal direction. Rows of a group have the same
label, which keeps apart what the classifier has to tell apart. Where rows are too few
for as many groups as landmarks are wanted, the others are random: a mean, and normal
noise with the deviations within groups. A tenth of this noise is added to the means
themselves. Landmarks depend on the rows through means and these deviations only.
"""

import numpy as np
from scipy import sparse

from drsvm.problem.memory_rows import dense
from drsvm.solvers.base import generator_of
from drsvm.utils.annotations import Matrix, Vector

# The least number of different rows in a group
LEAST = 5
# The number of landmarks: predictions are fast, and files small.
MOST = 300
# Noise of the means, as a share of that of random points: on a grid, means may be rows.
SHARE_OF_NOISE = 0.1
# Iterations of the power method: a direction between the two largest ones will do.
ITERATIONS = 10
# Landmarks are multiples of 2⁻¹⁶ deviations of a column: fewer digits make smaller
# files, and change nothing.
BINARY_DIGITS = 16
# Most entries of sparse rows that become dense, 400 MB
MOST_ENTRIES = 50_000_000
REMEDY = "use the rows themselves (landmarks=None; --landmarks rows)."


def group_landmarks(
    points: Matrix,
    y: Vector,
    weights: Vector | None = None,
    most: int = MOST,
    random_state: int | np.random.Generator | None = None,
) -> np.ndarray:
    """Return landmarks for a kernel that are not rows.

    Every different row counts once, whatever its weight: the mean of one heavy row and
    a few light ones would be close to the former.

    Parameters
    ----------
    points : matrix of shape (n, d)
        The rows as the kernel takes them.
    y : array of shape (n,)
        Their labels.
    weights : array of shape (n,), optional
        Their weights: rows without weight do not count.
    most : int
        The largest number of landmarks.
    random_state : int or Generator, optional
        Seed of the noise.

    Returns
    -------
    array of shape (n_landmarks, d)
        The landmarks, at most one for each different row.
    """
    n, d = points.shape
    if sparse.issparse(points) and n * d > MOST_ENTRIES:
        raise ValueError(
            f"landmarks='means' makes rows dense, and sparse ones of shape {n, d} are "
            f"too large for that: {REMEDY}"
        )
    # 1. Different rows, by label and then by content: the order in X must not matter.
    if weights is not None:
        counted = np.flatnonzero(weights)
        points = points[counted]
        y = y[counted]
    _, codes = np.unique(y, return_inverse=True)
    different = np.unique(np.column_stack([codes, dense(points)]), axis=0)
    codes = different[:, 0]
    rows = different[:, 1:]
    if len(rows) < LEAST:
        raise ValueError(
            f"landmarks='means' needs at least {LEAST} different rows, got "
            f"{len(rows)}: {REMEDY}"
        )

    # 2. Groups of each class. One with too few rows has none, unless all are such.
    classes = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        if len(members) >= LEAST:
            classes.append(members)
    groups = _groups(rows, classes or [np.arange(len(rows))], most)

    # 3. Their means, and the deviations of rows from them
    means = []
    squares = 0.0
    for group in groups:
        mean = rows[group].mean(axis=0)
        squares += np.square(rows[group] - mean).sum(axis=0)
        means.append(mean)
    within = np.sqrt(squares / len(np.concatenate(groups)))

    # 4. Each mean with little noise, and then with more until there are enough points
    size = max(len(means), min(most, len(rows)))
    noise = within * generator_of(random_state).normal(size=(size, len(within)))
    noise[: len(means)] *= SHARE_OF_NOISE
    return _rounded(np.resize(means, noise.shape) + noise, rows.std(axis=0))


def _groups(rows: np.ndarray, groups: list[np.ndarray], most: int) -> list[np.ndarray]:
    """Return smaller groups of at least LEAST rows.

    Parameters
    ----------
    rows : array of shape (n, d)
        The rows.
    groups : list of arrays of int
        Groups of them, which are divided.
    most : int
        The number of groups at which to stop.

    Returns
    -------
    list of arrays of int
        The rows of each group.
    """
    groups = list(groups)
    spreads = [_spread(rows[group]) for group in groups]
    while len(groups) < most and max(spreads) > 0.0:
        widest = int(np.argmax(spreads))
        for part in _halves(rows, groups[widest]):
            groups.append(part)
            spreads.append(_spread(rows[part]))
        del groups[widest], spreads[widest]
    return groups


def _spread(rows: np.ndarray) -> float:
    """Return the sum of squared distances from the mean; 0 for what stays whole."""
    if len(rows) < 2 * LEAST:
        return 0.0
    return float(np.square(rows - rows.mean(axis=0)).sum())


def _halves(rows: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two sides of a group along its principal direction.

    Both have at least LEAST rows, and the least sum of squared distances from their
    means along it.
    """
    centred = rows[group] - rows[group].mean(axis=0)
    # The power method, from the row that is farthest from the mean
    direction = centred[np.square(centred).sum(axis=1).argmax()]
    for _ in range(ITERATIONS):
        direction = centred.T @ (centred @ direction)
        direction /= np.linalg.norm(direction)
    along = centred @ direction
    order = np.argsort(along, kind="stable")
    # The sum over all is 0: sides of n and N − n rows with the sums s and −s have means
    # that account for s²/n + s²/(N − n) of the sum of squares.
    below = np.arange(LEAST, len(group) - LEAST + 1)
    sums = np.cumsum(along[order])[below - 1]
    explained = np.square(sums) * (1.0 / below + 1.0 / (len(group) - below))
    cut = below[explained.argmax()]
    return group[order[:cut]], group[order[cut:]]


def _rounded(landmarks: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return landmarks with few binary digits; constant columns stay as they are."""
    _, exponents = np.frexp(deviations)
    step = np.ldexp(1.0, exponents - BINARY_DIGITS)
    return np.where(deviations > 0.0, np.round(landmarks / step) * step, landmarks)
