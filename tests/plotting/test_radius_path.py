"""Plots of radius paths."""

import numpy as np
import pandas as pd
import pytest
from legends import labels
from problems import plain_svc
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score

from drsvm import radius_path
from drsvm.plotting import RadiusPathDisplay


def test_the_path_has_two_panels_with_weights_and_scores(data, problem):
    from matplotlib.figure import Figure

    rows, y = data
    path = radius_path(problem, [0.3, 0.1, 0.01])
    axes = Figure().subplots(1, 2)
    display = RadiusPathDisplay.from_path(
        path, X=rows, y=y, X_test=rows[:50], y_test=y[:50], radius=0.1, ax=axes, n_named=2
    )
    assert list(display.ax_) == list(axes)
    assert labels(axes[0])[0] == "3 others" and "training radius" in labels(axes[0])
    for result, train, held_out in zip(path.results, *display.scores.values(), strict=True):
        predicted = np.where(rows @ result.weights + result.intercept > 0, 1, -1)
        assert train == np.mean(predicted == y)
        assert held_out == np.mean(predicted[:50] == y[:50])
    drawn = {line.get_label(): line.get_ydata() for line in axes[1].lines}
    np.testing.assert_array_equal(drawn["held-out data"], display.scores["held-out data"])


def test_from_data_solves_the_path_and_takes_the_names_of_the_columns(data, ax):
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
    expected = plain_svc(radius=0.3, tol=1e-8).fit(rows, y)
    np.testing.assert_allclose(display.weights[2], expected.coef_[0], atol=1e-3)
    assert set(labels(ax)) == {"a", "b", "c", r"price in \$", "e" * 22 + "…"}
    assert ax.get_xscale() == "symlog"  # 0 is among the radii
    assert display.score_name == "balanced accuracy"
    assert 0.5 < display.scores["training data"][1] <= 1


def test_sparse_rows_have_the_same_path(data, ax):
    rows, y = data
    radii = [0.05, 0.2]
    free = {"radii": radii, "intercept_cost": np.inf, "kind": "scores", "ax": ax}  # sparse rows have no centre
    dense = RadiusPathDisplay.from_data(rows, y, **free)
    compressed = RadiusPathDisplay.from_data(sparse.csr_array(rows), y, **free)
    np.testing.assert_array_equal(compressed.scores["training data"], dense.scores["training data"])


def test_the_path_rejects_bad_arguments(data, problem, ax):
    rows, y = data
    path = radius_path(problem, [0.1])
    with pytest.raises(TypeError, match="path must be returned by radius_path, got list"):
        RadiusPathDisplay.from_path([1], ax=ax)
    with pytest.raises(ValueError, match="kind='scores' needs scores: give X and y"):
        RadiusPathDisplay.from_path(path, kind="scores", ax=ax)
    with pytest.raises(ValueError, match=r"kind must be .* got kind='all'"):
        RadiusPathDisplay.from_path(path, kind="all", ax=ax)
    with pytest.raises(ValueError, match="needs 2 matplotlib axes as ax"):
        RadiusPathDisplay.from_path(path, X=rows, y=y, ax=ax)
    with pytest.raises(ValueError, match="X has 4 features, but the path has 5"):
        RadiusPathDisplay.from_path(path, X=rows[:, :4], y=y, ax=ax)
    with pytest.raises(ValueError, match="y is required with X_test"):
        RadiusPathDisplay.from_path(path, X_test=rows, y_test=y, ax=ax)


def test_the_best_radius_on_held_out_data_is_marked(data, problem):
    from matplotlib.figure import Figure

    rows, y = data
    path = radius_path(problem, [0.3, 0.1, 0.01])
    axes = Figure().subplots(1, 2)
    display = RadiusPathDisplay.from_path(path, X=rows, y=y, X_test=rows[:50], y_test=y[:50], ax=axes)
    held_out = display.scores["held-out data"]
    assert display.best_radius == max(path.radii[held_out == held_out.max()])
    for ax in axes:
        [mark] = [line for line in ax.lines if str(line.get_label()).startswith("best accuracy on held-out data")]
        assert mark.get_xdata()[0] == display.best_radius
    display = RadiusPathDisplay.from_path(path, X=rows, y=y, ax=Figure().subplots(1, 2))
    assert display.best_radius is None and not any("best" in name for name in labels(display.ax_[0]))


@pytest.mark.parametrize(
    ("scores", "best"), [([0.5, 0.9, 0.9, 0.8], 0.2), ([np.nan, 0.1, 0.2, np.nan], 0.1), ([1.0, 1.0, 1.0, 1.0], 0.4)]
)
def test_of_equal_scores_the_largest_radius_is_best(scores, best):
    radii = np.array([0.4, 0.2, 0.1, 0.0])
    display = RadiusPathDisplay(radii=radii, weights=np.zeros((4, 1)), scores={"held-out data": scores})
    assert display.best_radius == best
