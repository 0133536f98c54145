"""The demonstration: it runs anywhere, needs matplotlib and no other extra, and prints what it promises."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import drsvm
import drsvm.demo

OTHER_EXTRAS = ["clarabel", "highspy", "cvxpy", "typer", "rich", "skops", "pyarrow", "pandas", "hypothesis"]

WITHOUT_OTHER_EXTRAS = f"""
import runpy, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OTHER_EXTRAS!r}:
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
runpy.run_module("drsvm.demo", run_name="__main__")
"""


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    """Return the folder in which it ran, and what it printed."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-W", "error", "-c", WITHOUT_OTHER_EXTRAS]
    run = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    return folder, run.stdout


def environment():
    package = str(Path(drsvm.__file__).parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": os.pathsep.join(paths)}


def test_it_prints_a_proven_optimum(demonstration):
    _, printed = demonstration
    assert "Result: optimal" in printed
    objective, bound = (float(re.search(rf"{name} +([\d.]+)", printed)[1]) for name in ("objective", "lower bound"))
    assert 0 <= objective - bound <= 1e-8


def test_it_prints_the_figures_of_both_classifiers(demonstration):
    _, printed = demonstration
    figures = {
        name: tuple(map(float, re.search(rf"{name} +([\d.]+) +([\d.]+)", printed).groups()))
        for name in ("worst-case risk", "worst-case error rate", "accuracy, clean test set")
    }
    robust, plain = figures["worst-case risk"]
    assert robust <= plain  # it was trained for just that
    robust, plain = figures["accuracy, clean test set"]
    assert robust >= 0.85 and 0 < plain <= 1
    assert all(0 <= figure <= 1 for figure in figures["worst-case error rate"])


def test_it_saves_a_picture_where_it_runs(demonstration):
    folder, printed = demonstration
    assert [path.name for path in folder.iterdir()] == [drsvm.demo.PICTURE]
    picture = folder / drsvm.demo.PICTURE
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000
    assert f"Picture: {picture.resolve()}" in printed


def test_a_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'drsvm\[plot\]'"):
        drsvm.demo.draw(*[None] * 7)
