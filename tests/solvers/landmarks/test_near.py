"""The interior point near the solution in the last span, and rough solutions against full ones."""

import math
from dataclasses import replace

import numpy as np
import pytest

from drsvm import Problem, solve
from drsvm.clock import TimeLimit
from drsvm.learn.choosing.out_of_fold import out_of_fold
from drsvm.model.kernel_functions import Rbf
from drsvm.model.kernel_rows import in_feature_space
from drsvm.solvers.interior_point.solver import InteriorPoint
from drsvm.solvers.landmarks.solver import Known, NearSolution, linear_problems
from drsvm.solvers.loop import run

FEW_CHANGES, MANY_CHANGES = (0.02, 0.5), (4.0, 0.5)  # of margins and λ


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 90))  # too many entries for compiled steps
    y = X[:, 0] + X[:, 1] + 2.0 * rng.normal(size=2500) > 0
    return Problem(X, y, radius=0.01, l2=0.01, flip_cost=math.inf, fit_intercept=True, intercept_cost=1.0)


@pytest.fixture(scope="module")
def solution(problem):
    return run(problem, InteriorPoint(), tol=1e-8)


def near(problem, start, changes):
    known = replace(Known.of(problem, start, None), margin_change=changes[0], lam_change=changes[1])
    return run(problem, NearSolution(known=known), tol=1e-6, start=start)


def test_near_a_solution_few_rows_need_iterations(problem, solution):
    other = run(problem.replace(radius=0.012), InteriorPoint(), tol=1e-6)
    result = near(problem, other, FEW_CHANGES)
    assert result.info["row_iterations"] < 0.4 * result.n_iter
    assert result.gap <= 1e-6
    assert result.objective == pytest.approx(solution.objective, abs=2e-6)


@pytest.mark.parametrize("changes", [FEW_CHANGES, MANY_CHANGES])
def test_the_solution_may_be_elsewhere(problem, solution, changes):
    """Rows that leave their piece of the loss are noticed, whatever was expected of them."""
    other = run(problem.replace(radius=0.06, l2=0.1), InteriorPoint(), tol=1e-6)
    margins = [problem.margins(one.weights, one.intercept) for one in (other, solution)]
    assert np.abs(margins[0] - margins[1]).max() > 10.0 * FEW_CHANGES[0]
    result = near(problem, other, changes)
    assert result.gap <= 1e-6
    assert result.objective == pytest.approx(solution.objective, abs=2e-6)


def test_changes_are_those_between_two_solutions(problem, solution):
    other = run(problem.replace(radius=0.0101), InteriorPoint(), tol=1e-8)
    first = Known.of(problem, other, None)
    known = Known.of(problem, solution, first)
    assert first.margin_change == math.inf
    assert known.margin_change == np.abs(known.margins - first.margins).max() > 0.0
    assert known.lam_change == abs(solution.radius_price - other.radius_price) > 0.0


@pytest.fixture(scope="module")
def kernel_problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 20))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=1500) > 0
    ball = {"radius": 0.008, "l2": 0.001, "flip_cost": math.inf, "fit_intercept": True, "intercept_cost": 0.6}
    return in_feature_space(X, Rbf(0.02), y, **ball)


@pytest.mark.parametrize(("known", "close"), [(True, 0.05), (False, 0.13)])
def test_decisions_out_of_fold_are_nearly_those_of_full_solutions(kernel_problem, known, close):
    """Near a known solution few functions do; had they seen the labels of the fold, the first figure would be 0.08."""
    problem = kernel_problem
    folds = np.arange(problem.n_rows) % 3
    found = out_of_fold(problem, folds, solve(problem) if known else None, TimeLimit.of(None))
    exact = np.zeros(problem.n_rows)
    for fold in range(3):
        part, rows = problem.subset(np.flatnonzero(folds != fold)), np.flatnonzero(folds == fold)
        result = solve(part)
        values = part.rows.at(problem.rows.points[rows], result.weights)
        exact[rows] = values + (result.intercept - part.rows.mean_of(result.weights))
    assert np.sqrt(np.mean((found - exact) ** 2)) <= close * exact.std()


def test_a_linear_problem_is_left_as_it_is():
    problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], fit_intercept=True)
    result = solve(problem)
    assert linear_problems(problem, [np.ones(4, dtype=bool)], result)[0][0] is problem
