"""The Newton system in both forms, compared with the explicit matrix."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import linalg, sparse

from drsvm import Problem
from drsvm.engines import Curvature, Scaling, WideRows
from drsvm.problem import norm_for
from drsvm.solvers.interior_point import (
    TallSystem,
    WideSystem,
    cone_at,
    newton_system,
    solve_system,
)

NORMS = (1, 2, math.inf)
for_each_norm = pytest.mark.parametrize("p", NORMS)
with_and_without_intercept = pytest.mark.parametrize("intercept", [False, True])


def curvatures(n, d, intercept, seed=0, spread=1.0, container=np.asarray):
    """Return possible contributions of samples to the equations, in the tall and, with products, in the wide form."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    rows = np.column_stack([X, np.ones(n)]) if intercept else X
    h = 10.0 ** rng.uniform(-spread, spread, size=n)
    # Each sample adds h·(x, t)(x, t)ᵀ and something more on λ: the whole is positive
    # definite in (w, b, λ).
    tilts = rng.normal(size=n)
    gram = rows.T @ (h[:, None] * rows)
    column = rows.T @ (h * tilts)
    square = float(h @ tilts**2 + 0.1)
    border = gram[:, d] if intercept else np.zeros(d)
    tall = Curvature(
        gram[:d, :d].copy(), column, square, np.zeros(rows.shape[1]), 0.0, border
    )
    return tall, (tall._replace(gram=None, h=h), WideRows(container(X)))


def wide_system(wide, scaling, ridge):
    curvature, rows = wide
    return WideSystem(curvature, scaling, ridge, rows)


def scaling_of(p, d, intercept=False, seed=1):
    w = np.random.default_rng(seed).normal(size=d)
    norm = norm_for(p)
    problem = Problem(np.eye(2, d), [1, -1], norm=norm, fit_intercept=intercept)
    return cone_at(
        problem, np.append(w, [0.5] * intercept), 1.2 * norm.value(w), 0.1
    ).scaling()


def no_scaling(d):
    """Return the matrix of a problem with radius 0."""
    return Scaling(np.zeros(d), np.zeros(d), 1.0)


def ridge_of(d, intercept, l2):
    return np.array([l2] * d + [0.0] * intercept)


def explicit(samples, scaling, ridge):
    """Return the whole matrix, entry by entry as the formulas say."""
    n = len(ridge)
    d = len(samples.gram)
    matrix = np.zeros((n + 1, n + 1))
    matrix[:d, :d] = samples.gram
    if n > d:
        matrix[:n, d] = matrix[d, :n] = samples.border
    matrix[:n, :n] += np.diag(ridge + scaling.diagonal)
    matrix[:n, n] = matrix[n, :n] = samples.column + scaling.column
    matrix[n, n] = samples.square + scaling.square
    if scaling.vector is not None:
        u = np.append(scaling.vector, scaling.vector_lam)
        matrix += scaling.coefficient * np.outer(u, u)
    return np.triu(matrix) + np.triu(matrix, 1).T


def systems_and_matrix(p, n, d, intercept, l2, **options):
    """Return the system in its tall and in its wide form, and the whole matrix."""
    scaling = scaling_of(p, d, intercept)
    ridge = ridge_of(d, intercept, l2)
    tall, wide = curvatures(n, d, intercept, **options)
    return (
        TallSystem(tall, scaling, ridge),
        wide_system(wide, scaling, ridge),
    ), explicit(tall, scaling, ridge)


def right_hand_side(size, seed=2):
    right = np.random.default_rng(seed).normal(size=size)
    return right[:-1], float(right[-1])


def assert_solves(system, matrix, relative=1e-12):
    """Compare with a dense solve, to a relative accuracy times the condition of the matrix scaled to unit diagonal."""
    right, lam = right_hand_side(len(matrix))
    direction, dlam = solve_system(system, right, lam)
    expected = np.linalg.solve(matrix, np.append(right, lam))
    error = np.abs(np.append(direction, dlam) - expected).max() / np.abs(expected).max()
    scale = 1.0 / np.sqrt(matrix.diagonal())
    assert error <= relative * np.linalg.cond(matrix * scale[:, None] * scale)


@for_each_norm
@with_and_without_intercept
@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize(("n", "d"), [(30, 6), (6, 6), (1, 1), (4, 9), (15, 40)])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_both_forms_solve_the_same_system(p, intercept, l2, n, d, container):
    systems, matrix = systems_and_matrix(p, n, d, intercept, l2, container=container)
    for system in systems:
        assert_solves(system, matrix)


def check_inverse_and_products(systems, matrix, atol):
    """Refinement would slowly correct a wrong factorisation, so this is tested without it."""
    for system in systems:
        inverse = np.stack(
            [system.apply_inverse(column) for column in np.eye(len(matrix))], axis=1
        )
        np.testing.assert_allclose(inverse @ matrix, np.eye(len(matrix)), atol=atol)
        for column in np.eye(len(matrix)):
            np.testing.assert_allclose(
                system.multiply(column), matrix @ column, rtol=1e-11, atol=1e-11
            )


@for_each_norm
@with_and_without_intercept
def test_the_factorisation_alone_is_nearly_the_inverse(p, intercept):
    check_inverse_and_products(*systems_and_matrix(p, 8, 20, intercept, 0.1), atol=1e-8)


@for_each_norm
@with_and_without_intercept
def test_the_equations_hold_where_curvatures_differ_by_many_orders(p, intercept):
    """As near the optimum: the solution may lose digits, but its residual is small compared with the terms."""
    systems, matrix = systems_and_matrix(p, 20, 25, intercept, 1e-3, spread=5.0)
    right, lam = right_hand_side(len(matrix))
    for system in systems:
        solution = np.append(*solve_system(system, right, lam))
        terms = np.abs(matrix) @ np.abs(solution) + np.abs(np.append(right, lam))
        assert (
            np.abs(matrix @ solution - np.append(right, lam)) <= 1e-11 * terms
        ).all()


def test_without_a_norm_the_level_stands_alone():
    tall, _ = curvatures(30, 4, True)
    tall = tall._replace(column=np.zeros(5), square=0.0)
    scaling = no_scaling(5)
    ridge = ridge_of(4, True, 0.2)
    right, _ = right_hand_side(6)
    direction, lam = solve_system(TallSystem(tall, scaling, ridge), right, 0.0)
    bordered = np.block([[tall.gram, tall.border[:4, None]], [tall.border]])
    np.testing.assert_allclose(
        direction, np.linalg.solve(bordered + np.diag(ridge), right), rtol=1e-9
    )
    assert lam == 0.0


@for_each_norm
def test_a_column_of_zeros_and_a_repeated_one_do_no_harm(p):
    tall, _ = curvatures(30, 5, False)
    tall.gram[:, 2] = tall.gram[2, :] = tall.column[2] = 0.0
    tall.gram[:, 4], tall.column[4] = tall.gram[:, 3], tall.column[3]
    tall.gram[4, :] = tall.gram[3, :]
    tall.gram[4, 4] = tall.gram[3, 3]
    scaling = scaling_of(p, 5)
    ridge = np.zeros(5)
    assert_solves(TallSystem(tall, scaling, ridge), explicit(tall, scaling, ridge))


def test_a_singular_system_has_a_solution_where_there_is_one():
    tall, _ = curvatures(30, 5, False)
    tall.gram[:, 2] = tall.gram[2, :] = tall.column[2] = 0.0  # a feature of zeros
    scaling = no_scaling(5)
    system = TallSystem(tall, scaling, np.zeros(5))
    right = tall.gram @ np.arange(5.0)
    direction, _ = solve_system(system, right, float(tall.column @ np.arange(5.0)))
    np.testing.assert_allclose(direction[[0, 1, 3, 4]], [0.0, 1.0, 3.0, 4.0], atol=1e-9)
    assert direction[2] == 0.0


def test_an_indefinite_matrix_is_rejected():
    tall, _ = curvatures(30, 5, False)
    tall.gram[1, 2] = tall.gram[2, 1] = -1e6
    with pytest.raises(
        linalg.LinAlgError, match="the Newton matrix is numerically singular"
    ):
        TallSystem(tall, scaling_of(2, 5), np.zeros(5))


def test_the_form_is_that_of_the_engine():
    tall, (wide, rows) = curvatures(4, 9, False)
    for samples, wide_rows, form in (
        (tall, None, TallSystem),
        (wide, rows, WideSystem),
    ):
        # It leaves the matrix to the solver
        engine = SimpleNamespace(wide=wide_rows, factorised=lambda *_: None)
        assert isinstance(
            newton_system(samples, scaling_of(2, 9), np.zeros(9), engine), form
        )


@for_each_norm
@with_and_without_intercept
@pytest.mark.parametrize("outside", [[], [2, 7]])
def test_both_forms_take_prices_and_signs(p, intercept, outside):
    """The cone then contains b, and features that cannot shift have neither norm nor ridge."""
    d = 20
    prices = np.random.default_rng(4).uniform(0.3, 3.0, size=d)
    prices[outside] = math.inf
    given = {
        "feature_cost": prices,
        "monotonic_cst": np.resize([0, 0, 1], d),
        "intercept_cost": 2.0,
    }
    problem = Problem(
        np.eye(d), np.resize([1, -1], d), norm=p, fit_intercept=intercept, **given
    )
    point = np.random.default_rng(5).uniform(0.1, 1.0, size=d + intercept)
    lam = 1.2 * problem.norm_of(point[:d], point[d:].sum())
    scaling = cone_at(problem, point, lam, 0.1).scaling()
    ridge = np.zeros(d + intercept)
    tall, wide = curvatures(8, d, intercept)
    np.testing.assert_array_equal(scaling.outside, outside)
    systems = TallSystem(tall, scaling, ridge), wide_system(wide, scaling, ridge)
    check_inverse_and_products(systems, explicit(tall, scaling, ridge), atol=1e-5)
