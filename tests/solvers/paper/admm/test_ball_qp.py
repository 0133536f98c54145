"""Quadratic minimisation over a ball: for every method, checked by a bound on the gap from the gradient."""

import math

import numpy as np
import pytest
from scipy import linalg

from drsvm.problem import norm_for
from drsvm.solvers.paper.admm import EXACT, Accelerated

KINDS = {p: EXACT[type(norm_for(p))] for p in (1, 2, math.inf)}
for_each_norm = pytest.mark.parametrize("p", KINDS)


def random_case(seed):
    """Return C, r, ρ, c and λ: more or fewer samples than features, binary rows, columns of different scales."""
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 60)
    d = rng.integers(1, 40)
    rows = rng.normal(size=(n, d)) * 10.0 ** (rng.uniform(-1, 1, size=d) * (seed % 2))
    if seed % 3 == 0:
        rows = (rows > 0.5).astype(float)
    matrix = rows.T @ rows / n
    r = rows.T @ rng.normal(size=n) / n
    return (
        matrix,
        r,
        10.0 ** rng.uniform(-2, 2),
        float(rng.choice([0.0, 0.1])),
        10.0 ** rng.uniform(-2, 1),
    )


def value(matrix, r, rho, ridge, w):
    return 0.5 * rho * w @ (matrix @ w) + 0.5 * ridge * w @ w - r @ w


def gap(matrix, r, rho, ridge, norm, lam, w):
    """How much lower any point of the ball can be, by convexity: g·w − min over the ball of g·u."""
    gradient = rho * matrix @ w + ridge * w - r
    return gradient @ w + lam * norm.dual.value(gradient)


@for_each_norm
def test_exact_methods_are_exact(p):
    norm = norm_for(p)
    short = 0
    for seed in range(150):
        matrix, r, rho, ridge, lam = random_case(seed)
        w = KINDS[p](matrix, ridge).solve(r, rho, lam, np.zeros(len(r)), 1e-9)
        assert norm.value(w) <= lam * (1 + 1e-12)
        scale = abs(value(matrix, r, rho, ridge, w)) + 1e-12
        short += gap(matrix, r, rho, ridge, norm, lam, w) > 1e-3 * scale
    assert (
        short <= 4
    )  # singular matrices, where pivoting does not terminate and the gradient steps that follow are few


@for_each_norm
def test_a_warm_start_at_the_solution_stays_there(p):
    for seed in range(20):
        matrix, r, rho, _, lam = random_case(seed)
        problem = KINDS[p](matrix, 0.1)
        w = problem.solve(r, rho, lam, np.zeros(len(r)), 1e-9)
        assert problem.solve(r, rho, lam, w, 1e-9) == pytest.approx(
            w, rel=1e-5, abs=1e-6 * lam
        )


@for_each_norm
def test_gradient_steps_find_the_same_point(p):
    norm = norm_for(p)
    for seed in range(0, 40, 2):
        matrix, r, rho, _, lam = random_case(seed)
        largest = max(float(linalg.eigvalsh(matrix)[-1]), 1e-12)
        exact = KINDS[p](matrix, 0.1).solve(r, rho, lam, np.zeros(len(r)), 1e-9)
        steps = Accelerated(matrix.__matmul__, largest, 0.1, norm, max_steps=5000)
        w = steps.solve(r, rho, lam, np.zeros(len(r)), 1e-12)
        assert norm.value(w) <= lam * (1 + 1e-12)
        assert value(matrix, r, rho, 0.1, w) == pytest.approx(
            value(matrix, r, rho, 0.1, exact), rel=1e-6, abs=1e-12
        )


@for_each_norm
def test_without_a_ball_it_is_a_linear_system(p):
    matrix, r, rho, _, _ = random_case(4)
    w = KINDS[p](matrix, 1.0).solve(r, rho, math.inf, np.zeros(len(r)), 1e-9)
    assert w == pytest.approx(
        linalg.solve(rho * matrix + np.eye(len(r)), r), rel=1e-6, abs=1e-9
    )


@for_each_norm
def test_nothing_to_gain_leaves_the_origin(p):
    for matrix in (np.zeros((3, 3)), np.eye(3)):
        w = KINDS[p](matrix, 0.0).solve(np.zeros(3), 1.0, 2.0, np.zeros(3), 1e-9)
        assert w.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("p", [1, math.inf])
def test_gradient_steps_take_over_if_pivoting_does_not_terminate(p):
    norm = norm_for(p)
    matrix, r, rho, _, lam = random_case(8)
    subproblem = KINDS[p](matrix, 0.1)
    subproblem.max_pivots = 0
    subproblem.fall_back_steps = 5000
    w = subproblem.solve(r, rho, lam, np.zeros(len(r)), 1e-9)
    assert gap(matrix, r, rho, 0.1, norm, lam, w) <= 1e-6 * abs(
        value(matrix, r, rho, 0.1, w)
    )
