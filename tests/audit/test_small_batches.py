"""Batches of one to five rows, in which classes may be missing, for every kind of model."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from thorough import unless_long

from drsvm import (
    Problem,
    WassersteinKernelSVC,
    WassersteinSVC,
    WassersteinSVCCV,
    measure_shift,
    solve,
)

N = 24
ESTIMATORS = {
    "WassersteinSVC": WassersteinSVC(radius=0.1),
    "trusted columns": WassersteinSVC(radius=0.1, feature_cost=[1.0, math.inf]),
    "all columns trusted": WassersteinSVC(radius=0.1, feature_cost=[math.inf] * 2),
    "flips": WassersteinSVC(radius=0.1, flip_cost=1.0, norm=1),
    "WassersteinSVCCV": WassersteinSVCCV(radii=[0.1, 0.2], cv=2),
    "WassersteinKernelSVC": WassersteinKernelSVC(radius=0.1, kernel="rbf"),
    "LinearSVC": LinearSVC(),
    "RidgeClassifier": RidgeClassifier(),
    "OneVsRestClassifier": OneVsRestClassifier(LinearSVC()),
    "Pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "GridSearchCV": GridSearchCV(
        SGDClassifier(random_state=0), {"alpha": [1e-3]}, cv=2
    ),
}
OF_TWO = {
    "SVC": SVC(),
    "linear SVC": SVC(kernel="linear"),
    "FixedThresholdClassifier": FixedThresholdClassifier(
        LogisticRegression(), threshold=0.3
    ),
}
WEIGHTS = ["weights", "Result"]
LABELS = {"signs": [-1, 1], "1 and 2": [1, 2], "texts": ["no", "yes"], "3": [5, 6, 7]}
KINDS = [
    *((name, "3") for name in ["weights", *ESTIMATORS]),
    *((name, "texts") for name in [*WEIGHTS, *ESTIMATORS, *OF_TWO]),
    *((name, labels) for name in WEIGHTS for labels in ("signs", "1 and 2")),
]


def drawn(random, n, labels):
    """Return rows, the classes being around different centres, and their labels."""
    codes = random.integers(0, len(labels), n)
    centres = np.array([[0.0, 0.0], [1.5, 0.5], [0.0, 2.0]])
    return random.normal(size=(n, 2)) + centres[codes], np.array(labels)[codes]


def fitted(name, X, y):
    """Return a classifier, and what its predictions are."""
    classes = np.unique(y)
    if name in ESTIMATORS or name in OF_TWO:
        model = (ESTIMATORS | OF_TWO)[name].fit(X, y)
        return model, model.predict
    if name == "Result":
        model = solve(Problem(X, y, radius=0.1, fit_intercept=True))
        coef = model.weights
        intercept = model.intercept
    else:
        linear = LinearSVC().fit(X, y)
        coef = linear.coef_
        intercept = linear.intercept_
        model = (coef, intercept)

    def predict(X):
        values = (X @ np.atleast_2d(coef).T + intercept).reshape(len(X), -1)
        if len(classes) == 2:
            return classes[(values[:, 0] > 0.0).astype(int)]
        return classes[values.argmax(axis=1)]

    return model, predict


def batches(random, X, labels):
    """Yield rows and labels: like the audited ones, of one class, copies, far away."""
    while True:
        n = random.integers(1, 6)
        X_new, y_new = drawn(random, n, labels)
        kind = random.integers(5)
        if kind == 1:
            y_new[:] = random.choice(y_new)
        if kind == 2:
            X_new = X[random.integers(0, len(X), n)]
        if kind == 3:
            X_new = X_new * 1e6
        if kind == 4:
            X_new[:] = X_new[0]
        yield X_new, y_new


def check(shift, unlabelled, wrong, y_new, labels):
    """Compare figures with what they are by definition, and with each other."""
    assert shift.error_now == pytest.approx(wrong)
    for label in labels:
        assert shift.shares_now[label] == pytest.approx((y_new == label).mean())
    slack = 1e-6
    assert 0.0 <= shift.expected_error <= shift.worst_error + slack <= 1.0 + slack
    assert shift.moved >= 0.0 and shift.moved_by_chance >= 0.0
    for name, figure in shift.to_dict().items():
        assert not isinstance(figure, float) or not math.isnan(figure), name
    for name in ("moved", "moved_by_chance", "expected_error", "worst_error"):
        assert getattr(unlabelled, name) == pytest.approx(getattr(shift, name)), name
    assert "nan" not in str(shift)


@pytest.mark.parametrize("kind", unless_long(KINDS[::4], KINDS), ids=" of ".join)
def test_figures_of_small_batches_are_right(kind, set_values):
    set_values(random_splits=19)
    name, labels = kind[0], LABELS[kind[1]]
    random = np.random.default_rng(0)
    model, predict = fitted(name, *drawn(random, 60, labels))
    X, y = drawn(random, N, labels)
    new = batches(random, X, labels)
    for _ in range(unless_long(5, 200)):
        X_new, y_new = next(new)
        shift = measure_shift(model, X, y, X_new, y_new, random_state=0)
        rows = X_new.tolist()
        if name not in WEIGHTS:
            rows = sparse.csr_array(X_new) if name == "LinearSVC" else X_new
        unlabelled = measure_shift(model, X[::-1], y[::-1], rows, random_state=0)
        wrong = (predict(X_new) != y_new).mean()
        check(shift, unlabelled, wrong, y_new, labels)
        assert shift.error_before == pytest.approx((predict(X) != y).mean())
