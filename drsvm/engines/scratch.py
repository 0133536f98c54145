"""Arrays in a temporary file instead of memory."""

import os
import tempfile

import numpy as np


def room_for(shape: tuple[int, ...], folder: str | None) -> np.ndarray:
    """Return an array of floats, in memory or in a file that disappears together with the array."""
    if folder is None:
        return np.empty(shape)
    size = 8 * int(np.prod(shape))
    with tempfile.TemporaryFile(dir=folder, prefix="drsvm-") as file:
        if hasattr(os, "posix_fallocate"):  # so that a full disk is an error now, and no crash later
            os.posix_fallocate(file.fileno(), 0, size)
        return np.memmap(file, dtype=np.float64, mode="r+", shape=shape).view(np.ndarray)
