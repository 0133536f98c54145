"""The coordinator of rows on a Dask cluster: a round is one message for every thread of the workers that have shards.

Messages go over connections of the client's own where it can reach the workers: every
worker has a mailbox, which replies as soon as it has a free thread. A worker that does
not have a shard (it is new, or Dask has moved the rows) reports it; the shard is then
built from the rows again, and makes all changes again. Replies are added here: in
trials with 16 and 64 threads, tasks that add them on the workers took longer than they
saved.
"""

import asyncio
import concurrent.futures
import math
import queue
import time
import uuid
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

from distributed import Client, Future, KilledWorker, wait
from distributed.actor import ProxyRPC
from distributed.comm.core import CommClosedError
from distributed.protocol.serialize import to_serialize

from drsvm.engines.dask import dask_worker as dask_worker
from drsvm.engines.dask.dask_blocks import Columns
from drsvm.engines.sharded.chunks import Survey
from drsvm.engines.sharded.coordinator import Coordinator, Group, WorkerChannel, total
from drsvm.engines.sharded.shard import Message
from drsvm.problem.reducers import Summable
from drsvm.problem.rows import RowsLost

FAN_IN = 8  # number of surveys that are added at a time
# Seconds to wait for a worker if there is none: one that was killed may be started
# again
PATIENCE = 30.0
# Average number of times that shards may be lost, as workers may be lost again and
# again
ATTEMPTS = 10
# Seconds between two looks at whether workers that have not replied are still there
GLANCE = 2.0
# seconds in which a worker must reply to the client directly, and must have a mailbox
REACH = 3.0
READY = 30.0
# packages that must agree with those of the workers
SAME_VERSION = "drsvm"
SAME_MAJOR_VERSION = ("numba", "numpy")
# Errors if the cluster is gone
LOST = (
    concurrent.futures.CancelledError,
    CommClosedError,
    ConnectionError,
    OSError,
)
# Errors of a connection: it is closed, or the worker was started again and does not
# know its mailbox.
CLOSED = (OSError, RuntimeError, KeyError, asyncio.CancelledError)
# How to reach a worker, and its mailbox, which exists as long as there is a reference
# to it.
Connection = tuple[Any, Future]


class DaskCoordinator(Coordinator):
    """Shards in the memory of workers."""

    def __init__(self, client: Client, columns: Columns):
        super().__init__()
        self.client = client
        self.columns = columns
        self.name = uuid.uuid4().hex
        self._checked: set[str] = set()  # workers whose versions are known to be right
        self._threads: dict[str, int] = {}
        # By the address of the worker
        self.connections: dict[str, asyncio.Future[Connection]] = {}
        weakref.finalize(
            self, _tell_workers, client, dask_worker.forget_shards, self.name
        ).atexit = False
        self._check_versions()
        # All of them, whether they will get chunks or not
        _tell_workers(client, dask_worker.forget_orphans)
        surveys: list[Survey] = self._of_chunks(
            "survey", dask_worker.survey, range(len(columns.X))
        )
        while len(surveys) > 1:  # they grow: a few are added at a time
            surveys = [
                total(surveys[first : first + FAN_IN])
                for first in range(0, len(surveys), FAN_IN)
            ]
        self.survey = surveys[0]
        self.units = self.survey.units()
        self.places: dict[int, str] = {}
        self._build([number for number, used in self.survey.used.items() if used > 0])

    def forget(self, run: str) -> None:
        _tell_workers(self.client, dask_worker.forget_runs, self.name, run)

    def groups(self, shards: Iterable[int]) -> list[Group]:
        """Return groups of shards on the same worker, one for each of its threads."""
        groups = []
        by_worker = defaultdict(list)
        for number in sorted(shards):
            by_worker[self.places[number]].append(number)
        for address, numbers in by_worker.items():
            n_threads = min(self._threads.get(address, 1), len(numbers))
            groups += [tuple(numbers[first::n_threads]) for first in range(n_threads)]
        return groups

    def channel(self) -> "DaskChannel":
        return DaskChannel(self)

    def _build(self, numbers: Iterable[int]) -> None:
        self.places |= dict(
            self._of_chunks("build", dask_worker.build, numbers, self.units)
        )
        if not set(self.places.values()) <= self._checked:
            self._check_versions()

    def restore(self, numbers: Sequence[int]) -> None:
        """Build shards that were lost again; at most ATTEMPTS times on average."""
        self.restored.extend(numbers)
        if len(self.restored) > ATTEMPTS * len(self.places):
            raise RowsLost(
                f"Parts of the rows were lost {ATTEMPTS} times: see the logs of the workers for the cause."
            )
        self._build(numbers)

    def _of_chunks(
        self, name: str, function: Callable, numbers: Iterable[int], *arguments
    ) -> list[Any]:
        """Return the values of a function for chunks, on the workers that have them."""
        futures = []
        try:
            for number in numbers:
                chunk = self.columns.chunk(number)
                key = f"drsvm-{name}-{uuid.uuid4().hex}"
                given = self.name, number, *arguments, chunk[0].key, *chunk
                futures.append(
                    self.client.submit(function, *given, key=key, pure=False)
                )
        except Exception as error:
            if self.client.status == "running":
                raise
            raise RowsLost(_gone(error)) from error
        return self._results(futures)

    def _check_versions(self) -> None:
        try:
            report: Any = self.client.get_versions(
                packages=[SAME_VERSION, *SAME_MAJOR_VERSION]
            )
            threads: Any = self.client.nthreads()
        except (*LOST, RuntimeError) as error:
            raise RowsLost(_gone(error)) from error
        self._threads = dict(threads)
        packages = report["client"]["packages"]
        for (address, versions), name in product(
            report["workers"].items(), (SAME_VERSION, *SAME_MAJOR_VERSION)
        ):
            there = versions["packages"].get(name) or "(none)"
            here = packages.get(name) or "(none)"
            exact = name == SAME_VERSION
            if there != here and (
                exact or there.partition(".")[0] != here.partition(".")[0]
            ):
                raise RuntimeError(
                    f"The worker {address} has {name} {there}, but this process has {name} {here}: install the same "
                    f"{'' if exact else 'major '}version on all machines."
                )
        self._checked |= set(report["workers"])

    def _results(self, futures: list[Future]) -> list[Any]:
        since = time.monotonic()
        while True:
            try:
                wait(futures, timeout=GLANCE)
                return self.client.gather(futures)  # pyright: ignore[reportReturnType]
            except TimeoutError as error:
                since = time.monotonic() if self._has_workers() else since
                if time.monotonic() - since > PATIENCE:
                    raise RowsLost(
                        f"The Dask cluster has had no worker at work for {PATIENCE:g} s: there is none, or all are "
                        "paused because their memory is full. Start more workers, and fit again."
                    ) from error
            except KilledWorker as error:
                raise RowsLost(
                    f"{error} The workers may lack memory: besides the rows, they need up to 130 bytes per row."
                ) from error
            except LOST as error:
                if any(future.status == "error" for future in futures):
                    raise  # by the task itself, such as a file that is not there
                raise RowsLost(_gone(error)) from error

    def _has_workers(self) -> bool:
        """Return whether there are workers, and not all of them paused."""
        try:
            workers: Any = self.client.scheduler_info()["workers"]
            return any(worker.get("status") != "paused" for worker in workers.values())
        except (*LOST, RuntimeError, TimeoutError):
            return False


def _gone(error: BaseException) -> str:
    return (
        f"The rows on the Dask cluster are lost ({type(error).__name__}: {error}). Either the scheduler is gone: start "
        "another cluster, load the rows and fit again; or rows that were scattered or only existed on a worker went "
        "with it: pass rows that Dask can compute again."
    )


def _tell_workers(client: Any, function: Callable, *arguments) -> None:
    """Call a function on all workers, without waiting.

    From any thread, and whether there are workers or not.
    """
    with suppress(Exception):
        client.loop.add_callback(_call, client, function, *arguments)


async def _call(client: Client, function: Callable, *arguments) -> None:
    with suppress(Exception):
        await client._run(function, *arguments, on_error="ignore")


class DaskChannel(WorkerChannel):
    """Replies are put into one queue, in the order in which they come."""

    def __init__(self, coordinator: DaskCoordinator):
        self.coordinator = coordinator
        self.client: Any = coordinator.client
        self.replies: queue.SimpleQueue[tuple[Group, concurrent.futures.Future]] = (
            queue.SimpleQueue()
        )
        self.waiting: dict[Group, Message] = {}
        # Where to, and the reply
        self.sent: dict[Group, tuple[str, concurrent.futures.Future]] = {}
        self.groups = coordinator.groups(coordinator.places)
        self.next_look = time.monotonic() + GLANCE

    def send(self, group: Group, message: Message) -> None:
        address = self.coordinator.places[group[0]]
        reply = self._reply(address, list(group), message)
        future = asyncio.run_coroutine_threadsafe(reply, self.client.loop.asyncio_loop)
        self.waiting[group] = message
        self.sent[group] = (address, future)
        future.add_done_callback(lambda done: self.replies.put((group, done)))

    async def _reply(
        self, address: str, numbers: list[int], message: Message
    ) -> Summable:
        """Return the sum of the replies of some shards; their errors are raised."""
        connections = self.coordinator.connections
        if address not in connections:
            connections[address] = asyncio.ensure_future(self._connect(address))
        try:
            worker, mailbox = await connections[address]
            arguments = [
                to_serialize(argument)
                for argument in (self.coordinator.name, numbers, message)
            ]
            reply = await worker.actor_execute(
                function="reply", actor=mailbox.key, args=arguments, kwargs={}
            )
        except CLOSED as error:
            connections.pop(address, None)
            raise dask_worker.ShardsLost from error
        if reply["status"] == "OK":
            return reply["result"]
        raise reply["exception"]

    async def _connect(self, address: str) -> Connection:
        options = {
            "actor": True,
            "workers": [address],
            "allow_other_workers": False,
            "pure": False,
        }
        mailbox = self.client.submit(dask_worker.Mailbox, **options)
        await mailbox.result(timeout=READY)
        if self.client.direct_to_workers is not False:
            direct = self.client.rpc(address)
            with suppress(
                OSError
            ):  # workers behind a firewall are reached by way of the scheduler
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
                group, done = self.replies.get(
                    timeout=max(min(until, self.next_look) - now, 0.0)
                )
            except queue.Empty:
                if time.monotonic() >= until:
                    return (), None
                continue
            if (
                group not in self.waiting or done is not self.sent[group][1]
            ):  # of a worker that was thought to be lost
                continue
            try:
                value = done.result()
            except dask_worker.ShardsLost:
                self._build_again(group)
                continue
            del self.waiting[group]
            return group, value

    def _look_after_workers(self) -> None:
        """Build the shards of workers that are gone again: it may take long until a connection notices that."""
        try:
            there = set(self.client.scheduler_info()["workers"])
        except Exception as error:
            raise RowsLost(
                f"The Dask cluster does not reply ({type(error).__name__}: {error})."
            ) from error
        for group in list(self.waiting):
            if self.sent[group][0] not in there:
                self._build_again(group)
        self.next_look = time.monotonic() + GLANCE

    def _build_again(self, group: Group) -> None:
        """Build the shards of a group again, and send them its message.

        They may now be on several workers.
        """
        message = self.waiting.pop(group)
        self.coordinator.restore(group)
        new_groups = self.coordinator.groups(group)
        self.groups = [other for other in self.groups if other != group] + new_groups
        for new in new_groups:
            self.send(new, message)
