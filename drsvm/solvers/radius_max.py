"""The smallest radius at which w = 0 is optimal: the natural scale of a radius."""

import math

from drsvm.clock import TimeLimit
from drsvm.model.problem import Problem
from drsvm.model.result import Status
from drsvm.solvers import solve
from drsvm.solvers.centring import Centred
from drsvm.solvers.registry import choose

MOST_SOLVES = 60


def radius_max(problem: Problem, *, max_time: float | TimeLimit | None = None, n_threads: int | None = None) -> float:
    """Return the smallest radius at which w = 0 is optimal: the natural scale of a radius.

    It does not depend on `l2`. Without an intercept and with trusted labels it is ‖Σ π_i y_i x_i‖_p; the same holds if
    labels are too expensive to flip, at a cost of twice the largest margin of the best direction or more. In general
    the optimum f is a concave function of the radius ε with slope λ, and the best constant classifier has the objective
    V(ε) = min(1, 2·(share of the smaller class) + 2ε/flip_cost), the second only with an intercept. Newton's method for
    f = V converges to the answer from below, in a few solves.

    With an intercept and classes of unequal size, w = 0 may be optimal at one radius but not at a larger one; the
    answer is the smallest radius at which it is.

    Parameters
    ----------
    problem : Problem
        Its radius and l2 are ignored.
    max_time : float, optional
        Time limit for all solves together, in seconds.
    n_threads : int, optional
        Threads for the solves.

    Returns
    -------
    float
        The radius, to a relative accuracy of about 1e-7 (1e-4 if there are too many features for the interior-point
        solver). If the time is up before that, the radius reached so far, which is too small. Ctrl-C raises
        KeyboardInterrupt.
    """
    time = TimeLimit.of(max_time)
    if problem.flip_cost == 0:
        return 0.0
    problem = Centred.of(problem).problem
    total, _ = problem.weighted_sum(problem.sample_weight)
    if not problem.fit_intercept:
        direction = problem.norm.dual.worst_direction(total)
        if 2.0 * problem.margins(direction).max() <= problem.flip_cost:
            return problem.norm.dual.value(total)
    lines = _constant_classifiers(problem)
    unit = problem.typical_row_norm()
    # With one line the first tangent should be a good one; with two, the lower line must not be missed.
    radius = 0.5 * min(problem.norm.dual.value(total), problem.flip_cost) if len(lines) == 1 else 1e-3 * unit
    radius, climbing = radius or 1e-2 * unit, False
    solver = choose(problem)
    tol = 1e-9 if solver == "interior-point" else 1e-6
    for _ in range(MOST_SOLVES):
        result = solve(problem.replace(radius=radius, l2=0.0), solver, tol=tol, max_time=time, n_threads=n_threads)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if result.status is Status.TIME_LIMIT:
            return radius
        missing = [(height + slope * radius - result.objective, slope) for height, slope in lines]
        if min(missing)[0] > max(2.0 * result.gap, 1e-9):
            # Only lines that are less steep than f can be reached; a tangent never leads beyond the answer.
            steps = [gap / (result.radius_price - slope) for gap, slope in missing if result.radius_price > slope]
            radius, climbing = radius + min(steps), True
        elif climbing:
            return radius
        else:
            radius *= 0.1
            if radius <= 1e-12 * unit:
                return 0.0
    return radius


def _constant_classifiers(problem: Problem) -> list[tuple[float, float]]:
    """Return the objectives of the best constant classifiers as lines (height, slope) in the radius."""
    share = float(problem.sample_weight[problem.signs > 0].sum())
    smaller = 2.0 * min(share, 1.0 - share)
    if math.isinf(problem.flip_cost):
        return [(smaller, 0.0)]
    undecided = (1.0, 0.0)
    return [undecided, (smaller, 2.0 / problem.flip_cost)] if problem.fit_intercept else [undecided]
