"""Hybrid: subgradient steps, then proximal steps."""

import math

import pytest
from instances import well_conditioned_instance
from strategies import run_python
from thorough import unless_long

from drsvm import Problem, solve

SHIFT_NORMS = {1: math.inf, 2: 2, math.inf: 1}


def test_the_switch_is_automatic():
    problem = well_conditioned_instance(6, 400, 10)
    epochs = solve(problem, "hybrid", tol=0.0, max_iter=30).info["epochs"]
    assert list(epochs) == ["subgradient", "memory"] and 2 <= epochs["subgradient"] <= 8
    epochs = solve(problem, "hybrid", tol=0.0, max_iter=30, memory=False).info["epochs"]
    assert list(epochs) == ["subgradient", "proximal"]


@pytest.mark.thorough
def test_newton_steps_from_end_to_end_of_an_edge_terminate():
    """Run in a separate process: an infinite loop in a kernel cannot be stopped from within."""
    code = """
import math
from drsvm import Problem, solve
X = [
    [-6.660670627053513e-05, -2.765836258918027e-06, 0, 0, -4.2662216184758435e-05, 0, 7.572078204544693e-05],
    [-5.649952002802806e-06, -2.9437692184748615e-06, 0, 0, -6.831163152649844e-05, -1.9768166105834873e-06, 0],
]
print(solve(Problem(X, [1, -1], radius=1e-10, norm=math.inf), "hybrid").status.name)
"""
    assert run_python(code, timeout=240).strip() == "OPTIMAL"


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "q", "c"),
    unless_long(
        [("a1a", 1, 0), ("a1a", 2, 1), ("a1a", math.inf, 0), ("ijcnn1", 2, 0)],
        [("a1a", q, c) for q in (1, 2, math.inf) for c in (0, 1)] + [("a9a", 1, 0), ("a9a", 2, 0), ("ijcnn1", 2, 0)],
    ),
)
def test_hybrid_reaches_the_optimum_without_tuning(load_dataset, proven_optimum, name, q, c):
    known = proven_optimum(name, q, c)
    X, y = load_dataset(name)
    problem = Problem(X, y, radius=known.radius, flip_cost=known.flip_cost, norm=SHIFT_NORMS[q], l2=c)
    result = solve(problem, "hybrid")
    assert result.gap <= 1e-4 and result.objective <= known.optimum + 1e-4
    assert result.lower_bound <= known.optimum + known.certified_gap + 1e-9
