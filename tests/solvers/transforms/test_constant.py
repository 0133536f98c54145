"""Constant classifiers that are optimal, found and proven without a solver."""

import math

import numpy as np
import pytest
from instances import random_instance, well_conditioned_instance
from problems import NORMS
from scipy import sparse
from thorough import for_each

from drsvm import Problem, Status, radius_max, solve
from drsvm.solvers.transforms.constant import constant_optimum

SOLVERS = ("interior-point", "dual-coordinate")


@for_each(norm=NORMS, fit_intercept=[False, True], flip_cost=[0.3, math.inf], solver=SOLVERS)
def test_a_large_radius_is_proven_at_once(norm, fit_intercept, flip_cost, solver):
    problem = well_conditioned_instance(
        1, 90, 4, norm=norm, fit_intercept=fit_intercept, flip_cost=flip_cost, radius=9.0
    )
    result = solve(problem, solver)
    assert result.status is Status.OPTIMAL and result.n_iter == 1 and not result.weights.any()
    assert result.gap <= 1e-15
    share = float(np.mean(problem.signs > 0))
    smaller = 2 * min(share, 1 - share)
    assert result.objective == pytest.approx(smaller if fit_intercept and math.isinf(flip_cost) else 1.0)


@pytest.mark.parametrize("norm", NORMS)
def test_it_is_found_above_the_largest_radius_that_matters(norm):
    problem = well_conditioned_instance(2, 200, 5, norm=norm, flip_cost=math.inf)
    largest = radius_max(problem)
    assert constant_optimum(problem.replace(radius=1.001 * largest)) is not None
    assert constant_optimum(problem.replace(radius=0.999 * largest)) is None


def test_it_never_contradicts_the_solvers():
    found = 0
    for seed in range(400):
        problem = random_instance(seed, max_rows=40, max_features=10)
        state = constant_optimum(problem)
        if state is not None:
            found += 1
            reference = solve(problem, "conic")
            assert problem.objective(state.answer.weights, state.answer.intercept) <= reference.objective + 1e-7, seed
    assert found >= 20


def test_weights_determine_which_class_is_heavier():
    X = sparse.csr_array(np.eye(4))
    problem = Problem(X, [1, -1, -1, -1], 5.0, math.inf, sample_weight=[9, 1, 1, 1], fit_intercept=True)
    result = solve(problem)
    assert result.intercept == 1.0 and result.objective == pytest.approx(0.5) and result.gap <= 1e-15


PRICES = {
    "intercept": {"intercept_cost": 0.5},
    "rows": {"intercept_cost": 2.0, "flip_cost": np.resize([0.3, 1.0, math.inf], 60)},
    "rows without intercept": {"fit_intercept": False, "flip_cost": np.resize([0.3, 1.0, math.inf], 60)},
}


@pytest.mark.parametrize("prices", PRICES.values(), ids=PRICES)
@pytest.mark.parametrize("norm", NORMS)
def test_prices_of_rows_and_intercept(norm, prices):
    """The intercept is one more weight, and no flip is needed to prove that all are 0."""
    problem = well_conditioned_instance(2, 60, 5, norm=norm, flip_cost=math.inf, fit_intercept=True)
    problem = problem.replace(**prices)
    v, v0 = problem.weighted_sum(problem.sample_weight)
    pull = np.append(v, problem.intercept_cost * v0) if problem.fit_intercept else v
    largest = float(np.linalg.norm(pull, problem.norm.p))
    assert constant_optimum(problem.replace(radius=0.999 * largest)) is None
    result = solve(problem.replace(radius=1.001 * largest), "dual-coordinate")
    assert result.n_iter == 1 and result.gap <= 1e-15 and result.objective == pytest.approx(1.0)
    assert not result.weights.any() and result.intercept == 0.0


@pytest.mark.parametrize(
    "prices",
    [{"feature_cost": [1.0, 2.0]}, {"monotonic_cst": [0, 1]}, {"flip_cost": np.resize([1.0, 2.0], 30)}],
    ids=["features", "signs", "rows with a free intercept"],
)
def test_other_prices_are_left_to_the_solvers(prices):
    problem = well_conditioned_instance(0, 30, 2, fit_intercept=True, radius=100.0)
    assert constant_optimum(problem.replace(**prices)) is None
