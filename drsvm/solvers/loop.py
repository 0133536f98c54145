"""The main loop of all solvers, which handles time, certificates, callbacks and status.

The loop calls `state.step()` and, when `state.certificate_due()`, evaluates
`state.candidate()` with `certificate/certificate.py`; it keeps the best classifier and
the best lower bound so far.
"""

import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from drsvm.certificate.certificate import (
    SLIGHT,
    DualPoint,
    PrimalPoint,
    dual_point,
    primal_point,
)
from drsvm.certificate.dual_bound import uncharged_features
from drsvm.problem.problem import Problem
from drsvm.problem.result import History, Progress, Result, Status
from drsvm.problem.rows import RowsLost
from drsvm.solvers.base import (
    Candidate,
    Limits,
    Solver,
    State,
    check_limits,
    share_of_way,
)
from drsvm.utils.clock import Stopwatch
from drsvm.utils.interrupts import Interrupts, recorded_interrupts
from drsvm.utils.parallel import single_threaded_blas, threads_limited
from drsvm.utils.progress import ReportProgress, capture_progress, ignore_progress

Callback = Callable[[Progress], object]

# Number of steps and certificates used to predict how long the next ones will take
RECENT = 3
ROUNDING = 1e-9
"""Weights below this fraction of the largest one are rounding errors, and so is a smaller increase of the objective."""

FAR_ENOUGH = (Status.STALLED, Status.ITERATION_LIMIT, Status.TIME_LIMIT)
"""How a run may end between the gap that it is to reach and the one it aims at."""


def run(
    problem: Problem, solver: Solver, *, callback: Callback | None = None, **limits
) -> Result:
    """Run a solver until there is a reason to stop, such as Ctrl-C.

    The limits are those of `drsvm.solve`.
    """
    if solver.reads_views:
        problem = problem
    else:
        problem = problem.in_memory()
    checked = check_limits(problem, solver, watched=callback is not None, **limits)
    # The vectors are too small for BLAS threads to help, and blocks of rows have their
    # own threads; besides, BLAS's threads keep a core busy for a while after a call.
    one_thread = threads_limited(checked.n_threads), single_threaded_blas()
    with (
        capture_progress() as report_progress,
        recorded_interrupts() as interrupts,
        one_thread[0],
        one_thread[1],
    ):
        loop = _Loop(problem, solver, checked, callback, report_progress, interrupts)
        best = loop.best
        try:
            if checked.start is not None and not checked.time.long_over:
                best.certify(checked.start)
            if best.gap <= checked.tol:
                status = best.status(checked.tol)
            else:
                if checked.time.spent:
                    status = Status.TIME_LIMIT
                else:
                    status = loop.iterate()
                interrupts.check()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except RowsLost as error:
            loop.info = {"lost": str(error)}
            status = Status.LOST
        near_enough = status in FAR_ENOUGH and best.gap <= checked.accepted
        return loop.result(best.status(checked.accepted) if near_enough else status)


class Incumbent:
    """The best classifier and the best bound so far.

    They may come from different iterations.
    """

    def __init__(self, problem: Problem, tol: float):
        # A bound may lose a share of the tolerance to what is only known in advance
        # about rounding errors.
        self.problem = problem
        self.tol = tol
        self.slight = max(SLIGHT, 0.05 * tol)
        # w = 0 without multipliers: the objective is 1 for all parameters, the bound is
        # 0.
        self.primal = PrimalPoint(np.zeros(problem.n_features), 0.0, 0.0, 1.0)
        zeros = problem.rows.zeros()
        self.dual = DualPoint(zeros, zeros, 0.0)
        self.has_free_weights = bool(uncharged_features(problem)[0].any())

    @property
    def lower_bound(self) -> float:
        # Rounding may lift the bound above
        return min(self.dual.lower_bound, self.primal.objective)

    @property
    def gap(self) -> float:
        return self.primal.objective - min(self.dual.lower_bound, self.primal.objective)

    def certify(self, candidate: Candidate) -> None:
        """Keep the classifier and the bound of a candidate, where they are better."""
        # An extreme candidate may overflow or give NaN; it then fails the comparisons
        # below and is ignored.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(candidate.weights).all() and math.isfinite(
                candidate.intercept
            ):
                # Copied, because the state may keep modifying its array.
                primal = primal_point(
                    self.problem, np.array(candidate.weights), candidate.intercept
                )
                if primal.objective < self.primal.objective:
                    self.primal = primal
                    limited = math.isfinite(self.dual.contribution_bound)
                    if limited and not self.dual.covers(self.problem, primal.weights):
                        self.prove_again()  # it was proven for smaller weights only
            if candidate.hinge_dual is not None or candidate.flip_dual is not None:
                self.dual = max(
                    self.dual,
                    self._dual_point(candidate.hinge_dual, candidate.flip_dual),
                    key=self._rank,
                )

    def prove_again(self) -> None:
        """State the bound that the multipliers prove now."""
        self.dual = self._dual_point(self.dual.hinge_dual, self.dual.flip_dual)

    def _dual_point(self, hinge_dual, flip_dual) -> DualPoint:
        wanted = {
            "reference": self.primal.weights,
            "slight": self.slight,
            "enough": self.primal.objective - self.tol,
        }
        return dual_point(self.problem, hinge_dual, flip_dual, **wanted)

    def _rank(self, dual: DualPoint) -> tuple[float, bool, float]:
        """Prefer what is enough for all weights, then the larger bound.

        NaN is the worst.
        """
        bound = dual.lower_bound if dual.lower_bound >= 0.0 else 0.0
        return (
            min(bound, self.primal.objective - self.tol),
            math.isinf(dual.contribution_bound),
            bound,
        )

    def status(self, tol: float) -> Status:
        """Return the status if the gap is at most the tolerance."""
        unconditional = (
            math.isinf(self.dual.contribution_bound) or self.primal.objective <= tol
        )
        if unconditional:
            return Status.OPTIMAL
        return Status.OPTIMAL_WITHIN_BOUNDS


class _Loop:
    """The loop: steps, certificates, callbacks and the reason to stop."""

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
        self.info: dict[str, Any] = {}

    def iterate(self) -> Status:
        """Take steps until there is a reason to stop, with a certificate where one is due."""
        time = self.limits.time
        state = self.solver.start(self.problem, self.limits)
        try:
            reason = None
            if time.left() < math.inf and not time.allows(state.step_seconds):
                reason = self._certify(state, late=True) or Status.TIME_LIMIT
            while reason is None:
                watch = Stopwatch()
                state.step()
                self.step_times.append(watch.elapsed())
                self.iteration += state.taken
                self.interrupts.check()
                left = time.left()
                step = max(self.step_times)
                all_done = self.iteration >= self.limits.max_iter
                # For another step and a certificate
                late = left <= step + max(self.certificate_times, default=step)
                late = late or (left < math.inf and not time.allows(state.step_seconds))
                if late or all_done or state.finished or state.certificate_due():
                    reason = self._certify(state, late)
                if reason is None:
                    if self.report_progress is not ignore_progress:
                        self.report_progress(self._share_done(state))
                    reason = Status.ITERATION_LIMIT if all_done else None
            self.info = state.info()
            return reason
        except KeyboardInterrupt:
            time.stop()  # so that `candidate` runs no further epochs
            if self.iteration and not len(
                self.history
            ):  # do not lose steps that have not been certified yet
                with suppress(
                    Exception
                ):  # the step that was interrupted may have left the state half changed
                    self.best.certify(state.candidate())
            raise
        finally:
            state.close()

    def _share_done(self, state: State) -> float:
        """Return the share of the way to the tolerance or, if that is more, to a limit."""
        share = state.share_done()
        if share is None:
            share = share_of_way(1.0, self.best.gap, self.limits.tol)
        seconds = self.watch.elapsed()
        left = max(self.limits.time.left(), 0.0)
        return max(
            share, self.iteration / self.limits.max_iter, seconds / (seconds + left)
        )

    def _certify(self, state: State, late: bool) -> Status | None:
        """Compute a certificate, notify state and callback, and return the reason to stop, if any."""
        best = self.best
        watch = Stopwatch()
        best.certify(state.candidate())
        if state.forgot_multipliers():
            best.prove_again()
        objective = best.primal.objective
        bound = best.lower_bound
        state.on_certificate(objective - bound)
        self.certificate_times.append(watch.elapsed())
        progress = Progress(
            self.iteration,
            self.watch.elapsed(),
            objective,
            bound,
            best.primal.radius_price,
        )
        self.history.append(progress)
        stop = False
        if self.callback is not None:
            self.interrupts.check()
            stop = self.callback(progress)
            # A callback may handle Ctrl-C itself, as a debugger does
            self.interrupts.pending = False
        reached = best.status(self.limits.tol)
        # If there is hope for a bound for all weights, one for limited weights is not
        # enough.
        final = objective - bound <= self.limits.tol and (
            best.has_free_weights or reached is Status.OPTIMAL
        )
        if final or stop:
            return reached if final else Status.STOPPED
        if late:
            return Status.TIME_LIMIT
        if state.finished:
            return Status.STALLED
        return None

    def result(self, status: Status) -> Result:
        """Return the best classifier and bound so far."""
        best = self.best
        zeros = self.problem.rows.zeros
        tol = self.limits.accepted
        if status is Status.OPTIMAL and math.isfinite(best.dual.contribution_bound):
            # This bound holds for all classifiers
            best.dual = DualPoint(zeros(), zeros(), 0.0)
        if status.reached:
            with suppress(RowsLost):  # what has been proven stays so
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
            hinge_dual=self.problem.rows.to_given_rows(self.problem, dual.hinge_dual),
            flip_dual=self.problem.rows.to_given_rows(self.problem, dual.flip_dual),
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


def without_rounding(
    problem: Problem, point: PrimalPoint, lower_bound: float, tol: float
) -> PrimalPoint:
    """Return an optimal classifier without the weights that do not matter.

    Its gap is still at most tol.

    Interior solutions have no weight that is exactly 0. With q = 1 most optimal weights
    are, so there larger ones are tried too. The objective is computed again, so the
    certificate stays strict.
    """
    sizes = np.abs(point.weights)
    largest = float(sizes.max(initial=0.0))
    if largest == 0.0:
        return point
    allowed = lower_bound + tol
    if problem.radius * problem.norm_of(point.weights) <= max(
        1e-5, 10.0 * tol
    ):  # all together hardly cost anything
        for intercept in (
            0.0,
            float(np.sign(point.intercept)),
            point.intercept,
        ):  # a free one is −1, 0 or 1
            zero = primal_point(problem, np.zeros_like(point.weights), intercept)
            if zero.objective <= min(allowed, point.objective + ROUNDING):
                return zero
    if problem.rows.is_kernel:  # coefficients of functions, none of which is a feature
        return point
    for share in (
        (1e-2, 1e-3, 1e-4, 1e-6, ROUNDING) if problem.norm.q == 1 else (ROUNDING,)
    ):
        small = (sizes > 0) & (sizes <= share * largest)
        if small.any():
            tidy = primal_point(
                problem, np.where(small, 0.0, point.weights), point.intercept
            )
            if tidy.objective <= allowed:
                return tidy
    return point
