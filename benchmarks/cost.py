"""Time and memory for growing numbers of rows: both should grow linearly.

Dense synthetic data with 20 features: two overlapping Gaussians, 5 % of the labels
wrong. Every size runs in a separate process, because the peak memory of a process never
decreases.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
from _common import report, seconds, short, table

N_FEATURES = 20
MEGABYTE = 1e6


def main() -> None:
    options = parse_options()
    if options.measure:
        print(json.dumps(measure(options.measure, options.repeats, options.norm)))
        return
    sizes = (
        [10**4, 10**5]
        if options.quick
        else [n for n in (10**5, 10**6, 10**7) if n <= options.largest]
    )
    outcomes = [in_own_process(n, options) for n in sizes]
    sections = [
        (
            f"`solve` with its defaults (radius 0.1, flip cost 1, norm {options.norm},"
            f" l2 0, proven gap 1e-6, all cores) on n × {N_FEATURES} dense float64"
            f" data; medians of {options.repeats} runs, only one above 2 million rows."
            " Memory: increase of the process's peak during `solve`, compared with 130"
            " n + 40 d² bytes + 50 MB."
        ),
        cost_table(outcomes),
    ]
    report("cost-quick" if options.quick else "cost", "Cost per row", sections)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--largest",
        type=lambda text: int(float(text)),
        default=10**7,
        help="largest number of rows (default: 1e7)",
    )
    parser.add_argument(
        "--repeats", type=int, default=3, help="runs of each size; the median counts"
    )
    parser.add_argument(
        "--norm", default="2", choices=["1", "2", "inf"], help="norm of the shifts"
    )
    parser.add_argument("--quick", action="store_true", help="1e4 and 1e5 rows only")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def in_own_process(n: int, options) -> dict:
    """Return the result of `measure` in a fresh process."""
    command = [
        sys.executable,
        __file__,
        "--measure",
        str(n),
        "--repeats",
        str(options.repeats),
        "--norm",
        options.norm,
    ]
    print(f"{n} rows …", flush=True)
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(finished.stdout.splitlines()[-1])


def measure(n: int, repeats: int, norm: str) -> dict:
    """Solve once to measure the memory, then to measure the time."""
    from drsvm import Problem, solve

    parameters = {"norm": float(norm)}
    # Compiles; few rows keep the reserved memory small
    solve(Problem(*two_gaussians(12_000), **parameters))
    problem = Problem(*two_gaussians(n), **parameters)
    before = forget_peak()
    duration, result = seconds(lambda: solve(problem))
    memory = peak() - before
    times = (
        [duration]
        if n > 2_000_000
        else [seconds(lambda: solve(problem))[0] for _ in range(repeats)]
    )
    return {
        "n": n,
        "seconds": statistics.median(times),
        "iterations": result.n_iter,
        "gap": result.gap,
        "status": str(result.status),
        "memory": memory,
    }


def two_gaussians(n: int, seed: int = 0):
    """Return X and y, generated in pieces so that no temporary array is as large as
    X.
    """
    random = np.random.default_rng(seed)
    direction = np.ones(N_FEATURES) / np.sqrt(N_FEATURES)
    X = np.empty((n, N_FEATURES))
    y = np.where(random.random(n) < 0.5, 1.0, -1.0)
    for first in range(0, n, 100_000):
        rows = slice(first, min(first + 100_000, n))
        X[rows] = (
            random.standard_normal((rows.stop - rows.start, N_FEATURES))
            + y[rows, None] * direction
        )
        y[rows] *= np.where(random.random(rows.stop - rows.start) < 0.05, -1.0, 1.0)
    return X, y


# --- memory
# -------------------------------------------------------------------------------------------------------


def forget_peak() -> float:
    """Reset the peak where the system allows it, and return the resident memory in
    bytes.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return peak()


def peak() -> float:
    """Return the peak resident memory in bytes."""
    if os.path.exists("/proc/self/status"):
        return _status("VmHWM")
    import resource

    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(largest) if sys.platform == "darwin" else 1024.0 * largest


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024.0 * float(line.split()[1])
    raise OSError(f"/proc/self/status has no {field}")


def limit(n: int) -> float:
    """Return the memory that `solve` may use beyond the data, in bytes."""
    return 130.0 * n + 40.0 * N_FEATURES**2 + 50 * MEGABYTE


# --- reporting
# ----------------------------------------------------------------------------------------------------


def cost_table(outcomes: list[dict]) -> str:
    header = [
        "rows",
        "seconds",
        "iterations",
        "proven gap",
        "status",
        "µs per row",
        "× per row of the previous size",
    ]
    header += ["memory MB", "limit MB", "within", "bytes per row"]
    rows = []
    previous = None
    for outcome in outcomes:
        n = outcome["n"]
        memory = outcome["memory"]
        per_row = outcome["seconds"] / n
        ratio = short(per_row / previous) if previous else ""
        time = [
            short(outcome["seconds"]),
            outcome["iterations"],
            f"{outcome['gap']:.1e}",
            outcome["status"],
        ]
        space = [
            f"{memory / MEGABYTE:.0f}",
            f"{limit(n) / MEGABYTE:.0f}",
            "yes" if memory <= limit(n) else "**no**",
        ]
        rows.append(
            [f"{n:,}", *time, short(1e6 * per_row), ratio, *space, short(memory / n)]
        )
        previous = per_row
    return table(header, rows)


if __name__ == "__main__":
    main()
