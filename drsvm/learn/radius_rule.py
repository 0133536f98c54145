"""A radius from the data alone, without cross-validation.

The ball should be large enough to cover the chance effects in a sample of n rows. A row with an active hinge pulls the
weights by π_i y_i x_i. If the labels of these rows were random, their pulls would not cancel exactly but add up to a
vector of typical norm

    F = typical ‖ Σ_{i active} π_i σ_i (x_i − x̄) ‖_p,      σ_i = ±1 at random,

which is about (scale of the rows) / √n. A classifier trained with this radius does not respond to such a pull.
"""

import math

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from drsvm.clock import TimeLimit
from drsvm.model.problem import Problem
from drsvm.model.result import Status
from drsvm.model.validation import row_blocks
from drsvm.solvers import solve

SHARE = 0.5
"""Fraction of F to use if there are no scores to choose by; it did best in ``benchmarks/defaults.py``."""

PILOT_TOL = 1e-3

_TYPICAL_NORM = {
    1: lambda deviations: math.sqrt(2.0 / math.pi) * deviations.sum(),
    2: lambda deviations: math.sqrt(deviations @ deviations),
    math.inf: lambda deviations: ndtri(0.5 + 0.5 ** (1 + 1 / len(deviations))) * deviations.max(),
}
"""Typical p-norm of normal variables with given deviations: mean, root mean square, and median if all are equal."""


def auto_radius(
    problem: Problem, *, counts=None, max_time: float | TimeLimit | None = None, n_threads: int | None = None
) -> float:
    """Return a radius that matches the size of chance effects in the data.

    If the labels of the rows were random, their pulls on the weights would still add up to a vector of some typical
    norm F, about (scale of the rows) / √n. Half of F, computed over all rows, is the radius of a pilot solution. Half
    of F, computed over the rows whose margin is below 1 there, is returned. With correct labels there are few such rows
    and the radius is small; with wrong labels it is larger. It falls as 1/√n and is in the units of the features.

    Parameters
    ----------
    problem : Problem
        Its radius is ignored.
    counts : array of shape (n,), optional
        Number of rows that each given row represents; by default one, regardless of its weight. The estimators use
        `sample_weight` as counts, as is usual in scikit-learn.
    max_time : float, optional
        Time limit for the pilot solution in seconds. If no time is left for it, half of F over all rows is returned,
        which is larger.
    n_threads : int, optional
        Threads for the pilot solution.

    Returns
    -------
    float
        The radius; 0 if the rows do not differ. Ctrl-C raises KeyboardInterrupt.
    """
    return SHARE * chance_radius(problem, counts=counts, max_time=max_time, n_threads=n_threads)


def chance_radius(
    problem: Problem, *, counts=None, max_time: float | TimeLimit | None = None, n_threads: int | None = None
) -> float:
    """Return F, computed over the rows that are active in a pilot solution: twice `auto_radius`."""
    if counts is not None and problem.kept is not None:
        counts = np.asarray(counts)[problem.kept]
    time = TimeLimit.of(max_time)
    of_all = chance_pull(problem, np.ones(problem.n_rows, dtype=bool), counts)
    if time.spent:
        return of_all
    pilot = solve(problem.replace(radius=SHARE * of_all), tol=PILOT_TOL, max_time=time, n_threads=n_threads)
    if pilot.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    active = problem.margins(pilot.weights, pilot.intercept) < 1.0
    return chance_pull(problem, active, counts) if active.any() else of_all


def chance_pull(problem: Problem, active, counts=None) -> float:
    """Return the typical norm of the active rows' total pull with random labels; an intercept absorbs their mean.

    A feature with the price a_j counts a_j times; one that cannot shift does not count.
    """
    # A row that represents k rows contributes k independent pulls with a k-th of its weight each.
    variances_of_labels = np.where(active, problem.sample_weight**2 / (1.0 if counts is None else counts), 0.0)
    squares, sums = np.zeros(problem.n_features), np.zeros(problem.n_features)
    for block in row_blocks(problem.X):
        rows = problem.X[block].astype(np.float64)
        sums += rows.T @ variances_of_labels[block]
        squares += (rows.multiply(rows) if sparse.issparse(rows) else rows * rows).T @ variances_of_labels[block]
    variances = squares
    if problem.fit_intercept:
        variances = np.maximum(squares - sums**2 / variances_of_labels.sum(), 0.0)
    deviations = np.sqrt(variances)
    if problem.feature_cost is not None:
        finite = np.isfinite(problem.feature_cost)
        deviations = deviations[finite] * problem.feature_cost[finite]
    return float(_TYPICAL_NORM[problem.norm.p](deviations)) if len(deviations) else 0.0
