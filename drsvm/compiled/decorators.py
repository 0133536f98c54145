"""The decorators of compiled functions.

The compiler itself, `compiling`, imports numba. That takes a fifth of the time of an
import of scikit-learn, so it waits until a function is called: predictions need none.
"""

import os
import threading
from collections.abc import Callable, Mapping
from functools import cache, update_wrapper
from importlib import import_module
from typing import Any

from drsvm.utils.clock import pauses
from drsvm.utils.interrupts import postponed
from drsvm.utils.lazy import cached_property

# Relaxed floating-point rules: sums in any order, for vector instructions; or only
# fused multiply-add. Neither distinguishes 0.0 from −0.0.
FAST = {"reassoc", "contract", "nsz"}
SCALAR = {"contract", "nsz"}

# Functions for compiled code that numba does not know yet: each with the function that
# chooses its implementation by the types of the arguments, and options
waiting: list[tuple[Callable, Callable, dict]] = []


_importing = threading.RLock()


@cache
def _compiler() -> Any:
    """Import the compiler; Ctrl-C raises KeyboardInterrupt afterwards."""
    postponed.begin()
    pauses.begin()
    try:
        with _importing:
            return import_module("drsvm.compiled.compiling")
    finally:
        pauses.end()
        postponed.end()


# A process that is forked while another thread imports would wait for it forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_importing.acquire,
        after_in_parent=_importing.release,
        after_in_child=_importing.release,
    )


class CompiledFunction:
    """A function that is compiled when it is first called."""

    def __init__(self, function: Callable, inner: bool, options: dict):
        update_wrapper(self, function)
        self.py_func = function
        self.inner = inner
        self.options = options

    @cached_property
    def dispatcher(self) -> Any:
        """What numba makes of it."""
        return _compiler().dispatcher_of(self, waiting)

    def __call__(self, *arguments) -> Any:
        return self.dispatcher(*arguments)

    @property
    def _numba_type_(self) -> Any:
        # numba asks for it when another function calls this one.
        return self.dispatcher._numba_type_

    def __reduce__(self) -> str:
        return self.py_func.__qualname__


def compiled(
    *, inner: bool = False, allocates: bool = False, **options
) -> Callable[[Callable], Any]:
    """Return a decorator that compiles a function when it is first called.

    The code runs without the GIL.

    Parameters
    ----------
    inner : bool
        Whether only compiled functions call it. That saves compile time, and its code
        is stored with theirs.
    allocates : bool
        Whether it allocates arrays; otherwise it counts no references to them.
    **options
        Options of `numba.njit`.

    Returns
    -------
    decorator : callable
    """
    options["_nrt"] = allocates

    def decorate(function: Callable) -> Any:
        return CompiledFunction(function, inner, options)

    return decorate


def for_types(function: Callable, **options) -> Callable[[Callable], Callable]:
    """Return a decorator for what chooses an implementation of a function.

    Compiled code then includes that. The choice is made while compiling, so that only
    the implementation that is needed is compiled; `options` are those of `numba.njit`.
    """

    def decorate(choose: Callable) -> Callable:
        waiting.append((function, choose, options))
        return choose

    return decorate


def also_compiled(function: Callable) -> Any:
    """Return a function that Python calls as it is, and that compiled code includes.

    It decorates functions of a few numbers, for which a call from Python into compiled
    code would take longer than the arithmetic.
    """
    for_types(function)(lambda *_: function)
    return function


def sum_over_row(function: Callable) -> Any:
    """Return a sum over the entries of a row, for compiled code.

    Dense rows take vector instructions. Sparse ones do not: these would gather numbers
    from memory, which takes 2.8 ns per entry on processors that are protected against
    the leaks of such instructions. One after the other takes 0.8 ns there, and about
    the same elsewhere.
    """
    dense = compiled(inner=True, fastmath=FAST)(function)
    sparse = compiled(inner=True, fastmath=SCALAR)(function)

    def chosen(data, indices, *others):
        raise NotImplementedError("for compiled code only")

    @for_types(chosen)
    def choose(data, indices, *others):
        if hasattr(indices, "ndim"):
            return lambda data, indices, *others: sparse(data, indices, *others)
        return lambda data, indices, *others: dense(data, indices, *others)

    return chosen


def by_type(implementations: Mapping[Any, Any], **options) -> Any:
    """Return a function for compiled code: one of several, by its first argument.

    The types are classes of named tuples; None stands for all others. The options are
    those of `numba.njit`.
    """

    def chosen(first, *others):
        raise NotImplementedError("for compiled code only")

    @for_types(chosen, **options)
    def choose(first, *others):
        implementation = implementations[getattr(first, "instance_class", None)]
        # The function's source spares compiling a function that only calls it; options
        # of its own are lost.
        return getattr(implementation, "py_func", implementation)

    return chosen
