"""The CPU engine: threads over shares of the rows.

A share is a range of rows that one thread works on at a time. For each pass over the
rows, a thread makes one compiled call per share (`compiled/interior_point_passes.py`),
which adds its sums to totals of that share; the totals of all shares are added in a
fixed order. The state of the samples is stored in tiles of `TILE` rows, so every share
begins at a multiple of `TILE`.
"""

import math
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, TypeVar

import numpy as np

from drsvm.certificate.multipliers import DualSums, dual_sums
from drsvm.compiled import interior_point_passes as passes
from drsvm.compiled.interior_point_passes import BLOCK, Buffers, Share, Step
from drsvm.compiled.products import TILE
from drsvm.engines.engine import Engine, Prediction, Rates, Steps
from drsvm.engines.matrices import FEW_FEATURES, WideRows, in_fastest_form, matrices_for
from drsvm.engines.newton_matrix import Curvature
from drsvm.problem.memory_rows import RowView, in_memory, unsigned_parts
from drsvm.problem.problem import Problem
from drsvm.utils.annotations import Costs, Vector
from drsvm.utils.parallel import available_cores, over, slices

THREAD_WORK = 50_000  # fewest stored entries that make another thread worthwhile
# Cores are not equally fast at all times: threads take several shares of the rows, each
# with at least this many stored entries, one after the other.
SHARES_PER_THREAD = 4
SHARE_WORK = 500_000
# With fewer features, the d-sized system is used even if there are fewer rows: it is
# more accurate
WIDE_FROM = 1000
# With more weights without norm and ridge than this, the d-sized system is used
MAX_FREE = 300
# Approximate size of the blocks of rows that a view computes: they stay in the cache
# for a pass
VIEW_BYTES = 1 << 21
Value = TypeVar("Value")


def is_wide(problem: Problem) -> bool:
    """Return whether to solve a system of the size of the rows, not of the features.

    With fewer rows than features, the Woodbury identity turns the d × d system of the
    Newton step into an n × n one. Weights without norm and ridge, those of features
    that cannot shift, cost as much there as a row.
    """
    n, d = problem.rows.shape
    if n >= d or d <= WIDE_FROM:
        return False
    return len(free_features(problem)) <= min(MAX_FREE, d - n)


def free_features(problem: Problem) -> np.ndarray:
    """Return the features whose weights have neither norm nor ridge, if others have."""
    if problem.feature_cost is None or problem.l2 > 0:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(np.isinf(problem.feature_cost))


def part_of(share: Share, rows: slice) -> Share:
    """Return the share of some of its rows, which begin with a tile.

    If the data are a view of rows, they stay as they are.
    """
    data = share.data
    indptr = share.indptr
    if indptr is not None:
        indptr = indptr[rows.start : rows.stop + 1]
    elif not isinstance(data, RowView):
        data = data[rows]
    return share._replace(
        data=data,
        indptr=indptr,
        signs=share.signs[rows],
        weights=share.weights[rows],
        flips=_costs_of(share.flips, rows),
        slopes=_costs_of(share.slopes, rows),
        state=share.state[tiles_of(rows)],
    )


def _costs_of(costs: Costs, rows: slice) -> Costs:
    """Return the costs of some rows; one number for all rows stays as it is."""
    if isinstance(costs, np.ndarray):
        return costs[rows]
    return costs


def tiles_of(rows: slice) -> slice:
    """Return the tiles of rows, which begin with a tile."""
    return slice(rows.start // TILE, math.ceil(rows.stop / TILE))


@dataclass(eq=False)
class _Workspace:
    """A share of the rows, the buffers for it, and the sums of the current pass."""

    number: int  # of the share
    rows: slice
    share: Share  # of these rows or, if the data are a view, of all rows
    buffers: Buffers
    totals: np.ndarray  # (4, d or d + 1): sums of rows
    rates: Rates

    def ranges(self) -> Iterator[tuple[slice, Share]]:
        """Yield ranges of the rows, each with its part of the share.

        All rows are one range. If they are a view, which is computed when it is read,
        there are several: what is computed then stays in the cache during a pass.
        """
        view = self.share.data
        if not isinstance(view, RowView):
            yield self.rows, self.share
            return
        # Whole blocks, so that sums are added up in the same order as for an array.
        size = BLOCK * max(1, VIEW_BYTES // (8 * BLOCK * view.shape[1]))
        first = self.rows.start
        for block in slices(self.rows.stop - first, size):
            rows = slice(first + block.start, first + block.stop)
            data = np.ascontiguousarray(view[rows])
            # As in a problem: functions are compiled for read-only rows
            data.flags.writeable = False
            yield rows, part_of(self.share, rows)._replace(data=data)


def _sums(values: list[tuple[float, ...]]) -> list[float]:
    """Return the sums of several numbers, of which each range of rows has some."""
    return [sum(numbers) for numbers in zip(*values, strict=True)]


def room_for(shape: tuple[int, ...], folder: str | None) -> np.ndarray:
    """Return an array of floats in memory or, with a folder, in a temporary file.

    The file is deleted together with the array.
    """
    if folder is None:
        return np.empty(shape)
    with tempfile.TemporaryFile(dir=folder, prefix="drsvm-") as file:
        # Where the system can, the space is taken now: a full disk is then an error
        # here, and no crash later.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, 8 * math.prod(shape))
        mapped = np.memmap(file, dtype=np.float64, mode="r+", shape=shape)
        return mapped.view(np.ndarray)


def buffers_for(n_linear: int, n_transposed: int, *, sparse: bool) -> Buffers:
    """Return memory for the passes of one thread.

    `n_transposed` is the number of features that a pass transposes tile by tile, to
    form a Gram matrix: all of them or 0.
    """
    if sparse:
        # The four sums of a feature, which is anywhere, lie together.
        block = np.zeros((n_linear, 4)).T
    else:
        block = np.zeros((4, n_linear))
    return Buffers(
        changes=np.empty(TILE),
        coefficients=np.zeros((4, TILE)),
        rates=np.empty((2, TILE)),
        transposed=np.empty((n_transposed, TILE)),
        scaled=np.empty((4, TILE)),
        block=block,
    )


# A pass with these does not move the samples.
_NO_CORRECTION = np.empty((0, 4, TILE))
NO_STEP = Step(np.empty(0), 0.0, 0.0)


class CpuEngine(Engine):
    """Threads over shares of the rows.

    How the rows are cut depends on the data and on the number of threads only, and all
    sums are added in the order of the rows, so that results can be repeated.

    Parameters
    ----------
    problem : Problem
        Its rows are in this process's memory, or in a file.
    n_threads : int, optional
        The maximum number of threads; by default that of the available cores.
    state_folder : str, optional
        Folder for temporary files, which hold the state of the samples; by default it
        is in memory.
    may_be_wide : bool
        Whether to solve the system of the rows if these are few (`is_wide`).
    state : array of shape (tiles, 6, TILE), optional
        The state of another run on the rows, which this run changes and goes on from.
    """

    def __init__(
        self,
        problem: Problem,
        n_threads: int | None = None,
        state_folder: str | None = None,
        *,
        may_be_wide: bool = True,
        state: np.ndarray | None = None,
    ):
        # 1. The form of the rows, and the number of threads
        self.n_features = problem.n_features
        self.n_linear = problem.n_features + problem.fit_intercept
        wide = may_be_wide and is_wide(problem)
        X = problem.X
        if wide:
            X = in_memory(X)
        self.rows = in_fastest_form(X)
        n, d = problem.rows.shape
        stored = problem.rows.stored
        self.small = stored < THREAD_WORK
        worthwhile = min(stored // THREAD_WORK, math.ceil(n / TILE))
        self.n_threads = max(1, min(n_threads or available_cores(), worthwhile))

        # 2. The state of the samples
        weights = problem.sample_weight
        slopes, flips = problem.price_slopes
        # Compiled functions multiply by them instead of branching.
        flips = 1.0 * flips
        self.mass = float(weights.sum())
        # A sample has two constraints with the target π_i μ, three if it can flip.
        self.weight = 2.0 * self.mass + float(weights @ np.broadcast_to(flips, n))
        self._state_folder = state_folder
        if state is None:
            state = room_for((math.ceil(n / TILE), 6, TILE), state_folder)
        self._state = state
        # What `predict` and `longest_steps` leave for the move: the corrections of the
        # samples, with the changes of their margins, and the direction in (w, b, λ)
        self._corrections = _NO_CORRECTION
        self._step = NO_STEP

        # 3. The shares of the rows, and what each needs
        if self.rows.is_sparse:
            entries = unsigned_parts(self.rows.X)
        else:
            entries = (self.rows.X, None, None)
        whole = Share(*entries, d, problem.signs, weights, flips, slopes, state)
        self._workspaces = [
            self._workspace(number, whole, slice(*ends))
            for number, ends in enumerate(pairwise(self._cut(stored)))
        ]
        n_shares = len(self._workspaces)
        self.n_threads = min(self.n_threads, n_shares)
        if wide:
            self.wide = WideRows(self.rows.X, self.n_threads)
        self._matrices = matrices_for(self.rows, n_shares, self.n_threads, wide=wide)

    def _cut(self, stored: int) -> list[int]:
        """Return the ends of the shares of the rows, in whole tiles.

        They have about the same number of stored entries each.
        """
        n, d = self.rows.shape
        if self.n_threads == 1:
            return [0, n]
        # Each share may have a matrix of its own, and these should take little memory
        # compared to the rows.
        most = min(
            SHARES_PER_THREAD * self.n_threads,
            stored // SHARE_WORK,
            stored // (8 * d * d),
        )
        n_shares = max(self.n_threads, most)
        if self.rows.is_sparse:
            indptr = self.rows.X.indptr
            ends = np.linspace(0, indptr[-1], n_shares + 1)[1:-1]
            begins = np.searchsorted(indptr, ends)
        else:
            begins = np.linspace(0, n, n_shares + 1)[1:-1]
        inner = np.round(begins / TILE).astype(int) * TILE
        return sorted({0, *inner.tolist(), n})

    def _workspace(self, number: int, whole: Share, rows: slice) -> _Workspace:
        """Return a workspace for some of all rows."""
        n_transposed = 0
        if not self.rows.is_sparse and self.n_features <= FEW_FEATURES:
            n_transposed = self.n_features
        share = whole
        if not isinstance(whole.data, RowView):
            share = part_of(whole, rows)
        return _Workspace(
            number,
            rows,
            share,
            buffers_for(self.n_linear, n_transposed, sparse=self.rows.is_sparse),
            np.zeros((4, self.n_linear)),
            Rates(),
        )

    def _in_threads(self, work: Callable[[int], Value]) -> list[Value]:
        """Return work(k) for every share k, in the order of the rows.

        numpy's warnings are off in several threads: the caller handles overflow in the
        sums.
        """
        if self.n_threads == 1:
            return [work(0)]
        with np.errstate(all="ignore"):
            return over(range(len(self._workspaces)), work)

    def _over_rows(
        self, call: Callable[[_Workspace, slice, Share], Value]
    ) -> list[Value]:
        """Return call(workspace, rows, share) for every range of rows, in their order.

        The ranges are those of `_Workspace.ranges`. Totals and rates are set to zero
        first. Calls run in several threads: each writes only to its workspace, to the
        state of its rows, and to what belongs to its share in `Matrices`.
        """

        def work(k):
            space = self._workspaces[k]
            space.rates = Rates()
            space.totals[:] = 0.0
            return [call(space, rows, share) for rows, share in space.ranges()]

        return list(chain.from_iterable(self._in_threads(work)))

    def _sum_of_totals(self, n_sums: int) -> np.ndarray:
        return np.sum([space.totals[:n_sums] for space in self._workspaces], axis=0)

    def _sum_of_rates(self) -> Rates:
        return sum((space.rates for space in self._workspaces), Rates())

    def center(self, point, lam, mu) -> None:
        def put(space, rows, share):
            passes.center(share, space.buffers, point, lam, mu)

        self._over_rows(put)

    def total_slack(self) -> float:
        def slack(space, rows, share):
            weights = share.weights
            # Number 5 of the state is g₃ = s; the last tile may not be full.
            slacks = share.state[:, 5].reshape(-1)[: weights.size]
            return float(weights @ slacks)

        return sum(self._over_rows(slack))

    def _along(self, steps: Steps | None) -> tuple[np.ndarray, Step]:
        """Return the corrections and step that a pass begins with: empty for none."""
        if steps is None:
            return _NO_CORRECTION, NO_STEP
        step = self._step._replace(
            primal=steps.primal, dual=steps.dual, left=steps.left
        )
        return self._corrections, step

    def curvature(self, steps=None) -> tuple[float, Curvature]:
        corrections, step = self._along(steps)
        with_intercept = self.n_linear > self.n_features
        # Sums of rows for the λ column, the right-hand side and the intercept's column
        n_sums = 2 + with_intercept
        matrices = self._matrices

        def form(space, rows, share):
            if rows.start == space.rows.start:
                matrices.begin(space.number)
            sums = passes.curvature(
                share,
                space.buffers,
                corrections[tiles_of(rows)],
                step,
                space.totals[:n_sums],
                *matrices.filled(space.number, rows),
            )
            matrices.add(space.number, rows, share)
            return sums

        square, linear, products = _sums(self._over_rows(form))
        column, predictor, *borders = self._sum_of_totals(n_sums)
        border = borders[0] if with_intercept else np.zeros(self.n_linear)
        # A matrix or, in the wide form, the curvatures of the rows
        formed = matrices.result(self._in_threads)
        curvature = Curvature(formed, column, square, predictor, linear, border)
        if self.wide is not None:
            curvature = curvature._replace(gram=None, h=formed)
        return products, curvature

    def predict(self, direction, lam_change) -> tuple[Rates, Prediction]:
        if len(self._corrections) == 0:
            shape = (len(self._state), 4, TILE)
            self._corrections = room_for(shape, self._state_folder)

        def evaluate(space, rows, share):
            return passes.predict(
                share,
                space.buffers,
                self._corrections[tiles_of(rows)],
                direction,
                lam_change,
                space.totals[:2],
                space.rates.smallest_change,
                space.rates.bins,
            )

        slack, multiplier, both, correction_lam, targeted_lam = _sums(
            self._over_rows(evaluate)
        )
        correction, targeted = self._sum_of_totals(2)
        return self._sum_of_rates(), Prediction(
            slack, multiplier, both, correction, correction_lam, targeted, targeted_lam
        )

    def longest_steps(self, direction, lam_change, target) -> Rates:
        self._step = Step(direction, lam_change, target)

        def measure(space, rows, share):
            passes.longest_steps(
                share,
                space.buffers,
                self._corrections[tiles_of(rows)],
                self._step,
                space.rates.smallest_change,
                space.rates.bins,
            )

        self._over_rows(measure)
        return self._sum_of_rates()

    def dual_sums(self, steps=None) -> tuple[float, DualSums]:
        corrections, step = self._along(steps)

        def add(space, rows, share):
            correction = corrections[tiles_of(rows)]
            return passes.dual_sums(
                share, space.buffers, correction, step, space.totals[:2]
            )

        *sums, products = _sums(self._over_rows(add))
        rows = self._sum_of_totals(2)[:, : self.n_features].T
        return products, DualSums(rows, np.array(sums[:2]), np.array(sums[2:]))

    def multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        # The corrections are not needed between two iterations: this makes room.
        self._corrections = _NO_CORRECTION
        alpha, beta = self._by_row(self._state[:, :2])
        return alpha, beta

    @property
    def states(self) -> np.ndarray:
        return self._by_row(self._state)

    def _by_row(self, tiles: np.ndarray) -> np.ndarray:
        """Return a copy of an array of shape (tiles, k, TILE) in the shape (k, n)."""
        by_number = tiles.transpose(1, 0, 2).copy()
        return by_number.reshape(len(by_number), -1)[:, : self.rows.shape[0]]


def engine_for(
    problem: Problem, n_threads: int | None = None, state_folder: str | None = None
) -> Engine:
    """Return an engine where the rows of a problem are.

    The number of threads and the folder are for rows in this process (`CpuEngine`).
    """
    own = problem.rows.engine(problem, n_threads)
    if own is None:
        return CpuEngine(problem, n_threads, state_folder)
    return own


class WorkingSetEngine:
    """An engine for the rows of a working set; the multipliers of all others are fixed.

    They enter all sums as constants. Everything that does not depend on the other rows
    is done by an engine for the rows of the working set.

    Parameters
    ----------
    problem : Problem
        The problem with all rows.
    working : array of int
        The indices of the rows to iterate on.
    hinge_dual, flip_dual : arrays with an entry per row
        The fixed multipliers α and β, 0 for the rows of the working set.
    n_threads : int, optional
        The maximum number of threads.
    """

    def __init__(
        self,
        problem: Problem,
        working: Vector,
        hinge_dual: Vector,
        flip_dual: Vector,
        n_threads: int | None = None,
    ):
        few = problem.subset(working, problem.sample_weight[working])
        self.inner = engine_for(few, n_threads)
        self.inner.small = False  # certificates need all rows
        self.working = working
        self.hinge = hinge_dual
        self.flip = flip_dual
        self.fixed_sums = dual_sums(problem, hinge_dual, flip_dual)
        # In (w, b), the fixed rows add Σ (α_i − β_i) y_i x_i to the right-hand side:
        # the difference of the two sides.
        difference = np.array([1.0, -1.0])
        self.gradient = self.fixed_sums.rows @ difference
        if problem.fit_intercept:
            self.gradient = np.append(self.gradient, self.fixed_sums.mass @ difference)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def curvature(self, steps: Steps | None = None) -> tuple[float, Curvature]:
        products, samples = self.inner.curvature(steps)
        fixed_lam = float(self.fixed_sums.flip_cost.sum())
        return products, samples._replace(
            predictor=samples.predictor - self.gradient,
            predictor_lam=samples.predictor_lam - fixed_lam,
        )

    def dual_sums(self, steps: Steps | None = None) -> tuple[float, DualSums]:
        products, sums = self.inner.dual_sums(steps)
        rows, mass, flip_cost = self.fixed_sums
        return products, DualSums(
            sums.rows + rows, sums.mass + mass, sums.flip_cost + flip_cost
        )

    def multipliers(self) -> tuple[Vector, Vector]:
        hinge = self.hinge.copy()
        flip = self.flip.copy()
        hinge[self.working], flip[self.working] = self.inner.multipliers()
        return hinge, flip
