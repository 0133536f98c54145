"""Messages to the workers of a Dask cluster, over connections of the client's own where it can reach them."""

import asyncio
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from distributed.actor import ProxyRPC
from distributed.protocol.serialize import to_serialize

from drsvm.engines.dask.worker import Mailbox, Reply
from drsvm.engines.sharded.part import Message

REACH, READY = 3.0, 30.0
"""Seconds in which a worker must reply to the client directly, and in which it must have a mailbox."""

GONE = (OSError, RuntimeError, KeyError, asyncio.CancelledError)
"""Errors of a connection: it is closed, or the worker was started again and does not know its mailbox."""


class Mail:
    """Every worker has a mailbox, which replies as soon as it has a free thread."""

    def __init__(self, client: Any, coordinator: str):
        self.client, self.coordinator = client, coordinator
        self.lines: dict[str, asyncio.Future] = {}

    def send(self, address: str, numbers: list[int], message: Message) -> Future:
        """Return the future of the reply of some parts, or of None if their worker is gone; their errors are raised."""
        return asyncio.run_coroutine_threadsafe(self._reply(address, numbers, message), self.client.loop.asyncio_loop)

    async def _reply(self, address: str, *content) -> Reply | None:
        if address not in self.lines:
            self.lines[address] = asyncio.ensure_future(self._line(address))
        try:
            worker, mailbox = await self.lines[address]
            arguments = [to_serialize(one) for one in (self.coordinator, *content)]
            reply = await worker.actor_execute(function="reply", actor=mailbox.key, args=arguments, kwargs={})
        except GONE:
            self.lines.pop(address, None)
            return None
        if reply["status"] == "OK":
            return reply["result"]
        raise reply["exception"]

    async def _line(self, address: str) -> tuple[Any, Any]:
        options = {"actor": True, "workers": [address], "allow_other_workers": False, "pure": False}
        mailbox = self.client.submit(Mailbox, **options)
        await mailbox.result(timeout=READY)
        if self.client.direct_to_workers is not False:
            direct = self.client.rpc(address)
            with suppress(OSError):  # workers behind a firewall are reached by way of the scheduler
                await asyncio.wait_for(direct.identity(), REACH)
                return direct, mailbox
        return ProxyRPC(self.client.scheduler, address), mailbox
