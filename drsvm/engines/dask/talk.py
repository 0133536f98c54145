"""Talk to single workers of a Dask cluster: a worker that is lost is replaced while others go on."""

import math
import queue
import time
from concurrent.futures import Future
from typing import Any

from drsvm.engines.parts.coordinator import Talk
from drsvm.engines.parts.part import Message, StateLost
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
        self.groups = [tuple(numbers) for _, numbers in coordinator.groups()]

    def send(self, group: Group, message: Message) -> None:
        self.waiting[group] = message
        future = self.coordinator.mail.send(self.coordinator.places[group[0]], list(group), message)
        future.add_done_callback(lambda done: self.replies.put((group, done)))

    def receive(self, seconds: float = math.inf) -> tuple[Group, Any]:
        until = time.monotonic() + seconds
        while True:
            try:
                group, done = self.replies.get(timeout=min(GLANCE, max(until - time.monotonic(), 0.0)))
            except queue.Empty:
                if time.monotonic() >= until:
                    return (), None
                self._look_after_workers()
                continue
            if group not in self.waiting:  # the answer of a worker that was thought to be lost
                continue
            reply = done.result()
            if reply is not None and reply.state_lost:
                raise StateLost
            if reply is not None and not reply.missing:
                del self.waiting[group]
                return group, reply.value
            self._build_again(group)

    def _look_after_workers(self) -> None:
        """Build the parts of workers that are gone again."""
        try:
            there = set(self.coordinator.client.scheduler_info()["workers"])
        except Exception as error:
            raise RowsLost(f"The Dask cluster does not reply ({type(error).__name__}: {error}).") from error
        for group in list(self.waiting):
            if self.coordinator.places[group[0]] not in there:
                self._build_again(group)

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
