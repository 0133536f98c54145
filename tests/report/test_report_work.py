"""The computations behind a report, and their progress."""

import pytest
from sklearn.preprocessing import StandardScaler

from drsvm import radius_max
from drsvm.model.problem import Problem


def test_the_path_ends_at_radius_max_and_contains_the_radius_in_use(noisy, report):
    X, y, *_ = noisy
    path, radius = report[0].summary["radius_path"], report[0].summary["radius"]
    problem = Problem(StandardScaler().fit_transform(X), y, flip_cost=5.0, fit_intercept=True)
    assert max(path["radius"]) == pytest.approx(radius_max(problem), rel=1e-5)
    assert radius in path["radius"]
    at_radius = path["objective"][path["radius"].index(radius)]
    assert at_radius == pytest.approx(report[0].summary["objective"], abs=2e-5)
    assert max(path["gap"]) <= 1e-5


def test_progress_is_reported_in_order(report):
    shares = [share for share, _ in report[1]]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 1
    assert report[1][-1] == (1.0, "done") and len({text for _, text in report[1]}) == 7
