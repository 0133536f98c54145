"""Gross errors: which cells are, what is said about them, and that the classifier survives them."""

import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from thorough import examples

from drsvm import (
    ClippedScaler,
    WassersteinKernelSVC,
    WassersteinSVC,
    WassersteinSVCCV,
    find_label_issues,
)
from drsvm.defaults import outliers as gross_errors
from drsvm.defaults import select_by_folds as evidence
from drsvm.defaults.one_vs_rest import factors_of_classes
from drsvm.defaults.outliers import FAR, NORMAL_RANGE, SAMPLE_ROWS, TAIL, far_columns


def by_definition(X):
    """Return the columns with cells that are far off, their middles and deviations."""
    low, middles, high = np.quantile(
        X, [0.1, 0.5, 0.9], axis=0, method="averaged_inverted_cdf"
    )
    deviations = (high - low) / NORMAL_RANGE
    far = (np.abs(X - middles).max(axis=0) > FAR * deviations) & (deviations > 0)
    from_mean = np.abs(X - X.mean(axis=0))
    # Unless too many cells are as far
    far &= from_mean.max(axis=0) > from_mean.mean(axis=0) / TAIL
    return far.nonzero()[0], middles[far], deviations[far]


@examples(40, 300)
@given(st.integers(0, 10_000))
def test_what_is_far_off(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 200))
    d = int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d) + rng.normal(size=d)
    X[:, rng.random(d) < 0.3] = rng.random((n, 1)) < 0.05  # rare indicators
    spread = X.std(axis=0)
    for _ in range(int(rng.integers(0, 3))):
        X[rng.integers(n), rng.integers(d)] += (
            rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(1, 5) * spread.max()
        )
    found = far_columns(X)
    expected = by_definition(X)
    if len(found[0]) == 0:
        assert len(expected[0]) == 0
        return
    for one, other in zip(found[:3], expected, strict=True):
        np.testing.assert_allclose(one, other)
    assert 0.0 < found[3] < 1.0
    counts = rng.integers(1, 4, n)  # copies are weights
    for one, other in zip(
        far_columns(X, counts), far_columns(X.repeat(counts, axis=0)), strict=True
    ):
        np.testing.assert_allclose(one, other)


@pytest.mark.filterwarnings(
    "ignore:Far-off rows", "ignore:The fitted classifier is constant"
)
def test_the_ball_shrinks_as_the_spread_does_without_them(monkeypatch):
    X, y = make_classification(400, 6, n_redundant=0, random_state=0)
    row = X.copy()
    cell = X.copy()
    row[5] += 1e4
    cell[5, 0] += 1e4
    monkeypatch.setattr(evidence, "MIN_SAMPLE", np.inf)
    shares = [far_columns(one)[3] for one in (row, cell)]
    assert shares[0] < 0.01 < 0.2 < shares[1], "one column of six does not decide"
    shrunk = [WassersteinSVC().fit(one, y) for one in (row, cell)]
    nothing = np.array([])
    none = gross_errors.FarColumns(nothing, nothing, nothing, 1.0, nothing)
    monkeypatch.setattr(gross_errors, "far_columns", lambda *_: none)
    for one, share, model in zip((row, cell), shares, shrunk, strict=True):
        full = WassersteinSVC().fit(one, y)
        assert model.radius_ == pytest.approx(share * full.radius_, rel=0.05)
        assert model.l2_ == pytest.approx(share**2 * full.l2_, rel=0.1)


def spoilt(n=300, d=5, far_class=0, value=999.0, shift=1.5):
    """Return rows with 15 % positives, one of which has the same wrong value in all columns, and the labels."""
    rng = np.random.default_rng(3)
    y = (rng.random(n) < 0.15).astype(int)
    X = rng.normal(size=(n, d))
    X[:, 0] += shift * y
    X[np.flatnonzero(y == far_class)[0]] = value
    return X, y


@pytest.mark.filterwarnings("ignore:Far-off rows")
@pytest.mark.parametrize("far_class", [0, 1])
@pytest.mark.parametrize("shift", [0.5, 1.5, 3.0])
def test_one_row_does_not_decide(far_class, shift):
    X, y = spoilt(far_class=far_class, shift=shift)
    model = make_pipeline(StandardScaler(), WassersteinSVC()).fit(X, y)
    constant = 1.0 - y.mean()
    assert model.score(X, y) >= constant - 0.02
    others = np.abs(X).max(axis=1) < 100
    ordinary = make_pipeline(StandardScaler(), WassersteinSVC()).fit(
        X[others], y[others]
    )
    values, usual = (
        roc_auc_score(y[others], one.decision_function(X[others]))
        for one in (model, ordinary)
    )
    assert values > usual - 0.05


@pytest.mark.filterwarnings(
    "ignore:Far-off rows", "ignore:The fitted classifier is constant"
)
def test_classes_are_not_equalised_to_set_a_far_row_apart():
    X, y = spoilt(d=2, shift=0.5)
    model = WassersteinSVC(radius=0.5).fit(X, y)
    np.testing.assert_allclose(
        model.class_factors_, factors_of_classes("auto", model.classes_, y, None)
    )
    balanced = WassersteinSVC(radius=0.5, class_weight="balanced").fit(X, y)
    values = balanced.decision_function(X)
    assert np.ptp(np.delete(values, 1)) < 0.01 < 0.9 < np.ptp(values), (
        "balanced weights set it apart"
    )
    # A far row of the rarer class is set apart by half-way weights: others are told
    # apart by more equal ones.
    X, y = spoilt(far_class=1, shift=0.5)
    values = WassersteinSVC().fit(X, y).decision_function(X)
    assert np.ptp(np.quantile(values, [0.1, 0.9])) > 0.5


@pytest.mark.filterwarnings("ignore:The fitted classifier is constant")
def test_the_warning_names_rows_column_and_remedy():
    pd = pytest.importorskip("pandas")
    X, y = make_classification(200, 5, random_state=0)
    X[[3, 9, 20, 40, 41, 42], 2] = 500.0
    X[100, 4] = -1e6
    rows = r"7 of 200 rows \(3, 9, 20, 40, 41, ...\)"
    told = (
        rows
        + r".* row 100 with -1e\+06 in column {}, .*put ClippedScaler\(\) in front of the classifier"
    )
    for kind in (WassersteinSVC, WassersteinKernelSVC):
        with pytest.warns(UserWarning, match=told.format(4)) as caught:
            kind().fit(X, y)
        assert [one.filename for one in caught if "Far-off" in str(one.message)] == [
            __file__
        ]
    with pytest.warns(UserWarning, match=told.format("'e'")):
        WassersteinSVC().fit(pd.DataFrame(X, columns=list("abcde")), y)
    with pytest.warns(UserWarning, match="Far-off rows") as caught:
        WassersteinSVCCV(radii=2, cv=2).fit(X, y)
    assert sum("Far-off" in str(one.message) for one in caught) == 1
    WassersteinSVC().fit(X, y, np.abs(X).max(axis=1) < 100)  # weight 0 removes a row
    WassersteinSVC().fit(sparse.csr_array(X), y)
    find_label_issues(X, y, cv=2)


def test_the_folds_of_a_search_do_not_repeat_it():
    X, y = make_classification(120, 3, n_redundant=0, random_state=0)
    X[[0, 1, 2, 70], 0] = 1e4  # several rows in one fold, one in another
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        GridSearchCV(WassersteinSVC(), {"radius": [0.01, 0.02]}, cv=2, refit=False).fit(
            X, y
        )
    assert sum("Far-off" in str(one.message) for one in caught) == 1


def test_ordinary_rows_are_not_warned_of():
    rng = np.random.default_rng(0)
    n = 2 * SAMPLE_ROWS
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.standard_t(5, n),
            rng.random(n) < 0.01,
            np.exp(rng.normal(size=n)),
        ]
    )
    assert len(far_columns(X)[0]) == 0
    X[n // 2 + 1, 0] = 1e3  # also between the rows that describe a column
    assert far_columns(X)[0].tolist() == [0]


@pytest.mark.filterwarnings("ignore:Far-off rows")
def test_a_search_starts_from_the_ball_without_them():
    X, y = make_classification(400, 6, n_redundant=0, class_sep=1.5, random_state=0)
    wrong = X.copy()
    wrong[5] += 1e4
    models = [WassersteinSVCCV(radii=4, cv=3).fit(rows, y) for rows in (X, wrong)]
    assert models[1].score(X, y) > models[0].score(X, y) - 0.02
    largest = [max(model.cv_results_["param_radius"]) for model in models]
    assert largest[1] < 10.0 * largest[0], (
        "not as much larger as the spread is, 500 times"
    )


# --- columns on other scales
# --------------------------------------------------------------------------------------


def warnings_of(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [
        str(one.message)
        for one in caught
        if str(one.message).startswith("Different scales")
    ]


@pytest.fixture(scope="module")
def uneven():
    X, y = make_classification(120, 6, n_redundant=0, random_state=0)
    table = pd.DataFrame(
        X * [1.0, 1.0, 1000.0, 1.0, 1.0, 1.0],
        columns=["age", "b", "income", "d", "e", "f"],
    )
    return table.assign(constant=0.1, rare=np.arange(120) == 7), y


@pytest.mark.parametrize(
    "model",
    [WassersteinSVC(), WassersteinKernelSVC(n_landmarks=10), WassersteinSVCCV(radii=2)],
)
@pytest.mark.filterwarnings(
    "ignore:The fitted classifier is constant", "ignore:Cross-validation has chosen"
)
def test_a_column_on_another_scale_is_named_once_with_the_remedy(uneven, model):
    X, y = uneven
    [message] = warnings_of(lambda: model.fit(X, y))
    assert re.match(
        r"Different scales: column 'income' varies \d,?\d{3} times as much as others",
        message,
    )
    assert message.endswith(
        f"use make_pipeline(ClippedScaler(), {type(model).__name__}())."
    )
    [message] = warnings_of(lambda: model.fit(X.to_numpy(), y))
    assert message.startswith("Different scales: column 2 varies")


@pytest.mark.parametrize("scale", [1e7, 2.0**64])
@pytest.mark.filterwarnings("ignore:The fitted classifier is constant")
def test_hashed_ids_and_nanoseconds_are_on_another_scale(uneven, scale):
    X, y = uneven
    X = X.assign(income=np.random.default_rng(0).uniform(size=len(X)) * scale)
    [message] = warnings_of(lambda: WassersteinSVC(0.1, l2=0.1).fit(X, y))
    assert "column 'income' varies" in message
    assert re.search(r" \d(,\d{3},\d{3}|e\+\d\d) times", message)


def test_no_word_about_scales_that_do_no_harm(uneven):
    X, y = uneven
    silent = {
        "0/1 and constant columns": (WassersteinSVC(), X.drop(columns="income")),
        "behind a scaler": (make_pipeline(StandardScaler(), WassersteinSVC()), X),
        "principal components": (
            make_pipeline(StandardScaler(), PCA(), WassersteinSVC()),
            X.assign(g=X.age + X.b),
        ),
        "products": (
            make_pipeline(ClippedScaler(), PolynomialFeatures(3), WassersteinSVC()),
            X.drop(columns="rare"),
        ),
        "sparse rows": (
            WassersteinSVC(feature_cost=np.full(8, 2.0)),
            sparse.csr_array(X.to_numpy(dtype=float)),
        ),
        "cheap shifts": (WassersteinSVC(feature_cost={"income": 0.001}), X),
        "no shifts": (WassersteinSVC(feature_cost={"income": np.inf}), X),
    }
    for name, (model, rows) in silent.items():
        assert not warnings_of(partial(model.fit, rows, y)), name
    pixels, digit = load_digits(return_X_y=True)
    assert not warnings_of(lambda: WassersteinSVC().fit(pixels[:300], digit[:300] > 4))


def test_many_columns_on_other_scales():
    X, y = load_breast_cancer(return_X_y=True)
    [message] = warnings_of(
        lambda: WassersteinSVC(feature_cost=np.full(30, 2.0)).fit(X, y)
    )
    assert (
        "columns 0, 1, 2, 3, 13, ... vary up to 31,610 times as much as others"
        in message
    )
    shown = warnings_of(lambda: cross_val_score(WassersteinSVC(), X, y, cv=3))
    assert len(shown) == 3, "a filter shows all"
