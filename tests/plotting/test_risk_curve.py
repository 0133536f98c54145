"""Plots of risk curves."""

import numpy as np
import pytest
from plots import labels
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from drsvm import (
    WassersteinKernelSVC,
    WassersteinSVC,
    WorstCaseDisplay,
    worst_case_risk,
)
from drsvm.plotting import RiskCurveDisplay


@pytest.mark.parametrize("loss", ["hinge", "zero-one"])
def test_risk_curves_are_those_of_worst_case_risk(data, ax, loss):
    rows, y = data
    scaled = make_pipeline(StandardScaler(), LinearSVC())
    models = {"robust": WassersteinSVC().fit(rows, y), "plain": scaled.fit(rows, y)}
    ball = {"flip_cost": 2.0, "norm": 1, "loss": loss}
    display = RiskCurveDisplay.from_estimators(
        models, rows, y, radius=0.05, ax=ax, **ball
    )
    assert display.radii[0] == 0 and labels(ax) == [
        "robust",
        "plain",
        "training radius",
    ]
    for name, model in models.items():
        expected = worst_case_risk(model, rows, y, radius=display.radii, **ball)
        np.testing.assert_array_equal(display.lines_[name].get_ydata(), expected)
    least = min(risks[-1] for risks in display.risks.values())
    assert (
        0.9 <= least / {"hinge": 1.0, "zero-one": 0.5}[loss] <= 1.3
    )  # where the best is no better than chance


def test_a_confidence_adds_a_band_up_to_what_holds_for_the_population(data, ax):
    rows, y = data
    model = WassersteinSVC(radius=0.1).fit(rows, y)
    asked = {
        "loss": "zero-one",
        "limit": "row",
        "costs": {-1: 1.0, 1: 4.0},
        "confidence": 0.9,
    }
    display = RiskCurveDisplay.from_estimators({"own": model}, rows, y, ax=ax, **asked)
    bound = worst_case_risk(model, rows, y, radius=display.radii, **asked)
    np.testing.assert_array_equal(display.bounds["own"], bound)
    assert labels(ax) == ["own", "own: population, 90%"] and set(display.bands_) == {
        "own"
    }
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "largest shift of a row",
        "worst-case cost of a row",
    )


def test_the_adversary_is_by_default_that_of_the_training(data, ax):
    rows, y = data
    robust = WassersteinSVC(radius=0.1, norm=1).fit(rows, y)
    plain = LinearSVC().fit(rows, y)
    flips = WassersteinSVC(radius=0.1, flip_cost=1.0, norm=1).fit(rows, y)
    for model in (robust, flips, make_pipeline(flips)):
        display = RiskCurveDisplay.from_estimators(
            {"own": model, "plain": plain}, rows, y, radii=[0.1, 0.2], ax=ax
        )
        np.testing.assert_array_equal(
            display.risks["own"], worst_case_risk(model, rows, y, radius=[0.1, 0.2])
        )
        ball = {"flip_cost": np.inf if model is robust else 1.0, "norm": 1}
        risks = worst_case_risk(plain, rows, y, radius=[0.1, 0.2], **ball)
        np.testing.assert_array_equal(display.risks["plain"], risks)
    others = RiskCurveDisplay.from_estimators(plain, rows, y, radii=[0.1], ax=ax).risks[
        "LinearSVC"
    ]
    assert others == worst_case_risk(
        plain, rows, y, radius=0.1, flip_cost=np.inf, norm=2
    )
    with pytest.raises(
        ValueError, match=r"flip_cost is required: .* \(a: inf, b: 1.0\)"
    ):
        RiskCurveDisplay.from_estimators({"a": robust, "b": flips}, rows, y, ax=ax)
    by_class = WassersteinSVC(radius=0.1, flip_cost={-1: 1.0, 1: np.inf}).fit(rows, y)
    with pytest.raises(
        ValueError, match="flip_cost is required for this WassersteinSVC"
    ):
        RiskCurveDisplay.from_estimators(by_class, rows, y, ax=ax)


def test_risk_curves_name_a_list_of_classifiers_by_type(data, ax):
    rows, y = data
    models = [
        LinearSVC().fit(rows, y),
        LogisticRegression().fit(rows, y),
        LinearSVC(C=0.1).fit(rows, y),
    ]
    display = RiskCurveDisplay.from_estimators(models, rows, y, radii=[0, 0.1], ax=ax)
    assert list(display.risks) == ["LinearSVC", "LogisticRegression", "LinearSVC (2)"]
    alone = RiskCurveDisplay.from_estimators(
        make_pipeline(models[0]), rows, y, radii=[0, 0.1], ax=ax
    )
    assert list(alone.risks) == ["LinearSVC"]
    arrays = RiskCurveDisplay.from_estimators(
        (models[0].coef_, 0.0), rows, y, radii=[0, 0.1], ax=ax
    )
    assert list(arrays.risks) == ["classifier"]


def test_a_huge_risk_does_not_flatten_the_others_and_a_leading_underscore_hides_no_name(
    data, ax
):
    rows, y = data
    model = LinearSVC().fit(rows, y)
    models = {"_modest": model, "loud": (100 * model.coef_[0], model.intercept_)}
    RiskCurveDisplay.from_estimators(
        models, rows, y, radii=np.linspace(0, 0.5, 5), ax=ax
    )
    ax.figure.canvas.draw()  # a missing glyph would cause a warning
    assert labels(ax)[0].endswith("_modest")
    assert ax.get_ylim()[1] < 4 * worst_case_risk(model, rows, y, radius=0.5)


def test_risk_curves_reject_bad_arguments(data, ax):
    rows, y = data
    with pytest.raises(
        ValueError, match="loss must be 'hinge' or 'zero-one', got loss='log'"
    ):
        RiskCurveDisplay.from_estimators(
            LinearSVC().fit(rows, y), rows, y, loss="log", ax=ax
        )
    with pytest.raises(ValueError, match="estimators is empty"):
        RiskCurveDisplay.from_estimators({}, rows, y, ax=ax)
    with pytest.raises(ValueError, match="SVC compares pairs of classes"):
        RiskCurveDisplay.from_estimators(
            SVC(kernel="linear").fit(rows, np.arange(120) % 3), rows, y, ax=ax
        )


def test_risk_curves_of_three_classes(data, ax):
    rows, _ = data
    y = np.argmax(rows[:, :3], axis=1)
    models = [LinearSVC().fit(rows, y), LogisticRegression().fit(rows, y)]
    display = RiskCurveDisplay.from_estimators(models, rows, y, loss="zero-one", ax=ax)
    for name, model in zip(("LinearSVC", "LogisticRegression"), models, strict=True):
        risks = worst_case_risk(model, rows, y, radius=display.radii, loss="zero-one")
        np.testing.assert_array_equal(display.risks[name], risks)
        assert risks[0] == pytest.approx(1 - model.score(rows, y)) and risks[-1] > 0.4


def test_the_upper_bound_of_a_kernel_is_called_so(data, ax):
    rows = data[0][:40, :2]
    y = data[1][:40]
    models = {
        "curved": WassersteinKernelSVC().fit(rows, y),
        "straight": WassersteinSVC().fit(rows, y),
    }
    display = RiskCurveDisplay.from_estimators(
        models, rows, y, radii=[0.0, 0.1, 0.4], loss="zero-one", ax=ax
    )
    assert display.bands_ == {}
    assert labels(ax) == ["curved: upper bound", "straight"]
    with pytest.raises(ValueError, match="known for linear classifiers only"):
        WorstCaseDisplay.from_estimator(models["curved"], rows, y, ax=ax)


def test_groups_of_rows_have_curves_of_their_own(data, ax):
    rows, y = data
    groups = np.where(np.arange(len(y)) % 3, "many", "few")
    # A pipeline has a length, and a pair of weights and intercept is a sequence.
    scaled = make_pipeline(StandardScaler(), LinearSVC()).fit(rows, y)
    asked = {"loss": "zero-one", "confidence": 0.9, "norm": 2, "flip_cost": np.inf}
    display = RiskCurveDisplay.from_estimators(
        scaled, rows, y, groups=groups, ax=ax, **asked
    )
    expected = worst_case_risk(
        scaled, rows, y, radius=display.radii, groups=groups, **asked
    )
    assert list(display.bounds) == expected.groups == ["few", "many"]
    np.testing.assert_array_equal(list(display.bounds.values()), expected.risks)
    assert set(labels(ax)) >= {"few", "many: population, 90%"}
    models = {"curved": SVC().fit(rows, y), "straight": scaled}
    display = RiskCurveDisplay.from_estimators(
        models, rows, y, groups=groups, radii=[0.0, 0.1], ax=ax
    )
    names = ["curved: few", "curved: many", "straight: few", "straight: many"]
    assert list(display.risks) == names and display.with_kernel == names[:2]
