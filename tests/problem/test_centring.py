"""Columns far from 0: solvers work on shifted columns, and return results for the original ones."""

import math

import numpy as np
import pytest
from exact import exact_bound, exact_objective
from problems import NORMS
from scipy import sparse

from drsvm import (
    Problem,
    Status,
    WassersteinSVC,
    certify,
    radius_max,
    radius_path,
    solve,
)
from drsvm.defaults.binary_problems import at_centre
from drsvm.problem import offset_of_far_columns

OFFSETS = np.array([0.0, 480.0, -1e6, 0.0])
SCALES = np.array([1.0, 40.0, 1.0, 1.0])


@pytest.fixture
def rows():
    """Return columns around 0, and their labels."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, 4)) * SCALES, 6)
    X[:, 3] = 0.0
    return X, np.where(X @ [1.0, 0.02, 0.5, 0.0] + rng.normal(size=300) > 0, 1, -1)


def far(X):
    """Return the columns far from 0; the last one is constant."""
    return X + OFFSETS + [0.0, 0.0, 0.0, 0.1]


CONTAINERS = {"dense": np.asarray, "sparse": sparse.csr_array}
in_each_container = pytest.mark.parametrize(
    "container", CONTAINERS.values(), ids=CONTAINERS.keys()
)


@in_each_container
@pytest.mark.parametrize("flip_cost", [1.0, math.inf])
@pytest.mark.parametrize("norm", NORMS)
def test_a_shift_of_the_columns_changes_only_the_intercept(
    rows, norm, flip_cost, container
):
    X, y = rows
    near = solve(
        Problem(X, y, 0.01, flip_cost, norm, fit_intercept=True), "interior-point"
    )
    problem = Problem(container(far(X)), y, 0.01, flip_cost, norm, fit_intercept=True)
    result = solve(problem, "interior-point")
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(near.objective, abs=2e-8)
    assert problem.objective(result.weights, result.intercept) == pytest.approx(
        result.objective, abs=1e-8
    )


@in_each_container
def test_far_columns_are_found_and_constant_ones_become_zero(rows, container):
    X, y = rows
    problem = Problem(container(far(X)), y, fit_intercept=True)
    offset = offset_of_far_columns(problem)
    assert offset is not None and (offset != 0).tolist() == [
        False,
        True,
        True,
        True,
    ]
    shifted = problem.shifted(offset)
    assert not shifted.decision_values(np.array([0.0, 0.0, 0.0, 1.0])).any()


def test_a_sparse_column_with_a_single_gap_is_not_shifted():
    rng = np.random.default_rng(0)
    X = 500.0 + rng.random((1000, 3))
    X[-1, 1] = 0.0  # after all rows that are looked at first
    problem = Problem(
        sparse.csr_array(X),
        np.where(rng.random(len(X)) < 0.5, 1, -1),
        fit_intercept=True,
    )
    assert (offset_of_far_columns(problem) > 0).tolist() == [True, False, True]


def test_a_sparse_matrix_stays_as_sparse_as_it_is():
    rng = np.random.default_rng(1)
    X = 100.0 * (rng.random((200, 10)) < 0.1)
    X[:, 0] = 2000.0 + rng.normal(size=200)
    problem = Problem(
        sparse.csr_array(X), np.where(rng.random(200) < 0.5, 1, -1), fit_intercept=True
    )
    shifted = problem.shifted(offset_of_far_columns(problem))
    assert shifted.X.nnz == problem.X.nnz
    assert np.abs(shifted.X[:, [0]].toarray()).max() < 10.0
    np.testing.assert_array_equal(shifted.X[:, 1:].toarray(), X[:, 1:])


def test_rows_are_not_copied_unnecessarily(rows):
    X, y = rows
    for problem in (
        Problem(far(X), y, fit_intercept=False),
        Problem(X, y, fit_intercept=True),
    ):
        assert offset_of_far_columns(problem) is None


def test_float32_rows_lose_no_digits(rows):
    narrow = far(rows[0]).astype(np.float32)
    problem = Problem(narrow, rows[1], fit_intercept=True)
    offset = offset_of_far_columns(problem)
    np.testing.assert_array_equal(
        problem.shifted(offset).X + offset, narrow.astype(np.float64)
    )


def test_a_start_refers_to_the_original_columns(rows):
    X, y = rows
    problem = Problem(far(X), y, 0.01, fit_intercept=True)
    first = solve(problem, "interior-point")
    for start in (first, (first.weights, first.intercept)):
        again = solve(problem, "dual-coordinate", start=start, tol=1e-5, max_iter=1)
        assert again.objective <= first.objective + 1e-7


def test_paths_and_the_largest_radius_do_not_depend_on_shifts(rows):
    X, y = rows
    near = Problem(X, y, fit_intercept=True)
    distant = Problem(far(X), y, fit_intercept=True)
    assert radius_max(distant) == pytest.approx(radius_max(near), rel=1e-6)
    path = radius_path(distant, [0.1, 0.01])
    for result, radius in zip(path.results, path.radii, strict=True):
        value = distant.replace(radius=radius).objective(
            result.weights, result.intercept
        )
        assert value == pytest.approx(result.objective, abs=1e-8)


# What is returned is what is certified, however far the columns are from 0.


def far_problem(offset, scale, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    y = np.where(X @ [1.0, 0.5, -1.0] + 0.5 * rng.normal(size=40) > 0, 1, -1)
    ball = {
        "radius": 0.05 * scale,
        "flip_cost": (math.inf, 0.5 * scale)[seed % 2],
        "norm": NORMS[seed % 3],
    }
    return Problem(
        scale * (X + offset),
        y,
        **ball,
        l2=(0.0, 0.01 * scale**2)[seed // 2 % 2],
        fit_intercept=True,
    )


def check_claims(problem, result, weights, intercept):
    """Check a result with 60 digits, and with `certify`."""
    objective = exact_objective(problem, weights, intercept)
    assert abs(objective - result.objective) <= 1e-11
    assert objective - exact_bound(problem, result) <= result.gap + 1e-11
    again = certify(problem, weights, intercept, result.hinge_dual, result.flip_dual)
    assert again.gap == pytest.approx(result.gap, abs=1e-8)
    assert result.status.reached == (result.gap <= result.tol)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9, 1e12, 1e14])
def test_the_classifier_that_is_returned_is_certified(offset):
    for seed, scale in enumerate((1.0, 1e-3, 1e3, 1.0)):
        problem = far_problem(offset, scale, seed)
        result = solve(problem)
        check_claims(problem, result, result.weights, result.intercept)
        assert result.gap <= max(1e-6, 1e-17 * offset)
        assert result.status in (Status.OPTIMAL, Status.STALLED)


@pytest.mark.parametrize("offset", [1e3, 1e14])
def test_so_are_the_classifiers_of_a_path(offset):
    problem = far_problem(offset, 1.0, 1)
    path = radius_path(problem, [0.2, 0.05])
    for result, radius in zip(path.results, path.radii, strict=True):
        check_claims(
            problem.replace(radius=radius), result, result.weights, result.intercept
        )


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)  # at 1e12 the tolerance is out of reach
@pytest.mark.parametrize("cost", ["auto", math.inf])
@pytest.mark.parametrize("offset", [1e3, 1e9, 1e12])
def test_so_are_those_of_the_estimators(offset, cost):
    given = far_problem(offset, 1.0, 0)
    parameters = {
        "radius": 0.05,
        "l2": 0.0,
        "class_weight": None,
        "threshold": "optimum",
        "norm": given.norm.p,
    }
    model = WassersteinSVC(intercept_cost=cost, **parameters).fit(given.X, given.signs)
    problem = given.replace(intercept_cost=model.intercept_cost_)
    centred = at_centre(problem)
    weights, intercept = centred.to_inner((model.coef_[0], float(model.intercept_[0])))
    duals = model.result_.hinge_dual, model.result_.flip_dual
    assert certify(centred.problem, weights, intercept, *duals).gap == pytest.approx(
        model.gap_, abs=1e-8
    )
    assert model.result_.status.reached == (model.gap_ <= 1e-6)
    if cost == math.inf:
        check_claims(problem, model.result_, model.coef_[0], float(model.intercept_[0]))
