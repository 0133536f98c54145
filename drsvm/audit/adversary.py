"""What an adversary within a ball can do to rows on which the classes are compared.

A row labelled k has the loss max(1 − m, 0) with m = f_k − max_{j ≠ k} f_j [1]_. With
the costs a of the features, moves towards a class j increase it by up to ‖(w_j −
w_k)/a‖_q per unit. With the budget ε, the adversary flips the labels of mass β_i at a
cost of κ_i each, and spends the rest, e = ε − Σ κ_i β_i, on moves between the two
classes with the highest such rate. By how much one class leads another is f_k − f_j.
Before that, every row may move by r_i for nothing, towards the class for which its loss
is then the largest.

That no distribution in the ball is worse follows from duality [2]_, [3]_: the worst
case is the minimum over the price λ of the radius of ε λ plus the expectation of the
largest loss less λ times its cost, and the loss is piecewise linear [4]_.

References
----------
.. [1] K. Crammer and Y. Singer, "On the algorithmic implementation of multiclass
   kernel-based vector machines", Journal of Machine Learning Research 2, 2001.
.. [2] P. Mohajerin Esfahani and D. Kuhn, "Data-driven distributionally robust
   optimization using the Wasserstein metric", Mathematical Programming 171, 2018.
.. [3] J. Blanchet and K. Murthy, "Quantifying distributional model risk via optimal
   transport", Mathematics of Operations Research 44, 2019.
.. [4] S. Shafieezadeh-Abadeh, D. Kuhn and P. Mohajerin Esfahani, "Regularization via
   mass transportation", Journal of Machine Learning Research 20, 2019.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from drsvm.audit.decision_values import DecisionValues, values_at
from drsvm.problem.problem import Problem
from drsvm.problem.risk import TIE, flip_gains, smallest_best_price, worst_case_hinge
from drsvm.utils.lazy import cached_property


class Atoms(NamedTuple):
    """Parts of rows: the row each comes from, its mass and its (flipped) label."""

    rows: np.ndarray
    mass: np.ndarray
    # The places of the labels among the classes
    codes: np.ndarray


class Attack(NamedTuple):
    """Atoms, how far they move, and where."""

    atoms: Atoms
    # The length of each atom's move, in units of cost
    shift: np.ndarray
    # Of shape (d,)
    direction: np.ndarray
    # The classes between which atoms move
    pair: tuple[int, int]
    # False if another attack would be worse
    attained: bool


@dataclass(frozen=True, eq=False)
class Adversary:
    """The worst case for decision values in the ball of a problem with these rows."""

    data: DecisionValues
    problem: Problem

    @cached_property
    def rates(self) -> np.ndarray:
        """‖(w_j − w_k)/a‖_q for all pairs of classes, a symmetric matrix."""
        coef = self.data.coef
        intercept = self.data.intercept
        n_classes = len(coef)
        rates = np.zeros((n_classes, n_classes))
        for j in range(n_classes):
            for k in range(j):
                rate = self.rate_of(coef[j] - coef[k], intercept[j] - intercept[k])
                rates[j, k] = rate
                rates[k, j] = rate
        return rates

    def rate_of(self, w: np.ndarray, b: float) -> float:
        """Return the highest rate at which a shift changes a difference of values."""
        return self.problem.norm_of(w, b)

    @cached_property
    def _labels(self) -> np.ndarray:
        """The classes that some mass belongs to, or can be flipped to."""
        used = self.data.weights > 0
        if np.isfinite(self.problem.flip_costs[used]).any():
            return np.arange(len(self.data.coef))
        return np.unique(self.data.codes[used])

    @cached_property
    def rate(self) -> float:
        """The highest rate at which a shift can increase a loss.

        It is the least radius price λ.
        """
        return float(self.rates[self._labels].max())

    @cached_property
    def _steepest(self) -> list[tuple[int, int]]:
        """The pairs of classes between which shifts have the highest rate."""
        steep = np.zeros(self.rates.shape, dtype=bool)
        least = self.rate * (1.0 - TIE)
        steep[self._labels] = self.rates[self._labels] >= least
        pairs = np.argwhere(np.tril(steep | steep.T, -1))
        return [(int(j), int(k)) for j, k in pairs]

    def distances_to_classes(self, codes: np.ndarray) -> np.ndarray:
        """Return how far rows of given classes are from the boundary to each class.

        The array has the shape (number of classes, n). It is infinite for the row's own
        class, and NaN or infinite where both classes have the same weights, so that no
        shift changes the lead.
        """
        leads = values_at(self.data.values, codes) - self.data.values
        with np.errstate(divide="ignore", invalid="ignore"):
            distances = leads / self.rates[:, codes]
        distances[codes, np.arange(len(codes))] = np.inf
        return distances

    @property
    def row_radii(self) -> np.ndarray:
        """How far each row may move for nothing."""
        return np.broadcast_to(self.problem.row_radius, self.data.codes.shape)

    def _leads_after(self, rows: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return by how much given labels of rows lead each class after free moves.

        Each row has moved towards that class. An array of shape (number of classes,
        number of rows), with inf for the labels themselves.
        """
        values = self.data.values[:, rows]
        leads = values_at(values, codes) - values
        leads -= self.row_radii[rows] * self.rates[:, codes]
        leads[codes, np.arange(len(codes))] = np.inf
        return leads

    @cached_property
    def margins(self) -> np.ndarray:
        """The margins after every row has moved for nothing."""
        codes = self.data.codes
        return self._leads_after(np.arange(len(codes)), codes).min(axis=0)

    @cached_property
    def distances(self) -> np.ndarray:
        """What it costs to shift each row to the boundary of another class.

        0 if it is on the wrong side.
        """
        nearest = self.distances_to_classes(self.data.codes).min(axis=0)
        return np.where(self.data.margins > 0, nearest, 0.0)

    def hinge_risks(self, radii: np.ndarray) -> np.ndarray:
        """Return the largest expected loss for every radius."""
        data = self.data
        return worst_case_hinge(
            self.margins,
            data.weights,
            self.rate,
            radii,
            self.problem.flip_cost,
            data.flip_margins,
        )

    def worst_attack(self, slack: float) -> Attack:
        """Return an attack with the largest expected loss, or one within `slack`.

        The latter is returned if no attack has the largest loss.
        """
        problem = self.problem
        # Flips first, since they are paid before anything is moved
        flipped_share = self._flipped_share()
        atoms = self._split(flipped_share)
        flipped_mass = self.data.weights * flipped_share
        left = problem.radius - problem.cost_of_flips(flipped_mass)
        if left <= TIE * problem.radius or self.rate == 0.0:
            unmoved = np.zeros(len(atoms.rows))
            return self._attack(atoms, unmoved, self._steepest[0], attained=True)
        pair = self._first_movable_pair(atoms)
        if pair is None:
            return self._move_little_mass_far(atoms, left, slack)
        # What is left moves all atoms that lose at the highest rate at once, by the
        # same distance.
        moved = self._movable(atoms, pair)
        shift = np.where(moved, left / atoms.mass[moved].sum(), 0.0)
        return self._attack(atoms, shift, pair, attained=True)

    def _attack(
        self,
        atoms: Atoms,
        shift: np.ndarray,
        pair: tuple[int, int],
        *,
        attained: bool,
    ) -> Attack:
        """Return the attack that moves atoms between two classes.

        Shifts are those that cost something: free moves are added.
        """
        first, second = pair
        coef = self.data.coef
        direction = self.shift_direction(coef[first] - coef[second])
        if not self.problem.has_row_radius:
            return Attack(atoms, shift, direction, pair, attained)
        if len(coef) > 2:
            raise ValueError(
                "row_radius: rows of several classes would move in several directions; "
                "choose one class against the rest with positive=."
            )
        # Rows whose loss remains 0 need not move.
        leads = self._leads_after(atoms.rows, atoms.codes)
        moves = (shift > 0.0) | (leads.min(axis=0) < 1.0)
        moves &= self.rate > 0.0
        lengths = np.where(moves, shift + self.row_radii[atoms.rows], 0.0)
        return Attack(atoms, lengths, direction, pair, attained)

    def shift_direction(self, w: np.ndarray) -> np.ndarray:
        """Return the shift of cost 1 that increases w·x most."""
        costs = self.problem.feature_cost
        if costs is None:
            return self.problem.norm.worst_direction(w)
        return self.problem.norm.worst_direction(w / costs) / costs

    def _flipped_share(self) -> np.ndarray:
        """Return the share of each row whose label the adversary flips."""
        problem = self.problem
        margins = self.data.flip_margins
        weights = problem.sample_weight
        costs = problem.flip_costs
        gains = flip_gains(margins)
        share = ((costs == 0) & (gains > 0)).astype(np.float64)
        with_cost = problem.can_flip & (costs > 0)
        if not with_cost.any():
            return share
        # A flip pays if its gain exceeds its cost at the best price of the radius.
        radius_price = float(
            smallest_best_price(
                margins, weights, self.rate, problem.radius, problem.flip_cost
            )
        )
        # The prices of the radius up to which the flips pay
        breakpoints = np.full(len(gains), -np.inf)
        breakpoints[with_cost] = gains[with_cost] / costs[with_cost]
        share[breakpoints > radius_price] = 1.0
        tied = (breakpoints == radius_price) & (weights > 0)
        if not tied.any():
            return share
        # At the least radius price a tied flip gains as much as a move. It is needed
        # only if there is nothing to move.
        if radius_price <= self.rate:
            unflipped = self._split(np.zeros(len(gains)))
            if self._first_movable_pair(unflipped) is not None:
                return share
        # The budget that is left is spread over the tied flips, in units of the largest
        # cost, so that huge costs cannot overflow.
        unit = float(costs[with_cost].max())
        slopes = weights * (np.where(with_cost, costs, 0.0) / unit)
        budget = problem.radius / unit
        left = budget - float(slopes @ share)
        if left > TIE * budget:
            share[tied] = min(left / slopes[tied].sum(), 1.0)
        return share

    def _split(self, flipped_share: np.ndarray) -> Atoms:
        """Return the atoms: a partly flipped row becomes two."""
        weights = self.data.weights
        kept = np.flatnonzero((flipped_share < 1) & (weights > 0))
        flipped = np.flatnonzero((flipped_share > 0) & (weights > 0))
        kept_mass = weights[kept] * (1 - flipped_share[kept])
        flipped_mass = weights[flipped] * flipped_share[flipped]
        codes = [self.data.codes[kept], self.data.worst_flips(flipped)]
        return Atoms(
            np.concatenate([kept, flipped]),
            np.concatenate([kept_mass, flipped_mass]),
            np.concatenate(codes),
        )

    def _first_movable_pair(self, atoms: Atoms) -> tuple[int, int] | None:
        """Return classes between which moves have the highest rate, if any atom can."""
        for pair in self._steepest:
            if self._movable(atoms, pair).any():
                return pair
        return None

    def _movable(self, atoms: Atoms, pair: tuple[int, int]) -> np.ndarray:
        """Return which atoms lose at the highest rate from their first step on.

        They have the label of one class of the pair, and the other one is the runner-up
        within the margin.
        """
        movable = np.zeros(len(atoms.rows), dtype=bool)
        for label, other in (pair, pair[::-1]):
            loses_at_once = self._forgone(atoms, label, other) <= 0
            movable |= (atoms.codes == label) & loses_at_once
        return movable

    def _forgone(self, atoms: Atoms, label: int, other: int) -> np.ndarray:
        """Return what atoms forgo if they move from a label to another class.

        A far move ends at the loss 1 − (f_label − f_other) plus its length times the
        rate. This is how much less that starts from than the atom's loss.
        """
        values = self.data.values[:, atoms.rows]
        free = self.row_radii[atoms.rows] * self.rates[label, other]
        lead = values[label] - values[other] - free
        margins = self._leads_after(atoms.rows, atoms.codes).min(axis=0)
        # max(1 − m, 0) − (1 − lead), exactly 0 where the other class is the runner-up
        return np.maximum(lead - margins, lead - 1.0)

    def _move_little_mass_far(self, atoms: Atoms, left: float, slack: float) -> Attack:
        """Return an attack that comes close to the worst case.

        No atom loses at the highest rate at once: moving any forgoes some loss at
        first. This matters less, the less mass is moved the farther. So the atom that
        forgoes least is split, a part of it is flipped if need be, and moved as far as
        the budget allows.
        """
        options = []
        for pair in self._steepest:
            for label, other in (pair, pair[::-1]):
                cost, forgone, best = self._least_forgone(atoms, label, other)
                # Options without a flip come first, then those that forgo least.
                options.append((cost > 0, forgone, best, label, cost, pair))
        _, forgone, best, label, cost, pair = min(options)
        # The mass that forgoes no more than the slack, and whose flip is affordable
        part = min(atoms.mass[best], slack / max(forgone, slack))
        if cost > 0:
            part = min(part, left / cost)
        atoms.mass[best] -= part
        atoms = Atoms(
            np.append(atoms.rows, atoms.rows[best]),
            np.append(atoms.mass, part),
            np.append(atoms.codes, label),
        )
        shift = np.zeros(len(atoms.rows))
        shift[-1] = left / part - cost
        return self._attack(atoms, shift, pair, attained=forgone <= 0)

    def _least_forgone(
        self,
        atoms: Atoms,
        label: int,
        other: int,
    ) -> tuple[float, float, int]:
        """Return the cost of flipping an atom to a label, what it forgoes, its place.

        It is the atom that forgoes least among those that cost least.
        """
        codes = self.data.codes[atoms.rows]
        # 1 if the label needs a flip, −1 if it undoes the flip of the atom, or 0
        flips = (codes != label).astype(np.float64) - (codes != atoms.codes)
        costs = np.zeros(len(codes))
        # Infinite costs must not meet flips of 0.
        flipped = flips != 0
        flip_costs = self.problem.flip_costs[atoms.rows]
        costs[flipped] = flips[flipped] * flip_costs[flipped]
        forgone = self._forgone(atoms, label, other) + self.rate * costs
        best = int(np.lexsort((forgone, costs > 0))[0])
        return float(costs[best]), float(forgone[best]), best
