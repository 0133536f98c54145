"""``--kernel auto``: a linear classifier, unless one with a kernel ranks rows that it has not seen clearly better.

Both are trained on the same folds of at most 2,000 rows, without those of the test, and
the kernel must be ahead in ROC AUC by about two standard errors of the difference: a
linear classifier has weights to look at and an exact worst case, and is trained quickly
on any number of rows.
"""

import warnings
from dataclasses import replace
from itertools import compress

import numpy as np

from drsvm import Problem
from drsvm.cli.options import KernelChoice, Settings
from drsvm.cli.screen import Payload, Screen
from drsvm.cli.tasks import Parts
from drsvm.defaults.out_of_fold import Folds, Table, decisions_of_fold, folds_by_content
from drsvm.estimators.scores import auc_parts, lead_in_auc
from drsvm.problem.sampling import draw_rows
from drsvm.utils.annotations import Matrix
from drsvm.utils.clock import TimeLimit
from drsvm.utils.progress import ReportProgress

MAX_ROWS = 20_000  # for which a kernel is tried: training it takes long from there on
# so many rows are enough to tell; fewer of them are judged in more than two folds
JUDGED_ROWS = 2000
MAX_FOLDS = 5
PERFECT = 0.999  # a ROC AUC that leaves nothing to gain


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
        "with more features than rows": X.shape[1]
        > X.shape[0],  # such as texts: a kernel hardly sees what is alike
    }
    for obstacle in compress(obstacles, obstacles.values()):
        return chosen("linear", f"no kernel is tried {obstacle}")
    drawn = _drawn_in_folds(X, parts.y)
    limit = time.share(3)
    if drawn is None:
        return chosen(
            "linear",
            "a class has too few different rows for a comparison with a kernel",
        )
    given = {**settings, "threshold": "optimum", "max_time": limit}
    # Warnings of the classifier that is taken follow.
    with (
        screen.whole("trying a kernel") as report_progress,
        warnings.catch_warnings(action="ignore"),
    ):
        linear = _ranked(
            replace(kernel, kernel="linear"),
            given,
            drawn,
            lambda share: report_progress(0.1 * share),
        )
        if linear.sum() >= PERFECT:
            return chosen(
                "linear",
                f"its ROC AUC on unseen rows is {linear.sum():.4f}; there is nothing to gain",
            )
        rbf = _ranked(
            replace(kernel, kernel="rbf"),
            given,
            drawn,
            lambda share: report_progress(0.1 + 0.9 * share),
        )
        if not limit.over:
            return _judged(linear, rbf, drawn[1])
    return chosen(
        "linear", "there is no time to try a kernel; allow more with --max-time"
    )


def _ranked(
    kernel: KernelChoice,
    settings: Settings,
    drawn: tuple[Table, np.ndarray, Folds],
    report_progress: ReportProgress,
) -> np.ndarray:
    """Return what each row adds to the mean ROC AUC of the folds."""
    kind, given = kernel.kind_and_settings(settings)
    table, codes, folds = drawn
    found = np.zeros(len(codes))
    for number, (train, test) in enumerate(folds, start=1):
        decisions, _ = decisions_of_fold(kind(**given), table, train, test)
        found[test] = auc_parts(
            decisions if decisions.shape[1] > 2 else decisions[:, 1], codes[test]
        )
        report_progress(number / len(folds))
        if settings["max_time"].over:
            break
    return found / len(folds)


def _judged(linear: np.ndarray, rbf: np.ndarray, codes: np.ndarray) -> Payload:
    """Return the kernel if the intervals of its lead over a linear classifier, and over chance, are above 0."""
    # A linear classifier may rank worse than that
    chance = np.full(len(codes), 0.5 / len(codes))
    (lead, interval), (_, over_chance) = (
        lead_in_auc(rbf, rival, codes) for rival in (linear, chance)
    )
    areas = {"linear": float(linear.sum()), "rbf": float(rbf.sum())}
    figures = {
        "roc_auc": areas,
        "lead": {"difference": lead, "interval": list(interval)},
        "judged_rows": len(codes),
    }
    own = f"{areas['rbf']:.3f}"
    other = f"{areas['linear']:.3f}"
    if min(interval[0], over_chance[0]) > 0.0:
        return chosen(
            "rbf",
            f"ROC AUC on unseen rows {own} against {other} of a linear classifier",
            **figures,
        )
    what = "an RBF kernel does not rank unseen rows clearly better"
    return chosen("linear", f"{what} ({own} against {other})", **figures)


def chosen(kernel: str, reason: str, **figures: object) -> Payload:
    """Return a choice, and the line that says so."""
    name = "linear" if kernel == "linear" else f"kernel {kernel}"
    return {"kernel": kernel, "words": f"{name}: {reason}", "roc_auc": None, **figures}


def _drawn_in_folds(X: Matrix, y: np.ndarray) -> tuple[Table, np.ndarray, Folds] | None:
    """Return rows, drawn by their contents, with the places of their classes, and folds; None if a class is rare."""
    classes, codes = np.unique(y, return_inverse=True)
    problem = Problem(X, codes == 0)
    if len(y) > JUDGED_ROWS:
        rows = draw_rows(problem, JUDGED_ROWS)
        X = X[rows]
        y = y[rows]
        codes = codes[rows]
        problem = problem.subset(rows)
    n_folds = min(max(JUDGED_ROWS // len(y) + 1, 2), MAX_FOLDS)
    # Equal rows share one
    fold = folds_by_content(problem, codes, np.ones(len(y)), n_folds)
    folds = [
        (np.flatnonzero(fold != number), np.flatnonzero(fold == number))
        for number in range(n_folds)
    ]
    complete = all(
        len(np.unique(codes[side])) == len(classes) for sides in folds for side in sides
    )
    if complete:
        return (Table(X, y, None, classes), codes, folds)
    return None
