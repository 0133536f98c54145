"""How an epoch of dual coordinate ascent visits the rows: one after the other, or in several threads at will.

Steps on two rows at the same time do not know of each other. That is harmless as long as the rows have little in
common, as in text.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from drsvm.kernels.crowd import APART, ROWS_BETWEEN, Crowd
from drsvm.kernels.dual_ascent import Flips, Multipliers
from drsvm.kernels.entries import Rows
from drsvm.parallel import available_cores

THREAD_WORK, MOST_THREADS = 100_000, 4
"""Number of entries that are worth a thread, and the largest number of threads: more gained nothing on 16 cores."""


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
    """The compiled loop of a norm, and where the sums of `Multipliers` are among those that threads share."""

    row_by_row: Callable[..., Any]
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


class AtWill(Visits):
    """Every thread has its own rows, and adds changes to u whenever it has some, without a lock.

    A change may be lost if two threads add to the same feature at the same time.
    """

    drifts = True

    def __init__(self, n_threads: int):
        self.n_threads, self.pool = n_threads, ThreadPoolExecutor(n_threads - 1)

    @property
    def at_once(self) -> int:
        """Number of rows that the threads visit before they share their sums."""
        return self.n_threads * ROWS_BETWEEN

    def close(self) -> None:
        """End the threads."""
        self.pool.shutdown()

    def calmer(self) -> Visits:
        """Halve the number of threads."""
        self.n_threads //= 2
        if self.n_threads > 1:
            return self
        self.close()
        return Successive()

    def epoch(self, kernels: Kernels, task: Task):
        """Visit the active rows once."""
        first = kernels.shared_sums(task)
        added = np.zeros((self.n_threads, APART))
        added[:, len(first) : 2 * len(first)] = first
        cuts = np.linspace(0, task.active, self.n_threads + 1).astype(int)
        orders = [task.order[begin:end] for begin, end in pairwise(cuts)]

        def work(k):
            own = task.multipliers._replace(sums=task.multipliers.sums.copy())
            share = task._replace(order=orders[k], active=len(orders[k]), multipliers=own)
            return kernels.row_by_row(*share, Crowd(k, first, added))

        others = [self.pool.submit(work, k) for k in range(1, self.n_threads)]
        found = [work(0), *(other.result() for other in others)]
        actives, gaps, nears, violations, _ = zip(*found, strict=True)
        kept = [order[:active] for order, active in zip(orders, actives, strict=True)]
        firm = [order[active:] for order, active in zip(orders, actives, strict=True)]
        task.order[: task.active] = np.concatenate(kept + firm)
        task.multipliers.sums[:] = (first + added[:, : len(first)].sum(axis=0))[kernels.own_sums]
        answer = kernels.row_by_row(*task._replace(active=0), None)[-1]
        return sum(actives), sum(gaps), sum(nears), max(violations), answer


def visits_for(rows: Rows, n_threads: int | None, asynchronous: bool) -> Visits:
    """Return a way to visit the rows; if asynchronous, with at most this many threads (None: one per core)."""
    n_threads = min(n_threads or available_cores(), rows.data.size // THREAD_WORK, MOST_THREADS)
    return AtWill(n_threads) if asynchronous and n_threads > 1 else Successive()
