"""Working sets of features for q = 1: the interior point on the few features that have a weight.

    1. Epochs of dual coordinate ascent on all features (`ascent.py`) find out which ones matter: those with a weight,
       and those whose price |v_j| is close to e = ε − κΣβ, where it ends up for every feature with a weight.
    2. The interior point solves the problem on these alone. Its multipliers price all others: features that are too
       cheap (|v_j| > e) come in, features that are far too dear go out, until the proof holds for the whole problem.

Where too many features have a weight, as with a very small radius, the epochs go on instead, or the interior point
takes over with all features.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from drsvm.engines.threads import single_threaded_blas
from drsvm.model.problem import Problem
from drsvm.model.result import Result, Status
from drsvm.solvers.ascent import Proofs, SeparableAscent
from drsvm.solvers.base import Candidate, Limits, Solver, State, run
from drsvm.solvers.constant import constant_optimum
from drsvm.solvers.hand_over import HandOver, Trend
from drsvm.solvers.incremental import generator
from drsvm.solvers.interior_point import InteriorPoint

FEW = 100
"""So few features are all worked on from the beginning."""

EXPLORED, MOST_EPOCHS, WITHIN_REACH = 3e-3, 60, 10.0
"""The first stage ends when the estimated gap is so small, or after so many epochs; but not where the tolerance is so
few times smaller: epochs get there sooner than rounds."""

HOT, COLD, FREE_ROUNDS = 0.9, 0.7, 3
"""Prices, as shares of e: hotter features come in at first, colder ones go out, but not after so many rounds: then sets
only grow, and come to an end."""


@dataclass(frozen=True)
class FeatureWorkingSet(Solver):
    """Settings of working sets of features (norm=inf only).

    Attributes
    ----------
    most_features : int
        With more features in the working set, dual coordinate ascent does the rest.
    """

    name = "feature-working-set"
    default_tol = 1e-6
    default_max_iter = 2000

    most_features: int = 1000

    def start(self, problem: Problem, limits: Limits) -> State:
        """Prepare a run."""
        if problem.norm.q != 1:
            raise ValueError(
                f"solver 'feature-working-set' is for norm=inf, where weights are sparse, got norm={problem.norm.p}: "
                "take solver='auto' or 'dual-coordinate'."
            )
        return constant_optimum(problem) or HandOver(FeatureWorkingSetState(problem, self, limits), problem, limits)


class FeatureWorkingSetState(State):
    """One run: epochs, then rounds."""

    def __init__(self, problem: Problem, settings: FeatureWorkingSet, limits: Limits):
        self.problem, self.settings, self.limits = problem, settings, limits
        self.resources = ExitStack()
        self.resources.enter_context(single_threaded_blas())
        self.ascent = SeparableAscent(problem, limits.start, generator(limits.random_state), limits.tol)
        self.working: np.ndarray | None = np.arange(problem.n_features) if problem.n_features <= FEW else None
        self.best = self.ascent.candidate()
        self.proofs, self.trend = Proofs(limits.tol), Trend(problem, limits.tol)
        self.rounds = self.iterations = 0
        self.too_many = self.interrupted = False

    def step(self) -> None:
        """Do an epoch or, once the features that matter are known, a round."""
        if self.working is None:
            self._explore()
        else:
            self._solve_on(self.working)

    def _explore(self) -> None:
        ascent = self.ascent
        ascent.epoch(whole=self.proofs.promising(ascent.estimate))
        self.best = ascent.candidate()
        near = ascent.estimate <= EXPLORED and ascent.estimate > WITHIN_REACH * self.limits.tol
        hopeless = self.trend.hopeless(self.proofs.expected_gap(ascent.estimate))
        if not self.too_many and (near or hopeless or ascent.count >= MOST_EPOCHS):
            left = max(self.problem.radius - ascent.flipped_cost, 0.0)
            hot = np.flatnonzero((np.abs(ascent.v) >= HOT * left) | (ascent.w != 0.0))
            if len(hot) <= self._most_features:
                self.working = hot
        self.gives_up = hopeless and self.working is None

    @property
    def _most_features(self) -> int:
        """Largest working set: where the interior point can work on all features, half of these save nothing."""
        most = self.settings.most_features
        return min(most, max(FEW, self.problem.n_features // 2)) if self.trend.can_hand_over else most

    def _solve_on(self, features: np.ndarray) -> None:
        problem = self.problem
        if len(features) == 0:
            features = np.array([0])
        result = self._interior_point(features, (self.best.weights[features], self.best.intercept))
        if result.status is Status.STALLED:
            result = self._interior_point(features, None)
        self.rounds += 1
        self.iterations += result.n_iter
        weights = np.zeros(problem.n_features)
        weights[features] = result.weights
        hinge, flip = (values if problem.kept is None else values[problem.kept] for values in
                       (result.hinge_dual, result.flip_dual))  # fmt: skip
        self.best = Candidate(weights, result.intercept, hinge, flip)
        self.interrupted = result.status is Status.INTERRUPTED
        self._choose_features(features, hinge, flip)

    def _interior_point(self, features: np.ndarray, start) -> Result:
        limits = self.limits
        return run(
            self.problem.on_features(features),
            InteriorPoint(),
            tol=0.5 * limits.tol,
            max_iter=None,
            max_time=limits.time,
            start=start,
            callback=None,
            random_state=None,
            n_threads=limits.n_threads,
        )

    def _choose_features(self, features, hinge, flip) -> None:
        """Let features in that are too cheap, and the far too dear ones out."""
        problem = self.problem
        price = np.abs(problem.weighted_sum(hinge - flip)[0])
        cost = problem.flip_cost * float(flip.sum()) if problem.flips_possible else 0.0
        known = np.zeros(problem.n_features, dtype=bool)
        known[features] = True
        left = max(problem.radius - cost, 0.0)
        wanted = known & ((price >= COLD * left) | (self.rounds >= FREE_ROUNDS))
        new = np.flatnonzero(~known & (price > left))
        most = max(FEW, len(features))
        if len(new) > most:
            new = new[np.argpartition(-price[new], most)[:most]]
        self.finished = len(new) == 0 and bool((wanted == known).all())
        self.working = np.union1d(np.flatnonzero(wanted), new)
        if len(self.working) > max(FEW, self.settings.most_features):
            self.working, self.too_many, self.finished = None, True, False

    def certificate_due(self) -> bool:
        """Say whether a certificate is due: always after a round."""
        watched = self.limits.watched or self.working is not None
        return watched or self.proofs.due(self.ascent.count, self.ascent.estimate)

    def judged(self, gap: float) -> None:
        """Learn from the proven gap; Ctrl-C in a round goes on from here, where the round is judged and kept."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.proofs.learn(self.ascent.count, self.ascent.estimate, gap)

    def candidate(self) -> Candidate:
        """Return classifier and multipliers."""
        return self.best

    def close(self) -> None:
        """Give BLAS its threads back."""
        self.resources.close()

    def info(self) -> dict[str, Any]:
        """Return epochs, rounds, iterations of the interior point, and the size of the working set."""
        size = None if self.working is None else len(self.working)
        return {"epochs": self.ascent.count, "rounds": self.rounds, "iterations": self.iterations, "features": size}
