"""Decisions about rows by classifiers that were trained without them.

One factorisation serves all rows. On the central path of the interior point, where
every multiplier times its slack is a fixed μ, the loss of a row is smooth: its gradient
has the size of the multiplier α_i, and it has the curvature h_i. Let H be the second
derivative of the objective at the solution, and ℓ_i = x_iᵀ H⁻¹ x_i, the leverage of the
row. Without row i, Newton's first step from the solution changes its own decision by

    −y_i α_i ℓ_i / (1 − h_i ℓ_i).

Where rows shift on their own, the loss of a row depends on y_i (w·x_i + b) − r_i λ. Its
gradient in (w, b, λ) is y_i z_i with z_i = (x_i, 1, −y_i r_i), so that ℓ_i becomes
z_iᵀ H⁻¹ z_i in the denominator, and (x_i, 1, 0)ᵀ H⁻¹ z_i in the numerator.

This is the formula for deleted residuals of least squares, with the curvatures of the
losses as weights. Compared with training again without each row (120 rows of five data
sets, up to 35 % wrong labels), it is closer than the decisions of five folds, whose
classifiers have a fifth of the rows less.

References
----------
D. Pregibon, "Logistic regression diagnostics", The Annals of Statistics 9(4), 705-724,
1981: one Newton step in place of training again without a row.
"""

import math

import numpy as np

from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.norms import L2
from drsvm.problem.problem import Problem
from drsvm.solvers.base import check_limits
from drsvm.solvers.interior_point.cones import cone_at
from drsvm.solvers.interior_point.interior_point_solver import InteriorPoint
from drsvm.solvers.interior_point.small import SmallState
from drsvm.solvers.interior_point.starts import Start, point_of

# The μ of the central path: of 0.001, 0.01, 0.03 and 0.1, which differ little, this
# comes closest to training again.
SMOOTHING = 0.01
# With more features, the factorisation takes longer than training again in folds.
MAX_FEATURES = 500
# Smallest 1 − h_i ℓ_i; it is positive except for rounding.
MIN_LEFT = 1e-9
# The number of steps to the λ of the central path; each multiplies the error by a small
# factor.
ROUNDS = 3


def can_leave_out(problem: Problem) -> bool:
    """Return whether the formula holds and pays.

    It needs few features, in memory, labels that cannot be flipped, and no prescribed
    signs.
    """
    if not isinstance(problem.rows, MemoryRows) or problem.n_features > MAX_FEATURES:
        return False
    if problem.flips_possible or problem.monotonic_cst is not None:
        return False
    return problem.charges_norm or problem.l2 > 0.0


def decisions_without(
    problem: Problem, weights, intercept: float, counts: np.ndarray
) -> np.ndarray:
    """Return the decision about every row by the classifier trained without it.

    Parameters
    ----------
    problem : Problem
        A problem of which `can_leave_out` is true.
    weights, intercept : array of shape (d,), float
        Its solution.
    counts : array of shape (n,)
        How many equal rows each row stands for: one of them is left out.

    Returns
    -------
    array of shape (n,)
        The decision values.
    """
    # 1. A point on the central path beside the solution
    point = point_of(problem, np.asarray(weights), intercept)
    decisions = problem.decision_values(weights, intercept)
    margins = problem.signs * decisions
    lam = _central_lam(problem, point, problem.norm_of(weights, intercept), margins)
    limits = check_limits(problem, InteriorPoint())
    run = SmallState(problem, limits, Start(point, lam, SMOOTHING))

    # 2. The formula, with the share of one row in its leverage
    counts = np.maximum(counts, 1.0)
    leverage, influence = run.leverages()
    alpha, h = run.curvatures()
    left = np.maximum(1.0 - h * leverage / counts, MIN_LEFT)
    return decisions - problem.signs * alpha * influence / counts / left


def _central_lam(
    problem: Problem, point: np.ndarray, norm: float, margins: np.ndarray
) -> float:
    """Return the λ of the central path at a given point (w, b) and its norm.

    There, the derivative of the objective in λ is 0: labels cannot be flipped, so it is
    the radius, with row radii ε + Σ r_i α_i, minus the multiplier of the norm.
    """
    radius = problem.radius
    if problem.has_row_radius:
        # With λ = ‖w‖. The loss s of a row and α = μ π / (s − a) are where
        # μ / (s − a) + μ / s = 1, for a = 1 − m + r λ.
        a = 1.0 - margins + problem.row_radius * norm
        excess = 0.5 * (2.0 * SMOOTHING - a + np.hypot(a, 2.0 * SMOOTHING))
        alpha = SMOOTHING * problem.sample_weight / excess
        radius -= problem.cost_of_multipliers(alpha, 0.0 * alpha)
    if radius == 0.0:
        # λ plays no role.
        return norm + 1.0
    if isinstance(problem.norm, L2):
        # The positive root of μ λ / (λ² − norm²) = radius
        root = math.hypot(SMOOTHING, 2.0 * radius * norm)
        return (SMOOTHING + root) / (2.0 * radius)
    # The multiplier is nearly proportional to 1 / slack, so few steps are enough.
    slack = SMOOTHING / radius
    for _ in range(ROUNDS):
        cone = cone_at(problem, point, norm + slack, SMOOTHING)
        slack *= -cone.multipliers()[1] / radius
    return norm + slack
