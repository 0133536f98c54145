"""Weights that cost nothing: bounds hold under a condition that comes from the data, and the status says so."""

import math

import numpy as np
import pytest
from exact import mixed_instance, untrue_claims
from extremes import SOLVERS
from thorough import LONG

from drsvm import Problem, Status, WassersteinSVC, solve
from drsvm.certificate import dual_point
from drsvm.solvers import make_solver

# In the last, exact zeros are not
SEEDS = range(10_000, 15_000, 10) if LONG else (10_000, 13_650)
CHUNKS = 20 if LONG else 1

SCALES = np.repeat([1, -1], 20)
"""Labels of rows with a column of 1e6, and one of 1e-2 that separates them."""


def separable_by_a_small_column():
    return Problem(
        np.c_[1e6 * np.random.default_rng(0).normal(size=40), 1e-2 * SCALES],
        SCALES,
        radius=0.0,
        flip_cost=math.inf,
    )


def overlapping(d=3, **parameters):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, d))
    return Problem(
        X, np.where(X[:, 0] + rng.normal(size=60) > 0, 1, -1), radius=0.0, **parameters
    )


def accepts(problem, name):
    try:
        make_solver(name, problem)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "name", [name for name in SOLVERS if name != "feature-working-set"]
)
def test_a_small_column_that_separates_is_found(name):
    result = solve(separable_by_a_small_column(), name)
    assert (
        result.status is Status.OPTIMAL
        and result.objective <= result.tol
        and math.isinf(result.weight_bound)
    )


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_claim_is_contradicted_by_exact_arithmetic_or_another_solver(chunk):
    found = []
    for seed in SEEDS[chunk::CHUNKS]:
        problem = mixed_instance(seed)
        names = [name for name in SOLVERS if accepts(problem, name)]
        answers = {
            name: solve(problem, name, random_state=0, max_time=2.0) for name in names
        }
        found += [f"seed {seed}: {claim}" for claim in untrue_claims(problem, answers)]
    assert not found, "\n".join(found)


def test_the_limit_comes_from_the_data():
    """Any classifier of moderate size gets the same limit, and the units of the features do not matter."""
    problem = overlapping()
    multipliers = solve(problem, tol=1e-8).hinge_dual
    limits = {
        dual_point(problem, multipliers, reference=size * np.ones(3)).contribution_bound
        for size in (0, 1e-9, 1)
    }
    assert limits == {1e6}
    units = np.array([1e-6, 1.0, 1e6])
    other = dual_point(problem.on_rows(problem.X * units), multipliers)
    assert other.contribution_bound == 1e6
    assert other.lower_bound == pytest.approx(
        dual_point(problem, multipliers).lower_bound, abs=1e-9
    )


def test_a_large_classifier_has_a_larger_limit():
    problem = overlapping()
    multipliers = solve(problem, tol=1e-8).hinge_dual
    dual = dual_point(problem, multipliers, reference=1e5 * np.ones(3))
    assert dual.contribution_bound >= 1e7 and dual.covers(problem, 1e5 * np.ones(3))
    assert not dual_point(problem, multipliers).covers(problem, 1e5 * np.ones(3))


@pytest.mark.parametrize(
    "parameters",
    [{}, {"fit_intercept": True}, {"norm": 1}],
    ids=["plain", "intercept", "norm"],
)
def test_the_status_and_the_print_state_the_condition_first(parameters):
    result = solve(overlapping(**parameters))
    assert result.status is Status.OPTIMAL_WITHIN_BOUNDS and result.gap <= result.tol
    assert result.contribution_bound == 1e6 and math.isfinite(result.weight_bound)
    first, second = repr(result).splitlines()[:2]
    assert "optimal within bounds: among classifiers with limited weights" in first
    assert "weights of norm up to" in second and "lower bound" not in first + second
    with_ridge = solve(overlapping(l2=1e-3, **parameters))
    assert with_ridge.status is Status.OPTIMAL and "weights of norm" not in repr(
        with_ridge
    )


def test_a_trusted_feature_has_the_same_status():
    problem = overlapping().replace(radius=0.05, feature_cost=[math.inf, 1.0, 1.0])
    result = solve(problem)
    assert (
        result.status is Status.OPTIMAL_WITHIN_BOUNDS
        and result.contribution_bound == 1e6
    )
    assert solve(problem.replace(feature_cost=None)).status is Status.OPTIMAL


@pytest.mark.filterwarnings("error")
def test_the_estimator_does_not_warn():
    problem = overlapping()
    model = WassersteinSVC(radius=0.0, l2=0.0, fit_intercept=False).fit(
        problem.X, problem.signs
    )
    assert model.result_.status is Status.OPTIMAL_WITHIN_BOUNDS
