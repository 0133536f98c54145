"""WassersteinKernelSVCCV: scikit-learn's own checks, the scores of a plain search, and what it chooses."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from drsvm import WassersteinKernelSVC, WassersteinKernelSVCCV

FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.mark.thorough
@pytest.mark.filterwarnings(
    "ignore:Cross-validation has chosen a constant classifier", "ignore:The least populated class"
)
@parametrize_with_checks([WassersteinKernelSVCCV(radii=[0.05], gamma_factors=1.0, l2=0.01, cv=2)])
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(240, noise=0.3, random_state=0)
    return X, np.array(["no", "yes"])[y]


def split_scores(search):
    return np.stack([search.cv_results_[f"split{k}_test_score"] for k in range(3)], axis=1)


@pytest.mark.parametrize("most_stored", [5000, 50])
@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
def test_scores_are_those_of_a_plain_search(moons, monkeypatch, most_stored, scoring):
    """Whether distances are shared or not."""
    for module in ("drsvm.model.kernel_rows", "drsvm.learn.kernel_search"):
        monkeypatch.setattr(f"{module}.MOST_STORED", most_stored)
    X, y = moons
    ball = {"l2": 0.003, "class_weight": None}
    search = WassersteinKernelSVCCV(
        gamma=0.4, gamma_factors=(1, 5), radii=[0.02, 0.002], cv=FOLDS, scoring=scoring, **ball
    ).fit(X, y)
    model = WassersteinKernelSVC(threshold="optimum", **ball)
    plain = GridSearchCV(model, {"gamma": [0.4, 2.0], "radius": [0.02, 0.002]}, cv=FOLDS, scoring=scoring).fit(X, y)
    assert [one["gamma"] for one in search.cv_results_["params"]] == [0.4, 0.4, 2.0, 2.0]
    np.testing.assert_allclose(split_scores(search), split_scores(plain), atol=0.02)
    assert search.cv_results_["largest_gap"].max() <= 1e-4


def test_a_fine_pattern_gets_a_small_width_and_a_proof():
    X = np.random.default_rng(0).uniform(-2, 2, size=(300, 2))
    y = np.sign(np.sin(3 * X[:, 0]) * np.sin(3 * X[:, 1]))
    search = WassersteinKernelSVCCV(radii=3, cv=3).fit(X, y)
    assert search.best_score_ > 0.8 > WassersteinKernelSVC(gamma=search.gamma_ / 10).fit(X, y).score(X, y)
    assert search.gamma_ == search.best_params_["gamma"] == search.cv_results_["param_gamma"][search.best_index_]
    alone = WassersteinKernelSVC(**search.best_params_).fit(X, y)
    assert search.gap_ <= 1e-4 and search.objective_ == pytest.approx(alone.objective_, abs=1e-6)
    np.testing.assert_allclose(search.decision_function(X), alone.decision_function(X), atol=1e-6)
    assert search.radius_ == alone.radius_ and search.intercept_cost_ == alone.intercept_cost_ > 0.0


def test_the_rules_stay_where_nothing_is_clearly_better():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=150) > 0
    search, alone = WassersteinKernelSVCCV(radii=3, cv=3).fit(X, y), WassersteinKernelSVC().fit(X, y)
    chosen = search.gamma_, search.radius_, search.l2_
    assert chosen == pytest.approx((alone.gamma_, alone.radius_, alone.l2_), rel=1e-9)


def test_tables_classes_and_costs_by_row(moons):
    X, y = moons
    table = WassersteinKernelSVCCV("precomputed", radii=2, cv=2, refit=False).fit(rbf_kernel(X), y)
    assert len(table.cv_results_["params"]) == 2 and table.best_score_ > 0.8
    with pytest.raises(NotFittedError, match="refit=True"):
        table.predict(rbf_kernel(X))
    X, y = load_iris(return_X_y=True)
    costs = np.where(np.arange(len(y)) % 5, np.inf, 3.0)
    search = WassersteinKernelSVCCV(
        "poly", coef0=1.0, gamma_factors=(0.3, 1), radii=[0.05], cv=2, calibration="sigmoid"
    )
    search.fit(X, y, sample_weight=np.arange(len(y)) % 4, flip_cost=costs)
    assert search.dual_coef_.shape[0] == 3 and search.score(X, y) > 0.9 and search.predict_proba(X).shape == (150, 3)
    assert search.flip_cost_ is None and (search.landmark_indices_ % 4 > 0).all()


@pytest.mark.parametrize("settings", [{"gamma_factors": []}, {"gamma_factors": [0.0]}, {"radii": 0}, {"gamma": "wide"}])
def test_errors_name_the_value(moons, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        WassersteinKernelSVCCV(**settings).fit(*moons)
