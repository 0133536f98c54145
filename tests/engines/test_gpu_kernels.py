"""Kernels on a graphics card, compared with the CPU. These tests need a card: `pytest -m gpu tests/engines`."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from drsvm import WassersteinKernelSVC, solve
from drsvm.engines.gpu import kernel_rows
from drsvm.engines.gpu.device import GpuError, cupy
from drsvm.model.backends import ForCard, to_numpy
from drsvm.model.kernel_functions import Laplacian, Linear, Polynomial, Rbf
from drsvm.model.kernel_rows import in_feature_space, rows_of_functions

pytestmark = pytest.mark.gpu

try:
    cupy()
except GpuError as error:
    pytest.skip(str(error), allow_module_level=True)

FUNCTIONS = {"rbf": Rbf(0.3), "laplacian": Laplacian(0.2), "poly": Polynomial(0.3, 2, 1.0), "linear": Linear()}


def samples(n=700, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1), rng.integers(0, 3, size=n)


@pytest.fixture(params=["kept", "in tiles"])
def many_rows(request, monkeypatch):
    """Few rows keep all values of the kernel; with more of them, values are computed in tiles, here small ones."""
    if request.param == "in tiles":
        monkeypatch.setattr("drsvm.model.kernel_rows.MAX_STORED", 100)
        monkeypatch.setattr("drsvm.model.kernel_rows.PAIRS_FOR_CENTRE", 200_000)
        monkeypatch.setattr(kernel_rows, "TILE_ROWS", 64)
        monkeypatch.setattr(kernel_rows, "TILE_COLUMNS", 100)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("flip_cost", [math.inf, 1.0, "rows"])
@pytest.mark.parametrize("intercept_cost", [math.inf, 0.7])
@pytest.mark.usefixtures("many_rows")
def test_the_same_optimum(name, flip_cost, intercept_cost):
    X, y, weights = samples()
    costs = np.random.default_rng(1).uniform(0.5, 3.0, size=len(y)) if flip_cost == "rows" else flip_cost
    ball = {"radius": 0.02, "flip_cost": costs, "l2": 0.01, "fit_intercept": True, "intercept_cost": intercept_cost}
    here, there = (in_feature_space(rows, FUNCTIONS[name], y, weights, **ball) for rows in (X, ForCard(X)))
    expected, result = solve(here, tol=1e-7), solve(there, tol=1e-7)
    assert result.gap <= 1e-7 and result.objective == pytest.approx(expected.objective, abs=2e-7)
    assert isinstance(result.weights, np.ndarray) and isinstance(result.hinge_dual, cupy().ndarray)
    order = np.searchsorted(to_numpy(there.kept), here.kept)  # rows in memory are in another order
    margins = to_numpy(there.margins(result.weights))
    np.testing.assert_allclose(margins[order], here.margins(result.weights[order]), atol=1e-10)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.usefixtures("many_rows")
def test_sums_and_norms_are_those_in_memory(name):
    X, _, c = samples()
    here, there = (rows_of_functions(rows, FUNCTIONS[name]) for rows in (X, ForCard(X)))
    np.testing.assert_allclose(to_numpy(there.at(X[:50], c)), here.at(X[:50], c), rtol=1e-12)
    c = c - c.mean()
    assert there.coordinates(c)[0] == pytest.approx(here.coordinates(c)[0], rel=1e-8)


def test_estimators_work_where_the_rows_are():
    X, y = make_moons(600, noise=0.25, random_state=0)
    settings = {"radius": 0.01, "l2": 0.005, "tol": 1e-6}
    expected = WassersteinKernelSVC(**settings).fit(X, y)
    for engine, rows, labels in (("gpu", X, y), ("auto", cupy().asarray(X), cupy().asarray(y))):
        model = WassersteinKernelSVC(**settings, engine=engine).fit(rows, labels)
        assert model.objective_ == pytest.approx(expected.objective_, abs=2e-6) and model.gap_ <= 1e-6
        assert isinstance(model.landmarks_, np.ndarray) and abs(model.threshold_ - expected.threshold_) < 0.1
        there, here = model.predict(cupy().asarray(X)), model.predict(X)
        assert isinstance(there, cupy().ndarray) and isinstance(here, np.ndarray)
        assert (to_numpy(there) == here).mean() > 0.99 and (here == expected.predict(X)).mean() > 0.98


def test_several_classes_with_the_rules_and_probabilities():
    X, y = load_iris(return_X_y=True)
    names = np.array(["one", "two", "three"])[y]
    model = WassersteinKernelSVC(calibration="sigmoid", engine="gpu").fit(X, names, np.r_[np.zeros(5), np.ones(145)])
    assert model.score(X, names) > 0.9 and model.gap_.max() <= 1e-4 and model.landmark_indices_.min() >= 5
    shares = model.predict_proba(cupy().asarray(X))
    np.testing.assert_allclose(to_numpy(shares), model.predict_proba(X), atol=1e-9)


def test_rules_of_many_rows_come_from_a_sample():
    X, y = make_moons(7000, noise=0.3, random_state=0)
    here, there = (WassersteinKernelSVC(threshold="optimum", engine=engine).fit(X, y) for engine in ("cpu", "gpu"))
    assert there.gap_ <= 1e-4 and there.radius_ == pytest.approx(here.radius_, rel=0.05)
    assert there.objective_ == pytest.approx(here.objective_, abs=5e-3)


def test_what_a_card_does_not_take():
    X, y = make_moons(60, noise=0.25, random_state=0)
    for kernel in ("precomputed", lambda X, Z: X @ Z.T):
        with pytest.raises(ValueError, match="engine='cpu'"):
            WassersteinKernelSVC(kernel, engine="gpu").fit(X @ X.T if kernel == "precomputed" else X, y)
