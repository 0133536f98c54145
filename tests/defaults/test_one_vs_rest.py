"""Several classes as binary problems: labels, weights and warnings."""

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from problems import plain_svc
from scipy import sparse
from sklearn.datasets import load_digits, make_classification
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from drsvm import Problem, WassersteinSVCCV
from drsvm.defaults import one_vs_rest
from drsvm.problem import validation


def test_more_classes_are_trained_one_vs_rest(three_classes):
    X, y = three_classes
    # The weights move the centre, to which a price refers
    fixed = {
        "radius": 0.02,
        "intercept_cost": np.inf,
    }
    model = plain_svc(**fixed).fit(X, y)
    assert (
        model.coef_.shape == (3, 4)
        and model.gap_.shape == (3,)
        and (model.gap_ <= 1e-6).all()
    )
    for k, label in enumerate(model.classes_):
        # One class is compared with two others: its rows count twice.
        alone = plain_svc(**fixed, class_weight={1: 2.0, 0: 1.0}).fit(
            X, np.where(y == label, 1, 0)
        )
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-9)
        assert model.objective_[k] == pytest.approx(alone.objective_, abs=1e-9)
    assert model.score(X, y) > 0.9 and model.n_iter_ == max(
        result.n_iter for result in model.result_
    )


def test_class_weights_multiply_sample_weights(three_classes):
    X, y = three_classes
    weights = np.random.default_rng(0).random(len(y)) + 0.5
    factors = {"setosa": 1.0, "versicolor": 3.0, "virginica": 0.5}
    with_classes = plain_svc(radius=0.05, class_weight=factors).fit(X, y, weights)
    by_hand = plain_svc(radius=0.05).fit(
        X, y, weights * np.array([factors[label] for label in y])
    )
    np.testing.assert_allclose(with_classes.coef_, by_hand.coef_, atol=1e-8)


def test_balanced_classes_have_equal_weights():
    X, y = make_classification(300, 5, weights=[0.9], random_state=1)
    balanced = plain_svc(radius=0.05, class_weight="balanced").fit(X, y)
    weights = np.where(y == 1, 0.5 / (y == 1).mean(), 0.5 / (y == 0).mean())
    np.testing.assert_allclose(
        balanced.coef_, plain_svc(radius=0.05).fit(X, y, weights).coef_, atol=1e-8
    )


def test_class_weights_are_not_counts_for_the_automatic_radius():
    X, y = make_classification(300, 5, weights=[0.9], random_state=1)
    once, twice = (
        plain_svc(class_weight={0: k, 1: 3.0 * k}).fit(X, y) for k in (1.0, 2.0)
    )
    assert twice.radius_ == pytest.approx(once.radius_, rel=1e-9)
    # As if there were twice as many rows
    doubled = plain_svc().fit(X, y, np.full(len(y), 2.0))
    assert doubled.radius_ == pytest.approx(
        plain_svc().fit(X, y).radius_ / 2.0, rel=0.1
    )  # 5 features


def test_balanced_weights_give_each_side_half_of_the_weight(three_classes):
    X, y = three_classes
    rows = np.r_[0:50, 50:75, 100:110]
    X = X[rows]
    y = y[rows]
    # The weights move the centre, to which a price refers
    fixed = {
        "radius": 0.05,
        "intercept_cost": np.inf,
        "tol": 1e-9,
    }
    model = plain_svc(**fixed, class_weight="balanced").fit(X, y)
    for k, label in enumerate(model.classes_):
        # One over the sizes of the classes
        own = np.where(y == "setosa", 0.2, np.where(y == "versicolor", 0.4, 1.0))
        weights = np.where(y == label, own * 2.0, own)
        assert weights[y == label].sum() == pytest.approx(weights[y != label].sum())
        alone = plain_svc(**fixed).fit(X, y == label, sample_weight=weights)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-4)


@pytest.mark.thorough
@pytest.mark.filterwarnings(
    "ignore:The fitted classifier is constant"
)  # of the plain one, with a tenth of positives
def test_with_wrong_labels_it_beats_plain_one_vs_rest():
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))
    train = rows[:700]
    test = rows[700:]
    labels = np.where(
        rng.random(700) < 0.35, (y[train] + rng.integers(1, 10, 700)) % 10, y[train]
    )
    ours = plain_svc(tol=1e-3).fit(X[train], labels).score(X[test], y[test])
    plain = (
        OneVsRestClassifier(plain_svc(tol=1e-3))
        .fit(X[train], labels)
        .score(X[test], y[test])
    )
    assert ours > 0.8 and ours > plain + 0.1


def test_flips_of_a_whole_class_are_a_warning():
    X, y = make_classification(300, 5, weights=[0.9], random_state=1)
    with pytest.warns(UserWarning) as caught:
        plain_svc(radius=0.3, flip_cost=1.0).fit(X, y)
    assert "lets the adversary flip every label of the rarer class" in str(
        caught[0].message
    )


# Constant classifiers predict the majority


@pytest.mark.filterwarnings("ignore:The fitted classifier is constant")
@pytest.mark.parametrize("shift", [0.0, 7.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    "counts", [(30, 50), (50, 30), (20, 30, 40), (40, 30, 20), (30, 40, 20)]
)
def test_without_weights_the_majority_is_predicted(counts, fit_intercept, shift):
    y = np.repeat(np.array(["a", "b", "c"])[: len(counts)], counts)
    X = np.random.default_rng(0).normal(size=(len(y), 3)) + shift
    model = plain_svc(radius=1000.0, fit_intercept=fit_intercept).fit(X, y)
    assert not model.coef_.any() and np.abs(model.intercept_).max() < 1e-10
    assert set(model.predict(X)) == {"abc"[np.argmax(counts)]}


@pytest.mark.filterwarnings("ignore:The fitted classifier is constant")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_majority_is_that_of_the_weights(n_classes):
    y = np.arange(60) % n_classes
    X = np.random.default_rng(0).normal(size=(60, 3))
    for label in range(n_classes):
        heavy = np.where(y == label, 3.0, 1.0)
        assert set(plain_svc(radius=1000.0).fit(X, y, heavy).predict(X)) == {label}
        weights = {other: 1.0 + 2.0 * (other == label) for other in range(n_classes)}
        assert set(
            plain_svc(radius=1000.0, class_weight=weights).fit(X, y).predict(X)
        ) == {label}


@given(st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_an_intercept_that_decides_is_left_alone(n_classes, seed):
    rng = np.random.default_rng(seed)
    classes = np.arange(n_classes)
    y = np.arange(12) % n_classes
    weights = rng.uniform(0.1, 1.0, size=12)
    problems = one_vs_rest.binary_problems(
        rng.normal(size=(12, 2)), y, classes, weights
    )
    coefs = rng.normal(size=(len(problems), 2)) * (rng.random((len(problems), 1)) < 0.5)
    intercepts = rng.normal(size=len(problems)) * (rng.random(len(problems)) < 0.5)
    tilted = one_vs_rest.towards_majority(problems, coefs, intercepts)
    undecided = ~coefs.any(axis=1) & (intercepts == 0)
    np.testing.assert_array_equal(tilted[~undecided], intercepts[~undecided])
    totals = np.bincount(y, weights)
    totals = totals[1:] - totals[0] if n_classes == 2 else totals
    order = np.argsort(totals[undecided])  # more weight, larger intercept
    assert (np.diff(tilted[undecided][order]) > 0).all() and (
        np.abs(tilted[undecided]) < 1e-11
    ).all()
    if n_classes == 2 and undecided[0]:
        assert np.sign(tilted[0]) == np.sign(totals[0])


# The check of X


@pytest.fixture
def scans(monkeypatch):
    """Return a list to which every check of many values for NaN appends their number."""
    sizes = []

    def counted(scan, is_skipped):
        def scan_and_count(X, *arguments, **more):
            size = np.size(X.data if sparse.issparse(X) else X)
            if size > 500 and not is_skipped():  # labels and weights are fewer
                sizes.append(size)
            return scan(X, *arguments, **more)

        return scan_and_count

    theirs = "sklearn.utils.validation._assert_all_finite"
    monkeypatch.setattr(
        theirs,
        counted(
            sklearn.utils.validation._assert_all_finite,
            lambda: sklearn.get_config()["assume_finite"],
        ),
    )
    monkeypatch.setattr(
        validation, "check_entries", counted(validation.check_entries, lambda: False)
    )
    return sizes


FITS = {
    "fit": lambda X, y: plain_svc(radius=0.05, intercept_cost=np.inf).fit(X, y),
    "defaults": lambda X, y: plain_svc().fit(X, y, np.arange(len(y)) % 7),
    "partial_fit": lambda X, y: plain_svc(0.05, intercept_cost=np.inf).partial_fit(
        X, y, classes=np.unique(y)
    ),
    "cross-validation": lambda X, y: WassersteinSVCCV(radii=[0.1, 0.05], cv=2).fit(
        X, y
    ),
}


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("fit", FITS)
def test_the_values_of_the_rows_are_checked_once(scans, fit, n_classes, container):
    rng = np.random.default_rng(0)
    y = np.arange(200) % n_classes
    X = rng.normal(size=(200, 6)) + 3.0 * np.eye(6)[y]
    FITS[fit](container(X), y)
    assert scans == [X.size]


def test_the_problem_of_a_user_is_checked(scans):
    Problem(np.eye(30), np.arange(30) % 2)
    assert scans == [900]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "container", [np.asfortranarray, sparse.csr_matrix, sparse.csc_array]
)
@pytest.mark.parametrize("fit", FITS)
def test_rows_of_any_form_are_converted_once_and_not_modified(fit, container):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    dense = rng.normal(size=(90, 5)) + 3.0 * np.eye(5)[y]
    X = container(dense)
    # Sparse rows have another default price
    same = sparse.csr_array(dense) if sparse.issparse(X) else dense.copy()
    model = FITS[fit](X, y)
    expected = FITS[fit](same, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
    if sparse.issparse(X):
        X.data[0] += 1.0  # the caller's matrix is still writable
    else:
        assert X.flags.writeable


@pytest.mark.parametrize(
    "counts", [(50, 50), (70, 30), (98, 2), (60, 30, 10), (96, 2, 2)]
)
def test_automatic_weights_are_halfway_and_rare_classes_have_their_share(counts):
    y = np.repeat(np.arange(len(counts)), counts)
    factors = one_vs_rest.factors_of_classes("auto", np.arange(len(counts)), y, None)
    masses = factors * counts / (factors * counts).sum()
    roots = np.sqrt(counts) / np.sqrt(counts).sum()
    least = 0.6 / len(counts)
    if roots.min() >= least:
        np.testing.assert_allclose(masses, roots)
    elif len(counts) == 2:
        assert masses.min() == pytest.approx(least)
    assert (
        masses.min() >= min(roots.min(), 0.9 * least)
        and (np.diff(masses) <= 1e-12).all()
    )
