"""Rows in memory-mapped files, and views of them."""

import numpy as np
import pytest
from scipy import sparse
from thorough import unless_long

from drsvm import Problem, WassersteinSVC, certify, radius_max, radius_path, solve
from drsvm.problem import RowView, in_memory, is_mapped, must_stay


@pytest.fixture
def any_size(set_values):
    """Let files of any size count as large."""
    set_values(large_array=1)


def two_classes(n=30_000, d=4, centre=20.0, dtype=np.float64, seed=1):
    random = np.random.default_rng(seed)
    y = random.choice([-1, 1], size=n)
    X = random.normal(size=(n, d)) + 0.4 * y[:, None] + centre
    return X.astype(dtype), y


@pytest.fixture
def mapped(tmp_path):
    """Return a function that maps an array from a file."""

    def mapped(X):
        np.save(tmp_path / "X.npy", X)
        return np.load(tmp_path / "X.npy", mmap_mode="r")

    return mapped


def mapped_csr(X, folder):
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    for name, values in parts.items():
        np.save(folder / f"{name}.npy", values)
    return sparse.csr_array(
        tuple(np.load(folder / f"{name}.npy", mmap_mode="r") for name in parts),
        shape=X.shape,
        copy=False,
    )


def test_a_mapped_array_is_recognised_through_views(mapped, tmp_path):
    X, _ = two_classes(10)
    assert (
        is_mapped(mapped(X))
        and is_mapped(mapped(X)[2:5].view(np.ndarray))
        and not is_mapped(X)
    )
    assert is_mapped(mapped_csr(sparse.csr_array(X), tmp_path))
    assert not must_stay(mapped(X)), "small files may be copied"


def test_a_view_returns_what_the_changed_array_has():
    X, _ = two_classes(50)
    kept = np.flatnonzero(X[:, 0] > 20)
    view = RowView(RowView(X, lambda rows: rows - 20.0), lambda rows: rows[:, 1:], kept)
    expected = (X - 20.0)[kept, 1:]
    assert (view.shape, view.size, len(view), view.dtype) == (
        expected.shape,
        expected.size,
        len(kept),
        X.dtype,
    )
    np.testing.assert_array_equal(view[:], expected)
    np.testing.assert_array_equal(view[3:9], expected[3:9])
    np.testing.assert_array_equal(in_memory(view), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [4, 80])
def test_a_problem_far_from_the_origin_is_solved_without_a_copy(
    any_size, mapped, set_values, dtype, d
):
    set_values(view_bytes=1)  # several blocks for every thread
    X, y = two_classes(d=d, dtype=dtype)
    expected = solve(Problem(X, y, fit_intercept=True), "interior-point")
    problem = Problem(mapped(X), y, fit_intercept=True)
    found = solve(problem, "interior-point")
    assert found.gap <= 1e-8 and abs(found.objective - expected.objective) <= 1e-9
    certificate = certify(
        problem, found.weights, found.intercept, found.hinge_dual, found.flip_dual
    )
    assert certificate.gap <= 2e-8
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-6)


@pytest.mark.thorough
def test_prices_and_weights_of_0_need_no_copy(any_size, mapped):
    X, y = two_classes()
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    parameters = {
        "fit_intercept": True,
        "intercept_cost": 30.0,
        "feature_cost": [1.0, 2.0, np.inf, 1.0],
    }
    in_file = Problem(mapped(X), y, sample_weight=weights, **parameters)
    expected = Problem(X, y, sample_weight=weights, **parameters)
    assert isinstance(in_file.X, RowView)
    found = solve(in_file, "interior-point")
    assert abs(found.objective - solve(expected, "interior-point").objective) <= 1e-9
    assert len(found.hinge_dual) == len(y) and not found.hinge_dual[weights == 0].any()
    assert radius_max(in_file) == pytest.approx(radius_max(expected), rel=1e-3)


@pytest.mark.parametrize(
    "solver", ["dual-coordinate", "ippa", "admm", "interior-point"]
)
def test_other_solvers_and_wide_systems_copy_a_view(any_size, mapped, solver):
    X, y = two_classes(40, 1200) if solver == "interior-point" else two_classes(300)
    problems = (Problem(rows, y, fit_intercept=True) for rows in (mapped(X), X))
    found, expected = (
        solve(problem, solver, max_iter=50, random_state=0).objective
        for problem in problems
    )
    assert found == pytest.approx(expected, abs=1e-9)


def test_auto_reads_a_view_in_its_order(any_size, mapped):
    X, y = two_classes(6000, d=300)
    assert (
        solve(Problem(mapped(X), y, fit_intercept=True), max_iter=1).solver
        == "interior-point"
    )


def test_a_path_over_a_mapped_file(any_size, mapped):
    X, y = two_classes(5000)
    found, expected = (
        radius_path(Problem(rows, y, fit_intercept=True), n_radii=4)
        for rows in (mapped(X), X)
    )
    one, other = (
        [result.objective for result in path.results] for path in (found, expected)
    )
    np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("density", unless_long([0.1], [0.1, 0.6]))
def test_sparse_rows_in_files(any_size, tmp_path, density):
    random = np.random.default_rng(0)
    X = sparse.random_array((20_000, 30), density=density, rng=random, format="csr")
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    y = np.where(X @ random.normal(size=30) + random.normal(size=20_000) > 0, 1, -1)
    expected = WassersteinSVC(tol=1e-8).fit(X, y)
    # The ridge follows an automatic radius
    ball = {
        "radius": expected.radius_,
        "l2": expected.l2_,
    }
    model = WassersteinSVC(tol=1e-8, **ball).fit(mapped_csr(X, tmp_path), y)
    assert model.gap_ <= 1e-8 and model.objective_ == pytest.approx(
        expected.objective_, abs=1e-7
    )
    automatic = WassersteinSVC().fit(mapped_csr(X, tmp_path), y)
    assert automatic.radius_ == pytest.approx(
        expected.radius_, rel=0.01
    )  # it comes from rough solutions


@pytest.mark.parametrize("dtype", unless_long([np.float64], [np.float64, np.float32]))
def test_an_estimator_agrees_on_file_and_memory(any_size, mapped, dtype):
    X, y = two_classes(dtype=dtype, centre=0.5)
    expected = WassersteinSVC(tol=1e-9).fit(X, y)
    assert WassersteinSVC().fit(mapped(X), y).radius_ == pytest.approx(
        expected.radius_, rel=0.01
    )
    model = WassersteinSVC(tol=1e-9, radius=expected.radius_).fit(mapped(X), y)
    assert model.gap_ <= 1e-9 and abs(model.objective_ - expected.objective_) <= 2e-9
    decisions = model.decision_function(mapped(X))
    assert decisions.dtype == np.float64 and decisions.shape == (len(y),)
    np.testing.assert_allclose(decisions, expected.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(
        model.predict(mapped(X)), model.classes_[(decisions > 0).astype(int)]
    )


def test_several_classes_in_a_file(any_size, mapped):
    X, _ = two_classes(4000, centre=0.5)
    y = X[:, :3].argmax(axis=1)
    expected = WassersteinSVC(tol=1e-9).fit(X, y)
    model = WassersteinSVC(tol=1e-9, radius=expected.radius_).fit(mapped(X), y)
    np.testing.assert_allclose(model.objective_, expected.objective_, atol=2e-9)
    assert model.decision_function(mapped(X)).shape == (4000, 3)
    assert (model.predict(mapped(X)) == expected.predict(X)).mean() > 0.999


def test_careful_margins_of_sparse_rows_stay_sparse(set_values):
    """As dense columns, these rows would take 32 GB."""
    set_values(min_noise=0.0)
    n = 2000
    d = 2_000_000
    X = sparse.csr_array(
        (np.ones(2 * n), (np.repeat(np.arange(n), 2), np.arange(2 * n))), shape=(n, d)
    )
    problem = Problem(X, np.tile([-1, 1], n // 2))
    w = np.zeros(d)
    w[: 2 * n : 2] = 1e9
    w[1 : 2 * n : 2] = -1e9 + 0.25
    np.testing.assert_array_equal(
        problem.rows.compensated_dot(w, 0.5, problem.column_sizes), 0.75
    )
