"""Time limits, measured by a clock that is paused while numba compiles or loads kernels."""

import math
import numbers
import threading
import time
from bisect import bisect_right
from contextlib import contextmanager

GRACE, RELATIVE_GRACE = 0.3, 0.1
"""A limit may be exceeded by this many seconds or by this share of it, whichever is more."""


class Pauses:
    """The pauses of this process's clock; overlapping pauses, in any threads, count once."""

    def __init__(self):
        self._lock = threading.Lock()
        self._open = 0
        self._starts: list[float] = []
        self._ends: list[float] = []  # of the finished pauses
        self._totals = [0.0]  # total length of the first k finished pauses

    def begin(self) -> None:
        with self._lock:
            self._open += 1
            if self._open == 1:
                self._starts.append(time.perf_counter())

    def end(self) -> None:
        with self._lock:
            self._open -= 1
            if self._open == 0:
                self._ends.append(time.perf_counter())
                self._totals.append(self._totals[-1] + self._ends[-1] - self._starts[-1])

    def total_until(self, moment: float) -> float:
        """Return the total length of the pauses up to a moment."""
        started = bisect_right(self._starts, moment)
        if started == 0:
            return 0.0
        over = started <= len(self._ends) and self._ends[started - 1] <= moment
        return self._totals[started] if over else self._totals[started - 1] + moment - self._starts[started - 1]


pauses = Pauses()


@contextmanager
def paused():
    """Pause the clock while the block runs."""
    pauses.begin()
    try:
        yield
    finally:
        pauses.end()


class Stopwatch:
    """Seconds since creation, without pauses. In another process, the pauses of that process count."""

    def __init__(self):
        self.start = time.perf_counter()

    def elapsed(self) -> float:
        """Return the seconds so far."""
        now = time.perf_counter()
        return now - self.start - (pauses.total_until(now) - pauses.total_until(self.start))


class TimeLimit:
    """A number of seconds, starting now, for a call and everything that it calls.

    `max_time` may be a TimeLimit wherever it may be a number; its time is already running. The limit of one problem
    always allows a first step. If several problems share a limit, those that start after the time is up do nothing:
    their limit is `spent`.
    """

    def __init__(self, seconds: float = math.inf, *, within: "TimeLimit | None" = None, spent: bool = False):
        self.seconds, self.within, self.spent = seconds, within, spent
        self.watch, self.shared = Stopwatch(), False

    @classmethod
    def of(cls, max_time) -> "TimeLimit":
        """Return the limit given by a user: a number of seconds, None, or a limit that is already running."""
        if isinstance(max_time, TimeLimit):
            return max_time
        if max_time is None:
            return cls()
        if not isinstance(max_time, numbers.Real) or not float(max_time) > 0:
            raise ValueError(f"max_time must be a number of seconds > 0, got max_time={max_time!r}.")
        return cls(float(max_time))

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.seconds < math.inf

    def left(self) -> float:
        """Return the remaining seconds; negative if the time is up."""
        own = self.seconds if math.isinf(self.seconds) else self.seconds - self.watch.elapsed()
        return own if self.within is None else min(own, self.within.left())

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.left() <= 0.0

    @property
    def long_over(self) -> bool:
        """Whether half of the grace period is used up too: from here on only free operations are done."""
        return self.left() < -0.5 * self._grace

    @property
    def _grace(self) -> float:
        return max(GRACE, RELATIVE_GRACE * self.seconds)

    def allows(self, seconds: float) -> bool:
        """Return whether something that takes this many seconds may be started."""
        return seconds <= self.left() + self._grace

    def share(self, parts: float) -> "TimeLimit":
        """Return a limit, starting now, for the next of `parts` remaining parts."""
        if not self.limited:
            return self
        left = self.left()
        spent = self.spent or left == -math.inf or (self.shared and left <= 0.0)
        self.shared = True
        return TimeLimit(left / max(parts, 1.0), within=self, spent=spent)

    def stop(self) -> None:
        """End the time at once, for all that share this limit."""
        self.seconds, self.spent = -math.inf, True
