"""Rows on a cluster or on a card: what does a round cost, and a fit of many rows?

    python benchmarks/scale.py dask --rows 5e7 --workers 2
    python benchmarks/scale.py gpu

Dense synthetic data, generated where they stay: two overlapping Gaussians, 5 % of the
labels wrong.
"""

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
from _common import report, short, table
from _scale_gpu import gpu_part

from drsvm.engines import Steps

REPEATS = 15
"""Iterations that are timed, after a first one."""

BALL = {"radius": 0.1, "fit_intercept": True}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    number = lambda text: int(float(text))  # noqa: E731
    parser.add_argument("part", choices=list(PARTS), help="where the rows are")
    parser.add_argument(
        "--rows",
        type=number,
        default=5 * 10**6,
        help="number of rows of the fit (default: 5e6)",
    )
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument(
        "--chunk", type=number, default=10**6, help="number of rows of a chunk"
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=2,
        help="processes of the cluster for the fit, a thread each",
    )
    parser.add_argument("--memory", default="7GB", help="memory limit of a worker")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument(
        "--cases",
        nargs="+",
        choices=["fit", "dense", "sparse", "text", "passes"],
        help="of the part gpu (default: all)",
    )
    parser.add_argument(
        "--no-cores",
        dest="cores",
        action="store_false",
        help="leave out dense rows on the cores",
    )
    parser.add_argument(
        "--longest",
        type=float,
        default=600.0,
        help="most seconds of a solve on the cores",
    )
    options = parser.parse_args()
    PARTS[options.part](options)


def random_rows(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows as float32, and their labels."""
    random = np.random.default_rng(seed)
    labels = np.where(random.random(n) < 0.5, 1, -1).astype(np.int8)
    X = random.standard_normal((n, d), dtype=np.float32)
    X += (labels[:, None] / np.sqrt(d)).astype(np.float32)
    return X, labels * np.where(random.random(n) < 0.05, -1, 1).astype(np.int8)


def seconds_of_rounds(engine) -> dict[str, float]:
    """Return the median time of each of the three rounds of an iteration."""
    d = engine.n_linear
    point = np.zeros(d)
    direction = np.full(d, 1e-3)
    engine.center(point, 2.0, 0.5)
    engine.curvature()
    rounds: dict[str, Callable[[], object]] = {
        "predict": lambda: engine.predict(direction, 1e-3),
        "longest_steps": lambda: engine.longest_steps(direction, 1e-3, 0.4),
        "advance": lambda: engine.curvature(Steps(1e-3, 1e-3)),
    }
    times: dict[str, list[float]] = {name: [] for name in rounds}
    for _ in range(REPEATS + 1):
        for name, call in rounds.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(some[1:]) for name, some in times.items()}


# --- Dask
# -----------------------------------------------------------------------------------------------------------


def dask_part(options) -> None:
    sections = [rounds_on_a_cluster(options), fit_on_a_cluster(options)]
    report("scale-dask", "Rows on a Dask cluster", sections, ["dask", "distributed"])


def cluster_of(workers: int, memory: str):
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=memory,
        host="127.0.0.1",
        dashboard_address=None,
    )


def problem_on_cluster(rows: int, options, chunk: int):
    """Return a problem on rows that are generated on the workers."""
    import dask

    from drsvm import Problem

    sizes = [min(chunk, rows - first) for first in range(0, rows, chunk)]
    pairs = [
        dask.delayed(random_rows, nout=2)(seed, n, options.features)
        for seed, n in enumerate(sizes)
    ]
    return Problem([X for X, _ in pairs], [y for _, y in pairs], **BALL)


def rounds_on_a_cluster(options) -> str:
    """Return what the rounds of an iteration take on four workers, and without a
    cluster.
    """
    from distributed import Client

    from drsvm import Problem
    from drsvm.engines.cpu import CpuEngine

    workers = 4
    lines = []
    with cluster_of(workers, options.memory) as cluster, Client(cluster):
        for rows in (4000, 400_000):
            problem = problem_on_cluster(rows, options, rows // workers)
            there = seconds_of_rounds(problem.rows.engine(problem, None))
            X, y = random_rows(0, rows, options.features)
            here = seconds_of_rounds(CpuEngine(Problem(X, y, **BALL)))
            each = [f"{1e3 * there[name]:.0f}" for name in there]
            total = sum(there.values())
            alone = sum(here.values())
            lines.append(
                [f"{rows:,}", *each, short(total), short(alone), short(total - alone)]
            )
    header = [
        "rows",
        "predict, ms",
        "longest_steps, ms",
        "advance, ms",
        "iteration, s",
        "the same here, s",
        "more, s",
    ]
    return (
        f"An iteration takes three rounds. On {workers} workers on this machine, a"
        f" thread each, × {options.features} float32; medians of {REPEATS}. The same"
        " here: the engine of this process, with a thread per core. With few rows all"
        f" of it is overhead.\n\n{table(header, lines)}"
    )


def fit_on_a_cluster(options) -> str:
    """Return what a fit of many rows takes."""
    from distributed import Client

    from drsvm import solve

    with (
        cluster_of(options.workers, options.memory) as cluster,
        Client(cluster) as client,
    ):
        # Compiles, or loads what has been compiled
        solve(problem_on_cluster(10_000, options, 2500))
        start = time.perf_counter()
        problem = problem_on_cluster(options.rows, options, options.chunk)
        ready = time.perf_counter()
        before = problem.rows.coordinator.n_rounds
        result = solve(problem, tol=options.tol)
        end = time.perf_counter()
        peak = max(client.run(peak_memory).values())
        rounds = problem.rows.coordinator.n_rounds - before
    header = [
        "rows",
        "rows ready, s",
        "solve, s",
        "iterations",
        "rounds",
        "s per iteration",
        "gap",
        "peak GB per worker",
    ]
    line = [
        f"{options.rows:,} × {options.features}",
        short(ready - start),
        short(end - ready),
        result.n_iter,
        rounds,
    ]
    line += [
        short((end - ready) / result.n_iter),
        f"{result.gap:.1e}",
        f"{peak / 1e9:.2f}",
    ]
    return (
        f"`solve(problem, tol={options.tol:g})` on {options.workers} workers with a"
        f" thread each, float32 in chunks of {options.chunk:,} rows, generated on the"
        f" workers; memory limit {options.memory} per worker. Seconds per iteration"
        f" include start and certificates. Status: {result.status}, objective"
        f" {result.objective:.8f}.\n\n{table(header, [line])}"
    )


def peak_memory() -> float:
    """Return the largest resident memory of this process so far, in bytes."""
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


PARTS: dict[str, Callable[..., None]] = {"dask": dask_part, "gpu": gpu_part}


if __name__ == "__main__":
    main()
