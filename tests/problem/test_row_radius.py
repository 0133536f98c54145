"""Rows that may each shift on their own, beyond the average shift of all."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from thorough import examples, for_each

from drsvm import Problem, Status, WassersteinSVC, certify, solve
from drsvm.engines.gpu.gpu_rows import CupyRows
from drsvm.solvers import InteriorPoint


@st.composite
def problems(draw):
    """Draw small problems of all norms, costs, signs and weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(4, 60))
    d = draw(st.integers(1, 6))
    y = rng.permutation([1, -1, *rng.choice([-1, 1], n - 2)])
    X = draw(st.sampled_from([0.1, 1.0, 10.0])) * rng.normal(size=(n, d))
    radii = rng.uniform(size=n) * (rng.uniform(size=n) < 0.7)
    scale = draw(st.sampled_from([0.05, 0.3, 1.0]))
    parameters = {
        "radius": draw(st.sampled_from([0.0, 1e-6, 0.01, 0.1, 0.3])),
        "norm": draw(st.sampled_from([1, 2, math.inf])),
        "l2": draw(st.sampled_from([0.0, 1e-3, 0.1])),
        "flip_cost": math.inf,
        "fit_intercept": draw(st.booleans()),
        "intercept_cost": draw(st.sampled_from([math.inf, 0.3, 1.0, 5.0])),
        "row_radius": scale * (radii if draw(st.booleans()) else 1.0),
    }
    if draw(st.booleans()):
        parameters["feature_cost"] = rng.choice([0.5, 1.0, 3.0], d)
    if draw(st.booleans()):
        parameters["monotonic_cst"] = rng.choice([-1, 0, 1], d)
    if draw(st.booleans()):
        parameters["sample_weight"] = rng.uniform(0.1, 1.0, n)
    return Problem(X + 0.5 * y[:, None], y, **parameters)


@examples(8, 600)
@given(problem=problems(), compiled=st.booleans())
def test_the_optimum_is_that_of_a_conic_solver(problem, compiled):
    result = solve(problem, InteriorPoint(compiled_steps=compiled), tol=1e-8)
    assert result.gap <= 1e-8
    other = solve(problem, "conic", tol=1e-8)
    # Neither can be below a bound of the other.
    assert result.objective >= other.lower_bound - 1e-9
    assert result.objective <= other.objective + 1e-7
    again = certify(problem, result.weights, result.intercept, result.hinge_dual)
    assert again.objective == pytest.approx(result.objective, abs=1e-12)
    assert again.gap <= 1e-8


@pytest.mark.parametrize("norm", [1, math.inf])
def test_the_optimum_is_that_of_a_linear_program(norm):
    rng = np.random.default_rng(0)
    n, d = 40, 3
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + 0.6 * y[:, None]
    radii = 0.3 * rng.uniform(size=n)
    problem = Problem(
        X, y, radius=0.05, norm=norm, flip_cost=math.inf, row_radius=radii
    )
    # Variables w⁺, w⁻ ≥ 0, λ and the losses s_i ≥ 1 − m_i + r_i λ. The largest weight,
    # or the sum of all, is at most λ.
    signed = y[:, None] * X
    losses = np.hstack([-signed, signed, radii[:, None], -np.eye(n)])
    size = np.hstack([np.eye(d), np.eye(d), -np.ones((d, 1)), np.zeros((d, n))])
    if norm == math.inf:
        size = np.concatenate([np.ones(2 * d), [-1.0], np.zeros(n)])[None]
    costs = np.concatenate([np.zeros(2 * d), [0.05], np.full(n, 1.0 / n)])
    bounds = np.concatenate([-np.ones(n), np.zeros(len(size))])
    exact = linprog(costs, np.vstack([losses, size]), bounds)
    assert solve(problem, tol=1e-9).objective == pytest.approx(exact.fun, abs=1e-8)


def rows_of_two_classes(n=60):
    rng = np.random.default_rng(1)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 3)) + y[:, None]
    return X, y, 0.4 * rng.uniform(size=n)


TRUSTED = {"radius": 0.05, "flip_cost": math.inf, "fit_intercept": True}


def test_the_objective_is_the_risk_after_the_worst_shift_of_every_row():
    X, y, radii = rows_of_two_classes()
    problem = Problem(X, y, row_radius=radii, l2=0.01, **TRUSTED)
    result = solve(problem)
    w = result.weights
    signs = 2 * y - 1
    direction = w / np.linalg.norm(w)
    shifted = X - (signs * radii)[:, None] * direction
    without = Problem(shifted, y, l2=0.01, **TRUSTED)
    assert without.objective(w, result.intercept) == pytest.approx(result.objective)


def test_order_copies_and_weights_do_not_matter():
    X, y, radii = rows_of_two_classes()
    weights = np.arange(len(y)) % 3 + 1
    options = {"l2": 0.01, **TRUSTED}
    weighted = Problem(X, y, sample_weight=weights, row_radius=radii, **options)
    expected = solve(weighted, tol=1e-10)
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), weights))
    copied = Problem(X[rows], y[rows], row_radius=radii[rows], **options)
    found = solve(copied, tol=1e-10)
    assert found.objective == pytest.approx(expected.objective, abs=1e-9)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_without_an_average_a_bound_may_be_for_limited_weights(norm, fit_intercept):
    # All rows are as far from the boundary as they may shift: no multipliers but 0 are
    # inside the ball, and those of the optimum on its boundary.
    X = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    y = [1, 1, -1, -1]
    options = TRUSTED | {"radius": 0.0, "norm": norm, "fit_intercept": fit_intercept}
    problem = Problem(X, y, row_radius=1.0, **options)
    result = solve(problem, tol=1e-7)
    assert result.objective == pytest.approx(0.5, abs=1e-7)
    assert result.status is Status.OPTIMAL_WITHIN_BOUNDS
    assert result.weight_bound > 1e5
    # Half as far they may shift, and every row can be safe: the bound is that of all.
    safe = solve(problem.replace(row_radius=0.5), tol=1e-7)
    assert safe.objective <= 1e-7
    assert safe.status is Status.OPTIMAL


@for_each(norm=[1, 2, math.inf], n=[300, 30_000])
def test_without_an_average_radii_may_be_of_safe_rows_only(norm, n):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = rng.normal(size=(n, 4)) + 0.7 * y[:, None]
    radii = np.zeros(n)
    radii[np.argsort(y * X.sum(axis=1))[-n // 100 :]] = 0.5
    problem = Problem(X, y, norm=norm, **TRUSTED | {"radius": 0.0})
    ordinary = solve(problem)
    result = solve(problem.replace(row_radius=radii))
    assert result.gap <= 1e-6
    assert result.objective == pytest.approx(ordinary.objective, abs=2e-6)


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_a_bound_for_limited_weights_is_sharp(norm):
    X = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    options = {"norm": norm, "flip_cost": math.inf, "radius": 0.0}
    # Very large weights make every row safe.
    problem = Problem(X, [1, 1, -1, -1], row_radius=1.0 - 1e-8, **options)
    assert problem.objective(np.array([1e8])) <= 1e-6
    dual = certify(problem, [1.0], hinge_dual=[0.25, 0.0, 0.25, 0.0]).dual
    largest = problem.objective(np.array([dual.weight_bound]))
    assert dual.lower_bound == pytest.approx(largest, rel=1e-7)
    assert dual.lower_bound <= largest
    # With larger ones in hand, the bound is for those, too, and says nothing here.
    assert certify(problem, [1e8], hinge_dual=[0.25, 0.0, 0.25, 0.0]).lower_bound == 0


def test_rows_without_weight_have_no_radius():
    X, y, radii = rows_of_two_classes()
    weights = (np.arange(len(y)) % 5 > 0).astype(float)
    kept = weights > 0
    some = Problem(X, y, sample_weight=weights, row_radius=radii, **TRUSTED)
    few = Problem(X[kept], y[kept], row_radius=radii[kept], **TRUSTED)
    assert solve(some).objective == pytest.approx(solve(few).objective, abs=1e-6)


def test_no_radius_changes_nothing():
    X, y, _ = rows_of_two_classes()
    plain = solve(Problem(X, y, **TRUSTED))
    zero = solve(Problem(X, y, row_radius=np.zeros(len(y)), **TRUSTED))
    assert plain.weights.tolist() == zero.weights.tolist()


@for_each(norm=[1, 2, math.inf], radius=[1e-6, 1e-5, 1e-4])
def test_a_tiny_average_radius_takes_few_iterations(norm, radius):
    rng = np.random.default_rng(10)
    y = np.where(rng.random(1000) < 0.4, 1, -1)
    X = rng.normal(size=(1000, 4)) + 0.5 * y[:, None]
    radii = rng.uniform(0, 0.5, 1000)
    options = TRUSTED | {"radius": radius, "norm": norm, "row_radius": radii}
    result = solve(Problem(X, y, **options), "interior-point", tol=1e-6)
    assert result.gap <= 1e-6
    assert result.n_iter <= 50


def test_many_rows_are_solved_on_a_working_set():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30_000, 5))
    y = X[:, 0] + rng.normal(size=len(X)) > 0
    radii = 0.3 * rng.uniform(size=len(X))
    result = solve(Problem(X, y, row_radius=radii, **TRUSTED), "interior-point")
    assert result.gap <= 1e-8
    assert result.info["row_iterations"] < result.n_iter


WRONG = (
    ({"row_radius": -0.1}, "row_radius must be finite and at least 0"),
    ({"row_radius": [0.1]}, "row_radius must be a number or have one entry per row"),
    ({"row_radius": np.full(60, math.nan)}, "row_radius"),
    ({"row_radius": 0.1, "flip_cost": 1.0}, "row_radius needs flip_cost=inf"),
)


@pytest.mark.parametrize(("parameters", "message"), WRONG)
def test_wrong_radii_are_named(parameters, message):
    X, y, _ = rows_of_two_classes()
    with pytest.raises(ValueError, match=message):
        Problem(X, y, **(TRUSTED | parameters))


def test_what_is_not_supported_says_so():
    X, y, radii = rows_of_two_classes()
    problem = Problem(X, y, row_radius=radii, **TRUSTED)
    with pytest.raises(ValueError, match="flip_cost=inf"):
        problem.replace(flip_cost=1.0)
    for solver in ("isg", "ippa", "admm", "dual-coordinate"):
        with pytest.raises(ValueError, match="does not support row_radius"):
            solve(problem, solver)


def test_estimators_take_one_radius_or_one_per_row():
    X, y, radii = rows_of_two_classes()
    same = WassersteinSVC(row_radius=0.2).fit(X, y)
    by_row = WassersteinSVC().fit(X, y, row_radius=np.full(len(y), 0.2))
    np.testing.assert_allclose(same.coef_, by_row.coef_)
    other = WassersteinSVC().fit(X, y, row_radius=radii)
    assert other.gap_ <= 1e-6
    assert not np.allclose(other.coef_, same.coef_)
    # The rules choose radius and ridge as without.
    assert same.radius_ == WassersteinSVC().fit(X, y).radius_
    classes = np.digitize(X[:, 0], [0.0, 1.0])
    several = WassersteinSVC(row_radius=0.01).fit(X, classes)
    assert several.gap_.max() <= 1e-6


def test_a_constant_classifier_is_due_to_the_radius_of_the_rows():
    X, y, _ = rows_of_two_classes()
    with pytest.warns(UserWarning, match="Use a smaller row_radius"):
        WassersteinSVC(row_radius=20.0).fit(X, y)


def test_numbers_are_checked_alike_for_rows_on_a_gpu():
    def checked(radii, kept=None):
        return CupyRows.with_row_radius(None, radii, 60, kept)["row_radius"]

    assert checked(0.2) == 0.2
    assert checked(np.full(60, 0.3), np.arange(30)) == 0.3
    with pytest.raises(ValueError, match="row_radius must be finite"):
        checked(-1.0)
