"""Working sets for q = 1: the interior-point solver on features with nonzero weights.

    1. Epochs of dual coordinate ascent on all features (`ascent.py`) identify the
       relevant ones: those with a nonzero weight, and those with |v_j| close to
       e = ε − κΣβ, the value at every feature with a nonzero weight.
    2. The interior-point solver solves the problem restricted to them. Its multipliers
       give v_j for all others: features with |v_j| > e are added, until the certificate
       covers the whole problem.

If too many features have nonzero weights, as with a very small radius, the epochs
continue instead, or the interior-point solver takes over on all features.
"""

from dataclasses import dataclass

import numpy as np

from drsvm.problem.norms import L1
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result, Status
from drsvm.solvers.base import Candidate, DelegatingState, Limits, Solver, State
from drsvm.solvers.dual_coordinate.dual_coordinate_solver import DualCoordinateState
from drsvm.solvers.interior_point.interior_point_solver import InteriorPoint
from drsvm.solvers.loop import run
from drsvm.solvers.reformulation.costs_as_columns import AS_COLUMNS

# With at most this many features, the first working set contains all of them. A set may
# also grow by this many at a time, and have this many in any case.
FEW = 100
# The epochs end when the estimated gap is at most EXPLORED, or after MAX_EPOCHS. If it
# is within WITHIN_REACH times the tolerance, they go on: they reach it before rounds of
# the interior-point solver would.
EXPLORED = 3e-3
MAX_EPOCHS = 60
WITHIN_REACH = 10.0
# The first working set are the features with |v_j| of at least this share of e.
HOT = 0.9


@dataclass(frozen=True)
class FeatureWorkingSet(Solver):
    """Working sets of features, for norm=inf only.

    Parameters
    ----------
    most_features : int
        Largest working set; beyond this size, dual coordinate ascent completes the run.

    References
    ----------
    M. Massias, A. Gramfort, J. Salmon, Celer: a Fast Solver for the Lasso with Dual
    Extrapolation, ICML 2018: working sets that grow by the features that violate the
    dual constraint most.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import FeatureWorkingSet
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> problem = Problem(X, y, radius=0.1, norm="inf")
    >>> result = solve(problem, FeatureWorkingSet(most_features=100))
    >>> result.solver, str(result.status)
    ('feature-working-set', 'optimal')
    """

    name = "feature-working-set"
    default_tol = 1e-6
    default_max_iter = 2000
    capabilities = AS_COLUMNS

    most_features: int = 1000

    def unsupported_reason(self, problem: Problem) -> str | None:
        if isinstance(problem.norm, L1):
            return super().unsupported_reason(problem)
        return (
            "solver 'feature-working-set' is for norm=inf, where weights are sparse, "
            f"got norm={problem.norm}: use solver='auto' or 'dual-coordinate'."
        )

    def start(self, problem: Problem, limits: Limits) -> State:
        return FeatureWorkingSetState(problem, self, limits)


class FeatureWorkingSetState(DelegatingState):
    """One run: epochs until the relevant features are known, then rounds.

    If there are too many features, epochs complete the run.
    """

    has_fallback = True

    def __init__(self, problem: Problem, settings: FeatureWorkingSet, limits: Limits):
        self.epochs = Exploration(problem, settings, limits)
        self.rounds = Rounds(problem, settings, limits)
        super().__init__(self.epochs)
        if problem.n_features <= FEW:
            self.epochs.features = np.arange(problem.n_features)

    def successor(self) -> State | None:
        """Return the rounds once there are features, the epochs if too many."""
        if self.current is self.epochs and self.epochs.features is not None:
            self.rounds.best = self.epochs.candidate()
            self.rounds.working = self.epochs.features
            return self.rounds
        if self.current is self.rounds and self.rounds.too_many:
            # No set is small enough from now on, so the epochs do not end again.
            self.epochs.features = None
            self.epochs.most_features = -1
            return self.epochs
        return None

    def info(self) -> dict:
        return {**self.epochs.info(), **self.rounds.info()}


class Exploration(DualCoordinateState):
    """Epochs of dual coordinate ascent.

    They end when `features` is set, to those of the first working set.
    """

    def __init__(self, problem: Problem, settings: FeatureWorkingSet, limits: Limits):
        super().__init__(problem, limits)
        self.features: np.ndarray | None = None
        # Where epochs alone would give up, working sets are tried first.
        self.gives_up = False
        self.most_features = settings.most_features
        # If the interior-point solver can handle all features, more than half of them
        # save nothing.
        if self.trend.can_take_over:
            half = max(FEW, problem.n_features // 2)
            self.most_features = min(self.most_features, half)

    def step(self) -> None:
        """Take an epoch, and choose features if it is the last one."""
        super().step()
        ascent = self.ascent
        explored = WITHIN_REACH * self.limits.tol < ascent.estimate <= EXPLORED
        if explored or self.gives_up or ascent.count >= MAX_EPOCHS:
            left = max(self.problem.radius - ascent.flipped_cost, 0.0)
            is_hot = (np.abs(ascent.v) >= HOT * left) | (ascent.w != 0.0)
            hot = np.flatnonzero(is_hot)
            self.features = None
            if len(hot) <= self.most_features:
                self.features = hot
        if self.features is not None:
            self.gives_up = False

    def certificate_due(self) -> bool:
        # The rounds start with the classifier that it proves.
        return self.features is not None or super().certificate_due()


class Rounds(State):
    """Interior-point runs on working sets: one round each.

    The first has the features `working`, and starts at `best`.
    """

    best: Candidate
    """The classifier of the last round; before the first, that of the epochs."""

    def __init__(self, problem: Problem, settings: FeatureWorkingSet, limits: Limits):
        self.problem = problem
        self.limits = limits
        self.most_features = max(FEW, settings.most_features)
        self.working = np.array([], dtype=int)
        # The number of rounds, and of their iterations
        self.count = 0
        self.iterations = 0
        # Whether the next working set is larger than allowed
        self.too_many = False
        self.interrupted = False

    def step(self) -> None:
        """Solve the problem on the working set, and choose the next one."""
        problem = self.problem
        features = self.working
        if len(features) == 0:
            # A problem has at least one feature.
            features = np.array([0])
        start = self.best.weights[features], self.best.intercept
        result = self._interior_point(features, start)
        if result.status is Status.STALLED:
            # The interior point makes little progress from a point near the boundary.
            result = self._interior_point(features, None)
        self.count += 1
        self.iterations += result.n_iter
        weights = np.zeros(problem.n_features)
        weights[features] = result.weights
        hinge = problem.multipliers_from(result.hinge_dual)
        flip = problem.multipliers_from(result.flip_dual)
        self.best = Candidate(weights, result.intercept, hinge, flip)
        self.interrupted = result.status is Status.INTERRUPTED
        self._choose_features(features, hinge, flip)

    def _interior_point(self, features: np.ndarray, start) -> Result:
        """Solve the problem restricted to some features."""
        problem = self.problem.on_features(features)
        return run(
            problem,
            InteriorPoint(),
            # The other half is for features that violate the constraint a little.
            tol=0.5 * self.limits.tol,
            start=start,
            max_time=self.limits.time,
            n_threads=self.limits.n_threads,
        )

    def _choose_features(self, features, hinge, flip) -> None:
        """Add features with |v_j| > e, those that exceed it most if there are many.

        The working set at most doubles, or grows by `FEW`.
        """
        problem = self.problem
        v, _ = problem.weighted_sum(hinge - flip)
        size = np.abs(v)
        if problem.feature_cost is not None:
            size *= problem.feature_cost
        size[features] = 0.0
        left = max(problem.radius - problem.cost_of_flips(flip), 0.0)
        new = np.flatnonzero(size > left)
        most = max(FEW, len(features))
        if len(new) > most:
            new = new[np.argpartition(-size[new], most)[:most]]
        self.working = np.union1d(features, new)
        self.too_many = len(self.working) > self.most_features
        self.finished = not self.too_many and len(new) == 0

    def candidate(self) -> Candidate:
        return self.best

    def on_certificate(self, gap: float) -> None:
        """Raise KeyboardInterrupt again after Ctrl-C, now that the round is kept."""
        if self.interrupted:
            raise KeyboardInterrupt

    def info(self) -> dict:
        size = None
        if self.count > 0 and not self.too_many:
            size = len(self.working)
        return {"rounds": self.count, "iterations": self.iterations, "features": size}
