"""Plots of radius paths."""

import numpy as np
import pandas as pd
import pytest
from plots import labels
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from drsvm import ClippedScaler, WassersteinSVC
from drsvm.plotting import RadiusPathDisplay

RADII = [0.3, 0.1, 0.01]


def test_the_path_has_two_panels_with_weights_and_scores_and_the_best_radius(
    data, axes
):
    rows, y = data
    held_out = {"X_test": rows[:50], "y_test": y[:50]}
    model = WassersteinSVC(0.1, class_weight="balanced")
    display = RadiusPathDisplay.from_estimator(
        model, rows, y, **held_out, radii=RADII, ax=axes, n_named=2
    )
    assert list(display.ax_) == list(axes)
    assert labels(axes[0])[0] == "3 others" and "training radius" in labels(axes[0])
    for radius, weights, train, held_out in zip(
        RADII, display.weights, *display.scores.values(), strict=True
    ):
        alone = clone(model).set_params(radius=radius).fit(rows, y)
        np.testing.assert_array_equal(weights, alone.coef_[0])
        assert train == alone.score(rows, y) and held_out == alone.score(
            rows[:50], y[:50]
        )
    drawn = {line.get_label(): line.get_ydata() for line in axes[1].lines}
    held_out = display.scores["held-out data"]
    np.testing.assert_array_equal(drawn["held-out data"], held_out)
    assert display.best_radius == max(np.array(RADII)[held_out == held_out.max()])
    for ax in axes:
        [mark] = [
            line
            for line in ax.lines
            if str(line.get_label()).startswith("highest on held-out data")
        ]
        assert mark.get_xdata()[0] == display.best_radius


def test_training_data_have_no_best_radius(data, axes):
    display = RadiusPathDisplay.from_estimator(
        WassersteinSVC(), *data, radii=RADII, ax=axes
    )
    assert display.best_radius is None and not any(
        "highest" in name for name in labels(axes[0])
    )


def test_a_pipeline_takes_the_names_of_the_columns(data, ax):
    rows, y = data
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "price in $", "e" * 40])
    model = make_pipeline(ClippedScaler(), WassersteinSVC(0.01))
    options = {
        "radii": [0.0, 0.01, 0.3],
        "metric": balanced_accuracy_score,
        "kind": "weights",
        "ax": ax,
    }
    display = RadiusPathDisplay.from_estimator(
        model, frame, np.where(y > 0, "yes", "no"), **options
    )
    expected = WassersteinSVC(0.3).fit(ClippedScaler().fit_transform(rows), y)
    np.testing.assert_allclose(display.weights[2], expected.coef_[0], atol=1e-6)
    assert set(labels(ax)) == {
        "a",
        "b",
        "c",
        r"price in \$",
        "e" * 22 + "…",
        "training radius",
    }
    assert ax.get_xscale() == "symlog"  # 0 is among the radii
    assert display.score_name == "balanced accuracy" and display.radius == 0.01
    assert 0.5 < display.scores["training data"][1] <= 1
    turned = RadiusPathDisplay.from_estimator(
        model, frame, np.where(y > 0, "yes", "no"), positive="no", **options
    )
    np.testing.assert_array_equal(turned.weights, -display.weights)


def test_by_default_the_radii_end_where_all_weights_are_0(data, ax):
    rows, y = data
    classes = np.where(rows[:, 0] > 1, 2, y)  # three of them
    display = RadiusPathDisplay.from_estimator(
        WassersteinSVC(0.05),
        sparse.csr_array(rows),
        classes,
        n_radii=3,
        positive=-1,
        kind="scores",
        ax=ax,
    )
    assert (
        len(display.radii) == 4
        and display.radii[-1] > 300 * display.radii[0]
        and 0.05 in display.radii
    )
    alone = WassersteinSVC(float(display.radii[0])).fit(sparse.csr_array(rows), classes)
    np.testing.assert_array_equal(display.weights[0], alone.coef_[0])
    assert not display.weights[-1].any() and display.weights[:-1].any(axis=1).all()
    assert display.scores["training data"][0] == alone.score(rows, classes)


def test_the_path_rejects_bad_arguments(data, ax):
    for given, message in (
        ({"kind": "all"}, r"kind must be .* got kind='all'"),
        ({}, "needs 2 matplotlib axes as ax"),
        ({"X_test": data[0]}, "X_test and y_test must be given together"),
        ({"positive": "yes"}, r"positive='yes' is not one of the classes \[-1, 1\]"),
        (
            {"radii": None, "n_radii": 0},
            "n_radii must be an integer ≥ 1, got n_radii=0",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            RadiusPathDisplay.from_estimator(
                WassersteinSVC(0.1), *data, ax=ax, **{"radii": [0.1], **given}
            )
    with pytest.raises(ValueError, match="kind='scores' needs scores"):
        RadiusPathDisplay(radii=[0.1], weights=[[1.0]]).plot(ax, kind="scores")
    with pytest.raises(
        TypeError, match=r"estimator must be a WassersteinSVC.* got LinearSVC"
    ):
        RadiusPathDisplay.from_estimator(LinearSVC(), *data, ax=ax)


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([0.5, 0.9, 0.9, 0.8], 0.2),
        ([np.nan, 0.1, 0.2, np.nan], 0.1),
        ([1.0, 1.0, 1.0, 1.0], 0.4),
    ],
)
def test_of_equal_scores_the_largest_radius_is_best(scores, best):
    radii = np.array([0.4, 0.2, 0.1, 0.0])
    display = RadiusPathDisplay(
        radii=radii, weights=np.zeros((4, 1)), scores={"held-out data": scores}
    )
    assert display.best_radius == best
