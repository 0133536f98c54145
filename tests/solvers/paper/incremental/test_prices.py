"""Prices of rows, columns and the intercept in the methods that visit one row after another, and in ADMM."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import (
    check_against_interior_point,
    random_instance,
    sparse_problem,
    sparse_rows,
    well_conditioned_instance,
)
from problems import NORMS, generator, problems
from scipy import sparse
from thorough import examples, for_each

from drsvm import Problem, radius_max, radius_path, solve
from drsvm.solvers import DualCoordinate, check_limits, choose
from drsvm.solvers.dual_coordinate import DualCoordinateState

for_each_norm = pytest.mark.parametrize("norm", NORMS)

INCREMENTAL = ("isg", "ippa", "hybrid")
ROW_BY_ROW = ("dual-coordinate", *INCREMENTAL)
FLIP_COSTS = {
    "number": lambda rng, n: 1.0,
    "rows": lambda rng, n: rng.choice([0.3, 1.0, 4.0, math.inf], size=n),
    "verified": lambda rng, n: math.inf,
}


def priced(problem, rng, intercept_costs=(0.1, 1.0, 10.0, math.inf)):
    """Return a problem with random prices of rows, intercept and, without ridge, features."""
    kind = rng.integers(3)
    costs = rng.choice(
        [0.0, 0.3, 1.0, 4.0, math.inf],
        size=problem.n_given,
        p=[0.1, 0.2, 0.3, 0.2, 0.2],
    )
    problem = problem.replace(
        flip_cost=[problem.flip_cost, costs, math.inf][kind],
        fit_intercept=True,
        intercept_cost=float(rng.choice(intercept_costs)),
    )
    if problem.l2 > 0 or rng.random() < 0.6:
        return problem
    return problem.replace(feature_cost=rng.uniform(0.2, 3.0, problem.n_features))


@pytest.mark.thorough
@for_each(name=["dual-coordinate", "feature-working-set"], chunk=range(4))
def test_random_instances_agree_with_the_interior_point(name, chunk):
    for seed in range(3000 + 25 * chunk, 3025 + 25 * chunk):
        problem = priced(random_instance(seed), np.random.default_rng((seed, 7)))
        if name == "feature-working-set":
            problem = problem.replace(norm=math.inf)
        check_against_interior_point(problem, name)


BOUNDED = problems(scales=(1.0,), fit_intercept=True).filter(
    lambda problem: problem.radius > 0 or problem.l2 > 0
)


@examples(8, 500)
@given(BOUNDED, st.data())
def test_small_problems_of_every_kind(problem, data):
    rng = generator(data.draw)
    problem = priced(problem, rng)
    if data.draw(st.booleans()):
        problem = problem.on_rows(sparse.csr_array(problem.X))
    check_against_interior_point(problem, "dual-coordinate")


@pytest.mark.thorough
@for_each(kind=FLIP_COSTS, l2=[0.0, 0.3], name=ROW_BY_ROW, norm=NORMS)
def test_no_hand_over_is_needed_for_moderate_problems(kind, l2, name, norm):
    """The ridge does not include the intercept.

    Columns are not centred, so that it has a value.
    """
    rng = np.random.default_rng(0)
    problem = well_conditioned_instance(
        3, 300, 6, norm=norm, l2=l2, fit_intercept=True, intercept_cost=1.0
    )
    problem = problem.on_rows(problem.X + np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0]))
    problem = problem.replace(flip_cost=FLIP_COSTS[kind](rng, 300))
    tol = 1e-4 if name == "dual-coordinate" else 2e-3
    result = check_against_interior_point(
        problem, name, tol=tol, hand_over=False, max_iter=1000
    )
    assert "handed_over_to" not in result.info
    assert not result.flip_dual[np.isinf(problem.flip_costs)].any()


@pytest.mark.thorough
@for_each(intercept_cost=[0.1, 1.0, 10.0], norm=NORMS)
def test_a_price_of_the_intercept_costs_few_epochs(intercept_cost, norm):
    """A constant column of size 10 in rows of norm 1 would cost hundreds."""
    X, y = sparse_rows(0)
    free = Problem(X, y, norm=norm, flip_cost=math.inf, fit_intercept=True)
    free = free.replace(radius=0.3 * radius_max(free.replace(fit_intercept=False)))
    settings = {"tol": 1e-4, "hand_over": False}
    result = check_against_interior_point(
        free.replace(intercept_cost=intercept_cost), "dual-coordinate", **settings
    )
    assert result.n_iter <= 2 * solve(free, "dual-coordinate", **settings).n_iter + 20


@pytest.mark.thorough
@for_each(intercept_cost=[0.1, 10.0, math.inf], kind=["rows", "number"], norm=NORMS)
def test_admm_with_prices(intercept_cost, kind, norm):
    rng = np.random.default_rng(0)
    problem = well_conditioned_instance(
        3, 200, 4, norm=norm, fit_intercept=True, intercept_cost=intercept_cost
    )
    problem = problem.replace(
        flip_cost=FLIP_COSTS[kind](rng, 200), feature_cost=[1.0, 2.0, 0.5, 1.0]
    )
    check_against_interior_point(problem, "admm")


def test_admm_with_free_flips_of_some_rows_and_radius_0():
    problem = well_conditioned_instance(
        3, 100, 3, radius=0.0, l2=0.1, flip_cost=np.resize([0.0, 1.0, math.inf], 100)
    )
    check_against_interior_point(problem, "admm")


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*ROW_BY_ROW, "admm"])
def test_weights_of_0_take_their_prices_along(name):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] + rng.normal(size=80) > 0, 1, -1)
    weights = rng.uniform(0.5, 1.5, 80) * (np.arange(80) % 3 > 0)
    costs = rng.choice([0.5, 2.0, math.inf], size=80)
    prices = {"radius": 0.05, "fit_intercept": True, "intercept_cost": 2.0}
    whole = Problem(X, y, flip_cost=costs, sample_weight=weights, **prices)
    kept = weights > 0
    part = Problem(
        X[kept], y[kept], flip_cost=costs[kept], sample_weight=weights[kept], **prices
    )
    results = [
        check_against_interior_point(problem, name, random_state=0)
        for problem in (whole, part)
    ]
    assert results[0].objective == pytest.approx(results[1].objective, abs=1e-12)


@pytest.mark.parametrize("name", [*ROW_BY_ROW, "feature-working-set", "admm"])
def test_a_result_is_a_start(name):
    """Its multipliers are for other flip costs, among them rows that cannot be flipped any more."""
    # compiled in less time
    rng = np.random.default_rng(2)
    norm = math.inf if name == "feature-working-set" else 2
    problem = well_conditioned_instance(
        4, 200, 5, norm=norm, flip_cost=0.5, fit_intercept=True, intercept_cost=0.5
    )
    before = solve(problem)
    again = solve(problem, name, start=before, tol=1e-4)
    assert again.n_iter == 0 and again.intercept == before.intercept
    other = problem.replace(
        flip_cost=FLIP_COSTS["rows"](rng, 200), feature_cost=[1.0, 2.0, 1.0, 0.5, 1.0]
    )
    check_against_interior_point(other, name, start=before, tol=1e-4)
    check_against_interior_point(
        other, name, start=(before.weights, before.intercept), tol=1e-4
    )


@for_each_norm
def test_an_ascent_starts_where_it_is_told(norm):
    problem = well_conditioned_instance(
        4, 60, 3, norm=norm, fit_intercept=True, intercept_cost=0.5, l2=0.1
    )
    problem = problem.replace(flip_cost=np.resize([2.0, math.inf], 60))
    before = solve(problem)
    assert before.weights.any() and before.flip_dual.any()
    ascent = DualCoordinateState(
        problem, check_limits(problem, DualCoordinate(), start=before)
    ).ascent
    offered = ascent.candidate()
    np.testing.assert_allclose(offered.weights, before.weights)
    assert offered.intercept == pytest.approx(before.intercept)
    assert ascent.lam == pytest.approx(before.radius_price)
    for _ in range(3):
        ascent.epoch()
    v, imbalance = problem.weighted_sum(ascent.hinge - ascent.flip)
    np.testing.assert_allclose(ascent.v, v, atol=1e-9)
    assert ascent.imbalance == pytest.approx(imbalance, abs=1e-9)


@pytest.mark.parametrize(
    "prices",
    [{"intercept_cost": 1.0}, {"flip_cost": np.resize([1.0, math.inf], 20_000)}],
)
@pytest.mark.parametrize(
    ("norm", "name"),
    [(1, "dual-coordinate"), (2, "dual-coordinate"), (math.inf, "feature-working-set")],
)
def test_auto_chooses_as_without_these_prices(norm, name, prices):
    problem = sparse_problem(20_000, 60_000, 4, norm=norm, fit_intercept=True, **prices)
    assert choose(problem) == name
    assert choose(problem.replace(l2=0.1)) == name
    assert choose(problem.replace(monotonic_cst=1)) in ("conic", "interior-point")


@pytest.mark.thorough
@for_each_norm
def test_paths_with_a_priced_intercept_on_wide_rows(norm):
    X, y = sparse_rows(1)
    problem = Problem(
        X, y, norm=norm, flip_cost=2.0, fit_intercept=True, intercept_cost=1.0
    )
    largest = radius_max(problem)
    assert not solve(problem.replace(radius=1.001 * largest)).weights.any()
    path = radius_path(
        problem, largest * np.array([0.5, 0.3]), solver="dual-coordinate", tol=1e-3
    )
    for radius, result in zip(path.radii, path.results, strict=True):
        reference = solve(problem.replace(radius=float(radius)), "interior-point")
        assert (
            result.gap <= 1e-3 and abs(result.objective - reference.objective) <= 1e-3
        )


@pytest.mark.parametrize(
    ("price", "words"),
    [
        ({"feature_cost": [1.0, math.inf]}, "feature_cost=inf"),
        ({"feature_cost": [1.0, 2.0], "l2": 0.5}, "feature_cost with l2=0.5"),
        ({"monotonic_cst": [0, 1]}, "monotonic_cst"),
    ],
)
def test_prices_that_are_left_to_the_interior_point(price, words):
    problem = well_conditioned_instance(
        0, 30, 2, norm=math.inf, fit_intercept=True, **price
    )
    for name in (*ROW_BY_ROW, "feature-working-set", "admm"):
        with pytest.raises(
            ValueError,
            match=f"solver '{name}' does not support {words}: use solver='interior-point'",
        ):
            solve(problem, name)
    assert choose(problem) == "interior-point" and solve(problem).gap <= 1e-6


def test_admm_refuses_a_priced_intercept_with_a_ridge():
    problem = well_conditioned_instance(
        0, 30, 2, fit_intercept=True, intercept_cost=2.0, l2=0.1
    )
    with pytest.raises(
        ValueError,
        match=r"intercept_cost=2 with l2=0\.1: use intercept_cost=inf, l2=0 or",
    ):
        solve(problem, "admm")
