"""Data on a Dask cluster: rows for a problem, labels and predictions for an estimator.

Functions for blocks are closures, so that Dask does not cut small arrays, such as the
classes, into blocks.
"""

import math
from collections.abc import Callable, Iterable

import dask.array as da
import numpy as np
from dask.base import compute
from dask.delayed import delayed
from scipy import sparse

from drsvm.engines.dask.dask_blocks import (
    Block,
    delayed_blocks,
    lengths_of,
    mapped_blocks,
)
from drsvm.engines.sharded.sharded_rows import RemoteCounts
from drsvm.problem.backends import Backend
from drsvm.utils.annotations import Matrix
from drsvm.utils.lazy import optional


class DaskBackend(Backend):
    """Dask arrays and data frames, and lists of futures or delayed values."""

    def data(self, X, y, sample_weight, flip_cost):
        distributed = optional(
            "distributed", "Rows on a Dask cluster need", "dask", "distributed"
        )
        from drsvm.engines.dask.dask_rows import dask_data

        if isinstance(X, list | tuple) and isinstance(X[0], distributed.Future):
            client = X[0].client
        else:
            try:
                client = distributed.get_client()
            except ValueError:
                raise RuntimeError(
                    "X is a Dask collection, and there is no cluster to "
                    "compute it on: start one first, for instance `from "
                    "distributed import Client; client = Client()` for the "
                    "cores of this machine."
                ) from None
        return dask_data(client, X, y, sample_weight, flip_cost)

    def with_labels(self, X, y):
        if hasattr(y, "to_dask_array"):
            return X, y.to_dask_array()
        delayed_blocks(y, "y")  # raises an error if they are not on a cluster
        if getattr(y, "ndim", 1) == 2:
            y = y.ravel()
        return X, y

    def n_features(self, X):
        if not isinstance(X, list | tuple):
            return int(X.shape[1])
        [shape] = mapped_blocks(np.shape, list(X[:1]))
        return int(shape.compute()[1])

    def named(self, X):
        return X._meta if hasattr(X, "columns") else X

    def sample(self, X, size):
        blocks = delayed_blocks(X, "X")
        lengths = lengths_of(X)
        if lengths is None:
            lengths = compute(*mapped_blocks(lambda rows: rows.shape[0], blocks))
        step = max(1, sum(lengths) // size)
        some = compute(*mapped_blocks(lambda rows: rows[::step], blocks))
        if sparse.issparse(some[0]):
            return sparse.vstack(some, "csr")
        return np.concatenate(some)

    def mapped(self, X, function, parameters):
        shape = (len(parameters[0]),)
        return self.by_block(X, lambda rows: function(rows, *parameters), shape)

    def classes_of(self, y):
        classes = compute(*mapped_blocks(np.unique, delayed_blocks(y, "y")))
        return np.unique(np.concatenate(classes))

    def by_class(self, y, classes, values, weights=None):
        values = np.asarray(values)

        def of_block(labels, weights=None):
            by_row = values[np.searchsorted(classes, np.asarray(labels))]
            if weights is None:
                return by_row
            return by_row * np.asarray(weights)

        columns = _with_weights(y, weights)
        if isinstance(y, list | tuple):
            return _of_blocks(of_block, columns)
        return y.map_blocks(of_block, *columns[1:], dtype=values.dtype)

    def masses_of_classes(self, y, classes, weights=None):
        def of_block(labels, weights=None):
            codes = np.searchsorted(classes, np.asarray(labels))
            return np.bincount(codes, weights, minlength=len(classes))

        names = ("y", "sample_weight")
        columns = map(delayed_blocks, _with_weights(y, weights), names)
        masses = compute(*_of_blocks(of_block, columns))
        return np.asarray(np.sum(masses, axis=0, dtype=np.float64))

    def like(self, X, values):
        return np.asarray(values)

    def counts_for_radius(self, problem, y, classes, positive, factors, sample_weight):
        # The formulas are those of RemoteCounts.
        masses = self.masses_of_classes(y, classes, sample_weight)
        weights = self.by_class(y, classes, factors**2, sample_weight)
        scale = float(masses @ factors**2) / float(masses @ factors) ** 2
        problem = problem.relabelled(positive, weights)
        return RemoteCounts(problem, scale, float(masses.sum()))

    def decision_values(self, X, coef, intercept):
        """Return a Dask array of shape (n,), or (n, K) for K classifiers.

        It is computed when it is needed.
        """
        coef = np.asarray(coef, dtype=np.float64)
        return self.by_block(X, lambda rows: rows @ coef.T + intercept, coef.shape[:-1])

    def by_block(self, X, function, shape) -> Matrix:
        """Return a Dask array of the values of a function, which takes a block of rows.

        For each row, the function returns an array of the given shape.
        """
        blocks = mapped_blocks(function, delayed_blocks(X, "X"))
        lengths = lengths_of(X) or [math.nan] * len(blocks)
        arrays = [
            da.from_delayed(block, shape=(length, *shape), dtype=np.float64)
            for block, length in zip(blocks, lengths, strict=True)
        ]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)

    def labels(self, values, classes):
        classes = np.asarray(classes)

        def of_block(values):
            if values.ndim == 1:
                return classes[(values > 0).astype(np.intp)]
            return classes[np.argmax(values, axis=1)]

        dropped = list(range(1, values.ndim))
        return values.map_blocks(of_block, dtype=classes.dtype, drop_axis=dropped)

    def by_row(self, function, values, parameters, n_columns):
        new_axis = None
        if values.ndim == 1:
            new_axis = [1]
        return values.map_blocks(
            lambda block: function(block, parameters),
            dtype=np.float64,
            chunks=(values.chunks[0], (n_columns,)),
            new_axis=new_axis,
        )


def _of_blocks(
    function: Callable[..., Matrix], columns: Iterable[list[Block]]
) -> list[Block]:
    """Return delayed values of a function of a block of each column."""
    function = delayed(function)
    return [function(*blocks) for blocks in zip(*columns, strict=True)]


def _with_weights(y: Matrix, weights: Matrix | None) -> list[Matrix]:
    """Return labels, and weights that are cut like them if there are any."""
    if weights is None:
        return [y]
    if hasattr(weights, "to_dask_array"):
        weights = weights.to_dask_array()
    if not isinstance(y, list | tuple) and not isinstance(weights, da.Array):
        weights = np.asarray(weights, dtype=np.float64)
        weights = da.from_array(weights, chunks=y.chunks)
    return [y, weights]
