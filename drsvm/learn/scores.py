"""How well decision values agree with labels: the figures that the command line and the report show."""

from typing import Any

import numpy as np


def predictions(decisions: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the labels for decision values: by their sign, or the class with the largest one."""
    return classes[(decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)]


def scores(decisions: np.ndarray, y: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """Return accuracy, balanced accuracy, ROC AUC, recall and precision per class, and the confusion matrix.

    What does not exist is None: the recall of a class without rows, the precision of one that is never predicted. With
    more than two classes, the AUC is the mean over each class against the rest.
    """
    from sklearn.metrics import confusion_matrix  # only here: predictions without labels need none of it

    counts = confusion_matrix(y, predictions(decisions, classes), labels=classes)
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


def _ratio(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None


def _auc(decisions: np.ndarray, y: np.ndarray, classes: np.ndarray) -> float | None:
    from sklearn.metrics import roc_auc_score

    columns = decisions.reshape(len(y), -1).T
    sides = [(y == label, column) for label, column in zip(classes[-len(columns) :], columns, strict=True)]
    if not all(0 < side.sum() < len(y) for side, _ in sides):
        return None
    return float(np.mean([roc_auc_score(side, column) for side, column in sides]))
