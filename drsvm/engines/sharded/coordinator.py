"""The coordinator of sharded rows sends messages to all shards, and logs every run.

The state of the samples of a run is in the shards. The log of the run, here, has all
changes that were made to this state, so a shard that was lost, and built again from its
rows, repeats them. What has a reply is sent at once, together with the changes that the
shards do not know yet: this is one round.
"""

import itertools
import math
import uuid
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable

from drsvm.engines.sharded.shard import (
    FLIP,
    HINGE,
    Kept,
    Message,
    Query,
    RemoteVector,
    ShardParameters,
    StateLost,
    Update,
    kept_vectors,
)
from drsvm.problem.reducers import Summable
from drsvm.utils.clock import Stopwatch

# The numbers of some shards on the same worker, to which one message goes: one of its
# threads replies for all of them
Group = tuple[int, ...]


class Coordinator(ABC):
    """Sends messages to all shards of the rows, and adds their replies.

    Every call of `ask` or `send` is one round.
    """

    def __init__(self):
        self.n_rounds = 0
        # Numbers of the shards that were lost and built again
        self.restored: list[int] = []
        # By name; a run lives as long as its engine, or a vector that it has kept.
        self.runs: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()

    def ask(
        self,
        parameters: ShardParameters,
        query: Query,
        *arguments,
        vectors: Iterable[RemoteVector | None] = (),
    ) -> Summable:
        """Return the sum over all shards of the values of a query.

        `vectors` are those among its arguments that runs may have kept in the shards.
        """
        return self.send(self.runs_of(vectors), parameters, query, arguments)

    def runs_of(self, vectors: Iterable[RemoteVector | None]) -> "list[Run]":
        """Return the runs that have kept what vectors are computed from."""
        names = {kept.run for kept in kept_vectors(vectors)}
        return [self.runs[name] for name in sorted(names)]

    def send(
        self,
        runs: "list[Run]",
        parameters: ShardParameters,
        query: Query | None = None,
        arguments=(),
    ) -> Summable:
        """Bring runs up to date in all shards, and return the sum of the replies.

        Without a query, the replies are those to the last change.
        """
        self.n_rounds += 1
        updates = tuple(run.changes_since(run.known) for run in runs)
        try:
            reply = self.round(Message(updates, parameters, query, arguments))
        except StateLost:
            # A shard that was built again has made no changes: all get the whole log,
            # of which the others make only what is new.
            complete = tuple(run.changes_since(run.base) for run in runs)
            reply = self.round(Message(complete, parameters, query, arguments))
        for run, update in zip(runs, updates, strict=True):
            run.known = update.first + len(update.changes)
        return reply

    def round(self, message: Message) -> Summable:
        """Return the sum of all replies.

        Raise StateLost, once all shards exist, if one of them lacks the state.
        """
        return self.channel().round(message)

    def post(self, message: Message) -> None:
        """Send a message without waiting for a reply, or for a cluster that is gone."""
        channel = self.channel()
        for group in channel.groups:
            channel.send(group, message)

    @abstractmethod
    def channel(self) -> "WorkerChannel":
        """Return a new channel to single workers."""

    @abstractmethod
    def forget(self, run: str) -> None:
        """Free what the shards keep for a run, without waiting.

        It may be called from any thread.
        """


class WorkerChannel(ABC):
    """Messages to single workers, and their replies in the order in which they arrive.

    The slowest worker delays no other.
    """

    groups: list[Group]  # they change when a worker is lost
    waiting: dict[Group, Message]  # messages that have no reply yet

    @abstractmethod
    def send(self, group: Group, message: Message) -> None:
        """Send a message to a group that has replied to the last one."""

    @abstractmethod
    def receive(self, seconds: float = math.inf) -> tuple[Group, Summable]:
        """Return the group that replies next, and its reply.

        The reply is None if none comes in time. A group that was lost replies once it
        is built again.
        """

    def round(self, message: Message) -> Summable:
        """Return the sum of the replies of all groups.

        They are added in a fixed order, so that sums can be repeated.
        """
        for group in self.groups:
            self.send(group, message)
        replies = {}
        while self.waiting:
            group, reply = self.receive()
            replies[group] = reply
        return total(replies[group] for group in sorted(replies))

    def stopwatch(self) -> Stopwatch:
        """Return a stopwatch of the clock by which replies arrive."""
        return Stopwatch()


def total(replies: Iterable[Summable]) -> Summable:
    """Return the sum of replies, which may all be None."""
    first, *others = replies
    if first is None:
        return None
    return sum(others, first)


class Run:
    """The state of a run in the shards, as the log of its changes.

    Changes are numbered from 0 on. Those without a reply are only logged, and sent in
    the next round. If a shard is lost, the one that takes its place makes all changes
    of the log, in the same order with the same arguments, and so has the same state.
    """

    def __init__(self, coordinator: Coordinator, parameters: ShardParameters):
        self.name = uuid.uuid4().hex
        self.coordinator = coordinator
        self.parameters = parameters
        self.base = 0  # number of the first change in the log
        self.known = 0  # number of the first change that was not sent to all shards
        self.log: list[tuple[str, tuple]] = []
        # Numbers for new slots, those in use, and those that are to be dropped
        self._slots = itertools.count()
        self._used: set[int] = set()
        self._free: deque[int] = deque()
        coordinator.runs[self.name] = self
        # The shards free their state with this object, but not at the end of the
        # program: then there may be no connection any more.
        weakref.finalize(self, coordinator.forget, self.name).atexit = False

    def send(self, change: str, *arguments) -> None:
        """Log a change whose reply does not matter, for the next round."""
        self._drop_free_slots()
        if change == "center" and not self._used:
            # Centring sets the whole state: earlier changes no longer matter, unless
            # something is kept from then.
            self.base += len(self.log)
            self.known = self.base
            self.log.clear()
        self.log.append((change, arguments))

    def ask(self, change: str, *arguments) -> Summable:
        """Make a change and return the sum of the replies."""
        self.send(change, *arguments)
        return self.coordinator.send([self], self.parameters)

    def query(self, query: Query, *arguments) -> Summable:
        """Return the sum of the values of a query, which takes the run's name first."""
        self._drop_free_slots()
        arguments = (self.name, *arguments)
        return self.coordinator.send([self], self.parameters, query, arguments)

    def keep(self, change: str, *arguments) -> tuple[Kept, Kept]:
        """Make a change that fills a new slot with α and β.

        It is in use as long as one of them is referred to.
        """
        number = next(self._slots)
        slot = Slot(self)
        self.send(change, number, *arguments)
        self._used.add(number)
        weakref.finalize(slot, self._free.append, number)
        return Kept(self.name, number, HINGE, slot), Kept(self.name, number, FLIP, slot)

    def message(self, query: Query, *arguments, next_arguments=None) -> Message:
        """Return a message with a query for a single group of shards.

        It has the whole log, as the group may have been lost.
        """
        self._drop_free_slots()
        updates = (self.changes_since(self.base),)
        arguments = (self.name, *arguments)
        return Message(updates, self.parameters, query, arguments, next_arguments)

    def end(self) -> None:
        """Free the state of all samples; what is in slots stays."""
        self.send("end")
        update = self.changes_since(self.known)
        self.coordinator.post(Message((update,), self.parameters))
        self.known = self.base + len(self.log)

    def changes_since(self, first: int) -> Update:
        """Return the changes from number `first` on.

        All shards have been sent those before `known`.
        """
        changes = tuple(self.log[first - self.base :])
        return Update(self.name, self.parameters, self.base, first, changes)

    def _drop_free_slots(self) -> None:
        # The finalizer of a slot may run in any thread and at any time: it only puts
        # the number into a queue, and the change is logged here.
        while self._free:
            number = self._free.popleft()
            self._used.discard(number)
            self.log.append(("drop", (number,)))


class Slot:
    """Stands for a place in the memory of the shards of a run.

    Vectors refer to it, and it refers to the run: neither is freed while a vector may
    be used.
    """

    def __init__(self, run: Run):
        self.run = run
