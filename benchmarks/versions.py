"""Two versions of drsvm against each other: the cases of eight benchmarks, in processes
that take turns.

    python benchmarks/versions.py OLD NEW --tables speed throughput

OLD and NEW are checkouts. In every round each version has a process of its own that
runs all cases of a table once; the ratio of a case is that of the two medians. Epochs
are timed by the `throughput.py` of each version.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from _common import NORM_OF_Q, load, report, short, table, use_threads
from _text import text_like

EPOCHS = 10
"""Epochs that are timed together."""

Case = tuple[str, Callable[[], float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="checkout of the older version")
    parser.add_argument("new", type=Path, help="checkout of the newer version")
    # A table that needs a GPU is run on request only.
    usual = [name for name in TABLES if name != "gpu"]
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=usual)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--worker", nargs=2, metavar=("TABLE", "FOLDER"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    sys.path.append(str(options.new))  # for the report
    if options.worker:
        run_cases(options.worker[0], Path(options.worker[1]))
        return
    for name in options.tables:
        with tempfile.TemporaryDirectory() as folder:
            times = alternate(name, options, folder)
        write_report(name, options, *times)


def alternate(name: str, options, folder: str) -> list[list[dict[str, float]]]:
    """Return the times of all cases, round by round, of the older and the newer
    version.
    """
    times: list[list[dict[str, float]]] = [[], []]
    for index in range(options.rounds):
        for found, checkout in zip(times, (options.old, options.new), strict=True):
            found.append(one_round(name, checkout.resolve(), Path(folder)))
            print(
                f"{name}: round {index + 1}, {checkout}:"
                f" {sum(found[-1].values()):.1f} s",
                flush=True,
            )
    return times


def one_round(name: str, checkout: Path, folder: Path) -> dict[str, float]:
    """Run all cases of a table in a process that imports drsvm from a checkout.

    Compiled kernels are kept.
    """
    cache = folder / checkout.as_posix().strip("/").replace("/", "-")
    environment = {
        **os.environ,
        "PYTHONPATH": str(checkout),
        "NUMBA_CACHE_DIR": str(cache),
    }
    command = [
        sys.executable,
        __file__,
        str(checkout),
        str(checkout),
        "--worker",
        name,
        str(folder),
    ]
    printed = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return json.loads(printed.splitlines()[-1])


def run_cases(name: str, folder: Path) -> None:
    """Print the seconds of every case of a table."""
    print(json.dumps({label: call() for label, call in TABLES[name](folder)}))


# --- tables
# -------------------------------------------------------------------------------------------------------


def speed(folder: Path) -> Iterator[Case]:
    """Yield the instances of the paper, to a proven gap of 1e-8."""
    from drsvm import Problem, solve

    for name in ("a9a", "ijcnn1"):
        X, y = load(name)
        for q, l2 in ((q, l2) for l2 in (0.0, 1.0) for q in NORM_OF_Q):
            problem = Problem(X, y, radius=0.1, flip_cost=1.0, norm=NORM_OF_Q[q], l2=l2)
            yield (
                f"{name}, q = {q:g}, c = {l2:g}",
                lambda problem=problem: median_of(lambda: solve(problem, tol=1e-8), 5),
            )


def highdim(folder: Path) -> Iterator[Case]:
    """Yield text-like data, as fractions of the largest radius, which is computed once
    for both versions.
    """
    from drsvm import Problem, radius_max, solve

    X, y = text_like(20_000, 60_000)
    for q, kappa, intercept in (
        (q, kappa, b)
        for q in (2, 1)
        for kappa in (1.0, math.inf)
        for b in (False, True)
    ):
        problem = Problem(
            X, y, norm=NORM_OF_Q[q], flip_cost=kappa, fit_intercept=intercept
        )
        known = folder / f"radius-{q}-{kappa}-{intercept}"
        if not known.exists():
            known.write_text(repr(radius_max(problem)))
        largest = float(known.read_text())
        for fraction, tol in (
            (fraction, tol) for fraction in (0.01, 0.1, 0.5) for tol in (1e-3, 1e-5)
        ):
            case = problem.replace(radius=fraction * largest)
            label = (
                f"q = {q}, κ = {kappa:g}, intercept {intercept}, {fraction:g} ×"
                f" radius_max, gap {tol:g}"
            )
            yield (
                label,
                lambda case=case, tol=tol: median_of(
                    lambda: solve(case, tol=tol, max_time=60.0)
                ),
            )


def throughput(folder: Path) -> Iterator[Case]:
    """Yield epochs of the incremental methods."""
    # It uses names that are not public
    sys.path.insert(0, str(Path(os.environ["PYTHONPATH"]) / "benchmarks"))
    import throughput as epochs

    from drsvm import Problem

    matrices = {
        "a9a": load("a9a"),
        "sparse": epochs.sparse_matrix(50_000),
        "dense": epochs.dense_matrix(50_000, 100),
    }
    for name, (X, y) in matrices.items():
        for method in epochs.methods(0):
            if name == "sparse" and math.isinf(method.q) and method.settings:
                continue  # a minute per run
            problem = Problem(X, y, radius=0.1, flip_cost=1.0, norm=NORM_OF_Q[method.q])
            yield (
                f"{name}: {method.key}",
                lambda m=method, p=problem: epochs.own_clock(p, m, EPOCHS)().seconds,
            )


def first_fit(folder: Path) -> Iterator[Case]:
    """Yield first fits in fresh processes, with compiled kernels in the cache and with
    an empty one.
    """
    import first_fit as fits

    version = Path(os.environ["NUMBA_CACHE_DIR"])
    data = {
        "a1a": fits.save_data(folder / "a1a.npz", *load("a1a")),
        "small": fits.save_data(folder / "small.npz", *fits.small_data()),
    }
    for kind, (program, name, container) in fits.KINDS.items():
        warm = (program, data[name], container)
        fits.fresh_process(*warm, cache=version)
        yield (
            f"{kind}; kernels in the cache",
            lambda warm=warm: fits.fresh_process(*warm, cache=version)["total"],
        )

        def cold(warm=warm) -> float:
            with tempfile.TemporaryDirectory() as empty:
                return fits.fresh_process(*warm, cache=Path(empty))["total"]

        yield f"{kind}; cache empty", cold


def cost(folder: Path) -> Iterator[Case]:
    """Yield dense rows with few features, in growing numbers."""
    from cost import two_gaussians

    from drsvm import Problem, solve

    for n, norm in ((n, norm) for n in (10**5, 10**6) for norm in NORM_OF_Q.values()):
        problem = Problem(*two_gaussians(n), norm=norm)
        yield (
            f"{n:,} × 20, norm {norm:g}",
            lambda problem=problem: median_of(lambda: solve(problem), 3),
        )


def small(folder: Path) -> Iterator[Case]:
    """Yield fits, cross-validations and predictions on small data."""
    import small as cases

    for group in cases.groups():
        repeats = 1 if group.is_long else cases.FEW
        for name, call in group.own.items():
            yield (
                f"{group.data}: {name}",
                lambda call=call, repeats=repeats: median_of(call, repeats),
            )


def kernel(folder: Path) -> Iterator[Case]:
    """Yield classifiers with an RBF kernel, a fifth of the labels wrong."""
    from sklearn.preprocessing import StandardScaler

    from drsvm import WassersteinKernelSVC

    for name, n, tol in (
        ("ijcnn1", 3000, 1e-6),
        ("spambase", 3000, 1e-6),
        ("ijcnn1", 20_000, 1e-3),
    ):
        X, y = load(name)
        rng = np.random.default_rng(0)
        rows = rng.permutation(len(y))[:n]
        X = StandardScaler().fit_transform(X[rows].toarray())
        y = np.where(rng.random(n) < 0.2, -y[rows], y[rows])
        model = WassersteinKernelSVC(gamma=0.3 / X.shape[1], tol=tol)
        yield (
            f"{name}, {n:,} rows, gap {tol:g}",
            lambda model=model, X=X, y=y: median_of(lambda: model.fit(X, y)),
        )


def gpu(folder: Path) -> Iterator[Case]:
    """Yield dense, sparse and text-like rows that are on a GPU."""
    import _scale_gpu as scale

    from drsvm import Problem

    def seconds(make_rows: Callable[[], tuple], tol: float, **parameters) -> float:
        X, y = make_rows()
        problem = Problem(X, y, **(scale.BALL | parameters))
        found = scale.on_card(problem, tol)[0]
        del X, y, problem
        scale.free_all()
        return found

    for n, d, dtype in (
        (2_000_000, 1000, "float64"),
        (2_000_000, 1000, "float32"),
        (10_000_000, 100, "float64"),
    ):
        yield (
            f"dense, {n:,} × {d:,} {dtype}",
            lambda n=n, d=d, dtype=dtype: seconds(
                lambda: scale.dense_rows(n, d, np.dtype(dtype)), 1e-6
            ),
        )
    text = (scale.TEXT_ROWS // 10, scale.TEXT_FEATURES, scale.TEXT_DRAWS)
    yield (
        f"text, {text[0]:,} × {text[1]:,}",
        lambda: seconds(
            lambda: scale.text_rows(*text), scale.TEXT_TOL, radius=scale.TEXT_RADIUS
        ),
    )


TABLES: dict[str, Callable[[Path], Iterator[Case]]] = {
    "speed": speed,
    "highdim": highdim,
    "throughput": throughput,
    "first_fit": first_fit,
    "cost": cost,
    "small": small,
    "kernel": kernel,
    "gpu": gpu,
}


def median_of(call, repeats: int = 1) -> float:
    """Return the median time of a few calls after one that does not count."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


# --- reporting
# ----------------------------------------------------------------------------------------------------


def write_report(
    name: str, options, old: list[dict[str, float]], new: list[dict[str, float]]
) -> None:
    rows = []
    ratios = []
    for label in old[0]:
        before, after = (
            statistics.median(found[label] for found in version)
            for version in (old, new)
        )
        ratios.append(after / before)
        rows.append(
            [label, short(1000 * before), short(1000 * after), short(after / before)]
        )
    mean = statistics.geometric_mean(ratios)
    sections = [
        (
            f"**Geometric mean of the ratios: {mean:.3f}** (new over old; smallest"
            f" {min(ratios):.2f}, largest {max(ratios):.2f}). Medians of"
            f" {options.rounds} rounds in which processes of the two versions take"
            " turns; milliseconds."
        ),
        table(["case", "old", "new", "new / old"], rows),
    ]
    report(f"versions-{name}", f"Two versions: {name}", sections)


if __name__ == "__main__":
    use_threads(len(os.sched_getaffinity(0)))
    np.seterr(all="ignore")
    main()
