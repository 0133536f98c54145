"""The constraint ‖w‖_q ≤ λ in the interior-point solver: slacks, multipliers and their part of the Newton equations.

All cones have the same methods; `priced_cones.py` adds prices and signs. With the multiplier part z of the optimality
conditions

    c w + Σ (β_i − α_i) y_i x_i + z_w = 0,        ε − κ Σ β_i + z_λ = 0,

a Newton step changes z by  (a symmetric matrix) · (dw, dλ) + (a constant that depends on the target μ).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from drsvm.model.norms import L1, L2, LInf, Norm


@dataclass(eq=False)
class Scaling:
    """The symmetric matrix of a cone: diag(diagonal) on w, arrow (column, square) with λ, plus k·uuᵀ on (w, λ).

    With prices, w stands for (w, b).
    """

    diagonal: np.ndarray
    column: np.ndarray
    square: float
    vector: np.ndarray | None = None
    vector_lam: float = 0.0
    coefficient: float = 0.0
    outside: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    """Features without norm and ridge, where others have them."""

    def add_to(self, matrix: Any) -> None:
        """Add this matrix to the upper triangle of a Newton matrix whose first unknowns are w and whose last is λ."""
        d, column, square = len(self.diagonal), np.asarray(self.column, like=matrix), self.square
        diagonal = matrix.reshape(-1)[:: len(matrix) + 1]
        diagonal[:d] += np.asarray(self.diagonal, like=matrix)
        if self.vector is not None:
            vector = np.asarray(self.vector, like=matrix)
            matrix[:d, :d] += np.outer(self.coefficient * vector, vector)
            column = column + self.coefficient * self.vector_lam * vector
            square = square + self.coefficient * self.vector_lam**2
        matrix[:d, -1] += column
        matrix[-1, -1] += square

    def padded(self, size: int) -> "Scaling":
        """Return the same matrix for a vector of the given size, with zeros for what the cone does not contain."""
        missing = size - len(self.diagonal)
        if missing == 0:
            return self
        vectors = {name: getattr(self, name) for name in ("diagonal", "column", "vector")}
        return replace(self, **{name: None if v is None else np.pad(v, (0, missing)) for name, v in vectors.items()})


class Cone(ABC):
    """Slacks and multipliers of constraints on w and λ, and their changes along a direction."""

    slacks: np.ndarray
    duals: np.ndarray
    d_slacks: np.ndarray
    d_duals: np.ndarray

    bounds_lam: bool = True
    """Whether the constraints contain λ."""

    weight: float = 1.0
    """Sum of the complementarity targets: Σ multiplier · slack = weight · μ on the central path."""

    @abstractmethod
    def multipliers(self) -> tuple[np.ndarray, float]:
        """Return z_w and z_λ."""

    def products(self) -> float:
        """Return Σ multiplier · slack."""
        return float(self.slacks @ self.duals)

    @abstractmethod
    def scaling(self) -> Scaling:
        """Return the matrix at the current point, and store it."""

    @abstractmethod
    def correct(self) -> None:
        """Use the products of the last direction's changes as the correction; `scaling` resets it."""

    def recorrect(self, target: float, primal: float, dual: float) -> None:
        """Steer products that would be outliers after steps of the given lengths back to the target."""

    @abstractmethod
    def constant(self, target: float) -> tuple[np.ndarray, float]:
        """Return the constant part of z + dz for a target and the current correction."""

    @abstractmethod
    def set_direction(self, dw, dlam: float) -> None:
        """Set dw (with db, for a cone of the whole point) and dλ, and compute all other changes."""

    @abstractmethod
    def rates(self) -> tuple[float, float]:
        """Return the reciprocals of the longest primal and dual steps (0: no limit)."""

    def products_after(self, primal: float, dual: float) -> float:
        """Return Σ multiplier · slack after the given steps."""
        return float((self.slacks + primal * self.d_slacks) @ (self.duals + dual * self.d_duals))

    def move(self, primal: float, dual: float) -> None:
        """Take the given steps."""
        self.slacks = self.slacks + primal * self.d_slacks
        self.duals = self.duals + dual * self.d_duals


class PolyhedralCone(Cone):
    """A cone of linear constraints: slacks ≥ 0 with multipliers ≥ 0, products aimed at equal shares of the target."""

    def __init__(self, slacks, mu: float):
        self.slacks = slacks
        self.share = 1.0 / len(slacks)
        self.duals = mu * self.share / slacks

    def _set_ratios(self) -> np.ndarray:
        self.ratios = self.duals / self.slacks
        self.correction = np.zeros(len(self.slacks))
        return self.ratios

    def correct(self) -> None:
        self.correction = self.d_slacks * self.d_duals

    def recorrect(self, target: float, primal: float, dual: float) -> None:
        goal = target * self.share
        products = (self.slacks + primal * self.d_slacks) * (self.duals + dual * self.d_duals)
        too_small, too_large = np.minimum(products - 0.1 * goal, 0.0), np.maximum(products - 10.0 * goal, 0.0)
        self.correction = self.correction + too_small + np.minimum(too_large, 10.0 * goal)

    def _pushes(self, target: float) -> np.ndarray:
        """Return (target − correction)/slack: what the multipliers would become if the slacks did not change."""
        self.pushes = (target * self.share - self.correction) / self.slacks
        return self.pushes

    def _follow(self, d_slacks) -> None:
        self.d_slacks = d_slacks
        self.d_duals = self.pushes - self.duals - self.ratios * d_slacks

    def rates(self) -> tuple[float, float]:
        return float((-self.d_slacks / self.slacks).max()), float((-self.d_duals / self.duals).max())


class BoxCone(PolyhedralCone):
    """q = ∞: λ − w_j ≥ 0 and λ + w_j ≥ 0."""

    def __init__(self, w, lam: float, mu: float):
        super().__init__(np.concatenate([lam - w, lam + w]), mu)
        self.d = len(w)

    def multipliers(self):
        return self._signed(self.duals), -float(self.duals.sum())

    def _signed(self, values) -> np.ndarray:
        return values[: self.d] - values[self.d :]

    def scaling(self) -> Scaling:
        self._set_ratios()
        total = self.ratios[: self.d] + self.ratios[self.d :]
        return Scaling(total, -self._signed(self.ratios), float(total.sum()))

    def constant(self, target):
        pushes = self._pushes(target)
        return self._signed(pushes), -float(pushes.sum())

    def set_direction(self, dw, dlam):
        self._follow(np.concatenate([dlam - dw, dlam + dw]))


class CrossCone(PolyhedralCone):
    """q = 1: t_j − w_j ≥ 0, t_j + w_j ≥ 0 and λ − Σ t_j ≥ 0; the bounds t are eliminated."""

    def __init__(self, w, lam: float, mu: float):
        self.d = len(w)
        bounds = np.abs(w) + (lam - np.abs(w).sum()) / (self.d + 1)
        super().__init__(np.concatenate([bounds - w, bounds + w, [lam - bounds.sum()]]), mu)

    def _halves(self, values):
        return values[: self.d], values[self.d : 2 * self.d], float(values[-1])

    def multipliers(self):
        upper, lower, budget = self._halves(self.duals)
        return upper - lower, -budget

    def scaling(self) -> Scaling:
        self._set_ratios()
        upper, lower, budget = self._halves(self.ratios)
        self.total = upper + lower
        self.tilt = (upper - lower) / self.total
        self.coefficient = budget / (1.0 + budget * float((1.0 / self.total).sum()))
        zero = np.zeros(self.d)
        return Scaling(4.0 * upper * lower / self.total, zero, 0.0, self.tilt, -1.0, self.coefficient)

    def constant(self, target):
        upper, lower, budget = self._halves(self._pushes(target))
        self.both = upper + lower
        # The multiplier of the budget after the step, except for its part in (dw, dλ); it also equals upper + lower.
        self.budget = self.coefficient * (budget / float(self.ratios[-1]) + float((self.both / self.total).sum()))
        return upper - lower - self.tilt * (self.both - self.budget), -self.budget

    def set_direction(self, dw, dlam):
        budget = self.budget + self.coefficient * (float(self.tilt @ dw) - dlam)
        bounds = (self.both - budget) / self.total + self.tilt * dw
        self._follow(np.concatenate([bounds - dw, bounds + dw, [dlam - bounds.sum()]]))


class SecondOrderCone(Cone):
    """q = 2: (λ, w) in the second-order cone, with Nesterov–Todd scaling and the full second-order correction."""

    def __init__(self, w, lam: float, mu: float):
        self.slacks = np.empty(1 + len(w))
        self.slacks[0], self.slacks[1:] = lam, w
        self.duals = mu * _reflect(self.slacks) / _determinant(self.slacks)

    def multipliers(self):
        return -self.duals[1:], -float(self.duals[0])

    def scaling(self) -> Scaling:
        root_x, root_z = _root(self.slacks), _root(self.duals)
        x, z = self.slacks / root_x, self.duals / root_z
        self.point = (x + _reflect(z)) / math.sqrt(2.0 * (1.0 + float(x @ z)))
        self.stretch = math.sqrt(root_x / root_z)
        self.scaled = self._scale(self.duals)
        self.correction = np.zeros(len(self.slacks))
        k = 1.0 / self.stretch**2
        d = len(self.slacks) - 1
        return Scaling(np.full(d, k), np.zeros(d), -k, -self.point[1:], self.point[0], 2.0 * k)

    def correct(self) -> None:
        self.correction = _product(self._unscale(self.d_slacks), self._scale(self.d_duals))

    def _scale(self, v) -> np.ndarray:
        head, tail = self.point[0], self.point[1:]
        inner = float(tail @ v[1:])
        first = head * v[0] + inner
        return self.stretch * np.concatenate([[first], v[1:] + (v[0] + inner / (1.0 + head)) * tail])

    def _unscale(self, v) -> np.ndarray:
        head, tail = self.point[0], self.point[1:]
        inner = float(tail @ v[1:])
        first = head * v[0] - inner
        return np.concatenate([[first], v[1:] + (inner / (1.0 + head) - v[0]) * tail]) / self.stretch

    def constant(self, target):
        goal = -self.correction
        goal[0] += target
        self.push = self._unscale(_divide(self.scaled, goal))  # z + dz, except for its part in dx
        return -self.push[1:], -float(self.push[0])

    def set_direction(self, dw, dlam):
        self.d_slacks = np.concatenate([[dlam], dw])
        self.d_duals = self.push - self.duals - self._unscale(self._unscale(self.d_slacks))

    def rates(self) -> tuple[float, float]:
        return _cone_rate(self.slacks, self.d_slacks), _cone_rate(self.duals, self.d_duals)


def _reflect(v) -> np.ndarray:
    reflected = -v
    reflected[0] = v[0]
    return reflected


def _determinant(v) -> float:
    """Return v₀² − ‖v₁‖², without cancellation of squares."""
    length = math.sqrt(float(v[1:] @ v[1:]))
    return (v[0] - length) * (v[0] + length)


def _root(v) -> float:
    """Return the square root of the determinant of a point inside the cone."""
    determinant = _determinant(v)
    if not determinant > 0.0:
        raise FloatingPointError("rounding errors have moved a point out of the cone")
    return math.sqrt(determinant)


def _product(a, b) -> np.ndarray:
    return np.concatenate([[float(a @ b)], a[0] * b[1:] + b[0] * a[1:]])


def _divide(a, b) -> np.ndarray:
    """Return x with a ∘ x = b."""
    first = (a[0] * b[0] - float(a[1:] @ b[1:])) / _determinant(a)
    return np.concatenate([[first], (b[1:] - first * a[1:]) / a[0]])


def _cone_rate(x, dx) -> float:
    """Return the reciprocal of the longest t with x + t·dx in the cone (0: no limit)."""
    root = _root(x)
    unit = x / root
    head = float(_reflect(unit) @ dx)
    tail = dx[1:] - (head + dx[0]) / (1.0 + unit[0]) * unit[1:]
    return (math.sqrt(float(tail @ tail)) - head) / root


NORM_CONES: dict[type[Norm], Callable[..., Cone]] = {L1: CrossCone, L2: SecondOrderCone, LInf: BoxCone}
"""The cones of the norms, as functions of w, λ and μ."""
