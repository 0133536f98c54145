"""Rows on a graphics card, compared with the CPU. These tests need a card and CuPy: `pytest -m gpu tests/engines`."""

import math

import numpy as np
import pytest
from scipy import sparse

from drsvm import ClippedScaler, Problem, Status, WassersteinSVC, radius_max, radius_path, solve, worst_case_risk
from drsvm.engines.gpu import backend, engine
from drsvm.engines.gpu.device import GpuError, cupy

pytestmark = pytest.mark.gpu

try:
    cupy()
except GpuError as error:
    pytest.skip(str(error), allow_module_level=True)

N, D = 3000, 12
NORMS = (1, 2, math.inf)


def samples(seed=0, d=D):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, d))
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=N) > 0, 1, -1)


def on_card(X):
    if not sparse.issparse(X):
        return cupy().asarray(X)
    from cupyx.scipy.sparse import csr_matrix

    return csr_matrix(sparse.csr_matrix(X))


KINDS = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "sparse": lambda X: sparse.csr_array(np.where(np.abs(X) > 0.8, X, 0.0)),
}
INTERCEPTS = {"none": {}, "free": {"fit_intercept": True}, "priced": {"fit_intercept": True, "intercept_cost": 1.0}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("l2", [0.0, 1.0])
@pytest.mark.parametrize("flip_cost", [1.0, math.inf, "rows"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_optimum(kind, norm, l2, flip_cost, intercept, weighted):
    X, y = samples()
    X, rng = KINDS[kind](X), np.random.default_rng(1)
    costs = 3.0 * rng.random(N) if flip_cost == "rows" else flip_cost
    ball = {"radius": 0.05, "norm": norm, "l2": l2, "flip_cost": costs, **INTERCEPTS[intercept]}
    ball |= {"sample_weight": rng.integers(0, 3, size=N).astype(float)} if weighted else {}
    expected = solve(Problem(X, y, **ball), "interior-point", tol=1e-8)
    result = solve(Problem(on_card(X), y, **ball), tol=1e-8)
    assert result.gap <= 1e-8 and result.objective == pytest.approx(expected.objective, abs=2e-8)
    assert isinstance(result.hinge_dual, cupy().ndarray) and result.hinge_dual.shape == (N,)


def test_prices_and_signs():
    X, y = samples()
    prices = np.linspace(0.5, 2.0, D)
    prices[3] = math.inf
    ball = {"radius": 0.05, "feature_cost": prices, "monotonic_cst": np.resize([1, 0, -1], D)}
    expected, result = (solve(Problem(rows, y, **ball), "interior-point", tol=1e-8) for rows in (X, on_card(X)))
    assert result.objective == pytest.approx(expected.objective, abs=2e-8) and result.gap <= 1e-8


def test_radius_max_path_and_risk():
    X, y = samples()
    here, there = Problem(X, y, fit_intercept=True), Problem(on_card(X), y, fit_intercept=True)
    assert radius_max(there) == pytest.approx(radius_max(here), rel=1e-6)
    paths = [radius_path(problem, [0.3, 0.1, 0.03], tol=1e-8) for problem in (here, there)]
    np.testing.assert_allclose(*([r.objective for r in path.results] for path in paths), atol=2e-8)
    model = WassersteinSVC(radius=0.05, flip_cost=1.0).fit(X, y)
    for loss in ("hinge", "zero-one"):
        risks = [worst_case_risk(model, rows, y, loss=loss) for rows in (X, on_card(X))]
        np.testing.assert_allclose(*risks, rtol=1e-9)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_newton_matrix_that_is_not_formed(norm, fit_intercept, monkeypatch):
    monkeypatch.setattr(engine, "MAX_FEATURES", 10)
    X, y = samples()
    ball = {"radius": 0.05, "norm": norm, "fit_intercept": fit_intercept}
    X = KINDS["sparse"](X)
    expected, result = (solve(Problem(rows, y, **ball), "interior-point", tol=1e-6) for rows in (X, on_card(X)))
    assert result.gap <= 1e-6 and result.objective == pytest.approx(expected.objective, abs=2e-6)


def test_far_columns_are_shifted_and_ill_conditioned_ones_solved():
    rng = np.random.default_rng(2)
    scale = np.logspace(0, -3, 40)
    X = rng.normal(size=(20_000, 40)) * scale + 0.5
    y = np.where((X - 0.5) @ rng.normal(size=40) + 0.5 * rng.normal(size=20_000) > 0, 1, -1)
    for norm in NORMS:
        ball = {"radius": 0.01, "norm": norm, "fit_intercept": True}
        expected, result = (solve(Problem(rows, y, **ball), "interior-point", tol=1e-7) for rows in (X, on_card(X)))
        assert result.status is Status.OPTIMAL and result.objective == pytest.approx(expected.objective, abs=2e-7)


@pytest.mark.parametrize("kind", ["dense", "float32"])
def test_rows_that_do_not_fit_cross_in_every_pass(kind, monkeypatch):
    X, y = samples()
    X = KINDS[kind](X)
    monkeypatch.setattr(backend, "free_memory", lambda: 600_000)  # less than the rows and their state take
    monkeypatch.setattr(backend, "BLOCK_BYTES", 10_000)
    # A given ridge: the automatic one comes from a rough solution, which depends on where the rows are.
    expected = WassersteinSVC(radius=0.05, l2=0.005, tol=1e-8).fit(X, y)
    model = WassersteinSVC(radius=0.05, l2=0.005, tol=1e-8, engine="gpu").fit(X, y)
    assert model.objective_ == pytest.approx(expected.objective_, abs=2e-8)
    assert isinstance(model.coef_, np.ndarray) and (model.predict(X) == expected.predict(X)).mean() > 0.99


def test_state_that_does_not_fit_is_an_error(monkeypatch):
    X, y = samples()
    monkeypatch.setattr(backend, "free_memory", lambda: 100_000)
    with pytest.raises(GpuError, match="GB of the card are free"):
        WassersteinSVC(radius=0.05, engine="gpu").fit(X, y)


@pytest.mark.parametrize("labels", [np.array([-1, 1]), np.array(["no", "yes"])], ids=str)
def test_the_estimator_stays_on_the_card(labels):
    X, y = samples()
    X += 1.0
    named = labels[(y > 0).astype(int)]
    given = {"tol": 1e-8, "calibration": "sigmoid"}
    expected, model = WassersteinSVC(**given).fit(X, named), WassersteinSVC(**given).fit(on_card(X), named)
    assert isinstance(model.coef_, cupy().ndarray) and model.radius_ == pytest.approx(expected.radius_, rel=1e-2)
    np.testing.assert_allclose(model.coef_.get(), expected.coef_, atol=1e-2)
    decided = model.predict(on_card(X))
    decided = decided.get() if isinstance(decided, cupy().ndarray) else decided
    assert (decided == expected.predict(X)).mean() > 0.999
    assert (model.predict(X) == decided).all()  # rows in main memory too
    np.testing.assert_allclose(model.predict_proba(on_card(X)).get(), expected.predict_proba(X), atol=0.02)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_scaler_in_front_stays_on_the_card(dtype):
    X = samples()[0].astype(dtype)
    X[3] = 1e6
    here, there = ClippedScaler().fit(X), ClippedScaler().fit(on_card(X))
    np.testing.assert_allclose(there.upper_, here.upper_)
    found = there.transform(on_card(X))
    assert isinstance(found, cupy().ndarray) and found.dtype == dtype
    np.testing.assert_allclose(found.get(), here.transform(X), rtol=1e-4, atol=1e-4)
    stored = sparse.csr_array(X * (np.abs(X) > 1))
    found = ClippedScaler().fit(on_card(stored)).transform(on_card(stored))
    np.testing.assert_allclose(found.get().toarray(), ClippedScaler().fit_transform(stored).toarray(), rtol=1e-4)


def test_three_classes_of_weight():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=N)
    X = rng.normal(size=(N, 5)) + np.eye(3, 5)[y]
    expected = WassersteinSVC(radius=0.05, class_weight="balanced", tol=1e-8).fit(X, y)
    given = {"radius": 0.05, "class_weight": "balanced", "tol": 1e-8, "calibration": "sigmoid"}
    model = WassersteinSVC(**given).fit(on_card(X), on_card(y))
    np.testing.assert_allclose(model.objective_, expected.objective_, atol=2e-8)
    chances = model.predict_proba(on_card(X)).get()
    assert (chances.argmax(axis=1) == model.predict(X)).all() and abs(np.log(chances)[np.arange(N), y].mean()) < 1.0
    assert (model.predict(on_card(X)).get() == expected.predict(X)).mean() > 0.999


@pytest.mark.parametrize("labels", [np.arange(3), np.array(["a", "b", "c"])], ids=str)
def test_three_classes_of_rows_in_main_memory(labels):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=N)
    X, y = rng.normal(size=(N, 5)) + np.eye(3, 5)[y], labels[y]
    expected, model = (WassersteinSVC(radius=0.05, l2=0.005, engine=engine).fit(X, y) for engine in ("cpu", "gpu"))
    assert isinstance(model.coef_, np.ndarray) and model.coef_.shape == (3, 5) and len(model.result_) == 3
    assert model.classes_.tolist() == labels.tolist() and model.gap_.max() <= 1e-6
    np.testing.assert_allclose(model.objective_, expected.objective_, atol=2e-6)
    exact = expected.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), exact, atol=1e-3 * exact.std())


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    X, y = samples()
    rows, labels = torch.asarray(X, device="cuda"), torch.asarray(y, device="cuda")
    model = WassersteinSVC(radius=0.05).fit(rows, labels)
    assert isinstance(model.coef_, torch.Tensor) and model.coef_.is_cuda
    decided = model.predict(rows)
    assert isinstance(decided, torch.Tensor) and decided.is_cuda
    assert (decided.cpu().numpy() == WassersteinSVC(radius=0.05).fit(X, y).predict(X)).mean() > 0.999


def test_bad_values_are_found_on_the_card():
    X, y = samples()
    X[17, 3] = math.nan
    with pytest.raises(ValueError, match="row 17, column 3"):
        Problem(on_card(X), y)
    with pytest.raises(ValueError, match="one label per row"):
        Problem(on_card(X[:5]), y)


def test_other_solvers_say_where_the_rows_are():
    X, y = samples()
    with pytest.raises(ValueError, match="on a graphics card"):
        solve(Problem(on_card(X), y), "isg")
