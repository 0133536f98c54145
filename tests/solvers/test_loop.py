"""The loop: how runs end, what is kept, and when certificates are computed."""

import math
import signal
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pytest
from scripted import (
    BAD,
    BALL,
    BETTER_DUAL,
    GOOD,
    WORSE_DUAL,
    Scripted,
    ScriptedState,
    X,
    Y,
    scripted,
    value,
)
from threadpoolctl import threadpool_info, threadpool_limits

from drsvm import Problem, Status, solve
from drsvm.certificate import DualPoint
from drsvm.solvers import POLISHED, Candidate, Incumbent
from drsvm.utils import TimeLimit, paused, stage

# How a run ends


def test_a_proven_gap_ends_the_run(problem, optimum):
    proof = Candidate(optimum.weights, 0.0, optimum.hinge_dual, optimum.flip_dual)
    result = solve(problem, scripted(GOOD, BAD, proof, GOOD), tol=1e-6)
    assert result.status is Status.OPTIMAL
    assert result.n_iter == 3 and result.info == {"steps": 3}
    assert 0 <= result.gap <= result.tol == 1e-6
    assert (result.weights == optimum.weights).all()


@dataclass(frozen=True)
class Settling(Scripted):
    polishes_quickly = True


@pytest.mark.parametrize("limit", ["steps", "progress"])
def test_a_run_that_is_to_settle_goes_on_as_far_as_it_can(problem, optimum, limit):
    proof = Candidate(optimum.weights, 0.0, optimum.hinge_dual, optimum.flip_dual)
    near = Candidate(
        (1.0 + 1e-5) * optimum.weights, 0.0, optimum.hinge_dual, optimum.flip_dual
    )
    quick = Settling((GOOD, near, proof))
    tol = 2.0 * solve(problem, scripted(near), max_iter=1).gap
    assert solve(problem, quick, tol=tol).n_iter == 2
    settled = solve(problem, quick, tol=tol, polish=True)
    assert settled.n_iter == 3 and settled.gap <= POLISHED * tol and settled.tol == tol
    cut = Settling((GOOD, near), finish=True) if limit == "progress" else quick
    near_enough = solve(problem, cut, tol=tol, polish=True, max_iter=2)
    assert (
        near_enough.status is Status.OPTIMAL
        and POLISHED * tol < near_enough.gap <= near_enough.tol == tol
    )
    assert (
        solve(problem, scripted(GOOD, near, proof), tol=tol, polish=True).n_iter == 2
    )  # others are too slow for it


def test_the_tolerance_of_the_solver_is_the_default(problem):
    assert solve(problem, scripted(GOOD), max_iter=1).tol == 1e-6


def test_an_infinite_tolerance_needs_no_step(problem):
    result = solve(problem, scripted(GOOD), tol=math.inf)
    assert (result.status, result.n_iter, len(result.history)) == (Status.OPTIMAL, 0, 0)
    assert result.objective == 1.0 and not result.weights.any()


@pytest.mark.parametrize("max_iter", [1, 2, 7])
def test_the_iteration_limit_ends_the_run(problem, max_iter):
    result = solve(problem, scripted(GOOD), max_iter=max_iter)
    assert (result.status, result.n_iter) == (Status.ITERATION_LIMIT, max_iter)


def test_the_last_iteration_is_judged_even_if_no_certificate_was_due(problem):
    result = solve(problem, scripted(BAD, BAD, GOOD, every=100), max_iter=3)
    assert len(result.history) == 1 and result.history.iteration.tolist() == [3]
    assert result.objective == value(problem, GOOD)


def test_certificates_come_when_they_are_due(problem):
    result = solve(problem, scripted(GOOD, every=3), max_iter=10)
    assert result.history.iteration.tolist() == [3, 6, 9, 10]


def test_the_time_limit_ends_the_run(problem):
    result = solve(problem, scripted(GOOD), max_time=1e-9)
    assert (result.status, result.n_iter) == (Status.TIME_LIMIT, 1)
    assert result.objective == value(problem, GOOD)


def slow(clock, steps, certificate=0.0, compiling=0.0):
    """Return a solver whose steps and certificates take the given seconds, and which compiles in its first step."""

    class SlowState(ScriptedState):
        def step(self):
            if self.position == 0:
                with paused():
                    clock.now += compiling
            clock.now += steps[min(self.position, len(steps) - 1)]
            super().step()

        def candidate(self):
            clock.now += certificate
            return super().candidate()

    @dataclass(frozen=True)
    class Slow(Scripted):
        def start(self, problem, limits):
            return SlowState(self, limits)

    return Slow((GOOD,), every=4)


@pytest.mark.parametrize(
    ("steps", "certificate", "max_time", "n_iter", "ended"),
    [
        (
            [1.0],
            0.0,
            5.0,
            3,
            3.0,
        ),  # before the first certificate, one is expected to take as long as a step
        ([1.0], 0.0, 6.5, 6, 6.0),  # after the fourth step it is known to take no time
        ([1.0], 0.5, 3.9, 2, 2.5),
        ([1.0], 0.5, 8.0, 6, 7.0),
        ([3.0, 0.25], 0.0, 5.0, 1, 3.0),  # one step was long: so may the next one be
        ([3.0, 0.25], 0.0, 10.0, 28, 9.75),  # but not forever
        ([9.0], 1.0, 2.0, 1, 10.0),  # there is always a first step
    ],
)
def test_no_step_is_started_that_would_end_too_late(
    problem, clock, steps, certificate, max_time, n_iter, ended
):
    result = solve(problem, slow(clock, steps, certificate), max_time=max_time, tol=0.0)
    assert (result.status, result.n_iter) == (Status.TIME_LIMIT, n_iter)
    assert result.time == pytest.approx(ended) and result.objective == value(
        problem, GOOD
    )


def test_compile_time_does_not_count(problem, clock):
    result = solve(problem, slow(clock, [1.0], compiling=100.0), max_time=6.5, tol=0.0)
    assert (result.n_iter, result.time) == (6, 6.0)
    assert result.history.time.tolist() == [4.0, 6.0]


def test_a_limit_that_is_spent_allows_no_step(problem, optimum):
    spent = TimeLimit(1.0, spent=True)
    result = solve(problem, scripted(GOOD), max_time=spent)
    assert (result.status, result.n_iter, result.objective) == (
        Status.TIME_LIMIT,
        0,
        1.0,
    )
    assert (
        not result.weights.any()
        and result.lower_bound == 0.0
        and len(result.hinge_dual) == 4
    )
    started = solve(problem, scripted(GOOD), max_time=spent, start=optimum, tol=1e-12)
    assert (started.status, started.n_iter, started.objective) == (
        Status.TIME_LIMIT,
        0,
        optimum.objective,
    )
    assert (
        solve(problem, scripted(GOOD), max_time=spent, start=optimum, tol=1e-3).status
        is Status.OPTIMAL
    )


def test_no_gap_is_below_zero(problem, optimum):
    """Rounding may lift the bound above the objective."""
    best = Incumbent(problem, 1e-6)
    best.certify(Candidate(GOOD.weights, 0.0, np.zeros(4)))
    best.dual = DualPoint(np.zeros(4), np.zeros(4), 1.0)
    assert best.gap == 0.0 and best.lower_bound == best.primal.objective < 1.0


def test_auto_has_its_own_tolerance(problem):
    assert solve(problem).tol == solve(problem, "auto").tol == 1e-6
    assert solve(problem, "interior-point").tol == 1e-8
    assert solve(problem, tol=1e-3).tol == 1e-3


def test_a_run_out_of_time_and_of_steps_is_out_of_time(problem):
    assert (
        solve(problem, scripted(GOOD, finish=True), max_time=1e-9).status
        is Status.TIME_LIMIT
    )


def test_a_solver_without_further_progress_has_stalled(problem):
    result = solve(problem, scripted(BAD, GOOD, finish=True))
    assert (result.status, result.n_iter) == (Status.STALLED, 2)


def test_a_callback_stops_the_run(problem):
    seen = []
    result = solve(
        problem,
        scripted(BAD, GOOD),
        callback=lambda progress: seen.append(progress) or len(seen) == 3,
    )
    assert (result.status, result.n_iter) == (Status.STOPPED, 3)
    assert [progress.iteration for progress in seen] == [1, 2, 3]
    last = seen[-1]
    assert (last.objective, last.lower_bound, last.gap) == (
        result.objective,
        result.lower_bound,
        result.gap,
    )
    assert last.radius_price == result.radius_price and 0 <= last.time <= result.time


def test_a_callback_sees_every_certificate_including_the_last(problem, optimum):
    proof = Candidate(optimum.weights, 0.0, optimum.hinge_dual, optimum.flip_dual)
    seen = []
    result = solve(problem, scripted(GOOD, proof), callback=seen.append)
    assert result.status is Status.OPTIMAL
    assert [progress.gap for progress in seen] == result.history.gap.tolist()


def test_an_optimal_run_is_optimal_even_if_the_callback_stops_it(problem, optimum):
    proof = Candidate(optimum.weights, 0.0, optimum.hinge_dual, optimum.flip_dual)
    assert (
        solve(problem, scripted(proof), callback=lambda _: True).status
        is Status.OPTIMAL
    )


def test_an_error_in_a_callback_reaches_the_caller(problem):
    def fail(progress):
        raise LookupError("the callback is broken")

    with pytest.raises(LookupError, match="the callback is broken"):
        solve(problem, scripted(GOOD), callback=fail)
    assert ScriptedState.runs[-1].closed


def test_an_error_in_a_step_reaches_the_caller(problem):
    with pytest.raises(ArithmeticError, match="broken"):
        solve(problem, scripted(GOOD, ArithmeticError("broken")))
    assert ScriptedState.runs[-1].closed


def test_an_interrupt_keeps_the_best_point_so_far(problem):
    result = solve(problem, scripted(GOOD, BETTER_DUAL, BAD, KeyboardInterrupt()))
    assert (result.status, result.n_iter) == (Status.INTERRUPTED, 3)
    assert result.objective == value(problem, GOOD) and result.lower_bound > 0
    assert ScriptedState.runs[-1].closed


def test_an_interrupt_in_a_callback_counts_as_one(problem):
    def interrupt(progress):
        raise KeyboardInterrupt

    assert (
        solve(problem, scripted(GOOD), callback=interrupt).status is Status.INTERRUPTED
    )


class Dropped:
    """Receives a signal in its destructor, where Python drops the exception."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.fixture
def python_raises_interrupts():
    """Restore what Python does on Ctrl-C, which jobs in the background of a shell ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("place", ["coordinates", "limits of BLAS"])
def test_an_interrupt_before_the_first_step_ends_the_run(problem, place, interrupt_in):
    interrupt_in(place)
    result = solve(problem, tol=0.01)
    assert result.status is Status.INTERRUPTED
    assert (result.n_iter, result.objective, result.lower_bound) == (0, 1.0, 0.0)
    assert (result.weights == np.zeros(problem.n_features)).all()
    assert result.tol == 0.01 and len(result.hinge_dual) == problem.n_rows


def test_an_interrupt_after_the_last_step_keeps_the_best_point(problem, interrupt_in):
    interrupt_in("rounding")
    result = solve(problem)
    assert result.status is Status.INTERRUPTED and 0 <= result.gap <= 1e-6
    assert result.weights.any()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("place", ["certificate_due", "info"])
def test_an_interrupt_whose_exception_is_lost_ends_the_run(
    problem, place, monkeypatch, python_raises_interrupts
):
    monkeypatch.setattr(ScriptedState, place, lambda self: {"lost": Dropped() is None})
    assert solve(problem, scripted(GOOD), max_iter=3).status is Status.INTERRUPTED


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_callback_may_handle_interrupts_itself(problem, python_raises_interrupts):
    result = solve(
        problem, scripted(GOOD), max_iter=3, callback=lambda progress: Dropped() is None
    )
    assert (result.status, result.n_iter) == (Status.ITERATION_LIMIT, 3)


# What is kept


def test_the_best_classifier_and_the_best_bound_come_from_different_iterations(problem):
    result = solve(problem, scripted(GOOD, BETTER_DUAL, WORSE_DUAL, BAD), max_iter=4)
    assert result.objective == value(problem, GOOD)
    assert (result.weights == GOOD.weights).all()
    bound = result.lower_bound
    assert bound == solve(problem, scripted(BETTER_DUAL), max_iter=1).lower_bound
    assert bound > solve(problem, scripted(WORSE_DUAL), max_iter=1).lower_bound > 0
    assert result.history.objective.tolist() == [value(problem, GOOD)] * 4
    np.testing.assert_array_equal(result.history.lower_bound, [0, bound, bound, bound])


def test_nothing_is_worse_than_the_zero_classifier(problem):
    result = solve(problem, scripted(BAD), max_iter=2)
    assert result.objective == 1.0 and not result.weights.any() and result.gap == 1.0


@pytest.mark.parametrize(
    "weights", [[math.nan, 1.0], [math.inf, 1.0], [1e308, 1e308], [1e300, -1e300]]
)
def test_an_extreme_classifier_is_ignored_without_a_warning(weights):
    problem = Problem(X * 1e10, Y, l2=1.0, fit_intercept=True)
    result = solve(
        problem,
        scripted(Candidate(np.array(weights)), Candidate(np.zeros(2), math.nan)),
        max_iter=2,
    )
    assert result.objective == 1.0 and not result.weights.any()


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_invalid_multipliers_are_ignored_without_a_warning(problem, poison):
    wild = Candidate(GOOD.weights, 0.0, np.full(4, poison), np.full(4, poison))
    result = solve(problem, scripted(BETTER_DUAL, wild), max_iter=2)
    assert result.objective == value(problem, GOOD)
    assert (
        np.isfinite(result.lower_bound) and 0 < result.lower_bound <= result.objective
    )


def test_a_state_may_keep_modifying_the_array_it_offered(problem):
    mine = GOOD.weights.copy()

    class InPlace(ScriptedState):
        def step(self):
            mine[:] = GOOD.weights if self.position == 0 else -100.0
            super().step()

    @dataclass(frozen=True)
    class InPlaceSolver(Scripted):
        def start(self, problem, limits):
            return InPlace(self, limits)

    result = solve(problem, InPlaceSolver((Candidate(mine),)), max_iter=3)
    assert (result.weights == GOOD.weights).all()
    assert result.objective == problem.objective(result.weights)


def test_a_bound_for_limited_weights_is_proven_again_for_larger_ones():
    """Columns that differ by 1e-7 separate the rows: the bound holds for limited weights, and a larger w beats it."""
    problem = Problem(
        [[1.0 + 1e-7, 1.0], [1.0 - 1e-7, 1.0]], [1, -1], radius=0, flip_cost=1
    )
    proof = Candidate(np.zeros(2), 0.0, np.array([0.5, 0.5]))
    larger = Candidate(np.array([1e7, -1e7]))
    first = solve(problem, scripted(proof), max_iter=1)
    assert first.lower_bound > 0.8 and first.contribution_bound == 1e6
    both = solve(problem, scripted(proof, larger), max_iter=2)
    assert both.objective < first.lower_bound
    assert both.lower_bound == 0.0 and both.contribution_bound == math.inf


def test_without_a_condition_a_bound_of_zero_will_do():
    """An objective within the tolerance needs no bound above 0, which would hold for limited weights only."""
    problem = Problem(
        [[1.0], [-1.0], [0.7]], [1, -1, -1], radius=0, sample_weight=[1.0, 1.0, 1e-6]
    )
    answer = Candidate(np.ones(1), 0.0, problem.sample_weight * (0.7e-6, 0.0, 1.0))
    conditional = solve(problem, scripted(answer), max_iter=1, tol=1e-7)
    assert (
        conditional.status is Status.OPTIMAL_WITHIN_BOUNDS
        and conditional.lower_bound > 0
    )
    plain = solve(problem, scripted(answer), max_iter=1, tol=1e-5)
    assert (
        plain.status is Status.OPTIMAL
        and plain.lower_bound == 0.0
        and math.isinf(plain.weight_bound)
    )


def test_multipliers_are_spread_over_the_given_rows():
    problem = Problem(X, Y, sample_weight=[1, 1, 0, 1], **BALL)
    result = solve(
        problem,
        scripted(Candidate(GOOD.weights, 0.0, np.full(3, 0.1), np.zeros(3))),
        max_iter=1,
    )
    assert (
        result.hinge_dual.shape == (4,)
        and result.hinge_dual[2] == 0
        and (result.hinge_dual[[0, 1, 3]] > 0).all()
    )
    assert result.flip_dual.tolist() == [0, 0, 0, 0]


# Someone who waits


class Shares(ScriptedState):
    def share_done(self):
        return self.position / 10


@dataclass(frozen=True)
class Telling(Scripted):
    def start(self, problem, limits):
        return Shares(self, limits)


def test_every_iteration_is_told_and_needs_no_certificate(problem, told):
    with stage("solving"):
        result = solve(problem, Telling((GOOD,), every=5), max_iter=8)
    assert result.history.iteration.tolist() == [5, 8]
    # A run to the iteration limit has come as far as its iterations; the stage adds
    # that it is over.
    assert told == [("solving", k / 8) for k in (1, 2, 3, 4, 5, 6, 7, 8, 8)]


def test_shares_of_the_state_are_told(problem, told):
    with stage("solving"):
        solve(problem, Telling((GOOD,), every=100), max_iter=1000)
    assert [share for _, share in told[:9]] == pytest.approx(
        [k / 10 for k in range(1, 10)]
    )


def test_without_shares_of_the_state_certificates_tell(problem, told):
    with stage("solving"):
        result = solve(
            problem, scripted(WORSE_DUAL, BETTER_DUAL, GOOD), max_iter=1000, tol=1e-6
        )
    first = solve(problem, scripted(WORSE_DUAL), max_iter=1).gap
    assert result.n_iter == 1000
    assert (
        told[0][1] == pytest.approx(math.log(first) / math.log(1e-6))
        and told[1][1] > told[0][1]
    )


def test_the_time_limit_is_a_way_to_go(problem, told, clock):
    with stage("solving"):
        solve(problem, slow(clock, [1.0]), max_time=5.0)
    assert [share for _, share in told] == pytest.approx([0.2, 0.4, 1.0])


def test_runs_within_a_run_are_not_told(problem, told):
    class Nested(ScriptedState):
        def step(self):
            super().step()
            solve(problem, scripted(GOOD), max_iter=20)

    @dataclass(frozen=True)
    class Outer(Scripted):
        def start(self, problem, limits):
            return Nested(self, limits)

    with stage("solving"):
        solve(problem, Outer((BAD,)), max_iter=4)
    assert [share for _, share in told] == [0.25, 0.5, 0.75, 1.0, 1.0]


# BLAS


def blas_threads():
    """Return the number of threads of every BLAS library that is loaded."""
    pools = threadpool_info()
    return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]


@pytest.mark.parametrize(
    "said", [GOOD, RuntimeError("a step fails")], ids=["good", "failing"]
)
def test_blas_is_limited_to_one_thread_while_a_solver_runs(problem, said):
    class Counting(Scripted):
        def start(self, problem, limits):
            counts.extend(blas_threads())
            return super().start(problem, limits)

    counts = []
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with nullcontext() if said is GOOD else pytest.raises(RuntimeError):
            solve(problem, Counting((said,)), max_iter=1)
        assert set(counts) == {1} and blas_threads() == before
