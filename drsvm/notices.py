"""One-time notices for a waiting user: sent once per process to the logger ``drsvm`` and to all listeners.

In an interactive interpreter or a notebook, a notice that neither would show is printed on standard error, like a
progress bar. A level set for the logger is respected: ``logging.getLogger("drsvm").setLevel("WARNING")`` ends this.
"""

import builtins
import logging
import sys
from collections.abc import Callable
from contextlib import contextmanager

logger = logging.getLogger("drsvm")

_listeners: list[Callable[[str], None]] = []
_told: set[str] = set()


def tell_once(text: str, level: int = logging.INFO) -> None:
    """Send a notice, unless it has been sent before."""
    if text in _told:
        return
    _told.add(text)
    logger.log(level, text)
    for tell in list(_listeners):
        tell(text)
    nobody_listens = not _listeners and not logger.isEnabledFor(level)
    if nobody_listens and logger.level == logging.NOTSET and _is_interactive():
        print(text, file=sys.stderr, flush=True)


def _is_interactive() -> bool:
    """Return whether someone waits for an answer in an interpreter, IPython or a notebook."""
    return hasattr(sys, "ps1") or hasattr(builtins, "__IPYTHON__")


@contextmanager
def listening(tell: Callable[[str], None]):
    """Pass all notices to a function while the block runs."""
    _listeners.append(tell)
    try:
        yield
    finally:
        _listeners.remove(tell)
