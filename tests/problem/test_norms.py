"""The three norms, and the projection onto the epigraph {‖w‖_q ≤ λ}."""

import functools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import (
    NORMS,
    for_each_norm,
    norm_of,
    numbers,
    powers_of_ten,
    vector_pairs,
    vectors,
)

from drsvm.compiled import epigraph, geometry
from drsvm.problem import Norm, euclidean, norm_for

BOTH_SIGNS_AND_ZERO = np.array([3.0, -4.0, 0.0])


# --- the translation between p and q
# ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_norm", "p", "q"),
    [
        (1, 1, math.inf),
        (2.0, 2, 2),
        (np.int64(1), 1, math.inf),
        ("inf", math.inf, 1),
        (np.float32("inf"), math.inf, 1),
    ],
)
def test_norm_for_translates_p_into_q(given_norm, p, q):
    norm = norm_for(given_norm)
    assert (norm.p, norm.q) == (p, q)
    assert norm_for(norm) is norm
    assert norm_for(str(norm)) == norm


@pytest.mark.parametrize("wrong", [3, 0, -1, 1.5, "two", None, math.nan, [2]])
def test_norm_for_rejects_others(wrong):
    with pytest.raises(ValueError, match="norm must be 1, 2 or inf"):
        norm_for(wrong)


def test_the_dual_norm_measures_weights_as_shifts_are_measured():
    assert [1 / norm.p + 1 / norm.q for norm in NORMS] == [1, 1, 1]
    assert [(norm.dual.q, norm.dual.p) for norm in NORMS] == [
        (norm.p, norm.q) for norm in NORMS
    ]
    assert all(norm.dual.dual == norm for norm in NORMS)
    assert {norm.q: norm.code for norm in NORMS} == {
        1: epigraph.ONE,
        2: epigraph.TWO,
        math.inf: epigraph.INFINITY,
    }


# --- value, dual value, worst direction
# -------------------------------------------------------------------------------


@for_each_norm
@given(w=vectors())
@example(w=BOTH_SIGNS_AND_ZERO)
def test_values_follow_their_definitions(norm, w):
    assert norm.value(w) == pytest.approx(norm_of(w, norm.q), rel=1e-14, abs=0)
    assert norm.dual.value(w) == pytest.approx(norm_of(w, norm.p), rel=1e-14, abs=0)


@for_each_norm
@given(pair=vector_pairs())
def test_dual_pairing_is_bounded_by_both_values(norm, pair):
    w, v = pair
    assert abs(w @ v) <= norm.value(w) * norm.dual.value(v) * (1 + 1e-14)


@for_each_norm
@given(w=vectors())
@example(w=BOTH_SIGNS_AND_ZERO)
@example(w=np.zeros(3))
def test_worst_direction_attains_the_norm(norm, w):
    direction = norm.worst_direction(w)
    assert norm_of(direction, norm.p) == pytest.approx(
        1.0 if w.any() else 0.0, rel=1e-14
    )
    assert w @ direction == pytest.approx(norm_of(w, norm.q), rel=1e-14, abs=0)


@pytest.mark.parametrize("copies", [1, 400])  # few entries are added up one by one
@pytest.mark.parametrize("scale", [1e-200, 1e200])
@for_each_norm
def test_values_neither_overflow_nor_vanish(norm, scale, copies):
    w = scale * np.tile(BOTH_SIGNS_AND_ZERO, copies)
    expected = {1.0: 7.0 * copies, 2.0: 5.0 * math.sqrt(copies), math.inf: 4.0}
    assert norm.value(w) == pytest.approx(scale * expected[norm.q], rel=1e-14)
    assert norm.dual.value(w) == pytest.approx(scale * expected[norm.p], rel=1e-14)
    assert norm_of(norm.worst_direction(w) / 5, norm.p) == pytest.approx(0.2, rel=1e-14)


# --- the ball of the dual norm
# ----------------------------------------------------------------------------------------

radii = st.just(0.0) | powers_of_ten()


@for_each_norm
@given(v=vectors(), radius=radii)
@example(v=BOTH_SIGNS_AND_ZERO, radius=1.0)
@example(v=BOTH_SIGNS_AND_ZERO, radius=0.0)
@example(v=np.full(7, 0.1), radius=0.7)
def test_dual_ball_projection_is_optimal(norm, v, radius):
    """The nearest point u has (v − u)·(x − u) ≤ 0 for all x of the ball, over which r·x is at most radius·‖r‖_q."""
    before = v.copy()
    nearest = norm.dual.project_ball(v, radius)
    size = norm_of(v, 1)
    rest = v - nearest
    assert norm_of(nearest, norm.p) <= radius + 1e-14 * size
    assert radius * norm_of(rest, norm.q) - rest @ nearest <= 1e-14 * size**2
    np.testing.assert_array_equal(v, before)


@for_each_norm
@given(v=vectors())
def test_points_of_the_dual_ball_stay(norm, v):
    radius = 1.0000001 * norm_of(v, norm.p)
    stayed = norm.dual.project_ball(v, radius)
    np.testing.assert_array_equal(stayed, v)
    assert stayed is not v
    assert dual_distance(norm, v, radius) == 0.0


def dual_distance(norm, v, radius):
    return euclidean(v - norm.dual.project_ball(v, radius))


LARGE_ENTRY_ON_THE_BALL = {"v": np.array([1e-06, 1.00230524e-06, 1e6]), "radius": 1e6}
"""The distance is 1e-12 of the size of v: rounding of v leaves its direction four digits."""


def exact_dual_distance(p, v, radius):
    """Return the distance from the p-ball in rational arithmetic, with roots of 50 digits at the end."""
    sizes = [Fraction(abs(entry)) for entry in v.tolist()]
    radius = Fraction(radius)
    if p == 2:
        with mpmath.workdps(50):
            return float(
                max(
                    exact_length(sizes)
                    - mpmath.mpf(radius.numerator) / radius.denominator,
                    0,
                )
            )
    if p == math.inf:
        return float(exact_length([max(size - radius, Fraction(0)) for size in sizes]))
    threshold = Fraction(0)
    total = Fraction(0)
    for count, size in enumerate(sorted(sizes, reverse=True), start=1):
        total += size
        threshold = max(threshold, (total - radius) / count)
    return float(exact_length([min(size, threshold) for size in sizes]))


def exact_length(sizes):
    """Return the Euclidean norm of rational numbers."""
    with mpmath.workdps(50):
        squared = sum(size**2 for size in sizes)
        return mpmath.sqrt(mpmath.mpf(squared.numerator) / squared.denominator)


@for_each_norm
@given(v=vectors(), radius=radii)
@example(**LARGE_ENTRY_ON_THE_BALL)
def test_dual_distance_agrees_with_exact_arithmetic(norm, v, radius):
    exact = exact_dual_distance(norm.p, v, radius)
    assert dual_distance(norm, v, radius) == pytest.approx(
        exact, rel=0, abs=1e-15 * norm_of(v, 1)
    )


# --- projection onto the epigraph: optimality
# -------------------------------------------------------------------------


def epigraph_size(x, s):
    return norm_of(x, 1) + abs(s)


def assert_nearest_point_of_epigraph(
    norm: Norm, x, s, stiffness, w, lam, tolerance=1e-10
):
    """Check that (w, λ) is in the cone, (x, s) − (w, λ) in its normal cone, and that both are orthogonal.

    The normal cone at (w, λ) is the part of {(u, τ): ‖u‖_p ≤ −τ} orthogonal to it; u is
    measured with the stiffness.
    """
    size = epigraph_size(x, s)
    gradient = stiffness * (x - w)
    scale = max(1.0, stiffness)
    assert norm_of(w, norm.q) <= lam + tolerance * size
    assert norm_of(gradient, norm.p) <= lam - s + tolerance * scale * size
    assert abs(gradient @ w + (s - lam) * lam) <= tolerance * scale * size**2


stiffnesses = st.just(1.0) | powers_of_ten(-3, 6)
regions = st.sampled_from(
    ["anywhere", "inside", "on the cone", "in the polar cone", "on the polar cone"]
)


@functools.cache
@st.composite
def epigraph_points(draw, norm):
    """A point to project: in every region of the space, also on the boundaries between the cases."""
    x = draw(vectors())
    stiffness = draw(stiffnesses)
    s = {
        "anywhere": draw(numbers()),
        "inside": 1.5 * norm_of(x, norm.q),
        "on the cone": norm_of(x, norm.q),
        "in the polar cone": -1.5 * stiffness * norm_of(x, norm.p),
        "on the polar cone": -stiffness * norm_of(x, norm.p),
    }[draw(regions)]
    return x, s, stiffness


@for_each_norm
@given(data=st.data())
def test_epigraph_projection_is_optimal(norm, data):
    x, s, stiffness = data.draw(epigraph_points(norm))
    w, lam = norm.project_epigraph(x, s, stiffness)
    assert_nearest_point_of_epigraph(norm, x, s, stiffness, w, lam, tolerance=1e-12)


@for_each_norm
@given(data=st.data())
def test_epigraph_projection_is_idempotent(norm, data):
    x, s, stiffness = data.draw(epigraph_points(norm))
    w, lam = norm.project_epigraph(x, s, stiffness)
    again, lam_again = norm.project_epigraph(w, lam, stiffness)
    tolerance = 1e-13 * epigraph_size(x, s)
    np.testing.assert_allclose(again, w, rtol=0, atol=tolerance)
    assert lam_again == pytest.approx(lam, rel=0, abs=tolerance)


@for_each_norm
def test_epigraph_projection_meets_each_case(norm):
    x = np.array([2.0, -1.0, 0.0, 2.0])
    inside, lam = norm.project_epigraph(x, 6.0)
    np.testing.assert_array_equal(inside, x)
    assert lam == 6.0
    origin, lam = norm.project_epigraph(x, -6.0)
    np.testing.assert_array_equal(origin, np.zeros(4))
    assert lam == 0.0
    boundary, lam = norm.project_epigraph(x, 0.5)
    assert norm_of(boundary, norm.q) == pytest.approx(lam, rel=1e-15)
    assert lam > 0.5


@for_each_norm
def test_epigraph_projection_of_the_axis_and_of_an_array_that_is_left_alone(norm):
    for s in (-1.0, 0.0, 1.0):
        w, lam = norm.project_epigraph(np.zeros(3), s)
        np.testing.assert_array_equal(w, np.zeros(3))
        assert lam == max(s, 0.0)
    x = np.arange(12.0)[::3]  # not contiguous
    x.flags.writeable = False
    w, _ = norm.project_epigraph(x, 1.0)
    assert norm_of(w, norm.q) < norm_of(x, norm.q)
    np.testing.assert_array_equal(x, [0.0, 3.0, 6.0, 9.0])


# --- projection onto the epigraph: agreement with a solution in exact arithmetic
# --------------------------------------


def exact_projection(q, x, s, stiffness):
    """Return (w, λ) from sorted breakpoints in rational arithmetic (q = 2: with a root of 50 digits)."""
    sizes = [Fraction(abs(entry)) for entry in x.tolist()]
    s = Fraction(s)
    rho = Fraction(stiffness)
    new_sizes, lam = {1: exact_l1, 2: exact_l2, math.inf: exact_linf}[q](sizes, s, rho)
    return np.copysign(np.array([float(size) for size in new_sizes]), x), float(lam)


def exact_l1(sizes, s, rho):
    if sum(sizes) <= s:
        return sizes, s
    # the origin, unless an entry is above the threshold
    theta = -s / rho
    total = Fraction(0)
    for count, size in enumerate(sorted(sizes, reverse=True), start=1):
        if size <= theta:
            break
        total += size
        theta = (total - s) / (count + rho)
    return [max(size - theta, Fraction(0)) for size in sizes], s + rho * theta


def exact_linf(sizes, s, rho):
    if max(sizes) <= s:
        return sizes, s
    lam = s
    total = Fraction(0)
    for count, size in enumerate(sorted(sizes, reverse=True), start=1):
        if size <= lam:
            break
        total += size
        lam = (s + rho * total) / (1 + rho * count)
    lam = max(lam, Fraction(0))
    return [min(size, lam) for size in sizes], lam


def exact_l2(sizes, s, rho):
    with mpmath.workdps(50):
        sizes = [mpmath.mpf(size.numerator) / size.denominator for size in sizes]
        s, rho = (
            mpmath.mpf(number.numerator) / number.denominator for number in (s, rho)
        )
        length = mpmath.sqrt(mpmath.fsum(size**2 for size in sizes))
        if length <= s:
            return sizes, s
        if rho * length <= -s:
            return [mpmath.mpf(0)] * len(sizes), mpmath.mpf(0)
        lam = (s + rho * length) / (1 + rho)
        return [size * lam / length for size in sizes], lam


def assert_agrees_with_exact_projection(norm, x, s, stiffness, tolerance):
    w, lam = norm.project_epigraph(x, s, stiffness)
    exact_w, exact_lam = exact_projection(norm.q, x, s, stiffness)
    size = max(norm_of(x, math.inf), abs(s))
    np.testing.assert_allclose(w, exact_w, rtol=0, atol=tolerance * size)
    assert lam == pytest.approx(exact_lam, rel=0, abs=tolerance * size)


@for_each_norm
@given(data=st.data())
def test_epigraph_projection_agrees_with_exact_arithmetic(norm, data):
    x, s, stiffness = data.draw(epigraph_points(norm))
    assert_agrees_with_exact_projection(norm, x, s, stiffness, tolerance=1e-13)


def long_vector(kind, d, rng):
    return {
        "random": rng.standard_normal(d),
        "all equal": np.full(d, 0.1),
        "few values": rng.integers(-3, 4, size=d).astype(float),
        "mixed scales": rng.choice([-1.0, 1.0], size=d)
        * 10.0 ** rng.uniform(-6, 6, size=d),
        "increasing": np.arange(1.0, d + 1.0),
        "decreasing": np.arange(float(d), 0.0, -1.0),
    }[kind]


LONG_VECTORS = [
    "random",
    "all equal",
    "few values",
    "mixed scales",
    "increasing",
    "decreasing",
]


@for_each_norm
@pytest.mark.parametrize("kind", LONG_VECTORS)
@pytest.mark.parametrize("share", [-0.3, 0.01, 0.5])
def test_epigraph_projection_of_long_vectors(norm, kind, share):
    x = long_vector(kind, 5000, np.random.default_rng(0))
    s = share * norm_of(x, norm.q if share > 0 else norm.p)
    assert_agrees_with_exact_projection(norm, x, s, 1.0, tolerance=1e-12)
    w, lam = norm.project_epigraph(x, s)
    assert_nearest_point_of_epigraph(norm, x, s, 1.0, w, lam, tolerance=1e-14)


@for_each_norm
def test_equal_entries_stay_equal(norm):
    w, lam = norm.project_epigraph(np.full(5000, 0.1), 0.0)
    assert np.ptp(w) == 0.0
    exact = {1.0: 0.1 / 5001, 2.0: 0.05, math.inf: 500 / 5001}[norm.q]
    assert w[0] == pytest.approx(exact, rel=1e-12)
    assert lam == pytest.approx(norm_of(w, norm.q), rel=1e-12)


@pytest.mark.parametrize("kind", LONG_VECTORS)
@pytest.mark.parametrize("d", [300, 3000])
def test_threshold_takes_few_passes(kind, d, monkeypatch):
    """Count the passes: few for any d, also with ties, presorted entries and entries of very different sizes."""
    passes = []
    excess = geometry._weights_excess.py_func
    monkeypatch.setattr(
        geometry,
        "rest_excess",
        lambda rest, limit: passes.append(limit) or excess(rest, limit),
    )
    for module, name in (
        (geometry, "_row_excess"),
        (geometry, "threshold"),
        (epigraph, "_sum_above"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    sizes = np.abs(long_vector(kind, d, np.random.default_rng(1)))
    for share in (0.01, 0.5):
        passes.clear()
        theta = epigraph.threshold.py_func(sizes, share * sizes.sum(), 0.0)
        assert np.maximum(sizes - theta, 0).sum() == pytest.approx(
            share * sizes.sum(), rel=1e-10
        )
        assert len(passes) <= 20
