"""Input validation; every error message states the value and the remedy."""

import math
import numbers
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from drsvm.utils.annotations import Costs, Labels, Matrix
from drsvm.utils.arguments import about
from drsvm.utils.parallel import over, row_blocks

# For smaller κ > 0, computing with 1/κ is not safe.
SMALLEST_FLIP_COST = 1e-100
# The range of finite costs of features and of the intercept: dividing by them is safe.
COST_RANGE = (1e-100, 1e100)
COST_RULE = f"costs must lie between {COST_RANGE[0]:g} and {COST_RANGE[1]:g}, or be inf"
# Larger entries of X are refused: sums of their squares overflow, and nothing could be
# proven.
LARGEST_ENTRY = 1e100
# The number of names that an error lists
MAX_SHOWN = 5


def check_number(value, name: str, *, infinite: bool = False) -> float:
    """Return `value` as a float ≥ 0, or raise an error."""
    is_boolean = isinstance(value, bool | np.bool_)
    if is_boolean or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    with about(name):
        number = float(value)
    limits = "at least 0 (inf is allowed)" if infinite else "finite and at least 0"
    if not number >= 0 or (math.isinf(number) and not infinite):
        raise ValueError(f"{name} must be {limits}, got {name}={value!r}.")
    return number


def check_flip_cost(value) -> float:
    """Return the cost of flipping a label as a float; 0 and inf are allowed."""
    cost = check_number(value, "flip_cost", infinite=True)
    if 0 < cost < SMALLEST_FLIP_COST:
        raise ValueError(
            f"flip_cost must be 0 or at least {SMALLEST_FLIP_COST:g}, got "
            f"flip_cost={value!r}: use 0."
        )
    return cost


def check_flip_costs(value, n: int, kept: np.ndarray | None = None) -> Costs:
    """Return the cost of flipping a label.

    It is a float, or an array over the kept rows if they differ.
    """
    if isinstance(value, dict):
        raise TypeError(
            "flip_cost must be a number or have one entry per row, got a dict: for "
            "costs by class, pass [costs[label] for label in y]."
        )
    with about("flip_cost"):
        is_number = np.ndim(value) == 0
    if is_number:
        return check_flip_cost(value)
    costs = _one_per("row", value, n, "flip_cost")
    rule = "costs must be at least 0 (inf is allowed: a verified label)"
    _refuse(costs, ~(costs >= 0), "flip_cost", "row", rule)
    tiny = (costs > 0) & (costs < SMALLEST_FLIP_COST)
    rule = f"costs must be 0 or at least {SMALLEST_FLIP_COST:g}: use 0"
    _refuse(costs, tiny, "flip_cost", "row", rule)
    if kept is not None:
        costs = costs[kept]
    if (costs == costs[0]).all():
        return float(costs[0])
    return costs


def check_row_radius(value, n: int, kept: np.ndarray | None = None) -> Costs:
    """Return by how much every row may shift on its own.

    It is a float, or an array over the kept rows if they differ.
    """
    with about("row_radius"):
        is_number = np.ndim(value) == 0
    if is_number:
        return check_number(value, "row_radius")
    radii = _one_per("row", value, n, "row_radius")
    is_radius = (radii >= 0) & np.isfinite(radii)
    _refuse(radii, ~is_radius, "row_radius", "row", "radii must be finite and ≥ 0")
    if kept is not None:
        radii = radii[kept]
    if (radii == radii[0]).all():
        return float(radii[0])
    return radii


def check_intercept_cost(value) -> float:
    """Return the cost of the intercept as a float; inf means that it is free."""
    cost = check_number(value, "intercept_cost", infinite=True)
    if not _is_cost(cost):
        raise ValueError(
            f"intercept_cost={value!r} is out of range: {COST_RULE} (a free intercept)."
        )
    return cost


def check_feature_costs(value, d: int) -> np.ndarray | None:
    """Return the costs of the features, or None if all are 1."""
    if value is None:
        return None
    costs = _one_per("feature", value, d, "feature_cost")
    rule = f"{COST_RULE} (a feature that cannot shift)"
    _refuse(costs, ~_is_cost(costs), "feature_cost", "feature", rule)
    if (costs == 1).all():
        return None
    return costs


def _is_cost(cost):
    """Return whether a cost, or each of several, is infinite or in range."""
    low, high = COST_RANGE
    return (cost == math.inf) | ((cost >= low) & (cost <= high))


def check_monotonic_signs(value, d: int) -> np.ndarray | None:
    """Return the prescribed signs of the weights as −1, 0 and 1.

    None if there are none.
    """
    if value is None:
        return None
    signs = _one_per("feature", value, d, "monotonic_cst")
    rule = (
        "use 1 for a weight that must not be negative, -1 for one that must not be "
        "positive, 0 for a free one"
    )
    _refuse(signs, ~np.isin(signs, (-1, 0, 1)), "monotonic_cst", "feature", rule)
    if not signs.any():
        return None
    return signs.astype(np.int8)


def in_order_of_features(
    value, names: Sequence[str] | None, parameter: str, otherwise: float
):
    """Return the values of a parameter in the order of the features.

    Parameters
    ----------
    value : array, dict or anything else
        What is given; only a dict by name is changed.
    names : sequence of str, optional
        The names of the features, if they have any.
    parameter : str
        The name of the parameter, for errors.
    otherwise : float
        The value of features that the dict does not name.

    Returns
    -------
    list or the given value
        One entry per feature.
    """
    if not isinstance(value, Mapping):
        return value
    if names is None:
        raise ValueError(
            f"{parameter} names features ({_shown(list(value))}), but X has no names: "
            f"pass a data frame, or {parameter} as an array with one entry per feature."
        )
    for name in value:
        if name not in set(names):
            raise ValueError(
                f"{parameter} names {name!r}, which is not among the features "
                f"{_shown(names)}."
            )
    return [value.get(name, otherwise) for name in names]


def _shown(names: Sequence) -> str:
    """Return up to MAX_SHOWN names as text."""
    text = ", ".join(map(str, names[:MAX_SHOWN]))
    if len(names) > MAX_SHOWN:
        text += ", …"
    return text


def _one_per(what: str, value, count: int, name: str, kinds: str = "fiu") -> np.ndarray:
    """Return the values as a new float64 array with one entry per row or feature.

    A number is repeated.
    """
    with about(name):
        values = np.asarray(value)
    if values.dtype.kind not in kinds:
        raise TypeError(
            f"{name} must contain real numbers, got {name}={value!r} with dtype "
            f"{values.dtype}."
        )
    if values.ndim == 0:
        return np.full(count, float(values))
    if values.shape != (count,):
        raise ValueError(
            f"{name} must be a number or have one entry per {what} of X ({count}), got "
            f"shape {values.shape}."
        )
    return values.astype(np.float64)


def _refuse(
    values: np.ndarray, bad: np.ndarray, name: str, what: str, rule: str
) -> None:
    """Raise an error that names the first bad value, if there is one."""
    if bad.any():
        raise ValueError(
            f"{name} has {values[bad][0]:g} at {what} {int(np.argmax(bad))}: {rule}."
        )


def check_rows(X: "Matrix | CheckedRows") -> Matrix:
    """Return X as a C-ordered array or a canonical CSR array of finite floats.

    It shares memory with X where possible.
    """
    if isinstance(X, CheckedRows):
        return X.rows
    rows = as_rows(X)
    check_entries(rows)
    return rows


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Rows in the form that `as_rows` returns, and known to be finite.

    `check_rows` returns them without another check: an estimator checks its rows once
    and then builds one problem per class, fold and setting from them.
    """

    rows: Matrix


def as_rows(X: Matrix) -> Matrix:
    """Return X in the form that `check_rows` returns, without checking its values."""
    if sparse.issparse(X):
        rows = _sparse_rows(X)
    else:
        with about("X"):
            rows = _dense_rows(np.asarray(X))
    if 0 in rows.shape:
        raise ValueError(
            f"X is empty: its shape is {rows.shape}, but at least one row and one "
            "feature are needed."
        )
    return rows


def _dense_rows(X: np.ndarray) -> np.ndarray:
    """Return a C-ordered array of floats, which is read-only."""
    if X.ndim != 2:
        raise ValueError(
            f"X must have two dimensions (rows, features), got shape {X.shape}: "
            "use X.reshape(-1, 1) for one feature."
        )
    rows = np.ascontiguousarray(X, dtype=_float_type(X.dtype)).view(np.ndarray)
    rows.flags.writeable = False
    return rows


def _sparse_rows(X: Matrix) -> Matrix:
    """Return a canonical CSR array of floats, with indices of 32 bits if they fit."""
    dtype = _float_type(X.dtype)
    if X.ndim != 2:
        raise ValueError(
            f"X must have two dimensions (rows, features), got shape {X.shape}."
        )
    check_indices(X)
    X = X.tocsr()
    index_type = np.int64
    if max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        index_type = np.int32
    indices = X.indices.astype(index_type, copy=False)
    indptr = X.indptr.astype(index_type, copy=False)
    # A new object with its own flags, because sorting and setting flags must not affect
    # the caller's matrix.
    rows = sparse.csr_array((X.data, indices, indptr), shape=X.shape, copy=False)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows.astype(dtype, copy=False)


def check_indices(X: Matrix) -> None:
    """Raise an error if a sparse matrix has an index outside of its shape.

    Compiled code, also that of scipy, would read and write beyond its arrays.
    """
    if not sparse.issparse(X):
        return
    try:
        if X.format == "coo":
            sparse.coo_array((X.data, (X.row, X.col)), shape=X.shape)
        elif hasattr(X, "check_format"):
            # A copy that shares the arrays, since the check may replace them.
            copy(X).check_format()
    except ValueError as error:
        raise ValueError(
            f"X is no {X.format.upper()} matrix of shape {X.shape}: {error}. Build it "
            "again from the rows, columns and values of its entries, or with a larger "
            "shape."
        ) from None


def _float_type(dtype: np.dtype) -> np.dtype:
    """Return float32 for itself, and float64 for other numbers."""
    if dtype.kind not in "fiub":
        remedy = "convert it to numbers, for instance X.astype(float)"
        if dtype.kind == "c":
            remedy = "take the real part"
        raise TypeError(f"X must contain real numbers, got dtype {dtype}: {remedy}.")
    if dtype == np.float32:
        return dtype
    return np.dtype(np.float64)


def check_entries(rows: Matrix) -> None:
    """Raise an error that names the first entry that is no number of ordinary size."""
    if sparse.issparse(rows):
        stored = rows.data
        blocks = row_blocks(stored[:, None])
    else:
        stored = rows
        blocks = row_blocks(stored)

    def is_ordinary(block: slice) -> bool:
        # The minimum and the maximum are NaN if an entry is.
        low = float(stored[block].min())
        high = float(stored[block].max())
        return low >= -LARGEST_ENTRY and high <= LARGEST_ENTRY

    ordinary = over(blocks, is_ordinary)
    if all(ordinary):
        return
    # Which entry it is, is asked only of the first block that has one.
    first = blocks[ordinary.index(False)]
    block = stored[first]
    bad = np.argwhere(~(np.abs(block, dtype=np.float64) <= LARGEST_ENTRY))[0]
    value = block[tuple(bad)]
    i = first.start + bad[0]
    j = bad[-1]
    # Of sparse rows, the place is one among the stored entries.
    if stored.ndim == 1:
        j = rows.indices[i]
        i = np.searchsorted(rows.indptr, i, side="right") - 1
    large = ", which is too large," if np.isfinite(value) else ""
    raise ValueError(
        f"X has {value:g}{large} at row {i}, column {j}: impute or drop such entries "
        "(for instance with sklearn.impute.SimpleImputer)."
    )


def check_that_labels_are_given(
    y: Labels, name: str = "y", what: str = "a label"
) -> None:
    """Raise an error that names the first row whose label is None, NaN or pandas.NA.

    For an argument other than y, `name` and `what` it contains are those of the error.
    """
    with about(name):
        labels = np.asarray(y)
    if labels.ndim == 0 or labels.dtype.kind not in "fMO":
        return
    given = labels.ravel().tolist()
    gaps = []
    for row, label in enumerate(given):
        if not isinstance(label, str) and str(label) in ("None", "nan", "<NA>", "NaT"):
            gaps.append(row)
    if gaps:
        raise ValueError(
            f"{name} has {given[gaps[0]]} in place of {what} in {len(gaps)} of "
            f"{len(given)} rows, the first of them row {gaps[0]}: leave those rows out "
            f"of X and y (pandas.notna({name}) tells which to keep)."
        )


def check_label_vector(y: Labels, n: int) -> np.ndarray:
    """Return the labels as an array with one entry per row.

    There may be any number of classes.
    """
    with about("y"):
        labels = np.asarray(y)
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.ravel()
    if labels.shape != (n,):
        raise ValueError(
            f"y must have one label per row of X: X has {n} rows, y has shape "
            f"{labels.shape}."
        )
    if labels.dtype.kind == "c":
        raise TypeError("y must not be complex.")
    if labels.dtype.kind == "O":
        check_that_labels_are_given(labels)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(
            f"y has {labels[~np.isfinite(labels)][0]} among its labels: drop those "
            "rows."
        )
    return labels


def check_labels(y: Labels, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the two classes in sorted order, and the signs ±1 of the rows.

    The sign is +1 for the second class.
    """
    labels = check_label_vector(y, n)
    # Two numbers are found without sorting all labels.
    if labels.dtype.kind in "fiub" and len(labels) > 0:
        low = labels.min()
        high = labels.max()
        positive = labels == high
        if low < high and (positive | (labels == low)).all():
            return np.array([low, high]), np.where(positive, 1.0, -1.0)
    classes, codes = distinct_labels(labels, return_inverse=True)
    check_classes(classes)
    return classes, np.where(codes.reshape(-1) == 1, 1.0, -1.0)


def distinct_labels(labels: np.ndarray, **options):
    """Return the distinct labels in sorted order, as `numpy.unique` does."""
    try:
        return np.unique(labels, **options)
    except TypeError:
        types = sorted({type(label).__name__ for label in labels.ravel().tolist()})
        raise TypeError(
            f"y mixes labels that cannot be compared with each other ({_shown(types)})"
            ": use only numbers or only texts, for instance "
            "[str(label) for label in y]."
        ) from None


def check_classes(classes: np.ndarray) -> None:
    """Raise an error unless there are two classes."""
    if len(classes) == 2:
        return
    remedy = "with more classes, solve one problem per class against the rest"
    if len(classes) == 1:
        remedy = "one class cannot be separated"
    raise ValueError(
        f"y must have exactly two labels, got {len(classes)} "
        f"({_shown(classes.tolist())}): {remedy}."
    )


def check_signed_rows(
    X: Matrix, signs, sample_weight=None
) -> tuple[Matrix, np.ndarray, np.ndarray]:
    """Return rows, their labels ±1 and their weights, which are not scaled.

    This is for methods that take some of the rows at a time.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.
    signs : array of shape (n,)
        Labels −1 and 1; all may be equal.
    sample_weight : array of shape (n,), optional
        Weights; by default 1.

    Returns
    -------
    X, signs, weights : matrix and arrays
        All of them checked.
    """
    X = check_rows(X)
    signs = np.asarray(signs, dtype=np.float64)
    n = X.shape[0]
    if signs.shape != (n,) or not np.isin(signs, (-1.0, 1.0)).all():
        raise ValueError(f"signs must contain {n} values of -1 or 1, one per row.")
    if sample_weight is None:
        weights = np.ones(n)
    else:
        weights = check_unscaled_weights(sample_weight, n)
    check_total(weights.max())
    return X, signs, weights


def check_weights(sample_weight, n: int) -> np.ndarray:
    """Return the weights, scaled to sum to 1; by default they are equal."""
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    weights = check_unscaled_weights(sample_weight, n)
    check_total(weights.max())
    # Before the sum, so that huge weights cannot overflow and tiny ones cannot vanish
    weights /= weights.max()
    # So exactly that their order does not matter
    return weights / float(weights.sum(dtype=np.longdouble))


def check_total(largest: float) -> None:
    """Raise an error unless some weight is positive."""
    if not largest > 0:
        raise ValueError(
            "sample_weight is 0 for every row: at least one row of each class needs a "
            "positive weight."
        )


def check_unscaled_weights(
    sample_weight, n: int, name: str = "sample_weight"
) -> np.ndarray:
    """Return the weights as a new array with one entry per row.

    All of them are finite and at least 0.
    """
    weights = _one_per("row", sample_weight, n, name, "fiub")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    rule = "weights must be finite and at least 0"
    _refuse(weights, bad, name, "row", rule)
    return weights


def check_weight_vector(weights, d: int, name: str = "weights") -> np.ndarray:
    """Return a weight vector of length d as float64."""
    with about(name):
        vector = np.asarray(weights, dtype=np.float64)
    if vector.shape != (d,):
        raise ValueError(
            f"{name} must have one entry per feature of X ({d}), got shape "
            f"{vector.shape}."
        )
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} has NaN or infinite entries.")
    return vector
