"""Where the time of a small fit goes: scikit-learn's checks, steps, certificates, and
the Python in between.
"""

import statistics
import time
from collections import defaultdict
from typing import Any

import numpy as np
from _common import report, short, table, use_threads

from drsvm import WassersteinSVC
from drsvm.compiled import small_interior_point as small_run
from drsvm.defaults import fit_data
from drsvm.estimators import checks
from drsvm.solvers import loop
from drsvm.solvers.interior_point import interior_point_solver as solver
from drsvm.solvers.interior_point.state import InteriorPointState

REPEATS = 50
PARTS: list[tuple[str, Any, str]] = [
    ("checks of rows and labels", checks, "checked_rows"),
    ("problem", fit_data.FitData, "problems"),
    ("start of the run", solver.InteriorPoint, "start"),
    ("steps", small_run, "run"),
    ("steps", InteriorPointState, "step"),
    ("certificates", loop.Incumbent, "certify"),
]
"""Parts of a fit that do not contain each other, and the functions that do them.

Steps are compiled on few rows.
"""


def main() -> None:
    use_threads(None)
    columns = {
        f"{n:,} × {d:,}": times_of_parts(n, d)
        for n, d in ((400, 30), (2000, 50), (150, 2000))
    }
    names = list(next(iter(columns.values())))
    rows = [
        [name, *(short(1e3 * column[name]) for column in columns.values())]
        for name in names
    ]
    report(
        "floor",
        "Parts of a small fit",
        [
            __doc__,
            f"Medians of {REPEATS} fits, in milliseconds.",
            table(["part", *columns], rows),
        ],
    )


def times_of_parts(n: int, d: int) -> dict[str, float]:
    """Return the seconds of every part, of the rest and of the whole fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.sign(X @ rng.normal(size=d) + np.sqrt(d) * rng.normal(size=n))
    model = WassersteinSVC(radius=0.1)
    spent = defaultdict(float)
    fits = []
    model.fit(X, y)
    kept = [(owner, name, getattr(owner, name)) for _, owner, name in PARTS]
    for label, owner, name in PARTS:
        setattr(owner, name, timed(getattr(owner, name), label, spent))
    try:
        for _ in range(REPEATS):
            spent.clear()
            begin = time.perf_counter()
            model.fit(X, y)
            whole = time.perf_counter() - begin
            fits.append(
                {**spent, "the rest": whole - sum(spent.values()), "whole fit": whole}
            )
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)
    labels = dict.fromkeys([*(label for label, _, _ in PARTS), "the rest", "whole fit"])
    return {
        label: statistics.median(fit.get(label, 0.0) for fit in fits)
        for label in labels
    }


def timed(function, label: str, spent: dict[str, float]):
    def call(*arguments, **options):
        begin = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            spent[label] += time.perf_counter() - begin

    return call


if __name__ == "__main__":
    main()
