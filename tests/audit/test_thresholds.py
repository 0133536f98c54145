"""scikit-learn's wrappers with a threshold have the worst case of a classifier that decides likewise."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from thorough import examples

from drsvm import (
    WassersteinKernelSVC,
    WassersteinSVC,
    WassersteinSVCCV,
    worst_case_distribution,
    worst_case_risk,
)
from drsvm.audit import final_classifier, last_step, threshold_around, transformed
from drsvm.defaults.probability import decision_at, probabilities
from drsvm.plotting import RiskCurveDisplay

BALL = {"radius": 0.05, "l2": 0.01}
MODELS = {
    "ours": WassersteinSVC(**BALL),
    "calibrated": WassersteinSVC(**BALL, calibration="sigmoid"),
    "search": WassersteinSVCCV(radii=[0.05], l2=0.01, cv=2, calibration="sigmoid"),
    "kernel": WassersteinKernelSVC(
        gamma=0.1, n_landmarks=20, **BALL, calibration="sigmoid"
    ),
    "LinearSVC": LinearSVC(),
    "LogisticRegression": LogisticRegression(),
}
AROUND = {
    "alone": lambda model, wrapper: wrapper(model),
    "frozen": lambda model, wrapper: wrapper(FrozenEstimator(model)),
    "around a pipeline": lambda model, wrapper: wrapper(
        make_pipeline(StandardScaler(), model)
    ),
    "in a pipeline": lambda model, wrapper: make_pipeline(
        StandardScaler(), wrapper(model)
    ),
    "in and around": lambda model, wrapper: make_pipeline(
        StandardScaler(), wrapper(make_pipeline(StandardScaler(), model))
    ),
    "around another": lambda model, wrapper: wrapper(
        FixedThresholdClassifier(model, threshold=0.123)
    ),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = 2.0 * rng.normal(size=(120, 3)) + 1.0
    return (
        X,
        np.where(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=120) > 2.0, "yes", "no"),
        3.0 * rng.normal(size=(200, 3)),
    )


def predicted(model, new):
    """Return the labels by the decision function that is audited."""
    classifier = final_classifier(model)
    new = transformed(model, new)
    return classifier.classes_[(classifier.decision_function(new) > 0).astype(int)]


@pytest.fixture(scope="module")
def fitted(rows):
    return {name: model.fit(*rows[:2]) for name, model in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_those_of_the_wrapper(name, fitted, rows):
    methods = [
        "auto",
        "decision_function",
        *(["predict_proba"] if hasattr(fitted[name], "predict_proba") else []),
    ]
    places = ("auto", -0.7, 0.0, 0.05, 0.37, 0.5, 0.62, 0.98, 1.0, 1.3)
    for method, label, place in itertools.product(methods, ("yes", "no", None), places):
        model = FixedThresholdClassifier(
            fitted[name], threshold=place, pos_label=label, response_method=method
        )
        expected = model.predict(rows[2])
        np.testing.assert_array_equal(
            predicted(model, rows[2]), expected, err_msg=f"{method} {label} {place}"
        )
        error = worst_case_risk(
            model,
            rows[2],
            rows[1][:1].repeat(200),
            radius=0.0,
            loss="zero-one",
            flip_cost=1.0,
        )
        assert error == pytest.approx(np.mean(expected != rows[1][0]), abs=1e-12)


@pytest.mark.parametrize("way", AROUND)
def test_wrappers_in_and_around_pipelines(way, fitted, rows):
    X, y, new = rows
    for name in ("calibrated", "LogisticRegression", "LinearSVC"):
        for label in ("yes", "no"):
            model = AROUND[way](
                MODELS[name] if way != "frozen" else fitted[name],
                partial(FixedThresholdClassifier, threshold=0.3, pos_label=label),
            )
            np.testing.assert_array_equal(
                predicted(model.fit(X, y), new), model.predict(new)
            )


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1", "recall of no"])
@pytest.mark.parametrize("name", ["ours", "calibrated", "LogisticRegression"])
def test_tuned_thresholds(name, scoring, rows):
    X, y, new = rows
    scorer = (
        make_scorer(f1_score, pos_label="no") if scoring == "recall of no" else scoring
    )
    y = (y == "yes").astype(int) if scoring == "f1" else y  # whose positive label is 1
    tuned = TunedThresholdClassifierCV(
        make_pipeline(StandardScaler(), MODELS[name]),
        scoring=scorer,
        cv=2,
        thresholds=20,
    ).fit(X, y)
    searched = GridSearchCV(tuned, {"thresholds": [9]}, cv=2).fit(X, y)
    for model in (tuned, searched):
        np.testing.assert_array_equal(predicted(model, new), model.predict(new))
        worst = worst_case_distribution(model, X, y, radius=0.1)
        assert worst.expected_loss == pytest.approx(
            worst_case_risk(model, X, y, radius=0.1), rel=1e-9
        )
        assert last_step(model, X)[2].tolist() == ["x0", "x1", "x2"]
    curve = RiskCurveDisplay.from_estimators(
        {"tuned": tuned}, X, y, radii=[0.0, 0.1], loss="zero-one"
    )
    assert curve.figure_ is not None


def test_the_own_ball_is_that_of_the_classifier_inside(fitted, rows):
    X, y, _ = rows
    model = FixedThresholdClassifier(fitted["ours"], threshold=0.4, pos_label="yes")
    moved = fitted["ours"].coef_, fitted["ours"].intercept_ - 0.4
    assert worst_case_risk(model, X, y) == pytest.approx(
        worst_case_risk(moved, X, y == "yes", radius=0.05), rel=1e-12
    )
    assert fitted["ours"].intercept_[0] == moved[1][0] + 0.4, (
        "the classifier itself does not change"
    )


@examples(100, 1000)
@given(st.floats(0.0, 30.0), st.floats(-5.0, 5.0), st.floats(0.001, 0.999))
def test_probabilities_are_where_decisions_are(slope, offset, probability):
    sigmoids = np.array([[slope, offset]])
    found = decision_at(float(logit(probability)), slope, offset)
    decisions = np.linspace(-20.0, 20.0, 401)
    aside = np.abs(decisions - found) > 1e-6
    likely = probabilities(decisions, sigmoids)[:, 1] >= probability
    ties = np.abs(probabilities(decisions, sigmoids)[:, 1] - probability) < 1e-12
    np.testing.assert_array_equal(
        likely[aside & ~ties], (decisions > found)[aside & ~ties]
    )
    assert (
        decision_at(-math.inf, slope, offset) == -math.inf
        and decision_at(math.inf, slope, offset) == math.inf
    )


def test_what_cannot_be_audited_says_why(rows):
    X, y, _ = rows
    wrap = FixedThresholdClassifier
    for model, message in (
        (
            wrap(RandomForestClassifier(n_estimators=2)),
            "of RandomForestClassifier cannot be audited: .* no intercept_",
        ),
        (
            wrap(OneVsRestClassifier(LinearSVC())),
            "of OneVsRestClassifier cannot be audited",
        ),
        (
            wrap(SGDClassifier(loss="modified_huber")),
            "cannot be audited by its probabilities: use response_method='decision_function'",
        ),
    ):
        with pytest.raises(TypeError, match=message):
            worst_case_risk(model.fit(X, y), X, y, radius=0.1)
    with pytest.raises(TypeError, match="it is not fitted"):
        worst_case_risk(wrap(LinearSVC()), X, y, radius=0.1)
    with pytest.raises(
        ValueError, match=r"pos_label='maybe' is not one of the classes \['no', 'yes'\]"
    ):
        worst_case_risk(
            wrap(LinearSVC(), pos_label="maybe").fit(X, y), X, y, radius=0.1
        )
    settings = {"Cs": 2, "cv": 2, "scoring": "accuracy"}
    if (
        "use_legacy_attributes" in LogisticRegressionCV().get_params()
    ):  # from scikit-learn 1.8 on
        settings |= {"l1_ratios": (0.0,), "use_legacy_attributes": False}
    several = LogisticRegressionCV(**settings).fit(X, y)
    assert threshold_around(wrap(several, threshold=0.2)) == pytest.approx(logit(0.2))
    curved = wrap(SVC(gamma=0.1).fit(X, y), threshold=0.2)
    assert final_classifier(curved).intercept_ == pytest.approx(
        curved.estimator.intercept_ - 0.2
    )
    assert worst_case_risk(curved, X, y, radius=0.0, loss="zero-one") == pytest.approx(
        np.mean(curved.predict(X) != y)
    )
