"""The general-purpose solver: proven optima, models of CVXPY, and extreme scales."""

import itertools
import math
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from problems import NORMS, STRANGE_DATA, Plain, problems, random_rows
from scipy import sparse
from thorough import examples, for_each

from drsvm import Problem, Status, solve
from drsvm.solvers import build_model

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
from _formulations import cvxpy_model


@pytest.mark.data
@for_each(dataset=["a1a", "a2a"], q=[1, 2, math.inf], c=[0, 1])
def test_proven_optima_are_reproduced(proven_problem, dataset, q, c):
    problem, known = proven_problem(dataset, q, c)
    result = solve(problem, "conic")
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(known.optimum, abs=1e-7)
    assert known.optimum - 1e-7 <= result.lower_bound <= known.optimum + 1e-9
    assert result.radius_price == pytest.approx(known.radius_price, rel=1e-3)


@examples(10, 1000)
@given(problems())
def test_small_problems_are_solved_with_proof(problem):
    result = solve(problem, "conic", tol=1e-6)
    if problem.radius == problem.l2 == 0:  # no bound can be proven for all classifiers
        assert 0 <= result.lower_bound <= result.objective + 1e-12
        assert problem.norm.value(result.weights) <= result.weight_bound
        return
    assert result.status is Status.OPTIMAL
    assert -1e-12 <= result.gap <= 1e-6
    assert 0 <= result.objective <= 1 + 1e-12
    assert result.objective == pytest.approx(
        Plain.of(problem).best_value(result.weights, result.intercept), rel=1e-11
    )


@for_each(
    norm=NORMS,
    l2=[0.0, 0.5],
    flip_cost=[0.0, 0.8, math.inf],
    fit_intercept=[False, True],
)
def test_the_cvxpy_model_has_the_same_optimum(norm, l2, flip_cost, fit_intercept):
    X, y = random_rows(np.random.default_rng(7), 14, 3, "gaussian")
    weights = np.linspace(1, 2, 14)
    problem = Problem(X, y, 0.15, flip_cost, norm, l2, weights, fit_intercept)
    model, variables = cvxpy_model(problem)
    model.solve(solver="CLARABEL")
    result = solve(problem, "conic")
    assert model.value == pytest.approx(result.objective, abs=1e-7)
    b = variables["intercept"].value if fit_intercept else 0.0
    assert problem.objective(variables["weights"].value, float(b)) == pytest.approx(
        model.value, abs=1e-6
    )


def test_the_cvxpy_model_takes_sparse_rows():
    X, y = random_rows(np.random.default_rng(7), 14, 3, "binary")
    optima = [
        cvxpy_model(Problem(rows, y, 0.15))[0].solve(solver="CLARABEL")
        for rows in (X, sparse.csr_array(X))
    ]
    assert optima[0] == pytest.approx(optima[1], abs=1e-8)


@for_each(
    container=[
        np.asarray,
        np.asfortranarray,
        sparse.csr_array,
        sparse.coo_matrix,
        np.float32,
    ],
    norm=NORMS,
)
def test_containers_make_no_difference(container, norm):
    X, y = random_rows(np.random.default_rng(8), 20, 4, "integers")
    reference = solve(Problem(X, y, norm=norm), "conic")
    assert solve(
        Problem(container(X), y, norm=norm), "conic"
    ).objective == pytest.approx(reference.objective, abs=1e-9)


@for_each(fit_intercept=[False, True], norm=NORMS)
def test_limits_of_the_parameters(norm, fit_intercept):
    X, y = random_rows(np.random.default_rng(9), 12, 3, "gaussian")
    problem = Problem(X, y, norm=norm, fit_intercept=fit_intercept)
    for ball in ({"flip_cost": 0}, {"radius": 100.0, "flip_cost": 50.0}):
        result = solve(problem.replace(**ball), "conic")
        assert result.objective == pytest.approx(1.0, abs=1e-7) and result.gap <= 1e-7
    infinite, large = (
        solve(problem.replace(flip_cost=cost), "conic") for cost in (math.inf, 1e6)
    )
    assert large.objective == pytest.approx(infinite.objective, abs=1e-6)
    ridge = problem.replace(l2=0.1, radius=0)
    none, tiny = (
        solve(ridge.replace(radius=radius), "conic") for radius in (0.0, 1e-9)
    )
    assert none.gap <= 1e-7 and tiny.objective == pytest.approx(
        none.objective, abs=1e-6
    )


def test_an_intercept_alone_leaves_the_smaller_class_wrong():
    result = solve(
        Problem(np.zeros((4, 2)), [1, 1, 1, -1], 0.1, math.inf, fit_intercept=True),
        "conic",
    )
    assert result.objective == pytest.approx(0.5, abs=1e-9)
    assert result.intercept == pytest.approx(1.0, abs=1e-6)


@for_each(norm=NORMS, l2=[0.0, 0.5], fit_intercept=[False, True])
def test_a_change_of_unit_changes_nothing(norm, l2, fit_intercept):
    """Features, radius and flip cost times s, l2 times s²: the same optimum at weights over s."""
    X, y = random_rows(np.random.default_rng(10), 25, 3, "gaussian")
    reference = solve(
        Problem(X, y, 0.1, 0.8, norm, l2, fit_intercept=fit_intercept), "conic"
    )
    assert reference.status is Status.OPTIMAL
    for s in (1e-6, 1e6):
        result = solve(
            Problem(
                X * s, y, 0.1 * s, 0.8 * s, norm, l2 * s**2, fit_intercept=fit_intercept
            ),
            "conic",
        )
        assert result.status is Status.OPTIMAL
        assert result.objective == pytest.approx(reference.objective, abs=1e-9)
        assert result.radius_price * s == pytest.approx(
            reference.radius_price, rel=1e-4
        )


@pytest.mark.parametrize("norm", NORMS)
def test_features_may_be_far_from_the_radius(norm):
    X, y = random_rows(np.random.default_rng(11), 25, 3, "gaussian")
    for s in (1e-6, 1e6):
        result = solve(
            Problem(X * s, y, radius=0.1, flip_cost=1.0, norm=norm, fit_intercept=True),
            "conic",
            tol=1e-6,
        )
        assert result.status is Status.OPTIMAL and np.isfinite(result.weights).all()
    # A shift of 0.1 is nothing to features of 1e6: only flips are left to the
    # adversary.
    huge, tiny = (
        solve(Problem(X * s, y, radius=0.1, flip_cost=1.0, norm=norm), "conic")
        for s in (1e6, 1e-6)
    )
    assert huge.objective < 1 and tiny.objective == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("X", "y"), STRANGE_DATA.values(), ids=STRANGE_DATA.keys())
def test_strange_data_are_solved(norm, X, y):
    for l2, flip_cost, fit_intercept in itertools.product(
        [0.0, 1.0], [1.0, math.inf], [False, True]
    ):
        problem = Problem(X, y, 0.1, flip_cost, norm, l2, fit_intercept=fit_intercept)
        result = solve(problem, "conic", tol=1e-6)
        assert result.status is Status.OPTIMAL
        assert np.isfinite(result.weights).all() and np.isfinite(result.intercept)
        assert 0 <= result.lower_bound <= result.objective + 1e-12 <= 1 + 2e-12


@pytest.mark.parametrize("norm", NORMS)
def test_one_feature_at_one_is_solved_by_hand(norm):
    """Rows ±1 with their own label: w = 1 has no loss and costs ε, w = 0 costs 1."""
    for radius in (0.0, 0.25, 0.9, 1.5):
        result = solve(
            Problem([[1.0], [-1.0]], [1, -1], radius, math.inf, norm), "conic"
        )
        assert result.objective == pytest.approx(min(radius, 1.0), abs=1e-8)


@pytest.mark.parametrize("norm", NORMS)
def test_many_features_and_few_rows(norm):
    X, y = random_rows(np.random.default_rng(12), 6, 5000, "gaussian")
    result = solve(
        Problem(X, y, radius=0.1, norm=norm, fit_intercept=True), "conic", tol=1e-6
    )
    assert result.status is Status.OPTIMAL and result.weights.shape == (5000,)


def priced_problem(seed, norm, l2, *, radii=(0.05, 0.3)):
    """Return a random problem with a price for every row and feature and perhaps the intercept, and signs."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 16))
    d = int(rng.integers(1, 5))
    X, y = random_rows(
        rng,
        n,
        d,
        rng.choice(["gaussian", "integers", "binary", "separable", "degenerate"]),
    )
    ball = {
        "radius": rng.choice(radii),
        "flip_cost": rng.choice([0.0, 0.3, 1.0, 2.0, math.inf], size=n),
    }
    ball |= {"norm": norm, "l2": l2, "sample_weight": rng.uniform(0.2, 2.0, size=n)}
    ball |= {
        "fit_intercept": bool(rng.random() < 0.7),
        "intercept_cost": rng.choice([0.5, 2.0, math.inf]),
    }
    costs = rng.choice([0.2, 1.0, 3.0, math.inf], size=d)
    signs = rng.choice([-1, 0, 1], size=d)
    return Problem(X, y, **ball, feature_cost=costs, monotonic_cst=signs)


def optimum_of_cvxpy(problem):
    model, _ = cvxpy_model(problem)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
        return model.solve(
            solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
        )


@for_each(norm=NORMS, l2=[0.0, 0.3], seed=range(8))
def test_priced_problems_are_solved(norm, l2, seed):
    problem = priced_problem(seed, norm, l2)
    result = solve(problem, "conic", tol=1e-6)
    assert result.objective == pytest.approx(optimum_of_cvxpy(problem), abs=1e-7)
    assert result.objective == pytest.approx(
        problem.objective(result.weights, result.intercept), abs=1e-12
    )
    assert problem.norm_of(result.weights, result.intercept) <= result.radius_price * (
        1 + 1e-12
    )
    if problem.monotonic_cst is not None:
        assert (result.weights * problem.monotonic_cst >= 0).all()
    assert result.status.reached and -1e-12 <= result.gap <= 1e-6


@pytest.mark.parametrize("norm", NORMS)
def test_priced_problems_without_a_radius_are_solved(norm):
    problem = priced_problem(3, norm, 0.3, radii=[0.0])
    assert solve(problem, "conic").objective == pytest.approx(
        optimum_of_cvxpy(problem), abs=1e-7
    )


@pytest.mark.parametrize("norm", NORMS)
def test_a_feature_price_is_a_scaled_column_and_that_of_the_intercept_a_constant_one(
    norm,
):
    """Without ridge, the price a_j equals the column a_j·x_j, whose weight is w_j/a_j."""
    X, y = random_rows(np.random.default_rng(20), 20, 3, "gaussian")
    prices = np.array([0.5, 1.0, 4.0])
    priced = solve(Problem(X, y, norm=norm, feature_cost=prices), "conic")
    scaled = solve(Problem(X * prices, y, norm=norm), "conic")
    assert priced.objective == pytest.approx(scaled.objective, abs=1e-8)
    np.testing.assert_allclose(priced.weights / prices, scaled.weights, atol=1e-5)
    priced = solve(
        Problem(X, y, norm=norm, fit_intercept=True, intercept_cost=2.0), "conic"
    )
    column = solve(
        Problem(np.column_stack([X, np.full(20, 2.0)]), y, norm=norm), "conic"
    )
    assert priced.objective == pytest.approx(column.objective, abs=1e-8)


@pytest.mark.parametrize("norm", NORMS)
def test_a_problem_in_which_nothing_is_priced(norm):
    """All features are trusted: the radius is spent on flips alone, and λ is only held to be at least 0."""
    X, y = random_rows(np.random.default_rng(22), 20, 2, "gaussian")
    costs = np.linspace(0.5, 2.0, 20)
    problem = Problem(
        X, y, 0.1, costs, norm, fit_intercept=True, feature_cost=np.full(2, math.inf)
    )
    result = solve(problem, "conic", tol=1e-6)
    assert result.objective == pytest.approx(optimum_of_cvxpy(problem), abs=1e-7)
    assert result.radius_price >= 0


def test_the_model_has_only_the_rows_it_needs():
    X, y = random_rows(np.random.default_rng(13), 10, 3, "gaussian")
    problem = Problem(X, y, radius=0.1, flip_cost=1.0, fit_intercept=True)
    assert build_model(problem).A.shape == (3 * 10 + 4, 3 + 1 + 1 + 10)
    assert build_model(problem.replace(flip_cost=math.inf)).A.shape == (2 * 10 + 4, 15)
    assert build_model(problem.replace(norm=math.inf)).A.shape == (3 * 10 + 7, 15 + 3)
    assert build_model(problem.replace(norm=1, fit_intercept=False)).A.shape == (
        3 * 10 + 6,
        14,
    )
    assert build_model(problem.replace(radius=0)).n_cone == 0
    verified = problem.replace(flip_cost=np.where(np.arange(10) < 4, math.inf, 1.0))
    assert build_model(verified).A.shape == (2 * 10 + 6 + 4, 15)
    assert build_model(problem.replace(feature_cost=[1.0, 2.0, math.inf])).n_cone == 3
    assert build_model(problem.replace(intercept_cost=1.0)).n_cone == 5
    assert build_model(problem.replace(monotonic_cst=[1, 0, -1])).A.shape == (
        3 * 10 + 2 + 4,
        15,
    )
