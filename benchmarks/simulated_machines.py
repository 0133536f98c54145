"""How many rounds, bytes and seconds do 4 to 1,000 machines take, with a centre and
without one?

The solver and the workers' code are the real ones, on text-like data; the clock is
simulated (`_cluster_simulator.py`). An epoch takes what it takes here, times `--work`:
as if there were this many times as many rows. Lines have a latency of 1 ms and 125 MB/s.
First the number of machines, then a machine that is slow or fails, then neighbours that
talk to each other without a centre (`_gossip.py`), and last a real cluster of
processes, to check the clock.
"""

import argparse
import math
import statistics
from functools import partial

from _cluster_simulator import Network, epoch_seconds, simulated
from _common import RESULTS, report, seconds, short, table
from _gossip import GRAPHS, Gossip, LinkedMachines
from _text import text_like

SLOWER = 10.0
CROWD = 16
HEADER = [
    "norm",
    "machines",
    "situation",
    "rounds",
    "messages",
    "MB",
    "simulated s",
    "gap",
]
ITERATIONS = 20
"""Of the interior point, at least."""


def line(
    problem,
    n_machines: int,
    name: str,
    network: Network,
    solver="federated",
    cluster=None,
    **limits,
):
    """Solve on a simulated cluster, and return a line of the table."""
    from drsvm import solve

    there = simulated(
        problem, n_machines, network, **({"cluster": cluster} if cluster else {})
    )
    result = solve(there, solver, **limits)
    counts = (
        result.info["rounds"],
        f"{network.n_messages:,}",
        short(1e-6 * network.n_bytes),
    )
    cells = [
        problem.norm,
        n_machines,
        name,
        *counts,
        short(network.now),
        f"{result.gap:.1e}",
    ]
    print(*cells, f"({result.time:.1f} s)", flush=True)
    return cells


def numbers_of_machines(problem, options):
    for n in options.machines:
        epoch = options.work * epoch_seconds(problem, n)
        for tol in (1e-2, 1e-3, 1e-4) if n <= 64 else (1e-2,):
            yield line(
                problem,
                n,
                f"to {tol:g}",
                Network(epoch),
                tol=tol,
                max_time=options.limit,
            )


def situations(problem, options):
    for n in (4, CROWD):
        epoch = options.work * epoch_seconds(problem, n)
        slow = {"factors": {0: SLOWER}}
        quarter = {"factors": dict.fromkeys(range(CROWD // 4), SLOWER)}
        cases = {
            "equal": ({}, {}),
            f"one {SLOWER:g} times slower": (slow, {}),
            "the same, waiting for it": (slow, {"patience": math.inf}),
            "one fails after 10 epochs": ({"failures": {0: 10.0 * epoch}}, {}),
        }
        if n == CROWD:
            cases[f"four {SLOWER:g} times slower"] = quarter, {}
            cases["the same, waiting for them"] = quarter, {"patience": math.inf}
        for name, (network, settings) in cases.items():
            yield line(
                problem,
                n,
                name,
                Network(epoch, **network),
                tol=1e-3,
                max_time=options.limit,
                **settings,
            )


def without_centre(problems, options):
    """Compare graphs with a centre: norm, graphs, number of machines, tolerance."""
    cases = [(2, "ring", 4, 1e-3), *((2, graph, CROWD, 1e-3) for graph in GRAPHS)]
    cases += [(math.inf, "ring", 4, 2e-3), (1, "ring", 4, 2e-3)]
    known: set[tuple[float, int]] = set()
    for norm, graph, n, tol in cases:
        problem = problems[norm]
        limits = {"tol": tol, "max_time": options.limit, "max_iter": 400}
        epoch = options.work * epoch_seconds(problem, n)
        if (norm, n) not in known:
            known.add((norm, n))
            yield line(problem, n, f"centre, to {tol:g}", Network(epoch), **limits)
        cluster = partial(LinkedMachines, graph=GRAPHS[graph])
        yield line(
            problem,
            n,
            f"{graph}, to {tol:g}",
            Network(epoch),
            Gossip(),
            cluster,
            **limits,
        )


def real_clusters(problem):
    """Yield rounds and seconds of a real cluster of processes, and of a simulated one
    with its latency.
    """
    from distributed import Client
    from many_machines import NORMS, on_cluster

    from drsvm import Problem, solve

    local = {
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "dashboard_address": None,
        "silence_logs": 60,
    }
    settings = {"tol": 1e-3, "patience": math.inf}
    for n in (2, 4):
        with Client(n_workers=n, **local) as client:
            blocks = on_cluster(client, problem.X, problem.signs, n)
            there = Problem(
                *blocks, norm=NORMS[2.0], radius=problem.radius, flip_cost=1.0
            )
            solve(there, "federated", tol=0.1)  # loads the kernels
            trip = _round_trip(there)
            real = min(
                (solve(there, "federated", **settings) for _ in range(3)),
                key=lambda result: result.time,
            )
        network = Network(epoch_seconds(problem, n), latency=0.5 * trip, bandwidth=1e9)
        same = simulated(problem, n, network)
        # What does not change is known from then on, as in the real cluster
        solve(same, "federated", tol=0.1)
        before = network.now
        rounds = (
            real.info["rounds"],
            solve(same, "federated", **settings).info["rounds"],
        )
        took = network.now - before
        yield [
            n,
            *rounds,
            short(1e3 * trip),
            short(real.time),
            short(took),
            short(real.time / took),
        ]


def _round_trip(there) -> float:
    """Return the seconds until a worker replies to a message without work."""
    from drsvm.engines.sharded import queries
    from drsvm.engines.sharded.shard import Message

    coordinator = there.rows.coordinator
    channel = coordinator.channel()
    message = Message(
        (),
        there.rows.shard_parameters(there.sum_parameters),
        queries.of_problem,
        (_nothing,),
    )

    def ask():
        channel.send(channel.groups[0], message)
        channel.receive()

    ask()
    return statistics.median(seconds(ask)[0] for _ in range(9))


def _nothing(problem) -> float:
    return 0.0


def draw(sweep, gossip, matrix_seconds: float) -> None:
    """Draw rounds and seconds against the number of machines."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, column, label in zip(
        figure.subplots(1, 2), (3, 6), ("rounds", "simulated seconds"), strict=True
    ):
        for tol, colour, style in (
            ("0.01", "#009E73", "v-."),
            ("0.001", "#0072B2", "o-"),
            ("0.0001", "#D55E00", "s--"),
        ):
            found = [
                cells
                for cells in sweep
                if cells[2] == f"to {tol}" and float(cells[-1]) <= float(tol)
            ]
            x = [cells[1] for cells in found]
            values = [float(cells[column]) for cells in found]
            axes.loglog(x, values, style, color=colour, label=f"centre, to {tol}")
        found = [
            cells
            for cells in gossip
            if str(cells[0]) == "2" and "centre" not in cells[2]
        ]
        x = [cells[1] for cells in found]
        values = [float(cells[column]) for cells in found]
        axes.loglog(x, values, "x", color="#CC79A7", label="without a centre, to 0.001")
        if label != "rounds":
            axes.axhline(
                ITERATIONS * matrix_seconds,
                color="black",
                linestyle=":",
                label="interior point, at least",
            )
        machines = sorted({cells[1] for cells in sweep})
        axes.set(xlabel="machines", ylabel=label, xticks=machines, xticklabels=machines)
        axes.minorticks_off()
        axes.legend(fontsize=7)
    figure.savefig(RESULTS / "simulated_machines.png", dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--features", type=int, default=8_000)
    parser.add_argument(
        "--machines", type=int, nargs="+", default=[4, 16, 64, 256, 1000]
    )
    parser.add_argument(
        "--work", type=float, default=100.0, help="factor of the seconds of an epoch"
    )
    parser.add_argument(
        "--limit", type=float, default=300.0, help="real seconds per solve"
    )
    options = parser.parse_args()
    from drsvm import Problem, radius_max

    X, y = text_like(options.rows, options.features)
    bases = [Problem(X, y, norm=norm, flip_cost=1.0) for norm in (2, math.inf, 1)]
    problems = {
        base.norm.p: base.replace(radius=0.01 * radius_max(base)) for base in bases
    }
    sweep = list(numbers_of_machines(problems[2], options))
    slow = list(situations(problems[2], options))
    gossip = list(without_centre(problems, options))
    real = list(real_clusters(problems[2]))
    matrix_seconds = 8.0 * options.features**2 / Network(0.0).bandwidth
    draw(sweep, gossip, matrix_seconds)
    notes = (
        f"{X.shape[0]:,} × {X.shape[1]:,}, flip cost 1, radius 0.01 of the largest. An"
        f" epoch takes {options.work:g} times what it takes here; lines: 1 ms, 125"
        f" MB/s. A matrix of the interior point would take {short(matrix_seconds)} s on"
        f" one line in every iteration, {short(ITERATIONS * matrix_seconds)} s in"
        f" {ITERATIONS}. Rounds are those with a centre, or over the spanning tree, and"
        " epochs between averages."
    )
    real_header = [
        "processes",
        "rounds",
        "simulated rounds",
        "round trip ms",
        "seconds",
        "simulated seconds",
        "ratio",
    ]
    parts = (
        ["Number of machines", sweep],
        ["Slow machines and failures", slow],
        ["Without a centre", gossip],
    )
    sections = [notes, *(f"{name}:\n\n{table(HEADER, cells)}" for name, cells in parts)]
    sections.append(
        "A real cluster on this machine, and the simulation of it:\n\n"
        + table(real_header, real)
    )
    report(
        "simulated_machines", "Simulated machines", sections, packages=["distributed"]
    )


if __name__ == "__main__":
    main()
