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
# Numbers with the range of float32 and a mantissa of 8 bits, which tensor cores
# multiply 10 times as fast as doubles: numpy knows them by their bits
BFLOAT16 = np.uint16
# Columns of a symmetric product that are formed together: without the blocks below the
# diagonal, 1,000 columns take 64 ms in place of 95, and 72 with cuBLAS's syrk.
PRODUCT_COLUMNS = 256
# cuBLAS: the types of factors and of their products, and that of the arithmetic
_PRODUCTS = {np.float64: (1, 1, 70), BFLOAT16: (14, 0, 68)}
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

    With bfloat16, the product is correct to about three digits.
    """
    from cupy.cuda.device import get_cublas_handle
    from cupy_backends.cuda.libs import cublas

    factors, products, arithmetic = _PRODUCTS[scaled.dtype.type]
    # Products of bfloat16 are added up in single precision.
    total = matrix
    if scaled.dtype == BFLOAT16:
        total = cupy().zeros(matrix.shape, np.float32)
    one = np.ones((), total.dtype)
    n, d = scaled.shape
    for first in range(0, d, PRODUCT_COLUMNS):
        # cuBLAS has columns where we have rows: the left factor is the transpose of
        # all columns from the first one on.
        columns = scaled.data.ptr + first * scaled.itemsize
        cublas.gemmEx(
            get_cublas_handle(),
            cublas.CUBLAS_OP_N,
            cublas.CUBLAS_OP_T,
            d - first,
            min(PRODUCT_COLUMNS, d - first),
            n,
            one.ctypes.data,
            columns,
            factors,
            d,
            columns,
            factors,
            d,
            one.ctypes.data,
            total.data.ptr + first * (d + 1) * total.itemsize,
            products,
            d,
            arithmetic,
            cublas.CUBLAS_GEMM_DEFAULT,
        )
    if total is not matrix:
        matrix += total
