"""What the workers of a Dask cluster do: they keep shards, and reply to messages.

Everything here is called on a worker. Shards live outside of Dask's own store, which
may move, copy or spill what is in it, and are found by the name of their coordinator
and the number of their chunk.
"""

from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from distributed import Worker, get_worker

from drsvm.engines.sharded.chunks import Chunk, Survey, Units
from drsvm.engines.sharded.shard import Message, Shard, total_reply
from drsvm.problem.reducers import Summable
from drsvm.problem.validation import CheckedRows
from drsvm.utils.annotations import Matrix

# What a worker keeps, by the name of the coordinator (and the number of the chunk)
_shards: dict[str, dict[int, Shard]] = {}
_chunks: dict[str, dict[int, Chunk]] = {}  # checked, and not yet a shard
# Keys, in Dask's own store, of the data that shards are made of
_keys: dict[str, set[str]] = {}
# Checked rows by such a key, as long as a chunk or a shard has them
_rows: WeakValueDictionary[str, Matrix] = WeakValueDictionary()


class ChunkName(NamedTuple):
    """Which chunk it is, and of whose rows."""

    coordinator: str
    number: int
    key: str  # of its rows, in Dask's own store


def survey(name: ChunkName, X: Matrix, *columns) -> Survey:
    """Check a chunk, and return a description of it."""
    chunk = _checked(name, X, columns)
    _chunks.setdefault(name.coordinator, {})[name.number] = chunk
    return Survey.of(chunk)


def build(name: ChunkName, X: Matrix, *columns, units: Units) -> tuple[int, str]:
    """Make a shard of a chunk, if it is not here; return where it is."""
    _shard(name, units, X, columns)
    return name.number, get_worker().address


def _shard(name: ChunkName, units: Units, X: Matrix, columns: tuple) -> Shard:
    """Return the shard of a chunk, which is made if it is not here."""
    shards = _shards.setdefault(name.coordinator, {})
    if name.number not in shards:
        chunk = _chunks.get(name.coordinator, {}).pop(name.number, None)
        # The survey was made on another worker, or the shard was lost.
        if chunk is None:
            chunk = _checked(name, X, columns)
        shards[name.number] = chunk.shard(units)
        _keys.setdefault(name.coordinator, set()).add(name.key)
    return shards[name.number]


def _checked(name: ChunkName, X: Matrix, columns: tuple) -> Chunk:
    """Return a chunk with rows that are checked once, for all problems with them."""
    rows = X
    known = _rows.get(name.key)
    if known is not None:
        rows = CheckedRows(known)
    chunk = Chunk.checked(name.number, rows, *columns)
    _rows[name.key] = chunk.X
    return chunk


class ShardsLost(Exception):
    """Some of the shards that a message is for are not here."""


def reply(coordinator: str, numbers: list[int], message: Message) -> Summable:
    """Return the sum of the replies of some shards."""
    shards = _shards.get(coordinator, {})
    if not shards.keys() >= set(numbers):
        raise ShardsLost
    return total_reply((shards[number] for number in numbers), message)


class Mailbox:
    """Receives messages to the shards of a worker: a Dask actor."""

    async def reply(self, *content) -> Summable:
        """Return the sum of the replies of some shards.

        They are computed on a thread of the worker's own: actors have only one.
        """
        worker = get_worker()
        pool = worker.executors["default"]
        return await worker.loop.run_in_executor(pool, reply, *content)


def block_of(
    message: Message, name: ChunkName, units: Units, length: int, X, *columns
) -> np.ndarray:
    """Return the entries of a vector for the rows of a chunk.

    Those of weight 0 have the entry 0.
    """
    [values] = _shard(name, units, X, columns).reply(message)
    if len(values) == length:
        return np.array(values)
    # Columns are labels, weights and flip costs.
    weights = columns[1]
    block = np.zeros(length)
    block[np.flatnonzero(weights)] = values
    return block


def forget_runs(coordinator: str, run: str) -> None:
    """Free what the shards keep for a run."""
    for shard in _shards.get(coordinator, {}).values():
        shard.runs.pop(run, None)


def forget_shards(coordinator: str) -> None:
    """Free the shards."""
    for known in (_shards, _chunks, _keys):
        known.pop(coordinator, None)


def forget_orphans(dask_worker: Worker) -> None:
    """Free the shards of clients that disconnected: the cluster has freed their data.

    Dask passes the worker.
    """
    for coordinator, keys in list(_keys.items()):
        if not any(key in dask_worker.data for key in list(keys)):
            forget_shards(coordinator)
