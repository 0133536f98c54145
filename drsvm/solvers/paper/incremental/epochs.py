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
# weights, and its square does not overflow
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


# The epochs by the norm q of the weights. The times were measured; they only decide how
# often the clock is checked.
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
    1: Kind(partial(memory_epochs.memory_epoch, 1), 30.0, 1.5),
    2: Kind(partial(memory_epochs.memory_epoch, 2), 20.0),
    math.inf: Kind(partial(memory_epochs.memory_epoch, math.inf), 30.0, 1.5),
}
BATCHES = {
    1: Kind(partial(memory_epochs.batch_epoch, 1), 100.0, 20.0),
    2: Kind(partial(memory_epochs.batch_epoch, 2), 60.0, 10.0),
    math.inf: Kind(partial(memory_epochs.batch_epoch, math.inf), 100.0, 20.0),
}
# Nanoseconds of a pass over a batch from which the clock is checked between its passes
LONG_PASS = 4e6


class Samples:
    """Rows in the layout that the kernels read (see `Rows`).

    Their entries are not copied. `weights` are the π_i; the kernels get the factors
    n π_i of the losses.
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
    """Epochs of all kinds over given rows; each updates a point in place.

    Parameters
    ----------
    samples, norm, terms
        The rows and the parameters of the problem.
    order : {"shuffled", "cyclic", "with-replacement"}
        Order of the rows in an epoch.
    rng : numpy.random.Generator
        For the order.
    mean_square : float, optional
        Weighted mean of x·x; by default that of the rows.
    time : TimeLimit, optional
        Epochs end early where it would be exceeded, except for the first call.

    Attributes
    ----------
    natural_step : float
        The inverse of a bound on the mean square of the subgradients, in which step
        sizes are measured: it makes them independent of the units of the features.
    """

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
        self.started = False  # whether any kernel has been called
        square = samples.mean_square if mean_square is None else mean_square
        # The intercept is measured in units of a typical row, so that the units of the
        # features do not matter.
        self.terms = terms._replace(free=square * terms.free)
        # A bound on the mean square of the gradients in λ: these are κ for rows with a
        # flipped label, of which the radius affords the share ε/κ.
        on_lam = terms.kappa * np.minimum(terms.kappa, terms.radius)
        if np.ndim(on_lam) > 0:
            on_lam = np.average(on_lam, weights=samples.weights)
        self.natural_step = 1.0 / (square + float(on_lam))

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
        """Return the rows of the next epoch, in order.

        Each `distinct` rows in succession, those of a batch, are different.
        """
        n = self.samples.n
        if self.order == "shuffled":
            return self.rng.permutation(n)
        if self.order == "cyclic":
            return np.arange(n)
        if distinct == 1:
            return self.rng.integers(0, n, n)
        batches = []
        for first in range(0, n, distinct):
            size = min(distinct, n - first)
            batches.append(self.rng.choice(n, size, replace=False))
        return np.concatenate(batches)

    def _visit(
        self,
        kind: Kind,
        order: np.ndarray,
        point: Iterate,
        *arguments,
        batch_size: int = 1,
    ) -> float:
        """Call a kernel on one slice of the rows after another, until the time is up.

        Return the sum of what it returns, if that is numbers.
        """
        length = self._slice_length(kind, batch_size)
        took = 0.0
        total = 0.0
        for first in range(0, order.size, length):
            # It would end too late; but a run is to have some result.
            if self.started and self.time.left() <= took:
                break
            watch = Stopwatch()
            self.started = True
            rows = order[first : first + length]
            value = kind.kernel(self.samples.rows, rows, point, self.terms, *arguments)
            if value is not None:
                total += value
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
        order = self._next_order(distinct=size)
        # About 100 ns of a visit do not depend on the entries of the row.
        visit = MEMORY[q].per_entry * self.samples.entries_per_row + 100.0
        if visit * size < LONG_PASS:
            self._visit(
                BATCHES[q], order, point, step, share, batching, batch_size=size
            )
            return
        # The same by one kernel call for every pass
        hinge = batching.latest[0]
        flip = batching.latest[1]
        for first in range(0, order.size, size):
            if self.started and self.time.left() <= 0.0:
                break
            batch = order[first : first + size]
            self._step_on(
                batch,
                batch,
                point,
                hinge,
                flip,
                step / size,
                batching.most_passes,
                batching.limit,
            )
        point.hinge[:] += share * (hinge - point.hinge)
        point.flip[:] += share * (flip - point.flip)

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
        lam, b, _ = point.scalars
        scalars = np.array([lam - total * terms.radius, b, lam])
        state = Iterate(point.w.copy(), scalars, hinge, flip)
        # The projection divides all weights by 1 + total·c, also those without a ridge.
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
            enough = memory_epochs.ENOUGH * self._squared_move(point, new) / total
            if gap / rows.size <= max(enough, limit) or self.time.left() <= 0.0:
                break
        point.w[:] = new.w
        point.scalars[:] = new.scalars

    def _squared_move(self, old: Iterate, new: Iterate) -> float:
        """Return the squared distance of two points, in units of the step."""
        lam, b, _ = new.scalars - old.scalars
        on_intercept = 0.0
        if self.terms.free > 0.0:
            on_intercept = b**2 / self.terms.free
        return float(np.sum((new.w - old.w) ** 2) + lam**2 + on_intercept)

    def _nearest(self, state: Iterate, total: float) -> Iterate:
        """Return the point of a state: its projection onto the cone."""
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
