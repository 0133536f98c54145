"""Labels, weights and predictions on a Dask cluster, for the estimator; `gpu/arrays.py` has the same for a card."""

import math
from typing import Any

import numpy as np

from drsvm.engines.dask.blocks import delayed_blocks, lengths_of
from drsvm.engines.parts.problem import CountsElsewhere


def with_labels(X, y) -> tuple[Any, Any]:
    """Return X and y in the form that the other functions take: labels are a Dask array, or a list of blocks."""
    if hasattr(y, "to_dask_array"):
        return X, y.to_dask_array()
    delayed_blocks(y, "y")  # raises an error if they are not on a cluster
    return X, y.ravel() if getattr(y, "ndim", 1) == 2 else y


def n_features(X) -> int:
    """Return the number of columns."""
    if not isinstance(X, list | tuple):
        return int(X.shape[1])
    from dask.delayed import delayed

    return int(delayed(np.shape)(X[0]).compute()[1])


def named(X) -> Any:
    """Return something that has the names of the features, if they have any."""
    return X._meta if hasattr(X, "columns") else X


def _on_blocks(function, y, *more, dtype: Any = np.float64) -> Any:
    """Return function(block, ...) of the blocks of y and of other vectors like it."""
    if not isinstance(y, list | tuple):
        return y.map_blocks(function, *more, dtype=dtype)
    from dask.delayed import delayed

    aligned = [one if isinstance(one, list | tuple) else [one] * len(y) for one in more]
    return [delayed(function)(*blocks) for blocks in zip(y, *aligned, strict=True)]


def _summed(parts) -> np.ndarray:
    from dask.base import compute

    return np.sum(compute(*parts), axis=0)


def classes_of(y) -> np.ndarray:
    """Return the distinct labels."""
    from dask.base import compute
    from dask.delayed import delayed

    found = compute(*(delayed(np.unique)(block) for block in delayed_blocks(y, "y")))
    return np.unique(np.concatenate(found))


def by_class(y, classes, values, weights=None) -> Any:
    """Return the value of its class for every row, times its weight if there is one."""
    values, classes = _Constant(np.asarray(values)), _Constant(classes)
    more = [] if weights is None else [_like_labels(weights, y)]
    return _on_blocks(_values_of_block, y, values, classes, *more, dtype=values.value.dtype)


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


def masses_of_classes(y, classes, weights=None) -> np.ndarray:
    """Return the number of rows of every class, or the sum of their weights."""
    from dask.delayed import delayed

    blocks = [delayed_blocks(y, "y")]
    blocks += [] if weights is None else [delayed_blocks(_like_labels(weights, y), "sample_weight")]
    return _summed(delayed(_masses_of_block)(classes, *some) for some in zip(*blocks, strict=True))


def _masses_of_block(classes, labels, weights=None) -> np.ndarray:
    return np.bincount(np.searchsorted(classes, np.asarray(labels)), weights, minlength=len(classes)).astype(np.float64)


def like(X, values) -> np.ndarray:
    """Return fitted weights, which stay arrays of numpy."""
    return np.asarray(values)


def counts_for_radius(problem, y, classes, positive, factors, sample_weight) -> CountsElsewhere:
    """Return how many rows each row counts for in the automatic radius of a problem: as many as its given weight says.

    In the problem, the rows of every class have this weight times a factor.
    """
    masses = masses_of_classes(y, classes, sample_weight)
    weights = by_class(y, classes, factors**2, sample_weight)
    scale = float(masses @ factors**2) / float(masses @ factors) ** 2
    return CountsElsewhere(problem.relabelled(positive, weights), scale, float(masses.sum()))


def decision_values(X, coef, intercept):
    """Return x·w + b for every row, as a Dask array that is computed when it is asked for.

    Parameters
    ----------
    X : Dask array, data frame, or list of futures or delayed values
        The rows; chunks may be dense or sparse.
    coef, intercept : arrays of shape (d,) or (K, d), float or array of shape (K,)
        The classifier, or several.

    Returns
    -------
    dask.array.Array of shape (n,) or (n, K)
    """
    import dask.array as da
    from dask.delayed import delayed

    coef = np.asarray(coef, dtype=np.float64)
    blocks = delayed_blocks(X, "X")
    lengths = lengths_of(X) or [math.nan] * len(blocks)
    values = delayed(_decision_values, pure=True)
    arrays = [
        da.from_delayed(values(block, coef, intercept), shape=(length, *coef.shape[:-1]), dtype=np.float64)
        for block, length in zip(blocks, lengths, strict=True)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _decision_values(block, coef, intercept) -> np.ndarray:
    rows = block if hasattr(block, "tocsr") else np.asarray(block)
    return rows @ coef.T + intercept


def labels(values, classes):
    """Return the labels for decision values: the second class where they are positive, or the class of the largest.

    Parameters
    ----------
    values : dask.array.Array of shape (n,) or (n, K)
        Decision values.
    classes : array of shape (2,) or (K,)
        The classes.

    Returns
    -------
    dask.array.Array of shape (n,)
    """
    classes = np.asarray(classes)
    if values.ndim == 1:
        return values.map_blocks(_label_of_sign, classes, dtype=classes.dtype)
    return values.map_blocks(_label_of_largest, classes, dtype=classes.dtype, drop_axis=1)


def _label_of_sign(values, classes) -> np.ndarray:
    return classes[(values > 0).astype(np.intp)]


def _label_of_largest(values, classes) -> np.ndarray:
    return classes[np.argmax(values, axis=1)]
