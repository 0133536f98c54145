"""What is special about each incremental method: its steps and phases, and the optima of the paper's instances."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS
from strategies import run_python
from thorough import unless_long

from drsvm import Problem, solve
from drsvm.model.proximal import proximal_step

SHIFT_NORMS = {1: math.inf, 2: 2, math.inf: 1}
A1A = [("a1a", q, c) for q in SHIFT_NORMS for c in (0, 1)]
OF_HYBRID = unless_long(
    [("a1a", 1, 0), ("a1a", 2, 1), ("a1a", math.inf, 0), ("ijcnn1", 2, 0)],
    [*A1A, ("a9a", 1, 0), ("a9a", 2, 0), ("ijcnn1", 2, 0)],
)
INSTANCES = [("isg", *one, math.inf) for one in A1A] + [("ippa", *one, 1e-3) for one in A1A]
INSTANCES += [("hybrid", *one, 1e-4) for one in OF_HYBRID]

for_each_norm = pytest.mark.parametrize("norm", NORMS)


@pytest.mark.data
@pytest.mark.parametrize(("method", "name", "q", "c", "tol"), INSTANCES)
def test_optima_are_reached_without_tuning(load_dataset, proven_optimum, method, name, q, c, tol):
    """The subgradient method comes near the optimum, but proves little."""
    known, (X, y) = proven_optimum(name, q, c), load_dataset(name)
    problem = Problem(X, y, radius=known.radius, flip_cost=known.flip_cost, norm=SHIFT_NORMS[q], l2=c)
    result = solve(problem, method, **({} if method == "isg" else {"tol": tol}))
    assert result.gap <= tol and result.objective <= known.optimum + min(tol, 1e-3)
    assert result.lower_bound <= known.optimum + known.certified_gap + 1e-9


# Subgradient steps


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


# Proximal steps


@for_each_norm
@pytest.mark.parametrize("parameters", [{}, {"l2": 0.7}, {"flip_cost": math.inf}, {"flip_cost": 0.2, "radius": 0.02}])
def test_an_epoch_is_a_sequence_of_proximal_steps(norm, parameters):
    problem = well_conditioned_instance(8, 50, 6, norm=norm, **parameters)
    result = solve(problem, "ippa", steps="root", first_step=0.05, order="cyclic", max_iter=1, tol=0.0)
    w, lam = np.zeros(6), 0.0
    ball = {"radius": problem.radius, "flip_cost": problem.flip_cost, "norm": norm, "l2": problem.l2}
    for x, sign in zip(problem.X, problem.signs, strict=True):
        step = proximal_step(x, sign, w, lam, step=0.05, **ball)
        w, lam = step.weights, step.radius_price
    np.testing.assert_allclose(result.weights, w, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("method", "first"), [("ippa", "proximal"), ("hybrid", "subgradient")])
def test_phases_follow_each_other(method, first):
    problem = well_conditioned_instance(6, 400, 10)
    epochs = solve(problem, method, tol=0.0, max_iter=30).info["epochs"]
    assert list(epochs) == [first, "memory"] and 2 <= epochs[first] <= 8 and sum(epochs.values()) == 30
    without_memory = solve(problem, method, tol=0.0, max_iter=30, memory=False).info["epochs"]
    assert list(without_memory) == list(dict.fromkeys([first, "proximal"]))


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
