"""Fitted kernel classifiers against a conic model of the problem as the documentation states it."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from thorough import examples

from drsvm import WassersteinKernelSVC, WassersteinSVC, certified_accuracy
from drsvm.problem import kernel_rows
from drsvm.solvers.landmarks import landmark_solver as solver

cp = pytest.importorskip("cvxpy")

CONSTANT = (
    "ignore:The fitted classifier is constant",
    "ignore:radius / flip_cost",
    "ignore:radius=",
)

KERNELS = {
    "linear": lambda X: X @ X.T,
    "rbf": lambda X: rbf_kernel(X, gamma=0.3),
    "poly": lambda X: polynomial_kernel(X, degree=2, gamma=0.3, coef0=1.0),
    "precomputed": lambda X: rbf_kernel(X, gamma=0.1) + 0.2 * X @ X.T,
}


def factor_of(K):
    """Return rows whose products are K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.where(values > 1e-13 * values.max(), values, 0.0))


def optimum(
    K,
    signs,
    weights,
    *,
    radius,
    flip_cost,
    l2,
    fit_intercept,
    intercept_cost,
    reach=0.0,
):
    """Return the optimum of ε λ + Σ π max(1 − m + R λ, 1 + m − κ λ, 0) + (l2/2) ‖f‖², the intercept priced at the centre."""
    pi = weights / weights.sum()
    rows = factor_of(K)
    rows = rows - pi @ rows if fit_intercept else rows  # a free intercept does not care
    w = cp.Variable(rows.shape[1])
    b = cp.Variable()
    lam = cp.Variable()
    margins = cp.multiply(signs, rows @ w + b)
    losses = [1 - margins + reach * lam, np.zeros(len(signs))]
    if math.isfinite(flip_cost):
        losses.append(1 + margins - flip_cost * lam)
    sized = (
        cp.hstack([w, b / intercept_cost])
        if fit_intercept and math.isfinite(intercept_cost)
        else w
    )
    limits = [cp.norm(sized) <= lam] + ([] if fit_intercept else [b == 0])
    objective = radius * lam + pi @ cp.maximum(*losses) + l2 / 2 * cp.sum_squares(w)
    problem = cp.Problem(cp.Minimize(objective), limits)
    accuracy = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
    with warnings.catch_warnings():
        # By its own measure, far below the test's
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        return problem.solve(solver=cp.CLARABEL, **accuracy)


def random_case(seed):
    """Return rows, which may be far from 0, labels, weights and the parameters of the ball."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 61))
    d = int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    signs = np.where(
        X[:, 0] * X[:, -1] + 0.5 * rng.normal(size=n) > rng.normal(), 1, -1
    )
    signs[:2] = 1, -1
    X += rng.choice([0.0, 3.0]) * rng.normal(size=d)
    weights = rng.uniform(0.2, 2.0, size=n) if rng.random() < 0.5 else None
    l2 = float(rng.choice([0.0, 10.0 ** rng.uniform(-3, 0)]))
    ball = {
        "radius": float(rng.choice([10.0 ** rng.uniform(-3, 0), 0.0 if l2 else 0.01])),
        "flip_cost": float(rng.choice([math.inf, 10.0 ** rng.uniform(-1, 1)])),
        "l2": l2,
        "fit_intercept": bool(rng.random() < 0.5),
        "intercept_cost": float(rng.choice([math.inf, 10.0 ** rng.uniform(-1.5, 1)])),
    }
    return X, signs, weights, ball


@pytest.mark.filterwarnings(*CONSTANT, "ignore:The proven gap")
@examples(32, 1000)
@given(
    st.integers(0, 100_000),
    st.sampled_from(sorted(KERNELS)),
    st.booleans(),
    st.booleans(),
)
def test_the_optimum_of_the_stated_problem_is_found(seed, kernel, grows, in_blocks):
    """At once or in a span that grows, with values of the kernel that are kept or computed again."""
    X, signs, weights, ball = random_case(seed)
    K = KERNELS[kernel](X)
    gamma = {"gamma": 0.3, "degree": 2, "coef0": 1.0}
    model = WassersteinKernelSVC(
        kernel, **gamma, **ball, class_weight=None, threshold="optimum", tol=3e-7
    )
    with pytest.MonkeyPatch.context() as patch:
        if grows:
            patch.setattr(solver, "ALL_AT_ONCE", 0)
            patch.setattr(solver, "FIRST", 8)
        if in_blocks:
            patch.setattr(kernel_rows, "MAX_STORED", 10)
        model.fit(K if kernel == "precomputed" else X, signs, weights)
    # One in twenty polynomials, and a few in a thousand others, stall above their
    # tolerance.
    assert model.gap_ <= {"linear": 3e-7, "poly": 1e-4}.get(kernel, 1e-5)
    best = optimum(K, signs, np.ones(len(X)) if weights is None else weights, **ball)
    assert (
        model.objective_ == pytest.approx(best, abs=1e-6)
        and model.lower_bound_ <= best + 1e-7
    )
    assert ball["fit_intercept"] or model.intercept_ == pytest.approx(
        0.0, abs=1e-11
    )  # so much for a constant one


def proven(K, signs, weights, reach, alpha, *, ball):
    """Return the dual value of multipliers, 0 if they are not feasible."""
    pi = weights / weights.sum()
    slack = 1e-9
    if alpha.min() < -slack or (alpha > pi + slack).any():
        return 0.0
    rows = factor_of(K)
    if ball["fit_intercept"]:
        rows = rows - pi @ rows
    size = np.linalg.norm((alpha * signs) @ rows)
    rest = ball["radius"] + reach @ alpha
    if ball["fit_intercept"]:
        v0 = abs(alpha @ signs)
        if math.isinf(ball["intercept_cost"]):
            assert v0 <= slack
        else:
            rest = math.sqrt(max(rest**2 - (ball["intercept_cost"] * v0) ** 2, 0.0))
    outside = max(size - rest, 0.0)
    if ball["l2"] == 0.0:
        return alpha.sum() if outside <= slack else 0.0
    return alpha.sum() - outside**2 / (2.0 * ball["l2"])


@pytest.mark.filterwarnings(*CONSTANT, "ignore:The proven gap")
@examples(4, 100)
@given(st.integers(0, 100_000), st.booleans(), st.booleans(), st.booleans())
def test_the_optimum_of_rows_that_each_shift(seed, is_linear, by_row, grows):
    X, signs, weights, ball = random_case(seed)
    ball["flip_cost"] = math.inf
    if seed % 3 == 0:
        ball["radius"] = 0.0
    radii = 0.5 * np.random.default_rng(seed).uniform(size=len(X))
    if not by_row:
        radii[:] = radii[0]
    gamma = 0.3
    K = KERNELS["linear" if is_linear else "rbf"](X)
    reach = radii if is_linear else np.sqrt(2.0 - 2.0 * np.exp(-gamma * radii**2))
    model = WassersteinKernelSVC(
        "linear" if is_linear else "rbf",
        gamma=gamma,
        **ball,
        class_weight=None,
        threshold="optimum",
        tol=3e-7,
    )
    with pytest.MonkeyPatch.context() as patch:
        if grows:
            patch.setattr(solver, "ALL_AT_ONCE", 0)
            patch.setattr(solver, "FIRST", 8)
        if by_row:
            model.fit(X, signs, weights, row_radius=radii)
        else:
            model.set_params(row_radius=radii[0]).fit(X, signs, weights)
    weights = np.ones(len(X)) if weights is None else weights
    best = optimum(K, signs, weights, reach=reach, **ball)
    assert model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(best, abs=1e-6)
    alpha = model.result_.hinge_dual
    bound = proven(K, signs, weights, reach, alpha, ball=ball)
    assert bound == pytest.approx(model.lower_bound_, abs=1e-7)


def test_landmarks_of_many_rows_that_each_shift():
    X, y = make_moons(350, noise=0.3, random_state=0)
    radii = 0.2 * np.random.default_rng(0).uniform(size=350)
    ball = {"radius": 0.01, "l2": 1e-3}
    # The intercept has no cost, so the centre does not matter.
    settings = {
        "gamma": 1.0,
        "intercept_cost": math.inf,
        "class_weight": None,
        "threshold": "optimum",
        **ball,
    }
    best = optimum(
        rbf_kernel(X, gamma=1.0),
        2 * y - 1,
        np.ones(350),
        reach=np.sqrt(2.0 - 2.0 * np.exp(-(radii**2))),
        flip_cost=math.inf,
        fit_intercept=True,
        intercept_cost=math.inf,
        **ball,
    )
    grown = WassersteinKernelSVC(**settings).fit(X, y, row_radius=radii)
    assert grown.gap_ <= 1e-4
    few = WassersteinKernelSVC(n_landmarks=20, **settings).fit(X, y, row_radius=radii)
    for model in (grown, few):
        assert model.lower_bound_ - 1e-7 <= best <= model.objective_ + 1e-7
    # In the span of given landmarks, with a bound for all functions
    means = WassersteinKernelSVC(landmarks=X[::20], **settings)
    means.fit(X, y, row_radius=radii)
    assert means.result_.info["bound_anywhere"] - 1e-7 <= best
    assert best <= means.objective_ + 1e-7


def decisions_after_shifts(model, X, radii):
    """Return the decisions of rows at many places within their radii, (places, n)."""
    directions = np.random.default_rng(1).normal(size=(300, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    prices = np.ones(2) if model.feature_cost is None else model.feature_cost
    found = []
    for share in (0.3, 1.0):
        lengths = share * np.broadcast_to(radii, len(X))[:, None] / prices
        shifted = X + directions[:, None, :] * lengths
        values = model.decision_function(shifted.reshape(-1, 2))
        found.append(values.reshape(300, len(X)))
    return np.concatenate(found)


@pytest.mark.parametrize("row_radius", [0.0, 0.2])
def test_certified_accuracy_of_kernels_is_a_lower_bound(row_radius):
    X, y = make_moons(100, noise=0.2, random_state=0)
    signs = 2 * y - 1
    model = WassersteinKernelSVC(gamma=1.0, row_radius=row_radius).fit(X, y)
    for radius in (0.1, 0.3):
        certified = certified_accuracy(model, X, y, radius)
        values = signs * decisions_after_shifts(model, X, radius)
        unharmed = (values > 0.0).all(axis=0).mean()
        assert unharmed - radius < certified <= unharmed
    linear = WassersteinKernelSVC("linear", row_radius=row_radius).fit(X, y)
    values = signs * linear.decision_function(X)
    exact = (values > 0.2 * np.linalg.norm(linear.coef_)).mean()
    assert certified_accuracy(linear, X, y, 0.2) == pytest.approx(exact)
    with pytest.raises(ValueError, match="Nothing is claimed"):
        certified_accuracy(WassersteinKernelSVC("poly").fit(X, y), X, y, 0.1)


def test_the_loss_after_any_shift_is_below_the_objective():
    X, y = make_moons(100, noise=0.2, random_state=0)
    radii = 0.3 * np.random.default_rng(0).uniform(size=100)
    prices = np.array([1.0, 2.0])
    model = WassersteinKernelSVC(
        gamma=1.0,
        radius=1e-3,
        l2=0.0,
        feature_cost=prices,
        class_weight=None,
        threshold="optimum",
    ).fit(X, y, row_radius=radii)
    # Each row at the worst of many places within its radius
    values = decisions_after_shifts(model, X, radii)
    worst = np.maximum(1.0 - (2 * y - 1) * values, 0.0).max(axis=0).mean()
    unmoved = np.maximum(1.0 - (2 * y - 1) * model.decision_function(X), 0.0).mean()
    assert unmoved + 0.05 < worst <= model.objective_


@pytest.mark.parametrize("kernel", ["laplacian", "poly", "precomputed"])
def test_other_kernels_say_that_rows_cannot_shift(kernel):
    X, y = make_moons(40, random_state=0)
    with pytest.raises(ValueError, match="row_radius needs kernel='rbf' or 'linear'"):
        WassersteinKernelSVC(kernel, row_radius=0.1).fit(X @ X.T, y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("in_span", [False, True])
def test_without_an_intercept_rows_stay_where_they_are(n_classes, in_span):
    """With a linear kernel, the classifier is the linear one, also in the span of given landmarks."""
    X = np.random.default_rng(0).normal(size=(60, 2)) + 3.0
    y = np.digitize(X[:, 0], [3.0, 4.0][: n_classes - 1])
    settings = {
        "fit_intercept": False,
        "radius": 0.01,
        "l2": 0.01,
        "threshold": "optimum",
        "tol": 1e-7,
    }
    kernel = WassersteinKernelSVC(
        "linear", landmarks=X if in_span else None, **settings
    ).fit(X, y)
    linear = WassersteinSVC(**settings).fit(X, y)
    np.testing.assert_allclose(kernel.objective_, linear.objective_, atol=2e-7)
    assert not kernel.intercept_.any()
    np.testing.assert_allclose(kernel.coef_, linear.coef_, atol=1e-3)
