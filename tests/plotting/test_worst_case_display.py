"""Plots of the worst case, and the plane they lie in."""

import re

import numpy as np
import pytest
from plots import labels
from problems import plain_svc
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from drsvm.plotting import WorstCaseDisplay, plane_for


def test_the_worst_case_of_two_features_is_drawn_directly(data, ax):
    rows = data[0][:, :2]
    y = data[1]
    model = plain_svc(radius=0.2, flip_cost=4.0).fit(rows, y)
    display = WorstCaseDisplay.from_estimator(
        model, rows, y, radius=0.2, flip_cost=4.0, ax=ax
    )
    distribution = display.distribution_
    np.testing.assert_array_equal(display.points, rows)
    flipped = np.isin(np.arange(120), distribution.rows[distribution.flipped])
    np.testing.assert_array_equal(display.flipped, flipped)
    assert (
        display.n_moved == np.count_nonzero(distribution.shift)
        and 0 < len(display.moved_to) <= 40
    )
    moved = {tuple(row) for row in np.round(distribution.features, 9)}
    assert all(tuple(row) in moved for row in np.round(display.moved_to, 9))
    values = rows @ display.normal + display.offset
    np.testing.assert_allclose(values, model.decision_function(rows))


def test_many_features_are_drawn_over_the_decision_value(data, ax):
    rows, y = data
    model = LogisticRegression().fit(rows, y)
    display = WorstCaseDisplay.from_estimator(
        model, rows, y, radius=0.3, flip_cost=9.0, norm=1, ax=ax
    )
    np.testing.assert_allclose(display.points[:, 0], model.decision_function(rows))
    steps = display.moved_to - display.moved_from
    size = np.abs(model.coef_).max()  # the dual norm
    np.testing.assert_allclose(
        np.abs(steps[:, 0]), size * display.distribution_.shift.max()
    )
    assert "moved" in " ".join(
        labels(ax)
    ) and "of the samples moved by" in ax.get_title(loc="left")


def test_names_and_numbers_of_a_class_against_the_rest(data, ax):
    rows, _ = data
    y = np.array(["ant", "bee", "cat"])[np.arange(120) % 3]
    model = LinearSVC().fit(rows, y)
    WorstCaseDisplay.from_estimator(
        model, rows, y, radius=0.1, flip_cost=1.0, positive="bee", ax=ax
    )
    assert labels(ax)[:2] == ["the rest", "bee"]


def test_invisible_moves_are_magnified_and_labelled(data, ax):
    rows, y = data
    model = LinearSVC().fit(rows, y)
    display = WorstCaseDisplay.from_estimator(
        model, rows, y, radius=1e-4, flip_cost=99.0, ax=ax
    )
    (label,) = [text for text in labels(ax) if text.startswith("moved")]
    factor = int(re.search(r"arrows × (\d+)", label)[1])
    longest = np.abs(
        (display.moved_to - display.moved_from) / np.ptp(display.points, axis=0)
    ).max()
    assert 0.02 <= factor * longest <= 0.2
    assert set(str(factor)[1:]) <= {"0"} and str(factor)[0] in "125"


def test_only_some_of_many_samples_are_drawn_and_long_names_are_cut(data, ax):
    rows = np.tile(data[0], (20, 1))
    y = np.tile(np.where(data[1] > 0, "p" * 80, "n" * 80), 20)
    model = LinearSVC().fit(rows, y)
    display = WorstCaseDisplay.from_estimator(
        model, rows, y, radius=0.1, max_points=100, ax=ax
    )
    assert max(map(len, labels(ax))) <= 30
    assert len(display.points) == 100 and len(np.unique(display.points, axis=0)) > 50
    with pytest.raises(
        ValueError, match="max_points must be an integer ≥ 1, got max_points=0"
    ):
        WorstCaseDisplay.from_estimator(model, rows, y, radius=0.1, max_points=0, ax=ax)


@pytest.mark.parametrize("n_features", [1, 2, 5])
@pytest.mark.parametrize("weights", [0.0, 1.0])
def test_corner_cases_are_drawn(data, ax, n_features, weights):
    """One feature, a classifier with zero weights, and separable data, where no worst distribution exists."""
    rows = data[0][:, :n_features]
    model = (np.full(n_features, weights), 0.1)
    WorstCaseDisplay.from_estimator(model, rows, data[1], radius=0.1, ax=ax)
    far = np.where(rows @ model[0] > 0, 1, -1)
    scaled = (50 * model[0] / max(np.abs(rows @ model[0]).min(), 1e-3), 0.0)
    WorstCaseDisplay.from_estimator(
        scaled, rows, far, radius=0.1, flip_cost=np.inf, classes=[-1, 1], ax=ax
    )
    assert np.isfinite(ax.get_xlim()).all() and np.isfinite(ax.get_ylim()).all()
    ax.figure.canvas.draw()


def test_the_second_coordinate_is_the_first_principal_component_of_the_rest(data):
    rows, y = data
    coef = LinearSVC().fit(rows, y).coef_[0]
    unit = coef / np.linalg.norm(coef)
    rest = rows - np.outer(rows @ unit, unit)
    expected = np.linalg.svd(rest - rest.mean(axis=0))[2][0]
    for X in (rows, sparse.csr_array(rows), rows.astype(np.float32)):
        across = plane_for(X, coef, 0.0).axes[1]
        assert abs(across @ expected) == pytest.approx(1, abs=1e-4)
        assert across @ unit == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("n_features", [3, 5])
def test_rows_that_are_all_equal_have_a_plane(n_features):
    plane = plane_for(np.ones((6, n_features)), np.zeros(n_features), 0.5)
    assert np.isfinite(plane.axes).all() and plane.offset == 0.5
