"""The decorator that compiles kernels; compilation pauses the clock (see `drsvm.clock`)."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from numba import njit
from numba.core import cpu, event
from numba.extending import overload

from drsvm.clock import pauses
from drsvm.progress import message_once

try:
    from drsvm.kernels.linked_code import inner_compiler
except ImportError:  # numba's internals differ: inner functions are compiled as usual
    inner_compiler = None

NOTICE = (
    "Compiling drsvm's kernels, once per installation and kind of data: this takes 10 to 20 s, and up to a minute for "
    "solver='ippa' or 'hybrid'."
)

FAST, SCALAR = {"reassoc", "contract", "nsz"}, {"contract", "nsz"}
"""Relaxed floating-point rules: sums in any order, for vector instructions; or only fused multiply-add."""


def _counting(references: bool) -> dict[str, bool]:
    """Return the option that says whether references are counted, if numba has it."""
    return {"_nrt": references} if hasattr(getattr(cpu, "CPUTargetOptions", None), "_nrt") else {}


UNCOUNTED: Any = {"nogil": True, "error_model": "numpy"} | _counting(False)
"""Options for code that allocates nothing, also in `numba.extending.overload`.

numba counts references to every array that is passed to a function or taken from a tuple, which costs more than the
arithmetic of a short function. The caller owns the arrays, so the count need not change."""


def kernel(*, inner: bool = False, allocates: bool = False, **options) -> Callable[[Callable], Any]:
    """Return a decorator that compiles a function on its first call, to run without the GIL.

    Compiled code is cached; see `sealed_cache`. An `inner` function can be called by kernels only: that saves compile
    time, and its code is stored with theirs. References are not counted in it (see `UNCOUNTED`) unless it `allocates`
    arrays. Other options are passed to `numba.njit`.
    """

    def decorate(function: Callable) -> Any:
        wrappers = {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner}  # for callers in C and in Python
        private = {"pipeline_class": inner_compiler if inner else None} | _counting(allocates or not inner)
        compiled = njit(**UNCOUNTED | private | wrappers | options)(function)
        if compiled is not function and not inner:  # NUMBA_DISABLE_JIT returns it unchanged
            _use_cache(compiled, function)
        return compiled

    return decorate


def as_inner(compiled: Any) -> Any:
    """Return a kernel as an inner function of other kernels."""
    return kernel(inner=True)(getattr(compiled, "py_func", compiled))


def by_type(implementations: Mapping[Any, Callable]) -> Any:
    """Return a function for compiled code: the one for the class of its first argument, a named tuple (else None)."""

    def chosen(first, *others):
        raise NotImplementedError("for compiled code only")

    @overload(chosen, jit_options=UNCOUNTED)
    def choose(first, *others):
        implementation = implementations[getattr(first, "instance_class", None)]
        return lambda first, *others: implementation(first, *others)

    return chosen


def _use_cache(compiled: Any, function: Callable) -> None:
    """Set the cache of a kernel, unless no folder is writable or numba's caching internals differ."""
    try:
        from drsvm.kernels.sealed_cache import SealedCache

        assert compiled._cache is not None
        compiled._cache = SealedCache(function)
    except Exception as error:
        message_once(f"drsvm's kernels cannot be cached and are compiled in every process: {error!r}", logging.WARNING)


class _Compilations(event.Listener):
    """Pauses the clock and shows the notice; numba sends no events for code that it loads from a cache."""

    def on_start(self, event):
        pauses.begin()
        if event.data["dispatcher"].py_func.__module__.startswith("drsvm."):
            message_once(NOTICE)

    def on_end(self, event):
        pauses.end()


event.register("numba:compile", _Compilations())
