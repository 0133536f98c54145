"""The CPU engine: every thread has its share of the rows, and makes one compiled call per pass."""

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
from drsvm.engines.engine import Engine, Prediction, Rates
from drsvm.engines.matrices import FEW_FEATURES, WideRows, in_fastest_form, matrices_for
from drsvm.engines.newton_matrix import Curvature
from drsvm.problem.memory_rows import RowView, in_memory, unsigned_parts
from drsvm.problem.problem import Problem
from drsvm.problem.risk import affordable_flips
from drsvm.utils.annotations import Vector
from drsvm.utils.parallel import available_cores, over, slices

THREAD_WORK = 50_000  # fewest stored entries that make another thread worthwhile
# Cores are not equally fast at all times: threads take several shares of the rows, each
# with at least so many stored entries, one after the other.
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
    """Return whether to solve the system of the rows instead of that of the features.

    Weights without norm and ridge, those of features that cannot shift, cost as much
    there as a row.
    """
    n, d = problem.rows.shape
    return (
        n < d and d > WIDE_FROM and len(free_features(problem)) <= min(MAX_FREE, d - n)
    )


def free_features(problem: Problem) -> np.ndarray:
    """Return the features that neither norm nor ridge holds, though they hold others."""
    if problem.feature_cost is None or problem.l2 > 0:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(np.isinf(problem.feature_cost))


@dataclass(eq=False)
class _Thread:
    """The rows of one thread, its buffers, and the sums that it returns."""

    number: int
    first: int
    last: int
    share: Share
    buffers: Buffers
    totals: np.ndarray
    rates: Rates

    def blocks(self) -> Iterator[tuple[slice, Share]]:
        """Yield the rows with what is known about them: all at once, or block by block if they are a view."""
        view = self.share.data
        if not isinstance(view, RowView):
            yield slice(self.first, self.last), self.share
            return
        size = BLOCK * max(1, VIEW_BYTES // (8 * BLOCK * view.shape[1]))
        for block in slices(self.last - self.first, size):
            rows = slice(self.first + block.start, self.first + block.stop)
            data = np.ascontiguousarray(view[rows])
            # As in a problem: kernels are compiled for read-only rows
            data.flags.writeable = False
            yield (
                rows,
                self.share._replace(
                    data=data, **_of_slice(self.share._asdict(), block)
                ),
            )


def _of_slice(known: dict[str, np.ndarray], rows: slice) -> dict[str, np.ndarray]:
    """Return what kernels take of the vectors and the state of some rows.

    Some may be one number for all rows.
    """
    vectors = {name: known[name] for name in ("signs", "weights", "flips", "kappa")}
    chosen = {
        name: values[rows] if np.ndim(values) else values
        for name, values in vectors.items()
    }
    return chosen | {"state": known["state"][_tiles(rows)]}


def _tiles(rows: slice) -> slice:
    return slice(rows.start // TILE, math.ceil(rows.stop / TILE))


def _sums(values: list[tuple[float, ...]]) -> list[float]:
    """Add several numbers of each thread, in the order of the rows."""
    return [sum(numbers) for numbers in zip(*values, strict=True)]


def room_for(shape: tuple[int, ...], folder: str | None) -> np.ndarray:
    """Return an array of floats, in memory or in a file that disappears together with the array."""
    if folder is None:
        return np.empty(shape)
    size = 8 * int(np.prod(shape))
    with tempfile.TemporaryFile(dir=folder, prefix="drsvm-") as file:
        if hasattr(
            os, "posix_fallocate"
        ):  # so that a full disk is an error now, and no crash later
            os.posix_fallocate(file.fileno(), 0, size)
        return np.memmap(file, dtype=np.float64, mode="r+", shape=shape).view(
            np.ndarray
        )


def buffers_for(n_linear: int, n_transposed: int, *, sparse: bool) -> Buffers:
    """Return memory for the passes of one thread, which may transpose `n_transposed` features."""
    # scattered sums lie together
    if sparse:
        block = np.zeros((n_linear, 4)).T
    else:
        block = np.zeros((4, n_linear))
    room = (
        np.empty(TILE),
        np.zeros((4, TILE)),
        np.empty((2, TILE)),
        np.empty((n_transposed, TILE)),
        np.empty((4, TILE)),
    )
    return Buffers(*room, block)


_NO_CORRECTION = np.empty((0, 4, TILE))
NO_STEP = Step(np.empty(0), 0.0, 0.0)


class CpuEngine(Engine):
    """Threads over shares of the rows.

    The cut depends on their number only, so that results can be repeated.
    """

    def __init__(
        self,
        problem: Problem,
        n_threads: int | None = None,
        state_folder: str | None = None,
        *,
        may_be_wide: bool = True,
        state: np.ndarray
        | None = None,  # that of another run on the rows, which is shared
    ):
        self.n_features = problem.n_features
        self.n_linear = problem.n_features + problem.fit_intercept
        wide = may_be_wide and is_wide(problem)
        self.rows = in_fastest_form(in_memory(problem.X) if wide else problem.X)
        n, d = problem.rows.shape
        stored = problem.X.nnz if hasattr(problem.X, "nnz") else n * d
        self.small = stored < THREAD_WORK
        self.n_threads = max(
            1,
            min(
                n_threads or available_cores(),
                stored // THREAD_WORK,
                math.ceil(n / TILE),
            ),
        )
        kappa, flips = affordable_flips(problem.flip_cost, problem.radius)
        vectors = {
            "signs": problem.signs,
            "weights": problem.sample_weight,
            "flips": 1.0 * flips,
            "kappa": kappa,
        }
        self.mass = float(problem.sample_weight.sum())
        self.weight = 2.0 * self.mass + float(
            problem.sample_weight @ np.broadcast_to(vectors["flips"], n)
        )
        self._state_folder = state_folder
        if state is None:
            self._state = room_for((math.ceil(n / TILE), 6, TILE), state_folder)
        else:
            self._state = state
        # the corrected direction
        self._corrections = _NO_CORRECTION
        self._step = NO_STEP
        vectors["state"] = self._state
        self._threads = [
            self._thread(k, vectors, slice(*ends))
            for k, ends in enumerate(pairwise(self._cut(stored)))
        ]
        self.n_threads = min(self.n_threads, len(self._threads))
        if wide:
            self.wide = WideRows(self.rows.X, self.n_threads)
        else:
            self.wide = None
        self._matrices = matrices_for(
            self.rows, len(self._threads), self.n_threads, wide=wide
        )

    def _cut(self, stored: int) -> list[int]:
        """Return where the shares of the rows begin, with about the same number of entries in each, in whole tiles."""
        n, d = self.rows.X.shape
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
            begins = np.searchsorted(
                indptr, np.linspace(0, indptr[-1], n_shares + 1)[1:-1]
            )
        else:
            begins = np.linspace(0, n, n_shares + 1)[1:-1]
        inner = np.round(np.asarray(begins) / TILE).astype(int) * TILE
        return sorted({0, *inner.tolist(), n})

    def _thread(
        self, number: int, vectors: dict[str, np.ndarray], rows: slice
    ) -> _Thread:
        X = self.rows.X
        n_transposed = 0
        if self.rows.is_sparse:
            data, indices, indptr = unsigned_parts(X)
            entries = data, indices, indptr[rows.start : rows.stop + 1]
        else:
            # Rows of a view are computed block by block
            entries = (
                X if isinstance(X, RowView) else X[rows],
                None,
                None,
            )
            if self.n_features <= FEW_FEATURES:
                n_transposed = self.n_features
            else:
                n_transposed = 0
        share = Share(*entries, self.n_features, **_of_slice(vectors, rows))
        buffers = buffers_for(self.n_linear, n_transposed, sparse=self.rows.is_sparse)
        return _Thread(
            number,
            rows.start,
            rows.stop,
            share,
            buffers,
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
            return over(range(len(self._threads)), work)

    def _over_rows(self, call: Callable[[_Thread, slice, Share], Value]) -> list[Value]:
        """Return call(thread, rows, share) for the rows of every thread, or for every block of them if they are a view.

        Totals and rates of all threads begin anew.
        """

        def work(k):
            thread = self._threads[k]
            thread.rates = Rates()
            thread.totals[:] = 0.0
            return [call(thread, *block) for block in thread.blocks()]

        return list(chain.from_iterable(self._in_threads(work)))

    def _sum_of_totals(self, n_sums: int) -> np.ndarray:
        return np.sum([thread.totals[:n_sums] for thread in self._threads], axis=0)

    def _sum_of_rates(self) -> Rates:
        return sum((thread.rates for thread in self._threads), Rates())

    def center(self, point, lam, mu) -> None:
        self._over_rows(
            lambda thread, _, share: passes.center(
                share, thread.buffers, point, lam, mu
            )
        )

    def total_slack(self) -> float:
        def slack(_, rows, share):
            return float(
                share.weights @ share.state[:, 5].reshape(-1)[: share.weights.size]
            )

        return sum(self._over_rows(slack))

    def _along(self, steps: tuple[float, ...]) -> tuple[np.ndarray, Step]:
        """Return the corrections and the direction that a pass follows by some steps: none without steps."""
        if steps:
            return (self._corrections, Step(*self._step[:3], *steps))
        return (_NO_CORRECTION, NO_STEP)

    def curvature(self, *steps: float) -> tuple[float, Curvature]:
        corrections, step = self._along(steps)
        n_sums = 3 if self.n_linear > self.n_features else 2

        def form(thread, rows, share):
            if rows.start == thread.first:
                self._matrices.begin(thread.number)
            filled = thread.totals[:n_sums], *self._matrices.filled(thread.number, rows)
            sums = passes.curvature(
                share, thread.buffers, corrections[_tiles(rows)], step, *filled
            )
            self._matrices.add(thread.number, rows, share)
            return sums

        square, linear, products = _sums(self._over_rows(form))
        added = self._sum_of_totals(n_sums)
        formed = self._matrices.result(self._in_threads)
        if self.wide is None:
            gram = formed
            of_rows = None
        else:
            gram = None
            of_rows = formed
        border = added[2] if n_sums == 3 else np.zeros(self.n_linear)
        return products, Curvature(
            gram, added[0], square, added[1], linear, border, of_rows
        )

    def predict(self, direction, lam_change) -> tuple[Rates, Prediction]:
        if len(self._corrections) == 0:
            self._corrections = room_for(
                (len(self._state), 4, TILE), self._state_folder
            )

        def evaluate(thread, rows, share):
            written = thread.totals[:2], thread.rates.smallest_change, thread.rates.bins
            correction = self._corrections[_tiles(rows)]
            return passes.predict(
                share, thread.buffers, correction, direction, lam_change, *written
            )

        slack, multiplier, both, corrected, targeted = _sums(self._over_rows(evaluate))
        correcting, target = self._sum_of_totals(2)
        sums = slack, multiplier, both, correcting, corrected, target, targeted
        return self._sum_of_rates(), Prediction(*sums)

    def longest_steps(self, direction, lam_change, target) -> Rates:
        self._step = Step(direction, lam_change, target)

        def measure(thread, rows, share):
            rates = thread.rates.smallest_change, thread.rates.bins
            passes.longest_steps(
                share,
                thread.buffers,
                self._corrections[_tiles(rows)],
                self._step,
                *rates,
            )

        self._over_rows(measure)
        return self._sum_of_rates()

    def dual_sums(self, *steps: float) -> tuple[float, DualSums]:
        corrections, step = self._along(steps)

        def add(thread, rows, share):
            return passes.dual_sums(
                share,
                thread.buffers,
                corrections[_tiles(rows)],
                step,
                thread.totals[:2],
            )

        *sums, products = _sums(self._over_rows(add))
        rows = self._sum_of_totals(2)[:, : self.n_features].T
        return products, DualSums(rows, np.array(sums[:2]), np.array(sums[2:]))

    def multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        # They are not needed between two iterations: this makes room
        self._corrections = _NO_CORRECTION
        alpha, beta = (
            self._state[:, :2]
            .transpose(1, 0, 2)
            .copy()
            .reshape(2, -1)[:, : self.rows.X.shape[0]]
        )
        return alpha, beta

    @property
    def of_rows(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._state.transpose(1, 0, 2).reshape(6, -1)[:, : self.rows.X.shape[0]]


def engine_for(
    problem: Problem, n_threads: int | None = None, state_folder: str | None = None
) -> Engine:
    """Return an engine where the rows of a problem are."""
    own = problem.rows.engine(problem, n_threads)
    if own is None:
        return CpuEngine(problem, n_threads, state_folder)
    return own


class WorkingSetEngine:
    """An engine for the rows of a working set.

    The fixed multipliers α, β of the rest enter all sums as constants.

    `working` are the indices of the rows to iterate on, where the fixed multipliers are
    0. Everything that does not depend on the other rows is done by the engine of these
    rows.
    """

    def __init__(
        self,
        problem: Problem,
        working: Vector,
        hinge_dual: Vector,
        flip_dual: Vector,
        n_threads: int | None = None,
    ):
        self.inner = engine_for(
            problem.subset(working, problem.sample_weight[working]), n_threads
        )
        self.inner.small = False  # certificates need all rows
        self.working = working
        self.fixed = (hinge_dual, flip_dual)
        self.fixed_sums = dual_sums(problem, hinge_dual, flip_dual)
        balance = [float(self.fixed_sums.mass @ (1.0, -1.0))] * problem.fit_intercept
        self.gradient = np.append(self.fixed_sums.rows @ (1.0, -1.0), balance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def curvature(self, *steps: float) -> tuple[float, Curvature]:
        products, samples = self.inner.curvature(*steps)
        lam = samples.predictor_lam - float(self.fixed_sums.flip_cost.sum())
        return products, samples._replace(
            predictor=samples.predictor - self.gradient, predictor_lam=lam
        )

    def dual_sums(self, *steps: float) -> tuple[float, DualSums]:
        products, sums = self.inner.dual_sums(*steps)
        return products, DualSums(
            *(own + fixed for own, fixed in zip(sums, self.fixed_sums, strict=True))
        )

    def multipliers(self):
        hinge, flip = (fixed.copy() for fixed in self.fixed)
        hinge[self.working], flip[self.working] = self.inner.multipliers()
        return hinge, flip
