"""Rows visited by one thread, with the same bits in every run, or by several at will, with the same optima."""

import math

import numpy as np
import pytest
from instances import sparse_problem, sparse_rows, well_conditioned_instance
from problems import NORMS

from drsvm import Problem, Status, certify, parallel, solve
from drsvm.kernels.entries import Rows
from drsvm.model import products
from drsvm.solvers.dual_coordinate import visits
from drsvm.solvers.dual_coordinate.solver import DualCoordinate, ascent_for
from drsvm.solvers.dual_coordinate.visits import AtWill, Successive, visits_for
from drsvm.solvers.limits import check_limits

for_each_norm = pytest.mark.parametrize("norm", NORMS)

N, D = 120, 300
"""Rows and features of the problems."""


@pytest.fixture
def small_work(monkeypatch):
    """Let threads start on small problems."""
    monkeypatch.setattr(visits, "THREAD_WORK", 1)


def many_features(norm=2, **parameters):
    X, y = sparse_rows(0, n=N, d=D, nonzeros=12)
    problem = Problem(X, y, norm=norm, **parameters)
    largest = problem.norm.dual.value(problem.weighted_sum(problem.sample_weight)[0])
    return problem.replace(radius=parameters.get("radius", 0.2 * largest))


KINDS = {
    "plain": {},
    "no flips": {"flip_cost": math.inf},
    "flips of rows": {"flip_cost": np.where(np.arange(N) % 3, 0.4, math.inf)},
    "intercept": {"fit_intercept": True},
    "priced intercept": {"fit_intercept": True, "intercept_cost": 2.0},
    "priced features": {"feature_cost": np.linspace(0.5, 2.0, D)},
    "sample weights": {"sample_weight": 1.0 + np.arange(N) % 4, "fit_intercept": True},
    "ridge": {"l2": 0.01, "fit_intercept": True, "flip_cost": 0.5},
    "ridge only": {"l2": 0.05, "radius": 0.0, "flip_cost": math.inf},
}


@for_each_norm
@pytest.mark.parametrize("kind", KINDS)
def test_several_threads_agree_with_the_interior_point(small_work, kind, norm):
    problem = many_features(norm, **KINDS[kind])
    reference = solve(problem, "interior-point")
    for n_threads in (2, 4):
        result = solve(problem, "dual-coordinate", tol=1e-5, n_threads=n_threads, asynchronous=True)
        assert result.status is Status.OPTIMAL, (n_threads, result)
        assert abs(result.objective - reference.objective) <= 1e-5 + reference.gap
        assert result.lower_bound <= reference.objective + 1e-9
        proven = certify(problem, result.weights, result.intercept, result.hinge_dual, result.flip_dual)
        assert proven.objective == pytest.approx(result.objective, abs=1e-12)
        assert proven.lower_bound == pytest.approx(result.lower_bound, abs=1e-12)


@pytest.mark.parametrize("flip_cost", [0.7, math.inf])
def test_a_proof_needs_no_hand_over(small_work, flip_cost):
    settings = {"tol": 1e-5, "hand_over": False, "asynchronous": True}
    result = solve(many_features(flip_cost=flip_cost), "dual-coordinate", n_threads=2, **settings)
    assert result.gap <= 1e-5


@pytest.mark.parametrize("rows", ["sparse", "dense", "float32"])
@for_each_norm
def test_every_number_of_threads_gives_the_same_bits(monkeypatch, norm, rows):
    """Products, elementwise arithmetic and certificates are in parallel, also on these few rows."""
    for module, name, size in (
        (products, "LARGE", 1),
        (products, "PART_ENTRIES", 100),
        (parallel, "PART", 16),
        (parallel, "WORTHWHILE", 16),
        (visits, "THREAD_WORK", 1),
    ):
        monkeypatch.setattr(module, name, size)
    problem = many_features(norm, fit_intercept=True, intercept_cost=3.0, flip_cost=0.5)
    X = {"sparse": problem.X, "dense": problem.X.toarray(), "float32": problem.X.astype(np.float32)}[rows]
    problem = problem.on_rows(X)
    settings = {"tol": 0.0, "max_iter": 12, "hand_over": False, "random_state": 3}
    results = [solve(problem, "dual-coordinate", n_threads=n, **settings) for n in (1, 2, 2, 3, 4)]
    for other in results[1:]:
        for name in ("weights", "hinge_dual", "flip_dual"):
            np.testing.assert_array_equal(getattr(other, name), getattr(results[0], name))
        assert other.intercept == results[0].intercept and other.lower_bound == results[0].lower_bound


def ascent_of(problem, way):
    ascent = ascent_for(problem, check_limits(problem, DualCoordinate()))
    ascent.visits = way
    return ascent


@for_each_norm
def test_sums_belong_to_the_multipliers(norm):
    problem = many_features(norm, fit_intercept=True, flip_cost=0.7)
    ascent = ascent_of(problem, AtWill(3))
    for _ in range(12):
        ascent.epoch()
    ascent.visits.close()
    ascent.remove_drift()
    v, turn = problem.weighted_sum(ascent.hinge - ascent.flip)
    np.testing.assert_allclose(ascent.v, v, atol=1e-10)
    assert ascent.turn == pytest.approx(turn, abs=1e-9)
    assert (ascent.hinge + ascent.flip <= problem.sample_weight * (1 + 1e-12)).all()
    np.testing.assert_array_equal(np.sort(ascent.order), np.arange(problem.n_rows))


@for_each_norm
def test_changes_that_threads_lost_are_made_up_for(norm):
    """Threads at will may lose changes; here some are lost on purpose, in an epoch over some of the rows."""
    problem = many_features(norm, flip_cost=0.7)
    ascent = ascent_of(problem, AtWill(3))
    for _ in range(5):
        ascent.epoch()
    ascent.visits.close()
    before = ascent.w
    ascent.v, ascent.u = ascent.v + 1.0, ascent.u + 1.0
    ascent.w = ascent._weights_at(ascent.u)
    assert not ascent.exact and np.abs(ascent.w - before).max() > 1e-3
    ascent.remove_drift()
    np.testing.assert_allclose(ascent.v, problem.weighted_sum(ascent.hinge - ascent.flip)[0], atol=1e-10)
    np.testing.assert_allclose(ascent.w, before, rtol=0.01, atol=0.01 * np.abs(before).max())


def test_one_thread_inherits_no_drift():
    problem = many_features(flip_cost=0.7)
    ascent = ascent_of(problem, AtWill(2))
    for _ in range(5):
        ascent.epoch()
    ascent.v = ascent.v + 1.0
    ascent.visits = ascent.visits.calmer()
    assert isinstance(ascent.visits, Successive)
    for _ in range(3):
        ascent.epoch()
    np.testing.assert_allclose(ascent.v, problem.weighted_sum(ascent.hinge - ascent.flip)[0], atol=1e-10)


def test_threads_at_will_must_be_asked_for():
    rows = rows_of(sparse_problem(5000, 6000, nonzeros=50).X)
    kind = visits_for(rows, 2, asynchronous=True)
    kind.close()
    assert isinstance(kind, AtWill) and kind.n_threads == 2
    assert isinstance(visits_for(rows, 2, asynchronous=False), Successive)
    assert isinstance(visits_for(rows, 1, asynchronous=True), Successive)


def rows_of(X) -> Rows:
    return ascent_of(Problem(X, np.where(np.arange(X.shape[0]) % 2, 1, -1)), Successive()).rows


def test_a_standstill_leads_to_successive_visits(small_work):
    way = visits_for(rows_of(many_features().X), 4, asynchronous=True)
    counts = []
    while not isinstance(way, Successive):
        counts.append(way.at_once)
        way = way.calmer()
    assert counts == [16, 8]


def test_alike_rows_are_solved_too(small_work):
    """Steps that do not know of each other overshoot here; fewer threads follow where that stops all progress."""
    rng = np.random.default_rng(0)
    X = 1.0 + 0.1 * rng.normal(size=(200, 10))
    problem = Problem(X, np.where(X[:, 0] + 0.05 * rng.normal(size=200) > 1.0, 1, -1), radius=0.01, fit_intercept=True)
    result = solve(problem, "dual-coordinate", tol=1e-4, n_threads=4, asynchronous=True, hand_over=False)
    assert result.gap <= 1e-4


def test_small_problems_are_visited_row_by_row():
    problem = well_conditioned_instance(0, 100, 5)
    assert isinstance(visits_for(rows_of(problem.X), 8, asynchronous=True), Successive)
    assert solve(problem, "dual-coordinate", n_threads=4, asynchronous=True).info["threads"] == 1
