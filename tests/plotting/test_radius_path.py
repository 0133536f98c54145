"""Plots of radius paths."""

import numpy as np
import pandas as pd
import pytest
from plots import labels
from problems import plain_svc
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score

from drsvm import radius_path
from drsvm.plotting import RadiusPathDisplay


@pytest.fixture(scope="module")
def path(problem):
    return radius_path(problem, [0.3, 0.1, 0.01])


def test_the_path_has_two_panels_with_weights_and_scores_and_the_best_radius(data, path, axes):
    rows, y = data
    held_out = {"X_test": rows[:50], "y_test": y[:50]}
    display = RadiusPathDisplay.from_path(path, X=rows, y=y, **held_out, radius=0.1, ax=axes, n_named=2)
    assert list(display.ax_) == list(axes)
    assert labels(axes[0])[0] == "3 others" and "training radius" in labels(axes[0])
    for result, train, held_out in zip(path.results, *display.scores.values(), strict=True):
        predicted = np.where(rows @ result.weights + result.intercept > 0, 1, -1)
        assert train == np.mean(predicted == y)
        assert held_out == np.mean(predicted[:50] == y[:50])
    drawn = {line.get_label(): line.get_ydata() for line in axes[1].lines}
    held_out = display.scores["held-out data"]
    np.testing.assert_array_equal(drawn["held-out data"], held_out)
    assert display.best_radius == max(path.radii[held_out == held_out.max()])
    for ax in axes:
        [mark] = [line for line in ax.lines if str(line.get_label()).startswith("best accuracy on held-out data")]
        assert mark.get_xdata()[0] == display.best_radius


def test_training_data_have_no_best_radius(data, path, axes):
    display = RadiusPathDisplay.from_path(path, X=data[0], y=data[1], ax=axes)
    assert display.best_radius is None and not any("best" in name for name in labels(axes[0]))


def test_from_data_solves_the_path_and_takes_the_names_of_the_columns(data, ax):
    rows, y = data
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "price in $", "e" * 40])
    options = {"radii": [0.0, 0.01, 0.3], "metric": balanced_accuracy_score, "kind": "weights", "ax": ax}
    display = RadiusPathDisplay.from_data(frame, np.where(y > 0, "yes", "no"), **options)
    expected = plain_svc(radius=0.3, tol=1e-8).fit(rows, y)
    np.testing.assert_allclose(display.weights[2], expected.coef_[0], atol=1e-3)
    assert set(labels(ax)) == {"a", "b", "c", r"price in \$", "e" * 22 + "…"}
    assert ax.get_xscale() == "symlog"  # 0 is among the radii
    assert display.score_name == "balanced accuracy"
    assert 0.5 < display.scores["training data"][1] <= 1


def test_sparse_rows_have_the_same_path(data, ax):
    rows, y = data
    free = {"radii": [0.05, 0.2], "intercept_cost": np.inf, "kind": "scores", "ax": ax}  # sparse rows have no centre
    dense = RadiusPathDisplay.from_data(rows, y, **free)
    compressed = RadiusPathDisplay.from_data(sparse.csr_array(rows), y, **free)
    np.testing.assert_array_equal(compressed.scores["training data"], dense.scores["training data"])


def test_the_path_rejects_bad_arguments(data, path, ax):
    rows, y = data
    for given, message in (
        ({"kind": "scores"}, "kind='scores' needs scores: give X and y"),
        ({"kind": "all"}, r"kind must be .* got kind='all'"),
        ({"X": rows, "y": y}, "needs 2 matplotlib axes as ax"),
        ({"X": rows[:, :4], "y": y}, "X has 4 features, but the path has 5"),
        ({"X_test": rows, "y_test": y}, "y is required with X_test"),
    ):
        with pytest.raises(ValueError, match=message):
            RadiusPathDisplay.from_path(path, ax=ax, **given)
    with pytest.raises(TypeError, match="path must be returned by radius_path, got list"):
        RadiusPathDisplay.from_path([1], ax=ax)


@pytest.mark.parametrize(
    ("scores", "best"), [([0.5, 0.9, 0.9, 0.8], 0.2), ([np.nan, 0.1, 0.2, np.nan], 0.1), ([1.0, 1.0, 1.0, 1.0], 0.4)]
)
def test_of_equal_scores_the_largest_radius_is_best(scores, best):
    radii = np.array([0.4, 0.2, 0.1, 0.0])
    display = RadiusPathDisplay(radii=radii, weights=np.zeros((4, 1)), scores={"held-out data": scores})
    assert display.best_radius == best
