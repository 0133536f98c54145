"""Reports as files, and bad arguments."""

import os
import sys

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from drsvm.report import Report, make_report


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "page.html"
    assert Report(html="größer", summary={}).save(target) == target
    assert target.read_text(encoding="utf-8") == "größer"
    assert target.stat().st_mode & 0o777 == 0o666 & ~_umask()

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="the disk is full"):
        Report(html="new", summary={}).save(target)
    assert target.read_text(encoding="utf-8") == "größer"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist"):
        Report(html="new", summary={}).save(tmp_path / "nowhere" / "page.html")


def _umask():
    current = os.umask(0)
    os.umask(current)
    return current


def test_bad_input_is_rejected(noisy, monkeypatch):
    X, y, X_test, y_test, _, _ = noisy
    with pytest.raises(ValueError, match="X_test and y_test must be given together"):
        make_report(None, X, y, X_test=X_test)
    with pytest.raises(ValueError, match=r"feature_names has 2 entries, but X has shape \(400, 30\)"):
        make_report(None, X, y, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="row_names has 1 entries, but X has 400 rows: give one per row"):
        make_report(None, X, y, row_names=["first"])
    with pytest.raises(TypeError, match=r"model must be a WassersteinSVC, .* got LinearSVC"):
        make_report(LinearSVC(), X, y)
    with pytest.raises(ValueError, match="y_test has the label 'unknown', but the training data have"):
        make_report(None, X, y, X_test=X_test, y_test=np.where(np.arange(169) == 3, "unknown", y_test))
    with pytest.raises(ValueError, match="X_test has 169 rows, but y_test has 5 labels"):
        make_report(None, X, y, X_test=X_test, y_test=y_test[:5])
    with pytest.raises(ValueError, match=r"test_size must be a share from 0 to below 1, such as 0.25, got 200"):
        make_report(None, X, y, test_size=200)
    with pytest.raises(ValueError, match="one class"):
        make_report(None, X, np.zeros(400))
    with pytest.raises(TypeError, match="progress must be a function"):
        make_report(None, X, y, progress=True)
    for package in ("jinja2", "matplotlib"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=f"make_report needs {package}: pip install {package}"):
            make_report(None, X, y)
