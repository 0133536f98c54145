"""Folds: by the contents of rows, or those of a splitter of scikit-learn."""

import numbers
import sys
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

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
    problem: Problem, labels: np.ndarray, counts: np.ndarray, n_folds: int = N_FOLDS
) -> np.ndarray:
    """Return a fold for every row by what it contains.

    The order of rows and columns does not matter, equal rows share a fold, and every
    class is in all folds.

    Parameters
    ----------
    problem : Problem
        The rows.
    labels, counts : arrays of shape (n_rows,)
        The classes of the rows as numbers, and how many rows each of them is.
    n_folds : int, default=N_FOLDS
        The number of folds.

    Returns
    -------
    array of shape (n_rows,)
        The folds, from 0.
    """
    # Groups of equal rows are numbered by keys that depend on their contents. Those in
    # which a class is the most frequent one go to the folds in turn.
    groups = content_groups(problem)
    masses = np.zeros((groups.max() + 1, labels.max() + 1))
    np.add.at(masses, (groups, labels), counts)
    most_frequent = masses.argmax(axis=1)
    folds = np.empty(len(masses), dtype=int)
    for label in range(masses.shape[1]):
        of_class = most_frequent == label
        folds[of_class] = np.arange(of_class.sum()) % n_folds
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
    splitter, X: Matrix, y: np.ndarray, groups=None, counts=None, first: int = 0
) -> Folds:
    """Return training and test rows, if every class is in every training set.

    Parameters
    ----------
    splitter : splitter of scikit-learn
        What makes the folds.
    X, y, groups : matrix and arrays of shape (n,)
        Rows, labels and groups, as the splitter takes them.
    counts : array of shape (n,), optional
        Weights of the rows: one of each class must be above 0.
    first : int, default=0
        The number of the first fold in errors.

    Returns
    -------
    list of (train, test)
        Indices of the rows.
    """
    with about("cv", "y", "groups"):
        folds = list(splitter.split(X, y, groups))
    if not folds:
        raise ValueError("cv has no folds: use a number of them, or a splitter.")
    for number, fold in enumerate(folds, start=first):
        with about("cv"):
            train, _ = fold
            counted = train
            if counts is not None:
                counted = train[counts[train] > 0]
            missing = np.setdiff1d(y, y[counted])
        if len(missing):
            remedy = "use fewer folds, a stratified splitter, or leave the class out"
            of_class = y == missing[0]
            if counts is not None:
                of_class &= counts > 0
            if of_class.sum() == 1:
                # No folds can both train on this row and test it.
                remedy = "it has only one row: add others, or leave the class out"
            raise ValueError(
                f"Fold {number} has no row of class {missing.tolist()[0]!r} to train "
                f"on: {remedy}."
            )
    return folds


def splits_for_all(X: Matrix, y: np.ndarray, cv, random_state: int | None) -> Folds:
    """Return training and test rows such that every row is tested.

    Parameters
    ----------
    X, y : matrix and array of shape (n,)
        Rows and labels.
    cv : int, splitter or iterable
        As in scikit-learn; a number of folds means stratified ones.
    random_state : int, optional
        Seed of their order.

    Returns
    -------
    list of (train, test)
        Indices of the rows.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        if isinstance(cv, numbers.Integral):
            # With more folds than rows of the largest class, some would have none.
            largest = int(np.unique(y, return_counts=True)[1].max())
            splitter = StratifiedKFold(
                min(_checked_number(cv), largest),
                shuffle=True,
                random_state=random_state,
            )
            with about("random_state"):
                return list(splitter.split(y, y))
        folds = splits(check_cv(cv, y), X, y, first=1)
    tested = np.concatenate([test for _, test in folds])
    untested = np.setdiff1d(np.arange(len(y)), tested)
    if len(untested):
        raise ValueError(
            f"cv never tests row {untested[0]}: use one that tests all rows, such as "
            "StratifiedKFold."
        )
    return folds
