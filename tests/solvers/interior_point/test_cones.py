"""The cones of the three norms: their matrices, their Newton directions, and how far these may be followed."""

import copy
import math

import numpy as np
import pytest

from drsvm.model.norms import norm_for
from drsvm.solvers.interior_point.cones import BoxCone, CrossCone, Scaling, SecondOrderCone

CONES = {1: BoxCone, 2: SecondOrderCone, math.inf: CrossCone}
"""The cones by the norm of the shifts."""

for_each_cone = pytest.mark.parametrize("p", CONES)
for_each_size = pytest.mark.parametrize("d", [1, 2, 7])

TARGET = 0.03


def off_center(p, d, seed=0):
    """Return a cone at an interior point off the central path, reached by a few Newton steps."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    cone = CONES[p](w, 1.5 * norm_for(p).value(w), 0.2)
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
    other = copy.copy(cone)
    other.move(primal, dual)
    return other


def slacks_at(p, w, lam, bounds=None):
    """Return the linear forms that a polyhedral cone keeps positive."""
    if p == 1:
        return np.concatenate([lam - w, lam + w])
    return np.concatenate([bounds - w, bounds + w, [lam - bounds.sum()]])


# The explicit matrix


@pytest.mark.parametrize("intercept", [0, 1])
@pytest.mark.parametrize("with_vector", [False, True])
def test_a_scaling_is_added_around_the_intercept(with_vector, intercept):
    rng = np.random.default_rng(0)
    d = 4
    scaling = Scaling(rng.random(d), rng.normal(size=d), 0.7)
    if with_vector:
        scaling.vector, scaling.vector_lam, scaling.coefficient = rng.normal(size=d), -0.3, 1.9
    matrix = np.ones((d + intercept + 1, d + intercept + 1))
    scaling.add_to(matrix)
    unknowns = [*range(d), d + intercept]
    expected = np.ones_like(matrix)
    expected[np.ix_(unknowns, unknowns)] += explicit(scaling)
    np.testing.assert_allclose(np.triu(matrix), np.triu(expected), rtol=1e-14)


@for_each_size
def test_the_matrix_of_the_box_is_that_of_its_constraints(d):
    cone = off_center(1, d)
    rows = np.block([[-np.eye(d), np.ones((d, 1))], [np.eye(d), np.ones((d, 1))]])
    expected = rows.T @ np.diag(cone.duals / cone.slacks) @ rows
    np.testing.assert_allclose(explicit(cone.scaling()), expected, rtol=1e-12, atol=1e-12)


@for_each_size
def test_the_matrix_of_the_cross_is_that_of_its_constraints_without_the_bounds(d):
    cone = off_center(math.inf, d)
    eye, zero, one = np.eye(d), np.zeros((d, 1)), np.ones((1, d))
    rows = np.block([[-eye, zero, eye], [eye, zero, eye], [np.zeros((1, d)), np.ones((1, 1)), -one]])
    full = rows.T @ np.diag(cone.duals / cone.slacks) @ rows
    kept, gone = slice(0, d + 1), slice(d + 1, None)
    expected = full[kept, kept] - full[kept, gone] @ np.linalg.solve(full[gone, gone], full[gone, kept])
    np.testing.assert_allclose(explicit(cone.scaling()), expected, rtol=1e-9, atol=1e-11)


@for_each_size
def test_the_matrix_of_the_second_order_cone_maps_the_point_to_its_multiplier(d):
    """Nesterov and Todd: the matrix M has M x = z, and is the Hessian of −log det at the scaling point."""
    cone = off_center(2, d)
    matrix = explicit(cone.scaling())
    x = np.append(cone.slacks[1:], cone.slacks[0])
    z = np.append(cone.duals[1:], cone.duals[0])
    np.testing.assert_allclose(matrix @ x, z, rtol=1e-11, atol=1e-12)
    reflection = np.diag([-1.0] * d + [1.0])
    # M J M = det(M)^(2/(d+1)) J characterises the scalings of this cone.
    image = matrix @ reflection @ matrix
    np.testing.assert_allclose(image, image[d, d] * reflection, rtol=1e-9, atol=1e-9 * abs(image[d, d]))
    assert np.linalg.eigvalsh(matrix).min() > 0


@for_each_cone
@for_each_size
def test_matrices_are_positive_definite(p, d):
    assert np.linalg.eigvalsh(explicit(off_center(p, d).scaling())).min() > 0


# Starting points


@for_each_cone
@for_each_size
def test_a_new_cone_is_on_the_central_path(p, d):
    w = np.random.default_rng(1).normal(size=d)
    lam = 1.3 * norm_for(p).value(w)
    cone = CONES[p](w, lam, 0.2)
    assert cone.products() == pytest.approx(0.2 * cone.weight, rel=1e-13)
    if p == 2:
        head, tail = cone.slacks @ cone.duals, cone.slacks[0] * cone.duals[1:] + cone.duals[0] * cone.slacks[1:]
        np.testing.assert_allclose(np.append(head, tail), [0.2, *np.zeros(d)], atol=1e-14)
        return
    assert cone.slacks.min() > 0
    np.testing.assert_allclose(cone.slacks * cone.duals, 0.2 / len(cone.slacks), rtol=1e-13)
    bounds = (cone.slacks[:d] + cone.slacks[d : 2 * d]) / 2
    np.testing.assert_allclose(cone.slacks, slacks_at(p, w, lam, bounds), rtol=1e-13)


@for_each_cone
def test_multipliers_are_the_slope_of_the_lagrangian(p):
    """z·(dw, dλ) = −Σ multiplier · change of slack, at bounds that stay (q = 1: where they are stationary)."""
    cone = off_center(p, 5)
    rng = np.random.default_rng(2)
    dw, dlam = rng.normal(size=5), rng.normal()
    along = joined(cone.multipliers()) @ np.append(dw, dlam)
    expected = -cone.duals @ np.append(dlam, dw) if p == 2 else -cone.duals @ slacks_at(p, dw, dlam, np.zeros(5))
    assert along == pytest.approx(expected, rel=1e-12)


# Directions


@for_each_cone
@for_each_size
@pytest.mark.parametrize("target", [0.0, TARGET])
def test_multipliers_change_according_to_matrix_and_constant(p, d, target):
    cone = off_center(p, d)
    rng = np.random.default_rng(3)
    dw, dlam = rng.normal(size=d), rng.normal()
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
    dw, dlam = rng.normal(size=d), rng.normal()
    follow(cone, dw, dlam, TARGET)
    if p == 2:
        np.testing.assert_array_equal(cone.d_slacks, np.append(dlam, dw))
        return
    bounds = (cone.d_slacks[:d] + cone.d_slacks[d : 2 * d]) / 2
    np.testing.assert_allclose(cone.d_slacks, slacks_at(p, dw, dlam, bounds), rtol=1e-10, atol=1e-12)


def linearised_products(cone, p):
    """Return the products to first order after a full step (q = 2: in the scaled space), and the correction."""
    if p != 2:
        return cone.slacks * cone.duals + cone.slacks * cone.d_duals + cone.duals * cone.d_slacks, cone.correction
    scaled_dx, scaled_dz = cone._unscale(cone.d_slacks), cone._scale(cone.d_duals)
    total = cone.scaled + scaled_dx + scaled_dz
    head, tail = cone.scaled @ total, cone.scaled[0] * total[1:] + total[0] * cone.scaled[1:]
    return np.append(head, tail), cone.correction


def products_of_changes(cone, p):
    """Return what linearisation leaves out."""
    if p != 2:
        return cone.d_slacks * cone.d_duals
    dx, dz = cone._unscale(cone.d_slacks), cone._scale(cone.d_duals)
    return np.append(dx @ dz, dx[0] * dz[1:] + dz[0] * dx[1:])


def goal(cone, p, target):
    if p != 2:
        return np.full(len(cone.slacks), target / len(cone.slacks))
    return np.append(target, np.zeros(len(cone.slacks) - 1))


@for_each_cone
@for_each_size
@pytest.mark.parametrize("target", [0.0, TARGET])
def test_a_direction_satisfies_linearised_complementarity(p, d, target):
    cone = off_center(p, d)
    rng = np.random.default_rng(5)
    dw, dlam = rng.normal(size=d), rng.normal()
    follow(cone, dw, dlam, 0.0)  # the predictor
    products, correction = linearised_products(cone, p)
    np.testing.assert_allclose(products, goal(cone, p, 0.0), atol=1e-10)
    assert not correction.any()

    second_order = products_of_changes(cone, p)
    cone.correct()
    np.testing.assert_allclose(cone.correction, second_order, rtol=1e-12)
    cone.constant(target)
    cone.set_direction(rng.normal(size=d), rng.normal())
    products, correction = linearised_products(cone, p)
    np.testing.assert_allclose(products + correction, goal(cone, p, target), rtol=1e-9, atol=1e-10)


@for_each_cone
@for_each_size
def test_products_after_a_step_are_predicted(p, d):
    cone = off_center(p, d)
    follow(cone, np.linspace(-1, 1, d), 0.5, TARGET)
    for primal, dual in ((0.0, 0.0), (0.3, 0.7), (1.0, 1.0)):
        assert cone.products_after(primal, dual) == pytest.approx(moved(cone, primal, dual).products(), rel=1e-12)


@for_each_cone
@for_each_size
def test_products_move_towards_the_target(p, d):
    """The slope of Σ multiplier · slack along any direction is target − Σ multiplier · slack."""
    cone = off_center(p, d)
    follow(cone, np.linspace(-1, 1, d), 0.5, TARGET)
    h = 1e-6
    slope = (cone.products_after(h, h) - cone.products_after(-h, -h)) / (2 * h)
    assert slope == pytest.approx(TARGET - cone.products(), rel=1e-6)


@for_each_cone
def test_the_next_scaling_resets_the_correction(p):
    cone = off_center(p, 3)
    follow(cone, np.ones(3), 0.5, 0.0)
    cone.correct()
    cone.scaling()
    assert not cone.correction.any()


@pytest.mark.parametrize("p", [1, math.inf])
def test_centrality_correctors_aim_at_outliers_only(p):
    cone = off_center(p, 4)
    follow(cone, np.zeros(4), 0.0, 0.0)
    cone.slacks, cone.duals = np.ones_like(cone.slacks), np.full_like(cone.slacks, TARGET * cone.share)
    cone.d_slacks, cone.d_duals = np.zeros_like(cone.slacks), np.zeros_like(cone.slacks)
    one = TARGET * cone.share
    cone.duals[0], cone.duals[1], cone.duals[2] = 0.01 * one, 15.0 * one, 1e6 * one
    cone.recorrect(TARGET, 1.0, 1.0)
    np.testing.assert_allclose(cone.correction[:3] / one, [-0.09, 5.0, 10.0], rtol=1e-9)
    assert not cone.correction[3:].any()


# Step lengths


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
                assert inside(moved(cone, 1e3 * primal_side, 1e3 * (not primal_side)), p)
                continue
            for share, expected in ((0.999999, True), (1.000001, False)):
                length = share / step
                assert inside(moved(cone, length * primal_side, length * (not primal_side)), p) is expected


def inside(cone, p):
    if p == 2:
        return all(bool(v[0] > np.linalg.norm(v[1:])) for v in (cone.slacks, cone.duals))
    return bool(min(cone.slacks.min(), cone.duals.min()) > 0)


def test_a_full_dual_step_makes_the_bounds_of_the_cross_stationary():
    cone = off_center(math.inf, 4)
    follow(cone, np.linspace(-1, 1, 4), 0.5, TARGET)
    after = moved(cone, 0.0, 1.0).duals
    np.testing.assert_allclose(after[:4] + after[4:8], after[8], rtol=1e-10)


# Without a norm
