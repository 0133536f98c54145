"""Threads that run one kernel on the same arrays, and never wait for each other.

From time to time they `share` what they have added to common sums.
"""

from typing import NamedTuple

import numpy as np

from drsvm.kernels.compiling import kernel
from drsvm.kernels.entries import square_of

ROWS_BETWEEN = 4
"""Number of rows that a thread visits before it shares its sums."""

APART = 16
"""What different threads add is at least this many numbers apart, so that no cache line belongs to two of them."""


class Crowd(NamedTuple):
    """A thread among those that do not wait for each other."""

    rank: int
    first: np.ndarray  # the common sums before the epoch
    added: np.ndarray  # by each thread: what it has added to every sum, and the totals that it has seen last


@kernel(inner=True, forceinline=True)
def first_square(crowd, u):
    """Return ‖u‖² before the epoch; None: of a thread on its own."""
    if crowd is None:
        return square_of(u)
    return crowd.first[0]


@kernel(inner=True, forceinline=True)
def time_to_share(crowd, visited):
    """Return whether a thread has visited enough rows to share its sums again."""
    if crowd is None:
        return False
    return visited % ROWS_BETWEEN == ROWS_BETWEEN - 1


@kernel(inner=True)
def share(crowd, k, value):
    """Tell the others what this thread has added to sum k, and return the sum with what they have; None: nothing."""
    if crowd is None:
        return value
    threads, seen = crowd.added.shape[0], k + crowd.first.size
    crowd.added[crowd.rank, k] += value - crowd.added[crowd.rank, seen]
    total = crowd.first[k]
    for thread in range(threads):
        total += crowd.added[thread, k]
    crowd.added[crowd.rank, seen] = total
    return total
