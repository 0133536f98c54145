"""Wide rows in coordinates of their span: the same optimum, proven with all features, whatever the rows are."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from thorough import examples

from drsvm import Problem, WassersteinSVC, WassersteinSVCCV, certify, solve
from drsvm.defaults.binary_problems import BinaryProblems, at_centre
from drsvm.solvers.reformulation import SpanOfRows, in_span_of_rows

N = 30
D = 500


KINDS = {
    "plain": lambda rng, X: X,
    "sparse": lambda rng, X: sparse.csr_array(X * (rng.random((N, D)) < 0.2)),
    "float32": lambda rng, X: X.astype(np.float32),
    "large": lambda rng, X: 1e6 * X,
    "tiny": lambda rng, X: 1e-6 * X,
    "repeated": lambda rng, X: X[rng.integers(N // 2, size=N)],
    "nearly equal": lambda rng, X: X[:1] + 1e-5 * rng.normal(size=(N, D)),
    "few directions": lambda rng, X: rng.normal(size=(N, 3)) @ rng.normal(size=(3, D)),
    "zeros": lambda rng, X: np.where(np.arange(N)[:, None] % 3, X, 0.0),
}


def drawn(seed: int, kind: str = "plain"):
    """Return wide rows of a kind, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * rng.uniform(0.1, 3.0, size=D) + rng.normal(size=D)
    y = np.where(
        X[:, :5].sum(axis=1) + rng.normal(size=N) > np.median(X[:, :5].sum(axis=1)),
        1,
        0,
    )
    return KINDS[kind](rng, X), y


def fitted(X, y, weights=None, **parameters) -> WassersteinSVC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some optima are constant
        return WassersteinSVC(**parameters).fit(X, y, weights)


@examples(6, 300)
@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(list(KINDS)),
    radius=st.sampled_from([0.0, 0.01, 0.1, 1.0]),
    l2=st.sampled_from([0.01, 0.3, "auto"]),
    flip_cost=st.sampled_from([math.inf, 1.0]),
    intercept=st.sampled_from([True, False]),
    cost=st.sampled_from(["auto", 1.0, math.inf]),
    weighted=st.booleans(),
)
def test_the_optimum_is_that_of_all_features(
    seed, kind, radius, l2, flip_cost, intercept, cost, weighted
):
    X, y = drawn(seed, kind)
    weights = (
        np.random.default_rng(seed).integers(0, 3, N) + (np.arange(N) < 6)
        if weighted
        else None
    )
    ball = {
        "l2": l2,
        "flip_cost": flip_cost,
        "fit_intercept": intercept,
        "intercept_cost": cost,
    }
    model = fitted(X, y, weights, radius=radius, **ball)
    other = fitted(
        X,
        y,
        weights,
        radius=radius,
        solver="interior-point",
        **(ball | {"l2": model.l2_}),
    )
    assert model.result_.status.reached and model.gap_ <= 1e-6
    assert abs(model.objective_ - other.objective_) <= model.gap_ + other.gap_ + 1e-9
    assert model.coef_.shape == (1, D) and model.result_.hinge_dual.shape == (N,)


def test_the_proof_is_that_of_the_rows_as_they_are():
    X, y = drawn(0)
    problem = Problem(
        X,
        y,
        radius=0.1,
        l2=0.1,
        fit_intercept=True,
        flip_cost=math.inf,
        intercept_cost=1.0,
    )
    model = fitted(
        X,
        y,
        radius=0.1,
        l2=0.1,
        intercept_cost=1.0,
        class_weight=None,
        threshold="optimum",
    )
    centred = at_centre(problem)
    intercept = float(model.intercept_[0]) + float(centred.offset @ model.coef_[0])
    found = certify(
        centred.problem,
        model.coef_[0],
        intercept,
        model.result_.hinge_dual,
        model.result_.flip_dual,
    )
    assert found.objective == pytest.approx(model.objective_, abs=1e-12)
    assert (
        found.lower_bound == pytest.approx(model.result_.lower_bound, abs=1e-9)
        and found.gap <= 1e-6
    )


def test_classifiers_come_back_as_they_were():
    X, y = drawn(1)
    problem = Problem(
        X,
        y,
        radius=0.1,
        l2=0.1,
        fit_intercept=True,
        flip_cost=math.inf,
        intercept_cost=1.0,
    )
    centred = BinaryProblems.at_centre([problem], in_span=True).centred(0)
    assert isinstance(centred, SpanOfRows) and centred.problem.n_features <= N
    weights = X.T @ np.random.default_rng(0).normal(size=N)
    intercept = 0.3
    inside = centred.to_inner((weights, intercept))
    values = X @ weights + intercept
    np.testing.assert_allclose(
        centred.problem.decision_values(*inside),
        values,
        rtol=1e-8,
        atol=1e-8 * abs(values).max(),
    )
    assert np.linalg.norm(inside[0]) <= np.linalg.norm(weights) * (1 + 1e-9)


def test_what_depends_on_single_features_keeps_them():
    X, y = drawn(2)
    prices = (
        {"feature_cost": np.linspace(1.0, 2.0, D)},
        {"monotonic_cst": np.ones(D, dtype=int)},
    )
    for parameters in ({"norm": 1}, {"norm": np.inf}, *prices):
        centred = at_centre(Problem(X, y, radius=0.1, flip_cost=math.inf, **parameters))
        assert in_span_of_rows(centred) is centred, parameters


def test_neither_the_order_of_rows_nor_copies_matter():
    X, y = drawn(3)
    order = np.random.default_rng(0).permutation(N)
    model = fitted(X, y)
    other = fitted(X[order], y[order])
    np.testing.assert_allclose(
        other.decision_function(X), model.decision_function(X), atol=1e-4
    )
    counts = np.random.default_rng(1).integers(1, 3, N)
    weighted = fitted(X, y, counts)
    copied = fitted(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(
        copied.decision_function(X), weighted.decision_function(X), atol=1e-4
    )


def test_an_accuracy_that_other_coordinates_lose_is_reached_with_all_features(
    set_values,
):
    X, y = drawn(4)
    # Hardly a row is left
    set_values(dependent=0.5)
    model = fitted(X, y, radius=0.1, l2=0.1)
    exact = fitted(X, y, radius=0.1, l2=0.1, solver="interior-point")
    assert model.result_.status.reached and model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(exact.objective_, abs=1e-6)


def test_several_classes_and_cross_validation_agree_with_other_solvers():
    X, y = drawn(5)
    y = y + (X[:, 7] > np.median(X[:, 7]))
    model, other = (
        fitted(X, y, radius=0.1, l2=0.1, solver=solver)
        for solver in ("auto", "interior-point")
    )
    assert (model.gap_ <= 1e-6).all()
    np.testing.assert_allclose(model.objective_, other.objective_, atol=2e-6)
    np.testing.assert_allclose(
        model.decision_function(X), other.decision_function(X), atol=1e-3
    )
    settings = {"radii": [0.3, 0.1], "l2": 0.1, "cv": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quick, slow = (
            WassersteinSVCCV(solver=solver, **settings).fit(X, y > 0)
            for solver in ("auto", "dual-coordinate")
        )
    found, expected = (one.cv_results_["mean_test_score"] for one in (quick, slow))
    # A row may lie on the boundary
    np.testing.assert_allclose(found, expected, atol=1.5 / N)
    assert quick.coef_.shape == (1, D)


def test_solve_takes_starts_and_refuses_those_of_another_shape():
    X, y = drawn(6)
    problem = Problem(X, y, radius=0.1, l2=0.01, fit_intercept=True, intercept_cost=1.0)
    result = solve(problem)
    other = solve(problem, "interior-point")
    assert result.gap <= 1e-6 and result.objective == pytest.approx(
        other.objective, abs=2e-6
    )
    again = solve(problem, start=result)
    assert again.status.reached and again.n_iter <= result.n_iter
    with pytest.raises(ValueError, match="start"):
        solve(problem, start=(np.zeros(3), 0.0))
    with pytest.raises(TypeError, match="start must be a Result"):
        solve(problem, start=3.0)
    free = solve(problem.replace(radius=0.0, l2=0.0))
    assert (
        free.contribution_bound
        == solve(
            problem.replace(radius=0.0, l2=0.0), "interior-point"
        ).contribution_bound
    )
