"""The problem: its parameters and prices, and its objective compared with plain formulas."""

import dataclasses
import gc
import inspect
import math
import pickle
import weakref
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import FIVE_LABELS as Y
from problems import FIVE_ROWS as X
from problems import NORMS, Plain, classifiers, problems
from scipy import sparse

from drsvm import Problem
from drsvm.problem import masses_of_classes, typical_row_norm

# Parameters


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"radius": -0.1},
            ValueError,
            "radius must be finite and at least 0, got radius=-0.1",
        ),
        ({"radius": math.nan}, ValueError, "radius=nan"),
        ({"radius": "0.1"}, TypeError, "radius must be a number, got '0.1'"),
        ({"radius": True}, TypeError, "radius must be a number, got True"),
        (
            {"flip_cost": -1},
            ValueError,
            r"flip_cost must be at least 0 \(inf is allowed\), got flip_cost=-1",
        ),
        ({"flip_cost": math.nan}, ValueError, "flip_cost=nan"),
        ({"flip_cost": 1e-200}, ValueError, "flip_cost=1e-200: use 0"),
        ({"l2": math.inf}, ValueError, "l2=inf"),
        ({"norm": 3}, ValueError, "norm must be 1, 2 or inf .*got norm=3"),
        (
            {"flip_cost": [1.0, 2.0]},
            ValueError,
            r"flip_cost must .* one entry per row of X \(5\), got shape \(2,\)",
        ),
        (
            {"flip_cost": [1, -1, 2, 3, 4]},
            ValueError,
            "flip_cost has -1 at row 1: costs must be at least 0",
        ),
        (
            {"flip_cost": [1, math.nan, 2, 3, 4]},
            ValueError,
            "flip_cost has nan at row 1",
        ),
        (
            {"flip_cost": [1, 1e-200, 2, 3, 4]},
            ValueError,
            "flip_cost has 1e-200 at row 1: .* use 0",
        ),
        (
            {"flip_cost": list("abcde")},
            TypeError,
            "flip_cost must contain real numbers",
        ),
        (
            {"feature_cost": [0.0, 1.0, 1.0]},
            ValueError,
            "feature_cost has 0 at feature 0: costs must lie",
        ),
        (
            {"feature_cost": [1.0, math.nan, 1.0]},
            ValueError,
            "feature_cost has nan at feature 1",
        ),
        (
            {"feature_cost": [1.0, 1.0]},
            ValueError,
            r"one entry per feature of X \(3\), got shape \(2,\)",
        ),
        (
            {"feature_cost": "high"},
            TypeError,
            "feature_cost must contain real numbers, got feature_cost='high'",
        ),
        (
            {"monotonic_cst": [2, 0, 0]},
            ValueError,
            "monotonic_cst has 2 at feature 0: use 1 for",
        ),
        (
            {"monotonic_cst": [True, False, True]},
            TypeError,
            "monotonic_cst must contain real numbers",
        ),
        (
            {"intercept_cost": 0.0},
            ValueError,
            "intercept_cost=0.0 is out of range: costs must lie",
        ),
        ({"intercept_cost": math.nan}, ValueError, "intercept_cost must be at least 0"),
        ({"intercept_cost": [1.0]}, TypeError, "intercept_cost must be a number"),
    ],
)
def test_bad_parameters_are_rejected(parameters, error, message):
    with pytest.raises(error, match=message):
        Problem(X, Y, **parameters)
    with pytest.raises(error, match=message):
        Problem(X, Y).replace(**parameters)


def test_replace_changes_parameters_only():
    assert list(inspect.signature(Problem).parameters)[:5] == [
        "X",
        "y",
        "radius",
        "flip_cost",
        "norm",
    ]
    problem = Problem(
        X, Y, radius=0.1, flip_cost=2.0, norm=1, l2=0.5, fit_intercept=True
    )
    other = problem.replace(radius=0.3, norm="inf")
    assert (other.radius, other.norm.p) == (0.3, math.inf)
    assert (other.flip_cost, other.l2, other.fit_intercept) == (2.0, 0.5, True)
    assert (problem.radius, problem.norm.p) == (0.1, 1)
    assert (
        other.X is problem.X
        and other.signs is problem.signs
        and other.sample_weight is problem.sample_weight
    )
    with pytest.raises(
        TypeError,
        match=r"replace takes radius, flip_cost, .*row_radius, not sample_weight",
    ):
        problem.replace(sample_weight=None)


def test_a_problem_is_frozen_and_prints_readably():
    problem = Problem(sparse.csr_array(X), Y, radius=0.25, norm=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.radius = 1.0
    for values in (problem.signs, problem.sample_weight, problem.classes):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0
    assert (
        repr(problem)
        == "Problem(5 × 3 sparse, radius=0.25, flip_cost=1.0, norm=1, l2=0.0, fit_intercept=False)"
    )


# The objective and the best price


@given(problems(), st.data())
def test_objective_is_the_best_over_all_breakpoints(problem, data):
    w, b = data.draw(classifiers(problem))
    expected = Plain.of(problem).best_value(w, b)
    assert problem.objective(w, b) == pytest.approx(expected, rel=1e-11)


@given(problems(), st.data())
def test_objective_is_convex_in_the_price(problem, data):
    w, b = data.draw(classifiers(problem))
    norm = problem.norm.value(w)
    unit = max(norm, 1 / typical_row_norm(problem))
    low, high = sorted(
        norm + unit * x
        for x in data.draw(st.tuples(st.floats(0, 10), st.floats(0, 10)))
    )
    middle = (low + high) / 2
    values = [
        problem.objective(w, b, radius_price=price) for price in (low, middle, high)
    ]
    slack = 1e-12 * (1 + max(values))
    assert values[1] <= (values[0] + values[2]) / 2 + slack
    assert problem.objective(w, b) <= min(values) + slack


def smallest_minimiser(margins, weights, norm, radius, flip_cost):
    """The smallest best λ by brute force, in exact arithmetic."""
    breakpoints = [min(2 * m, 1 + m) / flip_cost for m in margins]

    def value(price):
        losses = [max(1 - m, 1 + m - flip_cost * price, 0) for m in margins]
        return radius * price + sum(
            p * loss for p, loss in zip(weights, losses, strict=True)
        )

    return min(
        (price for price in {norm, *breakpoints} if price >= norm),
        key=lambda price: (value(price), price),
    )


@given(
    st.lists(st.tuples(st.integers(-6, 12), st.integers(1, 4)), min_size=2, max_size=9),
    st.integers(0, 6),
    st.integers(1, 6),
    st.integers(0, 12),
    st.sampled_from(NORMS),
)
def test_price_is_the_smallest_minimiser_in_exact_arithmetic(
    samples, norm, flip_cost, affordable, which_norm
):
    """Integers make flat pieces frequent: there the smallest of many best λ must come back, in spite of rounding."""
    margins, counts = (np.array(column) for column in zip(*samples, strict=True))
    total = int(counts.sum())
    flip_cost = Fraction(flip_cost, 3)
    radius = flip_cost * Fraction(affordable, total)
    halves = [Fraction(int(m), 2) for m in margins]
    shares = [Fraction(int(k), total) for k in counts]
    expected = smallest_minimiser(halves, shares, Fraction(norm), radius, flip_cost)
    labels = np.where(np.arange(len(counts)) == 0, -1, 1)
    ball = float(radius), float(flip_cost), which_norm
    problem = Problem(np.ones((len(counts), 1)), labels, *ball, sample_weight=counts)
    price = problem.radius_price(np.array([float(norm)]), margins / 2)
    assert price == pytest.approx(float(expected), rel=1e-12, abs=1e-12)


# Limits


@given(problems(), st.data())
def test_limits_of_radius_and_flip_cost_have_plain_formulas(problem, data):
    """Radius 0: the ordinary SVM. Trusted labels: the regularised one.

    Free flips turn margins against the weights.
    """
    w, b = data.draw(classifiers(problem))
    plain = Plain.of(problem)
    margins = plain.margins(w, b)
    ridge = plain.l2 / 2 * (w @ w)
    hinge = plain.weights @ np.maximum(1 - margins, 0)
    size = plain.radius * np.linalg.norm(w, plain.q)
    if problem.flip_cost > 0:
        assert problem.replace(radius=0).objective(w, b) == pytest.approx(
            hinge + ridge, rel=1e-11
        )
    assert problem.replace(flip_cost=math.inf).objective(w, b) == pytest.approx(
        hinge + size + ridge, rel=1e-11
    )
    free = problem.replace(flip_cost=0)
    turned = plain.weights @ (1 + np.abs(margins))
    assert free.objective(w, b) == pytest.approx(turned + size + ridge, rel=1e-11)
    assert free.objective(np.zeros_like(w)) == pytest.approx(1.0, rel=1e-14)


@given(problems(scales=(1.0,)), st.data(), st.sampled_from([1e-6, 1e-3, 1e6, 1e12]))
def test_a_change_of_unit_changes_nothing(problem, data, unit):
    """Features, radius and flip cost in another unit, l2 in its square: the weights shrink by it, the value stays."""
    w, b = data.draw(classifiers(problem))
    prices = {
        "radius": problem.radius * unit,
        "flip_cost": problem.flip_cost * unit,
        "l2": problem.l2 * unit**2,
    }
    scaled = problem.on_rows(problem.X * unit).replace(**prices)
    assert scaled.objective(w / unit, b) == pytest.approx(
        problem.objective(w, b), rel=1e-11, abs=1e-11
    )


def test_flips_are_possible_only_where_they_can_be_paid():
    problem = Problem(X, Y, radius=0.1, flip_cost=1.0)
    mixed = problem.replace(flip_cost=[1.0, 2.0, math.inf, 3.0, 3.0])
    assert (
        problem.flips_possible
        and problem.replace(radius=0, flip_cost=0).flips_possible
        and mixed.flips_possible
    )
    for other in (
        problem.replace(radius=0),
        problem.replace(flip_cost=math.inf),
        mixed.with_regularisation(0.0, 0.1),
    ):
        assert not other.flips_possible


def test_the_unit_of_a_shift_ignores_rows_of_zeros():
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 5.0]])
    y = [1, 0, 1]
    assert typical_row_norm(Problem(rows, y)) == 5.0
    weighted = Problem(rows, y, norm=1, sample_weight=[1, 1, 3])
    assert typical_row_norm(weighted) == pytest.approx(5.5)
    assert typical_row_norm(Problem(0 * rows, y)) == 1.0


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_prices_are_carried_along(container):
    rows = {"flip_cost": [1.0, math.inf, 2.0, 0.0], "sample_weight": [1, 1, 0, 1]}
    features = {"feature_cost": [1.0, math.inf, 3.0], "monotonic_cst": [0, 1, -1]}
    X = container(np.arange(12.0).reshape(4, 3))
    prices = {**rows, **features, "intercept_cost": 2.0}
    problem = Problem(X, [0, 1, 0, 1], fit_intercept=True, **prices)
    assert problem.flip_costs.tolist() == [1.0, math.inf, 0.0]
    assert problem.can_flip.tolist() == [True, False, True]
    assert problem.replace(radius=0.0).can_flip.tolist() == [False, False, True]
    assert problem.trusted_features.tolist() == [False, True, False]
    assert problem.norm_of(np.array([3.0, 100.0, 12.0]), 24.0) == 13.0
    assert (
        problem.replace(fit_intercept=False).norm_of(np.array([3.0, 100.0, 12.0]))
        == 5.0
    )
    part = problem.subset([1, 2])
    assert part.flip_costs.tolist() == [math.inf, 0.0] and part.intercept_cost == 2.0
    assert problem.replace(flip_cost=[5.0, 6.0, 7.0, 8.0]).flip_costs.tolist() == [
        5.0,
        6.0,
        8.0,
    ]
    assert problem.replace(flip_cost=[5.0, 5.0, 7.0, 5.0]).flip_cost == 5.0
    fewer = problem.on_features([0, 2])
    assert fewer.feature_cost.tolist() == [
        1.0,
        3.0,
    ] and fewer.monotonic_cst.tolist() == [0, -1]
    assert (
        problem.on_features([0]).feature_cost is None
        and problem.on_features([0]).monotonic_cst is None
    )
    other = problem.relabelled(np.array([True, False, False, True]))
    assert other.flip_costs.tolist() == problem.flip_costs.tolist() and other.has_prices
    assert "flip_cost=0…inf" in repr(problem) and "intercept_cost=2.0" in repr(problem)


def test_sums_belong_to_the_labels_of_which_they_are():
    problem = Problem(X, Y)
    assert masses_of_classes(problem) == pytest.approx((0.6, 0.4))
    for same in (problem, pickle.loads(pickle.dumps(problem))):
        assert masses_of_classes(same.relabelled(Y < 0)) == pytest.approx((0.4, 0.6))
        assert masses_of_classes(same) == pytest.approx((0.6, 0.4))


def test_nothing_keeps_what_was_computed_for_other_labels():
    problem = Problem(X, Y)
    squares = problem.relabelled(Y < 0).column_squares()
    dropped = weakref.ref(squares)
    del squares
    gc.collect()
    assert dropped() is None


def test_given_arrays_stay_writable():
    given = {name: np.ones(5) for name in ("sample_weight", "flip_cost")}
    Problem(X, Y, feature_cost=(costs := np.full(3, 2.0)), **given)
    assert all(array.flags.writeable for array in (X, Y, costs, *given.values()))
