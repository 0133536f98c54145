"""Rows that do not fit onto the GPU: every pass sends them there block by block."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from drsvm.engines.gpu.device import cupy, on_device
from drsvm.engines.gpu.gpu_rows import GRAM_BYTES, DenseGpuRows
from drsvm.problem.backends import to_numpy
from drsvm.utils.annotations import Matrix
from drsvm.utils.parallel import slices

BUFFERS = 2  # while the GPU works on one block, the next is on its way
Event = Any  # of CuPy


class StreamedGpuRows(DenseGpuRows):
    """Dense rows in main memory, of which the GPU holds a few blocks at a time.

    A block is copied twice: into memory that the GPU can read on its own (pinned), and
    from there to the GPU, while the GPU works on the block before it.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows, in main memory or in a file.
    block_bytes : int
        The size of a block.
    offset : array, optional
        A row on the GPU that is subtracted from all others there.
    """

    def __init__(
        self, X: np.ndarray, block_bytes: int, offset: np.ndarray | None = None
    ):
        super().__init__(X)
        self.block_bytes = block_bytes
        self.offset = offset

    def blocks(self, row_bytes: int = 0) -> Iterator[tuple[slice, Matrix]]:
        xp = cupy()
        n, d = self.shape
        dtype = self.dtype
        most = n
        if row_bytes:
            most = GRAM_BYTES // row_bytes
        size = max(1, min(n, most, self.block_bytes // (d * dtype.itemsize)))
        parts = slices(n, size)
        # 1. Memory for two blocks, here and there. Block k has the place k % 2.
        pinned = []
        there = []
        for _ in range(BUFFERS):
            memory = xp.cuda.alloc_pinned_memory(size * d * dtype.itemsize)
            pinned.append(np.frombuffer(memory, dtype, size * d))
            there.append(xp.empty((size, d), dtype=dtype))
        # 2. Copies and work are two streams: each does what it is given in this order,
        # and events make one wait for the other.
        # After these events, the GPU has finished with the block in a place.
        free: list[Event] = [None] * BUFFERS
        copies = xp.cuda.Stream(non_blocking=True)
        work = xp.cuda.get_current_stream()
        work.synchronize()  # the new arrays may be memory that the GPU is still using

        def send(k: int) -> tuple[Matrix, Event]:
            """Begin to copy a block.

            Return where it goes, and an event after which it is there.
            """
            rows = self.X[parts[k]]
            place = k % BUFFERS
            if free[place] is not None:
                free[place].synchronize()
            source = pinned[place][: rows.size].reshape(rows.shape)
            np.copyto(source, rows)
            target = there[place][: len(rows)]
            target.set(source, stream=copies)
            return target, copies.record()

        # 3. The first two blocks are on their way before the work begins; then, when
        # the work on a block is given to the GPU, the next block may take its place.
        sent = [send(k) for k in range(min(BUFFERS, len(parts)))]
        for k, part in enumerate(parts):
            block, arrived = sent[k]
            # What follows on the GPU waits until the block is there
            work.wait_event(arrived)
            yield part, self._shift(block)
            # All work on the block has been given to the GPU
            free[k % BUFFERS] = work.record()
            if k + BUFFERS < len(parts):
                sent.append(send(k + BUFFERS))

    def _shift(self, rows: Matrix) -> Matrix:
        """Return rows on the GPU minus the offset."""
        if self.offset is None:
            return rows
        return rows - self.offset

    def taken(self, rows) -> DenseGpuRows:
        if not isinstance(rows, slice):
            rows = to_numpy(rows)
        return DenseGpuRows(self._shift(on_device(self.X[rows], self.dtype)))

    def on_features(self, features) -> "StreamedGpuRows":
        offset = self.offset
        if offset is not None:
            offset = offset[on_device(features, np.int64)]
        chosen = np.ascontiguousarray(self.X[:, features])
        return StreamedGpuRows(chosen, self.block_bytes, offset)

    def shifted(self, offset) -> "StreamedGpuRows":
        offset = on_device(offset, self.dtype)
        if self.offset is not None:
            offset = self.offset + offset
        return StreamedGpuRows(self.X, self.block_bytes, offset)

    def host_array(self) -> np.ndarray:
        if self.offset is None:
            return self.X
        return self.X - to_numpy(self.offset)
