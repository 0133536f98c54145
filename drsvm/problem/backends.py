"""Where rows may be other than in this process's memory.

`drsvm.engines` registers the places.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from drsvm.utils.annotations import Labels, Matrix, Values, Vector


class Backend(ABC):
    """A place for rows, and for labels and predictions.

    Matrices and vectors are of the library that X comes from, unless stated otherwise.
    """

    @abstractmethod
    def data(self, X: Matrix, y: Labels, sample_weight, flip_cost) -> dict[str, Any]:
        """Return the checked attributes of a problem that depend on its data.

        They are those of `Rows.data` and `Rows.with_flip_costs`.
        """

    def kernel_rows(self, points: Matrix, function: Any) -> Any:
        """Return the rows of a kernel function (see `problem/kernel_rows.py`)."""
        raise TypeError(
            f"A kernel does not take X of type {type(points).__name__}: "
            "use WassersteinSVC."
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
        parameters: tuple[Vector, ...],
    ) -> Matrix:
        """Return a function of blocks of rows and arrays of parameters.

        It keeps the number of columns.
        """

    @abstractmethod
    def classes_of(self, y: Labels) -> Vector:
        """Return the distinct labels."""

    @abstractmethod
    def by_class(
        self, y: Labels, classes: Vector, values: Vector, weights=None
    ) -> Labels:
        """Return the value of its class for every row, times its weight, if given."""

    @abstractmethod
    def masses_of_classes(self, y: Labels, classes: Vector, weights=None) -> Vector:
        """Return the number of rows of every class, or the sum of their weights."""

    @abstractmethod
    def counts_for_radius(
        self,
        problem: Any,
        y: Labels,
        classes: Vector,
        positive,
        factors: Vector,
        sample_weight,
    ) -> Any:
        """Return how many rows each row counts for in the automatic radius.

        This is its given weight. In the problem, the rows of every class have this
        weight times a factor.
        """

    @abstractmethod
    def decision_values(self, X: Matrix, coef: Vector, intercept) -> Matrix:
        """Return x·w + b for every row and classifier."""

    @abstractmethod
    def labels(self, values: Matrix, classes: Vector) -> Labels:
        """Return the labels for decision values.

        With one value per row, this is the second class where it is positive; with one
        per class, that of the largest.
        """

    @abstractmethod
    def by_row(
        self,
        function: Callable[..., Vector],
        values: Matrix,
        parameters,
        n_columns: int,
    ) -> Matrix:
        """Return a function of decision values, computed in numpy.

        Its values have `n_columns` columns.
        """

    def by_block(self, X, function, shape: tuple[int, ...]) -> Any:
        """Return what a function returns for every block of rows.

        It has this shape for each of them.
        """
        raise TypeError(f"There are no blocks of rows of type {type(X).__name__}.")

    @abstractmethod
    def like(self, X: Matrix, values: Vector) -> Vector:
        """Return fitted weights as an array of the library that X comes from."""


# The engine's name, the module and the class of a backend, by library
_places: dict[str, tuple[str, str, str]] = {}
# The number of CUDA devices in the DLPack standard
CUDA = 2


def register(libraries: Iterable[str], engine: str, module: str, backend: str) -> None:
    """Let a backend take X whose type comes from one of some libraries.

    It is imported on first use. `engine` is its name among the estimators' parameters.
    """
    for library in libraries:
        _places[library] = (engine, module, backend)


class ForGpu:
    """Rows in main memory that are copied to the GPU if there is room."""

    def __init__(self, X: Matrix):
        import numpy as np

        self.original = X
        self.X = X if hasattr(X, "tocsr") else np.asarray(X)
        self.shape = self.X.shape


def _place_of(X: Matrix) -> tuple[str, str, str] | None:
    """Return where X is, by the library that its type comes from.

    Of a list, the type of the first entry counts, which may be a future of Dask.
    """
    if isinstance(X, list | tuple) and len(X) > 0:
        library = type(X[0]).__module__.partition(".")[0]
        return _places.get(library) if library in ("dask", "distributed") else None
    library = type(X).__module__.partition(".")[0]
    if library == "numpy":
        return None
    # CuPy takes arrays of any library on a CUDA device over without a copy.
    device = getattr(X, "__dlpack_device__", None)
    on_gpu = device is not None and int(device()[0]) == CUDA
    if on_gpu or isinstance(X, ForGpu):
        return _places.get("cupy")
    return _places.get(library)


def engine_of(X: Matrix) -> str:
    """Return the engine that works where X is: "cpu" for this process's memory."""
    place = _place_of(X)
    return "cpu" if place is None else place[0]


def backend_of(X: Matrix) -> Backend | None:
    """Return the backend for X; None if it is in this process's memory."""
    place = _place_of(X)
    if place is None:
        return None
    _, module, backend = place
    return getattr(import_module(module), backend)()


def is_remote(X: Matrix) -> bool:
    """Return whether X is on a cluster or on a GPU."""
    return _place_of(X) is not None


def to_numpy(values: Values) -> Vector:
    """Return an array of any library as one of numpy."""
    # Importing drsvm registers the places, and must not import numpy.
    import numpy as np

    # CuPy's way, and that of PyTorch
    if hasattr(values, "get"):
        return values.get()
    if hasattr(values, "cpu"):
        values = values.cpu()
    return np.asarray(values)
