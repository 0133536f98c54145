"""When a curve ends, and where its points are."""

import math

from benchopt.stopping_criterion import StoppingCriterion

SOLVED = 1e-7
"""A run is over when the distance from the optimum is this small, and proven to be."""

FINEST_TOLERANCE = 1e-12


class Solved(StoppingCriterion):
    """Stop when the answer is within SOLVED of the optimum and, if the solver has
    multipliers, they prove it.
    """

    def check_convergence(self, objective_list):
        last = objective_list[-1]
        gap = last["objective_gap"]
        worst = max(last["objective_excess"], 0.0 if math.isnan(gap) else gap)
        return worst <= SOLVED, min(1.0, SOLVED / max(worst, SOLVED))


def tenth(tolerance: float) -> float:
    """Return the next tolerance: 0.1 at first, then a tenth of the last one."""
    return max(min(0.1, tolerance / 10.0), FINEST_TOLERANCE)


def twice(n_iter: int) -> int:
    """Return the next number of iterations."""
    return max(1, 2 * n_iter)
