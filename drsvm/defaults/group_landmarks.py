"""Landmarks that are not training rows: means of groups, and random points around them.

A classifier of a kernel is a sum over its landmarks, so whoever has the classifier has
these. A mean of several different people is none of them.

The groups are made by halving: the group with the largest sum of squared distances from
its centre is divided along its principal direction. Rows of a group have the same
label, which keeps apart what the classifier has to tell apart. Where rows are too few
for as many groups as landmarks are wanted, the others are random: a mean, and normal
noise with the deviations within groups. They depend on the rows through the means and
these deviations only.
"""

import heapq

import numpy as np
from scipy.spatial import KDTree

from drsvm.problem.memory_rows import dense
from drsvm.solvers.base import generator_of
from drsvm.utils.annotations import Matrix, Vector

# The least number of different rows in a group
LEAST = 5
# The number of landmarks: predictions are fast, and files small.
MOST = 300
# Iterations of the power method: a direction between the two largest ones will do.
ITERATIONS = 10
# Landmarks are multiples of 2⁻¹⁰ deviations of a column: fewer digits make smaller
# files, and change nothing.
BINARY_DIGITS = 10
# A landmark is a row if no column is further apart than this share of its deviation.
SAME = 1e-6


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
        Seed of the random ones.

    Returns
    -------
    array of shape (n_landmarks, d)
        The landmarks, at most one for each different row.
    """
    # 1. Different rows, by label and then by content: the order in X must not matter.
    if weights is not None:
        counted = np.flatnonzero(weights)
        points = points[counted]
        y = y[counted]
    _, codes = np.unique(y, return_inverse=True)
    different = np.unique(np.column_stack([codes, dense(points)]), axis=0)
    rows = different[:, 1:]
    if len(rows) < LEAST:
        raise ValueError(
            f"landmarks='means' needs at least {LEAST} different rows, got "
            f"{len(rows)}: use the rows themselves (landmarks=None; --landmarks rows)."
        )
    most = min(most, len(rows))

    # 2. The means of groups, and the deviations of rows from them
    groups = _groups(rows, _by_class(different[:, 0]), most)
    means = np.stack([rows[group].mean(axis=0) for group in groups])
    squares = np.zeros(rows.shape[1])
    for group, mean in zip(groups, means, strict=True):
        squares += np.square(rows[group] - mean).sum(axis=0)
    within = np.sqrt(squares / sum(map(len, groups)))

    # 3. Random points around each mean in turn, until there are enough
    generator = generator_of(random_state)
    around = np.resize(np.arange(len(means)), most - len(means))
    noise = within * generator.normal(size=(len(around), len(within)))
    landmarks = np.concatenate([means, means[around] + noise])

    # 4. The mean of rows on a grid may be another row: it is moved.
    deviations = rows.std(axis=0)
    unit = np.where(deviations > 0.0, deviations, 1.0)
    tree = KDTree(rows / unit)
    landmarks = _rounded(landmarks, deviations)
    for _ in range(100):
        distances, _ = tree.query(landmarks / unit, p=np.inf, distance_upper_bound=SAME)
        is_row = np.isfinite(distances)
        if not is_row.any():
            break
        noise = within * generator.normal(size=(is_row.sum(), len(within)))
        landmarks[is_row] = _rounded(landmarks[is_row] + noise, deviations)
    return landmarks


def _by_class(codes: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each class.

    Classes with fewer rows than a group needs are left out, unless all of them are:
    then the rows of all classes are together.
    """
    classes = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        if len(members) >= LEAST:
            classes.append(members)
    if not classes:
        return [np.arange(len(codes))]
    return classes


def _groups(rows: np.ndarray, classes: list[np.ndarray], most: int) -> list[np.ndarray]:
    """Return groups of at least LEAST rows, each of one class.

    Parameters
    ----------
    rows : array of shape (n, d)
        The rows.
    classes : list of arrays of int
        The rows of each class.
    most : int
        The number of groups at which to stop. There is at least one for each class.

    Returns
    -------
    list of arrays of int
        The rows of each group.
    """
    # The group with the largest sum of squares comes first; of equal ones, the oldest.
    waiting: list[tuple[float, int, np.ndarray]] = []
    for number, group in enumerate(classes):
        waiting.append((-_sum_of_squares(rows[group]), number, group))
    heapq.heapify(waiting)
    number = len(classes)
    whole = []
    while waiting and len(waiting) + len(whole) < most:
        _, _, group = heapq.heappop(waiting)
        if len(group) < 2 * LEAST:
            whole.append(group)
            continue
        for part in _halves(rows, group):
            heapq.heappush(waiting, (-_sum_of_squares(rows[part]), number, part))
            number += 1
    return whole + [group for _, _, group in waiting]


def _sum_of_squares(rows: np.ndarray) -> float:
    """Return the sum of squared distances from the mean."""
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
