"""Decisions about rows by classifiers that have not seen them: in folds, or by the formula for one row left out.

Whatever is chosen after a classifier goes by such decisions: its threshold, its
probabilities, the share of the ball, the width of a kernel, and which labels are
doubtful.
"""

import math
import numbers
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from drsvm.defaults.binary_problems import Solved
from drsvm.defaults.one_vs_rest import is_constant
from drsvm.defaults.outliers import FEW_ROWS
from drsvm.problem.backends import to_numpy
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result
from drsvm.problem.sampling import content_groups, draw_sample, to_host
from drsvm.solvers.base import Candidate
from drsvm.solvers.landmarks.landmark_solver import (
    ROUGH,
    functions_in_time,
    linear_problems,
)
from drsvm.solvers.leave_one_out import can_leave_out, decisions_without
from drsvm.solvers.many import Classifier, rough_classifiers
from drsvm.solvers.reformulation.span_of_rows import problem_with_all_features
from drsvm.utils.annotations import Labels, Matrix
from drsvm.utils.clock import TimeLimit

N_FOLDS = 5  # as in scikit-learn
# With 5e-5, held-out accuracy differs by 0.00 ± 0.03 points; with 1e-2, another ball
# may be chosen
FOLD_TOL = 3e-3
# With more rows than that, and than FEW_ROWS, those of the training set will do
ROWS_PER_FEATURE = 20
# More are not fetched, nor needed for a sigmoid; up to as many, trees are faster on one
# thread
MANY_ROWS = 20_000

Folds = list[tuple[np.ndarray, np.ndarray]]
Start = Result | Candidate | None


class OutOfFoldDecisions(NamedTuple):
    """Decision values of rows, one per problem, the places of their classes, and how many rows each counts for."""

    decisions: np.ndarray
    labels: np.ndarray
    counts: np.ndarray


# --- by problems of ours
# ------------------------------------------------------------------------------------------


def unseen_decisions(
    solved: Solved,
    counts: Callable[[Problem], np.ndarray],
    cv,
    time: TimeLimit,
    unseen: bool,
) -> OutOfFoldDecisions:
    """Return decisions of the rows of problems: if rows are few and `unseen`, by classifiers that have not seen them.

    Those of two classes are trained without one row each, by a formula, where it holds
    and no folds are given; others in folds, whose probabilities are better for several
    classes (log loss on digits and wine: 0.257, against 0.285). `counts` is a function
    of the first problem, or of one with some of its rows. Folds cut short judge
    nothing. They start at the rough solutions of the rules, if there are any: unlike
    the results, these do not depend on the solver.
    """
    posed = solved.posed
    results = solved.results
    centred = posed.centred(0)
    here = centred.problem
    if not (here.rows.readable or here.rows.copyable):
        if here.n_rows > MANY_ROWS:
            here = draw_sample(here, MANY_ROWS)
        here = to_host(here, math.inf)
    labels = labels_of(posed.problems if len(posed.problems) > 1 else [here])
    counted = to_numpy(counts(here))
    are_few = here.rows.copyable and here.n_rows <= max(
        FEW_ROWS, ROWS_PER_FEATURE * here.n_features - 1
    )
    in_folds = unseen and (cv is not None or are_few)
    one_by_one = (
        in_folds and cv is None and len(posed.problems) == 1 and can_leave_out(here)
    )
    folds = None
    if in_folds and not one_by_one:  # folds depend on all features
        if here is centred.problem:
            whole = problem_with_all_features(centred)
        else:
            whole = here
        folds = _folds(whole, labels, counted, cv)
    columns = []
    for index, result in enumerate(results):
        if index:  # a copy of the rows for each class, one at a time
            centred = posed.centred(index)
            here = centred.problem
        own = centred.to_inner(result)
        if one_by_one:
            columns.append(decisions_without(here, own.weights, own.intercept, counted))
            continue
        values = to_numpy(here.decision_values(own.weights, own.intercept))
        if folds is not None:  # those of a kernel need a start with multipliers
            if here.rows.is_kernel:
                rough = None
            else:
                rough = centred.to_inner(solved.ball.solutions[index])
            if isinstance(rough, tuple):
                start = Candidate(*rough)
            else:
                start = rough or own
            seen = values
            values = out_of_fold(here, folds, start, time)
            # Where hardly anything depends on the intercept, solutions that are equally
            # good differ in it by more than in the decisions of different rows; a
            # threshold for one would make the other constant.
            shifts = (seen - values)[~np.isnan(values)]
            if len(shifts) and abs(shifts.mean()) > np.nanstd(values):
                values = values + shifts.mean()
        columns.append(values)
    decisions = np.column_stack(columns)
    judged = ~np.isnan(decisions).any(axis=1)
    return OutOfFoldDecisions(decisions[judged], labels[judged], counted[judged])


def labels_of(problems: list[Problem]) -> np.ndarray:
    """Return the places of the classes of the rows, from the problems of all classes or the one of two."""
    signs = [to_numpy(problem.signs) for problem in problems]
    if len(signs) > 1:
        return np.argmax(signs, axis=0)
    return (signs[0] > 0).astype(np.intp)


class InFolds:
    """Rows in folds, to be judged by classifiers of the other rows, whose radius and ridge may change."""

    def __init__(
        self, problem: Problem, folds: np.ndarray, solution: Start, time: TimeLimit
    ):
        signs = to_numpy(problem.signs)
        self.parts = list[tuple[np.ndarray, Problem, Problem, Classifier | None]]()
        masks = [folds != fold for fold in range(folds.max() + 1)]
        # There must be rows of both classes to train on, and others to judge.
        trained = [
            mask
            for mask in masks
            if not mask.all() and len(np.unique(signs[mask])) == 2
        ]
        if trained and functions_in_time(problem, time, len(trained)) >= min(
            ROUGH, problem.n_rows
        ):
            for mask, (whole, start) in zip(
                trained, linear_problems(problem, trained, solution), strict=True
            ):
                self.parts.append((mask, whole, whole.subset(mask.nonzero()[0]), start))
        self.size = len(folds)

    def decisions(self, radius: float, l2: float, time: TimeLimit) -> np.ndarray:
        """Return the decisions; NaN for rows that are not judged."""
        decisions = np.full(self.size, np.nan)
        if not self.parts:
            return decisions
        problems, starts = zip(
            *[
                (part.with_regularisation(radius, l2), start)
                for *_, part, start in self.parts
            ],
            strict=True,
        )
        classifiers = rough_classifiers(problems, starts, tol=FOLD_TOL, max_time=time)
        for (mask, whole, *_), classifier in zip(self.parts, classifiers, strict=True):
            if classifier is not None:
                decisions[~mask] = to_numpy(whole.decision_values(*classifier))[~mask]
        return decisions


def out_of_fold(
    problem: Problem, folds: np.ndarray, solution: Start, time: TimeLimit
) -> np.ndarray:
    """Return decisions of the rows in folds, by classifiers of the other rows.

    NaN if there is none.
    """
    return InFolds(problem, folds, solution, time).decisions(
        problem.radius, problem.l2, time
    )


# --- folds
# --------------------------------------------------------------------------------------------------------


def _folds(problem: Problem, labels: np.ndarray, counts: np.ndarray, cv) -> np.ndarray:
    """Return the fold that judges each row, -1: none."""
    if cv is None or isinstance(cv, numbers.Integral):
        folds = folds_by_content(
            problem, labels, counts, N_FOLDS if cv is None else _checked_number(cv)
        )
        if problem.n_rows <= FEW_ROWS or cv is not None:
            return folds
        return np.where(folds == 0, 0, -1)
    if problem.kept is None:
        given = np.arange(problem.n_given)
    else:
        given = to_numpy(problem.kept)
    y = np.zeros(problem.n_given, dtype=labels.dtype)
    folds = np.full(problem.n_given, -1)
    y[given] = labels  # a splitter, or pairs of indices, is about the given rows
    for number, (_, test) in enumerate(
        check_cv(cv, y, classifier=True).split(np.zeros((len(y), 1)), y)
    ):
        folds[test] = number
    return folds[given]


def folds_by_content(
    problem: Problem, labels, counts, n_folds: int = N_FOLDS
) -> np.ndarray:
    """Return a fold for every row by what it contains, whatever the order of rows and columns; equal rows share it."""
    member = content_groups(problem)
    masses = np.zeros((member.max() + 1, labels.max() + 1))
    np.add.at(masses, (member, labels), counts)
    mostly = masses.argmax(axis=1)
    folds = np.empty(len(masses), dtype=int)
    for label in range(
        masses.shape[1]
    ):  # each class in all folds; the order is that of the contents
        folds[mostly == label] = np.arange((mostly == label).sum()) % n_folds
    return folds[member]


def _checked_number(cv) -> int:
    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds, or a splitter, got cv={cv}.")
    return int(cv)


def splits(
    splitter, X: Matrix, y: np.ndarray, groups=None, counts=None, first: int = 0
) -> Folds:
    """Return training and test rows.

    Every class must be in every training set, with rows that count.
    """
    folds = list(splitter.split(X, y, groups))
    for number, (train, _) in enumerate(folds, start=first):
        missing = np.setdiff1d(
            y, y[train if counts is None else train[counts[train] > 0]]
        )
        if len(missing):
            raise ValueError(
                f"Fold {number} has no row of class {missing.tolist()[0]!r} to train on: use fewer folds, a stratified "
                "splitter, or leave the class out."
            )
    return folds


def splits_for_all(X: Matrix, y: np.ndarray, cv, random_state: int | None) -> Folds:
    """Return training and test rows such that every row is tested: stratified ones, or those of a given splitter."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        if isinstance(cv, numbers.Integral):
            # More folds would have none of its rows
            largest = int(np.unique(y, return_counts=True)[1].max())
            splitter = StratifiedKFold(
                min(_checked_number(cv), largest),
                shuffle=True,
                random_state=random_state,
            )
            return list(splitter.split(y, y))
        folds = splits(check_cv(cv, y), X, y, first=1)
    untested = np.setdiff1d(
        np.arange(len(y)), np.concatenate([test for _, test in folds])
    )
    if len(untested):
        raise ValueError(
            f"cv never tests row {untested[0]}: use one that tests all rows, such as StratifiedKFold."
        )
    return folds


# --- by any classifier
# --------------------------------------------------------------------------------------------


class Table(NamedTuple):
    """The rows to judge."""

    X: Matrix
    y: np.ndarray
    weights: np.ndarray | None
    classes: np.ndarray


def decisions_in_folds(
    model: BaseEstimator,
    table: Table,
    folds: Folds,
    n_jobs: int | None,
    done: Callable[[int, float], None],
) -> np.ndarray:
    """Return one out-of-fold value per row and class: the mean over the folds that test it, 0 if constant."""
    decisions = np.zeros((len(table.y), len(table.classes)))
    times_judged = np.zeros(len(table.y))
    with threadpool_limits(1 if len(table.y) <= MANY_ROWS else None, "openmp"):
        tasks = (delayed(decisions_of_fold)(model, table, *fold) for fold in folds)
        outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
        for (_, test), (values, seconds) in zip(folds, outcomes, strict=True):
            decisions[test] += values
            times_judged[test] += 1
            done(len(test), seconds)
    return decisions / times_judged[:, None]


def decisions_of_fold(
    model, table: Table, train: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, float]:
    """Fit on the training rows.

    Return the decision values of the test rows, 0 if it is constant, and the seconds.
    """
    start = time.perf_counter()
    X_train = _some(table.X, train)
    weights = {}
    if table.weights is not None and isinstance(
        model, Pipeline
    ):  # which passes them to its last step
        weights = {f"{model.steps[-1][0]}__sample_weight": table.weights[train]}
    elif table.weights is not None:
        if "sample_weight" not in signature(model.fit).parameters:
            raise TypeError(
                f"{type(model).__name__}.fit takes no sample_weight: omit it, or use another estimator."
            )
        weights = {"sample_weight": table.weights[train]}
    with quietly():
        model = clone(model).fit(X_train, table.y[train], **weights)
    decisions = _values(model, _some(table.X, test), table.classes)
    constant = is_constant(decisions) and is_constant(
        _values(model, X_train, table.classes)
    )
    # A constant classifier would prefer the larger class everywhere; it has no
    # information about single rows.
    return np.zeros_like(
        decisions
    ) if constant else decisions, time.perf_counter() - start


def _some(X: Matrix, rows: np.ndarray) -> Matrix:
    # 1.6 does not index Arrow tables
    if hasattr(X, "column_names"):
        return X.take(rows)
    return _safe_indexing(X, rows)


@contextmanager
def quietly() -> Iterator[None]:
    """Leave out warnings about the classifiers of single folds: one for all follows."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore",
            "The fitted classifier is constant|radius / flip_cost|Far-off",
            UserWarning,
        )
        yield


def _values(model, X: Matrix, classes: Labels) -> np.ndarray:
    if not hasattr(model, "decision_function"):
        return np.log(np.maximum(model.predict_proba(X), np.finfo(np.float32).eps))
    values = np.asarray(model.decision_function(X), dtype=np.float64)
    if values.ndim == 1:
        return np.column_stack([-values / 2, values / 2])
    if values.shape[1] != len(classes):
        raise ValueError(
            f"decision_function returned {values.shape[1]} values per row for {len(classes)} classes: it must return "
            "one per class (for SVC: decision_function_shape='ovr')."
        )
    return values
