"""What compiled steps work on: few rows in one form, and memory that runs on different rows use one after the other."""

import math
from typing import NamedTuple

import numpy as np

from drsvm.engines.cpu import buffers_for
from drsvm.engines.matrices import in_fastest_form
from drsvm.kernels.interior_point import BINS
from drsvm.kernels.newton import System
from drsvm.kernels.passes import Buffers, Share
from drsvm.kernels.products import TILE
from drsvm.kernels.small_run import Work
from drsvm.model.memory_rows import MemoryRows, unsigned_parts
from drsvm.model.problem import Problem
from drsvm.model.risk import affordable_flips

_NO_CORRECTION = np.empty((0, 4, TILE))

KEPT = ("rows", "signs", "sample_weight", "flip_cost", "fit_intercept")
"""What must be the same for a run to find everything in place; with the radius 0, other flips are affordable."""


class _Size(NamedTuple):
    n_features: int
    n_linear: int  # of (w, b)
    is_sparse: bool


class Memory:
    """The rows of a problem in the one form that the steps are compiled for, and memory for the steps."""

    def __init__(self, problem: Problem, workspace: "Workspace | None" = None):
        self.problem, rows = problem, in_fastest_form(problem.X) if problem.is_sparse else problem.rows
        n, d = rows.shape
        kappa, flips = np.empty((2, n))
        kappa[:], flips[:] = affordable_flips(problem.flip_cost, problem.radius)
        signs, weights = _read_only(problem.signs, np.float64), _read_only(problem.sample_weight, np.float64)
        self.mass = float(weights.sum())
        self.weight = 2.0 * self.mass + float(weights @ flips)  # Σ of complementarity targets, divided by μ
        size, n_tiles = _Size(d, d + problem.fit_intercept, rows.is_sparse), math.ceil(n / TILE)
        fits = workspace is not None and workspace.size == size and n_tiles <= len(workspace.state)
        self.workspace = workspace if workspace is not None and fits else Workspace(size, n_tiles)
        self.share = Share(*_entries(rows), d, signs, weights, flips, kappa, self.workspace.state[:n_tiles])
        self.work = self.workspace.work._replace(correction=self.workspace.work.correction[:n_tiles])

    def holding(self, problem: Problem) -> "Memory":
        """Return the memory for another problem, in place of this one."""
        same = all(getattr(problem, name) is getattr(self.problem, name) for name in KEPT)
        same_flips = (problem.radius > 0.0) == (self.problem.radius > 0.0)
        return self if same and same_flips else Memory(problem, self.workspace)


class Workspace:
    """Memory for runs on problems of a size and at most so many tiles of rows."""

    def __init__(self, size: _Size, n_tiles: int):
        d, n, is_sparse = self.size = size
        self.state = np.empty((n_tiles, 6, TILE))
        self.buffers: Buffers = buffers_for(n, 0 if is_sparse else d, sparse=is_sparse)
        matrix, factor = np.empty((2, n + 1, n + 1))
        self.system = System(np.empty(n), np.empty((6, n)), matrix, factor, np.empty((9, n + 1)))
        rates = np.empty(2), np.empty((2, BINS + 1))
        self.work = Work(_NO_CORRECTION, np.empty((n_tiles, 4, TILE)), *rates, np.empty((2, n)))


def _entries(rows: MemoryRows) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return entries, indices and starts of the rows."""
    if not rows.is_sparse:
        return _read_only(rows.X, np.float64), None, None
    data, indices, indptr = unsigned_parts(rows.X)
    return _read_only(data, np.float64), _read_only(indices, np.uint32), _read_only(indptr, np.uint32)


def _read_only(values: np.ndarray, dtype: type) -> np.ndarray:
    values = np.ascontiguousarray(values, dtype=dtype).view()
    values.flags.writeable = False
    return values
