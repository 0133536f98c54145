"""Any tolerance: a looser one never fails and never takes longer where a stricter one succeeds."""

import itertools
import math

import numpy as np
import pytest
from instances import random_instance
from problems import NORMS
from thorough import LONG, unless_long

from drsvm import Problem, Status, solve

TOLERANCES = [10.0**-k for k in range(7, 0, -1)]
"""From strict to loose."""

REAL_DATA = ("a1a", "a3a", "german.numer", "spambase", "w1a")
GRID = list(itertools.product(NORMS, (1.0, math.inf), (0.1, 0.01, 0.001)))


def check_tolerances(problem, solver, tolerances=TOLERANCES):
    """Solve with looser and looser tolerances.

    Every one is proven, in at most one iteration more than the last.
    """
    iterations = math.inf
    for tol in tolerances:
        result = solve(problem, solver, tol=tol, n_threads=1)
        assert result.status is Status.OPTIMAL and result.gap <= tol, (
            problem,
            tol,
            result,
        )
        assert result.n_iter <= iterations + 1, (problem, tol, result)
        iterations = result.n_iter


@pytest.mark.data
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("dataset", REAL_DATA)
@pytest.mark.parametrize("solver", ["interior-point", "auto"])
def test_real_data_as_they_are_stored(load_dataset, solver, dataset, fit_intercept):
    X, y = load_dataset(dataset)
    grid, tolerances = (GRID, TOLERANCES) if LONG else (GRID[::5], TOLERANCES[1::2])
    for norm, flip_cost, radius in grid:
        problem = Problem(X, y, radius, flip_cost, norm, fit_intercept=fit_intercept)
        check_tolerances(problem, solver, tolerances)


@pytest.mark.parametrize("chunk", range(unless_long(2, 10)))
def test_random_instances(chunk):
    size = unless_long(10, 100)
    for seed in range(300_000 + size * chunk, 300_000 + size * (chunk + 1)):
        check_tolerances(random_instance(seed), "interior-point")


@pytest.mark.parametrize("tol", TOLERANCES)
def test_a_large_dual_residual_is_no_stall(tol):
    """At μ in the order of a loose tolerance the multipliers may still prove next to nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 20))
    y = np.sign(X[:, 0] + 2 * rng.normal(size=1500))
    problem = Problem(X, y, 0.00459, 1.0, fit_intercept=True)
    assert solve(problem, "interior-point", tol=tol).gap <= tol
