"""Reasons are measured from the average training row: they do not depend on the coding of columns, and they add up."""

import warnings

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.svm import SVC
from thorough import unless_long

from drsvm import (
    ClippedScaler,
    WassersteinKernelSVC,
    WassersteinSVC,
    WassersteinSVCCV,
    explain,
    load_model,
    save_model,
)
from drsvm.problem import Rbf

LEVELS = "abcdefg"


def tables(rng, n, n_classes):
    """Return a table of texts and numbers, labels, and the names of the texts."""
    texts = [f"text {place}" for place in range(rng.integers(1, 4))]
    columns = {}
    for name in texts:
        count = rng.integers(2, len(LEVELS) + 1)
        cells = rng.choice(list(LEVELS[:count]), n, p=rng.dirichlet(np.ones(count)))
        cells[:count] = list(LEVELS[:count])
        columns[name] = cells
    for place in range(rng.integers(0, 3)):
        columns[f"number {place}"] = rng.normal(50.0, 10.0, n)
    names = rng.permutation(list(columns))
    X = pandas.DataFrame({name: columns[name] for name in names})
    return X, rng.permutation(np.arange(n) % n_classes), texts


def rules(rng, X, texts, n_classes):
    """Return what each level, and each unit of a number, adds to the decisions, of which there is one for two classes."""
    n_functions = 1 if n_classes == 2 else n_classes
    numbers = [name for name in X if name not in texts]
    of_levels = {
        name: rng.normal(size=(n_functions, X[name].nunique())) for name in texts
    }
    of_numbers = rng.normal(size=(n_functions, len(numbers))) / 10.0
    return of_levels, of_numbers, rng.normal(size=n_functions)


def coded(coding, X, y, texts, rule, classifier, **fit):
    """Return a pipeline whose columns are coded in some way, with the decisions of a rule."""
    of_levels, of_numbers, intercept = rule
    options = {
        "sparse": {},
        "one-hot": {"sparse_output": False},
        "drop first": {"drop": "first", "sparse_output": False},
        "standardised": {"sparse_output": False},
    }
    encoder = TargetEncoder()
    if coding in options:
        encoder = OneHotEncoder(**options[coding])
    parts = make_column_transformer(
        (encoder, texts), remainder="passthrough", sparse_threshold=coding == "sparse"
    ).fit(X, y)
    intercept = intercept.copy()
    weights = []
    for name in texts:
        values = of_levels[name]
        if coding == "drop first":
            intercept += values[:, 0]
            values = values[:, 1:] - values[:, :1]
        elif coding == "target":
            # A column for every function, whose codes are what the levels add
            values = np.eye(len(values))
        weights.append(values)
    if coding == "target":
        codes = [row for name in texts for row in of_levels[name]]
        parts.named_transformers_["targetencoder"].encodings_ = codes
    weights.append(of_numbers)
    coef = np.hstack(weights)
    steps = [parts]
    rows = parts.transform(X)
    if coding == "standardised":
        scaler = StandardScaler().fit(rows)
        steps.append(scaler)
        rows = scaler.transform(rows)
        intercept = intercept + coef @ scaler.mean_
        coef = coef * scaler.scale_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit(rows, y, **fit)
    classifier.coef_ = coef
    classifier.intercept_ = intercept
    return make_pipeline(*steps, classifier)


CODINGS = ("one-hot", "drop first", "target", "sparse", "standardised")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_reasons_do_not_depend_on_coding(n_classes):
    rng = np.random.default_rng(n_classes)
    for k in range(unless_long(2, 100)):
        X, y, texts = tables(rng, 40, n_classes)
        rule = rules(rng, X, texts, n_classes)
        weights = rng.integers(1, 4, 40).astype(float) if k % 2 else None
        found = []
        for coding in CODINGS:
            classifier = WassersteinSVC(0.5, l2=0.1, class_weight="balanced")
            model = coded(coding, X, y, texts, rule, classifier, sample_weight=weights)
            found.append(explain(model, X))
            if k % 3 == 0:
                # Other libraries do not know the average row: it is given, or that of X.
                other = coded(coding, X, y, texts, rule, LogisticRegression())
                shares = X.loc[np.repeat(X.index, 1 if weights is None else weights)]
                given = explain(other, X, centre=shares)
                np.testing.assert_allclose(
                    given.contributions, found[-1].contributions, atol=1e-9
                )
                if weights is None:
                    assert explain(other, X).reasons(9) == given.reasons(9)
        first = found[0]
        assert first.features == list(X)
        values = [column.mean() for column in (first.contributions.T)]
        if n_classes == 2 and weights is None:
            np.testing.assert_allclose(values, 0.0, atol=1e-9)
        for other in found:
            assert other.features == first.features
            for name in ("decision", "base", "contributions"):
                np.testing.assert_allclose(
                    getattr(other, name), getattr(first, name), atol=1e-9
                )
            np.testing.assert_allclose(
                other.contributions.sum(axis=1) + other.base, other.decision, atol=1e-9
            )
            assert other.runner_up.tolist() == first.runner_up.tolist()
            assert other.reasons(9) == first.reasons(9)


def test_a_level_is_compared_with_the_others_of_its_column():
    rng = np.random.default_rng(0)
    sex = rng.choice(["female", "male"], 400, p=[0.1, 0.9])
    X = pandas.DataFrame({"sex": sex, "age": rng.normal(40.0, 10.0, 400)})
    y = X["age"] + 6.0 * (sex == "male") + rng.normal(size=400) > 45.0
    steps = make_column_transformer(
        (OneHotEncoder(), ["sex"]), remainder=ClippedScaler()
    )
    found = explain(make_pipeline(steps, WassersteinSVC()).fit(X, y), X)
    # Most rows are male: it says little of them, and much of the others.
    of_sex = np.abs(found.contributions[:, 0])
    assert of_sex[sex == "female"].mean() > 5.0 * of_sex[sex == "male"].mean()
    man = X.index[(sex == "male") & (abs(X["age"] - 40.0) > 8.0)][0]
    assert found.reasons(1)[man].startswith("age = ")


def test_the_average_row_counts_copies_as_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + np.arange(3)
    X[X < 0.3] = 0.0
    counts = rng.integers(1, 4, 60)
    expected = np.average(X, axis=0, weights=counts)
    y = (X - np.arange(3)).argmax(axis=1)
    chosen = {"l2": 0.1, "class_weight": "balanced"}
    for model, labels in (
        (WassersteinSVC(1e-3, **chosen), y),
        (WassersteinKernelSVC(radius=1e-3, gamma=1.0, **chosen), y > 0),
        (WassersteinSVCCV([1e-3, 1e-4], cv=2, **chosen), y > 0),
    ):
        for rows in (X, sparse.csr_array(X), X.astype(np.float32)):
            model.fit(rows, labels, sample_weight=counts)
            np.testing.assert_allclose(model.mean_, expected, rtol=1e-6)
        again = model.fit(np.repeat(X, counts, axis=0), np.repeat(labels, counts))
        np.testing.assert_allclose(again.mean_, expected, rtol=1e-12)
    model = WassersteinSVC(1e-3, l2=0.1)
    weights = counts.astype(float)
    for rows in (slice(0, 20), slice(20, 50), slice(50, 60)):
        model.partial_fit(X[rows], y[rows], [0, 1, 2], weights[rows])
    np.testing.assert_allclose(model.mean_, expected, rtol=1e-12)
    model.fit(X, y, weights).partial_fit(X[:5], y[:5])
    seen = np.vstack([np.repeat(X, counts, axis=0), X[:5]])
    np.testing.assert_allclose(model.mean_, seen.mean(axis=0), rtol=1e-12)


def test_files_keep_the_average_row_and_those_of_earlier_versions_have_none(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + 3.0
    y = X[:, 0] > 3.0
    for model in (WassersteinSVC(), WassersteinKernelSVC()):
        save_model(model.fit(X, y), tmp_path / "m.drsvm")
        found = explain(load_model(tmp_path / "m.drsvm"), X[:1])
        assert found.reasons() == explain(model, X[:1]).reasons()
        assert found.base[0] == pytest.approx(
            model.decision_function(X.mean(axis=0, keepdims=True))[0]
        )
        del model.mean_
        save_model(model, tmp_path / "m.drsvm")
        found = explain(load_model(tmp_path / "m.drsvm"), X[:1])
        assert found.base[0] == pytest.approx(model.decision_function([[0.0, 0.0]])[0])


def test_one_row_for_a_model_that_does_not_know_the_average():
    X = np.random.default_rng(0).normal(size=(40, 2)) + 3.0
    y = X[:, 0] > 3.0
    model = LogisticRegression().fit(X, y)
    with pytest.warns(
        UserWarning, match="LogisticRegression does not know the average"
    ):
        found = explain(model, X[:1])
    assert found.reasons() == [""] and found.base == found.decision
    known = explain(model, X[:1], centre=X)
    assert known.base[0] == pytest.approx(model.decision_function(X).mean())
    # The step before the classifier knows it.
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    np.testing.assert_allclose(explain(scaled, X[:1]).base, scaled[-1].intercept_)
    with pytest.raises(ValueError, match=r"per feature of X \(2\), got shape \(3,\)"):
        explain(model, X[:1], centre=np.ones((2, 3)))


# Kernels


def integrated_gradients(kernel, X, Z, start, coef):
    """Return contributions by a quadrature of 300 nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(300)
    sums = np.zeros(X.shape)
    for node, weight in zip(0.5 * nodes + 0.5, 0.5 * weights, strict=True):
        points = start + node * (X - start)
        sums += weight * kernel.gradients(points, Z, coef * kernel.values(points, Z))
    return sums * (X - start)


def test_contributions_to_a_kernel_are_integrated_gradients():
    rng = np.random.default_rng(0)
    for k in range(unless_long(8, 200)):
        n, m, d = rng.integers(1, 9, 3)
        kernel = Rbf(10.0 ** rng.uniform(-3.0, 1.0))
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-4.0, 0.7)
        Z = rng.normal(size=(m, d))
        start = rng.normal(size=(1, d))
        if k % 3 == 0:
            # At the start, and a hair's breadth from it
            X[:1] = start
            X[-1:] = start + 1e-9
        coef = rng.normal(size=(n, m))
        found = kernel.contributions(X, Z, start, coef)
        change = coef * (kernel.values(X, Z) - kernel.values(start, Z))
        np.testing.assert_allclose(
            found.sum(axis=1), change.sum(axis=1), rtol=1e-9, atol=1e-12 * m
        )
        expected = integrated_gradients(kernel, X, Z, start, coef)
        np.testing.assert_allclose(found, expected, atol=1e-9 * m)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_reasons_of_kernels_are_by_column_and_add_up(n_classes):
    rng = np.random.default_rng(n_classes)
    for k in range(unless_long(2, 100)):
        X, y, texts = tables(rng, 40, n_classes)
        steps = make_column_transformer(
            (OneHotEncoder(), texts),
            remainder=StandardScaler(),
            sparse_threshold=k % 2,
        )
        classifier = WassersteinKernelSVC(
            gamma=10.0 ** rng.uniform(-2.0, 0.0), n_landmarks=5, radius=1e-3, l2=0.0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make_pipeline(steps, classifier).fit(X, y)
        found = explain(model, X)
        assert found.features == list(X)
        size = 1.0 + np.abs(found.contributions).sum(axis=1)
        rest = found.contributions.sum(axis=1) + found.base - found.decision
        assert (np.abs(rest) <= 1e-9 * size).all()
        values = model.decision_function(X)
        if n_classes == 2:
            np.testing.assert_allclose(found.decision, values, atol=1e-9)
        else:
            largest = np.sort(values, axis=1)
            lead = largest[:, -1] - largest[:, -2]
            np.testing.assert_allclose(found.decision, lead, atol=1e-9)
            second = np.argsort(values, axis=1)[:, -2]
            assert found.runner_up.tolist() == second.tolist()
        # Texts of a row are shown as they are.
        if np.ptp(values) > 0.1:
            column = X[texts[0]]
            assert f"{texts[0]} = {column[0]} (" in found.reasons(9)[0]


def test_kernels_of_others_scaled_columns_and_a_linear_kernel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
    for rows in (X, sparse.csr_array(X * (X > 0.0))):
        model = SVC().fit(rows, y)
        found = explain(model, rows)
        np.testing.assert_allclose(
            found.contributions.sum(axis=1) + found.base, found.decision, atol=1e-12
        )
    costs = np.array([1.0, 2.0, 0.5])
    chosen = {"gamma": 0.5, "radius": 0.01, "l2": 0.01, "tol": 1e-9}
    model = WassersteinKernelSVC(feature_cost=costs, **chosen).fit(X, y)
    same = WassersteinKernelSVC(**chosen).fit(X * costs, y)
    priced = explain(model, X).contributions
    plain = explain(same, X * costs).contributions
    np.testing.assert_allclose(priced, plain, atol=1e-4)
    y = X[:, 0] > 0.0
    model = WassersteinKernelSVC("linear").fit(X, y)
    found = explain(model, X)
    np.testing.assert_allclose(
        found.contributions, (X - X.mean(axis=0)) * model.coef_, atol=1e-12
    )
    for kernel in ("poly", lambda A, B: A @ B.T):
        with pytest.raises(ValueError, match="Use kernel='rbf'"):
            explain(WassersteinKernelSVC(kernel).fit(X, y), X)
