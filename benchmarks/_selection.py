"""Rules for selecting a candidate of `WassersteinSVCCV`, all applied to the same solutions in the folds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from drsvm import WassersteinSVCCV, worst_case_risk
from drsvm.learn.cross_validation import CV_TOL, SELECTION_RULES, results_table, score_path
from drsvm.learn.one_vs_rest import positive_labels


def _each_class(model, y):
    """Yield the classifier and the labels of each binary problem."""
    labels = positive_labels(model.classes_)
    for coef, intercept, label in zip(model.coef_, model.intercept_, labels, strict=True):
        yield (coef, intercept), np.where(y == label, 1, -1)


def _risk(model, X, y, radius: float) -> float:
    pairs = _each_class(model, y)
    return float(np.mean([worst_case_risk(one, X, signs, radius=radius, flip_cost=5.0) for one, signs in pairs]))


CRITERIA: dict[str, Callable[..., float]] = {
    "accuracy": lambda model, X, y: model.score(X, y),
    "balanced accuracy": lambda model, X, y: balanced_accuracy_score(y, model.predict(X)),
    "hinge risk": lambda model, X, y: -_risk(model, X, y, 0.0),
    "worst-case risk": lambda model, X, y: -_risk(model, X, y, 0.05),
}


@dataclass(frozen=True)
class Rule:
    """What is scored, how a candidate is chosen, and whether class weights are part of the search."""

    criterion: str
    selection: str
    class_weights: bool = True

    @property
    def name(self) -> str:
        return f"{self.criterion}, {self.selection}" + ("" if self.class_weights else ", class_weight=None")


RULES = [
    Rule("accuracy", "auto"),
    Rule("accuracy", "one-standard-error"),
    Rule("accuracy", "best"),
    Rule("accuracy", "auto", class_weights=False),
    Rule("accuracy", "best", class_weights=False),
    *(Rule(name, how) for name in list(CRITERIA)[1:] for how in ("auto", "best")),
]
"""The first one is the default of `WassersteinSVCCV`."""


def chosen_candidates(X, y, splits) -> list[dict[str, Any]]:
    """Return the parameters that each rule chooses."""
    search = WassersteinSVCCV(cv=splits)
    search.classes_ = np.unique(y)
    folds, settings = search._folds(X, y, None, None), search._settings(X, y, None)
    limits = {"tol": CV_TOL, "n_threads": 1}

    def score_all(model, rows, labels):
        return [score(model, rows, labels) for score in CRITERIA.values()]

    outcomes = [
        [score_path(X, y, search.classes_, None, setting, fold, score_all, limits) for fold in folds]
        for setting in settings
    ]
    return [_choose(rule, settings, outcomes) for rule in RULES]


def _choose(rule: Rule, settings, outcomes) -> dict[str, Any]:
    column = list(CRITERIA).index(rule.criterion)
    kept = [k for k, setting in enumerate(settings) if rule.class_weights or setting.class_weight is None]
    scores = [[path._replace(scores=path.scores[:, column]) for path in outcomes[k]] for k in kept]
    results = results_table([settings[k] for k in kept], scores)
    return results["params"][SELECTION_RULES[rule.selection](results)]
