"""The rows that classifiers are judged by, when a classifier is constant, and what an adversary can do to it."""

import math
from typing import Any, NamedTuple

import numpy as np

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


def constant_label(figures: dict[str, Any]) -> tuple[Any, float] | None:
    """Return the label that is predicted for (nearly) all rows, and its share; None for a useful classifier.

    With rare classes a good classifier may predict one label for nearly all rows, too: it still finds more of the
    others than chance would.
    """
    lines = figures["confusion"].values()
    predicted = {label: sum(line[label] for line in lines) for label in figures["confusion"]}
    most = max(predicted, key=lambda label: predicted[label])
    share = predicted[most] / figures["rows"]
    useful = figures["balanced_accuracy"] > useful_accuracy(len(predicted))
    return None if share < SAME or (useful and share < 1.0) else (most, share)


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
