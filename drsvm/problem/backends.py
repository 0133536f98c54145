"""Where rows may be other than in this process's memory.

`drsvm.engines` registers the places.
"""

from __future__ import (
    annotations,
)  # importing drsvm registers the places, and must not import numpy

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from drsvm.utils.annotations import Labels, Matrix, Vector

if TYPE_CHECKING:
    import numpy as np

    from drsvm.problem.kernel_functions import KernelFunction
    from drsvm.problem.kernel_rows import FunctionRows
    from drsvm.problem.problem import Problem


class Backend(ABC):
    """A place for rows: how a problem gets them there, and what an estimator does with labels and predictions there.

    Matrices and vectors are of the library that X comes from, unless stated otherwise.
    """

    @abstractmethod
    def data(self, X: Matrix, y: Labels, sample_weight, flip_cost) -> dict[str, Any]:
        """Return the checked attributes of a problem that depend on its data (see `problem/memory_rows.py`)."""

    def kernel_rows(self, points: Matrix, function: KernelFunction) -> FunctionRows:
        """Return the rows of a kernel (see `problem/kernel_rows.py`)."""
        raise TypeError(
            f"A kernel does not take X of type {type(points).__name__}: use WassersteinSVC."
        )

    @abstractmethod
    def with_labels(self, X: Matrix, y: Labels) -> tuple[Matrix, Labels]:
        """Return X and y in the form that the other methods take."""

    @abstractmethod
    def n_features(self, X: Matrix) -> int:
        """Return the number of columns."""

    @abstractmethod
    def named(self, X: Matrix) -> Matrix:
        """Return an object that has the names of the features, if they have any."""

    @abstractmethod
    def sample(self, X: Matrix, size: int) -> Matrix:
        """Return about `size` evenly spaced rows, as a matrix of numpy or scipy."""

    @abstractmethod
    def mapped(
        self,
        X: Matrix,
        function: Callable[..., Matrix],
        parameters: tuple[np.ndarray, ...],
    ) -> Matrix:
        """Return a function of blocks of rows and arrays of parameters, which keeps the number of columns."""

    @abstractmethod
    def classes_of(self, y: Labels) -> np.ndarray:
        """Return the distinct labels."""

    @abstractmethod
    def by_class(
        self, y: Labels, classes: np.ndarray, values: np.ndarray, weights=None
    ) -> Labels:
        """Return the value of its class for every row, times its weight if there is one."""

    @abstractmethod
    def masses_of_classes(
        self, y: Labels, classes: np.ndarray, weights=None
    ) -> np.ndarray:
        """Return the number of rows of every class, or the sum of their weights."""

    @abstractmethod
    def counts_for_radius(
        self,
        problem: Problem,
        y: Labels,
        classes: np.ndarray,
        positive,
        factors: np.ndarray,
        sample_weight,
    ) -> Any:
        """Return how many rows each row counts for in the automatic radius: as many as its given weight.

        In the problem, the rows of every class have this weight times a factor.
        """

    @abstractmethod
    def decision_values(self, X: Matrix, coef: np.ndarray, intercept) -> Matrix:
        """Return x·w + b for every row and classifier."""

    @abstractmethod
    def labels(self, values: Matrix, classes: np.ndarray) -> Labels:
        """Return the labels for decision values: the second class where they are positive, or that of the largest."""

    @abstractmethod
    def by_row(
        self,
        function: Callable[..., np.ndarray],
        values: Matrix,
        parameters,
        n_columns: int,
    ) -> Matrix:
        """Return a function of decision values, computed in numpy, that has `n_columns` columns."""

    def by_block(self, X, function, shape: tuple[int, ...]) -> Any:
        """Return what a function returns for every block of rows, of this shape for each of them."""
        raise TypeError(f"There are no blocks of rows of type {type(X).__name__}.")

    @abstractmethod
    def like(self, X: Matrix, values: np.ndarray) -> Vector:
        """Return fitted weights as an array of the library that X comes from."""


# By library: the estimators' parameter `engine`, module, class there
_places: dict[str, tuple[str, str, str]] = {}
CUDA = 2  # the number of CUDA devices in the DLPack standard


def register(libraries: Iterable[str], engine: str, module: str, backend: str) -> None:
    """Let a backend, which is imported on first use, take X whose type comes from one of some libraries."""
    _places.update(dict.fromkeys(libraries, (engine, module, backend)))


class ForGpu:
    """Rows in main memory that are to be processed on a graphics card: they are copied there if there is room."""

    def __init__(self, X: Matrix):
        self.original = X
        import numpy as np

        self.X = X if hasattr(X, "tocsr") else np.asarray(X)
        self.shape = self.X.shape


def _place_of(X: Matrix) -> tuple[str, str, str] | None:
    """Return where X is, by the library that its type, or that of the first of a list of futures, comes from."""
    if type(X).__module__ == "numpy":
        return None
    if isinstance(X, list | tuple) and len(X) > 0:
        first = X[0]
    else:
        first = X
    library = type(first).__module__.partition(".")[0]
    if first is not X:
        if library in ("dask", "distributed"):
            return _places.get(library)
        return None
    device = getattr(X, "__dlpack_device__", None)
    # CuPy takes arrays of any library on a CUDA device over without a copy.
    on_cuda = device is not None and library != "numpy" and int(device()[0]) == CUDA
    return _places.get("cupy" if isinstance(X, ForGpu) or on_cuda else library)


def engine_of(X: Matrix) -> str:
    """Return the engine that works where X is: "cpu" for this process's memory."""
    place = _place_of(X)
    return "cpu" if place is None else place[0]


def backend_of(X: Matrix) -> Backend | None:
    """Return the backend for X; None if it is in this process's memory."""
    place = _place_of(X)
    if place is None:
        return None
    return getattr(import_module(place[1]), place[2])()


def is_remote(X: Matrix) -> bool:
    """Return whether X is on a cluster or on a graphics card."""
    return type(X).__module__ != "numpy" and _place_of(X) is not None


def to_numpy(values: Any) -> np.ndarray:
    """Return an array of any library as one of numpy."""
    if hasattr(values, "get"):
        return values.get()
    import numpy as np

    return np.asarray(values.cpu() if hasattr(values, "cpu") else values)
