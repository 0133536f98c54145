"""A disk cache of compiled kernels, each with a seal: a digest of its code and of all files in this folder.

numba's own cache checks a kernel only against its own file: a kernel that calls one in
another file would keep running that file's old code. Here, code that does not match its
seal (outdated, truncated or damaged) is recompiled.

This relies on numba internals that may change. If one is missing, nothing is cached
(see `compiling`).
"""

import hashlib
import logging
import pickle
from functools import cache
from pathlib import Path

from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps

from drsvm.utils.clock import paused

logger = logging.getLogger("drsvm")


@cache
def _source() -> bytes:
    """Return a digest of all files in this folder."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.digest()


def _seal(code: bytes) -> bytes:
    return hashlib.sha256(_source() + code).digest()


class _SealedResults(CompileResultCacheImpl):
    """How a compiled function is stored."""

    checked = False  # whether a seal has been checked

    def reduce(self, cres):
        code = dumps(super().reduce(cres))
        return _seal(code), code

    def rebuild(self, target_context, payload):  # pyright: ignore[reportIncompatibleMethodOverride]  # None: no valid code
        seal, code = payload
        self.checked = True
        if seal == _seal(code):
            return super().rebuild(target_context, pickle.loads(code))
        return None


def _is_plain(kind: types.Type) -> bool:
    """Return whether numba makes Python objects of a returned value without running Python code.

    For arrays and named tuples it does run some. If Ctrl-C has been pressed meanwhile,
    that code raises KeyboardInterrupt, which numba does not expect: the process ends
    with a segmentation fault.
    """
    if isinstance(kind, types.Tuple | types.UniTuple):
        return all(_is_plain(part) for part in kind)
    return isinstance(kind, types.Number | types.Boolean | types.NoneType)


class SealedCache(FunctionCache):
    """The cache of one kernel."""

    _impl_class = _SealedResults

    def load_overload(self, sig, target_context):
        """Return the code for a signature, or None if there is none that can be trusted."""
        with paused():
            try:
                found = super().load_overload(sig, target_context)
                # Processes that save code for different signatures at the same time may
                # mix up the files' numbers.
                trusted = (
                    found
                    and self._impl.checked
                    and tuple(found.signature.args) == tuple(sig)
                )
            except Exception as error:
                logger.info(
                    "A cached kernel cannot be read and is recompiled: %r", error
                )
                return None
        return found if trusted else None

    def save_overload(self, sig, data):
        """Store the code for a signature; reset a damaged index.

        Log a warning if this fails.
        """
        if not _is_plain(data.signature.return_type):
            raise TypeError(
                f"{self._name} returns {data.signature.return_type}: return numbers or fill an array."
            )
        with paused():
            try:
                super().save_overload(sig, data)
            except Exception:
                try:
                    self.flush()
                    super().save_overload(sig, data)
                except Exception as error:
                    logger.warning("A compiled kernel cannot be stored: %r", error)
