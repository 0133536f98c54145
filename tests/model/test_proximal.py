"""The proximal step of one sample: optimality conditions, a conic solver, planted solutions, every sub-case."""

import functools
import itertools
import math
from dataclasses import dataclass, replace

import clarabel
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from strategies import NORMS, for_each_norm, norm_of, numbers, powers_of_ten, run_python, vectors_of_size

from drsvm.model.norms import Norm
from drsvm.model.proximal import Pieces, proximal_step

TOLERANCE = 1e-12
"""Of the optimality conditions, relative to the size of the numbers that enter them."""


@dataclass(frozen=True)
class Case:
    """One proximal step, in the symbols of the problem; z = y·x, and `b` is None without an intercept."""

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
        return proximal_step(
            self.sign * self.z,
            self.sign,
            self.w,
            self.lam,
            step=self.eta,
            radius=self.epsilon,
            flip_cost=self.kappa,
            norm=self.norm.p,
            l2=self.c,
            intercept=self.b,
        )

    @property
    def rho(self):
        return 1.0 + self.eta * self.c

    def margin(self, w, b):
        return w @ self.z + self.sign * b

    def pieces(self, w, b, lam):
        """Return 1 − m, 1 + m − κλ and 0."""
        margin = self.margin(w, b)
        flipped = -math.inf if math.isinf(self.kappa) else 1.0 + margin - self.kappa * lam
        return 1.0 - margin, flipped, 0.0

    def objective(self, w, b, lam):
        moved = (w - self.w) @ (w - self.w) + (b - (self.b or 0.0)) ** 2 + (lam - self.lam) ** 2
        return max(self.pieces(w, b, lam)) + self.epsilon * lam + self.c / 2 * w @ w + moved / (2 * self.eta)


@dataclass(frozen=True)
class Sizes:
    """The sizes of the numbers that are added up in a step: what the roundings are relative to."""

    weights: np.ndarray  # of ρw, entry by entry
    bias: float
    lam: float

    @classmethod
    def of(cls, case, step):
        flips = case.eta * case.kappa * step.flip_dual if step.flip_dual else 0.0
        return cls(
            np.abs(case.w) + case.eta * abs(step.pull) * np.abs(case.z),
            0.0 if case.b is None else abs(case.b) + case.eta * abs(step.pull),
            abs(case.lam) + case.eta * case.epsilon + flips,
        )

    def loss(self, case):
        prices = 0.0 if math.isinf(case.kappa) else case.kappa * self.lam
        return 1.0 + self.weights @ np.abs(case.z) / case.rho + self.bias + prices

    def objective(self, case, step):
        """Of the terms of the objective and of their first-order change when its arguments are rounded."""
        moves = np.abs(step.weights - case.w) @ (np.abs(step.weights) + np.abs(case.w))
        moves += abs(step.radius_price - case.lam) * (step.radius_price + abs(case.lam))
        moves += 0.0 if case.b is None else abs(step.intercept - case.b) * (abs(step.intercept) + abs(case.b))
        ridge = case.c * step.weights @ step.weights
        return self.loss(case) + case.epsilon * step.radius_price + ridge + moves / case.eta


# --- random cases -----------------------------------------------------------------------------------------------------

DIMENSIONS = st.integers(1, 6)
CENTRES = st.sampled_from(["free", "zero", "parallel", "on the cone", "at the triple kink"])
FLIP_COSTS = st.sampled_from([0.0, 1.0, 2.0, math.inf]) | powers_of_ten(-3, 3)
AMOUNTS = st.just(0.0) | powers_of_ten(-4, 4)
INTERCEPTS = st.none() | numbers()
SIGNS = st.sampled_from([1.0, -1.0])


@functools.cache
@st.composite
def cases(draw, norm):
    """Steps of all kinds: features, centres and step sizes from 1e-6 to 1e6, in the limits of all parameters."""
    d = draw(DIMENSIONS)
    z, w = draw(vectors_of_size(d)), draw(vectors_of_size(d))
    eta, epsilon, kappa, lam = draw(powers_of_ten()), draw(AMOUNTS), draw(FLIP_COSTS), draw(numbers())
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
    return Case(norm, z, w, draw(INTERCEPTS), lam, eta, epsilon, kappa, draw(AMOUNTS), draw(SIGNS))


# --- optimality conditions --------------------------------------------------------------------------------------------


def assert_optimal(case, step, tolerance=TOLERANCE):
    """Check the conditions under which (w, b, λ) with the multipliers σ is the solution, each on its own scale."""
    sizes = Sizes.of(case, step)
    assert_multipliers_in_triangle(step)
    assert_stationary(case, step, sizes, tolerance)
    assert_complementary(case, step, sizes, tolerance)
    assert -1e-13 <= step.gap <= 1e-13


def assert_multipliers_in_triangle(step):
    assert step.hinge_dual >= 0
    assert step.flip_dual >= 0
    assert step.hinge_dual + step.flip_dual <= 1 + 1e-15
    assert step.pull == pytest.approx(step.hinge_dual - step.flip_dual, rel=0, abs=1e-15)


def assert_stationary(case, step, sizes, tolerance):
    """Check that the pull on (w, λ) is in the normal cone of the epigraph there, and that b is free of pull."""
    w, lam, q, p = step.weights, step.radius_price, case.norm.q, case.norm.p
    flips = case.eta * case.kappa * step.flip_dual if step.flip_dual else 0.0
    pull_w = case.w + case.eta * step.pull * case.z - case.rho * w
    pull_lam = case.lam - case.eta * case.epsilon + flips - lam
    noise_w, noise_lam = tolerance * sizes.weights, tolerance * sizes.lam
    assert lam >= 0
    assert norm_of(w, q) <= lam + norm_of(noise_w, q) / case.rho + noise_lam
    assert norm_of(pull_w, p) <= -pull_lam + norm_of(noise_w, p) + noise_lam
    orthogonal = pull_w @ w + pull_lam * lam
    assert abs(orthogonal) <= noise_w @ sizes.weights / case.rho + noise_lam * (lam + sizes.lam)
    moved = 0.0 if case.b is None else case.b + case.sign * case.eta * step.pull
    assert step.intercept == pytest.approx(moved, rel=0, abs=tolerance * sizes.bias)


def assert_complementary(case, step, sizes, tolerance):
    """Check that only the largest pieces of the loss carry weight."""
    pieces = case.pieces(step.weights, step.intercept, step.radius_price)
    shares = step.hinge_dual, step.flip_dual, 1.0 - step.hinge_dual - step.flip_dual
    for piece, share in zip(pieces, shares, strict=True):
        missing = share * (max(pieces) - piece) if share else 0.0
        assert missing <= tolerance * sizes.loss(case)


@for_each_norm
@given(data=st.data())
def test_step_satisfies_the_optimality_conditions(norm, data):
    case = data.draw(cases(norm))
    assert_optimal(case, case.solve())


@for_each_norm
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_step_beats_random_feasible_points(norm, data, seed):
    case = data.draw(cases(norm))
    step = case.solve()
    ours = case.objective(step.weights, step.intercept, step.radius_price)
    slack = 1e-12 * Sizes.of(case, step).objective(case, step)
    rng = np.random.default_rng(seed)
    for reach in 10.0 ** rng.uniform(-9, 7, size=100):
        w = step.weights + reach * rng.standard_normal(case.z.size)
        b = 0.0 if case.b is None else step.intercept + reach * rng.standard_normal()
        lam = max(step.radius_price + reach * rng.standard_normal(), norm_of(w, norm.q))
        assert ours <= case.objective(w, b, lam) + slack


# --- a conic solver ---------------------------------------------------------------------------------------------------


def cone_rows(q, d):
    """Return A and its cone, with A (w, λ, extra variables) in the cone exactly where ‖w‖_q ≤ λ."""
    eye, ones, zeros = np.eye(d), np.ones((d, 1)), np.zeros((d, 1))
    if q == 2:
        return np.block([[np.zeros((1, d)), np.ones((1, 1))], [eye, zeros]]), clarabel.SecondOrderConeT(d + 1)
    if q == 1:  # d extra variables bound the sizes of the entries, their sum is at most λ
        bounds = np.block([[eye, zeros, eye], [-eye, zeros, eye]])
        return np.vstack([bounds, np.r_[np.zeros(d), 1.0, -np.ones(d)]]), clarabel.NonnegativeConeT(2 * d + 1)
    return np.block([[-eye, ones], [eye, ones]]), clarabel.NonnegativeConeT(2 * d)


def call_clarabel(quadratic, linear, A, constants, cones):
    """Minimise ½ x·Qx + linear·x where A x + constants lies in the cones; return x and the value (NaN: not solved)."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = settings.reduced_tol_feas = 1e-8
    sizes = np.abs(A).max(axis=1)
    if isinstance(cones[1], clarabel.SecondOrderConeT):
        sizes[cones[0].dim :] = sizes[cones[0].dim :].max()  # the rows of a cone keep their proportions
    sizes[sizes == 0] = 1.0
    scaled = sparse.csc_matrix(-A / sizes[:, None])
    solver = clarabel.DefaultSolver(sparse.csc_matrix(quadratic), linear, scaled, constants / sizes, cones, settings)
    solution = solver.solve()
    solved = solution.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    return np.array(solution.x), solution.obj_val if solved else math.nan


def conic_solution(case, unit):
    """Return the conic solver's point (w, b, λ), made feasible, and the objective it reports (NaN: not solved).

    The variables are w, λ, extras, b as moves from where they would go without the loss, in lengths whose cost is
    ½‖·‖² in the given unit of the objective, and the loss in that unit: the solver sees numbers near 1.
    """
    d, reach = case.z.size, math.sqrt(case.eta * unit)
    reach_w, reach_b = reach / math.sqrt(case.rho), 0.0 if case.b is None else reach
    pulled_w, pulled_lam, start_b = case.w / case.rho, case.lam - case.eta * case.epsilon, case.b or 0.0
    start_w, start_lam = case.norm.project_epigraph(pulled_w, pulled_lam, case.rho)
    cone, cone_type = cone_rows(case.norm.q, d)
    extras = np.zeros(cone.shape[1] - d - 1)

    margin = np.r_[reach_w * case.z, 0.0, extras, case.sign * reach_b, 0.0]
    price = np.r_[np.zeros(d), reach, extras, 0.0, 0.0]
    loss = np.r_[np.zeros(d), 0.0, extras, 0.0, unit]
    hinge, flipped, _ = case.pieces(start_w, start_b, start_lam)
    above, below = [loss, loss + margin], [0.0, hinge]
    if not math.isinf(case.kappa):
        above.append(loss - margin + case.kappa * price)
        below.append(flipped)
    lengths = np.r_[np.full(d, reach_w), reach, extras + reach_w]
    A = np.vstack([above, np.hstack([cone * lengths, np.zeros((len(cone), 2))])])
    constants = np.r_[-np.array(below), cone[:, : d + 1] @ np.r_[start_w, start_lam]]

    quadratic = np.diag(np.r_[np.ones(d + 1), extras, 1.0, 0.0])
    linear = np.r_[(start_w - pulled_w) / reach_w, (start_lam - pulled_lam) / reach, extras, 0.0, 1.0]
    cones = [clarabel.NonnegativeConeT(len(above)), cone_type]
    moves, value = call_clarabel(quadratic, linear, A, constants, cones)
    w = start_w + reach_w * moves[:d]
    lam = max(start_lam + reach * moves[d], norm_of(w, case.norm.q))
    without_loss = case.objective(start_w, start_b, start_lam) - max(0.0, hinge, flipped)
    return (w, start_b + reach_b * moves[-2], lam), without_loss + unit * value


def assert_agrees_with_conic_solver(case):
    """Return whether the conic solver was accurate, so that the comparison was two-sided.

    It is where its objective stays the same when its point is made feasible: with large η‖z‖² it does not.
    """
    step = case.solve()
    ours = case.objective(step.weights, step.intercept, step.radius_price)
    size = ours + Sizes.of(case, step).objective(case, step)
    point, reported = conic_solution(case, unit=max(ours, 1e-12))
    theirs = case.objective(*point)
    accurate = abs(theirs - reported) <= 1e-9 * size
    assert ours <= theirs + 1e-12 * size
    if accurate:
        assert theirs <= ours + 1e-8 * size
    return accurate


@for_each_norm
@given(data=st.data())
def test_step_agrees_with_a_conic_solver(norm, data):
    assert_agrees_with_conic_solver(data.draw(cases(norm)))


# --- planted solutions: every sub-case, in every position to the cone -------------------------------------------------

HINGE, FLIPPED, ZERO = Pieces.HINGE, Pieces.FLIPPED, Pieces.ZERO
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
"""With w = 0 and λ = 0; there the piece 0 is below 1 + |m| unless labels are trusted."""


def worst_direction(q, w, rng):
    """Return a random t with ‖t‖_p ≤ 1 and t·w = ‖w‖_q."""
    if q == 2:
        return w / norm_of(w, 2)
    if q == 1:
        return np.where(w != 0, np.sign(w), rng.uniform(-1, 1, size=w.size))
    shares = np.where(np.abs(w) == np.abs(w).max(), rng.uniform(0.1, 1, size=w.size), 0.0)
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
    weights = [rng.uniform(0.2, 1.0) if piece in pieces else 0.0 for piece in (HINGE, FLIPPED, ZERO)]
    return tuple(weight / sum(weights) for weight in weights)


def random_parameters(norm, kappa, intercept, rng):
    eta, epsilon, c = 10.0 ** rng.uniform(-2, 2, size=3)
    z = rng.standard_normal(4)
    ridge, sign = rng.choice([0.0, c]), rng.choice([-1.0, 1.0])
    return Case(norm, z, np.zeros(4), 0.0 if intercept else None, 0.0, eta, epsilon, kappa, ridge, sign)


def planted_off_origin(norm, pieces, boundary, intercept, rng):
    kappa_lam, margin = KAPPA_LEVEL_AND_MARGIN[pieces]
    case, lam = random_parameters(norm, KAPPA, intercept, rng), kappa_lam / KAPPA
    w = rng.permutation([1.0, -1.0, 0.5, 0.0])  # a tie and a zero
    w *= lam / norm_of(w, norm.q) * (1.0 if boundary else 0.6)
    if not intercept:
        case = replace(case, z=case.z + w * ((margin - w @ case.z) / (w @ w)))
    b = case.sign * (margin - w @ case.z) if intercept else 0.0
    force = rng.uniform(0.5, 2.0) if boundary else 0.0
    solution = Solution(w, b, lam, random_shares(pieces, rng))
    return plant(case, solution, force * worst_direction(norm.q, w, rng), -force), solution


def planted_at_origin(norm, pieces, kappa, rng):
    case = random_parameters(norm, kappa, True, rng)
    solution = Solution(np.zeros(4), case.sign * MARGIN_AT_ORIGIN[pieces, kappa], 0.0, random_shares(pieces, rng))
    pull = rng.standard_normal(4)
    return plant(case, solution, 0.7 * pull / norm_of(pull, norm.p), -1.0), solution


def assert_finds(case, solution, pieces):
    step = case.solve()
    size = 1 + norm_of(case.w, 2) + abs(case.lam) + abs(case.b or 0.0) + case.eta * (1 + norm_of(case.z, 2))
    near = functools.partial(pytest.approx, rel=0, abs=1e-13 * size)
    assert step.pieces == pieces
    assert step.weights == near(solution.weights)
    assert step.intercept == near(solution.intercept)
    assert step.radius_price == near(solution.lam)
    assert (step.hinge_dual, step.flip_dual) == pytest.approx(solution.shares[:2], abs=1e-10)
    assert_optimal(case, step)


@for_each_norm
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("boundary", [False, True], ids=["inside", "boundary"])
@pytest.mark.parametrize("pieces", KAPPA_LEVEL_AND_MARGIN, ids=str)
def test_every_sub_case_is_found_in_and_on_the_cone(norm, pieces, boundary, intercept):
    rng = np.random.default_rng(0)
    for _ in range(30):
        assert_finds(*planted_off_origin(norm, pieces, boundary, intercept, rng), pieces)


@for_each_norm
@pytest.mark.parametrize(("pieces", "kappa"), MARGIN_AT_ORIGIN, ids=str)
def test_every_sub_case_is_found_at_the_origin(norm, pieces, kappa):
    rng = np.random.default_rng(0)
    for _ in range(30):
        case, solution = planted_at_origin(norm, pieces, kappa, rng)
        assert_finds(case, solution, pieces)
        np.testing.assert_array_equal(case.solve().weights, np.zeros(4))


@for_each_norm
@pytest.mark.parametrize("pieces", KAPPA_LEVEL_AND_MARGIN, ids=str)
def test_every_sub_case_agrees_with_a_conic_solver(norm, pieces):
    rng = np.random.default_rng(1)
    planted = [planted_off_origin(norm, pieces, i % 2 == 0, i % 4 < 2, rng)[0] for i in range(20)]
    two_sided = [assert_agrees_with_conic_solver(case) for case in planted]
    assert sum(two_sided) >= 18


@for_each_norm
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_step_stays_at_the_triple_kink(norm, scale):
    """At m = 1 and κλ = 2 the two pieces balance each other, and their weight ε/κ each balances the radius."""
    z, w, kappa = scale * np.array([1.0, 2.0]), np.array([1.0, 0.0]) / scale, scale
    case = Case(norm, z, w, None, 2.0 / kappa, eta=7.0 / scale**2, epsilon=0.25 * kappa, kappa=kappa, c=0.0)
    step = case.solve()
    assert step.pieces == HINGE | FLIPPED | ZERO
    assert (step.hinge_dual, step.flip_dual) == pytest.approx((0.25, 0.25), rel=1e-12)
    assert step.weights == pytest.approx(w, rel=1e-12, abs=1e-12 / scale)
    assert step.radius_price == pytest.approx(2.0 / kappa, rel=1e-12)
    unmoved = replace(case, epsilon=0.0).solve()
    assert unmoved.pieces == ZERO
    np.testing.assert_array_equal(unmoved.weights, w)
    assert unmoved.radius_price == 2.0 / kappa


# --- limits -----------------------------------------------------------------------------------------------------------


@for_each_norm
@given(data=st.data(), exponent=st.integers(-20, 20))
def test_units_of_the_features_do_not_matter(norm, data, exponent):
    """Measuring the features in other units scales all numbers of the step, by powers of two without any rounding."""
    case = replace(data.draw(cases(norm)), b=None)
    unit = 2.0**exponent
    other = replace(
        case,
        z=case.z * unit,
        w=case.w / unit,
        lam=case.lam / unit,
        eta=case.eta / unit**2,
        epsilon=case.epsilon * unit,
        kappa=case.kappa * unit,
        c=case.c * unit**2,
    )
    step, scaled = case.solve(), other.solve()
    np.testing.assert_array_equal(scaled.weights * unit, step.weights)
    assert scaled.radius_price * unit == step.radius_price
    assert (scaled.hinge_dual, scaled.flip_dual, scaled.pull) == (step.hinge_dual, step.flip_dual, step.pull)


@for_each_norm
@given(data=st.data())
def test_trusted_labels_are_the_limit_of_expensive_flips(norm, data):
    """A finite price at which flipping does not pay at the solution changes nothing."""
    trusted = replace(data.draw(cases(norm)), kappa=math.inf)
    step = trusted.solve()
    assert step.flip_dual == 0.0
    assume(step.radius_price > 0)
    dear = replace(trusted, kappa=4.0 * (1.0 + abs(trusted.margin(step.weights, step.intercept))) / step.radius_price)
    other = dear.solve()
    size = Sizes.of(dear, other).objective(dear, other)
    expected = trusted.objective(step.weights, step.intercept, step.radius_price)
    assert dear.objective(other.weights, other.intercept, other.radius_price) == pytest.approx(
        expected, abs=1e-12 * size
    )


@for_each_norm
def test_zero_rows_move_the_intercept_only(norm):
    """Without features the loss pulls b towards 1 and nothing else; the cone and the radius do the rest."""
    case = Case(norm, np.zeros(3), np.array([0.1, 0.0, -0.2]), 0.0, 1.0, 0.5, 0.0, math.inf, 0.0, sign=-1.0)
    step = case.solve()
    assert (step.intercept, step.hinge_dual, step.radius_price) == (-0.5, 1.0, 1.0)
    np.testing.assert_array_equal(step.weights, case.w)


@for_each_norm
def test_the_level_is_the_norm_where_radius_and_ridge_are_strong(norm):
    """On the cone, λ = ‖w‖ to the accuracy of w, though it is the small difference of λ̄ − ηε and its multiplier."""
    case = Case(norm, np.array([-1e5]), np.array([-1e5]), None, -1e-6, 1e5, 1e4, math.inf, 1e4)
    step = case.solve()
    assert 0 < step.radius_price < 1e-4
    assert step.radius_price == pytest.approx(abs(step.weights[0]), rel=1e-10)


EXTREMES = (1e-12, 1.0, 1e12)


def take_extreme_steps():
    """Take steps with sizes and data 24 orders of magnitude apart; return how many."""
    direction, taken = np.array([1.0, -1.0, 0.3]), 0
    grid = itertools.product(
        NORMS, EXTREMES, EXTREMES, EXTREMES, (*EXTREMES, 0.0, math.inf), (0.0, 1.0, 1e12), (None, 1.0), (0.0, 1e12)
    )
    for norm, eta, features, centre, kappa, epsilon, b, c in grid:
        case = Case(norm, features * direction, centre * direction[::-1], b, -centre, eta, epsilon, kappa, c)
        step = case.solve()
        assert np.isfinite(step.weights).all(), case
        assert math.isfinite(step.radius_price), case
        assert -1e-11 <= step.gap <= 1e-11, (case, step)
        taken += 1
    return taken


@pytest.mark.thorough
def test_extreme_steps_end():
    """In a separate process, so that a step that does not end fails only this test instead of blocking all of them."""
    code = "from model import test_proximal; print(test_proximal.take_extreme_steps())"
    assert int(run_python(code, timeout=120)) == 3 * 3**3 * 5 * 3 * 2 * 2


@pytest.mark.data
@for_each_norm
def test_a_pass_over_real_rows_is_optimal_in_every_step(norm, load_dataset):
    X, y = load_dataset("a1a")
    w, b, lam = np.zeros(X.shape[1]), 0.0, 0.0
    for i in range(300):
        case = Case(norm, y[i] * X[i].toarray().ravel(), w, b, lam, 0.1, 0.1, 1.0, 1e-3, y[i])
        step = case.solve()
        assert_optimal(case, step)
        w, b, lam = step.weights, step.intercept, step.radius_price


# --- arguments --------------------------------------------------------------------------------------------------------

GOOD = {
    "x": [1.0, 2.0],
    "sign": 1,
    "weights": [0.0, 0.0],
    "radius_price": 0.0,
    "step": 1.0,
    "radius": 0.1,
    "flip_cost": 1.0,
}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sign": 0}, "sign must be -1 or 1"),
        ({"step": 0.0}, "step must be positive"),
        ({"step": -1.0}, "step must be finite and at least 0"),
        ({"radius": -1.0}, "radius must be"),
        ({"flip_cost": math.nan}, "flip_cost must be"),
        ({"l2": math.inf}, "l2 must be"),
        ({"norm": 3}, "norm must be"),
        ({"weights": [0.0]}, "weights must have one entry per feature"),
        ({"weights": [0.0, math.nan]}, "weights has NaN"),
        ({"x": [1.0, math.inf]}, "x has NaN or infinite"),
        ({"x": [[1.0, 2.0]]}, "x must have one entry per feature"),
        ({"radius_price": math.nan}, "radius_price must be finite"),
        ({"intercept": math.inf}, "intercept must be finite"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        proximal_step(**{**GOOD, **wrong})


def test_arguments_are_left_alone():
    x, w = np.arange(6.0)[::2], np.ones(3)
    x.flags.writeable = w.flags.writeable = False
    step = proximal_step(x, -1, w, 0.0, step=1.0, radius=0.1, flip_cost=1.0)
    assert not np.array_equal(step.weights, w)
    np.testing.assert_array_equal(w, np.ones(3))
