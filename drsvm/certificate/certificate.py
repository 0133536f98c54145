"""Certificates: any multipliers are made feasible for the dual problem.

The problem, with weights π, radius ε, flip costs κ, ridge c, costs a of the features
and a_0 of the intercept, and margins m_i = y_i (w·x_i + b), is

    minimise    ε λ + Σ_i π_i max(1 − m_i, 1 + m_i − κ_i λ, 0) + (c/2) ‖w‖₂²
    subject to  ‖(w_1/a_1, …, w_d/a_d, b/a_0)‖_q ≤ λ.

Its dual problem has two multipliers per row, α_i for the hinge loss 1 − m_i and β_i for
the loss after a flip of the label, 1 + m_i − κ_i λ:

    maximise    Σ_i (α_i + β_i) − (1/2c) min {‖v⁺ − u‖₂² : ‖(a ⊙ u, a_0 v_0)‖_p ≤ e}
    subject to  α, β ≥ 0,  α_i + β_i ≤ π_i,  e = ε − Σ κ_i β_i ≥ 0

The dual value is a proven lower bound on the objective of all classifiers. Here v =
Σ (α_i − β_i) y_i x_i, v_0 = Σ (α_i − β_i) y_i, and v⁺ is v except for 0 where v_j has
the opposite of the sign prescribed for w_j. Without ridge (c = 0), u = v⁺. A free
intercept (a_0 = ∞) requires v_0 = 0.

The same function computes the certificate for all solvers, in strict arithmetic:
`multipliers` lists the steps that make multipliers feasible, and what rounding errors
may change is subtracted from the bound.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from drsvm.certificate.dual_bound import (
    EVERY_WEIGHT,
    DualScaling,
    best_dual_scaling,
    largest_contribution,
    uncharged_features,
)
from drsvm.certificate.multipliers import (
    ROUNDING_OF_MASSES,
    Multipliers,
    clipped_multipliers,
    must_balance,
)
from drsvm.problem.centring import offset_of_far_columns, shifted_intercept
from drsvm.problem.problem import Problem, check_problem
from drsvm.problem.validation import check_weight_vector
from drsvm.utils.annotations import Values
from drsvm.utils.arguments import about
from drsvm.utils.compensated_sums import ULP

# Rounding errors of v are ignored if they cannot change a bound by more than
# NEGLIGIBLE, far below the finest tolerance in use (1e-8), and they are usually far
# smaller. Above that, what is known about them in advance is subtracted; if this may
# change a bound by more than SLIGHT, a third of that tolerance, sums are compensated.
NEGLIGIBLE = 1e-11
SLIGHT = 3e-9
# A weight of the wrong sign is set to 0 up to this share of the largest weight, and
# refused above.
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
    """Feasible multipliers and the lower bound they prove.

    It holds for all classifiers if the other two bounds are infinite, otherwise for
    those within them: see `contribution_bound` and `weight_bound` of `Result`.
    """

    hinge_dual: np.ndarray
    flip_dual: np.ndarray
    lower_bound: float
    contribution_bound: float = math.inf
    weight_bound: float = math.inf

    def covers(self, problem: Problem, weights) -> bool:
        """Return whether the bound holds for weights a hundred times as large."""
        return largest_contribution(problem, weights) <= self.contribution_bound


@dataclass(frozen=True)
class Certificate:
    """What is proven about a classifier: objective, lower bound and gap.

    Attributes
    ----------
    primal : PrimalPoint
        The classifier with its optimal λ and its objective.
    dual : DualPoint
        Feasible multipliers and the bound they prove.

    Examples
    --------
    >>> from drsvm import Problem, certify
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> problem = Problem(X, [-1, -1, 1, 1], radius=0.1, fit_intercept=True)
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
        """Proven lower bound on the optimum.

        It is capped at the objective, because rounding may lift it above.
        """
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

    Returns
    -------
    Certificate
        The objective of the classifier, the bound that the multipliers prove, and the
        multipliers as they were made feasible.

    Examples
    --------
    >>> from drsvm import Problem, certify, solve
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> problem = Problem(X, [-1, -1, 1, 1], radius=0.1, fit_intercept=True)
    >>> result = solve(problem)
    >>> duals = result.hinge_dual, result.flip_dual
    >>> certify(problem, result.weights, result.intercept, *duals).gap <= 1e-6
    True
    >>> certify(problem, [0.0]).objective
    1.0
    """
    check_problem(problem, "certify")
    primal = primal_point(problem, weights, intercept)
    _refuse_nan("hinge_dual", hinge_dual)
    _refuse_nan("flip_dual", flip_dual)
    offset = offset_of_far_columns(problem)
    if offset is not None:
        # Columns far from 0 are shifted towards it: the classifier is the same, and so
        # is the bound, with smaller rounding errors.
        problem = problem.shifted(offset)
        intercept = shifted_intercept(offset, primal.weights, primal.intercept)
        price, objective = problem.price_and_objective(primal.weights, intercept)
        primal = replace(primal, radius_price=price, objective=objective)
    dual = dual_point(problem, hinge_dual, flip_dual, reference=primal.weights)
    return Certificate(primal, dual)


def _refuse_nan(name: str, values: Values) -> None:
    """Raise a ValueError that names the first row whose multiplier is NaN."""
    if values is None:
        return
    with about(name):
        is_nan = np.isnan(np.asarray(values, dtype=np.float64))
    if is_nan.any():
        row = int(np.argmax(is_nan))
        raise ValueError(f"{name} has NaN at row {row}: multipliers must be numbers.")


def primal_point(problem: Problem, weights, intercept: float = 0.0) -> PrimalPoint:
    """Return the classifier with its smallest optimal λ and its objective.

    Raise a ValueError if it is no classifier of the problem: an intercept where there
    is none, a number that is not finite, or a weight of the wrong sign.
    """
    weights = check_weight_vector(weights, problem.n_features)
    with about("intercept"):
        intercept = float(intercept)
    if not math.isfinite(intercept) or (intercept != 0.0 and not problem.fit_intercept):
        raise ValueError(
            "intercept must be finite, and 0 if fit_intercept=False, got "
            f"intercept={intercept}."
        )
    weights = _with_signs(problem, weights)
    price, objective = problem.price_and_objective(weights, intercept)
    return PrimalPoint(weights, intercept, price, objective)


def _with_signs(problem: Problem, weights: np.ndarray) -> np.ndarray:
    """Return weights with 0 for tiny ones of the wrong sign; large ones are refused."""
    if problem.monotonic_cst is None:
        return weights
    signed = problem.with_signs(weights)
    wrong = np.abs(weights - signed)
    if wrong.max() > SIGN_SLACK * np.abs(weights).max():
        j = int(np.argmax(wrong))
        sign = problem.monotonic_cst[j]
        raise ValueError(
            f"weights has {weights[j]:g} at feature {j}, where monotonic_cst={sign} "
            f"requires {'at least' if sign > 0 else 'at most'} 0: pass "
            "problem.with_signs(weights)."
        )
    return signed


class _Repair(NamedTuple):
    """Which steps are taken between clipping and scaling (see `multipliers`)."""

    cancels: bool
    """Whether v_j becomes 0 at free weights."""
    balances: bool
    """Whether v_0 becomes 0."""

    def repaired(self, problem: Problem, hinge_dual, flip_dual, free) -> Multipliers:
        """Return copies of multipliers, clipped and repaired."""
        multipliers = clipped_multipliers(problem, hinge_dual, flip_dual)
        if self.cancels:
            multipliers.cancel_sums(free)
        if self.balances:
            multipliers.balance()
        return multipliers


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

    Parameters
    ----------
    problem : Problem
        The problem.
    hinge_dual, flip_dual : arrays of shape (n,), optional
        Multipliers α and β with any values; None means 0. NaN among them proves a bound
        of NaN.
    reference : array of shape (d,), optional
        Weights for which the bound must hold.
    slight : float
        The bound may be this much lower because of rounding errors that are known in
        advance. 0 asks for compensated sums.
    enough : float
        No other repair is tried if the bound is at least this.

    Returns
    -------
    DualPoint
        Feasible multipliers and their bound.
    """
    free = uncharged_features(problem)[1]
    has_free = bool(free.any())
    if has_free:
        # No error of v is small where weights are nearly free.
        slight = 0.0
    given = (problem, hinge_dual, flip_dual, free)

    # 1. The quickest repair
    best_repair, *others = _repairs(problem, has_free)
    multipliers = best_repair.repaired(*given)
    sums, best = _scaled(problem, multipliers, best_repair, slight, reference)

    # 2. Others that may prove more
    if best.bound >= enough and not has_free:
        others = []
    elif best.bound >= sums.mass - abs(sums.v0):
        # Balanced multipliers have this mass, so they prove no more.
        others = [repair for repair in others if repair.cancels]
    present = best_repair
    for repair in others:
        # Those of the best repair are made again below rather than kept: two copies
        # might not fit into memory.
        del multipliers
        multipliers = repair.repaired(*given)
        present = repair
        sums, scaling = _scaled(problem, multipliers, repair, slight, reference)
        if scaling.bound > best.bound:
            best_repair = repair
            best = scaling
    if present != best_repair:
        del multipliers
        multipliers = best_repair.repaired(*given)

    # 3. The factor with which they prove most
    multipliers.shrink(best.scale, best.scale)
    if 0.0 < best.scale < 1.0 and (has_free or _scaling_matters(problem)):
        # The products are rounded: a v_j that was exactly 0 need not be so any more, a
        # v on the boundary of a tiny ball may be outside. The bound is that of the
        # rounded multipliers.
        sums = _sums(problem, multipliers, best_repair.balances, 0.0)
        best = best_dual_scaling(problem, *sums, reference)
    return DualPoint(*multipliers.vectors(), best.bound, *best.limits)


def _scaled(
    problem: Problem, multipliers: Multipliers, repair: _Repair, slight, reference
) -> tuple["_Sums", DualScaling]:
    """Return the sums of multipliers, and the factor with which they prove most."""
    if problem.has_row_radius and problem.l2 == 0.0 and slight > 0.0:
        # Row radii leave little for errors, but those of multipliers that are inside
        # the ball all the same do not matter, and compensated sums take long.
        sums = _sums(problem, multipliers, repair.balances, math.inf)
        scaling = best_dual_scaling(problem, *sums, reference)
        if scaling.scale == 1.0 and scaling.limits == EVERY_WEIGHT:
            return sums, scaling
    sums = _sums(problem, multipliers, repair.balances, slight)
    return sums, best_dual_scaling(problem, *sums, reference)


def _repairs(problem: Problem, has_free: bool) -> list[_Repair]:
    """Return the repairs to try, the quickest first.

    An intercept with a finite cost may keep its v_0, or multipliers may be balanced:
    which proves more is known only afterwards.
    """
    must = must_balance(problem)
    repairs = [_Repair(cancels=False, balances=problem.fit_intercept)]
    if problem.fit_intercept and not must:
        repairs.insert(0, _Repair(cancels=False, balances=False))
    if has_free and problem.rows.readable:
        repairs.append(_Repair(cancels=True, balances=must))
    return repairs


def _scaling_matters(problem: Problem) -> bool:
    """Return whether rounding errors of scaled multipliers may change a bound.

    Only few rows are worth a second pass.
    """
    if not problem.rows.is_small:
        return False
    return _change_of_bound(problem, ULP * problem.column_sizes) > NEGLIGIBLE


class _Sums(NamedTuple):
    """What a bound depends on, with rounding errors at their worst."""

    mass: float
    """Σ (α + β)."""
    flip_cost: float
    """Σ κ β − Σ r α."""
    v: np.ndarray
    """Σ (α − β) y x."""
    v0: float
    """Σ (α − β) y."""


def _sums(
    problem: Problem, multipliers: Multipliers, balanced: bool, slight: float
) -> _Sums:
    """Return the sums, where v is as far from 0 as rounding errors allow.

    `balanced` multipliers have v_0 = 0 up to rounding.
    """
    # 1. Sums that are exact enough. Compensated sums take longer, and those of many
    # rows too long.
    totals = multipliers.totals(compensated=slight == 0.0)
    if slight > 0.0:
        errors = totals.rounding * problem.column_sizes
        change = _change_of_bound(problem, errors)
        if change <= NEGLIGIBLE:
            v0 = 0.0 if balanced else totals.v0
            return _Sums(totals.mass, totals.flip_cost, totals.v, v0)
        if change > slight and problem.rows.is_small:
            totals = multipliers.totals(compensated=True)

    # 2. The worst that the errors that are left may do
    mass, flip_cost, v, v0, rounding = totals
    if balanced:
        # Multipliers of which v_0 is exactly 0 differ by this share on one side.
        if mass > 0:
            rounding = rounding + 2.0 * abs(v0) / mass
        mass = mass - abs(v0)
        v0 = 0.0
    if problem.has_row_radius:
        # Σ r α may nearly cancel ‖v‖.
        flip_cost += ROUNDING_OF_MASSES * abs(flip_cost)
    # A larger |v_j| proves less; with a prescribed sign, only that side of 0 counts.
    away = np.where(v < 0, -1.0, 1.0)
    if problem.monotonic_cst is not None:
        away = np.where(problem.monotonic_cst == 0, away, problem.monotonic_cst)
    return _Sums(mass, flip_cost, v + away * rounding * problem.column_sizes, v0)


def _change_of_bound(problem: Problem, errors: np.ndarray) -> float:
    """Return approximately how much errors of v may change a bound.

    Without ridge, they are a share of the radius, which must be positive.
    """
    if problem.l2 > 0:
        return float(errors @ problem.column_sizes) / problem.l2
    if problem.feature_cost is not None:
        errors = errors * problem.feature_cost
    if problem.radius == 0.0:
        # The shifts of single rows leave nothing for errors.
        return math.inf
    return problem.norm.dual.value(errors) / problem.radius
