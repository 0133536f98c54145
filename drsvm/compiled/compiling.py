"""The decorators that compile functions, and where compiled code is cached.

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
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from numba import config as numba_config
from numba import njit
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
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

# Relaxed floating-point rules: sums in any order, for vector instructions; or only
# fused multiply-add. Neither distinguishes 0.0 from −0.0.
FAST = {"reassoc", "contract", "nsz"}
SCALAR = {"contract", "nsz"}


class _InnerCode(JITCodeLibrary):
    """Code that only becomes part of other functions: it never runs on its own.

    numba would optimise it and make machine code of it, and do so again in every
    function that contains it, several deep: a first fit would take 1.35 times as long.
    Here it is linked as it is, and optimised as a part of what Python calls.
    """

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


class _InnerCompiler(Compiler):
    """Compiles functions to `_InnerCode`."""

    def compile_extra(self, func: Callable) -> Any:
        codegen = self.state.targetctx.codegen()
        self.state.library = _InnerCode(codegen, func.__qualname__)
        return super().compile_extra(func)


# Options of code that is part of other compiled functions, also in
# `numba.extending.overload`. It has no wrappers for callers in C and in Python, which
# saves compile time, and counts no references to arrays (`_nrt`): numba counts them for
# every array that is passed to a function or taken from a tuple, which costs more than
# the arithmetic of a short function. The caller owns the arrays meanwhile.
INNER: Any = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
    "pipeline_class": _InnerCompiler,
}


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
    options = {**INNER, "_nrt": allocates, **options}

    def decorate(function: Callable) -> Any:
        part = njit(**options)(function)
        if inner:
            return part
        own = {"no_cpython_wrapper": False, "pipeline_class": Compiler}
        folder = cache_folder()
        with _numba_caches_in(folder):
            whole = njit(cache=folder is not None, **{**options, **own})(function)
        # Compiled functions that call it contain it like any inner function. With the
        # form for Python, a first fit would take 1.2 times as long.
        whole.get_call_template = part.get_call_template
        whole.get_overload = part.get_overload
        return whole

    return decorate


def also_compiled(function: Callable) -> Any:
    """Return a function that Python calls as it is, and that compiled code includes.

    It decorates functions of a few numbers, for which a call from Python into compiled
    code would take longer than the arithmetic.
    """
    overload(function, jit_options=INNER, strict=False)(lambda *_: function)
    return function


def by_type(implementations: Mapping[Any, Any], **options) -> Any:
    """Return a function for compiled code: one of several, by its first argument.

    The types are classes of named tuples; None stands for all others. The choice is
    made while compiling, so that only the function that is needed is compiled, with
    options of `numba.njit` if any are given.
    """
    jit_options: Any = {**INNER, **options}

    def chosen(first, *others):
        raise NotImplementedError("for compiled code only")

    @overload(chosen, jit_options=jit_options, strict=False)
    def choose(first, *others):
        implementation = implementations[getattr(first, "instance_class", None)]
        # The function's source spares compiling a function that only calls it; options
        # of its own are lost.
        return getattr(implementation, "py_func", implementation)

    return chosen


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
