"""Code of inner functions, which only becomes part of the kernels that call them.

numba optimises every function by itself and turns it into machine code, and does so again for each kernel that contains
it. Of inner functions, only the unoptimised code is kept here: this halves the time of compiling.

This relies on numba internals that may change. If one is missing, inner functions are compiled as usual.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class LinkedCode(JITCodeLibrary):
    """Code to be linked, but never executed by itself."""

    def add_llvm_module(self, ll_module):
        """Keep the code as it is."""
        self._final_module.link_in(ll_module)

    def finalize(self):
        """Collect the code of all functions that this one calls."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
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


class InnerCompiler(Compiler):
    """Compiles a function for other compiled functions."""

    def __init__(self, typingctx, targetctx, library, *others):
        super().__init__(typingctx, targetctx, library or LinkedCode(targetctx.codegen(), "inner"), *others)
