"""The time for a path of 30 radii, each warm-started from the previous one, in units of one solve from scratch."""

import argparse
import statistics

import numpy as np
from _common import NORM_OF_Q, interleaved, load, report, short, table, usable_cores, use_threads

from drsvm import Problem, radius_max, radius_path, solve

TOLERANCE = 1e-6


def main() -> None:
    options = parse_options()
    use_threads(options.threads)
    problem = Problem(*load(options.data), flip_cost=1.0, norm=NORM_OF_Q[options.q])
    radii = radius_max(problem) * np.logspace(0.0, -3.0, options.radii)
    cold = [problem.replace(radius=float(radius)) for radius in radii]
    calls = {"path": lambda: radius_path(problem, radii, tol=TOLERANCE, n_threads=options.threads)}
    for index, one in enumerate(cold):
        calls[str(index)] = lambda one=one: solve(one, tol=TOLERANCE, n_threads=options.threads)
    timings = interleaved(calls, options.repeats)
    path = timings.pop("path")
    write_report(options, radii, path, list(timings.values()))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="data set (default: a9a)")
    parser.add_argument("--q", type=float, default=2, choices=list(NORM_OF_Q), help="norm of the weights")
    parser.add_argument("--radii", type=int, default=30, help="number of radii")
    parser.add_argument("--repeats", type=int, default=5, help="runs; the median counts")
    parser.add_argument("--threads", type=int, default=usable_cores(), help="threads")
    parser.add_argument("--quick", action="store_true", help="a1a")
    options = parser.parse_args()
    options.data = options.data or ("a1a" if options.quick else "a9a")
    return options


def write_report(options, radii, path, cold) -> None:
    typical, total = statistics.median(one.seconds for one in cold), sum(one.seconds for one in cold)
    sections = [
        f"{options.data}, q = {options.q:g}, {len(radii)} radii from radius_max to a thousandth of it, flip cost 1, "
        f"proven gap {TOLERANCE:.0e}, {options.threads} threads, medians of {options.repeats} runs.",
        f"**The path takes {short(path.seconds)} s: {short(path.seconds / typical)} times the median solve from "
        f"scratch ({short(typical)} s), {short(path.seconds / total)} times all {len(radii)} of them "
        f"({short(total)} s).**",
        path_table(radii, path.answer.results, cold),
    ]
    report("path-quick" if options.quick else "path", "A path of radii", sections)


def path_table(radii, chained, cold) -> str:
    header = ["radius", "iterations from scratch", "warm-started"]
    header += ["seconds from scratch", "warm-started s", "gap", "warm-started gap"]
    rows = []
    for radius, result, one in zip(radii, chained, cold, strict=True):
        times, gaps = [short(one.seconds), short(result.time)], [f"{one.answer.gap:.1e}", f"{result.gap:.1e}"]
        rows.append([f"{radius:.4g}", one.answer.n_iter, result.n_iter, *times, *gaps])
    totals = sum(one.answer.n_iter for one in cold), sum(result.n_iter for result in chained)
    rows.append(["all", *totals, short(sum(one.seconds for one in cold)), short(sum(r.time for r in chained)), "", ""])
    return table(header, rows)


if __name__ == "__main__":
    main()
