"""How functions are compiled, and where compiled code is cached.

numba compiles a function on its first call with arguments of new types. Its own cache
keeps the result, but checks it against the function's own file only: a function that
calls one in another file would keep running that file's old code. Here, the name of the
cache's folder contains a digest of all files of this folder, so that code of one
version is never run by another.

Time limits do not include compiling or loading: the clock pauses meanwhile (see
`drsvm.utils.clock`). Ctrl-C raises KeyboardInterrupt afterwards, and processes are
forked before or afterwards.
"""

import gc
import hashlib
import logging
import operator
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from numba import config as numba_config
from numba import njit, types
from numba.core import event, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.extending import overload

from drsvm.utils.clock import pauses
from drsvm.utils.interrupts import postponed
from drsvm.utils.progress import message_once

NOTICE = (
    "Compiling drsvm's kernels, once per installation and kind of data: "
    "this takes 5 to 20 s."
)

# numba sets its attributes from environment variables, which type checkers cannot see.
config: Any = numba_config

# Of each function that has been called, or that one of them calls
dispatchers: dict[Any, Any] = {}


class _InnerCode(JITCodeLibrary):
    """Code that only becomes part of other functions: it never runs on its own.

    numba would optimise it and make machine code of it, and do so again in every
    function that contains it, several deep: a first fit would take 1.35 times as long.
    Here it is linked as it is, and optimised as a part of what Python calls.
    """

    small = False  # whether few instructions matter more than fast loops

    def add_ir_module(self, ir_module):
        if self.small:
            for function in ir_module.functions:
                if function.blocks:
                    function.attributes.add("optsize")
        super().add_ir_module(ir_module)

    def finalize(self):
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    @property
    def codegen(self) -> Any:
        """What an environment for calls from Python is given to: none is needed."""
        return self

    def set_env(self, *environment) -> None:
        pass


# Steps of numba's compiler for what is not in our functions: functions inside of
# functions, with statements, arithmetic with whole arrays, mixed containers. Without
# them, a first fit takes 7 % less time.
UNUSED_PASSES = {
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
}


OPERATORS = {name for name in vars(operator).values() if callable(name)}
# How numba finds what a function does for types of arguments, and what it has found
_functions: Any = types.Function
_find = _functions.get_call_type
_found = {}


def _remembered(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return what numba finds, or has found for the same operator and types.

    For every `+`, it would go through all that it can add, from dates to sets, and
    twice. A first fit would take 1.15 times as long.
    """
    if kws or function.typing_key not in OPERATORS:
        return _find(function, context, args, kws)
    key = function, context, args
    if key in _found:
        return _found[key]
    found = _find(function, context, args, kws)
    # Others are compiled for each function that uses them, with its options.
    if function.get_impl_key(found) is function.typing_key:
        _found[key] = found
    return found


class _Compiler(Compiler):
    """numba's compiler, without what our functions do not need."""

    def compile_extra(self, func: Callable) -> Any:
        # Only here, with the lock of numba's compiler: other packages use it as it is.
        before = _functions.get_call_type
        _functions.get_call_type = _remembered
        try:
            return super().compile_extra(func)
        finally:
            _functions.get_call_type = before

    def define_pipelines(self) -> list[PassManager]:
        (passes,) = super().define_pipelines()
        passes.passes = [step for step in passes.passes if step[0] not in UNUSED_PASSES]
        passes.finalize()
        return [passes]


class _InnerCompiler(_Compiler):
    """Compiles functions to `_InnerCode`."""

    def compile_extra(self, func: Callable) -> Any:
        codegen = self.state.targetctx.codegen()
        self.state.library = _InnerCode(codegen, func.__qualname__)
        # Functions with relaxed arithmetic have the loops over rows and features.
        # Without the distinction, a first fit would take 1.1 times as long.
        self.state.library.small = not self.state.flags.fastmath.flags
        return super().compile_extra(func)


# Options of code that is part of other compiled functions. It has no wrappers for
# callers in C and in Python, which saves compile time, and counts no references to
# arrays (`_nrt`): numba counts them for every array that is passed to a function or
# taken from a tuple, which costs more than the arithmetic of a short function. The
# caller owns the arrays meanwhile.
INNER: Any = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
    "pipeline_class": _InnerCompiler,
}


@global_compiler_lock
def dispatcher_of(function: Any, waiting: list[tuple[Callable, Callable, dict]]) -> Any:
    """Return what numba makes of a `CompiledFunction`.

    Before that, it is told of functions whose implementation depends on types.
    """
    while waiting:
        chosen, choose, given = waiting.pop(0)
        options: Any = {**INNER, **given}
        overload(chosen, jit_options=options, strict=False)(choose)
    if function not in dispatchers:
        dispatchers[function] = _dispatcher(function)
    return dispatchers[function]


def _dispatcher(function: Any) -> Any:
    options = {**INNER, **function.options}
    part = njit(**options)(function.py_func)
    if function.inner:
        return part
    own = {"no_cpython_wrapper": False, "pipeline_class": _Compiler}
    folder = cache_folder()
    with _numba_caches_in(folder):
        caches = folder is not None
        whole = njit(cache=caches, **{**options, **own})(function.py_func)
    # Compiled functions that call it contain it like any inner function. With the form
    # for Python, a first fit would take 1.2 times as long.
    whole.get_call_template = part.get_call_template
    whole.get_overload = part.get_overload
    return whole


@cache
def cache_folder() -> str | None:
    """Return the folder for compiled code of this version; None if none is writable.

    It is in NUMBA_CACHE_DIR, if that is set, otherwise beside the code, otherwise in
    the user's cache folder.
    """
    digest = hashlib.sha256()
    code = Path(__file__).parent
    for file in sorted(code.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    name = f"drsvm-{digest.hexdigest()[:16]}"
    if config.CACHE_DIR:
        parents = [Path(config.CACHE_DIR)]
    else:
        user = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
        parents = [code / "__pycache__", Path(user) / "drsvm"]
    for parent in parents:
        folder = parent / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Permissions alone do not tell whether files can be written.
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return str(folder)
    message_once(
        "drsvm's kernels cannot be cached and are compiled in every process: "
        "no folder for them is writable.",
        logging.WARNING,
    )
    return None


@contextmanager
def _numba_caches_in(folder: str | None) -> Iterator[None]:
    """Let numba use this folder for functions that are declared meanwhile."""
    usual = config.CACHE_DIR
    config.CACHE_DIR = folder
    try:
        yield
    finally:
        config.CACHE_DIR = usual


class _CompilerAtWork(event.Listener):
    """Pauses the clock and postpones Ctrl-C while numba compiles or loads code.

    Both hold its lock.
    """

    def on_start(self, event):
        # It may raise KeyboardInterrupt: nothing has begun then.
        postponed.begin()
        pauses.begin()

    def on_end(self, event):
        pauses.end()
        postponed.end()


class _Compiling(event.Listener):
    """Says that functions are compiled; there is no such event for cached ones.

    Python collects no garbage meanwhile: nearly all objects that compiling makes stay,
    and looking through them takes a tenth of its time.
    """

    def __init__(self):
        # Of each function that is being compiled, as part of the one before it
        self.collecting: list[bool] = []

    def on_start(self, event):
        if event.data["dispatcher"].py_func.__module__.startswith("drsvm."):
            message_once(NOTICE)
        self.collecting.append(gc.isenabled())
        gc.disable()

    def on_end(self, event):
        if self.collecting.pop():
            gc.enable()


def _after_fork() -> None:
    """Give the compiler's lock back in a forked process."""
    pauses.keep_one()
    global_compiler_lock.release()


event.register("numba:compiler_lock", _CompilerAtWork())
event.register("numba:compile", _Compiling())
# A process that is forked while another thread compiles would wait for it forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=_after_fork,
    )
