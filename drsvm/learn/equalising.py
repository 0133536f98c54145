"""Class weights closer to balanced ones, where those of class_weight="auto" give a constant classifier.

Wrong labels make the rarer class larger, and each of its rows less certain: half-way weights may then no longer
outweigh the other class anywhere, so that the optimum is constant whatever the radius.
"""

from collections.abc import Callable

import numpy as np

from drsvm.clock import TimeLimit
from drsvm.learn.fit_data import FitData
from drsvm.learn.gross_errors import FAR, far_columns
from drsvm.learn.problems import Solved
from drsvm.model.backends import to_numpy

SHARES_OF_WAY = (0.2, 0.4, 0.6, 0.8, 1.0)  # from automatic class weights to balanced ones


def solve_least_equalised(data: FitData, solve_weighted: Callable[[], Solved], time: TimeLimit) -> Solved:
    """Solve with automatic class weights; if that is constant, with weights that are no closer to balanced than needed.

    If none helps, the result is that of the automatic ones.
    """
    solved = solve_weighted()
    if not _is_constant(solved) or time.over:
        return solved
    automatic = data.class_factors
    data.equalise(1.0)
    if np.allclose(automatic, data.class_factors):
        return solved
    solved = solve_weighted()
    if not solved.results[0].status.reached:  # interrupted, or no time
        return solved
    for share in (0.0,) if _is_constant(solved) else SHARES_OF_WAY:
        data.equalise(share)
        solved = solve_weighted()
        if not _is_constant(solved):  # nor if it was interrupted
            break
    return solved


def _is_constant(solved: Solved) -> bool:
    """Return whether two classes have an optimum that is constant, or constant but for rows that are far off."""
    problem, result = solved.posed.problems[0], solved.results[0]
    if len(solved.results) > 1 or not result.status.reached:
        return False
    if not (np.any(result.weights) and problem.rows.copyable):
        return not np.any(result.weights)
    values = to_numpy(problem.decision_values(result.weights, result.intercept))
    deviations = far_columns(values[:, None], to_numpy(problem.sample_weight))[2]
    return bool((deviations < 1.0 / FAR).any())  # the margin is 1
