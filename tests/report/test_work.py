"""The computations behind a report, and their progress."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.utils import compute_sample_weight
from thorough import unless_long

from drsvm import (
    ClippedScaler,
    WassersteinSVC,
    WassersteinSVCCV,
    radius_max,
    worst_case_risk,
)
from drsvm.problem import Problem
from drsvm.report import Given, analyse, document, make_report, next_step, plain_words
from drsvm.utils import TimeLimit


def rare_classes(n_classes):
    """Return rows of which one class is rare, and labels that two of four features tell
    something about.
    """
    rng = np.random.default_rng(2)
    shares = [0.85, 0.15] if n_classes == 2 else [0.6, 0.1, 0.3]
    y = rng.choice(["usual", "rare", "seldom"][:n_classes], p=shares, size=400)
    X = rng.normal(size=(400, 4))
    X[:, 0] += 1.5 * (y == "rare")
    X[:, 1] += 1.2 * (y == "seldom")
    return X, y


@pytest.mark.usefixtures("no_plots")
@pytest.mark.parametrize(
    ("n_classes", "radius", "is_better"),
    unless_long(
        [(2, "auto", False), (3, 1.2, True)],
        [(2, "auto", False), (3, "auto", False), (3, 1.2, True)],
    ),
)
def test_what_is_said_of_a_radius_is_what_the_report_with_this_radius_says(
    n_classes, radius, is_better
):
    X, y = rare_classes(n_classes)
    analysis = analyse(WassersteinSVC(radius), Given(X, y), positive=None)
    best = analysis.best_radius
    own = analysis.own["balanced_accuracy"]
    page = document(analysis, "", "page.md")
    fitted = analyse(WassersteinSVC(best["radius"]), Given(X, y), positive=None)
    assert best["accuracy"] == fitted.own["balanced_accuracy"] > own
    assert best["gain"] == pytest.approx(best["accuracy"] - own)
    path = analysis.summary()["radius_path"]
    assert path["balanced_accuracy"][path["radius"].index(analysis.radius)] == own
    assert max(path["balanced_accuracy"]) == best["accuracy"] and best[
        "radius"
    ] == float(f"{best['radius']:.3g}")
    assert (
        best["is_better"]
        == is_better
        == ("points higher than the radius in use (95" in page)
    )
    assert ("no other radius has a clearly higher balanced accuracy" in page) != (
        "expect slightly less" in page
    )


@pytest.mark.usefixtures("no_plots")
@pytest.mark.parametrize("threshold", ["accuracy", "optimum"])
def test_the_proof_is_not_claimed_for_a_threshold_that_was_moved(threshold):
    X, y = rare_classes(2)
    model = WassersteinSVC(0.05, intercept_cost=np.inf, l2=0.0, threshold=threshold)
    analysis = analyse(
        model, Given(X, y, test_size=0.0, standardise=False), positive=None
    )
    page = document(analysis, "", "page.md")
    own = analysis.material.classifier
    result = analysis.result
    moved = own.intercept_[0] != result.intercept
    assert (
        moved == (threshold == "accuracy") == ("which the proof does not cover" in page)
    )
    assert (
        "of this classifier, with the intercept that belongs to this optimum, is **"
        in page
    ) == moved
    # With the intercept that decides, the objective is not the proven one.
    weights = analysis.material.row_weights("usual")
    risk = worst_case_risk(own, X, y, sample_weight=weights)
    assert (risk > result.lower_bound + 1e-3) == moved and result.gap <= 1e-6
    assert "No linear classifier can go below" in page and "no method" not in page


def test_the_radii_end_where_all_weights_are_0_and_contain_the_one_in_use(
    noisy, report
):
    X, y, *_ = noisy
    path = report[0].summary["radius_path"]
    radius = report[0].summary["radius"]
    weights = np.sqrt(compute_sample_weight("balanced", y))
    X = ClippedScaler().fit_transform(X)
    mean = np.average(X, axis=0, weights=weights)
    variance = np.average(X**2, axis=0, weights=weights)
    cost = np.sqrt((variance - mean**2).mean())
    problem = Problem(
        X - mean,
        y,
        sample_weight=weights,
        flip_cost=np.inf,
        fit_intercept=True,
        intercept_cost=cost,
    )
    assert radius_max(problem) <= max(path["radius"]) <= 1.02 * radius_max(problem)
    assert (
        path["objective"][path["radius"].index(radius)]
        == report[0].summary["objective"]
    )
    assert max(path["gap"]) <= 1e-6 and path["radius"] == sorted(path["radius"])


@pytest.mark.thorough
@pytest.mark.usefixtures("no_plots")
@pytest.mark.filterwarnings("ignore")  # of large radii, and of rows without names
def test_classifiers_of_other_radii_keep_all_settings():
    X, y = rare_classes(2)
    frame = pd.DataFrame(X, columns=list("abcd"))
    costs = {
        "flip_cost": {"rare": np.inf, "usual": 3.0},
        "feature_cost": {"a": 2.0},
        "monotonic_cst": {"b": 1},
    }
    model = WassersteinSVC(
        0.02,
        norm=1,
        class_weight="balanced",
        warm_start=True,
        calibration="sigmoid",
        **costs,
    )
    given = Given(frame, y, standardise=False, test_size=0.0)
    for radius, other in analyse(model, given, positive=None).path.items():
        alone = clone(model).set_params(radius=radius).fit(frame, y)
        np.testing.assert_array_equal(other.coef_, alone.coef_)
        np.testing.assert_array_equal(other.intercept_, alone.intercept_)
    search = WassersteinSVCCV(radii=[0.3, 0.05], l2=[0.01, 0.1], norms=[1, 2], cv=2)
    analysis = analyse(search, given, positive=None)
    chosen = {**analysis.material.classifier.best_params_, "radius": max(analysis.path)}
    alone = WassersteinSVC(**chosen).fit(X, y)
    np.testing.assert_array_equal(analysis.path[max(analysis.path)].coef_, alone.coef_)


@pytest.mark.usefixtures("no_plots")
def test_without_time_for_other_radii_the_own_one_is_shown(set_values):
    X, y = rare_classes(2)
    set_values(time_for_other_radii=TimeLimit(0.0))
    analysis = analyse(WassersteinSVC(0.05, max_time=60.0), Given(X, y), positive=None)
    assert (
        0.05 in analysis.path and len(analysis.path) <= 2
    )  # one may always take a step
    assert any(
        "increase max_time for exact curves" in note for note in analysis.material.notes
    )
    analysis.path = {0.05: analysis.path[0.05]}
    assert "There was no time left to try others." in document(analysis, "", "page.md")


@pytest.mark.parametrize("curved", [False, True])
def test_boosted_trees_show_whether_a_linear_classifier_is_enough(noisy, curved):
    X, y = (
        make_circles(200, noise=0.1, factor=0.4, random_state=0)
        if curved
        else (noisy[0][:160, :3], noisy[1][:160])
    )
    analysis = analyse(None, Given(X, y), positive=None)
    words = "\n".join(plain_words(analysis)["in_plain_words"])
    assert (analysis.rival_ahead("boosted trees") is not None) is curved
    assert ("behind boosted trees in" in words) is curved
    assert (next_step(analysis).changes == {"kernel": "rbf"}) is curved


def test_training_rows_say_nothing_about_trees(noisy):
    analysis = analyse(
        None, Given(noisy[0][:60, :3], noisy[1][:60], test_size=0.0), positive=None
    )
    assert analysis.trees is None and analysis.rival_ahead("LinearSVC") is None


def test_the_time_limit_holds_for_other_classifiers():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = WassersteinSVC(max_time=1e-6)
    made = make_report(model, X, X[:, 0] > 0)
    assert list(made.summary["models"]) == ["WassersteinSVC"]
    assert "There was no time left for other classifiers." in made.markdown


def test_progress_is_reported_in_order(report):
    shares = [share for share, _ in report[1]]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 1
    assert report[1][-1] == (1.0, "done") and len({text for _, text in report[1]}) == 7
