"""Queries to a shard of the rows.

Each takes the shard, its problem and arguments, and returns a value that can be added
to those of other shards (`problem/reducers.py`).
"""

from collections.abc import Callable

import numpy as np

from drsvm.certificate.multipliers import ArrayMultipliers, dual_sums
from drsvm.engines.sharded.quantiles import Bins, Histogram, Path
from drsvm.engines.sharded.shard import RemoteVector, Shard
from drsvm.problem.problem import Problem
from drsvm.problem.reducers import Joined, Summable, Sums
from drsvm.problem.risk import (
    by_row,
    costs_of_misclassification,
    expected_loss,
    flips_with_cost,
    gain_of_free_flips,
)
from drsvm.problem.rows import RowsLost
from drsvm.utils.compensated_sums import ULP


def of_problem(
    _, problem: Problem, function: Callable[..., Summable], *arguments
) -> Summable:
    """Return the value of a function of `problem/row_sums.py`."""
    return function(problem, *arguments)


def targets(_, problem: Problem) -> Sums:
    """Return Σ π, and Σ π over the rows that can be flipped."""
    weights = problem.sample_weight
    return Sums((float(weights.sum()), float(weights @ problem.can_flip)))


def sums_of_multipliers(
    shard: Shard, problem: Problem, hinge_dual, flip_dual, compensated: bool
) -> Sums:
    """Return the dual sums of multipliers that are clipped to their bounds.

    The last entry bounds the rounding error of the sums.
    """
    clipped = ArrayMultipliers(
        problem, shard.values(hinge_dual), shard.values(flip_dual)
    )
    sums = dual_sums(problem, clipped.alpha, clipped.beta, compensated)
    # Compensated sums are as exact as if they were rounded once. The bounds of all
    # shards are added, which covers the sum over the shards as well.
    rounding = problem.rows.rounding
    if compensated:
        rounding = 3.0 * ULP
    return Sums((*sums, rounding))


def breakpoints(
    _, problem: Problem, w, b: float, floor: float, path: Path, bins: Bins
) -> Sums:
    """Return a histogram of the breakpoints of the worst-case risk in λ.

    Only those above a floor are in it. The second value is the expected loss if only
    labels with flip cost 0 are flipped.
    """
    margins = problem.margins(w, b)
    weights = problem.sample_weight
    cost = problem.flip_cost
    # Where rows shift on their own, no label is flipped, and λ is the floor.
    after_shifts = problem.after_shifts(margins, floor)
    loss = expected_loss(after_shifts, weights, 0.0, np.inf)
    loss += gain_of_free_flips(margins, weights, cost)
    points, shares, unit = flips_with_cost(margins, weights, cost)
    above = points > floor
    histogram = Histogram.of(points[above], unit * shares[above], path, bins)
    return Sums((histogram, loss))


def costs_of_errors(
    _, problem: Problem, w, b: float, norm_of_weights: float, path: Path, bins: Bins
) -> Sums:
    """Return a histogram of the costs of turning a correct prediction into a wrong one.

    The second value is the mass of the rows that are misclassified at no cost.
    """
    margins = problem.after_shifts(problem.margins(w, b), norm_of_weights)
    weights = problem.sample_weight
    costs = costs_of_misclassification(margins, norm_of_weights, problem.flip_cost)
    positive = (costs > 0) & np.isfinite(costs)
    histogram = Histogram.of(costs[positive], weights[positive], path, bins)
    return Sums((histogram, float(weights @ (costs == 0))))


def rows_at_a_stride(_, problem: Problem, stride: int) -> Joined:
    """Return some of the rows, without their labels."""
    return Joined((problem.X[np.arange(0, problem.n_rows, stride)],))


def sizes_of_classes(shard: Shard, problem: Problem) -> Joined:
    """Return the shard's number, and its numbers of negative and of positive rows."""
    n_negative = np.count_nonzero(problem.signs < 0)
    n_positive = np.count_nonzero(problem.signs > 0)
    return Joined(np.array([value]) for value in (shard.number, n_negative, n_positive))


def rows_at_places(shard: Shard, problem: Problem, before, places) -> Joined:
    """Return the rows at some places among all rows of their class.

    Both arguments have an entry for the negative and one for the positive class:
    `before` the number of its rows in earlier shards, by the number of the shard, and
    `places` the places that are wanted.
    """
    chosen = []
    for sign, first, wanted in zip((-1.0, 1.0), before, places, strict=True):
        members = np.flatnonzero(problem.signs == sign)
        own = wanted - first[shard.number]
        is_here = (own >= 0) & (own < len(members))
        chosen.append(members[own[is_here]])
    rows = np.concatenate(chosen)
    some = [problem.X[rows], problem.signs[rows], problem.sample_weight[rows]]
    for values in (problem.flip_cost, problem.row_radius):
        # None if it is the same for all rows
        some.append(values[rows] if by_row(values) else None)
    return Joined(some)


def of_engine(shard: Shard, _, run: str, name: str, *arguments) -> Summable:
    """Return a value of the engine of a run, whose state does not change."""
    return shard.runs[run].call(name, *arguments)


def values(shard: Shard, _, vector: RemoteVector) -> Joined:
    """Return a vector with one entry per row, for a query to a single shard."""
    for kept in vector.kept():
        if kept.slot in shard.runs[kept.run].forgotten:
            raise RowsLost(
                "The multipliers of some rows were lost with their worker. "
                "The bound stands; fit again for them."
            )
    return Joined((shard.values(vector),))
