"""Which of several candidates is taken, if the first withstands wrong labels best and the others may fit better.

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

from drsvm.defaults.binary_problems import BinaryProblems, Regularisation
from drsvm.defaults.out_of_fold import InFolds, folds_by_content, labels_of
from drsvm.defaults.radius_rule import MAX_ROWS, MIN_ROWS
from drsvm.estimators.scores import auc_parts, errors_ahead
from drsvm.problem.problem import Problem
from drsvm.problem.sampling import draw_rows, to_host
from drsvm.solvers.interior_point.small import MAX_ENTRIES, MAX_FEATURES, is_small
from drsvm.solvers.reformulation.reformulation import Unchanged
from drsvm.solvers.reformulation.span_of_rows import in_span_of_rows
from drsvm.utils.clock import TimeLimit

# Standard errors of the lead in ROC AUC; with less than half of them, no further
# candidates are tried
EVIDENCE = 2.0
# Of the radius, the first of which decides on the others; the ridge has their squares
SHARES = (
    0.1,
    0.3,
    0.03,
)
FOLDS = 3  # with five, first candidates are left more often, and accuracy is the same
# Of decisions, in units of their deviations: further ones depend on the order of sums
DIGITS = 6

T = TypeVar("T")


class EvaluationRows(NamedTuple):
    """Rows that candidates rank: their problems, the folds in which they are left out, and what they count."""

    problems: list[Problem]
    folds: np.ndarray
    labels: np.ndarray
    counts: np.ndarray
    total: float  # the number of rows that they are drawn from

    @classmethod
    def of(
        cls,
        original: list[Problem],
        moved: list[Problem],
        counts: np.ndarray,
        total: float,
    ) -> "EvaluationRows":
        """Form folds by the contents of the rows as they were given, which may be in other coordinates by now."""
        labels = labels_of(original)
        return cls(
            moved,
            folds_by_content(original[0], labels, counts, FOLDS),
            labels,
            counts,
            total,
        )


def best_if_significant(
    stages: Sequence[Sequence[T]],
    decisions: Callable[[T], np.ndarray | None],
    judged: EvaluationRows,
) -> T:
    """Return the only candidate of the first stage, or the best of those by which rows are ranked clearly better.

    `decisions(candidate)` are those of classifiers that have not seen the rows, a
    column for every problem; None: there was no time. A stage is tried only if a
    candidate of the one before is ahead by half of the EVIDENCE.
    """
    first = best = stages[0][0]
    held = _parts(decisions(first), judged)
    highest = -math.inf
    go_on = True
    for stage in stages[1:]:
        if held is None or not go_on:
            break
        go_on = False
        for candidate in stage:
            parts = _parts(decisions(candidate), judged)
            if parts is None:
                return best
            lead = errors_ahead(parts, held, judged.labels, judged.counts)
            go_on |= lead > EVIDENCE / 2
            if lead > EVIDENCE and judged.counts @ parts > highest:
                best = candidate
                highest = float(judged.counts @ parts)
    return best


def _parts(decisions: np.ndarray | None, judged: EvaluationRows) -> np.ndarray | None:
    """Return the contributions of the rows to the ROC AUC.

    None if some are not judged.
    """
    if decisions is None or np.isnan(decisions).any():
        return None
    deviations = decisions.std(axis=0)
    rounded = np.round(decisions / np.where(deviations > 0.0, deviations, 1.0), DIGITS)
    return auc_parts(
        rounded if rounded.shape[1] > 1 else rounded[:, 0], judged.labels, judged.counts
    )


def in_folds(
    judged: EvaluationRows, time: TimeLimit
) -> Callable[[float, float], np.ndarray | None]:
    """Return a function of radius and ridge: the decisions about all rows by classifiers of other folds."""
    parts = [InFolds(problem, judged.folds, None, time) for problem in judged.problems]

    def decisions(radius: float, l2: float) -> np.ndarray | None:
        if time.over:
            return None
        return np.column_stack([part.decisions(radius, l2, time) for part in parts])

    return decisions


def ball_by_evidence(
    ball: Regularisation,
    judged: EvaluationRows,
    shrinks: tuple[bool, bool],
    time: TimeLimit,
) -> Regularisation:
    """Return the ball of the rules, or a share of it by which rows are ranked clearly better.

    `shrinks` is whether the radius does, and the ridge. For the rows that are judged,
    if they are not all of them, the ball of the rules is as much larger as chance
    effects are.
    """
    more = math.sqrt(judged.total / float(judged.counts.sum()))
    here = ball.times(*shares_of_ball(more, shrinks))
    decisions = in_folds(judged, time)
    stages = [
        [shares_of_ball(share, shrinks) for share in stage]
        for stage in ([1.0], SHARES[:1], SHARES[1:])
    ]
    best = best_if_significant(
        stages, lambda shares: decisions(*here.times(*shares)[:2]), judged
    )
    return ball.times(*best)


def shares_of_ball(share: float, shrinks: tuple[bool, bool]) -> tuple[float, float]:
    """Return by what radius and ridge are multiplied, if they are automatic: the ridge by the square of the share."""
    return share if shrinks[0] else 1.0, share**2 if shrinks[1] else 1.0


def rows_to_judge(
    posed: BinaryProblems, counts: np.ndarray | None
) -> EvaluationRows | None:
    """Return rows, drawn by their contents if there are many, in memory.

    None if there are too few, or too large ones.

    `counts` are the numbers of rows that each of them stands for.
    """
    first = posed.problems[0]
    n = posed.problems[0].n_rows
    total = n if counts is None else float(counts.sum())
    if total < MIN_ROWS:
        return None
    if counts is None:
        counted = np.ones(n)
    elif first.kept is None:
        counted = counts
    else:
        counted = counts[first.kept]
    if posed.moved is None:
        rows = first.rows
    else:
        rows = posed.moved[0].problem.rows
    wide = rows.shape[1] > MAX_FEATURES
    if wide:
        size = MAX_FEATURES
    else:
        size = min(MAX_ROWS, int(MAX_ENTRIES * n / max(rows.stored, 1)))
    drawn = np.arange(n)
    if n > size:
        drawn = draw_rows(first, size)
        # Equal rows are drawn together
        drawn = drawn[np.linspace(0, len(drawn) - 1, min(size, len(drawn)), dtype=int)]

    def judged(problem: Problem) -> Problem:
        if n > size:
            problem = problem.subset(drawn)
        return to_host(problem, math.inf)

    original = [judged(problem) for problem in posed.problems]
    # A copy for each class, in turn
    moved = [judged(posed.centred(index).problem) for index in range(len(original))]
    if wide:  # few rows span few directions
        moved = [in_span_of_rows(Unchanged(problem)).problem for problem in moved]
    if is_small(moved[0]):
        return EvaluationRows.of(original, moved, counted[drawn], total)
    return None
