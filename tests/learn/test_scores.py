"""Figures on labelled rows agree with those of scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, roc_auc_score

from drsvm.learn.scores import predictions, scores

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


def test_what_does_not_exist_is_none():
    found = scores(np.array([1.0, 2.0]), np.array(["yes", "yes"]), LABELS[2])
    assert found["roc_auc"] is None and found["recall"] == {"no": None, "yes": 1.0}
    assert found["precision"] == {"no": None, "yes": 1.0}


def test_rows_with_other_labels_are_in_no_cell_of_the_matrix():
    found = scores(np.array([1.0, -1.0, 2.0]), np.array(["yes", "no", "zebra"]), LABELS[2])
    assert found["confusion"] == {"no": {"no": 1, "yes": 0}, "yes": {"no": 0, "yes": 1}}
