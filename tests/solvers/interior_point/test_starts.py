"""Starting points of the interior-point solver."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS

from drsvm import Problem, Status, solve
from drsvm.problem import draw_rows
from drsvm.solvers import Candidate
from drsvm.solvers.interior_point import (
    SUBSET,
    cold_starts,
    rows_to_begin_with,
    start_at,
)


def test_cold_starts_are_at_the_origin_with_levels_that_the_radius_allows():
    problem = well_conditioned_instance(0, 40, 3, radius=0.1, fit_intercept=True)
    starts = list(cold_starts(problem))
    assert all(start.point.tolist() == [0.0] * 4 for start in starts)
    assert (
        len({start.lam for start in starts}) == 3
        and max(start.lam for start in starts) == 10.0
    )
    assert all(
        0 < start.lam < np.inf for start in cold_starts(problem.replace(radius=0.0))
    )


def test_a_given_classifier_is_the_start_unless_it_is_no_better_than_zero():
    problem = well_conditioned_instance(0, 40, 3, fit_intercept=True)
    direction = problem.weighted_sum(problem.sample_weight)[0]
    start = start_at(problem, Candidate(0.1 * direction, 0.01))
    assert start is not None and start.lam > problem.norm.value(0.1 * direction)
    np.testing.assert_array_equal(start.point, [*(0.1 * direction), 0.01])
    assert start_at(problem, Candidate(-direction)) is None
    assert start_at(problem, Candidate(np.zeros(3))) is None


@pytest.mark.parametrize("quickly", [False, True])
def test_rows_are_drawn_regardless_of_their_order(quickly):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5 * SUBSET, 3))
    y = np.tile([1, -1], 5 * SUBSET // 2)
    order = rng.permutation(len(y))
    one = Problem(X, y)
    two = Problem(X[order], y[order])
    size = rows_to_begin_with(one)
    assert size == SUBSET and rows_to_begin_with(Problem(X[:-2], y[:-2])) is None
    drawn = draw_rows(one, size, quickly=quickly)
    others = order[draw_rows(two, size, quickly=quickly)]
    assert abs(len(drawn) - size) <= 1
    np.testing.assert_array_equal(others, drawn)  # in the order of their contents


for_each_norm = pytest.mark.parametrize("norm", NORMS)
STARTED = {
    "plain": {},
    "ridge": {"l2": 0.1},
    "intercept": {"fit_intercept": True, "flip_cost": math.inf},
}


@for_each_norm
@pytest.mark.parametrize("parameters", STARTED.values(), ids=STARTED.keys())
def test_a_start_from_a_similar_problem_leads_to_the_optimum(norm, parameters):
    problem = well_conditioned_instance(6, 150, 7, norm=norm, **parameters)
    cold = solve(problem, "interior-point")
    wider = solve(problem.replace(radius=0.3))
    starts = {
        "another radius": wider,
        "its classifier": (wider.weights, wider.intercept),
        "another norm": solve(problem.replace(norm=1 if norm != 1 else 2)),
        "fewer rows": solve(problem.subset(np.arange(0, 150, 3))),
        "few iterations": solve(problem, max_iter=2),
        "zero": (np.zeros(7), 0.0),
    }
    for name, start in starts.items():
        result = solve(problem, "interior-point", start=start)
        assert result.status is Status.OPTIMAL, name
        assert result.objective == pytest.approx(cold.objective, abs=1e-8), name


@for_each_norm
@pytest.mark.parametrize(
    ("kind", "size"),
    [("ridge", 1.0), ("plain", 30.0), ("intercept", 30.0), ("plain", 1e4)],
)
def test_a_bad_start_does_no_harm(norm, kind, size):
    problem = well_conditioned_instance(6, 150, 7, norm=norm, **STARTED[kind])
    result = solve(
        problem,
        "interior-point",
        start=(np.full(7, -size), 3.0 if problem.fit_intercept else 0.0),
    )
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(
        solve(problem, "interior-point").objective, abs=1e-8
    )


def test_an_optimal_start_needs_no_step():
    problem = well_conditioned_instance(7, 100, 5)
    result = solve(problem, "interior-point")
    again = solve(problem, "interior-point", start=result)
    assert (again.status, again.n_iter, again.objective) == (
        Status.OPTIMAL,
        0,
        result.objective,
    )
