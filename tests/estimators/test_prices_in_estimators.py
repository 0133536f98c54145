"""Prices in the estimators: by class, row and name, the intercept at the centre of the data, and old model files."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import PLAIN, plain_svc
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import powers_of_ten
from thorough import examples

from drsvm import Problem, WassersteinSVCCV, auto_radius, solve, worst_case_risk
from drsvm.defaults.binary_problems import at_centre
from drsvm.defaults.costs import with_intercept_cost
from drsvm.persistence import load_model, save_model
from drsvm.solvers.reformulation.reformulation import Unchanged

NAMES = ["age", "height", "income"]


@pytest.fixture
def data():
    X, y = make_classification(
        120,
        3,
        n_informative=3,
        n_redundant=0,
        flip_y=0.05,
        class_sep=1.5,
        random_state=1,
    )
    return StandardScaler().fit_transform(X), np.where(y, "yes", "no")


@pytest.fixture
def frame(data):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(data[0], columns=NAMES)


def model(**parameters):
    """Return a classifier that has no prices but the given ones."""
    return plain_svc(
        **{"radius": 0.1, "flip_cost": 10.0, "intercept_cost": math.inf, **parameters}
    )


def same_classifier(one, other, atol=1e-5):
    np.testing.assert_allclose(one.coef_, other.coef_, atol=atol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=atol)


# Flip costs


def test_flip_costs_by_class(data):
    X, y = data
    fitted = model(flip_cost={"no": 1.0, "yes": math.inf}).fit(X, y)
    costs = np.where(y == "no", 1.0, math.inf)
    expected = solve(Problem(X, y, 0.1, costs, fit_intercept=True))
    assert (
        fitted.objective_ == pytest.approx(expected.objective, abs=1e-6)
        and fitted.gap_ <= 1e-6
    )
    same_classifier(fitted, model().fit(X, y, flip_cost=costs), atol=1e-12)
    assert abs(fitted.objective_ - model(flip_cost=1.0).fit(X, y).objective_) > 1e-3


def test_equal_flip_costs_are_one_flip_cost(data):
    X, y = data
    one = model(flip_cost=2.0).fit(X, y)
    same_classifier(model(flip_cost={"no": 2.0, "yes": 2}).fit(X, y), one, atol=0)
    same_classifier(
        model(flip_cost=7.0).fit(X, y, flip_cost=np.full(len(y), 2.0)), one, atol=0
    )
    same_classifier(model(flip_cost=7.0).fit(X, y, flip_cost=2.0), one, atol=0)


def test_flip_costs_by_class_with_more_classes(three_classes):
    X, y = three_classes
    costs = {"setosa": 1.0, "versicolor": 2.0, "virginica": math.inf}
    fitted = model(flip_cost=costs).fit(X, y)
    assert (fitted.gap_ <= 1e-6).all()
    for k, label in enumerate(fitted.classes_):
        weights = np.where(y == label, 2.0, 1.0)
        problem = Problem(
            X,
            y == label,
            0.1,
            [costs[each] for each in y],
            sample_weight=weights,
            fit_intercept=True,
        )
        assert fitted.objective_[k] == pytest.approx(solve(problem).objective, abs=1e-6)


def test_rows_of_weight_0_and_their_flip_costs_do_not_matter(data):
    X, y = data
    weights = np.ones(len(y))
    costs = np.full(len(y), 2.0)
    weights[:20] = 0.0
    costs[:20] = 0.01
    costs[20:40] = math.inf
    fitted = model().fit(X, y, weights, costs)
    assert fitted.objective_ == pytest.approx(
        model().fit(X[20:], y[20:], flip_cost=costs[20:]).objective_, abs=1e-6
    )


@pytest.mark.parametrize(
    ("flip_cost", "message"),
    [
        ({"no": 1.0}, r"has no price for the classes \['yes'\]: add them"),
        ({"no": 1.0, "yes": -1.0}, "flip_cost must be at least 0"),
        ([1.0, 2.0], "one entry per row"),
    ],
)
def test_wrong_flip_costs(data, flip_cost, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        model(flip_cost=flip_cost).fit(X, y)


def test_a_budget_for_all_labels_of_the_cheap_class_is_reported(data):
    X, y = data
    with pytest.warns(
        UserWarning,
        match=r"radius=0.1, at a flip_cost of .* flip every label of the .* class",
    ):
        model(flip_cost={"no": 0.01, "yes": 50.0}).fit(X, y)


def test_flip_costs_are_routed_to_every_fold(data):
    X, y = data
    costs = np.where(np.arange(len(y)) % 3 == 0, math.inf, 1.0)
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler(), model().set_fit_request(flip_cost=True)
        )
        fitted = pipeline.fit(X, y, flip_cost=costs)
        scores = cross_validate(
            pipeline,
            X,
            y,
            params={"flip_cost": costs},
            return_estimator=True,
            return_indices=True,
        )
        search = GridSearchCV(pipeline, {"wassersteinsvc__radius": [0.05, 0.1]}).fit(
            X, y, flip_cost=costs
        )
    same_classifier(fitted[-1], model().fit(X, y, flip_cost=costs))
    first = scores["estimator"][0]
    rows = scores["indices"]["train"][0]
    same_classifier(
        first[-1],
        model().fit(first[:-1].transform(X[rows]), y[rows], flip_cost=costs[rows]),
    )
    assert search.best_estimator_[-1]._flip_cost_by_row


# Features


def test_feature_costs(data, frame):
    X, y = data
    costs = [1.0, 3.0, math.inf]
    fitted = model(feature_cost=costs).fit(X, y)
    expected = solve(Problem(X, y, 0.1, 10.0, fit_intercept=True, feature_cost=costs))
    assert (
        fitted.objective_ == pytest.approx(expected.objective, abs=1e-6)
        and fitted.gap_ <= 1e-6
    )
    by_name = model(feature_cost={"height": 3.0, "income": math.inf}).fit(frame, y)
    same_classifier(by_name, fitted, atol=0)
    unpriced = model().fit(X, y)
    assert abs(fitted.objective_ - unpriced.objective_) > 1e-3
    same_classifier(model(feature_cost=[1, 1, 1]).fit(X, y), unpriced, atol=0)


def test_signs(data, frame):
    X, y = data
    free = model().fit(X, y)
    opposite = np.zeros(3, dtype=int)
    strongest = np.argmax(np.abs(free.coef_[0]))
    opposite[strongest] = -np.sign(free.coef_[0, strongest])
    # The objective is convex: the weight stops at 0
    fitted = model(monotonic_cst=opposite).fit(X, y)
    assert fitted.coef_[0, strongest] == pytest.approx(0.0, abs=1e-6)
    assert (
        fitted.coef_[0] * opposite >= 0
    ).all() and fitted.objective_ > free.objective_ + 1e-3
    same_classifier(
        model(monotonic_cst=np.sign(free.coef_[0]).astype(int)).fit(X, y),
        free,
        atol=1e-4,
    )
    named = model(monotonic_cst={NAMES[strongest]: int(opposite[strongest])}).fit(
        frame, y
    )
    same_classifier(named, fitted, atol=0)


def test_signs_need_two_classes(three_classes):
    X, y = three_classes
    with pytest.raises(
        ValueError, match="monotonic_cst needs two classes, got 3: leave it out"
    ):
        model(monotonic_cst=[1, 0, 0, 0]).fit(X, y)
    same_classifier(
        model(monotonic_cst=[0, 0, 0, 0]).fit(X, y), model().fit(X, y), atol=0
    )


@pytest.mark.parametrize("parameter", ["feature_cost", "monotonic_cst"])
def test_wrong_names_of_features(data, frame, parameter):
    X, y = data
    with pytest.raises(
        ValueError,
        match=rf"{parameter} names features \(.*\), but X has no names: pass a data frame",
    ):
        model(**{parameter: {"age": 1}}).fit(X, y)
    with pytest.raises(
        ValueError,
        match=rf"{parameter} names 'weight', which is not among the features age, height",
    ):
        model(**{parameter: {"weight": 1}}).fit(frame, y)
    with pytest.raises(ValueError, match=rf"{parameter} .*one entry per feature"):
        model(**{parameter: [1, 1]}).fit(X, y)


def test_the_automatic_radius_counts_features_by_their_price(data):
    X, y = data
    problem = Problem(X, y, fit_intercept=True)
    expected = auto_radius(Problem(X * [1.0, 3.0, 0.5], y, fit_intercept=True))
    assert auto_radius(problem.replace(feature_cost=[1.0, 3.0, 0.5])) == pytest.approx(
        expected, rel=0.05
    )
    trusted = problem.replace(feature_cost=[1.0, 1.0, math.inf])
    assert 0 < auto_radius(trusted) < auto_radius(problem)
    assert auto_radius(problem.replace(feature_cost=np.full(3, math.inf))) == 0.0


# The intercept


def price_of_intercept(X, weights=None, cost="auto", **ball):
    labels = np.arange(X.shape[0]) % 2
    problem = Problem(
        X, labels, sample_weight=weights, **{"fit_intercept": True, **ball}
    )
    return with_intercept_cost(problem, cost).intercept_cost


def test_the_automatic_price_is_the_deviation_of_a_typical_column(data):
    X, y = data
    assert plain_svc().fit(X, y).intercept_cost_ == pytest.approx(1.0)  # standardised
    assert price_of_intercept(X) == pytest.approx(1.0)
    assert price_of_intercept(X, norm=1) == pytest.approx(math.sqrt(3.0))
    assert price_of_intercept(X, norm=math.inf) == pytest.approx(1.0)
    deviations = np.array([1.0, 2.0, 5.0])
    assert price_of_intercept(X * deviations) == pytest.approx(math.sqrt(30.0 / 3.0))
    assert price_of_intercept(X, feature_cost=deviations) == pytest.approx(
        math.sqrt(30.0 / 3.0)
    )
    trusted = price_of_intercept(X, feature_cost=np.array([1.0, 2.0, math.inf]))
    assert trusted == pytest.approx(math.sqrt(5.0 / 2.0))
    constant = np.c_[X, np.full(len(y), 9.0)]  # a column that cannot be of use
    assert price_of_intercept(constant) == pytest.approx(1.0)
    assert price_of_intercept(constant, norm=1) == pytest.approx(math.sqrt(3.0))
    assert price_of_intercept(np.ones((4, 2))) == 1.0
    assert price_of_intercept(X, fit_intercept=False) == math.inf
    assert price_of_intercept(X, cost=0.5) == 0.5


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_the_automatic_price_of_sparse_rows_is_their_mean_norm(data, norm):
    X, _ = data
    X = np.where(X > 0.3, X, 0.0)
    weights = np.linspace(1.0, 2.0, len(X))
    costs = np.array([1.0, 3.0, math.inf])
    expected = np.average(np.linalg.norm(X, norm, axis=1), weights=weights)
    assert price_of_intercept(sparse.csr_array(X), weights, norm=norm) == pytest.approx(
        expected
    )
    expected = np.average(
        np.linalg.norm(X * [1.0, 3.0, 0.0], norm, axis=1), weights=weights
    )
    found = price_of_intercept(
        sparse.csr_array(X), weights, norm=norm, feature_cost=costs
    )
    assert found == pytest.approx(expected)
    assert price_of_intercept(sparse.csr_array((3, 2)), norm=norm) == 1.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_are_copied_only_if_they_must_be_shifted(data, dtype):
    X, y = data
    weights = np.linspace(1.0, 2.0, len(X))
    X = np.asarray(X - np.average(X, axis=0, weights=weights), dtype=dtype)

    def centred(rows, **parameters):
        problem = Problem(
            rows, y, sample_weight=weights, **{"fit_intercept": True, **parameters}
        )
        return problem, at_centre(problem)

    for parameters in (
        {"fit_intercept": False, "intercept_cost": 1.0},
        {"intercept_cost": math.inf},
    ):
        problem, found = centred(X + 5.0, **parameters)
        assert found.problem is problem and isinstance(found, Unchanged)
    if dtype is np.float64:
        assert isinstance(centred(X, intercept_cost=0.5)[1], Unchanged)
    _, found = centred(X + 5.0, intercept_cost=0.5)
    assert found.problem.X.dtype == dtype and found.offset == pytest.approx(
        5.0, abs=1e-6
    )
    np.testing.assert_allclose(found.problem.X, X, atol=2e-6)
    _, found = centred(sparse.csr_array(X + 5.0), intercept_cost=0.5)
    assert isinstance(found, Unchanged)


@pytest.mark.parametrize("norm", [1, 2, math.inf])
@given(unit=powers_of_ten(), shift=st.floats(-20.0, 20.0))
@examples(4, 100)
def test_with_the_defaults_neither_unit_nor_origin_matters(norm, unit, shift):
    # From 60 rows on, unseen rows judge the ball in folds that depend on the origin:
    # choices that are even may differ.
    X, y = make_classification(
        59, 3, n_informative=3, n_redundant=0, flip_y=0.1, random_state=2
    )
    here = plain_svc(norm=norm, tol=1e-9).fit(X, y)
    there = plain_svc(norm=norm, tol=1e-9).fit(unit * (X + shift), y)
    assert there.radius_ == pytest.approx(unit * here.radius_, rel=1e-6)
    assert there.intercept_cost_ == pytest.approx(unit * here.intercept_cost_, rel=1e-6)
    assert there.objective_ == pytest.approx(here.objective_, abs=1e-8)
    np.testing.assert_allclose(unit * there.coef_, here.coef_, atol=2e-3)
    np.testing.assert_array_equal(there.predict(unit * (X + shift)), here.predict(X))


def test_words_other_than_auto_are_no_price(data):
    with pytest.raises(
        ValueError,
        match="intercept_cost must be a number or 'auto', got intercept_cost='free'",
    ):
        model(intercept_cost="free").fit(*data)
    with pytest.raises(
        ValueError,
        match="intercept_cost must be a number or 'auto', got intercept_cost='free'",
    ):
        WassersteinSVCCV(intercept_costs=("auto", "free")).fit(*data)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_priced_intercept_does_not_depend_on_the_origin(data, dtype):
    X, y = data
    keep = np.r_[0:40, np.flatnonzero(y == "yes")]  # classes of unequal size
    X = X[keep]
    y = y[keep]
    weights = np.linspace(1.0, 2.0, len(keep))
    priced = model(radius=0.02, intercept_cost=0.5)
    here = clone(priced).fit(X.astype(dtype), y, weights)
    shift = np.array([20.0, -3.0, 0.0])
    moved = clone(priced).fit((X + shift).astype(dtype), y, weights)
    np.testing.assert_allclose(moved.coef_, here.coef_, atol=1e-4)
    np.testing.assert_allclose(
        moved.intercept_ + moved.coef_ @ shift, here.intercept_, atol=1e-3
    )
    assert moved.objective_ == pytest.approx(here.objective_, abs=2e-6)
    centred = X - np.average(X, axis=0, weights=weights)
    expected = solve(
        Problem(
            centred,
            y,
            0.02,
            10.0,
            sample_weight=weights,
            fit_intercept=True,
            intercept_cost=0.5,
        )
    )
    assert here.objective_ == pytest.approx(expected.objective, abs=2e-6)
    assert here.objective_ > model(radius=0.02).fit(X, y, weights).objective_ + 1e-3


def test_the_results_are_those_of_the_given_rows(data):
    X, y = data
    X = X + 5.0
    fitted = model(intercept_cost=1.0, warm_start=True).fit(X, y)
    assert fitted.result_.intercept == fitted.intercept_[0]
    margins = np.where(y == "yes", 1, -1) * fitted.decision_function(X)
    assert (margins > 0).mean() > 0.7
    before = clone(fitted).fit(X, y)
    fitted.fit(X, y)  # starts from the classifier, which has to be shifted
    same_classifier(fitted, before, atol=1e-4)


def test_a_priced_intercept_of_sparse_rows_refers_to_the_origin(data):
    X, y = data
    X = X + 1.0
    fitted = model(intercept_cost=0.5).fit(sparse.csr_array(X), y)
    expected = solve(Problem(X, y, 0.1, 10.0, fit_intercept=True, intercept_cost=0.5))
    assert fitted.objective_ == pytest.approx(expected.objective, abs=2e-6)


def test_every_class_has_its_own_centre(three_classes):
    X, y = three_classes
    sides = np.where(y == y[0], 2.0, 1.0)
    centre = np.average(X, axis=0, weights=sides)
    problem = Problem(
        X - centre,
        y == y[0],
        sample_weight=sides,
        fit_intercept=True,
        intercept_cost=1.0,
    )
    fitted = model(intercept_cost=1.0).fit(X, y)
    ball = {"radius": fitted.radius_, "flip_cost": fitted.flip_cost}
    expected = solve(problem.replace(**ball)).objective
    assert fitted.objective_[fitted.classes_ == y[0]] == pytest.approx(
        expected, abs=2e-6
    )
    here, moved = (model(intercept_cost=1.0).fit(rows, y) for rows in (X, X + 10.0))
    np.testing.assert_allclose(moved.objective_, here.objective_, atol=2e-6)
    np.testing.assert_array_equal(moved.predict(X + 10.0), here.predict(X))


@pytest.mark.parametrize("cost", [0.0, -1.0, math.nan])
def test_wrong_intercept_costs(data, cost):
    with pytest.raises(ValueError, match="intercept_cost"):
        model(intercept_cost=cost).fit(*data)


def test_without_an_intercept_its_price_is_ignored(data):
    X, y = data
    same_classifier(
        model(fit_intercept=False, intercept_cost=0.5).fit(X, y),
        model(fit_intercept=False).fit(X, y),
        atol=0,
    )


# The worst case


def test_the_worst_case_is_that_of_the_trained_prices(data):
    X, y = data
    fitted = model(feature_cost=[1.0, 3.0, math.inf]).fit(X, y)
    assert worst_case_risk(fitted, X, y) == pytest.approx(fitted.objective_, abs=1e-12)
    assert (
        worst_case_risk(fitted, X, y, feature_cost=np.ones(3))
        > fitted.objective_ + 1e-3
    )
    # X is centred, so its intercept is priced where it is
    priced = model(intercept_cost=1.0).fit(X, y)
    assert worst_case_risk(priced, X, y, intercept_cost=1.0) == pytest.approx(
        priced.objective_, abs=1e-9
    )


def test_the_worst_case_asks_for_flip_costs_of_rows(data):
    X, y = data
    costs = np.where(y == "no", 1.0, math.inf)
    by_class = model(flip_cost={"no": 1.0, "yes": math.inf}).fit(X, y)
    by_row = model().fit(X, y, flip_cost=costs)
    for fitted in (by_class, by_row):
        with pytest.raises(ValueError, match="flip_cost is required"):
            worst_case_risk(fitted, X, y)
        assert worst_case_risk(fitted, X, y, flip_cost=costs) == pytest.approx(
            fitted.objective_, abs=1e-12
        )


# Rows in blocks


def fed(estimator, X, y, rounds, flip_cost=None):
    for _ in range(rounds):
        for rows in np.array_split(np.arange(len(y)), 3):
            costs = None if flip_cost is None else flip_cost[rows]
            estimator.partial_fit(
                X[rows], y[rows], classes=np.unique(y), flip_cost=costs
            )
    return estimator


@pytest.mark.thorough
@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_blocks_act_as_one_set_with_prices(data, container, l2):
    """The centre is that of the first block: with equal blocks, it is the centre of all."""
    X, y = (np.concatenate([part] * 3) for part in data)
    X = container(X if container is sparse.csr_array else X + 3.0)
    for costs in (np.resize([0.5, 2.0, math.inf], len(data[1])), None):
        prices = {
            "intercept_cost": 0.5,
            "l2": l2,
            "flip_cost": {"no": 1.0, "yes": math.inf} if costs is None else 1.0,
        }
        costs = None if costs is None else np.concatenate([costs] * 3)
        whole = model(**prices).fit(X, y, flip_cost=costs)
        few, many = (fed(model(**prices), X, y, rounds, costs) for rounds in (1, 60))
        values = [worst_case_of(each, X, y, whole, costs) for each in (few, many)]
        assert values[1] <= whole.objective_ + 1e-2 and values[1] <= values[0]


def worst_case_of(estimator, X, y, whole, costs):
    """Return the objective of a classifier in the problem that `whole` has solved."""
    rows = X if sparse.issparse(X) else X - X.mean(axis=0)
    shift = 0.0 if sparse.issparse(X) else float(estimator.coef_[0] @ X.mean(axis=0))
    costs = np.where(y == "no", 1.0, math.inf) if costs is None else costs
    problem = Problem(
        rows,
        y,
        whole.radius,
        costs,
        l2=whole.l2,
        fit_intercept=True,
        intercept_cost=whole.intercept_cost,
    )
    return problem.objective(estimator.coef_[0], float(estimator.intercept_[0]) + shift)


def test_partial_fit_continues_from_a_fit_with_prices(data):
    X = data[0] + 5.0
    y = data[1]
    whole = model(intercept_cost=0.5).fit(X, y)
    before = whole.coef_.copy(), whole.intercept_.copy()
    whole.partial_fit(X[:30], y[:30])
    fit = whole._block_fits[0]
    np.testing.assert_allclose(fit.centre, X[:30].mean(axis=0))
    assert (
        np.abs(whole.coef_ - before[0]).max() < 0.5
        and np.abs(whole.intercept_ - before[1]).max() < 2.0
    )


def test_partial_fit_routes_flip_costs_of_rows(data):
    X, y = data
    costs = np.where(y == "no", 1.0, math.inf)
    by_class = model(flip_cost={"no": 1.0, "yes": math.inf}).partial_fit(
        X, y, classes=["no", "yes"]
    )
    with config_context(enable_metadata_routing=True):
        by_row = model().set_partial_fit_request(flip_cost=True)
        assert by_row.get_metadata_routing().partial_fit.requests["flip_cost"] is True
        by_row.partial_fit(X, y, classes=["no", "yes"], flip_cost=costs)
    same_classifier(by_class, by_row, atol=0)
    by_row.partial_fit(X, y)
    with pytest.raises(ValueError, match="flip_cost is required"):
        worst_case_risk(by_row, X, y)
    with pytest.raises(ValueError, match="has no price for the classes"):
        model(flip_cost={"no": 1.0}).partial_fit(X, y, classes=["no", "yes"])


def test_a_first_block_of_weight_0_is_an_error(data):
    """It has no centre."""
    X, y = data
    only = y == "no"
    with pytest.raises(ValueError, match="sample_weight is 0 for every row"):
        model(intercept_cost=1.0, class_weight={"no": 0.0}).partial_fit(
            X[only], y[only], classes=["no", "yes"]
        )


@pytest.mark.parametrize(
    ("given_prices", "message"),
    [
        (
            {"feature_cost": [1.0, 2.0, 1.0]},
            "does not support feature_cost: multiply the columns by their prices",
        ),
        ({"monotonic_cst": [1, 0, 0]}, "does not support monotonic_cst: use fit"),
    ],
)
def test_partial_fit_refuses_prices(data, given_prices, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        model(**given_prices).partial_fit(X, y, classes=["no", "yes"])


def test_partial_fit_takes_prices_that_change_nothing(data):
    X, y = data
    neutral = model(feature_cost=np.ones(3), monotonic_cst=[0, 0, 0]).partial_fit(
        X, y, classes=["no", "yes"]
    )
    same_classifier(neutral, model().partial_fit(X, y, classes=["no", "yes"]), atol=0)


# Cross-validation


def test_cross_validation_with_prices(data, frame):
    _, y = data
    of_features = {"feature_cost": {"income": 4.0}, "monotonic_cst": {"age": 1}}
    fixed = {
        "radii": [0.05, 0.2],
        "flip_costs": 10.0,
        "cv": 3,
        "selection": "best",
        **PLAIN,
    }
    chosen = WassersteinSVCCV(**fixed, **of_features, intercept_costs=1.0).fit(
        frame + 10.0, y
    )
    assert chosen.intercept_cost_ == 1.0
    same = model(**of_features, intercept_cost=1.0, radius=chosen.radius_).fit(
        frame + 10.0, y
    )
    same_classifier(chosen, same, atol=1e-4)
    with config_context(transform_output="default"):
        folds = cross_validate(same, frame + 10.0, y, cv=3, return_train_score=False)
    row = list(chosen.cv_results_["param_radius"]).index(chosen.radius_)
    assert chosen.cv_results_["mean_test_score"][row] == pytest.approx(
        folds["test_score"].mean(), abs=0.01
    )
    with pytest.raises(ValueError, match="monotonic_cst names 'size'"):
        WassersteinSVCCV(**fixed, monotonic_cst={"size": 1}).fit(frame, y)


def test_default_radii_with_prices(data):
    X, y = data
    chosen = WassersteinSVCCV(
        radii=3, flip_costs=2.0, cv=2, feature_cost=[1.0, 2.0, 1.0]
    ).fit(X, y)
    assert chosen.gap_ <= 1e-6


# Copies and files


def test_parameters_survive_copies_and_files(data, frame, tmp_path):
    _, y = data
    costly = {
        "flip_cost": {"no": 1.0, "yes": math.inf},
        "feature_cost": {"age": math.inf},
        "monotonic_cst": [1, 0, -1],
    }
    fitted = model(**costly, intercept_cost=2.0).fit(frame, y)
    assert clone(fitted).get_params() == fitted.get_params()
    save_model(fitted, tmp_path / "model.drsvm")
    for copy in (
        pickle.loads(pickle.dumps(fitted)),
        load_model(tmp_path / "model.drsvm"),
    ):
        assert copy.get_params() == fitted.get_params()
        np.testing.assert_array_equal(copy.predict(frame), fitted.predict(frame))
    changed = clone(fitted).set_params(
        feature_cost=None, monotonic_cst=None, flip_cost=10.0, intercept_cost=math.inf
    )
    same_classifier(changed.fit(frame, y), model().fit(frame, y), atol=0)


def test_other_estimators_have_no_prices(data):
    """A pipeline passes a flip cost only to the step that asked for it."""
    X, y = data
    with (
        config_context(enable_metadata_routing=True),
        pytest.raises(TypeError, match="flip_cost"),
    ):
        make_pipeline(StandardScaler(), LogisticRegression()).fit(
            X, y, flip_cost=np.ones(len(y))
        )
