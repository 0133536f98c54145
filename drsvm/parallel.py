"""Threads over parts of large arrays, outside the engines: checks, certificates and other sums over the rows.

The parts depend on the sizes only, never on the number of threads, and results are returned in their order: sums are
the same with any number of threads. Threads end with each call, so nothing is left behind that a fork could lose.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any

import numpy as np

PART = 1 << 16
"""Number of entries of a vector in a part."""

_limit: ContextVar[int | None] = ContextVar("limit", default=None)


def available_cores() -> int:
    """Return the number of cores this process may use, which may be fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not available on every system
        return os.cpu_count() or 1


@contextmanager
def threads_limited(n_threads: int | None):
    """Use at most this many threads; None: one per core."""
    token = _limit.set(n_threads)
    try:
        yield
    finally:
        _limit.reset(token)


def allowed_threads() -> int:
    """Return the number of threads that work may use here."""
    return _limit.get() or available_cores()


def over(parts: Iterable[Any], work: Callable[[Any], Any]) -> list[Any]:
    """Return work(part) for every part, in order; numpy's error state is that of the caller."""
    parts = list(parts)
    n_threads = min(allowed_threads(), len(parts))
    if n_threads < 2:
        return [work(part) for part in parts]
    waiting, results = iter(range(len(parts))), [None] * len(parts)

    def take_parts() -> None:
        for k in waiting:  # a part is taken by one thread only: this step holds the interpreter's lock
            results[k] = work(parts[k])

    with ThreadPoolExecutor(n_threads - 1) as pool:
        others = [pool.submit(copy_context().run, take_parts) for _ in range(n_threads - 1)]
        take_parts()
        for other in others:
            other.result()
    return results


def parts_of(n: int) -> Iterator[slice]:
    """Yield slices of a vector."""
    for first in range(0, n, PART):
        yield slice(first, min(first + PART, n))


def over_parts(n: int, work: Callable[[slice], Any]) -> list[Any]:
    """Return work(part) for every part of vectors of length n."""
    return over(parts_of(n), work)


def elementwise(function: Callable[..., Any], *vectors: Any) -> np.ndarray:
    """Return function(vectors) as a new vector of floats; the function is one of numpy's, which take `out`."""
    result = np.empty(len(vectors[0]))
    over_parts(len(result), lambda part: function(*(vector[part] for vector in vectors), out=result[part]))
    return result


def total(n: int, work: Callable[[slice], Any]) -> float:
    """Return the sum of work(part) over the parts of vectors of length n, without further rounding errors."""
    values = [float(value) for value in over_parts(n, work)]
    return math.fsum(values) if all(map(math.isfinite, values)) else sum(values)
