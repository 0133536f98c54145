"""The radius from the data alone: what it must and must not depend on, and its limit."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import best_constant, problems
from scipy import sparse
from thorough import examples

from drsvm import Problem, WassersteinSVC, auto_radius, radius_max, solve
from drsvm.defaults import radius_rule
from drsvm.defaults.radius_rule import Spread, chance_gradient, chance_of_active
from drsvm.problem import gradient_variances, typical_row_norm
from drsvm.utils import TimeLimit

TRUSTED = {"flip_cost": np.inf, "fit_intercept": True}


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], size=300)
    return rng.normal(size=(300, 6)) + 0.8 * y[:, None], y


@pytest.fixture
def activate(monkeypatch):
    """A function that gives some rows a margin below 1 and all others a larger one, for any classifier."""
    return lambda active: monkeypatch.setattr(
        Problem, "margins", lambda *_: np.where(active, 0.5, 1.5)
    )


def of_active(problem):
    return chance_gradient(
        problem, gradient_variances(problem, (np.zeros(problem.n_features), 0.0))
    )


def of_all(problem):
    return chance_gradient(problem, gradient_variances(problem))


def chance_radius(problem):
    limits = {"max_time": TimeLimit(), "n_threads": None}
    return chance_of_active(
        problem, problem, gradient_variances(problem), None, limits
    )[0]


def spread(problem):
    return Spread.of(problem).factor


# The size of chance effects


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_pull_is_that_of_random_labels(sample, norm, fit_intercept, activate):
    X, y = sample
    rows = slice(0, 120)  # the active ones
    activate(np.arange(len(y)) < 120)
    problem = Problem(X, y, norm=norm, fit_intercept=fit_intercept)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(4000, 120))
    centred = X[rows] - (X[rows].mean(axis=0) if fit_intercept else 0.0)
    norms = np.linalg.norm(signs @ centred / len(y), ord=norm, axis=1)
    assert 0.95 < of_active(problem) / norms.mean() < 1.1


def test_one_active_row_says_nothing_about_chance(sample, activate):
    """Its deviation from its own mean is 0 up to rounding errors, which would be the radius."""
    X, y = sample
    problem = Problem(X, y, **TRUSTED)
    activate(np.arange(len(y)) == 7)
    assert of_active(problem) == 0.0
    assert of_active(problem.replace(fit_intercept=False)) > 0.0
    assert chance_radius(problem) == of_all(problem) > 0.0


# The rule


@pytest.mark.parametrize(("norm", "share"), [(1, 0.5), (2, 1.0), (np.inf, 0.25)])
@pytest.mark.parametrize("price", [np.inf, 1.0])
def test_it_is_a_share_of_the_chance_effects(sample, norm, share, price):
    X, y = sample
    problem = Problem(X, y, norm=norm, **TRUSTED, intercept_cost=price)
    for rows in (X, sparse.csr_array(X)):
        problem = problem.on_rows(rows)
        assert auto_radius(problem) == pytest.approx(
            spread(problem) * share * chance_radius(problem)
        )


@pytest.mark.parametrize("n_rows", [100, 400, 6000])
def test_the_fewer_directions_the_rows_have_the_smaller_it_is(n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    y = np.arange(n_rows) % 2
    for rows in (
        X,
        X @ rng.normal(size=(4, 50)),
        sparse.csr_array(X),
    ):  # columns that repeat others do not count
        covariance = np.cov(
            np.asarray(rows.toarray() if sparse.issparse(rows) else rows).T
        )
        directions = np.trace(covariance) ** 2 / np.square(covariance).sum()
        assert directions < 4.1
        expected = min(1.0, 2.5 * math.sqrt(directions / n_rows))
        assert spread(Problem(rows, y, **TRUSTED)) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("price", [np.inf, 0.7])
@pytest.mark.parametrize("flip_cost", [np.inf, 2.0])
def test_it_is_in_the_units_of_the_features(sample, norm, price, flip_cost):
    X, y = sample
    one, other = (
        auto_radius(
            Problem(
                k * X,
                y,
                norm=norm,
                flip_cost=k * flip_cost,
                fit_intercept=True,
                intercept_cost=k * price,
            )
        )
        for k in (1.0, 100.0)
    )
    assert other == pytest.approx(100 * one, rel=1e-6)


def test_neither_order_nor_storage_nor_place_of_the_rows_matters(sample):
    X, y = sample
    problem = Problem(X, y, **TRUSTED)
    radius = auto_radius(problem)
    order = np.random.default_rng(2).permutation(len(y))
    for other in (
        Problem(X[order], y[order], **TRUSTED),
        Problem(X + 50.0, y, **TRUSTED),
    ):
        assert auto_radius(other) == pytest.approx(
            radius, rel=0.02
        )  # a row near the hinge may change sides
    stored = chance_radius(problem.on_rows(sparse.csr_array(X)))
    assert stored == pytest.approx(chance_radius(problem), rel=0.02)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_columns_that_do_not_differ_between_rows_change_nothing(sample, norm, storage):
    X, y = sample
    # so few rows that the number of features matters for sparse ones
    X = X[:10]
    y = y[:10]
    wider = np.hstack([np.zeros((10, 1)), X, np.zeros((10, 3)), np.full((10, 1), 7.0)])
    problem, other = (
        Problem(storage(rows), y, norm=norm, **TRUSTED) for rows in (X, wider)
    )
    assert auto_radius(other) == pytest.approx(auto_radius(problem), rel=1e-12)
    found, expected = (
        radius_rule.automatic(one).solution[0] for one in (other, problem)
    )
    np.testing.assert_allclose(found[1:7], expected, rtol=1e-12)
    assert not found[[0, 7, 8, 9, 10]].any()
    assert (
        auto_radius(Problem(np.ones((10, 2)), y, norm=norm, **TRUSTED)) == 0.0
    )  # rows that do not differ at all


@pytest.mark.parametrize("price", [np.inf, 1.0])
def test_wrong_labels_and_few_rows_call_for_a_larger_radius(sample, price):
    X, y = sample
    ball = {**TRUSTED, "intercept_cost": price}
    clean = auto_radius(Problem(X, y, **ball))
    wrong = np.where(np.random.default_rng(3).random(len(y)) < 0.35, -y, y)
    assert auto_radius(Problem(X, wrong, **ball)) > 1.3 * clean
    assert (
        2.5 * clean < auto_radius(Problem(X[:75], y[:75], **ball)) < 5.5 * clean
    )  # a quarter of the rows


def test_a_count_is_a_number_of_equal_rows(sample):
    X, y = sample
    counts = np.random.default_rng(4).integers(0, 4, len(y))
    together = auto_radius(
        Problem(X, y, sample_weight=counts, **TRUSTED), counts=counts
    )
    one_by_one = auto_radius(
        Problem(X.repeat(counts, axis=0), y.repeat(counts), **TRUSTED)
    )
    assert together == pytest.approx(one_by_one, rel=1e-6)
    assert together < auto_radius(Problem(X, y, sample_weight=counts, **TRUSTED))


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_weights_count_as_rows_where_the_number_of_features_matters(norm):
    y = np.arange(40) % 2
    X = sparse.csr_array(np.random.default_rng(0).normal(size=(40, 30)))
    doubled = (X, y, np.full(40, 2.0)), (sparse.vstack([X, X]), np.append(y, y))
    once, twice = (WassersteinSVC(norm=norm).fit(*rows).radius_ for rows in doubled)
    assert once == pytest.approx(twice, rel=1e-6)


# Its limit


@examples(8, 500)
@given(problems(radius=0.1), st.sampled_from([math.inf, 0.5, 3.0]))
def test_it_is_at_most_half_of_the_largest_useful_radius(problem, price):
    if problem.fit_intercept:
        problem = problem.replace(intercept_cost=price * typical_row_norm(problem))
    radius = auto_radius(problem)
    assert 0.0 <= radius <= 0.5 * radius_max(problem) * (1.0 + 1e-3)
    if radius > 1e-6 * typical_row_norm(problem):
        at_radius = problem.replace(radius=radius, l2=0.0)
        # A price counts b among the weights
        useless = 1.0 if at_radius.has_intercept_cost else best_constant(at_radius)
        assert solve(at_radius, tol=1e-8).objective < useless - 1e-8


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize(
    "parameters", [{}, {"intercept_cost": np.inf}, {"flip_cost": 3.0}], ids=str
)
@pytest.mark.parametrize("seed", range(3))
def test_labels_that_say_little_do_not_give_a_constant_classifier(
    norm, parameters, seed
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5))
    y = np.arange(60) % 2
    model = WassersteinSVC(norm=norm, **parameters).fit(X, y)
    assert len(set(model.predict(X))) == 2 and np.ptp(model.decision_function(X)) > 0.01


@pytest.mark.parametrize(
    "ball",
    [TRUSTED, {**TRUSTED, "flip_cost": 2.0}, {**TRUSTED, "intercept_cost": 1.0}],
    ids=str,
)
def test_a_lack_of_time_does_not_make_it_tiny(sample, ball):
    problem = Problem(*sample, **ball)
    unhurried = auto_radius(problem)
    assert 0.7 * unhurried < auto_radius(problem, max_time=1e-9) < 1.5 * unhurried
    spent = TimeLimit(1e-9, spent=True)  # not even a first step of the pilot solution
    assert auto_radius(problem, max_time=spent) == pytest.approx(
        spread(problem) * of_all(problem)
    )


def test_a_sample_of_many_rows_gives_nearly_the_same_radius(monkeypatch):
    random = np.random.default_rng(5)
    y = random.random(6000) < 0.1
    X = random.normal(size=(6000, 2)) + 1.5 * y[:, None]
    problem = Problem(X, y, flip_cost=math.inf, fit_intercept=True, intercept_cost=1.0)
    radius_of_all = auto_radius(problem)
    monkeypatch.setattr(radius_rule, "ROWS_OF_A_CLASS", 500)
    monkeypatch.setattr(radius_rule, "SAMPLE_PER_FEATURE", 1)
    sample = radius_rule._sample(problem)
    assert sample.n_rows == 1000 and (sample.signs > 0).sum() == 500
    for sign in (-1, 1):  # a class counts as much as before
        share = problem.sample_weight[problem.signs == sign].sum()
        assert sample.sample_weight[sample.signs == sign].sum() == pytest.approx(share)
    assert auto_radius(problem) == pytest.approx(radius_of_all, rel=0.03)


def test_a_solver_that_takes_no_ridge_gets_none(sample):
    X, y = sample
    model = WassersteinSVC(solver="admm", tol=1e-2).fit(X, y)
    assert model.l2_ == 0.0 < WassersteinSVC().fit(X, y).l2_
    with pytest.raises(
        ValueError, match=r"does not support intercept_cost=.* with l2=0\.1"
    ):
        WassersteinSVC(solver="admm", l2=0.1).fit(X, y)
