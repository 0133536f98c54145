"""Plots of convergence and of label scores.

Figures, line styles and the optional dependency of all plots.
"""

import subprocess
import sys

import numpy as np
import pytest
from plots import labels
from sklearn.svm import LinearSVC

from drsvm import WassersteinSVC, find_label_issues, solve
from drsvm.plotting import (
    COLOURS,
    ConvergenceDisplay,
    LabelIssuesDisplay,
    RadiusPathDisplay,
    RiskCurveDisplay,
    WorstCaseDisplay,
    line_styles,
)


def test_convergence_draws_the_gaps_of_several_solvers(problem, ax):
    display = ConvergenceDisplay.from_problem(
        problem, ["interior-point", "ippa"], max_iter=15, ax=ax
    )
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert labels(ax) == ["interior-point", "ippa"]
    for name, (line,) in display.lines_.items():
        gaps = display.histories[name].to_dict()["gap"]
        assert len(gaps) > 3
        np.testing.assert_allclose(line.get_ydata(), np.maximum(gaps, 1e-12))
    assert ax.get_yscale() == "log" and ax.get_xlabel() == "time in seconds"


def test_convergence_draws_objective_above_bound(problem, ax):
    result = solve(problem, callback=lambda progress: False)
    display = ConvergenceDisplay.from_results(
        {"mine": result}, x="iteration", y="bounds", ax=ax
    )
    above, below = display.lines_["mine"]
    assert (above.get_ydata() >= below.get_ydata() - 1e-12).all()
    np.testing.assert_array_equal(above.get_xdata(), result.history.iteration)
    assert labels(ax) == ["mine"]


def test_runs_of_one_solver_have_different_names(problem, ax):
    result = solve(problem)
    display = ConvergenceDisplay.from_results([result, result], ax=ax)
    assert list(display.lines_) == [result.solver, f"{result.solver} (2)"]
    assert len(ConvergenceDisplay.from_results(result, ax=ax).lines_) == 1


def test_every_solver_looks_different_even_with_a_single_point(problem, ax):
    result = solve(problem)
    display = ConvergenceDisplay.from_results(
        {f"solver {k}": result for k in range(12)}, ax=ax
    )
    lines = [line for (line,) in display.lines_.values()]
    assert len({line.get_marker() for line in lines}) == 12
    assert (
        len(
            {
                (line.get_color(), str(line.get_linestyle()), line.get_marker())
                for line in lines
            }
        )
        == 12
    )
    assert len(labels(ax)) == 12
    with pytest.raises(
        ValueError, match="x must be 'time' or 'iteration', got x='epoch'"
    ):
        ConvergenceDisplay.from_results(result, x="epoch", ax=ax)
    with pytest.raises(ValueError, match="y must be 'gap' or 'bounds', got y='loss'"):
        ConvergenceDisplay.from_results(result, y="loss", ax=ax)
    with pytest.raises(
        TypeError, match="must be returned by solve, got LinearSVC for 'svm'"
    ):
        ConvergenceDisplay.from_results({"svm": LinearSVC()}, ax=ax)


def test_the_bars_count_the_labels(data, ax):
    issues = find_label_issues(*data)
    display = LabelIssuesDisplay.from_result(issues, ax=ax)
    kept, flagged = display.counts_
    assert (
        flagged.sum() == issues.is_label_issue.sum() > 0
        and (kept + flagged).sum() == 120
    )
    edges = np.linspace(0, 1, 41)
    np.testing.assert_array_equal(
        kept + flagged, np.histogram(issues.label_score, edges)[0]
    )
    heights = np.array([bar.get_height() for bar in ax.patches])
    np.testing.assert_array_equal(heights, np.concatenate([kept, flagged]))
    assert [
        bar.get_y() for bar in ax.patches[40:]
    ] == kept.tolist()  # the flagged ones are on top
    assert labels(ax) == [f"not flagged ({kept.sum()})", f"flagged ({flagged.sum()})"]
    assert (
        ax.get_title(loc="left")
        == f"{issues.n_contradicted} of 120 labels contradicted"
    )
    none_flagged = LabelIssuesDisplay(
        label_score=[0.2, 1.0, 0.0], is_label_issue=[False] * 3
    ).plot(ax)
    assert (
        none_flagged.counts_.sum() == 3
        and none_flagged.counts_[1].sum() == 0
        and none_flagged.ax_ is ax
    )


def test_a_new_figure_is_created_by_default(data, monkeypatch):
    import matplotlib
    from matplotlib import pyplot as plt

    matplotlib.use("Agg")
    rows, y = data
    model = LinearSVC().fit(rows, y)
    for display in (
        RiskCurveDisplay.from_estimators(model, rows, y, radii=[0, 1]),
        WorstCaseDisplay.from_estimator(model, rows, y, radius=0.1),
        RadiusPathDisplay.from_estimator(WassersteinSVC(), rows, y, radii=[0.1, 0.2]),
        LabelIssuesDisplay(label_score=[0.2, 1.0], is_label_issue=[True, False]).plot(),
    ):
        assert plt.fignum_exists(display.figure_.number)
        plt.close(display.figure_)


def test_no_two_lines_look_the_same_and_the_style_sheet_has_their_colours():
    from matplotlib import pyplot as plt

    styles = [(style["color"], str(style["linestyle"])) for style in line_styles(12)]
    assert len(set(styles)) == 12 and len(set(COLOURS)) == 6
    with plt.style.context("drsvm.plotting.quiet"):
        cycle = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    assert tuple(f"#{colour.lstrip('#')}" for colour in cycle) == COLOURS


def test_a_missing_matplotlib_is_named(data, monkeypatch):
    rows, y = data
    model = LinearSVC().fit(rows, y)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ImportError, match="RiskCurveDisplay needs matplotlib: pip install matplotlib"
    ):
        RiskCurveDisplay.from_estimators(model, rows, y, radii=[0, 1])


@pytest.mark.thorough
def test_importing_the_displays_does_not_import_matplotlib():
    code = "import sys, drsvm.plotting, drsvm.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
