"""What an adversary can do, within a ball, to the rows on which a classifier compares the values of its classes.

A row labelled k has the loss max(1 − m, 0) with m = f_k − max_{j ≠ k} f_j. Moves
towards a class j increase it by up to ‖(w_j − w_k)/a‖_q per unit. With the budget ε,
the adversary flips the labels of mass β_i at a cost of κ_i each, and spends the rest, e
= ε − Σ κ_i β_i, on moves between the two classes with the highest such rate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from drsvm.problem.problem import Problem
from drsvm.problem.risk import TIE, flip_gains, smallest_best_price, worst_case_hinge
from drsvm.utils.annotations import Matrix

# Parameters by name, as `drsvm.Problem` takes them; `radius` may have several values
AdversaryParameters: TypeAlias = dict[str, Any]
# A decision with one value f, for two classes or one against the rest, is −f/2 and f/2
PAIR = np.array([-0.5, 0.5])


@dataclass(frozen=True, eq=False)
class DecisionValues:
    """The decision values f_k of all classes on the data to evaluate.

    The largest one decides.
    """

    X: Matrix
    codes: np.ndarray  # the place of each row's label among the classes
    weights: np.ndarray
    values: np.ndarray  # of shape (number of classes, n)
    coef: np.ndarray  # of shape (number of classes, d)
    intercept: np.ndarray
    classes: np.ndarray
    trained_parameters: (
        AdversaryParameters  # what a classifier of this library was trained with
    )
    names: Sequence[str] | None  # of the features

    def at(self, X: Matrix) -> np.ndarray:
        """Return the decision values of other rows, of shape (number of classes, number of rows)."""
        return (X @ self.coef.T + self.intercept).T

    @cached_property
    def margins(self) -> np.ndarray:
        """m_i = f_y − max_{j ≠ y} f_j, by which the label of each row leads."""
        return margins_of(self.values, self.codes)

    @cached_property
    def flip_margins(self) -> np.ndarray:
        """The margins with which flips would gain as much if there were two classes.

        A flip to the lowest other class, which hurts most, turns the loss (1 − m)₊ into
        1 + m′, where m′ = max_j f_j − min_{j ≠ y} f_j. With two classes and the margin
        g it would gain min(2g, 1 + g).
        """
        if len(self.values) == 2:
            return self.margins
        margins = self.margins
        flipped = self.values.max(axis=0) + _largest_other(-self.values, self.codes)
        both = margins + flipped
        return np.where(margins > 1.0, flipped, np.maximum(0.5 * both, both - 1.0))

    def worst_flips(self, rows: np.ndarray) -> np.ndarray:
        """Return the lowest class of some rows other than that of the label: no other flip hurts more."""
        values = self.values[:, rows]
        values[self.codes[rows], np.arange(len(rows))] = np.inf
        return values.argmin(axis=0)


def values_at(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the value of the given class in every column."""
    return values[codes, np.arange(len(codes))]


def margins_of(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return by how much the value of the given class exceeds the largest other one, for every column."""
    return values_at(values, codes) - _largest_other(values, codes)


def _largest_other(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    largest = np.full(len(codes), -np.inf)
    for label, row in enumerate(values):
        np.maximum(largest, row, out=largest, where=codes != label)
    return largest


class Atoms(NamedTuple):
    """Parts of rows: the row each comes from, its mass, and the place of its label among the classes."""

    rows: np.ndarray
    mass: np.ndarray
    codes: np.ndarray


class Attack(NamedTuple):
    """Atoms, how far they move, and where: between two classes, or each its own way (pair=None)."""

    atoms: Atoms
    shift: np.ndarray
    direction: np.ndarray
    pair: tuple[int, int] | None
    attained: bool  # False if another attack would be worse


@dataclass(frozen=True, eq=False)
class Adversary:
    """The worst case for decision values within the ball of a problem with the same rows."""

    data: DecisionValues
    problem: Problem

    @cached_property
    def rates(self) -> np.ndarray:
        """‖(w_j − w_k)/a‖_q for all pairs of classes."""
        coef = self.data.coef
        intercept = self.data.intercept
        rates = np.zeros((len(coef), len(coef)))
        for j, k in zip(*np.tril_indices(len(coef), -1), strict=True):
            rates[j, k] = rates[k, j] = self.rate_of(
                coef[j] - coef[k], intercept[j] - intercept[k]
            )
        return rates

    def rate_of(self, w: np.ndarray, b: float) -> float:
        """Return the highest rate at which a shift changes a difference of two values."""
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
        """The highest rate at which a shift can increase a loss, the least price λ of the radius."""
        return float(self.rates[self._labels].max())

    @cached_property
    def _steepest(self) -> list[tuple[int, int]]:
        steep = np.zeros(self.rates.shape, dtype=bool)
        steep[self._labels] = self.rates[self._labels] >= self.rate * (1.0 - TIE)
        return [(int(j), int(k)) for j, k in np.argwhere(np.tril(steep | steep.T, -1))]

    def reaches(self, codes: np.ndarray) -> np.ndarray:
        """Return how far rows of the given classes are from the boundary of each class: NaN where no shift matters."""
        with np.errstate(
            divide="ignore", invalid="ignore"
        ):  # the same weights: no shift changes the lead
            reaches = (
                values_at(self.data.values, codes) - self.data.values
            ) / self.rates[:, codes]
        reaches[codes, np.arange(len(codes))] = np.inf
        return reaches

    @cached_property
    def distances(self) -> np.ndarray:
        """What it costs to shift each row to the boundary of another class.

        0 if it is on the wrong side.
        """
        return np.where(
            self.data.margins > 0, self.reaches(self.data.codes).min(axis=0), 0.0
        )

    def hinge_risks(self, radii: np.ndarray) -> np.ndarray:
        """Return the largest expected loss for every radius."""
        data = self.data
        cost = self.problem.flip_cost
        return worst_case_hinge(
            data.margins, data.weights, self.rate, radii, cost, data.flip_margins
        )

    def worst_attack(self, slack: float) -> Attack:
        """Return an attack with the largest expected loss, or within `slack` of it if none has."""
        share = self._flipped_share()
        atoms = self._split(share)
        pair = self._steepest[0]
        attained = True
        shift = np.zeros(len(atoms.rows))
        left = self.problem.radius - self.problem.cost_of_flips(
            self.data.weights * share
        )
        if left > TIE * self.problem.radius and self.rate > 0:
            pair = next(
                (each for each in self._steepest if self._movable(atoms, each).any()),
                None,
            )
            if pair is None:
                atoms, shift, pair, attained = self._move_little_mass_far(
                    atoms, left, slack
                )
            else:
                moved = self._movable(atoms, pair)
                shift = np.where(moved, left / atoms.mass[moved].sum(), 0.0)
        if self.problem.feature_cost is None:
            costs = 1.0
        else:
            costs = self.problem.feature_cost
        lead = self.data.coef[pair[0]] - self.data.coef[pair[1]]
        return Attack(
            atoms,
            shift,
            self.problem.norm.worst_direction(lead / costs) / costs,
            pair,
            attained,
        )

    def _flipped_share(self) -> np.ndarray:
        """Return the share of each row whose label the adversary flips."""
        problem = self.problem
        margins = self.data.flip_margins
        weights = problem.sample_weight
        costs = problem.flip_costs
        gains = flip_gains(margins)
        price = float(
            smallest_best_price(
                margins, weights, self.rate, problem.radius, problem.flip_cost
            )
        )
        share = ((costs == 0) & (gains > 0)).astype(np.float64)
        priced = problem.can_flip & (costs > 0)
        if not priced.any():
            return share
        breakpoints = np.full(len(gains), -np.inf)
        breakpoints[priced] = gains[priced] / costs[priced]
        share[breakpoints > price] = 1.0
        tied = (breakpoints == price) & (weights > 0)
        if not tied.any():
            return share
        unflipped = self._split(np.zeros(len(gains)))
        # At the least price a tied flip gains as much as a move; it is needed only if
        # there is nothing to move.
        if price > self.rate or not any(
            self._movable(unflipped, pair).any() for pair in self._steepest
        ):
            unit = float(costs[priced].max())
            slopes = weights * (np.where(priced, costs, 0.0) / unit)
            budget = problem.radius / unit
            left = budget - float(slopes @ share)
            if left > TIE * budget:
                share[tied] = min(left / slopes[tied].sum(), 1.0)
        return share

    def _split(self, share: np.ndarray) -> Atoms:
        """Return the atoms: a partly flipped row becomes two."""
        weights = self.data.weights
        kept = np.flatnonzero((share < 1) & (weights > 0))
        flipped = np.flatnonzero((share > 0) & (weights > 0))
        mass = np.concatenate(
            [weights[kept] * (1 - share[kept]), weights[flipped] * share[flipped]]
        )
        codes = np.concatenate([self.data.codes[kept], self.data.worst_flips(flipped)])
        return Atoms(np.concatenate([kept, flipped]), mass, codes)

    def _movable(self, atoms: Atoms, pair: tuple[int, int]) -> np.ndarray:
        """Return which atoms lose most at once when they are moved from their class of the pair to the other."""
        starts = [
            (atoms.codes == label) & (forgone <= 0)
            for label, forgone in self._forgone(atoms, pair)
        ]
        return starts[0] | starts[1]

    def _forgone(
        self, atoms: Atoms, pair: tuple[int, int]
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield both classes of a pair, and by how much the losses exceed 1 − m for this class and the other one."""
        values = self.data.values[:, atoms.rows]
        margins = margins_of(values, atoms.codes)
        for label, other in (pair, pair[::-1]):
            lead = values[label] - values[other]
            yield label, np.maximum(lead - margins, lead - 1.0)

    def _move_little_mass_far(self, atoms: Atoms, left: float, slack: float):
        """Split the atom that forgoes least, flip a part of it if need be, and move it as far as the budget allows."""
        options = []
        own = self.data.codes[atoms.rows]
        for pair in self._steepest:
            for label, forgone in self._forgone(atoms, pair):
                # The label costs a flip, nothing, or less than nothing where one is
                # undone.
                flips = 1.0 * (own != label) - (own != atoms.codes)
                prices = self.problem.flip_costs[atoms.rows]
                costs = np.multiply(
                    flips, prices, out=np.zeros(len(own)), where=flips != 0
                )
                forgone = forgone + self.rate * costs
                best = int(np.lexsort((forgone, costs > 0))[0])
                options.append(
                    (
                        costs[best] > 0,
                        float(forgone[best]),
                        best,
                        label,
                        float(costs[best]),
                        pair,
                    )
                )
        _, forgone, best, label, cost, pair = min(options)
        part = min(
            atoms.mass[best],
            slack / max(forgone, slack),
            left / cost if cost > 0 else np.inf,
        )
        atoms.mass[best] -= part
        added = (atoms.rows[best], part, label)
        atoms = Atoms(
            *(
                np.append(values, value)
                for values, value in zip(atoms, added, strict=True)
            )
        )
        return (
            atoms,
            np.append(np.zeros(len(atoms.rows) - 1), left / part - cost),
            pair,
            forgone <= 0,
        )
