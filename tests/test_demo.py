"""The demonstration: it runs anywhere, needs no extra except plot, and prints the
expected results.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import drsvm
import drsvm.demo

OTHER_EXTRAS = [
    "clarabel",
    "highspy",
    "cvxpy",
    "typer",
    "rich",
    "skops",
    "pyarrow",
    "pandas",
    "hypothesis",
]

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
    """Return the folder of a run, and its output."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-W", "error", "-c", WITHOUT_OTHER_EXTRAS]
    paths = [
        str(Path(drsvm.__file__).parent.parent),
        *filter(None, [os.environ.get("PYTHONPATH")]),
    ]
    environment = {
        **os.environ,
        "MPLBACKEND": "Agg",
        "PYTHONPATH": os.pathsep.join(paths),
    }
    run = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return folder, run.stdout


def test_it_prints_a_proven_optimum_and_the_figures_of_all_classifiers(demonstration):
    _, printed = demonstration
    assert re.search(r"status +optimal", printed)
    objective, bound = (
        float(re.search(rf"{name} +([\d.]+)", printed)[1])
        for name in ("objective", "lower bound")
    )
    assert 0 <= objective - bound <= 1e-6
    figures = {
        name: [
            float(figure)
            for figure in re.search(rf"{name} +([\d. ]+)", printed)[1].split()
        ]
        for name in (
            "worst-case risk",
            "worst-case error rate",
            "accuracy, clean test set",
        )
    }
    assert [len(row) for row in figures.values()] == [
        3,
        3,
        4,
    ]  # trees have no worst case
    robust, *rivals = figures["worst-case risk"]
    assert robust <= min(rivals)  # it was trained for this
    robust, plain, *_ = figures["accuracy, clean test set"]
    assert "(always answering benign: accuracy 0." in printed
    assert robust >= plain + 0.01 and robust >= 0.9
    assert all(0 <= figure <= 1 for figure in figures["worst-case error rate"])
    suspect, wrong = map(
        int,
        re.search(r"Of the (\d+) training labels .* most, (\d+) are", printed).groups(),
    )
    assert suspect >= 10 and wrong >= 0.8 * suspect


def test_it_saves_a_report_in_the_current_folder(demonstration):
    folder, printed = demonstration
    report = folder / drsvm.demo.REPORT
    assert [path.name for path in folder.iterdir()] == [report.name]
    assert report.read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert re.search(rf"Report: +{re.escape(str(report.resolve()))}", printed)


def test_only_training_labels_are_wrong():
    data = drsvm.demo.load()
    assert 0.1 < data.wrong.mean() < 0.3
    names = load_breast_cancer()
    correct = {
        tuple(row): name
        for row, name in zip(names.data, names.target_names[names.target], strict=True)
    }
    np.testing.assert_array_equal(
        [correct[tuple(row)] for row in data.X] != data.y, data.wrong
    )
    np.testing.assert_array_equal(
        [correct[tuple(row)] for row in data.X_test], data.y_test
    )


def test_the_report_is_written_at_the_end_or_not_at_all(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="matplotlib"):
        drsvm.demo.main()
    assert list(tmp_path.iterdir()) == []
