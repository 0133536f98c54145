"""Many problems in one call."""

import numpy as np
import pytest
from instances import well_conditioned_instance
from joblib import Parallel, delayed

from drsvm import Problem, Status, solve
from drsvm.solvers import solve_many
from drsvm.utils import available_cores, spare_cores

RADII = np.geomspace(0.3, 0.01, 9)


def folds(problem, n_folds=3):
    """Return the problem without the rows of each fold."""
    X = problem.X
    y = problem.signs
    for fold in range(n_folds):
        weights = (np.arange(len(y)) % n_folds != fold).astype(float)
        yield Problem(X, y, sample_weight=weights, radius=0.1, fit_intercept=True)


@pytest.mark.parametrize("n_threads", [None, 1, 2, 5])
def test_results_are_those_of_single_calls(n_threads):
    problem = well_conditioned_instance(0, 120, 6, fit_intercept=True)
    problems = [problem.replace(radius=radius) for radius in RADII] + list(
        folds(problem)
    )
    problems.append(problem.relabelled(np.arange(120) % 2 == 0, None))
    results = solve_many(problems, n_threads=n_threads, tol=1e-7)
    for one, result in zip(problems, results, strict=True):
        alone = solve(one, tol=1e-7)
        assert result.status is alone.status is Status.OPTIMAL and result.gap <= 1e-7
        np.testing.assert_array_equal(result.weights, alone.weights)


def test_many_rows_are_solved_one_after_the_other():
    problem = well_conditioned_instance(1, 16_000, 2)
    results = solve_many([problem, problem.replace(radius=0.05)])
    assert all(result.status is Status.OPTIMAL for result in results)
    assert solve_many([]) == []


def test_all_share_a_time_limit_and_options():
    problem = well_conditioned_instance(2, 60, 3)
    problems = [problem.replace(radius=radius) for radius in RADII]
    late = solve_many(problems, max_time=1e-9, n_threads=1)
    assert {result.status for result in late} == {Status.TIME_LIMIT}
    assert [result.n_iter for result in solve_many(problems, "isg", max_iter=2)] == [
        2
    ] * len(RADII)
    with pytest.raises(ValueError, match="n_threads must be"):
        solve_many(problems, n_threads=0)
    with pytest.raises(TypeError, match="solve_many"):
        solve_many([np.zeros((3, 2))])


def test_an_interrupt_ends_all(interrupt_in):
    interrupt_in("compiled steps")
    problem = well_conditioned_instance(3, 60, 3)
    results = solve_many(
        [problem.replace(radius=radius) for radius in RADII], n_threads=1
    )
    assert results[0].status is Status.INTERRUPTED
    assert {result.status for result in results[1:]} == {Status.TIME_LIMIT}


@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_a_worker_of_joblib_has_one_thread(prefer):
    assert spare_cores() == available_cores()
    assert Parallel(n_jobs=2, prefer=prefer)(
        delayed(spare_cores)() for _ in range(2)
    ) == [1, 1]
