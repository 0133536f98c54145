"""The decorator that compiles kernels.

Compilation pauses the clock (see `drsvm.utils.clock`).
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from numba import njit
from numba.core import event
from numba.extending import overload

from drsvm.utils.clock import pauses
from drsvm.utils.progress import message_once

try:
    from drsvm.compiled.linked_code import inner_compiler, kernel_compiler
except ImportError:  # numba's internals differ: functions are compiled as usual
    inner_compiler = kernel_compiler = None

NOTICE = "Compiling drsvm's kernels, once per installation and kind of data: this takes 10 to 20 s."

# Relaxed floating-point rules: sums in any order, for vector instructions; or only
# fused multiply-add
FAST = {"reassoc", "contract", "nsz"}
SCALAR = {"contract", "nsz"}


# Options for code that allocates nothing. numba counts references to every array that
# is passed to a function or taken from a tuple, which costs more than the arithmetic of
# a short function. The caller owns the arrays, so the count need not change.
UNCOUNTED: Any = {"nogil": True, "error_model": "numpy", "_nrt": False}
# For callers in C and in Python
_WITHOUT_WRAPPERS = {
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}
# Options for code that is part of kernels, also in `numba.extending.overload`
INNER: Any = UNCOUNTED | _WITHOUT_WRAPPERS | {"pipeline_class": inner_compiler}


def kernel(
    *, inner: bool = False, allocates: bool = False, **options
) -> Callable[[Callable], Any]:
    """Return a decorator that compiles a function on its first call, to run without the GIL.

    Compiled code is cached; see `sealed_cache`. An `inner` function can be called by
    kernels only: that saves compile time, and its code is stored with theirs.
    References are not counted in it (see `UNCOUNTED`) unless it `allocates` arrays.
    Other options are passed to `numba.njit`.
    """

    def decorate(function: Callable) -> Any:
        if inner:
            own = INNER
        else:
            own = UNCOUNTED | {
                "pipeline_class": kernel_compiler,
                "no_cfunc_wrapper": True,
            }
        compiled = njit(**own | {"_nrt": allocates or not inner} | options)(function)
        if (
            compiled is not function and not inner
        ):  # NUMBA_DISABLE_JIT returns it unchanged
            _use_cache(compiled, function)
        return compiled

    return decorate


def as_inner(compiled: Any) -> Any:
    """Return a kernel as an inner function of other kernels."""
    return kernel(inner=True)(getattr(compiled, "py_func", compiled))


def rule(function: Callable) -> Any:
    """Return a function that Python calls as it is, and kernels as part of themselves."""
    overload(function, jit_options=INNER, strict=False)(lambda *_: function)
    return function


def by_type(implementations: Mapping[Any, Any]) -> Any:
    """Return a function for compiled code: the one for the class of its first argument, a named tuple (else None)."""

    def chosen(first, *others):
        raise NotImplementedError("for compiled code only")

    @overload(chosen, jit_options=INNER, strict=False)
    def choose(first, *others):
        implementation = implementations[getattr(first, "instance_class", None)]
        options = getattr(implementation, "targetoptions", {})
        if options.get("fastmath") or options.get("forceinline"):
            return lambda first, *others: implementation(first, *others)
        # Spares compiling a function that calls it
        return getattr(implementation, "py_func", implementation)

    return chosen


def _use_cache(compiled: Any, function: Callable) -> None:
    """Set the cache of a kernel, unless no folder is writable or numba's caching internals differ."""
    try:
        from drsvm.compiled.sealed_cache import SealedCache

        assert compiled._cache is not None
        compiled._cache = SealedCache(function)
    except Exception as error:
        message_once(
            f"drsvm's kernels cannot be cached and are compiled in every process: {error!r}",
            logging.WARNING,
        )


class _Compilations(event.Listener):
    """Pauses the clock and shows the notice.

    Numba sends no events for code that it loads from a cache.
    """

    def on_start(self, event):
        pauses.begin()
        if event.data["dispatcher"].py_func.__module__.startswith("drsvm."):
            message_once(NOTICE)

    def on_end(self, event):
        pauses.end()


event.register("numba:compile", _Compilations())
