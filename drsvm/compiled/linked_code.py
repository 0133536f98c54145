"""Code of inner functions, which only becomes part of the kernels that call them.

numba optimises every function by itself and turns it into machine code, and does so
again for each kernel that contains it. Of inner functions, only the unoptimised code is
kept here, and a kernel links each of them once: this takes half as long.

This relies on numba internals that differ between versions. Where a trial fails,
kernels are compiled as usual.
"""

from functools import cache
from typing import Any

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class LinkedCode(JITCodeLibrary):
    """Code to be linked, but never executed by itself."""

    def finalize(self):
        """Do nothing: the kernels that contain this code link and optimise it."""
        self._finalized = True

    def _optimize_functions(self, ll_module):
        """Do nothing."""

    def get_pointer_to_function(self, name):
        """Return 0: there is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """The object whose `set_env` is called."""
        return self

    def set_env(self, env_name, env):
        """Do nothing: globals are needed only by functions that are called from Python."""


class KernelCode(JITCodeLibrary):
    """Code of a kernel, and of all inner functions in it."""

    def finalize(self):
        """Link all code that the kernel calls, optimise it and make machine code."""
        libraries = list(self._linking_libraries)
        for library in libraries:
            if isinstance(library, LinkedCode):
                libraries.extend(
                    other
                    for other in library._linking_libraries
                    if other not in libraries
                )
        self._linking_libraries = libraries
        super().finalize()

    def _optimize_functions(self, ll_module):
        """Do nothing: all code is optimised together."""

    def _optimize_final_module(self):
        """Optimise once: numba's first round is for counts of references, which hardly any kernel has."""
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)


def _inner_compiler(typing, target, library, *others) -> Compiler:
    return Compiler(
        typing, target, library or LinkedCode(target.codegen(), "inner"), *others
    )


def _kernel_compiler(typing, target, library, *others) -> Compiler:
    if library is None:
        library = KernelCode(target.codegen(), "kernel")
        library.enable_object_caching()
    return Compiler(typing, target, library, *others)


@cache
def _works() -> bool:
    """Return whether a small kernel that calls inner functions can be compiled and run."""

    def compiled(function: Any, compiler: Any) -> Any:
        options: Any = {
            "pipeline_class": compiler,
            "no_cpython_wrapper": compiler is _inner_compiler,
        }
        return njit(**options)(function)

    innermost = compiled(lambda x: x + 1, _inner_compiler)
    inner = compiled(lambda x: innermost(x), _inner_compiler)
    try:
        return compiled(lambda x: inner(x), _kernel_compiler)(1) == 2
    except Exception:  # whatever numba raises where its internals differ
        return False


def inner_compiler(*arguments) -> Compiler:
    """Return a compiler for functions that only compiled ones call, or numba's own where its code does not work."""
    return (_inner_compiler if _works() else Compiler)(*arguments)


def kernel_compiler(*arguments) -> Compiler:
    """Return a compiler for kernels, which call such functions, or numba's own where its code does not work."""
    return (_kernel_compiler if _works() else Compiler)(*arguments)
