"""The radius from the data alone: what it must and must not depend on."""

import numpy as np
import pytest
from scipy import sparse

from drsvm import Problem, auto_radius
from drsvm.learn.radius_rule import chance_pull


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], size=300)
    return rng.normal(size=(300, 6)) + 0.8 * y[:, None], y


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_pull_is_that_of_random_labels(sample, norm, fit_intercept):
    X, y = sample
    rows = slice(0, 120)  # the active ones
    active = np.zeros(len(y), dtype=bool)
    active[rows] = True
    problem = Problem(X, y, norm=norm, fit_intercept=fit_intercept)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(4000, 120))
    centred = X[rows] - (X[rows].mean(axis=0) if fit_intercept else 0.0)
    norms = np.linalg.norm(signs @ centred / len(y), ord=norm, axis=1)
    ratio = chance_pull(problem, active) / norms.mean()
    assert 0.95 < ratio < 1.1


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_it_is_in_the_units_of_the_features(sample, norm):
    X, y = sample
    unit = auto_radius(Problem(X, y, norm=norm, flip_cost=np.inf, fit_intercept=True))
    assert auto_radius(Problem(100 * X, y, norm=norm, flip_cost=np.inf, fit_intercept=True)) == pytest.approx(
        100 * unit
    )


def test_neither_order_nor_storage_nor_place_of_the_rows_matters(sample):
    X, y = sample
    radius = auto_radius(Problem(X, y, fit_intercept=True))
    order = np.random.default_rng(2).permutation(len(y))
    for other in (Problem(X[order], y[order], fit_intercept=True), Problem(sparse.csr_array(X), y, fit_intercept=True)):
        assert auto_radius(other) == pytest.approx(radius, rel=0.02)  # a row near the hinge may change sides
    assert auto_radius(Problem(X + 50.0, y, fit_intercept=True)) == pytest.approx(radius, rel=0.02)


def test_wrong_labels_and_few_rows_call_for_a_larger_radius(sample):
    X, y = sample
    clean = auto_radius(Problem(X, y, fit_intercept=True))
    wrong = np.where(np.random.default_rng(3).random(len(y)) < 0.35, -y, y)
    assert auto_radius(Problem(X, wrong, fit_intercept=True)) > 1.3 * clean
    assert 1.5 * clean < auto_radius(Problem(X[:75], y[:75], fit_intercept=True)) < 3.0 * clean  # a quarter of the rows


def test_a_count_is_a_number_of_equal_rows(sample):
    X, y = sample
    counts = np.random.default_rng(4).integers(0, 4, len(y))
    together = auto_radius(Problem(X, y, sample_weight=counts, fit_intercept=True), counts=counts)
    one_by_one = auto_radius(Problem(X.repeat(counts, axis=0), y.repeat(counts), fit_intercept=True))
    assert together == pytest.approx(one_by_one, rel=1e-6)
    assert together < auto_radius(Problem(X, y, sample_weight=counts, fit_intercept=True))


def test_rows_that_do_not_differ_have_no_scale():
    problem = Problem(np.ones((6, 2)), [1, 1, 1, -1, -1, -1], fit_intercept=True)
    assert auto_radius(problem) == 0.0
