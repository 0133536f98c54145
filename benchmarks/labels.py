"""How many wrong labels does `find_label_issues` find, compared with a tuned
LogisticRegression?

A given share of the labels, chosen at random, is made wrong; a wrong label is drawn
uniformly from the other classes. The methods see the wrong labels only and rank all
rows. AUC: probability, in percent, that a wrong label is ranked before a correct one.
Precision: share of wrong labels among the first k rows, where k is their true number.
At most 400 rows per data set, standardised.
"""

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from _common import load, report, table, use_threads
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from drsvm import WassersteinSVC, find_label_issues
from drsvm.audit import LabelIssues
from drsvm.audit.label_scores import judge

SHARES = (0.1, 0.2, 0.35)
MOST = 400
GRID = np.logspace(-4, 2, 7)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--quick", action="store_true", help="one seed")
    options = parser.parse_args()
    seeds = 1 if options.quick else options.seeds
    use_threads(1)
    cells = [(name, share) for name in DATA for share in SHARES]
    outcomes = Parallel(n_jobs=options.jobs)(
        delayed(measured)(*cell, seeds) for cell in cells
    )
    by_cell = dict(zip(cells, outcomes, strict=True))
    found = {name: {share: by_cell[name, share] for share in SHARES} for name in DATA}
    sections = [
        __doc__.split("\n\n", 1)[1].strip(),
        f"{seeds} seeds; the same rows and labels for every method.",
    ]
    sections += [
        summary(found),
        *(ranking_table(found, share) for share in SHARES),
        flags_table(found),
    ]
    report(
        "labels-quick" if options.quick else "labels", "Finding wrong labels", sections
    )


# --- data
# ---------------------------------------------------------------------------------------------------------


def _two(loader, positive: Callable):
    X, y = loader(return_X_y=True)
    return X, positive(y)


DATA: dict[str, Callable] = {
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine, two classes": lambda: _two(load_wine, lambda y: y == 1),
    "wine, three": lambda: load_wine(return_X_y=True),
    "digits, odd or even": lambda: _two(load_digits, lambda y: y % 2),
    "digits, ten": lambda: load_digits(return_X_y=True),
    **{
        name: lambda name=name: load(name)
        for name in ("german.numer", "a5a", "spambase", "splice", "ijcnn1")
    },
}


def noisy(name: str, share: float, seed: int):
    """Return rows, labels with exactly the given share of wrong ones, and which of them
    are wrong.
    """
    X, y = DATA[name]()
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[:MOST]
    X = X[rows]
    y = np.asarray(y)[rows]
    X = StandardScaler().fit_transform(X if isinstance(X, np.ndarray) else X.toarray())
    classes, codes = np.unique(y, return_inverse=True)
    wrong = np.zeros(len(y), dtype=bool)
    wrong[rng.permutation(len(y))[: round(share * len(y))]] = True
    offsets = rng.integers(1, len(classes), size=len(y))
    return X, classes[np.where(wrong, (codes + offsets) % len(classes), codes)], wrong


# --- methods
# ------------------------------------------------------------------------------------------------------


def tuned_logistic(X, y) -> LabelIssues:
    """Return the out-of-fold result of a LogisticRegression whose C has the best log
    loss in five folds.
    """
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    search = GridSearchCV(
        LogisticRegression(max_iter=1000), {"C": GRID}, scoring="neg_log_loss", cv=folds
    )
    best = search.fit(X, y).best_estimator_
    return find_label_issues(X, y, estimator=best)


def in_sample(X, y) -> np.ndarray:
    """Return the margins of a robust classifier on its own training rows."""
    values = WassersteinSVC().fit(X, y).decision_function(X)
    decisions = (
        values if values.ndim == 2 else np.column_stack([-values / 2, values / 2])
    )
    _, margins, _ = judge(decisions, np.unique(y, return_inverse=True)[1])
    return margins


def measured(name: str, share: float, seeds: int) -> dict[str, np.ndarray]:
    """Return the means over the seeds: AUC and precision of each ranking, and how good
    the flags are.
    """
    # Iterations of LogisticRegression, constant classifiers
    warnings.simplefilter("ignore")
    rows: list[dict[str, np.ndarray]] = []
    for seed in range(seeds):
        X, y, wrong = noisy(name, share, seed)
        issues = find_label_issues(X, y)
        margins = {
            "robust": issues.margin,
            "logistic": tuned_logistic(X, y).margin,
            "in-sample": in_sample(X, y),
        }
        rows.append(
            {method: quality(margin, wrong) for method, margin in margins.items()}
        )
        flags = issues.is_label_issue
        hits = flags[wrong].sum()
        shares = [100 * hits / max(flags.sum(), 1), 100 * hits / wrong.sum()]
        rows[-1]["flags"] = np.array([wrong.sum(), flags.sum(), *shares], dtype=float)
    print(
        name,
        share,
        {
            method: np.mean([row[method] for row in rows], axis=0).round(1)
            for method in rows[0]
        },
        flush=True,
    )
    return {
        method: np.mean([row[method] for row in rows], axis=0) for method in rows[0]
    }


def quality(margin: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return AUC and precision at the true number of errors, in percent."""
    first = np.argsort(margin, kind="stable")[: wrong.sum()]
    return 100 * np.array([roc_auc_score(wrong, -margin), wrong[first].mean()])


# --- tables
# -------------------------------------------------------------------------------------------------------


def summary(found) -> str:
    """Return the means over the data sets, and paired differences to LogisticRegression
    with their standard errors.
    """
    rows = []
    for share in SHARES:
        cells = np.array(
            [[found[name][share][method] for method in METHODS] for name in found]
        )
        gains = cells[:, 0] - cells[:, 1]
        errors = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
        means = [
            " / ".join(f"{value:.1f}" for value in method)
            for method in cells.mean(axis=0)
        ]
        rows.append(
            [
                f"{share:.0%}",
                *means,
                *(
                    f"{g:+.1f} ± {e:.1f}"
                    for g, e in zip(gains.mean(0), errors, strict=True)
                ),
            ]
        )
    header = [
        "wrong",
        *(f"{name}, AUC / precision" for name in METHODS.values()),
        "AUC gain",
        "precision gain",
    ]
    text = (
        "Means over the data sets; gains over the tuned LogisticRegression with their"
        " standard errors, in points."
    )
    return f"## Summary\n\n{text}\n\n{table(header, rows)}"


METHODS = {
    "robust": "find_label_issues",
    "logistic": "LogisticRegression, tuned",
    "in-sample": "in-sample margins",
}


def ranking_table(found, share: float) -> str:
    rows = [
        [
            name,
            *(
                f"{auc:.1f} / {precision:.1f}"
                for auc, precision in (cells[share][method] for method in METHODS)
            ),
        ]
        for name, cells in found.items()
    ]
    return (
        f"## {share:.0%} wrong labels\n\nAUC /"
        f" precision.\n\n{table(['data', *METHODS.values()], rows)}"
    )


def flags_table(found) -> str:
    """Return how the flags compare with the truth."""
    rows = []
    for name, cells in found.items():
        for share in SHARES:
            rows.append(
                [
                    f"{name}, {share:.0%}",
                    *(f"{figure:.0f}" for figure in cells[share]["flags"]),
                ]
            )
    header = ["data", "wrong", "flagged", "of them wrong, %", "of the wrong, %"]
    return f"## The flags\n\nMeans over the seeds.\n\n{table(header, rows)}"


if __name__ == "__main__":
    main()
