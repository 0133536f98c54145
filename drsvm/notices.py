"""One-time notices for a waiting user: sent once per process to the logger ``drsvm`` and to all listeners."""

import logging
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


@contextmanager
def listening(tell: Callable[[str], None]):
    """Pass all notices to a function while the block runs."""
    _listeners.append(tell)
    try:
        yield
    finally:
        _listeners.remove(tell)
