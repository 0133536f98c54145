"""``--kernel auto``: a linear classifier, unless a kernel ranks unseen rows better.

Both are trained on the same folds of at most 2,000 rows, without those of the test, and
the kernel must be ahead in ROC AUC by about two standard errors of the difference: a
linear classifier has weights to look at and an exact worst case, and is trained quickly
on any number of rows.

Where the rows are in the order of time, folds go forward: classifiers of the past rank
the next block of rows. Far from the training rows a kernel decides nothing, so none is
taken if later rows are outside of the range of earlier ones.
"""

import warnings
from dataclasses import replace

import numpy as np
from sklearn.model_selection import PredefinedSplit, TimeSeriesSplit

from drsvm import Problem
from drsvm.audit.intervals import lead_in_auc
from drsvm.cli.screen import Payload, Screen
from drsvm.cli.settings import KernelChoice, Settings
from drsvm.cli.time_order import columns_of, columns_outside
from drsvm.cli.training_rows import Prepared, TrainTestRows
from drsvm.defaults.folds import Folds, folds_by_content
from drsvm.defaults.group_landmarks import LEAST
from drsvm.defaults.roc_auc import auc_parts
from drsvm.estimators.fold_decisions import Table, decisions_of_fold
from drsvm.problem.sampling import content_groups, draw_rows
from drsvm.utils.annotations import Matrix
from drsvm.utils.clock import TimeLimit
from drsvm.utils.progress import ReportProgress

# The number of rows for which a kernel is tried. From there on, training it takes
# minutes, and its features, one for each landmark, half a gigabyte.
MAX_ROWS = 200_000
# This many rows are enough for the comparison. If there are fewer, they are compared in
# more than two folds.
COMPARED_ROWS = 2000
MAX_FOLDS = 5
# Blocks of rows in the order of time, each of which is judged after those before it
FORWARD_FOLDS = 3
# A ROC AUC that leaves nothing to gain
PERFECT = 0.999


def choose_kernel(
    kernel: KernelChoice,
    settings: Settings,
    parts: TrainTestRows,
    prepared: Prepared,
    order: np.ndarray | None,
    time: TimeLimit,
    screen: Screen,
) -> Payload:
    """Return which kernel is taken for prepared rows, why, and the ROC AUC of both.

    `order` are the training rows in the order of time, None if it is not known.
    """
    X = prepared.X
    obstacle = _obstacle(kernel, parts, X)
    if obstacle is not None:
        return _chosen("linear", f"no kernel is tried {obstacle}")
    # The same folds for both: their figures are compared row by row.
    drawn = _rows_in_folds(X, parts.y, order)
    if drawn is None:
        reason = "a class has too few different rows for a comparison with a kernel"
        return _chosen("linear", reason)
    columns = columns_of(parts, prepared)
    outside = ""
    which = "test rows are outside of the range of the training rows"
    if prepared.X_test is not None:
        outside = columns_outside(X, prepared.X_test, columns)
    if order is not None and not outside:
        which = "later rows are outside of the range of earlier ones"
        table, _, folds = drawn
        past, future = folds[-1]
        outside = columns_outside(table.X[past], table.X[future], columns)
    if outside:
        reason = (
            f"{which} in {outside}, and a kernel does not extrapolate: one is tried "
            "without such columns (--drop)"
        )
        return _chosen("linear", reason)

    # A third of the time is for the trial, the rest for the fits that follow.
    limit = time.share(3)
    # All fits share the limit. Ranks do not depend on the threshold: it need not be
    # placed.
    given = {**settings, "threshold": "optimum", "max_time": limit}
    trial = screen.whole("trying a kernel")
    # Warnings are left to the classifier that is taken, which is fitted afterwards. The
    # fits of the linear classifier count as a tenth of the trial.
    with trial as report_progress, warnings.catch_warnings(action="ignore"):
        linear = _ranked(
            replace(kernel, kernel="linear"),
            given,
            drawn,
            lambda share: report_progress(0.1 * share),
        )
        if linear.sum() >= PERFECT:
            return _chosen(
                "linear",
                f"its ROC AUC on unseen rows is {linear.sum():.4f}; there is nothing "
                "to gain",
            )
        rbf = _ranked(
            replace(kernel, kernel="rbf"),
            given,
            drawn,
            lambda share: report_progress(0.1 + 0.9 * share),
        )
    if limit.over:
        reason = "there is no time to try a kernel; allow more with --max-time"
        return _chosen("linear", reason)
    _, codes, folds = drawn
    judged = np.concatenate([test for _, test in folds])
    given = (linear[judged], rbf[judged], codes[judged])
    if order is None:
        return _compared(*given)
    # Rows of one time are alike: intervals are too narrow. What is to last must be
    # better each time.
    behind = [rbf[test].sum() < linear[test].sum() for _, test in folds]
    return _compared(*given, "later rows", lasts=not any(behind))


def _obstacle(kernel: KernelChoice, parts: TrainTestRows, X: Matrix) -> str | None:
    """Return why no kernel is tried, if that is so."""
    if kernel.linear_option is not None:
        return f"with {kernel.linear_option}"
    if parts.on_disk:
        return "on rows that stay on disk"
    if len(parts.data.rows) > MAX_ROWS:
        return f"on more than {MAX_ROWS:,} rows"
    if X.shape[1] > X.shape[0]:
        # Such as texts: a kernel hardly sees which rows are alike.
        return "with more features than rows"
    return None


def _rows_in_folds(
    X: Matrix, y: np.ndarray, order: np.ndarray | None
) -> tuple[Table, np.ndarray, Folds] | None:
    """Return rows drawn by their contents, the places of their classes, and folds.

    With an order, rows are in this order, and folds go forward. None if a class is
    rare.
    """
    classes, codes = np.unique(y, return_inverse=True)
    # Only its rows matter: they are drawn and grouped by their contents, so that their
    # order in the file does not change the choice.
    problem = Problem(X, codes == 0)
    if order is not None:
        evenly = np.linspace(0, len(y) - 1, min(len(y), COMPARED_ROWS))
        rows = order[evenly.astype(int)]
    elif len(y) > COMPARED_ROWS:
        rows = draw_rows(problem, COMPARED_ROWS)
    else:
        rows = np.arange(len(y))
    X = X[rows]
    y = y[rows]
    codes = codes[rows]
    problem = problem.subset(rows)
    if order is None:
        n_folds = min(max(COMPARED_ROWS // len(y) + 1, 2), MAX_FOLDS)
        # Equal rows share a fold.
        fold = folds_by_content(problem, codes, np.ones(len(y)), n_folds)
        splitter = PredefinedSplit(fold)
    elif len(y) > FORWARD_FOLDS:
        splitter = TimeSeriesSplit(FORWARD_FOLDS)
    else:
        return None
    folds = list(splitter.split(codes))
    contents = content_groups(problem)
    for sides in folds:
        # Training and test rows, each of which must have all classes
        for side in sides:
            if len(np.unique(codes[side])) < len(classes):
                return None
            # Landmarks are means of groups of different rows.
            if len(np.unique(contents[side])) < LEAST:
                return None
    return Table(X, y, None, classes), codes, folds


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
        if decisions.shape[1] == 2:
            # Two classes have one decision, for the second of them.
            decisions = decisions[:, 1]
        found[test] = auc_parts(decisions, codes[test])
        report_progress(number / len(folds))
        if settings["max_time"].over:
            break
    return found / len(folds)


def _compared(
    linear: np.ndarray,
    rbf: np.ndarray,
    codes: np.ndarray,
    rows: str = "unseen rows",
    *,
    lasts: bool = True,
) -> Payload:
    """Return the kernel if it is certainly ahead of a linear classifier and chance.

    `lasts` says whether it is ahead in every fold, where that matters.
    """
    lead, interval = lead_in_auc(rbf, linear, codes)
    # A linear classifier may rank worse than by chance.
    chance = np.full(len(codes), 0.5 / len(codes))
    _, over_chance = lead_in_auc(rbf, chance, codes)
    areas = {"linear": float(linear.sum()), "rbf": float(rbf.sum())}
    figures = {
        "roc_auc": areas,
        "lead": {"difference": lead, "interval": list(interval)},
        "judged_rows": len(codes),
        "judged_on": rows,
    }
    own = f"{areas['rbf']:.3f}"
    other = f"{areas['linear']:.3f}"
    if lasts and min(interval[0], over_chance[0]) > 0.0:
        reason = f"ROC AUC on {rows} {own} against {other} of a linear classifier"
        return _chosen("rbf", reason, **figures)
    what = f"an RBF kernel does not rank {rows} clearly better"
    return _chosen("linear", f"{what} ({own} against {other})", **figures)


def _chosen(kernel: str, reason: str, **figures: object) -> Payload:
    """Return a choice, and the line that says so."""
    name = "linear" if kernel == "linear" else f"kernel {kernel}"
    return {"kernel": kernel, "words": f"{name}: {reason}", "roc_auc": None, **figures}
