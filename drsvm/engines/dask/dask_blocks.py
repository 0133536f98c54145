"""Data on a Dask cluster as lists of blocks: arrays, data frames, series, and lists of futures or delayed values."""

import math
from collections.abc import Callable
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
    """The blocks of the rows, and of the labels, weights and flip costs that go with them (None: all the same)."""

    X: list[Block]
    y: list[Block]
    weights: list[Block] | None = None
    costs: list[Block] | None = None

    def chunk(self, number: int) -> tuple:
        return tuple(None if blocks is None else blocks[number] for blocks in self)


def columns_of(
    client: "Client",
    X: Matrix,
    y: Labels,
    weights=None,
    costs=None,
    lengths: list[int] | None = None,
) -> Columns:
    """Return futures of the blocks, all cut like X.

    What is not computed yet is computed, and stays on the workers.
    """
    rows = delayed_blocks(X, "X")
    lengths = lengths or lengths_of(X)
    more = {"y": y, "sample_weight": weights, "flip_cost": costs}
    blocks = [
        None if values is None else _aligned(values, name, lengths, len(rows))
        for name, values in more.items()
    ]
    together = [rows, *(some for some in blocks if some is not None)]
    # Futures stay as they are
    computed: Any = client.compute([block for some in together for block in some])
    futures = iter(computed)
    return Columns(
        *(
            None if some is None else [next(futures) for _ in some]
            for some in [rows, *blocks]
        )
    )  # pyright: ignore


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
            f"{name} must be a Dask array, data frame or series, or a list of futures, as X is on a Dask cluster; got "
            f"{type(values).__name__}."
        )
    if (
        getattr(values, "ndim", 1) == 2
        and len(getattr(values, "chunks", ())) == 2
        and values.numblocks[1] > 1
    ):
        values = values.rechunk({1: -1})
    return np.ravel(values.to_delayed()).tolist()


def mapped_blocks(
    function: Callable[[Matrix], Matrix], blocks: list[Block]
) -> list[Block]:
    """Return what a function, which is sent to each worker once, returns for every block, wherever the block is."""
    # The same blocks have the same values: computed once
    sent = delayed(function, traverse=False, pure=True)
    return [delayed(_value, pure=True)(sent, block) for block in blocks]


def _value(function: Callable[[Matrix], Matrix], block) -> Matrix:
    with threads_limited(1), single_threaded_blas():
        return function(block if hasattr(block, "tocsr") else np.asarray(block))


def _aligned(
    values: Matrix, name: str, lengths: list[int] | None, n_chunks: int
) -> list[Block]:
    """Return the blocks of values, cut like the rows."""
    if not _is_on_cluster(values):
        if lengths is None:
            raise TypeError(
                f"{name} is in this process's memory, and the lengths of the chunks of X are unknown, so it cannot be "
                "cut like X: pass a Dask collection, or call X.compute_chunk_sizes() first."
            )
        values = np.asarray(values)
        if values.ndim != 1 or len(values) != sum(lengths):
            raise ValueError(
                f"{name} must have one entry per row of X ({sum(lengths)}), got shape {values.shape}."
            )
        values = da.from_array(values, chunks=(tuple(lengths),))  # pyright: ignore[reportArgumentType]
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
            f"{name} has {len(blocks)} chunks, but X has {n_chunks}, and their lengths are not known: cut both alike, "
            "for instance by repartition, or call compute_chunk_sizes() first."
        )
    return blocks


def _is_on_cluster(values: Matrix) -> bool:
    if isinstance(values, list | tuple):
        return len(values) > 0 and type(values[0]).__module__.partition(".")[0] in (
            "dask",
            "distributed",
        )
    return hasattr(values, "to_delayed")
