"""The coordinator of rows on a Dask cluster, and its connections to the workers.

A round is one message to every thread of the workers that have shards.
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
from typing import Any

from distributed import Client, Future, KilledWorker, wait
from distributed.actor import ProxyRPC
from distributed.comm.core import CommClosedError
from distributed.protocol.serialize import to_serialize

from drsvm.engines.dask import dask_worker
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
# Average number of times that a shard may be lost: if workers always die, as for lack
# of memory, a run would never end
ATTEMPTS = 10
# Seconds between two looks at whether workers that have not replied are still there
GLANCE = 2.0
# Seconds in which a worker must reply to the client directly, and must have a mailbox
REACH = 3.0
READY = 30.0
# Packages that must have the version of the workers' ones, or the same major version
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
    """Shards in the memory of workers.

    To create it takes two rounds: first the workers check their chunks of the data,
    then, with what is known about all rows, they make shards of them.
    """

    def __init__(self, client: Client, columns: Columns):
        super().__init__()
        self.client = client
        self.columns = columns
        self.name = uuid.uuid4().hex
        # By the address of a worker: those whose versions are known to be right, how
        # many threads each has, and the connection to it
        self._checked: set[str] = set()
        self._threads: dict[str, int] = {}
        self.connections: dict[str, asyncio.Future[Connection]] = {}
        # Workers free the shards with this object, but not at the end of the program:
        # then Dask tells them that the client is gone.
        weakref.finalize(
            self, _post_to_workers, client, dask_worker.forget_shards, self.name
        ).atexit = False
        self._check_versions()
        # All workers, whether they will get chunks or not
        _post_to_workers(client, dask_worker.forget_orphans)
        self.survey = self._survey()
        self.units = self.survey.units()
        self.places: dict[int, str] = {}  # the worker of each shard, by its address
        self._build([number for number, used in self.survey.used.items() if used > 0])

    def _survey(self) -> Survey:
        """Return what is known about all chunks, which are checked on the workers."""
        surveys = self._of_chunks(dask_worker.survey, range(len(self.columns.X)))
        # They are added in a tree, because sums grow, and because each sum keeps only
        # some of the flip costs: in a chain, the first chunks would count for less.
        while len(surveys) > 1:
            surveys = [
                total(surveys[first : first + FAN_IN])
                for first in range(0, len(surveys), FAN_IN)
            ]
        return surveys[0]

    def chunk_name(self, number: int) -> dask_worker.ChunkName:
        """Return how the workers call a chunk."""
        return dask_worker.ChunkName(self.name, number, self.columns.X[number].key)

    def forget(self, run: str) -> None:
        _post_to_workers(self.client, dask_worker.forget_runs, self.name, run)

    def groups(self, shards: Iterable[int]) -> list[Group]:
        """Return groups of shards on the same worker, one for each of its threads."""
        by_worker = defaultdict(list)
        for number in sorted(shards):
            by_worker[self.places[number]].append(number)
        groups = []
        for address, numbers in by_worker.items():
            n_threads = min(self._threads.get(address, 1), len(numbers))
            groups += [tuple(numbers[first::n_threads]) for first in range(n_threads)]
        return groups

    def channel(self) -> "DaskChannel":
        return DaskChannel(self)

    def _build(self, numbers: Iterable[int]) -> None:
        """Let the workers that have the chunks make shards of them."""
        built = self._of_chunks(dask_worker.build, numbers, units=self.units)
        self.places.update(built)
        # A worker may be new.
        if not set(self.places.values()) <= self._checked:
            self._check_versions()

    def restore(self, numbers: Sequence[int]) -> None:
        """Build shards that were lost again; at most ATTEMPTS times on average."""
        self.restored.extend(numbers)
        if len(self.restored) > ATTEMPTS * len(self.places):
            raise RowsLost(
                f"Parts of the rows were lost {ATTEMPTS} times: see the logs "
                "of the workers for the cause."
            )
        self._build(numbers)

    def _of_chunks(
        self, function: Callable, numbers: Iterable[int], **options
    ) -> list[Any]:
        """Return the values of a function for chunks, on the workers that have them."""
        futures = []
        try:
            for number in numbers:
                future = self.client.submit(
                    function,
                    self.chunk_name(number),
                    *self.columns.chunk(number),
                    key=f"drsvm-{function.__name__}-{uuid.uuid4().hex}",
                    pure=False,
                    **options,
                )
                futures.append(future)
        except Exception as error:
            if self.client.status == "running":
                raise
            raise RowsLost(_gone(error)) from error
        return self._results(futures)

    def _check_versions(self) -> None:
        """Raise an error if a worker has another version of a package that matters."""
        names = [SAME_VERSION, *SAME_MAJOR_VERSION]
        try:
            report: Any = self.client.get_versions(packages=names)
            threads: Any = self.client.nthreads()
        except (*LOST, RuntimeError) as error:
            raise RowsLost(_gone(error)) from error
        self._threads = dict(threads)
        packages = report["client"]["packages"]
        for address, versions in report["workers"].items():
            for name in names:
                there = versions["packages"].get(name) or "(none)"
                here = packages.get(name) or "(none)"
                if _fits(name, there, here):
                    continue
                kind = "" if name == SAME_VERSION else "major "
                raise RuntimeError(
                    f"The worker {address} has {name} {there}, but this "
                    f"process has {name} {here}: install the same "
                    f"{kind}version on all machines."
                )
        self._checked.update(report["workers"])

    def _results(self, futures: list[Future]) -> list[Any]:
        """Return the results of tasks; if there are no workers, wait for some time."""
        client: Any = self.client
        since = time.monotonic()
        while True:
            try:
                wait(futures, timeout=GLANCE)
                return client.gather(futures)
            except TimeoutError as error:
                # Tasks may take any time as long as there is a worker for them.
                if self._has_workers():
                    since = time.monotonic()
                if time.monotonic() - since > PATIENCE:
                    raise RowsLost(
                        "The Dask cluster has had no worker at work for "
                        f"{PATIENCE:g} s: there is none, or all are paused "
                        "because their memory is full. Start more workers, "
                        "and fit again."
                    ) from error
            except KilledWorker as error:
                raise RowsLost(
                    f"{error} The workers may lack memory: besides the rows, "
                    "they need up to 130 bytes per row."
                ) from error
            except LOST as error:
                # An error of the task itself, such as a file that is not there, is not
                # a loss.
                if any(future.status == "error" for future in futures):
                    raise
                raise RowsLost(_gone(error)) from error

    def _has_workers(self) -> bool:
        """Return whether there are workers, and not all of them paused."""
        try:
            workers: Any = self.client.scheduler_info()["workers"]
            return any(worker.get("status") != "paused" for worker in workers.values())
        except (*LOST, RuntimeError, TimeoutError):
            return False


def _fits(name: str, there: str, here: str) -> bool:
    """Return whether a worker's version of a package is compatible with ours."""
    if name == SAME_VERSION:
        return there == here
    return there.partition(".")[0] == here.partition(".")[0]


def _gone(error: BaseException) -> str:
    """Return the message for rows that cannot be built again."""
    return (
        f"The rows on the Dask cluster are lost ({type(error).__name__}: "
        f"{error}). Either the scheduler is gone: start another cluster, load "
        "the rows and fit again; or rows that were scattered or only existed "
        "on a worker went with it: pass rows that Dask can compute again."
    )


def _post_to_workers(client: Any, function: Callable, *arguments) -> None:
    """Call a function on all workers, without waiting.

    This may be called from any thread, and whether there are workers or not.
    """

    async def call() -> None:
        with suppress(Exception):
            await client._run(function, *arguments, on_error="ignore")

    with suppress(Exception):
        client.loop.add_callback(call)


class DaskChannel(WorkerChannel):
    """Replies are put into one queue, in the order in which they come."""

    def __init__(self, coordinator: DaskCoordinator):
        self.coordinator = coordinator
        self.client: Any = coordinator.client
        self.replies: queue.SimpleQueue[tuple[Group, concurrent.futures.Future]] = (
            queue.SimpleQueue()
        )
        self.waiting: dict[Group, Message] = {}
        # The address that the last message was sent to, and the future of its reply
        self.sent: dict[Group, tuple[str, concurrent.futures.Future]] = {}
        self.groups = coordinator.groups(coordinator.places)
        self.next_look = time.monotonic() + GLANCE

    def send(self, group: Group, message: Message) -> None:
        # Connections belong to the client's event loop, which is another thread. From
        # there, the reply is put into the queue.
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
        # Several groups may wait for the same connection while it is made.
        connections = self.coordinator.connections
        if address not in connections:
            connections[address] = asyncio.ensure_future(self._connect(address))
        arguments = (self.coordinator.name, numbers, message)
        try:
            worker, mailbox = await connections[address]
            # This is what calling a method of a Dask actor does, with arguments that
            # are serialised as Dask does it for tasks.
            reply = await worker.actor_execute(
                function="reply",
                actor=mailbox.key,
                args=[to_serialize(argument) for argument in arguments],
                kwargs={},
            )
        except CLOSED as error:
            connections.pop(address, None)
            raise dask_worker.ShardsLost from error
        if reply["status"] == "OK":
            return reply["result"]
        raise reply["exception"]

    async def _connect(self, address: str) -> Connection:
        """Create a mailbox on a worker, and connect to it."""
        mailbox = self.client.submit(
            dask_worker.Mailbox,
            actor=True,
            workers=[address],
            allow_other_workers=False,
            pure=False,
        )
        await mailbox.result(timeout=READY)
        if self.client.direct_to_workers is not False:
            direct = self.client.rpc(address)
            # Workers behind a firewall are reached by way of the scheduler.
            with suppress(OSError):
                await asyncio.wait_for(direct.identity(), REACH)
                return direct, mailbox
        return ProxyRPC(self.client.scheduler, address), mailbox

    def receive(self, seconds: float = math.inf) -> tuple[Group, Summable]:
        until = time.monotonic() + seconds
        while True:
            # 1. Wait for a reply, until the time is up or workers must be looked at.
            now = time.monotonic()
            if now >= self.next_look:
                self._look_after_workers()
            most = max(min(until, self.next_look) - now, 0.0)
            try:
                group, done = self.replies.get(timeout=most)
            except queue.Empty:
                if time.monotonic() >= until:
                    return (), None
                continue
            # 2. A reply may come from a worker that was thought to be lost.
            if group not in self.waiting or done is not self.sent[group][1]:
                continue
            # 3. An error of the shards is raised here.
            try:
                value = done.result()
            except dask_worker.ShardsLost:
                self._build_again(group)
                continue
            del self.waiting[group]
            return group, value

    def _look_after_workers(self) -> None:
        """Build the shards of workers that have left the cluster again.

        A connection to such a worker may take long to fail.
        """
        try:
            there = set(self.client.scheduler_info()["workers"])
        except Exception as error:
            raise RowsLost(
                f"The Dask cluster does not reply ({type(error).__name__}: {error})."
            ) from error
        for group in list(self.waiting):
            address, _ = self.sent[group]
            if address not in there:
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
