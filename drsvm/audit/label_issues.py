"""Which labels to check: rows ranked by margins, of classifiers without them.

A judge is a classifier that judges every row while it is not trained on it: the rows
are divided into folds, and each fold is judged by a classifier of the others. A second
judge of another kind gives a second opinion.
"""

import numbers
from collections.abc import Callable
from contextlib import suppress
from operator import methodcaller
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import check_array, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets

from drsvm.audit.label_scores import LabelIssues, issues_from
from drsvm.defaults.binary_problems import NEGLIGIBLE
from drsvm.defaults.folds import N_FOLDS, Folds, splits_for_all
from drsvm.defaults.one_vs_rest import is_constant
from drsvm.estimators.checks import ROWS, checked_weights
from drsvm.estimators.clipped_scaler import ClippedScaler
from drsvm.estimators.column_errors import naming_columns
from drsvm.estimators.fold_decisions import (
    Table,
    decisions_in_folds,
    decisions_of_fold,
    quietly,
)
from drsvm.estimators.linear import WassersteinSVC
from drsvm.problem.validation import (
    as_rows,
    check_entries,
    check_indices,
    check_that_labels_are_given,
)
from drsvm.utils.annotations import Labels, Matrix, Values
from drsvm.utils.arguments import about, check_single
from drsvm.utils.clock import Stopwatch
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.user_warnings import warn_user

# Sparse rows with at most this number of cells are made dense for trees: 400 MB
DENSE_ENTRIES = 50_000_000
# Of the second opinion. With scikit-learn's 100 and 31, by nine sets with 10 and 35 %
# wrong labels, the area under the ROC curve is 2 and 7 points worse.
N_TREES = 80
N_LEAVES = 8


def find_label_issues(
    X: Matrix,
    y: Labels,
    *,
    estimator: BaseEstimator | None = None,
    cv: Any = N_FOLDS,
    sample_weight: Values = None,
    standardise: bool = True,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callable[[int, int], object] | None = None,
    second_opinion: BaseEstimator | str | None = None,
) -> LabelIssues:
    """Rank the rows by how much robust classifiers contradict their labels.

    The ranking shows the labels to look at first. It proves nothing about a single
    label.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, n_features)
        Features: numbers, or anything that `estimator` takes.
    y : array of shape (n,)
        Labels, two or more classes with at least two rows each.
    estimator : unfitted classifier with a decision_function, optional
        By default a `WassersteinSVC` with its default settings. It is cloned, not
        changed.
    cv : int, splitter or iterable of splits, default=5
        Number of stratified folds (at most as many as the largest class has rows), or
        anything that scikit-learn accepts as `cv`. Rows are assigned to folds by what
        they contain, copies together, so that their order does not matter; unless an
        `estimator` takes X that is not all finite numbers. Every row must be in at
        least one test set; with several, its decision values are averaged. Use a
        grouped splitter if rows depend on each other, such as several rows of one
        patient.
    sample_weight : array of shape (n,), optional
        Weights of the rows in the fits and in the mean margins: a weight of 2 is like a
        copy of the row, except for the number of wrong labels. Rows of weight 0 change
        nothing about the others, and are judged by classifiers of all of these.
    standardise : bool, default=True
        Whether to put a `ClippedScaler` in front, except for sparse rows that all have
        the same length, such as TF-IDF of texts: they are scaled already. Otherwise
        features are centred only, unless X is sparse. Ignored with `estimator`.
    random_state : int, optional
        Seed of the folds.
    n_jobs : int, optional
        Number of folds to fit in parallel.
    verbose : int, default=0
        1: print a line for every fold.
    callback : callable, optional
        Called after every fold with the number of folds done and their total, those of
        the second opinion included.
    second_opinion : None, "auto" or unfitted classifier, default=None
        A classifier of another kind that judges every row too. "auto": gradient-boosted
        trees (`~sklearn.ensemble.HistGradientBoostingClassifier`), which follow curved
        boundaries and interactions; large sparse X have none. Only labels that both
        classifiers contradict are then flagged, and the number of wrong labels is
        estimated where it can be identified.

    Returns
    -------
    LabelIssues
        The ranking, scores and flags, and with a second opinion the number of wrong
        labels, if it is identified.

    Notes
    -----
    **Ranking.** By the margin of the given label, most negative first: its decision
    value minus the largest one of the other classes. `label_score` is 1 / (1 +
    exp(−margin)). Two decisions are averaged: by a classifier that was trained without
    the row, and by the one of all rows, which knows more and, being robust, hardly
    learns single labels; with two classes, the threshold is placed for accuracy. On ten
    problems with 10, 20 and 35 % wrong labels (``benchmarks/labels.py``), this ranks
    them better than the first decision alone, by 0.6, 0.8 and 1.8 points of the area
    under the ROC curve. It is the first decision alone with an `estimator` of your own
    or a splitter as `cv`.

    **Flags.** As in confident learning [1]_, with
    margins for probabilities: a row is flagged if another class is predicted, and its
    margin for that class exceeds the mean margin of the rows labelled with it (or 0, if
    that is negative). The rule has no parameter to tune. A flagged label is one that
    the classifier contradicts clearly. It may well be right: classes overlap, and a
    linear classifier does not fit all data.

    **Number of wrong labels.** Labels that were changed at random are contradicted at
    the same rate however clearly a row belongs to its predicted class, while overlap
    fades with that depth. `wrong_labels` is a number only if the rows deep inside the
    classes say so, by the judgement of both classifiers, and None otherwise. Wrong
    labels are not found if they are few, or follow a pattern that the classifiers
    learn, such as a whole group of rows that is labelled wrong. A hidden cause that
    turns outcomes at random, whatever the features, cannot be told from wrong labels.

    References
    ----------
    .. [1] C. Northcutt, L. Jiang and I. Chuang, "Confident learning: estimating
       uncertainty in dataset labels", Journal of Artificial Intelligence Research 70,
       2021.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from drsvm import find_label_issues
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[:20] = 1 - y[:20]
    >>> issues = find_label_issues(X, y)
    >>> # Of the 20 most doubtful rows, those that are among the wrong ones
    >>> int((issues.ranking[:20] < 20).sum())
    16
    """
    index, library = _data_frame_of(X, y)
    check_that_labels_are_given(y)
    check_single(standardise=standardise, random_state=random_state)
    check_indices(X)
    with about("X", "y"):
        X, y = indexable(X, column_or_1d(y))
    rows = None
    if estimator is None:
        columns = naming_columns(X, "of a pipeline, and pass that as estimator")
        with about("X"), columns:
            rows = check_array(X, **ROWS, estimator="find_label_issues", input_name="X")
        check_entries(as_rows(rows))
    else:
        # It may take text, or missing cells.
        with suppress(TypeError, ValueError):
            rows = check_array(X, **ROWS)
    with about("y"):
        check_classification_targets(y)
    classes, given = np.unique(y, return_inverse=True)
    counted = np.arange(len(y))
    if sample_weight is not None:
        sample_weight = checked_weights(sample_weight, y[:, None])
        counted = np.flatnonzero(sample_weight)
    _check_classes(classes, given[counted])
    # One or two classifiers judge every row in folds.
    judges = _judges(X, estimator, second_opinion, standardise)
    folds = splits_for_all(rows, X, y, cv, random_state, sample_weight)
    report_fold = _FoldReport(len(judges) * len(folds), verbose, callback)
    whole = Table(X, y, sample_weight, classes)
    # Rows of weight 0 are judged at the end, by classifiers of all others.
    table = whole
    if len(counted) < len(y):
        table = whole.some(counted)
        folds = [
            (np.searchsorted(counted, train), np.searchsorted(counted, test))
            for train, test in folds
        ]

    # A splitter may keep rows apart for a reason: then decisions of the classifier of
    # all rows do not count.
    counts_own = isinstance(cv, numbers.Integral)
    in_folds, own = _decisions_of_first(
        judges[0], table, folds, n_jobs, report_fold, counts_own=counts_own
    )
    # The second opinion always judges fold by fold.
    decisions = [in_folds]
    for judge in judges[1:]:
        decisions.append(decisions_in_folds(judge, table, folds, n_jobs, report_fold))
    _warn_of_constant_folds(in_folds, folds)
    if table is not whole:
        others = np.setdiff1d(np.arange(len(y)), counted)
        everywhere = []
        for judge, values in zip(judges, decisions, strict=True):
            of_all = np.empty((len(y), len(classes)))
            of_all[counted] = values
            of_all[others], _ = decisions_of_fold(judge, whole, counted, others)
            everywhere.append(of_all)
        if own is not None:
            of_all = everywhere[0].copy()
            of_all[counted] = own
            own = of_all
        decisions = everywhere
    return issues_from(
        decisions, own, classes, given, sample_weight, index=index, library=library
    )


def _decisions_of_first(
    judge: BaseEstimator,
    table: Table,
    folds: Folds,
    n_jobs: int | None,
    report_fold: Callable,
    *,
    counts_own: bool,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the decisions of the first judge in folds, and those of all rows.

    The latter are None if they do not count.
    """
    # An estimator of another kind may learn single labels.
    is_ours = isinstance(judge, Pipeline) and isinstance(judge[-1], LabelJudge)
    if not is_ours:
        in_folds = decisions_in_folds(judge, table, folds, n_jobs, report_fold)
        return in_folds, None
    own = None
    at_once = _judged_at_once(clone(judge), table, folds, report_fold)
    if at_once is not None:
        in_folds, of_all_rows = at_once
        if counts_own:
            own = of_all_rows
        return in_folds, own
    in_folds = decisions_in_folds(judge, table, folds, n_jobs, report_fold)
    if counts_own:
        all_rows = np.arange(len(table.y))
        own, _ = decisions_of_fold(judge, table, all_rows, all_rows)
    return in_folds, own


class _FoldReport:
    """Reports every fold that is done, by a line and to a callback of the user."""

    def __init__(self, total: int, verbose: int, callback: Callable | None):
        self.total = total
        self.verbose = verbose
        self.callback = callback
        self.done = 0

    def __call__(self, n_rows: int, seconds: float) -> None:
        self.done += 1
        if self.verbose:
            text = f"[{self.done}/{self.total}] {n_rows} rows judged, {seconds:.2f} s"
            print(text, flush=True)
        if self.callback is not None:
            self.callback(self.done, self.total)


def _data_frame_of(X: Matrix, y: Labels) -> tuple[Any, str]:
    """Return the index of a data frame or series, and the library of the result."""
    index = None
    library = "pandas"
    for data in (y, X):
        if hasattr(data, "iloc"):
            index = data.index
        if type(data).__module__.startswith("polars"):
            library = "polars"
    return index, library


def _warn_of_constant_folds(decisions: np.ndarray, folds: Folds) -> None:
    """Warn if classifiers of folds prefer the same class everywhere."""
    # Constant decisions have been replaced by 0.
    constant = sum(not decisions[test].any() for _, test in folds)
    if constant == 0:
        return
    text = (
        "The classifier is constant in {} of {} folds and says nothing about their "
        "labels: they have the score 0.5. Choose a smaller {}, or other features."
    )
    warn_user(Message(text, constant, len(folds), Parameter("radius")))


class LabelJudge(WassersteinSVC):
    """The default classifier for label issues, which hardly learns single labels.

    If it is given folds as `cv`, it keeps the decisions of a fit.

    Attributes
    ----------
    decisions : tuple of two arrays of shape (n,), or None
        The decision values of the folds, and of the classifier of all rows, in the
        order of the rows. None if the time limit was reached.
    """

    decisions: tuple[np.ndarray, np.ndarray] | None

    def _unseen_decisions(self, data, solved, goal, time):
        # A step of every fit. None is returned: these decisions place no threshold.
        if self.cv is None:
            return
        (problem,) = solved.problems.given
        (result,) = solved.results
        in_folds = data.out_of_fold(solved, self.cv, time).decisions[:, 0]
        own = problem.decision_values(result.weights, float(self.intercept_[0]))
        if problem.kept is None:
            order = slice(None)
        else:
            # The problem may have the rows in another order.
            order = np.argsort(problem.kept)
        # If the time limit was reached, some rows have no decision.
        self.decisions = None
        if len(in_folds) == len(own):
            self.decisions = (in_folds[order], own[order])


def _judged_at_once(
    model: Pipeline,
    table: Table,
    folds: Folds,
    report_fold: Callable,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return `decisions_in_folds` and those of all rows, by one fit of our own judge.

    Columns, radius and ridge are prepared once for all folds. None if that is not
    possible, or if the time limit was reached.
    """
    if not _can_judge_at_once(table, folds):
        return None
    watch = Stopwatch()
    prepared = table.X
    *steps, judge = (step for _, step in model.steps)
    judge.cv = folds
    with quietly():
        weights = {}
        if table.weights is not None:
            weights["sample_weight"] = table.weights
        for step in steps:
            prepared = step.fit_transform(prepared, **weights)
        judge.fit(prepared, table.y, table.weights)
    if judge.decisions is None:
        return None
    in_folds, own = judge.decisions
    for _, test in folds:
        # Decisions of a constant classifier of a fold mean nothing.
        if is_constant(in_folds[test]):
            in_folds[test] = 0.0
        report_fold(len(test), watch.elapsed() / len(folds))
    return _of_both_classes(in_folds), _of_both_classes(own)


def _can_judge_at_once(table: Table, folds: Folds) -> bool:
    """Return whether one fit of two classes gives the decisions of all folds.

    All rows must count, and be judged once by a classifier of all the others. A fold
    has several rows: a classifier that gives them all the same decision is constant.
    """
    if len(table.classes) != 2:
        return False
    n_rows = len(table.y)
    if sum(len(test) for _, test in folds) != n_rows:
        return False
    for train, test in folds:
        if len(train) + len(test) != n_rows or len(test) <= len(folds):
            return False
    return True


def _of_both_classes(decisions: np.ndarray) -> np.ndarray:
    """Return a decision value for each of two classes, of shape (n, 2)."""
    return np.column_stack([-decisions / 2, decisions / 2])


def _judges(
    X: Matrix, estimator, second_opinion, standardise: bool
) -> list[BaseEstimator]:
    """Return the classifiers that judge every row: one, and perhaps a second one."""
    if estimator is None:
        standardise = standardise and not has_rows_of_one_length(X)
        first = robust_classifier(X, standardise=standardise)
    else:
        first = estimator
    if not hasattr(first, "decision_function"):
        raise TypeError(
            "estimator must have a decision_function, got "
            f"{type(first).__name__}: use a linear model, an SVM or gradient boosting."
        )
    second = second_opinion
    if isinstance(second_opinion, str) and second_opinion == "auto":
        second = flexible_classifier(X)
    if second is None:
        return [first]
    if not (hasattr(second, "decision_function") or hasattr(second, "predict_proba")):
        raise TypeError(
            "second_opinion must be None, 'auto', or a classifier with a "
            f"decision_function or predict_proba, got {second!r}."
        )
    return [first, second]


def has_rows_of_one_length(X: Matrix) -> bool:
    """Return whether sparse rows all have the same length, except for empty ones.

    Dividing columns would then make rare words the largest. Of wrong labels of short
    texts, TF-IDF as it is ranks more in front than standardised words do: the area
    under the ROC curve is 0.70 in place of 0.64 for 20 % in 2,000 sentences of film
    reviews. Counts of words do not gain.
    """
    if not sparse.issparse(X):
        return False
    lengths = X.multiply(X).sum(axis=1)
    if not lengths.any():
        return False
    return bool(np.ptp(lengths[lengths > 0.0]) <= NEGLIGIBLE * lengths.max())


def robust_classifier(
    X: Matrix,
    *,
    standardise: bool = True,
    kind: type = LabelJudge,
    **settings: Any,
) -> Pipeline:
    """Return an unfitted classifier for label issues.

    It is the default one, unless settings differ.
    """
    settings.setdefault("threshold", "optimum")
    if standardise:
        scaler = ClippedScaler()
    else:
        scaler = StandardScaler(with_mean=not sparse.issparse(X), with_std=False)
    return make_pipeline(scaler, kind(**settings))


def flexible_classifier(X: Matrix, steps=(), **settings: Any) -> Pipeline | None:
    """Return boosted trees behind `steps`, too small and few to learn single labels.

    None if X is too large.
    """
    n, d = np.shape(X)
    if sparse.issparse(X):
        if n * d > DENSE_ENTRIES:
            return None
        to_dense = FunctionTransformer(methodcaller("toarray"), accept_sparse=True)
        steps = [*steps, ("dense", to_dense)]
    settings.setdefault("max_iter", N_TREES)
    settings.setdefault("max_leaf_nodes", N_LEAVES)
    settings.setdefault("early_stopping", False)
    boosting = HistGradientBoostingClassifier(random_state=0, **settings)
    return Pipeline([*steps, ("boosting", boosting)])


def _check_classes(classes: np.ndarray, given: np.ndarray) -> None:
    """Raise an error unless there are two classes or more, of two rows or more."""
    if len(classes) == 0:
        raise ValueError("X and y have no rows: pass at least two rows of each class.")
    if len(classes) < 2:
        raise ValueError(
            f"y must have at least two classes, got one: {classes.tolist()[0]!r}."
        )
    counts = np.bincount(given)
    if counts.min() < 2:
        unsupported = classes.tolist()[int(counts.argmin())]
        raise ValueError(
            f"Only one row has the label {unsupported!r}, so no other row can support "
            "or contradict it: correct it if it is mistyped, or leave the row out."
        )
