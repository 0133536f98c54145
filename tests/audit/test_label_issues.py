"""Which labels to check: the ranking, the flags, the second opinion, and what is rejected."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_wine, make_circles
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    KFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.neighbors import NearestCentroid, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from drsvm import ClippedScaler, WassersteinKernelSVC, WassersteinSVC, find_label_issues
from drsvm.audit import LabelIssues, flagged, judge, robust_classifier
from drsvm.audit.curved_judges import opinion_of_kernel, opinion_of_trees
from drsvm.audit.label_scores import Judged
from drsvm.estimators.fold_decisions import Table


def with_wrong_labels(X, y, share=0.1, seed=0):
    """Return standardised rows, labels with a share of wrong ones, and which are wrong."""
    rng = np.random.default_rng(seed)
    classes, codes = np.unique(y, return_inverse=True)
    wrong = np.zeros(len(y), dtype=bool)
    wrong[rng.permutation(len(y))[: round(share * len(y))]] = True
    offsets = rng.integers(1, len(classes), size=len(y))
    return (
        StandardScaler().fit_transform(X),
        classes[np.where(wrong, (codes + offsets) % len(classes), codes)],
        wrong,
    )


@pytest.fixture(scope="module")
def tumours():
    return with_wrong_labels(*load_breast_cancer(return_X_y=True))


@pytest.fixture(scope="module")
def wines():
    X, y = load_wine(return_X_y=True)
    return with_wrong_labels(
        X, np.array(["barolo", "grignolino", "barbera"])[y], share=0.2
    )


@pytest.fixture(scope="module")
def found(tumours):
    return find_label_issues(*tumours[:2])


def same(one: LabelIssues, other: LabelIssues) -> bool:
    return (
        np.allclose(one.margin, other.margin, atol=1e-9)
        and one.summary() == other.summary()
    )


# --- ranking
# ------------------------------------------------------------------------------------------------------


def test_wrong_labels_come_first_and_the_columns_agree_with_each_other(tumours, found):
    wrong = tumours[2]
    assert (
        wrong[found.ranking[:20]].mean() >= 0.9
        and roc_auc_score(wrong, -found.label_score) >= 0.95
    )
    assert np.all(np.diff(found.label_score[found.ranking]) >= 0)
    assert found.label_score.min() > 0 and found.label_score.max() < 1
    # By a classifier that has not seen the row
    contradicted = found.predicted_label != found.given_label
    assert (
        found.label_score[contradicted].max() < found.label_score[~contradicted].mean()
    )
    assert not (found.is_label_issue & ~contradicted).any()


def test_a_splitter_keeps_rows_apart_and_a_number_of_folds_ranks_better():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    wrong = rng.random(300) < 0.3
    y = (X[:, 0] + X[:, 1] > 0.8) ^ wrong
    together = find_label_issues(X, y)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    apart = find_label_issues(X, y, cv=folds)
    assert roc_auc_score(wrong, -together.margin) > roc_auc_score(wrong, -apart.margin)


def test_several_classes(wines):
    X, y, wrong = wines
    issues = find_label_issues(X, y)
    assert wrong[issues.ranking[: wrong.sum()]].mean() >= 0.9
    assert (
        set(issues.predicted_label) <= set(y)
        and issues.given_label.tolist() == y.tolist()
    )
    assert (
        wrong[issues.is_label_issue].mean() >= 0.9
        and issues.is_label_issue[wrong].mean() >= 0.6
    )


@pytest.mark.parametrize("data", ["tumours", "wines"])
def test_margins_are_those_of_classifiers_that_did_not_see_the_row(data, request):
    X, y, _ = request.getfixturevalue(data)
    model = LogisticRegression(C=0.1)
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    decisions = cross_val_predict(model, X, y, cv=folds, method="decision_function")
    decisions = (
        np.column_stack([-decisions, decisions]) / 2
        if decisions.ndim == 1
        else decisions
    )
    issues = find_label_issues(X, y, estimator=model, cv=folds)
    classes, given = np.unique(y, return_inverse=True)
    own = np.arange(len(classes)) == given[:, None]
    expected = decisions[own] - np.where(own, -np.inf, decisions).max(axis=1)
    np.testing.assert_allclose(issues.margin, expected)
    np.testing.assert_array_equal(
        issues.predicted_label, classes[decisions.argmax(axis=1)]
    )
    assert not hasattr(model, "coef_")


def test_the_default_classifier_has_the_default_settings(tumours):
    X, y, _ = tumours
    scaled = ClippedScaler().fit_transform(X)
    expected = WassersteinSVC(class_weight="balanced").fit(scaled, y)
    found = robust_classifier(X).fit(X, y)[-1]
    assert found.radius_ == pytest.approx(
        expected.radius_
    ) and found.l2_ == pytest.approx(expected.l2_)
    assert found.intercept_cost_ == pytest.approx(expected.intercept_cost_)
    assert found.objective_ == pytest.approx(expected.objective_, abs=1e-4)
    assert robust_classifier(X, radius=0.3).fit(X, y)[-1].radius_ == 0.3


def rarer_class(seed=1, n=600):
    """Return rows of which 30 % are positive, with 30 % wrong labels, and which."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    f = 2.0 * X[:, 0] - X[:, 1] ** 2 + rng.logistic(size=n)
    y = (f > np.quantile(f, 0.7)).astype(int)
    wrong = np.zeros(n, dtype=bool)
    wrong[rng.permutation(n)[: round(0.3 * n)]] = True
    return X, np.where(wrong, 1 - y, y), wrong


def test_the_first_rows_are_wrong_where_a_class_is_rarer_and_scores_are_probabilities():
    X, y, wrong = rarer_class()
    issues = find_label_issues(X, y)
    assert wrong[issues.ranking[:50]].mean() >= 0.9
    score = issues.label_score
    # If n labels have the probabilities p, about Σ p of them are what is more likely.
    second = np.where(y == 1, score, 1 - score)
    for low in (0.0, 0.25, 0.5, 0.75):
        chosen = (second >= low) & (second < low + 0.25)
        if chosen.sum() > 50:
            assert abs(y[chosen].mean() - second[chosen].mean()) < 0.12


@pytest.mark.parametrize("second_opinion", [None, "auto"])
def test_equal_rows_with_mixed_labels_are_not_flagged(second_opinion):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (X[:, 0] + X[:, 1] + rng.logistic(size=600) > 0).astype(int)
    X[:100] = -9.0
    y[:100] = np.arange(100) >= 55
    issues = find_label_issues(X, y, second_opinion=second_opinion)
    assert not issues.is_label_issue[:100].any()
    assert np.abs(issues.label_score[:100] - 0.5).max() < 0.1
    # One wrong label among many copies is found.
    y[:100] = 0
    y[0] = 1
    assert find_label_issues(X, y, second_opinion=second_opinion).ranking[0] == 0


# --- kinds of data
# ------------------------------------------------------------------------------------------------


def test_frames_and_lists_give_the_same(tumours):
    X, y, _ = tumours
    X = X[:150]
    y = y[:150]
    plain = find_label_issues(X, y, standardise=False, cv=3)
    frame = pd.DataFrame(X, index=np.arange(150)[::-1]).add_prefix("f")
    assert same(
        find_label_issues(
            frame, pd.Series(y, index=frame.index), standardise=False, cv=3
        ),
        plain,
    )
    assert same(
        find_label_issues(X.tolist(), y.tolist(), standardise=False, cv=3), plain
    )


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows_are_not_centred(tumours, container):
    X, y, _ = tumours
    rows = container(X[:150] + 1.0)
    y = y[:150]
    # The automatic one depends on the storage
    uncentred = robust_classifier(rows, standardise=False, radius=0.1)
    judged = find_label_issues(rows, y, estimator=uncentred, cv=3)
    # A price depends on it too
    free = clone(uncentred).set_params(labeljudge__intercept_cost=np.inf)
    dense = find_label_issues(rows.toarray(), y, estimator=free, cv=3)
    np.testing.assert_allclose(
        find_label_issues(rows, y, estimator=free, cv=3).margin, dense.margin, atol=1e-2
    )
    automatic = find_label_issues(rows, y, standardise=False, cv=3)
    assert np.corrcoef(automatic.margin, judged.margin)[0, 1] > 0.8


def test_the_scale_of_the_features_does_not_matter(tumours, found):
    X, y, _ = tumours
    scaled = find_label_issues(X * np.logspace(-3, 3, X.shape[1]) + 5, y)
    assert np.abs(scaled.margin - found.margin).max() < 0.02


def test_a_pipeline_and_weights(tumours):
    X, y, _ = tumours
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    alone = find_label_issues(
        X, y, estimator=LinearSVC(random_state=0), sample_weight=weights
    )
    piped = find_label_issues(
        X, y, estimator=make_pipeline(LinearSVC(random_state=0)), sample_weight=weights
    )
    assert same(alone, piped)
    unweighted = find_label_issues(X, y, estimator=LinearSVC(random_state=0))
    assert not np.allclose(alone.margin, unweighted.margin, atol=1e-3)


@pytest.fixture(scope="module")
def found_fold_by_fold(tumours):
    X, y, _ = tumours
    return find_label_issues(X, y, estimator=robust_classifier(X, kind=WassersteinSVC))


def test_folds_at_once_and_one_by_one_say_nearly_the_same(found, found_fold_by_fold):
    assert np.corrcoef(found.margin, found_fold_by_fold.margin)[0, 1] > 0.99
    assert not np.array_equal(found.margin, found_fold_by_fold.margin)
    rng = np.random.default_rng(0)
    # Problems with fewer than three rows per feature are in an order by content
    X = rng.normal(size=(100, 60))
    y = X[:, 0] + 0.3 * rng.normal(size=100) > 0
    cv = list(StratifiedKFold(5).split(X, y))
    wide = [
        find_label_issues(X, y, estimator=one, cv=cv)
        for one in (None, robust_classifier(X, kind=WassersteinSVC))
    ]
    assert np.corrcoef(wide[0].margin, wide[1].margin)[0, 1] > 0.95


def test_rows_that_folds_leave_out_are_not_learnt_from(tumours):
    """Copies of the judged rows with other labels, in no training set, change nothing."""
    X, y, _ = tumours
    X = X[:150]
    y = y[:150]
    folds = list(StratifiedKFold(3).split(X, y))
    plain = find_label_issues(
        X,
        y,
        estimator=robust_classifier(X, kind=WassersteinSVC, radius=0.1, l2=0.1),
        cv=folds,
    )
    both = np.vstack([X, X])
    labels = np.append(y, 1 - y)
    apart = [(train, np.append(test, test + 150)) for train, test in folds]
    found = find_label_issues(
        both, labels, estimator=robust_classifier(X, radius=0.1, l2=0.1), cv=apart
    )
    np.testing.assert_allclose(found.margin[:150], plain.margin, atol=1e-9)


def test_rows_without_weight_are_judged_but_do_not_count(tumours):
    X, y, _ = tumours
    odd = np.vstack([50 * X[:3], X])
    labels = np.append(1 - y[:3], y)
    weights = np.append(np.zeros(3), np.ones(len(y)))
    for cv in (4, KFold(4), list(KFold(4).split(odd))):
        issues = find_label_issues(odd, labels, cv=cv, sample_weight=weights)
        without = cv
        if isinstance(cv, list):
            without = []
            for train, test in cv:
                without.append((train[train > 2] - 3, test[test > 2] - 3))
        plain = find_label_issues(X, y, cv=without)
        np.testing.assert_allclose(issues.margin[3:], plain.margin, atol=1e-9)
        np.testing.assert_array_equal(issues.is_label_issue[3:], plain.is_label_issue)
        assert np.isfinite(issues.margin).all() and issues.margin[:3].all()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", [None, LogisticRegression(C=0.1)])
def test_order_and_copies_in_place_of_weights_do_not_matter(n_classes, estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) * [1.0, 1e3, 1e-3] + [0.0, 1e4, 1.0]
    y = np.digitize(X[:, 0], [0.0, 1.0][: n_classes - 1])
    y[:9] = 0
    weights = rng.integers(0, 4, len(y))
    weights[:9] = 1
    found = find_label_issues(X, y, sample_weight=weights, estimator=estimator)

    def check(rows, sample_weight=None):
        issues = find_label_issues(
            X[rows], y[rows], sample_weight=sample_weight, estimator=estimator
        )
        tol = 1e-9 if estimator is None else 1e-4
        np.testing.assert_allclose(issues.margin, found.margin[rows], atol=tol)
        # Solved by scikit-learn, up to its tolerance
        scores = found.label_score[rows]
        np.testing.assert_allclose(issues.label_score, scores, atol=1e-5)

    order = rng.permutation(len(y))
    check(order, weights[order])
    check(np.repeat(np.arange(len(y)), weights))
    counted = np.flatnonzero(weights)
    check(counted, weights[counted])


def test_repeated_folds_are_averaged(tumours):
    X, y = (values[:150] for values in tumours[:2])
    folds = list(
        RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=5).split(X, y)
    )
    both, *halves = (
        find_label_issues(X, y, estimator=LogisticRegression(), cv=cv).margin
        for cv in (folds, folds[:4], folds[4:])
    )
    np.testing.assert_allclose(both, sum(halves) / 2)


@pytest.mark.thorough
def test_jobs_and_seeds(tumours, found):
    X, y, _ = tumours
    assert same(find_label_issues(X, y, n_jobs=2), found)
    assert not np.allclose(
        find_label_issues(X, y, random_state=1).margin, found.margin, atol=1e-3
    )


def test_progress(tumours, capsys):
    done = []
    find_label_issues(
        *tumours[:2], cv=3, verbose=1, callback=lambda *counts: done.append(counts)
    )
    # Of two classifiers
    assert done == [(count, 6) for count in range(1, 7)]
    assert capsys.readouterr().out.count("rows judged") == 6


# --- flags
# --------------------------------------------------------------------------------------------------------


def test_correct_labels_of_separable_data_are_not_flagged():
    y = np.arange(100) % 2
    issues = find_label_issues(
        np.random.default_rng(0).normal(size=(100, 3)) + 8.0 * y[:, None], y
    )
    assert not issues.is_label_issue.any() and issues.n_contradicted == 0


def test_random_labels_make_a_constant_classifier_that_judges_nothing():
    y = np.arange(60) % 3 == 0
    with pytest.warns(UserWarning, match="constant in 5 of 5 folds"):
        issues = find_label_issues(np.zeros((60, 2)), y)
    assert (
        (issues.label_score == 0.5).all()
        and not issues.is_label_issue.any()
        and issues.n_contradicted == 0
    )
    np.testing.assert_array_equal(issues.predicted_label, y)


def test_classes_with_fewer_rows_than_folds(wines):
    X, y, _ = wines
    kept = np.append(np.flatnonzero(y != "barbera"), np.flatnonzero(y == "barbera")[:3])
    assert np.isfinite(find_label_issues(X[kept], y[kept]).margin).all()
    # two rows per class are enough
    X = [[0.0], [1.0], [8.0], [9.0]]
    y = ["<a>", "<a>", "b", "b"]
    done = []
    issues = find_label_issues(
        X, y, estimator=LinearSVC(), callback=lambda *counts: done.append(counts)
    )
    assert done[-1] == (2, 2) and issues.predicted_label.tolist() == y
    html = issues._repr_html_()
    assert (
        html.count("\n") == 5
        and "&lt;a&gt;" in html
        and "<a>" not in html
        and "predicted" in html
    )


def flagged_rows(second, given):
    probabilities = np.column_stack([np.subtract(1.0, second), second])
    return np.flatnonzero(
        flagged(probabilities, np.array(given), np.ones(len(given)))
    ).tolist()


def test_a_row_is_flagged_beyond_the_mean_probability_of_the_predicted_class():
    # mean of class 1: (1 + 0.9 + 0.8 + 0.1) / 4 = 0.7; of class 0: 0.525
    second = [1.0, 0.9, 0.8, 0.1, 0.2, 0.3, 0.75, 0.65]
    given = [1, 1, 1, 1, 0, 0, 0, 0]
    assert flagged_rows(second, given) == [3, 6]  # 0.65 is not beyond 0.7
    # Probabilities near 1/2 flag nothing, whatever is typical.
    second = [0.1, 0.39, 0.41, 0.61, 0.59, 0.45]
    given = [1, 1, 1, 0, 0, 0]
    assert flagged_rows(second, given) == [0, 1, 3]


def test_a_doubled_weight_is_a_doubled_row():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([0.5] * 3, size=60)
    given = rng.integers(3, size=60)
    counts = rng.integers(1, 4, size=60)
    repeated = np.repeat(probabilities, counts, axis=0), np.repeat(given, counts)
    one = flagged(probabilities, given, counts.astype(float))
    other = flagged(*repeated, np.ones(counts.sum()))
    assert one.any() and np.array_equal(np.repeat(one, counts), other)


def test_ties_favour_the_given_label():
    assert judge(np.zeros((3, 2)), np.array([0, 1, 1]))[0].tolist() == [0, 1, 1]


# --- second opinion
# -----------------------------------------------------------------------------------------------


def ring(n=600, seed=0):
    """Return classes that no line separates: inside and outside of a circle."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, ((X**2).sum(axis=1) > 1.4).astype(int)


def test_only_what_both_contradict_is_flagged():
    X, y = ring()
    alone = find_label_issues(X, y)
    both = find_label_issues(X, y, second_opinion="auto")
    np.testing.assert_array_equal(both.margin, alone.margin)
    assert alone.second_label is None
    # With a splitter, linear classifiers decide, which see nothing here.
    linear = find_label_issues(X, y, cv=StratifiedKFold(5))
    assert linear.leads is None
    assert linear.n_contradicted > 100 > 3 * both.n_contradicted > 0
    agreed = (both.predicted_label != y) & (both.second_label != y)
    assert not (both.is_label_issue & ~agreed).any()
    assert (
        both.to_dict()["second_label"] is both.second_label
        and "They are wrong, or the classes overlap" in both.summary()
    )


def stripes(n=500, seed=0):
    """Return labels that change many times along one of six columns, and wrong ones."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, size=(n, 6))
    wrong = rng.random(n) < 0.1
    return X, (X[:, 0].astype(int) % 2) ^ wrong, wrong


def test_a_kernel_and_trees_decide_by_how_well_they_rank(tumours, found):
    of_ring = find_label_issues(*ring())
    assert "kernel" in of_ring.judged_by and of_ring.leads["kernel"] > 2
    assert of_ring.n_contradicted < 50
    X, y, wrong = stripes()
    issues = find_label_issues(X, y)
    assert issues.judged_by == ("trees",)
    assert roc_auc_score(wrong, -issues.label_score) > 0.9
    assert "contradicted by trees" in issues.summary()
    # Nobody is clearly better here, and the kernel is as good.
    assert max(found.leads.values()) <= 2
    assert found.leads["kernel"] > -1 >= found.leads["trees"]
    assert found.judged_by == ("linear", "kernel")
    assert "contradicted by the classifier" in found.summary()
    # By hand: no others are asked.
    X, y, _ = tumours
    assert find_label_issues(X, y, estimator=LinearSVC()).leads is None


def test_a_label_has_no_part_in_the_curved_opinions_about_its_row():
    X, y = ring(90)
    folds = list(StratifiedKFold(3).split(X, y))
    changed = y.copy()
    changed[4] = 1 - y[4]
    opinions = []
    for labels in (y, changed):
        judged = Judged(labels, np.ones(90), np.arange(90))
        table = Table(X, labels, None, np.arange(2))
        opinions.append(
            [
                opinion_of_kernel(table, judged, folds).in_folds,
                opinion_of_trees(X, judged).in_folds,
            ]
        )
    for before, after in zip(*opinions, strict=True):
        np.testing.assert_allclose(after[4], before[4], atol=1e-12)
        assert not np.allclose(after, before)


def test_copies_order_and_rows_without_weight_where_a_kernel_decides():
    X, y = ring(240)
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    found = find_label_issues(X, y, sample_weight=weights)
    assert found.judged_by != ("linear",)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weights))
    copies = find_label_issues(X[rows], y[rows])
    np.testing.assert_allclose(
        list(copies.leads.values()), list(found.leads.values()), atol=1e-6
    )
    np.testing.assert_allclose(copies.label_score, found.label_score[rows], atol=1e-6)


def test_reasons_are_true(tumours, found):
    X, y, _ = tumours
    model = NearestNeighbors(n_neighbors=11).fit(ClippedScaler().fit_transform(X))
    unit = np.sqrt(np.mean(found.margin**2))
    pattern = (
        r"decided as (\d) by (\d) of 4 classifiers"
        r"(?:, ([\d.]+) deviations from the boundary)?; (\d+) of its 10 neighbours are \1"
    )
    rows = [*found.ranking[:20], *found.ranking[-5:]]
    for row, reason in zip(rows, found.reasons(rows), strict=True):
        label, votes, distance, alike = re.fullmatch(pattern, reason).groups()
        assert int(label) == found.predicted_label[row]
        decided = [values[row].argmax() == int(label) for values in found.decisions]
        assert int(votes) == sum(decided)
        if distance is not None:
            assert float(distance) == pytest.approx(
                abs(found.margin[row]) / unit, abs=0.051
            )
        (near,) = model.kneighbors(model._fit_X[[row]], return_distance=False)
        others = near[near != row]
        assert int(alike) == (y[others[:10]] == int(label)).sum()
    assert len(found.reasons()) == 10
    alone = find_label_issues(X, y, estimator=LinearSVC())
    assert "by 1 of 1 classifiers" in alone.reasons(alone.ranking[0])[0]
    assert "neighbours" not in alone.reasons()[0]


def test_any_classifier_may_be_asked(tumours):
    X, y, _ = tumours
    forest = RandomForestClassifier(20, random_state=0)
    done = []
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    expected = cross_val_predict(forest, X, y, cv=folds)
    issues = find_label_issues(
        X,
        y,
        cv=folds,
        second_opinion=forest,
        callback=lambda *counts: done.append(counts),
    )
    assert np.mean(issues.second_label == expected) > 0.99  # ties may differ
    assert done[-1] == (9, 9)
    with pytest.raises(
        TypeError, match="second_opinion must be None, 'auto', or a classifier"
    ):
        find_label_issues(X, y, second_opinion="forest")


def test_a_kernel_finds_wrong_labels_that_a_linear_classifier_cannot_see():
    X, y = make_circles(200, noise=0.1, factor=0.4, random_state=0)
    y[:12] = 1 - y[:12]
    assert set(
        find_label_issues(X, y, estimator=WassersteinKernelSVC()).ranking[:12]
    ) == set(range(12))


def test_a_constant_second_opinion_does_not_count(tumours):
    X, y, _ = tumours
    alone, both = (
        find_label_issues(X[:30], y[:30], cv=3, second_opinion=one)
        for one in (None, "auto")
    )
    assert (
        same(alone, both) and both.second_label is None
    )  # trees need 20 rows in a leaf


def colours(n=400):
    """Return a table with a column of texts, labels by both columns, and wrong ones."""
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], n)
    frame = pd.DataFrame({"colour": colour, "size": rng.normal(size=n)})
    wrong = rng.random(n) < 0.1
    y = (colour == "red") ^ (frame["size"].to_numpy() > 0) ^ wrong
    return frame, y, wrong


class Codes(LinearSVC):
    """A classifier that takes the table as it is."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(self.numbers(X), y, sample_weight)

    def decision_function(self, X):
        return super().decision_function(self.numbers(X))

    @staticmethod
    def numbers(X):
        return np.column_stack([X["colour"] == "red", X["size"]])


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(
            ColumnTransformer(
                [("colour", OneHotEncoder(), ["colour"])], remainder="passthrough"
            ),
            LinearSVC(),
        ),
        make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearSVC()),
        Codes(),
    ],
)
def test_trees_give_a_second_opinion_on_texts(estimator):
    frame, y, wrong = colours()
    frame = frame.round(0)
    issues = find_label_issues(frame, y, estimator=estimator, second_opinion="auto")
    right = y ^ wrong
    known = np.abs(frame["size"]) > 0
    assert (issues.second_label == right)[known].mean() > 0.9
    assert wrong[issues.is_label_issue].mean() >= 0.8


def test_texts_that_are_no_table_have_a_second_opinion_by_their_words():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    words = np.array([["good", "fine", "so"], ["bad", "poor", "so"]])
    texts = [" ".join(rng.choice(words[label], 4)) for label in y]
    model = make_pipeline(CountVectorizer(), LinearSVC())
    issues = find_label_issues(texts, y, estimator=model, second_opinion="auto")
    assert (issues.second_label == y).mean() > 0.9


def test_large_sparse_rows_have_no_second_opinion(set_values, tumours):
    X, y, _ = tumours
    rows = sparse.csr_array(X[:150])
    assert (
        find_label_issues(rows, y[:150], cv=2, second_opinion="auto").second_label
        is not None
    )
    set_values(dense_entries=1000)
    assert (
        find_label_issues(rows, y[:150], cv=2, second_opinion="auto").second_label
        is None
    )


# --- output
# -------------------------------------------------------------------------------------------------------


def test_the_frame_has_the_usual_columns_and_keeps_the_index(
    tumours, found, monkeypatch
):
    X, y, _ = tumours
    assert list(found.to_frame()) == [
        "is_label_issue",
        "label_score",
        "given_label",
        "predicted_label",
    ]
    frame = (
        pd.DataFrame(X[:150])
        .add_prefix("f")
        .assign(label=y[:150])
        .sample(frac=1.0, random_state=0)
    )
    for rows, labels in (
        (frame.drop(columns="label"), frame["label"]),
        (X[frame.index], frame["label"]),
    ):
        joined = frame.join(find_label_issues(rows, labels, cv=2).to_frame())
        assert (joined["label"] == joined["given_label"]).all()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ImportError, match=r"pip install pandas\. to_dict works without it"
    ):
        found.to_frame()


def test_it_prints_readably(found):
    lines = str(found).splitlines()
    assert lines[0] == repr(found)
    assert f"{found.n_contradicted} of 569 labels contradicted" in lines[0]
    assert (
        f"{found.is_label_issue.sum()} of them flagged" in lines[0]
        and "estimated" not in lines[0]
    )
    assert [int(line.split()[0]) for line in lines[2:]] == found.ranking[:10].tolist()
    with pytest.raises(AttributeError):  # it is frozen
        found.margin = 3


# --- errors
# -------------------------------------------------------------------------------------------------------


def test_bad_arguments(tumours, wines):
    X, y, _ = tumours
    with pytest.raises(ValueError, match="at least two classes, got one: 0"):
        find_label_issues(X, np.zeros(len(y), dtype=int))
    X_wine, y_wine = wines[:2]
    with pytest.raises(ValueError, match="sample_weight is 0 for all rows with the la"):
        find_label_issues(X_wine, y_wine, sample_weight=(y_wine != "barolo") * 1.0)
    with pytest.raises(
        ValueError, match=r"Only one row has the label 'setosaa'.*mistyped"
    ):
        find_label_issues(X[:5], ["setosa", "setosaa", "setosa", "iris", "iris"])
    with pytest.raises(
        TypeError, match="must have a decision_function, got RandomForestClassifier"
    ):
        find_label_issues(X, y, estimator=RandomForestClassifier())
    with pytest.raises(TypeError, match="fit takes no sample_weight"):
        find_label_issues(
            X, y, estimator=NearestCentroid(), sample_weight=np.ones(len(y))
        )
    with pytest.raises(ValueError, match="cv never tests row"):
        find_label_issues(X, y, cv=[(np.arange(300), np.arange(300, 569))])
    with pytest.raises(
        ValueError, match="cv must be at least 2 folds, or a splitter, got cv=1"
    ):
        find_label_issues(X, y, cv=1)
    with pytest.raises(ValueError, match="inconsistent"):
        find_label_issues(X, y[:-1])
    for estimator in (None, LogisticRegression()):
        with pytest.raises(ValueError, match=r"0 sample|no rows"):
            find_label_issues(X[:0], y[:0], estimator=estimator)
    with pytest.raises(ValueError, match=r"(?s)X contains NaN.*find_label_issues"):
        find_label_issues(np.where(X[3, 1] == X, np.nan, X), y)
    X, y, _ = wines
    order = np.argsort(y)
    with pytest.raises(
        ValueError, match="Fold 1 has no row of class 'barbera' to train on"
    ):
        find_label_issues(X[order], y[order], cv=KFold(2))
    y = np.arange(len(y)) % 6
    with pytest.raises(
        ValueError,
        match=r"returned 15 values per row for 6 classes.*decision_function_shape='ovr'",
    ):
        find_label_issues(X, y, estimator=SVC(decision_function_shape="ovo"))


def test_a_table_of_polars_gives_one(tumours, monkeypatch):
    X = tumours[0][:60, :3]
    y = tumours[1][:60]
    series = type("Series", (np.ndarray,), {"__module__": "polars.series.series"})
    found = find_label_issues(X, y.view(series), cv=2)
    monkeypatch.setitem(
        sys.modules,
        "polars",
        SimpleNamespace(DataFrame=lambda columns: ("polars", columns)),
    )
    library, columns = found.to_frame()
    assert library == found.library == "polars" and columns["given_label"] == y.tolist()


# --- texts
# --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sentences():
    """Return counts of the words in short texts, a few of which tell the class, labels, and which are wrong."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 240)
    tells = rng.normal(size=1500) * (rng.random(1500) < 0.2)
    shares = rng.permutation(1.0 / np.arange(1.0, 1501.0)) * np.exp(
        np.outer([-1.0, 1.0], tells)
    )
    counts = np.array(
        [rng.multinomial(30, shares[label] / shares[label].sum()) for label in y],
        dtype=float,
    )
    wrong = rng.random(240) < 0.2
    return sparse.csr_array(counts), np.where(wrong, 1 - y, y), wrong


def test_text_is_not_standardised(sentences):
    counts, y, wrong = sentences
    words = TfidfTransformer().fit_transform(counts)
    words.data[words.indptr[3] : words.indptr[4]] = 0.0  # a text of unknown words
    # With a splitter, linear classifiers decide.
    cv = StratifiedKFold(5)
    found = find_label_issues(words, y, cv=cv)
    plain = find_label_issues(words, y, cv=cv, standardise=False)
    assert same(found, plain)
    scaled = find_label_issues(words, y, cv=cv, estimator=robust_classifier(words))
    assert (
        roc_auc_score(wrong, -found.margin)
        > roc_auc_score(wrong, -scaled.margin) + 0.05
    )
    kept, before = (
        ((one.predicted_label != y) & ~wrong).sum() for one in (found, scaled)
    )
    assert kept < 0.8 * before, "fewer correct labels are contradicted"


def test_sparse_tables_are_standardised(sentences):
    rng = np.random.default_rng(1)
    y = sentences[1]
    towns = sparse.csr_array(
        (rng.integers(0, 5, 240)[:, None] == np.arange(5)).astype(float)
    )
    table = sparse.hstack(
        [rng.lognormal(8.0, size=(240, 1)) * (1 + y[:, None]), towns], format="csr"
    )
    assert same(
        find_label_issues(table, y),
        find_label_issues(table, y, estimator=robust_classifier(table)),
    )
