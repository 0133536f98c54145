"""The interior-point solver: proven optima on data and random instances of every kind, in every container."""

import itertools
import math

import numpy as np
import pytest
from instances import random_instance, unbounded_instance, well_conditioned_instance
from problems import NORMS, STRANGE_DATA, Plain, random_rows
from scipy import sparse
from thorough import LONG, unless_long

from drsvm import Problem, Status, solve
from drsvm.engines import CpuEngine
from drsvm.problem import draw_rows
from drsvm.solvers import InteriorPoint
from drsvm.solvers.interior_point import SUBSET

for_each_norm = pytest.mark.parametrize("norm", NORMS)
with_and_without_intercept = pytest.mark.parametrize("fit_intercept", [False, True])


@pytest.fixture
def eager_threads(set_values):
    """Use threads for any amount of work."""
    set_values(thread_work=1)


def decision_values(problem, result):
    return problem.decision_values(result.weights, result.intercept)


def largest_change(values, others):
    """Return the largest difference of decision values, relative if they are above 1."""
    return float((np.abs(values - others) / np.maximum(1.0, np.abs(values))).max())


# Proven optima

DATASETS = [*(f"a{k}a" for k in range(1, 10)), "ijcnn1"]


@pytest.mark.data
@pytest.mark.parametrize("c", [0, 1])
@pytest.mark.parametrize("q", NORMS)
@pytest.mark.parametrize("dataset", DATASETS)
def test_proven_optima_are_reproduced(proven_problem, dataset, q, c):
    problem, known = proven_problem(dataset, q, c)
    result = solve(problem, "interior-point")
    assert result.status is Status.OPTIMAL and result.gap <= 1e-8
    assert result.objective == pytest.approx(known.optimum, abs=2e-8)
    assert (
        result.lower_bound <= known.optimum + known.certified_gap + 1e-10
    )  # the table has ten digits
    assert result.n_iter <= 45


# Random instances

CHUNKS, CHUNK_SIZE = (5, 1000) if LONG else (2, 30)
REACHED = 0.998  # share of the instances that must reach a gap of 1e-7


def check_claims(problem, result):
    """Check by plain formulas that the objective is attained and that the multipliers prove the bound."""
    plain = Plain.of(problem)
    assert result.objective == pytest.approx(
        plain.best_value(result.weights, result.intercept), rel=1e-9
    )
    assert result.status.reached is (result.gap <= result.tol)
    assert 0 <= result.lower_bound <= result.objective + 1e-12 <= 1 + 2e-12
    kept = slice(None) if problem.kept is None else problem.kept
    alpha = result.hinge_dual[kept]
    beta = result.flip_dual[kept]
    violations = dict(plain.dual_constraints(alpha, beta, problem.fit_intercept))
    # The possible rounding error of Σ (α − β) y x, relative to the radius
    exact = 1e-9 + 1e-15 * float((np.abs(plain.X).T @ (alpha + beta)).sum()) / max(
        plain.radius, 1e-300
    )
    assert max(violations.values()) <= exact, violations
    assert plain.dual_value(alpha, beta) == pytest.approx(result.lower_bound, abs=exact)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_instances_are_solved_with_proof(chunk):
    short = {}
    for seed in range(chunk * CHUNK_SIZE, (chunk + 1) * CHUNK_SIZE):
        problem = random_instance(seed)
        result = solve(problem, "interior-point", n_threads=1)
        check_claims(problem, result)
        if result.gap > 1e-7:
            short[seed] = result.gap
    assert len(short) <= (1 - REACHED) * CHUNK_SIZE, short
    assert max(short.values(), default=0.0) <= 1e-4, short


def test_random_instances_cover_the_range():
    """The generator covers parameters, shapes, prices of the radius, and the kink at λκ = 2."""
    problems = [random_instance(seed) for seed in range(300)]
    ends = {
        "radius": {0.0, 10.0},
        "flip_cost": {0.0, math.inf},
        "l2": {0.0, 10.0},
        "fit_intercept": {False, True},
    }
    for name, values in ends.items():
        assert {
            min(getattr(p, name) for p in problems),
            max(getattr(p, name) for p in problems),
        } == values
    assert {p.norm.p for p in problems} == set(NORMS)
    assert (
        min(p.n_rows for p in problems) <= 5 and max(p.n_rows for p in problems) >= 295
    )
    assert (
        min(p.n_features for p in problems) == 1
        and max(p.n_features for p in problems) >= 390
    )
    assert (
        {sparse.issparse(p.X) for p in problems}
        == {np.ptp(p.sample_weight) > 0 for p in problems}
        == {False, True}
    )
    assert not any(p.radius == p.l2 == 0 for p in problems)
    prices = [
        (solve(p, "interior-point", tol=1e-6, n_threads=1).radius_price, p.flip_cost)
        for p in problems[:60]
    ]
    kinks = sum(
        math.isfinite(cost) and abs(price * cost - 2) < 1e-3 for price, cost in prices
    )
    assert min(prices)[0] == 0.0 and max(prices)[0] > 100.0
    assert kinks >= 4


@pytest.mark.parametrize("chunk", range(unless_long(2, 6)))
def test_small_random_instances_have_the_optimum_of_a_conic_solver(chunk):
    for seed in range(100_000 + 10 * chunk, 100_010 + 10 * chunk):
        problem = random_instance(seed, max_rows=60, max_features=40)
        result, reference = (
            solve(problem, name, n_threads=1) for name in ("interior-point", "conic")
        )
        assert result.objective <= reference.objective + 1e-6, seed
        if reference.gap <= 1e-6:
            assert result.objective == pytest.approx(reference.objective, abs=1e-6), (
                seed
            )


@pytest.mark.thorough
@pytest.mark.parametrize("chunk", range(unless_long(1, 4)))
def test_no_bound_is_above_the_optimum_of_a_conic_solver(chunk):
    trusted = 0
    for seed in range(200_000 + 10 * chunk, 200_010 + 10 * chunk):
        problem = random_instance(seed)
        result, reference = (
            solve(problem, name, n_threads=1) for name in ("interior-point", "conic")
        )
        if reference.gap <= 1e-6:
            trusted += 1
            assert result.lower_bound <= reference.objective + 1e-7, seed
            assert reference.lower_bound <= result.objective + 1e-7, seed
    assert trusted >= 8


@pytest.mark.parametrize("chunk", range(unless_long(1, 4)))
def test_without_radius_and_ridge_a_bound_holds_for_limited_weights(chunk):
    size = 250 if LONG else 15
    for seed in range(chunk * size, (chunk + 1) * size):
        problem = unbounded_instance(seed)
        result, reference = (
            solve(problem, name, n_threads=1) for name in ("interior-point", "conic")
        )
        assert 0 <= result.lower_bound <= result.objective + 1e-12 <= 1 + 2e-12
        assert (
            result.contribution_bound >= problem.column_sizes @ np.abs(result.weights)
            or result.lower_bound == 0.0
        )
        if reference.gap <= 1e-7:
            assert result.objective <= reference.objective + 1e-6, seed


@for_each_norm
@with_and_without_intercept
def test_limits_of_the_parameters(norm, fit_intercept):
    X, y = random_rows(np.random.default_rng(9), 12, 3, "gaussian")
    problem = Problem(X, y, norm=norm, fit_intercept=fit_intercept)
    free = solve(problem.replace(flip_cost=0), "interior-point")
    assert free.objective == 1.0 and free.gap <= 1e-8
    everything = solve(problem.replace(radius=10.0, flip_cost=5.0), "interior-point")
    assert (
        everything.objective == pytest.approx(1.0, abs=1e-8)
        and everything.status is Status.OPTIMAL
    )
    trusted, dear = (
        solve(problem.replace(flip_cost=cost), "interior-point")
        for cost in (math.inf, 1e6)
    )
    assert dear.objective == pytest.approx(trusted.objective, abs=1e-6)
    ridge, tiny = (
        solve(problem.replace(l2=0.1, radius=r), "interior-point") for r in (0.0, 1e-9)
    )
    assert ridge.status is tiny.status is Status.OPTIMAL
    assert ridge.objective == pytest.approx(tiny.objective, abs=1e-7)


@for_each_norm
@pytest.mark.parametrize(("X", "y"), STRANGE_DATA.values(), ids=STRANGE_DATA.keys())
def test_strange_data_are_solved(norm, X, y):
    for l2, flip_cost, fit_intercept in itertools.product(
        [0.0, 1.0], [1.0, math.inf], [False, True]
    ):
        problem = Problem(X, y, 0.1, flip_cost, norm, l2, fit_intercept=fit_intercept)
        result = solve(problem, "interior-point")
        assert result.gap <= 1e-7
        check_claims(problem, result)


@for_each_norm
def test_one_feature_at_one_is_solved_by_hand(norm):
    """Rows ±1 with their own label: w = 1 has no loss and costs ε, w = 0 costs 1."""
    for radius in (0.25, 0.9, 1.5):
        result = solve(
            Problem([[1.0], [-1.0]], [1, -1], radius, math.inf, norm), "interior-point"
        )
        assert result.objective == pytest.approx(min(radius, 1.0), abs=1e-8)


@for_each_norm
@pytest.mark.parametrize("l2", [0.0, 0.5])
@pytest.mark.parametrize("s", [1e-3, 100.0, 1e6])
def test_a_change_of_unit_changes_nothing(norm, l2, s):
    """Features, radius and flip cost times s, l2 times s²: the same optimum at weights over s."""
    X, y = random_rows(np.random.default_rng(10), 25, 3, "gaussian")
    reference = solve(
        Problem(X, y, 0.1, 0.8, norm, l2, fit_intercept=True), "interior-point"
    )
    result = solve(
        Problem(X * s, y, 0.1 * s, 0.8 * s, norm, l2 * s**2, fit_intercept=True),
        "interior-point",
    )
    assert result.status is reference.status is Status.OPTIMAL
    assert result.objective == pytest.approx(reference.objective, abs=1e-8)
    assert result.radius_price * s == pytest.approx(reference.radius_price, rel=1e-3)


@pytest.mark.parametrize("tol", [1e-13, 0.0])
@for_each_norm
def test_a_tolerance_beyond_reach_ends_in_a_stall(norm, tol):
    """On numerical breakdown the run ends with its best point: no exception, no infinite loop."""
    for n, d, flip_cost in (
        (60, 6, math.inf),
        (90, 12, 1.0),
        (90, 12, math.inf),
        (20, 30, math.inf),
    ):
        X, y = random_rows(np.random.default_rng(n), n, d, "binary")
        result = solve(
            Problem(X, y, 0.02, flip_cost, norm, fit_intercept=True),
            "interior-point",
            tol=tol,
        )
        assert result.status in (Status.STALLED, Status.OPTIMAL) and result.gap <= 1e-9


@for_each_norm
@pytest.mark.parametrize("tol", [0.1, 0.01, 1e-3])
def test_a_loose_tolerance_is_no_reason_to_give_up(norm, tol):
    for radius, flip_cost in ((0.1, 1.0), (0.01, 0.3), (0.001, math.inf)):
        problem = well_conditioned_instance(
            3, 300, 8, norm=norm, radius=radius, flip_cost=flip_cost
        )
        assert solve(problem, "interior-point", tol=tol).status is Status.OPTIMAL


@for_each_norm
@pytest.mark.parametrize(
    "settings", [{"compiled_steps": False}, {"step_fraction": 0.9}], ids=str
)
def test_settings_do_not_change_the_optimum(norm, settings):
    problem = well_conditioned_instance(1, 120, 8, norm=norm, fit_intercept=True)
    usual = solve(problem, InteriorPoint())
    other = solve(problem, "interior-point", **settings)
    assert other.status is Status.OPTIMAL
    assert other.objective == pytest.approx(usual.objective, abs=1e-8)


@pytest.mark.thorough
@for_each_norm
@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_containers_make_no_difference(norm, l2, set_values):
    # Else they would all be dense
    set_values(small_matrix=0)
    rng = np.random.default_rng(8)
    X, y = random_rows(rng, 90, 12, "gaussian")
    X = X.astype(np.float32).astype(float) * (rng.random(X.shape) < 0.3)
    problem = Problem(X, y, 0.1, 1.0, norm, l2, fit_intercept=True)
    reference = solve(problem, "interior-point")
    assert reference.status is Status.OPTIMAL
    for rows in (
        np.float32(X),
        sparse.csr_array(X),
        sparse.coo_matrix(X),
        sparse.csr_array(X.astype(np.float32)),
    ):
        other = solve(
            Problem(rows, y, 0.1, 1.0, norm, l2, fit_intercept=True), "interior-point"
        )
        assert other.objective == pytest.approx(reference.objective, abs=1e-10)
        change = largest_change(
            decision_values(problem, reference), decision_values(problem, other)
        )
        assert change <= 1e-8


THREADED = [
    {},
    {"l2": 0.1},
    {"flip_cost": math.inf, "fit_intercept": True},
    {"fit_intercept": True, "sample_weight": np.linspace(0.1, 1.0, 400)},
]


@for_each_norm
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "parameters", THREADED, ids=["plain", "ridge", "trusted labels", "weights"]
)
def test_the_number_of_threads_makes_no_difference(
    eager_threads, norm, container, parameters
):
    rng = np.random.default_rng(2)
    X, y = random_rows(rng, 400, 10, "gaussian")
    X *= rng.random(X.shape) < 0.25
    problem = Problem(container(X), y, norm=norm, **parameters)
    assert [CpuEngine(problem, n).n_threads for n in (1, 2, 3)] == [1, 2, 3]
    results = [solve(problem, "interior-point", n_threads=n) for n in (1, 2, 3)]
    first = decision_values(problem, results[0])
    for result in results:
        assert result.status is Status.OPTIMAL
        assert largest_change(first, decision_values(problem, result)) <= 1e-8


@for_each_norm
def test_one_thread_gives_the_same_bits_twice(eager_threads, norm):
    problem = well_conditioned_instance(3, 500, 12, norm=norm, fit_intercept=True)
    one, two = (solve(problem, "interior-point", n_threads=1) for _ in range(2))
    for name in ("weights", "hinge_dual", "flip_dual"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    for name in (
        "intercept",
        "radius_price",
        "objective",
        "lower_bound",
        "n_iter",
        "status",
    ):
        assert getattr(one, name) == getattr(two, name)


@for_each_norm
@pytest.mark.parametrize(
    "parameters", THREADED[:3], ids=["plain", "ridge", "intercept"]
)
def test_many_rows_start_from_few(norm, parameters):
    """A start from a subset of the rows leads to the same optimum as a cold start."""
    problem = well_conditioned_instance(4, 10_500, 5, norm=norm, **parameters)
    from_few = solve(problem, "interior-point")
    from_nothing = solve(problem, "interior-point", start=(np.zeros(5), 0.0))
    assert from_few.status is from_nothing.status is Status.OPTIMAL
    assert from_few.objective == pytest.approx(from_nothing.objective, abs=1e-8)


@for_each_norm
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "parameters", THREADED[:3], ids=["plain", "ridge", "intercept"]
)
def test_the_wide_form_agrees_with_the_tall_one(
    set_values, norm, container, parameters
):
    for seed, (n, d) in enumerate([(5, 20), (40, 50), (60, 200), (100, 101)]):
        tall = well_conditioned_instance(seed, n, d, norm=norm, **parameters)
        problem = Problem(container(tall.X), tall.signs, norm=norm, **parameters)
        results = []
        for wide_from in (0, 1000):
            set_values(wide_from=wide_from)
            assert (CpuEngine(problem).wide is None) == (wide_from > 0)
            results.append(solve(problem, "interior-point"))
        assert max(result.gap for result in results) <= 1e-7
        assert results[0].objective == pytest.approx(results[1].objective, abs=1e-6)


@pytest.mark.thorough
@for_each_norm
def test_more_features_than_a_dense_matrix_would_allow(norm):
    """A hundred rows with 30,000 features: a d-sized matrix would take 7 GB."""
    rng = np.random.default_rng(5)
    X = sparse.random_array((100, 30_000), density=0.002, rng=rng, format="csr")
    y = np.where(np.arange(100) % 2, 1, -1)
    result = solve(
        Problem(X, y, 0.01, norm=norm, fit_intercept=True), "interior-point", tol=1e-7
    )
    assert result.status is Status.OPTIMAL and result.weights.shape == (30_000,)


# Which of several optima

KINDS = ["columns twice", "integers", "binary, columns twice"]
SHAPES = [(60, 6), (150, 20), (20, 50), (10, 100)]


def degenerate_data(kind, n, d, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    X = rng.normal(size=(n, d)) + 0.4 * y[:, None]
    if kind == "integers":
        X = np.round(X)
    elif kind == "binary, columns twice":
        X = (X > 0.5).astype(float)
    if kind != "integers":
        X[:, d // 2 :] = X[:, : d - d // 2]
    return X, y, rng


def degenerate_cases():
    for kind, (n, d), norm in itertools.product(KINDS, SHAPES, NORMS):
        if kind.startswith("binary") and norm != 2 and n >= d:
            # Whole edges are optimal: rounding, not the path, determines the point
            continue
        yield pytest.param(kind, n, d, norm, id=f"{kind}-{n}x{d}-{norm}")


@pytest.mark.parametrize(("kind", "n", "d", "norm"), list(degenerate_cases()))
@pytest.mark.parametrize("flip_cost", [1.0, math.inf])
def test_order_and_repetition_of_rows_make_no_difference(kind, n, d, norm, flip_cost):
    """Without a ridge there may be many optima: the one returned does not depend on the representation of the data."""
    ball = {"radius": 0.1, "flip_cost": flip_cost, "norm": norm, "fit_intercept": True}
    for seed in range(2):
        X, y, rng = degenerate_data(kind, n, d, seed)
        order = rng.permutation(n)
        counts = rng.integers(1, 4, size=n)
        repeated = np.repeat(np.arange(n), counts)
        pairs = [
            (Problem(X, y, **ball), Problem(X[order], y[order], **ball)),
            (
                Problem(X, y, sample_weight=counts, **ball),
                Problem(X[repeated], y[repeated], **ball),
            ),
        ]
        for one, two in pairs:
            values = [
                one.decision_values(r.weights, r.intercept)
                for r in (solve(p, tol=1e-9) for p in (one, two))
            ]
            assert largest_change(*values) <= 1e-6


@for_each_norm
@pytest.mark.parametrize("kind", ["columns twice", "integers"])
def test_the_order_of_many_rows_makes_no_difference(kind, norm):
    """With this many rows the start is computed from a few: which ones depends on the rows, not on their order."""
    X, y, rng = degenerate_data(kind, 5 * SUBSET, 12, 0)
    order = rng.permutation(len(y))
    one, two = (
        Problem(X[rows], y[rows], norm=norm, flip_cost=math.inf)
        for rows in (np.arange(len(y)), order)
    )
    first = decision_values(one, solve(one))
    second = decision_values(two, solve(two))
    assert largest_change(first[order], second) <= 1e-6


def test_many_equal_rows_are_drawn_sparingly():
    X, y, _ = degenerate_data("integers", 20, 3, 0)
    problem = Problem(np.tile(X, (5 * SUBSET // 20, 1)), np.tile(y, 5 * SUBSET // 20))
    equal = Problem(np.ones((5 * SUBSET, 2)), np.tile([1, 1, -1, -1, -1], SUBSET))
    assert len(draw_rows(equal, SUBSET)) <= 2 * SUBSET
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(solve(Problem(X, y)).objective, abs=2e-8)


@for_each_norm
@pytest.mark.parametrize("kind", KINDS)
def test_threads_choose_the_same_optimum(eager_threads, kind, norm):
    X, y, _ = degenerate_data(kind, 200, 12, 0)
    problem = Problem(X, y, norm=norm, fit_intercept=True)
    values = [
        decision_values(problem, solve(problem, tol=1e-9, n_threads=n))
        for n in (1, 2, 3)
    ]
    assert max(largest_change(values[0], other) for other in values[1:]) <= 1e-6


@for_each_norm
def test_repeated_columns_share_their_weight(norm):
    """The analytic centre treats equal columns alike."""
    X, y, _ = degenerate_data("columns twice", 60, 6, 0)
    result = solve(
        Problem(X, y, norm=norm, flip_cost=math.inf), "interior-point", tol=1e-9
    )
    np.testing.assert_allclose(result.weights[:3], result.weights[3:], atol=1e-6)
