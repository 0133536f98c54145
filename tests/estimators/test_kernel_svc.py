"""WassersteinKernelSVC: scikit-learn's own checks, the proof, and what a user of SVC expects."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from thorough import unless_long

from drsvm import WassersteinKernelSVC, WassersteinSVC

CONSTANT = ("ignore:The fitted classifier is constant", "ignore:radius / flip_cost")


def checks_of_no_use(estimator):
    """Matrices that are no kernels: negative numbers on a diagonal, values without their decimals."""
    names = ("check_positive_only_tag_during_fit", "check_estimators_dtypes")
    return dict.fromkeys(
        names if estimator.kernel == "precomputed" else (), "the bound would be false"
    )


@pytest.mark.filterwarnings(*CONSTANT)
@parametrize_with_checks(
    unless_long(
        [
            WassersteinKernelSVC(
                radius=0.1, l2=0.01, calibration="sigmoid", gamma="auto"
            )
        ],
        [
            WassersteinKernelSVC(calibration="sigmoid"),
            WassersteinKernelSVC(kernel="precomputed"),
        ],
    ),
    expected_failed_checks=checks_of_no_use,
)
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(200, noise=0.25, random_state=0)
    return X, np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def fitted(moons):
    return WassersteinKernelSVC(tol=1e-6).fit(*moons)


def test_curved_classes_are_told_apart_with_a_proof(moons, fitted):
    X, y = make_moons(1000, noise=0.25, random_state=1)
    new = X, np.array(["no", "yes"])[y]
    assert fitted.score(*new) > WassersteinSVC().fit(*moons).score(*new) + 0.03
    assert (
        0.0 <= fitted.gap_ <= 1e-6
        and fitted.objective_ - fitted.lower_bound_ == fitted.gap_
    )


def test_the_classifier_is_made_of_its_landmarks(moons, fitted):
    X, _ = moons
    values = (
        rbf_kernel(X, fitted.landmarks_, gamma=fitted.gamma_) @ fitted.dual_coef_[0]
        + fitted.intercept_
    )
    np.testing.assert_allclose(fitted.decision_function(X), values, atol=1e-12)
    np.testing.assert_array_equal(fitted.landmarks_, X[fitted.landmark_indices_])
    assert fitted.objective_ >= fitted.radius_ * fitted.radius_price_


@pytest.mark.parametrize(
    "kernel",
    unless_long(
        ["rbf", rbf_kernel], ["rbf", "laplacian", "poly", "linear", rbf_kernel]
    ),
)
def test_sparse_rows_and_several_classes(kernel):
    X, y = (part[::2] for part in load_iris(return_X_y=True))
    model = WassersteinKernelSVC(kernel, coef0=1.0, threshold="optimum").fit(X, y)
    assert (
        model.score(X, y) > 0.9
        and model.gap_.max() <= 1e-4
        and model.dual_coef_.shape[0] == 3
    )
    if not callable(kernel):
        same = clone(model).fit(sparse.csr_array(X), y)
        np.testing.assert_allclose(
            same.decision_function(X[:20]), model.decision_function(X[:20]), atol=1e-3
        )


def test_precomputed_values_give_the_same_classifier(moons, fitted):
    X, y = moons
    table = rbf_kernel(X, gamma=fitted.gamma_)
    settings = {"tol": 1e-6, "threshold": "optimum"}
    model = WassersteinKernelSVC(kernel="precomputed", **settings).fit(table, y)
    other = WassersteinKernelSVC(gamma=fitted.gamma_, **settings).fit(X, y)
    assert model.objective_ == pytest.approx(other.objective_, abs=2e-6)
    np.testing.assert_allclose(
        model.decision_function(table), other.decision_function(X), atol=0.02
    )


def test_a_linear_kernel_is_the_linear_classifier(moons):
    X, y = moons
    settings = {
        "radius": 0.05,
        "l2": 0.01,
        "intercept_cost": 1.0,
        "threshold": "optimum",
        "tol": 1e-8,
    }
    kernel = WassersteinKernelSVC(kernel="linear", **settings).fit(X, y)
    linear = WassersteinSVC(**settings).fit(X, y)
    assert kernel.objective_ == pytest.approx(linear.objective_, abs=1e-7)
    np.testing.assert_allclose(
        kernel.dual_coef_ @ kernel.landmarks_, linear.coef_, atol=1e-4
    )
    np.testing.assert_allclose(kernel.intercept_, linear.intercept_, atol=1e-4)


def test_weights_of_zero_remove_rows_and_prices_scale_columns(moons):
    X, y = moons
    weights = np.r_[np.ones(150), np.zeros(50)]
    model = WassersteinKernelSVC(gamma=0.5, threshold="optimum", tol=1e-7)
    one = clone(model).fit(X, y, sample_weight=weights)
    other = clone(model).fit(X[:150], y[:150])
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(X), atol=5e-3
    )
    assert one.landmark_indices_.max() < 150
    priced = clone(model).set_params(feature_cost=[1.0, 2.0]).fit(X, y)
    scaled = clone(model).fit(X * [1.0, 2.0], y)
    np.testing.assert_allclose(
        priced.decision_function(X), scaled.decision_function(X * [1.0, 2.0]), atol=1e-9
    )


@pytest.mark.parametrize("gamma", ["rule", 3.0])
def test_given_landmarks_are_not_exceeded_and_need_no_warning(moons, gamma):
    """Even where the rough solution of the automatic radius, which has more, is better."""
    model = WassersteinKernelSVC(gamma=gamma, n_landmarks=15).fit(*moons)
    assert len(model.landmarks_) <= 15 and model.gap_ > 1e-4
    assert model.score(*moons) > 0.85


def test_a_grid_search_varies_the_kernel(moons):
    search = GridSearchCV(
        WassersteinKernelSVC(n_landmarks=30),
        {"gamma": [0.01, 1.0], "kernel": ["rbf"]},
        cv=2,
    )
    assert search.fit(*moons).best_params_["gamma"] == 1.0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": "sigmoid"}, "not positive definite"),
        ({"kernel": lambda X, Z: -(X @ Z.T)}, "not positive definite"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"gamma": "wide"}, "'rule', 'scale' or 'auto'"),
        ({"n_landmarks": "all"}, "n_landmarks must be"),
        ({"n_landmarks": 0}, "n_landmarks must be"),
        ({"feature_cost": [1.0, np.inf]}, "WassersteinSVC"),
        ({"radius": 0.0, "l2": 0.0}, "radius > 0 or l2 > 0"),
    ],
)
def test_errors_name_the_value_and_the_remedy(moons, settings, words):
    with pytest.raises(ValueError, match=words):
        WassersteinKernelSVC(**settings).fit(*moons)


@pytest.mark.filterwarnings(*CONSTANT)
@pytest.mark.parametrize("flip_cost", [0.0, 0.5, 5.0, {"no": 1.0, "yes": np.inf}])
def test_flips_with_a_price_have_an_automatic_radius(moons, flip_cost):
    assert (
        WassersteinKernelSVC(flip_cost=flip_cost, threshold="optimum").fit(*moons).gap_
        <= 1e-4
    )


@pytest.mark.filterwarnings(*CONSTANT)
def test_rows_that_do_not_differ_give_a_constant_classifier(moons):
    model = WassersteinKernelSVC().fit(np.ones((60, 2)), moons[1][:60])
    assert model.gap_ <= 1e-4 and len(set(model.predict(moons[0]))) == 1
