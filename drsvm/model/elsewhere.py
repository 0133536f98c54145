"""Rows that are elsewhere, on a cluster or on a graphics card: which kind of problem keeps them there."""

from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

KEEPERS = {
    "dask": ("drsvm.engines.dask.problem", "DaskProblem"),
    "distributed": ("drsvm.engines.dask.problem", "DaskProblem"),
    "cupy": ("drsvm.engines.gpu.problem", "GpuProblem"),
    "cupyx": ("drsvm.engines.gpu.problem", "GpuProblem"),
}
"""Problems that keep rows where they are, by the library that the type of X comes from."""

ARRAYS = {
    "dask": "drsvm.engines.dask.arrays",
    "distributed": "drsvm.engines.dask.arrays",
    "cupy": "drsvm.engines.gpu.arrays",
    "cupyx": "drsvm.engines.gpu.arrays",
}
"""What an estimator does with labels and predictions there: modules with the same functions."""


class ForCard:
    """Rows in main memory that are to be processed on a graphics card: they are copied there if there is room."""

    def __init__(self, X):
        self.given = X
        self.X = X if sparse.issparse(X) else np.asarray(X)
        self.shape = self.X.shape


def library_of(X: Any) -> str:
    """Return the name of the library that the type of X, or of the first of a list of futures, comes from.

    Arrays of any library on a CUDA device count as CuPy's, which takes them over without a copy.
    """
    if isinstance(X, list | tuple) and len(X) > 0 and _root(X[0]) in ("dask", "distributed"):
        return "distributed"
    return "cupy" if isinstance(X, ForCard) or is_on_cuda(X) else _root(X)


def _root(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


CUDA = 2
"""The number of CUDA devices in the DLPack standard."""


def is_on_cuda(X: Any) -> bool:
    """Return whether X is an array on a CUDA device."""
    device = getattr(X, "__dlpack_device__", None)
    if device is None or _root(X) == "numpy":
        return False
    return int(device()[0]) == CUDA


def is_elsewhere(X: Any) -> bool:
    """Return whether rows are kept on a cluster or on a graphics card."""
    return library_of(X) in KEEPERS


def fetched(values: Any) -> np.ndarray:
    """Return an array of any library as one of numpy."""
    if hasattr(values, "get"):
        return values.get()
    return np.asarray(values.cpu() if hasattr(values, "cpu") else values)


def array_functions(X: Any) -> Any:
    """Return the module with the functions for labels and predictions that are where X is."""
    return import_module(ARRAYS[library_of(X)])


def problem_class(X: Any, otherwise: type) -> type:
    """Return the class of problems for X: by default the one whose rows are in arrays of numpy or scipy."""
    keeper = KEEPERS.get(library_of(X))
    if keeper is None:
        return otherwise
    module, name = keeper
    return getattr(import_module(module), name)
