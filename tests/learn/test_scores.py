"""Figures on rows with labels, by hand and by scikit-learn; which weights count, and when decision values are noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, roc_auc_score

from drsvm import Problem, solve
from drsvm.learn.scores import (
    are_noise,
    by_class,
    column_deviations,
    predictions,
    resolution,
    scores,
    summary,
    weights_that_count,
)


def test_two_classes():
    """One of three positives is missed, one of two negatives is taken for a positive."""
    found = scores(np.array([1.0, 2.0, -1.0, 3.0, -2.0]), np.array([1, 1, 1, 0, 0]), np.array([0, 1]))
    assert found["confusion"] == {0: {0: 1, 1: 1}, 1: {0: 1, 1: 2}}
    assert found["recall"] == {0: 0.5, 1: pytest.approx(2 / 3)} and found["precision"] == {
        0: 0.5,
        1: pytest.approx(2 / 3),
    }
    assert found["accuracy"] == 0.6 and found["balanced_accuracy"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert found["roc_auc"] == 0.5  # 3 of 6 pairs are in order
    assert summary(found) == "accuracy 0.6000, balanced 0.5833, ROC AUC 0.5000 (5 rows)"
    assert by_class(found)[1].split() == ["0", "2", "0.5000", "0.5000", "1", "1"]


def test_what_does_not_exist_is_left_out():
    """The class c has no rows, and a is never predicted."""
    decisions = np.array([[0, 1, 0], [0, 1, 0], [0, 0, 1]])
    found = scores(decisions, np.array(["a", "b", "b"]), np.array(["a", "b", "c"]))
    assert found["recall"] == {"a": 0.0, "b": 0.5, "c": None} and found["precision"] == {"a": None, "b": 0.5, "c": 0.0}
    assert found["balanced_accuracy"] == 0.25 and found["roc_auc"] is None
    assert "ROC" not in summary(found) and by_class(found)[1].split()[3] == "-"


def test_many_classes_are_not_printed():
    labels = np.arange(20)
    assert by_class(scores(np.eye(20), labels, labels)) == []


LABELS = {2: np.array(["no", "yes"]), 3: np.array([0, 2, 7])}


@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.integers(6, 60))
def test_agreement_with_scikit_learn(seed, n_classes, n):
    random = np.random.default_rng(seed)
    classes = LABELS[n_classes]
    y = classes[np.append(np.arange(n_classes), random.integers(0, n_classes, n - n_classes))]
    shape = n if n_classes == 2 else (n, n_classes)
    decisions = np.round(random.normal(size=shape), random.integers(0, 3))  # rounded: some are equal
    found = scores(decisions, y, classes)
    predicted = predictions(decisions, classes)
    counts = confusion_matrix(y, predicted, labels=classes)
    assert [list(row.values()) for row in found["confusion"].values()] == counts.tolist()
    assert found["accuracy"] == pytest.approx((y == predicted).mean())
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    if n_classes == 2:
        expected = roc_auc_score(y == "yes", decisions)
    else:
        expected = np.mean([roc_auc_score(y == label, decisions[:, k]) for k, label in enumerate(classes)])
    assert found["roc_auc"] == pytest.approx(expected)


def test_rows_with_other_labels_are_in_no_cell_of_the_matrix():
    found = scores(np.array([1.0, -1.0, 2.0]), np.array(["yes", "no", "zebra"]), LABELS[2])
    assert found["confusion"] == {"no": {"no": 1, "yes": 0}, "yes": {"no": 0, "yes": 1}}


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
