"""Cones with prices and signs: the same as those of the scaled entries, in other variables."""

import copy
import math

import numpy as np
import pytest
from problems import NORMS

from drsvm import Problem
from drsvm.solvers.interior_point.cones import NORM_CONES, CrossCone
from drsvm.solvers.interior_point.priced_cones import ProductCone, SignCone, cone_at

PRICES = np.array([0.5, 2.0, math.inf, 1.0])
POINT = np.array([0.3, -0.2, 5.0, 0.1, -0.4])

for_each_norm = pytest.mark.parametrize("norm", NORMS)


def problem_with(norm=2, **given):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 4))
    parameters = {"norm": norm, "fit_intercept": True, "intercept_cost": 4.0, "feature_cost": PRICES, **given}
    return Problem(X, np.resize([1, -1], 10), **parameters)


def explicit(scaling, size):
    matrix = np.zeros((size + 1, size + 1))
    scaling.add_to(matrix)
    return np.triu(matrix) + np.triu(matrix, 1).T


@for_each_norm
def test_a_priced_cone_is_that_of_the_scaled_entries(norm):
    problem = problem_with(norm)
    entries, scale = [0, 1, 3, 4], 1.0 / np.array([0.5, 2.0, 1.0, 4.0])
    to_entries = np.zeros((5, 6))
    to_entries[range(4), entries], to_entries[4, 5] = scale, 1.0
    inner = NORM_CONES[type(problem.norm)](scale * POINT[entries], 2.0, 0.1)
    cone = cone_at(problem, POINT, 2.0, 0.1)
    assert isinstance(cone, ProductCone) and cone.weight == inner.weight
    expected = to_entries.T @ explicit(inner.scaling(), 4) @ to_entries
    np.testing.assert_allclose(explicit(cone.scaling(), 5), expected, atol=1e-14)
    for step in range(3):
        for method in ("multipliers", "constant"):
            arguments = (0.05,) if method == "constant" else ()
            z, lam = getattr(inner, method)(*arguments)
            np.testing.assert_allclose(
                np.append(*getattr(cone, method)(*arguments)), np.append(z, lam) @ to_entries, atol=1e-13
            )
        direction = 0.01 * np.random.default_rng(step).normal(size=6)
        cone.set_direction(direction[:5], direction[5])
        inner.set_direction((to_entries @ direction)[:4], direction[5])
        assert cone.rates() == pytest.approx([max(rate, 0.0) for rate in inner.rates()])
        assert cone.products_after(0.5, 0.4) == pytest.approx(inner.products_after(0.5, 0.4))
        for each in (cone, inner):
            each.correct()
            each.recorrect(0.05, 0.9, 0.9)
            each.move(0.3, 0.2)
            each.scaling()
        assert cone.products() == pytest.approx(inner.products())


def test_signs_are_linear_constraints():
    signs = np.array([1, -1, 0, 0])
    cone = cone_at(problem_with(monotonic_cst=signs), POINT, 2.0, 0.1)
    held = cone.parts[1].cone
    norm = cone_at(problem_with(), POINT, 2.0, 0.1)
    assert isinstance(held, SignCone) and cone.weight == 2.0
    np.testing.assert_allclose(held.slacks, [0.3, 0.2])
    assert cone.products() == pytest.approx(0.1 * cone.weight)
    z, lam = cone.multipliers()
    only, only_lam = norm.multipliers()
    np.testing.assert_allclose(z - only, [-held.duals[0], held.duals[1], 0, 0, 0])
    assert lam == only_lam
    cone.scaling()
    cone.constant(0.1)
    cone.set_direction(np.array([-1.0, 0.0, 0.0, 0.0, 0.0]), 0.0)
    assert cone.rates()[0] >= 1.0 / 0.3
    np.testing.assert_allclose(held.d_duals, held.pushes - held.duals - held.ratios * [-1.0, 0.0])


@pytest.mark.parametrize("signs", [None, [1, -1, 0, 0]])
def test_a_copy_keeps_its_correction(signs):
    """A rejected corrector restores the cone from a copy."""
    cone = cone_at(problem_with(1, monotonic_cst=signs), POINT, 2.0, 0.1)
    cone.scaling()
    cone.constant(0.0)
    cone.set_direction(np.full(5, 0.2), 0.1)
    cone.correct()
    kept, before = copy.copy(cone), np.append(*cone.constant(0.05))
    cone.recorrect(1e-9, 0.9, 0.9)
    assert not np.allclose(np.append(*cone.constant(0.05)), before, rtol=1e-6)
    np.testing.assert_array_equal(np.append(*kept.constant(0.05)), before)


def test_without_prices_the_cone_is_that_of_the_weights():
    plain = problem_with(feature_cost=None, intercept_cost=math.inf)
    per_row = plain.replace(flip_cost=np.resize([1.0, 2.0], 10))
    for problem in (plain, per_row):
        assert type(cone_at(problem, POINT, 2.0, 0.1)) is NORM_CONES[type(plain.norm)]


def test_if_nothing_has_a_price_only_the_level_is_left():
    nothing = problem_with(1, feature_cost=math.inf, intercept_cost=math.inf)
    cone = cone_at(nothing, POINT, 2.0, 0.1)
    assert isinstance(cone.parts[0].cone, CrossCone)
    np.testing.assert_array_equal(cone.parts[0].cone.slacks, [2.0])


@pytest.mark.parametrize("signs", [None, [1, -1, 0, 0]])
def test_without_a_radius_the_norm_plays_no_role(signs):
    cone = cone_at(problem_with(radius=0.0, monotonic_cst=signs), POINT, 2.0, 0.1)
    assert cone.weight == (signs is not None)
    matrix = explicit(cone.scaling(), 5)
    assert matrix[-1, -1] == 1.0 and not matrix[-1, :-1].any() and matrix.any(axis=1).sum() == 1 + 2 * cone.weight
    assert cone.constant(0.1)[1] == 0.0
