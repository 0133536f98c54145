"""Seconds of a fit with 1, 2, 4, … threads, up to all cores: synthetic data of three
kinds, and a9a.

The dense cases are two overlapping Gaussians with 5 % wrong labels; the sparse one has
40 nonzeros in every row, whose labels follow a random direction, again with 5 % wrong.
The largest cases run once per number of threads, after two runs that compile the
kernels.

A second table is about dual coordinate ascent on text-like data (`--text ROWS
FEATURES`; `--cases` without a name leaves out the first table): rows are visited by one
thread, and results must be equal bit for bit with any number of threads for the rest of
the work.
"""

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import data_file, load, report, seconds, short, table, usable_cores
from _text import text_like
from scipy import sparse

from drsvm import Problem, solve

ENOUGH = 3.0
"""A case whose first run takes longer than this many seconds is not repeated."""


TEXT_SIZE = (100_000, 1_000_000)

INTERIOR_POINT = (
    "`solve` with the interior point, radius 0.1, flip cost 1, norm 2, to a proven gap"
    " of 1e-6, on an existing Problem, whose own time is in the column Problem. × is"
    " the time with one thread (or the fewest) divided by that with the most."
)

DUAL_COORDINATE = (
    "`solve` with dual coordinate ascent on text-like data, flip cost 1, norm 2, to a"
    " proven gap of 1e-5, the radius in units of the largest one without flips. Median"
    " seconds (epochs); × as above. The number of threads for products and certificates"
    " does not change the result: the column says whether all runs were equal, bit for"
    " bit."
)

TEXT_FRACTIONS = (0.01, 0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument(
        "--threads",
        type=int,
        nargs="+",
        help="numbers of threads (default: 1, 2, 4, …, all cores)",
    )
    parser.add_argument(
        "--repeats", type=int, default=5, help="runs of a short case; the median counts"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the rows, for a quick look"
    )
    parser.add_argument(
        "--text",
        type=int,
        nargs=2,
        default=TEXT_SIZE,
        help="rows and features of the text-like data",
    )
    parser.add_argument(
        "--no-text", action="store_true", help="leave out dual coordinate ascent"
    )
    options = parser.parse_args()
    threads = sorted(set(options.threads or powers_of_two(usable_cores())))
    sections = []
    if options.cases:
        sections = [
            INTERIOR_POINT,
            cores_table(
                [outcome(name, threads, options) for name in options.cases], threads
            ),
        ]
    if not options.no_text:
        sections += [DUAL_COORDINATE, text_table(options, threads)]
    whole = (
        options.scale == 1.0
        and options.cases == list(CASES)
        and tuple(options.text) == TEXT_SIZE
    )
    report(
        "cores" if whole and not options.no_text else "cores-quick",
        "All cores",
        sections,
    )


def powers_of_two(most: int) -> list[int]:
    """Return 1, 2, 4, … and the number of cores."""
    return [*(2**k for k in range(most.bit_length()) if 2**k < most), most]


def outcome(name: str, threads: list[int], options) -> dict[str, Any]:
    """Return the times of a case, and by how much its objectives differ."""
    if name == "a9a" and data_file("a9a") is None:
        return {"name": name, "note": "set DRSVM_DATA"}
    make, n = CASES[name]
    few = Problem(*make(min(n, 20_000)))
    for n_threads in threads[:2]:  # compiles
        solve(few, "interior-point", tol=1e-6, n_threads=n_threads)
    X, y = make(int(options.scale * n))
    building, problem = seconds(lambda: Problem(X, y))
    assert isinstance(problem, Problem)
    # Compiles what few rows do not need
    solve(problem, "interior-point", tol=1e-6, n_threads=threads[-1])
    times = {}
    objectives = []
    iterations = 0
    for n_threads in reversed(threads):
        times[n_threads], result = repeated(problem, n_threads, options.repeats)
        objectives.append(result.objective)
        iterations = result.n_iter
        print(
            f"{name}, {n_threads} threads: {short(times[n_threads])} s,"
            f" {result.status.name}",
            flush=True,
        )
    spread = max(objectives) - min(objectives)
    return {
        "name": name,
        "building": building,
        "times": times,
        "iterations": iterations,
        "spread": spread,
    }


def repeated(problem: Problem, n_threads: int, repeats: int) -> tuple[float, Any]:
    """Return the median time of a few runs, or that of the only one if it is long, and
    the result.
    """
    times = []
    result = None
    while len(times) < repeats and (len(times) == 0 or times[0] < ENOUGH):
        duration, result = seconds(
            lambda: solve(problem, "interior-point", tol=1e-6, n_threads=n_threads)
        )
        times.append(duration)
    return statistics.median(times), result


# --- dual coordinate ascent
# ---------------------------------------------------------------------------------------


def text_table(options, threads: list[int]) -> str:
    """Return the times for each radius, with and without an intercept."""
    n, d = options.text
    X, y = text_like(n, d)
    largest = float(np.linalg.norm(X.T @ (y / n)))
    few = Problem(X[:20_000], y[:20_000], radius=0.1 * largest)
    for intercept in (False, True):  # compiles
        for n_threads in threads[:2]:
            ascent(few.replace(fit_intercept=intercept), n_threads, max_iter=2)
    rows = []
    for fraction in TEXT_FRACTIONS:
        for intercept in (False, True):
            problem = Problem(X, y, radius=fraction * largest, fit_intercept=intercept)
            figures = text_row(problem, threads, options.repeats)
            rows.append([f"{fraction:g}", "yes" if intercept else "no", *figures])
            print(*rows[-1], flush=True)
    header = [
        "radius",
        "intercept",
        *(f"{count} s" for count in threads),
        "×",
        "equal",
        "largest gap",
    ]
    return f"{n:,} × {d:,} rows, {X.nnz:,} entries.\n\n" + table(header, rows)


def text_row(problem: Problem, threads: list[int], repeats: int) -> list[str]:
    """Return seconds and epochs by number of threads, the speed-up, whether runs were
    equal, and the largest gap.
    """
    medians = []
    cells = []
    everything = []
    for n_threads in threads:
        runs = [
            seconds(lambda n=n_threads: ascent(problem, n))
            for _ in range(max(repeats, 2))
        ]
        results: list[Any] = [result for _, result in runs]
        medians.append(statistics.median(duration for duration, _ in runs))
        everything += results
        cells.append(f"{short(medians[-1])} ({results[-1].n_iter})")
    equal = all(same_bits(result, everything[0]) for result in everything[1:])
    gap = max(result.gap for result in everything)
    return [
        *cells,
        short(medians[0] / medians[-1]),
        "yes" if equal else "no",
        f"{gap:.1e}",
    ]


def ascent(problem: Problem, n_threads: int, **limits):
    """Return the result of dual coordinate ascent."""
    settings = {"tol": 1e-5, "random_state": 0, "hand_over": False}
    return solve(problem, "dual-coordinate", n_threads=n_threads, **settings, **limits)


def same_bits(one, other) -> bool:
    """Return whether two results are equal, bit for bit."""
    names = ("weights", "hinge_dual", "flip_dual")
    return one.objective == other.objective and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in names
    )


# --- data
# ---------------------------------------------------------------------------------------------------------


def dense(d: int) -> Callable[[int], tuple[Any, np.ndarray]]:
    """Return a function that draws n rows, in pieces so that no temporary array is as
    large as X.
    """

    def draw(n: int):
        random = np.random.default_rng(0)
        X = np.empty((n, d))
        y = np.where(random.random(n) < 0.5, 1.0, -1.0)
        for first in range(0, n, 20_000):
            rows = slice(first, min(first + 20_000, n))
            random.standard_normal(out=X[rows])
            X[rows] += y[rows, None] / np.sqrt(d)
        y[random.random(n) < 0.05] *= -1.0
        return X, y

    return draw


def scattered(n: int):
    """Return rows with 40 nonzeros among 2,000 features: one at random in each of 40
    groups of 50.
    """
    random = np.random.default_rng(0)
    groups = 40
    width = 50
    indices = random.integers(
        0, width, size=(n, groups), dtype=np.int32
    ) + width * np.arange(groups, dtype=np.int32)
    data = random.standard_normal((n, groups))
    direction = random.standard_normal(groups * width)
    y = np.where((data * direction[indices]).sum(axis=1) > 0, 1.0, -1.0)
    y[random.random(n) < 0.05] *= -1.0
    indptr = np.arange(n + 1, dtype=np.int32) * groups
    return (
        sparse.csr_array(
            (data.ravel(), indices.ravel(), indptr), shape=(n, groups * width)
        ),
        y,
    )


def a9a(n: int):
    """Return the data set; it has 32,561 rows."""
    X, y = load("a9a")
    return X[:n], y[:n]


CASES: dict[str, tuple[Callable[[int], tuple[Any, np.ndarray]], int]] = {
    "5,000,000 × 20 dense": (dense(20), 5_000_000),
    "400,000 × 500 dense": (dense(500), 400_000),
    "1,000,000 × 2,000 sparse": (scattered, 1_000_000),
    "a9a": (a9a, 32_561),
}


# --- reporting
# ----------------------------------------------------------------------------------------------------


def cores_table(outcomes: list[dict[str, Any]], threads: list[int]) -> str:
    header = [
        "case",
        "Problem s",
        "iterations",
        *(f"{n} thread{'s' * (n > 1)} s" for n in threads),
        "×",
    ]
    header += ["slower than the best", "objectives differ by"]
    rows = []
    for found in outcomes:
        if "note" in found:
            rows.append([found["name"], found["note"], *[""] * (len(header) - 2)])
            continue
        times = [found["times"][n] for n in threads]
        slower = f"{100 * (times[-1] / min(times) - 1):.0f} %"
        figures = [
            short(found["building"]),
            found["iterations"],
            *map(short, times),
            short(times[0] / times[-1]),
        ]
        rows.append([found["name"], *figures, slower, f"{found['spread']:.1e}"])
    return table(header, rows)


if __name__ == "__main__":
    main()
