"""The methods of the study: this library without tuning and with its own
cross-validation, and rivals tuned as usual.

All of them see the noisy labels only, and the tuned ones use the same five stratified
folds. One grid of candidates is scored once; the choices by accuracy and by balanced
accuracy come from the same fits.
"""

from collections.abc import Callable
from importlib.util import find_spec
from itertools import product

import numpy as np
from cases import ERRORS_IN_TEST, MOVES, TEXT, TEXT_SIZE
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from drsvm import ClippedScaler, WassersteinKernelSVC, WassersteinSVC, WassersteinSVCCV

COSTS = np.logspace(-5, 2, 8)
WEIGHTS = (None, "balanced")
REFERENCE = "LinearSVC, tuned"
BALANCED_REFERENCE = "LinearSVC, tuned by balanced accuracy"
LOGISTIC = "LogisticRegression, tuned"
KERNEL = "WassersteinKernelSVC()"
TUNED_KERNEL = "SVC, tuned"
DEFAULT = "WassersteinSVC()"
CLIPPED = "ClippedScaler, WassersteinSVC()"
SEARCHED = "WassersteinSVCCV()"
TUNED_RIVALS = {
    DEFAULT: REFERENCE,
    CLIPPED: REFERENCE,
    SEARCHED: REFERENCE,
    KERNEL: TUNED_KERNEL,
}


def folds_of(X, y) -> list:
    return list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))


class Tuned:
    """The best of several candidates on the folds, by accuracy (0) or by balanced
    accuracy (1).
    """

    def __init__(self, candidates):
        self.candidates = candidates

    def fit(self, X, y) -> "Tuned":
        scores = np.array([self._scores(model, X, y) for model in self.candidates])
        self.chosen = [
            clone(self.candidates[index]).fit(X, y) for index in scores.argmax(axis=0)
        ]
        return self

    @staticmethod
    def _scores(model, X, y) -> np.ndarray:
        found = []
        for train, test in folds_of(X, y):
            predicted = clone(model).fit(X[train], y[train]).predict(X[test])
            found.append(quality(predicted, y[test]))
        return np.mean(found, axis=0)


class Clipped:
    """A classifier behind a ClippedScaler."""

    def __init__(self, model):
        self.model = make_pipeline(ClippedScaler(), model)
        self.predict = self.model.predict
        self.decision_function = self.model.decision_function

    def fit(self, X, y) -> "Clipped":
        self.model.fit(X, y)
        return self

    @property
    def coef_(self) -> np.ndarray:
        return self.model[-1].coef_ / self.model[0].scaler_.scale_


def quality(predicted, y) -> list[float]:
    """Return accuracy and balanced accuracy in percent."""
    return [
        100.0 * float((predicted == y).mean()),
        100.0 * float(balanced_accuracy_score(y, predicted)),
    ]


def all_figures(model, X, y) -> list[float]:
    """Return accuracy, balanced accuracy and the area under the ROC curve (NaN for
    several classes) in percent.
    """
    if y.max() > 1:
        return [*quality(model.predict(X), y), float("nan")]
    values = (
        model.decision_function(X)
        if hasattr(model, "decision_function")
        else model.predict_proba(X)[:, 1]
    )
    return [*quality(model.predict(X), y), 100.0 * float(roc_auc_score(y, values))]


def tuned_linear_svc(X, y) -> dict:
    grid = [
        LinearSVC(C=c, class_weight=w, dual=False) for c, w in product(COSTS, WEIGHTS)
    ]
    by_accuracy, balanced = Tuned(grid).fit(X, y).chosen
    return {REFERENCE: by_accuracy, BALANCED_REFERENCE: balanced}


def tuned_logistic(X, y) -> dict:
    grid = [
        LogisticRegression(C=c, class_weight=w, max_iter=1000)
        for c, w in product(COSTS, WEIGHTS)
    ]
    chosen = Tuned(grid).fit(X, y).chosen[0]
    models = {LOGISTIC: chosen}
    if find_spec("cleanlab") is not None:
        from cleanlab.classification import CleanLearning

        models["cleanlab around it"] = CleanLearning(
            clone(chosen), find_label_issues_kwargs={"n_jobs": 1}
        ).fit(X, y)
    return models


def tuned_hinge(X, y) -> dict:
    grid = [LinearSVC(C=c, loss="hinge", random_state=0) for c in COSTS]
    return {"LinearSVC with hinge loss, tuned": Tuned(grid).fit(X, y).chosen[0]}


def untuned(X, y) -> dict:
    models = {
        DEFAULT: WassersteinSVC(),
        CLIPPED: Clipped(WassersteinSVC()),
        'WassersteinSVC(threshold="balanced_accuracy")': WassersteinSVC(
            threshold="balanced_accuracy"
        ),
        'WassersteinSVC(threshold="optimum")': WassersteinSVC(threshold="optimum"),
        KERNEL: WassersteinKernelSVC(),
    }
    return {name: model.fit(X, y) for name, model in models.items()}


def untuned_on_text(X, y) -> dict:
    return {DEFAULT: WassersteinSVC().fit(X, y), **untuned_rivals(X, y)}


def untuned_rivals(X, y) -> dict:
    models = {
        "LinearSVC()": LinearSVC(dual=False),
        "LogisticRegression()": LogisticRegression(max_iter=1000),
    }
    return {name: model.fit(X, y) for name, model in models.items()}


def searched(X, y) -> dict:
    folds = folds_of(X, y)
    return {
        SEARCHED: WassersteinSVCCV(cv=folds).fit(X, y),
        'WassersteinSVCCV(scoring="balanced_accuracy")': (
            WassersteinSVCCV(cv=folds, scoring="balanced_accuracy").fit(X, y)
        ),
    }


def flexible(X, y) -> dict:
    grid = [
        SVC(C=c, gamma=g / X.shape[1])
        for c, g in product((0.1, 1.0, 10.0), (0.03, 0.1, 0.3, 1.0, 3.0))
    ]
    models = {
        "SVC()": SVC(),
        "RandomForestClassifier()": RandomForestClassifier(random_state=0),
        # Large leaves, and small steps, withstand wrong labels better.
        "RandomForestClassifier(min_samples_leaf=5)": RandomForestClassifier(
            min_samples_leaf=5, random_state=0
        ),
        "RandomForestClassifier(min_samples_leaf=20)": RandomForestClassifier(
            min_samples_leaf=20, random_state=0
        ),
        "HistGradientBoostingClassifier()": HistGradientBoostingClassifier(
            random_state=0
        ),
        "HistGradientBoostingClassifier(learning_rate=0.03, min_samples_leaf=40)": (
            HistGradientBoostingClassifier(
                learning_rate=0.03, min_samples_leaf=40, random_state=0
            )
        ),
    }
    fitted = {name: model.fit(X, y) for name, model in models.items()}
    return {**fitted, TUNED_KERNEL: Tuned(grid).fit(X, y).chosen[0]}


CORE: tuple[Callable[..., dict], ...] = (
    tuned_linear_svc,
    untuned,
    searched,
    tuned_logistic,
)
KERNELS: tuple[Callable[..., dict], ...] = (tuned_linear_svc, untuned, flexible)
RIVALS: tuple[Callable[..., dict], ...] = (untuned_rivals, tuned_hinge, flexible)


def families_on_text(case) -> tuple[Callable[..., dict], ...]:
    return (
        (untuned_on_text, tuned_linear_svc)
        if case.n_rows == TEXT_SIZE
        else (untuned_on_text,)
    )


def outcomes(case, families) -> dict[str, dict[str, list[float]]]:
    """Return the figures of every method in a case and, if its labels are correct,
    after moves.
    """
    X, y, X_test, y_test = case.split()
    models = {
        name: model for family in families for name, model in family(X, y).items()
    }
    found = {
        case.setting: {
            name: all_figures(model, X_test, y_test) for name, model in models.items()
        }
    }
    is_moved = (
        case.setting == "clean"
        and y.max() == 1
        and families != KERNELS
        and case.data not in TEXT
    )
    for move in (*MOVES, *ERRORS_IN_TEST) if is_moved else ():
        # Only weights say where "against the model" is
        found[move] = {
            name: all_figures(model, case.moved(X_test, y_test, move, model), y_test)
            for name, model in models.items()
            if hasattr(model, "coef_") or move != MOVES[0]
        }
    return found


def gains_of(
    found, name: str, reference: str, settings
) -> dict[tuple[str, str], np.ndarray]:
    """Return the gains of a method over another in percentage points, by data set and
    setting: seeds × measures.
    """
    gains: dict[tuple[str, str], list[np.ndarray]] = {}
    for case, values in found.items():
        if case.setting in settings:
            gains.setdefault((case.data, case.setting), []).append(
                np.subtract(values[name], values[reference])
            )
    return {cell: np.array(of_seeds) for cell, of_seeds in gains.items()}
