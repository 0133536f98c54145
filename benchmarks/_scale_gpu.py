"""The part of `scale.py` for rows on a graphics card. They are generated there.

The cores get a copy of them.
"""

import sys
import time
from typing import Any, NamedTuple

import numpy as np
from _common import report, short, table, usable_cores
from scipy import sparse

from drsvm import Problem, WassersteinSVC, solve
from drsvm.engines.newton_matrix import Scaling

REPEATS = 3
"""Runs on the GPU after a first one, which compiles; the median counts."""

BALL = {"radius": 0.1, "flip_cost": 1.0}

FIT_SHAPE = 4_000_000, 500

TEXT_ROWS = 847_000
TEXT_FEATURES = 359_000
TEXT_DRAWS = 430
TEXT_RADIUS = 1e-3
TEXT_TOL = 1e-4

PASS_ROWS = 1_000_000
"""Dense rows of 1,000 features, of the part passes; of text, a tenth as many."""

# Most of the time that a copy of the same bytes takes, for products and sums of dense
# and of sparse rows
LIMIT_OF_DENSE = 1.2
LIMIT_OF_SPARSE = 2.5
# Most of the time of CuPy's general product, for a Gram matrix, and most of that in
# double precision, for one in low precision
LIMIT_OF_GRAM = 0.9
LIMIT_OF_ROUGH = 0.3
# Most of the times of a product and of sums, for one with the Newton matrix: a vector
# that goes to the host and back makes that 1.8
LIMIT_OF_NEWTON = 1.25


def gpu_part(options) -> None:
    """Measure the cases one by one.

    The report is written after each, so that none is lost.
    """
    # The first fit of a process is that of the first case.
    wanted = {
        "fit": fit_section,
        "dense": dense_section,
        "sparse": sparse_section,
        "text": text_section,
    }
    sections = []
    packages = ["cupy-cuda13x"]
    for case in options.cases or [*wanted, "passes"]:
        if case == "passes":
            passes_part(packages)
            continue
        found = wanted[case](options)
        if case == "text":
            report(
                "scale-gpu-text",
                f"Text-like rows on a graphics card: {card()}",
                found,
                packages,
            )
        else:
            sections += found
            report(
                "scale-gpu", f"Rows on a graphics card: {card()}", sections, packages
            )


def card() -> str:
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()


def timed(call) -> tuple[float, object]:
    import cupy

    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    value = call()
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - start, value


def on_card(problem, tol: float):
    """Return the median time of a solve, and its result."""
    runs = [timed(lambda: solve(problem, tol=tol)) for _ in range(REPEATS + 1)][1:]
    return float(np.median([seconds for seconds, _ in runs])), runs[-1][1]


def free_all() -> None:
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()


# --- single passes over all rows
# ----------------------------------------------------------------------------------


class Pass(NamedTuple):
    """What a pass took, what it is compared with, and how much longer it may take."""

    name: str
    seconds: float
    compared_with: str
    expected: float
    limit: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.expected

    def line(self) -> list[str]:
        verdict = "kept" if self.ratio <= self.limit else "missed"
        return [
            self.name,
            f"{1e3 * self.seconds:.2f}",
            self.compared_with,
            f"{1e3 * self.expected:.2f}",
            f"{self.ratio:.2f}",
            f"{self.limit:g}",
            verdict,
        ]


def passes_part(packages) -> None:
    """Compare single passes with what the GPU can do; fail if one misses its limit."""
    import cupy as cp

    found = []
    for dtype in ("float64", "float32"):
        X, y = dense_rows(PASS_ROWS, 1000, np.dtype(dtype))
        found += dense_passes(f"dense {dtype}", Problem(X, y, **BALL))
        del X, y
        free_all()
    X, y = text_rows(TEXT_ROWS // 10, TEXT_FEATURES, TEXT_DRAWS)
    found += sparse_passes("text", Problem(X, y, **{**BALL, "radius": TEXT_RADIUS}))
    size = f"{PASS_ROWS:,} × 1,000 dense rows, {cp.shape(X)[0]:,} text-like ones"
    text = (
        f"{size}; medians of {REPEATS} runs. A copy is that of the same bytes on the"
        " card. A pass that misses its limit has lost a factor, and ends the command"
        " with an error."
    )
    header = ["pass", "ms", "compared with", "ms", "ratio", "limit", ""]
    lines = table(header, [one.line() for one in found])
    report(
        "gpu-passes", f"Passes on a graphics card: {card()}", [text, lines], packages
    )
    if any(one.ratio > one.limit for one in found):
        sys.exit("A pass takes longer than its limit.")


def median_seconds(call) -> float:
    """Return the median time of a call, after a first one."""
    return float(np.median([timed(call)[0] for _ in range(REPEATS + 1)][1:]))


def copy_seconds(values) -> float:
    """Return the time in which the GPU reads an array, by that of a copy."""
    # A copy reads and writes.
    return 0.5 * median_seconds(values.copy)


def dense_passes(name: str, problem) -> list[Pass]:
    import cupy as cp

    rows = problem.rows
    n, d = rows.shape
    three = cp.ones((3, n))
    copy = copy_seconds(rows.X)
    gram = median_seconds(lambda: rows.gram_and_sums(three[0], three))
    rough = median_seconds(lambda: rows.gram_and_sums(three[0], three, rough=True))
    found = [
        Pass(
            f"{name}: product",
            median_seconds(lambda: rows.dot(np.ones(d))),
            "copy",
            copy,
            LIMIT_OF_DENSE,
        ),
        Pass(
            f"{name}: two sums",
            median_seconds(lambda: rows.device_sums(three[:2])),
            "copy",
            copy,
            LIMIT_OF_DENSE,
        ),
        Pass(f"{name}: Gram, rough", rough, "Gram", gram, LIMIT_OF_ROUGH),
    ]
    if rows.dtype == np.float64:
        general = median_seconds(lambda: rows.X.T @ rows.X)
        found.append(Pass(f"{name}: Gram", gram, "Xᵀ @ X", general, LIMIT_OF_GRAM))
    return found


def sparse_passes(name: str, problem) -> list[Pass]:
    import cupy as cp

    rows = problem.rows
    n, d = rows.shape
    one = cp.ones((1, n))
    v = cp.ones(d)
    values, indices, _ = rows.entries
    copy = copy_seconds(values) + copy_seconds(indices)
    dot = median_seconds(lambda: rows.dot(v))
    sums = median_seconds(lambda: rows.device_sums(one))
    # The Newton matrix of a first iteration
    engine = rows.engine(problem, None)
    engine.center(np.zeros(d), 1.0, 1.0)
    _, samples = engine.curvature()
    cone = Scaling(np.ones(d), np.zeros(d), 1.0)
    newton = engine.factorised(samples, cone, np.zeros(d))
    x = cp.ones(d + 1)
    return [
        Pass(f"{name}: product", dot, "copy", copy, LIMIT_OF_SPARSE),
        Pass(f"{name}: sums", sums, "copy", copy, LIMIT_OF_SPARSE),
        Pass(
            f"{name}: product with the Newton matrix",
            median_seconds(lambda: newton.multiply(x)),
            "product and sums",
            dot + sums,
            LIMIT_OF_NEWTON,
        ),
    ]


# --- dense
# ----------------------------------------------------------------------------------------------------------


def dense_rows(n: int, d: int, dtype):
    import cupy as cp

    cp.random.seed(0)
    X = cp.empty((n, d), dtype=dtype)
    for first in range(0, n, 200_000):
        X[first : first + 200_000] = cp.random.standard_normal(
            X[first : first + 200_000].shape, dtype=dtype
        )
    w = cp.random.standard_normal(d) / np.sqrt(d)
    return X, cp.where(
        X @ w.astype(dtype) + 0.5 * cp.random.standard_normal(n) > 0, 1, -1
    )


def dense_section(options) -> list[str]:
    lines = []
    for n, d, dtype in ((2_000_000, 1000, "float64"), (2_000_000, 1000, "float32"), (10_000_000, 100, "float64"),
                        (10_000_000, 20, "float64")):  # fmt: skip
        X, y = dense_rows(n, d, np.dtype(dtype))
        problem = Problem(X, y, **BALL)
        seconds, result = on_card(problem, 1e-6)
        cores = (
            ""
            if not options.cores or dtype == "float32" or d < 1000
            else dense_on_cores(X.get(), y.get())
        )
        times = "" if cores == "" else f"{cores / seconds:.1f}"
        cores = cores if cores == "" else short(cores)
        lines.append(
            [
                f"{n:,} × {d:,} {dtype}",
                result.n_iter,
                f"{result.gap:.1e}",
                short(seconds),
                cores,
                times,
            ]
        )
        del X, y, problem
        free_all()
    header = [
        "rows",
        "iterations",
        "proven gap",
        "card, s",
        f"{usable_cores()} cores, s",
        "×",
    ]
    return [
        (
            "`solve(Problem(X, y, radius=0.1, flip_cost=1), tol=1e-6)`, norm 2, no"
            f" ridge, with X on the GPU already; medians of {REPEATS} runs. The cores"
            " ran once, after a smaller problem that compiled their kernels."
        ),
        table(header, lines),
    ]


def fit_section(options) -> list[str]:
    """Measure the default fit, the first one of this process and later ones."""
    n, d = FIT_SHAPE
    X, y = dense_rows(n, d, np.dtype(np.float64))
    runs = [timed(lambda: WassersteinSVC().fit(X, y)) for _ in range(REPEATS + 1)]
    first, *later = [seconds for seconds, _ in runs]
    model: Any = runs[-1][1]
    line = [
        f"{n:,} × {d:,} float64",
        f"{model.radius_:.2g}",
        f"{model.gap_:.1e}",
        short(first),
        short(float(np.median(later))),
    ]
    header = ["rows", "radius", "proven gap", "first fit, s", "later fits, s"]
    return [
        (
            "`WassersteinSVC().fit(X, y)`, with X on the GPU already: radius and ridge"
            " by the rules and by folds, the optimum, and the threshold. The first fit"
            " of the process loads kernels that have been compiled before (`python -m"
            f" drsvm.compile`); later ones: median of {REPEATS}."
        ),
        table(header, [line]),
    ]


def dense_on_cores(X, y) -> float:
    solve(Problem(X[:200_000], y[:200_000], **BALL), tol=1e-6)
    problem = Problem(X, y, **BALL)
    return timed(lambda: solve(problem, tol=1e-6))[0]


# --- sparse, with a Gram matrix
# ---------------------------------------------------------------------------------------


def sparse_rows(n: int, d: int, per_row: int) -> tuple[sparse.csr_array, np.ndarray]:
    random = np.random.default_rng(0)
    frequency = np.arange(1.0, d + 1) ** -0.7
    cumulated = np.cumsum(frequency / frequency.sum())
    columns = (
        np.searchsorted(cumulated, random.random((n, per_row)))
        .clip(0, d - 1)
        .astype(np.int32)
    )
    X = sparse.csr_array(
        (
            np.ones(columns.size),
            columns.ravel(),
            np.arange(0, columns.size + 1, per_row),
        ),
        (n, d),
    )
    X.sum_duplicates()
    X.data[:] = random.random(X.nnz)
    margins = X @ random.normal(size=d)
    noise = 0.5 * margins.std() * random.normal(size=n)
    return X, np.where(margins - np.median(margins) + noise > 0, 1, -1)


def sparse_section(options) -> list[str]:
    from cupyx.scipy.sparse import csr_matrix

    X, y = sparse_rows(1_000_000, 2000, 40)
    ball = {**BALL, "radius": 0.002}
    there = Problem(csr_matrix(sparse.csr_matrix(X)), y, **ball)
    seconds, result = on_card(there, 1e-6)
    here = Problem(X, y, **ball)
    solve(Problem(X[:50_000], y[:50_000], **ball), "interior-point", tol=1e-6)
    cores = np.median(
        [timed(lambda: solve(here, "interior-point", tol=1e-6))[0] for _ in range(2)]
    )
    line = [
        f"1,000,000 × 2,000, {X.nnz:,} entries",
        result.n_iter,
        f"{result.gap:.1e}",
        short(seconds),
        short(cores),
    ]
    header = [
        "rows",
        "iterations",
        "proven gap",
        "card, s",
        f"{usable_cores()} cores, s",
        "×",
    ]
    return [
        (
            "Sparse rows with up to 40 entries, radius 0.002, the interior point on"
            " both, to 1e-6."
        ),
        table(header, [[*line, f"{cores / seconds:.1f}"]]),
    ]


# --- text: many features
# ----------------------------------------------------------------------------------------------


def text_rows(n: int, d: int, draws: int):
    """Return a CSR matrix on the GPU whose rows have norm 1, and labels that follow a
    sparse direction, with noise.
    """
    import cupy as cp
    from cupyx.scipy.sparse import csr_matrix, vstack

    cp.random.seed(0)
    frequency = cp.arange(1.0, d + 1) ** -0.8
    cumulated = cp.cumsum(frequency / frequency.sum())
    blocks = []
    for first in range(0, n, 50_000):
        size = min(50_000, n - first)
        columns = (
            cp.searchsorted(cumulated, cp.random.random(size * draws))
            .clip(0, d - 1)
            .astype(cp.int32)
        )
        starts = cp.arange(0, size * draws + 1, draws, dtype=cp.int32)
        block = csr_matrix((cp.ones(size * draws), columns, starts), (size, d))
        block.sum_duplicates()
        block.data = (1.0 + cp.log(block.data)) * cp.log(
            1.0 / frequency[block.indices] + 1.0
        )
        row = cp.searchsorted(block.indptr, cp.arange(block.nnz), side="right") - 1
        block.data /= cp.sqrt(cp.bincount(row, block.data**2, minlength=size))[row]
        blocks.append(block)
    X = vstack(blocks, format="csr")
    w = cp.random.standard_normal(d) * (cp.random.random(d) < 0.05)
    margins = X @ w
    noise = 0.3 * margins.std() * cp.random.standard_normal(n)
    return X, cp.where(margins + noise > cp.median(margins), 1, -1)


def text_section(options) -> list[str]:
    from sklearn.svm import LinearSVC

    ball = {**BALL, "radius": TEXT_RADIUS}
    lines = []
    X, y = text_rows(TEXT_ROWS, TEXT_FEATURES, TEXT_DRAWS)
    density = X.nnz / (X.shape[0] * X.shape[1])
    tenth = X[: TEXT_ROWS // 10], y[: TEXT_ROWS // 10].get()
    # This compiles the kernels.
    solve(Problem(X[:1000], y[:1000], **ball), max_iter=2)
    for rows, labels in ((X, y), tenth):
        problem = Problem(rows, labels, **ball)
        problem.rows.columns  # noqa: B018
        seconds, result = timed(lambda problem=problem: solve(problem, tol=TEXT_TOL))
        found = [f"{result.objective:.6f}", f"{result.gap:.1e}"]
        lines.append(
            ["card, interior point", f"{rows.shape[0]:,}", short(seconds), *found]
        )
    rows = tenth[0].get()
    labels = tenth[1]
    here = Problem(sparse.csr_array(rows), labels, **ball)
    seconds, result = timed(lambda: solve(here, tol=TEXT_TOL, max_time=options.longest))
    found = [f"{result.objective:.6f}", f"{result.gap:.1e}"]
    lines.append(
        [
            f"{usable_cores()} cores, auto ({result.solver})",
            f"{len(labels):,}",
            short(seconds),
            *found,
        ]
    )
    model = LinearSVC(loss="hinge", C=1.0, max_iter=200)
    seconds, _ = timed(lambda: model.fit(rows, labels))
    lines.append(
        [
            "LinearSVC, hinge loss, C = 1",
            f"{len(labels):,}",
            short(seconds),
            "",
            "no proof",
        ]
    )
    header = ["solver", "rows", "seconds", "objective", "proven gap"]
    return [
        (
            f"Text-like rows × {TEXT_FEATURES:,}, {X.nnz:,} entries in all"
            f" ({100 * (1 - density):.2f} % zeros), norm 2, radius {TEXT_RADIUS:g}, to"
            f" a proven gap of {TEXT_TOL:g}: all rows on the GPU, and a tenth of them"
            " on both. One run each, its kernels compiled before. LinearSVC"
            " solves another problem, without a proof."
        ),
        table(header, lines),
    ]
