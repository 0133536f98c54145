"""Several classes as binary problems: their labels and weights, and what is said about them."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from drsvm import WassersteinSVC


def test_more_classes_are_taken_one_against_the_rest(three_classes):
    X, y = three_classes
    model = WassersteinSVC(radius=0.02).fit(X, y)
    assert model.coef_.shape == (3, 4) and model.gap_.shape == (3,) and (model.gap_ <= 1e-6).all()
    for k, label in enumerate(model.classes_):
        # One class stands against two others: its rows count twice.
        alone = WassersteinSVC(radius=0.02, class_weight={1: 2.0, 0: 1.0}).fit(X, np.where(y == label, 1, 0))
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-9)
        assert model.objective_[k] == pytest.approx(alone.objective_, abs=1e-9)
    assert model.score(X, y) > 0.9 and model.n_iter_ == max(result.n_iter for result in model.result_)


def test_class_weights_multiply_sample_weights(three_classes):
    X, y = three_classes
    weights = np.random.default_rng(0).random(len(y)) + 0.5
    factors = {"setosa": 1.0, "versicolor": 3.0, "virginica": 0.5}
    with_classes = WassersteinSVC(class_weight=factors).fit(X, y, weights)
    by_hand = WassersteinSVC().fit(X, y, weights * np.array([factors[label] for label in y]))
    np.testing.assert_allclose(with_classes.coef_, by_hand.coef_, atol=1e-8)


def test_balanced_classes_have_equal_weights():
    X, y = make_classification(300, 5, weights=[0.9], random_state=1)
    balanced = WassersteinSVC(class_weight="balanced").fit(X, y)
    weights = np.where(y == 1, 0.5 / (y == 1).mean(), 0.5 / (y == 0).mean())
    np.testing.assert_allclose(balanced.coef_, WassersteinSVC().fit(X, y, weights).coef_, atol=1e-8)


def test_balanced_weights_make_halves_of_one_against_the_rest(three_classes):
    X, y = three_classes
    rows = np.r_[0:50, 50:75, 100:110]
    X, y = X[rows], y[rows]
    model = WassersteinSVC(class_weight="balanced").fit(X, y)
    for k, label in enumerate(model.classes_):
        own = np.where(y == "setosa", 0.2, np.where(y == "versicolor", 0.4, 1.0))  # one over the sizes of the classes
        weights = np.where(y == label, own * 2.0, own)
        assert weights[y == label].sum() == pytest.approx(weights[y != label].sum())
        alone = WassersteinSVC().fit(X, y == label, sample_weight=weights)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-7)


def test_wrong_labels_do_not_silence_one_against_the_rest():
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))
    train, test = rows[:700], rows[700:]
    labels = np.where(rng.random(700) < 0.35, (y[train] + rng.integers(1, 10, 700)) % 10, y[train])
    ours = WassersteinSVC(tol=1e-3).fit(X[train], labels).score(X[test], y[test])
    plain = OneVsRestClassifier(WassersteinSVC(tol=1e-3)).fit(X[train], labels).score(X[test], y[test])
    assert ours > 0.75 and ours > plain + 0.05


def test_flips_of_a_whole_class_are_a_warning():
    X, y = make_classification(300, 5, weights=[0.9], random_state=1)
    with pytest.warns(UserWarning) as caught:
        WassersteinSVC(radius=0.3, flip_cost=1.0).fit(X, y)
    assert "lets the adversary flip every label of the rarer class" in str(caught[0].message)
