"""Classifiers with a kernel: the bound holds against every attack, and is that of the training on its own rows."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from attacks import attacked, lead_of, values_of_two
from scipy import sparse
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from drsvm import (
    RiskCurveDisplay,
    WassersteinKernelSVC,
    explain,
    measure_shift,
    worst_case_distribution,
    worst_case_risk,
)
from drsvm.problem import KernelClassifier, Rbf

LOSSES = ("hinge", "zero-one")


def made_of(landmarks, coef, intercept, gamma, scales=None):
    """Return a classifier with given decision functions; two classes have one."""
    classes = np.arange(max(len(coef), 2))
    landmarks = landmarks if scales is None else landmarks * scales
    kernel = KernelClassifier(Rbf(gamma), landmarks, coef, intercept, classes, scales)
    return SimpleNamespace(
        classes_=classes,
        dual_coef_=coef,
        kernel="rbf",
        _kernel_classifier=lambda: kernel,
    )


def values_at(model, X):
    """Return the decision values of a classifier, of shape (classes, n)."""
    kernel = model._kernel_classifier()
    scales = 1.0 if kernel.scales is None else kernel.scales
    squares = ((X * scales - kernel.landmarks[:, None]) ** 2).sum(axis=2)
    values = (
        kernel.coef @ np.exp(-kernel.function.gamma * squares)
        + kernel.intercept[:, None]
    )
    return np.concatenate([-0.5 * values, 0.5 * values]) if len(values) == 1 else values


def random_case(rng):
    """Return a classifier, rows near its landmarks, labels and a ball."""
    d = rng.integers(1, 4)
    m = rng.integers(1, 8)
    n = rng.integers(1, 9)
    n_classes = rng.choice([2, 2, 3])
    functions = 1 if n_classes == 2 else n_classes
    landmarks = rng.normal(size=(m, d))
    gamma = 10.0 ** rng.uniform(-1.5, 1.0)
    coef = rng.normal(size=(functions, m))
    intercept = rng.normal(size=functions) * rng.choice([0.0, 0.5])
    scales = None if rng.random() < 0.6 else 10.0 ** rng.uniform(-0.5, 0.5, d)
    model = made_of(
        landmarks, coef * 10.0 ** rng.uniform(-0.5, 1.0), intercept, gamma, scales
    )
    X = landmarks[rng.integers(m, size=n)] + rng.normal(size=(n, d)) * rng.choice(
        [0.0, 0.3, 1.0]
    )
    y = values_at(model, X).argmax(axis=0)
    y = np.where(rng.random(n) < 0.2, rng.integers(n_classes, size=n), y)
    costs = (
        None
        if rng.random() < 0.6
        else np.where(rng.random(d) < 0.2, np.inf, 10.0 ** rng.uniform(-0.5, 0.5, d))
    )
    flip_cost = rng.choice([np.inf, np.inf, 0.0, 0.2, 1.0])
    weights = rng.integers(0, 3, size=n) + np.eye(n)[0]
    ball = {"flip_cost": flip_cost, "feature_cost": costs, "sample_weight": weights}
    if np.isinf(flip_cost) and rng.random() < 0.5:
        ball["row_radius"] = rng.choice([0.0, 0.1, 1.0], n)
    return model, X, y, ball


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("seed", "count"), [(0, 80), *((seed, 500) for seed in range(1, 11))]
)
def test_no_attack_and_no_shift_of_all_rows_beats_the_bound(seed, count):
    rng = np.random.default_rng(seed)
    improved = 0
    for _ in range(count):
        model, X, y, ball = random_case(rng)
        radii = np.array([0.0, 0.01, 0.1, 0.5, 3.0]) * 10.0 ** rng.uniform(-0.5, 0.5)
        bounds = {
            loss: worst_case_risk(model, X, y, radius=radii, loss=loss, **ball)
            for loss in LOSSES
        }
        for loss, bound in bounds.items():
            length = 1.0 / math.sqrt(2.0 * model._kernel_classifier().function.gamma)
            found = attacked(
                lambda rows, model=model: values_at(model, rows),
                X,
                y,
                radii,
                loss,
                ball,
                length,
            )
            assert (found <= bound * (1 + 1e-9) + 1e-9).all()
            if "row_radius" not in ball:
                assert found[0] == pytest.approx(bound[0], abs=1e-9)
            improved += found[2] > found[0] + 1e-6
        check_shifted_rows(model, X, y, ball, bounds, radii, rng)
    assert improved > count  # of two losses each


@pytest.mark.filterwarnings("ignore:The fitted classifier is constant")
def test_a_constant_kernel_classifier_is_audited(moons):
    # 1 is rare
    X = moons[0]
    y = np.where(np.arange(len(moons[1])) % 3 == 0, 0, moons[1])
    model = WassersteinKernelSVC("rbf", radius=50.0, class_weight=None).fit(X, y)
    assert len(model.landmarks_) == 0
    error = float(np.mean(model.predict(X) != y))
    for radius in (0.0, 0.1, 3.0):
        ball = {"radius": radius, "flip_cost": math.inf}
        assert worst_case_risk(model, X, y, **ball, loss="zero-one") == pytest.approx(
            error
        )
        margins = np.where(y == 1, 1, -1) * model.decision_function(X)
        assert worst_case_risk(model, X, y, **ball) == pytest.approx(
            np.maximum(1 - margins, 0).mean()
        )
    assert measure_shift(model, X, y, X + 1.0).moved == 0.0
    assert np.isfinite(explain(model, X[:2]).base).all()
    RiskCurveDisplay.from_estimators(model, X, y)


def check_shifted_rows(model, X, y, ball, bounds, radii, rng):
    """Every row moves by the radius, in the worst of some directions."""
    costs = (
        np.ones(X.shape[1]) if ball["feature_cost"] is None else ball["feature_cost"]
    )
    ways = np.concatenate(
        [rng.normal(size=(10, X.shape[1])), rng.normal(size=(1, X.shape[1])) - X]
    )
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    weights = ball["sample_weight"] / ball["sample_weight"].sum()
    for k, radius in enumerate(radii):
        moved = (X + (radius * ways / costs)[:, None]).reshape(-1, X.shape[1])
        margins = (
            lead_of(values_at(model, moved), np.tile(y, len(ways)))
            .reshape(len(ways), -1)
            .min(axis=0)
        )
        assert (
            weights @ np.maximum(1 - margins, 0)
            <= bounds["hinge"][k] * (1 + 1e-9) + 1e-9
        )
        assert weights @ (margins <= -1e-9) <= bounds["zero-one"][k] + 1e-9


def test_the_bound_is_attained_between_two_landmarks():
    # f = φ(z₁) − φ(z₂): moving a row from z₁ to z₂ is a move along f.
    landmarks = np.array([[0.0, 0.0], [0.6, 0.8]])
    gamma = 0.7
    value = 1 - math.exp(-gamma)
    model = made_of(landmarks, np.array([[1.0, -1.0]]), np.array([value]), gamma)
    ball = {"radius": [0.25, 0.5, 1.0], "loss": "zero-one"}
    # z₂ is at a distance of 1, and a tie there.
    np.testing.assert_allclose(values_at(model, landmarks)[1, 1], 0.0, atol=1e-15)
    np.testing.assert_allclose(
        worst_case_risk(model, landmarks[:1], [1], **ball), [0.25, 0.5, 1.0], rtol=1e-5
    )


def test_the_bound_is_tight_for_small_shifts(moons):
    X, y = moons
    model = SVC().fit(X, y)
    (low,) = attacked(values_of_two(model), X, y, [0.002], "zero-one", {}, 0.1)
    high = worst_case_risk(model, X, y, radius=0.002, loss="zero-one")
    assert low <= high <= 1.02 * low and low > np.mean(model.predict(X) != y) + 0.01


def test_far_shifts_gain_no_more_than_a_function_can_change(moons):
    X, y = moons
    model = SVC().fit(X, y)
    (c,) = model.dual_coef_
    steepness = math.sqrt(2 * model._gamma)
    norm = math.sqrt(c @ rbf_kernel(model.support_vectors_, gamma=model._gamma) @ c)
    assert worst_case_risk(model, X, y, radius=100.0) <= 1 + norm + abs(
        model.intercept_[0]
    )
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    everywhere_steep = np.maximum(1 - margins, 0).mean() + 0.3 * steepness * norm
    found = worst_case_risk(model, X, y, radius=0.3)
    (low,) = attacked(values_of_two(model), X, y, [0.3], "hinge", {})
    assert low <= found <= 0.9 * everywhere_steep


# Models and their own balls


@pytest.fixture(scope="module")
def moons():
    return make_moons(60, noise=0.2, random_state=0)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_on_its_own_rows_the_bound_is_at_most_the_trained_risk(moons, fit_intercept):
    X, y = moons
    settings = {
        "class_weight": None,
        "threshold": "optimum",
        "flip_cost": 1.5,
        "radius": 0.05,
        "tol": 1e-6,
    }
    model = WassersteinKernelSVC(fit_intercept=fit_intercept, **settings).fit(X, y)
    (c,) = model.dual_coef_
    square = float(c @ rbf_kernel(model.landmarks_, gamma=model.gamma_) @ c)
    trained = model.objective_ - 0.5 * model.l2_ * square
    bound = worst_case_risk(model, X, y)
    # The objective prices the intercept too, which no shift can move, and moves in the
    # feature space that none makes.
    assert trained - 0.05 <= bound <= trained + 1e-9
    steepness = math.sqrt(2 * model.gamma_)
    assert bound == worst_case_risk(
        model, X, y, radius=0.05 / steepness, flip_cost=1.5 / steepness
    )


def test_shifts_are_measured_in_priced_features(moons):
    X, y = moons
    costs = np.array([2.0, 0.5])
    model = WassersteinKernelSVC(feature_cost=costs).fit(X, y)
    scaled = WassersteinKernelSVC().fit(X * costs, y)
    for loss in LOSSES:
        expected = worst_case_risk(scaled, X * costs, y, loss=loss)
        assert worst_case_risk(model, X, y, loss=loss) == pytest.approx(expected)


def test_a_linear_kernel_is_exact(moons):
    X, y = moons
    settings = {
        "feature_cost": [1.0, 3.0],
        "gamma": 1.0,
        "l2": 0.1,
        "tol": 1e-8,
        "threshold": "optimum",
    }
    kernel = WassersteinKernelSVC("linear", **settings).fit(X, y)
    pair = (kernel.coef_, kernel.intercept_)
    np.testing.assert_allclose(
        X @ kernel.coef_[0] + kernel.intercept_, kernel.decision_function(X)
    )
    ball = {"radius": [0.0, 0.1, 0.7], "feature_cost": [1.0, 3.0]}
    np.testing.assert_allclose(
        worst_case_risk(kernel, X, y, **ball), worst_case_risk(pair, X, y, **ball)
    )
    worst = worst_case_distribution(kernel, X, y)
    assert worst.attained and worst.expected_loss == pytest.approx(worst.risk)


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_models_of_scikit_learn_in_a_pipeline(moons, to):
    X, y = moons
    model = make_pipeline(StandardScaler(with_mean=False), SVC(gamma=0.5)).fit(to(X), y)
    margins = np.where(y == 1, 1, -1) * model.decision_function(to(X))
    assert worst_case_risk(model, to(X), y, radius=0.0) == pytest.approx(
        np.maximum(1 - margins, 0).mean()
    )
    scaled = model[0].transform(X)
    ball = {"flip_cost": 1.5}
    (found,) = attacked(values_of_two(model[-1]), scaled, y, [0.2], "hinge", ball)
    bound = worst_case_risk(model, to(X), y, radius=0.2, **ball)
    assert 1.2 * np.maximum(1 - margins, 0).mean() < found <= bound


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    model = WassersteinKernelSVC().fit(X, y)
    assert worst_case_risk(model, X, y, radius=0.0, loss="zero-one") == pytest.approx(
        1 - model.score(X, y)
    )
    one = worst_case_risk(model, X, y, radius=0.0, loss="zero-one", positive=2)
    assert one == pytest.approx(
        np.mean((model.decision_function(X)[:, 2] > 0) != (y == 2))
    )


def test_where_nothing_is_claimed(moons):
    X, y = moons
    kernels = {"laplacian": X, "poly": X, "precomputed": rbf_kernel(X), rbf_kernel: X}
    models = [
        (WassersteinKernelSVC(kernel, n_landmarks=5), rows)
        for kernel, rows in kernels.items()
    ]
    for model, rows in [*models, (SVC(kernel="sigmoid"), X)]:
        with pytest.raises(ValueError, match="Nothing is claimed about the worst case"):
            worst_case_risk(model.fit(rows, y), rows, y, radius=0.1)
    for message, changes in {
        "norm must be 2 for a classifier with a kernel, got norm=1": {"norm": 1},
        "intercept_cost must be inf": {"intercept_cost": 1.0},
        "X has 1 features, but the model was fitted with 2": {"X": X[:, :1]},
        "radius is required for a SVC": {"radius": None},
    }.items():
        with pytest.raises(ValueError, match=message):
            worst_case_risk(
                SVC().fit(X, y), **{"X": X, "y": y, "radius": 0.1, **changes}
            )
    with pytest.raises(
        ValueError, match="flip_cost is required for this WassersteinKernelSVC"
    ):
        worst_case_risk(
            WassersteinKernelSVC(flip_cost={0: 1.0, 1: 2.0}, radius=0.01).fit(X, y),
            X,
            y,
        )
    with pytest.raises(ValueError, match="SVC compares pairs of classes"):
        worst_case_risk(
            SVC().fit(X, np.arange(60) % 3), X, np.arange(60) % 3, radius=0.1
        )
    with pytest.raises(ValueError, match="known for linear classifiers only"):
        worst_case_distribution(SVC().fit(X, y), X, y, radius=0.1)
