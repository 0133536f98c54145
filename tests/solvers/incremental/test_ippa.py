"""The incremental proximal point algorithm."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS

from drsvm import Problem, solve
from drsvm.model.proximal import proximal_step

SHIFT_NORMS = {1: math.inf, 2: 2, math.inf: 1}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("parameters", [{}, {"l2": 0.7}, {"flip_cost": math.inf}, {"flip_cost": 0.2, "radius": 0.02}])
def test_an_epoch_is_a_sequence_of_proximal_steps(norm, parameters):
    problem = well_conditioned_instance(8, 50, 6, norm=norm, **parameters)
    result = solve(problem, "ippa", steps="root", first_step=0.05, order="cyclic", max_iter=1, tol=0.0)
    w, lam = np.zeros(6), 0.0
    for x, sign in zip(problem.X, problem.signs, strict=True):
        step = proximal_step(
            x, sign, w, lam, step=0.05, radius=problem.radius, flip_cost=problem.flip_cost, norm=norm, l2=problem.l2
        )
        w, lam = step.weights, step.radius_price
    np.testing.assert_allclose(result.weights, w, rtol=1e-6, atol=1e-9)


def test_memory_can_be_left_out():
    problem = well_conditioned_instance(8, 50, 6)
    assert solve(problem, "ippa", tol=0.0, max_iter=30, memory=False).info == {"epochs": {"proximal": 30}}
    epochs = solve(problem, "ippa", tol=0.0, max_iter=30).info["epochs"]
    assert epochs["proximal"] + epochs["memory"] == 30 and epochs["memory"] >= 20


@pytest.mark.data
@pytest.mark.parametrize(("q", "c"), [(1, 0), (1, 1), (2, 0), (2, 1), (math.inf, 0), (math.inf, 1)])
def test_ippa_is_near_the_optimum_without_tuning(load_dataset, proven_optimum, q, c):
    known = proven_optimum("a1a", q, c)
    X, y = load_dataset("a1a")
    problem = Problem(X, y, radius=known.radius, flip_cost=known.flip_cost, norm=SHIFT_NORMS[q], l2=c)
    result = solve(problem, "ippa", tol=1e-3)
    assert result.objective <= known.optimum + 1e-3 and result.gap <= 1e-3
    assert result.lower_bound <= known.optimum + known.certified_gap + 1e-9
