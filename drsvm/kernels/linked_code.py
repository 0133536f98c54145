"""Code of inner functions, which only becomes part of the kernels that call them.

numba optimises every function by itself and turns it into machine code, and does so again for each kernel that contains
it. Of inner functions, only the unoptimised code is kept here: this halves the time of compiling.

This relies on numba internals that differ between versions. Where a trial fails, inner functions are compiled as usual.
"""

from functools import cache
from typing import Any

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class LinkedCode(JITCodeLibrary):
    """Code to be linked, but never executed by itself: numba's own methods collect the code of what it calls."""

    def _optimize_final_module(self, ll_module=None):
        """Do nothing: the kernels that contain this code are optimised."""

    _optimize_functions = _optimize_final_module

    def _finalize_final_module(self):
        """Make no machine code."""
        self._finalized = True

    def get_pointer_to_function(self, name):
        """Return 0: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """The object whose `set_env` is called."""
        return self

    def set_env(self, env_name, env):
        """Do nothing: globals are needed only by functions that are called from Python."""


def linking_compiler(typingctx, targetctx, library, *others) -> Compiler:
    """Return a compiler of a function for other compiled functions."""
    return Compiler(typingctx, targetctx, library or LinkedCode(targetctx.codegen(), "inner"), *others)


@cache
def _works() -> bool:
    """Return whether a small kernel that calls such a function can be compiled and run."""
    options: Any = {"pipeline_class": linking_compiler, "no_cpython_wrapper": True}  # numba takes any function
    inner = njit(**options)(lambda x: x + 1)
    try:
        return njit(lambda x: inner(x))(1) == 2
    except Exception:  # whatever numba raises where its internals differ
        return False


def inner_compiler(*arguments) -> Compiler:
    """Return such a compiler, or numba's own where its code does not work."""
    return (linking_compiler if _works() else Compiler)(*arguments)
