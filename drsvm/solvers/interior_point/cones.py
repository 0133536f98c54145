"""The constraints of a problem: the norm of entries of (w, b) with a cost, and signs.

The mathematics is in `compiled/cones.py`; here it is called, with arrays made for it.
"""

import math

import numpy as np

from drsvm.compiled import cones as compiled
from drsvm.engines.cpu import free_features
from drsvm.engines.newton_matrix import Scaling
from drsvm.problem.problem import Problem


class Cone:
    """Slacks and multipliers of the constraints on (w, b) and λ.

    It also keeps their changes along a direction. For the second-order cone (q = 2),
    the scaling is that of Nesterov and Todd.

    Parameters
    ----------
    constraints : Constraints
        The constraints at a point, in the form of the compiled functions.
    size : int
        The size of (w, b).
    outside : array of int
        The features that neither the norm nor a ridge limits (see `Scaling`).
    """

    def __init__(
        self, constraints: compiled.Constraints, size: int, outside: np.ndarray
    ):
        self.constraints = constraints
        self.size = size
        self.outside = outside
        # Σ multiplier · slack / μ on the central path: 1 for the norm, 1 for all signs
        self.weight = float(constraints.has_norm) + float(constraints.n_signs > 0)

    def multipliers(self) -> tuple[np.ndarray, float]:
        """Return the multipliers' part z of the optimality conditions, and z_λ."""
        z = np.empty(self.size)
        return z, compiled.multipliers(self.constraints, z)

    def products(self) -> float:
        """Return Σ multiplier · slack."""
        values = self.constraints.values
        return float(values[compiled.SLACK] @ values[compiled.DUAL])

    def scaling(self) -> Scaling:
        """Return the matrix that the cone adds to the Newton matrix at its point.

        The methods below then work with this matrix.
        """
        vectors = np.empty((3, self.size))
        square, vector_lam, coefficient = compiled.scaling(self.constraints, vectors)
        if not math.isfinite(square + coefficient):
            raise FloatingPointError(
                "rounding errors have moved a point out of the cone"
            )
        diagonal, column, vector = vectors
        if coefficient == 0.0:
            vector = None
        return Scaling(
            diagonal, column, square, vector, vector_lam, coefficient, self.outside
        )

    def constant(self, target: float) -> tuple[np.ndarray, float]:
        """Return the part of z + dz that does not depend on the direction.

        It depends on the target of the products, and on the correction once there is
        one.
        """
        z = np.empty(self.size)
        return z, compiled.constant(self.constraints, target, z)

    def set_direction(self, direction: np.ndarray, dlam: float) -> None:
        """Compute the changes of slacks and multipliers along a direction."""
        compiled.set_direction(self.constraints, direction, dlam)

    def rates(self) -> tuple[float, float]:
        """Return 1 / the longest step, for slacks and for multipliers."""
        return compiled.rates(self.constraints)

    def correct(self) -> None:
        """Compute the second-order correction for the direction."""
        compiled.correct(self.constraints)

    def products_after(self, primal: float, dual: float) -> float:
        """Return Σ multiplier · slack after steps along the direction."""
        return compiled.products_after(self.constraints, primal, dual)

    def move(self, primal: float, dual: float) -> None:
        """Take steps along the direction."""
        compiled.move(self.constraints, primal, dual)


def cone_at(problem: Problem, point: np.ndarray, lam: float, mu: float) -> Cone:
    """Return the cone of a problem, centred at a point.

    Parameters
    ----------
    problem : Problem
        The problem. If its radii are 0, the norm costs nothing: only signs are left, if
        there are any.
    point : array
        (w, b), or w without an intercept.
    lam : float
        λ, larger than the norm of the point.
    mu : float
        The μ of the central path: every multiplier is set to its share of μ, divided by
        the slack.

    Returns
    -------
    Cone
        The cone.
    """
    # 1. The constraints of the norm
    kind = problem.norm.cone
    has_norm = problem.charges_norm
    entries = np.zeros(0, dtype=np.intp)
    factors = np.zeros(0)
    slacks = np.zeros(0)
    duals = np.zeros(0)
    if has_norm:
        entries, costs = entries_with_cost(problem)
        if len(entries) == 0:
            # All norms of nothing are 0, and the cone of q = 1 is then λ ≥ 0.
            kind = compiled.OneNormCone
        factors = problem.norm.cone_factors(costs)
        slacks = kind.slacks_at(factors * point[entries], lam)
        duals = kind.central_duals(slacks, mu)
    n_norm = len(slacks)
    shares = np.full(n_norm, 1.0 / max(n_norm, 1))

    # 2. Those of the signs
    n_signs = 0
    if problem.monotonic_cst is not None:
        constrained = problem.monotonic_cst.nonzero()[0]
        signs = problem.monotonic_cst[constrained].astype(np.float64)
        n_signs = len(signs)
        of_signs = signs * point[constrained]
        entries = np.concatenate((entries, constrained))
        factors = np.concatenate((factors, signs))
        shares = np.append(shares, np.full(n_signs, 1.0 / max(n_signs, 1)))
        slacks = np.append(slacks, of_signs)
        duals = np.append(duals, mu / (n_signs * of_signs))

    # 3. Both in the form of the compiled functions; `Constraints` describes the arrays.
    values = np.zeros((8, n_norm + n_signs))
    values[compiled.SHARE] = shares
    values[compiled.SLACK] = slacks
    values[compiled.DUAL] = duals
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


def entries_with_cost(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions in (w, b) of the entries in the norm, and their costs."""
    d = problem.n_features
    costs = np.ones(d + problem.fit_intercept)
    if problem.feature_cost is not None:
        costs[:d] = problem.feature_cost
    costs[d:] = problem.intercept_cost
    entries = np.isfinite(costs).nonzero()[0]
    return entries, costs[entries]
