"""What do a few gross errors among the features do to classifiers with their defaults?

Of 400 rows, one is wrong in all columns by 1,000 deviations of them, or 2 % lie far away (every cell moved by 100
deviations times a number of Cauchy's distribution), or 1 % of the cells are wrong by 100 deviations, up or down. The
errors are in the training rows, and test rows are correct; or the other way round. Deviations are those of the correct
training rows. Empty cells are filled with medians.
"""

import argparse
import lzma
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _common import _folder, report, table, use_threads
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from drsvm import WassersteinSVC

sys.path.insert(0, str(Path(__file__).parent / "study"))
import cases
from methods import all_figures

FILES = ("a1a", "w1a", "german.numer", "splice", "spambase", "ijcnn1")
TABLES = {name: "label" for name in ("wilt", "phoneme", "magic04", "jm1", "arrhythmia", "electricity", "mammography")}
TABLES |= {"titanic": "survived", "adult": "class"}  # of these, columns of numbers
DATA = (*FILES, *TABLES, "breast_cancer", "wine", "digits, odd or even")
N_ROWS, MOST_TESTED, LEAST_TESTED = 400, 3000, 60
OURS, REFERENCE = "StandardScaler, WassersteinSVC()", "StandardScaler, LinearSVC()"


def standardised(classifier: Any) -> Callable[[], Any]:
    return lambda: make_pipeline(StandardScaler(), clone(classifier))


def clipped(classifier: Any) -> Callable[[], Any]:
    from drsvm import ClippedScaler  # pyright: ignore[reportAttributeAccessIssue]

    return lambda: make_pipeline(ClippedScaler(), clone(classifier))


METHODS: dict[str, Callable[[], Any]] = {
    OURS: standardised(WassersteinSVC()),
    REFERENCE: standardised(LinearSVC()),
    "StandardScaler, LogisticRegression()": standardised(LogisticRegression(max_iter=1000)),
    "RandomForestClassifier()": lambda: RandomForestClassifier(random_state=0),
}


# --- errors -------------------------------------------------------------------------------------------------------


def one_row(X, deviations, rng) -> np.ndarray:
    wrong = X.copy()
    wrong[rng.integers(len(X))] += 1000.0 * deviations
    return wrong


def far_rows(X, deviations, rng) -> np.ndarray:
    wrong, chosen = X.copy(), rng.permutation(len(X))[: max(1, round(0.02 * len(X)))]
    wrong[chosen] += 100.0 * deviations * rng.standard_cauchy((len(chosen), X.shape[1]))
    return wrong


def cells(X, deviations, rng) -> np.ndarray:
    moves = np.where(rng.random(X.shape) < 0.01, rng.choice([-100.0, 100.0], X.shape), 0.0)
    return X + moves * deviations


ERRORS: dict[str, Callable] = {
    "clean": lambda X, deviations, rng: X,
    "one row by 1,000": one_row,
    "2 % of rows far": far_rows,
    "1 % of cells by 100": cells,
}


# --- data and cases -----------------------------------------------------------------------------------------------


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return X (dense) and the codes of the labels."""
    if name not in TABLES:
        return cases.rows_of(name)
    import pandas as pd

    with lzma.open(f"{_folder('DRSVM_DATA', 'data')}/{name}.csv.xz") as file:
        frame = pd.read_csv(file)
    y = np.unique(frame.pop(TABLES[name]), return_inverse=True)[1]
    return frame.select_dtypes("number").to_numpy(dtype=float), y


def measured(name: str, seed: int) -> np.ndarray:
    """Return accuracy, balanced accuracy, AUC and the share of the larger class: by place, error and method."""
    warnings.simplefilter("ignore")
    X, y = rows_of(name)
    size = min(N_ROWS, max(len(y) - LEAST_TESTED, int(0.62 * len(y))) if len(y) < N_ROWS + LEAST_TESTED else N_ROWS)
    X, X_test, y, y_test = train_test_split(X, y, train_size=size, stratify=y, random_state=seed)
    X_test, y_test = X_test[:MOST_TESTED], y_test[:MOST_TESTED]
    imputer = SimpleImputer(strategy="median").fit(X)
    X, X_test = imputer.transform(X), imputer.transform(X_test)
    larger, deviations = 100.0 * max(y_test.mean(), 1.0 - y_test.mean()), X.std(axis=0)
    found = np.zeros((2, len(ERRORS), len(METHODS), 4))
    for k, make in enumerate(METHODS.values()):
        correct = None
        for e, spoil in enumerate(ERRORS.values()):
            model = make().fit(spoil(X, deviations, np.random.default_rng([seed, e])), y)
            correct = model if correct is None else correct
            spoilt = spoil(X_test, deviations, np.random.default_rng([seed, e, 1]))
            found[0, e, k] = *all_figures(model, X_test, y_test), larger
            found[1, e, k] = *all_figures(correct, spoilt, y_test), larger
    return found


# --- report -------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--name", default="gross_errors", help="of the file in results/")
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    options = parser.parse_args()
    use_threads(1)
    runs = [(name, seed) for name in options.data for seed in range(options.seeds)]
    outcomes = np.array(Parallel(n_jobs=options.jobs)(delayed(measured)(*run) for run in runs))
    by_data = outcomes.reshape(len(options.data), options.seeds, *outcomes.shape[1:]).mean(axis=1)
    intro = f"{len(options.data)} data sets, {options.seeds} seeds: {', '.join(options.data)}."
    sections = [__doc__.split("\n\n", 1)[1].strip(), intro]
    for place, title in enumerate(("Errors in the training rows", "Errors in the test rows")):
        sections.append(f"## {title}\n\n{means_table(by_data[:, place])}")
        sections.append(worst_table(by_data[:, place], options.data))
    sections.append(f"## Every data set, errors in the training rows\n\n{data_table(by_data[:, 0], options.data)}")
    report(options.name, "Gross errors", sections)


def means_table(found) -> str:
    rows = [
        [name, *(" / ".join(f"{value:.1f}" for value in found[:, e, k, :3].mean(axis=0)) for e in range(len(ERRORS)))]
        for k, name in enumerate(METHODS)
    ]
    title = "Accuracy / balanced accuracy / AUC in percent, means over the data sets."
    return f"{title}\n\n{table(['method', *ERRORS], rows)}"


def worst_table(found, names) -> str:
    rows = []
    for k, method in enumerate(METHODS):
        leads = found[:, :, k, 0] - found[:, :, k, 3]
        worst = leads.argmin(axis=0)
        rows.append([method, *(f"{leads[w, e]:+.1f} ({names[w]})" for e, w in enumerate(worst))])
    title = "Accuracy minus the share of the larger class in the test rows, in points: the worst data set."
    return f"{title}\n\n{table(['method', *ERRORS], rows)}"


def data_table(found, names) -> str:
    chosen = [list(METHODS).index(name) for name in (OURS, REFERENCE)]
    rows = [
        [name, f"{of[0, 0, 3]:.1f}", *(" / ".join(f"{of[e, k, 0]:.1f}" for k in chosen) for e in range(len(ERRORS)))]
        for name, of in zip(names, found, strict=True)
    ]
    title = f"Accuracy of {OURS} / {REFERENCE}."
    return f"{title}\n\n{table(['data', 'larger class', *ERRORS], rows)}"


if __name__ == "__main__":
    main()
