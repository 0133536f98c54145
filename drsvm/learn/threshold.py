"""Where a classifier decides: the threshold, placed for accuracy after the direction is known.

The direction comes from a problem in which the classes weigh more equally than they are. Its own intercept is
where the worst case of that problem wants it, not where most rows are decided correctly. The threshold is therefore
placed by decisions of rows that the classifier has not seen, and moved only where the evidence is clear: it is the one
nearest to the problem's own whose score is within SLACK standard errors of the best. A constant classifier is never
chosen: with wrong labels the scores of the folds are wrong as well.
"""

import math
import numbers
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from drsvm.clock import TimeLimit
from drsvm.model.problem import Problem
from drsvm.model.result import Result, Status
from drsvm.solvers.many import solve_many

GOALS = ("accuracy", "balanced_accuracy", "optimum")

SLACK = 0.7  # of a standard error; fixed on the data sets on which the study decides

N_FOLDS, FOLD_TOL = 5, 1e-5
FEW_ROWS = 5000  # up to so many, every row is judged by a classifier of other rows
ROWS_PER_FEATURE = 20  # with more rows than that, those of the training set will do
MOST_FETCHED = 20_000  # rows on a cluster or a card


class Judged(NamedTuple):
    """Decision values of rows, their labels (±1), and how many rows each of them counts for."""

    decisions: np.ndarray
    signs: np.ndarray
    counts: np.ndarray


def check_goal(threshold) -> str:
    """Return what the threshold is placed for."""
    if not (isinstance(threshold, str) and threshold in GOALS):
        known = ", ".join(repr(goal) for goal in GOALS)
        raise ValueError(f"threshold must be one of {known}, got threshold={threshold!r}.")
    return threshold


def placed(problem: Problem, result: Result, counts, goal: str, cv: Any, time: TimeLimit) -> float:
    """Return by how much to move the threshold of a classifier; `counts` are those of a problem's rows."""
    if not result.weights.any() or result.status is Status.INTERRUPTED:
        return 0.0
    return nearest_good(judged_rows(problem, result, counts, cv, time), goal)


def judged_rows(problem: Problem, result: Result, counts, cv: Any, time: TimeLimit) -> Judged:
    """Return decisions of the rows of a problem, by classifiers that have not seen them if there are few of them.

    `counts` is a function of the problem, or of one with some of its rows.
    """
    if not problem.rows.readable:
        problem = problem.drawn(MOST_FETCHED) if problem.n_rows > MOST_FETCHED else problem
        problem = problem.nearby(math.inf)
    counts = counts(problem)
    n, d = problem.n_rows, problem.n_features
    few, copyable = n <= FEW_ROWS, problem.rows.copyable
    if cv is None and (not copyable or not (few or n < ROWS_PER_FEATURE * d)):
        return Judged(problem.decision_values(result.weights, result.intercept), problem.signs, counts)
    folds = _folds(problem, counts, N_FOLDS if cv is None else cv)
    chosen = range(folds.max() + 1) if few or cv is not None else [0]
    chosen = [fold for fold in chosen if _has_both_classes(problem.signs[folds != fold]) and (folds == fold).any()]
    parts = [problem.subset(np.flatnonzero(folds != fold)) for fold in chosen]
    tol = max(FOLD_TOL, result.tol)
    decisions, judged = np.zeros(n), np.zeros(n, dtype=bool)
    for fold, found in zip(chosen, solve_many(parts, tol=tol, max_time=time), strict=True):
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        rows = np.flatnonzero(folds == fold) if found.status is not Status.TIME_LIMIT else np.zeros(0, dtype=int)
        decisions[rows] = problem.rows.taken(rows).dot(found.weights, found.intercept)
        judged[rows] = True
    return Judged(decisions[judged], problem.signs[judged], counts[judged])


def _has_both_classes(signs) -> bool:
    return bool((signs > 0).any() and (signs < 0).any())


def _folds(problem: Problem, counts, cv) -> np.ndarray:
    if isinstance(cv, numbers.Integral):
        if cv < 2:
            raise ValueError(f"cv must be at least 2 folds, or a splitter, got cv={cv}.")
        return folds_by_content(problem, counts, int(cv))
    y = problem.to_given_rows(problem.signs) > 0  # a splitter, or pairs of indices, is about the given rows
    folds = np.full(len(y), -1)
    for number, (_, test) in enumerate(check_cv(cv, y, classifier=True).split(np.zeros((len(y), 1)), y)):
        folds[test] = number
    return folds if problem.kept is None else folds[problem.kept]


def folds_by_content(problem: Problem, counts, n_folds: int = N_FOLDS) -> np.ndarray:
    """Return a fold for every row that depends on what it contains, not on its place; equal rows share a fold."""
    keys = problem.decision_values(np.random.default_rng(0).normal(size=problem.n_features), 0.0)
    rounded = np.round(keys / (np.abs(keys).max() or 1.0) * 1e10)  # products of equal rows may differ in the last digit
    contents, member = np.unique(rounded, return_inverse=True)
    mostly_positive = np.bincount(member, counts * problem.signs) > 0
    folds = np.empty(len(contents), dtype=int)
    for side in (mostly_positive, ~mostly_positive):  # each class in all folds; the order is that of the contents
        folds[side] = np.arange(side.sum()) % n_folds
    return folds[member]


def nearest_good(judged: Judged, goal: str) -> float:
    """Return the threshold nearest to 0 at which decisions are nearly as good as they can be."""
    if len(judged.decisions) == 0:  # too few rows for folds
        return 0.0
    order = np.argsort(judged.decisions, kind="stable")
    values, positive, counts = judged.decisions[order], judged.signs[order] > 0, judged.counts[order]
    last = np.append(np.diff(values) > 0, True)  # equal values are decided alike
    of_positive, of_negative = (np.cumsum(np.where(side, counts, 0.0)) for side in (positive, ~positive))
    n_positive, n_negative = of_positive[-1], of_negative[-1]
    if min(n_positive, n_negative) <= 0 or len(values[last]) < 2:
        return 0.0
    # Thresholds between two neighbours; everything up to the lower one is decided negative.
    between = np.flatnonzero(last)[:-1]
    low, high = values[between], values[between + 1]
    shares = (n_positive - of_positive[between]) / n_positive, of_negative[between] / n_negative
    if goal == "accuracy":
        n = n_positive + n_negative
        scores, error = (n_positive * shares[0] + n_negative * shares[1]) / n, 0.5 / math.sqrt(n)
    else:
        scores, error = 0.5 * (shares[0] + shares[1]), 0.25 * math.sqrt(1.0 / n_positive + 1.0 / n_negative)
    good = scores >= scores.max() - SLACK * error
    places = np.where((low < 0.0) & (high > 0.0), 0.0, 0.5 * (low + high))
    return float(places[good][np.argmin(np.abs(places[good]))])
