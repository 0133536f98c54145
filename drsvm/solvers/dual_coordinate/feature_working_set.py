"""Working sets of features for q = 1: the interior-point solver on the few features with nonzero weights.

    1. Epochs of dual coordinate ascent on all features (`ascent.py`) identify the relevant ones: those with a nonzero
       weight, and those whose price |v_j| is close to e = ε − κΣβ, its limit for every
       feature with a nonzero weight.
    2. The interior-point solver solves the problem restricted to them. Its multipliers price all others: features that
       are too cheap (|v_j| > e) are added, until the certificate covers the whole
       problem.

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
from drsvm.solvers.fallback import with_fallback
from drsvm.solvers.interior_point.interior_point_solver import InteriorPoint
from drsvm.solvers.loop import run
from drsvm.solvers.reformulation.constant import optimum_of_free_flips
from drsvm.solvers.reformulation.priced_columns import AS_COLUMNS

FEW = 100  # with at most this many features, the first working set contains all of them
# the first stage ends when the estimated gap is this small, or after so many epochs,
EXPLORED = 3e-3
MAX_EPOCHS = 60
# But not within this multiple of the tolerance, which epochs then reach sooner than
# rounds
WITHIN_REACH = 10.0
HOT = 0.9  # features whose price is at least this fraction of e form the first set


@dataclass(frozen=True)
class FeatureWorkingSet(Solver):
    """Settings of the working-set solver (norm=inf only).

    Attributes
    ----------
    most_features : int
        Largest working set; beyond this size, dual coordinate ascent completes the run.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import FeatureWorkingSet
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1, norm="inf")
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
            f"solver 'feature-working-set' is for norm=inf, where weights are sparse, got norm={problem.norm}: "
            "use solver='auto' or 'dual-coordinate'."
        )

    def start(self, problem: Problem, limits: Limits) -> State:
        run = optimum_of_free_flips(problem) or FeatureWorkingSetState(
            problem, self, limits
        )
        return with_fallback(run)


class FeatureWorkingSetState(DelegatingState):
    """One run: epochs until the relevant features are known, then rounds.

    Epochs again if there are too many.
    """

    def __init__(self, problem: Problem, settings: FeatureWorkingSet, limits: Limits):
        self.epochs = Exploration(problem, settings, limits)
        self.rounds = Rounds(problem, settings, limits)
        super().__init__(self.epochs)
        if problem.n_features <= FEW:
            self.epochs.features = np.arange(problem.n_features)

    def successor(self) -> State | None:
        """Return the rounds once there are features for them, and the epochs once there are too many."""
        if self.current is self.epochs and self.epochs.features is not None:
            self.rounds.best = self.epochs.candidate()
            self.rounds.working = self.epochs.features
            return self.rounds
        if self.current is self.rounds and self.rounds.too_many:
            # no more working sets
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
        self.features = None
        self.gives_up = False
        self.most_features = settings.most_features
        # If the interior-point solver can handle all features, half of them save
        # nothing
        if self.trend.has_fallback:
            self.most_features = min(
                self.most_features, max(FEW, problem.n_features // 2)
            )

    def step(self) -> None:
        super().step()
        near = WITHIN_REACH * self.limits.tol < self.ascent.estimate <= EXPLORED
        if near or self.gives_up or self.ascent.count >= MAX_EPOCHS:
            left = max(self.problem.radius - self.ascent.flipped_cost, 0.0)
            hot = np.flatnonzero(
                (np.abs(self.ascent.v) >= HOT * left) | (self.ascent.w != 0.0)
            )
            if len(hot) <= self.most_features:
                self.features = hot
            else:
                self.features = None
        self.gives_up = self.gives_up and self.features is None

    def certificate_due(self) -> bool:
        return self.features is not None or super().certificate_due()


class Rounds(State):
    """Interior-point runs on working sets.

    The first has the features `working`, and starts at `best`.
    """

    best: Candidate

    def __init__(self, problem: Problem, settings: FeatureWorkingSet, limits: Limits):
        self.problem = problem
        self.limits = limits
        self.most_features = max(FEW, settings.most_features)
        self.working = np.array([], dtype=int)
        self.count = self.iterations = 0
        self.too_many = self.interrupted = False

    def step(self) -> None:
        problem = self.problem
        if len(self.working) > 0:
            features = self.working
        else:
            features = np.array([0])
        result = self._interior_point(
            features, (self.best.weights[features], self.best.intercept)
        )
        if result.status is Status.STALLED:
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
        problem = self.problem.on_features(features)
        limits = self.limits
        shared = {"max_time": limits.time, "n_threads": limits.n_threads}
        return run(
            problem, InteriorPoint(), tol=0.5 * limits.tol, start=start, **shared
        )

    def _choose_features(self, features, hinge, flip) -> None:
        """Add features that are too cheap."""
        problem = self.problem
        price = np.abs(problem.weighted_sum(hinge - flip)[0])
        if problem.feature_cost is not None:
            price *= problem.feature_cost
        price[features] = 0.0
        new = np.flatnonzero(
            price > max(problem.radius - problem.cost_of_flips(flip), 0.0)
        )
        most = max(FEW, len(features))
        if len(new) > most:
            new = new[np.argpartition(-price[new], most)[:most]]
        self.working = np.union1d(features, new)
        self.too_many = len(self.working) > self.most_features
        self.finished = not self.too_many and len(new) == 0

    def candidate(self) -> Candidate:
        return self.best

    def on_certificate(self, gap: float) -> None:
        """Raise KeyboardInterrupt again after Ctrl-C in a round, once the round has been judged and kept."""
        if self.interrupted:
            raise KeyboardInterrupt

    def info(self) -> dict:
        if self.count == 0 or self.too_many:
            size = None
        else:
            size = len(self.working)
        return {"rounds": self.count, "iterations": self.iterations, "features": size}
