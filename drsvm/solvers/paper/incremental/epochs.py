"""Epochs of the incremental methods, on rows in the layout that the kernels read.

A long epoch is split into slices, one kernel call each, so that Python can check the
clock and handle Ctrl-C in between. The point is valid after every slice; rows that were
not visited keep their multipliers.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from drsvm.compiled import memory_epochs, proximal_epochs, subgradient_epochs
from drsvm.compiled.memory_epochs import Batching
from drsvm.compiled.proximal_epochs import Iterate, Terms
from drsvm.problem.memory_rows import MemoryRows, compiled_rows
from drsvm.problem.norms import Norm
from drsvm.problem.problem import Problem
from drsvm.problem.risk import affordable_flips
from drsvm.utils.annotations import Matrix
from drsvm.utils.clock import Stopwatch, TimeLimit

ORDERS = ("shuffled", "cyclic", "with-replacement")
# Value of λ if neither the radius nor flips limit it: larger than any norm of the
# weights
UNLIMITED = 1e200
# A slice is sized to take this many nanoseconds or, if that is more, this many per row
# and feature, over which every kernel call makes a pass. Slices depend on the data
# only, so that the same seed always gives the same result
SLICE = 0.2e9
SLICE_BY_SIZE = 50.0


class Kind(NamedTuple):
    """A kernel, and the approximate time of a step in nanoseconds.

    It is stated per entry of the rows of the step and, at worst, per feature.
    """

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
MEMORY = {
    q: Kind(partial(memory_epochs.memory_epoch, q), 30.0, 1.5) for q in (1, math.inf)
}
MEMORY[2] = Kind(partial(memory_epochs.memory_epoch, 2), 20.0)
BATCHES = {
    q: Kind(partial(memory_epochs.batch_epoch, q), 100.0, 20.0) for q in (1, math.inf)
}
BATCHES[2] = Kind(partial(memory_epochs.batch_epoch, 2), 60.0, 10.0)
# Nanoseconds of a pass over a batch from which the clock is checked between its passes
LONG_PASS = 4e6


class Samples:
    """Rows in the layout that the kernels read (see `Rows`).

    Their entries are not copied.
    """

    def __init__(self, X: Matrix, signs: np.ndarray, weights: np.ndarray):
        self.n, self.d = X.shape
        self.signs = np.array(signs, dtype=np.float64)
        self.weights = np.array(weights)
        self.rows = compiled_rows(X, self.signs, self.n * self.weights)
        self.row_squares = MemoryRows(X).norms(2.0) ** 2
        self.entries_per_row = self.rows.data.size / self.n
        # Weighted, of x_i·x_i; 1 if all rows are 0
        self.mean_square = float(self.weights @ self.row_squares) or 1.0


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
        self.samples = samples
        self.norm = norm
        self.order = order
        self.rng = rng
        self.time = TimeLimit() if time is None else time
        self.started = False
        if mean_square is None:
            square = samples.mean_square
        else:
            square = mean_square
        # That of the intercept, so that units do not matter
        self.terms = terms._replace(free=square * terms.free)
        # A bound on the mean square of the gradients in λ, of which the radius limits
        # the number.
        squares = terms.kappa * np.minimum(terms.kappa, terms.radius)
        square += float(
            squares
            if np.ndim(squares) == 0
            else np.average(squares, weights=samples.weights)
        )
        self.natural_step = 1.0 / square

    @classmethod
    def of(
        cls,
        problem: Problem,
        order: str,
        rng: np.random.Generator,
        constant_column=False,
        time=None,
    ) -> "Epochs":
        """Return the epochs of a problem.

        Its last column may be an intercept, which has no ridge.
        """
        kappa, flips = affordable_flips(problem.flip_cost, problem.radius)
        ridged = problem.n_features - int(constant_column and problem.l2 > 0.0)
        terms = Terms(
            problem.radius,
            kappa,
            flips,
            problem.l2,
            ridged,
            float(problem.fit_intercept),
        )
        samples = Samples(problem.X, problem.signs, problem.sample_weight)
        return cls(samples, problem.norm, terms, order, rng, time=time)

    def origin(self) -> Iterate:
        """Return the point 0, with all hinges active."""
        n = self.samples.n
        d = self.samples.d
        lam = 0.0 if self.terms.radius > 0.0 else UNLIMITED
        return Iterate(np.zeros(d), np.array([lam, 0.0, lam]), np.ones(n), np.zeros(n))

    def _next_order(self, distinct: int = 1) -> np.ndarray:
        """Return the rows of the next epoch.

        So many at a time, those of a batch, are all different.
        """
        n = self.samples.n
        if self.order == "shuffled":
            return self.rng.permutation(n)
        if self.order == "cyclic":
            return np.arange(n)
        if distinct == 1:
            return self.rng.integers(0, n, n)
        sizes = [min(distinct, n - first) for first in range(0, n, distinct)]
        return np.concatenate(
            [self.rng.choice(n, size, replace=False) for size in sizes]
        )

    def _visit(
        self,
        kind: Kind,
        order: np.ndarray,
        point: Iterate,
        *arguments,
        batch_size: int = 1,
    ) -> float:
        """Call a kernel on one slice of the rows after another, until the time is up.

        Add what it returns.
        """
        length = self._slice_length(kind, batch_size)
        took = 0.0
        total = 0.0
        for first in range(0, order.size, length):
            if self.started and self.time.left() <= took:  # it would end too late
                break
            watch = Stopwatch()
            self.started = True
            total += (
                kind.kernel(
                    self.samples.rows,
                    order[first : first + length],
                    point,
                    self.terms,
                    *arguments,
                )
                or 0.0
            )
            took = watch.elapsed()
        return total

    def _slice_length(self, kind: Kind, batch_size: int) -> int:
        """Return the number of rows in a slice, a multiple of the batch size."""
        samples = self.samples
        per_batch = (
            kind.per_entry * samples.entries_per_row * batch_size
            + kind.per_feature * samples.d
        )
        work = max(SLICE, SLICE_BY_SIZE * (samples.n + samples.d))
        return batch_size * max(1, int(work / max(per_batch, 1.0)))

    def proximal(self, point: Iterate, step: float, share: float) -> None:
        """Take a proximal step on every row.

        Multipliers move towards the current ones by the fraction `share`.
        """
        self._visit(PROXIMAL[self.norm.q], self._next_order(), point, step, share)

    def batches(
        self, point: Iterate, batching: Batching, step: float, share: float
    ) -> None:
        """Take a proximal step on every batch.

        A step makes passes over its batch until its objective is exact to the limit of
        `batching`, or exact enough for the length of the step.
        """
        q = self.norm.q
        size = batching.size
        latest = batching.latest
        order = self._next_order(distinct=size)
        if (
            MEMORY[q].per_entry * self.samples.entries_per_row + 100.0
        ) * size < LONG_PASS:
            self._visit(
                BATCHES[q], order, point, step, share, batching, batch_size=size
            )
            return
        for first in range(0, order.size, size):
            if self.started and self.time.left() <= 0.0:
                break
            batch = order[first : first + size]
            self._step_on(
                batch,
                batch,
                point,
                latest[0],
                latest[1],
                step / size,
                batching.most_passes,
                batching.limit,
            )
        point.hinge[:] += share * (latest[0] - point.hinge)
        point.flip[:] += share * (latest[1] - point.flip)

    def memory(self, point: Iterate, step: float) -> None:
        """Take a step with memory on every row, and move the point to the result.

        The point is the centre of all these steps.
        """
        all_rows = np.arange(self.samples.n)
        order = self._next_order()
        self._step_on(
            all_rows, order, point, point.hinge, point.flip, step, most_passes=1
        )

    def _step_on(
        self,
        rows,
        order,
        point: Iterate,
        hinge,
        flip,
        length: float,
        most_passes: int,
        limit=0.0,
    ) -> None:
        """Take a step on some rows at once, by passes that improve their multipliers.

        Parameters
        ----------
        rows, order : arrays of integers
            The rows, and the same in the order in which a pass visits them.
        point : Iterate
            The centre of the step, which moves to the result.
        hinge, flip : arrays of shape (n,)
            The multipliers, those of `rows` being improved.
        length : float
            Step size for one row.
        most_passes : int
            Limit on the passes.
        limit : float
            Duality gap per row that ends the passes.
        """
        # The state is the centre plus the contributions of the rows (see
        # `memory_epochs.py`), before the projection.
        terms = self.terms
        total = length * rows.size
        (lam, b, _) = point.scalars
        state = Iterate(
            point.w.copy(), np.array([lam - total * terms.radius, b, lam]), hinge, flip
        )
        state.w[terms.ridged :] *= 1.0 + total * terms.l2
        memory_epochs.contribute(self.samples.rows, rows, state, terms, length)
        new = point
        for _ in range(most_passes):
            gap = self._visit(
                MEMORY[self.norm.q],
                order,
                state,
                length,
                total,
                memory_epochs.TOLERANCE,
            )
            new = self._nearest(state, total)
            lam, b, _ = new.scalars - point.scalars
            moved = float(
                np.sum((new.w - point.w) ** 2)
                + lam**2
                + (b**2 / terms.free if terms.free > 0.0 else 0.0)
            )
            if (
                gap / rows.size <= max(memory_epochs.ENOUGH * moved / total, limit)
                or self.time.left() <= 0.0
            ):
                break
        point.w[:], point.scalars[:] = new.w, new.scalars

    def _nearest(self, state: Iterate, total: float) -> Iterate:
        stiffness = 1.0 + total * self.terms.l2
        w, lam = self.norm.project_epigraph(
            state.w / stiffness, state.scalars[0], stiffness
        )
        b = state.scalars[1] if self.terms.free > 0.0 else 0.0
        return Iterate(w, np.array([lam, b, lam]), state.hinge, state.flip)

    def subgradient(
        self, point: Iterate, step: float, share: float, batch_size: int
    ) -> None:
        """Take a subgradient step on every batch."""
        size = min(batch_size, self.samples.n)
        self._visit(
            SUBGRADIENT[self.norm.q],
            self._next_order(),
            point,
            step,
            share,
            size,
            batch_size=size,
        )
