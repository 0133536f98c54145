"""Progress of long computations and messages about them: the one way to report both, and to show them.

The work reports which share of it is done, and whoever shows that follows it:

.. code-block:: python

    with following(begin, message):             # begin("solving") returns a function of shares; message takes texts
        with stage("solving"):                  # work has stages, each from 0 to 1
            with part(0.0, 0.5):                # a part of a stage, from 0 to 1 again
                tell(0.1)                       # 5 % of the stage

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
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

from drsvm.utils.clock import Stopwatch

ReportProgress = Callable[[float], None]
Begin = Callable[[str], ReportProgress]
T = TypeVar("T")

# Lines are printed at least this many seconds apart, also from the start of a stage,
# and after this share of it.
FIRST_LINE = 4.0
SHARE_OF_LINE = 0.05

logger = logging.getLogger("drsvm")

_receivers: list[Callable[[str], object]] = []
_sent: set[str] = set()


class _Span(NamedTuple):
    """Work whose progress is followed: from the share `first` to the share `last` of a stage."""

    begin: Begin
    report_progress: ReportProgress
    first: float = 0.0
    last: float = 1.0

    def place(self, share: float) -> float:
        """Return the share of the stage."""
        return self.first + share * (self.last - self.first)

    def report(self, share: float) -> None:
        self.report_progress(self.place(share))


_span: ContextVar[_Span | None] = ContextVar("span", default=None)


@contextmanager
def _within(span: _Span | None, value: T) -> Iterator[T]:
    token = _span.set(span)
    try:
        yield value
        report_progress(1.0)
    finally:
        _span.reset(token)


@contextmanager
def following(
    begin: Begin | None = None, message: Callable[[str], object] | None = None
) -> Iterator[None]:
    """Follow the stages of the work in the block, which `begin` receives by name, and the messages of all threads."""
    if message is not None:
        _receivers.append(message)
    try:
        with (
            _within(_Span(begin, lambda share: None), None) if begin else nullcontext()
        ):
            yield
    finally:
        if message is not None:
            _receivers.remove(message)


def stage(text: str) -> AbstractContextManager[None]:
    """Name the work in a block, and start at 0."""
    span = _span.get()
    if span is None:
        return nullcontext()
    return _within(_Span(span.begin, span.begin(text)), None)


def part(first: float, last: float) -> AbstractContextManager[None]:
    """Let the work in a block be a part of the current work."""
    span = _span.get()
    if span is None:
        return nullcontext()
    return _within(span._replace(first=span.place(first), last=span.place(last)), None)


def report_progress(share: float) -> None:
    """Report the share of the current work that is done."""
    span = _span.get()
    if span is not None:
        span.report(share)


def capture_progress() -> AbstractContextManager[ReportProgress]:
    """Enter a block with a function in place of `tell`.

    Other work inside the block is not reported.
    """
    span = _span.get()
    if span is None:
        return nullcontext(ignore_progress)
    return _within(None, span.report)


def ignore_progress(share: float) -> None:
    """Replace `tell` where progress is not followed."""


def message_once(text: str, level: int = logging.INFO) -> None:
    """Send a message, unless it has been sent before."""
    if text in _sent:
        return
    _sent.add(text)
    logger.log(level, text)
    for receive in list(_receivers):
        receive(text)
    is_interactive = hasattr(sys, "ps1") or hasattr(builtins, "__IPYTHON__")
    is_shown = (
        bool(_receivers) or logger.isEnabledFor(level) or logger.level != logging.NOTSET
    )
    if is_interactive and not is_shown:
        print(text, file=sys.stderr, flush=True)


class Pace:
    """The time left for some work, from the pace in the latter half of the time so far."""

    def __init__(self):
        self._watch = Stopwatch()
        self._records = deque([(0.0, 0.0)])

    @property
    def share(self) -> float:
        """The share that is done; it never falls."""
        return self._records[-1][1]

    @property
    def seconds(self) -> float:
        return self._watch.elapsed()

    def record(self, share: float) -> None:
        now = self.seconds
        self._records.append((now, max(share, self.share)))
        while len(self._records) > 2 and self._records[1][0] <= 0.5 * now:
            self._records.popleft()

    def seconds_left(self) -> float | None:
        """Return the seconds that the rest is expected to take, or None if nothing is known yet."""
        (begun, before) = self._records[0]
        (last, share) = self._records[-1]
        if share <= before:
            return None
        at_last = (1.0 - share) * (last - begun) / (share - before)
        return max(0.0, at_last - (self.seconds - last))


def lines(write: Callable[[str], object]) -> Begin:
    """Return a function for `following` that writes a line now and then for stages of more than a few seconds."""

    def begin(text: str) -> ReportProgress:
        pace = Pace()
        last = (0.0, 0.0)

        def report_progress(share: float) -> None:
            nonlocal last
            pace.record(share)
            seconds = pace.seconds
            left = pace.seconds_left()
            if (
                seconds >= last[0] + FIRST_LINE
                and last[1] + SHARE_OF_LINE <= pace.share < 1.0
                and left is not None
            ):
                last = seconds, pace.share
                write(
                    f"{text}: {pace.share:.0%} after {duration(seconds)}, about {duration(left)} left"
                )

        return report_progress

    return begin


def duration(seconds: float) -> str:
    """Return a time in words, such as 40 s or 3 min."""
    size, unit = next(
        (pair for pair in ((3600.0, "h"), (60.0, "min")) if seconds >= 2 * pair[0]),
        (1.0, "s"),
    )
    return f"{seconds / size:.0f} {unit}"
