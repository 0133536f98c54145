"""Overlapping classes and wrong labels are told apart."""

import numpy as np
import pytest

from drsvm import find_label_issues
from drsvm.report.stray_labels import stray_share


def issues(overlap, flipped, n=1500, n_classes=2, seed=0):
    """Return the label issues of normal classes, some of whose labels are flipped."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, 3))
    X[np.arange(n), y] += 3.0 / overlap
    wrong = rng.random(n) < flipped
    return find_label_issues(X, np.where(wrong, (y + 1) % n_classes, y))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("overlap", [1.5, 2.0, 3.0])
def test_overlap_is_not_taken_for_wrong_labels(overlap, n_classes):
    found = issues(overlap, 0.0, n_classes=n_classes)
    assert (found.margin < 0).sum() > 20 and stray_share(found) == 0.0


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_wrong_labels_are_counted(share):
    assert stray_share(issues(1.0, share)) == pytest.approx(share, abs=0.025)


def test_labels_without_contradictions():
    assert stray_share(issues(0.2, 0.0, n=200)) == 0.0
