"""The constraints of a problem in the interior-point solver: the norm of the priced entries of (w, b), and signs.

The mathematics is in `compiled/cones.py`.
"""

import math
from collections.abc import Callable

import numpy as np

from drsvm.compiled import cones as kernel
from drsvm.engines.cpu import free_features
from drsvm.engines.newton_matrix import Scaling
from drsvm.problem.problem import Problem

_NO_ENTRIES = np.zeros(0, dtype=np.intp)
_NOTHING = np.zeros(0)


def _method(function: Callable) -> Callable:
    """Return a function of constraints as a method of the cone that has them."""
    return lambda cone, *arguments: function(cone.constraints, *arguments)


class Cone:
    """Slacks and multipliers of the constraints on (w, b) and λ, and their changes along a direction."""

    def __init__(self, constraints: kernel.Constraints, size: int, outside: np.ndarray):
        self.constraints = constraints
        self.size = size
        self.outside = outside
        # Σ multiplier · slack / μ
        self.weight = float(constraints.has_norm) + float(constraints.n_signs > 0)

    def multipliers(self) -> tuple[np.ndarray, float]:
        """Return z in (w, b) and z_λ."""
        z = np.empty(self.size)
        return z, kernel.multipliers(self.constraints, z)

    def products(self) -> float:
        """Return Σ multiplier · slack."""
        return float(
            self.constraints.values[kernel.SLACK] @ self.constraints.values[kernel.DUAL]
        )

    def scaling(self) -> Scaling:
        """Return the matrix at the current point, and store it."""
        vectors = np.empty((3, self.size))
        square, vector_lam, coefficient = kernel.scaling(self.constraints, vectors)
        if not math.isfinite(square + coefficient):
            raise FloatingPointError(
                "rounding errors have moved a point out of the cone"
            )
        diagonal, column, vector = vectors
        rank_one = None if coefficient == 0.0 else vector
        return Scaling(
            diagonal, column, square, rank_one, vector_lam, coefficient, self.outside
        )

    def constant(self, target: float) -> tuple[np.ndarray, float]:
        """Return the constant part of z + dz for a target and the current correction."""
        z = np.empty(self.size)
        return z, kernel.constant(self.constraints, target, z)

    set_direction = _method(kernel.set_direction)
    rates = _method(kernel.rates)
    correct = _method(kernel.correct)
    products_after = _method(kernel.products_after)
    move = _method(kernel.move)


def cone_at(problem: Problem, point: np.ndarray, lam: float, mu: float) -> Cone:
    """Return the cone of a problem at (w, b) = point and λ = lam, on the central path of μ.

    If the radius is 0, the norm costs nothing: only signs are left, if there are any.
    """
    kind = problem.norm.cone
    has_norm = problem.radius > 0
    entries = _NO_ENTRIES
    factors = _NOTHING
    of_norm = _NOTHING
    norm_duals = _NOTHING
    if has_norm:
        entries, prices = priced_entries(problem)
        if len(entries) == 0:
            # All norms of nothing are 0, and the cone of q = 1 is then λ ≥ 0
            kind = kernel.OneNormCone
        factors = problem.norm.cone_factors(prices)
        of_norm = kind.slacks_at(factors * point[entries], lam)
        norm_duals = kind.central_duals(of_norm, mu)
    n_norm = len(of_norm)
    n_signs = 0
    of_signs = _NOTHING
    if problem.monotonic_cst is not None:
        constrained = problem.monotonic_cst.nonzero()[0]
        signs = problem.monotonic_cst[constrained].astype(np.float64)
        n_signs = len(signs)
        of_signs = signs * point[constrained]
        entries = np.concatenate((entries, constrained))
        factors = np.concatenate((factors, signs))

    values = np.zeros((8, n_norm + n_signs))
    for row, norm_values, sign_values in (
        (kernel.SHARE, 1.0 / max(n_norm, 1), 1.0 / max(n_signs, 1)),
        (kernel.SLACK, of_norm, of_signs),
        (kernel.DUAL, norm_duals, mu / (n_signs * of_signs)),
    ):
        values[row, :n_norm] = norm_values
        values[row, n_norm:] = sign_values
    first_linear = 0 if kind.is_linear else n_norm
    workspace = np.empty((5, len(entries) - n_signs + 1))
    constraints = kind(
        entries,
        factors,
        n_signs,
        has_norm,
        first_linear,
        values,
        workspace,
        np.zeros(3),
    )
    return Cone(constraints, len(point), free_features(problem))


def priced_entries(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions in (w, b) of the entries that the norm measures, and their prices."""
    d = problem.n_features
    prices = np.empty(d + problem.fit_intercept)
    prices[:d], prices[d:] = (
        1.0 if problem.feature_cost is None else problem.feature_cost,
        problem.intercept_cost,
    )
    entries = np.isfinite(prices).nonzero()[0]
    return entries, prices[entries]
