"""What `WorstCaseDisplay` shows of a distribution: a sample of its rows in a plane, its moves, and its flips."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drsvm.model.worst_case.decision_values import DecisionValues
from drsvm.model.worst_case.worst_distribution import WorstCaseDistribution
from drsvm.plotting.projection import Plane, plane_for
from drsvm.plotting.style import plain, short

JITTER = 0.35  # vertical spread if there is only one feature
ARROWS = 40  # maximum number of arrows; all moves have the same length
NAMED = 10  # maximum number of classes that are told apart by colours and markers


@dataclass(frozen=True, eq=False)
class Contents:
    """Selects what to show of a distribution."""

    distribution: WorstCaseDistribution
    positive: Any = None
    feature_names: Any = None
    max_points: int = 500
    random_state: int = 0

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the display."""
        distribution, data = self.distribution, self.distribution._data
        rng = np.random.default_rng(self.random_state)
        shown = self._rows(rng)
        plane = _plane(distribution, self.feature_names)
        points = plane.coordinates(data.X[shown])
        if data.X.shape[1] == 1:
            points[:, 1] = rng.uniform(-JITTER, JITTER, len(shown))
            plane = replace(plane, labels=(plane.labels[0], "(random jitter)"))
        groups, class_names = self._groups()
        new_codes = _codes_after_flips(distribution)[shown]
        wide, high = np.ptp(points, axis=0)
        return self._moves(plane, points, shown, groups, rng) | {
            "points": points,
            "positive": groups[data.codes[shown]],
            "flipped": new_codes != data.codes[shown],
            "flipped_to": groups[new_codes],
            "flips": _grouped(_flips(distribution), groups),
            "normal": plane.normal,
            "offset": plane.offset,
            "axis_labels": plane.labels,
            "class_names": class_names,
            "title": describe(distribution),
            "equal_aspect": bool(plane.in_data_units and wide < 4 * high and high < 4 * wide),
        }

    def _rows(self, rng) -> np.ndarray:
        """Return rows at random, but not without those that flips and moves concern, if these are few."""
        distribution = self.distribution
        rows = np.flatnonzero(distribution._data.weights > 0)
        if len(rows) <= self.max_points:
            return rows
        rows = rng.choice(rows, self.max_points, replace=False)
        concerned = np.unique(distribution.rows[distribution.flipped | (distribution.shift > 0)])
        missing, others = np.setdiff1d(concerned, rows), np.flatnonzero(~np.isin(rows, concerned))
        wanted = min(ARROWS, self.max_points // 2) - (len(rows) - len(others))
        added = rng.permutation(missing)[: max(wanted, 0)]
        rows[others[: len(added)]] = added
        return np.sort(rows)

    def _moves(self, plane: Plane, points, shown, groups, rng) -> dict[str, Any]:
        """Return the arrows to draw, and how many there would be."""
        distribution = self.distribution
        place = np.full(len(distribution._data.codes), -1)
        place[shown] = np.arange(len(shown))
        moved = np.flatnonzero((distribution.shift > 0) & (place[distribution.rows] >= 0))
        n_moved = len(moved)
        moved = moved if n_moved <= ARROWS else rng.choice(moved, ARROWS, replace=False)
        moved_from = points[place[distribution.rows[moved]]]
        steps = distribution._steps[moved, None] * plane.steps(distribution.direction)
        ends = {"moved_from": moved_from, "moved_to": moved_from + steps}
        return {**ends, "moved_labels": groups[distribution._codes[moved]], "n_moved": n_moved}

    def _groups(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """Return the place of every class among the names to show, and these names; with many classes, some share one.

        The classes that lose or gain most labels, or move most, have names of their own.
        """
        distribution, data = self.distribution, self.distribution._data
        names = [str(name) for name in data.classes.tolist()]
        if data.classes.dtype == bool and self.positive is not None and not isinstance(self.positive, bool | np.bool_):
            names = ["the rest", str(self.positive)]
        n_others = len(names) - NAMED
        if n_others < 2:
            return np.arange(len(names)), tuple(names)
        flips, moved = _flips(distribution), distribution.shift > 0
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
