"""The estimators within scikit-learn: searches, calibration, data frames, routing,
copies, threads and processes.
"""

import multiprocessing
import pickle
import sys
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from problems import PLAIN
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from thorough import unless_long

from drsvm import WassersteinSVC, WassersteinSVCCV, WorstCaseDisplay, worst_case_risk

SMALL_SEARCH = {
    "radii": [0.2, 0.05],
    "flip_costs": 5.0,
    "intercept_costs": np.inf,
    "cv": 3,
}
BOTH = [WassersteinSVC(), WassersteinSVCCV(**SMALL_SEARCH)]
both = pytest.mark.parametrize("model", BOTH, ids=lambda model: type(model).__name__)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def two_classes():
    X, y = make_classification(
        120, 4, n_informative=3, n_redundant=0, class_sep=1.5, random_state=0
    )
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def weights(two_classes):
    return np.random.default_rng(0).random(len(two_classes[1])) + 0.1


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    return (
        StandardScaler().fit_transform(X),
        np.array(["setosa", "versicolor", "virginica"])[y],
    )


def test_grid_search_behind_a_scaler(wine):
    model = make_pipeline(StandardScaler(), WassersteinSVC())
    grid = {
        "wassersteinsvc__radius": [0.02, 0.1, "auto"],
        "wassersteinsvc__norm": [2, np.inf],
    }
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(*wine)
    assert search.best_score_ > 0.95 and search.best_estimator_[-1].gap_.max() <= 1e-6


@pytest.mark.thorough
@both
def test_cross_validated_predictions_and_probabilities(model, wine):
    X, y = wine
    pipeline = make_pipeline(StandardScaler(), model)
    assert (cross_val_predict(pipeline, X, y, cv=3) == y).mean() > 0.93
    calibrated = CalibratedClassifierCV(pipeline, cv=2).fit(X, y)
    probabilities = calibrated.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (calibrated.classes_[probabilities.argmax(axis=1)] == y).mean() > 0.95


def test_other_decompositions_and_inspections(flowers):
    X, y = flowers
    assert OneVsOneClassifier(WassersteinSVC()).fit(X, y).score(X, y) > 0.95
    model = WassersteinSVC().fit(X, y)
    importances = permutation_importance(
        model, X, y, n_repeats=2, random_state=0
    ).importances_mean
    assert importances.argmax() in (2, 3)  # the petals


def test_a_pipeline_can_be_audited(two_classes):
    X, y = two_classes
    pipeline = make_pipeline(
        StandardScaler(), WassersteinSVCCV(**SMALL_SEARCH | PLAIN)
    ).fit(X, y)
    model = pipeline[-1]
    ball = {"radius": model.radius_, "flip_cost": model.flip_cost_, "norm": model.norm_}
    assert worst_case_risk(pipeline, X, y, **ball) == pytest.approx(
        model.objective_, abs=1e-9
    )
    figure = pytest.importorskip("matplotlib.figure").Figure()
    # With the same ball by default
    display = WorstCaseDisplay.from_estimator(pipeline, X, y, ax=figure.add_subplot())
    assert display.distribution_.risk == pytest.approx(model.objective_, abs=1e-9)


@both
def test_data_frames_keep_their_names(model, wine):
    pd = pytest.importorskip("pandas")
    X, y = wine
    names = [f"feature {k}" for k in range(X.shape[1])]
    frame = pd.DataFrame(StandardScaler().fit_transform(X), columns=names)
    fitted = clone(model).fit(frame, pd.Series(y, index=frame.index[::-1]))
    assert list(fitted.feature_names_in_) == names and fitted.n_features_in_ == 13
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame[names[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert (fitted.predict(frame.to_numpy()) == fitted.predict(frame)).all()


@both
def test_clones_are_unfitted_and_equal(model, two_classes):
    X, y = two_classes
    fitted = clone(model).fit(X, y)
    copy = clone(fitted)
    assert not hasattr(copy, "coef_") and copy.get_params() == fitted.get_params()
    np.testing.assert_array_equal(copy.fit(X, y).coef_, fitted.coef_)
    assert type(model).__name__ in fitted._repr_html_()
    check_is_fitted(fitted)


def test_weights_are_routed_through_a_pipeline_into_search_and_score(
    two_classes, weights
):
    X, y = two_classes
    with config_context(enable_metadata_routing=True):
        model = (
            WassersteinSVC()
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True)
        )
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        search = GridSearchCV(
            make_pipeline(scaler, model),
            {"wassersteinsvc__radius": [0.1]},
            cv=3,
            scoring=scorer,
        )
        search.fit(X, y, sample_weight=weights)
    by_hand = WassersteinSVC(radius=0.1).fit(
        StandardScaler().fit_transform(X), y, weights
    )
    np.testing.assert_allclose(
        search.best_estimator_[-1].coef_, by_hand.coef_, atol=1e-9
    )


def test_weights_and_groups_are_routed_into_our_own_search(two_classes, weights):
    X, y = two_classes
    groups = np.arange(len(y)) % 6
    settings = {**SMALL_SEARCH, "cv": GroupKFold(3)}
    with config_context(enable_metadata_routing=True):
        model = WassersteinSVCCV(**settings).set_fit_request(
            sample_weight=True, groups=True
        )
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model).fit(
            X, y, sample_weight=weights, groups=groups
        )
    by_hand = WassersteinSVCCV(**settings).fit(
        StandardScaler().fit_transform(X), y, weights, groups
    )
    np.testing.assert_allclose(pipeline[-1].coef_, by_hand.coef_, atol=1e-9)


def test_callbacks_are_notified_of_paths_and_refit(two_classes):
    pytest.importorskip("sklearn.callback")
    names = []
    silent = dict.fromkeys(
        ("setup", "teardown", "on_fit_task_begin"), lambda *_, **__: None
    )
    recorder = SimpleNamespace(
        **silent,
        on_fit_task_end=lambda estimator, context: names.append(context.task_name),
    )
    WassersteinSVCCV(**SMALL_SEARCH).set_callbacks(recorder).fit(*two_classes)
    assert names == ["path"] * 6 + ["refit", "fit"]


@both
def test_progress_bars_of_scikit_learn(model, two_classes):
    pytest.importorskip("rich")
    callback = pytest.importorskip("sklearn.callback")
    fitted = clone(model).set_callbacks(callback.ProgressBar()).fit(*two_classes)
    # Other certificates
    np.testing.assert_allclose(
        fitted.coef_, clone(model).fit(*two_classes).coef_, atol=1e-4
    )


@both
@pytest.mark.parametrize("way", ["pickle", "joblib", "skops"])
def test_stored_models_predict_the_same(model, way, flowers, tmp_path):
    X, y = flowers
    fitted = clone(model).fit(X, y)
    path = tmp_path / "model"
    if way == "pickle":
        copy = pickle.loads(pickle.dumps(fitted))
    elif way == "joblib":
        joblib.dump(fitted, path)
        copy = joblib.load(path)
    else:
        skops = pytest.importorskip("skops.io")
        skops.dump(fitted, path)
        foreign = set(skops.get_untrusted_types(file=path))
        results = {
            f"drsvm.problem.result.{name}" for name in ("Result", "Results", "History")
        }
        assert foreign == {f"{type(model).__module__}.{type(model).__name__}", *results}
        copy = skops.load(path, trusted=sorted(foreign))
    np.testing.assert_array_equal(
        copy.decision_function(X), fitted.decision_function(X)
    )
    np.testing.assert_array_equal(copy.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(copy.gap_, fitted.gap_)
    assert [repr(result) for result in copy.result_] == [
        repr(result) for result in fitted.result_
    ]


def test_sparse_weights_predict_the_same(flowers):
    X, y = flowers
    model = WassersteinSVC(norm=np.inf).fit(X, y)
    values = model.decision_function(X)
    np.testing.assert_allclose(
        model.sparsify().decision_function(X), values, atol=1e-12
    )
    np.testing.assert_array_equal(model.densify().decision_function(X), values)


@pytest.mark.parametrize("backend", unless_long(["threading"], ["threading", "loky"]))
def test_parallel_fits_equal_sequential_fits(backend, flowers):
    X, y = flowers
    alone = cross_validate(WassersteinSVC(), X, y, cv=3, return_estimator=True)
    with joblib.parallel_backend(backend, n_jobs=2):
        together = cross_validate(WassersteinSVC(), X, y, cv=3, return_estimator=True)
    for one, other in zip(alone["estimator"], together["estimator"], strict=True):
        # BLAS adds in an order of its own
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-10)


@pytest.mark.skipif(
    not hasattr(multiprocessing, "get_context") or sys.platform != "linux",
    reason="needs fork",
)
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_can_fit_after_its_parent_has(flowers):
    X, y = flowers
    parent = WassersteinSVC(n_jobs=2).fit(X, y).coef_
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=lambda: queue.put(WassersteinSVC().fit(X, y).coef_))
    child.start()
    coef = queue.get(timeout=60)
    child.join(timeout=60)
    assert child.exitcode == 0
    np.testing.assert_array_equal(coef, parent)
