"""The cost of a path of 30 radii, in units of one solve from scratch and in iterations
over all rows.

Most iterations are on a working set of rows; an iteration on a tenth of the rows counts
as a tenth. Solves from scratch are timed on all rows throughout (`screening=False`),
which is the unit, and as `solve` does them. All times are processor times of all
threads, which a busy machine distorts less.
"""

import argparse
import gc
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from _common import NORM_OF_Q, load, report, short, table, usable_cores, use_threads

from drsvm import Problem, radius_max, radius_path, solve

TOLERANCE = 1e-6


def main() -> None:
    options = parse_options()
    use_threads(options.threads)
    problem = Problem(
        *data(options.data),
        flip_cost=1.0,
        norm=NORM_OF_Q[options.q],
        fit_intercept=options.intercept,
    )
    radii = radius_max(problem) * np.logspace(0.0, -3.0, options.radii)
    limits = {"tol": TOLERANCE, "n_threads": options.threads}
    calls: dict[tuple[str, float], Timed] = {
        ("path", 0.0): Timed(lambda: radius_path(problem, radii, **limits))
    }
    for radius in radii[:: options.every]:
        alone = problem.replace(radius=float(radius))
        calls["all rows", radius] = Timed(
            lambda p=alone: solve(p, "interior-point", screening=False, **limits)
        )
        calls["screened", radius] = Timed(
            lambda p=alone: solve(p, "interior-point", **limits)
        )
    for call in list(calls.values())[:3]:
        call.run()  # compiles the kernels
    for _ in range(options.repeats):
        for call in calls.values():
            call.measure()
    write_report(options, radii, calls)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data",
        help=(
            "data set (default: a9a), or ROWSxFEATURES for Gaussian rows with noisy"
            " labels"
        ),
    )
    parser.add_argument(
        "--q",
        type=float,
        default=2,
        choices=list(NORM_OF_Q),
        help="norm of the weights",
    )
    parser.add_argument(
        "--intercept", action="store_true", help="with a free intercept"
    )
    parser.add_argument("--radii", type=int, default=30, help="number of radii")
    parser.add_argument(
        "--every", type=int, default=1, help="solve every k-th radius from scratch"
    )
    parser.add_argument(
        "--repeats", type=int, default=5, help="runs; the median counts"
    )
    parser.add_argument("--threads", type=int, default=usable_cores(), help="threads")
    parser.add_argument("--quick", action="store_true", help="20,000 × 20")
    options = parser.parse_args()
    options.data = options.data or ("20000x20" if options.quick else "a9a")
    return options


def data(name: str):
    size = re.fullmatch(r"(\d+)x(\d+)", name)
    if size is None:
        return load(name)
    n, d = map(int, size.groups())
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.where(
        X @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1.0, -1.0
    )


@dataclass
class Timed:
    """A call, its processor times and its last return value."""

    run: Callable[[], Any]
    times: list[float] = field(default_factory=list)
    answer: Any = None

    def measure(self) -> None:
        gc.collect()
        start = time.process_time()
        self.answer = self.run()
        self.times.append(time.process_time() - start)

    @property
    def seconds(self) -> float:
        return statistics.median(self.times)


def row_iterations(result) -> float:
    """Return the number of iterations, each counted in proportion to its rows."""
    return result.info.get("row_iterations", result.n_iter)


def write_report(options, radii, calls) -> None:
    path = calls["path", 0.0]
    results = path.answer.results
    unit, screened = (
        statistics.median(
            call.seconds for (kind, _), call in calls.items() if kind == wanted
        )
        for wanted in ("all rows", "screened")
    )
    rows = sum(map(row_iterations, results))
    sections = [
        (
            f"{options.data}, q = {options.q:g}, {len(radii)} radii from radius_max to"
            f" a thousandth of it, flip cost 1, proven gap {TOLERANCE:.0e},"
            f" {options.threads} threads, medians of {options.repeats} runs, processor"
            " time."
        ),
        (
            f"**The path takes {short(path.seconds)} s: {short(path.seconds / unit)}"
            f" times the median solve from scratch on all rows ({short(unit)} s),"
            f" {short(path.seconds / screened)} times the median solve from scratch as"
            f" `solve` does it ({short(screened)} s). It takes {short(rows)} iterations"
            f" over all rows: {sum(result.n_iter for result in results)} iterations,"
            " most of them on a working set. The largest proven gap is"
            f" {max(result.gap for result in results):.1e}.**"
        ),
        path_table(radii, results, calls),
    ]
    name = (
        "path-quick"
        if options.quick
        else "path"
        if options.data == "a9a"
        else f"path-{options.data}"
    )
    report(name, "A path of radii", sections)


def path_table(radii, results, calls) -> str:
    header = ["radius", "iterations", "over all rows", "gap"]
    header += [
        "from scratch, all rows: iterations",
        "s",
        "from scratch: iterations",
        "over all rows",
        "s",
    ]
    rows = []
    for radius, result in zip(radii, results, strict=True):
        row = [
            f"{radius:.4g}",
            result.n_iter,
            short(row_iterations(result)),
            f"{result.gap:.1e}",
        ]
        for kind in ("all rows", "screened"):
            call = calls.get((kind, radius))
            cells = [""] * 3 if call is None else cells_of(call)
            row += cells if kind == "screened" else [cells[0], cells[2]]
        rows.append(row)
    return table(header, rows)


def cells_of(call: Timed) -> list[str]:
    return [
        str(call.answer.n_iter),
        short(row_iterations(call.answer)),
        short(call.seconds),
    ]


if __name__ == "__main__":
    main()
