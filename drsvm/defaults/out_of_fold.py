"""Decisions about rows by classifiers that have not seen them.

Whatever is chosen after a classifier goes by such decisions: its threshold, its
probabilities, smaller radii, the width of a kernel. Decisions about training rows would
be too good: a classifier fits the noise in the labels of its own rows.

There are two ways. In folds, the rows of each fold are decided by a classifier of the
other folds. Leaving out one row at a time would take n fits; near the optimum, one step
of Newton's method tells what each of them would decide (`solvers/leave_one_out.py` has
the formula). One factorisation serves all rows, and only one row is missing each time,
whereas classifiers of five folds lack a fifth of them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from drsvm.defaults.binary_problems import Solved, Start
from drsvm.defaults.folds import MAX_IN_ALL_FOLDS, fold_of_each_row
from drsvm.problem.backends import to_numpy
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result
from drsvm.problem.sampling import draw_sample, to_host
from drsvm.solvers.base import Candidate
from drsvm.solvers.landmarks.landmark_solver import (
    ROUGH,
    functions_in_time,
    linear_problems,
)
from drsvm.solvers.leave_one_out import can_leave_out, decisions_without
from drsvm.solvers.many import Classifier, rough_classifiers
from drsvm.solvers.reformulation.reformulation import Reformulation
from drsvm.solvers.reformulation.span_of_rows import problem_with_all_features
from drsvm.utils.clock import TimeLimit
from drsvm.utils.lazy import cached_property

# About the gap of fits in folds. With 5e-5, held-out accuracy differs by 0.00 ± 0.03
# points; with 1e-2, another radius may be chosen
FOLD_TOL = 3e-3
# With as many rows per feature, and more than MAX_IN_ALL_FOLDS, decisions about the
# training rows are hardly too good
ROWS_PER_FEATURE = 20
# Rows that are fetched from elsewhere at most: a sample of them
MOST_FETCHED = 20_000


class OutOfFoldDecisions(NamedTuple):
    """Decisions about rows."""

    decisions: np.ndarray
    """The decision values, of shape (n, n_problems)."""

    labels: np.ndarray
    """The classes of the rows as numbers."""

    counts: np.ndarray
    """How many rows each of them is."""


def decisions_of_rows(
    solved: Solved,
    counts: Callable[[Problem], np.ndarray],
    cv,
    time: TimeLimit,
    *,
    unseen: bool,
) -> OutOfFoldDecisions:
    """Return decisions about the rows of problems.

    Without `unseen`, and for many rows, they are those of the classifiers themselves.
    Otherwise classifiers decide that have not seen a row: for two classes, those
    without one row each, by a formula, where it holds and no folds are given; others in
    folds, whose probabilities are better for several classes (log loss on digits and
    wine: 0.257, against 0.285).

    Parameters
    ----------
    solved : Solved
        The classifiers.
    counts : callable
        Returns how many rows each row of a problem is, given the first problem, or one
        with some of its rows.
    cv : int, splitter or iterable, optional
        The folds.
    time : TimeLimit
        Limits the fits in the folds.
    unseen : bool
        Whether rows are decided by classifiers that have not seen them.

    Returns
    -------
    OutOfFoldDecisions
        The decisions; folds that were cut short decide nothing.
    """
    # 1. The rows, in this memory, and what they count
    problems = solved.problems
    centred = problems.centred(0)
    here = _in_this_memory(centred.problem)
    if len(problems.given) > 1:
        labels = labels_of(problems.given)
    else:
        labels = labels_of([here])
    counted = to_numpy(counts(here))

    # 2. Who decides
    are_few = here.rows.copyable and here.n_rows <= max(
        MAX_IN_ALL_FOLDS, ROWS_PER_FEATURE * here.n_features - 1
    )
    leaves_out = unseen and (cv is not None or are_few)
    one_by_one = (
        leaves_out and cv is None and len(problems.given) == 1 and can_leave_out(here)
    )
    folds = None
    if leaves_out and not one_by_one:
        # Folds depend on all features, also if the problem is in the span of its rows.
        whole = here
        if here is centred.problem:
            whole = problem_with_all_features(centred)
        folds = fold_of_each_row(whole, labels, counted, cv)

    # 3. A column of decisions for every problem
    columns = []
    starts = problems.starts()
    for index, result in enumerate(solved.results):
        # Each class has its own copy of the rows, one at a time. That of the first one
        # is there.
        if index > 0:
            centred = problems.centred(index)
            here = centred.problem
        own = centred.to_inner(result)
        if one_by_one:
            values = decisions_without(here, own.weights, own.intercept, counted)
        else:
            values = to_numpy(here.decision_values(own.weights, own.intercept))
        if folds is not None:
            start = _start_of_folds(centred, starts[index], own)
            values = _at_mean_of(values, out_of_fold(here, folds, start, time))
        columns.append(values)
    decisions = np.column_stack(columns)
    are_decided = ~np.isnan(decisions).any(axis=1)
    return OutOfFoldDecisions(
        decisions[are_decided], labels[are_decided], counted[are_decided]
    )


def _in_this_memory(problem: Problem) -> Problem:
    """Return the problem, or a sample in this memory if its rows are elsewhere."""
    if problem.rows.readable or problem.rows.copyable:
        return problem
    if problem.n_rows > MOST_FETCHED:
        problem = draw_sample(problem, MOST_FETCHED)
    return to_host(problem, math.inf)


def _start_of_folds(
    centred: Reformulation, rough: Start, result: Result
) -> Result | Candidate:
    """Return where folds start: at the rough solution of the rules, if there is one.

    Unlike the result, it does not depend on the solver. Solutions of a kernel need a
    start with multipliers.
    """
    if centred.problem.rows.is_kernel:
        return result
    rough = centred.to_inner(rough)
    if rough is None:
        return result
    if isinstance(rough, tuple):
        return Candidate(*rough)
    return rough


def _at_mean_of(seen: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return decisions out of fold, moved to the classifier's own where that matters.

    Where hardly anything depends on the intercept, solutions that are equally good
    differ in it by more than in the decisions about different rows. A threshold for one
    of them would make the other constant.

    Parameters
    ----------
    seen : array of shape (n,)
        Decisions of the classifier itself.
    values : array of shape (n,)
        Decisions out of fold, NaN for rows without.

    Returns
    -------
    array of shape (n,)
        Decisions out of fold: with the mean of the others if the means differ by more
        than rows do.
    """
    shifts = (seen - values)[~np.isnan(values)]
    if len(shifts) and abs(shifts.mean()) > np.nanstd(values):
        return values + shifts.mean()
    return values


def labels_of(problems: list[Problem]) -> np.ndarray:
    """Return the classes of the rows as numbers.

    The problems are those of all classes, or the one of two classes.
    """
    signs = [to_numpy(problem.signs) for problem in problems]
    if len(signs) > 1:
        return np.argmax(signs, axis=0)
    return (signs[0] > 0).astype(np.intp)


@dataclass(frozen=True, eq=False)
class FoldProblem:
    """The problem of all folds but one."""

    whole: Problem
    """The problem of all rows in the coordinates of this one."""

    train: np.ndarray
    """A mask of the training rows."""

    start: Classifier | None
    """Where its solution starts."""

    @cached_property
    def problem(self) -> Problem:
        """The problem of the training rows, which are copied when they are needed."""
        return self.whole.subset(self.train.nonzero()[0])


def problems_of_folds(
    problem: Problem,
    folds: np.ndarray,
    solution: Result | Candidate | None,
    time: TimeLimit,
) -> list[FoldProblem]:
    """Return the problem of the other folds for each fold that can be left out.

    Parameters
    ----------
    problem : Problem
        The problem of all rows.
    folds : array of shape (n_rows,)
        The fold of each row, −1 for those that are trained on always.
    solution : Result, Candidate or None
        A solution of the problem, from which the others start.
    time : TimeLimit
        The time limit.

    Returns
    -------
    list of FoldProblem
        The problems; none if the time is too short for kernels.
    """
    # Without a fold, both classes must be left.
    signs = to_numpy(problem.signs)
    masks = []
    for fold in range(folds.max() + 1):
        train = folds != fold
        has_both_classes = len(np.unique(signs[train])) == 2
        if has_both_classes and not train.all():
            masks.append(train)
    if not masks:
        return []
    if functions_in_time(problem, time, len(masks)) < min(ROUGH, problem.n_rows):
        return []
    parts = []
    wholes = linear_problems(problem, masks, solution)
    for train, (whole, start) in zip(masks, wholes, strict=True):
        parts.append(FoldProblem(whole, train, start))
    return parts


def decisions_of_folds(
    parts: list[FoldProblem],
    balls: Sequence[tuple[float, float]],
    n_rows: int,
    time: TimeLimit,
) -> np.ndarray:
    """Return decisions about rows, each by the classifier of the other folds.

    Parameters
    ----------
    parts : list of FoldProblem
        The problems of the folds.
    balls : sequence of (radius, l2)
        Radii with ridges. The problems of all of them are solved side by side.
    n_rows : int
        The number of rows.
    time : TimeLimit
        The time limit.

    Returns
    -------
    array of shape (n_balls, n_rows)
        The decisions, NaN for rows that are in no fold or whose fold took too long.
    """
    decisions = np.full((len(balls), n_rows), np.nan)
    if not parts:
        return decisions
    cases = list(product(range(len(balls)), parts))
    problems = [part.problem.with_regularisation(*balls[k]) for k, part in cases]
    starts = [part.start for _, part in cases]
    classifiers = rough_classifiers(problems, starts, tol=FOLD_TOL, max_time=time)
    for (k, part), classifier in zip(cases, classifiers, strict=True):
        if classifier is not None:
            values = to_numpy(part.whole.decision_values(*classifier))
            decisions[k, ~part.train] = values[~part.train]
    return decisions


def out_of_fold(
    problem: Problem,
    folds: np.ndarray,
    solution: Result | Candidate | None,
    time: TimeLimit,
) -> np.ndarray:
    """Return `decisions_of_folds` with the radius and the ridge of the problem."""
    parts = problems_of_folds(problem, folds, solution, time)
    ball = problem.radius, problem.l2
    return decisions_of_folds(parts, [ball], len(folds), time)[0]
