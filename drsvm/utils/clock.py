"""Time limits by a clock that is paused while numba compiles or loads functions."""

import math
import numbers
import threading
import time
from contextlib import contextmanager

from drsvm.utils.arguments import about

# A limit may be exceeded by this many seconds, or by this share of it if that is more.
GRACE = 0.3
RELATIVE_GRACE = 0.1


class Pauses:
    """A clock that stands still during pauses.

    Overlapping pauses, in any threads, count once.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._open = 0  # the number of pauses that have begun and not ended
        # The length of the finished pauses and the start of the current one, in one
        # tuple, so that `now` reads both without the lock.
        self._state: tuple[float, float | None] = (0.0, None)

    def begin(self) -> None:
        """Begin a pause; the clock stands still from the first one on."""
        with self._lock:
            self._open += 1
            if self._open == 1:
                self._state = (self._state[0], time.perf_counter())

    def end(self) -> None:
        """End a pause; the clock goes on after the last one."""
        with self._lock:
            self._open -= 1
            finished, start = self._state
            if self._open == 0 and start is not None:
                self._state = (finished + time.perf_counter() - start, None)

    def keep_one(self) -> None:
        """Keep the pause of this thread, after a fork: the others do not end here."""
        # Another thread may have held the lock.
        self._lock = threading.Lock()
        self._open = 1

    def now(self) -> float:
        """Return the seconds since some time in the past, without pauses."""
        finished, start = self._state
        if start is None:
            start = time.perf_counter()
        return start - finished


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
    """Seconds since creation, without the pauses of this process."""

    def __init__(self):
        self.start = pauses.now()

    def elapsed(self) -> float:
        """Return the seconds since creation."""
        return pauses.now() - self.start

    # Stopwatches are sent to workers in other processes, and keep running there.
    def __getstate__(self) -> tuple[dict[str, object], float, float]:
        return vars(self), self.elapsed(), time.perf_counter()

    def __setstate__(self, state: tuple[dict[str, object], float, float]) -> None:
        attributes, elapsed, sent = state
        vars(self).update(attributes)
        # The clocks of processes differ in their pauses. The time of the transfer
        # counts.
        self.start = pauses.now() - elapsed - (time.perf_counter() - sent)


class TimeLimit(Stopwatch):
    """A number of seconds, starting now, for a call and everything that it calls.

    `max_time` may be a TimeLimit wherever it may be a number; its time is already
    running. The limit of one problem always allows a first step. If several problems
    share a limit, those that start after the time is up do nothing: their limit is
    `spent`.

    Parameters
    ----------
    seconds : float, default=inf
        The seconds from now on.
    within : TimeLimit, default=None
        A limit that this one cannot outlast.
    spent : bool, default=False
        Whether not even a first step is allowed.
    """

    def __init__(
        self,
        seconds: float = math.inf,
        *,
        within: "TimeLimit | None" = None,
        spent: bool = False,
    ):
        super().__init__()
        self.seconds = seconds
        self.within = within
        self.spent = spent
        self.shared = False  # whether a part of it was given away (`share`)

    @classmethod
    def of(cls, max_time) -> "TimeLimit":
        """Return the limit for seconds, None, or a limit that is already running.

        Parameters
        ----------
        max_time : float, TimeLimit or None
            As users pass it; None for no limit.
        """
        if isinstance(max_time, TimeLimit):
            return max_time
        if max_time is None:
            return cls()
        seconds = 0.0
        if isinstance(max_time, numbers.Real):
            with about("max_time"):
                seconds = float(max_time)
        if not seconds > 0:
            raise ValueError(
                f"max_time must be a number of seconds > 0, got max_time={max_time!r}."
            )
        return cls(seconds)

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.seconds < math.inf

    @property
    def grace(self) -> float:
        """The seconds by which the limit may be exceeded."""
        return max(GRACE, RELATIVE_GRACE * self.seconds)

    def left(self) -> float:
        """Return the remaining seconds; negative if the time is up."""
        own = self.seconds
        if self.limited:
            own -= self.elapsed()
        if self.within is None:
            return own
        return min(own, self.within.left())

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.left() <= 0.0

    @property
    def long_over(self) -> bool:
        """Whether half of the grace is used up: only what takes no time may follow."""
        return self.left() < -0.5 * self.grace

    def allows(self, seconds: float) -> bool:
        """Return True if something that takes this many seconds may be started."""
        return seconds <= self.left() + self.grace

    def share(self, parts: float) -> "TimeLimit":
        """Return a limit, starting now, for the next of `parts` remaining parts.

        Each gets an equal share of the time that is left; what one does not use is left
        to the others.
        """
        if not self.limited:
            return self
        left = self.left()
        # The first part may make a first step in any case.
        spent = self.spent or left == -math.inf or (self.shared and left <= 0.0)
        self.shared = True
        return TimeLimit(left / max(parts, 1.0), within=self, spent=spent)

    def stop(self) -> None:
        """End the time at once, for all that share this limit."""
        self.seconds = -math.inf
        self.spent = True
