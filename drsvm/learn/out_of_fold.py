"""Decision values of rows by classifiers that were trained without them."""

import numbers
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from drsvm.learn.base import RobustClassifier
from drsvm.learn.one_vs_rest import check_training_rows, is_constant
from drsvm.learn.warning import warn_user
from drsvm.messages import Message, Parameter

FEW_ROWS = 20_000  # on fewer, the threads of boosted trees wait for each other longer than they work

Folds = list[tuple[np.ndarray, np.ndarray]]


class Rows(NamedTuple):
    """The rows to judge."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    classes: np.ndarray


def decision_values(model, rows: Rows, folds: Folds, n_jobs, done: Callable[[int, float], Any]) -> np.ndarray:
    """Return one out-of-fold value per row and class: the mean over the folds that test it, 0 if constant."""
    tasks = (delayed(_judge_fold)(model, rows, *fold) for fold in folds)
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    decisions, times_judged = np.zeros((len(rows.y), len(rows.classes))), np.zeros(len(rows.y))
    for (_, test), (values, seconds) in zip(folds, outcomes, strict=True):
        decisions[test] += values
        times_judged[test] += 1
        done(len(test), seconds)
    return decisions / times_judged[:, None]


def folds_of(X, y, cv, random_state) -> Folds:
    """Return training and test rows; every row must be tested, and every class must be in every training set."""
    if isinstance(cv, numbers.Integral):
        if cv < 2:
            raise ValueError(f"cv must be at least 2 folds, or a splitter, got cv={cv}.")
        largest = int(np.unique(y, return_counts=True)[1].max())  # more folds would have none of its rows
        splitter = StratifiedKFold(min(int(cv), largest), shuffle=True, random_state=random_state)
    else:
        splitter = check_cv(cv, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        folds = list(splitter.split(X, y))
    tested = np.zeros(len(y), dtype=bool)
    for number, (train, test) in enumerate(folds, start=1):
        tested[test] = True
        check_training_rows(number, y[train], y)
    if not tested.all():
        row = int(np.argmin(tested))
        raise ValueError(f"cv never tests row {row}: use a splitter that tests every row, such as StratifiedKFold.")
    return folds


def _judge_fold(model, rows: Rows, train, test) -> tuple[np.ndarray, float]:
    """Fit on the training rows and return the decision values of the test rows, one per class, and the seconds."""
    start = time.perf_counter()
    weights = None if rows.weights is None else rows.weights[train]
    X_train = _safe_indexing(rows.X, train)
    with warnings.catch_warnings(), _threads_for(model, len(rows.y)):  # one warning for all folds follows
        warnings.filterwarnings("ignore", "The fitted classifier is constant|radius / flip_cost|Far-off", UserWarning)
        model = clone(model).fit(X_train, rows.y[train], **_weights_for(model, weights))
    decisions = _values(model, _safe_indexing(rows.X, test), rows.classes)
    constant = is_constant(decisions) and is_constant(_values(model, X_train, rows.classes))
    # A constant classifier would prefer the larger class everywhere; it knows nothing about single rows.
    return np.zeros_like(decisions) if constant else decisions, time.perf_counter() - start


def of_all_rows(model, rows: Rows) -> np.ndarray:
    """Return the decision values of the classifier of all rows, 0 if it is constant."""
    everything = np.arange(len(rows.y))
    return _judge_fold(model, rows, everything, everything)[0]


def _threads_for(model, n_rows: int) -> AbstractContextManager[Any]:
    """Return a context with one OpenMP thread if there are few rows; our own classifiers need none."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return nullcontext() if isinstance(last, RobustClassifier) or n_rows > FEW_ROWS else threadpool_limits(1, "openmp")


def _weights_for(model, weights) -> dict[str, Any]:
    """Return the weights as an argument of `fit`; a Pipeline passes them to its last step."""
    if weights is None:
        return {}
    name = f"{model.steps[-1][0]}__sample_weight" if isinstance(model, Pipeline) else "sample_weight"
    if not isinstance(model, Pipeline) and "sample_weight" not in signature(model.fit).parameters:
        raise TypeError(f"{type(model).__name__}.fit takes no sample_weight: omit it, or use another estimator.")
    return {name: weights}


def _values(model, X, classes) -> np.ndarray:
    if not hasattr(model, "decision_function"):
        return np.log(np.clip(model.predict_proba(X), 1e-6, None))
    values = np.asarray(model.decision_function(X), dtype=np.float64)
    if values.ndim == 1:
        return np.column_stack([-values / 2, values / 2])
    if values.shape[1] != len(classes):
        raise ValueError(
            f"decision_function returned {values.shape[1]} values per row for {len(classes)} classes: it must return "
            "one per class (for SVC: decision_function_shape='ovr')."
        )
    return values


def warn_of_constant_folds(decisions: np.ndarray, folds: Folds) -> None:
    """Warn if rows were judged by a constant classifier."""
    constant = sum(not decisions[test].any() for _, test in folds)
    if constant:
        text = (
            "The classifier is constant in {} of {} folds and says nothing about their labels: they have the score "
            "0.5. Choose a smaller {}, or other features."
        )
        warn_user(Message(text, constant, len(folds), Parameter("radius")))
