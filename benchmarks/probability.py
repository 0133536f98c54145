"""How good are the probabilities of `WassersteinSVC(calibration="sigmoid")`?

Log loss and Brier score (for several classes the sum over them) on test rows, in
thousandths: means over data sets and seeds. All methods see the wrong labels only; test
labels are wrong as often as those in training, or correct. "The sigmoid itself" is
Platt's, whose ½ need not be where the classifier decides; "one slope" is a sigmoid with
½ there.
"""

import argparse
import warnings

import numpy as np
from _common import report, table, use_threads
from joblib import Parallel, delayed
from scipy import special
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from study.cases import DECIDED, MULTICLASS, REPORTED, Case, sizes

from drsvm import WassersteinSVC
from drsvm.defaults.out_of_fold import OutOfFoldDecisions
from drsvm.defaults.threshold import choose_threshold

OURS = 'WassersteinSVC(calibration="sigmoid")'
GROUPS = {
    "two classes, decided on": DECIDED,
    "two classes, reported": REPORTED,
    "several classes": (*MULTICLASS, "wine, three classes"),
}
SETTINGS = ("clean", "20 %")
SIZES = (100, 400)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--quick", action="store_true", help="one seed")
    options = parser.parse_args()
    seeds = 1 if options.quick else options.seeds
    use_threads(1)
    cells = [
        Case(name, n, setting, seed)
        for names in GROUPS.values()
        for name in names
        for n in sizes(name, SIZES)
        for setting in SETTINGS
        for seed in range(seeds)
    ]
    found = Parallel(n_jobs=options.jobs)(delayed(measured)(case) for case in cells)
    outcomes = dict(zip(cells, found, strict=True))
    sections = [
        __doc__.split("\n\n", 1)[1].strip(),
        f"{seeds} seeds, 100 and 400 rows.",
    ]
    sections += [
        f"## {group}\n\n{losses_table(outcomes, names)}"
        for group, names in GROUPS.items()
    ]
    sections.append(
        f"## Thresholds for several classes\n\n{thresholds_table(outcomes)}"
    )
    report(
        "probability-quick" if options.quick else "probability",
        "Probabilities",
        sections,
    )


# --- one case
# -----------------------------------------------------------------------------------------------------


def measured(case: Case) -> dict:
    """Return the losses of every method for test labels of both kinds, and what
    thresholds gain.
    """
    X, y, X_test, y_test = case.split()
    with warnings.catch_warnings():
        # Constant classifiers, and classes with fewer rows than folds
        warnings.simplefilter("ignore")
        model = WassersteinSVC(calibration="sigmoid").fit(X, y)
        apart = cross_val_predict(
            WassersteinSVC(threshold="optimum"), X, y, method="decision_function"
        )
        chances = {OURS: model.predict_proba(X_test)}
        folds = max(2, min(5, np.bincount(y).min()))
        calibrated = CalibratedClassifierCV(WassersteinSVC(), cv=folds).fit(X, y)
        chances["CalibratedClassifierCV around it"] = calibrated.predict_proba(X_test)
        chances["LogisticRegression()"] = (
            LogisticRegression(max_iter=2000).fit(X, y).predict_proba(X_test)
        )
    decisions = model.decision_function(X_test)
    if decisions.ndim == 1:
        slope, offset = model.sigmoids_[0]
        chances["the sigmoid itself"] = of_two(slope * decisions + offset)
        through = LogisticRegression(C=np.inf, fit_intercept=False).fit(
            (apart - model.threshold_)[:, None], y
        )
        chances["one slope"] = of_two(through.coef_[0, 0] * decisions)
    labels = {"as in training": with_noise(y_test, case), "correct": y_test}
    losses = {
        kind: {name: losses_of(each, seen) for name, each in chances.items()}
        for kind, seen in labels.items()
    }
    return {
        "losses": losses,
        "gain": (
            threshold_gain(apart, y, decisions, y_test) if decisions.ndim == 2 else None
        ),
    }


def of_two(odds) -> np.ndarray:
    return special.expit(np.column_stack([-odds, odds]))


def with_noise(y, case: Case) -> np.ndarray:
    rng = np.random.default_rng([case.seed, 13])
    n_classes = int(y.max()) + 1
    wrong = rng.random(len(y)) < (0.0 if case.setting == "clean" else 0.2)
    return np.where(wrong, (y + rng.integers(1, n_classes, len(y))) % n_classes, y)


def losses_of(chances, y) -> tuple[float, float]:
    """Return log loss and Brier score in thousandths."""
    right = chances[np.arange(len(y)), y]
    return -1e3 * float(np.log(np.maximum(right, 1e-15)).mean()), 1e3 * float(
        ((chances**2).sum(axis=1) - 2.0 * right + 1.0).mean()
        / (2 if chances.shape[1] == 2 else 1)
    )


def threshold_gain(apart, y, decisions, y_test) -> float:
    """Return the points of accuracy that one threshold per class gains, placed like
    that of two classes.
    """
    counts = np.ones(len(y))
    columns = [
        OutOfFoldDecisions(column[:, None], (y == label).astype(int), counts)
        for label, column in enumerate(apart.T)
    ]
    moved = decisions - np.array(
        [choose_threshold(column, "accuracy") for column in columns]
    )
    return 100.0 * float(
        (moved.argmax(axis=1) == y_test).mean()
        - (decisions.argmax(axis=1) == y_test).mean()
    )


# --- tables
# -------------------------------------------------------------------------------------------------------


def losses_table(outcomes: dict, names) -> str:
    columns = [
        ("clean", "as in training"),
        ("20 %", "as in training"),
        ("20 %", "correct"),
    ]
    found = {
        case: outcome["losses"]
        for case, outcome in outcomes.items()
        if case.data in names
    }
    methods = next(iter(found.values()))["correct"]
    rows = []
    for method in methods:
        means = [
            np.mean(
                [
                    one[kind][method]
                    for case, one in found.items()
                    if case.setting == setting
                ],
                axis=0,
            )
            for setting, kind in columns
        ]
        rows.append([method, *(f"{log:.0f} / {brier:.0f}" for log, brier in means)])
    heads = [f"{setting}, test labels {kind}" for setting, kind in columns]
    return table(["log loss / Brier score", *heads], rows)


def thresholds_table(outcomes: dict) -> str:
    gains = {
        case: outcome["gain"]
        for case, outcome in outcomes.items()
        if outcome["gain"] is not None
    }
    kinds = list(
        dict.fromkeys((case.data, case.n_rows, case.setting) for case in gains)
    )
    rows = []
    for kind in kinds:
        own = [
            gain
            for case, gain in gains.items()
            if (case.data, case.n_rows, case.setting) == kind
        ]
        rows.append(
            [
                f"{kind[0]}, {kind[1]} rows, {kind[2]}",
                f"{np.mean(own):+.1f}",
                f"{min(own):+.1f}",
            ]
        )
    rows.append(
        ["all", f"{np.mean(list(gains.values())):+.2f}", f"{min(gains.values()):+.1f}"]
    )
    return table(
        ["accuracy gained by a threshold per class, points", "mean", "worst"], rows
    )


if __name__ == "__main__":
    main()
