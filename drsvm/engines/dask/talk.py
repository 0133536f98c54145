"""Talk to single workers of a Dask cluster: a worker that is lost is replaced while others go on."""

import math
import queue
import time
from concurrent.futures import Future
from typing import Any

from drsvm.engines.sharded.coordinator import Talk
from drsvm.engines.sharded.part import Message, StateLost
from drsvm.model.rows import RowsLost

Group = tuple[int, ...]

GLANCE = 2.0
"""Seconds between two looks at whether workers that have not replied are still there."""


class DaskTalk(Talk):
    """Replies are put into one queue, in the order in which they come."""

    def __init__(self, coordinator: Any):
        self.coordinator = coordinator
        self.replies: queue.SimpleQueue[tuple[Group, Future]] = queue.SimpleQueue()
        self.waiting: dict[Group, Message] = {}
        self.sent: dict[Group, tuple[str, Future]] = {}  # where to, and the reply
        self.groups = [tuple(numbers) for _, numbers in coordinator.groups()]
        self.next_look = time.monotonic() + GLANCE

    def send(self, group: Group, message: Message) -> None:
        address = self.coordinator.places[group[0]]
        future = self.coordinator.mail.send(address, list(group), message)
        self.waiting[group], self.sent[group] = message, (address, future)
        future.add_done_callback(lambda done: self.replies.put((group, done)))

    def receive(self, seconds: float = math.inf) -> tuple[Group, Any]:
        until = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            if now >= self.next_look:
                self._look_after_workers()
            try:
                group, done = self.replies.get(timeout=max(min(until, self.next_look) - now, 0.0))
            except queue.Empty:
                if time.monotonic() >= until:
                    return (), None
                continue
            if group not in self.waiting or done is not self.sent[group][1]:  # of a worker that was thought to be lost
                continue
            reply = done.result()
            if reply is not None and reply.state_lost:
                raise StateLost
            if reply is not None and not reply.missing:
                del self.waiting[group]
                return group, reply.value
            self._build_again(group)

    def _look_after_workers(self) -> None:
        """Build the parts of workers that are gone again: it may take long until a connection notices that."""
        try:
            there = set(self.coordinator.client.scheduler_info()["workers"])
        except Exception as error:
            raise RowsLost(f"The Dask cluster does not reply ({type(error).__name__}: {error}).") from error
        for group in list(self.waiting):
            if self.sent[group][0] not in there:
                self._build_again(group)
        self.next_look = time.monotonic() + GLANCE

    def _build_again(self, group: Group) -> None:
        """Build the parts of a group again, and send them its message; they may now be on several workers."""
        message = self.waiting.pop(group)
        self.coordinator.restore(group)
        by_place: dict[str, list[int]] = {}
        for number in group:
            by_place.setdefault(self.coordinator.places[number], []).append(number)
        news = [tuple(numbers) for numbers in by_place.values()]
        self.groups = [other for other in self.groups if other != group] + news
        for new in news:
            self.send(new, message)
