"""The input of a report: names, settings and preprocessing."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_circles
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from drsvm import ClippedScaler, WassersteinKernelSVC, WassersteinSVC, worst_case_risk
from drsvm.estimators.search import WassersteinSVCCV
from drsvm.report import make_report

pytestmark = pytest.mark.usefixtures("no_plots")


def test_rows_have_the_given_names(noisy):
    X = noisy[0][:, :5]
    y = noisy[1]
    names = {
        "row_names": [f"patient {k}" for k in range(400)],
        "row_note": "Named by <patient>.",
    }
    named = make_report(None, X, y, test_size=0, **names)
    numbered = make_report(None, X, y, test_size=0)
    rows = numbered.summary["labels_to_check"]
    assert named.summary["labels_to_check"] == [f"patient {row}" for row in rows]
    assert f"patient {rows[0]}<" in named.html
    assert (
        "Named by &lt;patient&gt;." in named.html
        and "numbered from 0" not in named.html
    )
    assert "Rows are numbered from 0." in numbered.html
    assert (
        "Rows are named by the index of the data frame."
        in make_report(None, pd.DataFrame(X[:100]), y[:100]).html
    )


def test_the_report_uses_the_settings_of_the_model(noisy):
    X, y, *_ = noisy
    model = WassersteinSVC(
        radius=0.2, flip_cost=np.inf, norm=1, l2=0.01, class_weight="balanced"
    )
    summary = make_report(model, X[:, :6], y, test_size=0).summary
    assert (
        summary["radius"],
        summary["flip_cost"],
        summary["norm"],
        summary["l2"],
    ) == (0.2, "inf", 1.0, 0.01)
    rows = ClippedScaler().fit_transform(X[:, :6])
    assert summary["objective"] == pytest.approx(
        model.fit(rows, y).objective_, abs=1e-7
    )
    # All rows count the same in what is shown, whatever their weights in the fit.
    risk = summary["models"]["WassersteinSVC"]["worst_case_risk"]
    assert risk == pytest.approx(worst_case_risk(model, rows, y), rel=1e-6)
    assert summary["flipped_share"] == 0 < summary["moved_share"]


def test_a_pipeline_keeps_its_steps_and_names(noisy):
    X, y, *_ = noisy
    pipeline = make_pipeline(ClippedScaler(), PCA(3), WassersteinSVC())
    made = make_report(pipeline, X, y, feature_names=[f"f{k}" for k in range(30)])
    assert set(made.summary["weights"]) == {"pca0", "pca1", "pca2"}


def test_a_data_frame_with_text_goes_through_the_pipeline(noisy):
    X, y, *_ = noisy
    frame = pd.DataFrame(
        {"size": X[:, 0], "shape": np.where(X[:, 4] > 0.1, "rough", "smooth")}
    )
    columns = make_column_transformer(
        (ClippedScaler(), ["size"]), (OneHotEncoder(), ["shape"])
    )
    made = make_report(
        make_pipeline(columns, WassersteinSVC()), frame, pd.Series(y, name="tumour")
    )
    names = {
        "clippedscaler__size",
        "onehotencoder__shape_rough",
        "onehotencoder__shape_smooth",
    }
    assert set(made.summary["weights"]) == names
    words = " ".join(made.summary["in_plain_words"])
    assert made.summary["label"] == "tumour" and "in units of each feature" in words


@pytest.mark.thorough
def test_the_report_uses_the_parameters_chosen_by_the_fit(noisy):
    X, y, *_ = noisy
    plain = {"l2": 0.0, "class_weight": None, "threshold": "optimum"}
    model = WassersteinSVCCV(
        radii=[0.3, 0.1], flip_costs=[2.0], intercept_costs=np.inf, cv=2, **plain
    )
    summary = make_report(model, X[:100, :5], y[:100], test_size=0).summary
    assert summary["radius"] in (0.1, 0.3) and summary["flip_cost"] == 2.0
    assert summary["models"]["WassersteinSVCCV"]["worst_case_risk"] == pytest.approx(
        summary["objective"], rel=1e-9
    )
    assert (
        0
        < make_report(WassersteinSVC(radius="auto"), X[:100, :5], y[:100]).summary[
            "radius"
        ]
        < 1
    )


@pytest.mark.thorough
def test_sparse_data_are_scaled_without_centring(noisy):
    X = noisy[0][:150, 4:10]
    y = noisy[1][:150]
    X = X * (np.median(X, axis=0) < X)
    summary = make_report(None, sparse.csr_matrix(X), y, test_size=0).summary
    expected = WassersteinSVC().fit(
        sparse.csr_array(ClippedScaler(with_mean=False).fit_transform(X)), y
    )
    assert summary["objective"] == pytest.approx(expected.objective_, abs=1e-7)
    unscaled = make_report(None, X, y, standardise=False, test_size=0).summary
    assert unscaled["objective"] == pytest.approx(
        WassersteinSVC().fit(X, y).objective_, abs=1e-6
    )


@pytest.mark.parametrize("cost", [np.inf, {0: 3.0, 1: 1.0}])
def test_a_kernel_is_judged_in_units_of_the_features(cost):
    """The ball of the feature space becomes one of shifts of the features.

    The figures are upper bounds for it.
    """
    X, y = make_circles(120, noise=0.1, factor=0.4, random_state=0)
    model = WassersteinKernelSVC(gamma=0.5, flip_cost=cost)
    made = make_report(model, X, y, standardise=False, test_size=0)
    summary = made.summary
    fitted = model.fit(X, y)
    assert summary["radius"] == pytest.approx(
        fitted.radius_
    )  # rbf with γ = 1/2 stretches shifts by 1 at most
    own = summary["models"]["WassersteinKernelSVC"]
    costs = cost if np.isscalar(cost) else np.where(y == 0, 3.0, 1.0)
    bound = worst_case_risk(
        fitted, X, y, radius=fitted.radius_, flip_cost=costs, norm=2, loss="zero-one"
    )
    assert own["worst_case_error"] == pytest.approx(bound) and own["roc_auc"] > 0.99
    assert (
        summary["radius_path"]
        is summary["importances"]
        is summary["moved_share"]
        is None
    )
    assert "importances need held-out rows" in made.markdown


@pytest.mark.parametrize("radius", [0.004, 0.04])
def test_audits_are_about_shifts_of_practical_size(noisy, radius):
    X, y = noisy[0][:200, :4], noisy[1][:200]
    model = WassersteinSVC(radius=radius, flip_cost=1.0)
    made = make_report(model, X, y, test_size=0)
    shifts = made.summary["bounds"]["shifted_features"]["shift"]
    audit = {"radius": 0.1, "flip_cost": np.inf}
    if radius == 0.04:
        audit = {"radius": 0.04, "flip_cost": 1.0}
        shifts.remove(0.04)
    assert shifts == [0.0, 0.05, 0.1, 0.2]
    assert made.summary["audit_radius"] == audit["radius"]
    fitted = make_pipeline(ClippedScaler(), model).fit(X, y)
    worst = worst_case_risk(fitted, X, y, loss="zero-one", **audit)
    own = made.summary["models"]["WassersteinSVC"]
    assert own["worst_case_error"] == pytest.approx(worst)
    assert (f"{radius} standard deviations on" in made.markdown) == (radius == 0.04)


def test_bounds_of_a_kernel_are_marked_beside_exact_values():
    X, y = make_circles(120, noise=0.1, factor=0.4, random_state=0)
    made = make_report(WassersteinKernelSVC(), X, y)
    assert made.summary["worst_case_is_exact"] is False
    for name in ("worst-case error rate[^|]*", "0.05", "0.1", "0.2"):
        row = re.search(rf"^\| {name} ?\|(.*)$", made.markdown, re.MULTILINE)
        bound, *others = row[1].split("|")
        assert "≤" in bound and "≤" not in "".join(others)
