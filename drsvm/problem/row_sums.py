"""Sums over all rows of a problem, wherever these are.

Each function of a problem below asks for the value of a private function, which
`Problem.query` also computes for the shards of sharded rows: the values can be added.
These are written for arrays of any library with numpy's functions.
"""

from typing import NamedTuple

import numpy as np

from drsvm.problem.backends import to_numpy
from drsvm.problem.problem import Problem
from drsvm.problem.reducers import Distinct, Largest, Moments, Sums
from drsvm.problem.risk import by_row
from drsvm.utils.annotations import Values, Vector
from drsvm.utils.parallel import total
from drsvm.utils.progress import report_progress

# The distance from 1, where the hinge has its kink, within which margins may belong to
# active rows
NEAR_KINK = 0.05


class Decisions(NamedTuple):
    """The range of the decision values on all rows."""

    lowest: float
    highest: float
    positive_mass: float
    """Weight of the rows that are decided positive."""


class GradientVariances(NamedTuple):
    """Sums over the active rows of the variances v_i of their gradients."""

    sums: np.ndarray
    """Σ v x."""
    squares: np.ndarray
    """Σ v x²."""
    mass: float
    """Σ v."""


def masses_of_classes(problem: Problem) -> tuple[float, float]:
    """Return the weights of the rows of label + and of label −, in all."""
    return problem.query(_masses_of_classes, once=True)


def _masses_of_classes(problem: Problem) -> Sums:
    signs = problem.signs
    weights = problem.sample_weight

    def mass_of(sign: float) -> float:
        return total(signs, lambda part: weights[part] @ (signs[part] == sign))

    return Sums((mass_of(1.0), mass_of(-1.0)))


def costs_of_flipping_classes(problem: Problem) -> tuple[float, float]:
    """Return Σ π_i κ_i over the rows of label +, and over those of label −.

    A radius of this size lets the adversary flip all labels of a class.
    """
    if by_row(problem.flip_cost):
        return problem.query(_costs_of_classes, once=True)
    positive, negative = masses_of_classes(problem)
    return problem.flip_cost * positive, problem.flip_cost * negative


def _costs_of_classes(problem: Problem) -> Sums:
    costs = []
    for members in (problem.signs > 0, problem.signs < 0):
        cost = problem.sample_weight[members] @ problem.flip_cost[members]
        costs.append(float(cost))
    return Sums(costs)


def masses_by_flip_cost(problem: Problem, sign: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct flip costs of one class, ascending, and their weights."""
    if by_row(problem.flip_cost):
        most = problem.rows.most_distinct
        return problem.query(_masses_by_flip_cost, sign, most, once=True)
    positive, negative = masses_of_classes(problem)
    mass = negative
    if sign > 0:
        mass = positive
    return np.array([problem.flip_cost]), np.array([mass])


def _masses_by_flip_cost(problem: Problem, sign: float, most: int | None) -> Distinct:
    inside = problem.signs == sign
    costs = problem.flip_cost[inside]
    numbers, masses = Distinct.of(costs, problem.sample_weight[inside])
    if most is not None and len(numbers) > most:
        raise ValueError(
            f"flip_cost has {len(numbers)} different values in a chunk, too many "
            "to collect: round them, for instance to two digits."
        )
    return Distinct(to_numpy(numbers), to_numpy(masses))


def gradient_of_classes(
    problem: Problem, positive: float = 1.0, negative: float = 1.0
) -> tuple[np.ndarray, float]:
    """Return sums over the rows, in which the classes have factors.

    Parameters
    ----------
    problem : Problem
        The problem.
    positive, negative : float
        The factors c_i of the rows of label + and of label −.

    Returns
    -------
    sums : array of shape (d,)
        Σ c_i π_i y_i x_i.
    total : float
        Σ c_i π_i y_i.
    """
    return problem.query(_gradient_of_classes, positive, negative, once=True)


def _gradient_of_classes(problem: Problem, positive: float, negative: float) -> Sums:
    coefficients = problem.multiples_of_weights(positive, negative)
    return Sums(problem.weighted_sum(coefficients))


def range_of_decisions(problem: Problem, w: Vector, b: float = 0.0) -> Decisions:
    """Return the range of the decision values, and the mass decided positive."""
    highest, negative_of_lowest, mass = problem.query(_range_of_decisions, w, b)
    return Decisions(-float(negative_of_lowest), float(highest), mass)


def _range_of_decisions(problem: Problem, w: Vector, b: float) -> Sums:
    """Return the highest value, the negative of the lowest, and the positive mass.

    The sums over shards of the former two are the largest ones.
    """
    values = problem.decision_values(w, b)
    weights = problem.sample_weight
    mass = total(values, lambda part: weights[part] @ (values[part] > 0))
    highest = Largest(values.max())
    negative_of_lowest = Largest(-values.min())
    return Sums((highest, negative_of_lowest, mass))


def flips_pay(problem: Problem, w: Vector, b: float = 0.0) -> bool:
    """Return whether 2 m_i > κ_i for some row."""
    return problem.query(_flips_pay, w, b) > 0


def _flips_pay(problem: Problem, w: Vector, b: float) -> Largest:
    return Largest((2.0 * problem.margins(w, b) > problem.flip_cost).any())


def typical_row_norm(problem: Problem, of_features: Values = None) -> float:
    """Return the mean p-norm of the rows that are not 0, as a scale for shifts.

    Parameters
    ----------
    problem : Problem
        The problem.
    of_features : array of shape (d,), optional
        Factors of the features. With them, the mean is over all rows.

    Returns
    -------
    float
        The mean; without factors, 1 if all rows are 0.
    """
    norms, mass = problem.query(_norms, of_features, once=True)
    if of_features is not None:
        return norms
    if mass > 0:
        return norms / mass
    return 1.0


def _norms(problem: Problem, factors) -> Sums:
    """Return Σ π ‖x‖, and Σ π over rows that are not 0."""
    norms = problem.rows.norms(problem.norm.p, factors)
    weights = problem.sample_weight
    sum_of_norms = float(weights @ norms)
    mass = float(weights @ (norms > 0))
    return Sums((sum_of_norms, mass))


def column_moments(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted means and standard deviations of dense columns."""
    _, means, variances = problem.query(_column_moments, once=True)
    return means, np.sqrt(np.maximum(variances, 0.0))


def _column_moments(problem: Problem) -> Moments:
    mass = float(problem.sample_weight.sum())
    means, deviations = problem.rows.moments(problem.sample_weight / mass)
    return Moments(mass, means, deviations**2)


def gradient_variances(
    problem: Problem, pilot: Values = None, counts: Values = None
) -> GradientVariances:
    """Return the sums for the gradients of rows with random labels.

    `defaults/radius_rule.py` says what they are for.

    Parameters
    ----------
    problem : Problem
        The problem.
    pilot : tuple of weights and intercept, optional
        A pilot solution: only rows that are active there count. By default all do.
    counts : array, optional
        The number of rows that each given row represents; by default one.

    Returns
    -------
    GradientVariances
        The sums.
    """
    scale = None
    if counts is not None and problem.rows.is_sharded:
        # Weights where the rows are take the place of counts.
        problem, scale = problem.rows.counted(counts)
        counts = None
    elif counts is not None:
        counts = problem.multipliers_from(counts)
    sums = problem.query(_gradient_variances, pilot, counts, scale)
    return GradientVariances(*sums)


def _gradient_variances(problem: Problem, pilot, counts, scale: float | None) -> Sums:
    """Return the sums; without counts, variances may be in units of weights."""
    # A row that represents k rows contributes k independent gradients with a k-th of
    # its weight each.
    weights = problem.sample_weight
    if scale is not None:
        variances = weights * scale
    elif counts is not None:
        variances = weights**2 / counts
    else:
        variances = weights**2
    if pilot is not None:
        # At the optimum many margins are 1, and which side they are on is a matter of
        # rounding: near 1, rows count as active in part.
        shortfall = 1.0 - problem.margins(*pilot)
        active = np.clip(0.5 + shortfall / (2.0 * NEAR_KINK), 0.0, 1.0)
        variances = variances * active
    report_progress(0.3)
    sums = problem.rows.coordinates(problem.rows.weighted_sum(variances))
    report_progress(0.6)
    squares = problem.rows.sum_of_squares(variances)
    return Sums((sums, squares, float(variances.sum())))
