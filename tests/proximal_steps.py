"""Proximal steps of one sample at random, and the conditions that their solutions
satisfy.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import strategies as st
from strategies import norm_of, numbers, powers_of_ten, vectors_of_size

from drsvm.problem import Norm
from drsvm.solvers import proximal_step

# Of the optimality conditions, relative to the size of the numbers that enter them
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Case:
    """One proximal step, in the symbols of the problem.

    Z = y·x, and `b` is None without an intercept.
    """

    norm: Norm
    z: np.ndarray
    w: np.ndarray
    b: float | None
    lam: float
    eta: float
    epsilon: float
    kappa: float
    c: float
    sign: float = 1.0

    def solve(self):
        ball = {
            "radius": self.epsilon,
            "flip_cost": self.kappa,
            "norm": self.norm.p,
            "l2": self.c,
        }
        row = self.sign * self.z, self.sign
        return proximal_step(
            *row, self.w, self.lam, step=self.eta, intercept=self.b, **ball
        )

    @property
    def rho(self):
        return 1.0 + self.eta * self.c

    def margin(self, w, b):
        return w @ self.z + self.sign * b

    def pieces(self, w, b, lam):
        """Return 1 − m, 1 + m − κλ and 0."""
        margin = self.margin(w, b)
        flipped = (
            -math.inf if math.isinf(self.kappa) else 1.0 + margin - self.kappa * lam
        )
        return 1.0 - margin, flipped, 0.0

    def objective(self, w, b, lam):
        moved = (
            (w - self.w) @ (w - self.w)
            + (b - (self.b or 0.0)) ** 2
            + (lam - self.lam) ** 2
        )
        return (
            max(self.pieces(w, b, lam))
            + self.epsilon * lam
            + self.c / 2 * w @ w
            + moved / (2 * self.eta)
        )


@dataclass(frozen=True)
class Sizes:
    """The sizes of the numbers that are added up in a step: what the roundings are
    relative to.
    """

    weights: np.ndarray  # of ρw, entry by entry
    bias: float
    lam: float

    @classmethod
    def of(cls, case, step):
        flips = case.eta * case.kappa * step.flip_dual if step.flip_dual else 0.0
        return cls(
            np.abs(case.w) + case.eta * abs(step.gradient) * np.abs(case.z),
            0.0 if case.b is None else abs(case.b) + case.eta * abs(step.gradient),
            abs(case.lam) + case.eta * case.epsilon + flips,
        )

    def loss(self, case):
        prices = 0.0 if math.isinf(case.kappa) else case.kappa * self.lam
        return 1.0 + self.weights @ np.abs(case.z) / case.rho + self.bias + prices

    def objective(self, case, step):
        """Of the terms of the objective and of their first-order change when its
        arguments are rounded.
        """
        moves = np.abs(step.weights - case.w) @ (np.abs(step.weights) + np.abs(case.w))
        moves += abs(step.radius_price - case.lam) * (step.radius_price + abs(case.lam))
        moves += (
            0.0
            if case.b is None
            else abs(step.intercept - case.b) * (abs(step.intercept) + abs(case.b))
        )
        ridge = case.c * step.weights @ step.weights
        return (
            self.loss(case)
            + case.epsilon * step.radius_price
            + ridge
            + moves / case.eta
        )


DIMENSIONS = st.integers(1, 6)
CENTRES = st.sampled_from(
    ["free", "zero", "parallel", "on the cone", "at the triple kink"]
)
FLIP_COSTS = st.sampled_from([0.0, 1.0, 2.0, math.inf]) | powers_of_ten(-3, 3)
AMOUNTS = st.just(0.0) | powers_of_ten(-4, 4)
INTERCEPTS = st.none() | numbers()
SIGNS = st.sampled_from([1.0, -1.0])


@functools.cache
@st.composite
def cases(draw, norm):
    """Steps of all kinds: features, centres and step sizes from 1e-6 to 1e6, in the
    limits of all parameters.
    """
    d = draw(DIMENSIONS)
    z = draw(vectors_of_size(d))
    w = draw(vectors_of_size(d))
    eta = draw(powers_of_ten())
    epsilon = draw(AMOUNTS)
    kappa = draw(FLIP_COSTS)
    lam = draw(numbers())
    centre = draw(CENTRES)
    if centre == "zero":
        w = np.zeros(d)
    elif centre == "parallel":
        w = z * draw(numbers(-3, 3))
    elif centre == "on the cone":
        lam = norm_of(w, norm.q)
    elif centre == "at the triple kink" and 0 < kappa < math.inf:
        lam = 2.0 / kappa + eta * epsilon
        length = z @ z
        w = w + z * ((1.0 - w @ z) / length) if length > 0 else w
    return Case(
        norm,
        z,
        w,
        draw(INTERCEPTS),
        lam,
        eta,
        epsilon,
        kappa,
        draw(AMOUNTS),
        draw(SIGNS),
    )


def assert_optimal(case, step, tolerance=TOLERANCE):
    """Check the conditions under which (w, b, λ) with the multipliers σ is the
    solution, each on its own scale.
    """
    sizes = Sizes.of(case, step)
    assert step.hinge_dual >= 0
    assert step.flip_dual >= 0
    assert step.hinge_dual + step.flip_dual <= 1 + 1e-15
    assert step.gradient == pytest.approx(
        step.hinge_dual - step.flip_dual, rel=0, abs=1e-15
    )
    assert -1e-13 <= step.gap <= 1e-13
    assert_stationary(case, step, sizes, tolerance)
    # Only the largest pieces of the loss carry weight.
    pieces = case.pieces(step.weights, step.intercept, step.radius_price)
    shares = step.hinge_dual, step.flip_dual, 1.0 - step.hinge_dual - step.flip_dual
    for piece, share in zip(pieces, shares, strict=True):
        missing = share * (max(pieces) - piece) if share else 0.0
        assert missing <= tolerance * sizes.loss(case)


def assert_stationary(case, step, sizes, tolerance):
    """Check that the pull on (w, λ) is in the normal cone of the epigraph there, and
    that b is free of pull.
    """
    w = step.weights
    lam = step.radius_price
    q = case.norm.q
    p = case.norm.p
    flips = case.eta * case.kappa * step.flip_dual if step.flip_dual else 0.0
    pull_w = case.w + case.eta * step.gradient * case.z - case.rho * w
    pull_lam = case.lam - case.eta * case.epsilon + flips - lam
    noise_w = tolerance * sizes.weights
    noise_lam = tolerance * sizes.lam
    assert lam >= 0
    assert norm_of(w, q) <= lam + norm_of(noise_w, q) / case.rho + noise_lam
    assert norm_of(pull_w, p) <= -pull_lam + norm_of(noise_w, p) + noise_lam
    orthogonal = pull_w @ w + pull_lam * lam
    assert abs(orthogonal) <= noise_w @ sizes.weights / case.rho + noise_lam * (
        lam + sizes.lam
    )
    moved = 0.0 if case.b is None else case.b + case.sign * case.eta * step.gradient
    assert step.intercept == pytest.approx(moved, rel=0, abs=tolerance * sizes.bias)
