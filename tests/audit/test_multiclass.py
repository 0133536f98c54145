"""Worst cases of classifiers that compare the decision values of several classes."""

import math

import numpy as np
import pytest
from audits import check_distribution, error_program, hinge_program, losses
from problems import NORMS
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC
from thorough import unless_long

from drsvm import WassersteinSVC, worst_case_distribution, worst_case_risk

SEEDS = range(unless_long(12, 500))


def audit(seed, norm, n=6):
    """Return a random classifier, rows, labels and a ball, with ties, prices, infinities and missing classes."""
    rng = np.random.default_rng([seed, int(min(norm, 9))])
    n_classes = int(rng.integers(2, 5))
    d = int(rng.integers(1, 4))
    coef = rng.normal(size=(n_classes, d))
    intercept = rng.normal(size=n_classes)
    if seed % 4 == 0:
        coef[1] = coef[0]  # no shift moves the boundary between these two
    if seed % 6 == 0:
        coef = coef.round()
        intercept = intercept.round()
    X = rng.normal(size=(n, d)) * rng.choice([0.5, 3.0])
    X = X.round() if seed % 6 == 0 else X
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, n - n_classes))
    if rng.random() < 0.5:  # most labels are those of the classifier
        y[n_classes:] = (X @ coef.T + intercept).argmax(axis=1)[n_classes:]
    costs = [
        math.inf,
        0.0,
        0.7,
        rng.choice([0.0, 0.3, 2.0, math.inf], n),
        rng.uniform(0.1, 3.0, n),
    ]
    prices = [None, rng.uniform(0.5, 2.0, d), rng.choice([0.5, 1.0, math.inf], d)]
    ball = {"radius": float(rng.choice([0.0, 0.05, 0.3, 2.0])), "norm": norm}
    ball |= {"flip_cost": costs[seed % 5], "feature_cost": prices[seed % 3]}
    ball["sample_weight"] = (
        None
        if seed % 2
        else rng.choice([0.0, 1.0, 2.5], n, p=[0.4, 0.3, 0.3]) + (y == y[0])
    )
    if seed % 5 == 0 and seed > 0:
        ball["row_radius"] = 0.2 if seed % 2 else rng.choice([0.0, 0.1, 1.0], n)
    return (coef, intercept), X, y, ball


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_risks_are_those_of_linear_programs(seed, norm):
    model, X, y, ball = audit(seed, norm)
    assert worst_case_risk(model, X, y, **ball) == pytest.approx(
        hinge_program(model, X, y, ball), rel=1e-9, abs=1e-9
    )
    error = worst_case_risk(model, X, y, loss="zero-one", **ball)
    assert error == pytest.approx(error_program(model, X, y, ball), rel=1e-9, abs=1e-9)
    radii = np.array([0.0, 0.1, 5.0])
    for loss in ("hinge", "zero-one"):
        together = worst_case_risk(model, X, y, loss=loss, **{**ball, "radius": radii})
        one_by_one = [
            worst_case_risk(model, X, y, loss=loss, **{**ball, "radius": r})
            for r in radii.tolist()
        ]
        np.testing.assert_array_equal(together, one_by_one)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_distribution_attains_the_risk(seed, norm):
    model, X, y, ball = audit(seed, norm)
    if len(model[0]) > 2 and np.any(ball.get("row_radius", 0)):
        with pytest.raises(ValueError, match=r"row_radius: .* with positive="):
            worst_case_distribution(model, X, y, **{**ball, "radius": 1e9})
        return
    for slack in (1e-3, 1e-6):
        distribution = worst_case_distribution(model, X, y, slack=slack, **ball)
        check_distribution(distribution, model, X, y, ball, slack)
        assert distribution.risk == worst_case_risk(model, X, y, **ball)


def test_the_highest_rate_may_need_a_flip():
    """Only the classes 1 and 2 differ by a rate of 20, and no row is of class 2: a little mass is flipped first."""
    model = np.array([[0.0], [-10.0], [10.0]]), np.array([50.0, 0.0, 0.0])
    X = np.array([[0.0], [0.1], [-0.1]])
    y = np.array([0, 0, 0])
    labels = np.append(y, [1, 2])
    rows = np.vstack([X, [[0.0], [0.0]]])
    weights = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    trusted = {
        "radius": 0.1,
        "flip_cost": math.inf,
        "norm": 2,
        "feature_cost": None,
        "sample_weight": weights,
    }
    assert worst_case_risk(model, rows, labels, **trusted) == pytest.approx(0.1 * 10)
    for flip_cost, attained in ((30.0, False), (2.0, True)):
        ball = {**trusted, "flip_cost": flip_cost}
        distribution = worst_case_distribution(model, rows, labels, **ball)
        assert distribution.attained is attained and distribution.flipped.any()
        assert distribution.risk == pytest.approx(
            0.1 * max(20, 51 / 2) if attained else 0.1 * 20, rel=0.02
        )
        check_distribution(distribution, model, rows, labels, ball)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", SEEDS[:10])
def test_two_values_are_one_decision(seed, norm):
    (coef, intercept), X, y, ball = audit(seed, norm)
    y = np.append(np.arange(2), y[2:] % 2)
    one = (coef[1] - coef[0], intercept[1] - intercept[0])
    two = (coef[:2], intercept[:2])
    for loss in ("hinge", "zero-one"):
        expected = worst_case_risk(one, X, y, loss=loss, **ball)
        assert worst_case_risk(two, X, y, loss=loss, **ball) == pytest.approx(
            expected, rel=1e-12, abs=1e-12
        )
    first, second = (
        worst_case_distribution(model, X, y, **ball) for model in (one, two)
    )
    np.testing.assert_allclose(first.shift, second.shift, rtol=1e-9)
    np.testing.assert_array_equal(first.labels, second.labels)


# Models of scikit-learn

CRAMMER_SINGER = pytest.param(
    LinearSVC(multi_class="crammer_singer", C=0.01, max_iter=100_000),
    # scikit-learn 1.9.0 takes the number of iterations from memory that nothing has
    # been written to.
    marks=pytest.mark.filterwarnings("ignore:Liblinear failed to converge"),
)
MODELS = [
    LogisticRegression(),
    LinearSVC(),
    CRAMMER_SINGER,
    RidgeClassifier(),
    SGDClassifier(random_state=0),
]
MODELS += [
    Perceptron(),
    LinearDiscriminantAnalysis(),
    OneVsRestClassifier(LogisticRegression()),
    WassersteinSVC(),
]
MODELS += [make_pipeline(StandardScaler(), LinearSVC(fit_intercept=False))]


@pytest.fixture(scope="module")
def four():
    """Return rows and labels of four classes that overlap."""
    rng = np.random.default_rng(5)
    y = np.array(["ant", "bee", "cat", "dog"])[rng.integers(0, 4, 120)]
    centres = {
        "ant": [2, 0, 0],
        "bee": [-1, 2, 0],
        "cat": [-1, -2, 1],
        "dog": [0, 0, -2],
    }
    return rng.normal(size=(120, 3)) + [centres[label] for label in y], y


def steps_over_boundaries(model, X, y):
    """Return for each row the shortest step to a boundary of its class, and slightly beyond; 0 if it is wrong."""
    coef = model.coef_
    values = model.decision_function(X)
    codes = np.searchsorted(model.classes_, y)
    steps = np.zeros(X.shape)
    for i in np.flatnonzero(model.predict(X) == y):
        leads = {j: coef[codes[i]] - coef[j] for j in range(len(coef)) if j != codes[i]}
        to = {
            j: -(values[i, codes[i]] - values[i, j]) * w / (w @ w)
            for j, w in leads.items()
        }
        steps[i] = min(to.values(), key=np.linalg.norm) * (1 + 1e-9)
    return steps


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_no_attack_exceeds_the_error_rate_and_one_attains_it(model, four):
    rows, y = four
    model = model.fit(rows, y)
    last, X = (
        (model[-1], model[0].transform(rows))
        if hasattr(model, "steps")
        else (model, rows)
    )
    if not hasattr(last, "coef_"):
        last.coef_ = np.vstack([one.coef_ for one in last.estimators_])
    ball = {"loss": "zero-one", "flip_cost": math.inf}
    assert worst_case_risk(model, rows, y, radius=0.0, **ball) == pytest.approx(
        1 - model.score(rows, y), abs=1e-12
    )
    steps = steps_over_boundaries(last, X, y)
    lengths = np.linalg.norm(steps, axis=1)
    order = np.argsort(lengths)
    for count in (0, 10, 60, 100):
        budget = lengths[order[:count]].sum() / len(y)
        moved = X.copy()
        moved[order[:count]] += steps[order[:count]]
        bound = worst_case_risk(model, rows, y, radius=budget, **ball)
        assert bound == pytest.approx(np.mean(last.predict(moved) != y), abs=1e-6)
        rng = np.random.default_rng(count)
        for _ in range(20):
            shifts = rng.normal(size=X.shape) * (
                rng.random((len(y), 1)) < rng.choice([0.1, 0.5, 1.0])
            )
            shifts *= budget * len(y) / np.linalg.norm(shifts, axis=1).sum()
            assert np.mean(last.predict(X + shifts) != y) <= bound + 1e-6


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_hinge_loss_is_that_of_the_decision_values(model, four):
    rows, y = four
    model = model.fit(rows, y)
    codes = np.searchsorted(model.classes_, y)
    expected = losses(model.decision_function(rows), codes).mean()
    assert worst_case_risk(model, rows, y, radius=0.0) == pytest.approx(
        expected, rel=1e-10
    )
    distribution = worst_case_distribution(model, rows, y, radius=0.2, flip_cost=0.8)
    assert set(distribution.labels) <= set(y) and distribution.flipped.any()
    gap = distribution.risk - distribution.expected_loss
    assert gap == pytest.approx(
        0, abs=1e-9 * distribution.risk if distribution.attained else 1e-3
    )
    assert distribution.transport_cost == pytest.approx(0.2, rel=1e-9)


def test_sparse_rows_and_some_of_the_classes_are_enough(four):
    X, y = four
    model = LogisticRegression().fit(X, y)
    for rows in (slice(None), y != "cat", y == "dog"):
        for loss in ("hinge", "zero-one"):
            ball = {"radius": 0.1, "flip_cost": 2.0, "loss": loss}
            expected = worst_case_risk(model, X[rows], y[rows], **ball)
            assert worst_case_risk(
                model, sparse.csr_array(X[rows]), y[rows], **ball
            ) == pytest.approx(expected)
    distribution = worst_case_distribution(model, sparse.csr_array(X), y, radius=0.1)
    assert sparse.issparse(distribution.features)
    assert distribution.risk == pytest.approx(
        worst_case_distribution(model, X, y, radius=0.1).risk
    )


def test_a_tie_is_an_error():
    model = np.array([[1.0], [1.0], [0.0]]), np.array([0.0, 0.0, 0.0])
    X = np.array([[1.0], [2.0], [-1.0]])
    y = [0, 1, 2]
    assert worst_case_risk(model, X, y, radius=0.0, loss="zero-one") == pytest.approx(
        2 / 3
    )
    # Class 1 is never predicted, and no shift leads from 0 to 1
    ahead = (
        model[0],
        np.array([0.5, 0.0, 0.0]),
    )
    risks = worst_case_risk(
        ahead, X[[0, 2, 2]], [0, 1, 2], radius=[0.0, 1.0], loss="zero-one"
    )
    np.testing.assert_allclose(risks, [1 / 3, 1.0])


PAIRS = [
    SVC(kernel="linear"),
    NuSVC(kernel="linear", nu=0.1),
    OneVsOneClassifier(LinearSVC()),
]


@pytest.mark.parametrize("model", PAIRS)
@pytest.mark.parametrize("n_classes", [3, 4])
def test_votes_of_pairs_are_refused(model, n_classes, four):
    """With three classes there are three pairs, and as many rows of weights as classes."""
    kept = np.isin(four[1], ["ant", "bee", "cat", "dog"][:n_classes])
    X = four[0][kept]
    y = four[1][kept]
    for fitted in (model.fit(X, y), make_pipeline(StandardScaler(), model).fit(X, y)):
        name = type(model).__name__
        for judge in (worst_case_risk, worst_case_distribution):
            with pytest.raises(
                ValueError,
                match=f"{name} compares pairs .* for each class: use LinearSVC",
            ):
                judge(fitted, X, y, radius=0.1)
        with pytest.raises(
            ValueError,
            match=f"{name} compares pairs .* for 'ant' against the rest: use LinearSVC",
        ):
            worst_case_risk(fitted, X, y, radius=0.1, positive="ant")


def test_unsuitable_weights_are_refused(four):
    X, y = four
    model = LogisticRegression().fit(X, y)
    with pytest.raises(
        ValueError, match="model separates 4 classes, but y has 2 labels"
    ):
        worst_case_risk(
            (model.coef_, model.intercept_), X[:2], ["ant", "bee"], radius=0.1
        )
    with pytest.raises(
        ValueError, match="intercept must be one finite number per class"
    ):
        worst_case_risk((model.coef_, model.intercept_[:2]), X, y, radius=0.1)
    by_hand = worst_case_risk((model.coef_, model.intercept_), X, y, radius=0.1)
    assert by_hand == worst_case_risk(model, X, y, radius=0.1)
    # As many members as classes
    voting = VotingClassifier([(str(k), LinearSVC()) for k in range(4)]).fit(X, y)
    for positive in (None, "ant"):
        with pytest.raises(TypeError, match="VotingClassifier has no coef_"):
            worst_case_risk(voting, X, y, radius=0.1, positive=positive)
    model.coef_ = model.coef_[:2]
    with pytest.raises(
        ValueError,
        match=r"LogisticRegression has 4 classes but coef_ of shape \(2, 3\)",
    ):
        worst_case_risk(model, X, y, radius=0.1)
