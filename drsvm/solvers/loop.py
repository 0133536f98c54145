"""The main loop of all solvers, which handles time, certificates, callbacks and status.

The loop calls `state.step()` and, when `state.certificate_due()`, evaluates `state.candidate()` with
`model/certificate.py`; it keeps the best classifier and the best lower bound so far.
"""

import math
from collections import deque
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from drsvm.clock import Stopwatch
from drsvm.engines.threads import single_threaded_blas
from drsvm.interrupts import Interrupts, recorded_interrupts
from drsvm.model.certificate import SLIGHT, Certificate, DualPoint, PrimalPoint, dual_point, primal_point
from drsvm.model.dual_scale import uncharged_features
from drsvm.model.problem import Problem
from drsvm.model.result import History, Progress, Result, Status
from drsvm.model.rows import RowsLost
from drsvm.parallel import threads_limited
from drsvm.progress import Tell, taken_over
from drsvm.solvers.base import Candidate, Limits, Solver, State, check_limits, share_of_way
from drsvm.solvers.transforms.tiny_weights import without_rounding

RECENT = 3
"""Number of steps and certificates used to predict how long the next ones will take."""

FAR_ENOUGH = (Status.STALLED, Status.ITERATION_LIMIT, Status.TIME_LIMIT)
"""How a run may end between the gap that it is to reach and the one it aims at."""


def run(problem: Problem, solver: Solver, *, callback=None, **limits) -> Result:
    """Run a solver to completion; the limits are those of `drsvm.solve`."""
    problem = problem if solver.reads_views else problem.in_memory()
    checked = check_limits(problem, solver, watched=callback is not None, **limits)
    with taken_over() as tell, recorded_interrupts() as interrupts:
        return _Run(problem, solver, checked, callback, tell, interrupts).to_completion()


class _Best:
    """The best classifier and the best bound so far; they may come from different iterations."""

    def __init__(self, problem: Problem, tol: float):
        # A bound may lose a share of the tolerance to what is only known in advance about rounding errors.
        self.problem, self.tol, self.slight = problem, tol, max(SLIGHT, 0.05 * tol)
        # w = 0 without multipliers: the objective is 1 for all parameters, the bound is 0.
        self.primal = PrimalPoint(np.zeros(problem.n_features), 0.0, 0.0, 1.0)
        zeros = problem.rows.zeros()
        self.dual = DualPoint(zeros, zeros, 0.0)
        self.has_free_weights = bool(uncharged_features(problem)[0].any())

    @property
    def is_final(self) -> bool:
        """Whether the gap is small enough, and no bound for all weights is to be hoped for instead."""
        small = self.proven.gap <= self.tol
        return small and (self.has_free_weights or self.status(self.tol) is Status.OPTIMAL)

    @property
    def proven(self) -> Certificate:
        return Certificate(self.primal, self.dual)

    def judge(self, candidate: Candidate) -> None:
        # An extreme candidate may overflow or give NaN; it then fails the comparisons below and is ignored.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(candidate.weights).all() and math.isfinite(candidate.intercept):
                self._judge_classifier(candidate)
            if candidate.hinge_dual is not None or candidate.flip_dual is not None:
                dual = self._proven(candidate.hinge_dual, candidate.flip_dual)
                self.dual = max(self.dual, dual, key=self._rank)

    def _rank(self, dual: DualPoint) -> tuple[float, bool, float]:
        """Prefer what is enough for all weights, then the larger bound; NaN is the worst."""
        bound = dual.lower_bound if dual.lower_bound >= 0.0 else 0.0
        return min(bound, self.primal.objective - self.tol), math.isinf(dual.contribution_bound), bound

    def _judge_classifier(self, candidate: Candidate) -> None:
        # Copied, because the state may keep modifying its array.
        primal = primal_point(self.problem, np.array(candidate.weights), candidate.intercept)
        if primal.objective < self.primal.objective:
            self.primal = primal
            if math.isfinite(self.dual.contribution_bound) and not self.dual.covers(self.problem, primal.weights):
                self.prove_again()  # it was proven for smaller weights only

    def prove_again(self) -> None:
        """State the bound that the multipliers prove now."""
        self.dual = self._proven(self.dual.hinge_dual, self.dual.flip_dual)

    def _proven(self, hinge_dual, flip_dual) -> DualPoint:
        wanted = {"reference": self.primal.weights, "slight": self.slight, "enough": self.primal.objective - self.tol}
        return dual_point(self.problem, hinge_dual, flip_dual, **wanted)

    def status(self, tol: float) -> Status:
        """Return the status if the gap is at most the tolerance."""
        unconditional = math.isinf(self.dual.contribution_bound) or self.primal.objective <= tol
        return Status.OPTIMAL if unconditional else Status.OPTIMAL_WITHIN_BOUNDS

    def progress(self, iteration: int, seconds: float) -> Progress:
        return Progress(iteration, seconds, self.primal.objective, self.proven.lower_bound, self.primal.radius_price)


@contextmanager
def _timed(times: deque[float]):
    watch = Stopwatch()
    yield
    times.append(watch.elapsed())


class _Run:
    """The loop: steps, certificates, callbacks and the reason to stop."""

    def __init__(self, problem: Problem, solver: Solver, limits: Limits, callback, tell: Tell, interrupts: Interrupts):
        self.problem, self.solver, self.limits = problem, solver, limits
        self.callback, self.tell, self.interrupts = callback, tell, interrupts
        self.watch = Stopwatch()
        self.steps: deque[float] = deque(maxlen=RECENT)  # durations
        self.certificates: deque[float] = deque(maxlen=RECENT)
        self.best, self.history = _Best(problem, limits.tol), History()
        self.iteration = 0
        self.info: dict[str, Any] = {}

    def to_completion(self) -> Result:
        """Run until there is a reason to stop, such as Ctrl-C."""
        # The vectors are too small for BLAS threads to help, and blocks of rows have their own threads; besides, BLAS's
        # threads keep a core busy for a while after a call.
        with threads_limited(self.limits.n_threads), single_threaded_blas():
            return self._result(self._status())

    def _status(self) -> Status:
        try:
            if self.limits.start is not None and not self.limits.time.long_over:
                self.best.judge(self.limits.start)
            if self.best.proven.gap <= self.limits.tol:
                return self.best.status(self.limits.tol)
            status = Status.TIME_LIMIT if self.limits.time.spent else self._solve()
            self.interrupts.check()
            near_enough = status in FAR_ENOUGH and self.best.proven.gap <= self.limits.accepted
            return self.best.status(self.limits.accepted) if near_enough else status
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        except RowsLost as error:
            self.info = {"lost": str(error)}
            return Status.LOST

    def _solve(self) -> Status:
        state = self.solver.start(self.problem, self.limits)
        try:
            status = self._iterate(state)
            self.info = state.info()
        except KeyboardInterrupt:
            self.limits.time.stop()  # so that `candidate` runs no further epochs
            if self.iteration and not len(self.history):  # do not lose steps that have not been judged yet
                with suppress(Exception):  # the step that was interrupted may have left the state half changed
                    self.best.judge(state.candidate())
            raise
        finally:
            state.close()
        return status

    def _iterate(self, state: State) -> Status:
        time = self.limits.time
        if not time.allows(state.step_seconds):
            return self._judge(state, late=True) or Status.TIME_LIMIT
        while self.iteration < self.limits.max_iter:
            with _timed(self.steps):
                state.step()
            self.iteration += state.taken
            self.interrupts.check()
            step = max(self.steps)
            late = time.left() <= step + max(self.certificates, default=step) or not time.allows(state.step_seconds)
            last = state.finished or late or self.iteration >= self.limits.max_iter
            if last or state.certificate_due():
                status = self._judge(state, late)
                if status is not None:
                    return status
            self.tell(self._share_done(state))
        return Status.ITERATION_LIMIT

    def _share_done(self, state: State) -> float:
        """Return the share of the way to the tolerance or, if that is more, to a limit."""
        share = state.share_done()
        if share is None:
            share = share_of_way(1.0, self.best.proven.gap, self.limits.tol)
        seconds, left = self.watch.elapsed(), max(self.limits.time.left(), 0.0)
        return max(share, self.iteration / self.limits.max_iter, seconds / (seconds + left))

    def _judge(self, state: State, late: bool) -> Status | None:
        """Compute a certificate, notify state and callback, and return the reason to stop, if any."""
        with _timed(self.certificates):
            self.best.judge(state.candidate())
            if state.forgot_multipliers():
                self.best.prove_again()
            gap = self.best.proven.gap
            state.on_certificate(gap)
        progress = self.best.progress(self.iteration, self.watch.elapsed())
        self.history.append(progress)
        stop = False
        if self.callback is not None:
            self.interrupts.check()
            stop = self.callback(progress)
            self.interrupts.forget()  # a callback may handle Ctrl-C itself, as a debugger does
        reasons = {
            self.best.status(self.limits.tol): self.best.is_final,
            Status.STOPPED: stop,
            Status.TIME_LIMIT: late,
            Status.STALLED: state.finished,
        }
        return next((status for status, holds in reasons.items() if holds), None)

    def _result(self, status: Status) -> Result:
        best, zeros = self.best, self.problem.rows.zeros
        if status is Status.OPTIMAL and math.isfinite(best.dual.contribution_bound):
            best.dual = DualPoint(zeros(), zeros(), 0.0)  # this bound holds for all classifiers
        if status.reached:
            with suppress(RowsLost):  # what has been proven stays so
                allowed = self.limits.accepted
                best.primal = without_rounding(self.problem, best.primal, best.proven.lower_bound, allowed)
        primal, dual = best.primal, best.dual
        return Result(
            weights=primal.weights,
            intercept=primal.intercept,
            radius_price=primal.radius_price,
            objective=primal.objective,
            lower_bound=best.proven.lower_bound,
            hinge_dual=self.problem.to_given_rows(dual.hinge_dual),
            flip_dual=self.problem.to_given_rows(dual.flip_dual),
            status=status,
            solver=self.solver.name,
            n_iter=self.iteration,
            time=self.watch.elapsed(),
            tol=self.limits.accepted,
            history=self.history,
            weight_bound=dual.weight_bound,
            contribution_bound=dual.contribution_bound,
            info=self.info,
        )
