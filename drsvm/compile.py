# pyright: reportMissingImports=false
"""Compile ahead of time what fits use: ``python -m drsvm.compile``.

Compiled code is cached on disk (see `drsvm.compiled.compiling`): after this command,
also while an image for a cluster is built, no process waits for the compiler, unless it
has rows or a combination of options that are rare. The command uses two processes.
Solvers that share inner functions are compiled in the same one, because they are then
compiled only once. If there is a GPU, its kernels are compiled as well.
"""

import math
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from scipy import sparse

from drsvm.compiled.memory_epochs import Batching, contribute
from drsvm.engines.cpu import CpuEngine
from drsvm.engines.gpu import GpuError, cupy
from drsvm.estimators.linear import WassersteinSVC
from drsvm.problem.problem import Problem
from drsvm.solvers import InteriorPoint, proximal_batch_step, proximal_step, solve
from drsvm.solvers.paper.incremental.epochs import Epochs

N_ROWS = 400
# Enough entries, zeros included, for sparse rows to stay sparse (`SMALL` in
# engines/matrices.py)
N_SPARSE_FEATURES = 300
N_DENSE_FEATURES = 5
# On a GPU: enough for everything that is done with many rows only
GPU_SHAPE = 100_000, 400
NORMS = (2, 1, math.inf)
KINDS = ("dense", "sparse")
# One for each row: other code is compiled than for a single flip cost.
FLIP_COSTS = np.linspace(0.5, 2.0, N_ROWS)
# So small that weights of 0 are not optimal
SMALL_RADIUS = 0.005
# A few iterations run through all code of a method.
N_ITER = 4


def problem_of(
    kind: str,
    norm: float = 2,
    n_rows: int = N_ROWS,
    n_features: int = N_SPARSE_FEATURES,
    **parameters,
) -> Problem:
    """Return a problem on rows of a kind: dense, float32 (dense, too) or sparse."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n_rows) % 2, 1, -1)
    X = rng.normal(size=(n_rows, n_features)) + 0.1 * y[:, None]
    X *= rng.random(X.shape) < 0.1
    if kind == "sparse":
        X = sparse.csr_array(X)
    else:
        # Contiguous, as users' arrays are: for others, numba compiles other code.
        X = X[:, :N_DENSE_FEATURES].copy()
    if kind == "float32":
        X = X.astype(np.float32)
    parameters = {"radius": 0.05, "flip_cost": 1.0, **parameters}
    return Problem(X, y, norm=norm, fit_intercept=True, **parameters)


def compile_equations(problem: Problem) -> CpuEngine:
    """Make the first two passes of the interior-point method over many rows.

    Returns the engine that has made them.
    """
    engine = CpuEngine(problem, 1)
    engine.center(np.zeros(engine.n_linear), 1.0, 1.0)
    engine.curvature()
    return engine


def compile_passes(problem: Problem) -> None:
    """Make all passes of the interior-point method over many rows."""
    engine = compile_equations(problem)
    # A direction of length 0
    still = np.zeros(engine.n_linear)
    engine.predict(still, 0.0)
    engine.longest_steps(still, 0.0, 0.5)
    engine.dual_sums()
    engine.multipliers()


def compile_interior_point() -> None:
    """Compile the steps on few rows, and the passes over many."""
    for kind in KINDS:
        for norm in NORMS:
            problem = problem_of(kind, norm, radius=SMALL_RADIUS)
            solve(problem, InteriorPoint(), max_iter=N_ITER)
        compile_passes(problem_of(kind))
    for norm in NORMS:
        problem = problem_of("dense", norm, radius=SMALL_RADIUS)
        solve(problem, InteriorPoint(compiled_steps=False), max_iter=N_ITER)
    # There are several ways to form the matrix of the normal equations (see
    # `matrices_for` in engines/matrices.py). From 5,000 dense rows on, a loop over
    # tiles replaces BLAS; with 400 sparse features, the matrix is too large for every
    # thread to have its own.
    compile_equations(problem_of("dense", n_rows=5000))
    compile_equations(problem_of("float32", n_rows=5000))
    compile_equations(problem_of("sparse", n_features=400))
    compile_passes(problem_of("dense", flip_cost=FLIP_COSTS))


def compile_dual_coordinate() -> None:
    """Compile the epochs of dual coordinate ascent."""
    for norm in (1, 2):
        for intercept_cost in (1.0, math.inf):
            for kind in KINDS:
                problem = problem_of(kind, norm, intercept_cost=intercept_cost)
                solve(problem, "dual-coordinate", max_iter=N_ITER)
        problem = problem_of("dense", norm, flip_cost=FLIP_COSTS, intercept_cost=1.0)
        solve(problem, "dual-coordinate", max_iter=N_ITER)
    for kind in KINDS:
        problem = problem_of(kind, norm=1, flip_cost=FLIP_COSTS)
        solve(problem, "dual-coordinate", max_iter=N_ITER)


def compile_exact_methods() -> None:
    """Compile the interior point, and the baseline that uses the same matrices."""
    compile_interior_point()
    for norm in NORMS:
        solve(problem_of("dense", norm), "admm", max_iter=N_ITER)


def compile_epochs(problem: Problem) -> None:
    """Make an epoch of every kind."""
    epochs = Epochs.of(problem, "cyclic", np.random.default_rng(0))
    point = epochs.origin()
    step = 0.1 * epochs.natural_step
    epochs.subgradient(point, step, 1.0, 8)
    epochs.proximal(point, step, 1.0)
    epochs.memory(point, step)
    latest = np.stack([point.hinge, point.flip])
    epochs.batches(point, Batching(8, latest, 0.0, 64), step, 1.0)
    all_rows = np.arange(problem.n_rows)
    contribute(epochs.samples.rows, all_rows, point, epochs.terms, step)


def compile_incremental_methods() -> None:
    """Compile methods that go from row to row, and single proximal steps."""
    compile_dual_coordinate()
    settings = {"step": 0.1, "radius": 0.1}
    for norm in NORMS:
        for kind in KINDS:
            compile_epochs(problem_of(kind, norm))
        proximal_batch_step(
            [[1.0]], [1], [0.0], 0.5, flip_cost=np.ones(1), norm=norm, **settings
        )
    compile_epochs(problem_of("dense", flip_cost=FLIP_COSTS))
    proximal_step([1.0], 1, [0.0], 0.5, flip_cost=1.0, **settings)


def compile_for_gpu() -> None:
    """Compile what a fit on a GPU uses, if there is one; CuPy keeps it on disk, too."""
    try:
        xp = cupy()
    except GpuError:
        return
    from cupyx.scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    X = rng.normal(size=GPU_SHAPE)
    y = xp.asarray(np.where(X[:, 0] + rng.normal(size=len(X)) > 0, 1, -1))
    for dtype in (np.float64, np.float32):
        WassersteinSVC().fit(xp.asarray(X, dtype=dtype), y)
    few = sparse.csr_matrix(np.where(X > 1.0, X, 0.0))
    solve(Problem(csr_matrix(few), y, radius=SMALL_RADIUS), max_iter=N_ITER)


def main() -> None:
    """Compile everything, in two processes."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        exact = pool.submit(compile_exact_methods)
        incremental = pool.submit(compile_incremental_methods)
        exact.result()
        incremental.result()
    compile_for_gpu()


if __name__ == "__main__":
    main()
