"""The figures that the command line and the report show: how well decision values agree with labels, and what is noise.

What is proven is the objective, up to the gap g, or the tolerance if it is more. It
changes near its minimum like the square of a distance, so decision values are taken to
be known up to √g, where margins are of size 1.

Figures on rows that are new to a classifier, and its lead over another one on the same
rows, have 95 % intervals, for independent rows that all count the same and classifiers
that are fixed: what other training rows would change is not in them. Rates have
Wilson's interval, the mean of several rates combines theirs (MOVER), and pairs of rates
have that of Bonett and Price. The area under the ROC curve has DeLong's variance, and
for few rows what it lacks (`auc_interval`).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtri, stdtrit

from drsvm.defaults.outliers import ROUNDING
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.result import Result

MAX_CLASSES = 12  # a confusion matrix of more classes is not printed
SHORT_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
    "roc_auc": "ROC AUC",
}
LEVEL = 0.975  # of the quantiles for both ends: intervals of 95 %
Z = float(ndtri(LEVEL))
MIN_VARIANCE = float(np.square(ROUNDING))  # of a ROC AUC: less is a rounding error

Figures = dict[str, Any]  # what is shown, by name: numbers, None, or figures by class
Interval = tuple[float, float]
IF_NEW = ", if the rows are new to the model"  # what the intervals of a file assume


def predictions(decisions: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the labels for decision values: by their sign, or the class with the largest one."""
    return classes[_decided(decisions)]


def _decided(decisions: np.ndarray) -> np.ndarray:
    if decisions.ndim == 1:
        return (decisions > 0).astype(int)
    return decisions.argmax(axis=1)


def scores(
    decisions: np.ndarray, y: np.ndarray, classes: np.ndarray, *, new_rows: bool = False
) -> Figures:
    """Return accuracy, ROC AUC, recall and precision per class, confusion matrix.

    None for what does not exist.

    Figures of rows that are new to the classifier have intervals; others are
    optimistic, however many rows there are.
    """
    codes = _codes(y, classes)
    known = codes < len(classes)
    pairs = len(classes) * codes[known] + _decided(decisions)[known]
    counts = np.bincount(pairs, minlength=len(classes) ** 2).reshape(len(classes), -1)
    right = np.diag(counts).tolist()
    actual = counts.sum(axis=1).tolist()
    predicted = counts.sum(axis=0).tolist()
    recalls, precisions = (
        [
            float(part / whole) if whole else None
            for part, whole in zip(right, wholes, strict=True)
        ]
        for wholes in (actual, predicted)
    )
    names = classes.tolist()
    parts = auc_parts(decisions, codes)
    found: Figures = {
        "accuracy": sum(right) / len(y),
        "balanced_accuracy": float(
            np.mean([recall for recall in recalls if recall is not None])
        ),
        "roc_auc": None if parts is None else min(float(parts.sum()), 1.0),
        "rows": len(y),
        "always": {
            "label": names[int(np.argmax(actual))],
            "accuracy": max(actual) / len(y),
        },
    }
    if new_rows:
        judged = [
            (recall, rows)
            for recall, rows in zip(recalls, actual, strict=True)
            if recall is not None
        ]
        limits = [rate_interval(*recall_and_rows) for recall_and_rows in judged]
        found["intervals"] = {
            "accuracy": list(rate_interval(found["accuracy"], len(y))),
            "balanced_accuracy": list(
                mean_interval([recall for recall, _ in judged], limits)
            ),
            "roc_auc": None if parts is None else list(auc_interval(parts, codes)),
        }
    rows_of = [dict(zip(names, row, strict=True)) for row in counts.tolist()]
    found["recall"], found["precision"], found["confusion"] = (
        dict(zip(names, values, strict=True))
        for values in (recalls, precisions, rows_of)
    )
    return found


def _codes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the places of labels among the classes.

    Other labels are one more class.
    """
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[codes] == y, codes, len(classes))


def leads(
    decisions: np.ndarray, others: np.ndarray, y: np.ndarray, classes: np.ndarray
) -> Figures:
    """Return by how much the figures of a classifier exceed those of another on the same rows, with intervals."""
    codes = _codes(y, classes)
    right = _decided(decisions) == codes
    rival = _decided(others) == codes
    rows = (right & ~rival, rival & ~right, codes >= 0)
    counted = np.array(
        [np.bincount(codes[some], minlength=len(classes) + 1) for some in rows]
    )
    judged = counted[:, : len(classes)]
    first, second = (auc_parts(values, codes) for values in (decisions, others))
    found = {
        "accuracy": lead_in_rates(*counted.sum(axis=1, keepdims=True)),
        "balanced_accuracy": lead_in_rates(*judged[:, judged[2] > 0]),
        "roc_auc": None
        if first is None or second is None
        else lead_in_auc(first, second, codes),
    }
    return {
        name: lead and {"difference": lead[0], "interval": list(lead[1])}
        for name, lead in found.items()
    }


def summary(found: Figures) -> str:
    """Return the figures in one line, with the accuracy of a constant answer beside that of the classifier."""
    if found["roc_auc"] is None:
        auc = ""
    else:
        auc = f", ROC AUC {found['roc_auc']:.4f}"
    always = f"always {found['always']['label']}: {found['always']['accuracy']:.4f}"
    balanced = f"balanced {found['balanced_accuracy']:.4f}"
    return f"accuracy {found['accuracy']:.4f} ({always}), {balanced}{auc} ({found['rows']:,} rows)"


def interval_line(found: Figures, condition: str = "") -> str:
    """Return the intervals of these figures."""
    shown = {name: found["intervals"][key] for key, name in SHORT_NAMES.items()}
    limits = ", ".join(
        f"{name} {ends[0]:.4f} to {ends[1]:.4f}" for name, ends in shown.items() if ends
    )
    return f"95\u202f% intervals{condition}: {limits}"


def compared(figure: str, lead: Figures, rival: str) -> str:
    """Return a lead in words, a loss as plainly as a gain.

    There is none if the interval contains 0.
    """
    if figure == "roc_auc":
        scale = 1
        unit = ""
        digits = 3
    else:
        scale = 100
        unit = " points"
        digits = 1
    value, low, high = (
        scale * number for number in (lead["difference"], *lead["interval"])
    )
    near, far = sorted((abs(low), abs(high)))
    if low <= 0 <= high:
        digits = max(digits, math.ceil(-math.log10(far)))
        limits = f"{low:+.{digits}f} to {high:+.{digits}f}".replace("-", "−")
        return f"no clear difference from {rival} (95\u202f%: {limits}{unit})"
    digits = max(digits, math.ceil(-math.log10(near)))
    words = f"{abs(value):.{digits}f}{unit} {'higher' if value > 0 else 'lower'} than {rival}"
    return f"{words} (95\u202f%: {near:.{digits}f} to {far:.{digits}f})"


def by_class(found: Figures) -> list[str]:
    """Return a table with one line per class: recall, precision, and how many of its rows got which prediction."""
    confusion = found["confusion"]
    if len(confusion) > MAX_CLASSES:
        return []
    table = [
        [
            "label",
            "rows",
            "recall",
            "precision",
            *(f"predicted {name}" for name in confusion),
        ]
    ]
    for name, row in confusion.items():
        known = found["recall"][name], found["precision"][name]
        ratios = ["-" if value is None else f"{value:.4f}" for value in known]
        table.append(
            [
                str(name),
                f"{sum(row.values()):,}",
                *ratios,
                *(f"{count:,}" for count in row.values()),
            ]
        )
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        [line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]
        for line in table
    ]
    return ["  ".join(line) for line in lines]


# --- intervals
# ----------------------------------------------------------------------------------------------------


def rate_interval(share: float, n: float) -> Interval:
    """Return Wilson's interval for a share of n rows, which need not be a whole number (that of scipy.stats must)."""
    scale = 1 + Z**2 / n
    centre = (share + Z**2 / (2 * n)) / scale
    half = Z * math.sqrt(share * (1 - share) / n + (Z / (2 * n)) ** 2) / scale
    return max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share))


def lead_in_rates(
    gains: np.ndarray, losses: np.ndarray, counts: np.ndarray
) -> tuple[float, Interval]:
    """Return the mean over classes of a lead in the rate of correct rows, and its interval.

    For every class of `counts` rows, `gains` are those that only the first classifier
    gets right, `losses` those that only the second does. (The accuracy is the mean over
    one class, which has all rows.)
    """
    values = (gains - losses) / counts
    limits = [_paired(*one) for one in zip(gains, losses, counts, strict=True)]
    return float(np.mean(values)), mean_interval(values, limits)


def _paired(gains: int, losses: int, n: int) -> Interval:
    """Return the interval of Bonett and Price, who add one gain and one loss."""
    up = (gains + 1) / (n + 2)
    down = (losses + 1) / (n + 2)
    half = Z * math.sqrt((up + down - (up - down) ** 2) / (n + 2))
    return max(-1.0, up - down - half), min(1.0, up - down + half)


def mean_interval(
    values: Sequence[float] | np.ndarray, limits: list[Interval]
) -> Interval:
    """Return the interval for a mean of independent figures: the distances to their limits add up as squares."""
    down, up = (
        math.dist(ends, values) / len(values) for ends in zip(*limits, strict=True)
    )
    mean = float(np.mean(values))
    return mean - down, mean + up


def auc_parts(
    decisions: np.ndarray, codes: np.ndarray, counts: np.ndarray | None = None
) -> np.ndarray | None:
    """Return how much each row contributes to the ROC AUC, which is their sum.

    None if the AUC does not exist.

    A pair that is in order counts half for each of its rows, an equal one a quarter.
    The AUC of several classes is the mean of those of each one against the rest.
    Decisions are values for class 1, or a column for every class; codes are the classes
    of the rows. If rows stand for several ones, the AUC is the sum of these counts
    times contributions.
    """
    counts = np.ones(len(codes)) if counts is None else counts
    columns = np.atleast_2d(decisions.T)
    sides = [
        codes == code
        for code in range(2 - decisions.ndim, 2 - decisions.ndim + len(columns))
    ]
    if not all(0 < side.sum() < len(codes) for side in sides):
        return None
    parts = np.zeros(len(codes))
    for side, column in zip(sides, columns, strict=True):
        values, places = np.unique(column, return_inverse=True)
        for mine, is_higher in ((side, True), (~side, False)):
            others = np.bincount(places[~mine], counts[~mine], len(values))
            up_to = np.cumsum(others)
            below = (up_to - 0.5 * others) / up_to[-1]
            parts[mine] += (below if is_higher else 1.0 - below)[places[mine]] / counts[
                mine
            ].sum()
    return parts / (2 * len(columns))


def auc_interval(parts: np.ndarray, codes: np.ndarray) -> Interval:
    """Return the interval for a ROC AUC: Wilson's, for as many rows as give a rate DeLong's variance.

    This number is at least that of the rows of the smallest class, which is enough for
    every distribution, and at most that of all rows: where hardly any pair is out of
    order, DeLong's variance is close to 0 by chance.
    """
    strata = [parts[codes == code] for code in np.unique(codes)]
    value = min(float(parts.sum()), 1.0)
    smallest = min(map(len, strata))
    if smallest > 1:
        variance = 4 * sum(len(one) * float(one.var(ddof=1)) for one in strata)
    else:
        variance = math.inf
    if variance > MIN_VARIANCE:
        n = value * (1 - value) / variance
    else:
        n = 0.0
    return rate_interval(value, min(max(n, smallest), len(codes)))


def lead_in_auc(
    first: np.ndarray, second: np.ndarray, codes: np.ndarray
) -> tuple[float, Interval]:
    """Return the lead in ROC AUC of one classifier over another, and its interval by DeLong's covariances.

    A row per class on which they agree is added, and Student's quantile is that of
    Welch: few rows prove little.
    """
    strata = [
        np.append(2 * (first - second)[codes == code], 0.0) for code in np.unique(codes)
    ]
    degrees = np.array([len(one) - 1 for one in strata])
    variances = np.array([len(one) * one.var(ddof=1) for one in strata])
    lead = float(first.sum() - second.sum())
    variance = float(variances.sum())
    if variance < MIN_VARIANCE:
        # No pair tells them apart: like rates that agree on all rows of the smallest
        # class
        return lead, _paired(0, 0, int(degrees.min()))
    half = float(
        stdtrit(variance**2 / (variances**2 / degrees).sum(), LEVEL)
    ) * math.sqrt(variance)
    return lead, (max(-1.0, lead - half), min(1.0, lead + half))


def errors_ahead(
    first: np.ndarray, second: np.ndarray, codes: np.ndarray, counts: np.ndarray
) -> float:
    """Return the lead in ROC AUC of one classifier over another, in standard errors by DeLong's covariances.

    `first` and `second` are their `auc_parts`. A class of one row or less tells
    nothing.
    """
    variance = 0.0
    for code in np.unique(codes):
        lead = 2 * (first - second)[codes == code]
        count = counts[codes == code]
        total = float(count.sum())
        if total <= 1.0:
            return 0.0
        variance += (
            total * float(count @ (lead - count @ lead / total) ** 2) / (total - 1.0)
        )
    return float(counts @ (first - second)) / math.sqrt(max(variance, MIN_VARIANCE))


# --- what is noise
# -----------------------------------------------------------------------------------------------


def resolution(gap: float, tol: float) -> float:
    """Return up to which size decision values are known."""
    return math.sqrt(max(gap, tol))


def weights_that_count(result: Result, deviations: np.ndarray) -> np.ndarray:
    """Return a mask of all weights but the smallest ones, which together change decisions by less than is known."""
    moves = np.abs(result.weights) * deviations
    order = np.argsort(moves, kind="stable")
    counts = np.empty(len(moves), dtype=bool)
    counts[order] = np.cumsum(moves[order]) > resolution(result.gap, result.tol)
    return counts


def column_deviations(X) -> np.ndarray:
    """Return the standard deviations of the columns of dense or sparse rows."""
    if not sparse.issparse(X):
        return MemoryRows(X).moments(np.full(X.shape[0], 1.0 / X.shape[0]))[1]
    from sklearn.utils.sparsefuncs import mean_variance_axis

    return np.sqrt(mean_variance_axis(X.tocsr(), axis=0)[1])


def are_noise(decisions, certificates) -> list[bool]:
    """Return for each classifier whether its decision values are constant within the accuracy of its (gap, tol)."""
    spreads = np.reshape(decisions, (len(decisions), -1)).std(axis=0).tolist()
    return [
        spread <= resolution(*known)
        for spread, known in zip(spreads, certificates, strict=True)
    ]
