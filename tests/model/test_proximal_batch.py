"""The proximal step of a batch: against a conic solver, against the single-sample step, and what it refuses."""

import math

import clarabel
import numpy as np
import pytest
from scipy import sparse
from strategies import NORMS, for_each_norm

from drsvm.model import proximal_batch_step, proximal_step


def random_case(rng, n, norm, longest_step=1.0):
    """Return the arguments of a step: positional and by name."""
    d = int(rng.integers(1, 8))
    X = np.round(rng.normal(size=(n, d)), int(rng.integers(0, 8))) * 10 ** rng.uniform(-1, 0.5)
    w = rng.normal(size=d) * 10 ** rng.uniform(-2, 1)
    parameters = {
        "step": 10 ** rng.uniform(-3, longest_step),
        "radius": float(rng.choice([0.0, 0.1, 1.0, 10.0])),
        "l2": float(rng.choice([0.0, 0.0, 1.0])),
        "norm": norm.p,
        "intercept": float(rng.normal()) if rng.random() < 0.5 else None,
    }
    return (X, rng.choice([-1.0, 1.0], n), w, 10 ** rng.uniform(-2, 1)), parameters


def conic_value(cone_norm, case, flip_cost, weights, *, step, radius, l2, intercept, **_):
    """Return the optimum of a step, from a conic solver.

    The variables are w, λ, b, the losses and, for q = 1, bounds on the sizes of the weights.
    """
    X, y, w_bar, lam_bar = case
    n, d = X.shape
    sizes = d if cone_norm.q == 1 else 0
    at_w, at_lam, at_b, at_losses = slice(0, d), d, d + 1, slice(d + 2, d + 2 + n)
    width = d + 2 + n + sizes
    quadratic, linear = np.zeros(width), np.zeros(width)
    quadratic[at_w], quadratic[at_lam], quadratic[at_b] = l2 + 1 / step, 1 / step, 1 / step
    linear[at_w], linear[at_lam], linear[at_b] = -w_bar / step, radius - lam_bar / step, -(intercept or 0.0) / step
    linear[at_losses] = weights / n
    margins, losses = np.zeros((n, width)), np.zeros((n, width))
    margins[:, at_w], margins[:, at_b] = y[:, None] * X, y if intercept is not None else 0.0
    losses[:, at_losses] = np.eye(n)
    flips = np.isfinite(flip_cost)
    flipped = (losses - margins)[flips]
    flipped[:, at_lam] = flip_cost[flips]
    above = [losses, losses + margins, flipped]
    below = [np.zeros(n), np.ones(n), np.ones(flips.sum())]
    rows, cone = norm_rows(cone_norm, d, width)
    A, constants = np.vstack([*above, rows]), np.r_[-np.concatenate(below), np.zeros(len(rows))]
    cones = [clarabel.NonnegativeConeT(2 * n + int(flips.sum())), cone]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    matrices = sparse.csc_matrix(np.diag(quadratic)), linear, sparse.csc_matrix(-A), constants, cones, settings
    solution = clarabel.DefaultSolver(*matrices).solve()
    centre = (w_bar @ w_bar + lam_bar**2 + (intercept or 0.0) ** 2) / (2 * step)
    return solution.obj_val + centre


def norm_rows(norm, d, width):
    """Return rows that lie in a cone where ‖w‖_q ≤ λ, and the cone."""
    eye, lam = np.eye(d, width), np.zeros(width)
    lam[d] = 1.0
    if norm.q == 2:
        return np.vstack([lam, eye]), clarabel.SecondOrderConeT(d + 1)
    if norm.q == math.inf:
        return np.vstack([lam - eye, lam + eye]), clarabel.NonnegativeConeT(2 * d)
    bounds = np.eye(d, width, width - d)
    return np.vstack([bounds - eye, bounds + eye, lam - bounds.sum(axis=0)]), clarabel.NonnegativeConeT(2 * d + 1)


def value(case, step, parameters, flip_cost, weights):
    """Return the objective of a step."""
    X, y, w_bar, lam_bar = case
    m = y * (X @ step.weights + step.intercept)
    flipped = np.where(
        np.isfinite(flip_cost), 1 + m - np.where(np.isfinite(flip_cost), flip_cost, 0) * step.radius_price, 0
    )
    losses = np.maximum(np.maximum(1 - m, flipped), 0)
    moved = np.sum((step.weights - w_bar) ** 2) + (step.radius_price - lam_bar) ** 2
    moved += (step.intercept - (parameters["intercept"] or 0.0)) ** 2
    ridge = parameters["l2"] / 2 * step.weights @ step.weights
    loss = float(weights @ losses) / len(y)
    return loss + parameters["radius"] * step.radius_price + ridge + moved / (2 * parameters["step"])


@pytest.mark.thorough
@for_each_norm
def test_steps_are_those_of_a_conic_solver(norm):
    rng = np.random.default_rng(1)
    for _ in range(40):
        n = int(rng.integers(2, 30))
        case, parameters = random_case(rng, n, norm)
        flip_cost, weights = rng.choice([0.0, 0.5, 1.0, 3.0, math.inf], n), rng.uniform(0.2, 2.0, n)
        step = proximal_batch_step(*case, flip_cost=flip_cost, sample_weight=weights, **parameters)
        found = value(case, step, parameters, flip_cost, weights)
        assert norm.value(step.weights) <= step.radius_price * (1 + 1e-12) + 1e-15
        assert step.gap <= 1e-10
        expected = conic_value(norm, case, flip_cost, weights, **parameters)
        assert found == pytest.approx(expected, abs=1e-8, rel=1e-8)


@for_each_norm
def test_one_sample_is_the_single_sample_step(norm):
    rng = np.random.default_rng(2)
    for _ in range(60):
        (X, y, w, lam), parameters = random_case(rng, 1, norm, longest_step=2.0)
        parameters["flip_cost"] = float(rng.choice([0.0, 0.5, 1.0, 3.0, math.inf]))
        batch = proximal_batch_step(X, y, w, lam, **parameters)
        single = proximal_step(X[0], y[0], w, lam, **parameters)
        size = 1 + np.abs(w).max() + lam + parameters["step"] * (parameters["radius"] + np.abs(X).max() + 3)
        np.testing.assert_allclose(batch.weights, single.weights, rtol=0, atol=1e-12 * size)
        assert batch.radius_price == pytest.approx(single.radius_price, abs=1e-12 * size)
        assert batch.intercept == pytest.approx(single.intercept, abs=1e-12 * size)


def test_a_repeated_sample_is_one_of_greater_weight():
    rng = np.random.default_rng(3)
    case = rng.normal(size=(5, 3)), rng.choice([-1.0, 1.0], 5), rng.normal(size=3), 1.0
    parameters = {"step": 0.7, "radius": 0.1, "flip_cost": 1.0, "norm": NORMS[0].p}
    twice = proximal_batch_step(np.repeat(case[0], 2, axis=0), np.repeat(case[1], 2), *case[2:], **parameters)
    once = proximal_batch_step(sparse.csr_array(case[0]), *case[1:], **parameters)
    np.testing.assert_allclose(twice.weights, once.weights, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"signs": [1, 2]}, "signs must contain 2 values"),
        ({"step": 0.0}, "step must be positive"),
        ({"radius_price": math.inf}, "radius_price must be finite"),
        ({"sample_weight": [1.0, -1.0]}, "sample_weight"),
    ],
)
def test_what_is_refused(change, message):
    arguments = {"X": [[1.0], [2.0]], "signs": [1, -1], "weights": [0.0], "radius_price": 1.0}
    arguments |= {"step": 0.1, "radius": 0.1, "flip_cost": 1.0} | change
    with pytest.raises(ValueError, match=message):
        proximal_batch_step(**arguments)
