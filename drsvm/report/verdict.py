"""What to conclude from the figures of a classifier on rows that are new to it, for reports and ``drsvm fit``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from drsvm.estimators.scores import Figures, column_deviations
from drsvm.utils.annotations import Matrix

# In standard deviations of a typical column: being safe from less helps nobody
NEGLIGIBLE_SHIFT = 0.02
# What has less than this share of the largest weight, or importance, carries nothing
CARRIES = 0.05
LEAST = 0.1  # and nothing is important whose shuffling costs less than CARRIES of this
FOUND = 0.5  # a class is missed if less than this share of its rows is found
# a column has moved by this many standard deviations, and this many standard errors
MOVED = 0.5
CERTAIN = 5.0
# How many times as much a missed row of a rare class costs in the example of costs
DEARER = 5


def is_guess(figures: Figures) -> bool:
    """Return whether neither balanced accuracy nor ranks are clearly better than those of a coin."""
    limits = figures["intervals"]
    n_classes = len(figures["confusion"])
    above = limits["balanced_accuracy"][0] > 1.0 / n_classes
    return not above and (limits["roc_auc"] is None or limits["roc_auc"][0] <= 0.5)


def missed_class(figures: Figures) -> object | None:
    """Return the class, of those rarer than the average, whose rows are found least often; None if most are found."""
    rows = {label: sum(line.values()) for label, line in figures["confusion"].items()}
    average = figures["rows"] / len(rows)
    missed = {
        label: figures["recall"][label]
        for label, count in rows.items()
        if 0 < count < average
    }
    label = min(missed, key=lambda label: missed[label], default=None)
    if label is not None and missed[label] < FOUND:
        return label
    return None


def finds(figures: Figures, label: object) -> str:
    """Return how many rows of a class are found, and how many others are taken for them."""
    confusion = figures["confusion"]
    found = confusion[label][label]
    predicted = sum(line[label] for line in confusion.values())
    return f"finds {found:,} of {sum(confusion[label].values()):,} {label}, with {predicted - found:,} false alarms"


@dataclass(frozen=True, eq=False)
class Alternative:
    """Settings that find more rows of a rare class, with the option of the commands for them."""

    option: str
    value: str
    settings: Mapping[str, object]

    def __str__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.settings.items())

    @property
    def typed(self) -> str:
        return f"--{self.option.replace('_', '-')} {self.value}"


def important(falls: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return the columns whose shuffling costs more than noise does, with the fall of the ROC AUC, largest first."""
    largest = max(falls.values(), default=0.0)
    return [
        (name, fall)
        for name, fall in falls.items()
        if fall >= CARRIES * max(largest, LEAST)
    ]


def worth_trying(figures: Figures, model: BaseEstimator) -> list[Alternative]:
    """Return settings that find more rows of a class that is missed.

    None if one was given for that.
    """
    label = missed_class(figures)
    if label is None or is_guess(figures) or not aims_at_accuracy(model):
        return []
    balanced = Alternative("class_weight", "balanced", {"class_weight": "balanced"})
    other, *more = (name for name in figures["confusion"] if name != label)
    if more:  # thresholds and costs are for two classes
        return [balanced]
    at_balance = Alternative(
        "threshold", "balanced-accuracy", {"threshold": "balanced_accuracy"}
    )
    by_cost = Alternative(
        "costs", f"{other}=1,{label}={DEARER}", {"threshold": {other: 1, label: DEARER}}
    )
    return [at_balance, balanced, by_cost]


def aims_at_accuracy(model: BaseEstimator) -> bool:
    """Return whether every row counts the same for the threshold, and no class was given more weight."""
    given = model.get_params()
    return given["class_weight"] in (None, "auto") and given["threshold"] in (
        "accuracy",
        "optimum",
    )


def is_negligible(radius: float, X: Matrix) -> bool:
    """Return whether shifts by this radius are too small to matter: far below the deviation of a typical column."""
    deviations = column_deviations(X)
    moving = deviations[deviations > 0]
    return len(moving) == 0 or radius < NEGLIGIBLE_SHIFT * float(np.median(moving))


def moved_columns(X: Matrix, X_new: Matrix, columns: Sequence[str]) -> list[str]:
    """Return the columns whose mean differs between training rows and new ones by far more than chance explains."""
    old, new = (np.asarray(rows.mean(axis=0)).ravel() for rows in (X, X_new))
    sizes = np.abs(new - old)
    deviations = column_deviations(X)
    errors = deviations * np.sqrt(1.0 / X.shape[0] + 1.0 / X_new.shape[0])
    moved = (sizes >= MOVED * deviations) & (sizes > CERTAIN * errors)
    return list(dict.fromkeys(np.array(columns, dtype=object)[moved]))
