"""What a user waits for the first time: a small fit in a fresh process, beyond the import of scikit-learn and numba.

Once with compiled kernels in numba's cache, once with an empty cache, as after an installation.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _common import load, report, short, table

FIT = """
import time
began = time.perf_counter()
import json, sys
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
assert result.gap <= 1e-8, result
print(json.dumps({"total": ended - began, "import": imported - began, "problem": built - imported,
                  "solve": ended - built}))
"""

IMPORTS = """
import time
began = time.perf_counter()
import sklearn, numba
print('{"total": %f}' % (time.perf_counter() - began))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, help="processes of each kind; the median counts (default: 5)")
    parser.add_argument("--quick", action="store_true", help="2 repeats")
    options = parser.parse_args()
    options.repeats = options.repeats or (2 if options.quick else 5)
    with tempfile.TemporaryDirectory() as folder:
        times = measure(Path(folder), options.repeats)
    write_report(options, {name: medians(runs) for name, runs in times.items()})


def measure(folder: Path, repeats: int) -> dict[str, list[dict[str, float]]]:
    """Run the three kinds of process in turns."""
    data = save_data(folder / "a1a.npz")
    warm = folder / "warm"
    fresh_process(FIT, data, cache=warm)
    fresh_process(IMPORTS, cache=warm)
    times: dict[str, list[dict[str, float]]] = {"imports": [], "warm": [], "cold": []}
    for index in range(repeats):
        times["imports"].append(fresh_process(IMPORTS, cache=warm))
        times["warm"].append(fresh_process(FIT, data, cache=warm))
        times["cold"].append(fresh_process(FIT, data, cache=folder / f"empty{index}"))
    return times


def save_data(file: Path) -> Path:
    X, y = load("a1a")
    np.savez(file, data=X.data, indices=X.indices, indptr=X.indptr, shape=np.array(X.shape), y=y)
    return file


def fresh_process(program: str, *arguments, cache: Path) -> dict[str, float]:
    """Return the times that a program prints, in a process with its own cache of compiled kernels."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(finished.stdout)


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def write_report(options, times: dict[str, dict[str, float]]) -> None:
    imports = times["imports"]["total"]
    rows = [["`import sklearn, numba`", short(imports), "", "", short(imports), ""]]
    for name, label in (("warm", "a1a, kernels in the cache"), ("cold", "a1a, cache empty")):
        parts = [short(times[name][part]) for part in ("import", "problem", "solve", "total")]
        rows.append([label, *parts, f"**{short(times[name]['total'] - imports)}**"])
    sections = [
        "a1a (1,605 × 119, read from an npz file), norm 2, proven gap 1e-8; seconds from the first line of a fresh "
        f"process, medians of {options.repeats} processes of each kind, taking turns.",
        table(["process", "import", "data and Problem", "solve", "all", "beyond the imports"], rows),
    ]
    report("first_fit-quick" if options.quick else "first_fit", "The first fit", sections)


if __name__ == "__main__":
    main()
