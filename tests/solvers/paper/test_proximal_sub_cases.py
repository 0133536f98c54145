"""The proximal step of one sample finds planted solutions: every sub-case, in every position to the cone."""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from proximal_steps import Case, assert_optimal
from strategies import for_each_norm, norm_of

from drsvm.solvers import Pieces

HINGE = Pieces.HINGE
FLIPPED = Pieces.FLIPPED
ZERO = Pieces.ZERO
KAPPA = 1.5
KAPPA_LEVEL_AND_MARGIN = {
    HINGE: (1.0, 0.2),
    FLIPPED: (1.0, 0.9),
    ZERO: (3.0, 1.5),
    HINGE | FLIPPED: (1.0, 0.5),
    HINGE | ZERO: (3.0, 1.0),
    FLIPPED | ZERO: (3.0, 2.0),
    HINGE | FLIPPED | ZERO: (2.0, 1.0),
}
"""κλ and m at which exactly these pieces of the loss are the largest."""

MARGIN_AT_ORIGIN = {
    (HINGE, KAPPA): -0.5,
    (FLIPPED, KAPPA): 0.5,
    (HINGE | FLIPPED, KAPPA): 0.0,
    (HINGE, math.inf): 0.5,
    (HINGE | ZERO, math.inf): 1.0,
    (ZERO, math.inf): 1.5,
}
"""With w = 0 and λ = 0.

There the piece 0 is below 1 + |m| unless labels are trusted.
"""


def worst_direction(q, w, rng):
    """Return a random t with ‖t‖_p ≤ 1 and t·w = ‖w‖_q."""
    if q == 2:
        return w / norm_of(w, 2)
    if q == 1:
        return np.where(w != 0, np.sign(w), rng.uniform(-1, 1, size=w.size))
    shares = np.where(
        np.abs(w) == np.abs(w).max(), rng.uniform(0.1, 1, size=w.size), 0.0
    )
    return np.sign(w) * shares / shares.sum()


@dataclass(frozen=True)
class Solution:
    """What a planted case must lead to."""

    weights: np.ndarray
    intercept: float
    lam: float
    shares: tuple


def plant(case, solution, pull_w, pull_lam):
    """Return the case with the centre from which the step leads to the solution."""
    hinge, flipped = solution.shares[:2]
    shift = case.eta * (hinge - flipped)
    flips = case.eta * case.kappa * flipped if flipped else 0.0
    return replace(
        case,
        w=case.rho * solution.weights - shift * case.z + pull_w,
        b=None if case.b is None else solution.intercept - case.sign * shift,
        lam=solution.lam + case.eta * case.epsilon - flips + pull_lam,
    )


def random_shares(pieces, rng):
    """Return shares of the three pieces with sum 1, positive exactly for the given ones."""
    weights = [
        rng.uniform(0.2, 1.0) if piece in pieces else 0.0
        for piece in (HINGE, FLIPPED, ZERO)
    ]
    return tuple(weight / sum(weights) for weight in weights)


def random_parameters(norm, kappa, intercept, rng):
    eta, epsilon, c = 10.0 ** rng.uniform(-2, 2, size=3)
    z = rng.standard_normal(4)
    ridge = rng.choice([0.0, c])
    sign = rng.choice([-1.0, 1.0])
    return Case(
        norm,
        z,
        np.zeros(4),
        0.0 if intercept else None,
        0.0,
        eta,
        epsilon,
        kappa,
        ridge,
        sign,
    )


def planted_off_origin(norm, pieces, boundary, intercept, rng):
    kappa_lam, margin = KAPPA_LEVEL_AND_MARGIN[pieces]
    case = random_parameters(norm, KAPPA, intercept, rng)
    lam = kappa_lam / KAPPA
    w = rng.permutation([1.0, -1.0, 0.5, 0.0])  # a tie and a zero
    w *= lam / norm_of(w, norm.q) * (1.0 if boundary else 0.6)
    if not intercept:
        case = replace(case, z=case.z + w * ((margin - w @ case.z) / (w @ w)))
    b = case.sign * (margin - w @ case.z) if intercept else 0.0
    force = rng.uniform(0.5, 2.0) if boundary else 0.0
    solution = Solution(w, b, lam, random_shares(pieces, rng))
    return plant(
        case, solution, force * worst_direction(norm.q, w, rng), -force
    ), solution


def planted_at_origin(norm, pieces, kappa, rng):
    case = random_parameters(norm, kappa, True, rng)
    solution = Solution(
        np.zeros(4),
        case.sign * MARGIN_AT_ORIGIN[pieces, kappa],
        0.0,
        random_shares(pieces, rng),
    )
    gradient = rng.standard_normal(4)
    return plant(
        case, solution, 0.7 * gradient / norm_of(gradient, norm.p), -1.0
    ), solution


def assert_finds(case, solution, pieces):
    step = case.solve()
    size = (
        1
        + norm_of(case.w, 2)
        + abs(case.lam)
        + abs(case.b or 0.0)
        + case.eta * (1 + norm_of(case.z, 2))
    )
    near = functools.partial(pytest.approx, rel=0, abs=1e-13 * size)
    assert step.pieces == pieces
    assert step.weights == near(solution.weights)
    assert step.intercept == near(solution.intercept)
    assert step.radius_price == near(solution.lam)
    assert (step.hinge_dual, step.flip_dual) == pytest.approx(
        solution.shares[:2], abs=1e-10
    )
    assert_optimal(case, step)


@for_each_norm
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("boundary", [False, True], ids=["inside", "boundary"])
@pytest.mark.parametrize("pieces", KAPPA_LEVEL_AND_MARGIN, ids=str)
def test_every_sub_case_is_found_in_and_on_the_cone(norm, pieces, boundary, intercept):
    rng = np.random.default_rng(0)
    for _ in range(30):
        assert_finds(
            *planted_off_origin(norm, pieces, boundary, intercept, rng), pieces
        )


@for_each_norm
@pytest.mark.parametrize(("pieces", "kappa"), MARGIN_AT_ORIGIN, ids=str)
def test_every_sub_case_is_found_at_the_origin(norm, pieces, kappa):
    rng = np.random.default_rng(0)
    for _ in range(30):
        case, solution = planted_at_origin(norm, pieces, kappa, rng)
        assert_finds(case, solution, pieces)
        np.testing.assert_array_equal(case.solve().weights, np.zeros(4))


@for_each_norm
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_step_stays_at_the_triple_kink(norm, scale):
    """At m = 1 and κλ = 2 the two pieces balance each other, and their weight ε/κ each balances the radius."""
    z = scale * np.array([1.0, 2.0])
    w = np.array([1.0, 0.0]) / scale
    kappa = scale
    case = Case(
        norm,
        z,
        w,
        None,
        2.0 / kappa,
        eta=7.0 / scale**2,
        epsilon=0.25 * kappa,
        kappa=kappa,
        c=0.0,
    )
    step = case.solve()
    assert step.pieces == HINGE | FLIPPED | ZERO
    assert (step.hinge_dual, step.flip_dual) == pytest.approx((0.25, 0.25), rel=1e-12)
    assert step.weights == pytest.approx(w, rel=1e-12, abs=1e-12 / scale)
    assert step.radius_price == pytest.approx(2.0 / kappa, rel=1e-12)
    unmoved = replace(case, epsilon=0.0).solve()
    assert unmoved.pieces == ZERO
    np.testing.assert_array_equal(unmoved.weights, w)
    assert unmoved.radius_price == 2.0 / kappa
