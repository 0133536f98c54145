"""Threads: over parts of large arrays, for sums over the rows, and those of BLAS.

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
from scipy import sparse

from drsvm.utils.annotations import Matrix

T = TypeVar("T")
R = TypeVar("R")

# The number of entries in a part of a vector
PART = 1 << 16
# The number of entries from which simple arithmetic is worth a thread
WORTHWHILE = 1 << 17
# The size of the row blocks in which large data are processed, to keep temporary arrays
# small
BLOCK_BYTES = 1 << 22
# The order of a matrix from which BLAS's own threads speed up its factorisation
LARGE = 1000


class threads_limited:
    """Use at most `n_threads` threads in a block, or one per core if None.

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

    def started(self) -> ThreadPoolExecutor:
        """Return the threads of this process, besides that of the caller."""
        if self.pool is None or self.process != os.getpid():
            self.pool = ThreadPoolExecutor(self.most - 1)
            self.process = os.getpid()
        return self.pool


_threads: ContextVar[threads_limited | None] = ContextVar("threads", default=None)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        # Not every system has affinities.
        return os.cpu_count() or 1


def memory_size() -> float:
    """Return the size of main memory in bytes (8 GB if the system does not tell)."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return 8e9


def spare_cores() -> int:
    """Return the number of tasks to run at a time: one in a worker of joblib."""
    if get_active_backend()[0].nesting_level:
        return 1
    return available_cores()


def usable_threads() -> int:
    """Return the number of threads that `over` may use here."""
    threads = _threads.get()
    if threads is None:
        return available_cores()
    return threads.most


def over(parts: Iterable[T], work: Callable[[T], R]) -> list[R]:
    """Return work(part) for every part, in order, by the threads of this run.

    Numpy's error state is that of the caller.
    """
    parts = list(parts)
    threads = _threads.get()
    if len(parts) < 2 or (threads is not None and threads.most < 2):
        return [work(part) for part in parts]
    if threads is None:
        with threads_limited(None):
            return over(parts, work)

    # A part is taken by one thread only: a step of an iterator holds the interpreter's
    # lock.
    waiting = iter(range(len(parts)))
    results = {}

    def take_parts() -> None:
        # Calls of `over` in a part use one thread: they might wait forever for others
        # of the same pool, which wait as well.
        _threads.set(threads_limited(1))
        for k in waiting:
            results[k] = work(parts[k])

    # The caller's thread does its share.
    pool = threads.started()
    others = []
    for _ in range(min(threads.most, len(parts)) - 1):
        others.append(pool.submit(copy_context().run, take_parts))
    copy_context().run(take_parts)
    for other in others:
        other.result()
    return [results[k] for k in range(len(parts))]


def elementwise(
    like: int | np.ndarray, values: Callable[[slice], np.ndarray]
) -> np.ndarray:
    """Return a vector whose parts are values(part), in parts of any size.

    Parameters
    ----------
    like : int or array
        The length, or an array of the same length, here or on a GPU.
    values : callable
        Returns the entries in a slice.
    """
    n = _length(like)
    n_threads = 1
    if n > WORTHWHILE:
        n_threads = usable_threads()
    # A GPU takes vectors as a whole.
    if n_threads < 2 or not isinstance(like, int | np.ndarray):
        return values(slice(0, n))
    out = np.empty(n)

    def fill(part: slice) -> None:
        out[part] = values(part)

    over(slices(n, max(WORTHWHILE, math.ceil(n / n_threads))), fill)
    return out


def slices(n: int, size: int) -> list[slice]:
    """Return slices of a given size that cover n entries; the last may be smaller."""
    return [slice(first, min(first + size, n)) for first in range(0, n, size)]


def row_blocks(X: Matrix) -> list[slice]:
    """Return slices of rows whose dense float64 copy stays near `BLOCK_BYTES`."""
    n, d = X.shape
    row_entries = d
    if sparse.issparse(X):
        row_entries = X.nnz / max(n, 1)
    return slices(n, max(1, int(BLOCK_BYTES / (8 * max(row_entries, 1)))))


def parts_of(like: int | np.ndarray) -> list[slice]:
    """Return slices of vectors of the same length as an array, or of a given length."""
    n = _length(like)
    if isinstance(like, int | np.ndarray):
        return slices(n, PART)
    # A GPU takes vectors as a whole.
    return slices(n, max(n, 1))


def over_parts(like: int | np.ndarray, work: Callable[[slice], R]) -> list[R]:
    """Return work(part) for every part of vectors like an array, or of a length."""
    n = _length(like)
    # Most vectors are one part.
    if 0 < n <= PART:
        return [work(slice(0, n))]
    return over(parts_of(like), work)


def total(like: int | np.ndarray, work: Callable[[slice], float | np.ndarray]) -> float:
    """Return the sum of work(part) over the parts, without further rounding errors."""
    values = [float(value) for value in over_parts(like, work)]
    if len(values) == 1:
        return values[0]
    # `fsum` raises an error for infinities of both signs.
    if all(map(math.isfinite, values)):
        return math.fsum(values)
    return sum(values)


def _length(like: int | np.ndarray) -> int:
    """Return the length of an array, or a number that is one."""
    return like if isinstance(like, int) else len(like)


# For `single_threaded_blas`: the number of runs that limit BLAS, and their limit
_lock = threading.Lock()
_n_limited = 0
_limit: Any = None
# A process that is forked while another thread holds the lock would wait forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire,
        after_in_parent=_lock.release,
        after_in_child=_lock.release,
    )


@cache
def _blas():
    """Return the controller of BLAS's threads, which takes a while to find BLAS."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def blas_threads_for(order: int):
    """Return a context in which BLAS factorises a large matrix in several threads."""
    n_threads = usable_threads()
    if order >= LARGE and n_threads > 1:
        return _blas().limit(limits=n_threads, user_api="blas")
    return nullcontext()


@contextmanager
def single_threaded_blas():
    """Limit BLAS to one thread.

    It is faster on small vectors, and shares of the rows have their own threads.

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
