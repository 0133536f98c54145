"""Hybrid: subgradient steps, then proximal steps."""

import math

import pytest
from instances import well_conditioned_instance

from drsvm import Problem, solve

SHIFT_NORMS = {1: math.inf, 2: 2, math.inf: 1}


def test_the_switch_comes_by_itself():
    problem = well_conditioned_instance(6, 400, 10)
    epochs = solve(problem, "hybrid", tol=0.0, max_iter=30).info["epochs"]
    assert list(epochs) == ["subgradient", "memory"] and 2 <= epochs["subgradient"] <= 8
    epochs = solve(problem, "hybrid", tol=0.0, max_iter=30, memory=False).info["epochs"]
    assert list(epochs) == ["subgradient", "proximal"]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "q", "c"),
    [("a1a", q, c) for q in (1, 2, math.inf) for c in (0, 1)] + [("a9a", 1, 0), ("a9a", 2, 0), ("ijcnn1", 2, 0)],
)
def test_hybrid_reaches_the_optimum_without_tuning(load_dataset, proven_optimum, name, q, c):
    known = proven_optimum(name, q, c)
    X, y = load_dataset(name)
    problem = Problem(X, y, radius=known.radius, flip_cost=known.flip_cost, norm=SHIFT_NORMS[q], l2=c)
    result = solve(problem, "hybrid")
    assert result.gap <= 1e-4 and result.objective <= known.optimum + 1e-4
    assert result.lower_bound <= known.optimum + known.certified_gap + 1e-9
