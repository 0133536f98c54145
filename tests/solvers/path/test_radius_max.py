"""The smallest radius at which w = 0 is optimal."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from instances import well_conditioned_instance
from problems import NORMS, best_constant, optimum, problems, random_rows
from scipy import sparse
from scipy.optimize import linprog
from thorough import examples, for_each

from drsvm import Problem, radius_max, radius_path, row_radius_max, solve
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


INTERCEPTS = {
    "none": {},
    "free": {"fit_intercept": True},
    "priced": {"fit_intercept": True, "intercept_cost": 0.5},
}


def rows_that_shift(seed, **parameters):
    """Return a problem with some weights, of classes of unequal size."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, -1], [14, 26]))
    X = rng.normal(size=(40, 3)) + 0.4 * y[:, None]
    weights = rng.uniform(0.5, 1.0, 40)
    return Problem(
        X, y, sample_weight=weights, flip_cost=math.inf, radius=0.03, **parameters
    )


def optimum_of_linear_program(problem, row_radius):
    """Return the optimum without ridge, for the norms 1 and inf."""
    n, d = problem.n_rows, problem.n_features
    # Variables w⁺, w⁻, b⁺, b⁻ ≥ 0, λ and the losses s_i ≥ 1 − m_i + r λ
    rows = np.hstack([problem.X, np.ones((n, 1))])
    signed = problem.signs[:, None] * rows
    losses = np.hstack([-signed, signed, np.full((n, 1), row_radius), -np.eye(n)])
    shares = np.append(np.ones(d), 1.0 / problem.intercept_cost)
    if problem.norm.p == math.inf:
        size = np.concatenate([shares, shares, [-1.0], np.zeros(n)])[None]
    else:
        both = np.hstack([np.diag(shares), np.diag(shares)])
        size = np.hstack([both, -np.ones((d + 1, 1)), np.zeros((d + 1, n))])
    costs = np.concatenate(
        [np.zeros(2 * d + 2), [problem.radius], problem.sample_weight]
    )
    limits = np.concatenate([-np.ones(n), np.zeros(len(size))])
    most = [None] * len(costs)
    if not problem.fit_intercept:
        most[d] = most[2 * d + 1] = 0.0
    bounds = [(0.0, limit) for limit in most]
    return linprog(costs, np.vstack([losses, size]), limits, bounds=bounds).fun


@for_each(intercept=INTERCEPTS, norm=(1, math.inf), seed=range(3))
def test_row_radius_max_is_where_linear_programs_become_constant(intercept, norm, seed):
    problem = rows_that_shift(seed, norm=norm, **INTERCEPTS[intercept])
    constant = 1.0
    if intercept == "free":
        constant = 2.0 * problem.sample_weight[problem.signs > 0].sum()
    low = 0.0
    high = 10.0
    while high - low > 1e-7:
        middle = 0.5 * (low + high)
        if optimum_of_linear_program(problem, middle) < constant - 1e-10:
            low = middle
        else:
            high = middle
    found = row_radius_max(problem)
    assert found == pytest.approx(high, abs=1e-6)
    assert found > 0.0


@for_each(
    intercept=INTERCEPTS,
    norm=NORMS,
    options=[
        {},
        {"l2": 0.1},
        {"monotonic_cst": [1, -1, 0]},
        {"feature_cost": [1, 2, 3]},
    ],
)
def test_above_row_radius_max_a_constant_classifier_is_optimal(
    intercept, norm, options
):
    problem = rows_that_shift(5, norm=norm, **INTERCEPTS[intercept], **options)
    constant = 1.0
    if intercept == "free":
        constant = 2.0 * problem.sample_weight[problem.signs > 0].sum()
    largest = row_radius_max(problem)
    above = solve(problem.replace(row_radius=1.001 * largest), tol=1e-10)
    assert above.objective == pytest.approx(constant, abs=1e-8)
    below = solve(problem.replace(row_radius=0.99 * largest), tol=1e-10)
    assert below.objective < constant - 1e-7


def test_row_radius_max_of_special_problems():
    problem = rows_that_shift(0, fit_intercept=True)
    assert row_radius_max(problem.replace(radius=radius_max(problem))) == 0.0
    with pytest.raises(ValueError, match="needs flip_cost=inf"):
        row_radius_max(problem.replace(flip_cost=1.0))
    with pytest.raises(ValueError, match="features that can all shift"):
        row_radius_max(problem.replace(feature_cost=[1.0, 1.0, math.inf]))
