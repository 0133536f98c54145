"""The threshold: where it is placed, on what it does not depend, and that the proof is that of the direction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import norm
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import TunedThresholdClassifierCV
from thorough import examples

from drsvm import WassersteinSVC, WassersteinSVCCV, worst_case_risk
from drsvm.learn.choosing.out_of_fold import Unseen
from drsvm.learn.choosing.threshold import MIN_PREDICTED, NEARLY_NONE, SLACK, choose_threshold

SCORES = {"accuracy": accuracy_score, "balanced_accuracy": balanced_accuracy_score}


def correct_on_average(thresholds, values, sign, least):
    """Return the shares of a class that are decided correctly at thresholds, averaged over those around each."""
    between = np.ptp(np.quantile(values, [0.25, 0.75], method="inverted_cdf"))
    deviation = min(values.std(), between / (norm.ppf(0.75) - norm.ppf(0.25))) if between > 0 else values.std()
    width = max(3**0.5 * (4 / 3 / len(values)) ** 0.2 * deviation, least)  # Silverman's rule
    above = np.clip((values - thresholds[:, None] + width) / (2 * width), 0.0, 1.0).mean(axis=1)
    return above if sign > 0 else 1.0 - above


@examples(60, 500)
@given(st.integers(0, 10_000), st.sampled_from(list(SCORES)))
def test_it_is_the_nearest_that_is_nearly_best(seed, goal):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 42))
    signs = np.append([1.0, -1.0], rng.choice([-1.0, 1.0], n - 2))
    decisions = np.round(rng.normal(size=n) + 0.5 * signs + rng.normal(), int(rng.integers(0, 3)))
    found = choose_threshold(Unseen(decisions[:, None], (signs > 0).astype(int), np.ones(n)), goal)
    values = np.unique(decisions)
    if len(values) < 2:
        assert found == 0.0
        return
    middles = 0.5 * (values[:-1] + values[1:])
    candidates = np.where((values[:-1] < 0) & (values[1:] > 0), 0.0, middles)
    sides = [(sign, decisions[signs == sign]) for sign in (1.0, -1.0)]
    least = np.finfo(float).eps ** 0.5 * np.ptp(values)
    correct = [correct_on_average(candidates, side, sign, least) for sign, side in sides]
    shares = [len(side) / n if goal == "accuracy" else 0.5 for _, side in sides]
    scores = shares[0] * correct[0] + shares[1] * correct[1]
    rarer = 1.0 if signs.sum() <= 0 else -1.0  # predicted for enough rows, or for none at any threshold
    enough = np.array([(rarer * (decisions - middle) > 0).sum() for middle in middles])
    enough = enough >= min(MIN_PREDICTED * (signs == rarer).sum(), NEARLY_NONE * n)
    enough = enough if enough.any() else ~enough
    if goal == "accuracy":
        n_rarer, right = (signs == rarer).sum(), ((decisions - middles[:, None] > 0) == (signs > 0)).sum(axis=1)
        least = n - n_rarer - SLACK * (n_rarer * (n - n_rarer) / n) ** 0.5  # the constant's, as far as it is clear
        if right[enough].max() < n - (1 + MIN_PREDICTED) * n_rarer:
            assert ((decisions > found) == (rarer < 0)).all(), "nothing but a constant is good enough"
            return
        enough &= right >= min(least, right[enough].max())
    allowed = np.where(enough, scores, -1.0)
    best = allowed.argmax()
    errors = [one[best] * (1 - one[best]) / len(side) for one, (_, side) in zip(correct, sides, strict=True)]
    variance = scores[best] * (1 - scores[best]) / n if goal == "accuracy" else 0.25 * sum(errors)
    good = candidates[allowed >= allowed.max() - SLACK * variance**0.5 - 1e-9]
    assert abs(found) == pytest.approx(np.abs(good).min()) and values[0] < found < values[-1]


@examples(60, 500)
@given(st.integers(0, 10_000))
def test_unseen_decisions_are_no_worse_than_a_constant(seed):
    """But for what it costs to predict the rarer class: up to half of its rows. Weights count as copies."""
    rng = np.random.default_rng(seed)
    n, share = int(rng.integers(4, 80)), rng.uniform(0.02, 0.5)
    labels = np.append([0, 1], (rng.random(n - 2) < share).astype(int))
    decisions = rng.normal(size=n) + rng.choice([-1.0, 0.0, 0.3, 3.0]) * labels
    decisions[rng.random(n) < 0.05] *= 10.0 ** rng.integers(1, 6)
    decisions = np.round(decisions, int(rng.integers(-1, 4)))
    counts = rng.integers(1, 4, n)
    found = choose_threshold(Unseen(decisions[:, None], labels, counts.astype(float)), "accuracy")
    repeated = Unseen(decisions.repeat(counts)[:, None], labels.repeat(counts), np.ones(counts.sum()))
    copies = choose_threshold(repeated, "accuracy")
    assert copies == pytest.approx(found, rel=1e-9, abs=1e-9)
    masses = np.bincount(labels, counts)
    if len(np.unique(decisions)) > 1:
        assert counts @ ((decisions > found) == labels) >= masses.max() - MIN_PREDICTED * masses.min() - 1e-9


def test_a_far_row_does_not_widen_the_average():
    rng = np.random.default_rng(0)
    labels = (rng.random(400) < 0.2).astype(int)
    decisions = rng.normal(size=400) + 2.5 * labels
    judged = Unseen(decisions[:, None], labels, np.ones(400))
    found = choose_threshold(judged, "balanced_accuracy")
    for value in (1e3, 1e6, -1e6):
        decisions[7] = value
        assert choose_threshold(judged, "balanced_accuracy") == pytest.approx(found, abs=0.05)


def test_the_proof_is_that_of_the_direction(rare):
    X, y = rare
    moved, own = (WassersteinSVC(threshold=goal).fit(X, y) for goal in ("balanced_accuracy", "optimum"))
    assert moved.threshold_ != 0.0 and own.threshold_ == 0.0
    np.testing.assert_array_equal(moved.coef_, own.coef_)
    assert (moved.objective_, moved.gap_) == (own.objective_, own.gap_) and moved.gap_ <= 1e-6
    for model in (moved, own):
        assert model.intercept_[0] == model.result_.intercept - model.threshold_
    np.testing.assert_array_equal(moved.predict(X) == 1, moved.decision_function(X) > 0)
    # The worst case is that of the classifier as it stands.
    error = worst_case_risk(moved, X, y, radius=0.0, loss="zero-one")
    assert error == pytest.approx(1.0 - moved.score(X, y), abs=1e-12)


def test_what_it_is_placed_for(rare):
    X, y = rare
    of = {goal: WassersteinSVC(threshold=goal).fit(X, y) for goal in SCORES}
    balanced, plain = (balanced_accuracy_score(y, of[goal].predict(X)) for goal in ("balanced_accuracy", "accuracy"))
    assert balanced > 0.02 + plain
    assert of["accuracy"].score(X, y) > of["balanced_accuracy"].score(X, y)
    for model in (*of.values(), WassersteinSVCCV(radii=3).fit(X, y)):
        assert set(model.predict(X)) == {0, 1}, "never constant"
    # Class weights that are given count.
    weighted = WassersteinSVC(class_weight={0: 1.0, 1: 20.0}).fit(X, y).predict(X).mean()
    assert weighted > 2.0 * of["accuracy"].predict(X).mean()
    with pytest.raises(ValueError, match=r"threshold must be one of 'accuracy'.*got threshold='f1'"):
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
        np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("parameters", [{}, {"radius": 0.05}, {"cv": 5}, {"cv": 5, "radius": 0.05}], ids=str)
def test_neither_solver_nor_tolerance_moves_it(rare, parameters):
    """In folds, which start at a rough solution, not at all; otherwise by as much as the solutions differ."""
    first = WassersteinSVC(**parameters).fit(*rare).threshold_
    for solver, tol in (("dual-coordinate", 1e-6), ("auto", 1e-4), ("interior-point", 1e-8)):
        other = WassersteinSVC(**parameters, solver=solver, tol=tol).fit(*rare)
        assert other.threshold_ == pytest.approx(first, abs=1e-12 if "cv" in parameters else 1e-3) and first != 0.0


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_an_intercept_that_hardly_matters_does_not_make_the_classifier_constant(tol):
    """The objective is nearly 1, whatever the intercept is: that of the folds differs from that of all rows."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 8000), density=0.005, format="csr", rng=rng)
    y = np.where(X @ rng.normal(size=8000) > 0, 1, -1)
    assert WassersteinSVC(tol=tol).fit(X, y).score(X, y) > 0.9
