"""What `WorstCaseDisplay` shows: samples in a plane, moves, and flips of labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drsvm.audit.decision_values import DecisionValues
from drsvm.audit.worst_distribution import WorstCaseDistribution
from drsvm.plotting.style import plain, short
from drsvm.problem.memory_rows import dense
from drsvm.problem.norms import euclidean
from drsvm.utils.annotations import Matrix
from drsvm.utils.arguments import about

# The largest number of rows from which principal components are found, by an
# eigendecomposition of their products
MOST_ROWS = 500
# Vertical spread if there is only one feature
JITTER = 0.35
# The largest number of arrows: more would hide each other, and all have the same length
MOST_ARROWS = 40
# The largest number of classes with colours and markers of their own
MOST_NAMED = 10


@dataclass(frozen=True, eq=False)
class Plane:
    """Two coordinates z = axes · x + origin of rows.

    For rows in their plane, the decision value is normal · z + offset.
    """

    # Of shape (2, d) and (2,)
    axes: np.ndarray
    origin: np.ndarray
    # Of shape (2,) and a number; for several classes (n_classes, 2) and (n_classes,)
    normal: np.ndarray
    offset: float | np.ndarray
    # Names of the two coordinates
    labels: tuple[str, str]


def contents(
    distribution: WorstCaseDistribution,
    positive: object,
    feature_names: Sequence[str] | None,
    max_points: int,
    random_state: int,
) -> dict[str, Any]:
    """Return the arguments of `WorstCaseDisplay`.

    Parameters
    ----------
    distribution : WorstCaseDistribution
        The worst distribution.
    positive : label or None
        Of several classes, the one that is evaluated against the rest.
    feature_names : sequence of two strings, optional
        The names of two features.
    max_points : int
        The largest number of rows to show.
    random_state : int
        Seed of the choice of rows and arrows.

    Returns
    -------
    dict
        The arguments by name.
    """
    data = distribution._data
    with about("random_state"):
        random = np.random.default_rng(random_state)
    shown = _shown_rows(distribution, max_points, random)
    plane = _plane(distribution, feature_names)
    points = np.asarray(data.X[shown] @ plane.axes.T, dtype=np.float64) + plane.origin
    n_features = data.X.shape[1]
    if n_features == 1:
        # Points on a line would hide each other.
        points[:, 1] = random.uniform(-JITTER, JITTER, len(shown))
        plane = replace(plane, labels=(plane.labels[0], "(random jitter)"))

    # A group is a class with a name of its own, or all others.
    groups, class_names = _groups(distribution, positive)
    # Labels after flips, also where only a part of a row is flipped
    flipped = distribution.flipped
    rows = distribution.rows[flipped]
    new_codes = data.codes.copy()
    new_codes[rows] = distribution._codes[flipped]
    # The mass that is flipped from class to class
    flips = np.zeros((len(class_names), len(class_names)))
    before = groups[data.codes[rows]]
    after = groups[new_codes[rows]]
    np.add.at(flips, (before, after), distribution.mass[flipped])

    # Moves in the plane, where all atoms go along the image of the same direction
    moved_rows, atoms, n_moved = _shown_moves(distribution, shown, random)
    start = points[moved_rows]
    direction = np.atleast_2d(distribution.direction) @ plane.axes.T
    end = start + distribution._steps[atoms, None] * direction
    # Two features of about the same spread are drawn on the same scale.
    width, height = np.ptp(points, axis=0)
    similar = width < 4 * height and height < 4 * width
    return {
        "points": points,
        "positive": groups[data.codes[shown]],
        "flipped": new_codes[shown] != data.codes[shown],
        "flipped_to": groups[new_codes[shown]],
        "flips": flips,
        "moved_from": start,
        "moved_to": end,
        "moved_labels": groups[distribution._codes[atoms]],
        "n_moved": n_moved,
        "normal": plane.normal,
        "offset": plane.offset,
        "axis_labels": plane.labels,
        "class_names": class_names,
        "title": describe(distribution),
        "equal_aspect": bool(n_features == 2 and similar),
    }


def _shown_rows(
    distribution: WorstCaseDistribution, max_points: int, random: np.random.Generator
) -> np.ndarray:
    """Return rows at random, with those that flip or move if these are few."""
    rows = np.flatnonzero(distribution._data.weights > 0)
    if len(rows) <= max_points:
        return rows
    is_concerned = distribution.flipped | (distribution.shift > 0)
    concerned = np.unique(distribution.rows[is_concerned])
    # Without these, a few rows that flip or move among thousands would not be seen.
    most = min(MOST_ARROWS, max_points // 2)
    some = random.permutation(concerned)[:most]
    others = random.permutation(np.setdiff1d(rows, some))
    others = others[: max_points - len(some)]
    return np.sort(np.append(some, others))


def _shown_moves(
    distribution: WorstCaseDistribution, shown: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return places of moved rows among those shown, their atoms, and how many move.

    The last one is the number of all moves of the rows that are shown, of which at most
    MOST_ARROWS are drawn.
    """
    # −1: not shown
    place = np.full(len(distribution._data.codes), -1)
    place[shown] = np.arange(len(shown))
    is_shown = place[distribution.rows] >= 0
    atoms = np.flatnonzero((distribution.shift > 0) & is_shown)
    n_moved = len(atoms)
    if n_moved > MOST_ARROWS:
        atoms = random.choice(atoms, MOST_ARROWS, replace=False)
    return place[distribution.rows[atoms]], atoms, n_moved


def _groups(
    distribution: WorstCaseDistribution, positive: object
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the place of every class among the names to show, and these.

    Those that flip or move least share one.
    """
    data = distribution._data
    names = [str(name) for name in data.classes.tolist()]
    # Where one of several classes is evaluated against the rest, it is True, unless
    # labels are truth values themselves.
    is_named = positive is not None and not isinstance(positive, bool | np.bool_)
    if data.classes.dtype == bool and is_named:
        names = ["the rest", str(positive)]
    n_others = len(names) - MOST_NAMED
    if n_others < 2:
        return np.arange(len(names)), tuple(names)
    # The mass of each class that is moved, or flipped to it or from it. Of equally
    # active classes, the larger one has a name.
    flipped = np.where(distribution.flipped, distribution.mass, 0.0)
    moved = np.where(distribution.shift > 0, distribution.mass, 0.0)
    before = data.codes[distribution.rows]
    after = distribution._codes
    active = np.bincount(before, flipped, minlength=len(names))
    active += np.bincount(after, flipped + moved, minlength=len(names))
    active += np.bincount(data.codes, 1e-9 * data.weights, minlength=len(names))
    named = np.sort(np.argsort(-active, kind="stable")[:MOST_NAMED])
    groups = np.full(len(names), MOST_NAMED)
    groups[named] = np.arange(MOST_NAMED)
    return groups, (*(names[k] for k in named), f"{n_others} others")


def _plane(
    distribution: WorstCaseDistribution, feature_names: Sequence[str] | None
) -> Plane:
    """Return the plane to draw in.

    With several classes, it is the one in which moves go across and classes lie apart.
    """
    data = distribution._data
    coef = data.coef
    intercept = data.intercept
    if len(data.classes) == 2:
        w = coef[1] - coef[0]
        return plane_for(data.X, w, intercept[1] - intercept[0], feature_names)
    means = _class_means(data)
    if data.X.shape[1] == 2:
        plane = plane_for(means, coef[0], intercept[0], feature_names)
        # In the plane of two features, the values of all classes are known.
        return replace(plane, normal=coef, offset=intercept)
    if not (distribution.shift > 0).any():
        # Nothing moves: two principal components
        labels = (
            "class means, first principal component",
            "class means, second principal component",
        )
        return replace(plane_for(means, 0.0 * coef[0], 0.0), labels=labels)
    # Across the boundary of the two classes between which atoms move
    first, second = distribution._pair
    w = coef[second] - coef[first]
    plane = plane_for(means, w, intercept[second] - intercept[first])
    leading = short(data.classes.tolist()[second], 12)
    behind = short(data.classes.tolist()[first], 12)
    across = f"lead of {leading} over {behind}"
    return replace(plane, labels=(across, "class means, first principal component"))


def _class_means(data: DecisionValues) -> np.ndarray:
    """Return the means of the classes that have mass, of shape (number of them, d).

    They lie in few directions, and rows in many: the plane in which the means are far
    apart shows the classes best.
    """
    means = []
    for code in range(len(data.classes)):
        mass = np.where(data.codes == code, data.weights, 0.0)
        if mass.any():
            means.append((data.X.T @ mass) / mass.sum())
    return np.array(means)


def plane_for(
    X: Matrix,
    coef: np.ndarray,
    intercept: float,
    feature_names: Sequence[str] | None = None,
) -> Plane:
    """Return the plane of two features.

    With more features (or one), it is that of the decision value and the first
    principal component orthogonal to it.
    """
    if X.shape[1] == 2:
        if feature_names is None:
            feature_names = ("feature 0", "feature 1")
        if len(feature_names) != 2:
            raise ValueError(
                "feature_names must have a name for each of the 2 features, got "
                f"{len(feature_names)} names."
            )
        across, up = feature_names
        labels = (str(across), str(up))
        return Plane(np.eye(2), np.zeros(2), coef.copy(), intercept, labels)
    if not coef.any():
        # Without weights, no direction is that of decisions.
        first = _widest_direction(X, coef)
        axes = np.stack([first, _widest_direction(X, first)])
        labels = ("first principal component", "second principal component")
        return Plane(axes, np.zeros(2), np.zeros(2), intercept, labels)
    up = _widest_direction(X, coef / euclidean(coef))
    return Plane(
        axes=np.stack([coef, up]),
        origin=np.array([intercept, 0.0]),
        normal=np.array([1.0, 0.0]),
        offset=0.0,
        labels=("decision value w·x + b", "first principal component of the rest"),
    )


def _widest_direction(X: Matrix, excluded: np.ndarray) -> np.ndarray:
    """Return the first principal component orthogonal to a unit vector, or to 0.

    It is 0 if there is no variance.
    """
    n = X.shape[0]
    some = np.linspace(0, n - 1, min(n, MOST_ROWS), dtype=int)
    X = X[some].astype(np.float64)
    # The component is a sum of rows, and the products of rows are few, however many
    # columns there are: the products of rows without their excluded parts, centred.
    along = X @ excluded
    products = dense(X @ X.T) - np.outer(along, along)
    means = products.mean(axis=0)
    centred = products - means - means[:, None] + products.mean()
    # The eigenvector of the largest eigenvalue has the coefficients of the rows.
    _, vectors = np.linalg.eigh(centred)
    loads = vectors[:, -1]
    widest = X.T @ (loads - loads.mean())
    widest = widest - excluded * (excluded @ widest)
    size = euclidean(widest)
    if size <= 1e-7 * max(1.0, np.sqrt(products.trace())):
        # Nothing but rounding errors
        return np.zeros(X.shape[1])
    # The sign of a principal component is arbitrary; fix it so that the plot is
    # reproducible.
    sign = np.sign(widest[np.argmax(np.abs(widest))])
    return widest / size * sign


def describe(distribution: WorstCaseDistribution) -> str:
    """Return a summary of what the adversary does, in one or two lines."""
    flipped = float(distribution.mass[distribution.flipped].sum())
    text = "no label flipped"
    if flipped > 0:
        text = f"{100 * flipped:.1f} % of the labels flipped"
    moving = distribution.shift > 0
    moved = float(distribution.mass[moving].sum())
    if moved == 0.0:
        return text
    if distribution.attained:
        by = float(distribution.mass[moving] @ distribution.shift[moving]) / moved
        text += f", {100 * moved:.1f} % of the samples moved by {by:.3g}"
    else:
        text += ", a tiny mass moved very far"
    classes = distribution._data.classes.tolist()
    if len(classes) == 2:
        return text
    # Moves start at the label of what is moved.
    first, second = distribution._pair
    codes = set(distribution._codes[moving].tolist())
    if codes == {first, second}:
        low, high = sorted((first, second))
        ends = f"between {plain(classes[low], 20)} and {plain(classes[high], 20)}"
        return f"{text}\n{ends}"
    if first not in codes:
        first, second = second, first
    start = plain(classes[first], 20)
    return f"{text}\nfrom {start} towards {plain(classes[second], 20)}"
