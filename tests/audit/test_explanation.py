"""Reasons for the decisions of rows, and the smallest shifts that turn them."""

import math
import pickle
import warnings

import numpy as np
import pandas
import pytest
from audits import cost_to_cross
from hypothesis import given
from hypothesis import strategies as st
from problems import NORMS, classifiers, generator, plain_svc, problems
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from strategies import norm_of
from thorough import unless_long

from drsvm import (
    ClippedScaler,
    Problem,
    WassersteinKernelSVC,
    WassersteinSVC,
    explain,
    solve,
    worst_case_risk,
)
from drsvm.utils import number


def random_model(rng, n_classes, d, norm):
    """Return weights and intercepts of classes (one row of two), some 0, and prices, some infinite."""
    shape = (1 if n_classes == 2 else n_classes, d)
    coef = rng.normal(size=shape) * (rng.random(shape) < 0.8)
    costs = (
        np.where(rng.random(d) < 0.25, np.inf, rng.uniform(0.2, 5.0, d))
        if rng.random() < 0.7
        else None
    )
    return coef, rng.normal(size=shape[0]), {"norm": norm, "feature_cost": costs}


def predicted(coef, intercept, X):
    """Return the places of the predicted classes."""
    values = X @ coef.T + intercept
    return (values[:, 0] > 0).astype(int) if len(coef) == 1 else values.argmax(axis=1)


@pytest.mark.parametrize("norm", NORMS)
def test_shifts_turn_the_decision_and_no_shorter_one_does(norm):
    rng = np.random.default_rng(int(min(norm, 9)))
    for k in range(170):
        n_classes = (2, 3, 2, 5)[k % 4]
        d = int(rng.integers(1, 7))
        coef, intercept, ball = random_model(rng, n_classes, d, norm)
        X = rng.normal(size=(4, d))
        found = explain((coef, intercept), X, **ball)
        shift = found.turning_shift
        before = predicted(coef, intercept, X)
        turns = np.isfinite(found.distance)
        labels = np.array([-1, 1]) if n_classes == 2 else np.arange(n_classes)
        np.testing.assert_array_equal(found.prediction, labels[before])
        np.testing.assert_array_equal(
            labels[predicted(coef, intercept, X + 0.999 * shift)], found.prediction
        )
        after = labels[predicted(coef, intercept, X + 1.001 * shift)]
        np.testing.assert_array_equal(
            after, np.where(turns, found.turns_to, found.prediction)
        )
        costs = np.ones(d) if ball["feature_cost"] is None else ball["feature_cost"]
        assert not shift[:, np.isinf(costs)].any() and not shift[~turns].any()
        finite = np.where(np.isinf(costs), 0.0, costs)
        sizes = [norm_of(row, norm) for row in finite * shift]
        np.testing.assert_allclose(
            sizes, np.where(turns, found.distance, 0.0), rtol=1e-12
        )
        np.testing.assert_allclose(
            found.contributions.sum(axis=1) + found.base, found.decision, atol=1e-12
        )
        pairs = [-coef[0], coef[0]] if n_classes == 2 else coef
        offsets = [-intercept[0] / 2, intercept[0] / 2] if n_classes == 2 else intercept
        pairs = np.array(pairs) / (2 if n_classes == 2 else 1)
        if d < 4:
            own = before[0]
            x = X[0]
            others = [k for k in range(len(pairs)) if k != own]
            programs = [
                cost_to_cross(
                    x, pairs[own] - pairs[k], offsets[own] - offsets[k], costs, norm
                )
                for k in others
            ]
            assert found.distance[0] == pytest.approx(min(programs), rel=1e-7)


@given(
    problems(l2=0.0).flatmap(
        lambda problem: st.tuples(st.just(problem), classifiers(problem))
    ),
    st.data(),
)
def test_contributions_add_up(drawn, data):
    problem, (w, b) = drawn
    X = np.array(problem.X)
    drawn_row = generator(data.draw).normal(size=problem.n_features)
    for centre, middle in ((X, X.mean(axis=0)), (drawn_row, drawn_row)):
        found = explain((w, b), X, centre=centre)
        terms = np.abs(w) @ np.abs(X - middle).T + abs(b) + np.abs(w) @ np.abs(middle)
        assert (
            np.abs(found.contributions.sum(axis=1) + found.base - (X @ w + b))
            <= 1e-13 * terms
        ).all()
        np.testing.assert_array_equal(found.contributions, w * (X - middle))
        np.testing.assert_allclose(found.decision, X @ w + b, atol=1e-13 * terms.max())
        rows = sparse.csr_array(X)
        found = explain((w, b), rows, centre=centre)
        np.testing.assert_allclose(
            found.contributions, w * (X - middle), atol=1e-14 * (1 + terms.max())
        )
        assert rows.toarray().tolist() == X.tolist()


def test_nothing_can_turn_a_constant_model_or_one_of_fixed_columns():
    X = np.array([[1.0, 2.0], [0.0, 0.0]])
    fixed = explain(([1.0, 0.0], 0.5), X, norm=math.inf, feature_cost=[math.inf, 1.0])
    constant = explain(([0.0, 0.0], 0.0), X)
    several = explain((np.zeros((3, 2)), np.zeros(3)), X)
    for found in (fixed, constant, several):
        assert np.isinf(found.distance).all() and not found.turning_shift.any()
        assert (found.prediction != found.turns_to).all()
    assert constant.reasons() == ["", ""] and "inf" in repr(fixed)
    on_boundary = explain(([1.0, 0.0], 0.0), [[0.0, 3.0]], centre=[0.0, 0.0])
    assert on_boundary.distance == 0 and not on_boundary.turning_shift.any()


# Models and what is around them


def training(n_classes=2, n=90):
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, 3)) + 1.5 * (y[:, None] == np.arange(3))
    return pandas.DataFrame(
        X * [1.0, 300.0, 1e-4] + [0.0, 5000.0, 0.0], columns=["age", "income", "rate"]
    ), y


ONE_TO_ONE = [
    StandardScaler(),
    MinMaxScaler(),
    MaxAbsScaler(),
    RobustScaler(),
    ClippedScaler(limit=20.0),
    make_pipeline(SimpleImputer(), StandardScaler()),
    make_column_transformer((StandardScaler(), ["income"]), remainder=MinMaxScaler()),
    make_column_transformer(
        (StandardScaler(), ["income", "age"]), (MinMaxScaler(), [2])
    ),
    make_pipeline(
        FunctionTransformer(lambda X: 2 - X, feature_names_out="one-to-one"),
        StandardScaler(),
    ),
]


@pytest.mark.parametrize("step", ONE_TO_ONE, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_steps_of_one_column_each_keep_the_units_of_the_table(step, n_classes):
    X, y = training(n_classes)
    model = make_pipeline(
        step, WassersteinSVC(norm=2 if n_classes == 2 else math.inf)
    ).fit(X, y)
    found = explain(model, X)
    assert found.features == found.shift_features == ["age", "income", "rate"]
    values = model.decision_function(X)
    values = (
        values if n_classes == 2 else np.sort(values)[:, -1] - np.sort(values)[:, -2]
    )
    sums = found.contributions.sum(axis=1) + found.base
    np.testing.assert_allclose(sums, found.decision, atol=1e-9)
    if n_classes == 2:
        np.testing.assert_allclose(found.decision, values, atol=1e-9)
    np.testing.assert_array_equal(found.prediction, model.predict(X))
    np.testing.assert_array_equal(
        model.predict(X + 0.999 * found.turning_shift), found.prediction
    )
    np.testing.assert_array_equal(
        model.predict(X + 1.001 * found.turning_shift), found.turns_to
    )
    last = explain(model[-1], model[:-1].transform(X))
    np.testing.assert_allclose(found.distance, last.distance)
    by_name = [
        str(name).rpartition("__")[2] for name in model[:-1].get_feature_names_out()
    ]
    order = [by_name.index(name) for name in found.features]
    np.testing.assert_allclose(
        found.contributions, last.contributions[:, order], atol=1e-12
    )
    assert (
        "income = " in " ".join(found.reasons())
        and list(found.to_frame().columns[6:]) == found.features
    )


def test_features_of_one_column_add_up_to_it():
    X, y = training()
    X["town"] = np.array(["Oslo", "Rome", "Bonn"])[np.arange(len(X)) % 3]
    X["town_Rome"], X["id"] = [f"{k % 4}" for k in range(len(X))], range(len(X))
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    X.loc[::7, "age"] = np.nan
    steps = ColumnTransformer(
        [
            ("n", numbers, ["rate", "age", "income"]),
            ("t", OneHotEncoder(), ["town", "town_Rome"]),
        ]
    )
    model = make_pipeline(steps, LogisticRegression()).fit(X, y)
    found = explain(model, X[["town_Rome", "id", "income", "town", "age", "rate"]])
    assert found.features == ["age", "income", "rate", "town", "town_Rome", "id"]
    rows = model[:-1].transform(X)
    terms = pandas.DataFrame(
        (rows - rows.mean(axis=0)) * model[-1].coef_,
        columns=steps.get_feature_names_out(),
    )
    expected = {
        "age": terms["n__age"] + terms["n__missingindicator_age"],
        "income": terms["n__income"],
        "rate": terms["n__rate"],
        "town": terms[[f"t__town_{name}" for name in ("Bonn", "Oslo", "Rome")]].sum(
            axis=1
        ),
        "town_Rome": terms[[f"t__town_Rome_{k}" for k in range(4)]].sum(axis=1),
        "id": 0 * terms["n__age"],
    }
    for name, column in zip(found.features, found.contributions.T, strict=True):
        np.testing.assert_allclose(column, expected[name], atol=1e-12)
    np.testing.assert_allclose(
        found.contributions.sum(axis=1) + found.base,
        model.decision_function(X),
        atol=1e-9,
    )
    assert found.shift_features == steps.get_feature_names_out().tolist()
    shifted = model[:-1].transform(X) + 1.001 * found.turning_shift
    np.testing.assert_array_equal(model[-1].predict(shifted), found.turns_to)
    assert (
        f"town = {X['town'][0]} (" in found.reasons(5)[0]
        and "age is empty (" in found.reasons(5)[0]
    )
    assert "id" not in found.reasons(6)[0]


@pytest.mark.parametrize(
    "steps",
    [[PCA(2)], [StandardScaler(), PolynomialFeatures()]],
    ids=["PCA", "products"],
)
def test_steps_that_mix_columns_end_the_way_back(steps):
    X, y = training()
    model = make_pipeline(*steps, StandardScaler(), LinearSVC()).fit(X, y)
    found = explain(model, X)
    mixed = model[:-2].transform(X)
    expected = (
        ["pca0", "pca1"]
        if len(steps) == 1
        else model[-3].get_feature_names_out().tolist()
    )
    assert found.features == found.shift_features == expected
    np.testing.assert_array_equal(
        model[-2:].predict(mixed + 1.001 * found.turning_shift), found.turns_to
    )
    last = make_pipeline(*steps, LinearSVC()).fit(X, y)
    # Those that have the names of columns are in other units.
    assert explain(last, X).features == [
        f"{name} after PolynomialFeatures" if name in X else name
        for name in last[:-1].get_feature_names_out()
    ]


CURVED = [
    FunctionTransformer(np.log1p),
    make_pipeline(FunctionTransformer(np.sqrt), FunctionTransformer()),
]
MORE_CURVED = [
    make_pipeline(StandardScaler(), FunctionTransformer(np.arctan)),
    make_pipeline(StandardScaler(), PowerTransformer()),
    QuantileTransformer(n_quantiles=20),
]


@pytest.mark.parametrize("as_frame", [True, False])
@pytest.mark.parametrize(
    "step",
    unless_long(CURVED, CURVED + MORE_CURVED),
    ids=lambda step: type(step).__name__,
)
def test_shifts_behind_functions_of_one_column_are_in_its_units(step, as_frame):
    X, y = training()
    X = np.exp(X / [1.0, 300.0, 1e-4] - [0.0, 10.0, 0.0]) * [1.0, 1000.0, 1e-3]
    names = list(X.columns)
    if not as_frame:
        names = ["feature 0", "feature 1", "feature 2"]
        X = X.to_numpy()
    model = make_pipeline(step, StandardScaler(), WassersteinSVC()).fit(X, y)
    found = explain(model, X)
    assert found.features == found.shift_features == names
    free = np.isfinite(found.turning_shift).all(axis=1)
    assert free.mean() > 0.3
    rows, shift = X[free], found.turning_shift[free]
    assert model.predict(rows + 0.999 * shift).tolist() == model.predict(rows).tolist()
    assert (model.predict(rows + 1.001 * shift) == found.turns_to[free]).all()
    cell = np.asarray(X)[0, 0]
    assert f"{names[0]} = {number(cell)} (" in found.reasons()[0]


class Logarithms(TransformerMixin, BaseEstimator):
    """A transformer that gives its features no names."""

    def fit(self, X, y=None):
        self.is_fitted_ = True
        return self

    def transform(self, X):
        return np.log1p(X)


ROUNDED = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
UNNAMED = [
    [Logarithms()],
    [Logarithms(), StandardScaler()],
    [StandardScaler(), FunctionTransformer(lambda X: X @ np.ones((3, 3)))],
    [FunctionTransformer(np.log1p), PolynomialFeatures()],
    [PolynomialFeatures(), StandardScaler()],
    [
        StandardScaler().set_output(transform="pandas"),
        PolynomialFeatures().set_output(transform="pandas"),
    ],
    [make_column_transformer((StandardScaler(), ["age"]), remainder=ROUNDED)],
    [
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["rate"]),
            remainder=StandardScaler(),
            verbose_feature_names_out=False,
        )
    ],
]


@pytest.mark.parametrize("steps", UNNAMED, ids=lambda steps: type(steps[0]).__name__)
@pytest.mark.parametrize("as_frame", [True, False])
def test_shifts_are_in_the_units_of_the_columns_that_they_name(steps, as_frame):
    X, y = training()
    X = abs(X)
    X["rate"] = (X["rate"] * 1e4).round()
    if not as_frame:
        if hasattr(steps[0], "transformers"):
            pytest.skip("its columns have names")
        X = X.to_numpy()
    model = make_pipeline(*steps, WassersteinSVC()).fit(X, y)
    found = explain(model, X)
    names = [f"feature {place}" for place in range(3)]
    if as_frame:
        names = list(X.columns)
    if found.shift_features != names:
        assert not set(found.shift_features) & set(names)
        return
    assert found.features == names
    free = np.isfinite(found.turning_shift).all(axis=1)
    if free.any():
        moved = X[free] + 1.001 * found.turning_shift[free]
        assert (model.predict(moved) == found.turns_to[free]).all()


def test_rows_that_no_shift_of_the_columns_turns_have_nan():
    X, y = training()
    X.iloc[0, 1] = 1e6  # clipped
    model = make_pipeline(ClippedScaler(), WassersteinSVC()).fit(X, y)
    shift = explain(model, X).turning_shift
    assert np.isnan(shift[0]).all() and np.isfinite(shift[1:]).mean() > 0.9
    free = ~np.isnan(shift[:, 0])
    moved = model.predict(X[free] + 1.001 * shift[free])
    assert (moved != model.predict(X[free])).all()
    model = make_pipeline(Normalizer(), LinearSVC()).fit(X, y)
    assert np.isnan(explain(model, X).turning_shift).all()
    # A single column is to be shifted, but that changes the others, too.
    X = X / [1.0, 300.0, 1e-4] - [0.0, 17.0, 0.0]
    model.fit(X, y)
    assert np.isnan(explain(model, X, norm=1).turning_shift).all()
    one = explain(model, X[:1], centre=X)
    assert one.contributions.shape == (1, 3) and len(one.reasons()) == 1


def test_steps_that_return_data_frames():
    X, y = training()
    model = (
        make_pipeline(StandardScaler(), MinMaxScaler(), LinearSVC())
        .set_output(transform="pandas")
        .fit(X, y)
    )
    found = explain(model, X)
    np.testing.assert_array_equal(
        model.predict(X + 1.001 * found.turning_shift), found.turns_to
    )
    assert (
        found.features == ["age", "income", "rate"]
        and found.reasons()[0].count(" = ") == 3
    )


def test_the_ball_is_that_of_the_model():
    X, y = training()
    model = WassersteinSVC(
        0.1, norm=1, feature_cost={"income": math.inf, "age": 2.0}
    ).fit(X / [1, 300, 1e-4], y)
    found = explain(model, X / [1, 300, 1e-4])
    assert (
        not found.turning_shift[:, 1].any()
        and (np.count_nonzero(found.turning_shift, axis=1) == 1).all()
    )
    other = explain(model, X / [1, 300, 1e-4], norm=2, feature_cost={"rate": math.inf})
    assert other.turning_shift[:, :2].all() and not other.turning_shift[:, 2].any()


def test_models_around_classifiers():
    X, y = training()
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    fixed = FixedThresholdClassifier(plain, threshold=0.8, pos_label=1).fit(X, y)
    found = explain(fixed, X)
    np.testing.assert_array_equal(found.prediction, fixed.predict(X))
    np.testing.assert_array_equal(
        fixed.predict(X + 1.001 * found.turning_shift), found.turns_to
    )
    # After a StandardScaler, the average training row is 0.
    np.testing.assert_allclose(
        found.base, plain[-1].intercept_[0] - math.log(4), rtol=1e-9
    )
    search = GridSearchCV(plain, {"logisticregression__C": [1.0]}, cv=3).fit(X, y)
    np.testing.assert_allclose(
        explain(search, X).decision, search.decision_function(X), atol=1e-12
    )
    result = solve(Problem(X / [1, 300, 1e-4], y, radius=0.1, fit_intercept=True))
    found = explain(result, X / [1, 300, 1e-4])
    np.testing.assert_allclose(found.base, found.decision.mean())
    assert set(found.prediction) == {-1, 1} and found.features == [
        "age",
        "income",
        "rate",
    ]


def test_contributions_are_signed_towards_the_positive_label():
    X, y = training()
    model = make_pipeline(StandardScaler(), plain_svc(0.1)).fit(X, y == 1)
    second = explain(model, X)
    first = explain(model, X, positive=False)
    np.testing.assert_array_equal(first.contributions, -second.contributions)
    np.testing.assert_array_equal(first.decision, -second.decision)
    np.testing.assert_allclose(first.turning_shift, second.turning_shift)
    np.testing.assert_array_equal(first.prediction, second.prediction)
    X, y = training(3)
    model = make_pipeline(StandardScaler(), plain_svc(0.1)).fit(X, y)
    for label in range(3):
        found = explain(model, X, positive=label)
        np.testing.assert_allclose(
            found.decision, model.decision_function(X)[:, label], atol=1e-12
        )
        np.testing.assert_array_equal(found.prediction, found.decision > 0)
    with pytest.raises(
        ValueError, match=r"positive=7 is not one of the classes \[0, 1, 2\]"
    ):
        explain(model, X, positive=7)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernels(n_classes):
    X, y = training(n_classes, 45)
    X = X / [1, 300, 1e-4]
    model = WassersteinKernelSVC().fit(X, y)
    found = explain(model, X)
    assert found.turning_shift is None and found.shift_features is None
    np.testing.assert_allclose(
        found.contributions.sum(axis=1) + found.base, found.decision, atol=1e-9
    )
    assert found.features == list(X)
    values = model.decision_function(X)
    if n_classes == 2:
        np.testing.assert_allclose(found.decision, values, atol=1e-9)
    # At this distance, the bound on the error rate with one limit for all rows counts
    # the row itself.
    i = int(np.argmax(np.where(found.prediction == y, found.distance, 0.0)))
    audit = {"flip_cost": math.inf, "loss": "zero-one", "limit": "row"}
    for share, turned in ((0.999, 0.0), (1.001, 1.0)):
        assert (
            worst_case_risk(
                model,
                X[i : i + 1],
                y[i : i + 1],
                radius=share * found.distance[i],
                **audit,
            )
            == turned
        )
    rng = np.random.default_rng(1)
    for _ in range(20):
        steps = rng.normal(size=X.shape)
        steps *= (
            0.999
            * found.distance[:, None]
            / np.linalg.norm(steps, axis=1, keepdims=True)
        )
        np.testing.assert_array_equal(model.predict(X + steps), found.prediction)
    assert (" = " in found.reasons(1)[0]) and (
        found.reasons(1)[0].startswith("rather than") == (n_classes == 3)
    )
    at_row = explain(model, X, centre=X.iloc[0])
    np.testing.assert_allclose(at_row.base[0], at_row.decision[0])
    np.testing.assert_allclose(at_row.contributions[0], 0.0, atol=1e-12)


def test_svc():
    X, y = training()
    X = X.to_numpy() / [1, 300, 1e-4]
    model = SVC().fit(X, y)
    found = explain(model, X)
    np.testing.assert_allclose(found.decision, model.decision_function(X), atol=1e-9)
    assert found.features == ["feature 0", "feature 1", "feature 2"]
    np.testing.assert_allclose(
        found.contributions.sum(axis=1), found.decision - found.base, atol=1e-9
    )
    linear = explain(SVC(kernel="linear").fit(X, y), X)
    assert linear.turning_shift.shape == X.shape


# Rows, and the result


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_in_a_pipeline(dtype):
    X = sparse.random_array(
        (60, 8), density=0.2, rng=np.random.default_rng(0), dtype=dtype, format="csr"
    )
    y = np.arange(60) % 2
    model = make_pipeline(MaxAbsScaler(), plain_svc(0.01, norm=math.inf)).fit(X, y)
    found = explain(model, X)
    assert found.features[7] == "feature 7"
    assert np.diff(X.indptr).min() == 0  # a row without entries
    np.testing.assert_allclose(
        found.contributions.sum(axis=1) + found.base, found.decision, atol=1e-12
    )
    moved = model.predict(X.toarray() + 1.001 * found.turning_shift)
    np.testing.assert_array_equal(moved, found.turns_to)
    assert (
        len(found.reasons(2)) == 60
        and found.to_frame().shape == (60, 14)
        and "60 rows" in repr(found)
    )
    dense = explain(model, X.toarray())
    assert dense.reasons(2) == found.reasons(2)


def test_wrong_rows():
    with pytest.raises(
        ValueError,
        match=r"coef must have one entry per feature of X \(3\), got shape \(2,\)",
    ):
        explain(([1.0, 2.0], 0.0), np.ones((2, 3)))
    with pytest.raises(ValueError, match="X is empty"):
        explain(([1.0, 2.0], 0.0), np.ones((0, 2)))
    with pytest.raises(ValueError, match="X must have two dimensions"):
        explain(([1.0, 2.0], 0.0), [1.0, 2.0])
    with pytest.raises(
        ValueError,
        match=r"centre must have one entry per feature of X \(2\), got shape \(1,\)",
    ):
        explain(([1.0, 2.0], 0.0), [[1.0, 2.0]], centre=[1.0])
    X, y = training()
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    with pytest.raises(ValueError, match=r"different columns|feature names"):
        explain(model, X[["rate", "age"]])
    with pytest.raises(ValueError, match="different columns"):
        explain(model[-1].fit(X, y), X[["rate", "age", "income"]])


def test_the_result_can_be_copied_and_shown():
    X, y = training()
    model = make_pipeline(StandardScaler(), WassersteinSVC()).fit(X, y)
    X.index = [f"r{k}" for k in range(len(X))]
    found = explain(model, X)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.turning_shift, found.turning_shift)
    frame = found.to_frame()
    assert frame.index[2] == "r2" and list(frame)[:6] == [
        "prediction",
        "runner_up",
        "turns_to",
        "decision",
        "distance",
        "base",
    ]
    assert repr(found).startswith("Explanation(90 rows, 3 features; distance ")
    largest = [text.split(" = ")[0] for text in found.reasons(1)]
    assert largest == [
        found.features[j] for j in np.abs(found.contributions).argmax(axis=1)
    ]
    assert {text.count("(") for text in found.reasons(2)} == {2}
    assert found.reasons(1, lambda place, value: f"#{place}")[0].startswith(
        f"{largest[0]} = #"
    )


def test_columns_that_are_called_by_numbers():
    X, y = training()
    X.columns = [3, 1, 2]
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    found = explain(model, X)
    np.testing.assert_array_equal(
        model.predict(X + 1.001 * found.turning_shift), found.turns_to
    )
    assert found.features == found.shift_features == ["3", "1", "2"]


def test_arrays_for_models_that_know_names():
    X, y = training()
    model = make_pipeline(StandardScaler(), WassersteinSVC()).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of scikit-learn: no names
        found = explain(model, X.to_numpy())
    assert found.features == ["age", "income", "rate"]
    np.testing.assert_allclose(found.contributions, explain(model, X).contributions)
