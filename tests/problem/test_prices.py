"""Prices of rows, features and the intercept, and signs: the objective and the certificate, compared with CVXPY."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import classifiers, generator, problems
from thorough import for_each

from drsvm import Problem, certify, worst_case_distribution, worst_case_risk
from drsvm.certificate import best_dual_scaling, dual_point, primal_point
from drsvm.problem import norm_for

NORMS = (1, 2, math.inf)
KINDS = ("rows", "features", "intercept", "signs", "all")

# The tolerance of the conic solver is tighter than it can always guarantee; the
# certificate judges its answer anyway.
pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")


def priced_problem(kind, norm, l2, seed, n=14, d=4, **others):
    rng = np.random.default_rng(
        [KINDS.index(kind), NORMS.index(norm), int(l2 > 0), seed]
    )
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    X = rng.normal(size=(n, d)) + 0.6 * y[:, None]
    prices = {}
    if kind in ("rows", "all"):
        prices["flip_cost"] = rng.choice(
            [0.0, 0.2, 0.7, 1.5, math.inf], size=n, p=[0.1, 0.3, 0.2, 0.2, 0.2]
        )
    if kind in ("features", "all"):
        prices["feature_cost"] = np.concatenate(
            [[math.inf, 2.0, 0.3], rng.uniform(0.5, 4.0, size=d - 3)]
        )
    if kind in ("intercept", "all"):
        prices |= {"intercept_cost": rng.choice([0.3, 1.0, 5.0]), "fit_intercept": True}
    if kind in ("signs", "all"):
        prices["monotonic_cst"] = rng.permutation([-1, 1, 0, -1])
    chosen = {
        "radius": rng.choice([0.02, 0.07]),
        "fit_intercept": bool(seed),
        **prices,
        **others,
    }
    return Problem(
        X, y, norm=norm, l2=l2, sample_weight=rng.uniform(0.2, 2.0, size=n), **chosen
    )


def conic_optimum(problem):
    """Return optimum, weights, intercept and multipliers from a model that states every constraint separately."""
    cp = pytest.importorskip("cvxpy")
    n = problem.n_rows
    d = problem.n_features
    w = cp.Variable(d)
    b = cp.Variable()
    price = cp.Variable()
    loss = cp.Variable(n)
    margins = cp.multiply(problem.signs, problem.X @ w + b)
    finite = np.flatnonzero(np.isfinite(problem.flip_costs))
    hinge = loss >= 1 - margins
    flip = loss[finite] >= 1 + margins[finite] - problem.flip_costs[finite] * price
    inside = np.ones(d) if problem.feature_cost is None else problem.feature_cost
    shifting = np.flatnonzero(np.isfinite(inside))
    entries = [w[shifting] / inside[shifting]]
    if problem.fit_intercept and math.isfinite(problem.intercept_cost):
        entries.append(cp.reshape(b / problem.intercept_cost, (1,), order="C"))
    limits = [
        hinge,
        flip,
        loss >= 0,
        cp.norm(cp.hstack(entries), problem.norm.q) <= price,
    ]
    if not problem.fit_intercept:
        limits.append(b == 0)
    if problem.monotonic_cst is not None:
        limits.append(cp.multiply(problem.monotonic_cst.astype(float), w) >= 0)
    value = (
        problem.radius * price
        + problem.sample_weight @ loss
        + 0.5 * problem.l2 * cp.sum_squares(w)
    )
    model = cp.Problem(cp.Minimize(value), limits)
    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    model.solve(solver="CLARABEL", **tight)
    beta = np.zeros(n)
    beta[finite] = flip.dual_value
    intercept = float(b.value) if problem.fit_intercept else 0.0
    return model.value, problem.with_signs(w.value), intercept, hinge.dual_value, beta


@for_each(kind=KINDS, norm=NORMS, l2=(0.0, 0.3), seed=range(2))
def test_objective_and_bound_meet_at_the_optimum(kind, norm, l2, seed):
    problem = priced_problem(kind, norm, l2, seed)
    optimum, w, b, alpha, beta = conic_optimum(problem)
    certificate = certify(problem, w, b, alpha, beta)
    assert certificate.objective == pytest.approx(optimum, abs=1e-7)
    assert certificate.lower_bound == pytest.approx(optimum, abs=1e-6)
    if math.isfinite(certificate.dual.weight_bound):
        assert l2 == 0 and kind in ("features", "all")
        assert certificate.dual.weight_bound >= 2 * problem.norm.value(w)


@for_each(kind=KINDS, norm=NORMS, l2=(0.0, 0.3), seed=range(2))
def test_no_multipliers_prove_more_than_the_optimum(kind, norm, l2, seed):
    problem = priced_problem(kind, norm, l2, seed)
    optimum, w, _, alpha, beta = conic_optimum(problem)
    rng = np.random.default_rng(seed)
    weights = problem.sample_weight
    for noise in (0.0, 1e-6, 1e-3, 0.1, 1.0, 10.0):
        for _ in range(5):
            shifted = [
                values + noise * weights * rng.normal(size=len(weights))
                for values in (alpha, beta)
            ]
            dual = dual_point(problem, *shifted, reference=w)
            assert dual.lower_bound <= optimum + 1e-9
            assert_feasible(problem, dual)


@st.composite
def priced_problems(draw):
    """Draw a problem of any unit of length with prices of every size."""
    problem = draw(problems())
    rng = generator(draw)
    wide = draw(st.sampled_from([0.0, 1.0, 8.0]))
    n = problem.n_given
    d = problem.n_features

    def drawn(size):
        prices = np.exp(wide * rng.normal(size=size))
        return np.where(rng.random(size) < 0.2, math.inf, prices)

    unit = problem.flip_cost if 0 < problem.flip_cost < math.inf else 1.0
    return problem.replace(
        flip_cost=np.where(rng.random(n) < 0.1, 0.0, unit * drawn(n)),
        feature_cost=drawn(d),
        intercept_cost=float(drawn(1)[0]),
        monotonic_cst=rng.integers(-1, 2, size=d),
    )


@given(priced_problems(), st.data())
def test_the_bound_holds_for_every_classifier(problem, data):
    rng = data.draw(st.randoms(use_true_random=False))
    size = data.draw(st.sampled_from([0.01, 1.0, 50.0]))
    alpha, beta = (
        [size * rng.random() * pi for pi in problem.sample_weight] for _ in range(2)
    )
    w, b = data.draw(classifiers(problem))
    certificate = certify(problem, problem.with_signs(w), b, alpha, beta)
    assert (
        0
        <= certificate.dual.lower_bound
        <= certificate.objective + 1e-12 * (1 + certificate.objective)
    )
    assert_feasible(problem, certificate.dual)
    for _ in range(3):
        w, b = data.draw(classifiers(problem))
        w = problem.with_signs(w)
        if problem.norm.value(w) <= certificate.dual.weight_bound:
            objective = problem.objective(w, b)
            assert certificate.lower_bound <= objective + 1e-12 * (1 + objective)


def exact_sums(problem, alpha, beta):
    """Return v and v_0 without rounding errors: the sign of a v_j that is nearly 0 may matter."""
    signed = [
        (Fraction(a) - Fraction(b)) * int(s)
        for a, b, s in zip(alpha, beta, problem.signs, strict=True)
    ]
    columns = np.asarray(problem.X, dtype=float).T
    sums = [
        float(sum(s * Fraction(x) for s, x in zip(signed, column, strict=True)))
        for column in columns
    ]
    return np.array(sums), float(sum(signed))


def assert_feasible(problem, dual):
    alpha = dual.hinge_dual
    beta = dual.flip_dual
    assert min(alpha.min(), beta.min()) >= 0
    assert (alpha + beta <= problem.sample_weight * (1 + 1e-12)).all()
    assert not beta[~problem.can_flip].any()
    left = (
        problem.radius - problem.flip_costs[problem.can_flip] @ beta[problem.can_flip]
    )
    v, v0 = exact_sums(problem, alpha, beta)
    needed = problem.intercept_cost * abs(v0) if problem.has_intercept_cost else 0.0
    # Balanced multipliers have v_0 = 0 up to it
    rounding = problem.intercept_cost if problem.has_intercept_cost else 0.0
    if problem.fit_intercept and not problem.has_intercept_cost:
        assert abs(v0) <= 1e-14
    if problem.l2 == 0 and problem.radius > 0 and math.isinf(dual.weight_bound):
        prices = (
            np.ones(problem.n_features)
            if problem.feature_cost is None
            else problem.feature_cost
        )
        finite = np.isfinite(prices)
        assert not problem.with_signs(v)[~finite].any()
        gradient = np.append(prices[finite] * problem.with_signs(v)[finite], needed)
        needed = np.linalg.norm(gradient, problem.norm.p)
    assert needed <= left + 1e-12 * (problem.radius + rounding)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radius", [0.0, 0.3])
def test_the_best_price_is_the_best_of_all_breakpoints(kind, norm, radius):
    for seed in range(10):
        problem = priced_problem(kind, norm, 0.1, seed, radius=radius)
        rng = np.random.default_rng(seed)
        w = problem.with_signs(np.round(rng.normal(size=problem.n_features), 1))
        b = float(rng.normal()) if problem.fit_intercept else 0.0
        margins = problem.margins(w, b)
        found = primal_point(problem, w, b)
        with np.errstate(divide="ignore"):
            breakpoints = np.minimum(2 * margins, 1 + margins) / problem.flip_costs
        size = problem.norm_of(w, b)
        candidates = [
            size,
            *breakpoints[(breakpoints > size) & np.isfinite(breakpoints)],
        ]
        values = np.array(
            [plain_objective(problem, w, margins, price) for price in candidates]
        )
        assert found.objective == pytest.approx(values.min(), rel=1e-12)
        assert found.radius_price == pytest.approx(
            min(np.array(candidates)[values <= values.min() + 1e-13])
        )


def plain_objective(problem, w, margins, price):
    flipped = np.where(
        np.isfinite(problem.flip_costs), 1 + margins - problem.flip_costs * price, 0.0
    )
    losses = np.maximum(np.maximum(1 - margins, 0.0), flipped)
    return (
        problem.radius * price
        + problem.sample_weight @ losses
        + 0.5 * problem.l2 * (w @ w)
    )


# Invariances


@for_each(norm=NORMS, l2=(0.0, 0.4))
def test_default_prices_change_nothing(norm, l2):
    plain = priced_problem("signs", norm, l2, 1, monotonic_cst=None, flip_cost=0.7)
    d = plain.n_features
    costs = {"flip_cost": np.full(plain.n_rows, 0.7), "intercept_cost": math.inf}
    priced = plain.replace(feature_cost=np.ones(d), monotonic_cst=np.zeros(d), **costs)
    assert not priced.has_prices and priced.flip_cost == 0.7
    assert priced.feature_cost is None and priced.monotonic_cst is None
    alpha = 0.3 * plain.sample_weight
    beta = 0.1 * plain.sample_weight
    assert (
        dual_point(priced, alpha, beta).lower_bound
        == dual_point(plain, alpha, beta).lower_bound
    )


@pytest.mark.parametrize("norm", NORMS)
def test_a_price_is_the_unit_of_its_column(norm):
    problem = priced_problem("all", norm, 0.0, 0)
    column = 1
    factor = np.array([1.0, 0.5, 1.0, 1.0])
    other = problem.on_rows(problem.X * factor).replace(
        feature_cost=problem.feature_cost / factor
    )
    w = problem.with_signs(np.array([0.4, -0.7, 1.1, 0.2]))
    assert other.objective(w / factor, 0.3) == pytest.approx(
        problem.objective(w, 0.3), rel=1e-13
    )
    optimum, *_, alpha, beta = conic_optimum(problem)
    assert conic_optimum(other)[0] == pytest.approx(optimum, abs=1e-8)
    bounds = [dual_point(p, alpha, beta).lower_bound for p in (problem, other)]
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-6)
    assert (
        other.feature_cost is not None
        and other.feature_cost[column] == 2 * problem.feature_cost[column]
    )


@pytest.mark.parametrize("norm", NORMS)
def test_a_priced_intercept_is_a_constant_column(norm):
    problem = priced_problem(
        "rows", norm, 0.0, 0, fit_intercept=True, intercept_cost=2.0
    )
    column = np.hstack([problem.X, np.full((problem.n_rows, 1), 2.0)])
    other = problem.on_rows(column).replace(fit_intercept=False)
    w = np.array([0.4, -0.7, 1.1, 0.2])
    b = -0.6
    assert other.objective(np.append(w, b / 2.0)) == pytest.approx(
        problem.objective(w, b), rel=1e-13
    )
    _, _, _, alpha, beta = conic_optimum(problem)
    assert dual_point(problem, alpha, beta).lower_bound == pytest.approx(
        dual_point(other, alpha, beta).lower_bound
    )


# The certificate


@pytest.mark.parametrize("norm", NORMS)
def test_rounding_in_the_pull_on_a_trusted_feature_costs_little(norm):
    for price in (math.inf, 1e14):
        problem = priced_problem(
            "features", norm, 0.0, 1, feature_cost=[price, 1.0, 2.0, 0.5]
        )
        optimum, w, _, alpha, beta = conic_optimum(
            problem.replace(feature_cost=[math.inf, 1.0, 2.0, 0.5])
        )
        dual = dual_point(problem, alpha, beta, reference=w)
        assert dual.lower_bound == pytest.approx(optimum, abs=1e-5)
        assert 2 * problem.norm.value(w) <= dual.weight_bound < math.inf


def test_a_trusted_feature_that_separates_has_a_bound_for_all_weights_if_nothing_pulls_at_it():
    problem = Problem([[1.0, 0.0], [1.0, 0.0]], [1, -1], feature_cost=[math.inf, 1.0])
    dual = dual_point(problem, [0.5, 0.5], None)
    assert dual.lower_bound == 1.0 and math.isinf(dual.weight_bound)


def test_prices_do_not_matter_at_radius_zero():
    problem = priced_problem("all", 2, 0.2, 0, radius=0.0)
    optimum, _, _, alpha, beta = conic_optimum(problem)
    free = problem.replace(feature_cost=None, intercept_cost=math.inf)
    assert conic_optimum(free)[0] == pytest.approx(optimum, abs=1e-8)
    assert dual_point(problem, alpha, beta).lower_bound == pytest.approx(
        optimum, abs=1e-6
    )


def test_signs_are_checked_up_to_rounding():
    problem = priced_problem("signs", 2, 0.0, 0, monotonic_cst=[1, -1, 0, 0])
    clean = primal_point(problem, [0.0, 0.0, 1.0, -1.0])
    dusty = primal_point(problem, [-1e-17, 1e-17, 1.0, -1.0])
    assert (
        dusty.weights.tolist() == clean.weights.tolist()
        and dusty.objective == clean.objective
    )
    with pytest.raises(
        ValueError,
        match=r"-0.1 at feature 0, where monotonic_cst=1 requires at least 0",
    ):
        primal_point(problem, [-0.1, 0.0, 1.0, -1.0])
    with pytest.raises(
        ValueError, match=r"0.1 at feature 1, where monotonic_cst=-1 requires at most 0"
    ):
        certify(problem, [0.0, 0.1, 1.0, -1.0])


@for_each(norm=NORMS, l2=(0.0, 0.4))
def test_the_scale_is_the_best_one(norm, l2):
    for seed in range(5):
        problem = priced_problem(
            "all", norm, l2, seed, feature_cost=[5.0, 1.0, 2.0, 0.5]
        )
        rng = np.random.default_rng(seed)
        alpha, beta = problem.sample_weight * rng.random((2, problem.n_rows))
        beta[~problem.can_flip] = 0.0
        v, v0 = problem.weighted_sum(alpha - beta)
        mass = alpha.sum() + beta.sum()
        cost = problem.cost_of_flips(beta)
        scale, bound, _ = best_dual_scaling(problem, mass, cost, v, v0)
        for t in (0.5 * scale, 0.99 * scale, 0.9999 * scale):
            shrunk = best_dual_scaling(problem, t * mass, t * cost, t * v, t * v0)
            assert shrunk[1] <= bound + 1e-12


@pytest.mark.parametrize("q", NORMS)
def test_projections_onto_priced_balls_are_optimal(q):
    rng = np.random.default_rng(0)
    ball = norm_for({1: math.inf, 2: 2, math.inf: 1}[q])
    for _ in range(50):
        d = rng.integers(1, 7)
        w = rng.normal(size=d)
        prices = np.exp(3 * rng.normal(size=d))
        radius = rng.choice([0.0, 0.01, 0.5, 1.5]) * np.linalg.norm(prices * w, q)
        u = ball.project_scaled_ball(w, radius, prices)
        assert np.linalg.norm(prices * u, q) <= radius * (1 + 1e-12)
        # (w − u)·(z − u) ≤ 0 for all z in the ball: the largest (w − u)·z is radius ·
        # ‖(w − u)/a‖ in the dual norm.
        support = radius * ball.dual.value((w - u) / prices)
        assert support <= float((w - u) @ u) + 1e-9 * (1 + np.linalg.norm(w) ** 2)


# The worst case


@for_each(kind=KINDS, norm=NORMS, seed=range(4))
def test_with_the_intercept_s_own_price_the_risk_is_the_objective(kind, norm, seed):
    problem = priced_problem(kind, norm, 0.0, seed)
    rng = np.random.default_rng(seed)
    w = problem.with_signs(rng.normal(size=problem.n_features) + 0.3)
    b = float(rng.normal()) if problem.fit_intercept else 0.0
    ball = {
        name: getattr(problem, name)
        for name in ("flip_cost", "feature_cost", "intercept_cost", "sample_weight")
    }
    radii = [0.0, problem.radius, 1.0]
    risks = worst_case_risk(
        (w, b), problem.X, problem.signs, radius=radii, norm=norm, **ball
    )
    assert risks == pytest.approx(
        [problem.replace(radius=radius).objective(w, b) for radius in radii], abs=1e-12
    )


def test_the_model_s_own_prices_are_the_default_except_those_of_rows():
    X = np.arange(12.0).reshape(4, 3)
    Y = [0, 1, 0, 1]

    class Trained:
        coef_ = np.array([[1.0, 2.0, -1.0]])
        intercept_ = np.zeros(1)
        classes_ = np.array([0, 1])

        def __init__(self, **ball):
            self.ball = {"radius": 0.1, "flip_cost": math.inf, "norm": 2, **ball}

        def _trained_ball(self):
            return self.ball

    model = Trained(feature_cost=np.array([1.0, math.inf, 3.0]))
    expected = worst_case_risk(model, X, Y, feature_cost=[1.0, math.inf, 3.0])
    assert (
        worst_case_risk(model, X, Y)
        == expected
        != worst_case_risk(model, X, Y, feature_cost=1.0)
    )
    model = Trained(flip_cost=np.array([1.0, math.inf, 3.0, 1.0]))
    with pytest.raises(
        ValueError, match=r"flip_cost is required for this Trained: .* one per row"
    ):
        worst_case_risk(model, X, Y)
    assert worst_case_risk(model, X, Y, flip_cost=[1.0, math.inf, 3.0, 1.0]) > 0
    with pytest.raises(
        ValueError, match=r"flip_cost must .* one entry per row of X \(4\)"
    ):
        worst_case_distribution(model, X, Y, flip_cost=[1.0, math.inf])
