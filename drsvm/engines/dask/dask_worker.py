"""What the workers of a Dask cluster do: they keep shards of the rows in their memory, and reply to messages.

Everything here is called on a worker. Shards live outside of Dask's own store, which
may move, copy or spill what is in it, and are found by the name of their coordinator
and the number of their chunk.
"""

from weakref import WeakValueDictionary

import numpy as np
from distributed import Worker, get_worker

from drsvm.engines.sharded.chunks import Chunk, Survey, Units
from drsvm.engines.sharded.shard import Message, Shard, total_reply
from drsvm.problem.reducers import Summable
from drsvm.problem.validation import CheckedRows
from drsvm.utils.annotations import Matrix

_shards: dict[str, dict[int, Shard]] = {}
_chunks: dict[str, dict[int, Chunk]] = {}  # checked, and not yet a shard
_keys: dict[str, set[str]] = {}  # of the data that shards are made of
# Checked rows, by the key of the data
_rows: WeakValueDictionary[str, Matrix] = WeakValueDictionary()


def survey(coordinator: str, number: int, rows_key: str, X: Matrix, *columns) -> Survey:
    """Check a chunk, and return a description of it."""
    chunk = _checked(number, rows_key, X, columns)
    _chunks.setdefault(coordinator, {})[number] = chunk
    return Survey.of(chunk)


def build(
    coordinator: str, number: int, units: Units, rows_key: str, X: Matrix, *columns
) -> tuple[int, str]:
    """Make a shard of a chunk, if it is not here; return where it is."""
    _shard(coordinator, number, units, rows_key, X, columns)
    return number, get_worker().address


def _shard(
    coordinator: str,
    number: int,
    units: Units,
    rows_key: str,
    X: Matrix,
    columns: tuple,
) -> Shard:
    shards = _shards.setdefault(coordinator, {})
    if number not in shards:
        chunk = _chunks.get(coordinator, {}).pop(number, None) or _checked(
            number, rows_key, X, columns
        )
        shards[number] = chunk.shard(units)
        _keys.setdefault(coordinator, set()).add(rows_key)
    return shards[number]


def _checked(number: int, rows_key: str, X: Matrix, columns: tuple) -> Chunk:
    known = _rows.get(rows_key)
    chunk = Chunk.checked(number, X if known is None else CheckedRows(known), *columns)
    _rows[rows_key] = chunk.X
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
        """Return the sum of the replies of some shards, on a thread of the worker's own: actors have only one."""
        worker = get_worker()
        return await worker.loop.run_in_executor(
            worker.executors["default"], reply, *content
        )


def block_of(
    message: Message,
    coordinator: str,
    number: int,
    units: Units,
    length: int,
    rows_key: str,
    X,
    *columns,
):
    """Return the entries of a vector for the rows of a chunk.

    Those of weight 0 have the entry 0.
    """
    shard = _shard(coordinator, number, units, rows_key, X, columns)
    [values] = shard.reply(message)
    if len(values) == length:
        return np.array(values)
    block = np.zeros(length)
    block[np.flatnonzero(columns[1])] = values
    return block


def forget_runs(coordinator: str, run: str) -> None:
    """Free what the shards keep for a run."""
    for shard in _shards.get(coordinator, {}).values():
        shard.runs.pop(run, None)


def forget_shards(coordinator: str) -> None:
    """Free the shards."""
    _shards.pop(coordinator, None)
    _chunks.pop(coordinator, None)
    _keys.pop(coordinator, None)


def forget_orphans(dask_worker: Worker) -> None:
    """Free the shards of clients that disconnected: the cluster has freed their data.

    Dask passes the worker.
    """
    for coordinator, keys in list(_keys.items()):
        if not any(key in dask_worker.data for key in list(keys)):
            forget_shards(coordinator)
