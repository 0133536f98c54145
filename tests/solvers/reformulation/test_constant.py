"""Constant classifiers that are optimal, as they are for a large radius."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS
from scipy import sparse
from thorough import for_each

from drsvm import Problem, Status, solve

SOLVERS = ("interior-point", "dual-coordinate")


@for_each(
    norm=NORMS,
    fit_intercept=[False, True],
    flip_cost=[0.0, 0.3, math.inf],
    solver=SOLVERS,
)
def test_a_large_radius_leaves_no_weights(norm, fit_intercept, flip_cost, solver):
    problem = well_conditioned_instance(
        1,
        90,
        4,
        norm=norm,
        fit_intercept=fit_intercept,
        flip_cost=flip_cost,
        radius=9.0,
    )
    result = solve(problem, solver)
    assert (
        result.status is Status.OPTIMAL
        and not result.weights.any()
        and result.gap <= result.tol
    )
    assert flip_cost > 0.0 or (result.n_iter == 1 and result.gap <= 1e-15), (
        "known without a solver"
    )
    share = float(np.mean(problem.signs > 0))
    smaller = 2 * min(share, 1 - share)
    expected = smaller if fit_intercept and math.isinf(flip_cost) else 1.0
    assert result.objective == pytest.approx(expected, abs=1e-6)


def test_weights_determine_which_class_is_heavier():
    X = sparse.csr_array(np.eye(4))
    problem = Problem(
        X,
        [1, -1, -1, -1],
        5.0,
        math.inf,
        sample_weight=[9, 1, 1, 1],
        fit_intercept=True,
    )
    result = solve(problem)
    assert (
        result.intercept == 1.0
        and result.objective == pytest.approx(0.5)
        and result.gap <= 1e-6
    )


PRICES = {
    "intercept": {"intercept_cost": 0.5},
    "rows": {"intercept_cost": 2.0, "flip_cost": np.resize([0.3, 1.0, math.inf], 60)},
    "rows without intercept": {
        "fit_intercept": False,
        "flip_cost": np.resize([0.3, 1.0, math.inf], 60),
    },
}


@pytest.mark.parametrize("prices", PRICES.values(), ids=PRICES)
@pytest.mark.parametrize("norm", NORMS)
def test_prices_of_rows_and_intercept(norm, prices):
    """The intercept is one more weight, and no flip is needed to prove that all are 0."""
    problem = well_conditioned_instance(
        2, 60, 5, norm=norm, flip_cost=math.inf, fit_intercept=True
    )
    problem = problem.replace(**prices)
    v, v0 = problem.weighted_sum(problem.sample_weight)
    gradient = np.append(v, problem.intercept_cost * v0) if problem.fit_intercept else v
    largest = float(np.linalg.norm(gradient, problem.norm.p))
    result = solve(problem.replace(radius=1.01 * largest), "dual-coordinate")
    assert result.gap <= 1e-6 and result.objective == pytest.approx(1.0)
    assert not result.weights.any() and result.intercept == 0.0
