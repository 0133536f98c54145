"""Epoch kernels of the incremental methods against plain formulas, and derivatives of their geometries."""

import math
from collections import namedtuple

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS, random_rows
from scipy import sparse

from drsvm import Problem
from drsvm.compiled.decorators import compiled
from drsvm.compiled.geometry import Box, Diamond, Euclidean, point_at
from drsvm.compiled.single_sample_prox import LINES, ProximalStep
from drsvm.problem import norm_for
from drsvm.solvers import proximal_step
from drsvm.solvers.paper.incremental import Epochs

for_each_norm = pytest.mark.parametrize("norm", NORMS)


def epochs_of(problem, order="cyclic"):
    return Epochs.of(problem, order, np.random.default_rng(0))


def random_case(rng):
    """Return one sparse row, a centre on or inside the cone of the norm, and the parameters of a step."""
    d = int(rng.integers(1, 7))
    x = rng.normal(size=d) * (rng.random(d) < 0.8)
    x = np.round(x) if rng.random() < 0.3 else x
    w = rng.normal(size=d) * 10 ** rng.uniform(-2, 1)
    slack = 1.0 if rng.random() < 0.6 else rng.uniform(1, 3)
    parameters = {
        "radius": float(rng.choice([0.05, 0.1, 1.0, 10.0])),
        "flip_cost": float(rng.choice([0.5, 1.0, 3.0, math.inf])),
        "l2": float(rng.choice([0.0, 0.0, 1.0])),
    }
    return x, w, slack, 10 ** rng.uniform(-4, 2), parameters


@for_each_norm
def test_steps_are_exact_proximal_steps(norm):
    rng = np.random.default_rng(0)
    kinks = 0
    for _ in range(400):
        x, w, slack, eta, parameters = random_case(rng)
        fit_intercept = bool(rng.random() < 0.5)
        lam = slack * norm_for(norm).value(w)
        if rng.random() < 0.3 and math.isfinite(parameters["flip_cost"]) and lam > 0:
            parameters["flip_cost"] = 2.0 / lam  # at the triple kink
        b = float(rng.normal()) if fit_intercept else 0.0
        rows = sparse.csr_array(np.vstack([x, np.zeros_like(x)]))
        problem = Problem(
            rows, [1, -1], norm=norm, fit_intercept=fit_intercept, **parameters
        )
        epochs = epochs_of(problem)
        epochs._next_order = lambda: np.array([0])
        epochs.terms = epochs.terms._replace(free=1.0 if fit_intercept else 0.0)
        point = epochs.origin()
        point.w[:] = w
        point.scalars[:2] = (lam, b)
        epochs.proximal(point, eta, 1.0)
        intercept = b if fit_intercept else None
        expected = proximal_step(
            x, 1, w, lam, step=eta, norm=norm, intercept=intercept, **parameters
        )
        size = (
            1
            + np.abs(w).max()
            + lam
            + eta * (parameters["radius"] + np.abs(x).max() + 3)
        )
        np.testing.assert_allclose(point.w, expected.weights, rtol=0, atol=1e-8 * size)
        assert point.scalars[0] == pytest.approx(expected.radius_price, abs=1e-8 * size)
        assert point.scalars[1] == pytest.approx(expected.intercept, abs=1e-8 * size)
        kinks += (
            0 < point.flip[0] < 1
            and point.hinge[0] > 0
            and point.hinge[0] + point.flip[0] < 1 - 1e-9
        )
    assert kinks > 5


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize(
    ("norm", "l2"), [(1, 0.0), (1, 0.8), (2, 0.0), (2, 0.8), (math.inf, 0.0)]
)
def test_subgradient_steps_are_projected_ones(norm, batch_size, l2):
    problem = well_conditioned_instance(1, 30, 5, norm=norm, l2=l2, fit_intercept=True)
    epochs = epochs_of(problem)
    point = epochs.origin()
    eta = 0.3 * epochs.natural_step
    # no two pieces of a loss are equally large
    w = 0.1 * np.random.default_rng(2).normal(size=5)
    b = 0.01
    lam = 1.1 * problem.norm.value(w)
    point.w[:] = w
    point.scalars[:2] = (lam, b)
    for _ in range(3):
        epochs.subgradient(point, eta, 1.0, batch_size)
        for first in range(0, 30, batch_size):
            X = problem.X[first : first + batch_size]
            y = problem.signs[first : first + batch_size]
            m = y * (X @ w + b)
            hinge = 1 - m
            flipped = 1 + m - problem.flip_cost * lam
            active = np.maximum(np.maximum(hinge, flipped), 0)
            one, two, none = (
                pieces.astype(float)
                for pieces in (hinge == active, flipped == active, active == 0)
            )
            sigma1 = one / (one + two + none)
            sigma2 = two / (one + two + none)
            gradient = (sigma1 - sigma2) * y / len(y)
            w = w / (1 + eta * l2) + eta * (gradient @ X)
            b = b + eta * epochs.terms.free * gradient.sum()
            lam -= eta * (problem.radius - problem.flip_cost * sigma2.mean())
            w, lam = problem.norm.project_epigraph(w, lam)
    np.testing.assert_allclose(point.w, w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(point.scalars[:2], [lam, b], rtol=1e-9, atol=1e-12)


@for_each_norm
@pytest.mark.parametrize("kind", ["gaussian", "integers", "binary"])
@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_memory_with_a_fixed_centre_is_a_proximal_step_on_the_whole(norm, kind, l2):
    """The losses nearly equal their values from the multipliers, and the point is the one for these multipliers."""
    X, y = random_rows(np.random.default_rng(3), 60, 7, kind)
    weights = np.random.default_rng(4).uniform(0.5, 2.0, 60)
    problem = Problem(X, y, norm=norm, l2=l2, fit_intercept=True, sample_weight=weights)
    epochs = epochs_of(problem, "shuffled")
    step = 0.5 * epochs.natural_step
    point = epochs.origin()
    total = 60 * step
    pi = problem.sample_weight
    for _ in range(300):
        # back to the centre
        point.w[:] = 0.0
        point.scalars[:] = 0.0
        epochs.memory(point, step)
    gradient, turn = problem.weighted_sum(pi * (point.hinge - point.flip))
    lam = total * (problem.flip_cost * float(pi @ point.flip) - problem.radius)
    stiffness = 1 + total * l2
    w, lam = problem.norm.project_epigraph(total * gradient / stiffness, lam, stiffness)
    np.testing.assert_allclose(point.w, w, rtol=1e-9, atol=1e-12)
    assert point.scalars[:2] == pytest.approx(
        [lam, total * epochs.terms.free * turn], rel=1e-9, abs=1e-12
    )
    m = problem.margins(w, point.scalars[1])
    hinge = 1 - m
    flipped = 1 + m - problem.flip_cost * lam
    loss = np.maximum(np.maximum(hinge, flipped), 0)
    assert 0 <= float(pi @ (loss - point.hinge * hinge - point.flip * flipped)) <= 1e-3


@for_each_norm
def test_wide_sparse_rows_take_the_same_steps_as_narrow_ones(norm):
    """Features that never occur change nothing, regardless of the shortcuts that keep an epoch cheap."""
    X, y = random_rows(np.random.default_rng(5), 80, 6, "gaussian")
    columns = np.sort(np.random.default_rng(6).choice(3000, 6, replace=False))
    indices = np.tile(columns, 80).astype(np.int32)
    indptr = np.arange(0, 481, 6, dtype=np.int32)
    wide = sparse.csr_array((X.ravel(), indices, indptr), shape=(80, 3000))
    ends = []
    for rows in (X, wide):
        problem = Problem(rows, y, norm=norm)
        epochs = epochs_of(problem)
        point = epochs.origin()
        for _ in range(3):
            epochs.subgradient(point, 0.1 * epochs.natural_step, 1.0, 8)
            epochs.proximal(point, 0.1 * epochs.natural_step, 1.0)
            epochs.memory(point, 0.3 * epochs.natural_step)
        ends.append(point)
    np.testing.assert_allclose(ends[1].w[columns], ends[0].w, rtol=1e-6, atol=1e-9)
    assert np.count_nonzero(np.delete(ends[1].w, columns)) == 0
    np.testing.assert_allclose(ends[1].flip, ends[0].flip, atol=1e-6)


Numbers = namedtuple("Numbers", ["margin", "lam", "margin_slope", "lam_slope"])
SAMPLES = np.random.default_rng(0).standard_normal((20, 2, 5))


@compiled()
def evaluate(step, geometry, delta, sigma2, towards, ball):
    point = point_at(geometry, step, delta, sigma2, towards, ball)
    return point.margin, point.lam, point.margin_slope, point.lam_slope


@pytest.mark.parametrize("ball", [-1.0, 0.7], ids=["free lam", "held lam"])
@pytest.mark.parametrize(
    "line", LINES, ids=["hinge", "mostly hinge", "both", "flipped", "inside"]
)
@pytest.mark.parametrize("kind", [Diamond, Euclidean, Box])
def test_slopes_of_the_proximal_step_are_derivatives(kind, line, ball):
    """Wrong slopes would only slow the solution down, so the slopes are compared with finite differences."""

    def point_on(step, w, z, t):
        delta = line.delta + line.delta_slope * t
        sigma2 = line.sigma2 + line.sigma2_slope * t
        geometry = Euclidean(float(w @ z), float(w @ w - (w @ z) ** 2 / (z @ z)))
        if kind is not Euclidean:
            geometry = kind(np.stack([w, z]), len(z), None)
        return Numbers(
            *evaluate(
                step,
                geometry,
                delta,
                sigma2,
                (line.delta_slope, line.sigma2_slope),
                ball,
            )
        )

    t = 0.2
    h = 1e-6
    for w, z in SAMPLES:
        step = ProximalStep(
            0.8, 1.5, 1.2, True, 0.3, 0.3, 0.1, 1.0, float(z @ z), 1.0, 1e-15
        )
        before, point, after = (
            point_on(step, w, z, place) for place in (t - h, t, t + h)
        )
        assert (after.margin - before.margin) / (2 * h) == pytest.approx(
            point.margin_slope, rel=1e-6, abs=1e-8
        )
        if ball < 0:
            assert (after.lam - before.lam) / (2 * h) == pytest.approx(
                point.lam_slope, rel=1e-6, abs=1e-8
            )
