"""How many threads BLAS may use: small vectors are quicker with one, and blocks of rows have threads of their own."""

from functools import cache


@cache
def _controller():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def limited_blas(n_threads: int = 1):
    """Return a context in which BLAS uses at most the given number of threads."""
    return _controller().limit(limits=n_threads, user_api="blas")
