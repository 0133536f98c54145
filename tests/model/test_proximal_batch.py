"""The proximal step of a batch: against CVXPY, against the single-sample step, and what it refuses."""

import math

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


def values_in_cvxpy(norm, case, step, flip_cost, weights, parameters):
    """Return the optimum of a step, and the objective of the given one."""
    cp = pytest.importorskip("cvxpy")
    X, y, w_bar, lam_bar = case
    eta, b_bar, flips = parameters["step"], parameters["intercept"], np.flatnonzero(np.isfinite(flip_cost))
    w, b, lam, losses = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(), cp.Variable(len(y))
    margins = cp.multiply(y, X @ w + b)
    pieces = [0.0 * margins, 1 - margins, 1 + margins[flips] - cp.multiply(flip_cost[flips], lam)]
    limits = [losses >= pieces[0], losses >= pieces[1], losses[flips] >= pieces[2], cp.norm(w, norm.q) <= lam]
    limits += [b == 0] if b_bar is None else []
    moved = cp.sum_squares(w - w_bar) + cp.square(lam - lam_bar) + cp.square(b - (b_bar or 0.0))
    ridge = parameters["l2"] / 2 * cp.sum_squares(w)
    value = weights @ losses / len(y) + parameters["radius"] * lam + ridge + moved / (2 * eta)
    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    optimum = cp.Problem(cp.Minimize(value), limits).solve(solver="CLARABEL", **tight)
    w.value, b.value, lam.value = step.weights, step.intercept, step.radius_price
    losses.value = np.maximum(pieces[1].value, 0.0)
    losses.value[flips] = np.maximum(losses.value[flips], pieces[2].value)
    return optimum, value.value


# The tolerance of the conic solver is tighter than it can always guarantee.
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")
@pytest.mark.thorough
@for_each_norm
def test_steps_are_those_of_a_conic_solver(norm):
    rng = np.random.default_rng(1)
    for _ in range(40):
        n = int(rng.integers(2, 30))
        case, parameters = random_case(rng, n, norm)
        flip_cost, weights = rng.choice([0.0, 0.5, 1.0, 3.0, math.inf], n), rng.uniform(0.2, 2.0, n)
        step = proximal_batch_step(*case, flip_cost=flip_cost, sample_weight=weights, **parameters)
        assert norm.value(step.weights) <= step.radius_price * (1 + 1e-12) + 1e-15
        assert step.gap <= 1e-10
        optimum, value = values_in_cvxpy(norm, case, step, flip_cost, weights, parameters)
        assert value == pytest.approx(optimum, abs=1e-8, rel=1e-8)


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
