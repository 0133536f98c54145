"""Ctrl-C whose exception gets lost, or would end the process.

Python drops a KeyboardInterrupt that is raised in a destructor, in the callback of a
weak reference, or in a function that C calls. So that a run does not continue as if
nothing had happened, it also keeps a record. LLVM calls such functions while numba
compiles or loads code, and cannot do without what they return: then Ctrl-C is only
recorded, and raises afterwards.
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


class PostponedInterrupts:
    """A handler of Ctrl-C between `begin` and `end`, which calls the previous one last.

    The two may be nested. Python delivers Ctrl-C only to the main thread; in other
    threads they do nothing.
    """

    def __init__(self):
        self.depth = 0  # the number of calls of `begin` without one of `end`
        self.pending = False
        self.previous: Any = None

    def __call__(self, number, frame) -> None:
        self.pending = True

    def begin(self) -> None:
        """Record Ctrl-C from now on."""
        if threading.current_thread() is not threading.main_thread():
            return
        if self.depth == 0:
            previous = signal.getsignal(signal.SIGINT)
            # Ctrl-C may be ignored, or end the process without Python.
            if not callable(previous):
                return
            self.previous = previous
            self.pending = False
            signal.signal(signal.SIGINT, self)
        # Ctrl-C cannot raise here any more: every `begin` that counts has its `end`.
        self.depth += 1

    def end(self) -> None:
        """Call the previous handler if Ctrl-C was pressed since `begin`."""
        is_main = threading.current_thread() is threading.main_thread()
        if self.depth == 0 or not is_main:
            return
        self.depth -= 1
        if self.depth == 0:
            signal.signal(signal.SIGINT, self.previous)
            if self.pending:
                self.previous(signal.SIGINT, None)


postponed = PostponedInterrupts()
