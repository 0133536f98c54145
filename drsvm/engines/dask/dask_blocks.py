"""Data on a Dask cluster as lists of blocks.

They come from arrays, data frames, series, and lists of futures or delayed values.
"""

import math
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import dask.array as da
import numpy as np
from dask.delayed import delayed

from drsvm.utils.annotations import Labels, Matrix
from drsvm.utils.parallel import single_threaded_blas, threads_limited

if TYPE_CHECKING:
    from distributed import Client


# A delayed value or a future of some rows, labels, weights or costs
Block: TypeAlias = Any


class Columns(NamedTuple):
    """The blocks of the rows, and of their labels, weights, flip costs and radii.

    Weights, costs or radii are None if they are the same for all rows.
    """

    X: list[Block]
    y: list[Block]
    sample_weight: list[Block] | None = None
    flip_cost: list[Block] | None = None
    row_radius: list[Block] | None = None

    def chunk(self, number: int) -> tuple:
        """Return the block of every column for one chunk of the rows."""
        chunk = []
        for blocks in self:
            chunk.append(None if blocks is None else blocks[number])
        return tuple(chunk)


def columns_of(
    client: "Client",
    X: Matrix,
    y: Labels,
    sample_weight=None,
    flip_cost=None,
    row_radius=None,
    lengths: list[int] | None = None,
) -> Columns:
    """Return futures of the blocks, all cut like X.

    What is not computed yet is computed, and stays on the workers. `lengths` are the
    numbers of rows of the blocks, if they are known.
    """
    columns = {"X": delayed_blocks(X, "X")}
    n_chunks = len(columns["X"])
    if lengths is None:
        lengths = lengths_of(X)
    others = {
        "y": y,
        "sample_weight": sample_weight,
        "flip_cost": flip_cost,
        "row_radius": row_radius,
    }
    for name, values in others.items():
        if values is not None:
            columns[name] = _aligned(values, name, lengths, n_chunks)
    # All in one call, so that what several columns are computed from, such as the
    # partitions of a file, is computed once. Futures stay as they are. The list has the
    # blocks of the first column, then those of the second, and so on.
    futures: Any = client.compute(list(chain.from_iterable(columns.values())))
    for k, name in enumerate(columns):
        columns[name] = futures[k * n_chunks : (k + 1) * n_chunks]
    return Columns(**columns)


def lengths_of(X: Matrix) -> list[int] | None:
    """Return the number of rows of every block, or None if that is not known yet."""
    chunks = getattr(X, "chunks", None)
    if chunks is None or any(math.isnan(length) for length in chunks[0]):
        return None
    return list(chunks[0])


def delayed_blocks(values: Matrix, name: str) -> list[Block]:
    """Return the blocks of rows as delayed values or futures.

    Blocks of columns are put together.
    """
    if isinstance(values, list | tuple):
        return list(values)
    if not hasattr(values, "to_delayed"):
        raise TypeError(
            f"{name} must be a Dask array, data frame or series, or a list of "
            f"futures, as X is on a Dask cluster; got {type(values).__name__}."
        )
    if len(getattr(values, "chunks", ())) == 2 and values.numblocks[1] > 1:
        values = values.rechunk({1: -1})
    return np.ravel(values.to_delayed()).tolist()


def mapped_blocks(
    function: Callable[[Matrix], Matrix], blocks: list[Block]
) -> list[Block]:
    """Return the values of a function of every block, computed where the block is.

    The function is sent to each worker once.
    """
    # Pure: what is asked for again is not computed again.
    sent = delayed(function, traverse=False, pure=True)
    return [delayed(_value, pure=True)(sent, block) for block in blocks]


def _value(function: Callable[[Matrix], Matrix], block) -> Matrix:
    """Return the value of a function of a block, as a task of a worker."""
    # The worker has a thread for each of its tasks already.
    with threads_limited(1), single_threaded_blas():
        return function(block if hasattr(block, "tocsr") else np.asarray(block))


def _aligned(
    values: Matrix, name: str, lengths: list[int] | None, n_chunks: int
) -> list[Block]:
    """Return the blocks of values, cut like the rows."""
    if not _is_on_cluster(values):
        values = _from_memory(values, name, lengths)
    own = lengths_of(values)
    if lengths is not None and own is not None and own != lengths:
        if sum(own) != sum(lengths):
            raise ValueError(
                f"{name} has {sum(own)} entries, but X has {sum(lengths)} rows."
            )
        values = values.rechunk({0: tuple(lengths)})
    blocks = delayed_blocks(values, name)
    if len(blocks) != n_chunks:
        raise ValueError(
            f"{name} has {len(blocks)} chunks, but X has {n_chunks}, and "
            "their lengths are not known: cut both alike, for instance by "
            "repartition, or call compute_chunk_sizes() first."
        )
    return blocks


def _is_on_cluster(values: Matrix) -> bool:
    """Return whether values are a Dask collection or a list of Dask's objects."""
    if not isinstance(values, list | tuple):
        return hasattr(values, "to_delayed")
    if not values:
        return False
    library = type(values[0]).__module__.partition(".")[0]
    return library in ("dask", "distributed")


def _from_memory(values, name: str, lengths: list[int] | None) -> da.Array:
    """Return a vector in this process's memory as a Dask array, cut like the rows."""
    if lengths is None:
        raise TypeError(
            f"{name} is in this process's memory, and the lengths of the "
            "chunks of X are unknown, so it cannot be cut like X: pass a "
            "Dask collection, or call X.compute_chunk_sizes() first."
        )
    values = np.asarray(values)
    if values.ndim != 1 or len(values) != sum(lengths):
        raise ValueError(
            f"{name} must have one entry per row of X ({sum(lengths)}), got "
            f"shape {values.shape}."
        )
    return da.from_array(values, chunks=(tuple(lengths),))  # pyright: ignore[reportArgumentType]
