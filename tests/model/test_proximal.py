"""The proximal step of one sample: optimality conditions, limits, and what it refuses."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from proximal_steps import Case, Sizes, assert_optimal, cases
from strategies import NORMS, for_each_norm, run_python

from drsvm.model import proximal_step


@for_each_norm
@given(data=st.data())
def test_step_satisfies_the_optimality_conditions(norm, data):
    case = data.draw(cases(norm))
    assert_optimal(case, case.solve())


# --- limits -----------------------------------------------------------------------------------------------------------


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
        epsilon=case.epsilon * unit,
        kappa=case.kappa * unit,
        c=case.c * unit**2,
    )
    step, scaled = case.solve(), other.solve()
    np.testing.assert_array_equal(scaled.weights * unit, step.weights)
    assert scaled.radius_price * unit == step.radius_price
    assert (scaled.hinge_dual, scaled.flip_dual, scaled.pull) == (step.hinge_dual, step.flip_dual, step.pull)


@for_each_norm
@given(data=st.data())
def test_trusted_labels_are_the_limit_of_expensive_flips(norm, data):
    """A finite price at which flipping does not pay at the solution changes nothing."""
    trusted = replace(data.draw(cases(norm)), kappa=math.inf)
    step = trusted.solve()
    assert step.flip_dual == 0.0
    assume(step.radius_price > 0)
    dear = replace(trusted, kappa=4.0 * (1.0 + abs(trusted.margin(step.weights, step.intercept))) / step.radius_price)
    other = dear.solve()
    size = Sizes.of(dear, other).objective(dear, other)
    expected = trusted.objective(step.weights, step.intercept, step.radius_price)
    assert dear.objective(other.weights, other.intercept, other.radius_price) == pytest.approx(
        expected, abs=1e-12 * size
    )


@for_each_norm
def test_zero_rows_move_the_intercept_only(norm):
    """Without features the loss pulls b towards 1 and nothing else; the cone and the radius do the rest."""
    case = Case(norm, np.zeros(3), np.array([0.1, 0.0, -0.2]), 0.0, 1.0, 0.5, 0.0, math.inf, 0.0, sign=-1.0)
    step = case.solve()
    assert (step.intercept, step.hinge_dual, step.radius_price) == (-0.5, 1.0, 1.0)
    np.testing.assert_array_equal(step.weights, case.w)


@for_each_norm
def test_the_level_is_the_norm_where_radius_and_ridge_are_strong(norm):
    """On the cone, λ = ‖w‖ to the accuracy of w, though it is the small difference of λ̄ − ηε and its multiplier."""
    case = Case(norm, np.array([-1e5]), np.array([-1e5]), None, -1e-6, 1e5, 1e4, math.inf, 1e4)
    step = case.solve()
    assert 0 < step.radius_price < 1e-4
    assert step.radius_price == pytest.approx(abs(step.weights[0]), rel=1e-10)


EXTREMES = (1e-12, 1.0, 1e12)


def take_extreme_steps():
    """Take steps with sizes and data 24 orders of magnitude apart; return how many."""
    direction, taken = np.array([1.0, -1.0, 0.3]), 0
    grid = itertools.product(
        NORMS, EXTREMES, EXTREMES, EXTREMES, (*EXTREMES, 0.0, math.inf), (0.0, 1.0, 1e12), (None, 1.0), (0.0, 1e12)
    )
    for norm, eta, features, centre, kappa, epsilon, b, c in grid:
        case = Case(norm, features * direction, centre * direction[::-1], b, -centre, eta, epsilon, kappa, c)
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
    w, b, lam = np.zeros(X.shape[1]), 0.0, 0.0
    for i in range(300):
        case = Case(norm, y[i] * X[i].toarray().ravel(), w, b, lam, 0.1, 0.1, 1.0, 1e-3, y[i])
        step = case.solve()
        assert_optimal(case, step)
        w, b, lam = step.weights, step.intercept, step.radius_price


# --- arguments --------------------------------------------------------------------------------------------------------

GOOD = {
    "x": [1.0, 2.0],
    "sign": 1,
    "weights": [0.0, 0.0],
    "radius_price": 0.0,
    "step": 1.0,
    "radius": 0.1,
    "flip_cost": 1.0,
}


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
    x, w = np.arange(6.0)[::2], np.ones(3)
    x.flags.writeable = w.flags.writeable = False
    step = proximal_step(x, -1, w, 0.0, step=1.0, radius=0.1, flip_cost=1.0)
    assert not np.array_equal(step.weights, w)
    np.testing.assert_array_equal(w, np.ones(3))
