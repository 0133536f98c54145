"""Code of inner functions, which only becomes part of the kernels that call them.

numba optimises every function by itself and turns it into machine code, and does so again for each kernel that contains
it. Of inner functions, only the unoptimised code is kept here, and a kernel links each of them once: this takes half as
long.

This relies on numba internals that differ between versions. Where a trial fails, kernels are compiled as usual.
"""

from functools import cache
from typing import Any

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags


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
                libraries.extend(other for other in library._linking_libraries if other not in libraries)
        self._linking_libraries = libraries
        super().finalize()

    def _optimize_functions(self, ll_module):
        """Do nothing: all code is optimised together."""

    def _optimize_final_module(self):
        """Optimise once: numba's first round is for counts of references, which hardly any kernel has."""
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)


class _SharedFlags(Flags):
    """Options of a function: numba looks them up tens of thousands of times, and compares them value by value."""

    __slots__ = ("_hash",)

    def copy(self):
        """Return itself: no option changes while a kernel is compiled."""
        return self

    def __hash__(self):
        if not hasattr(self, "_hash"):
            self._hash = super().__hash__()
        return self._hash

    def __eq__(self, other):
        return self is other or super().__eq__(other)


_shared: dict[Any, _SharedFlags] = {}


class InnerCompiler(Compiler):
    """Compiles a function for other compiled functions."""

    skipped = ("inline_closure_likes", "nopython_rewrites")  # for nested functions and array expressions: none here

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        library = library or LinkedCode(targetctx.codegen(), "inner")
        flags = _shared.setdefault(flags, _SharedFlags(flags))
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)

    def define_pipelines(self):
        """Return numba's passes without those that find nothing to do."""
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes[:] = [step for step in pipeline.passes if step[0].name() not in self.skipped]
        return pipelines


class KernelCompiler(Compiler):
    """Compiles a function that calls such functions."""

    def __init__(self, typingctx, targetctx, library, *others):
        if library is None:
            library = KernelCode(targetctx.codegen(), "kernel")
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *others)


@cache
def _works() -> bool:
    """Return whether a small kernel that calls such functions can be compiled and run."""

    def compiled(function: Any, compiler: type[Compiler]) -> Any:
        options: Any = {"pipeline_class": compiler, "no_cpython_wrapper": compiler is InnerCompiler}
        return njit(**options)(function)

    innermost = compiled(lambda x: x + 1, InnerCompiler)
    inner = compiled(lambda x: innermost(x), InnerCompiler)
    try:
        return compiled(lambda x: inner(x), KernelCompiler)(1) == 2
    except Exception:  # whatever numba raises where its internals differ
        return False


def inner_compiler(*arguments) -> Compiler:
    """Return a compiler for inner functions, or numba's own where its code does not work."""
    return (InnerCompiler if _works() else Compiler)(*arguments)


def kernel_compiler(*arguments) -> Compiler:
    """Return a compiler for kernels, or numba's own where its code does not work."""
    return (KernelCompiler if _works() else Compiler)(*arguments)
