"""How well classifiers do on rows, and what an adversary can do to them there."""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import confusion_matrix, roc_auc_score

from drsvm.model.worst_case import worst_case_risk

FLIPS = (0.0, 0.01, 0.05, 0.1, 0.2)
"""Shares of flipped labels for which bounds are shown."""

SHIFTS = (0.0, 0.5, 1.0, 2.0, 4.0)
"""Shifts for which bounds are shown, as multiples of the radius."""

SAME = 0.99
"""From this share of equal predictions on, a classifier may be constant in practice."""


class Rows(NamedTuple):
    """Rows to judge classifiers by: held-out ones, or the training rows if none were held out."""

    X: Any
    y: np.ndarray
    held_out: bool

    @property
    def name(self) -> str:
        """What they are called in sentences."""
        return "held-out rows" if self.held_out else "training rows"


def scores(model, rows: Rows) -> dict[str, Any]:
    """Return accuracy, balanced accuracy, ROC AUC, and per class recall, precision and counts."""
    classes, predicted = model.classes_, model.predict(rows.X)
    counts = confusion_matrix(rows.y, predicted, labels=classes)
    right, given, guessed = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    recall = [_ratio(*pair) for pair in zip(right.tolist(), given.tolist(), strict=True)]
    present = [share for share in recall if share is not None]
    return {
        "accuracy": float(right.sum() / counts.sum()),
        "balanced_accuracy": float(np.mean(present)),
        "roc_auc": _auc(model, rows),
        "recall": dict(zip(map(str, classes.tolist()), recall, strict=True)),
        "precision": {
            str(label): _ratio(int(r), int(g)) for label, r, g in zip(classes.tolist(), right, guessed, strict=True)
        },
        "confusion": counts.tolist(),
    }


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _auc(model, rows: Rows) -> float | None:
    """Return the area under the ROC curve (with several classes, the mean of theirs); None if a class is absent."""
    values, classes = model.decision_function(rows.X), model.classes_
    if len(np.unique(rows.y)) < len(classes):
        return None
    if len(classes) == 2:
        return float(roc_auc_score(rows.y == classes[1], values))
    return float(np.mean([roc_auc_score(rows.y == label, values[:, k]) for k, label in enumerate(classes)]))


def constant_label(classes, confusion: list[list[int]], balanced_accuracy: float) -> tuple[Any, float] | None:
    """Return the label that is predicted for (nearly) all rows, and its share; None for a useful classifier.

    With rare classes a good classifier may predict one label for nearly all rows, too: it still finds more of the
    others than chance would.
    """
    guessed = np.sum(confusion, axis=0)
    most = int(np.argmax(guessed))
    share = float(guessed[most] / guessed.sum())
    useful = balanced_accuracy > useful_accuracy(len(classes))
    return None if share < SAME or (useful and share < 1.0) else (classes[most], share)


def useful_accuracy(n_classes: int) -> float:
    """Return the balanced accuracy above which a classifier knows something: a quarter of the way from chance to 1."""
    return (3.0 / n_classes + 1.0) / 4.0


def bounds(models: dict[str, Any], rows: Rows, ball: dict[str, Any], positive) -> dict[str, Any]:
    """Return the largest error rate that flipped labels alone, or shifted features alone, can cause on the rows."""
    d = rows.X.shape[1]
    radius = float(ball["radius"])
    flips = {"radius": list(FLIPS), "flip_cost": 1.0, "norm": 2, "feature_cost": np.full(d, np.inf)}
    shifts = {"radius": [factor * radius for factor in SHIFTS] if radius > 0 else [0.0], "flip_cost": math.inf}
    shifts |= {"norm": ball["norm"], "feature_cost": ball["feature_cost"]}

    def errors(settings: dict[str, Any]) -> dict[str, list[float]]:
        return {
            name: np.asarray(
                worst_case_risk(model, rows.X, rows.y, loss="zero-one", positive=positive, **settings)
            ).tolist()
            for name, model in models.items()
        }

    return {
        "flipped_labels": {"share": list(FLIPS), "error": errors(flips)},
        "shifted_features": {"shift": shifts["radius"], "error": errors(shifts)},
    }
