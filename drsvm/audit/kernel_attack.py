"""Shifts of rows that harm a classifier with a kernel: a lower bound on the worst case.

`attacked_risk`, the bands of `RiskCurveDisplay` and the worst-case distribution of such
a classifier need them: the upper bound alone does not say how much of it is slack.

Each row is moved by projected gradients [1]_ within balls of several sizes, with its
own label or a flipped one. How the budget is best spent on the moves that were found is
exact: what counts is the concave envelope of the losses of a row over their costs, and
the steepest parts of all rows come first.

References
----------
.. [1] A. Madry, A. Makelov, L. Schmidt, D. Tsipras and A. Vladu, "Towards deep learning
   models resistant to adversarial attacks", ICLR 2018.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from drsvm.audit.adversary import Atoms, Attack
from drsvm.audit.decision_values import margins_of, runners_up
from drsvm.audit.error_costs import envelope, largest_gains
from drsvm.audit.kernel_adversary import KernelAdversary
from drsvm.problem.memory_rows import dense
from drsvm.problem.risk import TIE
from drsvm.utils.lazy import cached_property
from drsvm.utils.parallel import slices

# The radii of the balls that rows are moved in, in units of 1/L
BALL_RADII = np.geomspace(0.05, 8.0, 8)
# Number of gradient steps in a ball
STEPS = 12
# Bisection steps on the way to the boundary, which leave 3e-8 of it
HALVINGS = 25
# Number of values of the kernel that are computed at a time
MAX_VALUES = 80_000


class _Moves(NamedTuple):
    """What can be done to each row, one option per line; the first is nothing."""

    # Labels by their places among the classes, of shape (options, n)
    codes: np.ndarray
    # In units of cost, of shape (options, n, d)
    shifts: np.ndarray
    # Of shape (options, n)
    costs: np.ndarray
    losses: np.ndarray


@dataclass(frozen=True, eq=False)
class KernelAttack(KernelAdversary):
    """What an adversary can do at least, by the moves that were found."""

    @cached_property
    def _points(self) -> np.ndarray:
        """The rows as the kernel takes them."""
        return dense(self.kernel.scaled(self.data.X))

    @cached_property
    def _landmarks(self) -> np.ndarray:
        return dense(self.kernel.landmarks)

    def _margins(
        self,
        rows: slice | np.ndarray,
        codes: np.ndarray,
        shifts: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the margins of shifted rows, and their gradients in units of cost."""
        coef = self.data.coef
        points = self._points[rows] + self.ratios * shifts
        terms = self.function.values(points, self._landmarks)
        values = coef @ terms.T + self.data.intercept[:, None]
        margins = margins_of(values, codes)
        # The margin is the lead over the runner-up, a sum over the landmarks.
        terms *= coef[codes] - coef[runners_up(values, codes)]
        gradients = self.function.gradients(points, self._landmarks, terms)
        return margins, self.ratios * gradients

    def _descended(
        self,
        rows: slice,
        codes: np.ndarray,
        radius: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the shifts with the lowest margins on the way of projected gradients.

        The margins follow. Shifts are no longer than the radius of each row's ball.
        """
        shifts = np.zeros((len(codes), len(self.ratios)))
        best = shifts
        lowest, slopes = self._margins(rows, codes, shifts)
        for step in range(STEPS + 1):
            # The first step goes to the boundary of the ball, down the gradient. Later
            # ones are shorter, so that they settle.
            length = radius / max(1.0, 0.5 + 0.5 * step)
            shifts = shifts - _of_length(slopes, length)
            # The projection onto the ball
            sizes = np.linalg.norm(shifts, axis=1)
            shifts = shifts * (radius / np.maximum(sizes, radius))[:, None]
            margins, slopes = self._margins(rows, codes, shifts)
            better = margins < lowest
            best = np.where(better[:, None], shifts, best)
            lowest = np.minimum(margins, lowest)
        return best, lowest

    def _lowest(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return shifts of rows with low margins, (balls, n, d), and these margins.

        The rows have the labels `codes`.
        """
        n = len(codes)
        balls = BALL_RADII / (self.function.lipschitz * (self.stretch or 1.0))
        radii = np.repeat(balls[:, None], n, axis=1)
        if self.problem.has_row_radius:
            # Rows that do not move for nothing have a ball that is almost a point.
            radii = np.vstack([radii, np.maximum(self.row_radii, 1e-9 * balls[0])])
        margins = np.zeros(radii.shape)
        shifts = np.zeros((*margins.shape, len(self.ratios)))
        size = max(1, MAX_VALUES // (1 + len(self._landmarks)))
        for part in slices(n, size):
            for ball, radius in enumerate(radii):
                found = self._descended(part, codes[part], radius[part])
                shifts[ball, part], margins[ball, part] = found
        return shifts, margins

    @cached_property
    def distances(self) -> np.ndarray:
        """The length of the shortest shift across the boundary found for each row."""
        codes = self.data.codes
        shifts, margins = self._lowest(codes)
        lengths = np.linalg.norm(shifts, axis=2)
        lengths[margins > 0.0] = np.inf
        shortest = lengths.argmin(axis=0)
        is_right = self.data.margins > 0
        distances = np.where(is_right, np.inf, 0.0)
        rows = np.flatnonzero(is_right & np.isfinite(lengths).any(axis=0))
        if len(rows) == 0:
            return distances
        ways = shifts[shortest[rows], rows]
        # Bisection finds the share of each way that is needed.
        inside = np.zeros(len(rows))
        across = np.ones(len(rows))
        for _ in range(HALVINGS):
            middle = 0.5 * (inside + across)
            margins, _ = self._margins(rows, codes[rows], middle[:, None] * ways)
            turned = margins <= 0.0
            inside = np.where(turned, inside, middle)
            across = np.where(turned, middle, across)
        distances[rows] = across * np.linalg.norm(ways, axis=1)
        return distances

    def _moves(self) -> _Moves:
        """Return the options of all rows, with their labels and with flipped ones."""
        codes = self.data.codes
        moves = self._moves_of(codes, np.zeros(len(codes)))
        flip_costs = self.problem.flip_costs
        if not np.isfinite(flip_costs).any():
            return moves
        flips = self.data.worst_flips(np.arange(len(codes)))
        pairs = zip(moves, self._moves_of(flips, flip_costs), strict=True)
        return _Moves(*map(np.concatenate, pairs))

    def _moves_of(self, codes: np.ndarray, flip_costs: np.ndarray) -> _Moves:
        """Return the options of rows with given labels: to stay, or to be shifted."""
        shifts, margins = self._lowest(codes)
        margins = np.vstack([margins_of(self.data.values, codes), margins])
        shifts = np.concatenate([np.zeros_like(shifts[:1]), shifts])
        # A move within the ball of a row is free in spite of rounding.
        paid = np.linalg.norm(shifts, axis=2) - self.row_radii * (1.0 + TIE)
        return _Moves(
            codes=np.broadcast_to(codes, margins.shape),
            shifts=shifts,
            costs=np.maximum(paid, 0.0) + flip_costs,
            losses=np.maximum(1.0 - margins, 0.0),
        )

    def hinge_risks(self, radii: np.ndarray) -> np.ndarray:
        """Return the expected loss that the moves reach for every radius."""
        moves = self._moves()
        return largest_gains(moves.costs, moves.losses, self.data.weights, radii)

    def worst_attack(self, slack: float) -> Attack:
        """Return the worst attack found: it uses the budget up, and may split a row."""
        moves = self._moves()
        rows, mass, options = self._best_options(moves)
        shifts = moves.shifts[options, rows]
        direction = _of_length(shifts, 1.0)
        if self.problem.feature_cost is not None:
            direction = direction / self.problem.feature_cost
        atoms = Atoms(rows, mass, moves.codes[options, rows])
        length = np.linalg.norm(shifts, axis=1)
        return Attack(atoms, length, direction, pair=None, attained=False)

    def _best_options(self, moves: _Moves) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows of atoms, their mass, and the option that each has.

        It is the solution of the knapsack whose value `hinge_risks` returns.
        """
        mass = self.data.weights.copy()
        corners = np.array(list(envelope(moves.costs, moves.losses)))
        # Changes from one corner of a row's envelope to the next, the steepest first
        steps, rows = np.nonzero((corners[1:] != corners[:-1]) & (mass > 0.0))
        before = corners[steps, rows]
        after = corners[steps + 1, rows]
        costs = moves.costs[after, rows] - moves.costs[before, rows]
        losses = moves.losses[after, rows] - moves.losses[before, rows]
        dearer = mass[rows] * costs
        worse = mass[rows] * losses
        order = np.argsort(-worse / dearer, kind="stable")
        spent = np.append(0.0, np.cumsum(dearer[order]))
        # The number of changes that the budget pays for
        radius = self.problem.radius
        affordable = radius * (1.0 + TIE)
        n_paid = int(np.searchsorted(spent[1:], affordable, side="right"))
        paid = order[:n_paid]
        places = np.arange(len(mass))
        options = corners[0].copy()
        # Of several changes of a row, the last one counts.
        options[rows[paid]] = after[paid]
        if n_paid < len(order):
            # A part of the next change is affordable: its row becomes two atoms.
            change = order[n_paid]
            row = rows[change]
            share = max(radius - spent[n_paid], 0.0) / dearer[change]
            places = np.append(places, row)
            options = np.append(options, after[change])
            mass = np.append(mass, share * mass[row])
            mass[row] *= 1.0 - share
        kept = mass > 0.0
        return places[kept], mass[kept], options[kept]


def _of_length(directions: np.ndarray, length: float | np.ndarray) -> np.ndarray:
    """Return vectors of a given length; 0 stays 0."""
    sizes = np.linalg.norm(directions, axis=1)
    return directions * (length / np.where(sizes > 0.0, sizes, 1.0))[:, None]
