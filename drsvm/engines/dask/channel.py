"""Messages to single workers of a Dask cluster, over connections of the client's own where it can reach them.

Every worker has a mailbox, which replies as soon as it has a free thread. A worker that is lost is replaced while
others go on.
"""

import asyncio
import math
import queue
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import distributed
from distributed.actor import ProxyRPC
from distributed.protocol.serialize import to_serialize

from drsvm.engines.dask.worker import Mailbox, Reply
from drsvm.engines.sharded.coordinator import Group, WorkerChannel
from drsvm.engines.sharded.shard import Message, StateLost
from drsvm.model.reducers import Summable
from drsvm.model.rows import RowsLost

if TYPE_CHECKING:
    from drsvm.engines.dask.coordinator import DaskCoordinator

REACH, READY = 3.0, 30.0
"""Seconds in which a worker must reply to the client directly, and in which it must have a mailbox."""

GLANCE = 2.0
"""Seconds between two looks at whether workers that have not replied are still there."""

GONE = (OSError, RuntimeError, KeyError, asyncio.CancelledError)
"""Errors of a connection: it is closed, or the worker was started again and does not know its mailbox."""

Connection = tuple[Any, distributed.Future]
"""How to reach a worker, and its mailbox, which lives as long as somebody refers to it."""


class DaskChannel(WorkerChannel):
    """Replies are put into one queue, in the order in which they come."""

    def __init__(self, coordinator: "DaskCoordinator"):
        self.coordinator = coordinator
        self.client: Any = coordinator.client
        self.replies: queue.SimpleQueue[tuple[Group, Future]] = queue.SimpleQueue()
        self.waiting: dict[Group, Message] = {}
        self.sent: dict[Group, tuple[str, Future]] = {}  # where to, and the reply
        self.groups = [tuple(numbers) for _, numbers in coordinator.groups()]
        self.next_look = time.monotonic() + GLANCE

    def send(self, group: Group, message: Message) -> None:
        address = self.coordinator.places[group[0]]
        reply = self._reply(address, list(group), message)
        future = asyncio.run_coroutine_threadsafe(reply, self.client.loop.asyncio_loop)
        self.waiting[group], self.sent[group] = message, (address, future)
        future.add_done_callback(lambda done: self.replies.put((group, done)))

    async def _reply(self, address: str, numbers: list[int], message: Message) -> Reply | None:
        """Return the reply of some shards, or None if their worker is gone; their errors are raised."""
        connections = self.coordinator.connections
        if address not in connections:
            connections[address] = asyncio.ensure_future(self._connect(address))
        try:
            worker, mailbox = await connections[address]
            arguments = [to_serialize(argument) for argument in (self.coordinator.name, numbers, message)]
            reply = await worker.actor_execute(function="reply", actor=mailbox.key, args=arguments, kwargs={})
        except GONE:
            connections.pop(address, None)
            return None
        if reply["status"] == "OK":
            return reply["result"]
        raise reply["exception"]

    async def _connect(self, address: str) -> Connection:
        options = {"actor": True, "workers": [address], "allow_other_workers": False, "pure": False}
        mailbox = self.client.submit(Mailbox, **options)
        await mailbox.result(timeout=READY)
        if self.client.direct_to_workers is not False:
            direct = self.client.rpc(address)
            with suppress(OSError):  # workers behind a firewall are reached by way of the scheduler
                await asyncio.wait_for(direct.identity(), REACH)
                return direct, mailbox
        return ProxyRPC(self.client.scheduler, address), mailbox

    def receive(self, seconds: float = math.inf) -> tuple[Group, Summable]:
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
        """Build the shards of workers that are gone again: it may take long until a connection notices that."""
        try:
            there = set(self.client.scheduler_info()["workers"])
        except Exception as error:
            raise RowsLost(f"The Dask cluster does not reply ({type(error).__name__}: {error}).") from error
        for group in list(self.waiting):
            if self.sent[group][0] not in there:
                self._build_again(group)
        self.next_look = time.monotonic() + GLANCE

    def _build_again(self, group: Group) -> None:
        """Build the shards of a group again, and send them its message; they may now be on several workers."""
        message = self.waiting.pop(group)
        self.coordinator.restore(group)
        by_place: dict[str, list[int]] = {}
        for number in group:
            by_place.setdefault(self.coordinator.places[number], []).append(number)
        new_groups = [tuple(numbers) for numbers in by_place.values()]
        self.groups = [other for other in self.groups if other != group] + new_groups
        for new in new_groups:
            self.send(new, message)
