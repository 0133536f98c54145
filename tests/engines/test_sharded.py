"""Rows in parts: the sums of the answers of all parts are the answers of all rows."""

import gc
import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from problems import NORMS, classifiers, generator, problems
from scipy import sparse
from sharded_here import sharded, sharded_problem
from thorough import examples, unless_long

from drsvm import Problem, Status, radius_max, radius_path, solve
from drsvm.engines.cpu import CpuEngine, engine_for
from drsvm.engines.sharded import quantiles
from drsvm.engines.sharded.quantiles import MASS, MOMENT, Bins, Histogram, crossing
from drsvm.model.certificate import dual_point
from drsvm.model.risk import worst_case_error, worst_case_hinge
from drsvm.model.rows import RowsLost

BALL = {"radius": 0.1, "flip_cost": 1.0, "norm": 2, "l2": 0.0, "fit_intercept": False, "intercept_cost": math.inf}
BALL |= {"feature_cost": None, "monotonic_cst": None}


def samples(n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    return rng.normal(size=(n, d)) + 0.5 * y[:, None], y


@st.composite
def cut_problems(draw, **options):
    """Draw a problem, some with a flip cost per row, and the same one in parts; a part may have one class only."""
    problem = draw(problems(**options))
    if draw(st.booleans()) and problem.n_rows > 2:
        costs = generator(draw).choice([0.5, 1.0, 2.0, math.inf], size=problem.n_given)
        problem = problem.replace(flip_cost=costs)
    n = problem.n_rows
    cuts = sorted(draw(st.sets(st.integers(1, n - 1), max_size=3)))
    return problem, sharded(problem, cuts)


# --- questions ------------------------------------------------------------------------------------------------------


@given(st.data())
def test_prices_and_objectives(data):
    problem, in_some = data.draw(cut_problems())
    w, b = data.draw(classifiers(problem))
    price, objective = problem.price_and_objective(w, b)
    found, risk = in_some.price_and_objective(w, b)
    assert risk == pytest.approx(objective, rel=1e-9, abs=1e-12)
    assert found == pytest.approx(price, rel=1e-9, abs=1e-12)


@given(st.data())
def test_worst_cases(data):
    problem, in_some = data.draw(cut_problems())
    w, b = data.draw(classifiers(problem))
    radii, size = np.array([0.0, 0.01, 0.1, 1.0, 100.0]) * problem.typical_row_norm(), problem.norm_of(w)
    known = problem.margins(w, b), problem.sample_weight, size, radii, problem.flip_cost
    assert in_some.rows.worst_case(in_some, "hinge", w, b, size, radii) == pytest.approx(
        worst_case_hinge(*known), rel=1e-9, abs=1e-12
    )
    assert in_some.rows.worst_case(in_some, "zero-one", w, b, size, radii) == pytest.approx(
        worst_case_error(*known), rel=1e-9, abs=1e-9
    )


@given(st.data())
def test_bounds_of_multipliers(data):
    problem, in_some = data.draw(cut_problems())
    factors = [data.draw(st.floats(-0.5, 1.5)) for _ in range(4)]
    bounds = []
    for each in (problem, in_some):
        multipliers = each.multiples_of_weights(*factors[:2]), each.multiples_of_weights(*factors[2:])
        bounds.append(dual_point(each, *multipliers))
    local, remote = bounds
    if problem.radius == problem.l2 == 0:  # free weights: sums in parts are hardly ever 0, which proves less
        assert 0 <= remote.lower_bound <= local.lower_bound * (1 + 1e-9) + 1e-8
        return
    assert remote.lower_bound == pytest.approx(local.lower_bound, rel=1e-9, abs=1e-11)
    parts = in_some.rows.coordinator.shards
    vectors = [np.concatenate([part.values(v) for part in parts]) for v in (remote.hinge_dual, remote.flip_dual)]
    assert vectors[0] == pytest.approx(local.hinge_dual, rel=1e-9, abs=1e-12)
    assert vectors[1] == pytest.approx(local.flip_dual, rel=1e-9, abs=1e-12)


@given(st.data())
def test_sums_over_the_rows(data):
    problem, in_some = data.draw(cut_problems())
    w, b = data.draw(classifiers(problem))
    scale = np.abs(problem.X).max() + 1e-300
    assert in_some.masses_of_classes() == pytest.approx(problem.masses_of_classes())
    assert in_some.flip_costs_of_classes() == pytest.approx(problem.flip_costs_of_classes())
    assert in_some.gradient_of_classes(0.3, 0.7)[0] == pytest.approx(
        problem.gradient_of_classes(0.3, 0.7)[0], abs=1e-12 * scale
    )
    assert in_some.gradient_of_classes(0.3, 0.7)[1] == pytest.approx(
        problem.gradient_of_classes(0.3, 0.7)[1], abs=1e-12
    )
    assert in_some.flips_pay(w, b) == problem.flips_pay(w, b)
    rounding = 1e-12 * (1 + np.abs(problem.X @ np.diag(w)).sum(axis=1).max())
    assert tuple(in_some.decisions(w, b)) == pytest.approx(tuple(problem.decisions(w, b)), rel=1e-12, abs=rounding)
    assert in_some.typical_row_norm() == pytest.approx(problem.typical_row_norm())
    prices = np.linspace(1, 2, problem.n_features)
    assert in_some.typical_row_norm(prices) == pytest.approx(problem.typical_row_norm(prices))
    for found, known in zip(in_some.moments(), problem.moments(), strict=True):
        assert found == pytest.approx(known, rel=1e-7, abs=1e-7 * scale)
    for pilot in (None, (w, b)):
        for found, known in zip(in_some.pull_variances(pilot), problem.pull_variances(pilot), strict=True):
            assert found == pytest.approx(known, abs=1e-12 * (1 + scale**2))  # sums may cancel
    for sign in (1.0, -1.0):
        for found, known in zip(in_some.masses_by_flip_cost(sign), problem.masses_by_flip_cost(sign), strict=True):
            assert found == pytest.approx(known)


def test_only_some_of_the_costs_are_known_here_but_the_smallest_and_the_largest():
    X, y = samples(5000)
    costs = np.random.default_rng(0).uniform(1, 2, size=5000)
    costs[[17, 4000]] = 0.5, math.inf
    problem = sharded_problem(X, y, [100, 2000], flip_costs=costs, **BALL)
    assert len(problem.flip_cost) < 200
    assert (problem.flip_cost.min(), problem.flip_cost.max()) == (0.5, math.inf)
    assert problem.typical_flip_cost() == pytest.approx(1.5, abs=0.1)


def test_equal_costs_become_a_number():
    X, y = samples()
    assert sharded_problem(X, y, [100], flip_costs=np.full(400, 2.0), **BALL).flip_cost == 2.0


# --- quantiles ------------------------------------------------------------------------------------------------------


@pytest.fixture
def few_numbers(monkeypatch):
    """Numbers are fetched only when very few are left, so that several histograms are needed."""
    monkeypatch.setattr(quantiles, "FEW", 3)
    monkeypatch.setattr(quantiles, "N_BINS", 8)


def looks(numbers, masses, cuts=(10, 50)):
    """Return a function for histograms of numbers in parts, and the list of all queries."""
    asked = []

    def look(path, lam):
        asked.append((path, lam))
        pieces = zip(np.split(numbers, cuts), np.split(masses, cuts), strict=True)
        first, *others = (Histogram.of(*piece, path, lam) for piece in pieces)
        return sum(others, first), None

    return look, asked


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("which", [MASS, MOMENT])
@pytest.mark.parametrize("kind", ["even", "ties", "outliers", "tiny"])
def test_quantiles_from_histograms_are_exact(few_numbers, descending, which, kind):
    rng = np.random.default_rng(3)
    numbers, masses = rng.exponential(size=200), rng.random(200)
    numbers = {
        "even": numbers,
        "ties": np.ceil(2 * numbers),
        "outliers": np.where(numbers > 2, 1e9 * numbers, numbers),
        "tiny": 1e-12 * numbers,
    }[kind]
    order = np.argsort(numbers)[:: -1 if descending else 1]
    sums = np.cumsum([masses[order], (masses * numbers)[order]], axis=1)
    look, asked = looks(numbers, masses)
    for share in (0.0, 0.01, 0.5, 0.97):
        goal = share * sums[which, -1]
        first = int(np.searchsorted(sums[which], goal, side="right"))
        number, mass, moment = crossing(look, Bins(0.0, math.inf, 1.0, descending), goal, which)
        assert number == numbers[order][first]
        before = numbers[order] > number if descending else numbers[order] < number
        assert mass == pytest.approx(masses[order][before].sum())
        assert moment == pytest.approx((masses * numbers)[order][before].sum())
    assert max(len(path) for path, _ in asked) >= 2


def test_numbers_beyond_the_limits():
    numbers = np.array([-1.0, 0.0, 1e300, math.inf])
    with np.errstate(all="ignore"):
        assert Bins(0.0, math.inf, 1.0).bins_of(numbers).tolist() == [0, 0, quantiles.N_BINS - 1, quantiles.N_BINS - 1]
    assert Bins(0.0, 2.0, 1.0, descending=True).bins_of(numbers).tolist() == [quantiles.N_BINS - 1] * 2 + [0] * 2


def test_an_extreme_classifier_has_an_infinite_objective_at_best():
    X, y = samples()
    problem = sharded_problem(1e10 * X, y, [100], **BALL)
    with np.errstate(all="ignore"):
        assert not problem.price_and_objective(np.full(5, 1e300))[1] < math.inf


def test_many_equal_numbers_are_few():
    numbers = np.full(10 * quantiles.FEW, 2.5)
    look, asked = looks(numbers, np.ones(len(numbers)))
    assert crossing(look, Bins(0.0, math.inf, 1.0), 7.0, MASS)[0] == 2.5
    assert len(asked) == 1


# --- the engine -----------------------------------------------------------------------------------------------------


def steps(engine):
    """Yield the answers of an engine in a few iterations, with directions that depend on the point only."""
    rng = np.random.default_rng(1)
    point = 0.1 * rng.normal(size=engine.n_linear)
    engine.center(point, 2.0, 0.5)
    for _ in range(2):
        yield engine.curvature()
        yield engine.predict(0.1 * rng.normal(size=engine.n_linear), 0.1, 0.01)
        direction = 0.1 * rng.normal(size=engine.n_linear)
        yield engine.longest_steps(direction, 0.1, 0.2, 0.01)
        yield engine.recorrect(0.3, 0.3)
        yield engine.longest_steps(direction, 0.05, 0.2)
        engine.swap()
        yield engine.advance(0.05, 0.05, 0.01)
        yield engine.predict(direction, 0.1)
        yield engine.longest_steps(direction, 0.1, 0.2)
        yield engine.arrive(0.05, 0.05, 0.01)
        yield engine.dual_sums()


@examples(10, 1000)
@given(st.data())
def test_engine_of_parts(data):
    problem, in_some = data.draw(cut_problems(scales=(1.0,)))
    one, other = CpuEngine(problem, 1), engine_for(in_some)
    assert other.weight == pytest.approx(one.weight) and other.mass == pytest.approx(one.mass)
    upper = np.triu_indices(problem.n_features)
    for known, found in zip(steps(one), steps(other), strict=True):
        for value, expected in zip(flat(found), flat(known), strict=True):
            if np.ndim(expected) == 2 and expected.shape == 2 * (problem.n_features,):
                value, expected = value[upper], expected[upper]
            assert value == pytest.approx(expected, rel=1e-7, abs=1e-9)


def flat(answer):
    """Return the arrays and numbers in nested tuples."""
    if isinstance(answer, tuple):
        return [value for part in answer for value in flat(part)]
    return [] if answer is None else [answer]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("flip_cost", [1.0, math.inf])
@pytest.mark.parametrize("l2", [0.0, 1.0])
@pytest.mark.parametrize("intercept", ["none", "free", "priced"])
def test_the_same_optimum(norm, flip_cost, l2, intercept):
    X, y = samples()
    ball = {**BALL, "norm": norm, "flip_cost": flip_cost, "l2": l2, "fit_intercept": intercept != "none"}
    ball["intercept_cost"] = 2.0 if intercept == "priced" else math.inf
    result = solve(sharded_problem(X, y, [3, 250], **ball), tol=1e-8)
    assert result.gap <= 1e-8
    assert result.objective == pytest.approx(solve(Problem(X, y, **ball), tol=1e-8).objective, abs=2e-8)


@pytest.mark.parametrize("kind", unless_long(["csr", "far from 0"], ["csr", "float32", "far from 0"]))
def test_other_rows(kind):
    X, y = samples()
    X = {"csr": sparse.csr_array(np.round(X)), "float32": X.astype(np.float32), "far from 0": X + 480.0}[kind]
    ball = {**BALL, "fit_intercept": True}
    problem = sharded_problem(X, y, [3, 250], **ball)
    result = solve(problem, tol=1e-8)
    assert result.gap <= 1e-8
    assert result.objective == pytest.approx(solve(Problem(X, y, **ball), tol=1e-8).objective, abs=2e-8)
    assert all(type(part.X) is type(X) and part.X.dtype == X.dtype for part in problem.rows.coordinator.shards)


def test_prices_of_rows_and_features():
    X, y = samples()
    costs = np.random.default_rng(0).choice([0.5, 1.0, math.inf], size=400)
    ball = {**BALL, "feature_cost": np.array([0.5, 1.0, 2.0, math.inf, 1.0]), "monotonic_cst": [1, 0, -1, 0, 0]}
    ball |= {"fit_intercept": True, "intercept_cost": 3.0}
    weights = np.random.default_rng(1).integers(0, 3, size=400)
    problem = sharded_problem(X, y, [3, 250], weights, costs, **ball)
    result = solve(problem, tol=1e-8)
    expected = solve(Problem(X, y, sample_weight=weights, **ball | {"flip_cost": costs}), tol=1e-8)
    assert result.gap <= 1e-8
    assert result.objective == pytest.approx(expected.objective, abs=2e-8)


def test_a_wide_chunk_is_no_wide_problem():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1200)), np.where(np.arange(60) % 2 == 0, 1, -1)
    problem = sharded_problem(X, y, [20], **BALL)
    assert solve(problem, tol=1e-8).objective == pytest.approx(solve(Problem(X, y), tol=1e-8).objective, abs=2e-8)


def test_paths_and_the_largest_radius():
    X, y = samples()
    ball = {**BALL, "fit_intercept": True}
    problem, known = sharded_problem(X, y, [3, 250], **ball), Problem(X, y, **ball)
    assert radius_max(problem) == pytest.approx(radius_max(known), rel=1e-6)
    radii = np.geomspace(1.0, 0.01, 5) * radius_max(known)
    found, expected = radius_path(problem, radii, tol=1e-8), radius_path(known, radii, tol=1e-8)
    assert [r.objective for r in found.results] == pytest.approx([r.objective for r in expected.results], abs=2e-8)


@pytest.mark.parametrize("prices", [{"feature_cost": [2.0, 0.5, 1, 1, 1]}, {"feature_cost": [math.inf, 0.5, 1, 1, 1]}])
def test_the_largest_radius_with_prices(prices):
    X, y = samples()
    ball = {**BALL, **prices, "fit_intercept": True, "intercept_cost": 2.0, "l2": 0.01}
    assert radius_max(sharded_problem(X, y, [3, 250], **ball)) == pytest.approx(
        radius_max(Problem(X, y, **ball)), rel=1e-3
    )


def test_a_start_from_few_rows():
    X, y = samples(12_000)
    problem = sharded_problem(X, y, [1000, 5000], **BALL)
    drawn = problem.drawn(2000)
    assert 1000 < drawn.n_rows < 4000
    assert drawn.sample_weight.sum() == pytest.approx(1.0)
    assert {tuple(row) for row in drawn.X.tolist()} <= {tuple(row) for row in X.tolist()}
    assert solve(problem).objective == pytest.approx(solve(Problem(X, y)).objective, abs=2e-6)


def test_samples_of_equal_rows():
    X = np.repeat([[1.0, 0.5], [-1.0, 0.25]], 5000, axis=0)
    problem = sharded_problem(X, X[:, 0], [4000], **BALL)
    assert 100 <= problem.drawn(200).n_rows <= 400


def test_samples_by_class():
    X, y = samples(3000)
    y[:40] = 1
    y[40:] = -1
    drawn = sharded_problem(X, y, [30, 1000], **BALL).drawn_by_class(100)
    assert (drawn.signs > 0).sum() == 40 and (drawn.signs < 0).sum() == 100
    assert drawn.masses_of_classes() == pytest.approx((40 / 3000, 2960 / 3000))


# --- rounds, state and its loss -------------------------------------------------------------------------------------


def test_an_iteration_takes_three_rounds():
    X, y = samples()
    problem = sharded_problem(X, y, [100], **BALL)
    rounds = []
    engine = engine_for(problem)
    first = problem.rows.coordinator.n_rounds
    for _ in steps(engine):
        rounds.append(problem.rows.coordinator.n_rounds)
    assert rounds[:6] == list(range(first + 1, first + 7))
    result = solve(problem, tol=1e-8)
    assert problem.rows.coordinator.n_rounds - rounds[-1] <= 3 * result.n_iter + 12


def lose_after(problem, number, rounds):
    """Let a part lose its state after some rounds."""
    coordinator, part = problem.rows.coordinator, problem.rows.coordinator.shards[number]
    original = coordinator.round
    passed = []

    def round_(message):
        passed.append(message)
        if len(passed) == rounds:
            part.runs.clear()
        return original(message)

    coordinator.round = round_
    return passed


@pytest.mark.parametrize("rounds", [6, 14, 25, 32])
def test_a_part_that_has_lost_its_state_makes_all_changes_again(rounds):
    X, y = samples()
    expected = solve(sharded_problem(X, y, [100], **BALL), tol=1e-9)
    problem = sharded_problem(X, y, [100], **BALL)
    passed = lose_after(problem, 1, rounds)
    result = solve(problem, tol=1e-9)
    assert len(passed) > rounds
    assert result.objective == pytest.approx(expected.objective, abs=1e-12)
    assert result.lower_bound == pytest.approx(expected.lower_bound, abs=1e-12)
    assert result.n_iter == expected.n_iter


def test_a_question_that_comes_twice_has_the_same_answer():
    """A cluster may ask again if it has lost an answer; the change must not be made twice."""
    X, y = samples()
    problem = sharded_problem(X, y, [100], **BALL)
    coordinator = problem.rows.coordinator
    round_ = coordinator.round

    def twice(message):
        first, second = round_(message), round_(message)
        assert pickle.dumps(first) == pickle.dumps(second)
        return second

    coordinator.round = twice
    result = solve(problem, tol=1e-8)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(solve(Problem(X, y), tol=1e-8).objective, abs=2e-8)


def test_nothing_stays_in_the_parts():
    X, y = samples()
    problem = sharded_problem(X, y, [100], **BALL)
    result = solve(problem)
    runs = [run for part in problem.rows.coordinator.shards for run in part.runs.values()]
    assert len(runs) == 2 and all(run.engine is None for run in runs)
    alpha = np.concatenate([part.values(result.hinge_dual) for part in problem.rows.coordinator.shards])
    assert 0.0 < alpha.sum() <= 1.0
    del result, runs
    gc.collect()
    assert not any(part.runs for part in problem.rows.coordinator.shards)


def test_only_what_is_in_use_is_kept():
    X, y = samples()
    problem = sharded_problem(X, y, [100], **BALL)
    kept = []

    def count(progress):
        kept.append(max(len(run.slots) for part in problem.rows.coordinator.shards for run in part.runs.values()))

    solve(problem, callback=count)
    assert len(kept) > 5 and max(kept) <= 3


def test_a_start_at_a_result():
    X, y = samples()
    problem = sharded_problem(X, y, [100], **BALL)
    result = solve(problem, tol=1e-8)
    again = solve(problem, tol=1e-8, start=result)
    assert again.n_iter == 0 and again.gap == pytest.approx(result.gap, abs=1e-12)
    elsewhere = solve(
        sharded_problem(X, y, [200], **BALL), tol=1e-8, start=result
    )  # its multipliers are in other parts
    assert elsewhere.n_iter > 0 and elsewhere.objective == pytest.approx(result.objective, abs=2e-8)


@pytest.mark.parametrize("rounds", [10, 20])
def test_an_interrupted_round(rounds):
    """Some parts may have made a change whose answer never came; what they have still proves a bound."""
    X, y = samples()
    problem = sharded_problem(X, y, [100], **BALL)
    original, passed = problem.rows.coordinator.round, []

    def interrupted(message):
        passed.append(message)
        if len(passed) == rounds:
            problem.rows.coordinator.shards[0].reply(message)
            raise KeyboardInterrupt
        return original(message)

    problem.rows.coordinator.round = interrupted
    result, optimum = solve(problem, tol=1e-8), solve(Problem(X, y), tol=1e-8)
    assert result.status is Status.INTERRUPTED and len(passed) > rounds
    assert result.lower_bound <= optimum.objective <= result.objective
    assert result.lower_bound > 0 and result.objective < 1


def test_lost_rows_end_a_run_with_what_was_proven():
    X, y = samples()
    problem = sharded_problem(X, y, [100], **BALL)
    expected = solve(problem, tol=1e-3)

    def lose(progress):
        if progress.gap < 0.1:
            problem.rows.coordinator.round = lost

    def lost(message):
        raise RowsLost("Both workers are gone: start others.")

    result = solve(problem, tol=1e-8, callback=lose)
    assert result.status is Status.LOST and result.info == {"lost": "Both workers are gone: start others."}
    assert result.gap < 0.1 and result.lower_bound <= expected.objective <= result.objective + 1e-3
    with pytest.raises(RowsLost, match="start others"):
        radius_max(problem)


def test_the_log_begins_anew_at_every_start():
    X, y = samples()
    engine = engine_for(sharded_problem(X, y, [100], **BALL))
    for _ in range(3):
        engine.center(np.zeros(5), 1.0, 1.0)
        engine.predict(np.ones(5), 0.1)
        assert len(engine.run.log) == 2
    kept = engine.multipliers()
    engine.center(np.zeros(5), 1.0, 1.0)
    assert len(engine.run.log) == 4
    del kept
    gc.collect()
    engine.center(np.zeros(5), 1.0, 1.0)
    assert len(engine.run.log) == 1


# --- chunks ---------------------------------------------------------------------------------------------------------


def test_errors_name_the_chunk():
    X, y = samples()
    broken = X.copy()
    broken[150, 2] = np.nan
    with pytest.raises(ValueError, match="In chunk 1: X has nan at row 50, column 2"):
        sharded_problem(broken, y, [100], **BALL)
    with pytest.raises(ValueError, match="exactly two labels, got 3"):
        sharded_problem(X, np.arange(400) % 3, [100], **BALL)
    with pytest.raises(ValueError, match="exactly two labels, got 1"):
        sharded_problem(X, np.ones(400), [100], **BALL)
    with pytest.raises(ValueError, match="In chunk 0: sample_weight has -1"):
        sharded_problem(X, y, [100], -np.ones(400), **BALL)
    with pytest.raises(ValueError, match="sample_weight is 0 for every row"):
        sharded_problem(X, y, [100], np.zeros(400), **BALL)


def test_chunks_must_have_the_same_features():
    class Uneven:
        def __getitem__(self, rows):
            return np.ones((rows.stop - rows.start, 2 if rows.start == 0 else 3))

    with pytest.raises(ValueError, match="Chunk 1 of X has 3 columns, but chunk 0 has 2"):
        sharded_problem(Uneven(), np.array([1, -1, 1, -1]), [2], **BALL)


def test_huge_and_tiny_weights():
    X, y = samples()
    expected = solve(Problem(X, y), tol=1e-8).objective
    for scale in (1e300, 1e-300):
        assert solve(sharded_problem(X, y, [100], np.full(400, scale), **BALL), tol=1e-8).objective == pytest.approx(
            expected, abs=2e-8
        )


def test_empty_chunks_and_chunks_without_weight():
    X, y = samples()
    weights = np.ones(400)
    weights[100:200] = 0.0
    problem = sharded_problem(X, y, [0, 100, 200, 200], weights, **BALL)
    assert (problem.n_given, problem.n_rows, len(problem.rows.coordinator.shards)) == (400, 300, 2)
    expected = solve(Problem(X, y, sample_weight=weights), tol=1e-8).objective
    assert solve(problem, tol=1e-8).objective == pytest.approx(expected, abs=2e-8)


@examples(8, 500)
@given(st.data())
def test_solutions_of_random_problems(data):
    problem, in_some = data.draw(cut_problems(scales=(1.0,), l2=1.0))
    assume(problem.n_rows > 2)
    one, other = solve(problem, "interior-point", tol=1e-8), solve(in_some, tol=1e-8)
    assert other.objective == pytest.approx(one.objective, abs=2e-8)
    assert other.gap <= 1e-8
