"""How long a user of the command line waits, in fresh processes.

``drsvm fit`` and ``predict`` on a9a, on a table of a million rows, on one of 10,000
× 50, on one with 86,000 levels and on one of 20,000 columns; help, and an input error.
The baseline is ``import sklearn, numba`` in a fresh process. Byte code and kernels are
cached.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _common import data_file, report, short, table

LIMITS = {"fit a9a": 1.5, "predict 10,000 × 50": 1.0}
"""Seconds above the imports."""

TOTAL_LIMITS = {
    "help": 0.5,
    "input error": 1.5,
    "predict 100 × 50": 2.0,
    "fit 1,000,000 × 3": 6.0,
    "fit 200,000 × 3, 86,000 levels": 20.0,
    "fit 300 × 20,000": 20.0,
}
"""Seconds in total."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeats",
        type=int,
        help="processes of each kind; the median counts (default: 5)",
    )
    parser.add_argument("--quick", action="store_true", help="2 repeats")
    options = parser.parse_args()
    options.repeats = options.repeats or (2 if options.quick else 5)
    file = data_file("a9a")
    if file is None:
        sys.exit("a9a.svm.xz not found: set DRSVM_DATA to the folder that contains it.")
    with tempfile.TemporaryDirectory() as folder:
        times, compiled = measure(
            commands(file, Path(folder)), Path(folder), options.repeats
        )
    medians = {
        name: [statistics.median(kind) for kind in zip(*runs, strict=True)]
        for name, runs in times.items()
    }
    write_report(options, medians, compiled)


def commands(file: Path, folder: Path) -> dict[str, list[str]]:
    """Return the arguments of Python for each process, in an order in which models
    exist before they are used.
    """
    drsvm = ["-m", "drsvm"]
    tall = write_table(folder / "tall.csv", 1_000_000, 3)
    wide = write_table(folder / "wide.csv", 10_000, 50)
    few = write_table(folder / "few.csv", 100, 50)
    a9a = folder / "a9a.drsvm"
    saved = folder / "wide.drsvm"
    out = folder / "out.csv"
    arguments = {
        "fit a9a": ["fit", file, "--model", a9a, "--json"],
        "predict a9a": ["predict", a9a, file, "--output", out],
        "fit 1,000,000 × 3": [
            "fit",
            tall,
            "--label",
            "y",
            "--model",
            folder / "tall.drsvm",
            "--json",
        ],
        "fit 10,000 × 50": ["fit", wide, "--label", "y", "--model", saved, "--json"],
        "predict 10,000 × 50": ["predict", saved, wide, "--output", out],
        "predict 100 × 50": ["predict", saved, few, "--output", out],
        "fit 200,000 × 3, 86,000 levels": [
            "fit",
            write_levels(folder / "levels.csv"),
            "--label",
            "y",
            "--model",
            folder / "levels.drsvm",
            "--json",
        ],
        "fit 300 × 20,000": [
            "fit",
            write_table(folder / "many.csv", 300, 20_000),
            "--label",
            "y",
            "--model",
            folder / "many.drsvm",
            "--json",
        ],
        "input error": ["fit", wide, "--label", "z"],
        "help": ["--help"],
    }
    imports = {"imports": ["-c", "import sklearn, numba"]}
    return imports | {
        name: [*drsvm, *map(str, given)] for name, given in arguments.items()
    }


def write_table(path: Path, n_rows: int, n_columns: int) -> Path:
    """Write a CSV file of numbers and a label."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_columns)) + 0.5 * y[:, None]
    names = ",".join([*(f"x{column}" for column in range(n_columns)), "y"])
    np.savetxt(
        path,
        np.column_stack([X, y]),
        fmt=[*["%.6f"] * n_columns, "%d"],
        delimiter=",",
        header=names,
        comments="",
    )
    return path


def write_levels(path: Path) -> Path:
    """Write a CSV file of 200,000 rows: two numbers, a category of many levels, and a
    label that depends on all of them.
    """
    rng = np.random.default_rng(0)
    n_rows = 200_000
    levels = rng.integers(0, 100_000, n_rows)
    X = rng.normal(size=(n_rows, 2))
    score = rng.normal(size=100_000)[levels] + X @ [1.0, -0.5]
    y = (score + rng.normal(size=n_rows) > 0).astype(int)
    np.savetxt(
        path,
        np.column_stack([X, levels, y]),
        fmt=["%.5f", "%.5f", "level%d", "%d"],
        delimiter=",",
        header="x0,x1,shop,y",
        comments="",
    )
    return path


def measure(
    commands: dict[str, list[str]], folder: Path, repeats: int
) -> tuple[dict[str, list[tuple[float, float]]], int]:
    """Return wall-clock and processor seconds of each process, and the kernels compiled
    after the first round.
    """
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "PYTHONPATH": os.pathsep.join(
            [
                str(Path(__file__).resolve().parent.parent),
                *filter(None, [os.environ.get("PYTHONPATH")]),
            ]
        ),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for name, command in commands.items():
        run(name, command, environment)
    kernels = set((folder / "kernels").rglob("*.nb?"))
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            start = time.perf_counter()
            used = processor_seconds()
            printed = run(name, command, environment)
            times[name].append(
                (time.perf_counter() - start, processor_seconds() - used)
            )
            assert not name.startswith("fit") or json.loads(printed)["proven"], printed
    return times, len(set((folder / "kernels").rglob("*.nb?")) - kernels)


def processor_seconds() -> float:
    """Return the processor time of all finished processes.

    A busy machine hardly affects it.
    """
    spent = os.times()
    return spent.children_user + spent.children_system


def run(name: str, command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (2 if name == "input error" else 0), done.stderr
    return done.stdout


def write_report(options, times: dict[str, list[float]], compiled: int) -> None:
    imports, busy_imports = times["imports"]
    rows: list[list[object]] = [
        [
            name if name != "imports" else '`python -c "import sklearn, numba"`',
            short(wall),
            short(wall / imports),
            short(wall - imports),
            short(busy),
            short(busy - busy_imports),
        ]
        for name, (wall, busy) in times.items()
    ]
    spent = {name: times[name][0] - imports for name in LIMITS} | {
        name: times[name][0] for name in TOTAL_LIMITS
    }
    limits = {name: (seconds, " above the imports") for name, seconds in LIMITS.items()}
    limits |= {name: (seconds, "") for name, seconds in TOTAL_LIMITS.items()}
    verdicts = [
        f"- {name}: {short(spent[name])} s{what}, limit {limit} s:"
        f" {'kept' if spent[name] <= limit else 'missed'}."
        for name, (limit, what) in limits.items()
    ]
    sections = [
        (
            "a9a is 32,561 × 123, from xz-compressed svmlight text; the tables are"
            " CSV. A fit reads, standardises, solves to a proven gap, scores and"
            " saves; the input error is a misspelt label column. Whole processes,"
            f" medians of {options.repeats} of each kind, taking turns."
        ),
        table(
            [
                "process",
                "seconds",
                "ratio",
                "above the imports",
                "processor seconds",
                "above the imports",
            ],
            rows,
        ),
        "\n".join(verdicts),
        f"Kernels compiled after the first round: {compiled}.",
    ]
    report(
        "command_line-quick" if options.quick else "command_line",
        "The command line",
        sections,
        ["typer", "pyarrow"],
    )


if __name__ == "__main__":
    main()
