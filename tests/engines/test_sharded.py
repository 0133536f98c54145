"""Sharded rows: the sums of the answers of all shards are the answers of all rows."""

import gc
import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from problems import NORMS, classifiers, generator, problems
from scipy import sparse
from sharded_here import check, samples, sharded, sharded_problem
from thorough import examples, for_each, unless_long

from drsvm import Problem, Status, radius_max, radius_path, solve
from drsvm.certificate import dual_point
from drsvm.engines import CpuEngine, Steps, engine_for
from drsvm.problem import (
    RowsLost,
    column_moments,
    costs_of_flipping_classes,
    draw_by_class,
    draw_sample,
    flips_pay,
    gradient_of_classes,
    gradient_variances,
    masses_by_flip_cost,
    masses_of_classes,
    range_of_decisions,
    typical_flip_cost,
    typical_row_norm,
    worst_case_error,
    worst_case_hinge,
)


@pytest.fixture
def data():
    return samples()


@pytest.fixture
def problem(data):
    """Two shards."""
    return sharded_problem(*data, [100])


@st.composite
def cut_problems(draw, **options):
    """Draw a problem, some with a flip cost or a radius per row, and the same one in shards.

    A shard may have one class only.
    """
    problem = draw(problems(**options))
    if draw(st.booleans()) and problem.n_rows > 2:
        costs = generator(draw).choice([0.5, 1.0, 2.0, math.inf], size=problem.n_given)
        problem = problem.replace(flip_cost=costs)
    elif problem.radius > 0.0 and draw(st.booleans()):
        radii = generator(draw).uniform(size=problem.n_given)
        radii *= typical_row_norm(problem)
        if draw(st.booleans()):
            radii = float(radii[0])
        problem = problem.replace(flip_cost=math.inf, row_radius=radii)
    cuts = sorted(draw(st.sets(st.integers(1, problem.n_rows - 1), max_size=3)))
    return problem, sharded(problem, cuts)


@given(st.data())
def test_prices_objectives_and_worst_cases(data):
    problem, there = data.draw(cut_problems())
    w, b = data.draw(classifiers(problem))
    expected = problem.price_and_objective(w, b)
    assert there.price_and_objective(w, b) == pytest.approx(
        expected, rel=1e-9, abs=1e-12
    )
    radii = np.array([0.0, 0.01, 0.1, 1.0, 100.0]) * typical_row_norm(problem)
    size = problem.norm_of(w)
    margins = problem.after_shifts(problem.margins(w, b), size)
    known = margins, problem.sample_weight, size, radii, problem.flip_cost
    hinge, errors = (
        there.worst_case(loss, w, b, size, radii) for loss in ("hinge", "zero-one")
    )
    assert hinge == pytest.approx(worst_case_hinge(*known), rel=1e-9, abs=1e-12)
    assert errors == pytest.approx(worst_case_error(*known), rel=1e-9, abs=1e-9)


@given(st.data())
def test_bounds_of_multipliers(data):
    problem, there = data.draw(cut_problems())
    factors = [data.draw(st.floats(-0.5, 1.5)) for _ in range(4)]
    local, remote = (
        dual_point(
            each,
            each.multiples_of_weights(*factors[:2]),
            each.multiples_of_weights(*factors[2:]),
        )
        for each in (problem, there)
    )
    if (
        problem.radius == problem.l2 == 0
    ):  # free weights: sums of shards are hardly ever 0, which proves less
        assert 0 <= remote.lower_bound <= local.lower_bound * (1 + 1e-9) + 1e-8
        return
    assert remote.lower_bound == pytest.approx(local.lower_bound, rel=1e-9, abs=1e-11)
    shards = there.rows.coordinator.shards
    vectors = [
        np.concatenate([shard.values(v) for shard in shards])
        for v in (remote.hinge_dual, remote.flip_dual)
    ]
    assert vectors[0] == pytest.approx(local.hinge_dual, rel=1e-9, abs=1e-12)
    assert vectors[1] == pytest.approx(local.flip_dual, rel=1e-9, abs=1e-12)


@given(st.data())
def test_sums_over_the_rows(data):
    problem, there = data.draw(cut_problems())
    w, b = data.draw(classifiers(problem))
    scale = np.abs(problem.X).max() + 1e-300
    assert masses_of_classes(there) == pytest.approx(masses_of_classes(problem))
    assert costs_of_flipping_classes(there) == pytest.approx(
        costs_of_flipping_classes(problem)
    )
    (found, imbalance) = gradient_of_classes(there, 0.3, 0.7)
    known = gradient_of_classes(problem, 0.3, 0.7)
    assert found == pytest.approx(
        known[0], abs=1e-12 * scale
    ) and imbalance == pytest.approx(known[1], abs=1e-12)
    assert flips_pay(there, w, b) == flips_pay(problem, w, b)
    rounding = 1e-12 * (1 + np.abs(problem.X @ np.diag(w)).sum(axis=1).max())
    assert tuple(range_of_decisions(there, w, b)) == pytest.approx(
        tuple(range_of_decisions(problem, w, b)), rel=1e-12, abs=rounding
    )
    assert typical_row_norm(there) == pytest.approx(typical_row_norm(problem))
    prices = np.linspace(1, 2, problem.n_features)
    assert typical_row_norm(there, prices) == pytest.approx(
        typical_row_norm(problem, prices)
    )
    for found, known in zip(
        column_moments(there), column_moments(problem), strict=True
    ):
        assert found == pytest.approx(known, rel=1e-7, abs=1e-7 * scale)
    for pilot in (None, (w, b)):
        for found, known in zip(
            gradient_variances(there, pilot),
            gradient_variances(problem, pilot),
            strict=True,
        ):
            assert found == pytest.approx(
                known, abs=1e-12 * (1 + scale**2)
            )  # sums may cancel
    for sign in (1.0, -1.0):
        for found, known in zip(
            masses_by_flip_cost(there, sign),
            masses_by_flip_cost(problem, sign),
            strict=True,
        ):
            assert found == pytest.approx(known)


def test_only_some_of_the_costs_are_known_here_but_the_smallest_and_the_largest():
    X, y = samples(5000)
    costs = np.random.default_rng(0).uniform(1, 2, size=5000)
    costs[[17, 4000]] = 0.5, math.inf
    problem = sharded_problem(X, y, [100, 2000], flip_costs=costs)
    assert len(problem.flip_cost) < 200
    assert (problem.flip_cost.min(), problem.flip_cost.max()) == (0.5, math.inf)
    assert typical_flip_cost(problem.flip_cost) == pytest.approx(1.5, abs=0.1)
    assert sharded_problem(X, y, [100], flip_costs=np.full(5000, 2.0)).flip_cost == 2.0


def test_an_extreme_classifier_has_an_infinite_objective_at_best(data):
    X, y = data
    problem = sharded_problem(1e10 * X, y, [100])
    with np.errstate(all="ignore"):
        assert not problem.price_and_objective(np.full(5, 1e300))[1] < math.inf


def followed(rates, *sums):
    return rates.tolerating(0.0), rates.tolerating(0.01), *sums


def steps(engine):
    """Yield the answers of an engine in a few iterations, with directions that depend on the point only."""
    rng = np.random.default_rng(1)
    point = 0.1 * rng.normal(size=engine.n_linear)
    engine.center(point, 2.0, 0.5)
    for _ in range(2):
        yield engine.curvature()
        yield followed(*engine.predict(0.1 * rng.normal(size=engine.n_linear), 0.1))
        direction = 0.1 * rng.normal(size=engine.n_linear)
        yield followed(engine.longest_steps(direction, 0.1, 0.2))
        yield engine.curvature(Steps(0.05, 0.05, 0.01))
        yield followed(*engine.predict(direction, 0.1))
        yield followed(engine.longest_steps(direction, 0.1, 0.2))
        yield engine.dual_sums(Steps(0.05, 0.05, 0.01))
        yield engine.dual_sums()


@examples(10, 1000)
@given(st.data())
def test_engine_of_shards(data):
    problem, there = data.draw(cut_problems(scales=(1.0,)))
    one = CpuEngine(problem, 1)
    other = engine_for(there)
    assert other.weight == pytest.approx(one.weight) and other.mass == pytest.approx(
        one.mass
    )
    upper = np.triu_indices(problem.n_features)
    for known, found in zip(steps(one), steps(other), strict=True):
        for value, expected in zip(flat(found), flat(known), strict=True):
            if np.ndim(expected) == 2 and expected.shape == 2 * (problem.n_features,):
                value = value[upper]
                expected = expected[upper]
            assert value == pytest.approx(expected, rel=1e-7, abs=1e-9)


def flat(answer):
    """Return the arrays and numbers in nested tuples."""
    if isinstance(answer, tuple):
        return [value for piece in answer for value in flat(piece)]
    return [] if answer is None else [answer]


@for_each(
    intercept=["none", "free", "priced"],
    l2=[0.0, 1.0],
    flip_cost=[1.0, math.inf],
    norm=NORMS,
)
def test_the_same_optimum(data, norm, flip_cost, l2, intercept):
    ball = {
        "norm": norm,
        "flip_cost": flip_cost,
        "l2": l2,
        "fit_intercept": intercept != "none",
    }
    ball["intercept_cost"] = 2.0 if intercept == "priced" else math.inf
    check(sharded_problem(*data, [3, 250], **ball), Problem(*data, **ball))


@pytest.mark.parametrize(
    "kind", unless_long(["csr", "far from 0"], ["csr", "float32", "far from 0"])
)
def test_other_rows(data, kind):
    X, y = data
    X = {
        "csr": sparse.csr_array(np.round(X)),
        "float32": X.astype(np.float32),
        "far from 0": X + 480.0,
    }[kind]
    problem = sharded_problem(X, y, [3, 250], fit_intercept=True)
    check(problem, Problem(X, y, fit_intercept=True))
    assert all(
        type(shard.X) is type(X) and shard.X.dtype == X.dtype
        for shard in problem.rows.coordinator.shards
    )


def test_prices_of_rows_and_features(data):
    costs = np.random.default_rng(0).choice([0.5, 1.0, math.inf], size=400)
    ball = {
        "feature_cost": np.array([0.5, 1.0, 2.0, math.inf, 1.0]),
        "monotonic_cst": [1, 0, -1, 0, 0],
    }
    ball |= {"fit_intercept": True, "intercept_cost": 3.0}
    weights = np.random.default_rng(1).integers(0, 3, size=400)
    here = Problem(*data, sample_weight=weights, flip_cost=costs, **ball)
    # Where weights cost nothing, a sum that is not quite 0 limits the bound: rows in
    # memory have it cancelled.
    check(sharded_problem(*data, [3, 250], weights, costs, **ball), here, tol=1e-7)


@for_each(kind=["number", "rows"], norm=NORMS)
def test_rows_that_each_shift(data, kind, norm):
    radii = np.random.default_rng(0).uniform(0.0, 0.5, size=400)
    if kind == "number":
        radii = 0.3
    weights = np.random.default_rng(1).integers(0, 3, size=400)
    ball = {"norm": norm, "l2": 0.01, "flip_cost": math.inf, "fit_intercept": True}
    here = Problem(*data, sample_weight=weights, row_radius=radii, **ball)
    there = sharded(here, [3, 250])
    for problem in (here, here.replace(l2=0.0, row_radius=0.0)):
        found = solve(sharded(problem, [3, 250]), tol=1e-10)
        expected = solve(problem, tol=1e-10)
        assert found.gap <= 1e-9
        assert found.objective == pytest.approx(expected.objective, abs=1e-9)
    # A sample of all rows has their radii.
    drawn = draw_by_class(there, 400)
    assert solve(drawn, tol=1e-8).objective == pytest.approx(
        solve(here, tol=1e-8).objective, abs=2e-8
    )


def test_a_wide_chunk_is_no_wide_problem(set_values):
    set_values(wide_from=100)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 150))
    y = np.where(np.arange(60) % 2 == 0, 1, -1)
    check(sharded_problem(X, y, [20]), Problem(X, y))


def test_paths_and_the_largest_radius(data):
    problem = sharded_problem(*data, [3, 250], fit_intercept=True)
    known = Problem(*data, fit_intercept=True)
    assert radius_max(problem) == pytest.approx(radius_max(known), rel=1e-6)
    radii = np.geomspace(1.0, 0.01, 5) * radius_max(known)
    found = radius_path(problem, radii, tol=1e-8)
    expected = radius_path(known, radii, tol=1e-8)
    assert [r.objective for r in found.results] == pytest.approx(
        [r.objective for r in expected.results], abs=2e-8
    )
    for price in (2.0, math.inf):
        ball = {
            "feature_cost": [price, 0.5, 1, 1, 1],
            "fit_intercept": True,
            "intercept_cost": 2.0,
            "l2": 0.01,
        }
        there = sharded_problem(*data, [3, 250], **ball)
        assert radius_max(there) == pytest.approx(
            radius_max(Problem(*data, **ball)), rel=1e-3
        )


def test_a_start_from_few_rows():
    X, y = samples(12_000)
    problem = sharded_problem(X, y, [1000, 5000])
    drawn = draw_sample(problem, 2000)
    assert 1000 < drawn.n_rows < 4000
    assert drawn.sample_weight.sum() == pytest.approx(1.0)
    assert {tuple(row) for row in drawn.X.tolist()} <= {
        tuple(row) for row in X.tolist()
    }
    assert solve(problem).objective == pytest.approx(
        solve(Problem(X, y)).objective, abs=2e-6
    )
    equal = np.repeat([[1.0, 0.5], [-1.0, 0.25]], 5000, axis=0)
    drawn = draw_sample(sharded_problem(equal, equal[:, 0], [4000]), 200)
    assert 100 <= drawn.n_rows <= 400


def test_samples_by_class():
    X, y = samples(3000)
    y[:40] = 1
    y[40:] = -1
    # Each class has its share: rules count rows of equal weight
    few = draw_sample(sharded_problem(X, y, [30, 1000]), 600)
    assert (few.signs > 0).sum() == 8 and (few.signs < 0).sum() == 592
    assert pytest.approx(1.0 / np.square(few.sample_weight).sum(), rel=0.01) == 600.0
    drawn = draw_by_class(sharded_problem(X, y, [30, 1000]), 100)
    assert (drawn.signs > 0).sum() == 40 and (drawn.signs < 0).sum() == 100
    assert masses_of_classes(drawn) == pytest.approx((40 / 3000, 2960 / 3000))


def test_an_iteration_takes_three_rounds(problem):
    engine = engine_for(problem)
    coordinator = problem.rows.coordinator
    first = coordinator.n_rounds
    rounds = [coordinator.n_rounds for _ in steps(engine)]
    assert rounds[:6] == list(range(first + 1, first + 7))
    result = solve(problem, tol=1e-8)
    assert coordinator.n_rounds - rounds[-1] <= 3 * result.n_iter + 12


def before_round(coordinator, number, act):
    """Let something happen before a round.

    Return the list of the messages of all rounds.
    """
    original = coordinator.round
    passed = []

    def round_(message):
        passed.append(message)
        if len(passed) == number:
            act(message)
        return original(message)

    coordinator.round = round_
    return passed


@pytest.mark.parametrize("rounds", [6, 14, 25, 32])
def test_a_shard_that_has_lost_its_state_makes_all_changes_again(data, problem, rounds):
    expected = solve(sharded_problem(*data, [100]), tol=1e-9)
    coordinator = problem.rows.coordinator
    passed = before_round(
        coordinator, rounds, lambda _: coordinator.shards[1].runs.clear()
    )
    result = solve(problem, tol=1e-9)
    assert len(passed) > rounds
    assert result.objective == pytest.approx(expected.objective, abs=1e-12)
    assert result.lower_bound == pytest.approx(expected.lower_bound, abs=1e-12)
    assert result.n_iter == expected.n_iter


def test_a_question_that_comes_twice_has_the_same_answer(data, problem):
    """A cluster may ask again if it has lost an answer.

    The change must not be made twice.
    """
    coordinator = problem.rows.coordinator
    round_ = coordinator.round

    def twice(message):
        first = round_(message)
        second = round_(message)
        assert pickle.dumps(first) == pickle.dumps(second)
        return second

    coordinator.round = twice
    check(problem, Problem(*data))


def test_only_what_is_in_use_stays_in_the_shards(problem):
    shards = problem.rows.coordinator.shards
    kept = []

    def count(progress):
        kept.append(
            max(len(run.slots) for shard in shards for run in shard.runs.values())
        )

    result = solve(problem, callback=count)
    assert len(kept) > 5 and max(kept) <= 3
    runs = [run for shard in shards for run in shard.runs.values()]
    assert len(runs) == 2 and all(run.engine is None for run in runs)
    assert 0.0 < sum(shard.values(result.hinge_dual).sum() for shard in shards) <= 1.0
    del result, runs
    gc.collect()
    assert not any(shard.runs for shard in shards)


def test_a_start_at_a_result(data, problem):
    result = solve(problem, tol=1e-8)
    again = solve(problem, tol=1e-8, start=result)
    assert again.n_iter == 0 and again.gap == pytest.approx(result.gap, abs=1e-12)
    # Its multipliers are in other shards
    elsewhere = solve(sharded_problem(*data, [200]), tol=1e-8, start=result)
    assert elsewhere.n_iter > 0 and elsewhere.objective == pytest.approx(
        result.objective, abs=2e-8
    )


@pytest.mark.parametrize("rounds", [10, 20])
def test_an_interrupted_round(data, problem, rounds):
    """Some shards may have made a change whose answer never came.

    What they have still proves a bound.
    """

    def interrupt(message):
        problem.rows.coordinator.shards[0].reply(message)
        raise KeyboardInterrupt

    passed = before_round(problem.rows.coordinator, rounds, interrupt)
    result = solve(problem, tol=1e-8)
    optimum = solve(Problem(*data), tol=1e-8)
    assert result.status is Status.INTERRUPTED and len(passed) > rounds
    assert result.lower_bound <= optimum.objective <= result.objective
    assert result.lower_bound > 0 and result.objective < 1


def test_lost_rows_end_a_run_with_what_was_proven(problem):
    expected = solve(problem, tol=1e-3)

    def lose(progress):
        if progress.gap < 0.1:
            problem.rows.coordinator.round = lost

    def lost(message):
        raise RowsLost("Both workers are gone: start others.")

    result = solve(problem, tol=1e-8, callback=lose)
    assert result.status is Status.LOST and result.info == {
        "lost": "Both workers are gone: start others."
    }
    assert (
        result.gap < 0.1
        and result.lower_bound <= expected.objective <= result.objective + 1e-3
    )
    with pytest.raises(RowsLost, match="start others"):
        radius_max(problem)


def test_the_log_begins_anew_at_every_start(problem):
    engine = engine_for(problem)
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


@examples(8, 500)
@given(st.data())
def test_solutions_of_random_problems(data):
    problem, there = data.draw(cut_problems(scales=(1.0,), l2=1.0))
    assume(problem.n_rows > 2)
    check(there, problem)
