"""Where the rows of an estimator are: in memory, on a cluster or on a GPU."""

from sklearn.utils.validation import _check_feature_names

from drsvm.problem.backends import Backend, ForGpu, backend_of, engine_of
from drsvm.utils.annotations import Matrix

ENGINES = ("auto", "cpu", "gpu", "dask")


def on_engine(X, engine: str) -> Matrix:
    """Return X where an engine works: by default where it is."""
    if engine not in ENGINES:
        raise ValueError(
            f"engine must be one of {', '.join(ENGINES)}, got engine={engine!r}."
        )
    at = engine_of(X)
    if engine in ("auto", at):
        return X
    if engine == "gpu" and at == "cpu":
        return ForGpu(X)
    if engine == "cpu" and at == "gpu":
        remedy = "bring X here first, for instance with X.get(), or use engine='auto'"
    elif engine == "cpu":
        remedy = "compute X first (X.compute()), or use engine='auto'"
    elif engine == "gpu":
        remedy = (
            "compute X first (X.compute()) if it fits into memory, or use engine='dask'"
        )
    elif at == "cpu":
        remedy = (
            "pass a Dask collection, for instance dask.array.from_array(X, "
            "chunks=(100_000, -1))"
        )
    else:
        remedy = "pass a Dask collection of rows in main memory, or use engine='auto'"
    raise ValueError(
        f"engine={engine!r} does not take X of type {type(X).__name__}: {remedy}."
    )


def check_remote_features(estimator, X) -> Backend:
    """Return the backend of rows on a cluster or a GPU.

    Raise an error if they do not have the features of the fit.
    """
    backend = remote_backend(X)
    _check_feature_names(estimator, backend.named(X), reset=False)
    n_features = backend.n_features(X)
    if n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return backend


def remote_backend(X) -> Backend:
    """Return the backend of rows that are on a cluster or a GPU."""
    backend = backend_of(X)
    assert backend is not None, "rows in this process's memory have no backend"
    return backend
