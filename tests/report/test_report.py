"""Reports as files, and bad arguments."""

import errno
import os
import sys

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from drsvm import WassersteinKernelSVC
from drsvm.report import Report, make_report


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "page.html"
    assert Report(html="größer", summary={}).save(target) == target

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        Report(html="new", summary={}).save(target)
    assert target.read_text(encoding="utf-8") == "größer"
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist"):
        Report(html="new", summary={}).save(tmp_path / "nowhere" / "page.html")


def test_bad_input_is_rejected(noisy, monkeypatch):
    X, y, X_test, y_test, _, _ = noisy
    unknown = np.where(np.arange(169) == 3, "unknown", y_test)
    for given, message in (
        ({"X_test": X_test}, "X_test and y_test must be given together"),
        (
            {"feature_names": ["a", "b"]},
            r"feature_names has 2 entries, but X has shape \(400, 30\)",
        ),
        (
            {"row_names": ["first"]},
            "row_names has 1 entries, but X has 400 rows: give one per row",
        ),
        (
            {"X_test": X_test, "y_test": unknown},
            "y_test has the label 'unknown', but the training data have",
        ),
        (
            {"X_test": X_test, "y_test": y_test[:5]},
            "X_test has 169 rows, but y_test has 5 labels",
        ),
        (
            {"test_size": 200},
            "test_size must be a share from 0 to below 1, such as 0.25, got 200",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            make_report(None, X, y, **given)
    with pytest.raises(
        TypeError, match=r"model must be a WassersteinSVC or .* got LinearSVC"
    ):
        make_report(LinearSVC(), X, y)
    with pytest.raises(
        ValueError,
        match="a report needs kernel='rbf' or a linear classifier, got kernel='poly'",
    ):
        make_report(WassersteinKernelSVC("poly"), X, y)
    with pytest.raises(ValueError, match="one class"):
        make_report(None, X, np.zeros(400))
    with pytest.raises(TypeError, match="progress must be a function"):
        make_report(None, X, y, progress=True)
    for package in ("jinja2", "matplotlib"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(
            ImportError, match=f"make_report needs {package}: pip install {package}"
        ):
            make_report(None, X, y)
