"""How wide the functions of a kernel are, if that is left to a rule.

Wide ones serve tables whose classes are nearly separated by a plane, which most are, and there they withstand wrong
labels best. Where classes meet in curves, they miss what narrower ones find. The rule therefore takes the widest,
unless rows that a classifier has not seen are ranked better with narrower ones, by more than chance explains.
"""

from collections.abc import Callable, Sequence

import numpy as np

from drsvm.clock import TimeLimit
from drsvm.learn.intervals import auc_parts, errors_ahead
from drsvm.learn.threshold import folds_by_content, out_of_fold
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.problem import Problem

FACTORS = (1.0, 10.0 / 3.0, 10.0)  # of the smallest γ
EVIDENCE = 1.5  # standard errors of the lead in ROC AUC; fixed on the data sets on which the study decides
MOST_JUDGED, RANKING_TOL = 1000, 1e-3  # rows, and how exact their decisions are
WITH_WIDTH = ("rbf", "laplacian")  # the kernels whose γ is one


def chosen_width(
    gammas: Sequence[float], problems_of: Callable[[float], list[Problem]], counts: np.ndarray, time: TimeLimit
) -> float:
    """Return the first γ, or one by which rows are ranked clearly better out of fold.

    `problems_of(γ)` returns the problems of all classes, with a radius and a ridge; `counts` says how many rows each
    row stands for. If there is no time to judge a γ, those before it are compared.
    """
    best, parts_of_best = gammas[0], None
    for gamma in gammas:
        problems = problems_of(gamma)
        signs = [problem.signs for problem in problems]
        labels = np.argmax(signs, axis=0) if len(signs) > 1 else (signs[0] > 0).astype(np.intp)
        folds = folds_by_content(problems[0], labels, counts)
        judged = [out_of_fold(problem, folds, None, time, RANKING_TOL) for problem in problems]
        seen = np.all([rows for _, rows in judged], axis=0)
        if time.over or not seen.all():
            break
        decisions = np.column_stack([values for values, _ in judged])
        parts = auc_parts(decisions if len(problems) > 1 else decisions[:, 0], labels, counts)
        if parts is None:
            break
        if parts_of_best is None or errors_ahead(parts, parts_of_best, labels, counts) > EVIDENCE:
            best, parts_of_best = gamma, parts
    return best


def some_rows(X, y, weights, most: int = MOST_JUDGED) -> np.ndarray:
    """Return which rows to judge: at most so many, chosen by their contents, of every class its share."""
    counted = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
    if len(counted) <= most:
        return counted
    order = counted[np.argsort(MemoryRows(X[counted]).content_keys(), kind="stable")]
    by_class = (order[y[order] == label] for label in np.unique(y))
    places = np.arange(0.0, len(counted), len(counted) / most).astype(int)
    return np.sort(np.concatenate([mine[places[places < len(mine)]] for mine in by_class]))
