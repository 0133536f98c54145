"""Rows and kernels on a graphics card, compared with the CPU.

They need a GPU: `pytest -m gpu tests/engines`. Whether a pass over the rows has become
slow is measured by `python benchmarks/scale.py gpu --cases passes`.
"""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_moons
from thorough import for_each

from drsvm import (
    ClippedScaler,
    Problem,
    Status,
    WassersteinKernelSVC,
    WassersteinSVC,
    measure_shift,
    radius_max,
    radius_path,
    row_radius_max,
    solve,
    worst_case_risk,
)
from drsvm.engines.gpu import GpuError, cupy
from drsvm.problem import (
    ForGpu,
    Laplacian,
    Linear,
    Polynomial,
    Rbf,
    draw_by_class,
    draw_sample,
    in_feature_space,
    rows_of_functions,
    to_numpy,
)
from drsvm.problem.sampling import to_host

pytestmark = pytest.mark.gpu

try:
    cupy()
except GpuError as error:
    pytest.skip(str(error), allow_module_level=True)

N = 3000
D = 12
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


def check(X, y, tol=1e-8, solver="interior-point", **ball):
    """Return the result on the GPU, which has the same proven optimum as on the CPU."""
    expected = solve(Problem(X, y, **ball), "interior-point", tol=tol)
    result = solve(Problem(on_card(X), y, **ball), solver, tol=tol)
    assert result.gap <= tol and result.objective == pytest.approx(
        expected.objective, abs=2 * tol
    )
    return result


KINDS = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "sparse": lambda X: sparse.csr_array(np.where(np.abs(X) > 0.8, X, 0.0)),
}
INTERCEPTS = {
    "none": {},
    "free": {"fit_intercept": True},
    "priced": {"fit_intercept": True, "intercept_cost": 1.0},
}


@for_each(
    intercept=INTERCEPTS,
    flip_cost=[1.0, math.inf, "rows"],
    l2=[0.0, 1.0],
    norm=NORMS,
    kind=KINDS,
)
@for_each(weighted=[False, True])
def test_the_same_optimum(kind, norm, l2, flip_cost, intercept, weighted, set_values):
    X, y = samples()
    X = KINDS[kind](X)
    # Few features are factorised in main memory.
    set_values(features_of_host=D if weighted else 0)
    rng = np.random.default_rng(1)
    costs = 3.0 * rng.random(N) if flip_cost == "rows" else flip_cost
    ball = {
        "radius": 0.05,
        "norm": norm,
        "l2": l2,
        "flip_cost": costs,
        **INTERCEPTS[intercept],
    }
    ball |= (
        {"sample_weight": rng.integers(0, 3, size=N).astype(float)} if weighted else {}
    )
    result = check(X, y, solver="auto", **ball)
    assert isinstance(
        result.hinge_dual, cupy().ndarray
    ) and result.hinge_dual.shape == (N,)


@for_each(
    radii=["number", "rows"],
    intercept=INTERCEPTS,
    l2=[0.0, 1.0],
    norm=NORMS,
    kind=KINDS,
)
@for_each(weighted=[False, True])
def test_rows_that_each_shift(kind, norm, l2, intercept, radii, weighted):
    X, y = samples()
    rng = np.random.default_rng(1)
    ball = {
        "radius": 0.05,
        "norm": norm,
        "l2": l2,
        "flip_cost": math.inf,
        "row_radius": rng.uniform(0.0, 0.3, N) if radii == "rows" else 0.1,
        **INTERCEPTS[intercept],
    }
    if weighted:
        ball["sample_weight"] = rng.integers(0, 3, size=N).astype(float)
    check(KINDS[kind](X), y, **ball)


def test_radii_may_be_on_the_card_and_stay_with_their_rows():
    X, y = samples()
    radii = np.abs(X[:, 0])
    ball = {"radius": 0.05, "flip_cost": math.inf}
    there = Problem(on_card(X), y, row_radius=on_card(radii), **ball)
    assert isinstance(there.row_radius, cupy().ndarray)
    w = np.linspace(-1.0, 1.0, D)
    here = Problem(X, y, row_radius=radii, **ball)
    assert there.price_and_objective(w) == pytest.approx(
        here.price_and_objective(w), rel=1e-12
    )
    # A row is known by its first feature.
    few = draw_by_class(there, 50)
    for problem in (few, draw_sample(there, 100), to_host(few, math.inf)):
        first = to_numpy(to_host(problem, math.inf).X)[:, 0]
        np.testing.assert_array_equal(to_numpy(problem.row_radius), np.abs(first))
    host = to_host(there, math.inf)
    assert isinstance(host.row_radius, np.ndarray)
    assert host.price_and_objective(w) == pytest.approx(here.price_and_objective(w))


def test_estimators_whose_rows_each_shift():
    X, y = samples()
    radii = np.random.default_rng(1).uniform(0.0, 0.3, N)
    svc = WassersteinSVC(0.05, l2=0.005, tol=1e-8)
    for given in (0.2, radii):
        there = given if np.ndim(given) == 0 else on_card(given)
        expected = svc.fit(X, y, row_radius=given).objective_
        found = svc.fit(on_card(X), on_card(y), row_radius=there).objective_
        assert found == pytest.approx(expected, abs=2e-8)
    X, y = make_moons(500, noise=0.2, random_state=0)
    kernel = WassersteinKernelSVC(
        gamma=1.0, radius=0.01, l2=0.001, intercept_cost=1.0, tol=1e-6
    )
    radii = radii[:500]
    expected = kernel.fit(X, y, row_radius=radii).objective_
    for rows, there in ((X, radii), (on_card(X), on_card(radii))):
        kernel.set_params(engine="gpu").fit(rows, y, row_radius=there)
        assert kernel.objective_ == pytest.approx(expected, abs=2e-6)
        assert kernel.gap_ <= 1e-6


def test_a_path_over_radii_of_the_rows():
    X, y = samples()
    ball = {"radius": 0.01, "flip_cost": math.inf, "fit_intercept": True}
    here = Problem(X, y, **ball)
    there = Problem(on_card(X), y, **ball)
    largest = row_radius_max(here)
    assert row_radius_max(there) == pytest.approx(largest, rel=1e-6)
    radii = largest * np.array([0.5, 0.1])
    expected = radius_path(here, row_radii=radii, tol=1e-8)
    found = radius_path(there, row_radii=radii, tol=1e-8)
    for one, other in zip(found.results, expected.results, strict=True):
        assert one.objective == pytest.approx(other.objective, abs=2e-8)


def test_prices_and_signs():
    X, y = samples()
    prices = np.linspace(0.5, 2.0, D)
    prices[3] = math.inf
    check(
        X, y, radius=0.05, feature_cost=prices, monotonic_cst=np.resize([1, 0, -1], D)
    )


def test_radius_max_path_and_risk():
    X, y = samples()
    here = Problem(X, y, fit_intercept=True)
    there = Problem(on_card(X), y, fit_intercept=True)
    assert radius_max(there) == pytest.approx(radius_max(here), rel=1e-6)
    paths = [
        radius_path(problem, [0.3, 0.1, 0.03], tol=1e-8) for problem in (here, there)
    ]
    np.testing.assert_allclose(
        *([r.objective for r in path.results] for path in paths), atol=2e-8
    )
    model = WassersteinSVC(radius=0.05, flip_cost=1.0).fit(X, y)
    for loss in ("hinge", "zero-one"):
        risks = [worst_case_risk(model, rows, y, loss=loss) for rows in (X, on_card(X))]
        np.testing.assert_allclose(*risks, rtol=1e-9)
    here, there = (
        measure_shift(model, rows, y, rows + 1, random_state=0)
        for rows in (X, on_card(X))
    )
    assert there.moved == pytest.approx(here.moved, rel=1e-5)
    names, numbers = zip(
        *((column[0], column[1:]) for column in there.columns), strict=True
    )
    assert list(names) == [column[0] for column in here.columns]
    np.testing.assert_allclose(
        numbers, [column[1:] for column in here.columns], rtol=1e-6
    )


@for_each(fit_intercept=[False, True], norm=NORMS)
def test_a_newton_matrix_that_is_not_formed(norm, fit_intercept, set_values):
    set_values(features_on_gpu=10)
    X, y = samples()
    check(
        KINDS["sparse"](X),
        y,
        tol=1e-6,
        radius=0.05,
        norm=norm,
        fit_intercept=fit_intercept,
    )


def test_far_columns_are_shifted_and_ill_conditioned_ones_solved():
    rng = np.random.default_rng(2)
    scale = np.logspace(0, -3, 40)
    X = rng.normal(size=(20_000, 40)) * scale + 0.5
    y = np.where(
        (X - 0.5) @ rng.normal(size=40) + 0.5 * rng.normal(size=20_000) > 0, 1, -1
    )
    for norm in NORMS:
        assert (
            check(X, y, tol=1e-7, radius=0.01, norm=norm, fit_intercept=True).status
            is Status.OPTIMAL
        )


@pytest.mark.parametrize("kind", ["dense", "float32"])
def test_rows_that_do_not_fit_cross_in_every_pass(kind, set_values):
    X, y = samples()
    X = KINDS[kind](X)
    # Less than the rows and their state take
    set_values(memory_of_gpu=600_000, block_bytes_of_gpu=10_000)
    # A given ridge: the automatic one comes from a rough solution, which depends on
    # where the rows are.
    expected = WassersteinSVC(radius=0.05, l2=0.005, tol=1e-8).fit(X, y)
    model = WassersteinSVC(radius=0.05, l2=0.005, tol=1e-8, engine="gpu").fit(X, y)
    assert model.objective_ == pytest.approx(expected.objective_, abs=2e-8)
    assert (
        isinstance(model.coef_, np.ndarray)
        and (model.predict(X) == expected.predict(X)).mean() > 0.99
    )


def test_state_that_does_not_fit_is_an_error(set_values):
    X, y = samples()
    set_values(memory_of_gpu=100_000)
    with pytest.raises(GpuError, match="GB of the GPU are free"):
        WassersteinSVC(radius=0.05, engine="gpu").fit(X, y)


@pytest.mark.parametrize(
    "labels", [np.array([-1, 1]), np.array(["no", "yes"])], ids=str
)
def test_the_estimator_stays_on_the_card(labels):
    X, y = samples()
    X += 1.0
    named = labels[(y > 0).astype(int)]
    given = {"tol": 1e-8, "calibration": "sigmoid"}
    expected = WassersteinSVC(**given).fit(X, named)
    model = WassersteinSVC(**given).fit(on_card(X), named)
    assert isinstance(model.coef_, cupy().ndarray) and model.radius_ == pytest.approx(
        expected.radius_, rel=1e-2
    )
    np.testing.assert_allclose(model.coef_.get(), expected.coef_, atol=1e-2)
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=1e-9)
    decided = model.predict(on_card(X))
    decided = decided.get() if isinstance(decided, cupy().ndarray) else decided
    assert (decided == expected.predict(X)).mean() > 0.999
    assert (model.predict(X) == decided).all()  # rows in main memory too
    np.testing.assert_allclose(
        model.predict_proba(on_card(X)).get(), expected.predict_proba(X), atol=0.02
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_scaler_in_front_stays_on_the_card(dtype):
    X = samples()[0].astype(dtype)
    X[3] = 1e6
    here = ClippedScaler().fit(X)
    there = ClippedScaler().fit(on_card(X))
    np.testing.assert_allclose(there.upper_, here.upper_)
    found = there.transform(on_card(X))
    assert isinstance(found, cupy().ndarray) and found.dtype == dtype
    np.testing.assert_allclose(found.get(), here.transform(X), rtol=1e-4, atol=1e-4)
    stored = sparse.csr_array(X * (np.abs(X) > 1))
    found = ClippedScaler().fit(on_card(stored)).transform(on_card(stored))
    np.testing.assert_allclose(
        found.get().toarray(),
        ClippedScaler().fit_transform(stored).toarray(),
        rtol=1e-4,
    )


def three_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=N)
    return rng.normal(size=(N, 5)) + np.eye(3, 5)[y], y


def test_three_classes_of_weight():
    X, y = three_classes()
    expected = WassersteinSVC(radius=0.05, class_weight="balanced", tol=1e-8).fit(X, y)
    given = {
        "radius": 0.05,
        "class_weight": "balanced",
        "tol": 1e-8,
        "calibration": "sigmoid",
    }
    model = WassersteinSVC(**given).fit(on_card(X), on_card(y))
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(model.objective_, expected.objective_, atol=2e-8)
    chances = model.predict_proba(on_card(X)).get()
    assert (chances.argmax(axis=1) == model.predict(X)).all() and abs(
        np.log(chances)[np.arange(N), y].mean()
    ) < 1.0
    assert (model.predict(on_card(X)).get() == expected.predict(X)).mean() > 0.999


@pytest.mark.parametrize("labels", [np.arange(3), np.array(["a", "b", "c"])], ids=str)
def test_three_classes_of_rows_in_main_memory(labels):
    X, codes = three_classes()
    y = labels[codes]
    expected, model = (
        WassersteinSVC(radius=0.05, l2=0.005, engine=engine).fit(X, y)
        for engine in ("cpu", "gpu")
    )
    assert (
        isinstance(model.coef_, np.ndarray)
        and model.coef_.shape == (3, 5)
        and len(model.result_) == 3
    )
    assert model.classes_.tolist() == labels.tolist() and model.gap_.max() <= 1e-6
    np.testing.assert_allclose(model.objective_, expected.objective_, atol=2e-6)
    exact = expected.decision_function(X)
    np.testing.assert_allclose(
        model.decision_function(X), exact, atol=1e-3 * exact.std()
    )


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    X, y = samples()
    rows = torch.asarray(X, device="cuda")
    labels = torch.asarray(y, device="cuda")
    model = WassersteinSVC(radius=0.05).fit(rows, labels)
    assert isinstance(model.coef_, torch.Tensor) and model.coef_.is_cuda
    decided = model.predict(rows)
    assert isinstance(decided, torch.Tensor) and decided.is_cuda
    assert (
        decided.cpu().numpy() == WassersteinSVC(radius=0.05).fit(X, y).predict(X)
    ).mean() > 0.999


@pytest.mark.parametrize("bad", [-1e-300, math.nan, math.inf])
def test_bad_weights_on_the_card(bad):
    X, y = samples()
    weights = cupy().ones(N)
    weights[7] = bad
    with pytest.raises(ValueError, match="finite and at least 0"):
        Problem(on_card(X), y, sample_weight=weights)


def test_weights_and_labels_on_the_card_are_those_in_memory():
    X, y = samples()
    weights = np.random.default_rng(1).integers(0, 3, size=N).astype(float)
    for scale in (1.0, 1e-200, 1e200):
        there = Problem(
            on_card(X), on_card(y > 0), sample_weight=on_card(scale * weights)
        )
        here = Problem(X, y > 0, sample_weight=scale * weights)
        np.testing.assert_allclose(
            to_numpy(there.sample_weight), here.sample_weight, rtol=1e-12
        )
        assert (to_numpy(there.signs) == here.signs).all()
        assert (there.classes == here.classes).all()
    with pytest.raises(ValueError, match="exactly two labels"):
        Problem(on_card(X), on_card(y > 2))


def test_bad_values_and_other_solvers():
    X, y = samples()
    with pytest.raises(ValueError, match="on a graphics card"):
        solve(Problem(on_card(X), y), "isg")
    X[17, 3] = math.nan
    with pytest.raises(ValueError, match="row 17, column 3"):
        Problem(on_card(X), y)
    with pytest.raises(ValueError, match="one label per row"):
        Problem(on_card(X[:5]), y)


FUNCTIONS = {
    "rbf": Rbf(0.3),
    "laplacian": Laplacian(0.2),
    "poly": Polynomial(0.3, 2, 1.0),
    "linear": Linear(),
}


def curved_samples(n=700, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return (
        X,
        np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1),
        rng.integers(0, 3, size=n),
    )


@pytest.fixture(params=["kept", "in tiles"])
def many_rows(request, set_values):
    """Few rows keep all values of the kernel.

    With more of them, values are computed in tiles, here small ones.
    """
    if request.param == "in tiles":
        set_values(
            stored_values=100,
            pairs_for_centre=200_000,
            tile_rows=64,
            tile_columns=100,
        )


@for_each(
    intercept_cost=[math.inf, 0.7], flip_cost=[math.inf, 1.0, "rows"], name=FUNCTIONS
)
@pytest.mark.usefixtures("many_rows")
def test_the_same_optimum_of_a_kernel(name, flip_cost, intercept_cost):
    X, y, weights = curved_samples()
    costs = (
        np.random.default_rng(1).uniform(0.5, 3.0, size=len(y))
        if flip_cost == "rows"
        else flip_cost
    )
    ball = {
        "radius": 0.02,
        "flip_cost": costs,
        "l2": 0.01,
        "fit_intercept": True,
        "intercept_cost": intercept_cost,
    }
    here, there = (
        in_feature_space(rows, FUNCTIONS[name], y, weights, **ball)
        for rows in (X, ForGpu(X))
    )
    expected = solve(here, tol=1e-7)
    result = solve(there, tol=1e-7)
    assert result.gap <= 1e-7 and result.objective == pytest.approx(
        expected.objective, abs=2e-7
    )
    assert isinstance(result.weights, np.ndarray) and isinstance(
        result.hinge_dual, cupy().ndarray
    )
    # Rows in memory are in another order
    order = np.searchsorted(to_numpy(there.kept), here.kept)
    margins = to_numpy(there.margins(result.weights))
    np.testing.assert_allclose(
        margins[order], here.margins(result.weights[order]), atol=1e-10
    )


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.usefixtures("many_rows")
def test_sums_and_norms_are_those_in_memory(name):
    X, _, c = curved_samples()
    here, there = (rows_of_functions(rows, FUNCTIONS[name]) for rows in (X, ForGpu(X)))
    np.testing.assert_allclose(
        to_numpy(there.at(X[:50], c)), here.at(X[:50], c), rtol=1e-12
    )
    c = c - c.mean()
    assert there.coordinates(c)[0] == pytest.approx(here.coordinates(c)[0], rel=1e-8)


def test_estimators_of_kernels_work_where_the_rows_are():
    X, y = make_moons(600, noise=0.25, random_state=0)
    settings = {"radius": 0.01, "l2": 0.005, "tol": 1e-6}
    expected = WassersteinKernelSVC(**settings).fit(X, y)
    for place, rows, labels in (
        ("gpu", X, y),
        ("auto", cupy().asarray(X), cupy().asarray(y)),
    ):
        model = WassersteinKernelSVC(**settings, engine=place).fit(rows, labels)
        assert (
            model.objective_ == pytest.approx(expected.objective_, abs=2e-6)
            and model.gap_ <= 1e-6
        )
        assert (
            isinstance(model.landmarks_, np.ndarray)
            and abs(model.threshold_ - expected.threshold_) < 0.1
        )
        there = model.predict(cupy().asarray(X))
        here = model.predict(X)
        assert isinstance(there, cupy().ndarray) and isinstance(here, np.ndarray)
        assert (to_numpy(there) == here).mean() > 0.99 and (
            here == expected.predict(X)
        ).mean() > 0.98


def test_several_classes_of_a_kernel_with_the_rules_and_probabilities():
    X, y = load_iris(return_X_y=True)
    names = np.array(["one", "two", "three"])[y]
    model = WassersteinKernelSVC(calibration="sigmoid", engine="gpu").fit(
        X, names, np.r_[np.zeros(5), np.ones(145)]
    )
    assert (
        model.score(X, names) > 0.9
        and model.gap_.max() <= 1e-4
        and model.landmark_indices_.min() >= 5
    )
    shares = model.predict_proba(cupy().asarray(X))
    np.testing.assert_allclose(to_numpy(shares), model.predict_proba(X), atol=1e-9)


def test_rules_of_many_rows_come_from_a_sample():
    X, y = make_moons(7000, noise=0.3, random_state=0)
    here, there = (
        WassersteinKernelSVC(threshold="optimum", engine=engine).fit(X, y)
        for engine in ("cpu", "gpu")
    )
    assert there.gap_ <= 1e-4 and there.radius_ == pytest.approx(here.radius_, rel=0.05)
    assert there.objective_ == pytest.approx(here.objective_, abs=5e-3)


def test_what_a_card_does_not_take():
    X, y = make_moons(60, noise=0.25, random_state=0)
    for kernel in ("precomputed", lambda X, Z: X @ Z.T):
        with pytest.raises(ValueError, match="engine='cpu'"):
            WassersteinKernelSVC(kernel, engine="gpu").fit(
                X @ X.T if kernel == "precomputed" else X, y
            )
