"""What do a few gross errors among the features do to classifiers with their defaults?

Of 400 rows, one is off by 1,000 deviations in all columns; or 2 % have cells of 100
deviations times a number of Cauchy's distribution; or 1 % of the cells are off by 100
deviations. The errors are in the training rows, and test rows are correct, or the other
way round. Deviations are those of the correct training rows. Empty cells are filled
with medians.
"""

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _common import report, table, use_threads
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler
from sklearn.svm import LinearSVC

from drsvm import ClippedScaler, WassersteinKernelSVC, WassersteinSVC

sys.path.insert(0, str(Path(__file__).parent / "study"))
import cases
from methods import all_figures

DATA = (*cases.DECIDED, *cases.REPORTED)
N_ROWS = 400
MAX_TESTED = 3000
MIN_TESTED = 60
ERRORS = ("clean", *cases.ERRORS)
OURS = "ClippedScaler, WassersteinSVC()"
PLAIN = "StandardScaler, WassersteinSVC()"
REFERENCE = "StandardScaler, LinearSVC()"
METHODS: dict[str, Any] = {
    OURS: make_pipeline(ClippedScaler(), WassersteinSVC()),
    "ClippedScaler, WassersteinKernelSVC()": make_pipeline(
        ClippedScaler(), WassersteinKernelSVC()
    ),
    "ClippedScaler, LinearSVC()": make_pipeline(ClippedScaler(), LinearSVC()),
    PLAIN: make_pipeline(StandardScaler(), WassersteinSVC()),
    REFERENCE: make_pipeline(StandardScaler(), LinearSVC()),
    "StandardScaler, LogisticRegression()": make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1000)
    ),
    "RobustScaler, LinearSVC()": make_pipeline(RobustScaler(), LinearSVC()),
    "RandomForestClassifier()": RandomForestClassifier(random_state=0),
}


# --- cases
# --------------------------------------------------------------------------------------------------------


def measured(name: str, seed: int) -> np.ndarray:
    """Return accuracy, balanced accuracy, AUC and the share of the larger class: by
    place, error and method.
    """
    warnings.simplefilter("ignore")
    X, y = cases.rows_of(name)
    size = min(
        N_ROWS,
        (
            max(len(y) - MIN_TESTED, int(0.62 * len(y)))
            if len(y) < N_ROWS + MIN_TESTED
            else N_ROWS
        ),
    )
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=size, stratify=y, random_state=seed
    )
    X_test = X_test[:MAX_TESTED]
    y_test = y_test[:MAX_TESTED]
    before = StandardScaler().fit(X)
    X = before.transform(X)
    X_test = before.transform(X_test)
    larger = 100.0 * max(y_test.mean(), 1.0 - y_test.mean())
    found = np.zeros((2, len(ERRORS), len(METHODS), 4))
    for k, method in enumerate(METHODS.values()):
        correct = clone(method).fit(X, y)
        for e, error in enumerate(ERRORS):
            model = clone(method).fit(
                cases.with_errors(X, error, np.random.default_rng([seed, e])), y
            )
            spoilt = cases.with_errors(
                X_test, error, np.random.default_rng([seed, e, 1])
            )
            found[0, e, k] = *all_figures(model, X_test, y_test), larger
            found[1, e, k] = *all_figures(correct, spoilt, y_test), larger
    return found


# --- report
# -------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--name", default="gross_errors", help="of the file in results/"
    )
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    options = parser.parse_args()
    use_threads(1)
    runs = [(name, seed) for name in options.data for seed in range(options.seeds)]
    outcomes = np.array(
        Parallel(n_jobs=options.jobs)(delayed(measured)(*run) for run in runs)
    )
    by_data = outcomes.reshape(
        len(options.data), options.seeds, *outcomes.shape[1:]
    ).mean(axis=1)
    intro = (
        f"{len(options.data)} data sets, {options.seeds} seeds:"
        f" {', '.join(options.data)}."
    )
    sections = [__doc__.split("\n\n", 1)[1].strip(), intro]
    for place, title in enumerate(
        ("Errors in the training rows", "Errors in the test rows")
    ):
        sections.append(f"## {title}\n\n{means_table(by_data[:, place])}")
        sections.append(worst_table(by_data[:, place], options.data))
    sections.append(
        "## Every data set, errors in the training"
        f" rows\n\n{data_table(by_data[:, 0], options.data)}"
    )
    report(options.name, "Gross errors", sections)


def means_table(found) -> str:
    rows = [
        [
            name,
            *(
                " / ".join(f"{value:.1f}" for value in found[:, e, k, :3].mean(axis=0))
                for e in range(len(ERRORS))
            ),
        ]
        for k, name in enumerate(METHODS)
    ]
    title = "Accuracy / balanced accuracy / AUC in percent, means over the data sets."
    return f"{title}\n\n{table(['method', *ERRORS], rows)}"


def worst_table(found, names) -> str:
    rows = []
    for k, method in enumerate(METHODS):
        leads = found[:, :, k, 0] - found[:, :, k, 3]
        worst = leads.argmin(axis=0)
        rows.append(
            [method, *(f"{leads[w, e]:+.1f} ({names[w]})" for e, w in enumerate(worst))]
        )
    title = (
        "Accuracy minus the share of the larger class in the test rows, in points: the"
        " worst data set."
    )
    return f"{title}\n\n{table(['method', *ERRORS], rows)}"


def data_table(found, names) -> str:
    chosen = [list(METHODS).index(name) for name in (OURS, PLAIN, REFERENCE)]
    rows = [
        [
            name,
            f"{of[0, 0, 3]:.1f}",
            *(
                " / ".join(f"{of[e, k, 0]:.1f}" for k in chosen)
                for e in range(len(ERRORS))
            ),
        ]
        for name, of in zip(names, found, strict=True)
    ]
    title = f"Accuracy of {OURS} / {PLAIN} / {REFERENCE}."
    return f"{title}\n\n{table(['data', 'larger class', *ERRORS], rows)}"


if __name__ == "__main__":
    main()
