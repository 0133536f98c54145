"""How an epoch of dual coordinate ascent visits the rows: one after the other, or several at once in several threads.

Steps on two rows at the same time do not know of each other. That is harmless as long as the rows have little in
common: with the matrix C of the cosines between the rows that are visited at once, simultaneous steps are stable if the
largest eigenvalue of C is at most about 2, and nearly as good as successive ones. In text that allows dozens of rows.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.kernels.dual_ascent import Flips, Multipliers
from drsvm.kernels.entries import Rows
from drsvm.kernels.rounds import APART, SEGMENTS, Rounds, cut_rows
from drsvm.kernels.teams import FAILED, N_SIGNALS, ROWS_BETWEEN, Crowd, Squad
from drsvm.parallel import available_cores, over

THREAD_WORK = 100_000
"""Number of entries that are worth a thread."""

LIKENESS = 1.2
"""Limit on the largest eigenvalue of the cosines between the rows of a round, minus 1."""

ROWS_OF_SAMPLE, POWER_STEPS = 256, 12
"""Number of rows from which this eigenvalue is estimated, and of steps of the power method."""

MOST_AT_ONCE, FEWEST_PER_THREAD = 512, 2
"""Largest number of rows in a round, and the smallest number for a thread."""


class Task(NamedTuple):
    """What a kernel needs to know about an epoch."""

    rows: Rows
    order: np.ndarray
    active: int
    firm: float
    multipliers: Multipliers
    flips: Flips
    terms: Any


class Kernels(NamedTuple):
    """The compiled loops of a norm, and where the sums of `Multipliers` are among those that threads share."""

    row_by_row: Callable[..., Any]
    in_rounds: Callable[..., Any]
    shared_sums: Callable[[Task], np.ndarray]
    own_sums: slice


class Visits(ABC):
    """A way to visit the rows."""

    drifts = False
    """Whether u may become different from the sum that it stands for."""

    n_threads = 1
    at_once = 1
    """Number of rows that may be visited without knowing of each other's changes."""

    @abstractmethod
    def epoch(self, kernels: Kernels, task: Task) -> tuple[int, float, float, float, Any]:
        """Visit the active rows once; return what `row_by_row` does."""

    def answer(self, kernels: Kernels, task: Task) -> Any:
        """Return the kernel's answer for given u and sums."""
        return kernels.row_by_row(*task._replace(active=0), None)[-1]

    def calmer(self) -> "Visits":
        """Return visits with fewer rows at once, for a run that makes no progress."""
        return self

    def close(self) -> None:
        """End the threads."""


class Successive(Visits):
    """One row after the other, in one thread."""

    def epoch(self, kernels: Kernels, task: Task):
        """Visit the active rows once."""
        return kernels.row_by_row(*task, None)


class Simultaneous(Visits):
    """Several rows at once, in several threads."""

    def __init__(self, n_threads: int, at_once: int):
        self.n_threads, self.at_once = n_threads, at_once
        self.pool = ThreadPoolExecutor(n_threads - 1)

    def close(self) -> None:
        """End the threads."""
        self.pool.shutdown()

    def _together(self, n_threads: int, work: Callable[[int], Any]) -> list[Any]:
        """Return work(k) for every thread k; the caller's thread is the first."""
        waiting = [self.pool.submit(work, k) for k in range(1, n_threads)]
        return [work(0), *(future.result() for future in waiting)]

    def _settled(self, kernels: Kernels, task: Task, sums: np.ndarray) -> Any:
        """Set the sums, and return the answer for them."""
        task.multipliers.sums[:] = sums[kernels.own_sums]
        return self.answer(kernels, task)


class InStep(Simultaneous):
    """Rounds over a few rows: all threads meet before and after the changes are added to u.

    The result depends on the rows of a round, but neither on the number of threads nor on their speed. So the number is
    reduced without consequences where threads wait for each other too long, because other work keeps their cores busy.
    """

    def __init__(self, n_threads: int, at_once: int, rows: Rows):
        super().__init__(n_threads, at_once)
        self.most_threads, n = n_threads, rows.signs.size
        self.cuts = _cuts(rows)
        self.changes, self.costs, self.squares = np.empty(at_once), np.empty(at_once), np.zeros((SEGMENTS, APART))
        self.missing, self.firm, self.near = np.empty(n), np.empty(n, dtype=bool), np.empty(n, dtype=bool)

    def calmer(self) -> Visits:
        """Halve the rounds; rounds of one row are successive visits."""
        self.at_once //= 2
        return self if self.at_once > 1 else _closed(self)

    def epoch(self, kernels: Kernels, task: Task):
        """Visit the active rows once."""
        order, sums = task.order[: task.active], kernels.shared_sums(task)
        if task.active == len(self.missing):  # by now the cores may be free again
            self.n_threads = min(2 * self.n_threads, self.most_threads)
        violation = self._all_rounds(kernels, task._replace(order=order), sums)
        firm, near = self.firm[: task.active], self.near[: task.active]
        kappa, rows_near = task.flips.kappa, order[near]
        squares = (kappa[rows_near] if np.ndim(kappa) else kappa) ** 2
        weight = float(np.sum(task.rows.importance[rows_near] * squares))
        order[:] = np.concatenate([order[~firm], order[firm]])
        active, gap = task.active - int(np.count_nonzero(firm)), float(self.missing[: task.active].sum())
        return active, gap, weight, violation, self._settled(kernels, task, sums)

    def _all_rounds(self, kernels: Kernels, task: Task, sums: np.ndarray) -> float:
        """Run rounds until all rows are visited; return the largest violation."""
        begin, largest = 0, 0.0
        while begin < task.active:
            shared = (self.changes, self.costs, self.squares, sums, self.missing, self.firm, self.near)
            begin, violation = self._rounds(kernels, task, Rounds(self.at_once, begin, self.cuts, *shared))
            largest = max(largest, violation)
            if begin < task.active:
                self.n_threads = max(1, self.n_threads // 2)
        return largest

    def _rounds(self, kernels: Kernels, task: Task, rounds: Rounds) -> tuple[int, float]:
        """Run rounds until the threads leave; return the position of the next row, and the largest violation."""
        rows, order, _, firm, multipliers, flips, terms = task
        n_threads = self.n_threads
        signals = np.zeros(N_SIGNALS, dtype=np.int64)

        def work(k):
            return kernels.in_rounds(rows, order, firm, multipliers, flips, terms, rounds, Squad(k, n_threads, signals))

        try:
            found = self._together(n_threads, work)
        except BaseException:
            signals[FAILED] = 1  # the others must not wait forever
            raise
        return found[0][0], max(violation for _, violation in found)


class AtWill(Simultaneous):
    """Every thread has its own rows, and adds changes to u whenever it has some, without a lock.

    A change may be lost if two threads add to the same feature at the same time.
    """

    drifts = True

    def __init__(self, n_threads: int):
        super().__init__(n_threads, n_threads * ROWS_BETWEEN)

    def calmer(self) -> Visits:
        """Halve the number of threads."""
        self.n_threads //= 2
        self.at_once = self.n_threads * ROWS_BETWEEN
        return self if self.n_threads > 1 else _closed(self)

    def epoch(self, kernels: Kernels, task: Task):
        """Visit the active rows once."""
        first = kernels.shared_sums(task)
        added = np.zeros((self.n_threads, max(2 * len(first), 2 * APART)))
        added[:, len(first) : 2 * len(first)] = first
        cuts = np.linspace(0, task.active, self.n_threads + 1).astype(int)
        orders = [task.order[begin:end] for begin, end in pairwise(cuts)]

        def work(k):
            own = task.multipliers._replace(sums=task.multipliers.sums.copy())
            share = task._replace(order=orders[k], active=len(orders[k]), multipliers=own)
            return kernels.row_by_row(*share, Crowd(k, first, added))

        found = self._together(self.n_threads, work)
        kept = [order[: result[0]] for order, result in zip(orders, found, strict=True)]
        firm = [order[result[0] :] for order, result in zip(orders, found, strict=True)]
        task.order[: task.active] = np.concatenate(kept + firm)
        actives, gaps, nears, violations, _ = zip(*found, strict=True)
        answer = self._settled(kernels, task, first + added[:, : len(first)].sum(axis=0))
        return sum(actives), sum(gaps), sum(nears), max(violations), answer


def _closed(visits: Simultaneous) -> Visits:
    visits.close()
    return Successive()


def visits_for(rows: Rows, n_threads: int | None, asynchronous: bool) -> Visits:
    """Return a way to visit the rows with at most this many threads (None: one per core), as many as pay."""
    n_threads = min(n_threads or available_cores(), rows.data.size // THREAD_WORK, SEGMENTS)
    if n_threads < 2:
        return Successive()
    at_once = rows_at_once(rows)
    n_threads = min(n_threads, at_once // FEWEST_PER_THREAD)
    if n_threads < 2:
        return Successive()
    return AtWill(n_threads) if asynchronous else InStep(n_threads, at_once, rows)


def rows_at_once(rows: Rows) -> int:
    """Return how many rows may be visited at once, judging by the cosines between some of them."""
    X = _sample(rows)
    n = X.shape[0]
    direction = np.ones(n)
    likeness = 1.0
    for _ in range(POWER_STEPS):
        product = X @ (X.T @ direction)
        likeness = float(np.linalg.norm(product) / np.linalg.norm(direction))
        if likeness == 0.0:
            break
        direction = product / likeness
    per_row = max(likeness - 1.0, 0.0) / max(n - 1, 1)
    at_once = int(min(1.0 + LIKENESS / max(per_row, 1e-9), MOST_AT_ONCE))
    return at_once - at_once % SEGMENTS if at_once > SEGMENTS else at_once  # the same number for each thread


def _sample(rows: Rows):
    """Return some rows, scaled to length 1, with the features that occur in them."""
    n = rows.signs.size
    chosen = np.unique(np.linspace(0, n - 1, min(n, ROWS_OF_SAMPLE)).astype(int))
    if rows.indices is None or rows.indptr is None:
        X = rows.data.reshape(n, -1)[chosen].astype(np.float64)
        return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    parts = [slice(int(rows.indptr[i]), int(rows.indptr[i + 1])) for i in chosen]
    data = [rows.data[part] / max(float(np.linalg.norm(rows.data[part])), 1e-300) for part in parts]
    features, columns = np.unique(np.concatenate([rows.indices[part] for part in parts]), return_inverse=True)
    starts = np.cumsum([0, *map(len, data)])
    return sparse.csr_array((np.concatenate(data), columns, starts), shape=(len(chosen), max(len(features), 1)))


def _cuts(rows: Rows) -> np.ndarray | None:
    """Cut the features into segments with about the same number of entries, judging by some rows."""
    if rows.indices is None or rows.indptr is None:
        return None
    n = rows.signs.size
    step = max(1, n // ROWS_OF_SAMPLE)
    columns = np.sort(np.concatenate([rows.indices[rows.indptr[i] : rows.indptr[i + 1]] for i in range(0, n, step)]))
    edges = columns[np.arange(SEGMENTS) * len(columns) // SEGMENTS].astype(np.uint64) if len(columns) else None
    edges = np.zeros(SEGMENTS, dtype=np.uint64) if edges is None else edges
    edges[0] = 0
    cuts = np.empty((n, SEGMENTS + 1), dtype=np.uint32)
    part = math.ceil(n / SEGMENTS)
    over(
        range(0, n, part),
        lambda first: cut_rows(rows.indices, rows.indptr, edges, first, min(first + part, n), cuts),
    )
    return cuts
