"""Thread counts: BLAS is faster with one thread on small vectors, and blocks of rows have their own threads."""

import os
import threading
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_users = 0
_limit: Any = None


@cache
def _controller():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


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


def available_cores() -> int:
    """Return the number of cores this process may use, which may be fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not available on every system
        return os.cpu_count() or 1
