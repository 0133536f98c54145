"""Seconds of a fit with 1, 2, 4, … threads, up to all cores: synthetic data of three kinds, and a9a.

The dense cases are two overlapping Gaussians with 5 % wrong labels; the sparse one has 40 nonzeros in every row, whose
labels follow a random direction, again with 5 % wrong. The largest cases run once per number of threads, after two runs
that compile the kernels.
"""

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import data_file, load, report, seconds, short, table, usable_cores
from scipy import sparse

from drsvm import Problem, solve

ENOUGH = 3.0
"""A case whose first run takes longer than this many seconds is not repeated."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--threads", type=int, nargs="+", help="numbers of threads (default: 1, 2, 4, …, all cores)")
    parser.add_argument("--repeats", type=int, default=5, help="runs of a short case; the median counts")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows, for a quick look")
    options = parser.parse_args()
    threads = sorted(set(options.threads or powers_of_two(usable_cores())))
    sections = [
        "`solve` with the interior point, radius 0.1, flip cost 1, norm 2, to a proven gap of 1e-6, on an existing "
        "Problem, whose own time is in the column Problem. × is the time with one thread (or the fewest) divided by "
        "that with the most.",
    ]
    sections.append(cores_table([outcome(name, threads, options) for name in options.cases], threads))
    report("cores" if options.scale == 1.0 else "cores-quick", "All cores", sections)


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
    solve(problem, "interior-point", tol=1e-6, n_threads=threads[-1])  # compiles what few rows do not need
    times, objectives, iterations = {}, [], 0
    for n_threads in reversed(threads):
        times[n_threads], result = repeated(problem, n_threads, options.repeats)
        objectives.append(result.objective)
        iterations = result.n_iter
        print(f"{name}, {n_threads} threads: {short(times[n_threads])} s, {result.status.name}", flush=True)
    spread = max(objectives) - min(objectives)
    return {"name": name, "building": building, "times": times, "iterations": iterations, "spread": spread}


def repeated(problem: Problem, n_threads: int, repeats: int) -> tuple[float, Any]:
    """Return the median time of a few runs, or that of the only one if it is long, and the result."""
    times, result = [], None
    while len(times) < repeats and (len(times) == 0 or times[0] < ENOUGH):
        duration, result = seconds(lambda: solve(problem, "interior-point", tol=1e-6, n_threads=n_threads))
        times.append(duration)
    return statistics.median(times), result


# --- data ---------------------------------------------------------------------------------------------------------


def dense(d: int) -> Callable[[int], tuple[Any, np.ndarray]]:
    """Return a function that draws n rows, in pieces so that no temporary array is as large as X."""

    def draw(n: int):
        random = np.random.default_rng(0)
        X, y = np.empty((n, d)), np.where(random.random(n) < 0.5, 1.0, -1.0)
        for first in range(0, n, 20_000):
            rows = slice(first, min(first + 20_000, n))
            random.standard_normal(out=X[rows])
            X[rows] += y[rows, None] / np.sqrt(d)
        y[random.random(n) < 0.05] *= -1.0
        return X, y

    return draw


def scattered(n: int):
    """Return rows with 40 nonzeros among 2,000 features: one at random in each of 40 groups of 50."""
    random = np.random.default_rng(0)
    groups, width = 40, 50
    indices = random.integers(0, width, size=(n, groups), dtype=np.int32) + width * np.arange(groups, dtype=np.int32)
    data = random.standard_normal((n, groups))
    direction = random.standard_normal(groups * width)
    y = np.where((data * direction[indices]).sum(axis=1) > 0, 1.0, -1.0)
    y[random.random(n) < 0.05] *= -1.0
    indptr = np.arange(n + 1, dtype=np.int32) * groups
    return sparse.csr_array((data.ravel(), indices.ravel(), indptr), shape=(n, groups * width)), y


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


# --- reporting ----------------------------------------------------------------------------------------------------


def cores_table(outcomes: list[dict[str, Any]], threads: list[int]) -> str:
    header = ["case", "Problem s", "iterations", *(f"{n} thread{'s' * (n > 1)} s" for n in threads), "×"]
    header += ["slower than the best", "objectives differ by"]
    rows = []
    for found in outcomes:
        if "note" in found:
            rows.append([found["name"], found["note"], *[""] * (len(header) - 2)])
            continue
        times = [found["times"][n] for n in threads]
        slower = f"{100 * (times[-1] / min(times) - 1):.0f} %"
        figures = [short(found["building"]), found["iterations"], *map(short, times), short(times[0] / times[-1])]
        rows.append([found["name"], *figures, slower, f"{found['spread']:.1e}"])
    return table(header, rows)


if __name__ == "__main__":
    main()
