"""The figures that the command line and the report show: how well decision values agree with labels, and what is noise.

What is proven is the objective, up to the gap g. It hardly changes near its minimum, so decision values may be farther
from the optimal ones than g. Here they are taken to be known up to 100 g (or 100 tolerances, if these are more), where
margins are of size 1: what is smaller is not distinguished from 0.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.learn import intervals
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.result import Result

GAPS, COARSEST = 100.0, 0.1  # decision values are known up to so many gaps, or of a run cut short to 0.1
MAX_CLASSES = 12  # a confusion matrix of more classes is not printed

Figures = dict[str, Any]
"""What is shown, by name: numbers, None, or figures by class."""

SHORT_NAMES = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "roc_auc": "ROC AUC"}
IF_NEW = ", if the rows are new to the model"  # what the intervals of a file assume


def predictions(decisions: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the labels for decision values: by their sign, or the class with the largest one."""
    return classes[_decided(decisions)]


def _decided(decisions: np.ndarray) -> np.ndarray:
    return (decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)


def scores(decisions: np.ndarray, y: np.ndarray, classes: np.ndarray, *, new_rows: bool = False) -> Figures:
    """Return accuracy, ROC AUC, recall and precision per class, confusion matrix; None for what does not exist.

    Figures of rows that are new to the classifier have intervals; others are optimistic, however many rows there are.
    """
    codes = _codes(y, classes)
    known = codes < len(classes)
    pairs = len(classes) * codes[known] + _decided(decisions)[known]
    counts = np.bincount(pairs, minlength=len(classes) ** 2).reshape(len(classes), -1)
    right, actual, predicted = np.diag(counts).tolist(), counts.sum(axis=1).tolist(), counts.sum(axis=0).tolist()
    recalls, precisions = (
        [float(part / whole) if whole else None for part, whole in zip(right, wholes, strict=True)]
        for wholes in (actual, predicted)
    )
    names, parts = classes.tolist(), intervals.auc_parts(decisions, codes)
    return {
        "accuracy": sum(right) / len(y),
        "balanced_accuracy": float(np.mean([recall for recall in recalls if recall is not None])),
        "roc_auc": None if parts is None else min(float(parts.sum()), 1.0),
        "rows": len(y),
        **({"intervals": _intervals(right, actual, parts, codes)} if new_rows else {}),
        "recall": dict(zip(names, recalls, strict=True)),
        "precision": dict(zip(names, precisions, strict=True)),
        "confusion": {
            name: dict(zip(names, row, strict=True)) for name, row in zip(names, counts.tolist(), strict=True)
        },
    }


def _codes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the places of labels among the classes; other labels are one more class."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[codes] == y, codes, len(classes))


def _intervals(right: list[int], actual: list[int], parts: np.ndarray | None, codes: np.ndarray) -> Figures:
    """Return the intervals of accuracy, balanced accuracy and ROC AUC."""
    judged = [(part / whole, whole) for part, whole in zip(right, actual, strict=True) if whole]
    return {
        "accuracy": list(intervals.rate(sum(right) / len(codes), len(codes))),
        "balanced_accuracy": list(intervals.mean_of_rates(judged)),
        "roc_auc": None if parts is None else list(intervals.auc(parts, codes)),
    }


def leads(decisions: np.ndarray, others: np.ndarray, y: np.ndarray, classes: np.ndarray) -> Figures:
    """Return by how much the figures of a classifier exceed those of another on the same rows, with intervals."""
    codes = _codes(y, classes)
    right, rival = _decided(decisions) == codes, _decided(others) == codes
    rows = (right & ~rival, rival & ~right, codes >= 0)
    counted = np.array([np.bincount(codes[some], minlength=len(classes) + 1) for some in rows])
    judged = counted[:, : len(classes)]
    first, second = (intervals.auc_parts(values, codes) for values in (decisions, others))
    found = {
        "accuracy": intervals.lead_in_rates(*counted.sum(axis=1, keepdims=True)),
        "balanced_accuracy": intervals.lead_in_rates(*judged[:, judged[2] > 0]),
        "roc_auc": None if first is None or second is None else intervals.lead_in_auc(first, second, codes),
    }
    return {name: lead and {"difference": lead[0], "interval": list(lead[1])} for name, lead in found.items()}


def summary(found: Figures) -> str:
    """Return the figures in one line."""
    auc = "" if found["roc_auc"] is None else f", ROC AUC {found['roc_auc']:.4f}"
    return f"accuracy {found['accuracy']:.4f}, balanced {found['balanced_accuracy']:.4f}{auc} ({found['rows']:,} rows)"


def interval_line(found: Figures, condition: str = "") -> str:
    """Return the intervals of these figures."""
    shown = {name: found["intervals"][key] for key, name in SHORT_NAMES.items()}
    limits = ", ".join(f"{name} {ends[0]:.4f} to {ends[1]:.4f}" for name, ends in shown.items() if ends)
    return f"95\u202f% intervals{condition}: {limits}"


def compared(figure: str, lead: Figures, rival: str) -> str:
    """Return a lead in words, a loss as plainly as a gain; there is none if the interval contains 0."""
    scale, unit, digits = (1, "", 3) if figure == "roc_auc" else (100, " points", 1)
    value, low, high = (scale * number for number in (lead["difference"], *lead["interval"]))
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
    table = [["label", "rows", "recall", "precision", *(f"predicted {name}" for name in confusion)]]
    for name, row in confusion.items():
        known = found["recall"][name], found["precision"][name]
        ratios = ["-" if value is None else f"{value:.4f}" for value in known]
        table.append([str(name), f"{sum(row.values()):,}", *ratios, *(f"{count:,}" for count in row.values())])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [[line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in table]
    return ["  ".join(line) for line in lines]


def resolution(gap: float, tol: float) -> float:
    """Return up to which size decision values are known."""
    return min(GAPS * max(gap, tol), COARSEST)


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
    return [spread <= resolution(*known) for spread, known in zip(spreads, certificates, strict=True)]
