"""The smallest radius at which w = 0 is optimal."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from instances import well_conditioned_instance
from problems import NORMS, best_constant, optimum, problems, random_rows
from scipy import sparse
from thorough import examples, for_each

from drsvm import Problem, radius_max, radius_path
from drsvm.solvers import is_useful

for_each_norm = pytest.mark.parametrize("norm", NORMS)


def check_radius_max(problem):
    """Just above the radius the constant classifier is optimal, just below it is not."""
    largest = radius_max(problem)
    above, below = (
        problem.replace(radius=factor * largest) for factor in (1.001, 0.999)
    )
    assert optimum(problem, above.radius) == pytest.approx(
        best_constant(above), abs=1e-8
    )
    assert optimum(problem, below.radius) < best_constant(below) - 1e-7
    return largest


@for_each(
    weighted=[False, True],
    flip_cost=[0.5, 3.0, math.inf],
    fit_intercept=[False, True],
    norm=NORMS,
)
def test_above_radius_max_the_constant_classifier_is_optimal(
    norm, fit_intercept, flip_cost, weighted
):
    X, y = random_rows(np.random.default_rng(1), 60, 4, "gaussian")
    weights = np.random.default_rng(2).uniform(0.9, 1.1, size=60) if weighted else None
    ball = {
        "flip_cost": flip_cost,
        "norm": norm,
        "fit_intercept": fit_intercept,
        "sample_weight": weights,
    }
    largest = check_radius_max(Problem(X, y, **ball))
    assert largest > 0
    assert radius_max(Problem(sparse.csr_array(X), y, **ball)) == pytest.approx(
        largest, rel=1e-6
    )


@for_each(kind=["binary", "integers", "separable", "degenerate"], norm=NORMS)
def test_radius_max_of_data_with_ties(norm, kind):
    X, y = random_rows(np.random.default_rng(3), 40, 3, kind)
    for flip_cost, fit_intercept in itertools.product([1.0, math.inf], [False, True]):
        check_radius_max(
            Problem(X, y, flip_cost=flip_cost, norm=norm, fit_intercept=fit_intercept)
        )


@for_each_norm
def test_with_trusted_labels_and_no_intercept_it_is_a_norm(norm):
    X, y = random_rows(np.random.default_rng(4), 50, 5, "gaussian")
    weights = np.linspace(1, 2, 50)
    problem = Problem(X, y, flip_cost=math.inf, norm=norm, sample_weight=weights)
    total = (weights / weights.sum() * y) @ X
    assert radius_max(problem) == pytest.approx(np.linalg.norm(total, norm), rel=1e-13)
    check_radius_max(problem)


@for_each(flip_cost=[1.0, math.inf], fit_intercept=[False, True], norm=NORMS)
@pytest.mark.parametrize(
    ("smaller", "unit", "apart"), [(20, 1.0, 6.0), (6, 0.01, 0.5)], ids=["good", "poor"]
)
def test_features_of_unequal_classes(
    norm, fit_intercept, flip_cost, smaller, unit, apart
):
    """With 10 % of one class and uninformative features, b = −1 is optimal already at a small radius."""
    y = np.where(np.arange(60) < smaller, 1, -1)
    X = unit * (np.random.default_rng(5).normal(size=(60, 3)) + apart * y[:, None])
    check_radius_max(
        Problem(X, y, flip_cost=flip_cost, norm=norm, fit_intercept=fit_intercept)
    )


@pytest.mark.parametrize("flip_cost", [1.0, math.inf])
def test_useless_features_have_radius_max_zero(flip_cost):
    paired = np.array([[1.0], [1.0], [2.0], [2.0]])
    for X, fit_intercept in itertools.product(
        (paired, np.zeros((4, 1))), (False, True)
    ):
        assert (
            radius_max(
                Problem(
                    X, [1, -1, 1, -1], flip_cost=flip_cost, fit_intercept=fit_intercept
                )
            )
            == 0.0
        )


@for_each_norm
def test_radius_max_is_measured_in_the_unit_of_the_features_and_ignores_radius_and_ridge(
    norm,
):
    problem = well_conditioned_instance(1, 50, 4, norm=norm, fit_intercept=True)
    scaled = Problem(
        10 * problem.X, problem.signs, flip_cost=10.0, norm=norm, fit_intercept=True
    )
    assert radius_max(scaled) == pytest.approx(10 * radius_max(problem), rel=1e-6)
    assert radius_max(problem.replace(radius=5.0, l2=3.0), n_threads=1) == radius_max(
        problem
    )


def test_radius_max_without_time_is_too_small():
    problem = well_conditioned_instance(7, 60, 4, fit_intercept=True)
    assert 0 < radius_max(problem, max_time=1e-9) < radius_max(problem, max_time=1e9)


def test_an_interrupt_ends_radius_max(interrupt_in):
    interrupt_in("compiled steps")
    problem = well_conditioned_instance(7, 60, 4, fit_intercept=True)
    for call in (radius_max, radius_path):
        with pytest.raises(KeyboardInterrupt):
            call(problem)


@for_each_norm
@pytest.mark.parametrize(
    "ball",
    [
        {"flip_cost": math.inf},
        {"flip_cost": 1.0},
        {"flip_cost": math.inf, "fit_intercept": True},
        {"flip_cost": 2.0, "fit_intercept": True},
        {"flip_cost": math.inf, "fit_intercept": True, "intercept_cost": 0.5},
    ],
    ids=str,
)
def test_a_radius_is_useful_below_the_largest_one(norm, ball):
    X, y = random_rows(np.random.default_rng(1), 60, 4, "gaussian")
    problem = Problem(X, y, norm=norm, sample_weight=np.where(y > 0, 1.0, 1.1), **ball)
    largest = radius_max(problem)
    for share in (
        (0.1, 0.5) if problem.has_intercept_cost else (0.1, 0.5, 0.9)
    ):  # compared with ±1 whatever its price
        assert is_useful(problem, share * largest)
    assert not any(is_useful(problem, factor * largest) for factor in (1.0, 1.1, 10.0))


@examples(10, 1000)
@given(problems(l2=0.0))
def test_a_radius_is_called_useful_only_if_a_constant_classifier_is_worse(problem):
    if is_useful(problem, problem.radius):
        assert optimum(problem, problem.radius) < best_constant(problem)


def test_an_interrupt_is_passed_on(interrupt_in):
    problem = Problem(np.eye(4), [1, -1, 1, -1], fit_intercept=True)
    interrupt_in("compiled steps")
    with pytest.raises(KeyboardInterrupt):
        is_useful(problem, 0.1)
