"""Automatic class weights: where half-way ones leave a constant optimum, as little more as it takes."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from drsvm import Status, WassersteinKernelSVC, WassersteinSVC
from drsvm.defaults.one_vs_rest import factors_of_classes
from drsvm.estimators import solving
from drsvm.estimators.base import STEPS


def rare_and_noisy(seed, n=600):
    """Return rows with 10 % positives, labels of which a fifth are wrong, and the correct ones."""
    rng = np.random.default_rng(seed)
    correct = (rng.random(n) < 0.1).astype(int)
    X = rng.normal(size=(n, 6))
    X[:, 0] += 1.2 * correct
    return X, np.where(rng.random(n) < 0.2, 1 - correct, correct), correct


def share_of_way(model, y):
    """Return how far the weights are from half-way to balanced ones, and check that both classes are as far."""
    automatic, balanced = (
        factors_of_classes(kind, model.classes_, y, None)
        for kind in ("auto", "balanced")
    )
    shares = np.log(model.class_factors_ / automatic) / np.log(balanced / automatic)
    assert shares[0] == pytest.approx(shares[1], abs=1e-9)
    return float(shares[0])


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_a_rare_class_with_wrong_labels_is_not_given_up(seed):
    X, y, correct = rare_and_noisy(seed)
    model = WassersteinSVC().fit(X, y)
    share = share_of_way(model, y)
    assert share > 0.0 and STEPS * share == pytest.approx(round(STEPS * share))
    assert (
        roc_auc_score(correct, model.decision_function(X)) > 0.7 and model.gap_ <= 1e-6
    )
    factors = factors_of_classes("auto", model.classes_, y, None)
    given = dict(
        enumerate(
            factors
            * (factors_of_classes("balanced", model.classes_, y, None) / factors)
            ** (share - 1 / STEPS)
        )
    )
    with pytest.warns(UserWarning, match="constant"):  # no further than needed
        assert not WassersteinSVC(class_weight=given).fit(X, y).coef_.any()
    again = WassersteinSVC(class_weight=dict(enumerate(model.class_factors_))).fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.class_factors_, model.class_factors_)


def test_weights_stay_halfway_where_that_is_enough_or_nothing_helps():
    X, _, y = rare_and_noisy(0)
    X[:, 0] += 3.0 * y
    assert share_of_way(WassersteinSVC().fit(X, y), y) == 0.0
    for class_weight in ("auto", "balanced"):
        with pytest.warns(UserWarning, match="constant"):
            model = WassersteinSVC(radius=100.0, class_weight=class_weight).fit(X, y)
        assert not model.coef_.any()
        np.testing.assert_allclose(
            model.class_factors_,
            factors_of_classes(class_weight, model.classes_, y, None),
        )


def test_kernels():
    X, y, correct = rare_and_noisy(4, n=300)
    kernel = WassersteinKernelSVC("linear", radius=0.01, threshold="optimum").fit(X, y)
    assert (
        share_of_way(kernel, y) > 0.0
        and kernel.dual_coef_.any()
        and kernel.gap_ <= 1e-4
    )
    assert roc_auc_score(correct, kernel.decision_function(X)) > 0.65


@pytest.mark.parametrize("number", [1, 2, 3])
def test_ctrl_c_ends_each_of_the_solutions(number, monkeypatch):
    X, y, _ = rare_and_noisy(4)
    calls = []

    def interrupted(*given, **options):
        calls.append(given)
        result = fitting_solve(*given, **options)
        return (
            replace(result, status=Status.INTERRUPTED)
            if len(calls) == number
            else result
        )

    fitting_solve = solving.solve_reformulated
    monkeypatch.setattr(solving, "solve_reformulated", interrupted)
    model = WassersteinSVC()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(calls) == number and np.isfinite(model.coef_).all()
