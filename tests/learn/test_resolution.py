"""Which weights count, and when decision values are noise."""

import numpy as np
import pytest
from scipy import sparse

from drsvm import Problem, solve
from drsvm.learn.resolution import are_noise, column_deviations, resolution, weights_that_count


@pytest.fixture
def two_of_eight():
    """Two of eight columns matter, and they have very different scales."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(400) % 2, 1, -1)
    X = rng.normal(size=(400, 8)) * np.logspace(-2, 5, 8)
    X[:, 0] += 0.02 * y
    X[:, 7] += 2e5 * y
    return X, y


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_small_weights_count_where_their_columns_are_large(two_of_eight, storage):
    X, y = two_of_eight
    result = solve(Problem(storage(X), y, radius=1e-3, flip_cost=np.inf, fit_intercept=True), tol=1e-6)
    tiny = 1e-7 / column_deviations(storage(X))  # together less than 100 tolerances
    result.weights[1:7] = tiny[1:7]
    result.weights[7] = 1e-5  # 2 standard deviations
    assert weights_that_count(result, column_deviations(storage(X))).tolist() == [True, *[False] * 6, True]


def test_many_small_weights_count_together(two_of_eight):
    X, y = two_of_eight
    result = solve(Problem(X, y, radius=1e-3, fit_intercept=True), tol=1e-6)
    result.weights[:] = 0.4 * resolution(result.gap, result.tol)
    counts = weights_that_count(result, np.ones(8))
    assert counts.sum() == 6  # two of them are below the resolution, three are not


def test_a_wider_gap_hides_more(two_of_eight):
    assert resolution(1e-9, 1e-6) == pytest.approx(1e-4) and resolution(1e-5, 1e-6) == pytest.approx(1e-3)
    assert resolution(0.5, 1e-6) == 0.1


def test_decision_values_are_noise_if_they_hardly_differ():
    rng = np.random.default_rng(1)
    noise, one_of_many, real = 1e-6 * rng.normal(size=10_000) - 1.0, np.zeros(10_000), rng.normal(size=10_000)
    one_of_many[7] = 1.0  # a rare row that is told apart
    columns = np.column_stack([noise, one_of_many, 1e-2 * real])
    assert are_noise(columns, [(1e-7, 1e-6)] * 3) == [True, False, False]
    assert are_noise(noise, [(1e-7, 1e-6)]) == [True] and are_noise(noise, [(1e-10, 1e-10)]) == [False]
