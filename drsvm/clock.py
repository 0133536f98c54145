"""Time limits, on a clock that stands still while numba compiles or loads kernels: that is no time spent on solving."""

import math
import numbers
import threading
import time
from bisect import bisect_right
from contextlib import contextmanager

GRACE, RELATIVE_GRACE = 0.3, 0.1
"""A limit may be overrun by so many seconds or by this share of it, whichever is more."""


class Pauses:
    """When the clock of this process stood still; pauses that overlap, in whichever threads, count once."""

    def __init__(self):
        self._lock = threading.Lock()
        self._open = 0
        self._starts: list[float] = []
        self._ends: list[float] = []  # of the pauses that are over
        self._totals = [0.0]  # length of the first k of them

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
        """Return for how long the clock has stood still up to a moment."""
        begun = bisect_right(self._starts, moment)
        if begun == 0:
            return 0.0
        over = begun <= len(self._ends) and self._ends[begun - 1] <= moment
        return self._totals[begun] if over else self._totals[begun - 1] + moment - self._starts[begun - 1]


pauses = Pauses()


@contextmanager
def paused():
    """Let the clock stand still while the block runs."""
    pauses.begin()
    try:
        yield
    finally:
        pauses.end()


class Stopwatch:
    """Seconds since it was made, without pauses. It may go to another process, whose own pauses count there."""

    def __init__(self):
        self.began = time.perf_counter()

    def elapsed(self) -> float:
        """Return the seconds so far."""
        now = time.perf_counter()
        return now - self.began - (pauses.total_until(now) - pauses.total_until(self.began))


class TimeLimit:
    """A number of seconds from now on, for a call and for all that it calls.

    `max_time` may be one of these wherever it may be a number: then the time has begun already. The limit of one
    problem always allows a first step; where many share a limit, those whose turn comes when the time is over do
    nothing: their limit is `spent`.
    """

    def __init__(self, seconds: float = math.inf, *, within: "TimeLimit | None" = None, spent: bool = False):
        self.seconds, self.within, self.spent = seconds, within, spent
        self.watch, self.shared = Stopwatch(), False

    @classmethod
    def of(cls, max_time) -> "TimeLimit":
        """Return the limit that a user has given: a number of seconds, None, or a limit that runs already."""
        if isinstance(max_time, TimeLimit):
            return max_time
        if max_time is None:
            return cls()
        if not isinstance(max_time, numbers.Real) or not float(max_time) > 0:
            raise ValueError(f"max_time must be a number of seconds > 0, got max_time={max_time!r}.")
        return cls(float(max_time))

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.seconds < math.inf

    def left(self) -> float:
        """Return the seconds left; negative where time is over."""
        own = self.seconds if math.isinf(self.seconds) else self.seconds - self.watch.elapsed()
        return own if self.within is None else min(own, self.within.left())

    @property
    def over(self) -> bool:
        """Whether there is no time left."""
        return self.left() <= 0.0

    @property
    def long_over(self) -> bool:
        """Whether half of the grace is gone, too: from here on only what costs nothing is done."""
        return self.left() < -0.5 * self._grace

    @property
    def _grace(self) -> float:
        return max(GRACE, RELATIVE_GRACE * self.seconds)

    def allows(self, seconds: float) -> bool:
        """Say whether something may be begun that takes so many seconds."""
        return seconds <= self.left() + self._grace

    def share(self, parts: float) -> "TimeLimit":
        """Return a limit, from now on, for the next one of so many parts that are still to be done."""
        if not self.limited:
            return self
        left = self.left()
        spent = self.spent or left == -math.inf or (self.shared and left <= 0.0)
        self.shared = True
        return TimeLimit(left / max(parts, 1.0), within=self, spent=spent)

    def stop(self) -> None:
        """Let the time be over at once, for everyone who shares this limit."""
        self.seconds, self.spent = -math.inf, True
