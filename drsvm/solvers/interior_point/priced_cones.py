"""Cones of problems with prices: the norm of the priced entries of (w, b), and weights with a prescribed sign.

They have the methods of all cones, for vectors of the whole (w, b).
"""

from copy import copy

import numpy as np

from drsvm.engines.cpu import free_features
from drsvm.model.problem import Problem
from drsvm.solvers.interior_point.cones import Cone, CrossCone, PolyhedralCone, Scaling, cone_for


class PricedCone(Cone):
    """A cone of t = (entries of (w, b)) / price; `outside` are features without price and ridge."""

    def __init__(self, inner: Cone, entries, scale, outside, size: int):
        self.inner, self.entries, self.scale, self.outside, self.size = inner, entries, scale, outside, size
        self.weight = inner.weight

    def __copy__(self) -> "PricedCone":
        return PricedCone(copy(self.inner), self.entries, self.scale, self.outside, self.size)

    def _spread(self, values) -> np.ndarray:
        """Return Bᵀ times values, where t = B·(w, b)."""
        spread = np.zeros(self.size)
        spread[self.entries] = self.scale * values
        return spread

    def multipliers(self):
        z, level = self.inner.multipliers()
        return self._spread(z), level

    def products(self) -> float:
        return self.inner.products()

    def scaling(self) -> Scaling:
        inner = self.inner.scaling()
        vector = None if inner.vector is None else self._spread(inner.vector)
        arrow = self._spread(self.scale * inner.diagonal), self._spread(inner.column), inner.square
        return Scaling(*arrow, vector, inner.vector_level, inner.coefficient, self.outside)

    def correct(self) -> None:
        self.inner.correct()

    def recorrect(self, target: float, primal: float, dual: float) -> None:
        self.inner.recorrect(target, primal, dual)

    def constant(self, target):
        z, level = self.inner.constant(target)
        return self._spread(z), level

    def set_direction(self, dw, dlevel):
        self.inner.set_direction(self.scale * dw[self.entries], dlevel)

    def rates(self):
        return self.inner.rates()

    def products_after(self, primal, dual):
        return self.inner.products_after(primal, dual)

    def move(self, primal, dual):
        self.inner.move(primal, dual)


class SignCone(PolyhedralCone):
    """s_j w_j ≥ 0 for some features."""

    def __init__(self, point, entries, signs, mu: float):
        self.entries, self.signs, self.size = entries, signs, len(point)
        super().__init__(signs * point[entries], mu)

    def _spread(self, values) -> np.ndarray:
        spread = np.zeros(self.size)
        spread[self.entries] = values
        return spread

    def multipliers(self):
        return self._spread(-self.signs * self.duals), 0.0

    def scaling(self) -> Scaling:
        return Scaling(self._spread(self._set_ratios()), np.zeros(self.size), 0.0)

    def constant(self, target):
        return self._spread(-self.signs * self._pushes(target)), 0.0

    def set_direction(self, dw, dlevel):
        self._follow(self.signs * dw[self.entries])


class ConeWithSigns(Cone):
    """A cone of the norm together with a cone of signs."""

    def __init__(self, norm: Cone, signs: SignCone):
        self.parts = norm, signs
        self.weight = norm.weight + signs.weight

    def __copy__(self) -> "ConeWithSigns":
        norm, signs = self.parts
        return ConeWithSigns(copy(norm), copy(signs))

    def multipliers(self):
        return _sum(part.multipliers() for part in self.parts)

    def products(self) -> float:
        return sum(part.products() for part in self.parts)

    def scaling(self) -> Scaling:
        norm, signs = (part.scaling() for part in self.parts)
        norm.diagonal = norm.diagonal + signs.diagonal
        return norm

    def correct(self) -> None:
        for part in self.parts:
            part.correct()

    def recorrect(self, target: float, primal: float, dual: float) -> None:
        for part in self.parts:
            part.recorrect(target, primal, dual)

    def constant(self, target):
        return _sum(part.constant(target) for part in self.parts)

    def set_direction(self, dw, dlevel):
        for part in self.parts:
            part.set_direction(dw, dlevel)

    def rates(self):
        primal, dual = zip(*(part.rates() for part in self.parts), strict=True)
        return max(primal), max(dual)

    def products_after(self, primal, dual):
        return sum(part.products_after(primal, dual) for part in self.parts)

    def move(self, primal, dual):
        for part in self.parts:
            part.move(primal, dual)


def _sum(pairs) -> tuple[np.ndarray, float]:
    (one, one_level), (other, other_level) = pairs
    return one + other, one_level + other_level


def cone_at(problem: Problem, point, level: float, mu: float) -> Cone:
    """Return the cone of a problem at (w, b) = point and λ = level; without prices, that of the weights alone."""
    if not prices_weights(problem):
        return cone_for(problem.norm, problem.radius)(point[: problem.n_features], level, mu)
    entries, prices = priced_entries(problem)
    inner = cone_for(problem.norm, problem.radius)
    if len(entries) == 0 and problem.radius > 0:
        inner = CrossCone  # all norms of nothing are 0, and the cone of q = 1 is then λ ≥ 0
    scale = 1.0 / prices
    outside = free_features(problem)
    cone = PricedCone(inner(scale * point[entries], level, mu), entries, scale, outside, len(point))
    if problem.monotonic_cst is None:
        return cone
    signed = np.flatnonzero(problem.monotonic_cst)
    return ConeWithSigns(cone, SignCone(point, signed, problem.monotonic_cst[signed].astype(np.float64), mu))


def prices_weights(problem: Problem) -> bool:
    """Return whether weights or the intercept have prices or signs."""
    return problem.feature_cost is not None or problem.monotonic_cst is not None or problem.prices_intercept


def priced_entries(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return which entries of (w, b) the norm measures, and their prices."""
    prices = np.ones(problem.n_features) if problem.feature_cost is None else problem.feature_cost
    if problem.fit_intercept:
        prices = np.append(prices, problem.intercept_cost)
    entries = np.flatnonzero(np.isfinite(prices))
    return entries, prices[entries]
