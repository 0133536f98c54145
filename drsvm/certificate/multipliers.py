"""Multipliers α and β of all rows, made feasible for the dual problem.

See `certificate` for what they prove.
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

# Bound on the relative error of sums of multipliers, and of products with factors
ROUNDING_OF_MASSES = 32 * ULP
# limits of the free features, and of their square times the changed multipliers
MAX_FEATURES = 500
MAX_WORK = 2e7
# corrections, and the share of the largest singular value that is worth one
ROUNDS = 3
MIN_SINGULAR = 1e-12


class DualSums(NamedTuple):
    """Sums over {α of label +, β of label −} and over {α of label −, β of label +}, in this order."""

    rows: np.ndarray  # Σ multiplier · x, of shape (d, 2)
    mass: np.ndarray  # Σ multiplier
    flip_cost: np.ndarray  # Σ κ β


def dual_sums(
    problem: Problem, hinge_dual: Vector, flip_dual: Vector, compensated: bool = False
) -> DualSums:
    """Return the sums of multipliers in arrays.

    Careful ones have errors that do not grow with the rows.
    """
    signs = problem.signs

    def where_positive(values, others) -> Vector:
        return elementwise(
            signs, lambda part: np.where(signs[part] > 0, values[part], others[part])
        )

    nothing = np.broadcast_to(np.zeros((), like=flip_dual), flip_dual.shape)
    sides = where_positive(hinge_dual, flip_dual), where_positive(flip_dual, hinge_dual)
    flipped = where_positive(nothing, flip_dual), where_positive(flip_dual, nothing)
    if compensated:
        add = lambda c: compensated_transposed_dot(problem.X, c)[0]
    else:
        add = problem.rows.weighted_sum
    mass = [total(side, lambda part, side=side: side[part].sum()) for side in sides]
    costs = [problem.cost_of_flips(beta) for beta in flipped]
    return DualSums(
        np.stack([add(side) for side in sides], axis=1), np.array(mass), np.array(costs)
    )


class Totals(NamedTuple):
    """What the dual value of multipliers depends on."""

    mass: float  # Σ (α + β)
    flip_cost: float  # Σ κ β
    v: np.ndarray  # Σ (α − β) y x
    v0: float  # Σ (α − β) y
    # Bounds on the errors of v, relative to the sizes of the columns: a number, or one
    # for each
    rounding: Costs


def must_balance(problem: Problem) -> bool:
    """Return whether v_0 must be 0: the intercept is free, or no radius pays for its price."""
    return problem.fit_intercept and not (
        problem.prices_intercept and problem.radius > 0
    )


class Multipliers(ABC):
    """Multipliers with α, β ≥ 0 and α + β ≤ π, wherever the rows are."""

    @abstractmethod
    def sides(self) -> tuple[float, float]:
        """Return the sums of {α of label +, β of label −} and of {α of label −, β of label +}."""

    @abstractmethod
    def shrink(self, one: float, other: float) -> None:
        """Multiply the two sides by factors between 0 and 1."""

    @abstractmethod
    def totals(self, compensated: bool = False) -> Totals:
        """Return the sums over all rows.

        Careful ones have errors that do not grow with the number of rows.
        """

    @abstractmethod
    def vectors(self) -> tuple[Any, Any]:
        """Return α and β, as the result of a run keeps them."""

    def balance(self) -> None:
        """Shrink the heavier side to the sum of the other: then v_0 = 0."""
        one, other = self.sides()
        light = min(one, other)
        self.shrink(
            light / one if one > light else 1.0, light / other if other > light else 1.0
        )

    def cancel_sums(self, free: np.ndarray) -> None:
        """Change the multipliers so that v_j = 0 at free features, if the rows can be read and it takes few changes."""


class ArrayMultipliers(Multipliers):
    """Multipliers in arrays.

    They are clipped copies of the given ones, and modified in place to save memory.
    """

    def __init__(
        self, problem: Problem, hinge_dual: Vector | None, flip_dual: Vector | None
    ):
        self.problem = problem
        rows = problem.rows
        n = problem.n_rows
        checked = []
        for name, values in (("hinge_dual", hinge_dual), ("flip_dual", flip_dual)):
            vector: Vector = rows.zeros() if values is None else rows.vector(values)
            if vector.shape != (n,):
                raise ValueError(
                    f"{name} must have one entry per row of the problem ({n}), got {vector.shape}."
                )
            checked.append(vector)
        hinge, flip = checked
        all_weights = problem.sample_weight
        self.alpha = np.empty_like(all_weights)
        self.beta = np.empty_like(all_weights)
        flips_possible = problem.flips_possible
        if by_row(problem.flip_cost):
            can_flip = problem.can_flip
        else:
            can_flip = None

        def clip(part: slice) -> None:
            weights = all_weights[part]
            alpha = self.alpha[part]
            beta = self.beta[part]
            np.minimum(np.maximum(hinge[part], 0.0, out=alpha), weights, out=alpha)
            np.minimum(
                np.maximum(flip[part], 0.0, out=beta),
                weights if flips_possible else 0.0,
                out=beta,
            )
            if can_flip is not None:
                beta[~can_flip[part]] = 0.0
            if flips_possible:
                excess = weights / np.maximum(alpha + beta, weights)
                alpha *= excess
                beta *= excess

        over_parts(all_weights, clip)

    def sides(self) -> tuple[float, float]:
        def sums(part):
            positive = self.problem.signs[part] > 0
            alpha = self.alpha[part]
            beta = self.beta[part]
            return float(np.where(positive, alpha, beta).sum()), float(
                np.where(positive, beta, alpha).sum()
            )

        one, other = np.sum(over_parts(self.alpha, sums), axis=0)
        return float(one), float(other)

    def shrink(self, one: float, other: float) -> None:
        def multiply(part):
            positive = one == other or self.problem.signs[part] > 0
            if one == other:
                self.alpha[part] *= one
            else:
                self.alpha[part] *= np.where(positive, one, other)
            if one == other:
                self.beta[part] *= one
            else:
                self.beta[part] *= np.where(positive, other, one)

        if min(one, other) != 1.0:
            over_parts(self.alpha, multiply)

    def totals(self, compensated: bool = False) -> Totals:
        problem = self.problem
        alpha = self.alpha
        beta = self.beta
        signed = elementwise(
            alpha, lambda part: (alpha[part] - beta[part]) * problem.signs[part]
        )
        mass = total(alpha, lambda part: alpha[part].sum() + beta[part].sum())
        if not (compensated and problem.rows.readable and math.isfinite(mass)):
            rounding = problem.rows.rounding + ROUNDING_OF_MASSES
            v, v0 = problem.signed_sum(signed)
            v = problem.rows.coordinates(v)
        else:
            v, errors = compensated_transposed_dot(problem.X, signed)
            sizes = problem.column_sizes
            rounding = np.divide(errors, sizes, out=np.zeros_like(v), where=sizes > 0)
            # If a difference α − β is not exact, no sum of such differences is known to
            # be exactly 0.
            difference = alpha - beta
            taken = alpha - difference
            rounding += ULP * bool(
                np.any((alpha - (difference + taken)) + (taken - beta) != 0.0)
            )
            v0 = math.fsum(signed)
        return Totals(mass, problem.cost_of_flips(beta), v, v0, rounding)

    def vectors(self) -> tuple[Vector, Vector]:
        return self.alpha, self.beta

    def cancel_sums(self, free: np.ndarray) -> None:
        """Change the multipliers so that v_j at the free features, and v_0 if it must be, are 0 up to rounding.

        Where weights cost nothing, any v_j other than 0 makes a bound worse, however
        small (`dual_scale`). With the multipliers of most methods it is small. The
        smallest change that makes it 0, measured in units of what every multiplier can
        change by, costs no more than about v·w. Nothing changes if there are too many
        features, or if none of the multipliers can change.
        """
        problem = self.problem
        balanced = must_balance(self.problem)
        columns = np.flatnonzero(free & (problem.column_sizes > 0))
        width = len(columns) + balanced
        if not (problem.rows.readable and 0 < len(columns) <= MAX_FEATURES):
            return
        # α alone, or part of β in exchange for as much of α.
        rooms = (
            np.minimum(self.alpha, problem.sample_weight - self.alpha - self.beta),
            np.minimum(self.alpha, self.beta),
        )
        size = int(max(4 * width, MAX_WORK / width**2))
        chosen = []
        for room in rooms:  # those with the most room, of those that have any
            rows = np.flatnonzero(room > 0)
            chosen.append(
                rows
                if len(rows) <= size
                else np.sort(rows[np.argpartition(-room[rows], size)[:size]])
            )
        alone, exchanged = chosen
        units = np.concatenate([rooms[0][alone], rooms[1][exchanged]])
        if not len(units):
            return
        scale = problem.column_sizes[columns]
        rows = np.concatenate([alone, exchanged])
        effects = units * np.where(np.arange(len(rows)) < len(alone), 1.0, 2.0)
        entries = problem.X[rows][:, columns]
        entries = (entries.toarray() if sparse.issparse(entries) else entries).astype(
            np.float64
        )
        entries = np.hstack([entries, np.ones((len(rows), int(balanced)))])
        matrix = problem.signs[rows][:, None] * entries * effects[:, None]
        matrix[:, : len(columns)] /= scale
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        kept = values > MIN_SINGULAR * values[0]
        for _ in range(ROUNDS):
            signed = (self.alpha - self.beta) * problem.signs
            v = compensated_transposed_dot(problem.X, signed)[0][columns] / scale
            target = np.append(v, signed.sum()) if balanced else v
            changes = units * (-left[:, kept] @ ((right[kept] @ target) / values[kept]))
            self.alpha[alone] += changes[: len(alone)]
            self.alpha[exchanged] += changes[len(alone) :]
            self.beta[exchanged] -= changes[len(alone) :]
            np.clip(self.beta, 0.0, problem.sample_weight, out=self.beta)
            np.clip(self.alpha, 0.0, problem.sample_weight - self.beta, out=self.alpha)


def clipped_multipliers(
    problem: Problem, hinge_dual: Vector | None, flip_dual: Vector | None
) -> Multipliers:
    """Return multipliers with any values, clipped to their bounds; None means 0."""
    remote = problem.rows.multipliers(problem, hinge_dual, flip_dual)
    if remote is not None:
        return remote
    return ArrayMultipliers(problem, hinge_dual, flip_dual)
