"""Kernel problems with little time: nothing is begun that would not fit, and what is claimed instead."""

import math

import numpy as np
import pytest

from drsvm import Status, WassersteinKernelSVC, solve
from drsvm.defaults.out_of_fold import out_of_fold
from drsvm.defaults.radius_rule import automatic
from drsvm.problem import Rbf, in_feature_space
from drsvm.utils import TimeLimit

BALL = {
    "radius": 0.02,
    "l2": 0.01,
    "flip_cost": math.inf,
    "fit_intercept": True,
    "intercept_cost": 0.7,
}


def data(n=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1)


def kernel_problem(n=400, **options):
    X, y = data(n)
    return in_feature_space(X, Rbf(0.3), y, **BALL, **options)


@pytest.fixture
def slow(set_values):
    """Values that are not kept, and seem to take a millisecond each: all pairs of 400 rows would take 160 seconds."""
    set_values(stored_values=100, seconds_per_value=1e-3)


@pytest.mark.usefixtures("slow")
def test_a_proof_that_would_not_fit_is_not_begun(monkeypatch):
    problem = kernel_problem()
    assert (
        problem.rows.means is not None
    )  # the only product with more functions than a span has
    used = []
    at = type(problem.rows).at
    monkeypatch.setattr(
        type(problem.rows),
        "at",
        lambda *given: used.append(np.count_nonzero(given[2])) or at(*given),
    )
    result = solve(problem, max_time=80)
    assert max(used, default=0) <= 100
    assert (result.status, result.lower_bound) == (Status.TIME_LIMIT, 0.0)
    assert -1e-9 <= result.objective - result.info["bound_in_span"] <= 1e-4
    assert (
        solve(problem).objective < result.objective - 1e-4
    )  # it has time for all functions


@pytest.mark.usefixtures("slow")
def test_without_a_proof_the_claim_is_about_a_span():
    settings = {"gamma": 0.3, "threshold": "optimum", **BALL}
    model = WassersteinKernelSVC(max_time=80, **settings).fit(*data())
    assert (
        model.result_.status is Status.OPTIMAL_IN_SPAN
        and 0.0 <= model.gap_ <= model.tol
    )
    full = WassersteinKernelSVC(**settings).fit(*data())
    assert full.result_.status is Status.OPTIMAL
    assert (
        model.lower_bound_ > full.objective_ > 0.0
    )  # so much for the optimum of all functions


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_a_proof_is_given_up_between_blocks(allowed, set_values, monkeypatch):
    problem = kernel_problem()
    answers = [True] * allowed
    set_values(kernel_block=20, kernel_threads=1)
    time = TimeLimit(1.0)
    computed = []
    at = problem.rows.at
    monkeypatch.setattr(time, "allows", lambda seconds: bool(answers and answers.pop()))
    monkeypatch.setattr(
        problem.rows,
        "at",
        lambda points, c: computed.append(len(points)) or at(points, c),
    )
    signed = problem.sample_weight * problem.signs
    assert not problem.rows.prepare(signed, signed, time)
    assert sum(computed) == 2 * allowed * 80  # both sides, in parts of 4 blocks
    assert problem.rows.prepare(signed, signed, TimeLimit())


def test_rules_and_folds_with_little_time_take_few_rows_or_none(set_values):
    problem = kernel_problem(1000)
    assert automatic(problem).solution is not None
    set_values(seconds_of_a_pair=1.0)
    by_few = automatic(problem, max_time=10.0)
    assert by_few.solution is None  # that of all rows is not known
    assert by_few.radius == pytest.approx(automatic(problem).radius, rel=0.3)
    set_values(seconds_per_value=1.0)
    assert np.isnan(
        out_of_fold(problem, np.arange(1000) % 5, None, TimeLimit(10.0))
    ).all()


@pytest.mark.parametrize(("seconds", "kept"), [(1e-7, True), (1e-4, False)])
def test_values_are_kept_if_there_is_time_for_them(seconds, kept, set_values):
    set_values(seconds_per_value=seconds)
    problem = kernel_problem(time=TimeLimit(10.0))
    assert (problem.rows.values is not None) == kept
    assert kernel_problem().rows.values is not None


def test_a_run_without_any_time_ends_with_the_constant_classifier():
    problem = kernel_problem()
    result = solve(problem, max_time=TimeLimit(-5.0))
    assert (result.status, result.objective, result.n_iter) == (
        Status.TIME_LIMIT,
        pytest.approx(1.0),
        0,
    )


@pytest.mark.thorough
@pytest.mark.filterwarnings(
    "ignore:The proven gap", "ignore:The fitted classifier is constant"
)
@pytest.mark.parametrize("given", [{}, {"gamma": 0.01, "radius": 0.005, "l2": 1e-3}])
@pytest.mark.parametrize(
    ("n", "seconds"), [(2000, 1), (5000, 1), (20_000, 2), (60_000, 3), (200_000, 3)]
)
def test_a_fit_keeps_its_limit(n, seconds, given):
    """With as much again for a busy machine."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 30))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 0
    limit = TimeLimit(seconds)
    WassersteinKernelSVC(max_time=limit, **given).fit(X, y)
    assert limit.left() > -(seconds + 0.5)
