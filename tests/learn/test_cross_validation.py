"""Settings, default radii, the scores of one path and the table of scores."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import get_scorer

from drsvm import Problem, auto_radius, radius_max
from drsvm.clock import TimeLimit
from drsvm.learn.search.cross_validation import (
    SELECTION_RULES,
    Fold,
    PathScores,
    Setting,
    automatic,
    default_radii,
    results_table,
    score_path,
)

BALL = {"flip_cost": 5.0, "norm": 2, "l2": 0.0, "fit_intercept": True, "feature_cost": None}


LIMITS = {"solver": "auto", "tol": 1e-4, "max_iter": None}


def setting(radii=(0.2, 0.1), class_weight=None, auto_radius=0.1, weights=None, **ball):
    return Setting(class_weight, {**BALL, "intercept_cost": "auto", **ball}, np.array(radii), auto_radius, weights)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    return rng.normal(size=(90, 3)) + 1.5 * np.eye(3)[y] + 4.0, y


# Settings


def test_flip_costs_of_rows_are_no_parameter_but_are_sliced():
    costs = np.arange(6.0)
    one = setting(flip_cost=costs)
    assert one.params(0.2) == {"radius": 0.2, "norm": 2, "l2": 0.0, "intercept_cost": "auto", "class_weight": None}
    np.testing.assert_array_equal(one.ball_of([4, 1])["flip_cost"], [4.0, 1.0])
    assert setting().ball_of([4, 1])["flip_cost"] == 5.0 == setting().params(0.1)["flip_cost"]
    assert str(one) == "norm 2, flip cost by row, intercept cost auto"
    assert str(setting(class_weight="balanced")).endswith("flip cost 5.0, intercept cost auto, class weights balanced")


# Radii


@pytest.mark.parametrize("n_radii", [1, 2, 5, 12])
@pytest.mark.parametrize("distance", [0.1, 3.0])
def test_default_radii_surround_the_automatic_one(n_radii, distance):
    rng = np.random.default_rng(1)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 4)) + distance * (y[:, None] - 0.5)
    problems = [Problem(X, y, flip_cost=np.inf, fit_intercept=True, intercept_cost=1.0)]
    auto = auto_radius(problems[0])
    radii = default_radii(problems, n_radii, auto, TimeLimit())
    assert len(radii) == n_radii and auto in radii and (np.diff(radii) < 0).all()
    largest = min(4.0 * auto, 0.9 * radius_max(problems[0]))
    assert radii[0] <= largest * 1.005
    if n_radii > 2:
        np.testing.assert_allclose([radii[0], radii[-1]], [largest, 0.04 * auto], rtol=5e-3)


def test_rows_that_do_not_differ_have_radii_too():
    problems = [Problem(np.ones((6, 2)), [1, 1, 1, -1, -1, -1], flip_cost=np.inf, fit_intercept=True)]
    radii = default_radii(problems, 3, 0.0, TimeLimit())
    assert (radii > 0).all() and (np.diff(radii) < 0).all()


# Scores of one path


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_accuracies_are_those_of_the_scorer(rows, n_classes, weighted, container):
    X, y = rows
    X, y = container(X[y < n_classes]), np.array(["a", "b", "c"])[y[y < n_classes]]
    weights = np.linspace(1.0, 3.0, len(y)) if weighted else None
    order = np.random.default_rng(2).permutation(len(y))
    fold = Fold(0, order[: len(y) // 2], order[len(y) // 2 :])
    arguments = X, y, np.unique(y), weights, setting((50.0, 0.3, 0.03), weights=weights), fold
    fast, slow = (score_path(*arguments, scorer, LIMITS, TimeLimit()) for scorer in (None, get_scorer("accuracy")))
    np.testing.assert_allclose(fast.scores, slow.scores, rtol=1e-12)
    assert fast.constant == pytest.approx(slow.constant, rel=1e-12) and fast.complete
    counts = np.ones(len(y)) if weights is None else weights
    totals = {label: counts[fold.train][y[fold.train] == label].sum() for label in np.unique(y)}
    majority = max(totals, key=totals.__getitem__)
    expected = np.average(y[fold.test] == majority, weights=counts[fold.test])
    assert fast.constant == pytest.approx(expected) == fast.scores[0]  # the largest radius leaves no weight
    assert fast.scores[2] > fast.constant + 0.2


def test_without_time_there_are_no_scores(rows):
    X, y = rows
    fold = Fold(0, np.arange(45), np.arange(45, 90))
    spent = TimeLimit(1e-9, spent=True)
    outcome = score_path(X, y, np.unique(y), None, setting(), fold, None, {}, spent)
    assert not outcome.complete and np.isnan(outcome.scores).all() and np.isnan(outcome.constant)


# The table


def test_only_complete_folds_count():
    one, other = setting(), setting(class_weight="balanced")
    good = PathScores(np.array([0.9, 0.8]), *np.ones((2, 2)), constant=0.6)
    bad = PathScores(np.array([0.1, 0.9]), *np.ones((2, 2)), constant=0.2)
    late = bad._replace(complete=False, constant=np.nan)
    table = results_table([one, other], [[good, bad], [good, late]])
    np.testing.assert_array_equal(table["mean_test_score"], [0.9, 0.8, 0.9, 0.8])
    np.testing.assert_array_equal(table["split1_test_score"], np.full(4, np.nan))
    np.testing.assert_array_equal(table["constant_score"], np.full(4, 0.6))
    assert SELECTION_RULES["best"](table) == SELECTION_RULES["one-standard-error"](table) == 0
    assert SELECTION_RULES["auto"](table) == 0  # one fold has no standard error: any advantage counts
    nothing = results_table([one], [[late]])
    assert np.isnan(nothing["mean_test_score"]).all() and automatic(nothing) == 1


def test_the_constant_score_is_that_of_the_first_setting():
    scores = PathScores(np.array([0.9, 0.8]), *np.ones((2, 2)), constant=0.7)
    balanced = [[scores._replace(constant=value) for value in (0.3, 0.7)]]
    table = results_table([setting(), setting(class_weight="balanced")], [[scores, scores], *balanced])
    np.testing.assert_allclose(table["constant_score"], np.full(4, 0.7))
    assert table["param_intercept_cost"].tolist() == ["auto"] * 4
    assert table["auto_radius"].tolist() == [0.1] * 4
