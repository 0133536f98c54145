"""The main loop of all solvers: time, certificates, callbacks, fallbacks and status.

The loop calls `state.step()` and, when `state.certificate_due()`, evaluates
`state.candidate()` with `certificate/certificate.py`; it keeps the best classifier and
the best lower bound so far (`incumbent.py`). If a solver fails, the loop goes on with
another one.
"""

import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from drsvm.certificate.certificate import DualPoint
from drsvm.problem.problem import Problem
from drsvm.problem.result import History, Progress, Result, Status
from drsvm.problem.rows import RowsLost
from drsvm.solvers.base import (
    Limits,
    Solver,
    State,
    check_limits,
    share_of_way,
)
from drsvm.solvers.incumbent import Incumbent
from drsvm.solvers.reformulation.constant import optimum_of_free_flips
from drsvm.solvers.selection import (
    alternatives,
    interior_point_seconds,
    make_solver,
)
from drsvm.solvers.tiny_weights import without_rounding
from drsvm.utils.clock import Stopwatch, TimeLimit
from drsvm.utils.interrupts import Interrupts, recorded_interrupts
from drsvm.utils.parallel import single_threaded_blas, threads_limited
from drsvm.utils.progress import ReportProgress, capture_progress, ignore_progress

Callback = Callable[[Progress], object]

# The longest of this many latest steps and certificates predicts how long the next ones
# take.
RECENT = 3
# A run that ends in one of these ways with a gap of at most `Limits.accepted` is as
# good as one that reached the tolerance.
FAR_ENOUGH = (Status.STALLED, Status.ITERATION_LIMIT, Status.TIME_LIMIT)
# How a run ends that another solver may improve on
FAILED = (Status.STALLED, Status.ITERATION_LIMIT)
# How many times as long as the solvers that failed, all together, the next one may run
PATIENCE = 5.0


def run(
    problem: Problem,
    solver: Solver,
    *,
    callback: Callback | None = None,
    try_others: bool = False,
    **limits,
) -> Result:
    """Run a solver until there is a reason to stop, such as Ctrl-C.

    Parameters
    ----------
    problem : Problem
        A problem in the coordinates that the solver is to work in.
    solver : Solver
        The solver.
    callback : callable, optional
        See `drsvm.solve`.
    try_others : bool
        Whether other solvers go on if this one fails.
    **limits
        The limits of `drsvm.solve`.

    Returns
    -------
    Result
        The best classifier and the best bound of the run, and how it ended.
    """
    in_place = problem if solver.reads_views else problem.in_memory()
    limits["watched"] = callback is not None
    checked = check_limits(in_place, solver, **limits)
    # The vectors are too small for BLAS threads to help, and blocks of rows have their
    # own threads; besides, BLAS's threads keep a core busy for a while after a call.
    with (
        capture_progress() as report_progress,
        recorded_interrupts() as interrupts,
        threads_limited(checked.n_threads),
        single_threaded_blas(),
    ):
        loop = _Loop(in_place, solver, checked, callback, report_progress, interrupts)
        try:
            status = loop.run()
            if try_others:
                status = loop.run_others(status, limits)
            return loop.result(loop.status_of_gap(status))
        except KeyboardInterrupt:
            return loop.result(Status.INTERRUPTED)
        except RowsLost as error:
            loop.info = {"lost": str(error)}
            return loop.result(Status.LOST)


def result_without_steps(problem: Problem, solver: Solver, tol: float | None) -> Result:
    """Return the result of a run that was interrupted before it began."""
    limits = check_limits(problem, solver, tol=tol)
    loop = _Loop(problem, solver, limits, None, ignore_progress, Interrupts(None))
    return loop.result(Status.INTERRUPTED)


class _Loop:
    """The loop: steps, certificates, callbacks and the reason to stop.

    Several solvers may follow each other in it. They share the history, the count of
    iterations, and the best classifier and bound.
    """

    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        limits: Limits,
        callback: Callback | None,
        report_progress: ReportProgress,
        interrupts: Interrupts,
    ):
        self.problem = problem
        self.solver = solver
        self.limits = limits
        self.callback = callback
        self.report_progress = report_progress
        self.interrupts = interrupts
        self.watch = Stopwatch()
        self.step_times: deque[float] = deque(maxlen=RECENT)
        self.certificate_times: deque[float] = deque(maxlen=RECENT)
        self.best = Incumbent(problem, limits.tol)
        self.history = History()
        self.iteration = 0
        # The iteration at which the current solver reaches its limit
        self.last_iteration = limits.max_iter
        self.info: dict[str, Any] = {}

    # --- which solvers run

    def run(self) -> Status:
        """Run the solver and, if it gives up, the interior-point solver."""
        limits = self.limits
        if limits.start is not None and not limits.time.long_over:
            self.best.certify(limits.start)
        if self.best.gap <= limits.tol:
            return self.best.status(limits.tol)
        if limits.time.spent:
            return Status.TIME_LIMIT
        status = self._run_solver(self.solver)
        if status is None:
            # A cold start: the interior point makes little progress from a point near
            # the boundary.
            self.limits = replace(limits, start=None)
            status = self._continue_with(make_solver("interior-point", self.problem))
        return status

    def run_others(self, status: Status, options: dict[str, Any]) -> Status:
        """Go on with one solver after another from the best point, while all fail."""
        of_run = self.limits.time
        for other in alternatives(self.problem, self.solver.name):
            if self.status_of_gap(status) not in FAILED:
                break
            # Each has as much time as it may need, compared with those before it.
            seconds = PATIENCE * max(self.watch.elapsed(), 0.1)
            time = TimeLimit(seconds, within=of_run)
            own = options | {"start": None, "max_time": time}
            limits = check_limits(self.problem, other, **own)
            self.limits = replace(limits, start=self.best.candidate)
            self.best.aim_at(limits.tol)
            self.last_iteration = self.iteration + limits.max_iter
            latest = self._continue_with(other)
            # A limit that only this solver has says nothing about the run.
            if latest is not Status.TIME_LIMIT or of_run.over:
                status = latest
        return status

    def _continue_with(self, solver: Solver) -> Status:
        """Run a solver after another one has failed, and record this in the info."""
        before = self.info
        # What the first solver advises, such as another solver, is done here.
        before.pop("advice", None)
        status = self._run_solver(solver)
        self.info = {**before, "handed_over_to": solver.name, **self.info}
        return status or Status.STALLED

    # --- one solver

    def _run_solver(self, solver: Solver) -> Status | None:
        """Take steps until there is a reason to stop.

        Return None if the interior-point solver should take over.
        """
        problem = self.problem
        if not solver.reads_views:
            problem = problem.in_memory()
        # With free flips the optimum is known, and any solver has nothing to do.
        state = optimum_of_free_flips(problem) or solver.start(problem, self.limits)
        self.step_times.clear()
        try:
            reason = None
            if self._next_step_is_late(state):
                # Not even one step: what the start proves is all there is.
                reason = self._certify(state, late=True) or Status.TIME_LIMIT
            while reason is None:
                # 1. Another solver, if this one gives up
                if self._hands_over(state):
                    self.info = state.info()
                    return None

                # 2. An iteration, or several
                watch = Stopwatch()
                state.step()
                self.step_times.append(watch.elapsed())
                self.iteration += state.taken
                self.interrupts.check()

                # 3. A certificate, if it is due or the last one
                all_done = self.iteration >= self.last_iteration
                late = self._is_late(state)
                if late or all_done or state.finished or state.certificate_due():
                    reason = self._certify(state, late)

                # 4. Progress, and the limit of iterations
                if reason is None:
                    if self.report_progress is not ignore_progress:
                        self.report_progress(self._share_done(state))
                    reason = Status.ITERATION_LIMIT if all_done else None
            self.info = state.info()
            self.interrupts.check()
            return reason
        except KeyboardInterrupt:
            # With no time left, `candidate` runs no further epochs.
            self.limits.time.stop()
            self._keep_uncertified_steps(state)
            raise
        finally:
            state.close()

    def _keep_uncertified_steps(self, state: State) -> None:
        """Certify a run that was interrupted before its first certificate."""
        if self.iteration and not len(self.history):
            # The step that was interrupted may have left the state half changed.
            with suppress(Exception):
                self.best.certify(state.candidate())

    def _hands_over(self, state: State) -> bool:
        """Return whether the interior-point solver takes over now."""
        if not (state.gives_up and state.has_fallback):
            return False
        # With less time, the interior point would prove nothing.
        needed = 0.5 * interior_point_seconds(self.problem)
        return self.limits.time.left() >= needed

    def _next_step_is_late(self, state: State) -> bool:
        """Return whether a step of the length that the state expects is too long."""
        time = self.limits.time
        return time.left() < math.inf and not time.allows(state.step_seconds)

    def _is_late(self, state: State) -> bool:
        """Return whether there is no time for another step and a certificate."""
        step = max(self.step_times)
        certificate = max(self.certificate_times, default=step)
        if self.limits.time.left() <= step + certificate:
            return True
        return self._next_step_is_late(state)

    def _share_done(self, state: State) -> float:
        """Return the share of the way to the tolerance, or to a limit if it is more."""
        share = state.share_done()
        if share is None:
            share = share_of_way(1.0, self.best.gap, self.limits.tol)
        seconds = self.watch.elapsed()
        left = max(self.limits.time.left(), 0.0)
        of_time = seconds / (seconds + left)
        return max(share, self.iteration / self.last_iteration, of_time)

    def _certify(self, state: State, late: bool) -> Status | None:
        """Compute a certificate, and pass it to the state and the callback.

        Return the reason to stop, if any.
        """
        # 1. The certificate
        best = self.best
        watch = Stopwatch()
        best.certify(state.candidate())
        if state.forgot_multipliers():
            best.prove_again()
        gap = best.gap
        state.on_certificate(gap)
        self.certificate_times.append(watch.elapsed())

        # 2. The history and the callback
        progress = Progress(
            self.iteration,
            self.watch.elapsed(),
            best.primal.objective,
            best.lower_bound,
            best.primal.radius_price,
        )
        self.history.append(progress)
        stop = False
        if self.callback is not None:
            self.interrupts.check()
            stop = self.callback(progress)
            # A callback may handle Ctrl-C itself, as a debugger does.
            self.interrupts.pending = False

        # 3. The reason to stop. While there is hope for a bound for all weights, one
        # for limited weights is not enough.
        reached = best.status(self.limits.tol)
        is_enough = best.has_free_weights or reached is Status.OPTIMAL
        if gap <= self.limits.tol and is_enough:
            return reached
        if stop:
            return Status.STOPPED
        if late:
            return Status.TIME_LIMIT
        if state.finished and not self._hands_over(state):
            return Status.STALLED
        return None

    # --- the result

    def status_of_gap(self, status: Status) -> Status:
        """Return the status of a run that has come near enough to its aim."""
        accepted = self.limits.accepted
        if status in FAR_ENOUGH and self.best.gap <= accepted:
            return self.best.status(accepted)
        return status

    def result(self, status: Status) -> Result:
        """Return the best classifier and bound so far."""
        best = self.best
        tol = self.limits.accepted
        rows = self.problem.rows
        if status is Status.OPTIMAL and math.isfinite(best.dual.contribution_bound):
            # A bound for limited weights is enough for OPTIMAL only if the objective is
            # at most the tolerance. Then 0, a bound for all classifiers, proves it too.
            best.dual = DualPoint(rows.zeros(), rows.zeros(), 0.0)
        if status.reached:
            # What has been proven stays so if the rows are lost meanwhile.
            with suppress(RowsLost):
                best.primal = without_rounding(
                    self.problem, best.primal, best.lower_bound, tol
                )
        primal = best.primal
        dual = best.dual
        return Result(
            weights=primal.weights,
            intercept=primal.intercept,
            radius_price=primal.radius_price,
            objective=primal.objective,
            lower_bound=best.lower_bound,
            hinge_dual=self.problem.to_given_rows(dual.hinge_dual),
            flip_dual=self.problem.to_given_rows(dual.flip_dual),
            status=status,
            solver=self.solver.name,
            n_iter=self.iteration,
            time=self.watch.elapsed(),
            tol=tol,
            history=self.history,
            weight_bound=dual.weight_bound,
            contribution_bound=dual.contribution_bound,
            info=self.info,
        )
