"""Threads that run one kernel together on the same arrays.

Those of a `Squad` proceed in step: they `meet` before any of them continues, so that each sees what all others have
written. Those of a `Crowd` never wait: from time to time they `share` what they have added to common sums.
"""

import os
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from drsvm.kernels.compiling import kernel
from drsvm.kernels.entries import square_of

ARRIVALS, STOP, FAILED = 0, 8, 16
"""Entries of `Squad.signals`, in different cache lines: the number of arrivals; whether all should leave at the next
chance, because they wait for each other too long; and whether one of them will never arrive."""

N_SIGNALS = 24

PATIENCE = 20_000
"""Number of looks for the others (about 50 µs) before a thread lets other work have its core."""

ROWS_BETWEEN = 4
"""Number of rows that a thread of a crowd visits before it shares its sums."""


class Squad(NamedTuple):
    """A thread among those that proceed in step."""

    rank: int
    size: int
    signals: np.ndarray


class Crowd(NamedTuple):
    """A thread among those that do not wait for each other."""

    rank: int
    first: np.ndarray  # the common sums before the epoch
    added: np.ndarray  # by each thread: what it has added to every sum, and the totals that it has seen last


def _pointer(context, builder, array_type, array, index):
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


def _counting_up(typing_context, signals, index):
    def code(context, builder, signature, arguments):
        one = context.get_constant(types.int64, 1)
        return builder.atomic_rmw("add", _pointer(context, builder, signature.args[0], *arguments), one, "acq_rel")

    return types.int64(signals, types.intp), code


def _looking(typing_context, signals, index):
    def code(context, builder, signature, arguments):
        return builder.load_atomic(_pointer(context, builder, signature.args[0], *arguments), "acquire", 8)

    return types.int64(signals, types.intp), code


_count_up: Any = intrinsic(_counting_up)
"""Add 1 to a signal in one indivisible step."""

_look_at: Any = intrinsic(_looking)
"""Return a signal as it is now; what others wrote before they set it is visible from then on."""

if hasattr(os, "sched_yield"):
    _give_way: Any = types.ExternalFunction("sched_yield", types.intc())
else:  # on Windows a waiting thread keeps its core

    @kernel(inner=True)
    def _give_way():
        return 0


@kernel(inner=True)
def meet(squad, number):
    """Wait for all threads at their `number`-th meeting; return whether that took long."""
    _count_up(squad.signals, ARRIVALS)
    everyone, looks = number * squad.size, 0
    while _look_at(squad.signals, ARRIVALS) < everyone and _look_at(squad.signals, FAILED) == 0:
        looks += 1
        if looks > PATIENCE:
            _give_way()
    return looks > PATIENCE


@kernel(inner=True)
def should_leave(squad):
    """Return whether all threads leave now; the same for all of them after a meeting."""
    return squad.signals[STOP] != 0 or _look_at(squad.signals, FAILED) != 0


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
