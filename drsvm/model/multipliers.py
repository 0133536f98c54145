"""Multipliers α and β of all rows, made feasible for the dual problem; `certificate` says what they prove."""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from drsvm.model.careful_sums import ULP, careful_transposed_dot
from drsvm.model.free_weights import released
from drsvm.model.risk import by_row
from drsvm.parallel import elementwise, over_parts, total

ROUNDING_OF_MASSES = 32 * ULP
"""Bound on the relative error of sums of multipliers, and of the products with factors after them."""


class DualSums(NamedTuple):
    """Sums over {α of label +, β of label −} and over {α of label −, β of label +}, in this order."""

    rows: np.ndarray  # Σ multiplier · x, of shape (d, 2)
    mass: np.ndarray  # Σ multiplier
    flip_cost: np.ndarray  # Σ κ β


def dual_sums(problem, hinge_dual, flip_dual, careful: bool = False) -> DualSums:
    """Return the sums of multipliers in arrays; careful ones have errors that do not grow with the rows."""
    signs = problem.signs
    one = elementwise(signs, lambda part: np.where(signs[part] > 0, hinge_dual[part], flip_dual[part]))
    other = elementwise(signs, lambda part: np.where(signs[part] > 0, flip_dual[part], hinge_dual[part]))
    add = (lambda c: careful_transposed_dot(problem.X, c)[0]) if careful else problem.rows.weighted_sum
    rows = np.stack([add(side) for side in (one, other)], axis=1)
    mass = np.array([total(side, lambda part, side=side: side[part].sum()) for side in (one, other)])
    flipped = [
        elementwise(signs, lambda part, s=s: np.where(signs[part] == s, flip_dual[part], 0.0)) for s in (-1.0, 1.0)
    ]
    return DualSums(rows, mass, np.array([problem.cost_of_flips(beta) for beta in flipped]))


class Totals(NamedTuple):
    """What the dual value of multipliers depends on."""

    mass: float  # Σ (α + β)
    flip_cost: float  # Σ κ β
    v: np.ndarray  # Σ (α − β) y x
    v0: float  # Σ (α − β) y
    rounding: Any  # bounds on the errors of v, relative to the sizes of the columns: a number, or one for each


class Multipliers(ABC):
    """Multipliers with α, β ≥ 0 and α + β ≤ π, wherever the rows are."""

    @abstractmethod
    def sides(self) -> tuple[float, float]:
        """Return the sums of {α of label +, β of label −} and of {α of label −, β of label +}."""

    @abstractmethod
    def shrink(self, one: float, other: float) -> None:
        """Multiply the two sides by factors between 0 and 1."""

    @abstractmethod
    def totals(self, careful: bool = False) -> Totals:
        """Return the sums over all rows; careful ones have errors that do not grow with the number of rows."""

    @abstractmethod
    def vectors(self) -> tuple[Any, Any]:
        """Return α and β, as the result of a run keeps them."""

    def balance(self) -> None:
        """Shrink the heavier side to the sum of the other: then v_0 = 0."""
        one, other = self.sides()
        light = min(one, other)
        self.shrink(light / one if one > light else 1.0, light / other if other > light else 1.0)


def _is_rounded(alpha, beta) -> bool:
    """Return whether a difference α − β is not exact: then no sum of such differences is known to be exactly 0."""
    difference = alpha - beta
    taken = alpha - difference
    return bool(np.any((alpha - (difference + taken)) + (taken - beta) != 0.0))


class ArrayMultipliers(Multipliers):
    """Multipliers in arrays; they are clipped copies of the given ones, and modified in place to save memory."""

    def __init__(self, problem, hinge_dual, flip_dual):
        self.problem = problem
        hinge_dual, flip_dual = self._check(hinge_dual, "hinge_dual"), self._check(flip_dual, "flip_dual")
        all_weights = problem.sample_weight
        self.alpha, self.beta = np.empty_like(all_weights), np.empty_like(all_weights)
        flips_possible = problem.flips_possible
        can_flip = problem.can_flip if by_row(problem.flip_cost) else None

        def clip(part):
            weights = all_weights[part]
            alpha, beta = self.alpha[part], self.beta[part]
            np.minimum(np.maximum(hinge_dual[part], 0.0, out=alpha), weights, out=alpha)
            np.minimum(np.maximum(flip_dual[part], 0.0, out=beta), weights if flips_possible else 0.0, out=beta)
            if can_flip is not None:
                beta[~can_flip[part]] = 0.0
            if flips_possible:
                excess = weights / np.maximum(alpha + beta, weights)
                alpha *= excess
                beta *= excess

        over_parts(all_weights, clip)

    def _check(self, values, name: str) -> Any:
        n = self.problem.n_rows
        values = self.problem.rows.zeros() if values is None else self.problem.rows.vector(values)
        if values.shape != (n,):
            raise ValueError(f"{name} must have one entry per row of the problem ({n}), got {values.shape}.")
        return values

    def sides(self) -> tuple[float, float]:
        def sums(part):
            positive = self.problem.signs[part] > 0
            alpha, beta = self.alpha[part], self.beta[part]
            return float(np.where(positive, alpha, beta).sum()), float(np.where(positive, beta, alpha).sum())

        one, other = np.sum(over_parts(self.alpha, sums), axis=0)
        return float(one), float(other)

    def shrink(self, one: float, other: float) -> None:
        def multiply(part):
            positive = one == other or self.problem.signs[part] > 0
            self.alpha[part] *= one if one == other else np.where(positive, one, other)
            self.beta[part] *= one if one == other else np.where(positive, other, one)

        if min(one, other) != 1.0:
            over_parts(self.alpha, multiply)

    def totals(self, careful: bool = False) -> Totals:
        problem, alpha, beta = self.problem, self.alpha, self.beta
        signed = elementwise(alpha, lambda part: (alpha[part] - beta[part]) * problem.signs[part])
        mass = total(alpha, lambda part: alpha[part].sum() + beta[part].sum())
        if not (careful and problem.rows.readable and math.isfinite(mass)):
            rounding = problem.rows.rounding + ROUNDING_OF_MASSES
            v, v0 = problem.signed_sum(signed)
            v = problem.rows.coordinates(v)
        else:
            v, errors = careful_transposed_dot(problem.X, signed)
            sizes = problem.column_sizes
            rounding = np.divide(errors, sizes, out=np.zeros_like(v), where=sizes > 0)
            rounding += ULP * _is_rounded(alpha, beta)
            v0 = math.fsum(signed)
        return Totals(mass, problem.cost_of_flips(beta), v, v0, rounding)

    def release(self, free: np.ndarray) -> None:
        """Change the multipliers so that v_j = 0 at the free features, as far as possible."""
        self.alpha, self.beta = released(self.problem, self.alpha, self.beta, free)

    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        return self.alpha, self.beta
