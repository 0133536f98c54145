"""Plots of label scores."""

import numpy as np
import pytest
from plots import labels

from drsvm import LabelIssuesDisplay, find_label_issues


@pytest.fixture(scope="module")
def issues(data):
    return find_label_issues(*data)


def test_the_bars_count_the_labels(issues, ax):
    display = LabelIssuesDisplay.from_result(issues, ax=ax)
    kept, flagged = display.counts_
    assert flagged.sum() == issues.is_label_issue.sum() > 0 and (kept + flagged).sum() == 120
    edges = np.linspace(0, 1, 41)
    np.testing.assert_array_equal(kept + flagged, np.histogram(issues.label_score, edges)[0])
    heights = np.array([bar.get_height() for bar in ax.patches])
    np.testing.assert_array_equal(heights, np.concatenate([kept, flagged]))
    assert [bar.get_y() for bar in ax.patches[40:]] == kept.tolist()  # the flagged ones are on top
    assert labels(ax) == [f"not flagged ({kept.sum()})", f"flagged ({flagged.sum()})"]
    assert ax.get_title(loc="left") == f"{issues.n_contradicted} of 120 labels contradicted"


def test_no_label_is_flagged(ax):
    display = LabelIssuesDisplay(label_score=[0.2, 1.0, 0.0], is_label_issue=[False] * 3).plot(ax)
    assert display.counts_.sum() == 3 and display.counts_[1].sum() == 0 and display.ax_ is ax
