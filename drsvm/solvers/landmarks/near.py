"""The problem in the next span: the interior point begins near the solution in the last one, on few of the rows."""

from dataclasses import dataclass

import numpy as np

from drsvm.model.problem import Problem
from drsvm.model.result import Result
from drsvm.solvers.base import Limits, State
from drsvm.solvers.interior_point.solver import InteriorPoint
from drsvm.solvers.interior_point.working_set import Estimate, Sample, WorkingSetRun, WorkingSetState, pieces_at

NEXT_CHANGE = 0.3
"""Expected change of margins and λ in the next span, as a share of the last one. If more rows change their piece of the
loss, the run notices it."""

MAX_OPEN = 0.7
"""Share of the rows from which a run on all of them costs less."""


@dataclass(frozen=True, eq=False)
class Known:
    """The solution in the last span, and by how much margins and λ differed from those in the span before it."""

    margins: np.ndarray
    lam: float
    margin_change: float = np.inf
    lam_change: float = np.inf

    @classmethod
    def of(cls, problem: Problem, result: Result, last: "Known | None") -> "Known":
        """Return what a solution tells, given the one before it."""
        margins, lam = problem.margins(result.weights, result.intercept), result.radius_price
        if last is None:
            return cls(margins, lam)
        return cls(margins, lam, float(np.abs(margins - last.margins).max()), abs(lam - last.lam))


@dataclass(frozen=True)
class NearSolution(InteriorPoint):
    """An interior-point solver that begins as close to the start as the solution is expected to be.

    Attributes
    ----------
    known : Known, optional
        What is known about the start; without it, a run begins like any other.
    """

    known: Known | None = None

    def start(self, problem: Problem, limits: Limits) -> State:
        """Begin on the rows whose piece of the loss is open, if these are few; otherwise on all."""
        known, near = self.known, limits.start
        pays = problem.rows.selectable and not self.takes_compiled_steps(problem)
        if known is None or near is None or not pays or not (known.lam > 0.0 and known.margin_change < np.inf):
            return super().start(problem, limits)
        point = np.append(near.weights, [near.intercept] * problem.fit_intercept)
        changes = NEXT_CHANGE * known.margin_change, NEXT_CHANGE * known.lam_change
        estimate = Estimate.with_errors(point, known.lam, *changes)
        pieces = pieces_at(problem, estimate)
        if not pieces.useful_for(problem, MAX_OPEN):
            return super().start(problem, limits)
        sample = Sample(problem)
        return WorkingSetRun(WorkingSetState(problem, self, limits, sample, estimate, pieces), sample)
