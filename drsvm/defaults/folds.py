"""Folds: by the contents of rows, or those of a splitter of scikit-learn."""

import numbers
import sys
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import (
    _safe_indexing,
    check_consistent_length,
    check_random_state,
)

from drsvm.problem.backends import to_numpy
from drsvm.problem.problem import Problem
from drsvm.problem.sampling import content_groups
from drsvm.utils.annotations import Matrix
from drsvm.utils.arguments import about

# As in scikit-learn
N_FOLDS = 5
# Up to this number of rows, each is decided by a classifier that has not seen it; of
# more, where their features are many, the rows of one fold
MAX_IN_ALL_FOLDS = 5000

# Training rows and test rows
Folds = list[tuple[np.ndarray, np.ndarray]]


def fold_of_each_row(
    problem: Problem, labels: np.ndarray, counts: np.ndarray, cv
) -> np.ndarray:
    """Return the fold in which each row is left out; -1 for rows that never are.

    Parameters
    ----------
    problem : Problem
        The rows.
    labels, counts : arrays of shape (n_rows,)
        The classes of the rows as numbers, and how many rows each of them is.
    cv : int, splitter or iterable, optional
        As in scikit-learn; a number of folds means folds by contents.

    Returns
    -------
    array of shape (n_rows,)
        The folds.
    """
    if cv is None:
        folds = folds_by_content(problem, labels, counts)
        if problem.n_rows <= MAX_IN_ALL_FOLDS:
            return folds
        # One fit takes long, and the rows of one fold are enough.
        return np.where(folds == 0, 0, -1)
    if isinstance(cv, numbers.Integral):
        return folds_by_content(problem, labels, counts, _checked_number(cv))
    # A splitter, or pairs of indices, is about the rows as they were given.
    if problem.kept is None:
        given = np.arange(problem.n_given)
    else:
        given = to_numpy(problem.kept)
    y = np.zeros(problem.n_given, dtype=labels.dtype)
    y[given] = labels
    folds = np.full(problem.n_given, -1)
    with about("cv"):
        splitter = check_cv(cv, y, classifier=True)
        for number, (_, test) in enumerate(splitter.split(np.zeros((len(y), 1)), y)):
            folds[test] = number
    return folds[given]


def folds_by_content(
    problem: Problem,
    labels: np.ndarray,
    counts: np.ndarray,
    n_folds: int = N_FOLDS,
    random_state: int | None = None,
) -> np.ndarray:
    """Return a fold for every row by what it contains.

    The order of rows and columns does not matter, nor do origins and units of columns.
    Equal rows share a fold, and so do copies that differ by a little noise. Every class
    is in all folds.

    Parameters
    ----------
    problem : Problem
        The rows.
    labels, counts : arrays of shape (n_rows,)
        The classes of the rows as numbers, and how many rows each of them is.
    n_folds : int, default=N_FOLDS
        The number of folds.
    random_state : int, optional
        Seed of the order in which rows go to the folds; by default that of their keys.

    Returns
    -------
    array of shape (n_rows,)
        The folds, from 0.
    """
    # Groups of equal rows are numbered by keys that depend on their contents. Those in
    # which a class is the most frequent one go to the folds in turn.
    groups = content_groups(problem, close=True)
    masses = np.zeros((groups.max() + 1, labels.max() + 1))
    np.add.at(masses, (groups, labels), counts)
    most_frequent = masses.argmax(axis=1)
    folds = np.empty(len(masses), dtype=int)
    with about("random_state"):
        random = check_random_state(random_state)
    for label in range(masses.shape[1]):
        of_class = most_frequent == label
        turns = np.arange(of_class.sum())
        if random_state is not None:
            random.shuffle(turns)
        folds[of_class] = turns % n_folds
    return folds[groups]


def _checked_number(cv: numbers.Integral) -> int:
    """Return a number of folds; raise an error unless it is at least 2."""
    # Beyond any number of rows, more folds change nothing.
    n_folds = min(int(cv), sys.maxsize)
    if n_folds < 2:
        raise ValueError(
            f"cv must be at least 2 folds, or a splitter, got cv={n_folds}."
        )
    return n_folds


def splits(
    cv, X: Matrix, y: np.ndarray, groups=None, weights=None, first: int = 0
) -> Folds:
    """Return training and test rows, if every class is in every training set.

    Rows of weight 0 are in none of them, and splitters do not see them.

    Parameters
    ----------
    cv : int, splitter or iterable of pairs of indices
        As in scikit-learn.
    X, y, groups : matrix and arrays of shape (n,)
        Rows, labels and groups, as the splitter takes them.
    weights : array of shape (n,), optional
        Weights of the rows.
    first : int, default=0
        The number of the first fold in errors.

    Returns
    -------
    list of (train, test)
        Indices of the rows.
    """
    with about("y", "groups"):
        check_consistent_length(y, groups)
    counts = np.ones(len(y), dtype=bool)
    if weights is not None:
        counts = weights > 0.0
    # Pairs of indices are about the rows as they were given.
    seen = np.arange(len(y))
    if not counts.all() and (isinstance(cv, numbers.Integral) or hasattr(cv, "split")):
        seen = np.flatnonzero(counts)
        X = _safe_indexing(X, seen)
        if groups is not None:
            groups = _safe_indexing(groups, seen)
    with about("cv"):
        splitter = check_cv(cv, y[seen], classifier=True)
    with about("cv", "y", "groups"):
        pairs = list(splitter.split(X, y[seen], groups))
    if not pairs:
        raise ValueError("cv has no folds: use a number of them, or a splitter.")
    folds = []
    for number, pair in enumerate(pairs, start=first):
        with about("cv"):
            train, test = (seen[part] for part in pair)
        train = train[counts[train]]
        test = test[counts[test]]
        missing = np.setdiff1d(y[counts], y[train])
        if len(missing):
            remedy = "use fewer folds, a stratified splitter, or leave the class out"
            if (y[counts] == missing[0]).sum() == 1:
                # No folds can both train on this row and test it.
                remedy = "it has only one row: add others, or leave the class out"
            raise ValueError(
                f"Fold {number} has no row of class {missing.tolist()[0]!r} to train "
                f"on: {remedy}."
            )
        if not len(test):
            raise ValueError(
                f"All test rows of fold {number} have weight 0: leave the fold out."
            )
        folds.append((train, test))
    return folds


def splits_for_all(
    rows: Matrix | None, X: Matrix, y: np.ndarray, cv, random_state, weights=None
) -> Folds:
    """Return training and test rows such that every row with weight is tested.

    Parameters
    ----------
    rows : matrix of shape (n, n_features), optional
        The rows if they are numbers: folds are then formed by their contents.
    X, y : matrix and array of shape (n,)
        Rows as they were given, and labels.
    cv : int, splitter or iterable
        As in scikit-learn; a number of folds means stratified ones.
    random_state : int, optional
        Seed of these.
    weights : array of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    list of (train, test)
        Indices of the rows.
    """
    counted = np.arange(len(y))
    if weights is not None:
        counted = np.flatnonzero(weights)
    if not isinstance(cv, numbers.Integral):
        folds = splits(cv, X, y, weights=weights, first=1)
        tested = np.concatenate([test for _, test in folds])
        untested = np.setdiff1d(counted, tested)
        if len(untested):
            raise ValueError(
                f"cv never tests row {untested[0]}: use one that tests all rows, such "
                "as StratifiedKFold."
            )
        return folds
    classes, labels = np.unique(y[counted], return_inverse=True)
    # With more folds than rows of the largest class, some would have none.
    n_folds = min(_checked_number(cv), int(np.bincount(labels).max()))
    if rows is None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splitter = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
            with about("random_state"):
                return splits(splitter, X, y, weights=weights)
    problem = Problem(rows, y == classes[0], sample_weight=weights)
    counts = problem.sample_weight
    in_fold = folds_by_content(problem, labels, counts, n_folds, random_state)
    for label in range(len(classes)):
        own = np.flatnonzero(labels == label)
        # Copies share a fold, unless no other row of their class were left.
        if np.ptp(in_fold[own]) == 0:
            in_fold[own] = np.arange(len(own)) % n_folds
    folds = []
    for fold in np.unique(in_fold):
        is_tested = in_fold == fold
        folds.append((counted[~is_tested], counted[is_tested]))
    return folds
