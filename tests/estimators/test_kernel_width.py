"""The width of a kernel: narrow where rows out of fold are ranked better for it, and only there."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score

from drsvm import WassersteinKernelSVC
from drsvm.defaults import kernel_problems
from drsvm.defaults.kernel_parameters import WIDTH
from drsvm.defaults.kernel_problems import FACTORS, some_rows, with_copies_joined
from drsvm.defaults.roc_auc import auc_parts, errors_ahead
from drsvm.estimators.checks import checked_data


@pytest.fixture(scope="module")
def checkerboard():
    X = np.random.default_rng(0).uniform(-1, 1, size=(700, 2))
    return X, ((np.floor(2 * X[:, 0]) + np.floor(2 * X[:, 1])) % 2).astype(int)


def widest(X, weights=None):
    return WIDTH / np.average(
        ((X - np.average(X, axis=0, weights=weights)) ** 2).sum(axis=1), weights=weights
    )


def test_curves_are_found_and_planes_need_no_narrow_functions(checkerboard):
    X, y = checkerboard
    model = WassersteinKernelSVC().fit(X[:250], y[:250])
    assert (
        model.gamma_ == pytest.approx(FACTORS[-1] * widest(X[:250]))
        and model.gap_ <= model.tol
    )
    assert model.score(X[250:], y[250:]) > 0.75
    assert (
        WassersteinKernelSVC(gamma=widest(X[:250]))
        .fit(X[:250], y[:250])
        .score(X[250:], y[250:])
        < 0.65
    )
    separated = {
        "n_informative": 4,
        "n_redundant": 0,
        "class_sep": 1.5,
        "n_clusters_per_class": 1,
    }
    X, y = make_classification(200, 6, **separated, random_state=0)
    assert WassersteinKernelSVC().fit(X, y).gamma_ == pytest.approx(widest(X))


def test_order_and_copies_of_rows_do_not_matter(checkerboard, monkeypatch):
    """Also if there are more rows than are judged for the width: copies are no further rows."""
    monkeypatch.setattr(kernel_problems, "some_rows", partial(some_rows, most=150))
    X = checkerboard[0][:120]
    y = checkerboard[1][:120]
    counts = 1 + np.arange(120) % 3
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(120), counts))
    weighted = WassersteinKernelSVC().fit(X, y, counts)
    repeated = WassersteinKernelSVC().fit(X[order], y[order])
    for name in ("gamma_", "radius_", "l2_", "threshold_"):
        assert getattr(weighted, name) == pytest.approx(
            getattr(repeated, name), rel=1e-5, abs=1e-6
        ), name
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-3
    )
    assert (
        len(repeated.result_.weights) == 120 and len(repeated.result_.hinge_dual) == 240
    )


def test_weights_are_those_of_the_judged_rows(monkeypatch):
    """Whose order is not that of the given rows."""
    seen = []

    def first(stages, decisions, judged):
        seen.append(judged)
        return stages[0][0]

    monkeypatch.setattr(kernel_problems, "best_if_significant", first)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    weights = rng.integers(0, 5, 60)
    WassersteinKernelSVC(class_weight=None).fit(X, X[:, 0] > 0, weights)
    (judged,) = seen
    shares = judged.counts / judged.counts.sum()
    np.testing.assert_allclose(shares, judged.problems[0].sample_weight, rtol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_copies_are_joined_if_label_and_flip_cost_agree(container):
    X = np.array(
        [[0.0, 1.0], [2.0, 0.0], [-0.0, 1.0], [0.0, 1.0], [2.0, 0.0], [0.0, 1.0]]
    )
    y = np.array([0, 1, 0, 1, 1, 0])
    costs = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 2.0])
    weights = np.arange(1.0, 7.0)
    model = WassersteinKernelSVC()
    data = checked_data(model, container(X), y, weights, flip_cost=costs)
    joined = with_copies_joined(data)
    assert joined.sample_weight.tolist() == [4.0, 7.0, 0.0, 4.0, 0.0, 6.0]  # −0 is 0
    assert with_copies_joined(joined) is joined
    radii = np.array([0.0, 1.0, 0.5, 1.0, 1.0, 0.0])
    joined = with_copies_joined(replace(data, row_radius=radii))
    assert joined.sample_weight.tolist() == [1.0, 7.0, 3.0, 4.0, 0.0, 6.0]


def test_the_lead_of_rows_that_count_several_times():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 60)
    counts = rng.integers(1, 4, 60)
    first, second = rng.normal(size=(2, 60)) + codes
    copies = np.repeat(np.arange(60), counts)
    parts = [auc_parts(values, codes, counts) for values in (first, second)]
    assert counts @ parts[0] == pytest.approx(
        roc_auc_score(codes, first, sample_weight=counts)
    )
    many = [auc_parts(values[copies], codes[copies]) for values in (first, second)]
    lead = errors_ahead(*many, codes[copies], np.ones(len(copies)))
    assert errors_ahead(*parts, codes, counts) == pytest.approx(lead)
    assert errors_ahead(parts[0], parts[0], codes, counts) == 0.0


def test_some_rows_have_the_shares_of_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = np.arange(900) % 3 == 0
    weights = np.arange(900) % 2
    rows = some_rows(X, y, weights, 90)
    assert (
        len(rows) in (89, 90, 91)
        and weights[rows].all()
        and abs(y[rows].mean() - 1 / 3) < 0.02
    )
    assert len(some_rows(X, y, None)) == 900
