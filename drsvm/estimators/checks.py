"""X, y and weights as users give them, checked once per fit by scikit-learn's rules."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    assert_all_finite,
    validate_data,
)

from drsvm.defaults.costs import flip_costs_of_classes
from drsvm.defaults.fit_data import ClassWeight, FitData, RemoteFitData
from drsvm.defaults.outliers import warn_of_far_cells
from drsvm.defaults.radius_rule import SMALLEST_COUNT
from drsvm.estimators.column_errors import naming_columns
from drsvm.estimators.parameters import feature_costs
from drsvm.estimators.placement import remote_backend
from drsvm.problem.backends import is_remote
from drsvm.problem.validation import (
    as_rows,
    check_entries,
    check_indices,
    check_that_labels_are_given,
    distinct_labels,
)
from drsvm.utils.annotations import Labels, Matrix, Values
from drsvm.utils.arguments import about

# The form of rows that problems use: scikit-learn's checks copy nothing that has it.
ROWS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "order": "C",
}


def checked_data(
    estimator,
    X: Matrix,
    y: Labels,
    sample_weight: Values = None,
    class_weight: ClassWeight = None,
    flip_cost: Any = np.inf,
) -> FitData:
    """Return the data of a fit in this process's memory, checked.

    Parameters
    ----------
    estimator : estimator
        Number and names of the features are stored there.
    X, y, sample_weight
        Rows, labels and weights.
    class_weight : "auto", "balanced", dict or None
        The parameter of the estimator.
    flip_cost : float, dict by class, or array of shape (n_samples,)
        Costs of flipping labels.

    Returns
    -------
    FitData
        The data.
    """
    X, y = checked_rows(estimator, X, y)
    classes = classes_of(y, estimator)
    sample_weight = checked_weights(sample_weight, X)
    check_that_every_class_counts(y, classes, sample_weight)
    data = FitData(X, y, classes, sample_weight, class_weight)
    # A dict of class weights may have a 0.
    if not data.class_factors.all():
        check_that_every_class_counts(y, classes, data.weights)
    return _with_flip_costs(data, flip_cost)


def checked_data_anywhere(
    estimator, X: Matrix, y: Labels, sample_weight, class_weight, flip_cost
) -> FitData:
    """Return `checked_data`, also of rows on a cluster or a GPU, which stay there."""
    if not is_remote(X):
        return checked_data(estimator, X, y, sample_weight, class_weight, flip_cost)
    backend = remote_backend(X)
    X, y = backend.with_labels(X, y)
    _check_feature_names(estimator, backend.named(X), reset=True)
    estimator.n_features_in_ = backend.n_features(X)
    classes = classes_of(backend.classes_of(y), estimator)
    data = RemoteFitData(X, y, classes, sample_weight, class_weight)
    return _with_flip_costs(data, flip_cost)


def _with_flip_costs(data: FitData, flip_cost) -> FitData:
    """Return the data with flip costs: a number, or one per row if given by class."""
    if isinstance(flip_cost, Mapping):
        flip_cost = data.by_class(flip_costs_of_classes(flip_cost, data.classes))
    elif not hasattr(flip_cost, "shape"):
        # A sequence, or a single number
        with about("flip_cost"):
            flip_cost = np.asarray(flip_cost)[()]
    return replace(data, flip_cost=flip_cost)


def checked_rows(
    estimator, X: Matrix, y: Labels, *, reset: bool = True
) -> tuple[Matrix, np.ndarray]:
    """Return the rows in the form that problems use, and the labels."""
    if is_remote(X):
        raise TypeError(
            f"{type(estimator).__name__} needs rows in this process's memory "
            f"here, got X of type {type(X).__name__}: use "
            "WassersteinSVC().fit, or bring a sample of the rows here."
        )
    # Only other input may have columns with text or dates, which an error can name.
    is_numeric_array = type(X) is np.ndarray and X.dtype.kind in "fiub"
    try:
        columns = nullcontext() if is_numeric_array else naming_columns(X)
        with about("X", "y"), columns:
            check_indices(X)
            X, y = validate_data(estimator, X, y, reset=reset, **ROWS)
        if not _are_few_whole_numbers(y):
            with about("y"):
                check_classification_targets(y)
    except (TypeError, ValueError):
        # An error about labels that are missing says where they are, and one about
        # labels of several types which these are.
        check_that_labels_are_given(y)
        distinct_labels(np.asarray(y))
        raise
    return as_rows(X), y


def _are_few_whole_numbers(y: np.ndarray) -> bool:
    """Return whether labels are classes without further checks.

    Those of scikit-learn would take as long as a small fit.
    """
    if y.dtype.kind not in "biuf":
        return False
    labels = np.unique(y)
    return 0 < 2 * len(labels) <= len(y) and bool(np.all(labels == np.round(labels)))


def checked_weights(sample_weight: Values, X: Matrix) -> np.ndarray | None:
    """Return the weights of the rows, None if they are all equal."""
    if sample_weight is None:
        return None
    with about("sample_weight"):
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        # scikit-learn does not check a single number.
        assert_all_finite(weights)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise ValueError("sample_weight has an infinite sum: divide it by a number.")
    # As numbers of copies, the rules divide by them.
    if 0.0 < weights.max() < SMALLEST_COUNT:
        raise ValueError(
            f"sample_weight is below {SMALLEST_COUNT:g} everywhere: multiply it by a "
            "large number."
        )
    return weights


def check_that_every_class_counts(
    y: np.ndarray, classes: np.ndarray, weights: np.ndarray | None
) -> None:
    """Raise an error if all rows of a class have weight 0."""
    if weights is None:
        return
    for label in classes.tolist():
        if not weights[y == label].any():
            raise ValueError(
                f"All samples of class {label!r} have weight 0: give one of them a "
                "positive weight, or leave the class out."
            )


def classes_of(labels: Labels, estimator) -> np.ndarray:
    """Return the classes, at least two of them."""
    classes = np.unique(labels)
    if len(classes) < 2:
        only = classes.tolist()[0]
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least two "
            f"classes in y, got one class: {only!r}."
        )
    return classes


def without_gross_errors(estimator, data: FitData) -> FitData:
    """Warn of far-off rows and of columns on another scale.

    Return the data with the share of the spread that is not due to far-off rows.
    """
    spread_share = warn_of_far_cells(
        data.X,
        data.sample_weight,
        names=getattr(estimator, "feature_names_in_", None),
        costs=feature_costs(estimator),
        classifier=type(estimator).__name__,
    )
    return replace(data, spread_share=spread_share)


@contextmanager
def naming_large_entries(data: FitData) -> Iterator[None]:
    """Say which entry of X is too large if something fails in the block.

    A check before the block would be one more pass over the rows.
    """
    try:
        # Numpy warns of entries that overflow, but does not say which.
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except ValueError:
        if not isinstance(data, RemoteFitData):
            check_entries(data.X)
        raise
