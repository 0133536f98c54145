"""Probabilities from decision values."""

from dataclasses import asdict

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from drsvm import WassersteinSVC
from drsvm.learn.probability import Sigmoids


def test_as_in_scikit_learn():
    """CalibratedClassifierCV without an ensemble fits the same sigmoid to the same decisions, by another method."""
    X, y = make_classification(300, 5, flip_y=0.2, random_state=0)
    folds = StratifiedKFold(5)
    model = WassersteinSVC(radius=0.1)
    decisions = cross_val_predict(model, X, y, cv=folds, method="decision_function")
    found = Sigmoids.fitted(decisions, y, np.array([0, 1]))
    rival = CalibratedClassifierCV(model, method="sigmoid", cv=folds, ensemble=False).fit(X, y)
    values = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(found.probabilities(values), rival.predict_proba(X), atol=1e-4)


def test_probabilities_mean_shares():
    """Decisions whose log-odds are 2 f − 1."""
    rng = np.random.default_rng(0)
    decisions = rng.normal(size=200_000)
    labels = rng.random(len(decisions)) < 1 / (1 + np.exp(1 - 2 * decisions))
    found = Sigmoids.fitted(1000 * decisions, labels, np.array([False, True]))
    np.testing.assert_allclose([1000 * found.slopes[0], found.offsets[0]], [2, -1], atol=0.03)


def test_separable_decisions_have_finite_sigmoids():
    found = Sigmoids.fitted(np.array([-1.0, -2, 1, 2]), np.array([0, 0, 1, 1]), np.array([0, 1]))
    chances = found.probabilities(np.array([-1.0, 1.0]))[:, 1]
    assert 0 < chances[0] < 0.4 and 0.6 < chances[1] < 1


@pytest.mark.parametrize("decisions", [[0.3, 0.3, 0.3, 0.3], [1.0, 2.0, -1.0, 3.0]])
def test_decisions_that_say_nothing_give_the_share(decisions):
    """They are constant, or larger for the negative rows."""
    found = Sigmoids.fitted(np.array(decisions), np.array([0, 0, 1, 0]), np.array([0, 1]))
    assert found.slopes == [0.0]
    np.testing.assert_allclose(found.probabilities(np.array([-9.0, 9.0]))[:, 1], (2 / 3 + 3 / 5) / 4)


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    decisions = cross_val_predict(WassersteinSVC(), X, y, method="decision_function")
    found = Sigmoids.fitted(decisions, y, np.arange(3))
    assert len(found.slopes) == 3 and found.rows == 150
    again = Sigmoids(**asdict(found))
    chances = again.probabilities(np.vstack([decisions, np.full(3, -1e6)]))
    single = 1 / (1 + np.exp(-(decisions * found.slopes + found.offsets)))
    np.testing.assert_allclose(chances[:150], single / single.sum(axis=1, keepdims=True))
    assert log_loss(y, chances[:150]) < 0.7 * np.log(3)  # what equal chances would lose
    np.testing.assert_allclose(chances[-1], 1 / 3)  # far from all classes
