"""A choice between candidates by out-of-fold decisions, with a preference for one.

The first candidate withstands wrong labels best, and the others may fit better.

The rules for radius, ridge and width are right for most tables and far off for a few,
where all rows look wrong to them. So rows that a classifier has not seen are ranked by
classifiers with the ball of the rules and with smaller ones. The first is taken unless
others rank these rows better by more than chance explains: then the best of them. With
wrong labels differences are smaller, and the first is taken more often. The formula for
one row left out would not do: it is the more optimistic, the smaller the ball.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from drsvm.defaults.binary_problems import BinaryProblems
from drsvm.defaults.folds import folds_by_content
from drsvm.defaults.out_of_fold import (
    decisions_of_folds,
    labels_of,
    problems_of_folds,
)
from drsvm.defaults.radius_rule import MAX_SAMPLE, MIN_SAMPLE
from drsvm.defaults.roc_auc import auc_parts, errors_ahead
from drsvm.problem.problem import Problem
from drsvm.problem.sampling import draw_rows, to_host
from drsvm.solvers.interior_point.small import MAX_ENTRIES, MAX_FEATURES, is_small
from drsvm.solvers.reformulation.reformulation import Unchanged
from drsvm.solvers.reformulation.span_of_rows import in_span_of_rows
from drsvm.utils.clock import TimeLimit

# Standard errors by which a candidate must lead in ROC AUC; if none leads by half of
# them, no further candidates are tried
EVIDENCE = 2.0
# Shares of the radius that are tried; the ridge is multiplied by their squares. The
# second stage consists of the first share, the third stage of the others.
SHARES = (0.1, 0.3, 0.03)
# With five folds, the first candidate is left more often, and accuracy is the same.
FOLDS = 3
# By how many standard errors the second candidate may trail after one fold or two. If
# it trails by more, no others are tried. That is so for half of 1,222 fits to 25
# tables, most of them with wrong labels, and changed one of 92 choices. A fit to 1,000
# rows of 300 features takes 0.6 times as long.
MOST_BEHIND = 0.5
# Digits of decisions, in units of their deviations: further ones depend on the order of
# sums
DIGITS = 6

T = TypeVar("T")
# Decisions about rows as a function of radii with ridges, and of the number of folds,
# which is that of all by default: an array for each of the former, NaN about the rows
# of other folds, or None if there was no time
DecisionsAt = Callable[..., Sequence[np.ndarray | None]]


class EvaluationRows(NamedTuple):
    """Rows that candidates rank."""

    problems: list[Problem]
    """The problems that are solved in folds, one per class, or one for two classes."""

    folds: np.ndarray
    """The fold in which each row is left out."""

    labels: np.ndarray
    """The classes of the rows as numbers."""

    counts: np.ndarray
    """How many rows each of them is."""

    total: float
    """The number of rows that they are drawn from."""

    @classmethod
    def of(
        cls,
        given: list[Problem],
        moved: list[Problem],
        counts: np.ndarray,
        total: float,
    ) -> "EvaluationRows":
        """Form folds by the contents of the rows as they were given.

        Parameters
        ----------
        given, moved : list of Problem
            The problems as they were given, and as they are solved, perhaps in other
            coordinates.
        counts : array of shape (n,)
            How many rows each of them is.
        total : float
            The number of rows that they are drawn from.

        Returns
        -------
        EvaluationRows
            The rows.
        """
        labels = labels_of(given)
        folds = folds_by_content(given[0], labels, counts, FOLDS)
        return cls(moved, folds, labels, counts, total)

    def decisions(self, time: TimeLimit) -> DecisionsAt:
        """Return a function of radii with ridges: the decisions out of fold.

        The problems of the folds are made once, and each of them is solved once for a
        radius and a ridge.
        """
        n_rows = len(self.folds)
        folds_of_problems = []
        for problem in self.problems:
            folds_of_problems.append(problems_of_folds(problem, self.folds, None, time))
        # How many folds are done, and the decisions
        nothing = 0, np.full((n_rows, len(self.problems)), np.nan)
        known: dict[tuple[float, float], tuple[int, np.ndarray]] = {}

        def decisions(balls, n_folds=FOLDS) -> Sequence[np.ndarray | None]:
            if time.over:
                return [None] * len(balls)
            # Those that are asked for together have the same folds behind them.
            done, _ = known.get(balls[0], nothing)
            found = [known.get(ball, nothing)[1].copy() for ball in balls]
            for k, parts in enumerate(folds_of_problems):
                new = decisions_of_folds(parts[done:n_folds], balls, n_rows, time)
                for values, of_new in zip(found, new, strict=True):
                    np.copyto(values[:, k], of_new, where=~np.isnan(of_new))
            for ball, values in zip(balls, found, strict=True):
                known[ball] = n_folds, values
            return found

        return decisions


def best_if_significant(
    stages: Sequence[Sequence[T]],
    decisions: Callable[[T], np.ndarray | None],
    judged: EvaluationRows,
) -> T:
    """Return the first candidate, or the best of those that rank rows clearly better.

    Fits in folds take time, and for most data the first candidate is taken. So the
    candidates come in stages, the most telling ones first, and a stage is tried only if
    a candidate of the one before leads by half of the EVIDENCE. All of them are
    compared with the first candidate; of those with a significant lead, the one with
    the largest ROC AUC is taken.

    Parameters
    ----------
    stages : sequence of sequences
        The candidates. The first stage has one.
    decisions : callable
        Returns the decisions with a candidate of classifiers that have not seen the
        rows, a column for every problem; None: there was no time.
    judged : EvaluationRows
        The rows.

    Returns
    -------
    object
        A candidate.
    """
    first = stages[0][0]
    best = first
    of_first = _parts(decisions(first), judged)
    if of_first is None:
        return first
    highest = -math.inf
    for stage in stages[1:]:
        largest_lead = -math.inf
        for candidate in stage:
            parts = _parts(decisions(candidate), judged)
            # There was no time for it, nor will there be for others.
            if parts is None:
                return best
            lead = errors_ahead(parts, of_first, judged.labels, judged.counts)
            largest_lead = max(largest_lead, lead)
            auc = float(judged.counts @ parts)
            if lead > EVIDENCE and auc > highest:
                best = candidate
                highest = auc
        if largest_lead <= EVIDENCE / 2:
            break
    return best


def _parts(decisions: np.ndarray | None, judged: EvaluationRows) -> np.ndarray | None:
    """Return the contributions of the rows to the ROC AUC.

    None if some rows are undecided, or a class has none.
    """
    if decisions is None or np.isnan(decisions).any():
        return None
    # Rows with decisions that are equal but for rounding are ties.
    deviations = decisions.std(axis=0)
    units = np.where(deviations > 0.0, deviations, 1.0)
    rounded = np.round(decisions / units, DIGITS)
    if rounded.shape[1] == 1:
        rounded = rounded[:, 0]
    return auc_parts(rounded, judged.labels, judged.counts)


def scaled_by_folds(
    problems: BinaryProblems,
    judged: EvaluationRows,
    may_shrink: tuple[bool, bool],
    time: TimeLimit,
) -> BinaryProblems:
    """Return the problems with a smaller radius and ridge if they rank clearly better.

    Parameters
    ----------
    problems : BinaryProblems
        The problems with the radius and the ridge of the rules.
    judged : EvaluationRows
        The rows that are ranked.
    may_shrink : tuple of bool
        Whether the radius may shrink, and whether the ridge may.
    time : TimeLimit
        Limits the fits in the folds.

    Returns
    -------
    BinaryProblems
        The problems.
    """
    # Chance effects, and with them the radius, are proportional to 1/√n, and the ridge
    # to the square: those for all rows are too small for the rows that are judged.
    more = math.sqrt(judged.total / float(judged.counts.sum()))
    more_radius, more_l2 = shares_of_both(more, may_shrink)
    radius = problems.radius * more_radius
    l2 = problems.l2 * more_l2
    decisions_at = judged.decisions(time)

    stages = []
    for shares in ([1.0], SHARES[:1], SHARES[1:]):
        stages.append([shares_of_both(share, may_shrink) for share in shares])

    def ball(shares: tuple[float, float]) -> tuple[float, float]:
        return radius * shares[0], l2 * shares[1]

    two = [ball(stage[0]) for stage in stages[:2]]
    for n_folds in range(1, FOLDS):
        of_first, of_second = decisions_at(two, n_folds)
        if _trails(of_second, of_first, judged):
            return problems

    def decisions(shares: tuple[float, float]) -> np.ndarray | None:
        return decisions_at([ball(shares)])[0]

    best = best_if_significant(stages, decisions, judged)
    return problems.scaled(*best)


def _trails(
    decisions: np.ndarray | None,
    of_first: np.ndarray | None,
    judged: EvaluationRows,
) -> bool:
    """Return whether decisions rank rows clearly worse than those of the first.

    It is about the rows that are decided so far. False if there are none.
    """
    if decisions is None or of_first is None:
        return False
    decided = ~np.isnan(of_first).any(axis=1)
    if not decided.any():
        return False
    labels = judged.labels[decided]
    counts = judged.counts[decided]
    few = judged._replace(labels=labels, counts=counts)
    parts = _parts(decisions[decided], few)
    parts_of_first = _parts(of_first[decided], few)
    if parts is None or parts_of_first is None:
        return False
    return errors_ahead(parts, parts_of_first, labels, counts) < -MOST_BEHIND


def shares_of_both(share: float, may_shrink: tuple[bool, bool]) -> tuple[float, float]:
    """Return by what radius and ridge are multiplied, 1 if they may not shrink.

    The ridge is multiplied by the square: s times the radius with s² times the ridge is
    the same as features that are divided by s.
    """
    radius = 1.0
    l2 = 1.0
    if may_shrink[0]:
        radius = share
    if may_shrink[1]:
        l2 = share**2
    return radius, l2


def rows_to_judge(
    problems: BinaryProblems, counts: np.ndarray | None
) -> EvaluationRows | None:
    """Return rows to compare candidates by, in memory.

    Parameters
    ----------
    problems : BinaryProblems
        The problems of a fit.
    counts : array, optional
        How many rows each given row is; by default one.

    Returns
    -------
    EvaluationRows or None
        The rows, drawn by their contents if there are many. None if they are too few,
        or too large.
    """
    first = problems.given[0]
    n = first.n_rows
    if counts is None:
        total = n
        counts = np.ones(n)
    else:
        total = float(counts.sum())
        if first.kept is not None:
            counts = counts[first.kept]
    if total < MIN_SAMPLE:
        return None
    if problems.moved is None:
        rows = first.rows
    else:
        rows = problems.moved[0].problem.rows
    # The number of rows with which problems in folds are small: these are solved
    # quickly. Few rows span few directions, whatever their features.
    is_wide = rows.shape[1] > MAX_FEATURES
    if is_wide:
        size = MAX_FEATURES
    else:
        size = min(MAX_SAMPLE, int(MAX_ENTRIES * n / max(rows.stored, 1)))
    drawn = np.arange(n)
    if n > size:
        drawn = draw_rows(first, size)
        # Equal rows are drawn together, which may be too many.
        some = np.linspace(0, len(drawn) - 1, min(size, len(drawn)), dtype=int)
        drawn = drawn[some]

    def of_drawn(problem: Problem) -> Problem:
        if n > size:
            problem = problem.subset(drawn)
        return to_host(problem, math.inf)

    given = [of_drawn(problem) for problem in problems.given]
    moved = []
    for index in range(len(given)):
        # The rows relative to the centre of this class, copied for one class at a time
        problem = of_drawn(problems.centred(index).problem)
        if is_wide:
            problem = in_span_of_rows(Unchanged(problem)).problem
        moved.append(problem)
    # Too large for quick solutions
    if not is_small(moved[0]):
        return None
    return EvaluationRows.of(given, moved, counts[drawn], total)
