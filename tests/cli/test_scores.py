"""Figures on rows with labels, computed by hand."""

import numpy as np
import pytest

from drsvm.cli.scores import by_class, summary
from drsvm.learn.scores import scores


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


def test_the_auc_of_several_classes_is_the_mean_of_each_against_the_rest():
    decisions = np.array([[2.0, 0, 1], [1, 2, 0], [3, 0, 2]])
    found = scores(decisions, np.array([0, 1, 2]), np.array([0, 1, 2]))
    assert found["roc_auc"] == pytest.approx((0.5 + 1 + 1) / 3)


def test_many_classes_are_not_printed():
    labels = np.arange(20)
    assert by_class(scores(np.eye(20), labels, labels)) == []
