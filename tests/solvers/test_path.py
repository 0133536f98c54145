"""The radius from which on no classifier pays, and solutions along a grid of radii."""

import itertools
import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS, random_rows
from scipy import sparse

from drsvm import Problem, Status, radius_max, radius_path, solve
from drsvm.engines.cpu import CpuEngine
from drsvm.solvers.interior_point import InteriorPointState

for_each_norm = pytest.mark.parametrize("norm", NORMS)
with_and_without_intercept = pytest.mark.parametrize("fit_intercept", [False, True])


def best_constant(problem):
    """Return the objective of the best constant classifier; the corners of its problem are at b = −1, 0 and 1."""
    intercepts = (-1.0, 0.0, 1.0) if problem.fit_intercept else (0.0,)
    return min(problem.objective(np.zeros(problem.n_features), b) for b in intercepts)


def optimum(problem, radius):
    return solve(problem.replace(radius=radius), "interior-point", tol=1e-9).objective


def check_radius_max(problem):
    """Just above the radius the constant classifier is optimal, just below it is not."""
    largest = radius_max(problem)
    above, below = (problem.replace(radius=factor * largest) for factor in (1.001, 0.999))
    assert optimum(problem, above.radius) == pytest.approx(best_constant(above), abs=1e-8)
    assert optimum(problem, below.radius) < best_constant(below) - 1e-7
    return largest


# radius_max


@for_each_norm
@with_and_without_intercept
@pytest.mark.parametrize("flip_cost", [0.5, 3.0, math.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_from_radius_max_on_the_constant_classifier_is_optimal(norm, fit_intercept, flip_cost, weighted):
    X, y = random_rows(np.random.default_rng(1), 60, 4, "gaussian")
    weights = np.random.default_rng(2).uniform(0.9, 1.1, size=60) if weighted else None
    ball = {"flip_cost": flip_cost, "norm": norm, "fit_intercept": fit_intercept, "sample_weight": weights}
    largest = check_radius_max(Problem(X, y, **ball))
    assert largest > 0
    assert radius_max(Problem(sparse.csr_array(X), y, **ball)) == pytest.approx(largest, rel=1e-6)


@for_each_norm
@pytest.mark.parametrize("kind", ["binary", "integers", "separable", "degenerate"])
def test_radius_max_of_data_with_ties(norm, kind):
    X, y = random_rows(np.random.default_rng(3), 40, 3, kind)
    for flip_cost, fit_intercept in itertools.product([1.0, math.inf], [False, True]):
        check_radius_max(Problem(X, y, flip_cost=flip_cost, norm=norm, fit_intercept=fit_intercept))


@for_each_norm
def test_with_trusted_labels_and_no_intercept_it_is_a_norm(norm):
    X, y = random_rows(np.random.default_rng(4), 50, 5, "gaussian")
    weights = np.linspace(1, 2, 50)
    problem = Problem(X, y, flip_cost=math.inf, norm=norm, sample_weight=weights)
    total = (weights / weights.sum() * y) @ X
    assert radius_max(problem) == pytest.approx(np.linalg.norm(total, norm), rel=1e-13)
    check_radius_max(problem)


@for_each_norm
@with_and_without_intercept
@pytest.mark.parametrize("flip_cost", [1.0, math.inf])
def test_unequal_classes_with_good_features(norm, fit_intercept, flip_cost):
    rng = np.random.default_rng(5)
    y = np.where(np.arange(60) < 20, 1, -1)
    X = rng.normal(size=(60, 3)) + 6.0 * y[:, None]
    check_radius_max(Problem(X, y, flip_cost=flip_cost, norm=norm, fit_intercept=fit_intercept))


@for_each_norm
def test_unequal_classes_with_poor_features(norm):
    """With 10 % of one class and features that tell little, b = −1 is optimal from a small radius on."""
    y = np.where(np.arange(100) < 10, 1, -1)
    X = 0.01 * (np.random.default_rng(6).normal(size=(100, 3)) + 0.5 * y[:, None])
    check_radius_max(Problem(X, y, flip_cost=1.0, norm=norm, fit_intercept=True))


@for_each_norm
@with_and_without_intercept
def test_free_flips_leave_nothing_to_learn(norm, fit_intercept):
    problem = well_conditioned_instance(0, 30, 3, flip_cost=0.0, norm=norm, fit_intercept=fit_intercept)
    assert radius_max(problem) == 0.0
    with pytest.raises(ValueError, match="w = 0 is optimal for every radius: there is no path"):
        radius_path(problem)


@pytest.mark.parametrize("flip_cost", [1.0, math.inf])
def test_features_that_tell_nothing_have_radius_max_zero(flip_cost):
    paired = np.array([[1.0], [1.0], [2.0], [2.0]])
    for X, fit_intercept in itertools.product((paired, np.zeros((4, 1))), (False, True)):
        assert radius_max(Problem(X, [1, -1, 1, -1], flip_cost=flip_cost, fit_intercept=fit_intercept)) == 0.0


@for_each_norm
def test_radius_max_is_measured_in_the_unit_of_the_features(norm):
    problem = well_conditioned_instance(1, 50, 4, norm=norm, fit_intercept=True)
    scaled = Problem(10 * problem.X, problem.signs, flip_cost=10.0, norm=norm, fit_intercept=True)
    assert radius_max(scaled) == pytest.approx(10 * radius_max(problem), rel=1e-6)


def test_radius_max_ignores_radius_and_ridge():
    problem = well_conditioned_instance(1, 50, 4, fit_intercept=True)
    assert radius_max(problem.replace(radius=5.0, l2=3.0), n_threads=1) == radius_max(problem)


# radius_path

CASES = {
    "plain": {},
    "trusted labels": {"flip_cost": math.inf, "fit_intercept": True},
    "ridge": {"l2": 0.1, "fit_intercept": True},
    "weights": {"sample_weight": np.linspace(0.1, 1.0, 120)},
}


@for_each_norm
@pytest.mark.parametrize("parameters", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("radii", [np.geomspace(0.5, 1e-3, 9), [0.01, 0.02, 0.2], [0.1, 0.1, 0.9, 0.03]], ids=len)
def test_a_path_has_the_optima_of_separate_solves(norm, parameters, radii):
    problem = well_conditioned_instance(2, 120, 6, norm=norm, **parameters)
    path = radius_path(problem, radii, tol=1e-8)
    np.testing.assert_array_equal(path.radii, radii)
    assert len(path) == len(radii)
    for radius, result in zip(radii, path.results, strict=True):
        alone = solve(problem.replace(radius=radius), tol=1e-8)
        assert result.status is Status.OPTIMAL and result.gap <= 1e-8
        assert result.objective == pytest.approx(alone.objective, abs=1e-8)
        value = problem.replace(radius=radius).objective(result.weights, result.intercept)
        assert result.objective == pytest.approx(value, rel=1e-12)


@for_each_norm
def test_the_default_grid_goes_down_from_radius_max(norm):
    problem = well_conditioned_instance(3, 80, 4, norm=norm, fit_intercept=True)
    path = radius_path(problem)
    largest = radius_max(problem)
    np.testing.assert_allclose(path.radii, largest * np.logspace(0, -3, 30), rtol=1e-12)
    assert path[0].objective == pytest.approx(best_constant(problem.replace(radius=largest)), abs=1e-6)
    assert all(result.status is Status.OPTIMAL for result in path.results)
    objectives = path.table()["objective"]
    assert (np.diff(objectives) <= 1e-8).all()  # a smaller ball is less harmful


def test_the_grid_can_be_chosen():
    problem = well_conditioned_instance(3, 80, 4)
    path = radius_path(problem, n_radii=4, smallest=0.1)
    np.testing.assert_allclose(path.radii, radius_max(problem) * np.array([1, 0.1 ** (1 / 3), 0.1 ** (2 / 3), 0.1]))


@for_each_norm
def test_a_path_takes_fewer_iterations_than_separate_solves(norm):
    problem = well_conditioned_instance(4, 300, 10, norm=norm, flip_cost=math.inf, fit_intercept=True)
    radii = np.geomspace(0.3, 0.01, 40)
    alone = [solve(problem.replace(radius=radius)).n_iter for radius in radii]
    assert radius_path(problem, radii).table()["n_iter"].sum() < sum(alone)


@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_a_radius_of_zero_may_be_among_the_radii(l2):
    problem = well_conditioned_instance(5, 60, 4, l2=l2, fit_intercept=True)
    path = radius_path(problem, [0.2, 0.05, 0.0], tol=1e-8)
    for radius, result in zip(path.radii, path.results, strict=True):
        alone = solve(problem.replace(radius=radius), tol=1e-8)
        assert result.objective == pytest.approx(alone.objective, abs=2e-8)
    assert np.isfinite(path[-1].weight_bound) == (l2 == 0)


@for_each_norm
def test_another_solver_walks_the_path_too(norm):
    problem = well_conditioned_instance(6, 60, 4, norm=norm)
    radii = [0.3, 0.1, 0.05]
    conic, usual = (radius_path(problem, radii, solver=solver, tol=1e-7) for solver in ("conic", "auto"))
    assert {result.solver for result in conic.results} == {"conic"}
    assert {result.solver for result in usual.results} == {"interior-point"}
    np.testing.assert_allclose(conic.table()["objective"], usual.table()["objective"], atol=2e-7)


def test_settings_and_limits_hold_for_every_radius():
    problem = well_conditioned_instance(7, 60, 4)
    path = radius_path(problem, [0.2, 0.1], max_iter=2, correctors=0)
    assert [(r.status, r.n_iter) for r in path.results] == [(Status.ITERATION_LIMIT, 2)] * 2
    for radius, result in zip(path.radii, path.results, strict=True):
        assert 0 <= result.lower_bound <= result.objective <= 1 + 1e-12
        value = problem.replace(radius=radius).objective(result.weights)
        assert result.objective == pytest.approx(value, rel=1e-12)
    loose, tight = (radius_path(problem, [0.2, 0.1], tol=tol) for tol in (1e-3, 1e-9))
    assert all(r.gap <= 1e-3 and r.tol == 1e-3 for r in loose.results)
    assert all(r.gap <= 1e-9 and r.tol == 1e-9 for r in tight.results)


def test_the_time_limit_is_that_of_the_whole_path():
    problem = well_conditioned_instance(7, 60, 4)
    late = radius_path(problem, [0.02, 0.01], solver="ippa", max_time=1e-9)
    assert [(r.status, r.n_iter) for r in late.results] == [(Status.TIME_LIMIT, 1), (Status.TIME_LIMIT, 0)]
    assert (late[1].weights == late[0].weights).all() and late[0].objective < 1.0
    assert late[1].objective == problem.replace(radius=0.01).objective(late[0].weights) > late[1].lower_bound > 0
    assert [r.n_iter for r in radius_path(problem, [0.02, 0.01], max_time=1e-9).results] == [1, 0]
    assert len(radius_path(problem, n_radii=3, max_time=1e-9)) == 3
    assert all(r.status is Status.OPTIMAL for r in radius_path(problem, [0.02, 0.01], max_time=1e9).results)


@pytest.mark.parametrize("solver", ["auto", "interior-point"])
def test_the_tolerance_of_a_path_is_that_of_solve(solver):
    problem = well_conditioned_instance(7, 60, 4)
    assert radius_path(problem, [0.2], solver=solver)[0].tol == solve(problem, solver).tol


def test_radius_max_in_no_time_is_too_small():
    problem = well_conditioned_instance(7, 60, 4, fit_intercept=True)
    assert 0 < radius_max(problem, max_time=1e-9) < radius_max(problem, max_time=1e9)


def test_an_interrupt_ends_radius_max(monkeypatch):
    def interrupted(self, *arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(CpuEngine, "predict", interrupted)
    problem = well_conditioned_instance(7, 60, 4, fit_intercept=True)
    for call in (radius_max, radius_path):
        with pytest.raises(KeyboardInterrupt):
            call(problem)


def test_a_callback_sees_every_result_and_ends_the_path():
    problem = well_conditioned_instance(8, 60, 4)
    seen = []
    path = radius_path(problem, [0.3, 0.2, 0.1], callback=lambda index, result: seen.append((index, result)))
    assert [index for index, _ in seen] == [0, 1, 2]
    assert all(result is kept for (_, result), kept in zip(seen, path.results, strict=True))
    short = radius_path(problem, [0.3, 0.2, 0.1], callback=lambda index, result: index == 1)
    assert len(short) == 2 and short.radii.tolist() == [0.3, 0.2]


def test_the_largest_radius_comes_first_whatever_the_order():
    problem = well_conditioned_instance(8, 60, 4)
    seen = []
    radii = [0.1, 0.3, 0.05, 0.2]
    short = radius_path(problem, radii, tol=1e-8, callback=lambda index, _: seen.append(index) or index == 0)
    assert seen == [1, 3, 0]
    assert short.radii.tolist() == [0.1, 0.3, 0.2]  # those that were reached, in the order given
    for radius, result in zip(short.radii, short.results, strict=True):
        assert result.objective == pytest.approx(optimum(problem, radius), abs=1e-8)


def test_a_continued_run_that_stalls_is_started_afresh(monkeypatch):
    go_on = InteriorPointState.go_on_with

    def go_on_to_nowhere(self, problem, limits):
        go_on(self, problem, limits)
        self.step = lambda: setattr(self, "finished", True)

    monkeypatch.setattr(InteriorPointState, "go_on_with", go_on_to_nowhere)
    problem = well_conditioned_instance(8, 60, 4)
    path = radius_path(problem, [0.3, 0.1], tol=1e-8)
    assert [result.status for result in path.results] == [Status.OPTIMAL, Status.OPTIMAL]
    assert path[1].objective == pytest.approx(optimum(problem, 0.1), abs=1e-8)


def test_an_interrupt_ends_the_path(monkeypatch):
    predict, calls = CpuEngine.predict, []

    def interrupted(self, *arguments):
        calls.append(arguments)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return predict(self, *arguments)

    monkeypatch.setattr(CpuEngine, "predict", interrupted)
    path = radius_path(well_conditioned_instance(0, 100, 5), [0.3, 0.2, 0.1, 0.05])
    assert path.results[-1].status is Status.INTERRUPTED and len(path) < 4


def test_a_path_can_be_read():
    problem = well_conditioned_instance(9, 60, 4, norm=math.inf, fit_intercept=True)
    path = radius_path(problem, [0.3, 0.1])
    assert path.weights.shape == (2, 4) and path.intercepts.shape == (2,)
    np.testing.assert_array_equal(path.weights[1], path[1].weights)
    assert path.intercepts[1] == path[1].intercept
    table = path.table()
    assert list(table) == [
        *("radius", "objective", "lower_bound", "gap", "radius_price", "n_nonzero", "n_iter", "time", "status")
    ]
    assert all(len(column) == 2 for column in table.values())
    assert table["gap"][0] == path[0].gap and table["status"].tolist() == ["optimal", "optimal"]
    lines = str(path).splitlines()
    assert len(lines) == 3 and "radius price" in lines[0]
    assert f"{path[1].objective:10.8f}" in lines[2] and lines[2].split()[0] == "0.1" and lines[2].endswith("optimal")
    assert "results" not in repr(path)


@pytest.mark.parametrize("radii", [[], [[0.1, 0.2]], 0.1])
def test_radii_must_be_a_list(radii):
    with pytest.raises(ValueError, match="radii must be a non-empty list of numbers, got an array of shape"):
        radius_path(well_conditioned_instance(9, 10, 2), radii)


def test_a_radius_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"radius must be finite and at least 0, got radius=-0\.1"):
        radius_path(well_conditioned_instance(9, 10, 2), [0.1, -0.1])


def test_engines_are_closed_at_the_end_of_a_path(monkeypatch):
    opened, closed = [], []
    start, close = CpuEngine.__init__, CpuEngine.close
    monkeypatch.setattr(CpuEngine, "__init__", lambda self, *a, **k: opened.append(self) or start(self, *a, **k))
    monkeypatch.setattr(CpuEngine, "close", lambda self: closed.append(self) or close(self))
    problem = well_conditioned_instance(9, 40, 3)
    radius_path(problem, [0.2, 0.1])
    assert opened and set(map(id, opened)) == set(map(id, closed))
    with pytest.raises(LookupError):
        radius_path(problem, [0.2, 0.1], callback=lambda index, result: {}["missing"])
    assert set(map(id, opened)) == set(map(id, closed))
