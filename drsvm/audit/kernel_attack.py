"""Shifts of rows that harm a classifier with a kernel: a lower bound on the worst case.

`attacked_risk` and the worst-case distribution of such a classifier need them. Each row
is moved by projected gradients within balls of several sizes, with its own label or a
flipped one. How the budget is best spent on the moves that were
found is exact: what counts is the concave envelope of the losses of a row over their
costs, and the steepest parts of all rows come first.
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
# Gradient steps in a ball
STEPS = 12
# Bisection steps on the way to the boundary
HALVINGS = 25
# Number of values of the kernel that are computed at a time
MAX_VALUES = 80_000


class _Moves(NamedTuple):
    """What can be done to each row, one option per column; the first is nothing."""

    # Labels by their places among the classes, of shape (n, options)
    codes: np.ndarray
    # In units of cost, of shape (n, options, d)
    shifts: np.ndarray
    costs: np.ndarray
    losses: np.ndarray


class _Spending(NamedTuple):
    """In which order the budget is spent: changes of rows to costlier options."""

    # The worst option of each row that costs nothing
    start: np.ndarray
    # Of each change: the row and the new option
    rows: np.ndarray
    options: np.ndarray
    # Total cost and gain up to and including each change
    costs: np.ndarray
    gains: np.ndarray


@dataclass(frozen=True, eq=False)
class KernelAttack(KernelAdversary):
    """What an adversary can do at least, by the moves that were found."""

    @cached_property
    def _points(self) -> np.ndarray:
        return dense(self.kernel.scaled(self.data.X))

    @cached_property
    def _landmarks(self) -> np.ndarray:
        return dense(self.kernel.landmarks)

    @cached_property
    def _used(self) -> np.ndarray:
        return np.flatnonzero(self.data.weights > 0)

    def _margins(self, rows, codes, shifts) -> tuple[np.ndarray, np.ndarray]:
        """Return the margins of shifted rows, and their gradients in units of cost."""
        kernel = self.kernel
        points = self._points[rows] + self.ratios * shifts
        terms = self.function.values(points, self._landmarks)
        values = kernel.coef @ terms.T + kernel.intercept[:, None]
        margins = margins_of(values, codes)
        values[codes, np.arange(len(codes))] = -np.inf
        runner_up = values.argmax(axis=0)
        terms *= kernel.coef[codes] - kernel.coef[runner_up]
        gradients = self.function.gradients(points, self._landmarks, terms)
        return margins, self.ratios * gradients

    def _descended(self, rows, codes, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the shifts with the lowest margins on the way of projected gradients.

        The margins follow. Shifts are no longer than the radius of the ball.
        """
        shifts = np.zeros((len(rows), len(self.ratios)))
        best = shifts
        lowest, slopes = self._margins(rows, codes, shifts)
        for step in range(STEPS + 1):
            # The first step goes to the boundary of the ball, down the gradient.
            shifts = shifts - _of_length(slopes, radius / max(1.0, 0.5 + 0.5 * step))
            sizes = np.linalg.norm(shifts, axis=1)
            shifts = shifts * (radius / np.maximum(sizes, radius))[:, None]
            margins, slopes = self._margins(rows, codes, shifts)
            better = margins < lowest
            best = np.where(better[:, None], shifts, best)
            lowest = np.minimum(margins, lowest)
        return best, lowest

    def _lowest(self, rows, codes) -> tuple[np.ndarray, np.ndarray]:
        """Return shifts of rows with low margins, (n, balls, d), and these margins."""
        shape = (len(rows), len(BALL_RADII))
        shifts = np.zeros((*shape, len(self.ratios)))
        margins = np.zeros(shape)
        radii = BALL_RADII / (self.function.lipschitz * (self.stretch or 1.0))
        for part in slices(len(rows), max(1, MAX_VALUES // (1 + len(self._landmarks)))):
            for ball, radius in enumerate(radii):
                found = self._descended(rows[part], codes[part], radius)
                shifts[part, ball], margins[part, ball] = found
        return shifts, margins

    @cached_property
    def _lowest_unflipped(self) -> tuple[np.ndarray, np.ndarray]:
        return self._lowest(self._used, self.data.codes[self._used])

    @cached_property
    def distances(self) -> np.ndarray:
        """The length of the shortest shift across the boundary found for each row."""
        distances = np.where(self.data.margins > 0, np.inf, 0.0)
        shifts, margins = self._lowest_unflipped
        lengths = np.where(margins <= 0.0, np.linalg.norm(shifts, axis=2), np.inf)
        turned = np.isfinite(lengths).any(axis=1) & (distances[self._used] > 0)
        rows = self._used[turned]
        if len(rows) == 0:
            return distances
        ways = shifts[turned, lengths[turned].argmin(axis=1)]
        shares = self._up_to_boundary(rows, self.data.codes[rows], ways)
        distances[rows] = shares * np.linalg.norm(ways, axis=1)
        return distances

    def _up_to_boundary(self, rows, codes, ways) -> np.ndarray:
        """Return the share of ways across the boundary that is needed, by bisection."""
        inside = np.zeros(len(rows))
        across = np.ones(len(rows))
        for _ in range(HALVINGS):
            middle = 0.5 * (inside + across)
            turned = self._margins(rows, codes, middle[:, None] * ways)[0] <= 0.0
            inside = np.where(turned, inside, middle)
            across = np.where(turned, middle, across)
        return across

    @cached_property
    def _moves(self) -> _Moves:
        rows = self._used
        codes = self.data.codes[rows]
        options = self._options(codes, *self._lowest_unflipped, np.zeros(len(rows)))
        flip_costs = self.problem.flip_costs[rows]
        if not np.isfinite(flip_costs).any():
            return options
        flipped = self.data.worst_flips(rows)
        of_flips = self._options(flipped, *self._lowest(rows, flipped), flip_costs)
        pairs = zip(options, of_flips, strict=True)
        return _Moves(*(np.concatenate(pair, axis=1) for pair in pairs))

    def _options(self, codes, shifts, margins, flip_costs) -> _Moves:
        """Return the options of rows with given labels: to stay, or a move."""
        stay = margins_of(self.data.values[:, self._used], codes)
        margins = np.column_stack([stay, margins])
        shifts = np.concatenate([np.zeros_like(shifts[:, :1]), shifts], axis=1)
        return _Moves(
            np.repeat(codes[:, None], margins.shape[1], axis=1),
            shifts,
            np.linalg.norm(shifts, axis=2) + flip_costs[:, None],
            np.maximum(1.0 - margins, 0.0),
        )

    @cached_property
    def _spending(self) -> _Spending:
        costs = self._moves.costs.T
        losses = self._moves.losses.T
        weights = self.data.weights[self._used]
        corners = np.array(list(envelope(costs, losses)))
        changed = np.nonzero(corners[1:] != corners[:-1])
        paid = np.take_along_axis(costs, corners, axis=0)
        lost = np.take_along_axis(losses, corners, axis=0)
        dearer = np.diff(paid, axis=0)[changed]
        worse = np.diff(lost, axis=0)[changed]
        order = np.argsort(-worse / dearer, kind="stable")
        rows = changed[1][order]
        return _Spending(
            start=corners[0],
            rows=rows,
            options=corners[1:][changed][order],
            costs=np.cumsum(weights[rows] * dearer[order]),
            gains=np.cumsum(weights[rows] * worse[order]),
        )

    def hinge_risks(self, radii: np.ndarray) -> np.ndarray:
        """Return the expected loss that the moves reach for every radius."""
        spending = self._spending
        free_losses = values_at(self._moves.losses.T, spending.start)
        unpaid = float(self.data.weights[self._used] @ free_losses)
        costs = np.append(0.0, spending.costs)
        return unpaid + np.interp(radii, costs, np.append(0.0, spending.gains))

    def worst_attack(self, slack: float) -> Attack:
        """Return the worst attack found: it uses the budget up, and may split a row."""
        spending = self._spending
        radius = self.problem.radius
        mass = self.data.weights[self._used]
        n_paid = int(
            np.searchsorted(spending.costs, radius * (1.0 + TIE), side="right")
        )
        places = np.arange(len(spending.start))
        options = spending.start.copy()
        # Of several changes of a row, the last one counts.
        options[spending.rows[:n_paid]] = spending.options[:n_paid]
        if n_paid < len(spending.rows):
            # A part of the next change is affordable.
            row = spending.rows[n_paid]
            before = spending.costs[n_paid - 1] if n_paid else 0.0
            share = max(radius - before, 0.0) / (spending.costs[n_paid] - before)
            places = np.append(places, row)
            options = np.append(options, spending.options[n_paid])
            mass = np.append(mass, share * mass[row])
            mass[row] *= 1.0 - share
        kept = mass > 0.0
        places = places[kept]
        options = options[kept]
        moves = self._moves.shifts[places, options]
        shift = np.linalg.norm(moves, axis=1)
        direction = moves / np.where(shift > 0.0, shift, 1.0)[:, None]
        if self.problem.feature_cost is not None:
            direction = direction / self.problem.feature_cost
        codes = self._moves.codes[places, options]
        atoms = Atoms(self._used[places], mass[kept], codes)
        return Attack(atoms, shift, direction, pair=None, attained=False)


def _of_length(directions, length: float) -> np.ndarray:
    """Return vectors of a given length; 0 stays 0."""
    sizes = np.linalg.norm(directions, axis=1)
    return directions * (length / np.where(sizes > 0.0, sizes, 1.0))[:, None]
