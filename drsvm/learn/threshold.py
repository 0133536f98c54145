"""Where a classifier decides: the threshold, placed for accuracy after the direction is known.

The direction comes from a problem in which the classes weigh more equally than they are. Its own intercept is
where the worst case of that problem wants it, not where most rows are decided correctly. The threshold is therefore
placed by decisions about rows that the classifier has not seen (of few rows: what it would decide without them), and
moved only where the evidence is clear: it is the one nearest to the problem's own whose score is within SLACK standard
errors of the best, and no worse than a constant classifier's. A constant is chosen only if there is no other: with
wrong labels the scores are wrong as well.
"""

import math
import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from drsvm.clock import TimeLimit
from drsvm.learn.problems import Solved, Start
from drsvm.model.backends import to_numpy
from drsvm.model.centring import Centred
from drsvm.model.problem import Problem
from drsvm.model.result import Result
from drsvm.solvers.base import Candidate
from drsvm.solvers.landmarks.rough import ROUGH, linear_problems
from drsvm.solvers.landmarks.solver import functions_in_time
from drsvm.solvers.leave_one_out import can_leave_out, decisions_without
from drsvm.solvers.many import rough_classifiers

GOALS = ("accuracy", "balanced_accuracy", "optimum")

SLACK = 0.4  # of the standard error of the best score; fixed on the data sets on which the study decides
SILVERMAN, QUARTILES, EQUAL = 1.06, 1.34, 1e-9  # of his rule for widths; the least one / the range of all values
ROUNDING = 1e-12  # scores that differ by less are equal
MIN_PREDICTED, NEARLY_NONE = 0.5, 0.02  # share of the rarer class, or of all rows, for which it is predicted

N_FOLDS, FOLD_TOL = 5, 3e-3  # with 5e-5, held-out accuracy differs by 0.00 ± 0.03 points
ELSEWHERE = 0.5  # of the standard deviation of decisions
FEW_ROWS = 5000  # up to so many, every row is judged by a classifier of other rows
ROWS_PER_FEATURE = 20  # with more rows than that, those of the training set will do
MAX_FETCHED = 20_000  # rows on a cluster or a card


class Judged(NamedTuple):
    """Decision values of rows, one per problem, the places of their classes, and how many rows each counts for."""

    decisions: np.ndarray
    labels: np.ndarray
    counts: np.ndarray


def check_goal(threshold) -> str:
    """Return what the threshold is placed for."""
    if not (isinstance(threshold, str) and threshold in GOALS):
        known = ", ".join(repr(goal) for goal in GOALS)
        raise ValueError(f"threshold must be one of {known}, got threshold={threshold!r}.")
    return threshold


def judged_rows(
    solved: Solved,
    counts: Callable[[Problem], np.ndarray],
    cv: Any,
    time: TimeLimit,
    unseen: bool,
) -> Judged:
    """Return decisions of the rows of problems: if rows are few and `unseen`, by classifiers that have not seen them.

    Those of two classes are trained without one row each, by a formula, where it holds and no folds are given; others
    in folds, whose probabilities are better for several classes (log loss on digits and wine: 0.257, against 0.285).
    `counts` is a function of the first problem, or of one with some of its rows. Folds cut short judge nothing. They
    start at the rough solutions of the rules, if there are any: unlike the results, these do not depend on the solver.
    """
    posed, results, n_problems = solved.posed, solved.results, len(solved.results)
    centred = posed.centred(0)
    first = centred.problem
    if not (first.rows.readable or first.rows.copyable):
        first = (first.drawn(MAX_FETCHED) if first.n_rows > MAX_FETCHED else first).to_host(math.inf)
    signs = [to_numpy(problem.signs) for problem in (posed.problems if n_problems > 1 else [first])]
    labels = np.argmax(signs, axis=0) if len(signs) > 1 else (signs[0] > 0).astype(np.intp)
    counted = to_numpy(counts(first))
    in_folds = unseen and (cv is not None or _are_few(first))
    one_by_one = in_folds and cv is None and n_problems == 1 and can_leave_out(first)
    folds = None
    if in_folds and not one_by_one:
        # Folds depend on all features.
        whole = centred.with_all_features().problem if first is centred.problem else first
        folds = _folds(whole, labels, counted, cv)
    columns, judged = [], np.ones(len(labels), dtype=bool)
    for index, result in enumerate(results):
        centred = posed.centred(index) if index else centred  # a copy of the rows for each class, one at a time
        here, own = centred.problem if index else first, centred.to_centred(result)
        if one_by_one:
            columns.append(decisions_without(here, own.weights, own.intercept, counted))
        elif folds is None:
            columns.append(to_numpy(here.decision_values(own.weights, own.intercept)))
        else:
            values, seen = out_of_fold(here, folds, _start(here, centred, solved.ball.solutions[index]) or own, time)
            columns.append(_about_as_high(values, to_numpy(here.decision_values(own.weights, own.intercept)), seen))
            judged &= seen
    return Judged(np.column_stack(columns)[judged], labels[judged], counted[judged])


def _start(problem: Problem, centred: Centred, rough: Start) -> Candidate | None:
    """Return a rough solution; folds of a kernel need one with multipliers, and get none."""
    if problem.rows.is_kernel or rough is None:
        return None
    start = centred.to_centred(rough)
    return Candidate(*start) if isinstance(start, tuple) else Candidate(start.weights, start.intercept)


def _about_as_high(values: np.ndarray, own: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return decisions of folds, shifted to the height of the classifier's own ones if they are elsewhere altogether.

    Where hardly anything depends on the intercept, solutions that are equally good differ in it by more than in the
    decisions of different rows; a threshold for one would make the other constant.
    """
    if not seen.any():
        return values
    shift = float(np.mean(own[seen] - values[seen]))
    return values + shift if abs(shift) > ELSEWHERE * float(values[seen].std()) else values


def out_of_fold(
    problem: Problem, folds: np.ndarray, solution: Result | Candidate | None, time: TimeLimit, tol: float = FOLD_TOL
) -> tuple[np.ndarray, np.ndarray]:
    """Return decisions of the rows in folds, by classifiers of the other rows, and which rows have one."""
    signs = to_numpy(problem.signs)
    trained = [mask for fold in range(folds.max() + 1) if _can_judge(signs, mask := folds != fold)]
    decisions, judged = np.zeros(len(folds)), np.zeros(len(folds), dtype=bool)
    if not trained or functions_in_time(problem, time, len(trained)) < min(ROUGH, problem.n_rows):
        return decisions, judged
    problems, starts = zip(*linear_problems(problem, trained, solution), strict=True)
    parts = [whole.subset(mask.nonzero()[0]) for whole, mask in zip(problems, trained, strict=True)]
    classifiers = rough_classifiers(parts, starts, tol=tol, max_time=time)
    for whole, mask, classifier in zip(problems, trained, classifiers, strict=True):
        if classifier is not None:
            decisions[~mask] = to_numpy(whole.decision_values(*classifier))[~mask]
            judged[~mask] = True
    return decisions, judged


def _can_judge(signs, mask) -> bool:
    """Return whether there are rows of both classes to train on, and others to judge."""
    trained = signs[mask]
    return len(trained) < len(signs) and len(trained) > 0 and trained.min() < 0.0 < trained.max()


def _are_few(problem: Problem) -> bool:
    """Return False if there are enough rows to judge themselves."""
    most = max(FEW_ROWS, ROWS_PER_FEATURE * problem.n_features - 1)
    return problem.rows.copyable and problem.n_rows <= most


def _folds(problem: Problem, labels, counts, cv) -> np.ndarray:
    """Return the fold that judges each row, -1: none."""
    few, n_folds = problem.n_rows <= FEW_ROWS, N_FOLDS if cv is None else cv
    if isinstance(n_folds, numbers.Integral):
        if n_folds < 2:
            raise ValueError(f"cv must be at least 2 folds, or a splitter, got cv={cv}.")
        folds = folds_by_content(problem, labels, counts, int(n_folds))
        return folds if few or cv is not None else np.where(folds == 0, 0, -1)
    given = np.arange(problem.n_given) if problem.kept is None else to_numpy(problem.kept)
    y, folds = np.zeros(problem.n_given, dtype=labels.dtype), np.full(problem.n_given, -1)
    y[given] = labels  # a splitter, or pairs of indices, is about the given rows
    for number, (_, test) in enumerate(check_cv(cv, y, classifier=True).split(np.zeros((len(y), 1)), y)):
        folds[test] = number
    return folds[given]


def folds_by_content(problem: Problem, labels, counts, n_folds: int = N_FOLDS) -> np.ndarray:
    """Return a fold for every row by what it contains, whatever the order of rows and columns; equal rows share it."""
    member = problem.content_groups()
    masses = np.zeros((member.max() + 1, labels.max() + 1))
    np.add.at(masses, (member, labels), counts)
    mostly, folds = masses.argmax(axis=1), np.empty(len(masses), dtype=int)
    for label in range(masses.shape[1]):  # each class in all folds; the order is that of the contents
        folds[mostly == label] = np.arange((mostly == label).sum()) % n_folds
    return folds[member]


def choose_threshold(judged: Judged, goal: str) -> float:
    """Return the threshold nearest to 0 at which decisions are nearly as good as they can be.

    The score of a threshold is an average over thresholds around it: single rows would decide which one is the best.
    """
    order = np.argsort(judged.decisions[:, 0], kind="stable")
    values, positive, counts = judged.decisions[order, 0], judged.labels[order] > 0, judged.counts[order]
    masses = [float(counts[side].sum()) for side in (positive, ~positive)]
    n, rarer = sum(masses), min(masses)
    last: np.ndarray = np.append(np.diff(values) > 0, True)  # equal values are decided alike
    if rarer <= 0.0 or len(values[last]) < 2:  # also if there were too few rows for folds
        return 0.0
    # Thresholds between two neighbours; everything up to the lower one is decided negative.
    between = np.flatnonzero(last)[:-1]
    low, high = values[between], values[between + 1]
    places = np.where((low < 0.0) & (high > 0.0), 0.0, 0.5 * (low + high))
    least_width = EQUAL * (values[-1] - values[0])
    below = [_share_below(places, values[side], counts[side], least_width) for side in (positive, ~positive)]
    shares = 1.0 - below[0], below[1]
    if goal == "accuracy":
        scores = (masses[0] * shares[0] + masses[1] * shares[1]) / n
        variances = scores * (1.0 - scores) / n
    else:
        scores = 0.5 * (shares[0] + shares[1])
        variances = 0.25 * (shares[0] * below[0] / masses[0] + shares[1] * (1.0 - below[1]) / masses[1])
    # Where one class is rare, to predict it for hardly any row may be best by chance, and is nearly constant.
    negative = np.take(np.cumsum(counts), between)
    predicted = n - negative if masses[0] <= masses[1] else negative
    allowed = predicted >= min(MIN_PREDICTED * rarer, NEARLY_NONE * n)
    allowed |= not allowed.any()
    if goal == "accuracy":
        guard, larger = MIN_PREDICTED * rarer, n - rarer
        right = masses[0] + np.take(np.cumsum(np.where(positive, -counts, counts)), between)
        least = min(larger - min(SLACK * math.sqrt(larger * rarer / n), guard), right[allowed].max())
        if least < larger - guard - ROUNDING * n:  # too many rows are equal: only a constant is as good as a constant
            return float(values[-1]) if masses[0] <= masses[1] else float(np.nextafter(values[0], -math.inf))
        allowed &= right >= least - ROUNDING * n
    scores = np.where(allowed, scores, -1.0)
    best = np.argmax(scores)
    good = scores >= scores[best] - SLACK * math.sqrt(max(variances[best], 0.0)) - ROUNDING
    return float(places[good][np.argmin(np.abs(places[good]))])


def _share_below(thresholds, values, counts, least_width: float) -> np.ndarray:
    """Return the share of a class whose values, which ascend, are below a threshold: the mean of those around it.

    The deviation around it is that of Silverman's rule, robust to far rows; all thresholds around it count the same.
    """
    mass, moment = (np.append(0.0, np.cumsum(of)) for of in (counts, counts * values))
    n = float(mass[-1])
    deviation = math.sqrt(float(counts @ np.square(values - moment[-1] / n)) / n)
    low, high = values[np.searchsorted(mass[1:] / n, np.array([0.25, 0.75]) - ROUNDING)]
    deviation = min(deviation, (high - low) / QUARTILES) if high > low else deviation
    width = max(math.sqrt(3.0) * SILVERMAN * deviation * n**-0.2, least_width)

    def integral(up_to):
        """Return the integral of the mass below a threshold over all thresholds up to the given ones."""
        inside = np.searchsorted(values, up_to, side="right")
        return up_to * mass[inside] - moment[inside]

    averages = (integral(thresholds + width) - integral(thresholds - width)) / (2.0 * width * n)
    return np.clip(averages, 0.0, 1.0)
