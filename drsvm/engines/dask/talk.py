"""Talk to single workers of a Dask cluster, directly: a worker that is lost is replaced while others go on."""

import asyncio
import math
import queue
import time
from typing import Any

from drsvm.engines.dask import worker as dask_worker
from drsvm.engines.parts.coordinator import Talk
from drsvm.engines.parts.part import Message
from drsvm.model.rows import RowsLost

Group = tuple[int, ...]

GLANCE = 2.0
"""Seconds between two looks at whether workers that have not replied are still there."""


class DaskTalk(Talk):
    """Every worker has a mailbox; replies are put into one queue, in the order in which they come."""

    def __init__(self, coordinator: Any):
        self.coordinator, self.client = coordinator, coordinator.client
        self.mailboxes: dict[str, Any] = {}
        self.replies: queue.Queue[tuple[Group, Any]] = queue.Queue()
        self.waiting: dict[Group, Message] = {}
        self.groups = [tuple(numbers) for _, numbers in coordinator.groups()]

    def send(self, group: Group, message: Message) -> None:
        self.waiting[group] = message
        address = self.coordinator.places[group[0]]
        try:
            if address not in self.mailboxes:
                self.mailboxes[address] = self._mailbox(address)
            reply = self.mailboxes[address].reply(self.coordinator.name, list(group), message)
        except Exception as error:  # whatever the cause is, the parts are then built again where their rows are
            self.replies.put((group, error))
            return
        future = asyncio.run_coroutine_threadsafe(_waited(reply), self.client.loop.asyncio_loop)
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
            reply = _reply_of(done)
            if reply is not None and not reply.missing and not reply.state_lost:
                del self.waiting[group]
                return group, reply.value
            self._build_again(group)

    def _mailbox(self, address: str) -> Any:
        options = {"actor": True, "workers": [address], "allow_other_workers": False, "pure": False}
        mailbox = self.client.submit(dask_worker.Mailbox, **options).result(timeout=30)
        mailbox._client = self.client  # otherwise it looks for the default client, which need not be this one
        return mailbox

    def _look_after_workers(self) -> None:
        """Build the parts of workers that are gone again."""
        try:
            there = set(self.client.scheduler_info()["workers"])
        except Exception as error:
            raise RowsLost(f"The Dask cluster does not reply ({type(error).__name__}: {error}).") from error
        for group in list(self.waiting):
            if self.coordinator.places[group[0]] not in there:
                self._build_again(group)

    def _build_again(self, group: Group) -> None:
        """Build the parts of a group again, and send them its message; they may now be on several workers."""
        message = self.waiting.pop(group)
        self.mailboxes.pop(self.coordinator.places[group[0]], None)
        self.coordinator.restore(group)
        by_place: dict[str, list[int]] = {}
        for number in group:
            by_place.setdefault(self.coordinator.places[number], []).append(number)
        news = [tuple(numbers) for numbers in by_place.values()]
        self.groups = [other for other in self.groups if other != group] + news
        for new in news:
            self.send(new, message)


async def _waited(reply) -> Any:
    return await reply


def _reply_of(done) -> Any:
    """Return a reply, or None if the worker is gone; errors of the parts themselves are raised."""
    if isinstance(done, Exception):
        return None
    error = done.exception()
    if error is None:
        return done.result()
    if isinstance(error, OSError | RuntimeError | ValueError):
        return None
    raise error
