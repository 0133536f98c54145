"""Dual coordinate ascent: the same optima as the interior-point solver, also where it must hand over to it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import (
    check_against_interior_point,
    random_instance,
    sparse_rows,
    unbounded_instance,
    well_conditioned_instance,
)
from problems import NORMS
from thorough import for_each, unless_long

from drsvm import Problem, certify, radius_max, radius_path, solve
from drsvm.solvers import DualCoordinate, check_limits
from drsvm.solvers.dual_coordinate import DualCoordinateState

FLIP_COSTS = (0.3, 1.0, math.inf)


@pytest.mark.parametrize(
    "seeds",
    unless_long(
        [range(1000, 1030)], [range(k, k + 100) for k in range(1000, 1500, 100)]
    ),
)
def test_random_instances_agree_with_the_interior_point(seeds):
    for seed in seeds:
        problem = random_instance(seed)
        check_against_interior_point(problem, "dual-coordinate", tol=1e-6)


@pytest.mark.parametrize("norm", NORMS)
def test_no_hand_over_is_needed_for_moderate_problems(norm):
    problem = well_conditioned_instance(
        3, 300, 8, norm=norm, flip_cost=math.inf, radius=0.2
    )
    result = solve(problem, "dual-coordinate", hand_over=False, tol=1e-5)
    assert result.gap <= 1e-5 and "handed_over_to" not in result.info


@for_each(norm=[1, math.inf], flip_cost=[1.0, math.inf])
@pytest.mark.parametrize("fraction", [1e-2, 0.3])
def test_small_radii_of_the_other_norms_agree_with_a_conic_solver(
    norm, flip_cost, fraction
):
    pytest.importorskip("clarabel")
    X, y = sparse_rows(0, n=120, d=300, nonzeros=12)
    problem = Problem(X, y, norm=norm, flip_cost=flip_cost, fit_intercept=True)
    problem = problem.replace(radius=fraction * radius_max(problem))
    result = solve(problem, "dual-coordinate", tol=1e-5, hand_over=False)
    optimum = solve(problem, "conic").objective
    assert result.gap <= 1e-5 and result.lower_bound <= optimum + 1e-7
    assert abs(result.objective - optimum) <= 1e-5


@for_each(fraction=[0.01, 0.3], fit_intercept=[False, True], flip_cost=FLIP_COSTS)
def test_sparse_rows_with_many_features(fraction, fit_intercept, flip_cost):
    X, y = sparse_rows(0)
    largest = np.linalg.norm(X.T @ (y / len(y)))
    problem = Problem(
        X,
        y,
        radius=fraction * largest,
        flip_cost=flip_cost,
        fit_intercept=fit_intercept,
    )
    result = solve(problem, "dual-coordinate", tol=1e-5, hand_over=False)
    assert result.gap <= 1e-5 and result.n_iter <= 400
    assert abs(result.objective - solve(problem, "interior-point").objective) <= 1e-5


@for_each(
    norm=NORMS, rows=unless_long(["sparse", "dense"], ["sparse", "dense", "float32"])
)
def test_every_number_of_threads_gives_the_same_bits(set_values, norm, rows):
    """Products, elementwise arithmetic and certificates are in parallel, also on these few rows."""
    set_values(large_array=1, part_entries=100, part_size=16, worthwhile=16)
    X, y = sparse_rows(0, n=120, d=300, nonzeros=12)
    X = {"sparse": X, "dense": X.toarray(), "float32": X.astype(np.float32)}[rows]
    problem = Problem(
        X,
        y,
        radius=0.05,
        norm=norm,
        fit_intercept=True,
        intercept_cost=3.0,
        flip_cost=0.5,
    )
    settings = {"tol": 0.0, "max_iter": 12, "hand_over": False, "random_state": 3}
    results = [
        solve(problem, "dual-coordinate", n_threads=n, **settings) for n in (1, 2, 3)
    ]
    for other in results[1:]:
        for name in ("weights", "hinge_dual", "flip_dual"):
            np.testing.assert_array_equal(
                getattr(other, name), getattr(results[0], name)
            )
        assert (
            other.intercept == results[0].intercept
            and other.lower_bound == results[0].lower_bound
        )


def test_every_norm_has_its_ascent():
    problems = [
        well_conditioned_instance(1, 20, d, norm=norm)
        for d in (3, 1)
        for norm in (1, 2, math.inf)
    ]
    kinds = [type(ascent_of(problem)).__name__ for problem in problems]
    assert kinds == [
        "LInfAscent",
        "L2Ascent",
        "L1Ascent",
        "L2Ascent",
        "L2Ascent",
        "L2Ascent",
    ]


@pytest.mark.parametrize("norm", NORMS)
def test_it_hands_over_if_no_term_limits_the_weights(norm):
    problem = unbounded_instance(4).replace(norm=norm)
    result = solve(problem, "dual-coordinate")
    assert result.info["handed_over_to"] == "interior-point" and result.gap <= 1e-6


def test_flips_that_use_up_the_budget_are_solved():
    """Without a ridge and with e = 0, only the terms around the centre limit the weights."""
    problem = well_conditioned_instance(8, 300, 6, radius=0.02, flip_cost=0.3)
    result = solve(problem, "dual-coordinate")
    assert problem.flip_cost * result.flip_dual.sum() == pytest.approx(
        problem.radius, rel=1e-3
    )
    assert result.gap <= 1e-6


def test_a_warm_start_saves_epochs():
    X, y = sparse_rows(1)
    radius = 0.1 * np.linalg.norm(X.T @ (y / len(y)))
    problem = Problem(X, y, radius=radius, flip_cost=2.0)
    before = solve(problem, "dual-coordinate", tol=1e-5)
    nearby = problem.replace(radius=0.95 * radius)
    cold, warm = (
        solve(nearby, "dual-coordinate", tol=1e-5, start=start)
        for start in (None, before)
    )
    assert warm.n_iter < cold.n_iter and warm.gap <= 1e-5


def test_a_path_continues_from_radius_to_radius():
    X, y = sparse_rows(2)
    path = radius_path(
        Problem(X, y, flip_cost=1.0),
        [0.002, 0.01, 0.005],
        solver="dual-coordinate",
        tol=1e-5,
    )
    assert max(result.gap for result in path.results) <= 1e-5
    assert [result.solver for result in path.results] == ["dual-coordinate"] * 3


def test_shrinking_changes_the_course_but_not_the_answer():
    problem = well_conditioned_instance(10, 400, 6, flip_cost=math.inf)
    one, other = (
        solve(problem, "dual-coordinate", shrinking=way, hand_over=False)
        for way in (False, True)
    )
    assert abs(one.objective - other.objective) <= 1e-6


def test_rows_in_other_formats_give_the_same_objective():
    X, y = sparse_rows(3, n=60, d=40, nonzeros=5)
    forms = (X, X.toarray(), X.tocsc(), *unless_long((), (X.astype(np.float32),)))
    objectives = [
        solve(Problem(form, y, radius=0.01), "dual-coordinate").objective
        for form in forms
    ]
    np.testing.assert_allclose(objectives, objectives[0], atol=2e-6)


def test_the_seed_determines_the_order_of_the_rows():
    problem = well_conditioned_instance(11, 200, 5)
    weights = [
        solve(problem, "dual-coordinate", max_iter=3, random_state=seed).weights
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert (weights[0] != weights[2]).any()


@for_each(
    change=[{"flip_cost": math.inf}, {"radius": 0.0, "l2": 0.01}], norm=[2, math.inf]
)
def test_starts_from_other_problems(norm, change):
    problem = well_conditioned_instance(
        3, 120, 6, norm=norm, flip_cost=0.5, radius=0.05
    )
    start = solve(problem, "dual-coordinate")
    assert start.flip_dual.any()
    options = {"hand_over": False, "tol": 1e-4, "max_iter": 300}
    assert (
        solve(problem.replace(**change), "dual-coordinate", start=start, **options).gap
        <= 1e-4
    )


@pytest.mark.parametrize("norm", [2, math.inf])
def test_a_start_with_zero_weights_does_no_harm(norm):
    problem = well_conditioned_instance(4, 200, 6, norm=norm, flip_cost=math.inf)
    largest = problem.norm.dual.value(problem.weighted_sum(problem.sample_weight)[0])
    nothing = solve(problem.replace(radius=largest), "dual-coordinate")
    assert not nothing.weights.any()
    nearby = problem.replace(radius=0.8 * largest)
    cold, warm = (
        solve(nearby, "dual-coordinate", tol=1e-5, start=start)
        for start in (None, nothing)
    )
    assert warm.gap <= 1e-5 and warm.n_iter <= cold.n_iter + 5


@pytest.mark.parametrize("norm", NORMS)
def test_one_feature_and_odd_prices(norm):
    problem = well_conditioned_instance(
        6, 40, 1, norm=norm, flip_cost=math.inf, radius=0.05
    )
    assert solve(problem, "dual-coordinate", hand_over=False).gap <= 1e-6
    assert solve(problem.replace(flip_cost=1e200), "dual-coordinate").gap <= 1e-6


def test_it_does_not_hand_over_at_the_iteration_limit():
    problem = well_conditioned_instance(8, 300, 6, radius=0.02, flip_cost=0.3)
    epochs = solve(problem, "dual-coordinate", tol=0.0, max_iter=64).info["epochs"]
    assert epochs < 64  # it gave up there
    result = solve(problem, "dual-coordinate", tol=0.0, max_iter=epochs)
    assert result.n_iter == epochs and "handed_over_to" not in result.info


def ascent_of(problem, shrinking=True):
    return DualCoordinateState(
        problem, check_limits(problem, DualCoordinate()), shrinking
    ).ascent


@for_each(fit_intercept=[False, True], norm=NORMS)
def test_an_epoch_improves_the_dual_value(norm, fit_intercept):
    """The terms around the centre vanish in the limit.

    With a ridge the dual value must nearly always increase.
    """
    problem = well_conditioned_instance(
        5, 200, 6, norm=norm, flip_cost=1.0, l2=0.5, fit_intercept=fit_intercept
    )
    ascent = ascent_of(problem)
    bounds = []
    for _ in range(30):
        ascent.epoch()
        bounds.append(
            certify(problem, ascent.w, ascent.b, ascent.hinge, ascent.flip).lower_bound
        )
    assert bounds[-1] >= max(bounds) - 1e-3
    assert np.mean(np.diff(bounds) >= -1e-3) > 0.8


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    norm=st.sampled_from([1, math.inf]),
    l2=st.sampled_from([0.0, 0.1]),
    epochs=st.integers(1, 12),
)
def test_no_multiple_of_the_classifier_is_better(seed, norm, l2, epochs):
    """Also not of the average that every other candidate is."""
    problem = well_conditioned_instance(
        seed, 60, 5, norm=norm, flip_cost=math.inf, radius=0.1, l2=l2
    )
    ascent = ascent_of(problem)
    for _ in range(epochs):
        ascent.epoch()
    for point in (ascent.candidate(), ascent.candidate()):
        _, best = problem.price_and_objective(point.weights, point.intercept)
        for multiple in (0.5, 0.9, 0.999, 1.001, 1.1, 2.0):
            w = multiple * point.weights
            _, other = problem.price_and_objective(w, multiple * point.intercept)
            assert other >= best - 1e-6


@pytest.mark.parametrize("norm", NORMS)
def test_sums_belong_to_the_multipliers(norm):
    problem = well_conditioned_instance(
        6, 80, 5, norm=norm, flip_cost=0.7, fit_intercept=True
    )
    ascent = ascent_of(problem)
    for _ in range(12):
        ascent.epoch()
    v, imbalance = problem.weighted_sum(ascent.hinge - ascent.flip)
    np.testing.assert_allclose(ascent.v, v, atol=1e-10)
    assert ascent.imbalance == pytest.approx(imbalance, abs=1e-9)
    assert (ascent.hinge >= 0).all() and (ascent.flip >= 0).all()
    assert (ascent.hinge + ascent.flip <= problem.sample_weight * (1 + 1e-12)).all()


@pytest.mark.parametrize("norm", NORMS)
def test_the_estimate_is_close_to_the_gap_in_the_end(norm):
    problem = well_conditioned_instance(
        7, 400, 5, norm=norm, flip_cost=math.inf, radius=0.2, l2=0.1
    )
    ascent = ascent_of(problem, shrinking=False)
    while ascent.estimate > 1e-4 and ascent.count < 300:
        ascent.epoch()
    point = ascent.candidate()
    gap = certify(
        problem, point.weights, point.intercept, point.hinge_dual, point.flip_dual
    ).gap
    assert ascent.count < 300 and gap <= 5 * ascent.estimate
