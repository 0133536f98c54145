"""Estimators trained for rows that may each shift on their own."""

import math

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from thorough import unless_long

from drsvm import (
    Problem,
    WassersteinSVC,
    WassersteinSVCCV,
    certified_accuracy,
    certified_scorer,
    solve,
    worst_case_risk,
)
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.sampling import to_host

OPTIONS = {"l2": 0.01, "tol": 1e-9, "class_weight": None}


def two_classes(n=90):
    """Return rows of two classes, and a radius for each row."""
    rng = np.random.default_rng(1)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 3)) + y[:, None]
    return X, y, 0.4 * rng.uniform(size=n)


@pytest.mark.parametrize(
    ("row_radius", "error"),
    [
        (None, "row_radius must be a number, got None"),
        ("far", "row_radius must be a number, got 'far'"),
        ([0.1, 0.2], r"row_radius must be a number, got \[0.1, 0.2\]"),
        (-0.1, "row_radius=-0.1"),
        (math.nan, "row_radius=nan"),
        (math.inf, "row_radius=inf"),
    ],
)
def test_errors_name_the_parameter_and_its_value(row_radius, error):
    X, y, _ = two_classes()
    with pytest.raises((TypeError, ValueError), match=error):
        WassersteinSVC(row_radius=row_radius).fit(X, y)
    with pytest.raises((TypeError, ValueError), match=error):
        WassersteinSVC(0.1, row_radius=row_radius).partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize(
    ("row_radius", "error"),
    [
        ([None] * 90, "row_radius must contain real numbers"),
        ([0.1, 0.2], r"one entry per row of X \(90\), got shape \(2,\)"),
        (np.r_[np.zeros(89), -2.0], "row_radius has -2 at row 89"),
        (np.full(90, math.inf), "row_radius has inf at row 0"),
        (-0.1, "row_radius=-0.1"),
    ],
)
def test_errors_name_the_radius_of_a_row(row_radius, error):
    X, y, _ = two_classes()
    with pytest.raises((TypeError, ValueError), match=error):
        WassersteinSVC().fit(X, y, row_radius=row_radius)


def test_learning_in_blocks_refuses_row_radii():
    X, y, radii = two_classes()
    svc = WassersteinSVC(0.1, row_radius=0.2)
    with pytest.raises(ValueError, match="does not support row_radius=0"):
        svc.partial_fit(X, y, classes=[0, 1])
    by_row = WassersteinSVC(0.1).fit(X, y, row_radius=radii)
    for trained in (svc.fit(X, y).set_params(row_radius=0.0), by_row):
        with pytest.raises(ValueError, match="this classifier was trained"):
            trained.partial_fit(X, y)
        clone(trained).partial_fit(X, y, classes=[0, 1])


def test_where_no_feature_can_shift_rows_cannot_either():
    X, y, radii = two_classes()
    fixed = {"feature_cost": [math.inf] * 3, "l2": 0.1}
    free = WassersteinSVC(intercept_cost=math.inf, **fixed)
    without = free.fit(X, y).objective_
    assert free.radius_ == 0.0
    shifting = free.fit(X, y, row_radius=radii)
    assert shifting.objective_ == pytest.approx(without, abs=1e-6)
    # With a cost, the intercept moves as if it were the weight of a constant column.
    assert WassersteinSVC(row_radius=0.2, **fixed).fit(X, y).gap_ <= 1e-6


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_a_radius_of_zero_leaves_the_average_shift_out(norm):
    X, y, radii = two_classes()
    options = {"norm": norm, "threshold": "optimum", "intercept_cost": math.inf}
    svc = WassersteinSVC(radius=0, **OPTIONS, **options)
    alone = svc.fit(X, y, row_radius=radii)
    assert alone.gap_ <= 1e-9
    ridge = 0.005 * float(np.sum(alone.coef_**2))
    risk = worst_case_risk(alone, X, y, row_radius=radii)
    assert risk + ridge == pytest.approx(alone.objective_, abs=1e-9)
    beside = clone(svc).set_params(radius=1e-7).fit(X, y, row_radius=radii)
    np.testing.assert_allclose(alone.coef_, beside.coef_, atol=1e-4)
    search = WassersteinSVCCV([0, 0.01], norms=norm, l2=0.01, row_radius=0.2)
    assert search.fit(X, y).gap_ <= 1e-6


class RowsElsewhere(MemoryRows):
    """Rows that have to be fetched."""

    def host_rows(self):
        return MemoryRows(self.X)


def test_rows_that_are_fetched_keep_their_radii():
    X, y, radii = two_classes()
    problem = Problem(X, y, flip_cost=math.inf, row_radius=radii)
    here = to_host(problem.with_rows(RowsElsewhere(problem.X)), math.inf)
    assert type(here.rows) is MemoryRows
    assert here.row_radius.tolist() == radii.tolist()
    assert solve(here).objective == solve(problem).objective


def test_radii_of_rows_are_routed_as_weights_are():
    X, y, radii = two_classes()
    folds = list(StratifiedKFold(3).split(X, y))
    options = {"cv": folds, "return_estimator": True}
    plain = make_pipeline(StandardScaler(), WassersteinSVC(0.01))
    given = {"wassersteinsvc__row_radius": radii}
    found = cross_validate(plain, X, y, params=given, **options)["estimator"]
    with config_context(enable_metadata_routing=True):
        svc = WassersteinSVC(0.01).set_fit_request(row_radius=True)
        routing = make_pipeline(StandardScaler(), svc)
        given = {"row_radius": radii}
        routed = cross_validate(routing, X, y, params=given, **options)["estimator"]
    for (train, _), one, other in zip(folds, found, routed, strict=True):
        rows = StandardScaler().fit_transform(X[train])
        expected = WassersteinSVC(0.01).fit(rows, y[train], row_radius=radii[train])
        assert one[-1].coef_.tolist() == expected.coef_.tolist()
        assert other[-1].coef_.tolist() == expected.coef_.tolist()


def test_scorers_count_rows_that_no_shift_turns():
    X, y, _ = two_classes()
    scorer = certified_scorer(0.2, norm=1)
    model = LinearSVC(dual=False)
    scores = cross_val_score(model, X, y, cv=3, scoring=scorer)
    for (train, test), score in zip(
        StratifiedKFold(3).split(X, y), scores, strict=True
    ):
        model.fit(X[train], y[train])
        leads = (2 * y[test] - 1) * model.decision_function(X[test])
        assert score == np.mean(leads > 0.2 * np.abs(model.coef_).max())
    with pytest.raises(ValueError, match="radius=-1"):
        certified_scorer(-1)


@pytest.mark.parametrize("n", unless_long([90], [90, 6000]))
def test_searches_score_with_the_norm_of_the_candidate(n):
    X, y, _ = two_classes(n)
    test = np.arange(n) < n // 3
    search = WassersteinSVCCV(
        [1e-3],
        norms=[1, math.inf],
        l2=0.0,
        row_radius=[0.0, 0.3],
        threshold="optimum",
        scoring=certified_scorer(0.3),
        cv=[(np.flatnonzero(~test), np.flatnonzero(test))],
    )
    found = search.fit(X, y).cv_results_
    assert found["param_row_radius"].tolist() == [0.0, 0.3, 0.0, 0.3]
    for params, score in zip(found["params"], found["mean_test_score"], strict=True):
        svc = WassersteinSVC(**params, threshold="optimum").fit(X[~test], y[~test])
        share = certified_accuracy(svc, X[test], y[test], 0.3)
        # Folds of a search are solved to 1e-4.
        assert score == pytest.approx(share, abs=0.03)
    chosen = WassersteinSVC(**search.best_params_, threshold="optimum").fit(X, y)
    assert search.coef_.tolist() == chosen.coef_.tolist()


def test_searches_take_a_radius_for_every_row():
    X, y, radii = two_classes()
    rng = np.random.default_rng(0)
    test = np.arange(len(y)) < 30
    folds = [(np.flatnonzero(~test), np.flatnonzero(test))]
    options = {"l2": 0.0, "threshold": "optimum", "selection": "best", "cv": folds}
    search = WassersteinSVCCV([0.05], **options).fit(X, y, row_radius=radii)
    assert search.row_radius_ is None
    alone = WassersteinSVC(**search.best_params_, threshold="optimum")
    trained = alone.fit(X[~test], y[~test], row_radius=radii[~test])
    assert search.best_score_ == trained.score(X[test], y[test])
    np.testing.assert_allclose(search.coef_, alone.fit(X, y, row_radius=radii).coef_)
    # The same radius for all rows is a parameter.
    same = WassersteinSVCCV([0.05], **options).fit(X, y, row_radius=np.full(90, 0.2))
    assert same.row_radius_ == 0.2
    # Radii go with their rows.
    order = rng.permutation(len(y))
    options["cv"] = 3
    ordered = WassersteinSVCCV(4, **options).fit(X, y, row_radius=radii)
    assert ordered.radius_ > 0.0
    options["cv"] = [
        (np.flatnonzero(np.isin(order, train)), np.flatnonzero(np.isin(order, test)))
        for train, test in StratifiedKFold(3).split(X, y)
    ]
    moved = WassersteinSVCCV(4, **options)
    moved.fit(X[order], y[order], row_radius=radii[order])
    assert moved.best_score_ == pytest.approx(ordered.best_score_)
    np.testing.assert_allclose(moved.coef_, ordered.coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"row_radius": [0.0, -0.1]}, "row_radius=-0.1"),
        ({"row_radius": None}, "row_radius must be a number, got None"),
        ({"row_radius": []}, "row_radius must contain at least one value"),
        ({"row_radius": 0.1, "flip_costs": 1.0}, "row_radius needs flip_cost=inf"),
    ],
)
def test_errors_of_searches_name_the_value(parameters, error):
    X, y, _ = two_classes()
    with pytest.raises((TypeError, ValueError), match=error):
        WassersteinSVCCV(**parameters).fit(X, y)


def test_audits_of_a_search_are_of_the_chosen_ball():
    X, y, radii = two_classes()
    options = {"l2": 0.0, "threshold": "optimum"}
    search = WassersteinSVCCV([0.05], row_radius=0.2, **options).fit(X, y)
    alone = WassersteinSVC(0.05, row_radius=0.2, **options).fit(X, y)
    assert worst_case_risk(search, X, y) == worst_case_risk(alone, X, y)
    # In folds, a score knows the ball of a candidate as well.
    balls = []

    def score(model, X, y):
        balls.append(worst_case_risk(model, X, y))
        assert balls[-1] == worst_case_risk(model, X, y, radius=0.05, row_radius=0.2)
        return balls[-1]

    search.set_params(scoring=score, n_jobs=1).fit(X, y)
    assert len(balls) == 10
    search = WassersteinSVCCV([0.05], **options).fit(X, y, row_radius=radii)
    with pytest.raises(ValueError, match="row_radius is required"):
        worst_case_risk(search, X, y)


@pytest.mark.parametrize("threshold", ["accuracy", "optimum"])
@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_copies_weights_and_the_order_of_rows_do_not_matter(norm, threshold):
    X, y, radii = two_classes()
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 4, len(y))
    svc = WassersteinSVC(0.01, norm=norm, threshold=threshold, **OPTIONS)
    weighted = clone(svc).fit(X, y, sample_weight=counts, row_radius=radii)
    rows = rng.permutation(np.repeat(np.arange(len(y)), counts))
    copied = clone(svc).fit(X[rows], y[rows], row_radius=radii[rows])
    np.testing.assert_allclose(copied.coef_, weighted.coef_, atol=1e-5)
    np.testing.assert_allclose(copied.intercept_, weighted.intercept_, atol=1e-4)
    assert copied.objective_ == pytest.approx(weighted.objective_, abs=1e-8)


def test_radii_of_zero_change_nothing():
    X, y, _ = two_classes()
    plain = WassersteinSVC(0.01).fit(X, y)
    zero = WassersteinSVC(0.01).fit(X, y, row_radius=np.zeros(len(y)))
    assert zero.coef_.tolist() == plain.coef_.tolist()
    assert zero.intercept_.tolist() == plain.intercept_.tolist()


def test_the_radius_of_a_row_that_is_safe_does_not_matter():
    X, y, radii = two_classes()
    # Far on its own side, it has no loss, whatever its radius.
    X[-1] = 50.0 if y[-1] else -50.0
    results = []
    for own in (0.0, 1.0):
        radii[-1] = own
        problem = Problem(X, y, radius=0.01, flip_cost=math.inf, row_radius=radii)
        results.append(solve(problem, tol=1e-9))
    assert results[0].objective == pytest.approx(results[1].objective, abs=1e-8)
    assert results[1].hinge_dual[-1] < 1e-8


def test_the_number_of_threads_does_not_matter():
    X, y, radii = two_classes(40_000)
    problem = Problem(X, y, radius=0.01, flip_cost=math.inf, row_radius=radii)
    few, many = [solve(problem, tol=1e-8, n_threads=n) for n in (1, 3)]
    assert many.objective == pytest.approx(few.objective, abs=1e-8)
    np.testing.assert_allclose(many.weights, few.weights, atol=1e-5)


def test_several_classes_have_the_radii_of_their_rows():
    X, _, radii = two_classes()
    y = np.arange(len(X)) % 3
    X = X + 2.0 * np.eye(3)[y]
    svc = WassersteinSVC(0.01, l2=0.01, class_weight=None)
    fitted = svc.fit(X, y, row_radius=radii)
    order = np.random.default_rng(0).permutation(len(y))
    moved = clone(svc).fit(X[order], y[order], row_radius=radii[order])
    np.testing.assert_allclose(moved.coef_, fitted.coef_, atol=1e-3)
    np.testing.assert_allclose(moved.objective_, fitted.objective_, atol=2e-6)
