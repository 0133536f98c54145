"""The threshold: where it is placed, on what it does not depend, and that the proof is that of the direction."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import TunedThresholdClassifierCV
from thorough import examples

from drsvm import (
    Problem,
    WassersteinKernelSVC,
    WassersteinSVC,
    WassersteinSVCCV,
    worst_case_risk,
)
from drsvm.defaults.out_of_fold import OutOfFoldDecisions
from drsvm.defaults.threshold import MIN_PREDICTED, NEARLY_NONE, SLACK, choose_threshold

SCORES = {"accuracy": accuracy_score, "balanced_accuracy": balanced_accuracy_score}


def correct_on_average(thresholds, values, sign, least):
    """Return the shares of a class that are decided correctly at thresholds, averaged over those around each."""
    between = np.ptp(np.quantile(values, [0.25, 0.75], method="inverted_cdf"))
    deviation = (
        min(values.std(), between / (norm.ppf(0.75) - norm.ppf(0.25)))
        if between > 0
        else values.std()
    )
    # Silverman's rule
    width = max(3**0.5 * (4 / 3 / len(values)) ** 0.2 * deviation, least)
    above = np.clip(
        (values - thresholds[:, None] + width) / (2 * width), 0.0, 1.0
    ).mean(axis=1)
    return above if sign > 0 else 1.0 - above


@examples(60, 500)
@given(st.integers(0, 10_000), st.sampled_from(list(SCORES)))
def test_it_is_the_nearest_that_is_nearly_best(seed, goal):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 42))
    signs = np.append([1.0, -1.0], rng.choice([-1.0, 1.0], n - 2))
    decisions = np.round(
        rng.normal(size=n) + 0.5 * signs + rng.normal(), int(rng.integers(0, 3))
    )
    found = choose_threshold(
        OutOfFoldDecisions(decisions[:, None], (signs > 0).astype(int), np.ones(n)),
        goal,
    )
    values = np.unique(decisions)
    if len(values) < 2:
        assert found == 0.0
        return
    middles = 0.5 * (values[:-1] + values[1:])
    candidates = np.where((values[:-1] < 0) & (values[1:] > 0), 0.0, middles)
    sides = [(sign, decisions[signs == sign]) for sign in (1.0, -1.0)]
    least = np.finfo(float).eps ** 0.5 * np.ptp(values)
    correct = [
        correct_on_average(candidates, side, sign, least) for sign, side in sides
    ]
    shares = [len(side) / n if goal == "accuracy" else 0.5 for _, side in sides]
    scores = shares[0] * correct[0] + shares[1] * correct[1]
    # Predicted for enough rows, or for none at any threshold
    rarer = 1.0 if signs.sum() <= 0 else -1.0
    enough = np.array([(rarer * (decisions - middle) > 0).sum() for middle in middles])
    enough = enough >= min(MIN_PREDICTED * (signs == rarer).sum(), NEARLY_NONE * n)
    enough = enough if enough.any() else ~enough
    if goal == "accuracy":
        n_rarer = (signs == rarer).sum()
        right = ((decisions - middles[:, None] > 0) == (signs > 0)).sum(axis=1)
        # The constant's, as far as it is clear
        least = n - n_rarer - SLACK * (n_rarer * (n - n_rarer) / n) ** 0.5
        if right[enough].max() < n - (1 + MIN_PREDICTED) * n_rarer:
            assert ((decisions > found) == (rarer < 0)).all(), (
                "nothing but a constant is good enough"
            )
            return
        enough &= right >= min(least, right[enough].max())
    allowed = np.where(enough, scores, -1.0)
    best = allowed.argmax()
    errors = [
        one[best] * (1 - one[best]) / len(side)
        for one, (_, side) in zip(correct, sides, strict=True)
    ]
    variance = (
        scores[best] * (1 - scores[best]) / n
        if goal == "accuracy"
        else 0.25 * sum(errors)
    )
    good = candidates[allowed >= allowed.max() - SLACK * variance**0.5 - 1e-9]
    assert (
        abs(found) == pytest.approx(np.abs(good).min())
        and values[0] < found < values[-1]
    )


@examples(60, 500)
@given(st.integers(0, 10_000))
def test_unseen_decisions_are_no_worse_than_a_constant(seed):
    """But for what it costs to predict the rarer class: up to half of its rows.

    Weights count as copies.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 80))
    share = rng.uniform(0.02, 0.5)
    labels = np.append([0, 1], (rng.random(n - 2) < share).astype(int))
    decisions = rng.normal(size=n) + rng.choice([-1.0, 0.0, 0.3, 3.0]) * labels
    decisions[rng.random(n) < 0.05] *= 10.0 ** rng.integers(1, 6)
    decisions = np.round(decisions, int(rng.integers(-1, 4)))
    counts = rng.integers(1, 4, n)
    found = choose_threshold(
        OutOfFoldDecisions(decisions[:, None], labels, counts.astype(float)), "accuracy"
    )
    repeated = OutOfFoldDecisions(
        decisions.repeat(counts)[:, None], labels.repeat(counts), np.ones(counts.sum())
    )
    copies = choose_threshold(repeated, "accuracy")
    assert copies == pytest.approx(found, rel=1e-9, abs=1e-9)
    masses = np.bincount(labels, counts)
    if len(np.unique(decisions)) > 1:
        assert (
            counts @ ((decisions > found) == labels)
            >= masses.max() - MIN_PREDICTED * masses.min() - 1e-9
        )


def test_a_far_row_does_not_widen_the_average():
    rng = np.random.default_rng(0)
    labels = (rng.random(400) < 0.2).astype(int)
    decisions = rng.normal(size=400) + 2.5 * labels
    judged = OutOfFoldDecisions(decisions[:, None], labels, np.ones(400))
    found = choose_threshold(judged, "balanced_accuracy")
    for value in (1e3, 1e6, -1e6):
        decisions[7] = value
        assert choose_threshold(judged, "balanced_accuracy") == pytest.approx(
            found, abs=0.05
        )


def test_the_proof_is_that_of_the_direction(rare):
    X, y = rare
    moved, own = (
        WassersteinSVC(threshold=goal).fit(X, y)
        for goal in ("balanced_accuracy", "optimum")
    )
    assert moved.threshold_ != 0.0 and own.threshold_ == 0.0
    np.testing.assert_array_equal(moved.coef_, own.coef_)
    assert (moved.objective_, moved.gap_) == (
        own.objective_,
        own.gap_,
    ) and moved.gap_ <= 1e-6
    for model in (moved, own):
        assert model.intercept_[0] == model.result_.intercept - model.threshold_
    np.testing.assert_array_equal(moved.predict(X) == 1, moved.decision_function(X) > 0)
    # The worst case is that of the classifier as it stands.
    error = worst_case_risk(moved, X, y, radius=0.0, loss="zero-one")
    assert error == pytest.approx(1.0 - moved.score(X, y), abs=1e-12)


KINDS = [
    WassersteinSVC,
    WassersteinSVCCV,
    partial(WassersteinKernelSVC, gamma=0.02, n_landmarks=40),
]


@pytest.mark.parametrize("kind", KINDS, ids=["linear", "search", "kernel"])
def test_the_certificate_refers_to_an_intercept_of_its_own(rare, kind):
    X, y = rare
    ball = {
        "intercept_costs" if kind is WassersteinSVCCV else "intercept_cost": math.inf,
        "class_weight": "balanced",
    }
    moved, own = (
        kind(**ball, threshold=goal).fit(X, y) for goal in ({0: 1, 1: 1}, "optimum")
    )
    assert (
        own.certified_intercept_ == own.intercept_
        and own.certified_intercept_.shape == (1,)
    )
    assert moved.certified_intercept_ == pytest.approx(own.intercept_, abs=1e-12)
    assert abs(moved.certified_intercept_ - moved.intercept_) > 0.05
    if kind in (WassersteinSVC, WassersteinSVCCV):
        balanced = len(y) / (2.0 * np.bincount(y))
        ball = {
            "radius": own.radius_,
            "l2": own.l2_,
            "flip_cost": math.inf,
            "fit_intercept": True,
        }
        problem = Problem(X, y, sample_weight=balanced[y], **ball)
        assert problem.objective(
            moved.coef_[0], moved.certified_intercept_[0]
        ) == pytest.approx(moved.objective_)
        # Where it decides, the objective is further above the bound than what is
        # proven.
        assert (
            problem.objective(moved.coef_[0], moved.intercept_[0])
            > moved.lower_bound_ + 1e3 * moved.gap_
        )
    if kind is WassersteinSVC:
        own.set_params(class_weight=None).partial_fit(X, y)
        np.testing.assert_array_equal(own.certified_intercept_, own.intercept_)


def judged_rows(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 200))
    share = rng.uniform(0.05, 0.6)
    labels = np.append([0, 1], (rng.random(n - 2) < share).astype(int))
    decisions = np.round(
        rng.normal(size=n) + rng.uniform(-0.5, 3.0) * labels + rng.normal(),
        int(rng.integers(0, 4)),
    )
    return OutOfFoldDecisions(
        decisions[:, None], labels, rng.integers(1, 4, n).astype(float)
    )


@examples(60, 500)
@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_costs_are_the_lowest_of_all_thresholds(seed, share):
    """By brute force: no threshold costs less on unseen rows, averaged over thresholds around it."""
    judged = judged_rows(seed)
    costs = (1.0 - share, share)
    decisions = judged.decisions[:, 0]
    copies = judged.counts.astype(int)
    values = np.unique(decisions)
    if len(values) < 2:
        return
    middles = np.where(
        (values[:-1] < 0) & (values[1:] > 0), 0.0, 0.5 * (values[:-1] + values[1:])
    )
    thresholds = np.concatenate([[values[0] - 1.0], middles, [values[-1] + 1.0]])
    least = np.finfo(float).eps ** 0.5 * np.ptp(values)
    n = copies.sum()
    expected = np.zeros(len(thresholds))
    for label, cost in enumerate(costs):
        rows = decisions.repeat(copies)[judged.labels.repeat(copies) == label]
        correct = correct_on_average(thresholds, rows, 2 * label - 1, least)
        correct[[0, -1]] = [label, 1 - label]  # beyond all rows, as constants decide
        expected += cost * (1.0 - correct) * len(rows) / n
    found = choose_threshold(judged, costs)
    alike = np.flatnonzero(
        np.all((decisions > thresholds[:, None]) == (decisions > found), axis=1)
    )
    assert expected[alike].min() <= expected.min() + 1e-9


@examples(60, 500)
@given(st.integers(0, 10_000))
def test_the_more_a_class_costs_the_more_it_is_predicted(seed):
    judged = judged_rows(seed)
    ratios = (0.0, 0.01, 0.1, 0.5, 0.9, 1.0, 1.1, 2.0, 5.0, 10.0, 100.0, 1e4)
    found = [choose_threshold(judged, (1.0, ratio)) for ratio in ratios]
    predicted = [
        (judged.decisions[:, 0] > threshold) @ judged.counts for threshold in found
    ]
    assert (np.diff(predicted) >= 0).all()
    # Only the ratio of the costs counts.
    np.testing.assert_array_equal(
        [choose_threshold(judged, (7.0, 7 * ratio)) for ratio in ratios], found
    )


def test_equal_costs_are_accuracy_without_its_guards(rare):
    """For accuracy, a rare class is predicted for some rows at least.

    Costs may decide that it never pays.
    """
    X, y = rare
    models = {
        goal: WassersteinSVC(threshold={0: 1, 1: 1} if goal == "costs" else goal).fit(
            X, y
        )
        for goal in ("costs", "accuracy")
    }
    assert abs(models["costs"].score(X, y) - models["accuracy"].score(X, y)) < 0.02
    rng = np.random.default_rng(0)
    labels = (rng.random(300) < 0.1).astype(int)
    noise = OutOfFoldDecisions(rng.normal(size=(300, 1)), labels, np.ones(300))
    decided = [
        noise.decisions[:, 0] > choose_threshold(noise, goal)
        for goal in ("accuracy", (1.0, 1.0))
    ]
    assert decided[0].any() and not decided[1].any()


@pytest.mark.parametrize("kind", KINDS, ids=["linear", "search", "kernel"])
def test_costs_of_missing_a_class(rare, kind):
    X, y = rare
    words = np.array(["no", "yes"])[y]
    models = [
        kind(threshold={"no": scale, "yes": scale * ratio}).fit(X, words)
        for scale, ratio in ((1, 1), (1, 9), (7, 9))
    ]
    shares = [np.mean(model.predict(X) == "yes") for model in models]
    assert shares[0] < 0.08 < 0.14 < shares[1] == shares[2]
    assert models[1].threshold_ == models[2].threshold_
    missed = [
        np.where(y == 1, 9, 1)[model.predict(X) != words].mean() for model in models
    ]
    assert missed[1] < 0.8 * missed[0]
    # Class weights that are given shift the direction, but are no costs.
    weighted = kind(
        threshold={"no": 1, "yes": 9}, class_weight={"no": 1.0, "yes": 9.0}
    ).fit(X, words)
    assert np.mean(weighted.predict(X) == "yes") < shares[1] + 0.1


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (
            {0: 1},
            r"threshold=\{0: 1\}: give a cost for each of the two classes of y, \[0, 1\]",
        ),
        (
            {0: 1, "1": 2},
            r"'1': 2\}: give a cost for each of the two classes of y, \[0, 1\]; for more, leave it out",
        ),
        ({0: 1, 1: 2, 2: 3}, "2: 3.*: give a cost for each of the two classes of y"),
        (
            {0: 1, 1: -2},
            r"threshold\[1\] must be finite and at least 0, got threshold\[1\]=-2",
        ),
        ({0: math.inf, 1: 1}, r"threshold\[0\]=inf"),
        ({0: 1, 1: math.nan}, r"threshold\[1\]=nan"),
        ({0: 0, 1: 0.0}, "threshold=.*one of the costs must be above 0"),
        (5, "or a dict with the cost of missing each class.*got threshold=5"),
    ],
    ids=str,
)
def test_bad_costs(rare, costs, message):
    for kind in (WassersteinSVC, WassersteinSVCCV, WassersteinKernelSVC):
        with pytest.raises(ValueError, match=message):
            kind(threshold=costs).fit(*rare)


def test_costs_need_two_classes_an_intercept_and_numbers(rare):
    X, y = rare
    with pytest.raises(
        ValueError,
        match=r"of the two classes of y, \[0, 1, 2\]; for more, leave it out",
    ):
        WassersteinSVC(threshold={0: 1, 1: 2, 2: 1}).fit(X, np.arange(len(y)) % 3)
    with pytest.raises(
        ValueError, match=r"threshold=.*fit_intercept=False: use fit_intercept=True"
    ):
        WassersteinSVC(threshold={0: 1, 1: 2}, fit_intercept=False).fit(X, y)
    with pytest.raises(TypeError, match=r"threshold\[1\] must be a number, got '2'"):
        WassersteinSVC(threshold={0: 1, 1: "2"}).fit(X, y)
    weak = make_classification(
        60, 3, n_informative=2, n_redundant=0, flip_y=0.4, random_state=0
    )
    with pytest.warns(
        UserWarning,
        match="constant on the training rows: with these costs, no other decision is cheap",
    ):
        WassersteinSVC(threshold={0: 1000, 1: 1}).fit(*weak)


def test_what_it_is_placed_for(rare):
    X, y = rare
    of = {goal: WassersteinSVC(threshold=goal).fit(X, y) for goal in SCORES}
    balanced, plain = (
        balanced_accuracy_score(y, of[goal].predict(X))
        for goal in ("balanced_accuracy", "accuracy")
    )
    assert balanced > 0.02 + plain
    assert of["accuracy"].score(X, y) > of["balanced_accuracy"].score(X, y)
    for model in (*of.values(), WassersteinSVCCV(radii=3).fit(X, y)):
        assert set(model.predict(X)) == {0, 1}, "never constant"
    # Class weights that are given count.
    weighted = (
        WassersteinSVC(class_weight={0: 1.0, 1: 20.0}).fit(X, y).predict(X).mean()
    )
    assert weighted > 2.0 * of["accuracy"].predict(X).mean()
    with pytest.raises(
        ValueError,
        match=r"threshold must be 'accuracy'.*or a dict .*got threshold='f1'",
    ):
        WassersteinSVC(threshold="f1").fit(X, y)
    # scikit-learn can place another.
    tuned = TunedThresholdClassifierCV(WassersteinSVC(), scoring="f1", cv=3).fit(X, y)
    assert np.isfinite(tuned.best_threshold_) and set(tuned.predict(X)) == {0, 1}


def test_order_copies_and_storage_change_nothing(rare):
    X, y = rare
    order = np.random.default_rng(0).permutation(len(y))
    counts = np.random.default_rng(1).integers(0, 3, len(y))
    copies = X.repeat(counts, axis=0), y.repeat(counts)
    for pair in (((X, y), (X[order], y[order])), ((X, y, counts), copies)):
        one, other = (WassersteinSVC().fit(*rows) for rows in pair)
        assert other.threshold_ == pytest.approx(one.threshold_, abs=1e-8)
        np.testing.assert_allclose(
            other.decision_function(X), one.decision_function(X), atol=1e-6
        )


@pytest.mark.parametrize(
    "parameters", [{}, {"radius": 0.05}, {"cv": 5}, {"cv": 5, "radius": 0.05}], ids=str
)
def test_neither_solver_nor_tolerance_moves_it(rare, parameters):
    """In folds, which start at a rough solution, not at all.

    Otherwise by as much as the solutions differ.
    """
    first = WassersteinSVC(**parameters).fit(*rare).threshold_
    for solver, tol in (
        ("dual-coordinate", 1e-6),
        ("auto", 1e-4),
        ("interior-point", 1e-8),
    ):
        other = WassersteinSVC(**parameters, solver=solver, tol=tol).fit(*rare)
        assert (
            other.threshold_
            == pytest.approx(first, abs=1e-12 if "cv" in parameters else 1e-3)
            and first != 0.0
        )


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_an_intercept_that_hardly_matters_does_not_make_the_classifier_constant(tol):
    """The objective is nearly 1, whatever the intercept is: that of the folds differs from that of all rows."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 8000), density=0.005, format="csr", rng=rng)
    y = np.where(X @ rng.normal(size=8000) > 0, 1, -1)
    assert WassersteinSVC(tol=tol).fit(X, y).score(X, y) > 0.9
