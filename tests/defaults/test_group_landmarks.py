"""Landmarks that are not rows: means of groups, and random points around them."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from drsvm import Status, WassersteinKernelSVC
from drsvm.defaults.group_landmarks import group_landmarks


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    return rng.normal(size=(120, 4)) + y[:, None], y


def test_every_mean_is_that_of_five_rows_of_a_class():
    # Ten far-off clusters of six rows: the means are known.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    cluster = np.repeat(np.arange(10), 6)
    X = 100.0 * cluster[:, None] + rng.normal(size=(60, 2))
    means = np.stack([X[cluster == k].mean(axis=0) for k in range(10)])
    found = group_landmarks(X, y, most=10)
    np.testing.assert_allclose(np.sort(found, axis=0), means, atol=0.3)
    # Two clusters of three cannot be apart.
    close = X[cluster < 2][::2]
    found = group_landmarks(close, np.zeros(6), most=2)
    distances = cdist(found, close)
    assert len(found) == 2 and distances.min() > 1.0


@pytest.mark.parametrize("values", [2, 5, 1000])
def test_landmarks_are_no_rows_on_a_grid_either(values):
    rng = np.random.default_rng(0)
    X = rng.integers(0, values, size=(300, 3)).astype(float)
    landmarks = group_landmarks(X, X[:, 0] > X[:, 1])
    assert cdist(landmarks, X, "chebyshev").min() > 1e-6
    assert len(landmarks) == min(len(np.unique(X, axis=0)), 300)


def test_order_copies_and_rows_without_weight_change_nothing(blobs):
    X, y = blobs
    expected = group_landmarks(X, y)
    order = np.random.default_rng(1).permutation(len(y))
    twice = np.concatenate([order, order[:50]])
    np.testing.assert_array_equal(group_landmarks(X[twice], y[twice]), expected)
    weights = np.ones(len(y))
    weights[:30] = 0.0
    np.testing.assert_array_equal(
        group_landmarks(X, y, weights), group_landmarks(X[30:], y[30:])
    )
    of_sparse = group_landmarks(sparse.csr_array(X), y)
    np.testing.assert_array_equal(of_sparse, expected)


def test_classifiers_of_copies_and_weights_are_the_same(blobs):
    X, y = blobs
    model = WassersteinKernelSVC(landmarks="means")
    copies = np.concatenate([np.arange(120), np.arange(40)])[::-1]
    weights = np.where(np.arange(120) < 40, 2.0, 1.0)
    by_copies = model.fit(X[copies], y[copies]).decision_function(X)
    by_weights = model.fit(X, y, sample_weight=weights).decision_function(X)
    np.testing.assert_allclose(by_copies, by_weights, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_same_multipliers_bound_the_full_problem(blobs, n_classes):
    X, _ = blobs
    y = np.digitize(X[:, 0] * X[:, 1], [0.0, 1.0]) % n_classes
    model = WassersteinKernelSVC(landmarks="means", gamma=0.3).fit(X, y)
    full = WassersteinKernelSVC(gamma=0.3).fit(X, y)
    results, optima = model.result_, full.result_
    if n_classes == 2:
        results, optima = [results], [optima]
    for result, optimum in zip(results, optima, strict=True):
        assert result.status is Status.OPTIMAL_IN_SPAN
        bound = result.info["bound_anywhere"]
        assert bound <= optimum.objective <= result.objective + optimum.gap
        assert bound > optimum.objective - 0.05
    assert model.landmark_indices_.max() == -1
    assert cdist(model.landmarks_, X).min() > 1e-6
    few = WassersteinKernelSVC(landmarks="means", n_landmarks=20).fit(X, y)
    assert len(few.landmarks_) == 20


def test_what_cannot_be_done_is_told(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="at least 5 different rows, got 4"):
        WassersteinKernelSVC(landmarks="means").fit(X[[0, 1, 2, 3, 3]], [0, 1, 0, 1, 1])
    wide = sparse.csr_array((3000, 20_000))
    with pytest.raises(ValueError, match=r"of shape \(3000, 20000\) are too large"):
        group_landmarks(wide, np.arange(3000) % 2)
    with pytest.raises(ValueError, match="'means' or an array, got landmarks='rows'"):
        WassersteinKernelSVC(landmarks="rows").fit(X, y)
    # A class of two rows has no mean; the others do.
    y = np.where(np.arange(120) < 2, 0, 1)
    model = WassersteinKernelSVC(landmarks="means", class_weight="balanced")
    assert model.fit(X, y).predict(X).shape == (120,)
