"""Certified error where every row may shift by ε in its largest coordinate.

The protocol is that of Andriushchenko and Hein, "Provably robust boosted decision
stumps and trees against adversarial attacks" (NeurIPS 2019): the first 80 % of the rows
are for training, the others for testing; features are scaled to [0, 1] by the range of
the training rows. The error on clean test rows and the certified error, the share of
test rows that some shift of at most ε turns into an error, are in percent.

`WassersteinSVCCV` is trained with row radii of 0 to 1.5 ε and several ridges, `LinearSVC`
with several C and class weights. They are chosen by the certified accuracy of five
stratified folds of the training rows, drawn ten times. The published models were selected
by their authors. Other tables are given by files with numbers, the label in the last
column.
"""

import argparse
import math
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).parent.parent))  # where _common is
from _common import (
    data_file,
    interleaved,
    load,
    report,
    table,
    use_clock,
    use_threads,
)

from drsvm import (
    Problem,
    WassersteinSVC,
    WassersteinSVCCV,
    certified_accuracy,
    certified_scorer,
    solve,
)

TABLES = {"rows-breast-cancer": 0.3, "rows-diabetes": 0.05}
PUBLISHED = {
    "rows-breast-cancer": {
        "Chen's robust stumps": (8.8, 16.8),
        "robust stumps": (5.1, 10.9),
        "adversarial trees": (0.0, 27.0),
        "Chen's robust trees": (0.7, 13.1),
        "robust trees": (0.7, 6.6),
    },
    "rows-diabetes": {
        "Chen's robust stumps": (23.4, 30.5),
        "robust stumps": (27.3, 31.8),
        "adversarial trees": (26.6, 46.8),
        "Chen's robust trees": (22.1, 40.3),
        "robust trees": (27.3, 35.7),
    },
}
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
RIDGES = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
CHOSEN = {
    "LinearSVC": ("C", "class_weight"),
    "WassersteinSVCCV": ("row_radius", "l2"),
}
# The radii with which time is measured
SHIFT = 0.05
# The average shift plays next to no part here.
RADIUS = 1e-6


def rows_of(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels; rows with "?" are left out, and a header is."""
    lines = np.loadtxt(file, dtype=str, delimiter=",")
    if not _is_number(lines[0, -1]):
        lines = lines[1:]
    cells = lines[~(lines == "?").any(axis=1)].astype(float)
    return cells[:, :-1], cells[:, -1]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def errors(model, X, y, radius: float) -> list[str]:
    """Return the error and the certified error in percent."""
    clean = 100.0 * (1.0 - model.score(X, y))
    certified = certified_accuracy(model, X, y, radius, norm=math.inf)
    return [f"{clean:.1f}", f"{100.0 * (1.0 - certified):.1f}"]


def compared(file: Path, radius: float, n_jobs: int) -> list[list[str]]:
    """Return a row for every model on a table."""
    X, y = rows_of(file)
    n_train = int(0.8 * len(y))
    low = X[:n_train].min(axis=0)
    span = np.ptp(X[:n_train], axis=0)
    X = (X - low) / np.where(span > 0.0, span, 1.0)
    train = X[:n_train], y[:n_train]
    test = X[n_train:], y[n_train:]
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=10, random_state=0)
    scorer = certified_scorer(radius, norm=math.inf)
    models = {
        "LinearSVC": GridSearchCV(
            LinearSVC(dual=False),
            {"C": np.logspace(-5, 2, 8), "class_weight": [None, "balanced"]},
            scoring=scorer,
            cv=folds,
            n_jobs=n_jobs,
        ),
        "WassersteinSVCCV": WassersteinSVCCV(
            [RADIUS],
            norms=math.inf,
            l2=RIDGES,
            intercept_costs=math.inf,
            row_radius=radius * np.array(SHARES),
            threshold="optimum",
            cv=folds,
            scoring=scorer,
            selection="best",
            n_jobs=n_jobs,
        ),
    }
    rows = []
    for name, model in models.items():
        with warnings.catch_warnings():
            # Large radii make constant classifiers.
            warnings.simplefilter("ignore")
            model.fit(*train)
        found = []
        for key in CHOSEN[name]:
            value = model.best_params_[key]
            found.append(
                f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
            )
        name = f"{name}, by certified accuracy"
        rows.append([name, *errors(model, *test, radius), ", ".join(found)])
    # An average shift of the same size, which is another question
    average = WassersteinSVC(radius, norm=math.inf, l2=0.0, threshold="optimum")
    rows.append(
        ["WassersteinSVC(radius=ε)", *errors(average.fit(*train), *test, radius), ""]
    )
    return rows


def cost_rows() -> list[list[str]]:
    """Return how long problems with row radii take, relative to those without."""
    tables = {}
    for n, d in ((400, 30), (2000, 50)):
        rng = np.random.default_rng(0)
        y = np.where(np.arange(n) % 2, 1, -1)
        X = rng.normal(size=(n, d)) + 0.3 * y[:, None]
        tables[f"{n} × {d}"] = X, np.where(rng.uniform(size=n) < 0.1, -y, y)
    if data_file("a9a") is not None:
        tables["a9a"] = load("a9a")
    rows = []
    for name, (X, y) in tables.items():
        radii = np.random.default_rng(0).uniform(0.0, 2.0 * SHIFT, len(y))
        for norm in (1, 2, math.inf):
            ball = {"radius": SHIFT, "norm": norm, "l2": 1e-3}
            given = {"flip_cost": math.inf, "fit_intercept": True, **ball}
            without = Problem(X, y, **given)
            calls = {}
            for column, row_radius in (("0", 0.0), ("1", SHIFT), ("n", radii)):
                problem = without.replace(row_radius=row_radius)
                calls[f"solve {column}"] = partial(solve, problem)
                fit = WassersteinSVC(**ball).fit
                calls[f"fit {column}"] = partial(fit, X, y, row_radius=row_radius)
            times = interleaved(calls, 5 if name == "a9a" else 25)
            cells = [name, str(norm)]
            for what in ("solve", "fit"):
                base = times[f"{what} 0"].seconds
                cells.append(f"{1000.0 * base:.1f}")
                for column in "1n":
                    cells.append(f"{times[f'{what} {column}'].seconds / base:.2f}")
            rows.append(cells)
    return rows


def report_cost() -> None:
    use_clock("cpu")
    header = ["data", "norm", "`solve`, ms", "one radius", "one per row"]
    header += ["`fit`, ms", "one radius", "one per row"]
    sections = [
        f"An average radius of {SHIFT} alone, in milliseconds of processor time "
        "(medians of alternating runs), and the factors by which row radii of the same "
        "mean make that longer; l2 = 0.001.",
        table(header, cost_rows()),
    ]
    report("certified_rows-cost", "The cost of row radii", sections)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="*", type=Path, default=[], help="files")
    parser.add_argument("--radius", type=float, default=0.05, help="ε for these files")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--cost", action="store_true", help="measure time instead")
    options = parser.parse_args()
    use_threads(1)
    if options.cost:
        report_cost()
        return
    sections = [__doc__.split("\n\n", 1)[1].strip()]
    header = ["model", "error", "certified error", "chosen"]
    plans = [(data_file(name), radius) for name, radius in TABLES.items()]
    plans += [(file, options.radius) for file in options.tables]
    for file, radius in plans:
        if file is None:
            continue
        name = file.name.partition(".")[0]
        rows = compared(file, radius, options.jobs)
        for model, (clean, certified) in PUBLISHED.get(name, {}).items():
            rows.append([f"{model}, published", f"{clean}", f"{certified}", ""])
        sections += [f"## {name}, ε = {radius:g}", table(header, rows)]
    report("certified_rows", "Certified error of rows that may each shift", sections)


if __name__ == "__main__":
    main()
