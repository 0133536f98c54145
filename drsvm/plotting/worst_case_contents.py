"""What `WorstCaseDisplay` shows of a distribution: a sample of its rows in a plane, its moves, and its flips."""

from dataclasses import replace

import numpy as np

from drsvm.model.worst_case.adversary import DecisionValues
from drsvm.model.worst_case.worst_risk import WorstCaseDistribution
from drsvm.plotting.projection import Plane, plane_for
from drsvm.plotting.style import Look, plain, short

JITTER = 0.35  # vertical spread if there is only one feature
ARROWS = 40  # maximum number of arrows; all moves have the same length
NAMED = 10  # maximum number of classes that are told apart by colours and markers


def contents(distribution: WorstCaseDistribution, positive, feature_names, max_points: int, random_state: int) -> Look:
    """Return the arguments of the display."""
    data, rng = distribution._data, np.random.default_rng(random_state)
    shown = _shown_rows(distribution, max_points, rng)
    plane = _plane(distribution, feature_names)
    points = plane.coordinates(data.X[shown])
    if data.X.shape[1] == 1:
        points[:, 1] = rng.uniform(-JITTER, JITTER, len(shown))
        plane = replace(plane, labels=(plane.labels[0], "(random jitter)"))
    flips = _flips(distribution)
    groups, class_names = _groups(distribution, flips, positive)
    codes, new_codes = data.codes[shown], _codes_after_flips(distribution)[shown]
    width, height = np.ptp(points, axis=0)
    return _moves(distribution, plane, points, shown, groups, rng) | {
        "points": points,
        "positive": groups[codes],
        "flipped": new_codes != codes,
        "flipped_to": groups[new_codes],
        "flips": _grouped(flips, groups),
        "normal": plane.normal,
        "offset": plane.offset,
        "axis_labels": plane.labels,
        "class_names": class_names,
        "title": describe(distribution),
        "equal_aspect": bool(data.X.shape[1] == 2 and width < 4 * height and height < 4 * width),
    }


def _shown_rows(distribution: WorstCaseDistribution, max_points: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows at random, but not without those that flips and moves concern, if these are few."""
    rows = np.flatnonzero(distribution._data.weights > 0)
    if len(rows) <= max_points:
        return rows
    rows = rng.choice(rows, max_points, replace=False)
    concerned = np.unique(distribution.rows[distribution.flipped | (distribution.shift > 0)])
    missing, others = np.setdiff1d(concerned, rows), np.flatnonzero(~np.isin(rows, concerned))
    wanted = min(ARROWS, max_points // 2) - (len(rows) - len(others))
    added = rng.permutation(missing)[: max(wanted, 0)]
    rows[others[: len(added)]] = added
    return np.sort(rows)


def _moves(distribution: WorstCaseDistribution, plane: Plane, points, shown, groups, rng) -> Look:
    """Return the arrows to draw, and how many there would be."""
    place = np.full(len(distribution._data.codes), -1)
    place[shown] = np.arange(len(shown))
    moved = np.flatnonzero((distribution.shift > 0) & (place[distribution.rows] >= 0))
    n_moved = len(moved)
    moved = moved if n_moved <= ARROWS else rng.choice(moved, ARROWS, replace=False)
    start = points[place[distribution.rows[moved]]]
    end = start + distribution._steps[moved, None] * (np.atleast_2d(distribution.direction) @ plane.axes.T)
    codes = distribution._codes[moved]
    return {"moved_from": start, "moved_to": end, "moved_labels": groups[codes], "n_moved": n_moved}


def _groups(distribution: WorstCaseDistribution, flips: np.ndarray, positive) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the place of every class among the names to show, and these names; with many classes, some share one.

    The classes that lose or gain most labels, or move most, have names of their own.
    """
    data, moved = distribution._data, distribution.shift > 0
    names = [str(name) for name in data.classes.tolist()]
    if data.classes.dtype == bool and positive is not None and not isinstance(positive, bool | np.bool_):
        names = ["the rest", str(positive)]
    n_others = len(names) - NAMED
    if n_others < 2:
        return np.arange(len(names)), tuple(names)
    active = flips.sum(axis=0) + flips.sum(axis=1)
    active += np.bincount(distribution._codes[moved], distribution.mass[moved], minlength=len(names))
    active += 1e-9 * np.bincount(data.codes, data.weights, minlength=len(names))  # ties: the larger class
    named = np.sort(np.argsort(-active, kind="stable")[:NAMED])
    groups = np.full(len(names), NAMED)
    groups[named] = np.arange(NAMED)
    return groups, (*(names[k] for k in named), f"{n_others} others")


def _plane(distribution: WorstCaseDistribution, feature_names) -> Plane:
    """Return the plane to draw in: with several classes, the one in which moves go across and classes lie apart."""
    data: DecisionValues = distribution._data
    if len(data.classes) == 2:
        return plane_for(data.X, data.coef[1] - data.coef[0], data.intercept[1] - data.intercept[0], feature_names)
    means = _class_means(data)
    if data.X.shape[1] == 2:
        plane = plane_for(means, data.coef[0], data.intercept[0], feature_names)
        return replace(plane, normal=data.coef, offset=data.intercept)
    moves = (distribution.shift > 0).any()
    first, second = distribution._pair if moves and distribution._pair else (0, 0)
    plane = plane_for(means, data.coef[second] - data.coef[first], data.intercept[second] - data.intercept[first])
    across, up = "class means, first principal component", "class means, second principal component"
    if moves:
        names = [short(name, 12) for name in data.classes[[second, first]].tolist()]
        across, up = "lead of {} over {}".format(*names), across
    return replace(plane, labels=(across, up))


def _class_means(data: DecisionValues) -> np.ndarray:
    """Return the mean row of every class that has weight, of shape (number of these, d)."""
    masks = [np.where(data.codes == code, data.weights, 0.0) for code in range(len(data.classes))]
    return np.array([(data.X.T @ mask) / mask.sum() for mask in masks if mask.any()])


def _codes_after_flips(distribution: WorstCaseDistribution) -> np.ndarray:
    """Return the place of every row's label among the classes, after the flip if a part of it is flipped."""
    codes, flipped = distribution._data.codes.copy(), distribution.flipped
    codes[distribution.rows[flipped]] = distribution._codes[flipped]
    return codes


def _flips(distribution: WorstCaseDistribution) -> np.ndarray:
    """Return the mass that is flipped from every class to every other one."""
    data, flipped = distribution._data, distribution.flipped
    flips = np.zeros((len(data.classes), len(data.classes)))
    before = data.codes[distribution.rows[flipped]]
    np.add.at(flips, (before, distribution._codes[flipped]), distribution.mass[flipped])
    return flips


def _grouped(flips: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the flipped mass between groups of classes."""
    sums = np.zeros((groups.max() + 1,) * 2)
    np.add.at(sums, (groups[:, None], groups[None, :]), flips)
    return sums


def describe(distribution: WorstCaseDistribution) -> str:
    """Return a one-line summary of what the adversary does."""
    flipped = float(distribution.mass[distribution.flipped].sum())
    moving = distribution.shift > 0
    moved = float(distribution.mass[moving].sum())
    words = [f"{100 * flipped:.1f} % of the labels flipped" if flipped > 0 else "no label flipped"]
    if moved > 0:
        by = float(distribution.mass[moving] @ distribution.shift[moving]) / moved
        usual = f"{100 * moved:.1f} % of the samples moved by {by:.3g}"
        words.append(usual if distribution.attained else "a tiny mass moved very far")
    return ", ".join(words) + (_from_where(distribution) if moved > 0 else "")


def _from_where(distribution: WorstCaseDistribution) -> str:
    """Return between which of several classes atoms move, as a second line."""
    classes, pair = distribution._data.classes.tolist(), list(distribution._pair or ())
    if len(classes) == 2:
        return ""
    moving = set(distribution._codes[distribution.shift > 0].tolist())
    start, end = (plain(classes[code], 20) for code in sorted(pair, key=lambda code: (code not in moving, code)))
    return f"\nbetween {start} and {end}" if len(moving) == 2 else f"\nfrom {start} towards {end}"
