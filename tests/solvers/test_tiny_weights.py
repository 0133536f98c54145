"""Weights of the size of rounding errors: they become 0, and the certificate stays strict."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import Plain, classifiers, problems
from thorough import examples, for_each

from drsvm import Problem, Status, radius_max, solve
from drsvm.certificate import primal_point
from drsvm.solvers import without_rounding


@pytest.fixture
def few_of_many():
    """Three of twenty features matter."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(150) % 2, 1, -1)
    X = rng.normal(size=(150, 20))
    X[:, :3] += 0.8 * y[:, None]
    return X, y


@pytest.mark.parametrize("price", [np.inf, 1.0])
def test_sparse_weights_are_exactly_sparse(few_of_many, price):
    problem = Problem(
        *few_of_many,
        radius=0.15,
        flip_cost=np.inf,
        norm=np.inf,
        fit_intercept=True,
        intercept_cost=price,
    )
    tidy = solve(problem, "interior-point", tol=1e-6)
    assert (tidy.weights[:3] > 0.1).all() and (tidy.weights == 0).sum() >= 15
    assert (
        tidy.objective == problem.objective(tidy.weights, tidy.intercept)
        and tidy.gap <= 1e-6
    )
    accurate = solve(problem, "interior-point", tol=1e-10)
    np.testing.assert_allclose(tidy.weights, accurate.weights, atol=2e-3)


@examples(10, 1000)
@given(problems(), st.sampled_from([1e-4, 1e-6, 1e-8]))
def test_the_certificate_is_that_of_the_returned_weights(problem, tol):
    result = solve(problem, "interior-point", tol=tol)
    plain = Plain.of(problem)
    best = plain.best_value(result.weights, result.intercept)
    assert result.objective == pytest.approx(best, rel=1e-9, abs=1e-11)
    if result.status.reached:
        assert result.gap <= tol


@given(st.data(), problems(), st.sampled_from([1e-9, 1e-6, 1e-3]))
def test_only_small_weights_go_and_the_gap_stays_within_the_tolerance(
    data, problem, tol
):
    weights, intercept = data.draw(classifiers(problem))
    small = (
        np.random.default_rng(data.draw(st.integers(0, 9))).random(problem.n_features)
        < 0.5
    )
    point = primal_point(problem, weights * np.where(small, 1e-10, 1.0), intercept)
    bound = point.objective - data.draw(st.sampled_from([0.0, 0.5, 1.0])) * tol
    tidy = without_rounding(problem, point, bound, tol)
    assert tidy.objective <= max(bound + tol, point.objective)
    assert tidy.objective == problem.objective(tidy.weights, tidy.intercept)
    kept = tidy.weights != 0
    np.testing.assert_array_equal(tidy.weights[kept], point.weights[kept])


@for_each(factor=[1.001, 1.5, 20.0], price=[np.inf, 1.0], norm=[1, 2, np.inf])
def test_beyond_the_largest_useful_radius_all_weights_are_0(
    few_of_many, norm, price, factor
):
    X, y = few_of_many
    weights = np.where(y > 0, 1.0, 2.0)
    ball = {
        "flip_cost": np.inf,
        "norm": norm,
        "fit_intercept": True,
        "intercept_cost": price,
    }
    problem = Problem(X, y, sample_weight=weights, **ball)
    problem = problem.replace(radius=factor * radius_max(problem))
    result = solve(problem, "interior-point")
    assert not result.weights.any() and result.gap <= result.tol
    assert (
        result.intercept == 0.0
        if price == 1.0
        else result.intercept == pytest.approx(-1.0, abs=1e-6)
    )


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_weights_are_0_too_where_a_priced_intercept_is_not(norm):
    rng = np.random.default_rng(0)
    half = rng.normal(size=(40, 3))
    # the same rows in both classes
    X = np.vstack([half, -half] * 2)
    y = np.repeat([-1, 1], 80)
    ball = {
        "flip_cost": np.inf,
        "norm": norm,
        "fit_intercept": True,
        "intercept_cost": 1.0,
    }
    problem = Problem(
        X, y, radius=0.05, sample_weight=np.where(y > 0, 1.0, 2.0), **ball
    )
    result = solve(problem, "interior-point", tol=1e-5)
    assert not result.weights.any() and result.intercept == -1.0 and result.gap <= 1e-5


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_below_it_weights_stay(few_of_many, norm):
    problem = Problem(
        *few_of_many,
        flip_cost=np.inf,
        norm=norm,
        fit_intercept=True,
        intercept_cost=1.0,
    )
    result = solve(problem.replace(radius=0.99 * radius_max(problem)), tol=1e-6)
    assert result.weights.any()


def test_a_solution_that_was_cut_short_is_not_tidied(few_of_many):
    problem = Problem(*few_of_many, radius=0.15, flip_cost=np.inf, norm=np.inf)
    result = solve(problem, "interior-point", max_iter=3)
    assert result.status is Status.ITERATION_LIMIT and not (result.weights == 0).any()
