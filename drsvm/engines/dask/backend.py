"""Data on a Dask cluster: rows for a problem, labels and predictions for an estimator."""

import math
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.engines.dask.blocks import delayed_blocks, lengths_of, mapped_blocks
from drsvm.engines.sharded.rows import RemoteCounts
from drsvm.extras import optional
from drsvm.model.backends import Backend


class DaskBackend(Backend):
    """Dask arrays and data frames, and lists of futures or delayed values."""

    def data(self, X, y, sample_weight, flip_cost):
        client = _client_of(X)
        from drsvm.engines.dask.rows import dask_data

        return dask_data(client, X, y, sample_weight, flip_cost)

    def with_labels(self, X, y):
        if hasattr(y, "to_dask_array"):
            return X, y.to_dask_array()
        delayed_blocks(y, "y")  # raises an error if they are not on a cluster
        return X, y.ravel() if getattr(y, "ndim", 1) == 2 else y

    def n_features(self, X):
        if not isinstance(X, list | tuple):
            return int(X.shape[1])
        from dask.delayed import delayed

        return int(delayed(np.shape)(X[0]).compute()[1])

    def named(self, X):
        return X._meta if hasattr(X, "columns") else X

    def sample(self, X, size):
        from dask.base import compute

        blocks = delayed_blocks(X, "X")
        lengths = lengths_of(X) or compute(*mapped_blocks(_n_rows, blocks))
        some = compute(*mapped_blocks(partial(_every, max(1, sum(lengths) // size)), blocks))
        return sparse.vstack(some, "csr") if sparse.issparse(some[0]) else np.concatenate(some)

    def mapped(self, X, function, parameters):
        return self.by_block(X, partial(_applied, function, parameters), (len(parameters[0]),))

    def classes_of(self, y):
        from dask.base import compute
        from dask.delayed import delayed

        found = compute(*(delayed(np.unique)(block) for block in delayed_blocks(y, "y")))
        return np.unique(np.concatenate(found))

    def by_class(self, y, classes, values, weights=None):
        values, classes = _Constant(np.asarray(values)), _Constant(classes)
        more = [] if weights is None else [_like_labels(weights, y)]
        if not isinstance(y, list | tuple):
            return y.map_blocks(_values_of_block, values, classes, *more, dtype=values.value.dtype)
        from dask.delayed import delayed

        aligned = [one if isinstance(one, list | tuple) else [one] * len(y) for one in (values, classes, *more)]
        return [delayed(_values_of_block)(*blocks) for blocks in zip(y, *aligned, strict=True)]

    def masses_of_classes(self, y, classes, weights=None):
        from dask.base import compute
        from dask.delayed import delayed

        blocks = [delayed_blocks(y, "y")]
        blocks += [] if weights is None else [delayed_blocks(_like_labels(weights, y), "sample_weight")]
        masses = compute(*(delayed(_masses_of_block)(classes, *some) for some in zip(*blocks, strict=True)))
        return np.sum(masses, axis=0)

    def like(self, X, values):
        return np.asarray(values)

    def counts_for_radius(self, problem, y, classes, positive, factors, sample_weight):
        masses = self.masses_of_classes(y, classes, sample_weight)
        weights = self.by_class(y, classes, factors**2, sample_weight)
        scale = float(masses @ factors**2) / float(masses @ factors) ** 2
        return RemoteCounts(problem.relabelled(positive, weights), scale, float(masses.sum()))

    def decision_values(self, X, coef, intercept):
        """Return a Dask array of shape (n,), or (n, K) for K classifiers, that is computed when it is needed."""
        coef = np.asarray(coef, dtype=np.float64)
        return self.by_block(X, partial(_decision_values, coef=coef, intercept=intercept), coef.shape[:-1])

    def by_block(self, X, function, shape: tuple[int, ...]):
        """Return a Dask array of what a function returns for every block of rows, of this shape for each of them."""
        import dask.array as da

        blocks = mapped_blocks(function, delayed_blocks(X, "X"))
        lengths = lengths_of(X) or [math.nan] * len(blocks)
        arrays = [
            da.from_delayed(block, shape=(length, *shape), dtype=np.float64)
            for block, length in zip(blocks, lengths, strict=True)
        ]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)

    def labels(self, values, classes):
        classes = np.asarray(classes)
        return values.map_blocks(_labels_of_block, classes, dtype=classes.dtype, drop_axis=list(range(1, values.ndim)))

    def by_row(self, function, values, parameters, n_columns):
        shape = {"chunks": (values.chunks[0], (n_columns,)), "new_axis": [1] if values.ndim == 1 else None}
        return values.map_blocks(_block_by_row, function, _Constant(parameters), dtype=np.float64, **shape)


def _n_rows(rows) -> int:
    return rows.shape[0]


def _every(step: int, rows) -> Any:
    return rows[::step]


def _applied(function, parameters, rows) -> Any:
    return function(rows, *parameters)


class _Constant:
    """A small array for all blocks, which Dask does not cut into blocks itself."""

    def __init__(self, value: np.ndarray):
        self.value = value


def _values_of_block(labels, values, classes, weights=None) -> np.ndarray:
    found = values.value[np.searchsorted(classes.value, np.asarray(labels))]
    return found if weights is None else found * np.asarray(weights)


def _like_labels(weights, y) -> Any:
    import dask.array as da

    weights = weights.to_dask_array() if hasattr(weights, "to_dask_array") else weights
    if isinstance(y, list | tuple) or isinstance(weights, da.Array):
        return weights
    return da.from_array(np.asarray(weights, dtype=np.float64), chunks=y.chunks)


def _masses_of_block(classes, labels, weights=None) -> np.ndarray:
    return np.bincount(np.searchsorted(classes, np.asarray(labels)), weights, minlength=len(classes)).astype(np.float64)


def _decision_values(rows, coef, intercept) -> np.ndarray:
    return rows @ coef.T + intercept


def _block_by_row(values, function, parameters) -> np.ndarray:
    return function(values, parameters.value)


def _labels_of_block(values, classes) -> np.ndarray:
    return classes[(values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)]


def _client_of(X):
    """Return the client of futures, or else the one in use."""
    distributed = optional("distributed", "Rows on a Dask cluster need", "dask", "distributed")
    if isinstance(X, list | tuple) and isinstance(X[0], distributed.Future):
        return X[0].client
    try:
        return distributed.get_client()
    except ValueError:
        raise RuntimeError(
            "X is a Dask collection, and there is no cluster to compute it on: start one first, for instance "
            "`from distributed import Client; client = Client()` for the cores of this machine."
        ) from None
