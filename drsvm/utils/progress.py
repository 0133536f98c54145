"""Progress of long computations, and messages about them.

The work reports which share of it is done, and whoever shows that follows it:

.. code-block:: python

    # begin("solving") returns a function that receives shares; message receives texts
    with following(begin, message):
        with stage("solving"):          # work has stages, each from 0 to 1
            with part(0.0, 0.5):        # a part of a stage, from 0 to 1 again
                report_progress(0.1)    # 5 % of the stage

`verbose` of the estimators (`lines`), the bars of the command line (`cli/terminal.py`)
and `progress` of `make_report` follow it. Solvers report shares in one place, the loop
(`solvers/loop.py`), which also passes each certificate to the `callback` of `solve`.
Progress belongs to a thread; if it is not followed, reporting costs next to nothing.

Messages explain a delay, once per process. They are also logged by the logger
``drsvm``. In an interactive interpreter or a notebook, a message that nothing else
would show is printed on standard error, unless the logger has a level of its own:
``logging.getLogger("drsvm").setLevel("WARNING")`` ends this.
"""

import builtins
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

from drsvm.utils.clock import Stopwatch

ReportProgress = Callable[[float], None]
Begin = Callable[[str], ReportProgress]

# Lines are printed at least this many seconds apart, also from the start of a stage,
# and after at least this share of it.
SECONDS_BETWEEN_LINES = 4.0
SHARE_BETWEEN_LINES = 0.05

logger = logging.getLogger("drsvm")

# Who receives messages, and which were sent
_receivers: list[Callable[[str], object]] = []
_sent: set[str] = set()
# How a stage begins, and the function that receives the shares of the current work
_follower: ContextVar[tuple[Begin, ReportProgress] | None]
_follower = ContextVar("follower", default=None)


def ignore_progress(share: float) -> None:
    """Receive the progress that is not followed."""


@contextmanager
def following(
    begin: Begin | None = None, message: Callable[[str], object] | None = None
) -> Iterator[None]:
    """Follow the work in the block.

    Parameters
    ----------
    begin : callable, optional
        Receives the name of each stage of the work, and returns a function that
        receives the share that is done.
    message : callable, optional
        Receives the messages of all threads.
    """
    if message is not None:
        _receivers.append(message)
    followed = _followed(begin, ignore_progress) if begin else nullcontext()
    try:
        with followed:
            yield
    finally:
        if message is not None:
            _receivers.remove(message)


@contextmanager
def _followed(begin: Begin, receive: ReportProgress) -> Iterator[None]:
    """Let a function receive the progress of the block, which ends with 1."""
    token = _follower.set((begin, receive))
    try:
        yield
        receive(1.0)
    finally:
        _follower.reset(token)


def stage(text: str) -> AbstractContextManager[None]:
    """Name the work in a block, and start at 0."""
    follower = _follower.get()
    if follower is None:
        return nullcontext()
    begin, _ = follower
    return _followed(begin, begin(text))


def part(first: float, last: float) -> AbstractContextManager[None]:
    """Let the work in a block be a part of the current work."""
    follower = _follower.get()
    if follower is None:
        return nullcontext()
    begin, receive = follower

    def receive_part(share: float) -> None:
        receive(first + share * (last - first))

    return _followed(begin, receive_part)


def report_progress(share: float) -> None:
    """Report the share of the current work that is done."""
    follower = _follower.get()
    if follower is not None:
        _, receive = follower
        receive(share)


@contextmanager
def capture_progress() -> Iterator[ReportProgress]:
    """Enter a block with a function that replaces `report_progress`.

    Other work inside the block is not reported.
    """
    follower = _follower.get()
    if follower is None:
        yield ignore_progress
        return
    _, receive = follower
    token = _follower.set(None)
    try:
        yield receive
    finally:
        _follower.reset(token)


def message_once(text: str, level: int = logging.INFO) -> None:
    """Send a message, unless it has been sent before."""
    if text in _sent:
        return
    _sent.add(text)
    logger.log(level, text)
    for receive in list(_receivers):
        receive(text)
    is_interactive = hasattr(sys, "ps1") or hasattr(builtins, "__IPYTHON__")
    is_logged = logger.isEnabledFor(level) or logger.level != logging.NOTSET
    if is_interactive and not _receivers and not is_logged:
        print(text, file=sys.stderr, flush=True)


def lines(write: Callable[[str], object]) -> Begin:
    """Return a `begin` for `following` that writes lines during long stages."""

    def begin(text: str) -> ReportProgress:
        watch = Stopwatch()
        last_seconds = 0.0
        last_share = 0.0

        def receive(share: float) -> None:
            nonlocal last_seconds, last_share
            seconds = watch.elapsed()
            if seconds < last_seconds + SECONDS_BETWEEN_LINES:
                return
            if not last_share + SHARE_BETWEEN_LINES <= share < 1.0:
                return
            last_seconds = seconds
            last_share = share
            # As if the rest went on at the mean pace so far
            left = seconds * (1.0 - share) / share
            write(
                f"{text}: {share:.0%} after {duration(seconds)}, "
                f"about {duration(left)} left"
            )

        return receive

    return begin


def duration(seconds: float) -> str:
    """Return a time in words, such as 40 s or 3 min."""
    if seconds >= 7200.0:
        return f"{seconds / 3600.0:.0f} h"
    if seconds >= 120.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds:.0f} s"
