"""Shared by all benchmarks: data, timing, a description of the machine, and a
report.
"""

import csv
import gc
import lzma
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

HERE = Path(__file__).parent
RESULTS = HERE / "results"
BESIDE_THE_CHECKOUT = HERE.parent.parent / "shared"

NORM_OF_Q = {1: np.inf, 2: 2, np.inf: 1}
"""The norm p of the shifts for each norm q of the weights."""

ENOUGH = 20.0
"""A call that has used this many seconds is not repeated."""

LABELS = {"adult": "class", "rows-diabetes": "Outcome", "titanic": "survived"}
"""The column with the labels of a table, where it is not called label."""

LEFT_OUT = {"titanic": ("alive",)}
"""Columns that say the label in other words."""


# --- data
# ---------------------------------------------------------------------------------------------------------


def _folder(variable: str, default: str) -> Path | None:
    given = os.environ.get(variable)
    folder = Path(given) if given else BESIDE_THE_CHECKOUT / default
    return folder if folder.is_dir() else None


def data_file(name: str) -> Path | None:
    """Return the file of a data set, NAME.svm.xz or NAME.csv.xz, or None if it is
    missing.
    """
    folder = _folder("DRSVM_DATA", "data")
    files = [folder / f"{name}.{kind}.xz" for kind in ("svm", "csv")] if folder else []
    return next(filter(Path.exists, files), None)


@lru_cache
def load(name: str) -> tuple[Any, np.ndarray]:
    """Return X and y of a data set: CSR with 32-bit indices from svmlight text, dense
    from a table.
    """
    file = data_file(name)
    if file is None:
        sys.exit(
            f"{name} not found: set DRSVM_DATA to a folder with data sets compressed"
            f" with xz, as svmlight text ({name}.svm.xz) or as a table ({name}.csv.xz)."
            f" DRSVM_DATA is {os.environ.get('DRSVM_DATA', 'not set')}."
        )
    if file.name.endswith(".csv.xz"):
        return _load_table(file, LABELS.get(name, "label"), LEFT_OUT.get(name, ()))
    from sklearn.datasets import load_svmlight_file

    with lzma.open(file) as stream:
        X, y = load_svmlight_file(stream)
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def _load_table(
    file: Path, label: str, left_out: Iterable[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of a table, dense, and the codes of its labels."""
    with lzma.open(file, "rt", encoding="utf-8", newline="") as stream:
        columns = {
            header: np.array(cells)
            for header, *cells in zip(*csv.reader(stream), strict=True)
        }
    y = np.unique(columns.pop(label), return_inverse=True)[1]
    return (
        np.column_stack(
            [
                _features(cells)
                for header, cells in columns.items()
                if header not in left_out
            ]
        ),
        y,
    )


def _features(cells: np.ndarray) -> np.ndarray:
    """Return a column of numbers, with the median in empty cells, or a column for each
    text, the empty one included.
    """
    try:
        numbers = np.where(cells == "", "nan", cells).astype(float)
    except ValueError:
        return (cells[:, None] == np.unique(cells)).astype(float)
    return np.where(np.isnan(numbers), np.nanmedian(numbers), numbers)


@lru_cache
def reference(name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file with reference figures.

    An empty list if it is missing.
    """
    folder = _folder("DRSVM_REFERENCE", "reference")
    if folder is None or not (folder / name).exists():
        return []
    with open(folder / name, newline="") as stream:
        return list(csv.DictReader(stream))


@lru_cache
def _optima() -> dict[tuple[str, float, float], float]:
    return {
        (row["dataset"], float(row["q"]), float(row["c"])): float(row["optimum"])
        for row in reference("optima.csv")
        if (float(row["kappa"]), float(row["epsilon"])) == (1.0, 0.1)
    }


def optimum(problem, name: str) -> tuple[float, str]:
    """Return the optimum for radius 0.1 and flip cost 1, from the reference or else
    proven by drsvm, and its source.
    """
    known = _optima().get((name, float(problem.norm.q), float(problem.l2)))
    if known is not None:
        return known, "reference"
    from drsvm import solve

    result = solve(problem, "interior-point", tol=1e-9)
    return result.lower_bound, f"proven by drsvm to {result.gap:.0e}"


# --- timing
# -------------------------------------------------------------------------------------------------------


def use_threads(n_threads: int) -> None:
    """Limit every thread pool, including those of libraries that are loaded later."""
    from threadpoolctl import threadpool_limits

    for variable in (
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "RAYON_NUM_THREADS",
    ):
        os.environ[variable] = str(n_threads)
    threadpool_limits(n_threads)


def usable_cores() -> int:
    """Return the number of cores this process may use."""
    return (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )


def use_clock(name: str) -> None:
    """Time calls, also in processes started later, by the clock on the wall or by the
    time of this process on all cores, which hardly depends on what else is running.
    """
    os.environ["DRSVM_BENCHMARK_CLOCK"] = name


def clock_of_process() -> bool:
    """Return whether calls are timed by the time of this process."""
    return os.environ.get("DRSVM_BENCHMARK_CLOCK") == "cpu"


def seconds(call: Callable[[], object]) -> tuple[float, object]:
    """Return how long a call takes, without garbage collection, and its return
    value.
    """
    clock = time.process_time if clock_of_process() else time.perf_counter
    gc.collect()
    gc.disable()
    try:
        start = clock()
        answer = call()
        return clock() - start, answer
    finally:
        gc.enable()


@dataclass(frozen=True)
class Timing:
    """The median time of a call and its last return value."""

    seconds: float
    answer: Any


def median_seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the median time of several calls after one untimed call."""
    return interleaved({"": call}, repeats)[""].seconds


def interleaved(
    calls: dict[str, Callable[[], object]], repeats: int
) -> dict[str, Timing]:
    """Time several calls.

    They take turns, so that a busy machine affects all of them equally.

    The first round is not timed.
    """
    answers = {name: call() for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            if sum(times[name]) < ENOUGH:
                duration, answers[name] = seconds(call)
                times[name].append(duration)
    return {
        name: Timing(statistics.median(times[name]), answers[name]) for name in calls
    }


# --- reports
# ------------------------------------------------------------------------------------------------------


def machine(packages: Iterable[str] = ()) -> str:
    """Describe processor, Python and the versions of packages in one line."""
    import drsvm

    names = ["numpy", "scipy", "numba", "scikit-learn", *packages]
    versions = [f"{name} {found}" for name in names if (found := version_of(name))]
    system = f"{platform.system()} {platform.machine()}"
    return (
        f"{_processor()}, {usable_cores()} cores, {system}; Python"
        f" {platform.python_version()}, drsvm {drsvm.__version__},"
        f" {', '.join(versions)}"
    )


def version_of(package: str) -> str | None:
    """Return the version of an installed package, or None if it is missing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    named = (
        line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
    )
    return next(named, platform.processor() or "unnamed processor")


def _load() -> str:
    if not hasattr(os, "getloadavg"):
        return "unknown"
    minute, _, quarter = os.getloadavg()
    return f"{minute:.1f}, {quarter:.1f} (including the benchmark itself)"


def table(header: list[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(
        "| " + " | ".join(str(cell) for cell in line) + " |" for line in lines
    )


def head(title: str, command: str, packages: Iterable[str] = ()) -> list[str]:
    """Return the title of a page and what it takes to repeat it."""
    return [
        f"# {title}",
        (
            f"- date: {datetime.now().astimezone():%Y-%m-%d %H:%M %z}\n"
            f"- command: `{command}`\n"
            f"- machine: {machine(packages)}\n"
            f"- load average over the last minute and the last 15 minutes: {_load()}"
        ),
    ]


def report(
    name: str, title: str, sections: list[str], packages: Iterable[str] = ()
) -> None:
    """Print a report and save it as results/NAME.md."""
    script = Path(sys.argv[0]).resolve().relative_to(HERE.parent)
    command = " ".join(["python", script.as_posix(), *sys.argv[1:]])
    text = "\n\n".join([*head(title, command, packages), *sections]) + "\n"
    file = RESULTS / f"{name}.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    print(text)


def short(value: float) -> str:
    """Return seconds or ratios with three significant digits, without an exponent
    unless it is needed.
    """
    if value == 0 or not np.isfinite(value):
        return str(value)
    digits = max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return f"{value:.{digits}f}" if digits <= 6 else f"{value:.2e}"
