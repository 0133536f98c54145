"""The figures that the command line and the report show: how well decision values agree with labels, and what is noise.

What is proven is the objective, up to the gap g. It hardly changes near its minimum, so decision values may be farther
from the optimal ones than g. Here they are taken to be known up to 100 g (or 100 tolerances, if these are more), where
margins are of size 1: what is smaller is not distinguished from 0.
"""

from typing import Any

import numpy as np
from scipy import sparse

from drsvm.model.memory_rows import MemoryRows
from drsvm.model.result import Result

GAPS, COARSEST = 100.0, 0.1  # decision values are known up to so many gaps, or of a run cut short to 0.1
MOST_CLASSES = 12  # a confusion matrix of more classes is not printed


def predictions(decisions: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the labels for decision values: by their sign, or the class with the largest one."""
    return classes[_decided(decisions)]


def _decided(decisions: np.ndarray) -> np.ndarray:
    return (decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)


def scores(decisions: np.ndarray, y: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """Return accuracy, ROC AUC, recall and precision per class, confusion matrix; None for what does not exist."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    known = classes[codes] == y
    pairs = len(classes) * codes[known] + _decided(decisions)[known]
    counts = np.bincount(pairs, minlength=len(classes) ** 2).reshape(len(classes), -1)
    right, actual, predicted = np.diag(counts).tolist(), counts.sum(axis=1).tolist(), counts.sum(axis=0).tolist()
    recalls, precisions = (
        [float(part / whole) if whole else None for part, whole in zip(right, wholes, strict=True)]
        for wholes in (actual, predicted)
    )
    names = classes.tolist()
    return {
        "accuracy": sum(right) / len(y),
        "balanced_accuracy": float(np.mean([recall for recall in recalls if recall is not None])),
        "roc_auc": _auc(decisions, y, classes),
        "rows": len(y),
        "recall": dict(zip(names, recalls, strict=True)),
        "precision": dict(zip(names, precisions, strict=True)),
        "confusion": {
            name: dict(zip(names, row, strict=True)) for name, row in zip(names, counts.tolist(), strict=True)
        },
    }


def _auc(decisions: np.ndarray, y: np.ndarray, classes: np.ndarray) -> float | None:
    columns = decisions.reshape(len(y), -1).T
    sides = [(y == label, column) for label, column in zip(classes[-len(columns) :], columns, strict=True)]
    if not all(0 < side.sum() < len(y) for side, _ in sides):
        return None
    return float(np.mean([_share_of_pairs_in_order(column[side], column[~side]) for side, column in sides]))


def _share_of_pairs_in_order(positive: np.ndarray, negative: np.ndarray) -> float:
    """Return the ROC AUC, equal pairs count half; sorting each side takes a fifth of the time of a curve."""
    positive, negative = np.sort(positive), np.sort(negative)
    wins = sum(float(np.searchsorted(negative, positive, side).mean()) for side in ("left", "right"))
    return wins / (2 * len(negative))


def summary(found: dict[str, Any]) -> str:
    """Return the figures in one line."""
    auc = "" if found["roc_auc"] is None else f", ROC AUC {found['roc_auc']:.4f}"
    return f"accuracy {found['accuracy']:.4f}, balanced {found['balanced_accuracy']:.4f}{auc} ({found['rows']:,} rows)"


def by_class(found: dict[str, Any]) -> list[str]:
    """Return a table with one line per class: recall, precision, and how many of its rows got which prediction."""
    confusion = found["confusion"]
    if len(confusion) > MOST_CLASSES:
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
