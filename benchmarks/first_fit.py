"""How long the first fit takes: a small fit in a fresh process, beside an import of
scikit-learn.

Once with compiled kernels in numba's cache, once with an empty cache, as after an
installation. Byte code is cached. What is imported on first use, such as numba, is part
of the fit.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from _common import load, report, short, table
from scipy import sparse

SOLVE = """
import time
start = time.perf_counter()
import json, resource, sys
from drsvm import Problem, solve
imported = time.perf_counter()
import numpy
from scipy import sparse
parts = numpy.load(sys.argv[1])
X = sparse.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=parts["shape"])
problem = Problem(X, parts["y"], radius=0.1, flip_cost=1.0, norm=2)
built = time.perf_counter()
result = solve(problem)
ended = time.perf_counter()
assert result.gap <= 1e-6, result
print(json.dumps({"total": ended - start, "import": imported - start, "data": built - imported,
                  "solve": ended - built, "cpu": resource.getrusage(resource.RUSAGE_SELF).ru_utime}))
"""

FIT = """
import time
start = time.perf_counter()
import json, resource, sys
from drsvm import WassersteinSVC
WassersteinSVC  # names are looked up on first use
imported = time.perf_counter()
import numpy
from scipy import sparse
parts = numpy.load(sys.argv[1])
X = sparse.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=parts["shape"])
X = X.toarray() if sys.argv[2] == "dense" else X
built = time.perf_counter()
model = WassersteinSVC().fit(X, parts["y"])
ended = time.perf_counter()
assert model.gap_ <= 1e-6, model.result_
print(json.dumps({"total": ended - start, "import": imported - start, "data": built - imported,
                  "solve": ended - built, "cpu": resource.getrusage(resource.RUSAGE_SELF).ru_utime}))
"""

IMPORTS = """
import time
start = time.perf_counter()
import json, resource
from sklearn.svm import LinearSVC
total = time.perf_counter() - start
print(json.dumps({"total": total, "cpu": resource.getrusage(resource.RUSAGE_SELF).ru_utime}))
"""

KINDS = {
    "solve, a1a (1,605 × 119, sparse)": (SOLVE, "a1a", ""),
    "WassersteinSVC, 500 × 20, dense": (FIT, "small", "dense"),
    "WassersteinSVC, 500 × 20, sparse": (FIT, "small", "sparse"),
    "WassersteinSVC, a1a, sparse": (FIT, "a1a", "sparse"),
}
"""What is run: a program, its data, and the type of their container."""


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
    with tempfile.TemporaryDirectory() as folder:
        times = measure(Path(folder), options.repeats)
    write_report(options, {name: medians(runs) for name, runs in times.items()})


def measure(folder: Path, repeats: int) -> dict[str, list[dict[str, float]]]:
    """Run all kinds of processes in turn."""
    data = {
        "a1a": save_data(folder / "a1a.npz", *load("a1a")),
        "small": save_data(folder / "small.npz", *small_data()),
    }
    warm = folder / "warm"
    for program, name, container in KINDS.values():
        fresh_process(program, data[name], container, cache=warm)
    times: dict[str, list[dict[str, float]]] = defaultdict(list)
    fresh_process(IMPORTS, cache=warm)
    for index in range(repeats):
        times["imports"].append(fresh_process(IMPORTS, cache=warm))
        for number, (kind, (program, name, container)) in enumerate(KINDS.items()):
            times[f"{kind}; kernels in the cache"].append(
                fresh_process(program, data[name], container, cache=warm)
            )
            empty = folder / f"empty{index}-{number}"
            times[f"{kind}; cache empty"].append(
                fresh_process(program, data[name], container, cache=empty)
            )
    return times


def small_data() -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 20))
    return sparse.csr_array(X), np.where(X[:, 0] + rng.normal(size=500) > 0, 1, -1)


def save_data(file: Path, X, y) -> Path:
    np.savez(
        file,
        data=X.data,
        indices=X.indices,
        indptr=X.indptr,
        shape=np.array(X.shape),
        y=y,
    )
    return file


def fresh_process(program: str, *arguments, cache: Path) -> dict[str, float]:
    """Return the times that a program prints, in a process with a separate cache of
    compiled kernels.
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", program, *map(str, arguments)]
    finished = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(finished.stdout)


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def write_report(options, times: dict[str, dict[str, float]]) -> None:
    imports = times.pop("imports")
    rows = [
        [
            "`from sklearn.svm import LinearSVC`",
            short(imports["total"]),
            "1.00",
            "",
            "",
            short(imports["total"]),
            "1.00",
            short(imports["cpu"]),
        ]
    ]
    for name, found in times.items():
        rows.append(
            [
                name,
                short(found["import"]),
                short(found["import"] / imports["total"]),
                short(found["data"]),
                short(found["solve"]),
                short(found["total"]),
                f"**{short(found['total'] / imports['total'])}**",
                short(found["cpu"]),
            ]
        )
    sections = [
        (
            "Data are read from an npz file, norm 2, proven gap 1e-6; seconds from the"
            f" first line of a fresh process, medians of {options.repeats} processes of"
            " each kind, taking turns. Ratios are to the import of scikit-learn in the"
            " first row. The last column is processor time in user mode, which other"
            " work on the machine affects less."
        ),
        table(
            [
                "process",
                "import",
                "ratio",
                "data",
                "solve or fit",
                "total",
                "ratio",
                "processor time",
            ],
            rows,
        ),
    ]
    report(
        "first_fit-quick" if options.quick else "first_fit", "The first fit", sections
    )


if __name__ == "__main__":
    main()
