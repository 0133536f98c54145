"""The loop, driven by a solver that says what it is told to say."""

import math
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import drsvm.clock
from drsvm import Problem, Status, solve
from drsvm.clock import TimeLimit
from drsvm.model.certificate import DualPoint
from drsvm.solvers import make_solver, solver_names
from drsvm.solvers.base import Candidate, Solver, State, postponed_interrupt

X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.5, -1.0]])
Y = np.array([1, 1, -1, -1])
BALL = {"radius": 0.1, "flip_cost": math.inf}


@pytest.fixture
def problem():
    return Problem(X, Y, **BALL)


@pytest.fixture
def optimum(problem):
    return solve(problem, "conic")


@dataclass(frozen=True)
class Scripted(Solver):
    """Offers the given candidates one after the other; an exception among them is raised by the step instead."""

    name = "scripted"
    default_tol = 1e-6
    default_max_iter = 50

    script: tuple[Any, ...]
    finish: bool = False
    every: int = 1

    def start(self, problem, limits):
        return ScriptedState(self, limits)


class ScriptedState(State):
    runs: list["ScriptedState"] = []  # noqa: RUF012 - tests look at the last run

    def __init__(self, settings, limits):
        self.settings, self.limits, self.position, self.closed = settings, limits, 0, False
        ScriptedState.runs.append(self)

    def step(self):
        said = self.current()
        self.position += 1
        if isinstance(said, BaseException):
            raise said
        self.finished = self.settings.finish and self.position == len(self.settings.script)

    def current(self):
        script = self.settings.script
        return script[min(self.position, len(script) - 1)]

    def candidate(self):
        return self.settings.script[min(self.position, len(self.settings.script)) - 1]

    def certificate_due(self):
        return self.position % self.settings.every == 0

    def close(self):
        self.closed = True

    def info(self):
        return {"steps": self.position}


def scripted(*script, **settings):
    return Scripted(tuple(script), **settings)


GOOD = Candidate(np.array([0.8, 0.6]))
BAD = Candidate(np.array([-0.2, -0.1]))
BETTER_DUAL = Candidate(np.array([-9.0, -9.0]), 0.0, np.array([0.1, 0.1, 0.1, 0.1]))
WORSE_DUAL = Candidate(np.array([-9.0, -9.0]), 0.0, np.array([0.01, 0.0, 0.01, 0.0]))


def value(problem, candidate):
    return problem.objective(candidate.weights, candidate.intercept)


# How a run ends


def test_a_proven_gap_ends_the_run(problem, optimum):
    proof = Candidate(optimum.weights, 0.0, optimum.hinge_dual, optimum.flip_dual)
    result = solve(problem, scripted(GOOD, BAD, proof, GOOD), tol=1e-6)
    assert result.status is Status.OPTIMAL
    assert result.n_iter == 3 and result.info == {"steps": 3}
    assert 0 <= result.gap <= result.tol == 1e-6
    assert (result.weights == optimum.weights).all()


def test_the_tolerance_of_the_solver_holds_where_none_is_given(problem):
    assert solve(problem, scripted(GOOD), max_iter=1).tol == 1e-6


def test_an_infinite_tolerance_asks_for_no_step(problem):
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


@pytest.fixture
def clock(monkeypatch):
    """Return a clock whose attribute `now` is the time."""
    hand = SimpleNamespace(now=100.0)
    monkeypatch.setattr(drsvm.clock, "time", SimpleNamespace(perf_counter=lambda: hand.now))
    monkeypatch.setattr(drsvm.clock, "pauses", drsvm.clock.Pauses())
    return hand


def slow(clock, steps, certificate=0.0, compiling=0.0):
    """Return a solver whose steps and certificates take the given seconds, and which compiles in its first step."""

    class SlowState(ScriptedState):
        def step(self):
            if self.position == 0:
                with drsvm.clock.paused():
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
        ([1.0], 0.0, 5.0, 3, 3.0),  # before the first certificate, one is expected to take as long as a step
        ([1.0], 0.0, 6.5, 6, 6.0),  # after the fourth step it is known to take no time
        ([1.0], 0.5, 3.9, 2, 2.5),
        ([1.0], 0.5, 8.0, 6, 7.0),
        ([3.0, 0.25], 0.0, 5.0, 1, 3.0),  # one step was long: so may the next one be
        ([3.0, 0.25], 0.0, 10.0, 28, 9.75),  # but not for ever
        ([9.0], 1.0, 2.0, 1, 10.0),  # there is always a first step
    ],
)
def test_no_step_is_begun_that_would_end_too_late(problem, clock, steps, certificate, max_time, n_iter, ended):
    result = solve(problem, slow(clock, steps, certificate), max_time=max_time, tol=0.0)
    assert (result.status, result.n_iter) == (Status.TIME_LIMIT, n_iter)
    assert result.time == pytest.approx(ended) and result.objective == value(problem, GOOD)


def test_compiling_is_no_time(problem, clock):
    result = solve(problem, slow(clock, [1.0], compiling=100.0), max_time=6.5, tol=0.0)
    assert (result.n_iter, result.time) == (6, 6.0)
    assert result.history.time.tolist() == [4.0, 6.0]


def test_a_limit_that_is_spent_allows_no_step(problem, optimum):
    spent = TimeLimit(1.0, spent=True)
    result = solve(problem, scripted(GOOD), max_time=spent)
    assert (result.status, result.n_iter, result.objective) == (Status.TIME_LIMIT, 0, 1.0)
    assert not result.weights.any() and result.lower_bound == 0.0 and len(result.hinge_dual) == 4
    started = solve(problem, scripted(GOOD), max_time=spent, start=optimum, tol=1e-12)
    assert (started.status, started.n_iter, started.objective) == (Status.TIME_LIMIT, 0, optimum.objective)
    assert solve(problem, scripted(GOOD), max_time=spent, start=optimum, tol=1e-3).status is Status.OPTIMAL


def test_no_gap_is_below_zero(monkeypatch, problem, optimum):
    monkeypatch.setattr("drsvm.solvers.base.dual_point", lambda *a, **k: DualPoint(np.zeros(4), np.zeros(4), 1.0))
    seen = []
    result = solve(problem, scripted(Candidate(GOOD.weights, 0.0, np.zeros(4))), callback=seen.append)
    assert result.gap == seen[0].gap == 0.0 and result.lower_bound == seen[0].lower_bound == result.objective < 1.0


def test_auto_has_a_tolerance_of_its_own(problem):
    assert solve(problem).tol == solve(problem, "auto").tol == 1e-6
    assert solve(problem, "interior-point").tol == 1e-8
    assert solve(problem, tol=1e-3).tol == 1e-3


def test_a_run_out_of_time_and_of_steps_is_out_of_time(problem):
    assert solve(problem, scripted(GOOD, finish=True), max_time=1e-9).status is Status.TIME_LIMIT


def test_a_solver_without_further_progress_has_stalled(problem):
    result = solve(problem, scripted(BAD, GOOD, finish=True))
    assert (result.status, result.n_iter) == (Status.STALLED, 2)


def test_a_callback_stops_the_run(problem):
    seen = []
    result = solve(problem, scripted(BAD, GOOD), callback=lambda progress: seen.append(progress) or len(seen) == 3)
    assert (result.status, result.n_iter) == (Status.STOPPED, 3)
    assert [progress.iteration for progress in seen] == [1, 2, 3]
    last = seen[-1]
    assert (last.objective, last.lower_bound, last.gap) == (result.objective, result.lower_bound, result.gap)
    assert last.radius_price == result.radius_price and 0 <= last.time <= result.time


def test_a_callback_sees_every_certificate_the_last_one_too(problem, optimum):
    proof = Candidate(optimum.weights, 0.0, optimum.hinge_dual, optimum.flip_dual)
    seen = []
    result = solve(problem, scripted(GOOD, proof), callback=seen.append)
    assert result.status is Status.OPTIMAL
    assert [progress.gap for progress in seen] == result.history.gap.tolist()


def test_an_optimal_run_is_optimal_even_if_the_callback_stops_it(problem, optimum):
    proof = Candidate(optimum.weights, 0.0, optimum.hinge_dual, optimum.flip_dual)
    assert solve(problem, scripted(proof), callback=lambda _: True).status is Status.OPTIMAL


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

    assert solve(problem, scripted(GOOD), callback=interrupt).status is Status.INTERRUPTED


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


@pytest.mark.parametrize("weights", [[math.nan, 1.0], [math.inf, 1.0], [1e308, 1e308], [1e300, -1e300]])
def test_a_wild_classifier_is_ignored_without_a_warning(weights):
    problem = Problem(X * 1e10, Y, l2=1.0, fit_intercept=True)
    result = solve(problem, scripted(Candidate(np.array(weights)), Candidate(np.zeros(2), math.nan)), max_iter=2)
    assert result.objective == 1.0 and not result.weights.any()


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_wild_multipliers_are_ignored_without_a_warning(problem, poison):
    wild = Candidate(GOOD.weights, 0.0, np.full(4, poison), np.full(4, poison))
    result = solve(problem, scripted(BETTER_DUAL, wild), max_iter=2)
    assert result.objective == value(problem, GOOD)
    assert np.isfinite(result.lower_bound) and 0 < result.lower_bound <= result.objective


def test_a_state_may_go_on_working_in_the_array_it_offered(problem):
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


def test_a_bound_for_small_weights_is_proven_anew_for_larger_ones():
    """Barely separable data, radius = l2 = 0: the bound holds for ‖w‖ ≤ R, and a later, larger w falls below it."""
    problem = Problem([[1e-3, 1.0], [-1e-3, 1.0]], [1, -1], radius=0, flip_cost=1)
    proof, larger = Candidate(np.zeros(2), 0.0, np.array([0.5, 0.5])), Candidate(np.array([1000.0, 0.0]))
    first = solve(problem, scripted(proof), max_iter=1)
    assert first.lower_bound > 0.5 and first.weight_bound < 1000
    both = solve(problem, scripted(proof, larger), max_iter=2)
    assert both.objective < first.lower_bound
    assert np.linalg.norm(both.weights) <= both.weight_bound
    assert both.gap >= 0


def test_multipliers_are_spread_over_the_given_rows():
    problem = Problem(X, Y, sample_weight=[1, 1, 0, 1], **BALL)
    result = solve(problem, scripted(Candidate(GOOD.weights, 0.0, np.full(3, 0.1), np.zeros(3))), max_iter=1)
    assert result.hinge_dual.shape == (4,) and result.hinge_dual[2] == 0 and (result.hinge_dual[[0, 1, 3]] > 0).all()
    assert result.flip_dual.tolist() == [0, 0, 0, 0]


# Starts


def test_a_start_is_a_classifier(problem):
    result = solve(problem, scripted(BAD), start=(GOOD.weights, 0.0), max_iter=1)
    assert result.objective == value(problem, GOOD)
    assert (ScriptedState.runs[-1].limits.start.weights == GOOD.weights).all()


def test_a_start_is_a_result_with_its_multipliers(problem, optimum):
    result = solve(problem, scripted(BAD), start=optimum, tol=1e-6)
    assert (result.status, result.n_iter) == (Status.OPTIMAL, 0)
    assert result.lower_bound == pytest.approx(optimum.lower_bound, rel=1e-12)


def test_multipliers_of_other_rows_are_left_behind(problem, optimum):
    fewer = Problem(X[:3], Y[:3], **BALL)
    solve(fewer, scripted(BAD), start=optimum, max_iter=1)
    start = ScriptedState.runs[-1].limits.start
    assert start.hinge_dual is None and (start.weights == optimum.weights).all()
    weighted = Problem(X, Y, sample_weight=[1, 0, 1, 1], **BALL)
    solve(weighted, scripted(BAD), start=optimum, max_iter=1, tol=0)
    np.testing.assert_array_equal(ScriptedState.runs[-1].limits.start.hinge_dual, optimum.hinge_dual[[0, 2, 3]])


def test_a_start_of_another_radius_is_welcome(problem, optimum):
    other = problem.replace(radius=0.2, fit_intercept=True)
    result = solve(other, scripted(BAD), start=optimum, max_iter=1)
    assert result.objective <= other.objective(optimum.weights)
    assert 0 < result.lower_bound <= result.objective


def test_an_intercept_is_dropped_where_none_is_fitted(problem):
    assert solve(problem, scripted(BAD), start=(GOOD.weights, 5.0), max_iter=1).intercept == 0.0


# Arguments


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tol": -1e-6}, ValueError, "tol must be a number ≥ 0, got tol=-1e-06"),
        ({"tol": math.nan}, ValueError, "tol=nan"),
        ({"tol": "tight"}, ValueError, "tol='tight'"),
        ({"max_iter": 0}, ValueError, "max_iter must be an integer ≥ 1, got max_iter=0"),
        ({"max_iter": 2.5}, ValueError, "max_iter=2.5"),
        ({"max_iter": True}, ValueError, "max_iter=True"),
        ({"max_time": 0}, ValueError, "max_time must be a number of seconds > 0, got max_time=0"),
        ({"max_time": -1}, ValueError, "max_time=-1"),
        ({"max_time": math.nan}, ValueError, "max_time=nan"),
        ({"max_time": "long"}, ValueError, "max_time='long'"),
        ({"n_threads": 0}, ValueError, "n_threads must be an integer ≥ 1, got n_threads=0"),
        ({"n_threads": 1.5}, ValueError, "n_threads=1.5"),
        ({"start": 3.0}, TypeError, r"start must be a Result or \(weights, intercept\), got float"),
        ({"start": "zero"}, TypeError, "start must be a Result"),
        (
            {"start": ([1.0, 2.0, 3.0], 0.0)},
            ValueError,
            r"start must have one entry per feature \(2\), got shape \(3,\)",
        ),
        ({"start": ([1.0, math.nan], 0.0)}, ValueError, "start has NaN or infinite entries"),
        ({"start": ([1.0, 2.0], math.nan)}, ValueError, "start must have a finite intercept, got nan"),
        ({"start": ([1.0, 2.0], None)}, ValueError, "start must have a finite intercept, got None"),
    ],
)
def test_bad_arguments_are_refused(problem, arguments, error, message):
    with pytest.raises(error, match=message):
        solve(problem, scripted(GOOD), **arguments)


def test_a_start_with_other_features_is_refused(problem):
    other = solve(Problem(X[:, :1], Y), scripted(Candidate(np.ones(1))), max_iter=1)
    with pytest.raises(ValueError, match=r"start must have one entry per feature \(2\), got shape \(1,\)"):
        solve(problem, scripted(GOOD), start=other)


def test_unknown_solvers_and_settings_are_refused(problem):
    with pytest.raises(ValueError, match=r"solver must be one of auto, .*conic.*, got solver='simplex'"):
        solve(problem, "simplex")
    with pytest.raises(ValueError, match="got solver=None"):
        solve(problem, None)
    with pytest.raises(TypeError, match="solver 'conic' has no setting batch_size; its settings: backend, accuracy"):
        solve(problem, "conic", batch_size=3)
    with pytest.raises(TypeError, match=r"settings \['every'\] go into the Scripted object"):
        solve(problem, scripted(GOOD), every=2)


@pytest.mark.parametrize("wrong", [(X, Y), None, "problem", Problem])
def test_only_a_problem_can_be_solved(wrong):
    with pytest.raises(TypeError, match=r"solve takes a drsvm.Problem, got .*build one with Problem\(X, y"):
        solve(wrong)


def test_every_registered_solver_can_be_made(problem):
    for name in solver_names():
        solver = make_solver(name, problem)
        assert isinstance(solver, Solver) and make_solver(solver, problem) is solver
        assert name in ("auto", solver.name) and solver.default_tol > 0 and solver.default_max_iter >= 1


# Interrupts while compiled code runs


def test_a_postponed_interrupt_comes_after_the_block():
    before, reached = signal.getsignal(signal.SIGINT), []
    with pytest.raises(KeyboardInterrupt), postponed_interrupt() as interrupted:
        signal.raise_signal(signal.SIGINT)
        assert interrupted.is_set()
        reached.append(True)
    assert reached and signal.getsignal(signal.SIGINT) is before


def test_an_error_in_the_block_restores_the_handler():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(LookupError), postponed_interrupt():
        raise LookupError
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_are_left_alone():
    def run():
        with postponed_interrupt() as interrupted:
            return interrupted.is_set()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run).result() is False
