"""``--kernel auto``: a linear classifier, unless one with a kernel ranks rows that it has not seen clearly better.

Both are trained on the same folds of at most 2,000 rows, without those of the test, and the kernel must be ahead in ROC
AUC by two standard errors of the difference: a linear classifier has weights to look at and an exact worst case, and is
trained quickly on any number of rows.
"""

import warnings
from dataclasses import replace
from itertools import compress

import numpy as np

from drsvm import Problem
from drsvm.annotations import Matrix
from drsvm.cli.options import KernelChoice, Settings
from drsvm.cli.screen import Payload, Screen
from drsvm.cli.work import Parts, with_flip_costs
from drsvm.clock import TimeLimit
from drsvm.learn.choosing.out_of_fold import Folds, Table, decisions_of_fold, folds_by_content
from drsvm.learn.scores import auc_parts, errors_ahead

MAX_ROWS = 20_000  # for which a kernel is tried: training it takes long from there on
JUDGED_ROWS, MAX_FOLDS = 2000, 5  # so many rows are enough to tell; fewer of them are judged in more than two folds
CLEARLY = 2.0  # standard errors
PERFECT = 0.999  # a ROC AUC that leaves nothing to gain
TIMES_LONGER = 15  # a kernel takes about so many times the time of a linear classifier

KINDS = {"linear": "linear", "rbf": "kernel rbf"}


def choose(
    kernel: KernelChoice,
    for_weights: str | None,
    settings: Settings,
    parts: Parts,
    X: Matrix,
    time: TimeLimit,
    screen: Screen,
) -> Payload:
    """Return which kernel is taken for prepared rows and why, and the ROC AUC of both, if they were compared.

    `for_weights` is an option that asks for a linear classifier, if one was given.
    """
    obstacles = {
        f"with {for_weights}": for_weights is not None,
        "on rows that stay on disk": parts.ready is not None,
        f"on more than {MAX_ROWS:,} rows": len(parts.data.rows) > MAX_ROWS,
        "with more features than rows": X.shape[1] > X.shape[0],  # such as texts: a kernel hardly sees what is alike
    }
    for obstacle in compress(obstacles, obstacles.values()):
        return chosen("linear", f"no kernel is tried {obstacle}")
    drawn = _drawn_in_folds(X, parts.y)
    if drawn is None:
        return chosen("linear", "a class has too few different rows for a comparison with a kernel")
    table, codes, folds = drawn
    compared = {name: np.zeros(len(codes)) for name in KINDS}  # what each row adds to the mean ROC AUC of the folds
    limit, seconds = time.share(3), 0.0  # of the last fold: the first one may have to load what it needs
    with screen.whole("trying a kernel") as tell, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the classifier that is taken follow
        for name, found in compared.items():
            kind, given = replace(kernel, kernel=name).kind_and_settings(with_flip_costs(settings, parts.y))
            model = kind(**{**given, "threshold": "optimum", "max_time": limit})
            for number, (train, test) in enumerate(folds, start=1):
                decisions, seconds = decisions_of_fold(model, table, train, test)
                found[test] = auc_parts(decisions if decisions.shape[1] > 2 else decisions[:, 1], codes[test])
                tell(number / len(folds) * (0.1 if name == "linear" else 1.0))
                if limit.over:
                    break
            if limit.left() < (TIMES_LONGER * len(folds) * seconds if name == "linear" else 0.0):
                return chosen("linear", "there is no time to try a kernel; allow more with --max-time")
            found /= len(folds)
            if name == "linear" and found.sum() >= PERFECT:
                return chosen(name, f"its ROC AUC on unseen rows is {found.sum():.4f}; there is nothing to gain")
    return _judged(compared, codes)


def _judged(compared: dict[str, np.ndarray], codes: np.ndarray) -> Payload:
    areas = {name: float(found.sum()) for name, found in compared.items()}
    ones, chance = np.ones(len(codes)), np.full(len(codes), 0.5 / len(codes))  # linear ones may rank worse than that
    ahead = min(errors_ahead(compared["rbf"], rival, codes, ones) for rival in (compared["linear"], chance))
    figures = {"roc_auc": areas, "standard_errors_ahead": ahead, "judged_rows": len(codes)}
    own, other = f"{areas['rbf']:.3f}", f"{areas['linear']:.3f}"
    if ahead >= CLEARLY:
        return chosen("rbf", f"ROC AUC on unseen rows {own} against {other} of a linear classifier", **figures)
    what = "an RBF kernel does not rank unseen rows clearly better"
    return chosen("linear", f"{what} ({own} against {other})", **figures)


def chosen(kernel: str, reason: str, **figures: object) -> Payload:
    """Return a choice, and the line that says so."""
    return {"kernel": kernel, "words": f"{KINDS[kernel]}: {reason}", "roc_auc": None, **figures}


def _drawn_in_folds(X: Matrix, y: np.ndarray) -> tuple[Table, np.ndarray, Folds] | None:
    """Return some rows, the places of their classes, and folds with all classes on both sides; None without these.

    Rows are drawn by their contents, not by their places, and equal ones share a fold.
    """
    classes, codes = np.unique(y, return_inverse=True)
    problem = Problem(X, codes == 0)
    if len(y) > JUDGED_ROWS:
        rows = problem.drawn_rows(JUDGED_ROWS)
        X, y, codes, problem = X[rows], y[rows], codes[rows], problem.subset(rows)
    n_folds = min(max(JUDGED_ROWS // len(y) + 1, 2), MAX_FOLDS)
    fold = folds_by_content(problem, codes, np.ones(len(y)), n_folds)
    folds = [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(n_folds)]
    complete = all(len(np.unique(codes[side])) == len(classes) for sides in folds for side in sides)
    return (Table(X, y, None, classes), codes, folds) if complete else None
