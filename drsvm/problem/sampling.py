"""Rows by what they contain: groups of equal rows, their order, and samples.

Where rows are in one memory, choices depend on the contents of the rows, so that the
order of the rows in X does not matter (see `Rows.content_keys`). Shards draw random
members of each class instead.
"""

import numpy as np

from drsvm.problem.backends import to_numpy
from drsvm.problem.problem import Problem
from drsvm.problem.risk import by_row
from drsvm.problem.rows import SAME_KEY, digits_of, distance_of_close, drawn_members

# Most stored entries of rows that are copied for the sake of their order
MAX_ORDERED = 10_000_000


def _content_keys(problem: Problem):
    """Return a number for every row that depends on what it contains."""
    return problem.rows.content_keys(
        problem.signs, problem.sample_weight, problem.column_sizes
    )


def content_groups(problem: Problem, *, close: bool = False) -> np.ndarray:
    """Return the group of equal rows that each row is in, numbered by their keys.

    With `close`, also of rows whose keys are much closer than keys usually are, such as
    copies with some noise.
    """
    # Rows are equal to the one before if their keys differ by rounding errors only.
    keys = to_numpy(_content_keys(problem))
    order = np.argsort(keys)
    least = SAME_KEY * float(np.abs(keys).max())
    if close:
        least = distance_of_close(keys[order])
    is_new = np.diff(keys[order]) > least
    groups = np.zeros(len(keys), dtype=np.intp)
    groups[order[1:]] = np.cumsum(is_new)
    return groups


def in_content_order(problem: Problem) -> Problem:
    """Return the problem with its rows ordered by what they contain.

    The rows are copied if they are few; otherwise the problem is returned as it is.
    """
    rows = problem.rows
    in_this_memory = isinstance(problem.signs, np.ndarray)
    if not in_this_memory or not rows.copyable or rows.stored > MAX_ORDERED:
        return problem
    weights = problem.sample_weight
    # By contents first; equal rows by label, then by weight
    order = np.lexsort((weights, problem.signs, content_groups(problem)))
    kept = order
    if problem.kept is not None:
        kept = problem.kept[order]
    ordered = problem.subset(order, weights[order])
    return ordered.with_checked(kept=kept, n_given=problem.n_given)


def _quick_keys(problem: Problem):
    """Return a number for every row that depends on what it contains.

    Unlike content keys it depends on the order of the columns, too, but takes one pass
    over the rows in place of six: on 100,000 × 20, these take 19 % of a run of the
    interior point.
    """
    sizes = problem.column_sizes
    units = np.zeros(len(sizes))
    np.divide(1.0, sizes, out=units, where=sizes > 0.0)
    return problem.rows.random_projections(units)


def draw_rows(problem: Problem, size: int, *, quickly: bool = False) -> np.ndarray:
    """Return the indices of about `size` rows, drawn and ordered by their contents.

    If it has to be quick, the order of the columns matters.
    """
    contents = _quick_keys(problem) if quickly else _content_keys(problem)
    # The origin of the columns must not matter.
    contents = contents - contents.mean()
    fraction = digits_of(contents * problem.signs)
    largest = np.partition(fraction, size)[size]
    drawn = np.flatnonzero(fraction <= largest)
    drawn = drawn[np.argsort(contents[drawn], kind="stable")]
    # Equal rows are drawn together, which can be too many.
    return drawn[:: max(1, len(drawn) // size)]


def draw_sample(problem: Problem, size: int, *, quickly: bool = False) -> Problem:
    """Return the problem on about `size` rows, with weights that sum to 1."""
    if problem.rows.is_sharded:
        return problem.on_sample(*problem.rows.drawn(problem.sum_parameters, size))
    return problem.subset(draw_rows(problem, size, quickly=quickly))


def draw_by_class(problem: Problem, size: int) -> Problem:
    """Return the problem on `size` random rows of each class, or all if it is smaller.

    The classes keep their weights.
    """
    if problem.rows.is_sharded:
        sample = problem.rows.drawn_by_class(problem.sum_parameters, size)
        return problem.on_sample(*sample)
    negative = np.flatnonzero(problem.signs < 0)
    positive = np.flatnonzero(problem.signs > 0)
    members = [negative, positive]
    counts = [len(negative), len(positive)]
    places = drawn_members(counts, [size, size])
    drawn = []
    weights = []
    for of_class, chosen in zip(members, places, strict=True):
        chosen = of_class[np.asarray(chosen, like=of_class)]
        drawn.append(chosen)
        # The drawn rows have the weight of all rows of their class.
        share = problem.sample_weight[chosen]
        mass = problem.sample_weight[of_class].sum()
        weights.append(share * (mass / share.sum()))
    return problem.subset(np.concatenate(drawn), np.concatenate(weights))


def to_host(problem: Problem, most_entries: float) -> Problem:
    """Return the problem with its rows in this process's memory.

    Parameters
    ----------
    problem : Problem
        The problem.
    most_entries : float
        The largest number of stored entries that are moved.

    Returns
    -------
    Problem
        The problem as it is if its rows are here already, or have too many entries.
    """
    if problem.rows.stored > most_entries:
        return problem
    if problem.rows.is_sharded:
        return draw_by_class(problem, problem.n_rows)
    rows = problem.rows.host_rows()
    if rows is problem.rows:
        return problem
    signs = to_numpy(problem.signs)
    weights = to_numpy(problem.sample_weight)
    costs = problem.flip_cost
    if by_row(costs):
        costs = to_numpy(costs)
    radii = problem.row_radius
    if by_row(radii):
        radii = to_numpy(radii)
    return problem.on_sample(rows, signs, weights, costs, radii)
