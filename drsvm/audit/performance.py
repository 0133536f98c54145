"""The figures that the command line and the report show, as numbers and in words.

They say how well decision values agree with labels. On rows that are new to a
classifier they have the `intervals`.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from drsvm.audit.intervals import (
    Lead,
    auc_interval,
    lead_in_auc,
    lead_in_rates,
    mean_interval,
    rate_interval,
)
from drsvm.defaults.one_vs_rest import codes_of_predictions
from drsvm.defaults.roc_auc import auc_parts
from drsvm.utils.messages import counted, right_aligned

# A confusion matrix of more classes is not printed: it is wider than a terminal.
MAX_CLASSES = 12
# Of the figures that have intervals
SHORT_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
    "roc_auc": "ROC AUC",
}
# What the intervals of a file assume
IF_NEW = ", if the rows are new to the model"

# What is shown, by name: numbers, None, or figures by class
Figures: TypeAlias = dict[str, Any]


def scores(
    decisions: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray,
    *,
    new_rows: bool = False,
    costs: Mapping[Any, float] | None = None,
) -> Figures:
    """Return accuracy, ROC AUC, recall and precision per class, confusion matrix.

    Parameters
    ----------
    decisions : array of shape (n,) or (n, n_classes)
        Decision values.
    y : array of shape (n,)
        Labels. Some may not be among the classes.
    classes : array of shape (n_classes,)
        The classes of the classifier.
    new_rows : bool, default=False
        Whether the rows are new to the classifier, so that figures have intervals.
        Others are optimistic, however many rows there are.
    costs : mapping, optional
        What it costs to miss a row of each class. The figures then have the mean cost
        of a row, and that of the cheapest constant answer; on new rows with the
        interval of how much more that one costs.

    Returns
    -------
    dict
        The figures; None for what does not exist.
    """
    codes = _codes(y, classes)
    counts = _confusion(codes, codes_of_predictions(decisions), len(classes))
    right = np.diag(counts)
    actual = counts.sum(axis=1)
    recalls = _ratios(right, actual)
    precisions = _ratios(right, counts.sum(axis=0))
    # The recalls of the classes that have rows
    known_recalls = [recall for recall in recalls if recall is not None]
    largest = int(np.argmax(actual))
    accuracy = int(right.sum()) / len(y)
    parts = auc_parts(decisions, codes)
    names = classes.tolist()
    found: Figures = {
        "accuracy": accuracy,
        "balanced_accuracy": float(np.mean(known_recalls)),
        "roc_auc": None,
        "rows": len(y),
        "always": {
            "label": names[largest],
            "accuracy": int(actual[largest]) / len(y),
        },
    }
    if parts is not None:
        found["roc_auc"] = min(float(parts.sum()), 1.0)
    if new_rows:
        limits = list(map(rate_interval, known_recalls, actual[actual > 0].tolist()))
        found["intervals"] = {
            "accuracy": list(rate_interval(accuracy, len(y))),
            "balanced_accuracy": list(mean_interval(known_recalls, limits)),
            "roc_auc": None if parts is None else list(auc_interval(parts, codes)),
        }
    if costs is not None:
        by_class = np.array([costs[name] for name in names], dtype=float)
        missed = (actual - right) / len(y)
        found["cost"] = float(by_class @ missed)
        # Without a classifier it is cheapest to give one answer always: the label whose
        # rows are dearest to miss.
        dearest = int(np.argmax(by_class * actual))
        others = np.delete(by_class * actual, dearest)
        found["constant"] = {
            "label": names[dearest],
            "cost": float(others.sum()) / len(y),
        }
        if new_rows:
            # The sum is a mean of terms that are larger by their number.
            scale = len(names) * by_class
            ends = [rate_interval(rate, len(y)) for rate in missed.tolist()]
            limits = scale[:, None] * np.array(ends)
            found["intervals"]["cost"] = list(mean_interval(scale * missed, limits))
            # Rows that one of both gets right, and the other does not
            is_dearest = np.arange(len(names)) == dearest
            gains = np.where(is_dearest, 0, right)
            losses = np.where(is_dearest, actual - right, 0)
            all_rows = np.full(len(names), len(y))
            _, more = lead_in_rates(gains, losses, all_rows, weights=scale)
            found["constant"]["costs_more"] = list(more)
    found["recall"] = dict(zip(names, recalls, strict=True))
    found["precision"] = dict(zip(names, precisions, strict=True))
    found["confusion"] = {}
    for name, row in zip(names, counts.tolist(), strict=True):
        found["confusion"][name] = dict(zip(names, row, strict=True))
    return found


def _codes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the places of labels among the classes.

    Other labels are one more class.
    """
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[codes] == y, codes, len(classes))


def _confusion(codes: np.ndarray, predicted: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the number of rows by label and by prediction.

    scikit-learn's function refuses rows that all have unknown labels.
    """
    known = codes < n_classes
    pairs = n_classes * codes[known] + predicted[known]
    counts = np.bincount(pairs, minlength=n_classes**2)
    return counts.reshape(n_classes, n_classes)


def _ratios(parts: np.ndarray, wholes: np.ndarray) -> list[float | None]:
    """Return shares, or None where there is nothing to have a share of."""
    ratios = []
    for part, whole in zip(parts.tolist(), wholes.tolist(), strict=True):
        if whole == 0:
            ratios.append(None)
        else:
            ratios.append(part / whole)
    return ratios


def leads(
    decisions: np.ndarray,
    others: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray,
    costs: Mapping[Any, float] | None = None,
) -> Figures:
    """Return by how much the figures of a classifier exceed those of another.

    In costs, it is by how much its mean cost of a row is lower.

    Parameters
    ----------
    decisions, others : arrays of shape (n,) or (n, n_classes)
        The decision values of both on the same rows.
    y, classes, costs
        Labels, classes and costs, as for `scores`.

    Returns
    -------
    dict
        Differences and their intervals; None for what does not exist.
    """
    codes = _codes(y, classes)
    right = codes_of_predictions(decisions) == codes
    rival = codes_of_predictions(others) == codes
    # By class; the last one has the labels that are not among the classes.
    n = len(classes) + 1
    gains = np.bincount(codes[right & ~rival], minlength=n)
    losses = np.bincount(codes[rival & ~right], minlength=n)
    counts = np.bincount(codes, minlength=n)
    # The classes that have rows
    own = np.flatnonzero(counts[: len(classes)])
    found: dict[str, Lead | None] = {
        # All rows are one class.
        "accuracy": lead_in_rates(
            gains.sum(keepdims=True),
            losses.sum(keepdims=True),
            counts.sum(keepdims=True),
        ),
        "balanced_accuracy": lead_in_rates(gains[own], losses[own], counts[own]),
        "roc_auc": None,
    }
    first = auc_parts(decisions, codes)
    second = auc_parts(others, codes)
    if first is not None and second is not None:
        found["roc_auc"] = lead_in_auc(first, second, codes)
    if costs is not None:
        by_class = np.array([costs[name] for name in classes.tolist()], dtype=float)
        k = len(classes)
        found["cost"] = lead_in_rates(
            gains[:k], losses[:k], np.full(k, len(y)), weights=k * by_class
        )
    shown: Figures = {}
    for name, lead in found.items():
        shown[name] = None
        if lead is not None:
            difference, interval = lead
            shown[name] = {"difference": difference, "interval": list(interval)}
    return shown


def summary(found: Figures) -> str:
    """Return the figures in one line, with the accuracy of a constant answer."""
    always = found["always"]
    auc = ""
    if found["roc_auc"] is not None:
        auc = f", ROC AUC {found['roc_auc']:.4f}"
    return (
        f"accuracy {found['accuracy']:.4f} (always {always['label']}: "
        f"{always['accuracy']:.4f}), balanced {found['balanced_accuracy']:.4f}{auc} "
        f"({counted(found['rows'], 'row')})"
    )


def interval_line(found: Figures, condition: str = "") -> str:
    """Return the intervals of these figures."""
    limits = []
    for key, name in SHORT_NAMES.items():
        ends = found["intervals"][key]
        if ends:
            limits.append(f"{name} {ends[0]:.4f} to {ends[1]:.4f}")
    return f"95\u202f% intervals{condition}: {', '.join(limits)}"


def compared(figure: str, lead: Figures, rival: str) -> str:
    """Return a lead in words, a loss as plainly as a gain.

    There is no clear one if the interval contains 0.

    Parameters
    ----------
    figure : str
        "accuracy", "balanced_accuracy" or "roc_auc".
    lead : dict
        The lead in this figure, from `leads`.
    rival : str
        What to call the other classifier.

    Returns
    -------
    str
        The lead and its interval.
    """
    # Rates are in percent, so that differences are in points.
    scale = 100
    unit = " points"
    digits = 1
    if figure == "roc_auc":
        scale = 1
        unit = ""
        digits = 3
    value = scale * lead["difference"]
    low = scale * lead["interval"][0]
    high = scale * lead["interval"][1]
    near, far = sorted((abs(low), abs(high)))
    # As many digits as the ends need to differ from 0
    if low <= 0 <= high:
        digits = max(digits, math.ceil(-math.log10(far)))
        limits = f"{low:+.{digits}f} to {high:+.{digits}f}".replace("-", "−")
        return f"no clear difference from {rival} (95\u202f%: {limits}{unit})"
    digits = max(digits, math.ceil(-math.log10(near)))
    way = "higher" if value > 0 else "lower"
    return (
        f"{abs(value):.{digits}f}{unit} {way} than {rival} "
        f"(95\u202f%: {near:.{digits}f} to {far:.{digits}f})"
    )


def by_class(found: Figures) -> list[str]:
    """Return a table of recall, precision and predictions, one line per class."""
    confusion = found["confusion"]
    if len(confusion) > MAX_CLASSES:
        return []
    predicted = [f"predicted {name}" for name in confusion]
    table = [["label", "rows", "recall", "precision", *predicted]]
    for name, row in confusion.items():
        cells = [str(name), f"{sum(row.values()):,}"]
        for ratio in (found["recall"][name], found["precision"][name]):
            cells.append("-" if ratio is None else f"{ratio:.4f}")
        for count in row.values():
            cells.append(f"{count:,}")
        table.append(cells)
    # Names of classes are aligned on the left, unlike numbers.
    width = max(len(line[0]) for line in table)
    for line in table:
        line[0] = line[0].ljust(width)
    return right_aligned(table)
