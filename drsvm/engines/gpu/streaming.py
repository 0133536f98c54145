"""Rows that do not fit onto the graphics card: they stay in main memory and cross block by block in every pass."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from drsvm.annotations import Matrix
from drsvm.engines.gpu.device import cupy, on_device
from drsvm.engines.gpu.rows import GRAM_BYTES, DenseGpuRows
from drsvm.model.backends import to_numpy
from drsvm.parallel import slices

BUFFERS = 2  # while the card works on one block, the next is on its way
Event = Any  # of CuPy


class StreamedGpuRows(DenseGpuRows):
    """Dense rows in main memory, of which the card holds a few blocks at a time.

    A block is copied into memory that the card can read on its own (pinned), and from there to the card while this
    works on the block before it. An offset is subtracted on the card.
    """

    def __init__(self, X: np.ndarray, block_bytes: int, offset: np.ndarray | None = None):
        super().__init__(X)
        self.block_bytes, self.offset = block_bytes, offset

    def blocks(self, row_bytes: int = 0) -> Iterator[tuple[slice, Matrix]]:
        n, d = self.shape
        most = GRAM_BYTES // row_bytes if row_bytes else n
        size = max(1, min(n, most, self.block_bytes // (d * self.dtype.itemsize)))
        parts, crossing = slices(n, size), _Crossing((size, d), self.dtype)
        ready = [crossing.send(k, self.X[part]) for k, part in enumerate(parts[:BUFFERS])]
        for k, part in enumerate(parts):
            block, there = ready[k]
            crossing.work.wait_event(there)  # what follows on the card waits until the block is there
            yield part, block if self.offset is None else block - self.offset
            crossing.free[k % BUFFERS] = crossing.work.record()  # all work on the block has been given to the card
            if k + BUFFERS < len(parts):
                ready.append(crossing.send(k + BUFFERS, self.X[parts[k + BUFFERS]]))

    def taken(self, rows) -> DenseGpuRows:
        rows = rows if isinstance(rows, slice) else to_numpy(rows)
        taken = on_device(self.X[rows], self.dtype)
        return DenseGpuRows(taken if self.offset is None else taken - self.offset)

    def on_features(self, features) -> "StreamedGpuRows":
        offset = None if self.offset is None else self.offset[on_device(features, np.int64)]
        return StreamedGpuRows(np.ascontiguousarray(self.X[:, features]), self.block_bytes, offset)

    def shifted(self, offset) -> "StreamedGpuRows":
        offset = on_device(offset, self.dtype)
        return StreamedGpuRows(self.X, self.block_bytes, offset if self.offset is None else self.offset + offset)

    def host_array(self) -> np.ndarray:
        return self.X if self.offset is None else self.X - to_numpy(self.offset)


class _Crossing:
    """Blocks on their way to the card: memory for each on both sides, and a stream for the copies."""

    def __init__(self, shape: tuple[int, int], dtype):
        xp = cupy()
        self.shape, self.dtype = shape, dtype
        size, allocate = int(np.prod(shape)), xp.cuda.alloc_pinned_memory
        self.pinned = [np.frombuffer(allocate(size * dtype.itemsize), dtype, size) for _ in range(BUFFERS)]
        self.device = [xp.empty(shape, dtype=dtype) for _ in range(BUFFERS)]
        self.free: list[Event] = [None] * BUFFERS  # when the card has finished with a block
        self.copies, self.work = xp.cuda.Stream(non_blocking=True), xp.cuda.get_current_stream()
        self.work.synchronize()  # the new arrays may be memory that the card is still using

    def send(self, k: int, rows: np.ndarray) -> tuple[Matrix, Event]:
        """Begin to copy a block; return where it goes, and an event after which it is there."""
        place = k % BUFFERS
        if self.free[place] is not None:
            self.free[place].synchronize()
        source = self.pinned[place][: rows.size].reshape(rows.shape)
        np.copyto(source, rows)
        target = self.device[place][: len(rows)]
        target.set(source, stream=self.copies)
        return target, self.copies.record()
