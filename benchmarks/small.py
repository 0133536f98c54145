"""What a fit, a cross-validation and a prediction cost on small data, against LinearSVC
and its grid search.

Two classes on either side of a plane, with noise; 5 % of the labels are wrong.
w1a are its first 1,000 rows, if the data are there. `versions.py --tables small`
compares two versions of drsvm on the same cases.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from _common import (
    Timing,
    data_file,
    interleaved,
    load,
    report,
    short,
    table,
    usable_cores,
    use_threads,
)
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from drsvm import WassersteinSVC, WassersteinSVCCV, find_label_issues

REPEATS = 15
FEW = 3
GRID = {"C": np.logspace(-4, 3, 8).tolist(), "class_weight": [None, "balanced"]}
GIVEN = "WassersteinSVC(0.1, l2=0.01)"
RADIUS = "WassersteinSVC(0.1)"
AUTO = "WassersteinSVC()"
RIVAL = "LinearSVC()"
SEARCH = "WassersteinSVCCV()"
ISSUES = "find_label_issues"
FIVE_FITS = "five fits"
PREDICT = "predict, 100 × one row"
RIVAL_PREDICTS = "LinearSVC, 100 × one row"


class Group(NamedTuple):
    """Calls that take turns, and which of drsvm's are compared with which other one, or
    with none.
    """

    data: str
    calls: dict[str, Callable[[], Any]]
    pairs: list[tuple[str, str | None]]
    is_long: bool = False

    @property
    def own(self) -> dict[str, Callable[[], Any]]:
        """The calls of drsvm."""
        return {name: self.calls[name] for name, _ in self.pairs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeats",
        type=int,
        default=REPEATS,
        help="runs of each call; the median counts",
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{FEW} repeats, without the long calls"
    )
    options = parser.parse_args()
    rows = []
    for group in groups():
        if options.quick and group.is_long:
            continue
        print(f"{group.data}: {', '.join(group.calls)} …", flush=True)
        repeats = FEW if options.quick or group.is_long else options.repeats
        rows += rows_of(group, interleaved(group.calls, repeats))
    sections = [
        (
            f"Medians of {FEW if options.quick else options.repeats} calls that take"
            f" turns ({FEW} of long ones), in milliseconds. BLAS has one thread, as"
            f" LinearSVC; drsvm has {usable_cores()} cores for fits in folds."
            " LinearSVC and the grid search, over 8 values of C and 2 class weights in"
            " 5 folds, have scikit-learn's defaults; neither is robust or proves"
            " anything."
        ),
        table(["data", "call", "ms", "compared with", "ms", "ratio"], rows),
    ]
    report("small-quick" if options.quick else "small", "Small data", sections)


def rows_of(group: Group, timings: dict[str, Timing]) -> list[list[object]]:
    """Return the lines of the table for a group."""
    rows: list[list[object]] = []
    for own, other in group.pairs:
        mine = timings[own].seconds
        compared = ["–", "–", "–"]
        if other is not None:
            theirs = timings[other].seconds
            compared = [other, short(1000 * theirs), f"**{short(mine / theirs)}**"]
        rows.append([group.data, own, short(1000 * mine), *compared])
    return rows


# --- cases
# --------------------------------------------------------------------------------------------------------


def groups() -> Iterator[Group]:
    """Yield what is timed."""
    small = dense_rows(400, 30)
    dense = dense_rows(2_000, 50)
    text = sparse_rows(1_000, 300)
    yield fits("400 × 30", *small)
    yield fits("2,000 × 50", *dense)
    yield fits("1,000 × 300, 4 % nonzero", *text)
    if data_file("w1a") is not None:
        X, y = load("w1a")
        yield fits("w1a, 1,000 × 300", X[:1000], y[:1000])
    yield fits("150 × 2,000", *dense_rows(150, 2_000))
    yield predictions("400 × 30", *small)
    yield searches("400 × 30", *small)
    yield label_issues("400 × 30", *small)
    yield label_issues("20,000 × 50", *dense_rows(20_000, 50), is_long=True)
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    yield Group(
        "digits, ten classes",
        {SEARCH: lambda: WassersteinSVCCV().fit(X, y)},
        [(SEARCH, None)],
        is_long=True,
    )


def dense_rows(n: int, d: int):
    """Return standard normal rows and their labels."""
    X = np.random.default_rng(0).standard_normal((n, d))
    return X, labels(X)


def sparse_rows(n: int, d: int, density: float = 0.04):
    """Return sparse rows and their labels; the columns have variance 1."""
    random = np.random.default_rng(0)
    drawn = {
        "rng": random,
        "data_sampler": lambda size: random.normal(scale=density**-0.5, size=size),
    }
    X = sparse.random_array((n, d), density=density, format="csr", **drawn)
    return X, labels(X)


def labels(X) -> np.ndarray:
    """Return the side of a plane on which rows lie, up to noise and wrong labels."""
    random = np.random.default_rng(1)
    values = X @ random.standard_normal(X.shape[1])
    values = values / values.std() + 0.3 * random.standard_normal(len(values))
    return np.where(random.random(len(values)) < 0.05, -1, 1) * np.where(
        values > 0, 1, -1
    )


def fits(data: str, X, y) -> Group:
    """Return fits with a given ball, a given radius, and automatic ones."""
    calls = {
        GIVEN: lambda: WassersteinSVC(0.1, l2=0.01).fit(X, y),
        RADIUS: lambda: WassersteinSVC(0.1).fit(X, y),
        AUTO: lambda: WassersteinSVC().fit(X, y),
        RIVAL: lambda: LinearSVC().fit(X, y),
    }
    return Group(data, calls, [(own, RIVAL) for own in (GIVEN, RADIUS, AUTO)])


def predictions(data: str, X, y) -> Group:
    """Return predictions of single rows."""
    own = WassersteinSVC(radius=0.1).fit(X, y)
    other = LinearSVC().fit(X, y)
    calls = {
        PREDICT: lambda: [own.predict(X[:1]) for _ in range(100)],
        RIVAL_PREDICTS: lambda: [other.predict(X[:1]) for _ in range(100)],
    }
    return Group(data, calls, [(PREDICT, RIVAL_PREDICTS)])


def searches(data: str, X, y) -> Group:
    """Return cross-validations over about as many candidates."""
    grid = "GridSearchCV(LinearSVC())"
    calls = {
        SEARCH: lambda: WassersteinSVCCV().fit(X, y),
        grid: lambda: GridSearchCV(LinearSVC(), GRID, cv=5, n_jobs=1).fit(X, y),
    }
    return Group(data, calls, [(SEARCH, grid)])


def label_issues(data: str, X, y, is_long: bool = False) -> Group:
    """Return the search for label issues, and as many fits on as many rows."""
    folds = [train for train, _ in StratifiedKFold().split(X, y)]
    calls = {
        ISSUES: lambda: find_label_issues(X, y),
        FIVE_FITS: lambda: [
            WassersteinSVC().fit(X[train], y[train]) for train in folds
        ],
    }
    return Group(data, calls, [(ISSUES, FIVE_FITS)], is_long)


if __name__ == "__main__":
    use_threads(1)
    warnings.simplefilter("ignore")
    main()
