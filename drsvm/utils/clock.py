"""Time limits, measured by a clock that is paused while numba compiles or loads kernels."""

import math
import numbers
import threading
import time
from contextlib import contextmanager

# a limit may be exceeded by this many seconds, or by this share of it if that is more
GRACE = 0.3
RELATIVE_GRACE = 0.1


class Pauses:
    """A clock that stands still during pauses.

    Overlapping pauses, in any threads, count once.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._open = 0
        # Length of the finished pauses, start of the current one
        self._state: tuple[float, float | None] = (
            0.0,
            None,
        )

    def begin(self) -> None:
        with self._lock:
            self._open += 1
            if self._open == 1:
                self._state = self._state[0], time.perf_counter()

    def end(self) -> None:
        with self._lock:
            self._open -= 1
            finished, start = self._state
            if self._open == 0 and start is not None:
                self._state = finished + time.perf_counter() - start, None

    def now(self) -> float:
        finished, start = self._state
        return (time.perf_counter() if start is None else start) - finished


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
        return pauses.now() - self.start

    def __getstate__(self) -> tuple[dict[str, object], float, float]:
        return vars(self), self.elapsed(), time.perf_counter()

    def __setstate__(self, state: tuple[dict[str, object], float, float]) -> None:
        attributes, elapsed, moment = state
        vars(self).update(attributes)
        # The time of the transfer counts
        self.start = pauses.now() - elapsed - (time.perf_counter() - moment)


class TimeLimit(Stopwatch):
    """A number of seconds, starting now, for a call and everything that it calls.

    `max_time` may be a TimeLimit wherever it may be a number; its time is already
    running. The limit of one problem always allows a first step. If several problems
    share a limit, those that start after the time is up do nothing: their limit is
    `spent`.
    """

    def __init__(
        self,
        seconds: float = math.inf,
        *,
        within: "TimeLimit | None" = None,
        spent: bool = False,
    ):
        self.seconds = seconds
        self.within = within
        self.spent = spent
        self.shared = False
        self.start = pauses.now()

    @classmethod
    def of(cls, max_time) -> "TimeLimit":
        """Return the limit given by a user: a number of seconds, None, or a limit that is already running."""
        if isinstance(max_time, TimeLimit):
            return max_time
        if max_time is None:
            return cls()
        if not isinstance(max_time, numbers.Real) or not float(max_time) > 0:
            raise ValueError(
                f"max_time must be a number of seconds > 0, got max_time={max_time!r}."
            )
        return cls(float(max_time))

    @property
    def limited(self) -> bool:
        return self.seconds < math.inf

    def left(self) -> float:
        """Return the remaining seconds; negative if the time is up."""
        own = self.seconds
        if own < math.inf:
            own -= pauses.now() - self.start
        if self.within is None:
            return own
        return min(own, self.within.left())

    @property
    def over(self) -> bool:
        return self.left() <= 0.0

    @property
    def long_over(self) -> bool:
        """Whether half of the grace period is used up too: from here on only free operations are done."""
        return self.left() < -0.5 * max(GRACE, RELATIVE_GRACE * self.seconds)

    def allows(self, seconds: float) -> bool:
        """Test if something that takes this many seconds may be started."""
        return seconds <= self.left() + max(GRACE, RELATIVE_GRACE * self.seconds)

    def share(self, parts: float) -> "TimeLimit":
        """Return a limit, starting now, for the next of `parts` remaining parts."""
        if self.seconds == math.inf:
            return self
        left = self.left()
        spent = self.spent or left == -math.inf or (self.shared and left <= 0.0)
        self.shared = True
        return TimeLimit(left / max(parts, 1.0), within=self, spent=spent)

    def stop(self) -> None:
        """End the time at once, for all that share this limit."""
        self.seconds = -math.inf
        self.spent = True
