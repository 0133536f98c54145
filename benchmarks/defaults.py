"""Accuracy without tuning and with cross-validation, compared with LinearSVC, with correct and wrong training labels.

Means over stratified splits, in percentage points of accuracy on a test set with correct labels. The features are
standardised on the training set. A wrong label is drawn uniformly from the other classes; the cross-validation folds
come from the training set, so their labels are wrong too.
"""

import argparse
import warnings

import numpy as np
from _common import load, report, table, use_threads
from _selection import RULES, chosen_candidates
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from drsvm import WassersteinSVC

WRONG = 0.35
TUNED_ROWS = 400
FRESH = 200
"""First seed of the splits that were not used to design the selection rules."""
BUILT_IN = {"breast_cancer": load_breast_cancer, "digits": load_digits, "wine": load_wine, "iris": load_iris}
FILES = ("a1a", "a9a", "ijcnn1")
SCAN_RADII, SCAN_FLIP_COSTS = (0.02, 0.05, 0.1, 0.2), (2.0, 5.0, np.inf)

UNTUNED = {
    "LinearSVC": lambda: LinearSVC(random_state=0),
    "default": lambda: WassersteinSVC(tol=1e-6),
    "radius auto": lambda: WassersteinSVC(radius="auto", tol=1e-6),
    "class_weight balanced": lambda: WassersteinSVC(class_weight="balanced", tol=1e-6),
    "plain one-vs-rest": lambda: OneVsRestClassifier(WassersteinSVC(tol=1e-6)),
}


def main() -> None:
    options = parse_options()
    use_threads(1)
    sections = [__doc__.split("\n\n", 1)[1].strip()]
    sections += untuned(options.splits)
    sections += [scan(options.scan_splits)] if options.scan_splits else []
    sections += tuned(options.cv_splits) if options.cv_splits else []
    report("defaults-quick" if options.quick else "defaults", "Defaults and cross-validation", sections)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10, help="splits without tuning")
    parser.add_argument("--scan-splits", type=int, default=4, help="splits of the scan of radii and flip costs")
    parser.add_argument("--cv-splits", type=int, default=5, help="splits with cross-validation")
    parser.add_argument("--quick", action="store_true", help="two splits, no cross-validation")
    options = parser.parse_args()
    if options.quick:
        options.splits, options.scan_splits, options.cv_splits = 2, 0, 0
    return options


# --- data ---------------------------------------------------------------------------------------------------------


def rows_of(name: str):
    """Return X (dense) and y; for large files, a part that leaves enough rows for testing."""
    if name in BUILT_IN:
        return BUILT_IN[name](return_X_y=True)
    X, y = load(name)
    part = np.random.default_rng(0).permutation(len(y))[:3400]
    return X[part].toarray(), y[part]


def splits(name: str, wrong: float, n_splits: int, most: int | None = None, first: int = 0):
    """Yield training sets of 70 % of the rows, at most `most`, and test sets of the rest; `first` is the first seed."""
    X, y = rows_of(name)
    size = int(0.7 * len(y))
    size = min(size, TUNED_ROWS if name in FILES else size, most or size)
    for seed in range(first, first + n_splits):
        X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=size, stratify=y, random_state=seed)
        scaler = StandardScaler().fit(X_train)
        labels = with_wrong_labels(y_train, wrong, np.random.default_rng(seed))
        yield scaler.transform(X_train), labels, scaler.transform(X_test), y_test


def with_wrong_labels(y, share: float, rng):
    """Return the labels, each wrong with a given probability."""
    classes, codes = np.unique(y, return_inverse=True)
    offsets = rng.integers(1, len(classes), size=len(y))
    return classes[np.where(rng.random(len(y)) < share, (codes + offsets) % len(classes), codes)]


def score(model, split) -> float:
    X, y, X_test, y_test = split
    return 100.0 * model.fit(X, y).score(X_test, y_test)


# --- without tuning -----------------------------------------------------------------------------------------------


def untuned(n_splits: int) -> list[str]:
    sections = ["## Without tuning", f"{n_splits} splits. LinearSVC in percent, the others in points above it."]
    for wrong in (0.0, WRONG):
        rows = []
        for name in (*BUILT_IN, *FILES):
            parts = list(splits(name, wrong, n_splits))
            means = [np.mean([score(make(), part) for part in parts]) for make in UNTUNED.values()]
            rows.append([name, f"{means[0]:.2f}", *(f"{mean - means[0]:+.2f}" for mean in means[1:])])
            print(rows[-1], flush=True)
        sections += [f"### {wrong:.0%} wrong labels", table(["data", *UNTUNED], rows)]
    return sections


def scan(n_splits: int) -> str:
    """Return the results for other radii and flip costs."""
    rows = []
    for name in (*BUILT_IN, *FILES):
        for wrong in (0.0, WRONG):
            parts = list(splits(name, wrong, n_splits, most=TUNED_ROWS))
            base = np.mean([score(LinearSVC(random_state=0), part) for part in parts])
            models = [WassersteinSVC(r, k, tol=1e-4) for k in SCAN_FLIP_COSTS for r in SCAN_RADII]
            gains = [np.mean([score(model, part) for part in parts]) - base for model in models]
            rows.append([f"{name}, {wrong:.0%} wrong", *(f"{gain:+.1f}" for gain in gains)])
            print(rows[-1], flush=True)
    header = ["data", *(f"{r:g} / {k:g}" for k in SCAN_FLIP_COSTS for r in SCAN_RADII)]
    text = f"{n_splits} splits with at most {TUNED_ROWS} training rows; points above LinearSVC for radius / flip cost."
    return f"### Other radii and flip costs\n\n{text}\n\n{table(header, rows)}"


# --- with cross-validation ----------------------------------------------------------------------------------------


def tuned(n_splits: int) -> list[str]:
    sections = [
        "## With cross-validation",
        f"{n_splits} splits with at most {TUNED_ROWS} training rows; five stratified folds, the same for all. "
        "LinearSVC with the best of 15 values of C from 1e-5 to 100, in percent; constant: the share of the largest "
        "class; the others: WassersteinSVCCV in points above LinearSVC, by score and selection rule.",
    ]
    for wrong in (0.0, WRONG):
        rows = []
        for name in (*BUILT_IN, *FILES):
            parts = splits(name, wrong, n_splits, TUNED_ROWS, FRESH)
            found = np.mean([tuned_scores(part) for part in parts], axis=0)
            rows.append([name, *found])
            print(name, wrong, found.round(2).tolist(), flush=True)
        rows.append(["mean", *np.mean([row[1:] for row in rows], axis=0)])
        printed = [
            [name, *(f"{v:.2f}" for v in values[:2]), *(f"{v:+.2f}" for v in values[2:])] for name, *values in rows
        ]
        header = ["data", "LinearSVC", "constant", *(rule.name for rule in RULES)]
        sections += [f"### {wrong:.0%} wrong labels", table(header, printed)]
    return sections


def tuned_scores(part) -> list[float]:
    """Return the accuracies of the tuned LinearSVC and of a constant, and the gain of each rule."""
    X, y, _, y_test = part
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    search = GridSearchCV(LinearSVC(random_state=0, dual=False), {"C": np.logspace(-5, 2, 15)}, cv=folds)
    base = score(search, part)
    fitted: dict[str, float] = {}
    gains = []
    for params in chosen_candidates(X, y, folds):
        if str(params) not in fitted:
            fitted[str(params)] = score(WassersteinSVC(**params, tol=1e-6), part)
        gains.append(fitted[str(params)] - base)
    constant = 100.0 * max(np.unique(y_test, return_counts=True)[1]) / len(y_test)
    return [base, constant, *gains]


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    main()
