"""GS-ADMM: proven gaps on data and on random problems, valid bounds everywhere, finite results at the extremes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from instances import random_instance, well_conditioned_instance
from problems import NORMS, STRANGE_DATA, problems, random_rows
from scipy import sparse
from thorough import examples, for_each, unless_long

from drsvm import Problem, Status, solve
from drsvm.compiled import admm as kernel
from drsvm.solvers.paper.admm import Accelerated, Subproblem

TOL = 1e-4
for_each_norm = pytest.mark.parametrize("norm", NORMS)


def check_optimal(problem, result, known=None):
    """Check that a run proves the requested gap, and that the proof does not contradict the optimum."""
    optimum = known or solve(problem, "interior-point", n_threads=1)
    assert result.status is Status.OPTIMAL and result.gap <= result.tol
    assert (
        optimum.lower_bound - 1e-9
        <= result.objective
        <= optimum.objective + result.tol + 1e-9
    )
    assert result.lower_bound <= optimum.objective + 1e-9


def check_honest(problem, result):
    """Check what must hold regardless of how far a run got."""
    optimum = solve(problem, "interior-point", n_threads=1)
    assert np.isfinite(result.weights).all() and math.isfinite(result.intercept)
    assert result.lower_bound >= 0 and result.objective <= 1 + 1e-12
    assert (
        result.objective >= optimum.lower_bound - 1e-9 or result.weight_bound < math.inf
    )
    assert (
        result.lower_bound <= optimum.objective + 1e-8 or result.weight_bound < math.inf
    )
    assert result.status.reached is (result.gap <= result.tol)


@pytest.mark.data
@pytest.mark.parametrize(
    ("dataset", "q", "c"),
    [
        *itertools.product(["a1a"], NORMS, [0, 1]),
        *itertools.product(unless_long([], ["a9a", "ijcnn1"]), NORMS, [0]),
    ],
)
def test_known_optima_are_reached(proven_problem, dataset, q, c):
    problem, known = proven_problem(dataset, q, c)
    result = solve(problem, "admm")
    assert result.status is Status.OPTIMAL and result.gap <= TOL
    assert -1e-9 <= result.objective - known.optimum <= TOL
    assert result.lower_bound <= known.optimum + 1e-9
    assert result.n_iter <= 1500
    assert result.info["evaluations"] <= 25


@pytest.mark.thorough
@for_each(
    norm=NORMS,
    l2=[0.0, 0.1],
    flip_cost=[0.3, 1.0, math.inf],
    fit_intercept=[False, True],
)
def test_moderate_problems_are_solved(norm, l2, flip_cost, fit_intercept):
    weights = np.random.default_rng(1).uniform(0.1, 1.0, size=80)
    parameters = {
        "norm": norm,
        "l2": l2,
        "flip_cost": flip_cost,
        "fit_intercept": fit_intercept,
    }
    for radius in (0.0, 0.01, 0.1, 10.0):
        if radius or l2:
            problem = well_conditioned_instance(
                0, 80, 5, **parameters, radius=radius, sample_weight=weights
            )
            check_optimal(problem, solve(problem, "admm"))


@pytest.mark.thorough
@for_each_norm
def test_a_smaller_tolerance_is_reached(norm):
    problem = well_conditioned_instance(
        2, 60, 4, norm=norm, l2=0.01, fit_intercept=True
    )
    check_optimal(problem, solve(problem, "admm", tol=1e-7))


@pytest.mark.thorough
def test_random_instances_are_mostly_solved():
    """All kinds, with columns of very different scales: ADMM does not solve them all, but its bounds are valid."""
    reached = 0
    seeds = range(unless_long(30, 60))
    for seed in seeds:
        problem = random_instance(seed, max_rows=100, max_features=50)
        result = solve(problem, "admm", max_iter=2000)
        check_honest(problem, result)
        reached += result.gap <= TOL
    assert reached >= 0.93 * len(seeds)


@examples(20, 500)
@given(problems())
def test_claims_hold_on_every_kind_of_problem(problem):
    check_honest(problem, solve(problem, "admm", max_iter=300))


@for_each_norm
def test_an_unregularised_svm_is_solved_within_the_stated_weights(norm):
    problem = well_conditioned_instance(
        3, 100, 3, norm=norm, radius=0.0, l2=0.0, fit_intercept=True
    )
    result = solve(problem, "admm")
    assert result.gap <= TOL and result.weight_bound < math.inf
    assert result.objective <= solve(problem, "interior-point").objective + TOL


def test_free_flips_leave_nothing_to_learn():
    result = solve(well_conditioned_instance(0, 30, 3, flip_cost=0.0), "admm")
    assert (
        result.objective == pytest.approx(1.0, abs=1e-12)
        and result.gap <= 1e-12
        and result.n_iter == 1
    )
    assert not result.weights.any()


@for_each_norm
def test_a_huge_radius_leaves_the_origin(norm):
    result = solve(well_conditioned_instance(0, 30, 3, radius=1e6, norm=norm), "admm")
    assert result.objective == pytest.approx(1.0) and result.gap <= TOL


@for_each(
    norm=NORMS,
    options=[
        {"trim": True},
        {"update": "accelerated"},
        {"relaxation": 1.0},
        {"rho": 1e-3},
    ],
)
def test_every_setting_leads_to_the_optimum(norm, options):
    problem = well_conditioned_instance(4, 120, 6, norm=norm, fit_intercept=True)
    check_optimal(problem, solve(problem, "admm", **options))


def test_trimming_saves_evaluations():
    problem = well_conditioned_instance(4, 120, 6)
    plain, trimmed = (solve(problem, "admm", trim=trim) for trim in (False, True))
    assert trimmed.info["evaluations"] < plain.info["evaluations"]


@pytest.mark.thorough
@for_each(norm=NORMS, fit_intercept=[False, True])
def test_more_features_than_can_be_factorised(norm, fit_intercept, set_values):
    set_values(factorised_to=10)
    problem = well_conditioned_instance(
        5, 40, 60, norm=norm, l2=0.01, fit_intercept=fit_intercept
    )
    check_optimal(problem, solve(problem, "admm"))


@pytest.mark.parametrize(
    "options",
    [{"update": "newton"}, {"relaxation": 2.0}, {"rho": 0.0}, {"rho": math.inf}],
)
def test_invalid_settings_are_rejected(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        solve(well_conditioned_instance(0, 30, 3), "admm", **options)


@pytest.mark.thorough
@for_each_norm
def test_the_container_does_not_matter(norm):
    rng = np.random.default_rng(0)
    X, y = random_rows(rng, 60, 5, "binary")
    dense, csr, single = (
        solve(Problem(data, y, norm=norm, fit_intercept=True), "admm")
        for data in (X, sparse.csr_array(X), X.astype(np.float32))
    )
    assert csr.n_iter == dense.n_iter == single.n_iter
    assert csr.weights == pytest.approx(dense.weights, abs=1e-9)
    assert single.weights == pytest.approx(dense.weights, abs=1e-9)


@for_each_norm
def test_a_weight_is_a_repeated_row_and_order_does_not_matter(norm):
    rng = np.random.default_rng(1)
    X, y = random_rows(rng, 40, 4, "gaussian")
    counts = rng.integers(1, 4, size=40)
    weighted = solve(
        Problem(X, y, norm=norm, sample_weight=counts, fit_intercept=True), "admm"
    )
    copies = rng.permutation(np.repeat(np.arange(40), counts))
    repeated = solve(
        Problem(X[copies], y[copies], norm=norm, fit_intercept=True), "admm"
    )
    assert repeated.n_iter == weighted.n_iter
    assert repeated.weights == pytest.approx(weighted.weights, abs=1e-7)
    assert repeated.objective == pytest.approx(weighted.objective, abs=1e-9)


@for_each_norm
def test_the_unit_of_the_features_does_not_matter(norm):
    X, y = random_rows(np.random.default_rng(2), 50, 4, "gaussian")
    one = solve(Problem(X, y, radius=0.1, flip_cost=1.0, norm=norm, l2=0.01), "admm")
    for unit in (1e-6, 1e6):
        other = Problem(
            unit * X, y, radius=0.1 * unit, flip_cost=unit, norm=norm, l2=0.01 * unit**2
        )
        scaled = solve(other, "admm")
        assert scaled.n_iter == one.n_iter
        assert scaled.objective == pytest.approx(one.objective, abs=1e-8)


@pytest.mark.parametrize("data", STRANGE_DATA)
def test_strange_data_and_parameters(data):
    X, y = STRANGE_DATA[data]
    grid = list(
        itertools.product(
            NORMS,
            [0.0, 1e-6, 0.1, 1e6],
            [0.0, 0.5, 1e6, math.inf],
            [0.0, 1.0],
            [False, True],
        )
    )
    for norm, radius, flip_cost, l2, fit_intercept in unless_long(grid[::5], grid):
        problem = Problem(
            X,
            y,
            radius=radius,
            flip_cost=flip_cost,
            norm=norm,
            l2=l2,
            fit_intercept=fit_intercept,
        )
        result = solve(problem, "admm", max_iter=40)
        assert np.isfinite(
            [*result.weights, result.intercept, result.objective, result.lower_bound]
        ).all()
        assert 0 <= result.lower_bound <= result.objective + 1e-12 <= 1 + 2e-12


def test_limits_end_a_run_with_an_honest_status():
    problem = well_conditioned_instance(6, 200, 10)
    short = solve(problem, "admm", max_iter=3)
    assert (
        short.status is Status.ITERATION_LIMIT and short.n_iter == 3 and short.gap > TOL
    )
    check_honest(problem, short)
    quick = solve(problem, "admm", max_time=1e-9)
    assert quick.status is Status.TIME_LIMIT and quick.n_iter == 1
    stopped = solve(problem, "admm", callback=lambda progress: progress.iteration >= 5)
    assert stopped.status is Status.STOPPED and stopped.n_iter >= 5


@pytest.mark.thorough
def test_a_start_is_used():
    problem = well_conditioned_instance(6, 200, 10)
    optimum = solve(problem, "interior-point")
    assert solve(problem, "admm", start=optimum).n_iter == 0
    neighbour = problem.replace(radius=0.11)
    check_optimal(neighbour, solve(neighbour, "admm", start=optimum))
    check_optimal(neighbour, solve(neighbour, "admm", start=(optimum.weights, 0.0)))
    svm = problem.replace(radius=0.0, l2=0.1)
    cold, warm = (
        solve(svm, "admm", start=start)
        for start in (None, solve(svm.replace(l2=0.11), "interior-point"))
    )
    assert warm.n_iter < cold.n_iter


@for_each(norm=NORMS, l2=[0.0, 0.1], flip_cost=[0.5, math.inf])
def test_lines_lie_below_f_everywhere(norm, l2, flip_cost):
    problem = well_conditioned_instance(7, 50, 4, norm=norm, l2=l2, flip_cost=flip_cost)
    subproblem = Subproblem(problem, 1.7, "auto")
    points = []
    for lam, iterations in itertools.product([0.3, 1.0, 3.0, 8.0], [1, 7, 60]):
        point = subproblem.first_trial(lam, 1.0, None)
        for _ in range(iterations):
            subproblem.iterate(point)
        points.append(point)
    for point, other in itertools.product(points, points):
        assert point.line.at(other.lam) <= other.upper + 1e-12
    assert max(point.gap for point in points[2::3]) < 1e-2


@for_each(rows=[np.asarray, sparse.csr_array], norm=NORMS)
def test_updates_do_without_a_gram_matrix_if_there_is_no_time_for_it(rows, norm):
    problem = well_conditioned_instance(7, 50, 4, norm=norm, fit_intercept=True)
    problem = Problem(rows(problem.X), problem.signs, norm=norm, fit_intercept=True)
    exact, quick = (
        Subproblem(problem, 1.7, "auto", seconds) for seconds in (math.inf, 1e-9)
    )
    assert not isinstance(exact.quadratic, Accelerated) and isinstance(
        quick.quadratic, Accelerated
    )
    assert isinstance(
        Subproblem(problem, 1.7, "exact", 1e-9).quadratic, type(exact.quadratic)
    )
    points = [subproblem.first_trial(1.0, 1.0, None) for subproblem in (exact, quick)]
    for _ in range(200):
        exact.iterate(points[0])
        quick.iterate(points[1])
    assert points[1].upper == pytest.approx(points[0].upper, abs=1e-5)


@pytest.mark.parametrize("kappa_lam", [0.0, 1.0, 2.0, 5.0, math.inf])
def test_the_split_is_the_proximal_point_of_the_loss(kappa_lam):
    grid = np.linspace(-8, 8, 160_001)
    loss = np.maximum(np.maximum(1 - grid, 1 + grid - kappa_lam), 0)
    for v, reach in itertools.product(
        [-3.0, 0.2, 0.9, 1.0, 1.1, 2.0, 4.1, 6.0], [0.1, 1.0]
    ):
        best = grid[np.argmin(loss + (grid - v) ** 2 / (2 * reach))]
        assert kernel.nearest_split(v, reach, kappa_lam) == pytest.approx(
            best, abs=2e-4
        )


@pytest.mark.parametrize("kappa_lam", [0.5, 3.0])
def test_slopes_represent_multipliers(kappa_lam):
    """α − β = −π g, and α + β is the mass on which some loss is active."""
    slopes = np.array([-1.0, -0.3, 0.0, 0.6, 1.0])
    weights = np.full(5, 0.2)
    problem = Problem(
        np.arange(5.0)[:, None], [-1, -1, 1, 1, 1], radius=0.1, flip_cost=1.0
    )
    subproblem = Subproblem(problem, 1.7, "exact")
    alpha, beta = subproblem.multipliers(slopes, kappa_lam)
    assert alpha - beta == pytest.approx(-weights * slopes)
    assert alpha + beta == pytest.approx(
        weights * (np.abs(slopes) if kappa_lam > 2 else 1.0)
    )
    assert min(alpha.min(), beta.min()) >= 0


@for_each(fit_intercept=[False, True], container=[np.asarray, sparse.csr_array])
def test_the_gram_matrix_is_that_around_the_mean(container, fit_intercept):
    problem = well_conditioned_instance(7, 50, 4)
    rows = Subproblem(
        Problem(container(problem.X), problem.signs, fit_intercept=fit_intercept),
        1.7,
        "auto",
        1e-9,
    )
    centred = problem.X - problem.X.mean(axis=0) * fit_intercept
    expected = centred.T @ centred / 50
    matrix, noise = rows.gram()
    np.testing.assert_allclose(matrix, expected, rtol=1e-12, atol=noise)
    w = np.arange(4.0)
    np.testing.assert_allclose(rows.curvature(w), expected @ w, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(expected)[-1] <= rows.quadratic.largest * (1 + 1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_gram_matrix_may_be_computed_in_parts(set_values, container):
    problem = well_conditioned_instance(7, 50, 4)
    rows = Subproblem(Problem(container(problem.X), problem.signs), 1.7, "exact")
    whole, _ = rows.gram()
    set_values(block_bytes=7 * 4 * 8)  # seven rows
    np.testing.assert_allclose(rows.gram()[0], whole, rtol=1e-12, atol=1e-14)
