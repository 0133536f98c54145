"""Many features: what does a proven robust classifier for text cost, as a multiple of
LinearSVC?

Text-like data from a generator (Zipf-distributed words, unit-norm TF-IDF rows, two
overlapping topics, 5 % wrong labels), or any svmlight file. For every radius (as a
fraction of `radius_max`), flip cost and intercept: time to a proven gap of 1e-3 and of
1e-5, relative to the time of LinearSVC(loss="hinge", C=1) with its default tolerance
and the same intercept setting, which is not robust and proves nothing. Both times start
from X and y. LinearSVC is single-threaded; certificates, and the rounds of feature
working sets (q = 1), use all cores.
"""

import argparse
import itertools
import math
import statistics
import tracemalloc
from pathlib import Path

import numpy as np
from _common import NORM_OF_Q, interleaved, report, seconds, short, table
from _text import text_like
from scipy import sparse

SIZES = {"small": (20_000, 60_000), "large": (100_000, 1_000_000)}
TOLERANCES = (1e-3, 1e-5)
LIMITS = {2: (1.0, 3.0), 1: (1.0, 5.0)}
"""The targets, by q: multiples of LinearSVC's time for each tolerance."""

FRACTIONS = (1e-3, 1e-2, 0.1, 0.5)
FLIP_COSTS = (0.5, 1.0, 4.0, math.inf)


def load(name: str):
    """Return a generated data set by its size, or a file in svmlight text."""
    if name in SIZES:
        return text_like(*SIZES[name])
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(name)
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    classes = np.unique(y)
    return X, y if len(classes) == 2 else np.where(y == classes[0], 1, -1)


def linear_svc(X, y, intercept: bool):
    """Return a call that fits LinearSVC."""
    from sklearn.svm import LinearSVC

    return lambda: LinearSVC(loss="hinge", C=1, fit_intercept=intercept).fit(X, y)


def solution(X, y, tol: float, max_time: float, **parameters):
    """Return a call that builds the problem and solves it with `auto`."""
    from drsvm import Problem, solve

    return lambda: solve(Problem(X, y, **parameters), tol=tol, max_time=max_time)


def measure(X, y, q: float, intercept: bool, options):
    """Yield a line of the table for every radius and flip cost, and its two ratios."""
    from drsvm import Problem, radius_max

    for kappa in options.flip_costs:
        base = Problem(
            X, y, norm=NORM_OF_Q[q], flip_cost=kappa, fit_intercept=intercept
        )
        largest = radius_max(base)
        for fraction in options.fractions:
            parameters = {
                "norm": NORM_OF_Q[q],
                "flip_cost": kappa,
                "fit_intercept": intercept,
            }
            parameters["radius"] = fraction * largest
            calls = {"LinearSVC": linear_svc(X, y, intercept)}
            for tol in TOLERANCES:
                calls[f"{tol:g}"] = solution(X, y, tol, options.limit, **parameters)
            timings = interleaved(calls, options.repeats)
            svc = timings["LinearSVC"].seconds
            results = [timings[f"{tol:g}"] for tol in TOLERANCES]
            ratios = [
                timing.seconds / svc if timing.answer.gap <= tol else math.inf
                for timing, tol in zip(results, TOLERANCES, strict=True)
            ]
            last = results[-1].answer
            cells = [
                f"{kappa:g}",
                "yes" if intercept else "no",
                f"{fraction:g}",
                f"{last.objective:.5f}",
            ]
            cells += [np.count_nonzero(last.weights), short(svc)]
            for timing, ratio in zip(results, ratios, strict=True):
                missed = (
                    "" if math.isfinite(ratio) else f" (gap {timing.answer.gap:.0e})"
                )
                cells += [short(timing.seconds) + missed, short(ratio)]
            print(*cells, flush=True)
            yield cells, ratios


def memory_section(X, y, q: float) -> str:
    """Return a sentence about the memory that a solve needs beyond the data."""
    from drsvm import Problem, solve

    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    problem = Problem(X, y, norm=NORM_OF_Q[q], flip_cost=1.0)
    radius = 0.1 * problem.norm.dual.value(X.T @ (np.asarray(y) / len(y)))
    solve(problem.replace(radius=radius), tol=1e-2)
    tracemalloc.start()
    solve(problem.replace(radius=radius), tol=1e-5, max_time=60.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    numbers = 8 * sum(X.shape)
    return (
        f"Peak memory beyond the data ({size / 1e6:.0f} MB as CSR), at a tenth of the"
        f" largest radius: {peak / 1e6:.1f} MB, {peak / size:.2f} times the data, or"
        f" {peak / numbers:.1f} 8-byte numbers per row and feature."
    )


def verdict(q: float, ratios) -> str:
    """Summarise how many settings are within the targets, and by how much the others
    miss them.
    """
    if q not in LIMITS:
        return "There is no target for this norm."
    lines = []
    for tol, limit, column in zip(
        TOLERANCES, LIMITS[q], zip(*ratios, strict=True), strict=True
    ):
        within = sum(ratio <= limit for ratio in column)
        finite = [ratio for ratio in column if math.isfinite(ratio)]
        reached = (
            f"largest {max(finite):.2f}, geometric mean"
            f" {statistics.geometric_mean(finite):.2f}"
            if finite
            else "none"
        )
        lines.append(
            f"Gap {tol:g}: {within} of {len(column)} settings within {limit:g} ×"
            f" LinearSVC ({reached}); {len(column) - len(finite)} do not reach the gap"
            " within the time limit."
        )
    return "\n".join(f"- {line}" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "data",
        nargs="*",
        default=["small"],
        help="small, large, or a file in svmlight text",
    )
    parser.add_argument(
        "--q", type=float, nargs="+", default=[2.0, 1.0], help="norms of the weights"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--limit", type=float, default=60.0, help="time limit per solve in seconds"
    )
    parser.add_argument("--fractions", type=float, nargs="+", default=FRACTIONS)
    parser.add_argument("--flip-costs", type=float, nargs="+", default=FLIP_COSTS)
    parser.add_argument(
        "--quick", action="store_true", help="two radii, one flip cost, one repetition"
    )
    options = parser.parse_args()
    if options.quick:
        options.repeats = 1
        options.fractions = (0.01, 0.1)
        options.flip_costs = (1.0,)
    for name, q in itertools.product(options.data, options.q):
        generation, (X, y) = seconds(lambda name=name: load(name))
        lines = [line for b in (False, True) for line in measure(X, y, q, b, options)]
        cells, ratios = zip(*lines, strict=True)
        header = [
            "κ",
            "intercept",
            "radius / max",
            "objective",
            "weights",
            "LinearSVC s",
        ]
        header += [
            f"{what} {tol:g}" for tol in TOLERANCES for what in ("s to gap", "ratio")
        ]
        data = (
            f"{X.shape[0]:,} × {X.shape[1]:,}, {X.nnz / X.shape[0]:.0f} nonzeros/row"
            f" (loaded in {short(generation)} s)"
        )
        label = "-".join(
            [
                "highdim",
                Path(name).stem,
                f"q{q:g}",
                *(["quick"] if options.quick else []),
            ]
        )
        sections = [
            data,
            table(header, list(cells)),
            verdict(q, ratios),
            memory_section(X, y, q),
        ]
        report(
            label,
            f"Many features, q = {q:g}: time as a multiple of LinearSVC",
            sections,
        )


if __name__ == "__main__":
    main()
