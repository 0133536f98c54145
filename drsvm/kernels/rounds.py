"""Rounds of dual coordinate ascent: a squad of threads visits a few rows at once, then adds their changes to u.

Every row of a round sees u as it was before the round. The features are cut into SEGMENTS, and a thread adds what
belongs to its own segments, row by row: the result does not depend on the number of threads.
"""

from typing import Any, NamedTuple

import numpy as np

from drsvm.kernels.compiling import FAST, kernel
from drsvm.kernels.entries import bounds, column
from drsvm.kernels.teams import STOP, meet

SEGMENTS = 16

APART = 8
"""Sums of different threads are this many numbers apart, in different cache lines."""

FEW_DELAYS, SHARE_OF_DELAYS = 4, 0.001
"""A squad leaves when more meetings than these, in number and as a share of all, have taken long: a thread that has
lost its core gets it back after the time of about a hundred rounds."""


class Rounds(NamedTuple):
    """Size of the rounds, and arrays that the threads share."""

    size: int
    begin: int  # position of the first row
    cuts: Any  # by row and segment: where its entries begin, counted from the first one of the row; None for dense rows
    changes: np.ndarray  # by row of the round: what is added to u, as a multiple of x
    costs: np.ndarray  # by row of the round: change of κβ
    squares: np.ndarray  # by segment: change of ‖u‖²
    sums: np.ndarray  # the norm's sums over all rows, before the first round and after the last one
    missing: np.ndarray  # by position: gap between loss and multipliers
    firm: np.ndarray  # by position: whether the row can be skipped from now on
    near: np.ndarray  # by position: whether the row is near the flipping kink


@kernel(inner=True, forceinline=True)
def _cut(cuts, width, i, segment):
    if cuts is None:
        return np.uint64(width * segment // SEGMENTS)
    return np.uint64(cuts[i, segment])


@kernel(inner=True, fastmath=FAST)
def _add_part(data, indices, row, first, last, factor, u):
    """Add factor·x to u for some entries of a row; return the change of ‖u‖²."""
    change = 0.0
    for k in range(first, last):
        j = column(indices, k, row)
        old = u[j]
        u[j] = old + factor * data[k]
        change += (u[j] - old) * (u[j] + old)
    return change


@kernel(inner=True)
def _add_changes(rows, order, start, stop, rounds, squad, u):
    """Add the changes of a round in the segments of this thread."""
    lowest, highest = SEGMENTS * squad.rank // squad.size, SEGMENTS * (squad.rank + 1) // squad.size
    for segment in range(lowest, highest):
        rounds.squares[segment, 0] = 0.0
    for position in range(start, stop):
        factor = rounds.changes[position - start]
        if factor != 0.0:
            i = order[position]
            row, _ = bounds(rows.indptr, rows.width, i)
            for segment in range(lowest, highest):
                first, last = _cut(rounds.cuts, rows.width, i, segment), _cut(rounds.cuts, rows.width, i, segment + 1)
                change = _add_part(rows.data, rows.indices, row, row + first, row + last, factor, u)
                rounds.squares[segment, 0] += change


@kernel(inner=True)
def finish_round(rows, order, start, stop, rounds, squad, u, meetings, delays):
    """Add the changes of all rows of a round to u, once all of them are known; meet before and after.

    Returns the number of meetings and delays so far, and the changes of Σκβ, Σ (α_i − β_i) y_i and ‖u‖².
    """
    delays += meet(squad, meetings + 1)
    _add_changes(rows, order, start, stop, rounds, squad, u)
    cost = turn = square = 0.0
    for k in range(stop - start):
        cost += rounds.costs[k]
        turn += rounds.changes[k]
    meetings += 2
    if squad.rank == 0 and delays > FEW_DELAYS + SHARE_OF_DELAYS * meetings:
        squad.signals[STOP] = 1
    delays += meet(squad, meetings)
    for segment in range(SEGMENTS):
        square += rounds.squares[segment, 0]
    return meetings, delays, cost, turn, square


@kernel()
def cut_rows(indices, indptr, edges, first, last, cuts):
    """Set the cuts of some rows, whose indices increase, at given edges of the segments."""
    for i in range(first, last):
        start, end = bounds(indptr, 0, i)
        k, segment = start, 0
        for segment in range(SEGMENTS):
            while k < end and indices[k] < edges[segment]:
                k += np.uint64(1)
            cuts[i, segment] = k - start
        cuts[i, SEGMENTS] = end - start
