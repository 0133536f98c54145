"""Certificates: any multipliers are made feasible for the dual, and their dual value is a proven lower bound.

    maximise    Σ_i (α_i + β_i) − (1/2c) min {‖v⁺ − u‖₂² : ‖(a ⊙ u, a_0 v_0)‖_p ≤ e}
    subject to  α, β ≥ 0,  α_i + β_i ≤ π_i,  e = ε − Σ κ_i β_i ≥ 0

with v = Σ (α_i − β_i) y_i x_i, v_0 = Σ (α_i − β_i) y_i, and v⁺ equal to v except for 0
where v_j has the opposite of the sign prescribed for w_j. Without ridge (c = 0), u =
v⁺. A free intercept (a_0 = ∞) requires v_0 = 0.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from drsvm.certificate.dual_bound import (
    best_dual_scaling,
    largest_contribution,
    uncharged_features,
)
from drsvm.certificate.multipliers import (
    Multipliers,
    clipped_multipliers,
    must_balance,
)
from drsvm.problem.centring import offset_of_far_columns, shifted_intercept
from drsvm.problem.problem import Problem, check_problem
from drsvm.problem.validation import check_weight_vector
from drsvm.utils.annotations import Values
from drsvm.utils.compensated_sums import ULP

# Rounding errors of v are ignored if they cannot change a bound by more; they are
# usually far smaller. Above that, what is known about them in advance is added; if this
# may change a bound by more than SLIGHT, sums are careful.
NEGLIGIBLE = 1e-11
SLIGHT = 3e-9
# A weight of the wrong sign is set to 0 up to this share of the largest weight, and
# refused above
SIGN_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class PrimalPoint:
    """A classifier with its exact optimal λ and its objective."""

    weights: np.ndarray
    intercept: float
    radius_price: float
    objective: float


@dataclass(frozen=True, eq=False)
class DualPoint:
    """Feasible multipliers and the lower bound they prove: for all classifiers, or up to limits (see `Result`)."""

    hinge_dual: np.ndarray
    flip_dual: np.ndarray
    lower_bound: float
    contribution_bound: float = math.inf
    weight_bound: float = math.inf

    def covers(self, problem: Problem, weights) -> bool:
        """Return whether the bound holds for given weights, with room to spare."""
        return largest_contribution(problem, weights) <= self.contribution_bound


@dataclass(frozen=True)
class Certificate:
    """What is proven about a classifier: its objective, a lower bound on the optimum and the gap between them.

    Examples
    --------
    >>> from drsvm import Problem, certify
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1, fit_intercept=True)
    >>> certificate = certify(problem, [0.5], -0.75)
    >>> certificate.objective > certificate.lower_bound >= 0
    True
    """

    primal: PrimalPoint
    dual: DualPoint

    @property
    def objective(self) -> float:
        """Objective of the classifier."""
        return self.primal.objective

    @property
    def lower_bound(self) -> float:
        """Proven lower bound on the optimum, capped at the objective because rounding may lift it above."""
        return min(self.dual.lower_bound, self.primal.objective)

    @property
    def gap(self) -> float:
        """Objective minus lower bound."""
        return self.primal.objective - self.lower_bound


def certify(
    problem: Problem,
    weights: Values,
    intercept: float = 0.0,
    hinge_dual: Values = None,
    flip_dual: Values = None,
) -> Certificate:
    """Return the `Certificate` of a classifier, with multipliers from any source.

    Parameters
    ----------
    problem : Problem
        The problem.
    weights, intercept : array of shape (d,), float
        The classifier.
    hinge_dual, flip_dual : arrays of shape (n,), optional
        Multipliers α and β, one per row of positive weight; they need not be feasible.
        None means 0.

    Examples
    --------
    >>> from drsvm import Problem, certify, solve
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1, fit_intercept=True)
    >>> result = solve(problem)
    >>> certify(problem, result.weights, result.intercept, result.hinge_dual, result.flip_dual).gap <= 1e-6
    True
    >>> certify(problem, [0.0]).objective
    1.0
    """
    check_problem(problem, "certify")
    primal = primal_point(problem, weights, intercept)
    for name, values in (("hinge_dual", hinge_dual), ("flip_dual", flip_dual)):
        if values is not None and np.isnan(values).any():
            raise ValueError(
                f"{name} has NaN at row {int(np.argmax(np.isnan(values)))}: multipliers must be numbers."
            )
    offset = offset_of_far_columns(problem)
    if offset is not None:
        # The same classifier and the same bound, with smaller rounding errors
        problem = problem.shifted(offset)
        intercept = shifted_intercept(offset, primal.weights, primal.intercept)
        price, objective = problem.price_and_objective(primal.weights, intercept)
        primal = replace(primal, radius_price=price, objective=objective)
    dual = dual_point(problem, hinge_dual, flip_dual, reference=primal.weights)
    return Certificate(primal, dual)


def primal_point(problem: Problem, weights, intercept: float = 0.0) -> PrimalPoint:
    """Return the classifier with its smallest optimal λ and its objective."""
    weights = check_weight_vector(weights, problem.n_features)
    intercept = float(intercept)
    if not math.isfinite(intercept) or (intercept != 0.0 and not problem.fit_intercept):
        raise ValueError(
            f"intercept must be finite, and 0 if fit_intercept=False, got intercept={intercept}."
        )
    if problem.monotonic_cst is not None:
        signed = problem.with_signs(weights)
        wrong = np.abs(weights - signed)
        if wrong.max() > SIGN_SLACK * np.abs(weights).max():
            j = int(np.argmax(wrong))
            raise ValueError(
                f"weights has {weights[j]:g} at feature {j}, where monotonic_cst={problem.monotonic_cst[j]} requires "
                f"{'at least' if problem.monotonic_cst[j] > 0 else 'at most'} 0: pass problem.with_signs(weights)."
            )
        weights = signed
    return PrimalPoint(
        weights, intercept, *problem.price_and_objective(weights, intercept)
    )


def dual_point(
    problem: Problem,
    hinge_dual=None,
    flip_dual=None,
    *,
    reference=None,
    slight=SLIGHT,
    enough: float = math.inf,
) -> DualPoint:
    """Make multipliers feasible and return them with the bound they prove.

    NaN among them proves a bound of NaN.

    `reference` is a weight vector for which the bound must hold; a loss of the bound by
    `slight` does not matter. If it is `enough`, no other way to make them feasible is
    tried.
    """
    free = uncharged_features(problem)[1]
    compensated = bool(free.any())
    must = must_balance(problem)
    limit = 0.0 if compensated else slight
    # Clipped ones become feasible by v_j = 0 at free weights, as far as possible, or
    # not, and by v_0 = 0 or not.
    ways = [(False, problem.fit_intercept)]  # the quickest first
    if problem.fit_intercept and not must:
        ways.insert(0, (False, False))
    if compensated and problem.rows.readable:
        ways.append((True, must))

    def repaired(cancels: bool, balances: bool) -> Multipliers:
        multipliers = clipped_multipliers(problem, hinge_dual, flip_dual)
        if cancels:
            multipliers.cancel_sums(free)
        if balances:
            multipliers.balance()
        return multipliers

    way, *others = ways
    multipliers = repaired(*way)
    mass, cost, v, v0 = _sums(problem, multipliers, way[1], limit)
    best = best_dual_scaling(problem, mass, cost, v, v0, reference)
    if best[1] >= enough and not compensated:
        others = []
    elif others and best[1] >= mass - abs(
        v0
    ):  # the mass of balanced ones, which prove no more
        others = [other for other in others if other[0]]
    for other in others:
        del multipliers  # the memory is needed, so they are made again rather than kept
        multipliers = repaired(*other)
        multiple = best_dual_scaling(
            problem, *_sums(problem, multipliers, other[1], limit), reference
        )
        if multiple[1] > best[1]:
            way = other
            best = multiple
        else:
            way = way
            best = best
    if others and way != others[-1]:
        del multipliers
        multipliers = repaired(*way)
    scale, bound, limits = best
    multipliers.shrink(scale, scale)
    rows = problem.rows
    if 0.0 < scale < 1.0 and (
        compensated
        or (
            rows.readable
            and rows.is_small
            and _cost(problem, ULP * problem.column_sizes) > NEGLIGIBLE
        )
    ):
        # The product is rounded: a v_j that was exactly 0 need not be so any more, a v
        # on a tiny ball not on it.
        _, bound, limits = best_dual_scaling(
            problem, *_sums(problem, multipliers, way[1], 0.0), reference
        )
    return DualPoint(*multipliers.vectors(), bound, *limits)


def _sums(problem: Problem, multipliers: Multipliers, balanced: bool, slight: float):
    """Return mass, cost, v and v_0, where v is as far from 0 as rounding errors allow."""
    totals = multipliers.totals(compensated=slight == 0.0)
    if slight > 0.0:
        cost_of_errors = _cost(problem, totals.rounding * problem.column_sizes)
        if cost_of_errors <= NEGLIGIBLE:
            return (
                totals.mass,
                totals.flip_cost,
                totals.v,
                0.0 if balanced else totals.v0,
            )
        if cost_of_errors > slight and problem.rows.readable and problem.rows.is_small:
            totals = multipliers.totals(compensated=True)
    mass, cost, v, v0, rounding = totals
    if balanced:
        # v_0 is 0 up to rounding. Multipliers of which it is exactly 0 differ by this
        # share on one side.
        rounding = rounding + (2.0 * abs(v0) / mass if mass > 0 else 0.0)
        mass = mass - abs(v0)
        v0 = 0.0
    away = np.where(v < 0, -1.0, 1.0)
    if problem.monotonic_cst is not None:
        away = np.where(problem.monotonic_cst == 0, away, problem.monotonic_cst)
    return mass, cost, v + away * rounding * problem.column_sizes, v0


def _cost(problem: Problem, errors: np.ndarray) -> float:
    """Return approximately how much errors of v may change a bound."""
    if problem.l2 > 0:
        return float(errors @ problem.column_sizes) / problem.l2
    if problem.feature_cost is None:
        priced = errors
    else:
        priced = errors * problem.feature_cost
    return problem.norm.dual.value(priced) / problem.radius
