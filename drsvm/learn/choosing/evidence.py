"""Which of several candidates is taken, if the first withstands wrong labels best and the others may fit better.

Rows that a classifier has not seen are ranked by each of them. The first is taken unless another ranks them better by
more than chance explains; with wrong labels, differences are smaller, and the first is taken more often.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from drsvm.clock import TimeLimit
from drsvm.learn.choosing.out_of_fold import N_FOLDS, Start, candidate_of, folds_by_content, labels_of, out_of_fold
from drsvm.learn.scores import auc_parts, errors_ahead
from drsvm.model.centring import Centred
from drsvm.model.problem import Problem
from drsvm.solvers.many import Solution

# Both were fixed on the data sets on which the study decides, and on simulated ones.
SHARES_OF_BALL = (1.0, 0.3, 0.1)
EVIDENCE_FOR_SHARE = 2.0  # standard errors of the lead in ROC AUC; with less, no smaller share is tried
MIN_JUDGED, MAX_JUDGED, FOLDS_OF_BALL = 1000, 2000, 3  # fewer prove little, more cost much


def best_if_significant(
    candidates: Sequence[float],
    problems_of: Callable[[float], list[Problem]],
    counts: np.ndarray,
    time: TimeLimit,
    evidence: float,
    known: Start = None,
    n_folds: int = N_FOLDS,
    go_on: float = 0.0,
) -> float:
    """Return the first candidate, or one by which rows are ranked clearly better out of fold.

    `problems_of(candidate)` returns the problems of all classes, with a radius and a ridge; `counts` says how many rows
    each row stands for, `evidence` by how many standard errors the ROC AUC must be ahead. The search ends with the
    first candidate that is ahead by less than `go_on` of them, or if there is no time. `known` is a classifier close
    to those of a single problem.
    """
    best, parts_of_best = candidates[0], None
    for candidate in candidates:
        problems = problems_of(candidate)
        labels, counted = labels_of(problems), counts if problems[0].kept is None else counts[problems[0].kept]
        folds = folds_by_content(problems[0], labels, counted, n_folds)
        decisions = np.column_stack([out_of_fold(problem, folds, known, time) for problem in problems])
        if time.over or np.isnan(decisions).any():
            break
        parts = auc_parts(decisions if len(problems) > 1 else decisions[:, 0], labels, counted)
        if parts is None:
            break
        lead = math.inf if parts_of_best is None else errors_ahead(parts, parts_of_best, labels, counted)
        if lead < go_on:  # the next ones are farther still from the first
            break
        if lead > evidence:
            best, parts_of_best = candidate, parts
    return best


def share_of_ball(
    centred: Centred, counts: np.ndarray | None, with_ridge: bool, time: TimeLimit, solution: Solution
) -> float:
    """Return which share of the problem's radius to take: all of it, unless rows are ranked clearly better with less.

    The ridge shrinks with the square of the share, or not at all. `counts` are those of the automatic radius, and the
    solution, if there is one, is close to that of the original problem. Rows of kernels are not judged, nor rows
    elsewhere that count differently.
    """
    problem = centred.problem
    n_rows = problem.n_rows if counts is None else float(counts.sum())
    if n_rows < MIN_JUDGED or problem.rows.is_kernel or not (counts is None or problem.rows.copyable):
        return 1.0
    many = problem.n_rows > MAX_JUDGED
    if counts is None:
        few = (problem.drawn(MAX_JUDGED) if many else problem).to_host(math.inf)
        counted = np.ones(few.n_given)
    else:
        rows = problem.drawn_rows(MAX_JUDGED) if many else np.arange(problem.n_rows)
        few, counted = problem.subset(rows), (counts if problem.kept is None else counts[problem.kept])[rows]

    def problems_of(share: float) -> list[Problem]:
        l2 = problem.l2 * share**2 if with_ridge else problem.l2
        return [few.replace(radius=problem.radius * share, l2=l2)]

    how = EVIDENCE_FOR_SHARE, candidate_of(centred.to_centred(solution)), FOLDS_OF_BALL, EVIDENCE_FOR_SHARE
    return best_if_significant(SHARES_OF_BALL, problems_of, counted, time, *how)
