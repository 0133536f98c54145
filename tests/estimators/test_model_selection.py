"""WassersteinSVCCV: the same scores as a plain search, the selection rules, and invalid input."""

import re
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import PLAIN
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from thorough import examples, unless_long

from drsvm import (
    Problem,
    Status,
    WassersteinSVC,
    WassersteinSVCCV,
    radius_max,
    radius_path,
    worst_case_risk,
)
from drsvm.defaults.radius_rule import automatic

FIRST = {"l2": "auto", "class_weight": None, "cv": 2, "selection": lambda results: 0}
SPLITS = ("split0_test_score", "split1_test_score", "split2_test_score", "params")
SMALL = {
    "radii": [0.3, 0.03],
    "flip_costs": 5.0,
    "intercept_costs": np.inf,
    "l2": "auto",
    "class_weight": None,
}
SMALL["cv"] = 2


@pytest.mark.filterwarnings(
    "ignore:Cross-validation has chosen a constant classifier",
    "ignore:The least populated class",
)
@parametrize_with_checks(
    [
        WassersteinSVCCV(**SMALL | {"radii": [0.05], "norms": p})
        for p in unless_long([2], [1, 2, np.inf])
    ]
)
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:Cross-validation has chosen a constant classifier")
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("norm", unless_long([2], [1, 2, np.inf]))
def test_weights_are_counts_in_grid_and_choice_too(storage, norm):
    check = getattr(
        estimator_checks, f"check_sample_weight_equivalence_on_{storage}_data"
    )
    check("WassersteinSVCCV", WassersteinSVCCV(radii=unless_long(3, 6), norms=norm))


@pytest.fixture
def two_classes():
    X, y = make_classification(
        160,
        5,
        n_informative=3,
        n_redundant=0,
        flip_y=0.1,
        class_sep=1.5,
        random_state=0,
    )
    return StandardScaler().fit_transform(X), np.where(y, "yes", "no")


# Scores


@pytest.mark.parametrize(
    "data", unless_long(["two_classes"], ["two_classes", "three_classes"])
)
def test_scores_are_those_of_a_plain_search(data, request):
    X, y = request.getfixturevalue(data)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    radii = [0.2, 0.02]
    costs = [1.0, np.inf]
    norms = [2, np.inf]
    ridges = [0.5, 0.0]
    prices = ["auto", np.inf]
    grid = {
        "radius": radii,
        "flip_cost": costs,
        "norm": norms,
        "l2": ridges,
        "intercept_cost": prices,
    }
    several = {
        "flip_costs": costs,
        "norms": norms,
        "l2": ridges,
        "intercept_costs": prices,
    }
    ours = WassersteinSVCCV(
        radii, **several, class_weight="balanced", cv=folds, selection="best"
    ).fit(X, y)
    # "balanced" weights are computed from all rows, in every fold
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    model = WassersteinSVC(
        **{**PLAIN, "class_weight": {label: 1 / n for label, n in counts.items()}},
        tol=1e-6,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about large budgets
        plain = GridSearchCV(model, grid, cv=folds).fit(X, y)

    def scores_of(search):
        rows = zip(*(search.cv_results_[name] for name in SPLITS), strict=True)
        return {
            tuple(params[name] for name in grid): scores for *scores, params in rows
        }

    found = scores_of(ours)
    expected = scores_of(plain)
    for key, scores in found.items():
        # a row whose decision value is within the tolerance of 0 may fall on either
        # side
        np.testing.assert_allclose(scores, expected[key], atol=1.01 / (len(y) / 3))
    assert np.mean([*found.values()]) == pytest.approx(
        np.mean([*expected.values()]), abs=2e-3
    )
    assert ours.best_score_ == ours.cv_results_["mean_test_score"].max()


@pytest.mark.thorough
def test_results_make_a_table(two_classes):
    pd = pytest.importorskip("pandas")
    several = {
        "norms": (1, 2, "inf"),
        "flip_costs": (1.0, np.inf),
        "intercept_costs": ("auto", np.inf),
    }
    model = WassersteinSVCCV(radii=2, **several, cv=3).fit(*two_classes)
    frame = pd.DataFrame(model.cv_results_)
    assert len(frame) == 2 * 3 * 2 * 2 * 2 and model.n_splits_ == 3
    splits = frame[[*SPLITS[:3]]]
    np.testing.assert_allclose(frame.mean_test_score, splits.mean(axis=1))
    np.testing.assert_allclose(frame.std_test_score, splits.std(axis=1, ddof=0))
    assert (
        frame.rank_test_score.min() == 1
        and frame.largest_gap.max() <= 1e-4
        and (frame.mean_fit_time > 0).all()
    )
    assert (
        set(frame.param_class_weight) == {"auto"}
        and (frame.param_l2 == 0).mean() == 0.5
    )
    assert set(frame.param_norm) == {1, 2, np.inf} and set(frame.param_flip_cost) == {
        1.0,
        np.inf,
    }
    assert set(frame.param_intercept_cost) == {"auto", np.inf}
    assert (
        frame.params[5]["radius"] == frame.param_radius[5]
        and frame.param_radius.nunique() > 4
    )
    assert (
        frame.constant_score.nunique() == 1 and frame.auto_radius.nunique() == 3
    )  # by norm


def test_the_first_candidate_is_the_automatic_ball_and_others_are_smaller(two_classes):
    X, y = two_classes
    assert (
        len(
            WassersteinSVCCV(radii=None, refit=False)
            .fit(X[:30], y[:30])
            .cv_results_["params"]
        )
        == 2 * 6
    )
    results = (
        WassersteinSVCCV(radii=3, class_weight=None, refit=False).fit(X, y).cv_results_
    )
    found = automatic(
        Problem(X, y, flip_cost=np.inf, fit_intercept=True, intercept_cost=1.0)
    )
    np.testing.assert_allclose(results["auto_radius"], found.radius, rtol=1e-6)
    np.testing.assert_allclose(
        results["param_radius"],
        found.radius * np.array([1.0, 0.5, 0.25] * 2),
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        results["param_l2"], np.repeat([found.ridge, 0.0], 3), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("ridges", "listed"),
    [(0.3, [0.3]), (np.array([1.0, 0.1]), [1.0, 0.1]), ([0, 2], [0.0, 2.0])],
)
def test_ridges_that_are_given(two_classes, ridges, listed):
    search = WassersteinSVCCV(radii=[0.1], l2=ridges, cv=2).fit(*two_classes)
    assert search.cv_results_["param_l2"].tolist() == listed and search.l2_ in listed
    alone = WassersteinSVC(0.1, l2=search.l2_).fit(*two_classes)
    np.testing.assert_array_equal(search.coef_, alone.coef_)


LINES = [
    (0, 1, 2),
    (3, 4, 5),
    (6, 7, 8),
    (0, 3, 6),
    (1, 4, 7),
    (2, 5, 8),
    (0, 4, 8),
    (2, 4, 6),
]


@cache
def final_boards(board=" " * 9, player="x"):
    """Return the boards in which tic-tac-toe can end."""
    if " " not in board or any(
        {board[cell] for cell in line} in ({"x"}, {"o"}) for line in LINES
    ):
        return {board}
    moves = [
        board[:cell] + player + board[cell + 1 :]
        for cell in range(9)
        if board[cell] == " "
    ]
    return set().union(
        *(final_boards(move, "o" if player == "x" else "x") for move in moves)
    )


@pytest.mark.parametrize("share", unless_long([0.2], [0.2, 0.35]))
def test_a_sharp_rule_on_many_weak_columns_is_found_despite_wrong_labels(share):
    """The automatic ridge is large where labels contradict each other, and hides the rule: the search drops it."""
    rng = np.random.default_rng(0)
    boards = rng.permutation(
        np.array([list(board) for board in sorted(final_boards())])
    )
    X = StandardScaler().fit_transform(
        (boards[:, :, None] == np.array(["x", "o", " "])).reshape(len(boards), 27)
    )
    y = np.array(
        [any((board[list(line)] == "x").all() for line in LINES) for board in boards]
    )
    wrong = y[:400] ^ (rng.random(400) < share)
    search = WassersteinSVCCV().fit(X[:400], wrong)
    first = WassersteinSVC(**search.cv_results_["params"][0]).fit(X[:400], wrong)
    assert search.l2_ == 0.0 < first.l2_
    assert search.score(X[400:], y[400:]) > 0.95 and first.score(X[400:], y[400:]) < 0.8


def test_without_an_intercept_its_prices_are_not_tried(two_classes):
    results = (
        WassersteinSVCCV(radii=3, fit_intercept=False, l2=0.0, cv=2)
        .fit(*two_classes)
        .cv_results_
    )
    assert results["param_intercept_cost"].tolist() == [np.inf] * 3


# Flip costs by row


def test_flip_costs_of_rows_go_with_the_rows(two_classes):
    X, y = two_classes
    costs = np.where(np.arange(len(y)) % 3 == 0, np.inf, np.linspace(0.5, 3.0, len(y)))
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    fixed = {"radii": [0.1], **PLAIN}
    search = WassersteinSVCCV(**fixed, cv=folds).fit(X, y, flip_cost=costs)
    assert "flip_cost" not in search.best_params_ and search.flip_cost_ is None
    for k, (train, test) in enumerate(folds):
        alone = WassersteinSVC(0.1, tol=1e-6, **PLAIN).fit(
            X[train], y[train], flip_cost=costs[train]
        )
        alone = alone.score(X[test], y[test])
        assert search.cv_results_[f"split{k}_test_score"][0] == pytest.approx(
            alone, abs=1.01 / len(test)
        )
    refit = WassersteinSVC(0.1, **PLAIN).fit(X, y, flip_cost=costs)
    np.testing.assert_array_equal(search.coef_, refit.coef_)
    assert (
        abs(refit.objective_ - WassersteinSVC(0.1, **PLAIN).fit(X, y).objective_) > 1e-3
    )  # the costs matter
    with pytest.raises(ValueError, match="flip_cost is required"):
        worst_case_risk(search, X, y)
    for costs in (2.0, np.full(len(y), 2.0)):
        assert (
            WassersteinSVCCV(**SMALL)
            .fit(X, y, flip_cost=costs)
            .best_params_["flip_cost"]
            == 2.0
        )
    with pytest.raises(
        ValueError, match="flip_cost must be a number or have one entry per row"
    ):
        WassersteinSVCCV(**SMALL).fit(X, y, flip_cost=[1.0, 2.0])


def test_a_scorer_receives_weights_if_it_accepts_them(two_classes):
    X, y = two_classes
    weights = np.random.default_rng(0).random(len(y))
    scorings = "accuracy", lambda model, X, y: get_scorer("accuracy")(model, X, y)
    weighted, plain = (
        WassersteinSVCCV(**SMALL, scoring=scoring, refit=False) for scoring in scorings
    )
    for search, in_whole_rows in ((weighted, False), (plain, True)):
        counts = (
            search.fit(X, y, sample_weight=weights).cv_results_["split0_test_score"]
            * len(y)
            / 2
        )
        assert np.allclose(counts, counts.round(), atol=1e-9) == in_whole_rows
    assert WassersteinSVCCV(**SMALL, scoring="roc_auc").fit(X, y).best_score_ > 0.6


# Selection


def test_the_refit_is_the_chosen_model(three_classes):
    X, y = three_classes
    model = WassersteinSVCCV(
        [0.5, 0.02], flip_costs=5.0, cv=2, selection=lambda results: 1, tol=1e-9
    ).fit(X, y)
    assert (
        model.best_index_ == 1 and model.best_params_ == model.cv_results_["params"][1]
    )
    assert (model.radius_, model.flip_cost_, model.norm_, model.class_weight_) == (
        0.02,
        5.0,
        2,
        "auto",
    )
    assert model.best_params_[
        "intercept_cost"
    ] == "auto" and model.intercept_cost_ == pytest.approx(1.0)
    alone = WassersteinSVC(**model.best_params_, tol=1e-9).fit(X, y)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    assert (
        (model.gap_ <= 1e-9).all()
        and len(model.result_) == 3
        and model.objective_.shape == (3,)
    )


@pytest.mark.thorough
def test_class_weights_can_be_part_of_the_selection():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [140, 60])
    X = rng.normal(size=(200, 4)) + 1.0 * y[:, None]
    wrong = np.where(rng.random(200) < 0.35, 1 - y, y)
    scored = {"scoring": "balanced_accuracy", "radii": 6, "flip_costs": np.inf}
    assert WassersteinSVCCV(**scored, class_weight={0: 1, 1: 2}).fit(
        X, wrong
    ).class_weight_ == {0: 1, 1: 2}


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", "f1_macro"])
def test_the_classes_weigh_the_same_if_they_do_in_the_score(scoring):
    y = np.repeat([0, 1], [60, 30])
    # All candidates score 1
    X = np.random.default_rng(0).normal(size=(90, 2)) + 8.0 * y[:, None]
    search = WassersteinSVCCV(radii=3, scoring=scoring, cv=3, refit=False).fit(X, y)
    assert search.class_weight_ == ("auto" if scoring is None else "balanced")
    assert search.set_params(class_weight=None).fit(X, y).class_weight_ is None


def test_uninformative_features_give_the_automatic_radius():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    y = np.arange(120) % 2
    model = WassersteinSVCCV(radii=4).fit(X, y)
    assert (
        model.radius_
        == WassersteinSVC().fit(X, y).radius_
        == model.cv_results_["auto_radius"][model.best_index_]
    )
    assert (
        model.best_params_["intercept_cost"] == "auto" and model.class_weight_ == "auto"
    )
    assert model.objective_ == pytest.approx(
        WassersteinSVC().fit(X, y).objective_, abs=1e-6
    )


# Constant classifiers


@pytest.fixture
def noise():
    """Labels without a pattern, and a radius at which only classifiers of half of the rows are not constant."""
    rng = np.random.default_rng(0)
    X = StandardScaler().fit_transform(rng.normal(size=(200, 4)))
    y = np.arange(200) % 2
    return (
        X,
        y,
        1.1
        * radius_max(
            Problem(X, y, flip_cost=np.inf, fit_intercept=True, intercept_cost=1.0)
        ),
    )


def test_a_refit_that_is_constant_takes_a_smaller_radius(noise):
    X, y, large = noise
    radii = [large, 0.98 * large, 0.5 * large, 0.1 * large]
    search = WassersteinSVCCV(radii, **FIRST).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert (
        scores[0] != search.cv_results_["constant_score"][0]
    )  # not constant in the folds
    assert (
        search.best_index_ == 2
        and search.radius_ == 0.5 * large == search.best_params_["radius"]
    )
    assert search.best_score_ == scores[2] and search.coef_.any()
    # If no radius helps, the chosen one stays.
    with pytest.warns(UserWarning, match="has chosen a constant classifier"):
        search = WassersteinSVCCV([large, 0.98 * large], **FIRST).fit(X, y)
    assert (
        search.best_index_ == 0 and search.radius_ == large and not search.coef_.any()
    )
    assert search.intercept_cost_ == pytest.approx(1.0)


def test_a_constant_classifier_that_was_chosen_as_such_stays_and_is_a_warning(
    two_classes,
):
    """Its score in the folds was that of a constant classifier, so that a smaller radius is no better choice."""
    with pytest.warns(UserWarning, match="has chosen a constant classifier"):
        search = WassersteinSVCCV(
            [50.0, 0.05], class_weight=None, cv=2, selection=lambda results: 0
        ).fit(*two_classes)
    assert search.radius_ == 50.0 and len(set(search.predict(two_classes[0]))) == 1


# Data and folds


def test_sparse_rows_and_weights(two_classes):
    X, y = two_classes
    search = WassersteinSVCCV(**SMALL | {"l2": 0.0}, selection="best")
    dense = clone(search).fit(X, y)
    rows = clone(search).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(rows.coef_, dense.coef_, atol=1e-6)
    folds = [
        (np.r_[0:60, 120:160], np.arange(60, 120)),
        (np.arange(60, 120), np.arange(60)),
    ]
    with_zeros = WassersteinSVCCV(3, cv=folds).fit(
        X, y, sample_weight=np.r_[np.ones(120), np.zeros(40)]
    )
    without = WassersteinSVCCV(3, cv=[(np.arange(60), folds[0][1]), folds[1]]).fit(
        X[:120], y[:120]
    )
    for name, value in without.best_params_.items():
        same = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
        assert with_zeros.best_params_[name] == same
    np.testing.assert_allclose(with_zeros.coef_, without.coef_, atol=1e-6)


def test_groups_stay_together(two_classes):
    search = WassersteinSVCCV(**{**SMALL, "cv": GroupKFold(4)})
    assert (
        search.fit(*two_classes, groups=np.arange(len(two_classes[1])) // 10).n_splits_
        == 4
    )
    with pytest.raises(ValueError, match="groups"):
        search.fit(*two_classes)


@pytest.mark.thorough
def test_paths_in_parallel_give_the_same_model(two_classes):
    one, two = (WassersteinSVCCV(**SMALL, n_jobs=n).fit(*two_classes) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_small_classes_get_fewer_folds_and_one_that_is_missing_is_named(three_classes):
    X, y = three_classes
    rows = np.r_[0:3, 50:53, 100:103]
    assert WassersteinSVCCV(radii=[0.1]).fit(X[rows], y[rows]).n_splits_ == 3
    with pytest.raises(
        ValueError, match="Fold 0 has no row of class 'setosa' to train on"
    ):
        WassersteinSVCCV(cv=KFold(3)).fit(*three_classes)
    # Neither fewer folds nor stratified ones help here.
    with (
        pytest.warns(UserWarning, match="only 1 members"),
        pytest.raises(ValueError, match="'setosa' to train on: it has only one row"),
    ):
        WassersteinSVCCV().fit(X[49:], y[49:])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radii": 0}, "radii=0"),
        ({"radii": []}, "radii must contain at least one value"),
        ({"radii": [0.1, -2.0]}, "radii=-2.0"),
        ({"flip_costs": ()}, "flip_costs must contain"),
        ({"l2": ()}, "l2 must contain at least one value, got \\(\\)"),
        ({"l2": [0.1, -1.0]}, "l2 must be finite and at least 0, got l2=-1.0"),
        ({"l2": "cv"}, "l2 must be a number or 'auto', got l2='cv'"),
        ({"intercept_costs": ()}, "intercept_costs must contain"),
        ({"intercept_costs": [1.0, -1.0]}, "intercept_cost"),
        ({"norms": [3]}, "norm"),
        ({"selection": "luck"}, "selection='luck'"),
        ({"class_weight": "even"}, "even"),
        ({"scoring": lambda model, X, y: np.nan}, "NaN score"),
        ({"scoring": ["accuracy", "f1"]}, "scoring must be one score"),
        (
            {"scoring": "neg_log_loss"},
            "scoring='neg_log_loss' needs probabilities.*GridSearchCV",
        ),
        (
            {"scoring": "roc_auc_ovr"},
            "scoring='roc_auc_ovr' needs probabilities.*GridSearchCV",
        ),
    ],
)
def test_errors_name_wrong_settings(two_classes, settings, message):
    with pytest.raises(ValueError, match=message):
        WassersteinSVCCV(**{**SMALL, **settings}).fit(*two_classes)


# Progress


def test_unreached_tolerances_are_one_warning(two_classes):
    with pytest.warns(ConvergenceWarning) as caught:
        WassersteinSVCCV(**SMALL, max_iter=2).fit(*two_classes)
    assert "4 of 4 solutions in the folds have a proven gap above 1e-03" in str(
        caught[0].message
    )
    assert len(caught) == 2  # the second is from the refit


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_search_without_time_takes_a_typical_radius(two_classes, n_jobs, clock):
    # However busy the machine is, the time is up by a little.
    clock.tick = 1e-6
    search = WassersteinSVCCV(max_time=1e-9, n_jobs=n_jobs, flip_costs=(5.0, np.inf))
    with pytest.warns(ConvergenceWarning) as caught:
        search.fit(*two_classes)
    messages = [str(warning.message) for warning in caught]
    assert (
        "20 of 20 paths in 5 folds unfinished" in messages[0]
        and "time limit" in messages[1]
    )
    assert (
        np.isnan(search.best_score_)
        and search.flip_cost_ == 5.0
        and search.class_weight_ == "auto"
    )
    assert (
        search.best_params_["intercept_cost"] == "auto"
        and search.best_params_["l2"] > 0.0
    )
    assert search.radius_ == search.cv_results_["auto_radius"][0]
    assert search.n_iter_ == 1 and search.coef_.any()


def test_an_interrupt_ends_the_search_also_at_the_last_radius(two_classes, monkeypatch):
    def interrupt(model, X, y):
        raise KeyboardInterrupt

    def interrupted(*arguments, **more):
        path = radius_path(*arguments, **more)
        path.results[-1] = replace(path.results[-1], status=Status.INTERRUPTED)
        return path

    monkeypatch.setattr("drsvm.estimators.cross_validation.radius_path", interrupted)
    for parameters in (
        {"scoring": interrupt},
        {"max_iter": 100},
    ):  # with a limit, every solution is proven
        with pytest.raises(KeyboardInterrupt):
            WassersteinSVCCV(**SMALL, **parameters).fit(*two_classes)


def test_verbose_searches(two_classes, capsys):
    """Small weights of large features do not count as constant: there is no warning."""
    WassersteinSVCCV(radii=3, flip_costs=np.inf, class_weight=None).fit(
        1e7 * two_classes[0], two_classes[1]
    )
    WassersteinSVCCV(**SMALL, verbose=1).fit(*two_classes)
    lines = capsys.readouterr().out.splitlines()
    setting = r"norm 2, ridge 0\.\d+, flip cost 5.0, intercept cost inf"
    assert re.match(rf"\[1/2\] {setting}, fold 0: best score 0\.", lines[0])
    assert lines[2].startswith("chosen: {'radius': 0.") and lines[3].startswith(
        "[all] optimal"
    )


def test_without_a_refit_there_is_no_classifier(two_classes):
    X, y = two_classes
    model = WassersteinSVCCV(radii=[0.1], flip_costs=5.0, class_weight=None).fit(X, y)
    model.set_params(refit=False).fit(X[:, :2], y)
    assert (
        not hasattr(model, "coef_")
        and not hasattr(model, "result_")
        and model.radius_ == 0.1
    )
    with pytest.raises(NotFittedError, match="refit=True"):
        model.predict(X[:, :2])


@examples(1, 40)
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.0, 0.6))
def test_rows_of_weight_0_shape_no_folds(seed, share):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + y[:, None]
    weights = 1.0 * (rng.random(60) < share)
    # Of every class, some rows count in every fold.
    weights[::3] = 1.0
    weights[50] = 0.0
    groups = rng.permutation(60) % 4
    of_all = list(StratifiedKFold(2).split(X, y))

    def scores(cv, rows, **weighted):
        search = WassersteinSVCCV([0.1, 0.02], l2=0.0, cv=cv, refit=False)
        if isinstance(cv, GroupKFold):
            weighted["groups"] = groups[rows]
        search.fit(X[rows], y[rows], **weighted)
        return search.cv_results_["mean_test_score"]

    counted = np.flatnonzero(weights)
    place = np.searchsorted(counted, np.arange(60))
    everything = np.arange(60)
    for cv in (None, 3, GroupKFold(2), of_all):
        without = cv
        if isinstance(cv, list):
            without = []
            for pair in cv:
                without.append([place[part[weights[part] > 0]] for part in pair])
        np.testing.assert_allclose(
            scores(cv, everything, sample_weight=weights),
            scores(without, counted),
            atol=1e-9,
        )


def test_a_fold_that_tests_only_rows_of_weight_0_is_an_error():
    X = np.arange(8.0)[:, None]
    y = np.arange(8) % 2
    folds = [(np.arange(4), np.arange(4, 6)), (np.arange(4), np.arange(6, 8))]
    weights = np.array([1, 1, 1, 1, 1, 1, 0, 0])
    with pytest.raises(ValueError, match="All test rows of fold 1 have weight 0"):
        WassersteinSVCCV(cv=folds).fit(X, y, sample_weight=weights)
