"""Where rows may be other than in this process's memory.

`drsvm.engines` registers the places: an engine's name and a `Backend` for each library
whose arrays it takes. Estimators, problems and predictions then ask for the backend of
X, and do what they do elsewhere if there is none.
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

        Parameters
        ----------
        X, y, sample_weight, flip_cost
            As for `Problem`.

        Returns
        -------
        dict
            The attributes that `Rows.data` and `Rows.with_flip_costs` return.
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
        """Return a function of the rows, computed block by block where they are.

        Parameters
        ----------
        X : matrix
            The rows.
        function : callable
            It is called with a block of rows and arrays of the same library, and keeps
            the number of columns.
        parameters : tuple of arrays
            These arrays, of numpy.

        Returns
        -------
        matrix
            The values for all rows.
        """

    @abstractmethod
    def classes_of(self, y: Labels) -> Vector:
        """Return the distinct labels."""

    @abstractmethod
    def by_class(
        self, y: Labels, classes: Vector, values: Vector, weights=None
    ) -> Labels:
        """Return a value for every row, by its class.

        Parameters
        ----------
        y : labels of n rows
            Their classes.
        classes, values : arrays of shape (n_classes,)
            The classes, and a value for each of them.
        weights : array of shape (n,), optional
            What the values are multiplied by.

        Returns
        -------
        array of shape (n,)
            The values, where y is.
        """

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

        Parameters
        ----------
        problem : Problem
            The problem of one of the classes.
        y, classes
            The labels of all rows, and the classes.
        positive : array of shape (n,)
            Which rows are positive in the problem.
        factors : array of shape (n_classes,)
            The factors.
        sample_weight : array of shape (n,)
            The given weights.

        Returns
        -------
        array
            The counts, in the form in which `gradient_variances` takes them.
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

        Parameters
        ----------
        function : callable
            It is called with a block of values and the parameters.
        values : array
            Decision values, where the backend has them.
        parameters : array of numpy
            The second argument.
        n_columns : int
            The number of columns that it returns.

        Returns
        -------
        array of shape (n, n_columns)
            The values, where the decision values are.
        """

    def by_block(self, X, function, shape: tuple[int, ...]) -> Any:
        """Return what a function returns for every block of rows.

        Parameters
        ----------
        X : matrix
            The rows.
        function : callable
            It is called with a block of rows.
        shape : tuple of int
            The shape of what it returns for each row.

        Returns
        -------
        array of shape (n, *shape)
            The values, where the rows are.
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

    Parameters
    ----------
    libraries : iterable of str
        The names of the libraries, as imported.
    engine : str
        The name among the estimators' parameters.
    module, backend : str
        The module and the class of the backend, which is imported on first use.
    """
    for library in libraries:
        _places[library] = (engine, module, backend)


class ForGpu:
    """Rows in main memory that are copied to the GPU if there is room.

    They are marked as such: the library of their type is not one of a GPU.
    """

    def __init__(self, X: Matrix):
        # Importing drsvm imports this module, and must not import numpy.
        import numpy as np

        # A data frame, which has the names of the features, and its values
        self.original = X
        self.X = X
        if not hasattr(X, "tocsr"):
            self.X = np.asarray(X)
        self.shape = self.X.shape


def _place_of(X: Matrix) -> tuple[str, str, str] | None:
    """Return where X is: the engine, the module and the class of its backend.

    None if it is in this process's memory. It goes by the library that the type of X
    comes from; of a list, the type of the first entry counts, which may be a future of
    Dask.
    """
    if isinstance(X, list | tuple) and len(X) > 0:
        library = _library_of(X[0])
        if library in ("dask", "distributed"):
            return _places.get(library)
        return None
    library = _library_of(X)
    if library == "numpy":
        return None
    # CuPy takes arrays of any library on a CUDA device over without a copy.
    device = getattr(X, "__dlpack_device__", None)
    on_gpu = device is not None and int(device()[0]) == CUDA
    if on_gpu or isinstance(X, ForGpu):
        return _places.get("cupy")
    return _places.get(library)


def _library_of(value: object) -> str:
    """Return the name of the library that the type of a value comes from."""
    return type(value).__module__.partition(".")[0]


def engine_of(X: Matrix) -> str:
    """Return the engine that works where X is: "cpu" for this process's memory."""
    place = _place_of(X)
    if place is None:
        return "cpu"
    engine, _, _ = place
    return engine


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
