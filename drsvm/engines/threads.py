"""Thread counts: BLAS is faster with one thread on small vectors, and shares of the rows have their own threads."""

import threading
from contextlib import contextmanager
from functools import cache
from typing import Any

from drsvm.parallel import available_cores as available_cores

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
