"""What to conclude from figures on rows that are new to a classifier.

Reports and ``drsvm fit`` draw the same conclusions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from drsvm.audit.performance import Figures
from drsvm.audit.precision import column_deviations
from drsvm.utils.annotations import Matrix
from drsvm.utils.messages import counted

# A shift below this many standard deviations of a typical column is negligible, and so
# are flips of fewer labels than this share.
NEGLIGIBLE_SHIFT = 0.02
NEGLIGIBLE_FLIPS = 0.01
# What has less than this share of the largest weight, or importance, carries nothing,
# and nothing is important whose shuffling costs less than that share of LEAST.
NEGLIGIBLE_SHARE = 0.05
LEAST = 0.1
# A class is missed if less than this share of its rows is found.
FOUND = 0.5
# A column has moved by at least this many standard deviations, and this many standard
# errors.
MOVED = 0.5
CERTAIN = 5.0
# How many times as much a missed row of a rare class costs in the example of costs.
DEARER = 5


def is_guess(figures: Figures) -> bool:
    """Return whether a classifier is not clearly better than a coin.

    Neither balanced accuracy nor ranks are then.
    """
    limits = figures["intervals"]
    chance = 1.0 / len(figures["confusion"])
    if limits["balanced_accuracy"][0] > chance:
        return False
    return limits["roc_auc"] is None or limits["roc_auc"][0] <= 0.5


def missed_class(figures: Figures) -> object | None:
    """Return the class, rarer than the average, whose rows are found least often.

    None if most of them are found.
    """
    confusion = figures["confusion"]
    average = figures["rows"] / len(confusion)
    missed = None
    lowest = FOUND
    for label, line in confusion.items():
        count = sum(line.values())
        if 0 < count < average and figures["recall"][label] < lowest:
            missed = label
            lowest = figures["recall"][label]
    return missed


def finds(figures: Figures, label: object) -> str:
    """Return how many rows of a class are found, and the number of false alarms."""
    confusion = figures["confusion"]
    found = confusion[label][label]
    rows = sum(confusion[label].values())
    predicted = sum(line[label] for line in confusion.values())
    alarms = predicted - found
    false = counted(alarms, "false alarm")
    return f"finds {found:,} of {counted(rows, 'row')} of class {label}, with {false}"


@dataclass(frozen=True, eq=False)
class Alternative:
    """Settings that find more rows of a rare class, also as an option and its value.

    As text they are parameters, as in Python.
    """

    option: str
    value: str
    settings: Mapping[str, object]

    def __str__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.settings.items())


def important(falls: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return the columns whose shuffling costs more than noise does.

    With each, the fall of the ROC AUC. The largest come first.
    """
    largest = max(falls.values(), default=0.0)
    least = NEGLIGIBLE_SHARE * max(largest, LEAST)
    return [(name, fall) for name, fall in falls.items() if fall >= least]


def worth_trying(figures: Figures, model: BaseEstimator) -> list[Alternative]:
    """Return settings that find more rows of a class that is missed.

    None if one was given for that.
    """
    label = missed_class(figures)
    if label is None or is_guess(figures) or not aims_at_accuracy(model):
        return []
    balanced = Alternative("class_weight", "balanced", {"class_weight": "balanced"})
    others = [name for name in figures["confusion"] if name != label]
    if len(others) > 1:
        # Thresholds and costs are for two classes.
        return [balanced]
    other = others[0]
    at_balance = Alternative(
        "threshold", "balanced-accuracy", {"threshold": "balanced_accuracy"}
    )
    by_cost = Alternative(
        "costs", f"{other}=1,{label}={DEARER}", {"threshold": {other: 1, label: DEARER}}
    )
    return [at_balance, balanced, by_cost]


def aims_at_accuracy(model: BaseEstimator) -> bool:
    """Return whether every row counts the same, for the fit and for the threshold."""
    given = model.get_params()
    if given["class_weight"] not in (None, "auto"):
        return False
    return given["threshold"] in ("accuracy", "optimum")


def typical_deviation(X: Matrix, scaled: Sequence[bool] | np.ndarray) -> float:
    """Return the standard deviation of a typical column, 0 if no column varies.

    It is 1 if columns were scaled: 0/1 columns beside them may be many, and rare.
    """
    if np.any(scaled):
        return 1.0
    deviations = column_deviations(X)
    moving = deviations[deviations > 0]
    if len(moving) == 0:
        return 0.0
    return float(np.median(moving))


def is_negligible(radius: float, deviation: float) -> bool:
    """Return whether shifts by this radius are too small to matter.

    They are far below the standard deviation of a typical column.
    """
    return deviation == 0.0 or radius < NEGLIGIBLE_SHIFT * deviation


def share_of_flips(radius: float, flip_cost: float) -> float:
    """Return the largest share of the labels that the adversary can flip.

    Flips are paid from its budget, the radius.
    """
    if flip_cost == 0:
        return 1.0
    return min(1.0, radius / flip_cost)


def moved_columns(X: Matrix, X_new: Matrix, columns: Sequence[str]) -> list[str]:
    """Return the columns whose mean in the new rows is not that in the training rows.

    It differs by far more than chance explains.
    """
    old = np.asarray(X.mean(axis=0)).ravel()
    new = np.asarray(X_new.mean(axis=0)).ravel()
    sizes = np.abs(new - old)
    deviations = column_deviations(X)
    errors = deviations * np.sqrt(1.0 / X.shape[0] + 1.0 / X_new.shape[0])
    moved = (sizes >= MOVED * deviations) & (sizes > CERTAIN * errors)
    return list(dict.fromkeys(np.array(columns, dtype=object)[moved]))
