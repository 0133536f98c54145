"""Whether another classifier is clearly ahead of a robust one, and in what.

Reports and ``drsvm fit`` draw the same conclusions.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.utils.class_weight import compute_sample_weight

from drsvm.audit.label_issues import flexible_classifier
from drsvm.audit.performance import Figures
from drsvm.utils.annotations import Matrix

TREES = "boosted trees"
USE_TREES = "use HistGradientBoostingClassifier, unless you need the proof"
# The figures by which classifiers are compared, and their names
FIGURES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "ROC AUC",
    "cost": "cost per row",
}
# scikit-learn's defaults
LEAF_ROWS = 20
SETTINGS = {"max_iter": 100, "max_leaf_nodes": 31, "min_samples_leaf": LEAF_ROWS}
# A rival is ahead by this much at least, in accuracy or in ROC AUC, and by this share
# of the cost of the cheapest constant answer.
AHEAD = 0.01
# What is clearly better than guessing has gone this share of the way from guessing to
# what is perfect.
ABOVE_CHANCE = 0.1


def costs_of(model: BaseEstimator) -> dict[Any, float] | None:
    """Return what it costs to miss a row of each class; None if that was not given."""
    goal = model.get_params()["threshold"]
    if isinstance(goal, Mapping):
        return dict(goal)
    return None


def boosted_trees(
    X: Matrix, y: np.ndarray, costs: dict[Any, float] | None
) -> ClassifierMixin | None:
    """Return boosted trees, which follow boundaries of any shape.

    Rows count as much as it costs to miss them. None if too much memory is needed.
    """
    steps = []
    if sparse.issparse(X):
        # A column with fewer entries than a leaf has rows is never split.
        entries = np.diff(X.tocsc().indptr)
        columns = np.flatnonzero(entries >= min(LEAF_ROWS, entries.max()))
        steps = [("columns", make_column_transformer(("passthrough", columns)))]
    # No column has more values than there are rows: of 255 bins, some would be empty.
    model = flexible_classifier(X, steps, max_bins=min(255, len(y)), **SETTINGS)
    if model is None:
        return None
    if costs is None:
        # Weights of 1 would be the same, but take several times as long.
        return model.fit(X, y)
    # As class weights, scikit-learn takes no costs of labels that are text.
    return model.fit(X, y, boosting__sample_weight=compute_sample_weight(costs, y))


def aims_of(model: BaseEstimator) -> list[str]:
    """Return the figures by which the rivals of a classifier are judged."""
    given = model.get_params()
    goal = given["threshold"]
    if isinstance(goal, Mapping):
        return ["cost"]
    if given["class_weight"] == "balanced":
        goal = "balanced_accuracy"
    aims = ["roc_auc"]
    if goal in ("accuracy", "balanced_accuracy"):
        aims.append(goal)
    return aims


def clearly_ahead(leads: Figures, rival: Figures, model: BaseEstimator) -> str | None:
    """Return the figure in which a rival is clearly ahead of a classifier, if any.

    In the same figure it is clearly better than guessing, and it is clearly behind in
    none.

    Parameters
    ----------
    leads : dict
        Those of the classifier over the rival (`drsvm.audit.performance.leads`).
    rival : dict
        The figures of the rival on the same rows, with intervals.
    model : estimator
        The classifier.
    """
    aims = aims_of(model)
    judged = aims
    if aims != ["cost"]:
        judged = list(leads)
    for figure in judged:
        if leads[figure] is not None and leads[figure]["interval"][0] > 0:
            return None
    for figure in aims:
        lead = leads[figure]
        if lead is None:
            continue
        least = AHEAD
        if figure == "cost":
            least *= rival["constant"]["cost"]
        is_ahead = lead["difference"] <= -least and lead["interval"][1] < 0
        if is_ahead and _beats_guessing(rival, figure):
            return figure
    return None


def saves_costs(figures: Figures) -> bool:
    """Return whether the cheapest constant answer costs clearly more, if that is known.

    On rows of the training it is not.
    """
    costs_more = figures.get("constant", {}).get("costs_more")
    return costs_more is None or costs_more[0] > 0


def _beats_guessing(figures: Figures, figure: str) -> bool:
    """Return whether a figure is clearly better than that of a constant answer."""
    low, high = figures["intervals"][figure]
    if figure == "cost":
        return high < (1.0 - ABOVE_CHANCE) * figures["constant"]["cost"]
    chance = 0.5
    if figure == "accuracy":
        chance = figures["always"]["accuracy"]
    elif figure == "balanced_accuracy":
        chance = 1.0 / len(figures["confusion"])
    return low > chance + ABOVE_CHANCE * (1.0 - chance)
