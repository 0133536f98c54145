"""How well a classifier does on rows with labels: as plain values and as text."""

from typing import Any

import numpy as np

MOST_CLASSES = 12
"""A confusion matrix of more classes is not printed."""


def predictions(decisions: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the labels for decision values: by their sign, or the class with the largest one."""
    return classes[(decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)]


def scores(decisions: np.ndarray, y: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """Return accuracy, balanced accuracy, ROC AUC, recall and precision per class, and the confusion matrix.

    What does not exist is None: the recall of a class without rows, the precision of one that is never predicted. With
    more than two classes, the AUC is the mean over each class against the rest.
    """
    counts = _confusion(predictions(decisions, classes), y, classes)
    right, actual, predicted = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    recalls = [_ratio(*pair) for pair in zip(right, actual, strict=True)]
    precisions = [_ratio(*pair) for pair in zip(right, predicted, strict=True)]
    names = classes.tolist()
    return {
        "accuracy": float(right.sum() / len(y)),
        "balanced_accuracy": float(np.mean([recall for recall in recalls if recall is not None])),
        "roc_auc": _auc(decisions, y, classes),
        "rows": len(y),
        "recall": dict(zip(names, recalls, strict=True)),
        "precision": dict(zip(names, precisions, strict=True)),
        "confusion": {
            name: dict(zip(names, row, strict=True)) for name, row in zip(names, counts.tolist(), strict=True)
        },
    }


def _confusion(predicted: np.ndarray, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the numbers of rows by label (rows) and prediction (columns)."""
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (np.searchsorted(classes, y), np.searchsorted(classes, predicted)), 1)
    return counts


def _ratio(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None


def _auc(decisions: np.ndarray, y: np.ndarray, classes: np.ndarray) -> float | None:
    from sklearn.metrics import roc_auc_score

    columns = decisions.reshape(len(y), -1).T
    sides = [(y == label, column) for label, column in zip(classes[-len(columns) :], columns, strict=True)]
    if not all(0 < side.sum() < len(y) for side, _ in sides):
        return None
    return float(np.mean([roc_auc_score(side, column) for side, column in sides]))


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
        ratios = [_shown(found[which][name]) for which in ("recall", "precision")]
        table.append([str(name), f"{sum(row.values()):,}", *ratios, *(f"{count:,}" for count in row.values())])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [[line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in table]
    return ["  ".join(line) for line in lines]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
