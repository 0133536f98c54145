"""Compile the kernels that the tests use, with two processes: ``python
tests/compile_kernels.py``.

Processes that run tests would compile the same kernels at the same time. Kernels that
call the same inner functions are compiled in one process, which compiles these once: a
second kind of rows takes a fraction of the time of the first. Python's bytecode is
compiled in front, too, by collecting the tests.
"""

import gc
import math
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from scipy import sparse

from drsvm import Problem, solve
from drsvm.compiled.memory_epochs import Batching, contribute
from drsvm.engines.cpu import CpuEngine
from drsvm.solvers import InteriorPoint, proximal_batch_step, proximal_step
from drsvm.solvers.paper.incremental.epochs import Epochs

# enough entries, zeros included, for sparse rows to stay sparse
N = 400
D = 300
KINDS = ("dense", "sparse")
PER_ROW = {"flip_cost": np.linspace(0.5, 2.0, N)}


def problem_of(kind, n=N, d=D, norm=2, **parameters):
    """Return a problem on rows of a kind; dense ones have few features."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2, 1, -1)
    X = (rng.normal(size=(n, d)) + 0.1 * y[:, None]) * (rng.random((n, d)) < 0.1)
    rows = (
        sparse.csr_array(X)
        if kind == "sparse"
        else X[:, :5].astype("float32" if kind == "float32" else "float64")
    )
    return Problem(
        rows,
        y,
        **{"radius": 0.05, "flip_cost": 1.0, "norm": norm, "fit_intercept": True}
        | parameters,
    )


def compile_solver(name, kind, **parameters):
    """Run a few iterations."""
    solve(problem_of(kind, **parameters), name, max_iter=4)


def compile_equations(kind, **parameters):
    """Make the first two passes of the interior-point method over the rows."""
    engine = CpuEngine(problem_of(kind, **parameters), 1)
    engine.center(np.zeros(engine.n_linear), 1.0, 1.0)
    engine.curvature()
    return engine


def compile_passes(kind, **parameters):
    """Make every pass."""
    engine = compile_equations(kind, **parameters)
    still = np.zeros(engine.n_linear)
    engine.predict(still, 0.0)
    engine.longest_steps(still, 0.0, 0.5)
    engine.dual_sums()
    engine.multipliers()


def compile_exact_methods():
    """Compile the steps on few rows, the passes over many with each way to form a
    matrix, and two other solvers.
    """
    for kind in KINDS:
        for norm in (2, 1, math.inf):
            compile_solver("interior-point", kind, norm=norm, radius=0.005)
        compile_passes(kind)
    for norm in (2, 1, math.inf):
        solve(
            problem_of("dense", norm=norm, radius=0.005),
            InteriorPoint(compiled_steps=False),
            max_iter=4,
        )
    for kind, size in (
        ("dense", {"n": 5000}),
        ("float32", {"n": 5000}),
        ("sparse", {"d": 400}),
    ):
        compile_equations(kind, **size)
    compile_passes("dense", **PER_ROW)
    for kind in KINDS:
        for norm in (1, 2):
            for price in (1.0, math.inf):
                compile_solver("dual-coordinate", kind, norm=norm, intercept_cost=price)
        compile_solver("dual-coordinate", kind, norm=1, **PER_ROW)
    for norm in (1, 2):
        compile_solver(
            "dual-coordinate", "dense", norm=norm, intercept_cost=1.0, **PER_ROW
        )
    for norm in (1, 2, math.inf):
        compile_solver("admm", "dense", norm=norm)


def compile_epochs(kind, **parameters):
    """Make an epoch of every kind."""
    problem = problem_of(kind, **parameters)
    epochs = Epochs.of(problem, "cyclic", np.random.default_rng(0))
    point = epochs.origin()
    step = 0.1 * epochs.natural_step
    epochs.subgradient(point, step, 1.0, 8)
    epochs.proximal(point, step, 1.0)
    epochs.memory(point, step)
    epochs.batches(
        point, Batching(8, np.stack([point.hinge, point.flip]), 0.0, 64), step, 1.0
    )
    contribute(
        epochs.samples.rows, np.arange(problem.n_rows), point, epochs.terms, step
    )


def compile_incremental():
    for norm in (2, 1, math.inf):
        for kind in KINDS:
            compile_epochs(kind, norm=norm)
    compile_epochs("dense", **PER_ROW)
    proximal_step([1.0], 1, [0.0], 0.5, step=0.1, radius=0.1, flip_cost=1.0)
    for norm in (2, 1, math.inf):
        proximal_batch_step(
            [[1.0]], [1], [0.0], 0.5, step=0.1, radius=0.1, flip_cost=[1.0], norm=norm
        )


def compile_bytecode():
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-qq"],
        stdout=subprocess.DEVNULL,
        check=True,
    )


if __name__ == "__main__":
    # Compiling makes many objects that stay, and looking through them again and again
    # takes its share of the time.
    rarely = {"initializer": gc.set_threshold, "initargs": (100_000, 20, 20)}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn"), **rarely) as pool:
        # What takes long comes first.
        for ended in [
            pool.submit(task)
            for task in (compile_exact_methods, compile_incremental, compile_bytecode)
        ]:
            ended.result()
