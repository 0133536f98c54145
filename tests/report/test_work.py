"""The computations behind a report, and their progress."""

import numpy as np
import pytest
from sklearn.datasets import make_circles
from sklearn.utils import compute_sample_weight

from drsvm import ClippedScaler, WassersteinSVC, radius_max
from drsvm.model.problem import Problem
from drsvm.report.inputs import Given
from drsvm.report.page import next_step, plain_words
from drsvm.report.work import analyse


def test_the_path_ends_at_radius_max_and_contains_the_radius_in_use(noisy, report):
    X, y, *_ = noisy
    path, radius = report[0].summary["radius_path"], report[0].summary["radius"]
    weights = np.sqrt(compute_sample_weight("balanced", y))
    X = ClippedScaler().fit_transform(X)
    mean, variance = np.average(X, axis=0, weights=weights), np.average(X**2, axis=0, weights=weights)
    price = np.sqrt((variance - mean**2).mean())
    problem = Problem(X - mean, y, sample_weight=weights, flip_cost=np.inf, fit_intercept=True, intercept_cost=price)
    assert max(path["radius"]) == pytest.approx(radius_max(problem), rel=1e-5)
    assert radius in path["radius"]
    at_radius = path["objective"][path["radius"].index(radius)]
    assert at_radius == pytest.approx(report[0].summary["objective"], abs=2e-5)
    assert max(path["gap"]) <= 1e-5


@pytest.mark.thorough
@pytest.mark.usefixtures("no_plots")
@pytest.mark.parametrize("price", ["auto", 0.3, np.inf])
def test_the_path_is_that_of_the_model_wherever_the_columns_lie(noisy, price):
    X, y, *_ = noisy
    X = ClippedScaler().fit_transform(X[:120, :4]) + 3.0
    model = WassersteinSVC(intercept_cost=price, class_weight="balanced")
    given = Given(X=X, y=y[:120], test_size=0.0, standardise=False)
    analysis = analyse(model, given, positive=None)
    fitted = model.fit(X, y[:120])
    at_radius = analysis.path.results[int(np.argmin(np.abs(analysis.path.radii - fitted.radius_)))]
    assert at_radius.objective == pytest.approx(fitted.objective_, abs=2e-5)
    np.testing.assert_allclose(at_radius.weights, fitted.coef_[0], atol=0.05)
    np.testing.assert_allclose(at_radius.intercept, fitted.result_.intercept, atol=0.2)


@pytest.mark.parametrize("curved", [False, True])
def test_boosted_trees_show_whether_a_linear_classifier_is_enough(noisy, curved):
    X, y = make_circles(200, noise=0.1, factor=0.4, random_state=0) if curved else (noisy[0][:160, :3], noisy[1][:160])
    analysis = analyse(None, Given(X, y), positive=None)
    words = "\n".join(plain_words(analysis)["in_plain_words"])
    assert (analysis.behind("boosted trees") is not None) is curved
    assert ("behind boosted trees in" in words) is curved
    assert (next_step(analysis).changes == {"kernel": "rbf"}) is curved


def test_training_rows_say_nothing_about_trees(noisy):
    analysis = analyse(None, Given(noisy[0][:60, :3], noisy[1][:60], test_size=0.0), positive=None)
    assert analysis.trees is None and analysis.behind("LinearSVC") is None


def test_progress_is_reported_in_order(report):
    shares = [share for share, _ in report[1]]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 1
    assert report[1][-1] == (1.0, "done") and len({text for _, text in report[1]}) == 7
