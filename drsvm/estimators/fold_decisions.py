"""Decisions about rows in folds by clones of any classifier or pipeline."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from drsvm.defaults.folds import Folds
from drsvm.defaults.one_vs_rest import is_constant
from drsvm.utils.annotations import Matrix

# Up to this number of rows, trees are faster on one thread
MAX_ON_ONE_THREAD = 20_000


class Table(NamedTuple):
    """Rows, labels and weights, and the classes of all labels."""

    X: Matrix
    y: np.ndarray
    weights: np.ndarray | None
    classes: np.ndarray

    def some(self, rows: np.ndarray) -> "Table":
        """Return the table of some rows."""
        weights = self.weights
        if weights is not None:
            weights = weights[rows]
        return Table(_some(self.X, rows), self.y[rows], weights, self.classes)


def decisions_in_folds(
    model: BaseEstimator,
    table: Table,
    folds: Folds,
    n_jobs: int | None,
    done: Callable[[int, float], None],
) -> np.ndarray:
    """Return one out-of-fold value per row and class.

    Parameters
    ----------
    model : classifier
        What is cloned and fitted in every fold.
    table : Table
        The rows.
    folds : list of (train, test)
        The folds.
    n_jobs : int, optional
        Number of folds fitted in parallel.
    done : callable
        Called after each fold with the number of its rows, and the seconds it took.

    Returns
    -------
    array of shape (n, n_classes)
        The mean over the folds that test a row, of which a constant classifier
        contributes 0.
    """
    # Folds of a repeated split test a row several times.
    decisions = np.zeros((len(table.y), len(table.classes)))
    times_tested = np.zeros(len(table.y))
    n_threads = 1 if len(table.y) <= MAX_ON_ONE_THREAD else None
    with threadpool_limits(n_threads, "openmp"):
        tasks = (delayed(decisions_of_fold)(model, table, *fold) for fold in folds)
        outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
        for (_, test), (values, seconds) in zip(folds, outcomes, strict=True):
            decisions[test] += values
            times_tested[test] += 1
            done(len(test), seconds)
    return decisions / times_tested[:, None]


def decisions_of_fold(
    model: BaseEstimator, table: Table, train: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, float]:
    """Fit a clone on the training rows, and decide about the test rows.

    Returns
    -------
    decisions : array of shape (n_test, n_classes)
        The decision values, 0 if the classifier is constant: it would prefer the larger
        class everywhere, and has no information about single rows.
    seconds : float
        How long it took.
    """
    start = time.perf_counter()
    training = table.some(train)
    X_train = training.X
    weights = {}
    if training.weights is not None:
        weights = dict.fromkeys(_weight_parameters(model), training.weights)
    with quietly():
        model = clone(model).fit(X_train, training.y, **weights)
    decisions = _decision_values(model, _some(table.X, test), table.classes)
    if is_constant(decisions):
        of_training_rows = _decision_values(model, X_train, table.classes)
        if is_constant(of_training_rows):
            decisions = np.zeros_like(decisions)
    return decisions, time.perf_counter() - start


def _weight_parameters(model: BaseEstimator) -> list[str]:
    """Return the names of the parameters of `fit` that take the weights of rows."""
    if isinstance(model, Pipeline):
        names = [f"{model.steps[-1][0]}__sample_weight"]
        for name, step in model.steps[:-1]:
            # "passthrough" has no `fit`.
            fits = hasattr(step, "fit")
            if fits and "sample_weight" in signature(step.fit).parameters:
                names.append(f"{name}__sample_weight")
        return names
    if "sample_weight" not in signature(model.fit).parameters:
        raise TypeError(
            f"{type(model).__name__}.fit takes no sample_weight: omit it, or use "
            "another estimator."
        )
    return ["sample_weight"]


def _some(X: Matrix, rows: np.ndarray) -> Matrix:
    """Return some rows of an array, a sparse matrix or a table."""
    # scikit-learn 1.6 does not index Arrow tables.
    if hasattr(X, "column_names"):
        return X.take(rows)
    return _safe_indexing(X, rows)


@contextmanager
def quietly() -> Iterator[None]:
    """Leave out warnings about the classifiers of single folds: one for all follows."""
    ignored = "The fitted classifier is constant|radius / flip_cost|Far-off"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ignored, UserWarning)
        yield


def _decision_values(model, X: Matrix, classes: np.ndarray) -> np.ndarray:
    """Return one value per row and class; the largest one decides."""
    # Probabilities of 0 have no logarithm.
    if not hasattr(model, "decision_function"):
        least = np.finfo(np.float32).eps
        return np.log(np.maximum(model.predict_proba(X), least))
    values = np.asarray(model.decision_function(X), dtype=np.float64)
    # The value of two classes is the difference of theirs.
    if values.ndim == 1:
        return np.column_stack([-values / 2, values / 2])
    if values.shape[1] != len(classes):
        raise ValueError(
            f"decision_function returned {values.shape[1]} values per row for "
            f"{len(classes)} classes: it must return one per class (for SVC: "
            "decision_function_shape='ovr')."
        )
    return values
