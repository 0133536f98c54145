"""The geometries of the proximal step return correct derivatives for every norm and every line."""

from collections import namedtuple

import numpy as np
import pytest

from drsvm.kernels.compiling import kernel
from drsvm.kernels.geometry import Box, Diamond, Euclidean, point_at
from drsvm.kernels.triangle import LINES, make_step

Numbers = namedtuple("Numbers", ["margin", "lam", "margin_slope", "lam_slope"])

SAMPLES = np.random.default_rng(0).standard_normal((20, 2, 5))


@kernel()
def evaluate(step, geometry, delta, sigma2, towards, ball):
    point = point_at(geometry, step, delta, sigma2, towards, ball)
    return point.margin, point.lam, point.margin_slope, point.lam_slope


def euclidean(w, z):
    return Euclidean(float(w @ z), float(w @ w - (w @ z) ** 2 / (z @ z)))


def diamond(w, z):
    return Diamond(np.stack([w, z]), len(z), None)


def box(w, z):
    return Box(np.stack([w, z]), len(z), None)


@pytest.mark.parametrize("ball", [-1.0, 0.7], ids=["free lam", "held lam"])
@pytest.mark.parametrize("line", LINES, ids=["hinge", "mostly hinge", "both", "flipped", "inside"])
@pytest.mark.parametrize("geometry", [diamond, euclidean, box])
def test_slopes_of_the_proximal_step_are_derivatives(geometry, line, ball):
    """Wrong slopes would only slow the solution down, so the slopes are compared with finite differences."""

    def point_on(step, w, z, t):
        delta, sigma2 = line.delta + line.delta_slope * t, line.sigma2 + line.sigma2_slope * t
        return Numbers(*evaluate(step, geometry(w, z), delta, sigma2, (line.delta_slope, line.sigma2_slope), ball))

    t, h = 0.2, 1e-6
    for w, z in SAMPLES:
        step = make_step.py_func(0.8, 1.5, 1.2, True, 0.3, 0.3, 0.1, 1.0, float(z @ z), 1.0, 1e-15)
        before, point, after = (point_on(step, w, z, place) for place in (t - h, t, t + h))
        assert (after.margin - before.margin) / (2 * h) == pytest.approx(point.margin_slope, rel=1e-6, abs=1e-8)
        if ball < 0:
            assert (after.lam - before.lam) / (2 * h) == pytest.approx(point.lam_slope, rel=1e-6, abs=1e-8)
