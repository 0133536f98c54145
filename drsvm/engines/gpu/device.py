# pyright: reportMissingImports=false
"""The GPU: CuPy, if it is installed and finds one, its memory and its BLAS."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from drsvm.problem.backends import to_numpy
from drsvm.utils.annotations import Matrix

REMEDY = (
    "install CuPy (pip install cupy-cuda13x, or that of another CUDA) and "
    "NVIDIA's driver, or use engine='cpu'"
)
TF32 = 3  # cuBLAS: multiply numbers in float32 with a mantissa of 10 bits
# Number of features from which the routine for symmetric products is faster than the
# general one
SYRK_FROM = 512
# Share of the GPU's free memory that rows and their state may take
SHARE_OF_MEMORY = 0.85


class GpuError(RuntimeError):
    """No GPU can be used, or not for this."""


@cache
def cupy() -> Any:
    """Return CuPy; raise a GpuError that names what is missing."""
    try:
        import cupy
    except ImportError as error:
        raise GpuError(
            f"engine='gpu' needs CuPy, which is not installed ({error}): {REMEDY}."
        ) from error
    try:
        n_devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise GpuError(
            f"engine='gpu' found no usable graphics card ({error}): {REMEDY}."
        ) from error
    if n_devices == 0:
        raise GpuError(f"engine='gpu' found no graphics card: {REMEDY}.")
    return cupy


def free_memory() -> int:
    """Return how many bytes rows and their state may take on the GPU."""
    free, _ = cupy().cuda.runtime.memGetInfo()
    kept = cupy().get_default_memory_pool().free_bytes()
    return int(SHARE_OF_MEMORY * (free + kept))


def on_device(values, dtype: DTypeLike | None = np.float64) -> Matrix:
    """Return values as an array of CuPy; None stands for their own type.

    What is on the GPU already is not copied, unless it has another type.
    """
    xp = cupy()
    known = isinstance(values, np.ndarray | xp.ndarray)
    if not known and hasattr(values, "__dlpack__"):
        values = xp.from_dlpack(values)
    return xp.asarray(values, dtype=dtype)


def on_host(values: Matrix) -> Matrix:
    """Return values that may be on the GPU as an array of numpy; None stays None."""
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return values
    return to_numpy(on_device(values, None))


def add_square(scaled: Matrix, matrix: Matrix) -> None:
    """Add scaledᵀ·scaled to the upper triangle of a matrix of doubles.

    With scaled rows in float32, tensor cores multiply: three digits are correct.
    """
    from cupy import cublas
    from cupy.cuda.device import get_cublas_handle
    from cupy_backends.cuda.libs import cublas as library

    if scaled.dtype == np.float64 and len(matrix) >= SYRK_FROM:
        cublas.syrk("T", scaled, out=matrix, beta=1.0)
    elif scaled.dtype == np.float64:
        cublas.gemm("T", "N", scaled, scaled, out=matrix, beta=1.0)
    else:
        handle = get_cublas_handle()
        mode = library.getMathMode(handle)
        library.setMathMode(handle, TF32)
        try:
            matrix += cublas.gemm("T", "N", scaled, scaled)
        finally:
            library.setMathMode(handle, mode)
