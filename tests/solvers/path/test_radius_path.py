"""Solutions along a grid of radii."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS, best_constant, optimum
from thorough import for_each

from drsvm import Status, radius_max, radius_path, row_radius_max, solve
from drsvm.solvers.interior_point import InteriorPointState

for_each_norm = pytest.mark.parametrize("norm", NORMS)


@for_each(fit_intercept=[False, True], norm=NORMS)
def test_free_flips_leave_nothing_to_learn(norm, fit_intercept):
    problem = well_conditioned_instance(
        0, 30, 3, flip_cost=0.0, norm=norm, fit_intercept=fit_intercept
    )
    assert radius_max(problem) == 0.0
    with pytest.raises(
        ValueError, match="w = 0 is optimal for every radius, so there is no path"
    ):
        radius_path(problem)


CASES = {
    "plain": {},
    "trusted labels": {"flip_cost": math.inf, "fit_intercept": True},
    "ridge": {"l2": 0.1, "fit_intercept": True},
    "weights": {"sample_weight": np.linspace(0.1, 1.0, 120)},
}


@for_each_norm
@pytest.mark.parametrize("parameters", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize(
    "radii",
    [np.geomspace(0.5, 1e-3, 9), [0.01, 0.02, 0.2], [0.1, 0.1, 0.9, 0.03]],
    ids=len,
)
def test_a_path_has_the_optima_of_separate_solves(norm, parameters, radii):
    problem = well_conditioned_instance(2, 120, 6, norm=norm, **parameters)
    path = radius_path(problem, radii, tol=1e-8)
    np.testing.assert_array_equal(path.radii, radii)
    assert len(path) == len(radii)
    for radius, result in zip(radii, path.results, strict=True):
        alone = solve(problem.replace(radius=radius), tol=1e-8)
        assert result.status is Status.OPTIMAL and result.gap <= 1e-8
        assert result.objective == pytest.approx(alone.objective, abs=1e-8)
        value = problem.replace(radius=radius).objective(
            result.weights, result.intercept
        )
        assert result.objective == pytest.approx(value, rel=1e-12)


@for_each_norm
def test_a_path_over_radii_of_the_rows(norm):
    problem = well_conditioned_instance(
        2, 120, 6, norm=norm, flip_cost=math.inf, fit_intercept=True, radius=0.01
    )
    radii = row_radius_max(problem) * np.array([0.1, 1.0, 0.3, 0.0])
    path = radius_path(problem, row_radii=radii, tol=1e-8)
    table = path.table()
    np.testing.assert_array_equal(table["row_radius"], radii)
    assert "radius" not in table
    assert str(path).startswith("row_radius")
    for radius, result in zip(radii, path.results, strict=True):
        alone = solve(problem.replace(row_radius=radius), tol=1e-8)
        assert result.gap <= 1e-8
        assert result.objective == pytest.approx(alone.objective, abs=1e-8)
    with pytest.raises(ValueError, match="not both"):
        radius_path(problem, [0.1], row_radii=[0.1])
    with pytest.raises(ValueError, match="needs flip_cost=inf"):
        radius_path(problem.replace(flip_cost=1.0), row_radii=[0.1])
    with pytest.raises(ValueError, match="does not support row_radius"):
        radius_path(problem, row_radii=[0.1], solver="ippa")


@pytest.mark.thorough
@for_each_norm
def test_a_path_takes_fewer_iterations_than_separate_solves(norm):
    """On few rows, where a cold start costs nothing, all start cold.

    These are too many columns for that.
    """
    problem = well_conditioned_instance(
        4, 300, 410, norm=norm, flip_cost=math.inf, fit_intercept=True
    )
    radii = np.geomspace(0.3, 0.01, 40)
    alone = [solve(problem.replace(radius=radius)).n_iter for radius in radii]
    assert radius_path(problem, radii).table()["n_iter"].sum() < sum(alone)


def test_a_path_that_stalls_goes_on_from_scratch(monkeypatch):
    """A start at the previous solution stalls at once here."""
    on_certificate = InteriorPointState.on_certificate

    def stall_if_started(self, gap):
        on_certificate(self, gap)
        self.finished |= self.limits.start is not None

    monkeypatch.setattr(InteriorPointState, "on_certificate", stall_if_started)
    monkeypatch.setattr(InteriorPointState, "certificate_due", lambda self: True)
    problem = well_conditioned_instance(8, 60, 4)
    path = radius_path(problem, [0.3, 0.1], tol=1e-8)
    assert [result.status for result in path.results] == [
        Status.OPTIMAL,
        Status.OPTIMAL,
    ]
    assert path[1].objective == pytest.approx(optimum(problem, 0.1), abs=1e-8)


@for_each_norm
def test_the_default_grid_goes_down_from_radius_max_and_can_be_chosen(norm):
    problem = well_conditioned_instance(3, 80, 4, norm=norm, fit_intercept=True)
    path = radius_path(problem)
    largest = radius_max(problem)
    np.testing.assert_allclose(path.radii, largest * np.logspace(0, -3, 30), rtol=1e-12)
    assert path[0].objective == pytest.approx(
        best_constant(problem.replace(radius=largest)), abs=1e-6
    )
    assert all(result.status is Status.OPTIMAL for result in path.results)
    objectives = path.table()["objective"]
    assert (np.diff(objectives) <= 1e-8).all()  # a smaller ball is less harmful
    chosen = radius_path(problem, n_radii=4, smallest=0.1).radii
    np.testing.assert_allclose(
        chosen, largest * np.array([1, 0.1 ** (1 / 3), 0.1 ** (2 / 3), 0.1])
    )


@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_a_radius_of_zero_may_be_among_the_radii(l2):
    problem = well_conditioned_instance(5, 60, 4, l2=l2, fit_intercept=True)
    path = radius_path(problem, [0.2, 0.05, 0.0], tol=1e-8)
    for radius, result in zip(path.radii, path.results, strict=True):
        alone = solve(problem.replace(radius=radius), tol=1e-8)
        assert result.objective == pytest.approx(alone.objective, abs=2e-8)
    assert np.isfinite(path[-1].weight_bound) == (l2 == 0)


@for_each_norm
def test_other_solvers_follow_the_path_too(norm):
    problem = well_conditioned_instance(6, 60, 4, norm=norm)
    radii = [0.3, 0.1, 0.05]
    conic, usual = (
        radius_path(problem, radii, solver=solver, tol=1e-7)
        for solver in ("conic", "auto")
    )
    assert {result.solver for result in conic.results} == {"conic"}
    assert {result.solver for result in usual.results} == {"interior-point"}
    np.testing.assert_allclose(
        conic.table()["objective"], usual.table()["objective"], atol=2e-7
    )


def test_settings_and_limits_hold_for_every_radius():
    problem = well_conditioned_instance(7, 60, 4)
    path = radius_path(problem, [0.2, 0.1], max_iter=2, step_fraction=0.9)
    assert [(r.status, r.n_iter) for r in path.results] == [
        (Status.ITERATION_LIMIT, 2)
    ] * 2
    for radius, result in zip(path.radii, path.results, strict=True):
        assert 0 <= result.lower_bound <= result.objective <= 1 + 1e-12
        value = problem.replace(radius=radius).objective(result.weights)
        assert result.objective == pytest.approx(value, rel=1e-12)
    loose, tight = (radius_path(problem, [0.2, 0.1], tol=tol) for tol in (1e-3, 1e-9))
    assert all(r.gap <= 1e-3 and r.tol == 1e-3 for r in loose.results)
    assert all(r.gap <= 1e-9 and r.tol == 1e-9 for r in tight.results)


def test_the_time_limit_is_that_of_the_whole_path():
    problem = well_conditioned_instance(7, 60, 4)
    # What is loaded now takes no time later
    radius_path(problem, [0.02], solver="ippa", max_iter=1)
    late = radius_path(problem, [0.02, 0.01], solver="ippa", max_time=1e-9)
    assert [(r.status, r.n_iter) for r in late.results] == [
        (Status.TIME_LIMIT, 1),
        (Status.TIME_LIMIT, 0),
    ]
    assert (late[1].weights == late[0].weights).all() and late[0].objective < 1.0
    assert (
        late[1].objective
        == problem.replace(radius=0.01).objective(late[0].weights)
        > late[1].lower_bound
        > 0
    )
    assert [
        r.n_iter for r in radius_path(problem, [0.02, 0.01], max_time=1e-9).results
    ] == [1, 0]
    assert len(radius_path(problem, n_radii=3, max_time=1e-9)) == 3
    assert all(
        r.status is Status.OPTIMAL
        for r in radius_path(problem, [0.02, 0.01], max_time=1e9).results
    )


@pytest.mark.parametrize("solver", ["auto", "interior-point"])
def test_the_tolerance_of_a_path_is_that_of_solve(solver):
    problem = well_conditioned_instance(7, 60, 4)
    assert (
        radius_path(problem, [0.2], solver=solver)[0].tol == solve(problem, solver).tol
    )


def test_a_callback_sees_every_result_and_ends_the_path():
    problem = well_conditioned_instance(8, 60, 4)
    seen = []
    path = radius_path(
        problem,
        [0.3, 0.2, 0.1],
        callback=lambda index, result: seen.append((index, result)),
    )
    assert [index for index, _ in seen] == [0, 1, 2]
    assert all(
        result is kept for (_, result), kept in zip(seen, path.results, strict=True)
    )
    short = radius_path(
        problem, [0.3, 0.2, 0.1], callback=lambda index, result: index == 1
    )
    assert len(short) == 2 and short.radii.tolist() == [0.3, 0.2]


def test_the_largest_radius_comes_first_regardless_of_the_order():
    problem = well_conditioned_instance(8, 60, 4)
    seen = []
    radii = [0.1, 0.3, 0.05, 0.2]
    short = radius_path(
        problem,
        radii,
        tol=1e-8,
        callback=lambda index, _: seen.append(index) or index == 0,
    )
    assert seen == [1, 3, 0]
    assert short.radii.tolist() == [
        0.1,
        0.3,
        0.2,
    ]  # those that were reached, in the order given
    for radius, result in zip(short.radii, short.results, strict=True):
        assert result.objective == pytest.approx(optimum(problem, radius), abs=1e-8)


def test_an_interrupt_ends_the_path(interrupt_in):
    interrupt_in("compiled steps", call=3)
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
        *(
            "radius",
            "objective",
            "lower_bound",
            "gap",
            "radius_price",
            "n_nonzero",
            "n_iter",
            "time",
            "status",
        )
    ]
    assert all(len(column) == 2 for column in table.values())
    assert table["gap"][0] == path[0].gap and table["status"].tolist() == [
        "optimal",
        "optimal",
    ]
    lines = str(path).splitlines()
    assert len(lines) == 3 and "radius price" in lines[0]
    assert (
        f"{path[1].objective:10.8f}" in lines[2]
        and lines[2].split()[0] == "0.1"
        and lines[2].endswith("optimal")
    )
    assert "results" not in repr(path)


@pytest.mark.parametrize("radii", [[], [[0.1, 0.2]], 0.1, [0.1, -0.1]])
def test_radii_must_be_a_list_of_radii(radii):
    message = r"radii must be a non-empty list of numbers, got an array of shape"
    if radii == [0.1, -0.1]:
        message = r"radius must be finite and at least 0, got radius=-0\.1"
    with pytest.raises(ValueError, match=message):
        radius_path(well_conditioned_instance(9, 10, 2), radii)
