"""Where the time of a small fit goes: scikit-learn's checks, the rules for radius and
ridge, the choice by folds, the solution, and what comes after it.
"""

import statistics
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from _common import data_file, load, report, short, table, use_threads
from small import dense_rows

from drsvm import WassersteinSVC
from drsvm.compiled import small_interior_point as small_run
from drsvm.defaults import binary_problems, fit_data, regularisation
from drsvm.estimators import base, checks, linear

REPEATS = 50
Part = tuple[str, Any, str]
PARTS: list[Part] = [
    ("checks of rows and labels", checks, "checked_rows"),
    ("gross errors", linear, "without_gross_errors"),
    ("problem", fit_data.FitData, "problems"),
    ("rows at their centre", binary_problems, "at_centre"),
    ("rules", regularisation, "_by_rule"),
    ("rows and folds of the choice", fit_data.FitData, "rows_to_judge"),
    ("choice by folds", regularisation, "scaled_by_folds"),
    ("solution", linear, "solve_problems"),
    ("decisions without a row", fit_data.FitData, "out_of_fold"),
    ("threshold", base, "choose_threshold"),
]
"""Parts of a fit that do not contain each other, and the functions that do them."""

STEPS: Part = ("steps", small_run, "run")
"""The compiled steps of interior points, which several of these parts take.

They do not count there, but as parts of their own.
"""


def main() -> None:
    use_threads(1)
    warnings.simplefilter("ignore")
    columns = {}
    for name, X, y in data():
        for parameters in ({"radius": 0.1}, {}):
            model = WassersteinSVC(**parameters)
            columns[f"{name}, {model}"] = times_of_parts(model, X, y)
    names = []
    for column in columns.values():
        names += [name for name in column if name not in names]
    rows = []
    for name in names:
        times = [short(1e3 * column.get(name, 0.0)) for column in columns.values()]
        rows.append([name, *times])
    report(
        "floor",
        "Parts of a small fit",
        [
            __doc__,
            f"Medians of {REPEATS} fits, in milliseconds of the processor. “steps” are"
            " the compiled steps of a part, which the part itself does not count.",
            table(["part", *columns], rows),
        ],
    )


def data() -> Iterator[tuple[str, Any, Any]]:
    """Yield names, rows and labels."""
    for n, d in ((400, 30), (2_000, 50), (150, 2_000)):
        yield f"{n:,} × {d:,}", *dense_rows(n, d)
    if data_file("w1a") is not None:
        X, y = load("w1a")
        yield "w1a, 1,000 × 300", X[:1000], y[:1000]


def times_of_parts(model: WassersteinSVC, X, y) -> dict[str, float]:
    """Return the seconds of every part, of the rest and of the whole fit."""
    model.fit(X, y)
    clock = Clock()
    parts = [*PARTS, STEPS]
    kept = [(owner, name, getattr(owner, name)) for _, owner, name in parts]
    for label, owner, name in parts:
        setattr(owner, name, clock.timed(getattr(owner, name), label))
    fits = []
    try:
        for _ in range(REPEATS):
            clock.spent.clear()
            begin = time.process_time()
            model.fit(X, y)
            whole = time.process_time() - begin
            rest = whole - sum(clock.spent.values())
            fits.append({**clock.spent, "the rest": rest, "whole fit": whole})
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)
    medians = {}
    for label in fits[0]:
        medians[label] = statistics.median(fit.get(label, 0.0) for fit in fits)
    return medians


class Clock:
    """What has been spent on each part."""

    def __init__(self):
        self.spent: dict[str, float] = defaultdict(float)
        self.part = ""
        self.steps = 0.0

    def timed(self, function: Callable, label: str) -> Callable:
        """Return a function that counts its time."""

        def steps(*arguments):
            # Two folds may take steps at the same time.
            begin = time.thread_time()
            try:
                return function(*arguments)
            finally:
                seconds = time.thread_time() - begin
                self.steps += seconds
                self.spent[f"{self.part}: {label}"] += seconds

        def part(*arguments, **options):
            # Parts do not contain each other, but a function may be used by two.
            if self.part:
                return function(*arguments, **options)
            self.part = label
            self.steps = 0.0
            begin = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                seconds = time.process_time() - begin
                self.spent[label] += seconds - self.steps
                self.part = ""

        return steps if label == STEPS[0] else part


if __name__ == "__main__":
    main()
