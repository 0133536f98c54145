"""Rows that several threads visit at once: the same optima and, where that is promised, the same bits in every run."""

import math

import numpy as np
import pytest
from instances import sparse_problem, sparse_rows, well_conditioned_instance
from problems import NORMS
from scipy import sparse

from drsvm import Problem, Status, certify, solve
from drsvm.kernels.entries import Rows
from drsvm.kernels.rounds import SEGMENTS
from drsvm.solvers import visits
from drsvm.solvers.dual_coordinate import DualCoordinate, ascent_for
from drsvm.solvers.limits import check_limits
from drsvm.solvers.visits import AtWill, InStep, Successive, rows_at_once, visits_for

for_each_norm = pytest.mark.parametrize("norm", NORMS)
in_both_modes = pytest.mark.parametrize("asynchronous", [False, True])

N, D = 120, 300
"""Rows and features of the problems."""


@pytest.fixture
def small_work(monkeypatch):
    """Let threads start on small problems, and alike rows be visited at once."""
    monkeypatch.setattr(visits, "THREAD_WORK", 1)
    monkeypatch.setattr(visits, "rows_at_once", lambda rows: 8)


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


@in_both_modes
@for_each_norm
@pytest.mark.parametrize("kind", KINDS)
def test_several_threads_agree_with_the_interior_point(small_work, kind, norm, asynchronous):
    problem = many_features(norm, **KINDS[kind])
    reference = solve(problem, "interior-point")
    for n_threads in (2, 4):
        result = solve(problem, "dual-coordinate", tol=1e-5, n_threads=n_threads, asynchronous=asynchronous)
        assert result.status is Status.OPTIMAL, (n_threads, result)
        assert abs(result.objective - reference.objective) <= 1e-5 + reference.gap
        assert result.lower_bound <= reference.objective + 1e-9
        proven = certify(problem, result.weights, result.intercept, result.hinge_dual, result.flip_dual)
        assert proven.objective == pytest.approx(result.objective, abs=1e-12)
        assert proven.lower_bound == pytest.approx(result.lower_bound, abs=1e-12)


@in_both_modes
@pytest.mark.parametrize("flip_cost", [0.7, math.inf])
def test_a_proof_needs_no_hand_over(small_work, flip_cost, asynchronous):
    settings = {"tol": 1e-5, "hand_over": False, "asynchronous": asynchronous}
    result = solve(many_features(flip_cost=flip_cost), "dual-coordinate", n_threads=2, **settings)
    assert result.gap <= 1e-5


@pytest.mark.parametrize("rows", ["sparse", "dense", "float32"])
@for_each_norm
def test_threads_in_step_repeat_every_bit(small_work, norm, rows):
    """Also with another number of threads, which may change during a run."""
    problem = many_features(norm, fit_intercept=True, intercept_cost=3.0, flip_cost=0.5)
    X = {"sparse": problem.X, "dense": problem.X.toarray(), "float32": problem.X.astype(np.float32)}[rows]
    problem = problem.on_rows(X)
    settings = {"tol": 0.0, "max_iter": 12, "hand_over": False, "random_state": 3}
    results = [solve(problem, "dual-coordinate", n_threads=n, **settings) for n in (2, 2, 3, 4)]
    for other in results[1:]:
        for name in ("weights", "hinge_dual", "flip_dual"):
            np.testing.assert_array_equal(getattr(other, name), getattr(results[0], name))
        assert other.intercept == results[0].intercept and other.lower_bound == results[0].lower_bound


def ascent_of(problem, way, shrinking=True):
    ascent = ascent_for(problem, check_limits(problem, DualCoordinate()), shrinking)
    ascent.visits = way(ascent.rows)
    return ascent


WAYS = {"in step": lambda rows: InStep(3, 8, rows), "at will": lambda rows: AtWill(3)}


@for_each_norm
@pytest.mark.parametrize("way", WAYS)
def test_sums_belong_to_the_multipliers(norm, way):
    problem = many_features(norm, fit_intercept=True, flip_cost=0.7)
    ascent = ascent_of(problem, WAYS[way])
    for _ in range(12):  # the last epoch is over all rows, and leaves no drift
        ascent.epoch()
    ascent.visits.close()
    v, turn = problem.weighted_sum(ascent.hinge - ascent.flip)
    np.testing.assert_allclose(ascent.v, v, atol=1e-10)
    assert ascent.turn == pytest.approx(turn, abs=1e-9)
    assert (ascent.hinge + ascent.flip <= problem.sample_weight * (1 + 1e-12)).all()
    np.testing.assert_array_equal(np.sort(ascent.order), np.arange(problem.n_rows))


@for_each_norm
def test_changes_that_threads_lost_are_made_up_for(norm):
    """Threads at will may lose changes; here some are lost on purpose, in an epoch over some of the rows."""
    problem = many_features(norm, flip_cost=0.7)
    ascent = ascent_of(problem, WAYS["at will"])
    for _ in range(5):
        ascent.epoch()
    ascent.visits.close()
    before = ascent.w
    ascent.v, ascent.u = ascent.v + 1.0, ascent.u + 1.0
    ascent.w = ascent._weights_at(ascent.u)
    assert not ascent.whole and np.abs(ascent.w - before).max() > 1e-3
    ascent.remove_drift()
    np.testing.assert_allclose(ascent.v, problem.weighted_sum(ascent.hinge - ascent.flip)[0], atol=1e-10)
    np.testing.assert_allclose(ascent.w, before, rtol=0.01, atol=0.01 * np.abs(before).max())


def test_sparse_rows_get_threads_without_being_asked():
    rows = rows_of(sparse_problem(5000, 6000, nonzeros=50).X)
    kinds = [visits_for(rows, 2, asynchronous) for asynchronous in (False, True)]
    for kind in kinds:
        kind.close()
    assert [type(kind) for kind in kinds] == [InStep, AtWill]
    assert kinds[0].n_threads == kinds[1].n_threads == 2
    assert isinstance(visits_for(rows, 1, asynchronous=False), Successive)


def test_rounds_of_one_row_are_successive_visits():
    """The steps are the same up to rounding, and to where a search ends that starts at a kink."""
    problem = many_features(fit_intercept=True, flip_cost=0.7)
    one, other = ascent_of(problem, lambda rows: Successive()), ascent_of(problem, lambda rows: InStep(2, 1, rows))
    for _ in range(3):
        one.epoch()
        other.epoch()
    other.visits.close()
    np.testing.assert_allclose(other.w, one.w, atol=0.01 * np.abs(one.w).max())
    assert other.estimate == pytest.approx(one.estimate, rel=0.01)


def test_fewer_threads_finish_an_epoch_that_others_left(monkeypatch):
    """The squad leaves after the first round; the result is that of an epoch without interruption."""
    problem = many_features(fit_intercept=True, intercept_cost=3.0)
    calm, hurried = (ascent_of(problem, WAYS["in step"]) for _ in range(2))
    original = InStep._rounds

    def interrupted(self, kernels, task, rounds):
        some = min(rounds.begin + 24, task.active)
        return original(self, kernels, task._replace(order=task.order[:some]), rounds)

    calm.epoch()
    monkeypatch.setattr(InStep, "_rounds", interrupted)
    hurried.epoch()
    assert hurried.visits.n_threads == 1
    np.testing.assert_array_equal(hurried.w, calm.w)
    assert hurried.estimate == calm.estimate
    for ascent in (calm, hurried):
        ascent.visits.close()


def test_a_thread_that_fails_keeps_no_other_waiting(monkeypatch):
    ascent = ascent_of(many_features(), WAYS["in step"])
    kernels = ascent._kernels()

    def failing(rows, order, firm, multipliers, flips, terms, rounds, squad):
        if squad.rank == 0:
            raise RuntimeError("no memory")
        return kernels.in_rounds(rows, order, firm, multipliers, flips, terms, rounds, squad)

    monkeypatch.setattr(ascent, "_kernels", lambda: kernels._replace(in_rounds=failing))
    with pytest.raises(RuntimeError, match="no memory"):
        ascent.epoch()
    ascent.visits.close()  # would wait forever


def rows_of(X) -> Rows:
    return ascent_of(Problem(X, np.where(np.arange(X.shape[0]) % 2, 1, -1)), lambda rows: Successive()).rows


def test_alike_rows_are_not_visited_at_once():
    alike = 1.0 + 0.1 * np.random.default_rng(0).normal(size=(300, 20))
    assert rows_at_once(rows_of(alike)) == 2
    assert isinstance(visits_for(rows_of(np.tile(alike, (100, 1))), 4, asynchronous=False), Successive)


def test_rows_without_common_features_may_all_be_visited_at_once():
    for X in (np.eye(300), sparse.csr_array(np.eye(300))):
        assert rows_at_once(rows_of(X)) == visits.MOST_AT_ONCE


def test_zero_rows_are_harmless():
    X = np.vstack([np.zeros((5, 30)), np.eye(30)])
    assert rows_at_once(rows_of(sparse.csr_array(X))) % SEGMENTS == 0
    assert rows_at_once(rows_of(np.zeros((5, 30)))) > 1


@in_both_modes
def test_a_standstill_leads_to_successive_visits(small_work, asynchronous):
    ascent = ascent_of(many_features(), lambda rows: visits_for(rows, 4, asynchronous))
    counts = []
    while not isinstance(ascent.visits, Successive):
        counts.append(ascent.visits.at_once)
        ascent.visits = ascent.visits.calmer()
    assert counts == ([16, 8] if asynchronous else [8, 4, 2])


def test_small_problems_and_single_threads_are_visited_row_by_row():
    problem = well_conditioned_instance(0, 100, 5)
    assert isinstance(visits_for(rows_of(problem.X), 8, asynchronous=True), Successive)
    assert solve(problem, "dual-coordinate", n_threads=4).info["threads"] == 1
