"""Which labels to check: a ranking of the rows by margins, above all of classifiers that were trained without them."""

import numbers
from collections.abc import Callable
from functools import partial
from itertools import count
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
from sklearn.utils.validation import _check_sample_weight

from drsvm.audit.label_scores import LabelIssues, issues_from
from drsvm.defaults import out_of_fold
from drsvm.defaults.binary_problems import NEGLIGIBLE
from drsvm.defaults.one_vs_rest import ROWS, is_constant
from drsvm.defaults.out_of_fold import N_FOLDS, Folds, Table, quietly
from drsvm.estimators.clipped_scaler import ClippedScaler
from drsvm.estimators.column_errors import naming_columns
from drsvm.estimators.linear import WassersteinSVC
from drsvm.problem.validation import as_rows, check_entries, check_that_labels_are_given
from drsvm.utils.annotations import Labels, Matrix, Values
from drsvm.utils.clock import Stopwatch
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.user_warnings import warn_user

# Sparse rows with at most as many entries, with zeros, are made dense for trees: 400 MB
DENSE_ENTRIES = 50_000_000
# with 100 and 31, by nine sets with 10 and 35 % wrong labels, AUC is 2 and 7 points
# worse
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
        Number of stratified, shuffled folds (at most as many as the largest class has
        rows), or anything that scikit-learn accepts as `cv`. Every row must be in at
        least one test set; with several, its decision values are averaged. Use a
        grouped splitter if rows depend on each other, such as several rows of one
        patient.
    sample_weight : array of shape (n,), optional
        Weights of the rows in the fits and in the mean margins. Rows of weight 0 are
        judged too, but do not count towards the number of wrong labels.
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
    **Ranking.** By the margin of the given label, most negative first: its decision value minus the largest one of the
    other classes. `label_score` is 1 / (1 + exp(−margin)). Two decisions are averaged: by a classifier that was trained
    without the row, and by the one of all rows, which knows more and, being robust, hardly learns single labels; with
    two classes, the threshold is placed for accuracy. On ten problems with 10, 20 and 35 % wrong labels
    (``benchmarks/labels.py``), this ranks them better than the first decision alone, by 0.6, 0.8 and 1.8 points of the
    area under the ROC curve. It is the first decision alone with an `estimator` of your own or a splitter as `cv`.

    **Flags.** As in confident learning (Northcutt, Jiang and Chuang, 2021), with
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

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from drsvm import find_label_issues
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[:20] = 1 - y[:20]
    >>> issues = find_label_issues(X, y)
    >>> int((issues.ranking[:20] < 20).sum())  # how many of the 20 most doubtful rows are among the wrong ones
    16
    """
    index = next((data.index for data in (X, y) if hasattr(data, "iloc")), None)
    if any(type(data).__module__.startswith("polars") for data in (X, y)):
        library = "polars"
    else:
        library = "pandas"
    check_that_labels_are_given(y)
    X, y = indexable(X, column_or_1d(y))
    if estimator is None:
        with naming_columns(X, "of a pipeline, and pass that as estimator"):
            rows = check_array(X, **ROWS, estimator="find_label_issues", input_name="X")
        check_entries(as_rows(rows))
    if not (
        y.dtype.kind in "biu" and 2 * len(np.unique(y)) <= len(y)
    ):  # few integers are classes
        check_classification_targets(y)
    classes, given = np.unique(y, return_inverse=True)
    _check_classes(classes, given)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, y[:, None], dtype=np.float64, ensure_non_negative=True
        )
    judges = _judges(X, estimator, second_opinion, standardise)
    folds = out_of_fold.splits_for_all(X, y, cv, random_state)
    counter = count(1)
    total = len(judges) * len(folds)

    def fold_done(n_rows: int, seconds: float) -> None:
        number = next(counter)
        if verbose:
            print(
                f"[{number}/{total}] {n_rows} rows judged, {seconds:.2f} s", flush=True
            )
        if callback is not None:
            callback(number, total)

    table = Table(X, y, sample_weight, classes)
    first = judges[0]
    at_once = None
    is_ours = isinstance(first, Pipeline) and isinstance(first[-1], LabelJudge)
    if is_ours:
        at_once = _judged_at_once(
            first if estimator is None else clone(first), table, folds, fold_done
        )
    in_folds = partial(
        out_of_fold.decisions_in_folds,
        table=table,
        folds=folds,
        n_jobs=n_jobs,
        done=fold_done,
    )
    decisions = [at_once[0] if at_once else in_folds(first), *map(in_folds, judges[1:])]
    own = None
    if (
        isinstance(cv, numbers.Integral) and is_ours
    ):  # a splitter may keep rows apart for a reason
        everything = np.arange(len(y))
        if at_once:
            own = at_once[1]
        else:
            own = out_of_fold.decisions_of_fold(first, table, everything, everything)[0]
    constant = sum(not decisions[0][test].any() for _, test in folds)
    if constant:
        text = "The classifier is constant in {} of {} folds and says nothing about their labels: they have the score "
        text += "0.5. Choose a smaller {}, or other features."
        warn_user(Message(text, constant, len(folds), Parameter("radius")))
    return issues_from(
        decisions, own, classes, given, sample_weight, index=index, library=library
    )


class LabelJudge(WassersteinSVC):
    """The default classifier for label issues, which hardly learns single labels: with folds, it keeps decisions."""

    # Of the folds and of the classifier, in the order of the rows
    decisions: tuple[np.ndarray, np.ndarray] | None

    def _unseen(self, data, solved, moves, time):
        if self.cv is None:
            return
        (problem,) = solved.posed.problems
        (result,) = solved.results
        in_folds = data.unseen(solved, self.cv, time, out_of_fold=True).decisions[:, 0]
        own = problem.decision_values(result.weights, float(self.intercept_[0]))
        if problem.kept is None:
            order = slice(None)
        else:
            order = np.argsort(problem.kept)
        # not if time was short
        if len(in_folds) == len(own):
            self.decisions = (in_folds[order], own[order])
        else:
            self.decisions = None


def _judged_at_once(
    model: Pipeline, table: Table, folds: Folds, done: Callable[[int, float], None]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return `decisions_in_folds` and those of the classifier of all rows, by one fit of our own judge.

    Columns, radius and ridge are prepared once for all folds. None: that is only
    possible for two classes, and if there is time for all folds. Rows must all count
    and be judged once by a classifier of all the others, several at a time: one that
    gives them all the same decision is constant.
    """
    n_rows = len(table.y)
    weights = table.weights
    counts = len(table.classes) == 2 and (
        weights is None or bool((weights > 0.0).all())
    )
    once = sum(len(test) for _, test in folds) == n_rows
    enough = all(
        len(train) + len(test) == n_rows and len(test) > len(folds)
        for train, test in folds
    )
    if not (counts and once and enough):
        return None
    watch = Stopwatch()
    prepared = table.X
    *steps, judge = (step for _, step in model.steps)
    judge.cv = folds
    with quietly():
        for step in steps:
            prepared = step.fit_transform(prepared)
        judge.fit(prepared, table.y, weights)
    if judge.decisions is None:
        return None
    for _, test in folds:
        if is_constant(judge.decisions[0][test]):
            judge.decisions[0][test] = 0.0
        done(len(test), watch.elapsed() / len(folds))
    in_folds, own = (
        np.column_stack([-values / 2, values / 2]) for values in judge.decisions
    )
    return in_folds, own


def _judges(
    X: Matrix, estimator, second_opinion, standardise: bool
) -> list[BaseEstimator]:
    """Return the classifiers that judge every row: the estimator, and the second opinion if there is one."""
    standardise = standardise and not has_rows_of_one_length(X)
    if estimator is None:
        first = robust_classifier(X, standardise=standardise)
    else:
        first = estimator
    if not hasattr(first, "decision_function"):
        raise TypeError(
            f"estimator must have a decision_function, got {type(first).__name__}: use a linear model, an SVM or "
            "gradient boosting."
        )
    if isinstance(second_opinion, str) and second_opinion == "auto":
        second = flexible_classifier(X)
    else:
        second = second_opinion
    if second is not None and not (
        hasattr(second, "decision_function") or hasattr(second, "predict_proba")
    ):
        raise TypeError(
            f"second_opinion must be None, 'auto', or a classifier with a decision_function or predict_proba, got "
            f"{second!r}."
        )
    return [first] if second is None else [first, second]


def has_rows_of_one_length(X) -> bool:
    """Return whether sparse rows all have the same length, if any: dividing columns would make rare words the largest.

    Of wrong labels of short texts, TF-IDF as it is ranks more in front than
    standardised words do: the area under the ROC curve is 0.70 in place of 0.64 for 20
    % in 2,000 sentences of film reviews. Counts of words do not gain.
    """
    if sparse.issparse(X):
        lengths = X.multiply(X).sum(axis=1)
    else:
        lengths = np.zeros(1)
    return bool(
        lengths.any() and np.ptp(lengths[lengths > 0.0]) <= NEGLIGIBLE * lengths.max()
    )


def robust_classifier(
    X: Matrix, *, standardise: bool = True, kind=LabelJudge, **settings
) -> Pipeline:
    """Return an unfitted classifier for label issues: the default one, unless settings differ."""
    robust = kind(**{"threshold": "optimum", **settings})
    centred = StandardScaler(with_mean=not sparse.issparse(X), with_std=False)
    return make_pipeline(ClippedScaler() if standardise else centred, robust)


def flexible_classifier(X, steps=(), **settings) -> Pipeline | None:
    """Return boosted trees behind `steps`, too small and few to learn single labels.

    None if X is too large.
    """
    n, d = np.shape(X)
    if sparse.issparse(X) and n * d > DENSE_ENTRIES:
        return None
    settings = {
        "max_iter": N_TREES,
        "max_leaf_nodes": N_LEAVES,
        "early_stopping": False,
        **settings,
    }
    boosting = HistGradientBoostingClassifier(random_state=0, **settings)
    if sparse.issparse(X):
        dense = [
            ("dense", FunctionTransformer(methodcaller("toarray"), accept_sparse=True))
        ]
    else:
        dense = []
    return Pipeline([*steps, *dense, ("boosting", boosting)])


def _check_classes(classes, given) -> None:
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
            f"Only one row has the label {unsupported!r}, so no other row can support or contradict it: correct it if it is "
            "mistyped, or leave the row out."
        )
