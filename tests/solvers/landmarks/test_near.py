"""Rough solutions, near a known one or not, against full ones."""

import math

import numpy as np
import pytest

from drsvm import Problem, solve
from drsvm.defaults.out_of_fold import out_of_fold
from drsvm.problem import Rbf, in_feature_space
from drsvm.solvers.landmarks import linear_problems
from drsvm.utils import TimeLimit


@pytest.fixture(scope="module")
def kernel_problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 20))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=1500) > 0
    ball = {
        "radius": 0.008,
        "l2": 0.001,
        "flip_cost": math.inf,
        "fit_intercept": True,
        "intercept_cost": 0.6,
    }
    return in_feature_space(X, Rbf(0.02), y, **ball)


@pytest.mark.parametrize(("known", "close"), [(True, 0.05), (False, 0.13)])
def test_decisions_out_of_fold_are_nearly_those_of_full_solutions(
    kernel_problem, known, close
):
    """Near a known solution few functions do.

    Had they seen the labels of the fold, the first figure would be 0.08.
    """
    problem = kernel_problem
    folds = np.arange(problem.n_rows) % 3
    found = out_of_fold(
        problem, folds, solve(problem) if known else None, TimeLimit.of(None)
    )
    exact = np.zeros(problem.n_rows)
    for fold in range(3):
        part = problem.subset(np.flatnonzero(folds != fold))
        rows = np.flatnonzero(folds == fold)
        result = solve(part)
        values = part.rows.at(problem.rows.points[rows], result.weights)
        exact[rows] = values + (result.intercept - part.rows.mean_of(result.weights))
    assert np.sqrt(np.mean((found - exact) ** 2)) <= close * exact.std()


def test_a_linear_problem_is_left_as_it_is():
    problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], fit_intercept=True)
    result = solve(problem)
    assert linear_problems(problem, [np.ones(4, dtype=bool)], result)[0][0] is problem
