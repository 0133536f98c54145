"""Settings, default radii, the scores of one path, their table, and the rules that select a candidate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import get_scorer

from drsvm import Problem, WassersteinSVC
from drsvm.estimators.checks import checked_data
from drsvm.estimators.cross_validation import (
    Fold,
    PathScores,
    Setting,
    default_radii,
    results_table,
    score_path,
)
from drsvm.estimators.selection_rules import (
    SELECTION_RULES,
    automatic,
    in_setting_of,
    weighs_classes_equally,
)
from drsvm.utils import TimeLimit

RULES = SELECTION_RULES
BALL = {
    "flip_cost": 5.0,
    "norm": 2,
    "l2": 0.0,
    "fit_intercept": True,
    "feature_cost": None,
    "row_radius": 0.0,
}
LIMITS = {"solver": "auto", "tol": 1e-4, "max_iter": None}


def setting(radii=(0.2, 0.1), class_weight=None, auto_radius=0.1, **ball):
    return Setting(
        class_weight,
        {**BALL, "intercept_cost": "auto", **ball},
        np.array(radii),
        auto_radius,
    )


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    return rng.normal(size=(90, 3)) + 1.5 * np.eye(3)[y] + 4.0, y


# Settings


def test_flip_costs_of_rows_are_no_parameter_but_are_sliced():
    costs = np.arange(6.0)
    one = setting(flip_cost=costs)
    assert one.params(0.2) == {
        "radius": 0.2,
        "norm": 2,
        "l2": 0.0,
        "intercept_cost": "auto",
        "row_radius": 0.0,
        "class_weight": None,
    }
    np.testing.assert_array_equal(one.parameters_of([4, 1])["flip_cost"], [4.0, 1.0])
    assert (
        setting().parameters_of([4, 1])["flip_cost"]
        == 5.0
        == setting().params(0.1)["flip_cost"]
    )
    assert str(one) == "norm 2, ridge 0, flip cost by row, intercept cost auto"
    assert str(setting(class_weight="balanced")).endswith(
        "flip cost 5.0, intercept cost auto, class weights balanced"
    )


def test_radii_of_rows_are_no_parameter_but_are_sliced():
    one = setting(row_radius=np.arange(6.0))
    assert "row_radius" not in one.params(0.2)
    np.testing.assert_array_equal(one.parameters_of([4, 1])["row_radius"], [4.0, 1.0])
    assert str(one).endswith("row radii by row")
    assert setting(row_radius=0.3).params(0.2)["row_radius"] == 0.3
    assert str(setting(row_radius=0.3)).endswith("row radius 0.3")


# Radii


def test_default_radii_are_the_automatic_one_and_halves():
    problems = [
        Problem(
            np.ones((6, 2)), [1, 1, 1, -1, -1, -1], flip_cost=np.inf, fit_intercept=True
        )
    ]
    assert default_radii(problems, 4, 0.3).tolist() == [0.3, 0.15, 0.075, 0.0375]
    assert default_radii(problems, 1, 0.3).tolist() == [0.3]
    # Rows that do not differ have no automatic radius: their length takes its place.
    np.testing.assert_allclose(default_radii(problems, 2, 0.0), [2**0.5, 0.5**0.5])


# Scores of one path


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_accuracies_are_those_of_the_scorer(rows, n_classes, weighted, container):
    X, y = rows
    X = container(X[y < n_classes])
    y = np.array(["a", "b", "c"])[y[y < n_classes]]
    weights = np.linspace(1.0, 3.0, len(y)) if weighted else None
    order = np.random.default_rng(2).permutation(len(y))
    fold = Fold(0, order[: len(y) // 2], order[len(y) // 2 :])
    arguments = (
        checked_data(WassersteinSVC(), X, y, weights, None),
        setting((50.0, 0.3, 0.03)),
        fold,
    )
    scorers = (None, get_scorer("accuracy"))
    fast, slow = (
        score_path(*arguments, scorer, LIMITS, TimeLimit()) for scorer in scorers
    )
    np.testing.assert_allclose(fast.scores, slow.scores, rtol=1e-12)
    assert fast.constant == pytest.approx(slow.constant, rel=1e-12) and fast.complete
    counts = np.ones(len(y)) if weights is None else weights
    totals = {
        label: counts[fold.train][y[fold.train] == label].sum()
        for label in np.unique(y)
    }
    majority = max(totals, key=totals.__getitem__)
    expected = np.average(y[fold.test] == majority, weights=counts[fold.test])
    assert (
        fast.constant == pytest.approx(expected) == fast.scores[0]
    )  # the largest radius leaves no weight
    assert fast.scores[2] > fast.constant + 0.2


def test_without_time_there_are_no_scores(rows):
    data = checked_data(WassersteinSVC(), *rows, None, None)
    fold = Fold(0, np.arange(45), np.arange(45, 90))
    spent = TimeLimit(1e-9, spent=True)
    outcome = score_path(data, setting(), fold, None, {}, spent)
    assert (
        not outcome.complete
        and np.isnan(outcome.scores).all()
        and np.isnan(outcome.constant)
    )


# The table


def test_only_complete_folds_count():
    one = setting()
    other = setting(class_weight="balanced")
    good = PathScores(np.array([0.9, 0.8]), *np.ones((2, 2)), constant=0.6)
    bad = PathScores(np.array([0.1, 0.9]), *np.ones((2, 2)), constant=0.2)
    late = bad._replace(complete=False, constant=np.nan)
    table = results_table([one, other], [[good, bad], [good, late]])
    np.testing.assert_array_equal(table["mean_test_score"], [0.9, 0.8, 0.9, 0.8])
    np.testing.assert_array_equal(table["split1_test_score"], np.full(4, np.nan))
    np.testing.assert_array_equal(table["constant_score"], np.full(4, 0.6))
    assert RULES["best"](table) == RULES["one-standard-error"](table) == 0
    assert (
        RULES["auto"](table) == 0
    )  # one fold has no standard error: any advantage counts
    nothing = results_table([one], [[late]])
    assert np.isnan(nothing["mean_test_score"]).all() and automatic(nothing) == 1


def test_the_constant_score_is_that_of_the_first_setting():
    scores = PathScores(np.array([0.9, 0.8]), *np.ones((2, 2)), constant=0.7)
    balanced = [[scores._replace(constant=value) for value in (0.3, 0.7)]]
    table = results_table(
        [setting(), setting(class_weight="balanced")], [[scores, scores], *balanced]
    )
    np.testing.assert_allclose(table["constant_score"], np.full(4, 0.7))
    assert table["param_intercept_cost"].tolist() == ["auto"] * 4
    assert table["auto_radius"].tolist() == [0.1] * 4


# Selection rules


RADII = (1.0, 0.5, 0.2, 0.1)


def table(scores, radii=RADII, settings=None, auto_radius=0.22):
    """Return a table with one row of scores, one per fold, for every candidate."""
    scores = np.array(scores, dtype=float)
    settings = ["first"] * len(radii) if settings is None else settings
    return {
        "param_radius": np.array(radii),
        "params": [
            {"radius": radius, "norm": norm}
            for radius, norm in zip(radii, settings, strict=True)
        ],
        "auto_radius": np.full(len(radii), auto_radius),
        "mean_test_score": scores.mean(axis=1),
        **{f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])},
    }


def spread(mean, error, folds=3):
    """Return scores with a given mean and standard error."""
    return mean + error * np.sqrt(folds) * np.array([1.0, -1.0, *np.zeros(folds - 2)])


# "best" and "one-standard-error"


def test_the_best_mean_and_the_largest_radius_within_one_standard_error():
    results = table([[0.5] * 3, [0.7, 0.9, 0.7], [0.8, 0.9, 0.7], [0.9, 0.7, 0.9]])
    assert RULES["best"](results) == 3
    # 0.833 minus 0.115 / sqrt(3) = 0.767 is reached at 0.5 too
    assert RULES["one-standard-error"](results) == 1
    results["mean_test_score"][2] = results["mean_test_score"][3]
    assert RULES["best"](results) == 2  # the larger radius in a tie


def test_one_standard_error_stays_with_the_other_parameters_of_the_best():
    results = table(
        [[0.6] * 3, spread(0.83, 0.05), spread(0.80, 0.05)],
        (2.0, 0.5, 0.2),
        ["other", "first", "first"],
    )
    results["mean_test_score"][0] = 0.81
    assert RULES["one-standard-error"](results) == 1


# "auto"


def test_auto_starts_from_the_automatic_radius_in_the_first_setting():
    scores = [[0.8] * 3] * 6
    results = table(
        scores, (1.0, 0.2, 0.1) * 2, ["first"] * 3 + ["second"] * 3, auto_radius=0.13
    )
    results["auto_radius"][3:] = 0.2
    assert (
        RULES["auto"](results) == automatic(results) == 2
    )  # 0.13 is nearer to 0.1 on a log scale


@pytest.mark.parametrize(("lead", "chosen"), [(0.019, 2), (0.021, 3)])
def test_auto_leaves_it_only_for_a_clear_lead_in_the_same_folds(lead, chosen):
    # The folds differ much more than two candidates in one of them
    own = np.array([0.9, 0.5, 0.7])
    results = table(
        [[0.5] * 3, [0.6] * 3, own, own + spread(lead, 0.02)],
        settings=["first"] * 3 + ["second"],
    )
    assert RULES["best"](results) == 3 and RULES["auto"](results) == chosen
    # The radius stays nevertheless if its score is within the error of the best one
    # itself.
    assert (
        RULES["auto"](table([[0.5] * 3, [0.6] * 3, own, own + spread(lead, 0.02)])) == 2
    )
    assert (
        RULES["auto"](table([[0.5], [0.8], [0.79], [0.6]])) == 1
    )  # one fold has no standard error
    assert RULES["auto"](table([[0.5], [0.8], [0.8], [0.6]])) == 2


def test_auto_then_takes_the_good_radius_nearest_to_the_automatic_one():
    settings = ["first"] * 4 + ["second"] * 4
    scores = [[0.5] * 3] * 4 + [
        spread(0.89, 0.02),
        spread(0.9, 0.02),
        spread(0.885, 0.02),
        [0.8] * 3,
    ]
    results = table(scores, RADII * 2, settings, auto_radius=0.1)
    assert (
        RULES["auto"](results) == 6
    )  # not 0.1, whose score is worse, nor the first setting
    assert RULES["one-standard-error"](results) == 4


def test_auto_with_scores_that_are_missing():
    # The automatic radius has no score
    results = table([[0.5] * 3, [0.8] * 3, [np.nan] * 3, [0.6] * 3])
    assert RULES["auto"](results) == 1
    # A fold that was not completed does not count in the standard error
    results["split2_test_score"][:] = np.nan
    results["split0_test_score"][1] = 0.9
    results["split1_test_score"][1] = 0.7
    assert RULES["one-standard-error"](results) == 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 3))
def test_every_rule_keeps_its_promise(seed, n_folds, n_settings):
    rng = np.random.default_rng(seed)
    radii = tuple(np.sort(rng.uniform(0.01, 1.0, 4))[::-1]) * n_settings
    scores = np.round(rng.uniform(0.4, 0.9, (len(radii), n_folds)), 1)
    settings = np.repeat(["first", "second", "third"][:n_settings], 4).tolist()
    results = table(scores, radii, settings, auto_radius=rng.uniform(0.01, 1.0))
    means = scores.mean(axis=1)
    start = automatic(results)
    assert in_setting_of(results, 0).tolist() == [
        setting == "first" for setting in settings
    ]
    error = (
        scores.std(axis=1, ddof=1) / np.sqrt(n_folds)
        if n_folds > 1
        else np.zeros(len(radii))
    )
    best = RULES["best"](results)
    assert means[best] == pytest.approx(means.max()) and settings[start] == "first"
    for rule in ("auto", "one-standard-error"):
        chosen = RULES[rule](results)
        good = (
            settings[chosen] == settings[best]
            and means[chosen] >= means[best] - error[best] - 1e-9
        )
        assert good or (rule == "auto" and chosen == start)
    lead = scores[best] - scores[start]
    if RULES["auto"](results) != start:
        assert lead.mean() > (
            lead.std(ddof=1) / np.sqrt(n_folds) if n_folds > 1 else 0.0
        )
    assert radii[RULES["one-standard-error"](results)] >= radii[best]


EQUAL = ("balanced_accuracy", "f1_macro", "recall_macro")
UNEQUAL = ("accuracy", "f1_micro", None, lambda *_: 0.0)


@pytest.mark.parametrize("scoring", [*EQUAL, *UNEQUAL])
def test_scores_that_weigh_classes_equally(scoring):
    assert weighs_classes_equally(scoring) is (scoring in EQUAL)
