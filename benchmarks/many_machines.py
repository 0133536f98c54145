"""Many features on many machines: what do rows that stay on a cluster cost, compared
with one process that has all?

Text-like data as in `highdim.py`, on a Dask cluster of processes on this machine, a
thread each. `federated` sends vectors of one number per feature only; the matrices of
the interior point would not fit. Its seconds are compared with dual coordinate ascent
in one process, to the same proven gap; SGDClassifier (averaged, hinge) is for scale,
and proves nothing. Then the same with a worker whose epochs take ten times as long,
with and without waiting for it, with a worker that is killed in the middle, and without
a centre: workers on a ring that talk to their neighbours (`_ring.py`).
"""

import argparse
import math
import os
import statistics
import time

import numpy as np
from _common import report, seconds, short, table
from _gossip import ring
from _ring import solve_on_ring
from _text import text_like

SLOWER = 10.0
NORMS = {2.0: 2, 1.0: math.inf, math.inf: 1}
"""The norm of the shifts, by the norm q of the weights."""


def slow_down(factor: float) -> None:
    """Let epochs on this worker take longer; 1: as long as they do."""
    from drsvm.solvers.paper.federated.federated_block import Block

    epoch = getattr(Block.propose, "original", Block.propose)

    def slow_epoch(self, work):
        began = time.perf_counter()
        proposal = epoch(self, work)
        time.sleep((factor - 1.0) * (time.perf_counter() - began))
        return proposal

    slow_epoch.original = epoch
    Block.propose = slow_epoch


def end_process() -> None:
    """End this worker, without warning."""
    os._exit(1)


def on_cluster(client, X, y, n_parts: int):
    """Return blocks of rows that the workers can compute again."""
    import dask

    ends = np.linspace(0, len(y), n_parts + 1).astype(int)
    workers = sorted(client.nthreads())
    blocks = []
    for first, last, worker in zip(
        ends[:-1], ends[1:], workers * n_parts, strict=False
    ):
        rows = (
            dask.delayed(X[first:last], traverse=False),
            dask.delayed(np.asarray(y[first:last]), traverse=False),
        )
        blocks.append(
            [
                client.compute(part, workers=[worker], allow_other_workers=True)
                for part in rows
            ]
        )
    return [block[0] for block in blocks], [block[1] for block in blocks]


def killing(client, victim: str, iteration: int):
    """Return a callback that kills a worker once."""
    killed = []

    def callback(progress):
        if progress.iteration >= iteration and not killed:
            killed.append(client.run(end_process, workers=[victim], on_error="ignore"))

    return callback


def lines(client, X, y, q: float, options):
    """Yield a line of the table for every situation."""
    from sklearn.linear_model import SGDClassifier

    from drsvm import Problem, radius_max, solve

    base = Problem(X, y, norm=NORMS[q], flip_cost=1.0)
    problem = base.replace(radius=options.fraction * radius_max(base))
    limits = {"tol": options.tol, "max_time": options.limit}
    solve(problem, "dual-coordinate", **limits)
    alone = statistics.median(
        seconds(lambda: solve(problem, "dual-coordinate", **limits))[0]
        for _ in range(3)
    )
    sgd = seconds(
        lambda: SGDClassifier(loss="hinge", average=True, random_state=0).fit(X, y)
    )[0]
    there = Problem(
        *on_cluster(client, X, y, options.workers),
        norm=NORMS[q],
        radius=problem.radius,
        flip_cost=1.0,
    )
    solve(there, "federated", tol=0.1)  # loads the kernels
    victim = there.rows.coordinator.places[0]
    everywhere = sorted(client.nthreads())
    situations = {
        "equal workers": (1.0, {}),
        f"one {SLOWER:g} times slower": (SLOWER, {}),
        "the same, waiting for it": (SLOWER, {"patience": math.inf}),
        "one killed": (1.0, {"callback": killing(client, victim, 10)}),
    }
    for name, (factor, settings) in situations.items():
        client.run(slow_down, factor, workers=everywhere[-1:])
        repeats = 1 if "callback" in settings else options.repeats
        results = [
            solve(there, "federated", **limits, **settings) for _ in range(repeats)
        ]
        result = sorted(results, key=lambda result: result.time)[len(results) // 2]
        times = short(alone), short(sgd), short(result.time), short(result.time / alone)
        yield [
            f"{q:g}",
            name,
            *times,
            result.n_iter,
            result.info["rounds"],
            f"{result.gap:.1e}",
        ]
        print(
            q,
            name,
            f"{result.time:.2f} s, {result.n_iter} iterations, gap {result.gap:.1e}",
            flush=True,
        )
    limits = {"tol": options.tol, "n_workers": options.workers}
    # The first one loads
    proof, rounds, took = [
        solve_on_ring(client, problem, ring, **limits) for _ in range(2)
    ][-1]
    times = short(alone), short(sgd), short(took), short(took / alone)
    yield [f"{q:g}", "ring, no centre", *times, rounds, rounds, f"{proof.gap:.1e}"]
    print(q, f"ring: {took:.2f} s, {rounds} rounds, gap {proof.gap:.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=60_000)
    parser.add_argument(
        "--q",
        type=float,
        nargs="+",
        default=[2.0, 1.0, math.inf],
        help="norms of the weights",
    )
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument(
        "--fraction",
        type=float,
        default=0.01,
        help="radius, as a fraction of the largest",
    )
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument(
        "--limit", type=float, default=60.0, help="time limit per solve in seconds"
    )
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    from distributed import Client

    X, y = text_like(options.rows, options.features)
    header = [
        "q",
        "situation",
        "one process s",
        "SGD s",
        "federated s",
        "ratio",
        "iterations",
        "rounds",
        "gap",
    ]
    local = {
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "dashboard_address": None,
        "silence_logs": 60,
    }
    cells = []
    for q in options.q:
        with Client(n_workers=options.workers, **local) as client:
            cells.extend(lines(client, X, y, q, options))
    data = (
        f"{X.shape[0]:,} × {X.shape[1]:,}, {X.nnz / X.shape[0]:.0f} nonzeros per row,"
        f" in {options.workers} parts; a round sends {4e-6 * X.shape[1]:.2f} MB to"
        f" every worker and back. Proven gap {options.tol:g}, radius"
        f" {options.fraction:g} of the largest, flip cost 1. Rounds include those of"
        f" start and certificates. Medians of {options.repeats}. On the ring, the"
        " client proves the gap after every tenth round, with all multipliers."
    )
    report(
        "many_machines", "Many features on many machines", [data, table(header, cells)]
    )


if __name__ == "__main__":
    main()
