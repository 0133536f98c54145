"""Shifts of rows that harm a classifier with a kernel: what an adversary can do at least.

Each row is moved by projected gradients within balls of several sizes, from several
starts, with its own label or a flipped one. How the budget is best spent on the moves
that were found is exact: what counts is the concave envelope of the losses of a row
over their costs, and the steepest parts of all rows come first.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from drsvm.audit.adversary import Atoms, Attack
from drsvm.audit.decision_values import margins_of, values_at
from drsvm.audit.error_costs import envelope
from drsvm.audit.kernel_adversary import KernelAdversary
from drsvm.problem.kernel_functions import dense
from drsvm.problem.risk import TIE
from drsvm.utils.parallel import slices

# Of the balls that rows are moved in, in units of 1/L
BALL_RADII = np.geomspace(0.05, 8.0, 8)
# Gradient steps in a ball, rounds in which the way across the boundary is shortened,
# and halvings of each.
STEPS = 12
SHORTENINGS = 4
HALVINGS = 25
ENTRIES = 2_000_000  # number of values of the kernel that are computed at a time


class Moves(NamedTuple):
    """What can be done to each row, one option per column: the first is nothing."""

    codes: np.ndarray  # of shape (n, options): the label's place among the classes
    shifts: np.ndarray  # of shape (n, options, d), in units of cost
    costs: np.ndarray
    losses: np.ndarray


@dataclass(frozen=True, eq=False)
class KernelAttack(KernelAdversary):
    """What an adversary can do at least: `distances` and `hinge_risks` are those of moves that were found."""

    @cached_property
    def _points(self) -> np.ndarray:
        return dense(self.kernel.scaled(self.data.X))

    @cached_property
    def _landmarks(self) -> np.ndarray:
        return dense(self.kernel.landmarks)

    @cached_property
    def _used(self) -> np.ndarray:
        return np.flatnonzero(self.data.weights > 0)

    def _margins(
        self, rows, shifts, codes, slopes: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the margins of shifted rows and, if wanted, their gradients, in units of cost."""
        kernel = self.kernel
        points = self._points[rows] + self.ratios * shifts
        terms = kernel.function.values(points, self._landmarks)
        values = kernel.coef @ terms.T + kernel.intercept[:, None]
        margins = margins_of(values, codes)
        if not slopes:
            return margins, margins
        values[codes, np.arange(len(codes))] = -np.inf
        terms *= kernel.coef[codes] - kernel.coef[values.argmax(axis=0)]
        return margins, self.ratios * kernel.function.gradients(
            points, self._landmarks, terms
        )

    def _descended(
        self, rows, shifts, codes, limits, steps: int = STEPS
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the shifts with the lowest margins on the way of projected gradients, and these margins."""
        best = shifts
        lowest = np.full(len(rows), np.inf)
        for step in range(steps + 1):
            margins, slopes = self._margins(rows, shifts, codes, slopes=True)
            better = margins < lowest
            best = np.where(better[:, None], shifts, best)
            lowest = np.minimum(margins, lowest)
            shifts = shifts - _of_length(slopes, limits / (1.0 + 0.5 * step))
            sizes = np.maximum(
                np.linalg.norm(shifts, axis=1), np.maximum(limits, 1e-300)
            )
            # The nearest ones within the balls
            shifts = shifts * (limits / sizes)[:, None]
        return best, lowest

    @cached_property
    def _landmark_margins(self) -> np.ndarray:
        """The margins of the landmarks if they had the label of each class, of shape (classes, landmarks)."""
        values = self.kernel._replace(scales=None).at(self._landmarks).T
        return np.stack(
            [
                margins_of(values, np.full(values.shape[1], k))
                for k in range(len(values))
            ]
        )

    def _moves(self, rows, codes) -> tuple[np.ndarray, np.ndarray]:
        """Return shifts of some rows with the lowest margins that were found in each ball, and these margins."""
        function = self.kernel.function
        limits = BALL_RADII / (function.lipschitz * (self.stretch or 1.0))
        # The directions to start in are down the gradient, to the nearest wrong
        # landmark, and to the worst one.
        _, slopes = self._margins(
            rows, np.zeros((len(rows), len(self.ratios))), codes, slopes=True
        )
        near = function.values(self._points[rows], self._landmarks)
        nearest = np.where(self._landmark_margins[codes] < 0.0, near, -1.0).argmax(
            axis=1
        )
        ends = nearest, self._landmark_margins.argmin(axis=1)[codes]
        inverse = np.divide(
            1.0, self.ratios, out=np.zeros_like(self.ratios), where=self.ratios > 0
        )
        starts = np.stack(
            [
                -slopes,
                *(
                    inverse * (self._landmarks[end] - self._points[rows])
                    for end in ends
                ),
            ]
        )
        starts = starts[:, :, None, :]  # starts, rows, lengths, features
        shape = (*starts.shape[:2], len(limits))
        lengths = np.broadcast_to(limits, shape).ravel()
        shifts = _of_length(
            np.broadcast_to(starts, (*shape, starts.shape[3])).reshape(
                len(lengths), -1
            ),
            lengths,
        )
        repeated = [
            np.broadcast_to(each[None, :, None], shape).ravel()
            for each in (rows, codes)
        ]
        shifts, margins = self._descended(repeated[0], shifts, repeated[1], lengths)
        margins = margins.reshape(shape)
        best = margins.argmin(axis=0)[None]
        shifts = np.take_along_axis(
            shifts.reshape(*shape, -1), best[..., None], axis=0
        )[0]
        return shifts, np.take_along_axis(margins, best, axis=0)[0]

    def _in_blocks(self, rows, codes) -> tuple[np.ndarray, np.ndarray]:
        if len(self._landmarks) == 0:  # a constant classifier
            margins = self._margins(rows, 0.0, codes)[0]
            shape = (len(rows), len(BALL_RADII))
            return np.zeros((*shape, len(self.ratios))), np.broadcast_to(
                margins[:, None], shape
            )
        size = max(1, ENTRIES // (3 * len(BALL_RADII) * len(self._landmarks)))
        shifts, margins = zip(
            *(self._moves(rows[part], codes[part]) for part in slices(len(rows), size)),
            strict=True,
        )
        return np.concatenate(shifts), np.concatenate(margins)

    @cached_property
    def _unflipped(self) -> tuple[np.ndarray, np.ndarray]:
        return self._in_blocks(self._used, self.data.codes[self._used])

    @cached_property
    def distances(self):
        """The length of the shortest shift across the boundary that was found for each row."""
        distances = np.where(self.data.margins > 0, np.inf, 0.0)
        shifts, margins = self._unflipped
        lengths = np.where(margins <= 0.0, np.linalg.norm(shifts, axis=2), np.inf)
        shortest = lengths.argmin(axis=1)
        turned = np.isfinite(lengths.min(axis=1)) & (distances[self._used] > 0)
        rows = self._used[turned]
        ways = shifts[turned, shortest[turned]]
        if len(rows) == 0:
            return distances
        codes = self.data.codes[rows]
        for _ in range(SHORTENINGS):
            ways = self._up_to_boundary(rows, ways, codes, HALVINGS // 3)
            lower, margins = self._descended(
                rows, ways, codes, np.linalg.norm(ways, axis=1), STEPS // 2
            )
            ways = np.where((margins <= 0.0)[:, None], lower, ways)
        distances[rows] = np.linalg.norm(
            self._up_to_boundary(rows, ways, codes), axis=1
        )
        return distances

    def _up_to_boundary(
        self, rows, ways, codes, halvings: int = HALVINGS
    ) -> np.ndarray:
        inside = np.zeros(len(rows))
        across = np.ones(len(rows))
        for _ in range(halvings):
            middle = 0.5 * (inside + across)
            turned = self._margins(rows, middle[:, None] * ways, codes)[0] <= 0.0
            inside = np.where(turned, inside, middle)
            across = np.where(turned, middle, across)
        return across[:, None] * ways

    @cached_property
    def moves(self) -> Moves:
        rows = self._used
        codes = self.data.codes[self._used]
        options = [self._options(codes, *self._unflipped, 0.0)]
        costs = self.problem.flip_costs[rows]
        if np.isfinite(costs).any():
            flipped = self.data.worst_flips(rows)
            options.append(
                self._options(flipped, *self._in_blocks(rows, flipped), costs[:, None])
            )
        return Moves(
            *(np.concatenate(each, axis=1) for each in zip(*options, strict=True))
        )

    def _options(self, codes, shifts, margins, price) -> tuple[np.ndarray, ...]:
        """Return labels, shifts, costs and losses of rows that stay, or are moved, with given labels."""
        stay = margins_of(self.data.values[:, self._used], codes)[:, None]
        margins = np.concatenate([stay, margins], axis=1)
        shifts = np.concatenate([np.zeros_like(shifts[:, :1]), shifts], axis=1)
        costs = np.linalg.norm(shifts, axis=2) + price
        return (
            np.repeat(codes[:, None], costs.shape[1], axis=1),
            shifts,
            costs,
            np.maximum(1.0 - margins, 0.0),
        )

    @cached_property
    def spending(self) -> tuple[np.ndarray, ...]:
        """The worst option of each row that costs nothing, and the changes to costlier ones in the order of payment.

        Of each change: the row, the option, and total cost and total gain up to and
        including it.
        """
        costs = self.moves.costs.T
        losses = self.moves.losses.T
        weights = self.data.weights[self._used]
        corners = np.array(list(envelope(costs, losses)))
        changed = np.nonzero(corners[1:] != corners[:-1])
        paid, gained = (
            np.take_along_axis(each, corners, axis=0) for each in (costs, losses)
        )
        dearer, worse = (np.diff(each, axis=0)[changed] for each in (paid, gained))
        order = np.argsort(-worse / dearer, kind="stable")
        rows = changed[1][order]
        options = corners[1:][changed][order]
        spent, gained = (
            np.cumsum(weights[rows] * each[order]) for each in (dearer, worse)
        )
        return corners[0], rows, options, spent, gained

    def hinge_risks(self, radii):
        """Return the expected loss that the moves reach for every radius."""
        start, _, _, costs, gains = self.spending
        unpaid = float(
            self.data.weights[self._used] @ values_at(self.moves.losses.T, start)
        )
        return unpaid + np.interp(radii, np.append(0.0, costs), np.append(0.0, gains))

    def worst_attack(self, slack):
        """Return the worst attack that was found: it uses up the budget, and may split one row."""
        start, rows, changes, costs, _ = self.spending
        radius = self.problem.radius
        mass = self.data.weights[self._used]
        paid = int(np.searchsorted(costs, radius * (1.0 + TIE), side="right"))
        places = np.arange(len(start))
        options = start.copy()
        # Of several changes of a row, the last one
        options[rows[:paid]] = changes[:paid]
        if paid < len(rows):  # a part of the next change is affordable
            before = costs[paid - 1] if paid else 0.0
            share = max(radius - before, 0.0) / (costs[paid] - before)
            places = np.append(places, rows[paid])
            options = np.append(options, changes[paid])
            mass = np.append(mass, share * mass[rows[paid]])
            mass[rows[paid]] *= 1.0 - share
        places = places[mass > 0.0]
        options = options[mass > 0.0]
        mass = mass[mass > 0.0]
        moves = self.moves.shifts[places, options]
        shift = np.linalg.norm(moves, axis=1)
        direction = moves / np.where(shift > 0.0, shift, 1.0)[:, None]
        if self.problem.feature_cost is None:
            direction = direction
        else:
            direction = direction / self.problem.feature_cost
        atoms = Atoms(self._used[places], mass, self.moves.codes[places, options])
        return Attack(atoms, shift, direction, None, attained=False)


def _of_length(directions, lengths) -> np.ndarray:
    """Return vectors of given lengths; 0 stays 0."""
    sizes = np.linalg.norm(directions, axis=1)
    return (
        directions
        * np.divide(lengths, sizes, out=np.zeros_like(sizes), where=sizes > 0.0)[
            :, None
        ]
    )
