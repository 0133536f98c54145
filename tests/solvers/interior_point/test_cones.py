"""The cones of the three norms: matrices, Newton directions, and how far these may be followed; prices and signs."""

import math
from copy import deepcopy

import numpy as np
import pytest
from problems import NORMS
from scipy.linalg import sqrtm

from drsvm import Problem
from drsvm.compiled import cones as kernel
from drsvm.compiled.cones import CORRECTION, D_DUAL, D_SLACK, DUAL, PUSH, RATIO, SLACK
from drsvm.problem import norm_for
from drsvm.solvers.interior_point import cone_at

for_each_cone = pytest.mark.parametrize("p", [1, 2, math.inf])
for_each_size = pytest.mark.parametrize("d", [1, 2, 7])

TARGET = 0.03


def cone_of(p, w, lam, mu):
    """Return the cone of a norm without prices."""
    return cone_at(Problem(np.eye(2, len(w)), [1, -1], norm=p), w, lam, mu)


def of(cone, row):
    """Return a row of the values of all constraints."""
    return cone.constraints.values[row]


def off_center(p, d, seed=0):
    """Return a cone at an interior point off the central path, reached by a few Newton steps."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    cone = cone_of(p, w, 1.5 * norm_for(p).value(w), 0.2)
    for _ in range(3):
        follow(cone, rng.normal(size=d), rng.normal(), 0.1)
        rate = max(cone.rates())
        cone.move(0.4 / max(rate, 1.0), 0.3 / max(rate, 1.0))
    return cone


def follow(cone, dw, dlam, target):
    """Return the matrix of the cone and the constant of its Newton step towards a target, along (dw, dλ)."""
    scaling = cone.scaling()
    constant = cone.constant(target)
    cone.set_direction(dw, dlam)
    return scaling, constant


def explicit(scaling):
    """Return the symmetric matrix in (w, λ)."""
    d = len(scaling.diagonal)
    matrix = np.zeros((d + 1, d + 1))
    matrix[:d, :d] = np.diag(scaling.diagonal)
    matrix[d, :d] = matrix[:d, d] = scaling.column
    matrix[d, d] = scaling.square
    if scaling.vector is not None:
        u = np.append(scaling.vector, scaling.vector_lam)
        matrix += scaling.coefficient * np.outer(u, u)
    return matrix


def joined(pair):
    w, lam = pair
    return np.append(w, lam)


def moved(cone, primal, dual):
    other = deepcopy(cone)
    other.move(primal, dual)
    return other


def slacks_at(p, w, lam, bounds=None):
    """Return the linear forms that a polyhedral cone keeps positive."""
    if p == 1:
        return np.concatenate([lam - w, lam + w])
    return np.concatenate([bounds - w, bounds + w, [lam - bounds.sum()]])


@for_each_size
def test_the_matrix_of_the_box_is_that_of_its_constraints(d):
    cone = off_center(1, d)
    rows = np.block([[-np.eye(d), np.ones((d, 1))], [np.eye(d), np.ones((d, 1))]])
    expected = rows.T @ np.diag(of(cone, DUAL) / of(cone, SLACK)) @ rows
    np.testing.assert_allclose(
        explicit(cone.scaling()), expected, rtol=1e-12, atol=1e-12
    )
    assert np.linalg.eigvalsh(explicit(cone.scaling())).min() > 0


@for_each_size
def test_the_matrix_of_the_cross_is_that_of_its_constraints_without_the_bounds(d):
    cone = off_center(math.inf, d)
    eye = np.eye(d)
    zero = np.zeros((d, 1))
    one = np.ones((1, d))
    rows = np.block(
        [[-eye, zero, eye], [eye, zero, eye], [np.zeros((1, d)), np.ones((1, 1)), -one]]
    )
    full = rows.T @ np.diag(of(cone, DUAL) / of(cone, SLACK)) @ rows
    kept = slice(0, d + 1)
    gone = slice(d + 1, None)
    expected = full[kept, kept] - full[kept, gone] @ np.linalg.solve(
        full[gone, gone], full[gone, kept]
    )
    np.testing.assert_allclose(
        explicit(cone.scaling()), expected, rtol=1e-9, atol=1e-11
    )
    assert np.linalg.eigvalsh(explicit(cone.scaling())).min() > 0


@for_each_size
def test_the_matrix_of_the_second_order_cone_maps_the_point_to_its_multiplier(d):
    """Nesterov and Todd: the matrix M has M x = z, and is the Hessian of −log det at the scaling point."""
    cone = off_center(2, d)
    matrix = explicit(cone.scaling())
    x = np.append(of(cone, SLACK)[1:], of(cone, SLACK)[0])
    z = np.append(of(cone, DUAL)[1:], of(cone, DUAL)[0])
    np.testing.assert_allclose(matrix @ x, z, rtol=1e-11, atol=1e-12)
    reflection = np.diag([-1.0] * d + [1.0])
    # M J M = det(M)^(2/(d+1)) J characterises the scalings of this cone.
    image = matrix @ reflection @ matrix
    np.testing.assert_allclose(
        image, image[d, d] * reflection, rtol=1e-9, atol=1e-9 * abs(image[d, d])
    )
    assert np.linalg.eigvalsh(matrix).min() > 0


@for_each_cone
@for_each_size
def test_a_new_cone_is_on_the_central_path(p, d):
    w = np.random.default_rng(1).normal(size=d)
    lam = 1.3 * norm_for(p).value(w)
    cone = cone_of(p, w, lam, 0.2)
    assert cone.products() == pytest.approx(0.2 * cone.weight, rel=1e-13)
    if p == 2:
        slacks = of(cone, SLACK)
        duals = of(cone, DUAL)
        head = slacks @ duals
        tail = slacks[0] * duals[1:] + duals[0] * slacks[1:]
        np.testing.assert_allclose(
            np.append(head, tail), [0.2, *np.zeros(d)], atol=1e-14
        )
        return
    assert of(cone, SLACK).min() > 0
    np.testing.assert_allclose(
        of(cone, SLACK) * of(cone, DUAL), 0.2 / len(of(cone, SLACK)), rtol=1e-13
    )
    bounds = (of(cone, SLACK)[:d] + of(cone, SLACK)[d : 2 * d]) / 2
    np.testing.assert_allclose(
        of(cone, SLACK), slacks_at(p, w, lam, bounds), rtol=1e-13
    )


@for_each_cone
def test_multipliers_are_the_slope_of_the_lagrangian(p):
    """z·(dw, dλ) = −Σ multiplier · change of slack, at bounds that stay (q = 1: where they are stationary)."""
    cone = off_center(p, 5)
    rng = np.random.default_rng(2)
    dw = rng.normal(size=5)
    dlam = rng.normal()
    along = joined(cone.multipliers()) @ np.append(dw, dlam)
    changes = np.append(dlam, dw) if p == 2 else slacks_at(p, dw, dlam, np.zeros(5))
    assert along == pytest.approx(-of(cone, DUAL) @ changes, rel=1e-12)


@for_each_cone
@for_each_size
@pytest.mark.parametrize("target", [0.0, TARGET])
def test_multipliers_change_according_to_matrix_and_constant(p, d, target):
    cone = off_center(p, d)
    rng = np.random.default_rng(3)
    dw = rng.normal(size=d)
    dlam = rng.normal()
    scaling, constant = follow(cone, dw, dlam, target)
    after = joined(moved(cone, 1.0, 1.0).multipliers())
    expected = joined(constant) + explicit(scaling) @ np.append(dw, dlam)
    np.testing.assert_allclose(after, expected, rtol=1e-9, atol=1e-10)


@for_each_cone
@for_each_size
def test_the_norm_follows_the_direction(p, d):
    """Slacks change exactly as dw and dλ imply."""
    cone = off_center(p, d)
    rng = np.random.default_rng(4)
    dw = rng.normal(size=d)
    dlam = rng.normal()
    follow(cone, dw, dlam, TARGET)
    if p == 2:
        np.testing.assert_array_equal(of(cone, D_SLACK), np.append(dlam, dw))
        return
    bounds = (of(cone, D_SLACK)[:d] + of(cone, D_SLACK)[d : 2 * d]) / 2
    np.testing.assert_allclose(
        of(cone, D_SLACK), slacks_at(p, dw, dlam, bounds), rtol=1e-10, atol=1e-12
    )


def scaled_changes(cone):
    """Return the scaled changes of the second-order cone, its scaled point, and products in its algebra."""
    order = np.roll(np.arange(len(of(cone, SLACK))), 1)
    root = sqrtm(explicit(cone.scaling()))[np.ix_(order, order)]  # λ comes first

    def product(a, b):
        return np.append(a @ b, a[0] * b[1:] + b[0] * a[1:])

    return (
        root @ of(cone, D_SLACK),
        np.linalg.solve(root, of(cone, D_DUAL)),
        root @ of(cone, SLACK),
        product,
    )


def linearised_products(cone, p):
    """Return the products to first order after a full step (q = 2: in the scaled space)."""
    if p != 2:
        slacks = of(cone, SLACK)
        duals = of(cone, DUAL)
        return slacks * duals + slacks * of(cone, D_DUAL) + duals * of(cone, D_SLACK)
    dx, dz, scaled, product = scaled_changes(deepcopy(cone))
    return product(scaled, scaled + dx + dz)


def products_of_changes(cone, p):
    """Return what linearisation leaves out."""
    if p != 2:
        return of(cone, D_SLACK) * of(cone, D_DUAL)
    dx, dz, _, product = scaled_changes(deepcopy(cone))
    return product(dx, dz)


def goal(cone, p, target):
    if p != 2:
        return np.full(len(of(cone, SLACK)), target / len(of(cone, SLACK)))
    return np.append(target, np.zeros(len(of(cone, SLACK)) - 1))


@for_each_cone
@for_each_size
@pytest.mark.parametrize("target", [0.0, TARGET])
def test_a_direction_satisfies_linearised_complementarity(p, d, target):
    cone = off_center(p, d)
    rng = np.random.default_rng(5)
    dw = rng.normal(size=d)
    dlam = rng.normal()
    follow(cone, dw, dlam, 0.0)  # the predictor
    np.testing.assert_allclose(
        linearised_products(cone, p), goal(cone, p, 0.0), atol=1e-10
    )
    assert not of(cone, CORRECTION).any()

    second_order = products_of_changes(cone, p)
    cone.correct()
    np.testing.assert_allclose(
        of(cone, CORRECTION), second_order, rtol=1e-9, atol=1e-12
    )
    cone.constant(target)
    cone.set_direction(rng.normal(size=d), rng.normal())
    products = linearised_products(cone, p) + of(cone, CORRECTION)
    np.testing.assert_allclose(products, goal(cone, p, target), rtol=1e-9, atol=1e-10)
    cone.scaling()
    assert not of(cone, CORRECTION).any()  # it is reset


@for_each_cone
@for_each_size
def test_products_after_a_step_are_predicted_and_move_towards_the_target(p, d):
    cone = off_center(p, d)
    follow(cone, np.linspace(-1, 1, d), 0.5, TARGET)
    for primal, dual in ((0.0, 0.0), (0.3, 0.7), (1.0, 1.0)):
        assert cone.products_after(primal, dual) == pytest.approx(
            moved(cone, primal, dual).products(), rel=1e-12
        )
    h = 1e-6  # their slope along any direction is target − Σ multiplier · slack
    slope = (cone.products_after(h, h) - cone.products_after(-h, -h)) / (2 * h)
    assert slope == pytest.approx(TARGET - cone.products(), rel=1e-6)


@for_each_cone
@for_each_size
def test_rates_are_reciprocals_of_the_longest_steps(p, d):
    for seed in range(5):
        cone = off_center(p, d, seed)
        rng = np.random.default_rng(seed)
        follow(cone, 3 * rng.normal(size=d), -3 * rng.random(), TARGET)
        primal, dual = cone.rates()
        for step, primal_side in ((primal, True), (dual, False)):
            if step <= 0:
                assert inside(
                    moved(cone, 1e3 * primal_side, 1e3 * (not primal_side)), p
                )
                continue
            for share, expected in ((0.999999, True), (1.000001, False)):
                length = share / step
                assert (
                    inside(
                        moved(cone, length * primal_side, length * (not primal_side)), p
                    )
                    is expected
                )


def inside(cone, p):
    if p == 2:
        return all(
            bool(v[0] > np.linalg.norm(v[1:]))
            for v in (of(cone, SLACK), of(cone, DUAL))
        )
    return bool(min(of(cone, SLACK).min(), of(cone, DUAL).min()) > 0)


def test_a_full_dual_step_makes_the_bounds_of_the_cross_stationary():
    cone = off_center(math.inf, 4)
    follow(cone, np.linspace(-1, 1, 4), 0.5, TARGET)
    after = of(moved(cone, 0.0, 1.0), DUAL)
    np.testing.assert_allclose(after[:4] + after[4:8], after[8], rtol=1e-10)


# Prices and signs

PRICES = np.array([0.5, 2.0, math.inf, 1.0])
POINT = np.array([0.3, -0.2, 5.0, 0.1, -0.4])

for_each_norm = pytest.mark.parametrize("norm", NORMS)


def problem_with(norm=2, **given):
    X = np.random.default_rng(0).normal(size=(10, 4))
    parameters = {
        "norm": norm,
        "fit_intercept": True,
        "intercept_cost": 4.0,
        "feature_cost": PRICES,
        **given,
    }
    return Problem(X, np.resize([1, -1], 10), **parameters)


@for_each_norm
def test_a_priced_cone_is_that_of_the_scaled_entries(norm):
    problem = problem_with(norm)
    entries = [0, 1, 3, 4]
    scale = 1.0 / np.array([0.5, 2.0, 1.0, 4.0])
    to_entries = np.zeros((5, 6))
    to_entries[range(4), entries] = scale
    to_entries[4, 5] = 1.0
    inner = cone_of(norm, scale * POINT[entries], 2.0, 0.1)
    cone = cone_at(problem, POINT, 2.0, 0.1)
    assert cone.weight == inner.weight
    expected = to_entries.T @ explicit(inner.scaling()) @ to_entries
    np.testing.assert_allclose(explicit(cone.scaling()), expected, atol=1e-14)
    for step in range(3):
        for method in ("multipliers", "constant"):
            arguments = (0.05,) if method == "constant" else ()
            expected = joined(getattr(inner, method)(*arguments)) @ to_entries
            np.testing.assert_allclose(
                joined(getattr(cone, method)(*arguments)), expected, atol=1e-13
            )
        direction = 0.01 * np.random.default_rng(step).normal(size=6)
        cone.set_direction(direction[:5], direction[5])
        inner.set_direction((to_entries @ direction)[:4], direction[5])
        assert cone.rates() == pytest.approx(inner.rates())
        assert cone.products_after(0.5, 0.4) == pytest.approx(
            inner.products_after(0.5, 0.4)
        )
        for each in (cone, inner):
            each.correct()
            each.move(0.3, 0.2)
            each.scaling()
        assert cone.products() == pytest.approx(inner.products())


def test_signs_are_linear_constraints():
    cone = cone_at(problem_with(monotonic_cst=np.array([1, -1, 0, 0])), POINT, 2.0, 0.1)
    norm = cone_at(problem_with(), POINT, 2.0, 0.1)
    assert cone.weight == 2.0
    np.testing.assert_allclose(of(cone, SLACK)[-2:], [0.3, 0.2])
    assert cone.products() == pytest.approx(0.1 * cone.weight)
    z, lam = cone.multipliers()
    only, only_lam = norm.multipliers()
    np.testing.assert_allclose(
        z - only, [-of(cone, DUAL)[-2], of(cone, DUAL)[-1], 0, 0, 0]
    )
    assert lam == only_lam
    cone.scaling()
    cone.constant(0.1)
    cone.set_direction(np.array([-1.0, 0.0, 0.0, 0.0, 0.0]), 0.0)
    assert cone.rates()[0] >= 1.0 / 0.3
    expected = (
        of(cone, PUSH)
        - of(cone, DUAL)
        - of(cone, RATIO) * [*np.zeros(len(of(cone, PUSH)) - 2), -1.0, 0.0]
    )
    np.testing.assert_allclose(of(cone, D_DUAL)[-2:], expected[-2:])


@for_each_norm
def test_if_nothing_has_a_price_only_the_level_is_left(norm):
    cone = cone_at(
        problem_with(norm, feature_cost=math.inf, intercept_cost=math.inf),
        POINT,
        2.0,
        0.1,
    )
    assert isinstance(cone.constraints, kernel.OneNormCone)
    np.testing.assert_array_equal(of(cone, SLACK), [2.0])


@pytest.mark.parametrize("signs", [None, [1, -1, 0, 0]])
def test_without_a_radius_the_norm_plays_no_role(signs):
    cone = cone_at(problem_with(radius=0.0, monotonic_cst=signs), POINT, 2.0, 0.1)
    assert cone.weight == (signs is not None)
    matrix = explicit(cone.scaling())
    assert (
        matrix[-1, -1] == 1.0
        and not matrix[-1, :-1].any()
        and matrix.any(axis=1).sum() == 1 + 2 * cone.weight
    )
    assert cone.constant(0.1)[1] == 0.0


def test_a_point_outside_the_cone_is_a_breakdown():
    cone = cone_of(2, np.ones(3), 2.0, 0.1)
    of(cone, SLACK)[0] = 1.0
    with pytest.raises(FloatingPointError, match="out of the cone"):
        cone.scaling()
