"""The proximal steps of one sample and of a batch: optimality conditions, limits, and what they refuse."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from proximal_steps import Case, Sizes, assert_optimal, cases
from scipy import sparse
from strategies import NORMS, for_each_norm, run_python

from drsvm.solvers import proximal_batch_step, proximal_step


@for_each_norm
@given(data=st.data())
def test_step_satisfies_the_optimality_conditions(norm, data):
    case = data.draw(cases(norm))
    assert_optimal(case, case.solve())


# --- limits
# -----------------------------------------------------------------------------------------------------------


@for_each_norm
@given(data=st.data(), exponent=st.integers(-20, 20))
def test_units_of_the_features_do_not_matter(norm, data, exponent):
    """Measuring the features in other units scales all numbers of the step, by powers of two without any rounding."""
    case = replace(data.draw(cases(norm)), b=None)
    unit = 2.0**exponent
    other = replace(
        case,
        z=case.z * unit,
        w=case.w / unit,
        lam=case.lam / unit,
        eta=case.eta / unit**2,
    )
    other = replace(
        other, epsilon=case.epsilon * unit, kappa=case.kappa * unit, c=case.c * unit**2
    )
    step = case.solve()
    scaled = other.solve()
    np.testing.assert_array_equal(scaled.weights * unit, step.weights)
    assert scaled.radius_price * unit == step.radius_price
    assert (scaled.hinge_dual, scaled.flip_dual, scaled.gradient) == (
        step.hinge_dual,
        step.flip_dual,
        step.gradient,
    )


@for_each_norm
@given(data=st.data())
def test_trusted_labels_are_the_limit_of_expensive_flips(norm, data):
    """A finite price at which flipping does not pay at the solution changes nothing."""
    trusted = replace(data.draw(cases(norm)), kappa=math.inf)
    step = trusted.solve()
    assert step.flip_dual == 0.0
    assume(step.radius_price > 0)
    dear = replace(
        trusted,
        kappa=4.0
        * (1.0 + abs(trusted.margin(step.weights, step.intercept)))
        / step.radius_price,
    )
    other = dear.solve()
    size = Sizes.of(dear, other).objective(dear, other)
    expected = trusted.objective(step.weights, step.intercept, step.radius_price)
    value = dear.objective(other.weights, other.intercept, other.radius_price)
    assert value == pytest.approx(expected, abs=1e-12 * size)


@for_each_norm
def test_zero_rows_move_the_intercept_only(norm):
    """Without features the loss pulls b towards 1 and nothing else.

    The cone and the radius do the rest.
    """
    case = Case(
        norm,
        np.zeros(3),
        np.array([0.1, 0.0, -0.2]),
        0.0,
        1.0,
        0.5,
        0.0,
        math.inf,
        0.0,
        sign=-1.0,
    )
    step = case.solve()
    assert (step.intercept, step.hinge_dual, step.radius_price) == (-0.5, 1.0, 1.0)
    np.testing.assert_array_equal(step.weights, case.w)


@for_each_norm
def test_the_level_is_the_norm_where_radius_and_ridge_are_strong(norm):
    """On the cone, λ = ‖w‖ to the accuracy of w, though it is the small difference of λ̄ − ηε and its multiplier."""
    case = Case(
        norm, np.array([-1e5]), np.array([-1e5]), None, -1e-6, 1e5, 1e4, math.inf, 1e4
    )
    step = case.solve()
    assert 0 < step.radius_price < 1e-4
    assert step.radius_price == pytest.approx(abs(step.weights[0]), rel=1e-10)


EXTREMES = (1e-12, 1.0, 1e12)


def take_extreme_steps():
    """Take steps with sizes and data 24 orders of magnitude apart; return how many."""
    direction = np.array([1.0, -1.0, 0.3])
    taken = 0
    grid = itertools.product(
        NORMS,
        EXTREMES,
        EXTREMES,
        EXTREMES,
        (*EXTREMES, 0.0, math.inf),
        (0.0, 1.0, 1e12),
        (None, 1.0),
        (0.0, 1e12),
    )
    for norm, eta, features, centre, kappa, epsilon, b, c in grid:
        case = Case(
            norm,
            features * direction,
            centre * direction[::-1],
            b,
            -centre,
            eta,
            epsilon,
            kappa,
            c,
        )
        step = case.solve()
        assert np.isfinite(step.weights).all(), case
        assert math.isfinite(step.radius_price), case
        assert -1e-11 <= step.gap <= 1e-11, (case, step)
        taken += 1
    return taken


@pytest.mark.thorough
def test_extreme_steps_end():
    """In a separate process, so that a step that does not end fails only this test instead of blocking all of them."""
    code = "from model import test_proximal; print(test_proximal.take_extreme_steps())"
    assert int(run_python(code, timeout=120)) == 3 * 3**3 * 5 * 3 * 2 * 2


@pytest.mark.data
@for_each_norm
def test_a_pass_over_real_rows_is_optimal_in_every_step(norm, load_dataset):
    X, y = load_dataset("a1a")
    w = np.zeros(X.shape[1])
    b = 0.0
    lam = 0.0
    for i in range(300):
        case = Case(
            norm, y[i] * X[i].toarray().ravel(), w, b, lam, 0.1, 0.1, 1.0, 1e-3, y[i]
        )
        step = case.solve()
        assert_optimal(case, step)
        w = step.weights
        b = step.intercept
        lam = step.radius_price


# --- arguments
# --------------------------------------------------------------------------------------------------------

BALL = {"step": 1.0, "radius": 0.1, "flip_cost": 1.0}
GOOD = {"x": [1.0, 2.0], "sign": 1, "weights": [0.0, 0.0], "radius_price": 0.0, **BALL}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sign": 0}, "sign must be -1 or 1"),
        ({"step": 0.0}, "step must be positive"),
        ({"step": -1.0}, "step must be finite and at least 0"),
        ({"radius": -1.0}, "radius must be"),
        ({"flip_cost": math.nan}, "flip_cost must be"),
        ({"l2": math.inf}, "l2 must be"),
        ({"norm": 3}, "norm must be"),
        ({"weights": [0.0]}, "weights must have one entry per feature"),
        ({"weights": [0.0, math.nan]}, "weights has NaN"),
        ({"x": [1.0, math.inf]}, "x has NaN or infinite"),
        ({"x": [[1.0, 2.0]]}, "x must have one entry per feature"),
        ({"radius_price": math.nan}, "radius_price must be finite"),
        ({"intercept": math.inf}, "intercept must be finite"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        proximal_step(**{**GOOD, **wrong})


def test_arguments_are_left_alone():
    x = np.arange(6.0)[::2]
    w = np.ones(3)
    x.flags.writeable = w.flags.writeable = False
    step = proximal_step(x, -1, w, 0.0, step=1.0, radius=0.1, flip_cost=1.0)
    assert not np.array_equal(step.weights, w)
    np.testing.assert_array_equal(w, np.ones(3))


# --- batches
# ----------------------------------------------------------------------------------------------------------


def random_case(rng, n, norm, longest_step=1.0):
    """Return the arguments of a step: positional and by name."""
    d = int(rng.integers(1, 8))
    X = np.round(rng.normal(size=(n, d)), int(rng.integers(0, 8))) * 10 ** rng.uniform(
        -1, 0.5
    )
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
    eta = parameters["step"]
    b_bar = parameters["intercept"]
    flips = np.flatnonzero(np.isfinite(flip_cost))
    w = cp.Variable(X.shape[1])
    b = cp.Variable()
    lam = cp.Variable()
    losses = cp.Variable(len(y))
    margins = cp.multiply(y, X @ w + b)
    pieces = [
        0.0 * margins,
        1 - margins,
        1 + margins[flips] - cp.multiply(flip_cost[flips], lam),
    ]
    limits = [
        losses >= pieces[0],
        losses >= pieces[1],
        losses[flips] >= pieces[2],
        cp.norm(w, norm.q) <= lam,
    ]
    limits += [b == 0] if b_bar is None else []
    moved = (
        cp.sum_squares(w - w_bar)
        + cp.square(lam - lam_bar)
        + cp.square(b - (b_bar or 0.0))
    )
    ridge = parameters["l2"] / 2 * cp.sum_squares(w)
    value = (
        weights @ losses / len(y)
        + parameters["radius"] * lam
        + ridge
        + moved / (2 * eta)
    )
    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    optimum = cp.Problem(cp.Minimize(value), limits).solve(solver="CLARABEL", **tight)
    w.value = step.weights
    b.value = step.intercept
    lam.value = step.radius_price
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
        flip_cost = rng.choice([0.0, 0.5, 1.0, 3.0, math.inf], n)
        weights = rng.uniform(0.2, 2.0, n)
        step = proximal_batch_step(
            *case, flip_cost=flip_cost, sample_weight=weights, **parameters
        )
        assert norm.value(step.weights) <= step.radius_price * (1 + 1e-12) + 1e-15
        assert step.gap <= 1e-10
        optimum, value = values_in_cvxpy(
            norm, case, step, flip_cost, weights, parameters
        )
        assert value == pytest.approx(optimum, abs=1e-8, rel=1e-8)


@for_each_norm
def test_one_sample_is_the_single_sample_step(norm):
    rng = np.random.default_rng(2)
    for _ in range(60):
        (X, y, w, lam), parameters = random_case(rng, 1, norm, longest_step=2.0)
        parameters["flip_cost"] = float(rng.choice([0.0, 0.5, 1.0, 3.0, math.inf]))
        batch = proximal_batch_step(X, y, w, lam, **parameters)
        single = proximal_step(X[0], y[0], w, lam, **parameters)
        size = (
            1
            + np.abs(w).max()
            + lam
            + parameters["step"] * (parameters["radius"] + np.abs(X).max() + 3)
        )
        np.testing.assert_allclose(
            batch.weights, single.weights, rtol=0, atol=1e-12 * size
        )
        assert batch.radius_price == pytest.approx(
            single.radius_price, abs=1e-12 * size
        )
        assert batch.intercept == pytest.approx(single.intercept, abs=1e-12 * size)


def test_a_repeated_sample_is_one_of_greater_weight():
    rng = np.random.default_rng(3)
    case = rng.normal(size=(5, 3)), rng.choice([-1.0, 1.0], 5), rng.normal(size=3), 1.0
    parameters = {"step": 0.7, "radius": 0.1, "flip_cost": 1.0, "norm": NORMS[0].p}
    twice = proximal_batch_step(
        np.repeat(case[0], 2, axis=0), np.repeat(case[1], 2), *case[2:], **parameters
    )
    once = proximal_batch_step(sparse.csr_array(case[0]), *case[1:], **parameters)
    np.testing.assert_allclose(twice.weights, once.weights, rtol=0, atol=1e-7)


def test_wrong_arguments_of_a_batch_are_named():
    arguments = {
        "X": [[1.0], [2.0]],
        "signs": [1, -1],
        "weights": [0.0],
        "radius_price": 1.0,
        **BALL,
    }
    for name, wrong in {
        "signs": [1, 2],
        "step": 0.0,
        "radius_price": math.inf,
        "sample_weight": [1.0, -1.0],
    }.items():
        with pytest.raises(ValueError, match=name):
            proximal_batch_step(**{**arguments, name: wrong})
