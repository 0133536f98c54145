"""Compile the kernels that most tests use, with all cores: ``python tests/compile_kernels.py``.

Processes that run tests would compile the same kernels at the same time.
"""

import math
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from scipy import sparse

from drsvm import Problem, solve

N, D = 400, 300  # enough entries, zeros included, for sparse rows to stay sparse
FLIP_COSTS = {"one cost": 1.0, "a cost per row": np.linspace(0.5, 2.0, N)}

LARGE = {"compiled_steps": False}  # as for many rows

TASKS = [
    ("interior-point", [2], "dense", "one cost", {}),
    ("interior-point", [2], "sparse", "one cost", {}),
    ("hybrid", [math.inf], "dense", "one cost", {}),
    ("hybrid", [math.inf], "sparse", "one cost", {}),
    ("hybrid", [1, 2], "dense", "one cost", {}),
    ("hybrid", [1, 2], "sparse", "one cost", {}),
    ("interior-point", [2], "dense", "one cost", LARGE),
    ("dual-coordinate", [1, 2], "sparse", "one cost", {}),
    ("dual-coordinate", [1, 2], "dense", "one cost", {}),
    ("interior-point", [2], "sparse", "one cost", LARGE),
    ("admm", [1, 2, math.inf], "dense", "one cost", {}),
]
"""Solver, norms, rows, flip costs and settings: tasks with hardly a kernel in common, those that take long first."""


def compile_for(solver, norms, kind, costs, settings):
    """Run a few iterations, with kernels that are not compiled yet."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(N) % 2, 1, -1)
    X = (rng.normal(size=(N, D)) + 0.1 * y[:, None]) * (rng.random((N, D)) < 0.1)
    rows = sparse.csr_array(X) if kind == "sparse" else X[:, :5]
    for norm in norms:
        problem = Problem(rows, y, radius=0.05, flip_cost=FLIP_COSTS[costs], norm=norm, fit_intercept=True)
        solve(problem, solver, max_iter=4, **settings)


if __name__ == "__main__":
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        list(pool.map(compile_for, *zip(*TASKS, strict=True)))
