"""Engines of this machine: the threads, memory and files that they take, tiny numbers, and working sets of rows."""

import gc
import math

import numpy as np
import pytest
from instances import well_conditioned_instance

from drsvm import Problem, solve
from drsvm.engines import CpuEngine, WorkingSetEngine, room_for
from drsvm.problem import is_mapped
from drsvm.solvers import InteriorPoint


def test_threads_are_used_only_for_enough_work():
    small, large = (
        CpuEngine(well_conditioned_instance(0, n, 5), 8) for n in (3000, 40_000)
    )
    assert small.n_threads == 1 and small.small
    assert 1 < large.n_threads <= 4 and not large.small


def test_a_file_holds_what_is_written_and_has_no_name(tmp_path):
    room = room_for((300, 6, 128), str(tmp_path))
    assert is_mapped(room) and room.flags.writeable and not list(tmp_path.iterdir())
    room[:] = np.arange(room.size).reshape(room.shape)
    gc.collect()
    assert room.sum() == room.size * (room.size - 1) / 2
    assert not is_mapped(room_for((3, 4), None))


def test_the_answer_is_the_same(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 4))
    problem = Problem(X, np.where(X[:, 0] + random.normal(size=3000) > 0, 1, -1))
    found = solve(problem, InteriorPoint(state_folder=str(tmp_path)))
    expected = solve(problem, InteriorPoint(compiled_steps=False))
    assert (
        found.objective == expected.objective
        and found.lower_bound == expected.lower_bound
    )
    assert not list(tmp_path.iterdir())


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(ValueError, match="is not a folder: create it first"):
        InteriorPoint(state_folder=str(tmp_path / "none"))


@pytest.mark.thorough
def test_tiny_multipliers_do_not_stop_a_step():
    """They are lost if 1 is added and taken away again, as a compiler may that changes the order of sums."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = rng.choice([-1, 1], 300)
    problem = Problem(X, y, radius=0.1, flip_cost=rng.choice([100.0, math.inf], 300))
    engine = CpuEngine(problem)
    direction = 1e-9 * rng.normal(size=4), 1e-9
    engine.center(np.full(4, 0.1), 2.0, 1e-12)
    assert 0 < np.min(engine.multipliers()[1][problem.flip_cost < math.inf]) < 1e-16
    engine.predict(*direction)
    assert np.isfinite(engine.longest_steps(*direction, 1e-13).tolerating(0.0)).all()


FLIP_COSTS = {"one flip cost": 0.7, "flip costs": np.linspace(0.2, 2.0, 300)}


@pytest.fixture(params=FLIP_COSTS.values(), ids=FLIP_COSTS.keys())
def problem(request):
    weights = np.linspace(0.5, 1.5, 300)
    return well_conditioned_instance(
        0, 300, 4, flip_cost=request.param, fit_intercept=True, sample_weight=weights
    )


@pytest.fixture
def multipliers(problem):
    """Return a working set, and fixed multipliers of all other rows."""
    working = np.arange(0, 300, 3)
    alpha = np.where(np.arange(300) % 3 == 1, problem.sample_weight, 0.0)
    beta = np.where(np.arange(300) % 6 == 2, problem.sample_weight, 0.0)
    return working, alpha, beta


POINT = np.array([0.3, -0.2, 0.1, 0.4, 0.05])
LEVEL = 1.3
MU = 0.1


def test_fixed_rows_enter_the_sums(problem, multipliers):
    working, alpha, beta = multipliers
    engine = WorkingSetEngine(problem, *multipliers)
    engine.center(POINT, LEVEL, MU)
    all_alpha, all_beta = engine.multipliers()
    fixed = np.setdiff1d(np.arange(300), working)
    np.testing.assert_array_equal(all_alpha[fixed], alpha[fixed])
    np.testing.assert_array_equal(all_beta[fixed], beta[fixed])
    _, sums = engine.dual_sums()
    v, balance = problem.weighted_sum(all_alpha - all_beta)
    np.testing.assert_allclose(sums.rows @ (1.0, -1.0), v)
    assert sums.mass @ (1.0, -1.0) == pytest.approx(balance)
    assert sums.mass.sum() == pytest.approx(all_alpha.sum() + all_beta.sum())
    assert sums.flip_cost.sum() == pytest.approx(problem.cost_of_flips(all_beta))


def test_the_working_rows_are_those_of_an_engine_of_all_rows(problem, multipliers):
    working, alpha, beta = multipliers
    reduced = WorkingSetEngine(problem, *multipliers)
    whole = CpuEngine(problem)
    assert reduced.mass == pytest.approx(
        problem.sample_weight[working].sum()
    ) and whole.mass == pytest.approx(1.0)
    assert reduced.weight / reduced.mass == pytest.approx(whole.weight)
    for engine in (reduced, whole):
        engine.center(POINT, LEVEL, MU)
    for own, of_all in zip(reduced.multipliers(), whole.multipliers(), strict=True):
        np.testing.assert_allclose(own[working], of_all[working], rtol=1e-12)
    rest = WorkingSetEngine(
        problem, np.setdiff1d(np.arange(300), working), np.zeros(300), np.zeros(300)
    )
    rest.center(POINT, LEVEL, MU)
    parts = (reduced.curvature()[1], rest.curvature()[1])
    total = whole.curvature()[1]
    np.testing.assert_allclose(
        np.triu(parts[0].gram + parts[1].gram), np.triu(total.gram)
    )
    v, balance = problem.weighted_sum(alpha - beta)
    predictor = parts[0].predictor + parts[1].predictor + np.append(v, balance)
    np.testing.assert_allclose(predictor, total.predictor, atol=1e-14)
    lam = parts[0].predictor_lam + parts[1].predictor_lam + problem.cost_of_flips(beta)
    assert lam == pytest.approx(total.predictor_lam)
