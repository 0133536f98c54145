"""Multipliers α and β of all rows, made feasible for the dual problem.

Any multipliers, of any solver, are repaired into a feasible point in this order:

1. Clip to α, β ≥ 0 and α + β ≤ π, with β = 0 where the adversary cannot afford a flip.
2. Where weights are free of charge, change multipliers as little as possible such that
   v_j = 0 for these weights (`cancel_sums`), if this turns out to be better.
3. If the intercept is free, or if this turns out to be better, shrink the heavier of
   the two sides {α of label +, β of label −} and {α of label −, β of label +} to the
   sum of the other (`balance`): then v_0 = 0.
4. Multiply all by one factor, for which the bound is largest (`dual_bound`).

`certificate` states the dual problem and takes these steps.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.problem.problem import Problem
from drsvm.problem.risk import by_row
from drsvm.utils.annotations import Costs, Vector
from drsvm.utils.compensated_sums import ULP, compensated_transposed_dot
from drsvm.utils.parallel import elementwise, over_parts, total

# Bound on the relative error of sums of multipliers, and of products with factors:
# numpy adds numbers in pairs, so the error grows with the logarithm of their number.
ROUNDING_OF_MASSES = 32 * ULP
# `cancel_sums` factorises a matrix of multipliers by free features. These are the
# largest number of free features, and the largest product of the number of multipliers
# and the square of that of free features, which its cost is proportional to.
MAX_FEATURES = 500
MAX_WORK = 2e7
# The number of times that sums are cancelled, since each leaves rounding errors
ROUNDS = 3
# Singular values below this share of the largest belong to rounding errors.
MIN_SINGULAR = 1e-12


class DualSums(NamedTuple):
    """Sums of multipliers over two sides.

    The first is {α of label +, β of label −}, whose sum raises the intercept, the
    second {α of label −, β of label +}, whose sum lowers it.
    """

    rows: np.ndarray
    """Σ multiplier · x, of shape (d, 2)."""
    mass: np.ndarray
    """Σ multiplier, of shape (2,)."""
    flip_cost: np.ndarray
    """Σ κ β − Σ r α, of shape (2,)."""


def dual_sums(
    problem: Problem, hinge_dual: Vector, flip_dual: Vector, compensated: bool = False
) -> DualSums:
    """Return the sums of multipliers in arrays.

    Parameters
    ----------
    problem : Problem
        The problem.
    hinge_dual, flip_dual : arrays of shape (n,)
        Multipliers α and β within their bounds.
    compensated : bool
        Whether errors of v must not grow with the number of rows.

    Returns
    -------
    DualSums
        The sums over both sides.
    """
    signs = problem.signs

    def where_positive(values, others) -> Vector:
        """Return the values of rows of label +, and the others of rows of label −."""

        def choose(part):
            return np.where(signs[part] > 0, values[part], others[part])

        return elementwise(signs, choose)

    # A vector of zeros that takes no memory
    nothing = np.broadcast_to(np.zeros((), like=flip_dual), flip_dual.shape)
    # The multipliers of each side, and the α and β among them
    sides = (
        (
            where_positive(hinge_dual, flip_dual),
            where_positive(hinge_dual, nothing),
            where_positive(nothing, flip_dual),
        ),
        (
            where_positive(flip_dual, hinge_dual),
            where_positive(nothing, hinge_dual),
            where_positive(flip_dual, nothing),
        ),
    )
    sums = []
    masses = []
    costs = []
    for side, hinges, flips in sides:
        if compensated:
            sums.append(compensated_transposed_dot(problem.X, side)[0])
        else:
            sums.append(problem.rows.weighted_sum(side))
        masses.append(total(side, lambda part, side=side: side[part].sum()))
        costs.append(problem.cost_of_multipliers(hinges, flips))
    return DualSums(np.stack(sums, axis=1), np.array(masses), np.array(costs))


class Totals(NamedTuple):
    """What the dual value of multipliers depends on."""

    mass: float
    """Σ (α + β)."""
    flip_cost: float
    """Σ κ β − Σ r α."""
    v: np.ndarray
    """Σ (α − β) y x."""
    v0: float
    """Σ (α − β) y."""
    rounding: Costs
    """Bounds on the errors of v, relative to the sizes of the columns."""


def must_balance(problem: Problem) -> bool:
    """Return whether v_0 must be 0, as for a free intercept or without a norm."""
    if not problem.fit_intercept:
        return False
    return not (problem.has_intercept_cost and problem.charges_norm)


class Multipliers(ABC):
    """Multipliers with α, β ≥ 0 and α + β ≤ π, wherever the rows are.

    They are changed in place by the steps that make them feasible.
    """

    @abstractmethod
    def sides(self) -> tuple[float, float]:
        """Return the sums of the two sides (see `DualSums`)."""

    @abstractmethod
    def shrink(self, one: float, other: float) -> None:
        """Multiply the two sides by factors between 0 and 1."""

    @abstractmethod
    def totals(self, compensated: bool = False) -> Totals:
        """Return the sums over all rows.

        Errors of compensated sums do not grow with the number of rows.
        """

    @abstractmethod
    def vectors(self) -> tuple[Any, Any]:
        """Return α and β, as the result of a run keeps them."""

    def balance(self) -> None:
        """Shrink the heavier side to the sum of the other: then v_0 = 0."""
        one, other = self.sides()
        if one > other:
            self.shrink(other / one, 1.0)
        elif other > one:
            self.shrink(1.0, one / other)

    def cancel_sums(self, free: np.ndarray) -> None:
        """Change multipliers such that v_j = 0 at free features, where possible."""


class ArrayMultipliers(Multipliers):
    """Multipliers in arrays: clipped copies, which are modified in place."""

    def __init__(
        self, problem: Problem, hinge_dual: Vector | None, flip_dual: Vector | None
    ):
        self.problem = problem
        hinge = _checked(problem, "hinge_dual", hinge_dual)
        flip = _checked(problem, "flip_dual", flip_dual)
        self.alpha = np.empty_like(problem.sample_weight)
        self.beta = np.empty_like(problem.sample_weight)
        can_flip = None
        if by_row(problem.flip_cost):
            can_flip = problem.can_flip

        def clip(part: slice) -> None:
            weights = problem.sample_weight[part]
            alpha = self.alpha[part]
            beta = self.beta[part]
            np.maximum(hinge[part], 0.0, out=alpha)
            np.minimum(alpha, weights, out=alpha)
            np.maximum(flip[part], 0.0, out=beta)
            if not problem.flips_possible:
                # NaN stays NaN, and proves nothing.
                np.minimum(beta, 0.0, out=beta)
                return
            np.minimum(beta, weights, out=beta)
            if can_flip is not None:
                beta[~can_flip[part]] = 0.0
            # At most 1: what makes α + β at most π
            share = weights / np.maximum(alpha + beta, weights)
            alpha *= share
            beta *= share

        over_parts(problem.sample_weight, clip)

    def sides(self) -> tuple[float, float]:
        def sums(part):
            positive = self.problem.signs[part] > 0
            one = np.where(positive, self.alpha[part], self.beta[part]).sum()
            other = np.where(positive, self.beta[part], self.alpha[part]).sum()
            return float(one), float(other)

        one, other = np.sum(over_parts(self.alpha, sums), axis=0)
        return float(one), float(other)

    def shrink(self, one: float, other: float) -> None:
        if one == other == 1.0:
            return

        def multiply(part):
            if one == other:
                self.alpha[part] *= one
                self.beta[part] *= one
                return
            positive = self.problem.signs[part] > 0
            self.alpha[part] *= np.where(positive, one, other)
            self.beta[part] *= np.where(positive, other, one)

        over_parts(self.alpha, multiply)

    def totals(self, compensated: bool = False) -> Totals:
        problem = self.problem
        alpha = self.alpha
        beta = self.beta
        mass = total(alpha, lambda part: alpha[part].sum() + beta[part].sum())
        signed = elementwise(
            alpha, lambda part: (alpha[part] - beta[part]) * problem.signs[part]
        )
        flip_cost = problem.cost_of_multipliers(alpha, beta)
        if compensated and problem.rows.readable and math.isfinite(mass):
            v, rounding = self._compensated_sums(signed)
            return Totals(mass, flip_cost, v, math.fsum(signed), rounding)
        v, v0 = problem.signed_sum(signed)
        v = problem.rows.coordinates(v)
        rounding = problem.rows.rounding + ROUNDING_OF_MASSES
        return Totals(mass, flip_cost, v, v0, rounding)

    def _compensated_sums(self, signed: Vector) -> tuple[np.ndarray, np.ndarray]:
        """Return v and bounds on its errors, relative to the sizes of the columns."""
        v, errors = compensated_transposed_dot(self.problem.X, signed)
        sizes = self.problem.column_sizes
        rounding = np.divide(errors, sizes, out=np.zeros_like(v), where=sizes > 0)
        # If a difference α − β is not exact, no sum of such differences is known to be
        # exactly 0. Its error is computed as by TwoSum (Knuth, The Art of Computer
        # Programming 2, section 4.2.2).
        difference = self.alpha - self.beta
        subtracted = self.alpha - difference
        error = (self.alpha - (difference + subtracted)) + (subtracted - self.beta)
        if np.any(error != 0.0):
            rounding += ULP
        return v, rounding

    def vectors(self) -> tuple[Vector, Vector]:
        return self.alpha, self.beta

    def cancel_sums(self, free: np.ndarray) -> None:
        """Change multipliers such that v_j at the free features is 0, up to rounding.

        So is v_0, if it must be. Where weights cost nothing, any v_j other than 0 makes
        a bound worse, however small (`dual_bound`). With the multipliers of most
        methods it is small. The smallest change that makes it 0, in units of the most
        that every multiplier can change by, costs no more than about v·w. Nothing
        changes if there are too many features, or if no multiplier can change.

        The changes of a few multipliers, in these units, are the least-norm solution of
        matrixᵀ changes = −(v, v_0), by a singular value decomposition.
        """
        problem = self.problem
        columns = np.flatnonzero(free & (problem.column_sizes > 0))
        if not (problem.rows.readable and 0 < len(columns) <= MAX_FEATURES):
            return

        # 1. What can change: α alone, up or down, or part of β in exchange for as much
        # of α.
        room_alone = np.minimum(
            self.alpha, problem.sample_weight - self.alpha - self.beta
        )
        room_to_exchange = np.minimum(self.alpha, self.beta)
        width = len(columns) + must_balance(problem)
        # A few times as many as there are equations are enough for a small change.
        most = int(max(4 * width, MAX_WORK / width**2))
        alone = _with_most_room(room_alone, most)
        exchanged = _with_most_room(room_to_exchange, most)
        units = np.concatenate([room_alone[alone], room_to_exchange[exchanged]])
        if len(units) == 0:
            return

        # 2. How these changes act on v and v_0. An exchange changes α − β twice.
        effects = units.copy()
        effects[len(alone) :] *= 2.0
        rows = np.concatenate([alone, exchanged])
        matrix = self._effects_on_sums(rows, effects, columns)
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        kept = values > MIN_SINGULAR * values[0]

        # 3. The least change, clipped if it leaves the bounds
        for _ in range(ROUNDS):
            sums = self._sums_to_cancel(columns)
            scaled = -left[:, kept] @ ((right[kept] @ sums) / values[kept])
            changes = units * scaled
            self.alpha[alone] += changes[: len(alone)]
            self.alpha[exchanged] += changes[len(alone) :]
            self.beta[exchanged] -= changes[len(alone) :]
            np.clip(self.beta, 0.0, problem.sample_weight, out=self.beta)
            np.clip(self.alpha, 0.0, problem.sample_weight - self.beta, out=self.alpha)

    def _effects_on_sums(self, rows, effects: np.ndarray, columns) -> np.ndarray:
        """Return by how much changes by one unit, in rows, change v_j and v_0.

        v_j is in units of the size of column j; v_0 has a column if it must be 0.
        """
        problem = self.problem
        entries = problem.X[rows][:, columns]
        if sparse.issparse(entries):
            entries = entries.toarray()
        entries = entries.astype(np.float64)
        if must_balance(problem):
            entries = np.hstack([entries, np.ones((len(rows), 1))])
        matrix = problem.signs[rows][:, None] * entries * effects[:, None]
        matrix[:, : len(columns)] /= problem.column_sizes[columns]
        return matrix

    def _sums_to_cancel(self, columns) -> np.ndarray:
        """Return v_j / s_j for some columns of size s_j, and v_0 if it must be 0."""
        problem = self.problem
        signed = (self.alpha - self.beta) * problem.signs
        v = compensated_transposed_dot(problem.X, signed)[0][columns]
        v = v / problem.column_sizes[columns]
        if must_balance(problem):
            return np.append(v, signed.sum())
        return v


def _checked(problem: Problem, name: str, values: Vector | None) -> Vector:
    """Return a vector with one entry per row; None means 0."""
    if values is None:
        return problem.rows.zeros()
    vector = problem.rows.vector(values)
    if vector.shape != (problem.n_rows,):
        raise ValueError(
            f"{name} must have one entry per row of the problem ({problem.n_rows}), "
            f"got {vector.shape}."
        )
    return vector


def _with_most_room(room: np.ndarray, most: int) -> np.ndarray:
    """Return the rows that have room or, if they are more than `most`, the roomiest."""
    rows = np.flatnonzero(room > 0)
    if len(rows) <= most:
        return rows
    return np.sort(rows[np.argpartition(-room[rows], most)[:most]])


def clipped_multipliers(
    problem: Problem, hinge_dual: Vector | None, flip_dual: Vector | None
) -> Multipliers:
    """Return multipliers with any values, clipped to their bounds; None means 0.

    Those of sharded rows stay where the rows are.
    """
    remote = problem.rows.multipliers(problem, hinge_dual, flip_dual)
    if remote is not None:
        return remote
    return ArrayMultipliers(problem, hinge_dual, flip_dual)
