"""The coordinator of rows in parts sends messages to all of them, and has the log of every run."""

import itertools
import math
import uuid
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from drsvm.clock import Stopwatch
from drsvm.engines.sharded.part import Ball, Message, StateLost, Update
from drsvm.engines.sharded.vectors import FLIP, HINGE, Kept, Vector


class Coordinator(ABC):
    """Sends messages to all parts of the rows, and adds their replies. Every call of `ask` is one round."""

    def __init__(self):
        self.n_rounds = 0
        self.restored: list[int] = []  # numbers of the parts that were lost and built again
        self.runs: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()

    def ask(self, ball: Ball, query: Callable[..., Any], *arguments, vectors: Iterable[Vector | None] = ()) -> Any:
        """Return the sum of the values of a query, which may use vectors that runs have kept."""
        kept = [kept for vector in vectors if vector is not None for kept in vector.kept()]
        runs = [self.runs[name] for name in dict.fromkeys(kept.run for kept in kept)]
        return self.send(runs, ball, query, arguments)

    def send(self, runs: "list[Run]", ball: Ball, query: Callable[..., Any] | None = None, arguments=()) -> Any:
        """Bring runs up to date, and return the sum of the values of a query, or of the replies to the last change."""
        self.n_rounds += 1
        updates = tuple(run.news() for run in runs)
        try:
            reply = self.round(Message(updates, ball, query, arguments))
        except StateLost:
            complete = tuple(run.whole_log() for run in runs)
            reply = self.round(Message(complete, ball, query, arguments))
        for run, update in zip(runs, updates, strict=True):
            run.known = update.first + len(update.changes)
        return reply

    @abstractmethod
    def round(self, message: Message) -> Any:
        """Return the sum of the replies of all parts; raise StateLost if a part lacks the state.

        All parts exist when that is raised: they can make all changes again.
        """

    @abstractmethod
    def post(self, message: Message) -> None:
        """Send a message without waiting for a reply, or for a cluster that is gone."""

    def talk(self) -> "Talk":
        """Return a way to talk to single groups of parts."""
        raise NotImplementedError(f"{type(self).__name__} only sends messages to all parts.")

    @abstractmethod
    def forget(self, run: str) -> None:
        """Free what the parts keep for a run, without waiting. It may be called from any thread."""


class Talk(ABC):
    """Messages to single groups of parts: those that one thread of a machine has. Nobody waits for the slowest."""

    groups: list[tuple[int, ...]]
    """The numbers of the parts of each group; they change when a machine is lost."""

    waiting: dict[tuple[int, ...], Message]
    """The messages that have no reply yet."""

    @abstractmethod
    def send(self, group: tuple[int, ...], message: Message) -> None:
        """Send a message to a group that has replied to the last one."""

    @abstractmethod
    def receive(self, seconds: float = math.inf) -> tuple[tuple[int, ...], Any]:
        """Return the group that replies next, and its reply: None if none comes in time.

        A group that was lost replies once it is back.
        """

    def round(self, message: Message) -> Any:
        """Return the sum of the replies of all groups: in a fixed order, whatever the order in which they come."""
        for group in self.groups:
            self.send(group, message)
        replies = {}
        while self.waiting:
            group, reply = self.receive()
            replies[group] = reply
        return total(replies[group] for group in sorted(replies))

    def stopwatch(self) -> Stopwatch:
        """Return a watch of the time in which replies come."""
        return Stopwatch()


def total(replies: Iterable[Any]) -> Any:
    """Return the sum of the replies; None if there are none."""
    return reduce(lambda one, two: None if one is None else one + two, replies)


class Run:
    """The changes made so far to the state of a run, in the parts. Those without a reply wait for the next round.

    A log is cleared when all samples are centred, as nothing before that matters, unless something is kept from then.
    """

    def __init__(self, coordinator: Coordinator, ball: Ball):
        self.name, self.coordinator, self.ball = uuid.uuid4().hex, coordinator, ball
        self.base = self.known = 0
        self.log: list[tuple[str, tuple]] = []
        self._slots, self._used, self._free = itertools.count(), set(), deque()
        coordinator.runs[self.name] = self
        weakref.finalize(self, coordinator.forget, self.name).atexit = False

    def tell(self, change: str, *arguments) -> None:
        """Make a change without a reply."""
        self._drop_free_slots()
        if change == "center" and not self._used:
            self.base += len(self.log)
            self.known = self.base
            self.log.clear()
        self.log.append((change, arguments))

    def ask(self, change: str, *arguments) -> Any:
        """Make a change and return the sum of the replies."""
        self.tell(change, *arguments)
        return self.coordinator.send([self], self.ball)

    def query(self, query: Callable[..., Any], *arguments) -> Any:
        """Return the sum of the values of a query about the state."""
        self._drop_free_slots()
        return self.coordinator.send([self], self.ball, query, (self.name, *arguments))

    def keep(self, change: str, *arguments) -> tuple[Kept, Kept]:
        """Make a change that fills a new slot with α and β; it is in use as long as one of them is referred to."""
        number, slot = next(self._slots), Slot(self)
        self.tell(change, number, *arguments)
        self._used.add(number)
        weakref.finalize(slot, self._free.append, number)
        return Kept(self.name, number, HINGE, slot), Kept(self.name, number, FLIP, slot)

    def message(self, query: Callable[..., Any], *arguments, follow=None) -> Message:
        """Return a message with a query for a single group of parts, which may have been lost and know nothing."""
        self._drop_free_slots()
        return Message((self.whole_log(),), self.ball, query, (self.name, *arguments), follow)

    def end(self) -> None:
        """Free the state of all samples; what is in slots stays."""
        self.tell("end")
        self.coordinator.post(Message((self.news(),), self.ball))
        self.known = self.base + len(self.log)

    def news(self) -> Update:
        """Return the changes that the parts may not know yet."""
        return self._since(self.known)

    def whole_log(self) -> Update:
        """Return all changes."""
        return self._since(self.base)

    def _since(self, first: int) -> Update:
        return Update(self.name, self.ball, self.base, first, tuple(self.log[first - self.base :]))

    def _drop_free_slots(self) -> None:
        # Slots may be freed in any thread and at any time: only here are they taken off the list.
        while self._free:
            number = self._free.popleft()
            self._used.discard(number)
            self.log.append(("drop", (number,)))


class Slot:
    """A place in the memory of the parts of a run."""

    def __init__(self, run: Run):
        self.run = run
