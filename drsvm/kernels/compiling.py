"""How kernels are compiled: one decorator, and a clock that stands still meanwhile (see `drsvm.clock`)."""

import logging
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event

from drsvm.clock import pauses
from drsvm.notices import tell_once

NOTICE = (
    "Compiling drsvm's kernels for the first time: this takes a few seconds, once per installation and kind of data."
)


FAST, SCALAR = {"reassoc", "contract", "nsz"}, {"contract", "nsz"}
"""Liberties with arithmetic: sums in any order, for vector instructions; or products fused with sums, no more."""

UNCOUNTED: Any = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""Options of code that allocates nothing, for `numba.extending.overload`.

numba counts references to every array that a function is called with or takes from a tuple, which costs more than the
arithmetic of a short function. The arrays belong to the caller, so the count need not change.
"""


def kernel(*, inner: bool = False, allocates: bool = False, **options) -> Callable[[Callable], Any]:
    """Return a decorator that compiles a function when it is first called, to run without Python's lock.

    Compiled code is cached; see `sealed_cache`. An `inner` function can be called by kernels only: that saves the
    compiler some work, and the code is stored with theirs. References are not counted in it (see `UNCOUNTED`), unless
    it `allocates` arrays. All other options are those of `numba.njit`.
    """

    def decorate(function: Callable) -> Any:
        wrappers = {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner}  # for callers in C and in Python
        compiled = njit(**UNCOUNTED | {"_nrt": allocates or not inner} | wrappers | options)(function)
        if compiled is not function and not inner:  # NUMBA_DISABLE_JIT leaves it as it is
            _use_cache(compiled, function)
        return compiled

    return decorate


def _use_cache(compiled: Any, function: Callable) -> None:
    """Give a kernel its cache, unless no folder may be written to or numba's caches are not as expected."""
    try:
        from drsvm.kernels.sealed_cache import SealedCache

        assert compiled._cache is not None
        compiled._cache = SealedCache(function)
    except Exception as error:
        tell_once(f"drsvm's kernels cannot be cached and are compiled in every process: {error!r}", logging.WARNING)


class _Compilations(event.Listener):
    """Stops the clock, and tells whoever waits; numba sends no events for what it loads from a cache."""

    def on_start(self, event):
        pauses.begin()
        if event.data["dispatcher"].py_func.__module__.startswith("drsvm."):
            tell_once(NOTICE)

    def on_end(self, event):
        pauses.end()


event.register("numba:compile", _Compilations())
