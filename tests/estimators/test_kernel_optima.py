"""Fitted kernel classifiers against a conic model of the problem as the documentation states it."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from thorough import examples

from drsvm import WassersteinKernelSVC, WassersteinSVC
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


def optimum(K, signs, weights, *, radius, flip_cost, l2, fit_intercept, intercept_cost):
    """Return the optimum of ε λ + Σ π max(1 − m, 1 + m − κ λ, 0) + (l2/2) ‖f‖², the intercept priced at the centre."""
    pi = weights / weights.sum()
    rows = factor_of(K)
    rows = rows - pi @ rows if fit_intercept else rows  # a free intercept does not care
    w = cp.Variable(rows.shape[1])
    b = cp.Variable()
    lam = cp.Variable()
    margins = cp.multiply(signs, rows @ w + b)
    losses = [1 - margins, np.zeros(len(signs))]
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
