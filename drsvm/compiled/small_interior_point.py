"""Steps of the interior-point method on few rows, all in one compiled call.

The numbers of the steps are those of the iteration in `engines/engine.py`.

The cones, the rules of a step and the passes over the rows are those of
`solvers/interior_point/state.py`. Only their sequence is written here again: with the
calls from Python, a step on 400 rows of 30 features takes eight times as long.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.compiled import cones, step_rules
from drsvm.compiled import interior_point_passes as passes
from drsvm.compiled import normal_matrix as newton
from drsvm.compiled.decorators import compiled


class Task(NamedTuple):
    """The numbers that do not change during a run."""

    radius: float
    l2: float
    step_fraction: float
    mass: float  # sum of the weights
    total_weight: float  # Σ of all complementarity targets, divided by μ
    goal: float  # the run pauses at this gap on the central path


class Work(NamedTuple):
    """Memory for the steps."""

    nothing: np.ndarray  # (0, 4, TILE): no correction
    correction: np.ndarray  # (tiles, 4, TILE)
    smallest: np.ndarray  # rates of change
    bins: np.ndarray
    totals: np.ndarray  # (2, size of (w, b)): sums for the corrector's right-hand side


@compiled(inner=True)
def _steps(task, cone, work, behind, fraction):
    """Return step lengths that keep samples and cone in the interior, or NaN."""
    primal_rate = step_rules.tolerating(work.smallest[0], work.bins[0], behind)
    dual_rate = step_rules.tolerating(work.smallest[1], work.bins[1], behind)
    return step_rules.longest_steps(
        (primal_rate, dual_rate), cones.rates(cone), fraction, task.l2 > 0.0
    )


@compiled(inner=True)
def _solve(task, cone, system, point, samples, samples_lam, target):
    """Solve for the direction of a right-hand side, and pass it to the cone."""
    right = system.vectors[newton.RIGHT]
    constant = system.vectors[newton.CONSTANT]
    n = point.size
    constant_lam = cones.constant(cone, target, constant)
    for j in range(n):
        right[j] = -samples[j] - system.ridge[j] * point[j] - constant[j]
    right[n] = -(task.radius + samples_lam + constant_lam)
    # The predictor, with the target 0, says no more than how far to aim: a rough one
    # saves 8 % of a late step with 300 features.
    newton.solve(system, target == 0.0)
    direction = system.vectors[newton.SOLUTION]
    cones.set_direction(cone, direction, direction[n])


@compiled(inner=True)
def _equations(share, buffers, cone, system, nothing):
    """Form and factorise the system at the current point.

    Return whether that works, and the predictor's λ entry.
    """
    system.matrix[:] = 0.0
    system.columns[:] = 0.0
    still = passes.Step(system.ridge, 0.0, 0.0, 0.0, 0.0, 0.0)
    sums = system.columns[: newton.CONE]
    of_cone = system.columns[newton.CONE :]
    square, linear, _ = passes.curvature(
        share, buffers, nothing, still, sums, system.matrix, None
    )
    cone_square, vector_lam, coefficient = cones.scaling(cone, of_cone)
    newton.assemble(system, share.width, square + cone_square, vector_lam, coefficient)
    return newton.factorise(system), linear


@compiled(inner=True)
def _predict(
    share, buffers, cone, direction, lam_change, work, task, mu, products, behind
):
    """Evaluate the predictor.

    Return the target (NaN if no step is possible) and two entries for λ.
    """
    work.totals[:] = 0.0
    work.smallest[:] = 0.0
    work.bins[:] = 0.0
    slack, multiplier, both, corrected, targeted = passes.predict(
        share,
        buffers,
        work.correction,
        direction,
        lam_change,
        work.totals,
        work.smallest,
        work.bins,
    )
    primal, dual = _steps(task, cone, work, behind, 1.0)
    after = (
        products
        + primal * slack
        + dual * multiplier
        + primal * dual * both
        + cones.products_after(cone, primal, dual)
    )
    target = step_rules.aim(after, mu, task.total_weight)
    if not primal > 0.0:
        target = math.nan
    return target, corrected, targeted


@compiled(inner=True)
def _longest_steps(share, buffers, cone, work, task, step, behind):
    """Return the step lengths of the corrected direction, or NaN."""
    work.smallest[:] = 0.0
    work.bins[:] = 0.0
    passes.longest_steps(
        share, buffers, work.correction, step, work.smallest, work.bins
    )
    return _steps(task, cone, work, behind, task.step_fraction)


@compiled()
def run(
    share,
    buffers,
    cone,
    system,
    work,
    task,
    point,
    lam,
    mu,
    products,
    short_steps,
    leeway,
    most,
    fresh,
    halt,
):
    """Take steps until the gap may be small.

    The point, the state of the samples and the cone change in place.

    Parameters
    ----------
    share, buffers : Share, Buffers
        The rows, as one thread has them.
    cone, system, work, task
        The constraints of the norm, and `System`, `Work` and `Task`.
    point : array
        (w, b).
    lam, mu : float
        λ, and the parameter μ of the central path.
    products : float
        Σ multiplier · slack of the samples.
    short_steps : int
        Number of short steps in a row before this call.
    leeway : float
        How many times as much weight as usual may stop short of the next step.
    most : int
        Limit on the steps.
    fresh : bool
        Whether to put the samples on the central path first.
    halt : bool
        Whether to factorise the system once more, at the last point: the end of a run
        needs it.

    Returns
    -------
    tuple
        The number of steps, whether all of them were possible, and λ, μ, products,
        short_steps and leeway after them.
    """
    n = point.size
    taken = 0
    works = True
    predictor = system.columns[newton.PREDICTOR]
    samples = system.vectors[newton.SAMPLES]
    direction = system.vectors[newton.SOLUTION][:n]
    if fresh:
        passes.center(share, buffers, point, lam, mu)
    while taken < most or halt:
        # 1. The equations
        works, linear = _equations(share, buffers, cone, system, work.nothing)
        if taken == most:
            break
        taken += 1
        if not works:
            break
        # 2. The predictor, and 3. its target
        share_behind = step_rules.left_behind(
            leeway, mu, step_rules.LEFT_BEHIND, step_rules.MAX_LEFT_BEHIND
        )
        behind = share_behind * task.mass
        _solve(task, cone, system, point, predictor, linear, 0.0)
        lam_change = system.vectors[newton.SOLUTION, n]
        target, corrected, targeted = _predict(
            share,
            buffers,
            cone,
            direction,
            lam_change,
            work,
            task,
            mu,
            products,
            behind,
        )
        works = target >= 0.0
        if not works:
            break

        # 4. The corrector
        cones.correct(cone)
        for j in range(n):
            samples[j] = predictor[j] + target * work.totals[1, j] + work.totals[0, j]
        _solve(
            task,
            cone,
            system,
            point,
            samples,
            linear + target * targeted + corrected,
            target,
        )
        lam_change = system.vectors[newton.SOLUTION, n]
        # 5. The step lengths
        step = passes.Step(direction, lam_change, target, 0.0, 0.0, 0.0)
        primal, dual = _longest_steps(share, buffers, cone, work, task, step, behind)
        works = primal > 0.0
        if not works:
            break

        # 6. The move
        left = step_rules.STOPPED * (1.0 - task.step_fraction)
        step = passes.Step(direction, lam_change, target, primal, dual, left)
        products = passes.move(share, work.correction, step)
        cones.move(cone, primal, dual)
        for j in range(n):
            point[j] += primal * direction[j]
        lam += primal * lam_change
        mu = (products + cones.products_after(cone, 0.0, 0.0)) / task.total_weight
        short_steps = step_rules.short_steps_after(short_steps, primal, dual)
        leeway = step_rules.next_leeway(leeway, min(primal, dual))
        if (
            short_steps >= step_rules.MAX_SHORT_STEPS
            or mu * task.total_weight <= task.goal
        ):
            break
    return taken, works, lam, mu, products, short_steps, leeway
