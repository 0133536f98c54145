"""Four reports that people get: constant, good, several classes, many features.

Their numbers recomputed by hand.
"""

import hashlib
import re

import numpy as np
import pytest
from problems import plain_svc
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

from drsvm import ClippedScaler, WassersteinSVC
from drsvm.audit.performance import leads
from drsvm.audit.precision import weights_that_count
from drsvm.report import constant_label, make_report

pytestmark = pytest.mark.usefixtures("no_plots")


def parts(X, y):
    """Return what the report holds out, in its order."""
    rows = np.arange(len(y))
    train, test = (
        np.sort(part)
        for part in train_test_split(rows, test_size=0.25, random_state=0, stratify=y)
    )
    return X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]


def fitted(model, X, y):
    """Return the model on standardised features, fitted to the training rows, and the
    rest as it sees it.
    """
    train, y_train, test, y_test = parts(X, y)
    scaler = ClippedScaler().fit(train)
    return (
        model.fit(scaler.transform(train), y_train),
        scaler.transform(test),
        y_test.to_numpy(),
    )


def test_a_good_classifier(tumours, good):
    model, X, y = fitted(WassersteinSVC(), *tumours)
    summary = good.summary
    own = good.summary["models"]["WassersteinSVC"]
    right = model.predict(X) == y
    assert own["accuracy"] == pytest.approx(right.mean())
    assert own["recall"]["malignant"] == pytest.approx(right[y == "malignant"].mean())
    # A shift of ε on average is best spent on the rows that are nearest to the
    # boundary, a part of the last one.
    margins = np.where(y == "malignant", 1, -1) * (
        X @ model.coef_[0] + model.intercept_[0]
    )
    distances = np.sort(np.maximum(margins, 0)) / np.linalg.norm(model.coef_)
    total = model.radius_ * len(y)
    spent = np.cumsum(distances)
    whole = int((spent <= total).sum())
    error = (whole + (total - spent[whole - 1]) / distances[whole]) / len(y)
    assert own["worst_case_error"] == pytest.approx(error, rel=1e-9)
    assert (
        summary["constant"] is None
        and summary["label"] == "diagnosis"
        and summary["positive"] == "malignant"
    )
    text = re.sub(r"<[^>]+>", "", good.html)
    assert (
        f"{100 * right.mean():.1f}\u202f%" in text
        and f"{100 * error:.1f}\u202f%" in text
    )
    assert (
        "The label is diagnosis: it is malignant (the positive class) or benign."
        in text
    )


def test_figures_come_first_with_intervals_and_leads_over_the_others(tumours, good):
    rival, X, y = fitted(LogisticRegression(max_iter=1000), *tumours)
    assert good.summary["models"]["LogisticRegression"]["accuracy"] == rival.score(X, y)
    opening = good.html.split("</header>")[0]
    for name in ("Wasserstein<wbr>SVC", "Linear<wbr>SVC", "Logistic<wbr>Regression"):
        assert name in opening
    assert (
        f"{100 * rival.score(X, y):.1f}\u202f%" in opening
        and "143 held-out rows" in opening
    )
    model, _, _ = fitted(WassersteinSVC(), *tumours)
    found = leads(
        model.decision_function(X), rival.decision_function(X), y, model.classes_
    )
    for name, lead in good.summary["leads"]["LogisticRegression"].items():
        assert lead["difference"] == pytest.approx(found[name]["difference"])
        assert lead["interval"] == pytest.approx(found[name]["interval"])
    own = good.summary["models"]["WassersteinSVC"]
    lines = good.summary["in_plain_words"]
    always = (
        "always answering benign would reach"
        f" {100 * (y == 'benign').mean():.1f}\u202f%."
    )
    right = (
        f"{100 * own['accuracy']:.1f}\u202f% of the 143 held-out rows are decided"
        " correctly"
    )
    assert lines[0] == f"{right}; {always}"
    for line in lines[:3]:
        assert f"<li>{line}</li>" in good.html and f"\n- {line}\n" in good.markdown
    low, high = (f"{100 * end:.1f}" for end in own["intervals"]["accuracy"])
    limits = [
        f"{100 * end:+.1f}".replace("-", "−") for end in found["accuracy"]["interval"]
    ]
    assert (
        f"| {low} to {high} |" in good.markdown
        and f"| lead {limits[0]} to {limits[1]} |" in good.markdown
    )


def test_a_loss_is_said_as_plainly_as_a_gain_and_training_rows_prove_neither(tumours):
    X, y = tumours
    made = make_report(plain_svc(radius=1.6), X, y)
    lead = made.summary["leads"]["LinearSVC"]["accuracy"]
    assert lead["interval"][1] < 0
    assert any(
        re.search(r"[Bb]ehind .*LinearSVC.* in accuracy", line)
        for line in made.summary["in_plain_words"]
    )
    assert made.summary["next"]["command"] == "WassersteinSVCCV().fit(X, y)"
    training = make_report(plain_svc(radius=1.6), X, y, test_size=0).summary
    assert (
        training["leads"] is None
        and "intervals" not in training["models"]["WassersteinSVC"]
    )
    assert (
        "of the 569 training rows are decided correctly"
        in training["in_plain_words"][0]
    )
    assert not any(
        "95\u202f%" in line or "LinearSVC in" in line
        for line in training["in_plain_words"]
    )


def test_a_constant_classifier_says_so_first_and_leaves_out_noise(tumours, constant):
    _, _, _, y = parts(*tumours)
    benign = (y == "benign").mean()
    summary = constant.summary
    own = constant.summary["models"]["WassersteinSVC"]
    assert summary["constant"] == {"label": "benign", "share": 1.0}
    assert own["accuracy"] == pytest.approx(benign) and own["balanced_accuracy"] == 0.5
    assert own["worst_case_error"] == pytest.approx(
        1 - benign
    )  # no shift changes a constant answer
    first = re.search(r"</h1>\s*<ul class=.notes.[^>]*><li>(.*?)</li>", constant.html)
    assert (
        first
        and "predicts <strong>benign</strong> for all 143 held-out rows" in first[1]
    )
    for noise in (
        "Most influential",
        "Most important",
        "The worst case",
        "Labels worth checking",
    ):
        assert noise not in constant.html and noise not in constant.markdown
    assert summary["next"]["command"].startswith("make_report(WassersteinSVC(0.")
    assert not any(
        "ROC AUC." in line for line in summary["in_plain_words"]
    )  # ranks are noise
    assert constant.html.count("<svg") == 1


def test_a_nearly_constant_classifier_counts_as_constant_unless_it_finds_the_rare_class():
    def figures(counts, balanced_accuracy):
        lines = {
            label: dict(zip("ab", line, strict=True))
            for label, line in zip("ab", counts, strict=True)
        }
        return {
            "confusion": lines,
            "rows": int(np.sum(counts)),
            "balanced_accuracy": balanced_accuracy,
        }

    assert constant_label(figures([[199, 1], [199, 1]], 0.5)) == ("a", 0.995)
    assert constant_label(figures([[990, 2], [4, 4]], 0.75)) is None
    assert constant_label(figures([[180, 20], [150, 50]], 0.575)) is None


def test_classes_of_unequal_size_are_worth_equal_weights():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [380, 20])
    made = make_report(
        WassersteinSVC(radius=0.05, class_weight=None),
        rng.normal(size=(400, 3)) + 0.2 * y[:, None],
        y,
    )
    assert made.summary["constant"] == {"label": 0, "share": 1.0}
    assert (
        "95.0\u202f% of the rows are of one class" in made.markdown
        and "balanced" in made.summary["next"]["command"]
    )


def test_several_classes(wines):
    X, y, made = wines
    model, rows, labels = fitted(WassersteinSVC(), X, y)
    own = made.summary["models"]["WassersteinSVC"]
    predicted = model.predict(rows)
    assert own["accuracy"] == pytest.approx((predicted == labels).mean())
    counts = {
        a: {b: int(((labels == a) & (predicted == b)).sum()) for b in range(3)}
        for a in range(3)
    }
    assert own["confusion"] == counts
    bounds = made.summary["bounds"]["flipped_labels"]
    flipped = [min(1.0, 1 - own["accuracy"] + share) for share in bounds["share"]]
    assert bounds["error"]["WassersteinSVC"] == pytest.approx(flipped)
    assert (
        "The label is **target**: it has 3 classes" in made.markdown
        and "**0** against the rest" in made.markdown
    )


@pytest.mark.thorough
def test_300_features(wide):
    X, y, made = wide
    model, rows, labels = fitted(WassersteinSVC(), X, y)
    summary = made.summary
    order = np.argsort(-np.abs(model.coef_[0]))
    assert list(summary["weights"])[:12] == [f"f{k}" for k in order[:12]]
    assert summary["weights"][f"f{order[0]}"] == pytest.approx(
        model.coef_[0][order[0]], rel=1e-3
    )
    in_use = int(weights_that_count(model.result_, rows.std(axis=0)).sum())
    shares = np.abs(model.coef_[0])[order][:in_use]
    assert (
        f"{100 * shares[:3].sum() / shares.sum():.0f}\u202f% of the weight of all"
        f" {in_use} in use" in made.markdown
    )
    values = rows @ model.coef_[0]
    above = values[labels == "yes"][:, None] > values[labels == "no"]
    assert summary["models"]["WassersteinSVC"]["roc_auc"] == pytest.approx(above.mean())
    assert all(re.fullmatch(r"c\d+", name) for name in summary["labels_to_check"])
    assert (
        made.html.count('class="track"') == 12
        and f"{in_use - 12} more have smaller weights" in made.html
    )


def test_hashes_can_be_recomputed(tumours, good):
    X, y, *_ = parts(*tumours)
    rows = ClippedScaler().fit_transform(X)
    known = good.summary["provenance"]
    digest = hashlib.sha256(
        np.ascontiguousarray(rows, dtype="<f8").tobytes() + "\n".join(y).encode()
    ).hexdigest()
    assert (
        known["training_rows_sha256"] == digest
        and digest in good.html
        and digest in good.markdown
    )
    assert (
        known["model_sha256"] in good.html
        and known["date"] in good.html
        and "scikit-learn" in good.html
    )


def test_numbers_agree_with_each_other(good):
    summary = good.summary
    own = summary["models"]["WassersteinSVC"]
    bounds = summary["bounds"]
    path = summary["radius_path"]
    shifts = bounds["shifted_features"]
    assert bounds["flipped_labels"]["error"]["WassersteinSVC"][0] == pytest.approx(
        1 - own["accuracy"]
    )
    at_radius = shifts["error"]["WassersteinSVC"][
        shifts["shift"].index(summary["radius"])
    ]
    assert at_radius == pytest.approx(
        own["worst_case_error"]
    )  # by default labels cannot be flipped
    assert (
        path["objective"][path["radius"].index(summary["radius"])]
        == summary["objective"]
    )
    end = f"At {max(path['radius']):.3g}, the largest radius tried, all weights are 0."
    assert end in good.markdown and end in good.html
    assert (
        "vertical line" in good.html and "vertical line" not in good.markdown
    )  # which has no figures
    assert path["objective"][-1] == pytest.approx(1.0, abs=1e-4)


def test_equal_pulls_are_said_once():
    X = np.vstack([np.eye(6), -np.eye(6)])
    made = make_report(
        WassersteinSVC(radius=0.01),
        X,
        np.repeat([1, 0], 6),
        test_size=0,
        standardise=False,
    )
    assert "are equal (8.33\u202f% each): no row stands out." in made.markdown
    assert made.markdown.count("8.33\u202f%") == 1


@pytest.mark.thorough
def test_fitted_models_and_searches_are_refitted_to_the_training_rows(tumours, good):
    X, y = tumours
    model = make_pipeline(ClippedScaler(), WassersteinSVC()).fit(X, y)
    before = model[-1].coef_.copy()
    assert make_report(model, X, y).summary["objective"] == pytest.approx(
        good.summary["objective"], abs=1e-6
    )
    np.testing.assert_array_equal(model[-1].coef_, before)
    search = GridSearchCV(model, {"wassersteinsvc__radius": [0.1, 0.3]}, cv=2)
    found = make_report(search, X, y).summary
    assert found["radius"] in (0.1, 0.3) and set(found["weights"]) <= set(X.columns)


@pytest.mark.thorough
def test_costs_of_labels_and_features_reach_the_whole_report():
    rng = np.random.default_rng(3)
    y = np.where(rng.random(120) < 0.5, "yes", "no")
    X = rng.normal(size=(120, 3)) + (y == "yes")[:, None]
    costs = {"flip_cost": {"yes": np.inf, "no": 0.5}, "feature_cost": [1, np.inf, 2]}
    model = WassersteinSVC(0.1, monotonic_cst=[1, 0, 0], **costs)
    summary = make_report(model, X, y).summary
    assert summary["flip_cost"] == {"no": 0.5, "yes": "inf"}
    path = summary["radius_path"]
    assert path["objective"][path["radius"].index(0.1)] == summary["objective"]
