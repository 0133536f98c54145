"""The cone of a problem: the norm of the priced entries of (w, b), and weights with a prescribed sign."""

from collections.abc import Iterable
from copy import copy
from typing import NamedTuple

import numpy as np

from drsvm.engines.cpu import free_features
from drsvm.model.problem import Problem
from drsvm.solvers.interior_point.cones import NORM_CONES, Cone, CrossCone, PolyhedralCone, Scaling


class SignCone(PolyhedralCone):
    """t ≥ 0, for weights times their prescribed signs."""

    bounds_lam = False

    def multipliers(self):
        return -self.duals, 0.0

    def scaling(self) -> Scaling:
        return Scaling(self._set_ratios(), np.zeros(len(self.slacks)), 0.0)

    def constant(self, target):
        return -self._pushes(target), 0.0

    def set_direction(self, dw, dlam):
        self._follow(dw)


class Part(NamedTuple):
    """A cone of t = factors · (w, b)[entries]."""

    cone: Cone
    entries: np.ndarray
    factors: np.ndarray


class ProductCone(Cone):
    """Cones of some entries of (w, b) each, or none; `outside` are features without price and ridge."""

    def __init__(self, parts: list[Part], size: int, outside):
        self.parts, self.size, self.outside = parts, size, outside
        self.weight = sum(part.cone.weight for part in parts)

    def __copy__(self) -> "ProductCone":
        return ProductCone([part._replace(cone=copy(part.cone)) for part in self.parts], self.size, self.outside)

    def _sum(self, of_parts: Iterable[tuple[np.ndarray, float]]) -> tuple[np.ndarray, float]:
        """Return the sum over the parts of vectors in t and entries in λ, as a vector in (w, b) and an entry in λ."""
        total, total_lam = np.zeros(self.size), 0.0
        for part, (vector, lam) in zip(self.parts, of_parts, strict=True):
            total[part.entries] += part.factors * vector
            total_lam += lam
        return total, total_lam

    def multipliers(self):
        return self._sum(part.cone.multipliers() for part in self.parts)

    def products(self) -> float:
        return sum(part.cone.products() for part in self.parts)

    def scaling(self) -> Scaling:
        whole = Scaling(np.zeros(self.size), np.zeros(self.size), 0.0, outside=self.outside)
        for cone, entries, factors in self.parts:
            own = cone.scaling()
            whole.diagonal[entries] += factors**2 * own.diagonal
            whole.column[entries] += factors * own.column
            whole.square += own.square
            if own.vector is not None:
                whole.vector = np.zeros(self.size)
                whole.vector[entries] = factors * own.vector
                whole.vector_lam, whole.coefficient = own.vector_lam, own.coefficient
        if not any(part.cone.bounds_lam for part in self.parts):
            whole.square = 1.0  # λ plays no role, but must not make the matrix singular
        return whole

    def correct(self) -> None:
        for part in self.parts:
            part.cone.correct()

    def recorrect(self, target: float, primal: float, dual: float) -> None:
        for part in self.parts:
            part.cone.recorrect(target, primal, dual)

    def constant(self, target):
        return self._sum(part.cone.constant(target) for part in self.parts)

    def set_direction(self, dw, dlam):
        for cone, entries, factors in self.parts:
            cone.set_direction(factors * dw[entries], dlam)

    def rates(self):
        primal, dual = zip((0.0, 0.0), *(part.cone.rates() for part in self.parts), strict=True)
        return max(primal), max(dual)

    def products_after(self, primal, dual):
        return sum(part.cone.products_after(primal, dual) for part in self.parts)

    def move(self, primal, dual):
        for part in self.parts:
            part.cone.move(primal, dual)


def cone_at(problem: Problem, point, lam: float, mu: float) -> Cone:
    """Return the cone of a problem at (w, b) = point and λ = lam; without prices, that of the weights alone.

    If the radius is 0, the norm costs nothing: only signs are left, if there are any.
    """
    cone = NORM_CONES[type(problem.norm)]
    if problem.radius > 0 and not prices_weights(problem):
        return cone(point[: problem.n_features], lam, mu)
    parts = []
    if problem.radius > 0:
        entries, prices = priced_entries(problem)
        if len(entries) == 0:
            cone = CrossCone  # all norms of nothing are 0, and the cone of q = 1 is then λ ≥ 0
        parts.append(Part(cone(point[entries] / prices, lam, mu), entries, 1.0 / prices))
    if problem.monotonic_cst is not None:
        entries = np.flatnonzero(problem.monotonic_cst)
        signs = problem.monotonic_cst[entries].astype(np.float64)
        parts.append(Part(SignCone(signs * point[entries], mu), entries, signs))
    return ProductCone(parts, len(point), free_features(problem))


def prices_weights(problem: Problem) -> bool:
    """Return True if weights or the intercept have prices or signs."""
    return problem.feature_cost is not None or problem.monotonic_cst is not None or problem.prices_intercept


def priced_entries(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions in (w, b) of the entries that the norm measures, and their prices."""
    d = problem.n_features
    prices = np.empty(d + problem.fit_intercept)
    prices[:d], prices[d:] = 1.0 if problem.feature_cost is None else problem.feature_cost, problem.intercept_cost
    entries = np.isfinite(prices).nonzero()[0]
    return entries, prices[entries]
