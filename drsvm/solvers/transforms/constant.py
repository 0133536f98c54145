"""Problems whose optimum is a constant classifier: detected in one pass over the rows, without a solver.

With a large radius the best weights are 0, and multipliers spread evenly over the rows of each class prove it:

    1. α = π; with an intercept, α is reduced on the heavier class so that both classes have the same weight. The
       objective of the constant classifier is twice the weight of the lighter class, or 1 without an intercept.
    2. With an intercept and classes of unequal weight: α + β = π on the heavier class, α = π on the lighter one. The
       objective is 1; it costs the adversary κ Σβ to balance the classes.

They are feasible, and hence optimal, if ‖v‖_p ≤ ε − κ Σβ. An intercept with a price is part of v, as in the first case
without an intercept. Other prices, and flip costs of rows with a free intercept, are left to the solvers.
"""

import numpy as np

from drsvm.model.problem import Problem
from drsvm.model.risk import by_row
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


def optimum_of_free_flips(problem: Problem) -> ConstantState | None:
    """Return a run for κ = 0, else None: half of every sample is flipped, so w = 0 has the least objective, 1."""
    if not np.all(problem.flip_cost == 0):
        return None
    half = problem.multiples_of_weights(0.5, 0.5)
    return ConstantState(Candidate(np.zeros(problem.n_features), 0.0, half, half))


def constant_optimum(problem: Problem) -> ConstantState | None:
    """Return a run whose answer is a constant classifier if that is optimal, else None."""
    free_flips = optimum_of_free_flips(problem)
    if free_flips is not None:
        return free_flips
    is_free = problem.fit_intercept and not problem.prices_intercept
    has_prices = problem.feature_cost is not None or problem.monotonic_cst is not None
    if problem.radius == 0.0 or has_prices or (is_free and by_row(problem.flip_cost)):
        return None
    positive, negative = problem.masses_of_classes() if is_free else (0.5, 0.5)
    heavier, ratio = max(positive, negative), min(positive, negative) / max(positive, negative)
    on_heavier = np.array([positive > negative, negative > positive], dtype=float)
    # Multipliers over weights, for label + and label −: case 2 above if flips are possible, else case 1.
    share, kept, intercept = 0.0, ratio, float(np.sign(positive - negative))
    if problem.flips_possible:
        share, kept, intercept = 0.5 * (1.0 - ratio), 1.0 - 0.5 * (1.0 - ratio), 0.0
    hinge, flip = np.where(on_heavier, kept, 1.0), share * on_heavier
    cost = problem.flip_cost * (share * heavier) if share > 0 else 0.0
    if cost > problem.radius:
        return None
    v, v0 = problem.gradient_of_classes(*(hinge - flip))
    v = np.concatenate((v, (problem.intercept_cost * v0,))) if problem.prices_intercept else v
    if not problem.norm.dual.value(v) + cost <= problem.radius:
        return None
    multipliers = problem.multiples_of_weights(*hinge), problem.multiples_of_weights(*flip)
    return ConstantState(Candidate(np.zeros(problem.n_features), intercept, *multipliers))
