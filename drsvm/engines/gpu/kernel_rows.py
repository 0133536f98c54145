"""Functions of a kernel on a graphics card: the same mathematics as in memory, with values in tiles."""

from itertools import product

import numpy as np

from drsvm.engines.gpu.device import cupy, free_memory, on_device
from drsvm.engines.gpu.kernels import THREADS, blocks_for, kernel
from drsvm.engines.gpu.rows import CardRows, DenseGpuRows
from drsvm.model.backends import to_numpy
from drsvm.model.kernel_functions import dense
from drsvm.model.kernel_rows import FunctionRows, KernelRows
from drsvm.parallel import slices

# Size of the tiles in which values are computed and added: 1 GB. A thread adds up one in 32 columns of a row.
TILE_ROWS, TILE_COLUMNS = 1 << 14, 1 << 13


class GpuKernelRows(FunctionRows, CardRows):
    """Functions whose points and values are arrays of CuPy."""

    place = "functions of a kernel, on a graphics card"

    def between(self, some, others):
        return self.function.values(some, others)

    def at(self, points, c):
        points, c = on_device(dense(points)), self.vector(c)
        used = cupy().flatnonzero(c)
        out, c, landmarks = cupy().zeros(len(points)), c[used], self.points[used]
        factors = self.function.exponents(points, landmarks)
        left, right = (points, landmarks) if factors is None else factors
        for rows, columns in product(slices(len(points), TILE_ROWS), slices(len(c), TILE_COLUMNS)):
            if factors is None:
                out[rows] += DenseGpuRows(self.between(left[rows], right[columns])).dot(c[columns])
            else:
                exponents, some = left[rows] @ right[columns].T, c[columns]
                arguments = exponents, len(exponents), np.int32(len(some)), some, out[rows]
                kernel("exponential_dot")((blocks_for(32 * len(exponents)),), (THREADS,), arguments)
        return out

    def _stored_products(self, columns):
        rows = DenseGpuRows(self.values)
        return [rows.dot(c) for c in columns]

    def with_features(self, X):
        return DenseGpuRows(cupy().ascontiguousarray(X))

    def room(self):
        return float(free_memory())

    def host_rows(self):
        centre, values = (None if array is None else to_numpy(array) for array in (self.centre, self._values))
        return KernelRows(to_numpy(self.points), self.function, centre, values)
