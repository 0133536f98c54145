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

import numpy as np

from drsvm.model.problem import Problem
from drsvm.parallel import difference
from drsvm.solvers.base import Candidate, State


class ConstantState(State):
    """A run whose answer is known from the start."""

    finished = True

    def __init__(self, answer: Candidate):
        self.answer = answer

    def step(self) -> None:
        """Do nothing."""

    def candidate(self) -> Candidate:
        """Return the answer."""
        return self.answer


def constant_optimum(problem: Problem) -> ConstantState | None:
    """Return a run whose answer is a constant classifier if that is optimal, else None."""
    if problem.radius == 0.0 or _is_for_solvers(problem):
        return None
    for answer in _constant_classifiers(problem):
        assert answer.hinge_dual is not None and answer.flip_dual is not None
        cost = problem.cost_of_flips(answer.flip_dual)
        if cost > problem.radius:
            continue
        v, v0 = problem.weighted_sum(difference(answer.hinge_dual, answer.flip_dual))
        v = np.append(v, problem.intercept_cost * v0) if problem.prices_intercept else v
        if problem.norm.dual.value(v) + cost <= problem.radius:
            return ConstantState(answer)
    return None


def _is_for_solvers(problem: Problem) -> bool:
    if problem.feature_cost is not None or problem.monotonic_cst is not None:
        return True
    if isinstance(problem.flip_cost, np.ndarray):
        return problem.fit_intercept and not problem.prices_intercept
    return problem.flip_cost == 0.0


def answer_to_free_flips(problem: Problem) -> Candidate:
    """κ = 0: half of every sample is flipped, so no classifier does better than w = 0; the optimum is 1."""
    half = 0.5 * problem.sample_weight
    return Candidate(np.zeros(problem.n_features), 0.0, half, half)


def _constant_classifiers(problem: Problem) -> Iterator[Candidate]:
    """Yield constant classifiers with the multipliers that prove them optimal, if any do."""
    weights, origin, nothing = problem.sample_weight, np.zeros(problem.n_features), np.zeros(problem.n_rows)
    positive = problem.signs > 0
    share = float(weights[positive].sum())
    lighter, sign = min(share, 1.0 - share), (1.0 if share > 0.5 else -1.0)
    if not problem.fit_intercept or problem.prices_intercept or lighter == 0.5:
        yield Candidate(origin, 0.0, weights, nothing)
        return
    ratio = lighter / (1.0 - lighter)
    heavier = positive == (sign > 0)
    if not problem.flips_possible:
        yield Candidate(origin, sign, np.where(heavier, ratio, 1.0) * weights, nothing)
    else:
        flipped = np.where(heavier, 0.5 * (1.0 - ratio), 0.0) * weights
        yield Candidate(origin, 0.0, weights - flipped, flipped)
