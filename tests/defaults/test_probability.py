"""Probabilities: what they are fitted to, that the predicted class has the largest one, and where they come from."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from drsvm import WassersteinSVC, WassersteinSVCCV
from drsvm.defaults.out_of_fold import OutOfFoldDecisions
from drsvm.defaults.probability import fitted_sigmoids, probabilities


def of_two(decisions, labels):
    labels = np.array(labels)
    return fitted_sigmoids(
        OutOfFoldDecisions(np.array(decisions)[:, None], labels, np.ones(len(labels))),
        2,
    )[0]


@pytest.fixture(scope="module")
def rare():
    return make_classification(
        400, 6, n_informative=4, weights=[0.85], flip_y=0.1, random_state=1
    )


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_as_in_scikit_learn():
    """CalibratedClassifierCV without an ensemble fits the same sigmoid to the same decisions, by another method."""
    X, y = make_classification(300, 5, flip_y=0.2, random_state=0)
    folds = list(StratifiedKFold(5).split(X, y))
    inner = WassersteinSVC(
        0.1, l2=0.0, threshold="optimum", class_weight=None, intercept_cost=np.inf
    )
    model = clone(inner).set_params(calibration="sigmoid", cv=folds).fit(X, y)
    rival = CalibratedClassifierCV(
        inner, method="sigmoid", cv=folds, ensemble=False
    ).fit(X, y)
    found = model.predict_proba(X)
    expected = rival.predict_proba(X)
    agreed = (expected.argmax(axis=1) == model.predict(X)) & (
        np.abs(expected[:, 0] - 0.5) > 0.05
    )
    assert agreed.mean() > 0.8
    # Folds are solved roughly
    np.testing.assert_allclose(found[agreed], expected[agreed], atol=2e-3)


def test_probabilities_mean_shares():
    """Decisions whose log-odds are 2 f − 1.

    Rows that are counted and rows that are repeated are the same.
    """
    rng = np.random.default_rng(0)
    decisions = rng.normal(size=90_000)
    labels = (rng.random(len(decisions)) < expit(2 * decisions - 1)).astype(int)
    slope, offset = of_two(1000 * decisions, labels)
    np.testing.assert_allclose([1000 * slope, offset], [2, -1], atol=0.1)
    counts = rng.integers(1, 4, 50)
    counted = fitted_sigmoids(
        OutOfFoldDecisions(decisions[:50, None], labels[:50], counts.astype(float)), 2
    )
    np.testing.assert_allclose(
        counted[0],
        of_two(decisions[:50].repeat(counts), labels[:50].repeat(counts)),
        rtol=1e-5,
    )


def test_separable_decisions_have_finite_sigmoids(wine):
    chances = probabilities(
        np.array([-1.0, 1.0]), of_two([-1.0, -2, 1, 2], [0, 0, 1, 1])[None]
    )[:, 1]
    assert 0 < chances[0] < 0.4 and 0.6 < chances[1] < 1
    for labels in (wine[1], wine[1] > 0):
        far = (
            WassersteinSVC(calibration="sigmoid")
            .fit(wine[0], labels)
            .predict_log_proba(1e6 * wine[0])
        )
        assert np.isfinite(far).all()


@pytest.mark.parametrize("decisions", [[0.3, 0.3, 0.3, 0.3], [1.0, 2.0, -1.0, 3.0]])
def test_decisions_that_say_nothing_give_the_share(decisions):
    """They are constant, or larger for the negative rows."""
    slope, offset = of_two(decisions, [0, 0, 1, 0])
    assert slope == 0.0 and expit(offset) == pytest.approx((2 / 3 + 3 / 5) / 4)


@pytest.mark.filterwarnings("ignore:The fitted classifier is constant")
@pytest.mark.parametrize(
    ("class_weight", "expected"), [("auto", 0.15), ({0: 1.0, 1: 50.0}, 0.5)]
)
def test_a_constant_classifier_gives_the_shares(rare, class_weight, expected):
    """Unless given class weights predict the class that has fewer rows."""
    X, y = rare
    model = WassersteinSVC(
        radius=100.0, class_weight=class_weight, calibration="sigmoid"
    ).fit(X, y)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(
        chances[:, 1], y.mean() if expected < 0.5 else 0.5, atol=2e-3
    )
    np.testing.assert_array_equal(chances.argmax(axis=1), model.predict(X))
    three = WassersteinSVC(radius=100.0, calibration="sigmoid").fit(
        X, y + (X[:, 0] > 1.5)
    )
    np.testing.assert_allclose(
        three.predict_proba(X)[0], np.bincount(y + (X[:, 0] > 1.5)) / len(y), atol=5e-3
    )


@pytest.mark.parametrize("threshold", ["accuracy", "balanced_accuracy", "optimum"])
def test_the_predicted_class_has_the_largest_one(rare, threshold):
    X, y = rare
    settings = {"threshold": threshold, "class_weight": {0: 1.0, 1: 4.0}}
    model, plain = (
        WassersteinSVC(**settings, calibration=kind).fit(X, y)
        for kind in ("sigmoid", None)
    )
    decisions = model.decision_function(X)
    chances = model.predict_proba(X)
    np.testing.assert_array_equal(decisions, plain.decision_function(X))
    np.testing.assert_array_equal(chances.argmax(axis=1), model.predict(X))
    assert (np.diff(chances[np.argsort(decisions), 1]) > 0).all(), (
        "ranks are those of the decisions"
    )
    slope, offset = model.sigmoids_[0]
    agreed = np.sign(slope * decisions + offset) == np.sign(decisions)
    np.testing.assert_allclose(
        chances[agreed, 1], expit(slope * decisions + offset)[agreed], atol=0.02
    )
    assert threshold != "balanced_accuracy" or not agreed.all()
    # Class weights do not count: the mean is the share of the rows, except for those
    # that are kept at ½.
    raw = expit(
        slope * cross_val_predict(plain, X, y, method="decision_function") + offset
    )
    assert raw.mean() == pytest.approx(y.mean(), abs=0.05)


def test_several_classes_share_a_sigmoid(wine):
    X, y = wine
    for model in (
        WassersteinSVC(calibration="sigmoid"),
        WassersteinSVCCV(radii=2, cv=2, calibration="sigmoid"),
    ):
        chances = model.fit(X[::2], y[::2]).predict_proba(X[1::2])
        assert np.ptp(model.sigmoids_, axis=0).max() == 0 and model.sigmoids_.shape == (
            3,
            2,
        )
        np.testing.assert_array_equal(chances.argmax(axis=1), model.predict(X[1::2]))
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X[1::2])), chances)
        assert log_loss(y[1::2], chances) < 0.2
    repeated = WassersteinSVC(calibration="sigmoid").fit(
        X.repeat(2, axis=0), y.repeat(2)
    )
    counted = WassersteinSVC(calibration="sigmoid").fit(X, y, np.full(len(y), 2.0))
    np.testing.assert_allclose(
        repeated.predict_proba(X), counted.predict_proba(X), atol=1e-4
    )


def test_where_there_are_none(rare):
    X, y = rare
    assert not hasattr(WassersteinSVC(), "predict_proba") and not hasattr(
        WassersteinSVCCV(), "predict_log_proba"
    )
    model = WassersteinSVC().fit(X, y).set_params(calibration="sigmoid")
    with pytest.raises(
        NotFittedError, match="has no probabilities, because its fit had no calibration"
    ):
        model.predict_proba(X)
    with pytest.raises(AttributeError) as refused:
        model.partial_fit(X, y)
    assert "use calibration=None" in str(refused.value.__cause__)
    for estimator in (
        WassersteinSVC(calibration="isotonic"),
        WassersteinSVCCV(calibration="isotonic"),
    ):
        with pytest.raises(
            ValueError,
            match="calibration must be None or 'sigmoid', got calibration='isotonic'",
        ):
            estimator.fit(X, y)


def test_without_time_for_folds_a_warning_says_that_they_are_too_confident(
    rare, monkeypatch
):
    solved = []
    monkeypatch.setattr(
        f"{OutOfFoldDecisions.__module__}.rough_classifiers",
        lambda *_, **__: solved.append(1) or [],
    )
    monkeypatch.setattr(
        "drsvm.utils.clock.TimeLimit.over", property(lambda limit: limit.seconds == 1e6)
    )
    with pytest.warns(ConvergenceWarning, match="probabilities are too confident"):
        model = WassersteinSVC(0.02, l2=0.001, max_time=1e6, calibration="sigmoid").fit(
            *rare
        )
    assert not solved and model.threshold_ == 0.0 and model.sigmoids_[0, 0] > 0
