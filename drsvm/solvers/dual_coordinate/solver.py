"""Dual coordinate ascent for sparse rows with very many features, at about the cost of a plain linear SVM.

An iteration is an epoch, which improves the multipliers of one row at a time, at a cost proportional to the row's
nonzeros (`ascent.py`). A certificate costs about as much as an epoch, and is computed when an estimate predicts that it
will succeed.
"""

from dataclasses import dataclass
from typing import Any

from drsvm.model.norms import L1, L2, LInf, Norm
from drsvm.model.problem import Problem
from drsvm.solvers.base import Candidate, Limits, Solver, State
from drsvm.solvers.dual_coordinate.ascent import Ascent
from drsvm.solvers.dual_coordinate.proofs import Proofs
from drsvm.solvers.dual_coordinate.round_ascent import RoundAscent
from drsvm.solvers.dual_coordinate.separable_ascent import BoxAscent, SparseAscent
from drsvm.solvers.transforms.constant import constant_optimum
from drsvm.solvers.transforms.hand_over import HandOver, Trend
from drsvm.solvers.transforms.priced_columns import AS_COLUMNS

ASCENTS: dict[type[Norm], type[Ascent]] = {L1: SparseAscent, L2: RoundAscent, LInf: BoxAscent}


@dataclass(frozen=True)
class DualCoordinate(Solver):
    """Settings of dual coordinate ascent, which works best for norm=2.

    Attributes
    ----------
    shrinking : bool
        Whether to skip rows that are firmly at a bound for a few epochs.
    hand_over : bool
        Whether the interior-point solver takes over if it is expected to be faster and its matrices are of moderate
        size.
    asynchronous : bool
        Whether several threads visit rows at the same time, for rows with little in common, such as text. The results
        then differ slightly from run to run, like those of different seeds. By default one thread visits the rows, and
        runs with the same `random_state` give bitwise identical results for any number of threads.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import DualCoordinate
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1, norm=2)
    >>> result = solve(problem, DualCoordinate(hand_over=False))
    >>> result.solver, str(result.status)
    ('dual-coordinate', 'optimal')
    """

    name = "dual-coordinate"
    default_tol = 1e-6
    default_max_iter = 2000
    prices = AS_COLUMNS

    shrinking: bool = True
    hand_over: bool = True
    asynchronous: bool = False

    def refusal(self, problem: Problem) -> str | None:
        """Reject some prices, and norms without an ascent."""
        if type(problem.norm) in ASCENTS:
            return super().refusal(problem)
        return f"solver 'dual-coordinate' does not support norm={problem.norm}: use solver='interior-point'."

    def start(self, problem: Problem, limits: Limits) -> State:
        """Prepare a run."""
        constant = constant_optimum(problem)
        if constant is not None:
            return constant
        run = DualCoordinateState(problem, self, limits)
        return HandOver(run, problem, limits) if self.hand_over else run


class DualCoordinateState(State):
    """One run."""

    def __init__(self, problem: Problem, settings: DualCoordinate, limits: Limits):
        self.problem, self.limits = problem, limits
        self.ascent = ascent_for(problem, limits, settings.shrinking)
        self.ascent.use_threads(limits.n_threads, settings.asynchronous)
        self.proofs = Proofs(limits.tol)
        self.trend = Trend(problem, limits.tol)
        no_term_limits_the_weights = problem.radius == 0.0 and problem.l2 == 0.0
        self.gives_up = no_term_limits_the_weights and self.trend.can_hand_over

    def step(self) -> None:
        """Run an epoch, and check whether further epochs will pay off."""
        self.ascent.epoch(whole=self.proofs.promising(self.ascent.estimate))
        self.gives_up = self.trend.hopeless(self.proofs.expected_gap(self.ascent.estimate))

    def certificate_due(self) -> bool:
        """Return whether a certificate is due."""
        return self.limits.watched or self.proofs.due(self.ascent.count, self.ascent.estimate)

    def candidate(self) -> Candidate:
        """Return the classifier and the multipliers."""
        self.ascent.remove_drift()
        return self.ascent.candidate()

    def judged(self, gap: float) -> None:
        """Learn from the proven gap."""
        self.proofs.learn(self.ascent.count, self.ascent.estimate, gap)

    def info(self) -> dict[str, Any]:
        """Return the number of epochs and that of the threads in the last one."""
        return {"epochs": self.ascent.count, "threads": self.ascent.visits.n_threads}

    def close(self) -> None:
        """End the threads."""
        self.ascent.visits.close()


def ascent_for(problem: Problem, limits: Limits, shrinking: bool = True) -> Ascent:
    """Return the ascent for the norm; with one feature all norms are equal."""
    single = problem.n_features + problem.prices_intercept == 1
    kind = RoundAscent if single else ASCENTS[type(problem.norm)]
    return kind(problem, limits.start, limits.generator(), limits.tol, shrinking)
