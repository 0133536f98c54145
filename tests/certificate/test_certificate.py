"""Certificates: any multipliers are made feasible, and the bound they prove is valid."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from problems import NORMS, Plain, classifiers, generator, problems
from scipy import sparse
from thorough import examples

from drsvm import Problem, certify, solve
from drsvm.certificate import (
    best_dual_scaling,
    clipped_multipliers,
    dual_point,
    primal_point,
)
from drsvm.problem import typical_row_norm
from drsvm.utils import compensated_transposed_dot

X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
Y = np.array([1, -1, 1, -1])


@st.composite
def multipliers(draw, problem):
    """Draw multipliers of every kind: none, random, unbalanced, far too large, negative, infinite."""
    rng = generator(draw)
    n = problem.n_rows
    pi = problem.sample_weight
    whole = {
        "none": (None, None),
        "zero": (np.zeros(n), np.zeros(n)),
        "full": (pi.copy(), pi.copy()),
    }
    kind = draw(
        st.sampled_from(
            [*whole, "random", "unbalanced", "large", "negative", "infinite", "huge"]
        )
    )
    if kind in whole:
        return whole[kind]
    alpha = pi * rng.random(n)
    beta = pi * rng.random(n) * draw(st.sampled_from([0.0, 0.01, 1.0]))
    if kind == "unbalanced":
        alpha[problem.signs > 0] *= 1e-9
    if kind == "large":
        alpha = 50 * alpha
        beta = 50 * beta
    if kind == "negative":
        alpha = alpha - pi / 2
        beta = beta - pi / 4
    if kind == "infinite":
        alpha[rng.integers(n)], beta[rng.integers(n)] = np.inf, -np.inf
    if kind == "huge":
        alpha = alpha * 1e308
        beta = beta * 1e308
    return alpha, beta


@st.composite
def problems_with_multipliers(draw, **fixed):
    problem = draw(problems(**fixed))
    return problem, *draw(multipliers(problem))


@given(problems_with_multipliers(), st.data())
def test_the_bound_holds_for_every_classifier(case, data):
    problem, alpha, beta = case
    w, b = data.draw(classifiers(problem))
    certificate = certify(problem, w, b, alpha, beta)
    assert certificate.lower_bound <= certificate.objective + 1e-12 * (
        1 + certificate.objective
    )
    assert certificate.gap == certificate.objective - certificate.lower_bound
    # The bound does not depend on the classifier that it is reported with: it holds for
    # others too.
    for _ in range(3):
        other, b = data.draw(classifiers(problem))
        if np.linalg.norm(other, Plain.of(problem).q) <= certificate.dual.weight_bound:
            objective = Plain.of(problem).best_value(other, b)
            assert certificate.lower_bound <= objective + 1e-12 * (1 + objective)


@given(problems_with_multipliers())
def test_repaired_multipliers_are_feasible(case):
    problem, alpha, beta = case
    dual = dual_point(problem, alpha, beta)
    for name, violation in Plain.of(problem).dual_constraints(
        dual.hinge_dual, dual.flip_dual, problem.fit_intercept
    ):
        assert violation <= 1e-12, name


@given(problems_with_multipliers())
def test_the_bound_is_the_dual_value_at_the_repaired_point(case):
    problem, alpha, beta = case
    assume(problem.radius > 0 or problem.l2 > 0)
    dual = dual_point(problem, alpha, beta)
    expected = Plain.of(problem).dual_value(dual.hinge_dual, dual.flip_dual)
    assert dual.lower_bound == pytest.approx(expected, rel=1e-11, abs=1e-12)
    assert dual.weight_bound == math.inf
    assert 0 <= dual.lower_bound <= 1 + 1e-12


@given(problems_with_multipliers(l2=0.0, radius=0.1))
def test_a_feasible_point_is_returned_unchanged(case):
    problem, alpha, beta = case
    once = dual_point(problem, alpha, beta)
    twice = dual_point(problem, once.hinge_dual, once.flip_dual)
    np.testing.assert_allclose(
        twice.hinge_dual, once.hinge_dual, rtol=1e-10, atol=1e-300
    )
    np.testing.assert_allclose(twice.flip_dual, once.flip_dual, rtol=1e-10, atol=1e-300)
    assert twice.lower_bound == pytest.approx(once.lower_bound, rel=1e-10)


@given(
    problems_with_multipliers(radius=0.1, fit_intercept=True),
    st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_multipliers_for_a_priced_intercept_are_balanced_only_where_that_proves_more(
    case, cost
):
    problem, alpha, beta = case
    priced = problem.replace(intercept_cost=cost)
    balanced = dual_point(problem, alpha, beta).lower_bound
    mass, flip_cost, v, v0, _ = clipped_multipliers(priced, alpha, beta).totals()
    unbalanced = best_dual_scaling(priced, mass, flip_cost, v, v0)[1]
    assert dual_point(priced, alpha, beta).lower_bound == pytest.approx(
        max(balanced, unbalanced), rel=1e-9, abs=1e-12
    )


def clipped_and_balanced(problem, alpha, beta):
    """Return the multipliers before they are scaled, the last step."""
    n = problem.n_rows
    pi = problem.sample_weight
    alpha = np.minimum(np.maximum(np.zeros(n) if alpha is None else alpha, 0), pi)
    beta = np.minimum(np.maximum(np.zeros(n) if beta is None else beta, 0), pi)
    if math.isinf(problem.flip_cost) or problem.radius == 0 < problem.flip_cost:
        beta = np.zeros(n)
    shrink = np.minimum(1, pi / np.maximum(alpha + beta, 1e-300))
    alpha = alpha * shrink
    beta = beta * shrink
    if problem.fit_intercept:
        pushes_up = problem.signs > 0
        up = alpha[pushes_up].sum() + beta[~pushes_up].sum()
        down = alpha[~pushes_up].sum() + beta[pushes_up].sum()
        light = min(up, down)
        factor_up, factor_down = (
            light / total if total > 0 else 0.0 for total in (up, down)
        )
        alpha = np.where(pushes_up, factor_up, factor_down) * alpha
        beta = np.where(pushes_up, factor_down, factor_up) * beta
    return alpha, beta


@given(problems_with_multipliers())
def test_no_other_scale_gives_a_better_bound(case):
    problem, alpha, beta = case
    assume(problem.radius > 0 or problem.l2 > 0)
    dual = dual_point(problem, alpha, beta)
    plain = Plain.of(problem)
    alpha, beta = clipped_and_balanced(problem, alpha, beta)
    total = (alpha + beta).sum()
    assume(total > 0)
    scale = (dual.hinge_dual + dual.flip_dual).sum() / total
    np.testing.assert_allclose(dual.hinge_dual, scale * alpha, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(dual.flip_dual, scale * beta, rtol=1e-11, atol=1e-15)
    others = [
        *np.linspace(0, 1, 41),
        *(scale + np.linspace(-0.01, 0.01, 11)),
        scale - 1e-5,
        scale + 1e-5,
    ]
    for other in np.clip(others, 0, 1):
        constraints = plain.dual_constraints(
            other * alpha, other * beta, problem.fit_intercept
        )
        if all(violation <= 1e-12 for _, violation in constraints):
            assert (
                plain.dual_value(other * alpha, other * beta)
                <= dual.lower_bound + 1e-10
            )


@examples(10, 500)
@given(problems(max_rows=8, max_features=3))
def test_the_multipliers_of_a_solver_close_the_gap(problem):
    assume(problem.radius > 0 or problem.l2 > 0)
    result = solve(problem, "conic")
    kept = problem.kept if problem.kept is not None else slice(None)
    certificate = certify(
        problem,
        result.weights,
        result.intercept,
        result.hinge_dual[kept],
        result.flip_dual[kept],
    )
    assert -1e-12 <= certificate.gap <= max(1e-7, 1.001 * result.gap)
    value = Plain.of(problem).best_value(result.weights, result.intercept)
    assert certificate.objective == pytest.approx(value, rel=1e-11)


@given(problems_with_multipliers(radius=0.0, l2=0.0), st.data())
def test_without_radius_and_ridge_the_bound_holds_up_to_a_stated_norm(case, data):
    problem, alpha, beta = case
    w, b = data.draw(classifiers(problem))
    dual = dual_point(problem, alpha, beta, reference=w)
    plain = Plain.of(problem)
    assert dual.lower_bound >= 0
    if math.isinf(dual.weight_bound):
        signed = [
            Fraction(u) for u in ((dual.hinge_dual - dual.flip_dual) * plain.y).tolist()
        ]
        sums = [
            sum(u * Fraction(x) for u, x in zip(signed, column, strict=True))
            for column in plain.X.T.tolist()
        ]
        assert dual.lower_bound == 0 or not any(sums)
    assert plain.q == problem.norm.q
    assert np.linalg.norm(w, plain.q) <= dual.weight_bound
    for size in (0.01, 0.5, 1.0):
        other = generator(data.draw).normal(size=problem.n_features)
        limit = min(dual.weight_bound, 1e6 / typical_row_norm(problem))
        other *= size * limit / np.linalg.norm(other, plain.q)
        assert dual.lower_bound <= plain.best_value(other, b) * (1 + 1e-12) + 1e-12


@given(st.sampled_from(NORMS), st.floats(1e-12, 1e-4), st.floats(0, 10), st.booleans())
def test_the_limit_is_as_large_as_the_bound_allows(
    norm, apart, reference, fit_intercept
):
    """Pairs of rows that differ by `apart` in a feature of size 1: the largest weight allowed attains the bound."""
    X = [[1.0 + apart], [1.0 - apart], [-1.0 + apart], [-1.0 - apart]]
    y = [1, -1, 1, -1]
    problem = Problem(X, y, 0.0, 1.0, norm, fit_intercept=fit_intercept)
    dual = dual_point(problem, np.full(4, 0.25), reference=np.array([reference]))
    if math.isinf(dual.weight_bound):
        assert dual.lower_bound == 0
        return
    assert dual.contribution_bound == pytest.approx(dual.weight_bound) == 1e6
    at_the_limit = problem.signed_sum(problem.signs / 4)[0] * dual.weight_bound
    assert 1.0 - at_the_limit[0] == pytest.approx(dual.lower_bound, abs=1e-8)


def test_sums_are_exact_however_much_cancels():
    rng = np.random.default_rng(0)
    for rows in (
        rng.normal(size=(300, 4)) * 10.0 ** rng.uniform(-6, 6, 4),
        (rng.random((300, 4)) < 0.3) * 1e6,
    ):
        c = rng.normal(size=300)
        c[-1] -= rows[:, 0] @ c / (rows[-1, 0] or 1.0)  # the first sum cancels
        exact = [
            sum(Fraction(x) * Fraction(a) for x, a in zip(column, c, strict=True))
            for column in rows.T
        ]
        for X in (rows, sparse.csr_array(rows), np.asfortranarray(rows)):
            sums, errors = compensated_transposed_dot(X, c)
            assert all(
                abs(Fraction(a) - b) <= Fraction(e)
                for a, b, e in zip(sums, exact, errors, strict=True)
            )
            assert (
                errors <= 2.0**-53 * np.abs(sums) + 1e-21 * (np.abs(c) @ np.abs(rows))
            ).all()
    zeros, errors = compensated_transposed_dot(
        np.array([[0.1, 0.1], [0.1, 0.2], [0.1, 0.3]]), np.array([0.1, 0.2, -0.3])
    )
    assert errors[0] > 0  # 0.1 + 0.2 − 0.3 is not 0 in binary numbers
    assert (
        compensated_transposed_dot(
            np.array([[0.1], [0.3], [0.1]]), np.array([0.7, 0.0, -0.7])
        )[1]
        == 0
    )
    assert zeros.shape == (2,)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_pull_at_free_weights_is_removed(fit_intercept):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3)) * (1e-3, 1.0, 1e3)
    y = rng.choice([-1, 1], 40)
    problem = Problem(X, y, radius=0.0, fit_intercept=fit_intercept)
    best = solve(problem, "interior-point")
    rough = best.hinge_dual * (1 + 1e-4 * rng.normal(size=40))
    dual = dual_point(problem, rough, reference=best.weights)
    assert best.objective - 1e-3 < dual.lower_bound <= best.objective
    trusted = problem.replace(
        radius=0.01, flip_cost=1.0, feature_cost=[math.inf, 1.0, math.inf]
    )
    best = solve(trusted, "interior-point")
    dual = dual_point(
        trusted, best.hinge_dual * (1 + 1e-6 * rng.normal(size=40)), best.flip_dual
    )
    assert best.objective - 1e-3 < dual.lower_bound <= best.objective


def test_without_radius_and_ridge_a_good_bound_is_found():
    contradiction = Problem(np.vstack([X, X]), [*Y, *-Y], radius=0, flip_cost=1)
    result = solve(contradiction, "conic")
    assert result.objective == pytest.approx(1.0, abs=1e-9) and result.gap <= 1e-6
    exact = dual_point(contradiction, np.ones(8))
    assert exact.lower_bound == 1.0 and math.isinf(exact.weight_bound)


@pytest.mark.parametrize("norm", NORMS)
def test_a_hand_made_bound(norm):
    """One feature at ±1 with its own label: α = t makes v = 1·t, so that the radius ε allows t = ε."""
    problem = Problem(
        [[1.0], [-1.0]], [1, -1], radius=0.25, flip_cost=math.inf, norm=norm
    )
    dual = dual_point(problem, [0.5, 0.5])
    np.testing.assert_allclose(dual.hinge_dual, [0.125, 0.125], rtol=1e-15)
    assert dual.lower_bound == 0.25
    assert certify(problem, [1.0], 0.0, [0.5, 0.5]).gap == pytest.approx(0.0, abs=1e-15)


def test_free_flips_prove_that_nothing_is_better_than_one():
    for radius, l2 in ((0.0, 0.0), (0.1, 0.0), (0.1, 1.0), (0.0, 1.0)):
        problem = Problem(X, Y, radius=radius, flip_cost=0.0, l2=l2, fit_intercept=True)
        certificate = certify(problem, [0.0, 0.0], 0.0, np.ones(4), np.ones(4))
        assert certificate.objective == certificate.lower_bound == 1.0


def test_the_given_multipliers_are_not_modified():
    alpha = np.full(4, 3.0)
    beta = np.full(4, -1.0)
    for l2, radius in ((0.0, 0.1), (1.0, 0.1), (0.0, 0.0)):
        dual = dual_point(
            Problem(X, Y, radius=radius, l2=l2, fit_intercept=True), alpha, beta
        )
        assert not np.shares_memory(dual.hinge_dual, alpha) and not np.shares_memory(
            dual.flip_dual, beta
        )
    assert (alpha == 3).all() and (beta == -1).all()


@pytest.mark.parametrize("l2", [1e-300, 1e-12, 1e12, 1e300])
def test_extreme_ridges_do_not_break_the_bound(l2):
    problem = Problem(sparse.csc_array(X) if l2 < 1 else X, Y, l2=l2)
    dual = dual_point(problem, np.ones(4), np.ones(4))
    assert 0 <= dual.lower_bound <= 1
    assert dual.lower_bound <= problem.objective(np.zeros(2))
    assert dual.lower_bound <= problem.objective(np.full(2, 1e-3)) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hinge_dual": [0.1, math.nan, 0.1, 0.1]}, "hinge_dual has NaN at row 1"),
        ({"flip_dual": [0.1, 0.1, 0.1, math.nan]}, "flip_dual has NaN at row 3"),
        (
            {"hinge_dual": [0.1]},
            r"hinge_dual must have one entry per row of the problem \(4\), got \(1,\)",
        ),
        (
            {"flip_dual": np.zeros((4, 1))},
            r"flip_dual must have one entry per row of the problem \(4\)",
        ),
        (
            {"weights": [1.0, 2.0, 3.0]},
            r"weights must have one entry per feature of X \(2\), got shape \(3,\)",
        ),
        ({"weights": [1.0, math.nan]}, "weights has NaN or infinite entries"),
        ({"intercept": math.inf}, "intercept must be finite.*got intercept=inf"),
        ({"intercept": 1.0}, "0 if fit_intercept=False, got intercept=1.0"),
    ],
)
def test_bad_points_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        certify(Problem(X, Y), **{"weights": [1.0, 2.0], **arguments})


def test_a_primal_point_has_the_optimal_price():
    problem = Problem(
        X, Y, radius=0.1, flip_cost=0.5, norm=1, l2=0.3, fit_intercept=True
    )
    point = primal_point(problem, [1.0, -2.0], 0.5)
    assert (
        point.objective
        == problem.objective(point.weights, 0.5)
        == problem.objective(point.weights, 0.5, point.radius_price)
    )
    assert point.radius_price >= 2.0
