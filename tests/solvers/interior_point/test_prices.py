"""Prices of rows, features and the intercept, and signs of weights: the interior point against a conic model."""

import math
import warnings

import numpy as np
import pytest
from problems import NORMS
from scipy import sparse
from thorough import unless_long

from drsvm import Problem, radius_max, radius_path, solve
from drsvm.engines import is_wide
from drsvm.problem import offset_of_far_columns

for_each_norm = pytest.mark.parametrize("norm", NORMS)


def random_prices(rng, n, d, trusted=0.25):
    """Return random prices, each kind of them with some probability."""
    shares = [(1.0 - trusted) / 3.0] * 3
    drawn = {
        "flip_cost": rng.choice(
            [0.0, 0.3, 1.0, 4.0, math.inf], size=n, p=[0.1, 0.2, 0.3, 0.2, 0.2]
        ),
        "feature_cost": rng.choice(
            [0.1, 1.0, 3.0, math.inf], size=d, p=[*shares, trusted]
        ),
        "monotonic_cst": rng.integers(-1, 2, size=d),
        "intercept_cost": float(rng.choice([0.3, 1.0, 5.0])),
    }
    return {name: value for name, value in drawn.items() if rng.random() < 0.6}


def priced_instance(seed, rows=(4, 40), features=(1, 8), **given):
    """Return a small problem with random prices."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(*rows))
    d = int(rng.integers(*features))
    X = rng.normal(size=(n, d)) * rng.choice([0.1, 1.0, 10.0])
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    weights = (rng.random(n) + 0.1) * (rng.random(n) < 0.9)
    weights[:2] = 1.0
    drawn = {
        "radius": float(rng.choice([0.0, 0.01, 0.1, 1.0])),
        "flip_cost": float(rng.choice([0.3, 1.0, math.inf])),
        "norm": float(rng.choice([1, 2, math.inf])),
        "l2": float(rng.choice([0.0, 0.0, 0.1, 1.0])),
        "fit_intercept": bool(rng.integers(2)),
        "sample_weight": weights if rng.random() < 0.5 else None,
    }
    trusted = 0.25 if d < 20 else 0.04
    return Problem(X, y, **{**drawn, **random_prices(rng, n, d, trusted), **given})


def conic_optimum(problem, without=()):
    """Return the optimum by a conic solver.

    The weights `without` (and with −1 the intercept) are held at 0.
    """
    cp = pytest.importorskip("cvxpy")
    w = cp.Variable(problem.n_features)
    b = cp.Variable()
    price = cp.Variable()
    losses = cp.Variable(problem.n_rows)
    margins = cp.multiply(problem.signs, problem.X @ w + b)
    costs = problem.flip_costs
    flips = np.flatnonzero(np.isfinite(costs))
    limits = [losses >= 0, losses >= 1 - margins]
    if len(flips):
        limits.append(losses[flips] >= 1 + margins[flips] - costs[flips] * price)
    prices = (
        np.ones(problem.n_features)
        if problem.feature_cost is None
        else problem.feature_cost
    )
    intercept = problem.intercept_cost if problem.fit_intercept else 1.0
    scaled = cp.hstack(
        [
            cp.multiply(np.where(np.isfinite(prices), 1.0 / prices, 0.0), w),
            b / intercept,
        ]
    )
    limits += [
        cp.norm(scaled, problem.norm.q) <= price,
        *(w[j] == 0 for j in without if j >= 0),
    ]
    if not problem.fit_intercept or -1 in without:
        limits.append(b == 0)
    if problem.monotonic_cst is not None:
        limits.append(cp.multiply(problem.monotonic_cst, w) >= 0)
    risk = problem.radius * price + problem.sample_weight @ losses
    model = cp.Problem(cp.Minimize(risk + 0.5 * problem.l2 * cp.sum_squares(w)), limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate"
        model.solve(
            solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
        )
    return model.value


def check_against_conic(problem, tol=1e-7):
    result = solve(problem, "interior-point", tol=tol)
    assert result.status.reached and result.gap <= tol
    assert result.objective == pytest.approx(conic_optimum(problem), abs=1e-6)
    assert result.objective == pytest.approx(
        problem.objective(result.weights, result.intercept), abs=1e-12
    )
    if problem.monotonic_cst is not None:
        assert (problem.monotonic_cst * result.weights >= 0).all()
    return result


@pytest.mark.parametrize("first", range(0, unless_long(60, 240), 20))
def test_optima_are_those_of_a_conic_model(first):
    for seed in range(first, first + 20):
        check_against_conic(priced_instance(seed))


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, unless_long(20, 60), 20))
def test_optima_with_more_features_than_rows(first, set_values):
    """In the system of the rows; features that cannot shift are in its border."""
    set_values(wide_from=0)
    for seed in range(first, first + 20):
        problem = priced_instance(
            seed, (4, 15), (30, 60), radius=float(np.resize([0.01, 0.1, 1.0], 60)[seed])
        )
        assert is_wide(problem)
        check_against_conic(problem)


def test_sparse_and_dense_rows_give_the_same_optimum():
    for seed in range(10):
        problem = priced_instance(seed, radius=0.1)
        other = problem.on_rows(sparse.csr_array(problem.X))
        assert solve(other, tol=1e-8).objective == pytest.approx(
            solve(problem, tol=1e-8).objective, abs=3e-8
        )


@for_each_norm
@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_equal_prices_are_a_smaller_radius(norm, l2):
    """With a_j = 2 for all features, ‖w/2‖ ≤ λ: λ, the radius and the flip costs are in other units."""
    problem = priced_instance(
        1,
        feature_cost=None,
        monotonic_cst=None,
        flip_cost=1.0,
        norm=norm,
        l2=l2,
        radius=0.1,
    )
    problem = problem.replace(intercept_cost=math.inf)
    priced = solve(problem.replace(feature_cost=2.0), "interior-point")
    plain = solve(problem.replace(radius=0.05, flip_cost=0.5), "interior-point")
    assert priced.objective == pytest.approx(plain.objective, abs=3e-8)


@for_each_norm
def test_a_priced_intercept_is_a_constant_column(norm):
    problem = priced_instance(
        3, norm=norm, radius=0.1, l2=0.0, fit_intercept=True, intercept_cost=3.0
    )
    problem = problem.replace(feature_cost=None, monotonic_cst=None)
    column = problem.replace(fit_intercept=False).on_rows(
        np.hstack([problem.X, np.full((problem.n_rows, 1), 3.0)])
    )
    assert solve(problem).objective == pytest.approx(solve(column).objective, abs=2e-6)


def test_equal_rows_with_flip_costs_give_the_optimum_of_the_number():
    problem = priced_instance(5, flip_cost=1.0, radius=0.05)
    other = problem.replace(flip_cost=np.resize([1.0, 1.0 + 1e-13], problem.n_given))
    assert isinstance(other.flip_cost, np.ndarray)
    assert solve(other, tol=1e-8).objective == pytest.approx(
        solve(problem, tol=1e-8).objective, abs=3e-8
    )


@pytest.mark.parametrize("radius", [0.0, 0.1])
@pytest.mark.parametrize("flip_cost", [1.0, math.inf])
def test_a_trusted_feature_that_separates_ends_the_run(radius, flip_cost):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    problem = Problem(
        X, y, radius, flip_cost, feature_cost=[math.inf, 1.0, 1.0], fit_intercept=True
    )
    result = solve(problem, "interior-point", tol=1e-6)
    assert result.objective == pytest.approx(conic_optimum(problem), abs=1e-5)
    assert np.isfinite(result.weights).all() and result.n_iter < 200


@for_each_norm
def test_useless_trusted_features_do_no_harm(norm):
    """A column of zeros and a repeated one make the Newton matrix singular."""
    problem = priced_instance(7, (30, 31), (4, 5), norm=norm, radius=0.1, l2=0.0)
    X = problem.X.copy()
    X[:, 3] = X[:, 2]
    X[:, 0] = 0.0
    check_against_conic(
        problem.on_rows(X).replace(feature_cost=[math.inf, 1.0, math.inf, math.inf])
    )


@pytest.mark.parametrize("seed", range(20))
def test_warm_starts_reach_the_optimum(seed):
    problem = priced_instance(seed, radius=0.1)
    expected = solve(problem, "interior-point")
    rng = np.random.default_rng(seed)
    random = (
        rng.normal(size=problem.n_features),
        rng.normal() if problem.fit_intercept else 0.0,
    )
    for weights, intercept in ((expected.weights, expected.intercept), random):
        start = problem.with_signs(weights), intercept
        result = solve(problem.replace(radius=0.09), "interior-point", start=start)
        assert result.gap <= 1e-7
        assert result.objective == pytest.approx(
            solve(problem.replace(radius=0.09)).objective, abs=2e-6
        )


def test_columns_are_shifted_for_a_free_intercept_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + np.array([0.0, 100.0])
    y = np.where(X @ [1.0, 1.0] + rng.normal(size=60) > 100, 1, -1)
    free = Problem(
        X, y, fit_intercept=True, feature_cost=[1.0, 2.0], monotonic_cst=[0, 1]
    )
    priced = free.replace(intercept_cost=5.0)
    assert offset_of_far_columns(free) is not None
    assert offset_of_far_columns(priced) is None
    for problem in (free, priced):
        check_against_conic(problem)


@pytest.mark.thorough
@for_each_norm
def test_a_path_has_the_optima_of_its_radii(norm):
    for seed in range(6):
        problem = priced_instance(seed, norm=norm)
        for radius, result in zip(
            radii := [0.5, 0.2, 0.05, 0.0],
            radius_path(problem, radii, tol=1e-7),
            strict=True,
        ):
            assert result.gap <= 1e-7
            assert result.objective == pytest.approx(
                conic_optimum(problem.replace(radius=radius)), abs=1e-6
            )


@pytest.mark.thorough
def test_many_rows_start_from_few():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(11_000, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + rng.normal(size=11_000) > 0, 1, -1)
    costs = rng.choice([0.5, 2.0, math.inf], size=11_000)
    prices = {
        "feature_cost": [1.0, math.inf, 2.0],
        "monotonic_cst": [1, 0, -1],
        "intercept_cost": 2.0,
    }
    result = solve(
        Problem(X, y, 0.05, costs, fit_intercept=True, **prices), "interior-point"
    )
    assert result.gap <= 1e-8 and result.weights[2] <= 0.0 <= result.weights[0]


def check_radius_max(problem):
    """Above the radius nothing is lost without the priced weights, below something is."""
    prices = (
        np.ones(problem.n_features)
        if problem.feature_cost is None
        else problem.feature_cost
    )
    priced = [*np.flatnonzero(np.isfinite(prices)), *[-1] * problem.has_intercept_cost]
    largest = radius_max(problem)
    above, below = (
        problem.replace(radius=factor * largest) for factor in (1.002, 0.99)
    )
    assert conic_optimum(above, without=priced) == pytest.approx(
        conic_optimum(above), abs=1e-8
    )
    assert conic_optimum(below, without=priced) > conic_optimum(below) + 1e-8


@for_each_norm
def test_radius_max_with_prices(norm):
    for seed in range(unless_long(4, 14)):  # all of them positive
        check_radius_max(priced_instance(seed, (15, 40), norm=norm, radius=0.1))


def test_radius_max_is_in_the_units_of_the_prices_and_zero_without():
    problem = priced_instance(0, intercept_cost=math.inf, feature_cost=None)
    assert radius_max(problem.replace(feature_cost=math.inf)) == 0.0
    problem = priced_instance(
        2, (15, 40), feature_cost=None, monotonic_cst=None, flip_cost=math.inf
    )
    problem = problem.replace(fit_intercept=False)
    assert radius_max(problem.replace(feature_cost=2.0)) == pytest.approx(
        2.0 * radius_max(problem), rel=1e-6
    )


@for_each_norm
def test_a_large_radius_leaves_only_what_is_free(norm):
    for seed in range(10):
        problem = priced_instance(seed, norm=norm, radius=100.0)
        result = check_against_conic(problem)
        assert problem.norm_of(result.weights, result.intercept) <= 1e-6
