"""Ctrl-C whose exception gets lost.

Python drops a KeyboardInterrupt that is raised in a destructor, in the callback of a
weak reference, or in a function that C calls, such as those of numba's compiler. So
that a run does not continue as if nothing had happened, it also keeps a record.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupts:
    """A handler of Ctrl-C that records it and calls the previous one, which raises."""

    def __init__(self, previous: Any):
        self.previous = previous
        self.pending = False

    def __call__(self, number, frame) -> None:
        self.pending = True
        self.previous(number, frame)

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed."""
        if self.pending:
            raise KeyboardInterrupt


@contextmanager
def recorded_interrupts() -> Iterator[Interrupts]:
    """Record Ctrl-C while the block runs, if Python turns it into a KeyboardInterrupt.

    Python delivers Ctrl-C only to the main thread; in other threads, nothing is
    recorded.
    """
    previous = signal.getsignal(signal.SIGINT)
    interrupts = Interrupts(previous)
    # Handlers of other programs may do anything, so they stay in place.
    raised = previous is signal.default_int_handler or isinstance(previous, Interrupts)
    if not raised or threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    try:
        signal.signal(signal.SIGINT, interrupts)
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, previous)
