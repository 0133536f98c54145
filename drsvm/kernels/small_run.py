"""Steps of the interior-point method on few rows, all in compiled code: calls from Python would take most of the time.

The steps are those of `solvers/interior_point/state.py`, where they are explained, with the same passes over the rows.
"""

from typing import NamedTuple

import numpy as np

from drsvm.kernels import cones, newton, passes
from drsvm.kernels.compiling import UNCOUNTED, as_inner, kernel
from drsvm.kernels.interior_point import BINS

_center, _curvature, _evaluate, _lengths = (
    as_inner(one) for one in (passes.center, passes.curvature, passes.predict, passes.longest_steps)
)


class Task(NamedTuple):
    """The numbers that do not change during a run."""

    radius: float
    l2: float
    damping: float
    most_refinements: int
    step_fraction: float
    behind: float  # weight that may stop short of a step, divided by μ,
    most_behind: float  # its maximum,
    tie: float  # and how much more of it is as much
    hindered: float  # after a step below this,
    more: float  # so many times as much may stop short,
    most_leeway: float  # at most so many times
    total_weight: float  # Σ of all complementarity targets, divided by μ
    goal: float  # the run pauses at this gap on the central path
    short_step: float
    most_short_steps: int


class Work(NamedTuple):
    """Memory for the steps."""

    nothing: np.ndarray  # (0, 4, TILE): no correction
    correction: np.ndarray  # (tiles, 4, TILE)
    smallest: np.ndarray  # rates of change
    bins: np.ndarray
    totals: np.ndarray  # (2, size of (w, b)): sums for the corrector's right-hand side
    right: np.ndarray


@kernel(inner=True)
def _tolerating(smallest, bins, share):
    """Return the rate that only samples with the given share of the weight exceed (see `Rates.tolerating`)."""
    rate, behind = -smallest, 0.0
    if not rate > 1.0:
        return rate
    for step in range(BINS + 1):
        behind += bins[step]
        if not behind <= share:
            return min(rate, BINS / step) if step > 0 else rate
    return min(rate, BINS / (BINS + 1.0))


@kernel(inner=True)
def _clip(task, cone, work, behind, fraction):
    """Return step lengths that keep samples and cone in the interior; with a ridge, the two must be equal."""
    cone_primal, cone_dual = cones.rates(cone)
    primal_rate = cones.larger(_tolerating(work.smallest[0], work.bins[0], behind), cone_primal)
    dual_rate = cones.larger(_tolerating(work.smallest[1], work.bins[1], behind), cone_dual)
    primal = 1.0 if primal_rate <= fraction else fraction / primal_rate
    dual = 1.0 if dual_rate <= fraction else fraction / dual_rate
    if task.l2 > 0.0:
        primal = dual = primal if primal <= dual or primal != primal else dual
    return primal, dual


@kernel(inner=True)
def _solve(task, cone, system, point, right, right_lam, target):
    """Find the direction for the samples' part of the right-hand side, and pass it to the cone."""
    constant, n = system.room[4], point.size
    constant_lam = cones.constant(cone, target, constant)
    for j in range(n):
        system.right[j] = -right[j] - system.ridge[j] * point[j] - constant[j]
    system.right[n] = -(task.radius + right_lam + constant_lam)
    newton.solve(system, task.most_refinements)
    cones.set_direction(cone, system.solution, system.solution[n])


@kernel(inner=True)
def _equations(share, buffers, cone, system, work, damping):
    """Form and factorise the system at the current point; return whether that works, and the predictor's λ entry."""
    system.matrix[:] = 0.0
    system.sums[:] = 0.0
    still = passes.Step(system.solution, 0.0, 0.0, 0.0, 0.0, 0.0)
    square, linear, _ = _curvature(share, buffers, work.nothing, still, system.sums, system.matrix, None)
    of_cone = cones.scaling(cone, system.cone)
    newton.assemble(system, share.width, square, of_cone[0], of_cone[1], of_cone[2], damping)
    return newton.factorise(system), linear


@kernel(inner=True)
def _predict(share, buffers, cone, system, work, task, mu, products, behind):
    """Evaluate the predictor; return the target (NaN if no step is possible) and two entries for λ."""
    n = system.ridge.size
    work.totals[:] = 0.0
    work.smallest[:] = 0.0
    work.bins[:] = 0.0
    direction, lam_change = system.solution[:n], system.solution[n]
    slack, multiplier, both, corrected, targeted = _evaluate(
        share, buffers, work.correction, direction, lam_change, work.totals, work.smallest, work.bins
    )
    primal, dual = _clip(task, cone, work, behind, 1.0)
    after = products + primal * slack + dual * multiplier + primal * dual * both
    after += cones.products_after(cone, primal, dual)
    ratio = max(after, 0.0) / (mu * task.total_weight)
    target = min(ratio, 1.0) ** 3 * mu
    return target if is_step(primal, dual) else np.nan, corrected, targeted


@kernel(inner=True)
def _longest_steps(share, buffers, cone, work, task, step, behind):
    work.smallest[:] = 0.0
    work.bins[:] = 0.0
    _lengths(share, buffers, work.correction, step, work.smallest, work.bins)
    return _clip(task, cone, work, behind, task.step_fraction)


@kernel(inner=True)
def is_step(primal, dual):
    """Return whether steps are long enough to be more than rounding noise, and numbers."""
    return primal > 1e-10 and dual > 1e-10


@kernel(**UNCOUNTED)
def run(share, buffers, cone, system, work, task, point, lam, mu, products, short_steps, leeway, most, fresh, invert):
    """Take steps until the gap may be small, but at most so many; the point, the state and the cone change in place.

    To `invert` is to replace the matrix of the last point (see `newton.invert`); that is the end of the run.
    Returns the number of steps, whether all of them were possible, λ, μ, Σ multiplier · slack of the samples, the
    number of short steps in a row, and how many times as much as usual may stop short of the next step.
    """
    n = point.size
    if fresh:
        _center(share, buffers, point, lam, mu)
    taken = 0
    while taken < most or invert:
        works, linear = _equations(share, buffers, cone, system, work, task.damping)
        if works and taken == most:
            newton.invert(system)
            break
        taken += 1
        behind = min(leeway * task.behind * mu, task.most_behind) * task.tie
        if not works:
            return taken, False, lam, mu, products, short_steps, leeway
        _solve(task, cone, system, point, system.sums[1], linear, 0.0)
        target, corrected, targeted = _predict(share, buffers, cone, system, work, task, mu, products, behind)
        if not target >= 0.0:
            return taken, False, lam, mu, products, short_steps, leeway

        cones.correct(cone)
        for j in range(n):
            work.right[j] = system.sums[1, j] + target * work.totals[1, j] + work.totals[0, j]
        _solve(task, cone, system, point, work.right, linear + target * targeted + corrected, target)
        step = passes.Step(system.solution[:n], system.solution[n], target, 0.0, 0.0, 0.0)
        primal, dual = _longest_steps(share, buffers, cone, work, task, step, behind)

        if not is_step(primal, dual):
            return taken, False, lam, mu, products, short_steps, leeway
        left = 0.99 * (1.0 - task.step_fraction)
        step = passes.Step(system.solution[:n], system.solution[n], target, primal, dual, left)
        products = passes.move(share, work.correction, step)
        cones.move(cone, primal, dual)
        for j in range(n):
            point[j] += primal * system.solution[j]
        lam += primal * system.solution[n]
        mu = (products + cones.products_after(cone, 0.0, 0.0)) / task.total_weight
        short_steps = short_steps + 1 if max(primal, dual) < task.short_step else 0
        more = min(task.more * leeway, task.most_leeway)
        leeway = more if min(primal, dual) < task.hindered else max(leeway / task.more, 1.0)
        if short_steps >= task.most_short_steps or mu * task.total_weight <= task.goal:
            break
    return taken, True, lam, mu, products, short_steps, leeway
