"""Figures, line styles and the optional dependency."""

import subprocess
import sys

import pytest
from sklearn.svm import LinearSVC

from drsvm.plotting import LabelIssuesDisplay, RadiusPathDisplay, RiskCurveDisplay, WorstCaseDisplay
from drsvm.plotting.style import COLOURS, line_styles


def test_a_new_figure_is_created_by_default(data, monkeypatch):
    import matplotlib
    from matplotlib import pyplot as plt

    matplotlib.use("Agg")
    rows, y = data
    model = LinearSVC().fit(rows, y)
    for display in (
        RiskCurveDisplay.from_estimators(model, rows, y, radii=[0, 1]),
        WorstCaseDisplay.from_estimator(model, rows, y, radius=0.1),
        RadiusPathDisplay.from_data(rows, y, radii=[0.1, 0.2]),
        LabelIssuesDisplay(label_score=[0.2, 1.0], is_label_issue=[True, False]).plot(),
    ):
        assert plt.fignum_exists(display.figure_.number)
        plt.close(display.figure_)


def test_the_style_sheet_has_the_colours_of_the_displays():
    from matplotlib import pyplot as plt

    with plt.style.context("drsvm.plotting.quiet"):
        cycle = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    assert tuple(f"#{colour.lstrip('#')}" for colour in cycle) == COLOURS


def test_no_two_lines_look_the_same():
    styles = [(style["color"], str(style["linestyle"])) for style in line_styles(12)]
    assert len(set(styles)) == 12
    assert len(set(COLOURS)) == 6 and all(colour.startswith("#") for colour in COLOURS)


def test_a_missing_matplotlib_is_named(data, monkeypatch):
    rows, y = data
    model = LinearSVC().fit(rows, y)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="RiskCurveDisplay needs matplotlib: pip install matplotlib"):
        RiskCurveDisplay.from_estimators(model, rows, y, radii=[0, 1])


@pytest.mark.thorough
def test_importing_the_displays_does_not_import_matplotlib():
    code = "import sys, drsvm.plotting, drsvm.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
