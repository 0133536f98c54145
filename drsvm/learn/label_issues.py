"""Which labels to check: a ranking of the rows by margins of classifiers that were trained without them."""

import numbers
import time
import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, check_array, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from drsvm.learn.column_errors import naming_columns
from drsvm.learn.estimators import WassersteinSVC
from drsvm.learn.label_quality import LabelIssues, issues_from
from drsvm.learn.one_vs_rest import CONSTANT, ROWS
from drsvm.learn.warning import warn_user
from drsvm.model.validation import as_rows, check_entries

FOLD_TOL = 1e-4
"""Proven gap of the classifiers in the folds: it changes the ranking far less than another split does."""


def find_label_issues(
    X,
    y,
    *,
    estimator=None,
    cv: Any = 5,
    sample_weight=None,
    standardise: bool = True,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callable[[int, int], Any] | None = None,
) -> LabelIssues:
    """Rank the rows by how much a classifier that was trained without them contradicts their labels.

    The result says which labels to look at first. It proves nothing about a single label.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, n_features)
        Features: numbers, or anything that `estimator` takes.
    y : array of shape (n,)
        Labels, two or more classes with at least two rows each.
    estimator : unfitted classifier with a decision_function, optional
        By default a `WassersteinSVC` with its default settings. It is cloned, not changed.
    cv : int, splitter or iterable of splits, default=5
        Number of stratified, shuffled folds (at most as many as the largest class has rows), or anything that
        scikit-learn accepts as `cv`. Every row must be in at least one test set; with several, its decision values are
        averaged. Use a grouped splitter if rows depend on each other, such as several rows of one patient.
    sample_weight : array of shape (n,), optional
        Weights of the rows in the fits, in the mean margins and in the estimated share of wrong labels. Rows of weight
        0 are judged too.
    standardise : bool, default=True
        Whether to scale the features to variance 1 in every fold; they are centred anyway, unless X is sparse. Ignored
        with `estimator`.
    random_state : int, optional
        Seed of the folds and of the bootstrap.
    n_jobs : int, optional
        Number of folds to fit in parallel.
    verbose : int, default=0
        1: print a line for every fold.
    callback : callable, optional
        Called after every fold with the number of folds done and their total.

    Returns
    -------
    LabelIssues
        The ranking, scores, flags, and an estimate of the number of wrong labels.

    Notes
    -----
    **Ranking.** By the margin of the given label, most negative first: its decision value minus the largest one of the
    other classes. `label_score` is 1 / (1 + exp(−margin)).

    **Flags.** As in confident learning (Northcutt, Jiang and Chuang, 2021), with margins for probabilities: a row is
    flagged if another class is predicted, and its margin for that class exceeds the mean margin of the rows labelled
    with it (or 0, if that is negative). The rule has no parameter to tune.

    **Estimate.** The rows that exceed the mean margin of their predicted class are clear. `n_estimated` assumes that
    the share of contradicted labels among the clear rows with a given label is the share of wrong ones among all rows
    with that label. The interval covers 95 % of the estimates over 200 samples of the rows with replacement. It
    reflects the random choice of rows only: the classifiers are not refitted, and the error of the assumption is not
    included.
    The estimate is too high where the classes overlap or a linear classifier does not suit the data, since it then
    contradicts correct labels clearly, too. It is too low where wrong labels follow a pattern that the classifier
    learns, such as a whole group of rows that is labelled wrong.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from drsvm import find_label_issues
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[:20] = 1 - y[:20]
    >>> issues = find_label_issues(X, y)
    >>> int((issues.ranking[:20] < 20).sum())  # how many of the 20 most doubtful rows are among the wrong ones
    15
    """
    X, y = indexable(X, column_or_1d(y))
    if estimator is None:
        with naming_columns(X, "of a pipeline, and pass that as estimator"):
            rows = check_array(X, **ROWS, estimator="find_label_issues", input_name="X")
        check_entries(as_rows(rows))
    check_classification_targets(y)
    classes, given = np.unique(y, return_inverse=True)
    _check_classes(classes, given)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, y[:, None], dtype=np.float64, ensure_non_negative=True)
    model = robust_classifier(X, standardise=standardise) if estimator is None else estimator
    if not hasattr(model, "decision_function"):
        raise TypeError(
            f"estimator must have a decision_function, got {type(model).__name__}: use a linear model, an SVM or "
            "gradient boosting."
        )
    folds = _folds(X, y, cv, random_state)
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_judge_fold)(model, X, y, sample_weight, classes, *fold) for fold in folds
    )
    decisions, times_judged = np.zeros((len(y), len(classes))), np.zeros(len(y))
    constant = 0
    for done, ((_, test), outcome) in enumerate(zip(folds, outcomes, strict=True), start=1):
        decisions[test] += outcome.decisions
        times_judged[test] += 1
        constant += outcome.constant
        if verbose:
            print(f"[{done}/{len(folds)}] {len(test)} rows judged, {outcome.seconds:.2f} s", flush=True)
        if callback is not None:
            callback(done, len(folds))
    _warn_of_constant_folds(constant, len(folds))
    decisions /= times_judged[:, None]
    return issues_from(decisions, classes, given, sample_weight, np.random.default_rng(random_state))


# --- classifiers --------------------------------------------------------------------------------------------------


def robust_classifier(X, *, standardise: bool = True, **settings: Any) -> Pipeline:
    """Return an unfitted classifier for label issues: the default one to moderate accuracy, unless settings differ."""
    robust = WassersteinSVC(**{"tol": FOLD_TOL, **settings})
    return make_pipeline(StandardScaler(with_mean=not sparse.issparse(X), with_std=standardise), robust)


def _weights_for(model, weights) -> dict[str, Any]:
    """Return the weights as an argument of `fit`; a Pipeline passes them to its last step."""
    if weights is None:
        return {}
    name = f"{model.steps[-1][0]}__sample_weight" if isinstance(model, Pipeline) else "sample_weight"
    if not isinstance(model, Pipeline) and "sample_weight" not in signature(model.fit).parameters:
        raise TypeError(f"{type(model).__name__}.fit takes no sample_weight: omit it, or use another estimator.")
    return {name: weights}


# --- folds --------------------------------------------------------------------------------------------------------


class _Outcome(NamedTuple):
    decisions: np.ndarray
    constant: bool
    seconds: float


def _check_classes(classes, given) -> None:
    if len(classes) == 0:
        raise ValueError("X and y have no rows: pass at least two rows of each class.")
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes, got one: {classes.tolist()[0]!r}.")
    counts = np.bincount(given)
    if counts.min() < 2:
        lonely = classes.tolist()[int(counts.argmin())]
        raise ValueError(
            f"Only one row has the label {lonely!r}, so no other row can support or contradict it: correct it if it is "
            "mistyped, or leave the row out."
        )


def _folds(X, y, cv, random_state) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return training and test rows; every row must be tested, and every class must be in every training set."""
    splitter = _stratified(y, cv, random_state) if isinstance(cv, numbers.Integral) else check_cv(cv, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        folds = list(splitter.split(X, y))
    tested = np.zeros(len(y), dtype=bool)
    for number, (train, test) in enumerate(folds, start=1):
        tested[test] = True
        missing = np.setdiff1d(y, y[train])
        if len(missing):
            raise ValueError(
                f"Fold {number} of cv has no row of class {missing.tolist()[0]!r} to train on: use a stratified "
                "splitter, or leave the class out."
            )
    if not tested.all():
        row = int(np.argmin(tested))
        raise ValueError(f"cv never tests row {row}: use a splitter that tests every row, such as StratifiedKFold.")
    return folds


def _stratified(y, n_folds, random_state) -> StratifiedKFold:
    """Return shuffled folds, no more of them than rows in the largest class."""
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds, or a splitter, got cv={n_folds}.")
    largest = int(np.unique(y, return_counts=True)[1].max())
    return StratifiedKFold(min(int(n_folds), largest), shuffle=True, random_state=random_state)


def _judge_fold(model, X, y, sample_weight, classes, train, test) -> _Outcome:
    """Fit on the training rows and return the decision values of the test rows, one per class."""
    start = time.perf_counter()
    weights = None if sample_weight is None else sample_weight[train]
    rows = _safe_indexing(X, train)
    with warnings.catch_warnings():  # one warning for all folds follows
        warnings.filterwarnings("ignore", "The fitted classifier is constant|radius / flip_cost", UserWarning)
        model = clone(model).fit(rows, y[train], **_weights_for(model, weights))
    decisions = _decision_values(model, _safe_indexing(X, test), classes)
    constant = _is_constant(decisions) and _is_constant(_decision_values(model, rows, classes))
    # A constant classifier would prefer the larger class everywhere; it knows nothing about single rows.
    decisions = np.zeros_like(decisions) if constant else decisions
    return _Outcome(decisions, constant, time.perf_counter() - start)


def _decision_values(model, rows, classes) -> np.ndarray:
    values = np.asarray(model.decision_function(rows), dtype=np.float64)
    if values.ndim == 1:
        return np.column_stack([-values / 2, values / 2])
    if values.shape[1] != len(classes):
        raise ValueError(
            f"decision_function returned {values.shape[1]} values per row for {len(classes)} classes: it must return "
            "one per class (for SVC: decision_function_shape='ovr')."
        )
    return values


def _is_constant(decisions: np.ndarray) -> bool:
    return float(np.ptp(decisions, axis=0).max()) <= CONSTANT


def _warn_of_constant_folds(constant: int, n_folds: int) -> None:
    if constant:
        warn_user(
            f"The classifier is constant in {constant} of {n_folds} folds and says nothing about their labels: they "
            "have the score 0.5. Choose an estimator with a smaller radius, or other features."
        )
