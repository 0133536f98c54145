"""Rows on disk against rows in memory: what does `fit` take, in time and in memory of
the process's own?

Dense synthetic data: two overlapping Gaussians away from the origin, 5 % of the labels
wrong. Each way runs in its own process. Pages of mapped files do not count as memory:
the system can drop them at any time.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from _common import report, seconds, short, table

PIECE = 100_000
"""Number of rows that are generated at a time."""

LIMIT_BYTES = 150
"""Memory per row beyond that of the imports: less than 3 GB for 20 million rows."""

WAYS = {
    "memory": "array in memory",
    "mapped": "memory-mapped .npy",
    "parquet": "Parquet, through `rows_on_disk`",
    "command": "Parquet, through `drsvm fit --spool --test-size 0`",
}


def main() -> None:
    options = parse_options()
    if options.measure:
        print(json.dumps(measure(options.measure, Path(options.folder))))
        return
    with tempfile.TemporaryDirectory(
        dir=options.folder, prefix="drsvm-benchmark-"
    ) as folder:
        print(f"writing {options.rows:,} × {options.features} …", flush=True)
        write_data(Path(folder), options)
        outcomes = {
            way: in_own_process(way, folder, options.repeats) for way in options.ways
        }
    name = "larger_than_memory" + ("-quick" if options.quick else "")
    report(name, "Rows on disk", sections(outcomes, options), ["pyarrow"])


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    number = lambda text: int(float(text))  # noqa: E731
    parser.add_argument(
        "--rows",
        type=number,
        default=2 * 10**6,
        help="number of rows (default: 2e6; the goal: 2e7)",
    )
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    parser.add_argument(
        "--folder",
        help=(
            "where the data are written, and removed again; default: a temporary folder"
        ),
    )
    parser.add_argument(
        "--ways", nargs="+", choices=list(WAYS), default=list(WAYS), help="default: all"
    )
    parser.add_argument(
        "--repeats", type=int, default=1, help="runs of each; the median counts"
    )
    parser.add_argument("--quick", action="store_true", help="200,000 rows only")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.rows = 200_000 if options.quick else options.rows
    return options


# --- data
# ---------------------------------------------------------------------------------------------------------


def write_data(folder: Path, options) -> None:
    """Write the rows as .npy and as Parquet, in pieces."""
    import pyarrow as pa
    from pyarrow import parquet

    n = options.rows
    d = options.features
    random = np.random.default_rng(12)
    X = np.lib.format.open_memmap(
        folder / "X.npy", "w+", dtype=options.dtype, shape=(n, d)
    )
    y = np.empty(n, dtype=np.int8)
    names = [f"x{j}" for j in range(d)]
    schema = pa.schema(
        [*((name, pa.from_numpy_dtype(X.dtype)) for name in names), ("y", pa.int8())]
    )
    with parquet.ParquetWriter(folder / "rows.parquet", schema) as writer:
        for first in range(0, n, PIECE):
            rows = slice(first, min(first + PIECE, n))
            labels = np.where(random.random(rows.stop - rows.start) < 0.5, 1, -1)
            X[rows] = (
                random.standard_normal((len(labels), d))
                + labels[:, None] / np.sqrt(d)
                + 0.5
            )
            y[rows] = labels * np.where(random.random(len(labels)) < 0.05, -1, 1)
            columns = [
                *(pa.array(np.ascontiguousarray(X[rows, j])) for j in range(d)),
                pa.array(y[rows]),
            ]
            writer.write_table(pa.table(columns, schema=schema))
    X.flush()
    np.save(folder / "y.npy", y)


# --- one way
# ------------------------------------------------------------------------------------------------------


def in_own_process(way: str, folder: str, repeats: int) -> dict:
    """Return the medians of `measure` in fresh processes."""
    command = [sys.executable, __file__, "--measure", way, "--folder", folder]
    found = []
    for _ in range(repeats):
        print(f"{WAYS[way]} …", flush=True)
        finished = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True
        )
        found.append(json.loads(finished.stdout.splitlines()[-1]))
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def measure(way: str, folder: Path) -> dict:
    """Compile, then fit; return time, memory and certificate."""
    from drsvm import WassersteinSVC

    warm_up(folder)
    with Memory() as memory:
        if way == "command":
            duration, (gap, objective) = seconds(lambda: command(folder))
        else:
            duration, model = seconds(lambda: WassersteinSVC().fit(*rows(way, folder)))
            gap = model.gap_
            objective = model.objective_
    return {
        "seconds": duration,
        "start": memory.start,
        "peak": memory.peak,
        "gap": gap,
        "objective": objective,
    }


def rows(way: str, folder: Path):
    """Return X and y; reading them is part of what is timed."""
    from drsvm.tables import rows_on_disk

    if way == "parquet":
        on_disk = rows_on_disk(folder / "rows.parquet", label="y")
        return on_disk.X, on_disk.y
    return np.load(
        folder / "X.npy", mmap_mode="r" if way == "mapped" else None
    ), np.load(folder / "y.npy")


def command(folder: Path) -> tuple[float, float]:
    """Run the command in this process, and return gap and objective.

    Its columns are standardised.
    """
    import io
    import shutil
    from contextlib import redirect_stdout

    from drsvm.cli import main as drsvm

    printed = io.StringIO()
    arguments = [
        "fit",
        str(folder / "rows.parquet"),
        "--label",
        "y",
        "--json",
        "--test-size",
        "0",
    ]
    try:
        with redirect_stdout(printed):
            drsvm([*arguments, "--spool", str(folder / "spool")])
    except SystemExit as end:
        if end.code:
            raise
    shutil.rmtree(folder / "spool")
    [certificate] = json.loads(printed.getvalue())["certificates"]
    return certificate["gap"], certificate["objective"]


def warm_up(folder: Path) -> None:
    """Import and compile everything with some of the rows: in memory, and behind a
    view.
    """
    from drsvm import WassersteinSVC

    few = np.load(folder / "X.npy", mmap_mode="r")[:120_000]
    labels = np.load(folder / "y.npy", mmap_mode="r")[:120_000]
    WassersteinSVC().fit(few, labels)


class Memory:
    """The anonymous memory of the process in bytes: at the start, and its peak, sampled
    by a thread.
    """

    def __enter__(self) -> "Memory":
        self.start = self.peak = anonymous_memory()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._over.is_set():
            self.peak = max(self.peak, anonymous_memory())
            time.sleep(0.005)

    def __exit__(self, *exception) -> None:
        self._over.set()
        self._thread.join()


def anonymous_memory() -> float:
    """Return RssAnon: resident memory that is not a copy of a file."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return 1024.0 * float(line.split()[1])
    sys.exit("/proc/self/status has no RssAnon: this benchmark needs Linux.")


# --- reporting
# ----------------------------------------------------------------------------------------------------


def sections(outcomes: dict[str, dict], options) -> list[str]:
    first = next(iter(outcomes.values()))
    header = [
        "rows from",
        "seconds",
        "× the first",
        "peak MB",
        "MB at the start",
        "bytes per row",
        "proven gap",
    ]
    header += ["objective", "within the limit"]
    lines: list[list[object]] = []
    for way, found in outcomes.items():
        above = (found["peak"] - found["start"]) / options.rows
        memory = [
            f"{found['peak'] / 1e6:.0f}",
            f"{found['start'] / 1e6:.0f}",
            short(above),
        ]
        proof = [
            f"{found['gap']:.1e}",
            f"{found['objective']:.10f}",
            "yes" if above <= LIMIT_BYTES else "**no**",
        ]
        lines.append(
            [
                WAYS[way],
                short(found["seconds"]),
                short(found["seconds"] / first["seconds"]),
                *memory,
                *proof,
            ]
        )
    return [
        (
            f"`WassersteinSVC().fit`, automatic radius, on {options.rows:,} ×"
            f" {options.features} {options.dtype} with the files in the disk's cache;"
            f" medians of {options.repeats} runs. Time includes reading, and for"
            " Parquet writing the rows to a mapped file. The command standardises the"
            " columns, so its objective is another one. Memory: the peak of RssAnon;"
            f" the limit is {LIMIT_BYTES} bytes per row above the start, after imports"
            " and compilation."
        ),
        table(header, lines),
    ]


if __name__ == "__main__":
    main()
