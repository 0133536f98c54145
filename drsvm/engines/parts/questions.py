"""Questions to a part of the rows. Each takes the part, its problem and arguments, and its answers can be added.

What the questions mean is said in `model/row_operations.py`; `problem.py` and `engine.py` ask them.
"""

import numpy as np

from drsvm.engines.parts.answers import Distinct, Joined, Largest, Moments, Sums
from drsvm.engines.parts.spread import Level, Path, Spread
from drsvm.model.multipliers import LocalMultipliers, dual_sums
from drsvm.model.products import ULP, rounding_of_sums, transposed_dot
from drsvm.model.risk import costs_of_misclassification, expected_loss, flip_gains, flips_with_price
from drsvm.model.row_operations import moments as moments_of

MOST_COSTS = 1 << 14
"""Most distinct flip costs of a chunk that are fetched."""

# --- sums -----------------------------------------------------------------------------------------------------------


def pulls_of_classes(_, problem) -> Sums:
    """Return Σ π x over each class."""
    signs, weights = problem.signs, problem.sample_weight
    return Sums(transposed_dot(problem.X, np.where(signs == sign, weights, 0.0)) for sign in (1.0, -1.0))


def costs_of_classes(_, problem) -> Sums:
    """Return what it costs to flip all rows of each class, where rows have their own costs."""
    return Sums(problem.flip_costs_of_classes())


def masses_by_cost(_, problem, sign: float) -> Distinct:
    """Return the distinct flip costs in a class."""
    found = Distinct(*problem.masses_by_flip_cost(sign))
    if len(found.numbers) > MOST_COSTS:
        raise ValueError(
            f"flip_cost has {len(found.numbers)} different values in a chunk, too many to collect: round them, for "
            "instance to two digits."
        )
    return found


def targets(_, problem) -> Sums:
    """Return Σ π, and Σ π over the rows that can be flipped."""
    weights = problem.sample_weight
    return Sums((float(weights.sum()), float(weights @ problem.can_flip)))


def row_norms(_, problem, of_features) -> Sums:
    """Return Σ π ‖x‖, and Σ π over rows that are not 0."""
    norms = problem.row_norms(of_features)
    weights = problem.sample_weight
    return Sums((float(weights @ norms), float(weights @ (norms > 0))))


def column_squares(_, problem) -> np.ndarray:
    """Return Σ π x² for every feature."""
    return problem.column_squares()


def moments(_, problem) -> Moments:
    """Return the moments of dense columns."""
    mass = float(problem.sample_weight.sum())
    means, deviations = moments_of(problem.X, problem.sample_weight / mass)
    return Moments(mass, means, deviations**2)


def pull_variances(_, problem, pilot, scale: float | None) -> Sums:
    """Return the sums for the pull of rows with random labels, whose variances may be so many times their weights."""
    return Sums(problem.pull_variances(pilot, None if scale is None else problem.sample_weight / scale))


def sums_of_multipliers(part, problem, hinge_dual, flip_dual, careful: bool) -> Sums:
    """Return the sums over the two sides of multipliers, clipped to their bounds, and the rounding errors of sums."""
    clipped = LocalMultipliers(problem, part.values(hinge_dual), part.values(flip_dual))
    rounding = 3.0 * ULP if careful else rounding_of_sums(problem.X)
    return Sums((*dual_sums(problem, clipped.alpha, clipped.beta, careful), rounding))


# --- decisions ------------------------------------------------------------------------------------------------------


def decisions(_, problem, w, b: float) -> Sums:
    """Return the highest and the lowest decision value (with a minus sign), and the mass decided positive."""
    found = problem.decisions(w, b)
    return Sums((Largest(found.highest), Largest(-found.lowest), found.positive_mass))


def flips_pay(_, problem, w, b: float) -> Largest:
    """Return 1 if a flip pays for some row."""
    return Largest(problem.flips_pay(w, b))


def breakpoints(_, problem, w, b: float, floor: float, path: Path, level: Level) -> Sums:
    """Return how the breakpoints above a floor are spread, and the expected loss without flips that have a price."""
    margins, weights, cost = problem.margins(w, b), problem.sample_weight, problem.flip_cost
    loss = expected_loss(margins, weights, 0.0, np.inf)
    free = np.asarray(cost) == 0
    if free.any():
        loss += float(np.sum(weights * np.maximum(flip_gains(margins), 0.0), where=free))
    points, shares, unit = flips_with_price(margins, weights, cost)
    above = points > floor
    return Sums((Spread.of(points[above], unit * shares[above], path, level), loss))


def costs_of_errors(_, problem, w, b: float, size: float, path: Path, level: Level) -> Sums:
    """Return how the costs of misclassification are spread, and the mass that is misclassified at no cost."""
    margins, weights = problem.margins(w, b), problem.sample_weight
    costs = costs_of_misclassification(margins, size, problem.flip_cost)
    priced = (costs > 0) & np.isfinite(costs)
    return Sums((Spread.of(costs[priced], weights[priced], path, level), float(weights @ (costs == 0))))


# --- samples --------------------------------------------------------------------------------------------------------


def size_of_keys(_, problem, direction) -> Sums:
    """Return Σ |x·direction|."""
    return Sums((float(np.abs(problem.margins(direction)).sum()),))


def rows_with_small_keys(_, problem, direction, scale: float, largest: float) -> Joined:
    """Return rows whose key, a number from 0 to 1 that depends on their contents, is small."""
    keys = problem.margins(direction) * scale
    return _sample(problem, np.flatnonzero(keys - np.floor(keys) <= largest))


def rows_at_a_stride(_, problem, stride: int) -> Joined:
    """Return some of the rows."""
    return _sample(problem, np.arange(0, problem.n_rows, stride))


def sizes_of_classes(part, problem) -> Joined:
    """Return the number of the part, and how many of its rows are negative and positive."""
    counts = [np.count_nonzero(problem.signs == sign) for sign in (-1.0, 1.0)]
    return Joined(np.array([value]) for value in (part.number, *counts))


def rows_at_places(part, problem, before, places) -> Joined:
    """Return the rows at some places among all rows of their class; `before` counts those in earlier parts."""
    found = []
    for sign, first, wanted in zip((-1.0, 1.0), before, places, strict=True):
        members = np.flatnonzero(problem.signs == sign)
        own = wanted - first[part.number]
        found.append(members[own[(own >= 0) & (own < len(members))]])
    return _sample(problem, np.concatenate(found))


def _sample(problem, rows) -> Joined:
    costs = problem.flip_cost[rows] if isinstance(problem.flip_cost, np.ndarray) else None
    return Joined((problem.X[rows], problem.signs[rows], problem.sample_weight[rows], costs))


# --- vectors --------------------------------------------------------------------------------------------------------


def of_engine(part, _, run: str, name: str, *arguments):
    """Ask the engine of a run, without changing its state."""
    return getattr(part.runs[run], name)(*arguments)


def values(part, _, vector) -> Joined:
    """Return a vector with one entry per row: to be fetched from a part, never from all parts."""
    return Joined((part.values(vector),))
