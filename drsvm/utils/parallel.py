"""Threads: over parts of large arrays, for checks, certificates and other sums over the rows; and those of BLAS.

The parts depend on the sizes only, never on the number of threads, and results are
returned in their order: sums are the same with any number of threads. Threads end with
each run or, outside a run, with each call; a process that is forked during a run starts
its own.
"""

import math
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache
from typing import Any, TypeVar

import numpy as np
from joblib.parallel import get_active_backend

T = TypeVar("T")
R = TypeVar("R")

PART = 1 << 16  # number of entries of a vector in a part
WORTHWHILE = 1 << 17  # number of entries from which simple arithmetic is worth a thread
# Order of a matrix from which BLAS's own threads speed up its factorisation
LARGE = 1000


class threads_limited:
    """Use at most this many threads in a block; None: one per core.

    They start when they are needed.
    """

    def __init__(self, n_threads: int | None):
        self.most = n_threads or available_cores()
        self.process = 0
        self.pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> None:
        self.token = _threads.set(self)

    def __exit__(self, *error: object) -> None:
        _threads.reset(self.token)
        if self.pool is not None and self.process == os.getpid():
            self.pool.shutdown()


_threads: ContextVar[threads_limited | None] = ContextVar("threads", default=None)


def available_cores() -> int:
    """Return the number of cores this process may use, which may be fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not available on every system
        return os.cpu_count() or 1


def memory_size() -> float:
    """Return the size of main memory in bytes (8 GB if the system does not report it)."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return 8e9


def spare_cores() -> int:
    """Return the default number of tasks to run at a time: one in a worker of joblib, else one per core."""
    if get_active_backend()[0].nesting_level:
        return 1
    return available_cores()


def usable_threads() -> int:
    """Return the number of threads that `over` may use here."""
    threads = _threads.get()
    return available_cores() if threads is None else threads.most


def over(parts: Iterable[T], work: Callable[[T], R]) -> list[R]:
    """Return work(part) for every part, in order.

    Numpy's error state is that of the caller.
    """
    parts = list(parts)
    threads = _threads.get()
    if len(parts) < 2 or (threads is not None and threads.most < 2):
        return [work(part) for part in parts]
    if threads is None:
        with threads_limited(None):
            return over(parts, work)
    waiting = iter(range(len(parts)))
    results = {}

    def take_parts() -> None:
        # To wait for other threads of the same pool might take forever
        _threads.set(threads_limited(1))
        for k in (
            waiting
        ):  # a part is taken by one thread only: this step holds the interpreter's lock
            results[k] = work(parts[k])

    if threads.pool is None or threads.process != os.getpid():
        threads.pool = ThreadPoolExecutor(threads.most - 1)
        threads.process = os.getpid()
    n_others = min(threads.most, len(parts)) - 1  # the caller's thread does its share
    others = [
        threads.pool.submit(copy_context().run, take_parts) for _ in range(n_others)
    ]
    copy_context().run(take_parts)
    for other in others:
        other.result()
    return [results[k] for k in range(len(parts))]


def elementwise(
    like: int | np.ndarray, values: Callable[[slice], np.ndarray]
) -> np.ndarray:
    """Return an array like another one, or of a given length, whose parts are values(part), in parts of any size."""
    n = like if isinstance(like, int) else len(like)
    # A GPU takes vectors as a whole
    is_whole = n <= WORTHWHILE or not isinstance(like, int | np.ndarray)
    if is_whole or (n_threads := usable_threads()) < 2:
        return values(slice(0, n))
    out = np.empty(n)
    size = max(WORTHWHILE, math.ceil(n / n_threads))

    def fill(first):
        out[first : first + size] = values(slice(first, min(first + size, n)))

    over(range(0, n, size), fill)
    return out


def slices(n: int, size: int) -> list[slice]:
    """Return slices of the given size, of which the last may be smaller, that cover n entries."""
    return [slice(first, min(first + size, n)) for first in range(0, n, size)]


def parts_of(like: int | np.ndarray) -> list[slice]:
    """Return slices of vectors of the same length as an array, or of a given length.

    A GPU takes them as a whole.
    """
    n = like if isinstance(like, int) else len(like)
    return slices(n, PART if isinstance(like, int | np.ndarray) else max(n, 1))


def over_parts(like: int | np.ndarray, work: Callable[[slice], R]) -> list[R]:
    """Return work(part) for every part of vectors like an array, or of a given length."""
    n = like if isinstance(like, int) else len(like)
    # most vectors are one part
    if 0 < n <= PART:
        return [work(slice(0, n))]
    return over(parts_of(like), work)


def total(like: int | np.ndarray, work: Callable[[slice], float | np.ndarray]) -> float:
    """Return the sum of work(part) over the parts of vectors like an array, without further rounding errors."""
    n = like if isinstance(like, int) else len(like)
    if 0 < n <= PART:
        return float(work(slice(0, n)))
    values = [float(value) for value in over(parts_of(like), work)]
    if all(map(math.isfinite, values)):
        return math.fsum(values)
    return sum(values)


_lock = threading.Lock()
_n_limited = 0
_limit: Any = None


@cache
def _blas():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def blas_threads_for(order: int):
    """Return a context in which BLAS may use several threads for the factorisation of a matrix, if it is large."""
    n_threads = usable_threads() if order >= LARGE else 1
    if n_threads > 1:
        return _blas().limit(limits=n_threads, user_api="blas")
    return nullcontext()


@contextmanager
def single_threaded_blas():
    """Limit BLAS to one thread: it is faster on small vectors, and shares of the rows have their own threads.

    The setting is process-wide: the first of several concurrent runs makes it, the last
    one reverts it.
    """
    global _n_limited, _limit
    with _lock:
        if _n_limited == 0:
            _limit = _blas().limit(limits=1, user_api="blas")
            _limit.__enter__()
        _n_limited += 1
    try:
        yield
    finally:
        with _lock:
            _n_limited -= 1
            if _n_limited == 0:
                _limit.__exit__(None, None, None)
