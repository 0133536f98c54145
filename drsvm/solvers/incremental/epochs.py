"""Epochs of the incremental methods, on rows in the layout that the kernels read.

A long epoch is split into slices, one kernel call each, so that Python can check the clock and handle Ctrl-C in
between. The point is valid after every slice; rows that were not visited keep their multipliers.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from drsvm.annotations import Matrix
from drsvm.clock import Stopwatch, TimeLimit
from drsvm.kernels import memory_epochs, proximal_epochs, subgradient_epochs
from drsvm.kernels.memory_epochs import Batching
from drsvm.kernels.proximal_epochs import Iterate, Terms
from drsvm.model.memory_rows import MemoryRows, compiled_rows
from drsvm.model.norms import Norm
from drsvm.model.problem import Problem
from drsvm.model.risk import affordable_flips
from drsvm.parallel import over, usable_threads

ORDERS = ("shuffled", "cyclic", "with-replacement")
UNLIMITED = 1e200  # value of λ if neither the radius nor flips limit it: larger than any norm of the weights
# A slice is sized to take this many nanoseconds or, if that is more, this many per row and feature, over which every
# kernel call makes a pass. Slices depend on the data only, so that the same seed always gives the same result
SLICE, SLICE_BY_SIZE = 0.2e9, 50.0


class Kind(NamedTuple):
    """A kernel, and the approximate nanoseconds of a step per entry of its rows and, at worst, per feature."""

    kernel: Callable
    per_entry: float
    per_feature: float = 0.0


PROXIMAL = {
    1: Kind(proximal_epochs.proximal_epoch_l1, 60.0),
    2: Kind(proximal_epochs.proximal_epoch_l2, 10.0),
    math.inf: Kind(proximal_epochs.proximal_epoch_linf, 10.0, 8.0),
}
SUBGRADIENT = {
    1: Kind(subgradient_epochs.subgradient_epoch_l1, 25.0),
    2: Kind(partial(subgradient_epochs.scaled_epoch, None), 7.0),
    math.inf: Kind(partial(subgradient_epochs.scaled_epoch, True), 10.0, 3.0),
}
MEMORY = {q: Kind(partial(memory_epochs.memory_epoch, q), 30.0, 1.5) for q in (1, math.inf)}
MEMORY[2] = Kind(partial(memory_epochs.memory_epoch, 2), 20.0)
BATCHES = {q: Kind(partial(memory_epochs.batch_epoch, q), 100.0, 20.0) for q in (1, math.inf)}
BATCHES[2] = Kind(partial(memory_epochs.batch_epoch, 2), 60.0, 10.0)
WORTH_A_THREAD = 2e6  # nanoseconds of a pass over a batch from which another thread pays off


class Samples:
    """Rows in the layout that the kernels read (see `Rows`); their entries are not copied."""

    def __init__(self, X: Matrix, signs: np.ndarray, weights: np.ndarray):
        self.n, self.d = X.shape
        self.signs, self.weights = np.array(signs, dtype=np.float64), np.array(weights)
        self.rows = compiled_rows(X, self.signs, self.n * self.weights)
        self.row_squares = MemoryRows(X).norms(2.0) ** 2
        self.entries_per_row = self.rows.data.size / self.n
        self.mean_square = float(self.weights @ self.row_squares) or 1.0  # weighted, of x_i·x_i; 1 if all rows are 0


class Epochs:
    """Epochs of all kinds over given rows; each updates a point in place."""

    def __init__(
        self,
        samples: Samples,
        norm: Norm,
        terms: Terms,
        order: str,
        rng: np.random.Generator,
        mean_square: float | None = None,
        time: TimeLimit | None = None,
    ):
        self.samples, self.norm, self.order, self.rng = samples, norm, order, rng
        self.time, self.started = TimeLimit() if time is None else time, False
        square = samples.mean_square if mean_square is None else mean_square
        self.terms = terms._replace(free=square * terms.free)  # that of the intercept, so that units do not matter
        # A bound on the mean square of the gradients in λ, of which the radius limits the number.
        squares = terms.kappa * np.minimum(terms.kappa, terms.radius)
        square += float(squares if np.ndim(squares) == 0 else np.average(squares, weights=samples.weights))
        self.natural_step = 1.0 / square

    @classmethod
    def of(cls, problem: Problem, order: str, rng: np.random.Generator, constant_column=False, time=None) -> "Epochs":
        """Return the epochs of a problem; its last column may be an intercept, which has no ridge."""
        kappa, flips = affordable_flips(problem.flip_cost, problem.radius)
        ridged = problem.n_features - int(constant_column and problem.l2 > 0.0)
        terms = Terms(problem.radius, kappa, flips, problem.l2, ridged, float(problem.fit_intercept))
        samples = Samples(problem.X, problem.signs, problem.sample_weight)
        return cls(samples, problem.norm, terms, order, rng, time=time)

    def origin(self) -> Iterate:
        """Return the point 0, with all hinges active."""
        n, d = self.samples.n, self.samples.d
        lam = 0.0 if self.terms.radius > 0.0 else UNLIMITED
        return Iterate(np.zeros(d), np.array([lam, 0.0, lam]), np.ones(n), np.zeros(n))

    def _next_order(self, distinct: int = 1) -> np.ndarray:
        """Return the rows of the next epoch; so many at a time, those of a batch, are all different."""
        n = self.samples.n
        if self.order == "shuffled":
            return self.rng.permutation(n)
        if self.order == "cyclic":
            return np.arange(n)
        if distinct == 1:
            return self.rng.integers(0, n, n)
        sizes = [min(distinct, n - first) for first in range(0, n, distinct)]
        return np.concatenate([self.rng.choice(n, size, replace=False) for size in sizes])

    def _visit(self, kind: Kind, order: np.ndarray, point: Iterate, *arguments, batch_size: int = 1) -> None:
        """Call a kernel on one slice of the rows after another, until the time is up."""
        for rows in self._slices(order, self._slice_length(kind, batch_size)):
            kind.kernel(self.samples.rows, rows, point, self.terms, *arguments)

    def _slices(self, order: np.ndarray, length: int) -> Iterator[np.ndarray]:
        took = 0.0
        for first in range(0, order.size, length):
            if self.started and self.time.left() <= took:  # it would end too late
                return
            watch, self.started = Stopwatch(), True
            yield order[first : first + length]
            took = watch.elapsed()

    def _slice_length(self, kind: Kind, batch_size: int) -> int:
        """Return the number of rows in a slice, a multiple of the batch size."""
        samples = self.samples
        per_batch = kind.per_entry * samples.entries_per_row * batch_size + kind.per_feature * samples.d
        work = max(SLICE, SLICE_BY_SIZE * (samples.n + samples.d))
        return batch_size * max(1, int(work / max(per_batch, 1.0)))

    def proximal(self, point: Iterate, step: float, share: float) -> None:
        """Take a proximal step on every row; multipliers move towards the current ones by the fraction `share`."""
        self._visit(PROXIMAL[self.norm.q], self._next_order(), point, step, share)

    def batches(self, point: Iterate, batching: Batching, step: float, share: float) -> None:
        """Take a proximal step on every batch, by passes until its objective is exact to the limit, at least."""
        q, size, latest = self.norm.q, batching.size, batching.latest
        order = self._next_order(distinct=size)
        if self._work(MEMORY[q], size) < 2 * WORTH_A_THREAD:  # otherwise, with several threads (see `memory_epochs.py`)
            self._visit(BATCHES[q], order, point, step, share, batching, batch_size=size)
            return
        for first in range(0, order.size, size):
            if self.started and self.time.left() <= 0.0:
                break
            batch = order[first : first + size]
            length, total = step / size, step / size * batch.size
            state = self._centred(point, total, *latest)
            memory_epochs.contribute(self.samples.rows, batch, state, self.terms, length)
            new = point
            for _ in range(batching.most_passes):
                gap = self._pass(state, batch, length, total)
                new = self._nearest(state, total)
                enough = max(memory_epochs.ENOUGH * self._distance_square(new, point) / total, batching.limit)
                if gap / batch.size <= enough or self.time.left() <= 0.0:
                    break
            point.w[:], point.scalars[:] = new.w, new.scalars
        point.hinge[:] += share * (latest[0] - point.hinge)
        point.flip[:] += share * (latest[1] - point.flip)

    def _pass(self, state: Iterate, batch: np.ndarray, length: float, total: float) -> float:
        """Visit the rows of a batch once; return the sum of their gaps."""
        # Of k threads, each visits a part of the rows, on a copy of the state, as if every row were there k times. The
        # mean of the copies is the state of all new multipliers. The dual function is concave: no pass lowers it.
        kind = MEMORY[self.norm.q]
        n_threads = max(1, min(usable_threads(), int(self._work(kind, batch.size) / WORTH_A_THREAD)))
        gap = 0.0

        def visit(task) -> float:
            part, own = task
            rest = self.terms, n_threads * length, total, memory_epochs.TOLERANCE
            return kind.kernel(self.samples.rows, part, own, *rest)

        for rows in self._slices(batch, n_threads * self._slice_length(kind, 1)):
            copies = [state]
            if n_threads > 1:
                copies = [state._replace(w=state.w.copy(), scalars=state.scalars.copy()) for _ in range(n_threads)]
            gap += sum(over(zip(np.array_split(rows, n_threads), copies, strict=True), visit))
            if n_threads > 1:
                state.w[:] = np.mean([own.w for own in copies], axis=0)
                state.scalars[:] = np.mean([own.scalars for own in copies], axis=0)
        return gap

    def _work(self, kind: Kind, n_rows: int) -> float:
        return (kind.per_entry * self.samples.entries_per_row + 100.0) * n_rows

    def _centred(self, point: Iterate, total: float, hinge: np.ndarray, flip: np.ndarray) -> Iterate:
        """Return the state for a step with the point as centre, before the contributions of the rows."""
        lam, b = point.scalars[0], point.scalars[1]
        scalars = np.array([lam - total * self.terms.radius, b, lam])
        state = Iterate(point.w.copy(), scalars, hinge, flip)
        state.w[self.terms.ridged :] *= 1.0 + total * self.terms.l2
        return state

    def _nearest(self, state: Iterate, total: float) -> Iterate:
        stiffness = 1.0 + total * self.terms.l2
        w, lam = self.norm.project_epigraph(state.w / stiffness, state.scalars[0], stiffness)
        b = state.scalars[1] if self.terms.free > 0.0 else 0.0
        return Iterate(w, np.array([lam, b, lam]), state.hinge, state.flip)

    def _distance_square(self, one: Iterate, other: Iterate) -> float:
        """Return the squared distance of two points in the units of the steps."""
        lam, b, _ = one.scalars - other.scalars
        of_intercept = b**2 / self.terms.free if self.terms.free > 0.0 else 0.0
        return float(np.sum((one.w - other.w) ** 2) + lam**2 + of_intercept)

    def subgradient(self, point: Iterate, step: float, share: float, batch_size: int) -> None:
        """Take a subgradient step on every batch."""
        size = min(batch_size, self.samples.n)
        self._visit(SUBGRADIENT[self.norm.q], self._next_order(), point, step, share, size, batch_size=size)

    def memory(self, problem: Problem, point: Iterate, step: float) -> None:
        """Take a step with memory on every row, with the point as centre, and move the point to the result."""
        total, weights = step * self.samples.n, self.samples.weights
        v, v0 = problem.weighted_sum(weights * (point.hinge - point.flip))
        flipped_cost = float(np.sum(self.terms.kappa * (weights * point.flip)))
        state = self._centred(point, total, point.hinge, point.flip)
        state.w[:] += total * v
        state.scalars[:2] += total * flipped_cost, total * self.terms.free * v0
        self._visit(MEMORY[self.norm.q], self._next_order(), state, step, total, memory_epochs.TOLERANCE)
        new = self._nearest(state, total)
        point.w[:], point.scalars[:] = new.w, new.scalars
