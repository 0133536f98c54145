"""Problems whose optimum is a constant classifier: detected in one pass over the rows, without a solver.

With a large radius the best weights are 0, and multipliers spread evenly over the rows of each class prove it:

    1. α = π; with an intercept, α is reduced on the heavier class so that both classes have the same weight. The
       objective of the constant classifier is twice the weight of the lighter class, or 1 without an intercept.
    2. With an intercept and classes of unequal weight: α + β = π on the heavier class, α = π on the lighter one. The
       objective is 1; it costs the adversary κ Σβ to balance the classes.

They are feasible, and hence optimal, if ‖v‖_p ≤ ε − κ Σβ. An intercept with a price is part of v, as in the first case
without an intercept. Other prices, and flip costs of rows with a free intercept, are left to the solvers.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from drsvm.model.problem import Problem
from drsvm.solvers.base import Candidate, State


class ConstantState(State):
    """A run whose answer is known from the start."""

    finished = True

    def __init__(self, answer: Candidate):
        self.answer = answer

    def step(self) -> None:
        """Do nothing."""

    def candidate(self) -> Candidate:
        return self.answer


def constant_optimum(problem: Problem) -> ConstantState | None:
    """Return a run whose answer is a constant classifier if that is optimal, else None."""
    if problem.radius == 0.0 or _is_for_solvers(problem):
        return None
    for answer in _constant_classifiers(problem):
        cost = problem.flip_cost * answer.flipped_mass if answer.flipped_mass > 0 else 0.0
        if cost > problem.radius:
            continue
        v, v0 = problem.pull_of_classes(*answer.pulls)
        v = np.append(v, problem.intercept_cost * v0) if problem.prices_intercept else v
        if problem.norm.dual.value(v) + cost <= problem.radius:
            return ConstantState(answer.candidate(problem))
    return None


def _is_for_solvers(problem: Problem) -> bool:
    if problem.feature_cost is not None or problem.monotonic_cst is not None:
        return True
    if np.ndim(problem.flip_cost) > 0:
        return problem.fit_intercept and not problem.prices_intercept
    return problem.flip_cost == 0.0


def answer_to_free_flips(problem: Problem) -> Candidate:
    """κ = 0: half of every sample is flipped, so no classifier does better than w = 0; the optimum is 1."""
    half = problem.multiples_of_weights(0.5, 0.5)
    return Candidate(np.zeros(problem.n_features), 0.0, half, half)


class _Constant(NamedTuple):
    """A constant classifier, and multipliers in units of the weights, for label + and label −."""

    intercept: float
    hinge: tuple[float, float]
    flip: tuple[float, float]
    flipped_mass: float

    @property
    def pulls(self) -> tuple[float, float]:
        return self.hinge[0] - self.flip[0], self.hinge[1] - self.flip[1]

    def candidate(self, problem: Problem) -> Candidate:
        multipliers = problem.multiples_of_weights(*self.hinge), problem.multiples_of_weights(*self.flip)
        return Candidate(np.zeros(problem.n_features), self.intercept, *multipliers)


def _constant_classifiers(problem: Problem) -> Iterator[_Constant]:
    """Yield constant classifiers with the multipliers that prove them optimal, if any do."""
    positive, negative = problem.masses_of_classes()
    if not problem.fit_intercept or problem.prices_intercept or positive == negative:
        yield _Constant(0.0, (1.0, 1.0), (0.0, 0.0), 0.0)
        return
    sign, heavier = (1.0 if positive > negative else -1.0), max(positive, negative)
    ratio = min(positive, negative) / heavier
    if not problem.flips_possible:
        yield _Constant(sign, _on_heavier(sign, ratio, 1.0), (0.0, 0.0), 0.0)
    else:
        share = 0.5 * (1.0 - ratio)
        yield _Constant(0.0, _on_heavier(sign, 1.0 - share, 1.0), _on_heavier(sign, share, 0.0), share * heavier)


def _on_heavier(sign: float, heavier: float, lighter: float) -> tuple[float, float]:
    return (heavier, lighter) if sign > 0 else (lighter, heavier)
