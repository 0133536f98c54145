"""Estimators trained for rows that may each shift on their own."""

import math

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drsvm import Problem, WassersteinSVC, solve
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.sampling import to_host


def two_classes(n=90):
    """Return rows of two classes, and a radius for each row."""
    rng = np.random.default_rng(1)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 3)) + y[:, None]
    return X, y, 0.4 * rng.uniform(size=n)


@pytest.mark.parametrize(
    ("row_radius", "error"),
    [
        (None, "row_radius must be a number, got None"),
        ("far", "row_radius must be a number, got 'far'"),
        ([0.1, 0.2], r"row_radius must be a number, got \[0.1, 0.2\]"),
        (-0.1, "row_radius=-0.1"),
        (math.nan, "row_radius=nan"),
        (math.inf, "row_radius=inf"),
    ],
)
def test_errors_name_the_parameter_and_its_value(row_radius, error):
    X, y, _ = two_classes()
    with pytest.raises((TypeError, ValueError), match=error):
        WassersteinSVC(row_radius=row_radius).fit(X, y)
    with pytest.raises((TypeError, ValueError), match=error):
        WassersteinSVC(0.1, row_radius=row_radius).partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize(
    ("row_radius", "error"),
    [
        ([None] * 90, "row_radius must contain real numbers"),
        ([0.1, 0.2], r"one entry per row of X \(90\), got shape \(2,\)"),
        (np.r_[np.zeros(89), -2.0], "row_radius has -2 at row 89"),
        (np.full(90, math.inf), "row_radius has inf at row 0"),
        (-0.1, "row_radius=-0.1"),
    ],
)
def test_errors_name_the_radius_of_a_row(row_radius, error):
    X, y, _ = two_classes()
    with pytest.raises((TypeError, ValueError), match=error):
        WassersteinSVC().fit(X, y, row_radius=row_radius)


def test_learning_in_blocks_refuses_row_radii():
    X, y, _ = two_classes()
    svc = WassersteinSVC(0.1, row_radius=0.2)
    with pytest.raises(ValueError, match="does not support row_radius"):
        svc.partial_fit(X, y, classes=[0, 1])


def test_where_no_feature_can_shift_rows_cannot_either():
    X, y, radii = two_classes()
    fixed = {"feature_cost": [math.inf] * 3, "l2": 0.1}
    free = WassersteinSVC(intercept_cost=math.inf, **fixed)
    without = free.fit(X, y).objective_
    assert free.radius_ == 0.0
    shifting = free.fit(X, y, row_radius=radii)
    assert shifting.objective_ == pytest.approx(without, abs=1e-6)
    # With a cost, the intercept moves as if it were the weight of a constant column.
    assert WassersteinSVC(row_radius=0.2, **fixed).fit(X, y).gap_ <= 1e-6


class RowsElsewhere(MemoryRows):
    """Rows that have to be fetched."""

    def host_rows(self):
        return MemoryRows(self.X)


def test_rows_that_are_fetched_keep_their_radii():
    X, y, radii = two_classes()
    problem = Problem(X, y, flip_cost=math.inf, row_radius=radii)
    here = to_host(problem.with_rows(RowsElsewhere(problem.X)), math.inf)
    assert type(here.rows) is MemoryRows
    assert here.row_radius.tolist() == radii.tolist()
    assert solve(here).objective == solve(problem).objective


def test_radii_of_rows_are_routed_as_weights_are():
    X, y, radii = two_classes()
    folds = list(StratifiedKFold(3).split(X, y))
    options = {"cv": folds, "return_estimator": True}
    plain = make_pipeline(StandardScaler(), WassersteinSVC(0.01))
    given = {"wassersteinsvc__row_radius": radii}
    found = cross_validate(plain, X, y, params=given, **options)["estimator"]
    with config_context(enable_metadata_routing=True):
        svc = WassersteinSVC(0.01).set_fit_request(row_radius=True)
        routing = make_pipeline(StandardScaler(), svc)
        given = {"row_radius": radii}
        routed = cross_validate(routing, X, y, params=given, **options)["estimator"]
    for (train, _), one, other in zip(folds, found, routed, strict=True):
        rows = StandardScaler().fit_transform(X[train])
        expected = WassersteinSVC(0.01).fit(rows, y[train], row_radius=radii[train])
        assert one[-1].coef_.tolist() == expected.coef_.tolist()
        assert other[-1].coef_.tolist() == expected.coef_.tolist()
