"""Pictures: what they draw, checked against the numbers they are drawn from."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from drsvm import Problem, WassersteinSVC, radius_path, solve, worst_case_risk

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from drsvm.plotting import ConvergenceDisplay, RadiusPathDisplay, RiskCurveDisplay, WorstCaseDisplay
from drsvm.plotting.projection import plane_for
from drsvm.plotting.style import COLOURS, line_styles


@pytest.fixture(scope="module")
def data():
    """Return 120 rows with five features and two labels, a tenth of them wrong."""
    rng = np.random.default_rng(7)
    right = rng.choice([-1, 1], size=120)
    rows = rng.normal(size=(120, 5)) + 0.8 * right[:, None]
    return rows, np.where(rng.random(120) < 0.1, -right, right)


@pytest.fixture(scope="module")
def problem(data):
    return Problem(*data, radius=0.1, flip_cost=2.0, fit_intercept=True)


@pytest.fixture
def ax():
    return Figure().subplots()


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# Convergence


def test_convergence_draws_the_gaps_of_several_solvers(problem, ax):
    display = ConvergenceDisplay.from_problem(problem, ["interior-point", "ippa"], max_iter=15, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert labels(ax) == ["interior-point", "ippa"]
    for name, (line,) in display.lines_.items():
        gaps = display.histories[name].to_dict()["gap"]
        assert len(gaps) > 3
        np.testing.assert_allclose(line.get_ydata(), np.maximum(gaps, 1e-12))
    assert ax.get_yscale() == "log" and ax.get_xlabel() == "time in seconds"


def test_convergence_draws_objective_above_bound(problem, ax):
    result = solve(problem, callback=lambda progress: False)
    display = ConvergenceDisplay.from_results({"mine": result}, x="iteration", y="bounds", ax=ax)
    above, below = display.lines_["mine"]
    assert (above.get_ydata() >= below.get_ydata() - 1e-12).all()
    np.testing.assert_array_equal(above.get_xdata(), result.history.iteration)
    assert labels(ax) == ["mine"]


def test_runs_of_one_solver_have_names_of_their_own(problem, ax):
    result = solve(problem)
    display = ConvergenceDisplay.from_results([result, result], ax=ax)
    assert list(display.lines_) == [result.solver, f"{result.solver} (2)"]
    assert len(ConvergenceDisplay.from_results(result, ax=ax).lines_) == 1


def test_convergence_refuses_what_it_does_not_know(problem, ax):
    result = solve(problem)
    with pytest.raises(ValueError, match="x must be 'time' or 'iteration', got x='epoch'"):
        ConvergenceDisplay.from_results(result, x="epoch", ax=ax)
    with pytest.raises(ValueError, match="y must be 'gap' or 'bounds', got y='loss'"):
        ConvergenceDisplay.from_results(result, y="loss", ax=ax)
    with pytest.raises(TypeError, match="what solve returns, got LinearSVC for 'svm'"):
        ConvergenceDisplay.from_results({"svm": LinearSVC()}, ax=ax)


# Radius path


def test_the_path_has_two_panels_with_weights_and_scores(data, problem):
    rows, y = data
    path = radius_path(problem, [0.3, 0.1, 0.01])
    axes = Figure().subplots(1, 2)
    display = RadiusPathDisplay.from_path(
        path, X=rows, y=y, X_test=rows[:50], y_test=y[:50], radius=0.1, ax=axes, n_named=2
    )
    assert list(display.ax_) == list(axes)
    assert labels(axes[0])[0] == "3 others" and "trained for" in labels(axes[0])
    for result, train, held_out in zip(path.results, *display.scores.values(), strict=True):
        predicted = np.where(rows @ result.weights + result.intercept > 0, 1, -1)
        assert train == np.mean(predicted == y)
        assert held_out == np.mean(predicted[:50] == y[:50])
    drawn = {line.get_label(): line.get_ydata() for line in axes[1].lines}
    np.testing.assert_array_equal(drawn["held-out data"], display.scores["held-out data"])


def test_from_data_follows_the_path_itself_and_knows_the_names(data, ax):
    rows, y = data
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "price in $", "e" * 40])
    display = RadiusPathDisplay.from_data(
        frame,
        np.where(y > 0, "yes", "no"),
        radii=[0.0, 0.01, 0.3],
        metric=balanced_accuracy_score,
        kind="weights",
        ax=ax,
    )
    expected = solve(Problem(rows, y, radius=0.3, flip_cost=1.0, fit_intercept=True))
    np.testing.assert_allclose(display.weights[2], expected.weights, atol=1e-5)
    assert set(labels(ax)) == {"a", "b", "c", r"price in \$", "e" * 22 + "…"}
    assert ax.get_xscale() == "symlog"  # 0 is among the radii
    assert display.score_name == "balanced accuracy"
    assert 0.5 < display.scores["training data"][1] <= 1


def test_sparse_rows_have_the_same_path(data, ax):
    rows, y = data
    radii = [0.05, 0.2]
    dense = RadiusPathDisplay.from_data(rows, y, radii=radii, kind="scores", ax=ax)
    compressed = RadiusPathDisplay.from_data(sparse.csr_array(rows), y, radii=radii, kind="scores", ax=ax)
    np.testing.assert_array_equal(compressed.scores["training data"], dense.scores["training data"])


def test_the_path_refuses_what_does_not_fit(data, problem, ax):
    rows, y = data
    path = radius_path(problem, [0.1])
    with pytest.raises(TypeError, match="path must be what radius_path returns, got list"):
        RadiusPathDisplay.from_path([1], ax=ax)
    with pytest.raises(ValueError, match="kind='scores' needs scores: give X and y"):
        RadiusPathDisplay.from_path(path, kind="scores", ax=ax)
    with pytest.raises(ValueError, match=r"kind must be .* got kind='all'"):
        RadiusPathDisplay.from_path(path, kind="all", ax=ax)
    with pytest.raises(ValueError, match="needs 2 matplotlib axes as ax"):
        RadiusPathDisplay.from_path(path, X=rows, y=y, ax=ax)
    with pytest.raises(ValueError, match="X has 4 features, but the path has weights of 5"):
        RadiusPathDisplay.from_path(path, X=rows[:, :4], y=y, ax=ax)
    with pytest.raises(ValueError, match="y must be given along with X_test"):
        RadiusPathDisplay.from_path(path, X_test=rows, y_test=y, ax=ax)


# Risk curves


@pytest.mark.parametrize("loss", ["hinge", "zero-one"])
def test_risk_curves_are_those_of_worst_case_risk(data, ax, loss):
    rows, y = data
    models = {
        "robust": WassersteinSVC().fit(rows, y),
        "plain": make_pipeline(StandardScaler(), LinearSVC()).fit(rows, y),
    }
    ball = {"flip_cost": 2.0, "norm": 1, "loss": loss}
    display = RiskCurveDisplay.from_estimators(models, rows, y, radius=0.05, ax=ax, **ball)
    assert display.radii[0] == 0 and labels(ax) == ["robust", "plain", "trained for"]
    for name, model in models.items():
        expected = worst_case_risk(model, rows, y, radius=display.radii, **ball)
        np.testing.assert_array_equal(display.lines_[name].get_ydata(), expected)
    least = min(risks[-1] for risks in display.risks.values())
    assert 0.9 <= least / {"hinge": 1.0, "zero-one": 0.5}[loss] <= 1.3  # as far as the best one is worth anything


def test_risk_curves_name_a_list_of_classifiers_by_type(data, ax):
    rows, y = data
    models = [LinearSVC().fit(rows, y), LogisticRegression().fit(rows, y), LinearSVC(C=0.1).fit(rows, y)]
    display = RiskCurveDisplay.from_estimators(models, rows, y, radii=[0, 0.1], ax=ax)
    assert list(display.risks) == ["LinearSVC", "LogisticRegression", "LinearSVC (3)"]
    alone = RiskCurveDisplay.from_estimators(make_pipeline(models[0]), rows, y, radii=[0, 0.1], ax=ax)
    assert list(alone.risks) == ["LinearSVC"]
    arrays = RiskCurveDisplay.from_estimators((models[0].coef_, 0.0), rows, y, radii=[0, 0.1], ax=ax)
    assert list(arrays.risks) == ["classifier"]


def test_names_that_begin_with_an_underscore_are_in_the_legend(data, ax):
    rows, y = data
    RiskCurveDisplay.from_estimators({"_mine": LinearSVC().fit(rows, y)}, rows, y, radii=[0, 0.1], ax=ax)
    ax.figure.canvas.draw()  # a glyph that the font lacks would be a warning
    assert any(text.get_text().endswith("_mine") for text in ax.get_legend().get_texts())


def test_a_classifier_that_runs_away_does_not_flatten_the_others(data, ax):
    rows, y = data
    model = LinearSVC().fit(rows, y)
    models = {"modest": model, "loud": (100 * model.coef_[0], model.intercept_)}
    RiskCurveDisplay.from_estimators(models, rows, y, radii=np.linspace(0, 0.5, 5), ax=ax)
    modest = worst_case_risk(model, rows, y, radius=0.5)
    assert ax.get_ylim()[1] < 4 * modest


def test_risk_curves_refuse_what_they_cannot_judge(data, ax):
    rows, y = data
    with pytest.raises(ValueError, match="loss must be 'hinge' or 'zero-one', got loss='log'"):
        RiskCurveDisplay.from_estimators(LinearSVC().fit(rows, y), rows, y, loss="log", ax=ax)
    with pytest.raises(ValueError, match="estimators is empty"):
        RiskCurveDisplay.from_estimators({}, rows, y, ax=ax)
    with pytest.raises(ValueError, match="separates 3 classes: choose"):
        RiskCurveDisplay.from_estimators(LinearSVC().fit(rows, np.arange(120) % 3), rows, y, ax=ax)


# The worst case


def test_the_worst_case_of_two_features_is_drawn_as_it_is(data, ax):
    rows, y = data[0][:, :2], data[1]
    model = WassersteinSVC(radius=0.2, flip_cost=4.0).fit(rows, y)
    display = WorstCaseDisplay.from_estimator(model, rows, y, radius=0.2, flip_cost=4.0, ax=ax)
    distribution = display.distribution_
    np.testing.assert_array_equal(display.points, rows)
    flipped = np.isin(np.arange(120), distribution.rows[distribution.flipped])
    np.testing.assert_array_equal(display.flipped, flipped)
    assert display.n_moved == np.count_nonzero(distribution.shift) and 0 < len(display.moved_to) <= 40
    moved = {tuple(row) for row in np.round(distribution.features, 9)}
    assert all(tuple(row) in moved for row in np.round(display.moved_to, 9))
    values = rows @ display.normal + display.offset
    np.testing.assert_allclose(values, model.decision_function(rows))


def test_many_features_are_seen_over_the_decision_value(data, ax):
    rows, y = data
    model = LogisticRegression().fit(rows, y)
    display = WorstCaseDisplay.from_estimator(model, rows, y, radius=0.3, flip_cost=9.0, norm=1, ax=ax)
    np.testing.assert_allclose(display.points[:, 0], model.decision_function(rows))
    steps = display.moved_to - display.moved_from
    size = np.abs(model.coef_).max()  # the dual norm
    np.testing.assert_allclose(np.abs(steps[:, 0]), size * display.distribution_.shift.max())
    assert "moved" in " ".join(labels(ax)) and "of the samples moved by" in ax.get_title(loc="left")


def test_the_second_coordinate_is_the_first_principal_component_of_the_rest(data):
    rows, y = data
    coef = LinearSVC().fit(rows, y).coef_[0]
    unit = coef / np.linalg.norm(coef)
    rest = rows - np.outer(rows @ unit, unit)
    expected = np.linalg.svd(rest - rest.mean(axis=0))[2][0]
    for X in (rows, sparse.csr_array(rows), rows.astype(np.float32)):
        across = plane_for(X, coef, 0.0).axes[1]
        assert abs(across @ expected) == pytest.approx(1, abs=1e-4)
        assert across @ unit == pytest.approx(0, abs=1e-6)


def test_names_and_numbers_of_a_class_against_the_rest(data, ax):
    rows, _ = data
    y = np.array(["ant", "bee", "cat"])[np.arange(120) % 3]
    model = LinearSVC().fit(rows, y)
    WorstCaseDisplay.from_estimator(model, rows, y, radius=0.1, flip_cost=1.0, positive="bee", ax=ax)
    assert labels(ax)[:2] == ["the rest", "bee"]


def test_moves_too_short_to_be_seen_are_drawn_longer_and_labelled_so(data, ax):
    rows, y = data
    model = LinearSVC().fit(rows, y)
    display = WorstCaseDisplay.from_estimator(model, rows, y, radius=1e-4, flip_cost=99.0, ax=ax)
    (label,) = [text for text in labels(ax) if text.startswith("moved")]
    factor = int(re.search(r"arrows × (\d+)", label)[1])
    longest = np.abs((display.moved_to - display.moved_from) / np.ptp(display.points, axis=0)).max()
    assert 0.02 <= factor * longest <= 0.2
    assert set(str(factor)[1:]) <= {"0"} and str(factor)[0] in "125"


def test_long_names_leave_room_for_the_picture(data, ax):
    rows, y = data
    model = LinearSVC().fit(rows, np.where(y > 0, "p" * 80, "n" * 80))
    WorstCaseDisplay.from_estimator(model, rows, np.where(y > 0, "p" * 80, "n" * 80), radius=0.1, ax=ax)
    assert max(map(len, labels(ax))) <= 30


def test_of_many_samples_some_are_drawn(data, ax):
    rows, y = np.tile(data[0], (20, 1)), np.tile(data[1], 20)
    model = LinearSVC().fit(*data)
    display = WorstCaseDisplay.from_estimator(model, rows, y, radius=0.1, max_points=100, ax=ax)
    assert len(display.points) == 100 and len(np.unique(display.points, axis=0)) > 50
    with pytest.raises(ValueError, match="max_points must be at least 1, got max_points=0"):
        WorstCaseDisplay.from_estimator(model, rows, y, radius=0.1, max_points=0, ax=ax)


@pytest.mark.parametrize("n_features", [1, 2, 5])
@pytest.mark.parametrize("weights", [0.0, 1.0])
def test_corner_cases_are_drawn(data, ax, n_features, weights):
    """One feature, a classifier without weights, and separable data, where no worst distribution exists."""
    rows = data[0][:, :n_features]
    model = (np.full(n_features, weights), 0.1)
    WorstCaseDisplay.from_estimator(model, rows, data[1], radius=0.1, ax=ax)
    far = np.where(rows @ model[0] > 0, 1, -1)
    scaled = (50 * model[0] / max(np.abs(rows @ model[0]).min(), 1e-3), 0.0)
    WorstCaseDisplay.from_estimator(scaled, rows, far, radius=0.1, flip_cost=np.inf, ax=ax)
    assert np.isfinite(ax.get_xlim()).all() and np.isfinite(ax.get_ylim()).all()
    ax.figure.canvas.draw()


# All of them


def test_a_new_figure_is_made_where_none_is_given(data, monkeypatch):
    import matplotlib
    from matplotlib import pyplot as plt

    matplotlib.use("Agg")
    rows, y = data
    model = LinearSVC().fit(rows, y)
    for display in (
        RiskCurveDisplay.from_estimators(model, rows, y, radii=[0, 1]),
        WorstCaseDisplay.from_estimator(model, rows, y, radius=0.1),
        RadiusPathDisplay.from_data(rows, y, radii=[0.1, 0.2]),
    ):
        assert plt.fignum_exists(display.figure_.number)
        plt.close(display.figure_)


def test_no_two_lines_look_the_same():
    styles = [(style["color"], str(style["linestyle"])) for style in line_styles(12)]
    assert len(set(styles)) == 12
    assert len(set(COLOURS)) == 6 and all(colour.startswith("#") for colour in COLOURS)


def test_a_missing_matplotlib_is_named(data, monkeypatch):
    rows, y = data
    model = LinearSVC().fit(rows, y)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'RiskCurveDisplay draws with matplotlib: pip install "drsvm\[plot\]"'):
        RiskCurveDisplay.from_estimators(model, rows, y, radii=[0, 1])


def test_importing_the_displays_does_not_import_matplotlib():
    code = "import sys, drsvm.plotting, drsvm.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
