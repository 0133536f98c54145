"""Thread counts: BLAS is faster with one thread on small vectors, and shares of the rows have their own threads."""

import threading
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

from drsvm.parallel import usable_threads

_lock = threading.Lock()
_users = 0
_limit: Any = None


@cache
def _controller():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


LARGE = 1000
"""Order of a matrix from which on BLAS's own threads speed up its factorisation."""


def blas_threads_for(order: int):
    """Return a context in which BLAS may use several threads for the factorisation of a matrix, if it is large."""
    n_threads = usable_threads() if order >= LARGE else 1
    return _controller().limit(limits=n_threads, user_api="blas") if n_threads > 1 else nullcontext()


@contextmanager
def single_threaded_blas():
    """Limit BLAS to one thread.

    The setting is process-wide: the first of several concurrent runs makes it, the last one reverts it.
    """
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
            _limit.__enter__()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.__exit__(None, None, None)
