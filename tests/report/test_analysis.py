"""The figures of a report, checked against the library."""

import json

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from drsvm import ClippedScaler, WassersteinSVC, find_label_issues, worst_case_risk
from drsvm.report import make_report


def test_the_summary_agrees_with_a_manual_fit(noisy, report):
    X, y, X_test, y_test, _, _ = noisy
    summary = report[0].summary
    model = make_pipeline(ClippedScaler(), WassersteinSVC()).fit(X, y)
    robust = model[-1]
    assert summary["objective"] == pytest.approx(robust.objective_, abs=1e-7)
    assert 0 <= summary["gap"] == summary["objective"] - summary["lower_bound"] <= 1e-6
    assert (summary["n_samples"], summary["n_features"]) == X.shape
    assert (
        summary["classes"] == ["benign", "malignant"]
        and summary["positive"] == "malignant"
    )
    own = summary["models"]["WassersteinSVC"]
    assert own["train_accuracy"] == model.score(X, y) and own[
        "accuracy"
    ] == model.score(X_test, y_test)
    assert own["worst_case_risk"] == pytest.approx(
        worst_case_risk(model, X_test, y_test), rel=1e-6
    )
    plain = make_pipeline(ClippedScaler(), LinearSVC(random_state=0)).fit(X, y)
    ball = {"radius": summary["radius"], "flip_cost": float(summary["flip_cost"])}
    rival = summary["models"]["LinearSVC"]
    assert rival["accuracy"] == plain.score(X_test, y_test)
    assert rival["worst_case_risk"] == pytest.approx(
        worst_case_risk(plain, X_test, y_test, **ball), rel=1e-6
    )
    risk = worst_case_risk(plain, X_test, y_test, loss="zero-one", **ball)
    assert rival["worst_case_error"] == pytest.approx(risk, rel=1e-6)
    assert own["worst_case_risk"] < rival["worst_case_risk"]
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_the_labels_to_check_are_mostly_wrong_and_those_of_find_label_issues(
    noisy, report
):
    X, y, _, _, wrong, _ = noisy
    issues = find_label_issues(
        ClippedScaler().fit_transform(X), y, standardise=False, second_opinion="auto"
    )
    summary = report[0].summary
    rows = [int(row) for row in summary["labels_to_check"]]
    assert rows == issues.ranking[:20].tolist() and wrong[rows].mean() >= 0.8
    assert summary["flagged_labels"] == issues.is_label_issue.sum()
    assert summary["contradicted_labels"] == issues.n_contradicted
    assert (
        issues.summary() in report[0].html
        and "proves nothing about a single label" in report[0].html
    )


@pytest.mark.usefixtures("no_plots")
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_labels_are_called_wrong_only_if_some_are(share):
    rng = np.random.default_rng(0)
    y = np.arange(800) % 2
    X = rng.normal(size=(800, 3)) + 2.5 * y[:, None]
    wrong = rng.random(800) < share
    made = make_report(None, X, np.where(wrong, 1 - y, y), test_size=0)
    counted = made.summary["wrong_labels"]
    assert (counted is None) == (share == 0.0) == ("seem to be wrong" not in made.html)
    assert ("or the classes overlap" in made.html) == (share == 0.0)
    low, high = made.summary["wrong_labels_interval"] or (0, 0)
    assert counted is None or type(counted) is int
    assert (
        counted is None
        or low <= min(counted, wrong.sum()) <= max(counted, wrong.sum()) <= high
    )


@pytest.mark.usefixtures("no_plots")
def test_labels_are_not_judged_if_a_class_has_one_row(noisy):
    X, y, *_ = noisy
    made = make_report(WassersteinSVC(0.01), X[:200, :8], np.append(y[:199], "unique"))
    assert (
        made.summary["labels_to_check"] == [] and made.summary["flagged_labels"] is None
    )
    assert "Not judged: a class has only one row" in made.html


@pytest.mark.usefixtures("no_plots")
def test_several_classes_show_the_largest_or_the_chosen_one():
    X, y = load_wine(return_X_y=True, as_frame=True)
    free = WassersteinSVC(0.05, flip_cost=5.0, intercept_cost=np.inf)
    chosen = make_report(free, X, y, positive=2).summary
    assert chosen["positive"] == 2
    made = make_report(free, X, y, test_size=0)
    summary = made.summary
    assert (
        summary["positive"] == int(y.mode()[0]) == 1
        and len(summary["certificates"]) == 3
    )
    assert summary["objective"] == summary["certificates"][1]["objective"]
    assert summary["models"]["WassersteinSVC"]["train_accuracy"] > 0.95
    worst = max(certificate["gap"] for certificate in summary["certificates"])
    words = " ".join(summary["in_plain_words"])
    assert (
        "for each class against the rest, no linear classifier has" in words
        and f"more than {worst:.1e}." in words
    )
    assert "of the decision for **1** is" in made.markdown
    with pytest.raises(
        ValueError, match=r"positive=7 is not one of the classes \[0, 1, 2\]"
    ):
        make_report(None, X, y, positive=7)


@pytest.mark.thorough
@pytest.mark.usefixtures("no_plots")
def test_no_story_is_told_about_a_constant_decision():
    rng = np.random.default_rng(0)
    y = np.where(
        np.arange(300) % 50 == 0, "rare", np.where(np.arange(300) % 2, "a", "b")
    )
    X = np.column_stack([rng.normal(size=300) + 3.0 * (y == "a"), rng.normal(size=300)])
    model = WassersteinSVC(0.3, intercept_cost=np.inf)
    made = make_report(model, X, y, positive="rare", test_size=0)
    assert (
        made.summary["constant_decisions"] == ["rare"] and made.summary["weights"] == {}
    )
    assert (
        "of rare against the rest" in made.summary["noise"]
        and "(noise)" in made.markdown
    )
    assert (
        "Most important features" not in made.markdown
        and made.summary["n_features_used"] == 0
    )
    useful = make_report(model, X, y, positive="a", test_size=0)
    assert (
        "Most important features" in useful.markdown
        and useful.summary["n_features_used"] > 0
    )


@pytest.mark.thorough
@pytest.mark.usefixtures("no_plots")
def test_every_column_has_its_unit():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = np.column_stack(
        [100.0 * (rng.normal(size=200) + y), rng.random(200) < 0.3 + 0.4 * y]
    )
    parts = [("numbers", ClippedScaler(), [0]), ("flags", "passthrough", [1])]
    mixed = make_pipeline(
        ColumnTransformer(parts, verbose_feature_names_out=False), WassersteinSVC()
    )
    made = make_report(mixed, X, y, feature_names=["size", "flag"], test_size=0)
    assert "standard deviations on average" not in made.markdown
    assert (
        "| flag | 1 |" in made.markdown
        and "| size | 1 standard deviation |" in made.markdown
    )
    assert (
        "standard deviations on average"
        in make_report(None, X, y, test_size=0).markdown
    )
