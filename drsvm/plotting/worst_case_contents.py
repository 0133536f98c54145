"""What `WorstCaseDisplay` shows of a distribution: a sample of its rows in a plane, its moves, and its flips."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from drsvm.audit.decision_values import DecisionValues
from drsvm.audit.worst_distribution import WorstCaseDistribution
from drsvm.plotting.style import Look, plain, short
from drsvm.problem.kernel_functions import dense
from drsvm.problem.norms import euclidean
from drsvm.utils.annotations import Matrix

MAX_ROWS = 500  # from which principal components are found
JITTER = 0.35  # vertical spread if there is only one feature
ARROWS = 40  # maximum number of arrows; all moves have the same length
NAMED = 10  # maximum number of classes with colours and markers of their own


@dataclass(frozen=True, eq=False)
class Plane:
    """Two coordinates z = axes · x + origin, and the decision value normal · z + offset for rows in their plane."""

    axes: np.ndarray
    origin: np.ndarray
    normal: np.ndarray
    offset: float
    labels: tuple[str, str]  # of the coordinates


def contents(
    distribution: WorstCaseDistribution,
    positive,
    feature_names,
    max_points: int,
    random_state: int,
) -> Look:
    """Return the arguments of the display."""
    data = distribution._data
    rng = np.random.default_rng(random_state)
    shown = _shown_rows(distribution, max_points, rng)
    plane = _plane(distribution, feature_names)
    points = np.asarray(data.X[shown] @ plane.axes.T, dtype=np.float64) + plane.origin
    if data.X.shape[1] == 1:
        points[:, 1] = rng.uniform(-JITTER, JITTER, len(shown))
        plane = replace(plane, labels=(plane.labels[0], "(random jitter)"))
    # the label of a row after a flip of a part of it
    flipped = distribution.flipped
    new_codes = data.codes.copy()
    new_codes[distribution.rows[flipped]] = distribution._codes[flipped]
    # The mass that is flipped from class to class
    flips = np.zeros((len(data.classes), len(data.classes)))
    before = data.codes[distribution.rows[flipped]]
    np.add.at(flips, (before, distribution._codes[flipped]), distribution.mass[flipped])
    groups, class_names = _groups(distribution, flips, positive)
    grouped = np.zeros((groups.max() + 1,) * 2)
    np.add.at(grouped, (groups[:, None], groups[None, :]), flips)
    codes = data.codes[shown]
    new_codes = new_codes[shown]
    width, height = np.ptp(points, axis=0)
    return _moves(distribution, plane, points, shown, groups, rng) | {
        "points": points,
        "positive": groups[codes],
        "flipped": new_codes != codes,
        "flipped_to": groups[new_codes],
        "flips": grouped,
        "normal": plane.normal,
        "offset": plane.offset,
        "axis_labels": plane.labels,
        "class_names": class_names,
        "title": describe(distribution),
        "equal_aspect": bool(
            data.X.shape[1] == 2 and width < 4 * height and height < 4 * width
        ),
    }


def _shown_rows(
    distribution: WorstCaseDistribution, max_points: int, rng: np.random.Generator
) -> np.ndarray:
    """Return rows at random, but not without those that flips and moves concern, if these are few."""
    rows = np.flatnonzero(distribution._data.weights > 0)
    if len(rows) <= max_points:
        return rows
    rows = rng.choice(rows, max_points, replace=False)
    concerned = np.unique(
        distribution.rows[distribution.flipped | (distribution.shift > 0)]
    )
    missing = np.setdiff1d(concerned, rows)
    others = np.flatnonzero(~np.isin(rows, concerned))
    wanted = min(ARROWS, max_points // 2) - (len(rows) - len(others))
    added = rng.permutation(missing)[: max(wanted, 0)]
    rows[others[: len(added)]] = added
    return np.sort(rows)


def _moves(
    distribution: WorstCaseDistribution, plane: Plane, points, shown, groups, rng
) -> Look:
    place = np.full(len(distribution._data.codes), -1)
    place[shown] = np.arange(len(shown))
    moved = np.flatnonzero((distribution.shift > 0) & (place[distribution.rows] >= 0))
    n_moved = len(moved)
    if n_moved <= ARROWS:
        moved = moved
    else:
        moved = rng.choice(moved, ARROWS, replace=False)
    start = points[place[distribution.rows[moved]]]
    end = start + distribution._steps[moved, None] * (
        np.atleast_2d(distribution.direction) @ plane.axes.T
    )
    codes = distribution._codes[moved]
    return {
        "moved_from": start,
        "moved_to": end,
        "moved_labels": groups[codes],
        "n_moved": n_moved,
    }


def _groups(
    distribution: WorstCaseDistribution, flips: np.ndarray, positive
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the place of every class among the names to show, and these.

    Those that flip or move least share one.
    """
    data = distribution._data
    moved = distribution.shift > 0
    names = [str(name) for name in data.classes.tolist()]
    if (
        data.classes.dtype == bool
        and positive is not None
        and not isinstance(positive, bool | np.bool_)
    ):
        names = ["the rest", str(positive)]
    n_others = len(names) - NAMED
    if n_others < 2:
        return np.arange(len(names)), tuple(names)
    active = flips.sum(axis=0) + flips.sum(axis=1)
    active += np.bincount(
        distribution._codes[moved], distribution.mass[moved], minlength=len(names)
    )
    # Ties: the larger class
    active += 1e-9 * np.bincount(data.codes, data.weights, minlength=len(names))
    named = np.sort(np.argsort(-active, kind="stable")[:NAMED])
    groups = np.full(len(names), NAMED)
    groups[named] = np.arange(NAMED)
    return groups, (*(names[k] for k in named), f"{n_others} others")


def _plane(distribution: WorstCaseDistribution, feature_names) -> Plane:
    """Return the plane to draw in: with several classes, the one in which moves go across and classes lie apart."""
    data: DecisionValues = distribution._data
    if len(data.classes) == 2:
        return plane_for(
            data.X,
            data.coef[1] - data.coef[0],
            data.intercept[1] - data.intercept[0],
            feature_names,
        )
    masks = [
        np.where(data.codes == code, data.weights, 0.0)
        for code in range(len(data.classes))
    ]
    means = np.array([(data.X.T @ mask) / mask.sum() for mask in masks if mask.any()])
    if data.X.shape[1] == 2:
        plane = plane_for(means, data.coef[0], data.intercept[0], feature_names)
        return replace(plane, normal=data.coef, offset=data.intercept)
    moves = (distribution.shift > 0).any()
    if moves and distribution._pair:
        first, second = distribution._pair
    else:
        first = 0
        second = 0
    plane = plane_for(
        means,
        data.coef[second] - data.coef[first],
        data.intercept[second] - data.intercept[first],
    )
    across = "class means, first principal component"
    up = "class means, second principal component"
    if moves:
        names = [short(name, 12) for name in data.classes[[second, first]].tolist()]
        up = across
        across = "lead of {} over {}".format(*names)
    return replace(plane, labels=(across, up))


def plane_for(
    X: Matrix,
    coef: np.ndarray,
    intercept: float,
    feature_names: Sequence[str] | None = None,
) -> Plane:
    """Return the plane of two features, or of the decision value and the first principal component orthogonal to it."""
    d = X.shape[1]
    if d == 2:
        if feature_names is None:
            names = ("feature 0", "feature 1")
        else:
            names = tuple(str(name) for name in feature_names)
        if len(names) != 2:
            raise ValueError(
                f"feature_names must have a name for each of the 2 features, got {len(names)} names."
            )
        return Plane(
            np.eye(2), np.zeros(2), coef.copy(), intercept, (names[0], names[1])
        )
    across = _widest_direction(X, [coef / euclidean(coef)] if coef.any() else [])
    if not coef.any():
        second = _widest_direction(X, [across])
        labels = ("first principal component", "second principal component")
        return Plane(
            np.stack([across, second]), np.zeros(2), np.zeros(2), intercept, labels
        )
    labels = ("decision value w·x + b", "first principal component of the rest")
    return Plane(
        np.stack([coef, across]),
        np.array([intercept, 0.0]),
        np.array([1.0, 0.0]),
        0.0,
        labels,
    )


def _widest_direction(X: Matrix, excluded: list[np.ndarray]) -> np.ndarray:
    """Return the first principal component of rows in the complement of unit vectors.

    0 if there is no variance.
    """
    X = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], MAX_ROWS), dtype=int)].astype(
        np.float64
    )
    # It is a sum of rows. Their products are few, however many columns there are.
    products = dense(X @ X.T) - sum(
        np.outer(X @ direction, X @ direction) for direction in excluded
    )
    centred = (
        products
        - products.mean(axis=0)
        - products.mean(axis=1, keepdims=True)
        + products.mean()
    )
    loads = np.linalg.eigh(centred)[1][:, -1]
    widest = X.T @ (loads - loads.mean())
    for direction in excluded:
        widest = widest - direction * (direction @ widest)
    size = euclidean(widest)
    if size <= 1e-7 * max(1.0, np.sqrt(products.trace())):  # rounding errors at most
        return np.zeros(X.shape[1])
    # The sign of a principal component is arbitrary; fix it so that the plot is
    # reproducible.
    return widest / size * np.sign(widest[np.argmax(np.abs(widest))])


def describe(distribution: WorstCaseDistribution) -> str:
    """Return a one-line summary of what the adversary does."""
    flipped = float(distribution.mass[distribution.flipped].sum())
    moving = distribution.shift > 0
    moved = float(distribution.mass[moving].sum())
    words = [
        f"{100 * flipped:.1f} % of the labels flipped"
        if flipped > 0
        else "no label flipped"
    ]
    if moved > 0:
        by = float(distribution.mass[moving] @ distribution.shift[moving]) / moved
        usual = f"{100 * moved:.1f} % of the samples moved by {by:.3g}"
        words.append(usual if distribution.attained else "a tiny mass moved very far")
    text = ", ".join(words)
    classes = distribution._data.classes.tolist()
    if moved == 0.0 or len(classes) == 2:
        return text
    codes = set(distribution._codes[moving].tolist())
    pair = sorted(distribution._pair or (), key=lambda code: (code not in codes, code))
    start, end = (plain(classes[code], 20) for code in pair)
    if len(codes) == 2:
        return f"{text}\nbetween {start} and {end}"
    return f"{text}\nfrom {start} towards {end}"
