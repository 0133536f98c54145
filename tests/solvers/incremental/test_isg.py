"""The incremental subgradient method."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS

from drsvm import Problem, solve

SHIFT_NORMS = {1: math.inf, 2: 2, math.inf: 1}

for_each_norm = pytest.mark.parametrize("norm", NORMS)


@for_each_norm
@pytest.mark.parametrize("batch_size", [1, 7, 32, 10_000])
def test_every_batch_size_leads_to_the_optimum(norm, batch_size):
    problem = well_conditioned_instance(4, 200, 6, norm=norm, l2=0.2)
    result = solve(problem, "isg", batch_size=batch_size, tol=0.0, max_iter=200)
    assert result.objective <= solve(problem).objective + 5e-3
    assert result.info == {"epochs": {"subgradient": 200}}


def test_a_step_is_a_projected_subgradient_step():
    """One row per class, w = 0: both hinges are active, and the step goes along the mean of y·x."""
    X = np.array([[1.0, 0.0], [0.0, -2.0]])
    problem = Problem(X, [1, -1], radius=0.1, flip_cost=math.inf, norm=2)
    result = solve(problem, "isg", batch_size=2, steps="geometric", first_step=0.5, max_iter=1, tol=0.0)
    a, s = 0.5 * np.array([0.5, 1.0]), -0.5 * 0.1
    length = np.linalg.norm(a)
    np.testing.assert_allclose(result.weights, (length + s) / 2 * a / length, rtol=1e-12)


def test_polished_multipliers_prove_more():
    problem = well_conditioned_instance(4, 200, 6)
    plain, polished = (
        solve(problem, "isg", tol=0.0, max_iter=40, polish_dual=polish).lower_bound for polish in (False, True)
    )
    assert polished > plain > 0.5 * polished


@pytest.mark.data
@pytest.mark.parametrize(("q", "c"), [(1, 0), (1, 1), (2, 0), (2, 1), (math.inf, 0), (math.inf, 1)])
def test_isg_comes_near_the_optimum_without_tuning(load_dataset, proven_optimum, q, c):
    known = proven_optimum("a1a", q, c)
    X, y = load_dataset("a1a")
    problem = Problem(X, y, radius=known.radius, flip_cost=known.flip_cost, norm=SHIFT_NORMS[q], l2=c)
    result = solve(problem, "isg")
    assert result.objective <= known.optimum + 1e-3
    assert result.lower_bound <= known.optimum + known.certified_gap + 1e-9
