"""Kernel problems against the same problem with explicit features, solved by other methods."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from thorough import for_each

from drsvm import Problem, WassersteinKernelSVC, certify, radius_max, solve
from drsvm.problem import (
    Given,
    KernelRows,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Rbf,
    in_feature_space,
)
from drsvm.solvers.landmarks import Span
from drsvm.utils import TimeLimit

FUNCTIONS = {
    "rbf": Rbf(0.3),
    "laplacian": Laplacian(0.2),
    "polynomial": Polynomial(0.3, 2, 1.0),
    "linear": Linear(),
    "given": Given(
        lambda X, Z: np.exp(-0.1 * np.square(X[:, None] - Z).sum(axis=2)) + X @ Z.T
    ),
}


def data(seed, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    return X, y, rng.uniform(0.2, 2.0, size=n)


def explicit(problem, **changes):
    """Return the same problem with coordinates of the rows in the feature space."""
    rows = problem.rows
    values, vectors = np.linalg.eigh(rows.columns(np.arange(problem.n_rows)))
    # The others are rounding errors
    X = vectors * np.sqrt(np.where(values > 1e-13 * values.max(), values, 0.0))
    if rows.centre is not None:
        X = X - rows.centre @ X
    return problem.on_rows(np.ascontiguousarray(X)).replace(**changes)


def check_against_conic_model(problem):
    """Check that objective and bound are those of a conic model of the problem with explicit features."""
    result = solve(problem)
    reference = solve(explicit(problem), "conic", tol=1e-8)
    # Where flips take the whole budget, ‖v‖ is 0, which values with 16 digits can only
    # prove to 8.
    last_digit = (
        2.0
        * result.radius_price
        * math.sqrt(problem.rows.function.precision * problem.rows.squares.max())
    )
    assert result.gap <= 1e-6 + last_digit
    assert result.lower_bound <= reference.objective + 1e-8
    assert result.objective == pytest.approx(reference.objective, abs=1.5e-6)
    again = certify(
        problem, result.weights, result.intercept, result.hinge_dual, result.flip_dual
    )
    assert again.objective == pytest.approx(result.objective, abs=1e-12)


def random_problem(seed, name, flip_cost, l2, intercept_cost, radius, **size):
    X, y, weights = data(seed, **size)
    ball = {
        "radius": radius,
        "flip_cost": flip_cost,
        "l2": l2,
        "fit_intercept": intercept_cost is not None,
    }
    return in_feature_space(
        X,
        FUNCTIONS[name],
        y,
        weights,
        intercept_cost=intercept_cost or math.inf,
        **ball,
    )


@given(
    st.integers(0, 10_000),
    st.sampled_from(sorted(FUNCTIONS)),
    st.sampled_from([math.inf, 2.0, 0.3]),
    st.sampled_from([0.0, 0.05]),
    st.sampled_from([None, math.inf, 0.7]),
    st.sampled_from([0.3, 0.05, 0.005]),
)
def test_the_full_problem_is_solved(seed, name, flip_cost, l2, intercept_cost, radius):
    check_against_conic_model(
        random_problem(seed, name, flip_cost, l2, intercept_cost, radius)
    )


@pytest.mark.thorough
@for_each(seed=range(30), name=sorted(FUNCTIONS))
def test_problems_of_many_sizes_are_solved(seed, name, set_values):
    """With up to 300 rows, in a span that grows, and a price of every label."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 301))
    d = int(rng.integers(2, 9))
    set_values(all_at_once=0, first_landmarks=max(1, n // 5))
    flip_cost = rng.choice([math.inf, 10.0 ** rng.uniform(-1.5, 1.0)])
    flip_cost = (
        rng.choice([flip_cost, math.inf, 0.0], size=n, p=[0.7, 0.25, 0.05])
        if seed % 3 == 0
        else flip_cost
    )
    ball = (
        flip_cost,
        rng.choice([0.0, 10.0 ** rng.uniform(-4, 0)]),
        rng.choice([None, math.inf, 0.7, 0.01]),
    )
    check_against_conic_model(
        random_problem(seed, name, *ball, 10.0 ** rng.uniform(-3.5, 0.0), n=n, d=d)
    )


def test_a_span_of_few_functions_proves_the_full_problem():
    """Many rows are decided by few: the span stays small, and the proof is about all of them."""
    X, y, _ = data(1, n=600, d=2)
    problem = in_feature_space(
        X,
        Rbf(0.3),
        y,
        radius=0.01,
        flip_cost=math.inf,
        fit_intercept=True,
        intercept_cost=0.6,
    )
    result = solve(problem)
    assert result.gap <= 1e-6
    assert result.info["functions"] < 400
    reference = solve(explicit(problem), "interior-point", tol=1e-8)
    assert result.objective == pytest.approx(reference.objective, abs=1e-6)


@pytest.mark.parametrize("flip_cost", [math.inf, 5.0, 0.5])
def test_radius_max_is_that_of_explicit_features(flip_cost):
    """Whether it is the norm of the gradient or, with cheap flips, takes solves."""
    X, y, weights = data(7)
    ball = {"flip_cost": flip_cost, "fit_intercept": True, "intercept_cost": 0.7}
    problem = in_feature_space(X, Rbf(0.3), y, weights, **ball)
    assert radius_max(problem) == pytest.approx(radius_max(explicit(problem)), rel=1e-4)


def test_given_landmarks_bound_the_full_problem():
    X, y, _ = data(2, n=200)
    problem = in_feature_space(
        X, Rbf(0.3), y, radius=0.05, flip_cost=math.inf, fit_intercept=True
    )
    best = solve(problem)
    few = solve(problem, "landmarks", n_landmarks=20)
    assert np.count_nonzero(few.weights) <= 20
    assert few.lower_bound <= best.objective <= few.objective + 1e-9
    assert few.gap > 1e-3


def test_features_of_landmarks_give_the_linear_problem_in_their_span():
    """What the pages recommend for rows on a cluster."""
    X, y, weights = data(8, n=200)
    ball = {"radius": 0.02, "flip_cost": 0.8, "l2": 0.01, "fit_intercept": True}
    problem = in_feature_space(X, Rbf(0.3), y, weights, **ball)
    in_span = solve(problem, "landmarks", n_landmarks=20, tol=1e-8)
    chosen = X[problem.kept[np.flatnonzero(in_span.weights)]]
    features = Nystroem(gamma=0.3, n_components=len(chosen)).fit(chosen).transform(X)
    linear = solve(Problem(features, y, sample_weight=weights, **ball), tol=1e-8)
    assert len(chosen) == 20 and linear.objective == pytest.approx(
        in_span.objective, abs=1e-7
    )


def test_linear_kernel_is_the_linear_problem():
    X, y, weights = data(3)
    ball = {"radius": 0.1, "flip_cost": 1.0, "fit_intercept": True}
    problem = in_feature_space(X, Linear(), y, weights, **ball)
    kernel = solve(problem, tol=1e-9)
    linear = solve(Problem(X, y, sample_weight=weights, **ball), tol=1e-9)
    assert kernel.objective == pytest.approx(linear.objective, abs=1e-7)
    np.testing.assert_allclose(
        X[problem.kept].T @ kernel.weights, linear.weights, atol=1e-5
    )


def test_values_in_blocks_are_those_in_memory(set_values):
    X, y, _ = data(4, n=300)
    problem = in_feature_space(
        X, Rbf(0.3), y, radius=0.05, flip_cost=1.0, fit_intercept=True
    )
    kept = solve(problem)
    set_values(stored_values=100)
    computed = solve(
        in_feature_space(X, Rbf(0.3), y, radius=0.05, flip_cost=1.0, fit_intercept=True)
    )
    assert computed.objective == pytest.approx(kept.objective, abs=1e-9)
    np.testing.assert_allclose(
        problem.margins(computed.weights), problem.margins(kept.weights), atol=1e-5
    )


def test_a_kernel_that_is_not_positive_definite_is_an_error():
    """The bound would be false: minus the distance, and a table with a negative eigenvalue."""
    X, y, _ = data(5)
    with pytest.raises(ValueError, match="not positive definite"):
        solve(
            in_feature_space(
                X,
                Given(lambda X, Z: -np.abs(X[:, None] - Z).sum(axis=2)),
                y,
                radius=0.1,
            )
        )
    table = np.eye(40) - 0.1
    numbers = np.arange(40)[:, None]
    with pytest.raises(ValueError, match="not positive definite"):
        solve(
            in_feature_space(
                numbers, Precomputed(table), y, radius=0.1, flip_cost=math.inf
            )
        )


def test_other_solvers_refuse_kernels():
    X, y, _ = data(6)
    problem = in_feature_space(X, Rbf(0.3), y, radius=0.1)
    with pytest.raises(ValueError, match="landmarks"):
        solve(problem, "interior-point")
    with pytest.raises(ValueError, match="radius > 0 or l2 > 0"):
        solve(problem.replace(radius=0.0))
    with pytest.raises(ValueError, match="of a kernel only"):
        solve(Problem(X, y), "landmarks")


@given(st.integers(0, 10_000), st.floats(1e-3, 1e3))
def test_norms_are_never_too_small(seed, scale):
    """The norm of a function, as the certificate sees it, is at least the exact one."""
    X, _, weights = data(seed, n=20)
    rows = KernelRows(scale * X, Rbf(0.3))
    values = rows.columns(np.arange(20))
    exact = [
        [Fraction(k) * Fraction(a) for a, k in zip(weights, row, strict=True)]
        for row in values
    ]
    exact = sum(sum(row) * Fraction(b) for b, row in zip(weights, exact, strict=True))
    assert Fraction(float(rows.coordinates(weights)[0])) ** 2 >= exact


def test_every_landmark_is_the_candidate_farthest_from_the_span_of_those_before_it():
    X, _, _ = data(0, n=60)
    rows = KernelRows(X, Rbf(0.3))
    chosen = Span(rows)
    added = Span(rows)
    chosen.add_landmarks(np.arange(60), 25)
    for place in range(25):
        outside = 1.0 - np.square(added.features).sum(axis=1)
        assert outside[chosen.landmarks[place]] >= outside.max() - 1e-12
        added.add_landmarks(chosen.landmarks[place : place + 1], 1)
    assert (
        np.abs(
            chosen.features @ chosen.features.T - added.features @ added.features.T
        ).max()
        <= 1e-9
    )


def test_a_function_and_multipliers_take_one_pass_over_the_values(monkeypatch):
    problem = random_problem(0, "rbf", math.inf, 0.01, 1.0, 0.05)
    rows = problem.rows
    rng = np.random.default_rng(0)
    weights = rng.normal(size=problem.n_rows)
    alpha = rng.uniform(size=problem.n_rows) * problem.sample_weight
    signed = alpha * problem.signs
    smaller = np.where(problem.signs > 0, 0.3 * alpha, -alpha)
    K = rows.values
    centre = rows.centre
    means = rows.means
    rows.prepare(weights, signed, TimeLimit())
    monkeypatch.setattr(rows, "_stored_products", None)
    assert rows.product(weights) == pytest.approx(K @ weights, abs=1e-12)
    for c in (signed, smaller):
        coefficients = rows.weighted_sum(c)
        assert coefficients == pytest.approx(c - c.sum() * centre, abs=1e-15)
        assert rows.product(coefficients) == pytest.approx(K @ coefficients, abs=1e-12)
    monkeypatch.undo()
    for c, coefficients in zip(
        (weights, signed), rows.weighted_sums([weights, signed]), strict=True
    ):
        assert coefficients == pytest.approx(c - c.sum() * centre, abs=1e-14)
        assert rows.product(coefficients) == pytest.approx(
            K @ c - c.sum() * means, abs=1e-12
        )


def test_values_of_all_pairs_are_those_of_the_function():
    X, _, _ = data(0, n=600)  # more than two blocks
    function = Rbf(0.3)
    assert np.abs(KernelRows(X, function).values - function.values(X, X)).max() <= 1e-14


def test_a_tolerance_that_cannot_be_reached_ends_the_run():
    rng = np.random.default_rng(0)
    y = np.arange(6) % 2
    X = rng.normal(size=(6, 3)) + y[:, None]
    model = WassersteinKernelSVC(radius=0.1, tol=0.0, threshold="optimum")
    with pytest.warns(ConvergenceWarning, match="stalled"):
        model.fit(X, y)
    assert 0.0 < model.gap_ < 1e-10


def test_rows_of_which_none_are_in_the_centre_have_one_of_their_own():
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.where(X[:, 0] > 0.0, 1, -1)
    problem = in_feature_space(X, Rbf(0.3), y, radius=0.05, fit_intercept=True)
    centred = problem.rows.centred(problem.sample_weight, np.arange(5))
    some = problem.with_rows(centred).subset(np.arange(10, 30))
    norms = some.rows.norms(2)
    assert np.isfinite(norms).all() and (norms > 0.0).all()
    # The mean of the rows is 0.
    assert some.rows.coordinates(some.rows.weighted_sum(np.ones(20))) < 1e-6
