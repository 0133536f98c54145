"""Starting points of the interior-point solver."""

import numpy as np
from instances import well_conditioned_instance

from drsvm import Problem
from drsvm.solvers.base import Candidate
from drsvm.solvers.interior_point.starts import SUBSET, cold_starts, rows_to_begin_with, start_at


def test_cold_starts_are_at_the_origin_with_levels_that_the_radius_allows():
    problem = well_conditioned_instance(0, 40, 3, radius=0.1, fit_intercept=True)
    starts = list(cold_starts(problem))
    assert all(start.point.tolist() == [0.0] * 4 for start in starts)
    assert len({start.lam for start in starts}) == 3 and max(start.lam for start in starts) == 10.0
    assert all(0 < start.lam < np.inf for start in cold_starts(problem.replace(radius=0.0)))


def test_a_given_classifier_is_the_start_unless_it_is_no_better_than_zero():
    problem = well_conditioned_instance(0, 40, 3, fit_intercept=True)
    direction = problem.weighted_sum(problem.sample_weight)[0]
    start = start_at(problem, Candidate(0.1 * direction, 0.01))
    assert start is not None and start.lam > problem.norm.value(0.1 * direction)
    np.testing.assert_array_equal(start.point, [*(0.1 * direction), 0.01])
    assert start_at(problem, Candidate(-direction)) is None
    assert start_at(problem, Candidate(np.zeros(3))) is None


def test_rows_are_drawn_regardless_of_their_order():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5 * SUBSET, 3)), np.tile([1, -1], 5 * SUBSET // 2)
    order = rng.permutation(len(y))
    one, two = Problem(X, y), Problem(X[order], y[order])
    size = rows_to_begin_with(one)
    assert size == SUBSET and rows_to_begin_with(Problem(X[:-2], y[:-2])) is None
    drawn, others = one.drawn_rows(size), order[two.drawn_rows(size)]
    assert abs(len(drawn) - size) <= 1
    np.testing.assert_array_equal(np.sort(others), drawn)


def test_few_of_many_equal_rows_are_drawn():
    problem = Problem(np.ones((5 * SUBSET, 2)), np.tile([1, 1, -1, -1, -1], SUBSET))
    assert len(problem.drawn_rows(SUBSET)) <= 2 * SUBSET
